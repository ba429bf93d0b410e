"""Pages for other people: everything is escaped, nothing is loaded, and the picture is where the
numbers are.
"""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET

import pytest
from jinja2 import UndefinedError

from dpci_core.report.html import LINES, IntervalRow, interval_chart, render, table, ticks

HOSTILE = "</script><script>alert(1)</script>\"'&{{ 7 * 7 }}{% raw %}"
SVG = "{http://www.w3.org/2000/svg}"


def chart(
    *rows: IntervalRow, series: tuple[str, ...] = ("Private", "Without privacy")
) -> ET.Element:
    picture = interval_chart(
        rows, series=series, title="Lengths", description="One row a coefficient.", axis="log odds"
    )
    return ET.fromstring(str(picture))


def test_what_people_typed_is_escaped_everywhere() -> None:
    row = IntervalRow(label=HOSTILE, centre=0.0, intervals=((-1.0, 1.0),))
    picture = interval_chart(
        [row], series=(HOSTILE,), title=HOSTILE, description=HOSTILE, axis=HOSTILE
    )
    cells = table((HOSTILE, "b"), [(HOSTILE, 1)], caption=HOSTILE)
    page = render("page.html", title=HOSTILE)
    for text in (str(picture), str(cells), page):
        assert "<script" not in text
        assert "{{ 7 * 7 }}" in text
    ET.fromstring(str(picture))  # well-formed
    assert "default-src 'none'" in page


def test_a_name_that_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("page.html")


def test_intervals_are_drawn_to_scale() -> None:
    wide = IntervalRow(label="age", centre=1.0, intervals=((-1.0, 3.0), (0.0, 2.0)))
    narrow = IntervalRow(label="sex=Male", intervals=((1.0, 2.0), None))
    groups = chart(wide, narrow).findall(f"{SVG}g")
    spans = [
        [float(line.get("x2", 0)) - float(line.get("x1", 0)) for line in g.findall(f"{SVG}line")]
        for g in groups
    ]
    assert spans[0][0] == pytest.approx(4 * spans[1][0], abs=0.5)
    assert spans[0][1] == pytest.approx(2 * spans[1][0], abs=0.5)
    assert spans[0][2] == 0.0  # the centre is a mark
    assert len(spans[1]) == 1  # no second interval and no centre
    first = groups[0].findall(f"{SVG}line")
    assert float(first[2].get("x1", 0)) == pytest.approx(
        (float(first[0].get("x1", 0)) + float(first[0].get("x2", 0))) / 2, abs=0.2
    )


def test_series_differ_in_colour_and_in_dashes() -> None:
    assert (
        len({line.colour for line in LINES}) == len({line.dashes for line in LINES}) == len(LINES)
    )
    lines = chart(IntervalRow(label="a", intervals=((0.0, 1.0), (0.0, 1.0)))).findall(
        f"{SVG}g/{SVG}line"
    )
    assert [line.get("stroke-dasharray") for line in lines] == [None, "7 3"]


def test_a_picture_says_what_it_shows() -> None:
    picture = chart(IntervalRow(label="a" * 90, intervals=((0.0, 1.0), None)))
    assert picture.findtext(f"{SVG}title") == "Lengths"
    assert picture.findtext(f"{SVG}desc") == "One row a coefficient."
    assert picture.findtext(f"{SVG}g/{SVG}title") == "a" * 90
    assert "…" in (picture.findtext(f"{SVG}g/{SVG}text") or "")


def test_rows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="2 intervals in row 'a'"):
        chart(IntervalRow(label="a", intervals=((0.0, 1.0),)))
    with pytest.raises(ValueError, match="low <= high"):
        IntervalRow(label="a", intervals=((1.0, 0.0),))
    with pytest.raises(ValueError, match="finite"):
        IntervalRow(label="a", intervals=((0.0, float("inf")),))
    with pytest.raises(ValueError, match="rows=0"):
        chart()
    with pytest.raises(ValueError, match="at most 4 series"):
        chart(IntervalRow(label="a", intervals=(None,) * 5), series=("s",) * 5)
    with pytest.raises(ValueError, match="2 cells in row 0"):
        table(("a", "b"), [("c",)])


def test_a_remark_reaches_over_the_empty_cells_behind_it() -> None:
    cells = str(table(("a", "b", "c"), [("x", "why not", ""), ("y", "", "2")]))
    assert '<tr><td>x</td><td colspan="2">why not</td></tr>' in cells
    assert '<tr><td>y</td><td class="number"></td><td class="number">2</td></tr>' in cells


def test_odds_stand_on_a_logarithmic_axis_with_one_in_sight() -> None:
    for low, high in ((0.1, 0.4), (-3.0, 9.0), (0.001, 0.002), (-0.2, -0.1)):
        row = IntervalRow(label="a", intervals=((low, high),))
        picture = ET.fromstring(
            str(interval_chart([row], series=("s",), title="t", description="d", is_odds=True))
        )
        ticks_told = [
            (float(text.get("x", 0)), float(text.text or ""))
            for text in picture.findall(f"{SVG}text")
            if text.get("text-anchor") == "middle"
        ]
        assert 2 <= len(ticks_told) <= 12
        (x0, v0), (x1, v1) = ticks_told[0], ticks_told[-1]
        per = (x1 - x0) / (math.log(v1) - math.log(v0))
        line = picture.find(f"{SVG}g/{SVG}line")
        assert line is not None
        for end, value in (("x1", low), ("x2", high)):
            at = x0 + per * (value - math.log(v0))
            assert float(line.get(end, 0)) == pytest.approx(at, abs=0.3 + 1e-3 * abs(per))
        one = x0 + per * (0.0 - math.log(v0))
        assert 0 < one < 440


def test_a_row_may_have_several_intervals_of_a_series() -> None:
    row = IntervalRow(label="a", intervals=((0.0, 1.0), (2.0, 3.0), (0.0, 2.0)), series=(0, 1, 0))
    lines = chart(row).findall(f"{SVG}g/{SVG}line")
    assert [line.get("stroke-dasharray") for line in lines] == [None, "7 3", None]
    assert len({line.get("y1") for line in lines}) == 3


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (-3e-7, 2e-7), (999.0, 1_001.0), (-5e8, 5e8), (0.0, 6.9)]
)
def test_ticks_are_round_and_few(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 3 <= len(found) <= 7
    assert low <= found[0] <= found[-1] <= high
    steps = {f"{b - a:.6g}" for a, b in itertools.pairwise(found)}
    assert len(steps) == 1
    assert re.fullmatch(r"[125](\.0)?(e[+-]?\d+)?|0?\.0*[125]|[125]0+(e[+-]\d+)?", steps.pop())


def test_equal_ends_still_make_a_picture() -> None:
    assert chart(IntervalRow(label="a", centre=2.0, intervals=((2.0, 2.0), None))).findall(
        f"{SVG}g"
    )
