"""What the browser gets of a picture, and what its scripts may do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ui.kit import picture
from ui.kit.picture import Axis, Panel, Picture, Style, whole_frames

PICTURE = Picture(
    title="a",
    footer="f",
    panels=(Panel(low=0.0, high=3.0, up=Axis(low=0.1, high=10.0, is_log=True)),),
    styles=(Style(),),
    bars=((1.0, 1.0, 2.0, 0),),
    dots=((1.23456789, 1.0, 0),),
)


def test_a_picture_is_sent_as_plain_numbers_with_its_axes():
    sent = json.loads(json.dumps(PICTURE.data("own"), allow_nan=False))
    (panel,) = sent["panels"]
    assert (panel["from"], panel["to"]) == (0.1, 10.0)
    assert [label for _, label in panel["up"]["ticks"]] == [
        "0.1",
        "0.2",
        "0.5",
        "1",
        "2",
        "5",
        "10",
    ]
    assert sent["name"] == "own"
    assert sent["dots"] == [[1.23456789, 1.0, 0.0]]


def test_another_picture_has_another_version():
    version = PICTURE.data("a")["version"]
    assert PICTURE.data("a")["version"] == version
    assert replace(PICTURE, title="b").data("a")["version"] != version


def test_frames_hold_what_differs_between_positions_and_nothing_else():
    other = replace(PICTURE, title="b", dots=((2.0, 1.0, 0),), meta={"value": 2})
    made = whole_frames("v", [PICTURE, other])
    assert made["frames"] == [{"dots": [[1.2346, 1.0, 0.0]]}, {"dots": [[2.0, 1.0, 0.0]]}]
    assert made["words"] == [{"title": "a", "footer": "f"}, {"title": "b", "footer": "f"}]


def test_what_moves_is_where_it_will_rest_on_a_narrow_axis_too():
    """While the slider was held, budgets of 4.10531 to 4.10534 lay on two places, or nowhere."""
    low, high = 4.105312, 4.105341
    axis = Panel(low=low, high=high, up=Axis(low=0.0, high=8.0))
    dots = tuple((low + (high - low) * k / 7.0, float(k), 0) for k in range(8))
    narrow = replace(PICTURE, panels=(axis,), dots=dots)
    held = whole_frames("v", [PICTURE, narrow])["frames"][1]["dots"]
    for (x, _, _), (at, _, _) in zip(dots, held, strict=True):
        assert abs(x - at) < 1e-4 * (high - low)


@pytest.mark.parametrize("name", ["picture.js", "files.js"])
def test_the_scripts_ask_nobody_and_move_nothing_by_themselves(name):
    script = Path(picture.__file__).with_name(name).read_text(encoding="utf-8")
    for word in ("fetch(", "XMLHttpRequest", "import(", "eval(", "setInterval", "innerHTML"):
        assert word not in script
    waits = [line for line in script.splitlines() if "requestAnimationFrame" in line]
    assert all("new MutationObserver(" in line for line in waits)  # where a slider was moved
    assert script.count("http") == (name == "files.js")  # the name of the SVG namespace
