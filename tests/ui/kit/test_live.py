"""The frames that follow the pointer: what of them is sent, and what the script may do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ui.kit import live

FRAMES = (
    live.Frame("a", ((0.0, 1.0, 2.0, 0), (1.0, -1.0, 1.0, 0)), ((1.0, 0.0, 0),)),
    live.Frame("b", ((0.0, 1.0, 2.0, 0), (1.0, -0.5, 0.5, 0)), ((1.0, 0.0, 0),)),
)


def animation(*frames: live.Frame | None) -> live.Animation:
    return live.Animation(
        frames=frames,
        strokes=(live.Stroke("#000000", 1.0),),
        x_title="x",
        span=(0.0, 3.0),
        rows=(0.0, 1.0),
    )


def test_what_stands_still_is_sent_once_and_nothing_is_lost():
    data = animation(*FRAMES).data
    assert len(data["still"]) == len(data["stillDots"]) == 1
    for frame, sent in zip(FRAMES, data["frames"], strict=True):
        pairs = zip(data["places"], np.reshape(sent["ends"], (-1, 2)), strict=True)
        bars = [(y, low, high, kind) for (y, kind), (low, high) in pairs]
        assert sorted([*map(tuple, data["still"]), *bars]) == sorted(frame.bars)
        assert sent["bars"] == sent["dots"] == []


def test_frames_whose_rows_differ_are_sent_whole():
    other = live.Frame("b", ((1.0, 1.0, 2.0, 0),))
    first = live.Frame("a", ((0.0, 1.0, 2.0, 0),), ((1.0, 0.0, 0),))
    data = animation(first, None, other).data
    assert data["still"] == data["places"] == data["stillDots"] == []
    assert [f and f["bars"] for f in data["frames"]] == [
        [[0.0, 1.0, 2.0, 0.0]],
        None,
        [[1.0, 1.0, 2.0, 0.0]],
    ]
    assert [f and f["dots"] for f in data["frames"]] == [[[1.0, 0.0, 0.0]], None, []]


def test_what_the_browser_gets_is_plain_and_finite():
    data = live.Playback(animation(*FRAMES), "total_slider", 1).data
    sent = json.loads(json.dumps(data, allow_nan=False))
    assert sent["here"] == 1
    assert len(sent["frames"][0]["ends"]) == 2
    assert sent["span"] == [0.0, 3.0]


def test_the_script_asks_nobody_and_moves_nothing_by_itself():
    script = Path(live.__file__).with_name("live.js").read_text(encoding="utf-8")
    for word in (
        "fetch(",
        "XMLHttpRequest",
        "import(",
        "eval(",
        "setInterval",
        "requestAnimationFrame",
        "innerHTML",
    ):
        assert word not in script
    assert script.count("http") == 1  # the name of the SVG namespace
