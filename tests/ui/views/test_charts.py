"""Charts as data: what they draw, that they can be told apart, and that words and tables say the
same.
"""

from __future__ import annotations

import ast
import copy
import itertools
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from ui.evidence.coverage import charts as simulation_charts
from ui.explore import wasted
from ui.explore.finding import curve_title
from ui.explore.intervals import VARIABILITY, ChartText
from ui.explore.lines import curve_picture
from ui.kit import palette, style
from ui.kit.exports import csv_bytes
from ui.kit.figure import Written, footer, in_colour, plot_config
from ui.kit.palette import SOURCE_MARKS
from ui.session.choices import ALL_COMBINATIONS
from ui.session.results import NONE_REPORTED, SOME_MISS, SweepCurve
from ui.session.settings import START, Settings
from ui.views import sweep as sweep_chart

ROOT = Path(__file__).resolve().parents[3]
THEME = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
META = {"n": 10}
COMMON = {"caption": "n = 10, c = 0.1", "meta": META, "source": "simulated"}


def linear_rgb(colour: str) -> np.ndarray:
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    light, dark = sorted(
        (float(linear_rgb(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b)), reverse=True
    )
    return (light + 0.05) / (dark + 0.05)


def test_contrast_of_black_and_white_is_21():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_marks_reach_three_to_one_and_text_four_and_a_half(mode):
    background, text = THEME[mode]["backgroundColor"], THEME[mode]["textColor"]
    marks = (c.style.colour for c in ALL_COMBINATIONS)
    for colour in (*marks, *(c for _, c in SOURCE_MARKS.values()), palette.QUIET):
        assert contrast(colour, background) >= 3.0, colour
    for part in ("backgroundColor", "secondaryBackgroundColor"):
        behind = THEME[mode][part]
        assert contrast(text, behind) >= 7.0
        for small in ("linkColor", "codeTextColor", "primaryColor"):
            assert contrast(THEME[mode][small], behind) >= 4.5, small
        assert contrast(faded(text, behind, style.CAPTION_OPACITY), behind) >= 4.5
        assert (
            contrast(faded(THEME[mode]["codeTextColor"], behind, style.CAPTION_OPACITY), behind)
            >= 4.5
        )
    assert contrast(background, THEME[mode]["primaryColor"]) >= 4.5  # words on a filled button


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_private_band_is_seen_on_a_dark_page_and_the_bar_within_it_on_both(mode):
    behind = THEME[mode]["backgroundColor"]
    for one in ALL_COMBINATIONS:
        light, dark = re.findall(r"#\w{6}", palette.themed(one.style.colour))
        drawn = {"light": light, "dark": dark}[mode]
        band = faded(drawn, behind, one.style.opacity)
        assert contrast(drawn, behind) >= 3.0
        if one.calibration == "sharp":
            assert contrast(drawn, band) >= 1.5, one
            assert mode == "light" or contrast(band, behind) >= 3.0, one
    assert palette.themed(palette.QUIET) == palette.QUIET


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_setting_that_is_kept_is_no_mark_that_only_gives_orientation(mode):
    """It was drawn in the grey of what is not private, a hair thinner."""
    light, dark = re.findall(r"#\w{6}", palette.themed(palette.KEPT))
    drawn = {"light": light, "dark": dark}[mode]
    assert contrast(drawn, THEME[mode]["backgroundColor"]) >= 7.0
    assert contrast(drawn, palette.QUIET) >= 1.4


def faded(colour: str, behind: str, opacity: float) -> str:
    """What is seen of a colour over another."""
    parts = (
        int(opacity * int(colour[i : i + 2], 16) + (1 - opacity) * int(behind[i : i + 2], 16))
        for i in (1, 3, 5)
    )
    return "#" + "".join(f"{part:02X}" for part in parts)


def test_every_page_takes_its_colours_from_the_palette():
    words = re.compile(
        r"""#[0-9A-Fa-f]{3,8}\b|rgba?\(|["'](white|black|grey|gray|red|green|blue|orange)["']"""
    )
    for file in [
        *(ROOT / "ui").rglob("*.py"),
        *(ROOT / "ui").rglob("*.js"),
        *(ROOT / "pages").glob("*.py"),
    ]:
        if file.name != "palette.py":
            assert words.search(file.read_text()) is None, file.name


def calls(*names: str) -> list[tuple[str, str, set[str | None]]]:
    """Method, file and keywords of every call of methods of these names in ui/."""
    return [
        (node.func.attr, file.name, {keyword.arg for keyword in node.keywords})
        for file in (ROOT / "ui").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
    ]


def test_charts_come_with_words_and_a_table_and_tables_with_a_name():
    found = calls("plotly_chart", "dataframe", "data_editor")
    assert {name for name, _, _ in found} == {"plotly_chart", "dataframe", "data_editor"}
    # which adds sentence and table
    assert [file for name, file, _ in found if name == "plotly_chart"] == ["show.py"]
    for name, file, keywords in found:
        assert {"alt", "key"} <= keywords, (name, file)


def test_the_style_sheet_holds_the_colours_of_the_theme():
    sheet = style.sheet()
    for mode in ("light", "dark"):
        for name in ("backgroundColor", "linkColor"):
            assert THEME[mode][name] in sheet
    assert f"opacity: {style.CAPTION_OPACITY}" in sheet
    assert not re.search(r"LIGHT_|DARK_|CAPTION", sheet)


# Full-severity matrices of Machado, Oliveira, Fernandes (2009), on linear RGB.
SIGHT = {
    "usual": "1 0 0  0 1 0  0 0 1",
    "protanopia": "0.152286 1.052583 -0.204868  0.114503 0.786281 0.099216  -0.003882 -0.048116 "
    "1.051998",
    "deuteranopia": "0.367322 0.860646 -0.227968  0.280085 0.672501 0.047413  -0.011820 0.042940 "
    "0.968881",
    "tritanopia": "1.255528 -0.076749 -0.178779  -0.078411 0.930809 0.147602  0.004733 0.691367 "
    "0.303900",
}


def lab(rgb: np.ndarray) -> np.ndarray:
    xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    ) @ np.clip(rgb, 0, 1)
    f = np.cbrt(np.maximum(xyz / np.array([0.9505, 1.0, 1.089]), 1e-6))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_every_combination_has_a_marker_of_its_own():
    assert len({c.style.marker for c in ALL_COMBINATIONS}) == len(ALL_COMBINATIONS)


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_differ_for_every_sight(sight):
    drawn_alike = [
        c for c in ALL_COMBINATIONS if c.calibration == "sharp"
    ]  # published keeps the colour, with a dot
    for a, b in itertools.combinations(drawn_alike, 2):
        seen = np.array(SIGHT[sight].split(), dtype=float).reshape(3, 3)
        difference = lab(seen @ linear_rgb(a.style.colour)) - lab(seen @ linear_rgb(b.style.colour))
        assert np.linalg.norm(difference) > (15 if a.loss == b.loss == "logistic" else 8), (
            a.label,
            b.label,
        )


NAMES = (
    "<b>age</b>",
    "a & b",
    "5 > 3 &amp; 'so' \"on\"",
    "<a href='x'>a name longer than its place</a>",
)
SHOWN = (
    "&lt;b&gt;age&lt;/b&gt;",
    "a &amp; b",
    "5 &gt; 3 &amp;amp; 'so' \"on\"",
    "&lt;a href: 'x… place&lt;/a&gt;",
)


def test_names_that_look_like_tags_are_shown_letter_by_letter():
    common = {**COMMON, "caption": "<i>d</i> = 4"}
    figure = go.Figure(
        simulation_charts.coverage_comparison([comparison(NAMES)], level=0.95, **common)
    )
    assert figure.layout.yaxis.ticktext == SHOWN
    assert figure.layout.annotations[-1].text.endswith("· &lt;i&gt;d&lt;/i&gt; = 4")
    assert footer(figure.to_dict()) == "◇ Simulated data · <i>d</i> = 4"


def comparison(names: tuple[str, ...]) -> simulation_charts.Comparison:
    values = {f.name: np.full(len(names), 0.9) for f in fields(simulation_charts.Comparison)}
    return simulation_charts.Comparison(
        **{
            **values,
            "combination": ALL_COMBINATIONS[0],
            "names": names,
            "coverage_mean_se": 0.01,
            "n_failed": 0,
        }
    )


def test_every_text_on_a_chart_takes_its_colour_from_the_theme():
    curve = sweep_curve()
    figures = [
        simulation_charts.coverage_comparison([comparison(("a", "b"))], level=0.95, **COMMON),
        sweep_chart.sweep_chart([curve], x_label="n", x_log=True, y_label="length", **COMMON),
    ]
    for figure in map(go.Figure, figures):
        assert figure.layout.font.color is None
        assert all(a.font.color is None for a in figure.layout.annotations)
        assert any("Simulated" in a.text for a in figure.layout.annotations)
        assert any("c = 0.1" in a.text for a in figure.layout.annotations)


def sweep_curve(**changes: object) -> SweepCurve:
    values = {
        "combination": ALL_COMBINATIONS[0],
        "x": np.array([10.0, 20.0, 40.0, 80.0]),
        "ci_length": np.array([np.nan, 3.0, 1.0, 2.0]),
        "ci_sd": np.array([np.nan, 0.5, 0.1, 0.2]),
        "vi_length": np.array([np.nan, 2.0, 0.8, 1.0]),
        "grades": ("unusable", "rough", "valid", "valid"),
        "extrapolated_from": 40.0,
    }
    return SweepCurve(**{**values, **changes})


@pytest.mark.parametrize(
    ("lengths", "current", "expected"),
    [
        ((np.nan, 3.0, 1.0, 2.0), 80.0, 40.0),
        (
            (np.nan, 3.0, 1.0, 2.0),
            50.0,
            None,
        ),  # the present length is that of the last point reached
        ((0.5, np.nan, 1.0, 1.0), 45.0, 10.0),
        ((3.0, 1.0, 1.0019, 2.0), 40.0, None),
        ((3.0, 1.0, 1.0021, 2.0), 40.0, 20.0),
        ((3.0, 2.0, 1.5, 1.0), 80.0, None),
        ((np.nan, 2.0, 1.5, 1.0), 10.0, None),
        ((1.0, 2.0, 1.5, 1.0), 5.0, None),
    ],
)
def test_where_less_is_shorter(lengths, current, expected):
    curve = sweep_curve(ci_length=np.array(lengths), grades=("valid",) * 4)
    assert wasted.shorter_with_less(curve, current) == expected


def test_a_length_that_cannot_be_relied_on_is_no_advice():
    lengths = np.array([np.nan, 0.5, 1.0, 2.0])  # the second point is rough
    assert wasted.shorter_with_less(sweep_curve(ci_length=lengths), 80.0) == 40.0


def test_a_sweep_leaves_gaps_marks_rough_parts_and_what_is_extrapolated():
    made = sweep_chart.sweep_chart(
        [sweep_curve()], x_label="n", x_log=True, y_label="length", **COMMON
    )
    figure = go.Figure(made)
    by_name = {t.name.partition(": ")[2]: t for t in figure.data}
    assert list(by_name["interval"].y) == [None, None, 1.0, 2.0]
    assert by_name["interval, doubtful"].y[1] == 3.0
    assert by_name["interval, doubtful"].line.dash == "dot"
    assert list(by_name["variability"].y) == [None, 2.0, 0.8, 1.0]
    band = by_name["one sd"]
    assert list(band.x) == [20, 40, 80, 80, 40, 20]
    np.testing.assert_allclose(band.y, [3.5, 1.1, 2.2, 1.8, 0.9, 2.5])
    texts = [a.text for a in figure.layout.annotations]
    assert "extrapolated" in texts


def drawn_curve(**changes: object) -> dict[str, object]:
    """The picture of Explore, as the browser gets it."""
    picture = curve_picture(
        [sweep_curve(**changes)],
        [],
        ChartText(title="t", sub="Mean length", alt="a", footer="f", meta={}),
        names=["private"],
        x_label="Records n",
        y_label="length",
        is_log=True,
        here=40.0,
    )
    return picture.data("n")


def test_a_curve_of_explore_says_where_no_length_can_be_relied_on():
    firm = drawn_curve(grades=("valid",) * 4, ci_length=np.array([4.0, 3.0, 2.0, 1.0]))
    assert firm["remarks"] == ()
    assert [word for _, _, word in firm["key"]] == ["private", VARIABILITY]
    made = drawn_curve(grades=(NONE_REPORTED, SOME_MISS, "valid", "valid"))
    assert [one.partition(":")[0] for one in made["remarks"]] == ["Dotted", "No line"]
    (dotted,) = (style for _, style, word in made["key"] if word == "doubtful")
    assert made["styles"][dotted]["dash"]
    lines = {made["styles"][line["style"]]["dash"]: line["points"] for line in made["lines"]}
    assert lines[""] == [None, None, [40.0, 1.0], [80.0, 2.0]]
    assert lines["2 4"] == [None, [20.0, 3.0], [40.0, 1.0], None]
    assert "no effect can be reported here" in made["hover"]["items"][0][1][1]


def test_a_firm_curve_below_its_variability_is_said_to_cover_less():
    """No interval that keeps its promise is shorter on average."""
    valid, lengths = ("valid",) * 4, np.array([4.0, 3.0, 2.0, 1.0])
    made = drawn_curve(grades=valid, ci_length=lengths, vi_length=1.01 * lengths)
    (said,) = made["remarks"]
    assert "cover less than promised, by 1 point at most" in said
    assert drawn_curve(grades=valid, ci_length=lengths, vi_length=lengths)["remarks"] == ()
    dotted = drawn_curve(grades=(SOME_MISS,) * 4, ci_length=lengths, vi_length=1.1 * lengths)
    assert said not in dotted["remarks"]


def test_what_twice_as_many_records_bring_is_told_from_where_one_is():
    """Also where the last point of the curve below it is a doubtful one."""
    curve = sweep_curve(ci_length=np.array([8.0, 4.0, 2.0, 1.0]))
    assert curve_title(curve, "n", 20.0).startswith("Twice as many records would make intervals 50")


def test_the_title_of_a_curve_names_the_best_place_that_can_be_relied_on():
    lengths = np.array([np.nan, 0.5, 1.0, 2.0])  # the second is rough
    assert curve_title(sweep_curve(ci_length=lengths), "c", 80.0) == (
        "Intervals are shortest at c = 40"
    )


@pytest.mark.parametrize(
    ("name", "here", "said"),
    [
        ("n", 10.0, "There are intervals from n = 40 on"),
        ("total", 10.0, "There are intervals from a budget of 40 on"),
        (
            "n",
            80.0,
            "Half as many records would make intervals 100\N{NARROW NO-BREAK SPACE}% longer",
        ),
        (
            "total",
            80.0,
            "Half the budget would make intervals 100\N{NARROW NO-BREAK SPACE}% longer",
        ),
    ],
)
def test_of_records_and_budget_none_is_called_the_best(name, here, said):
    """“Shortest at n = 460,000” was the last place to rely on, or the end of the axis."""
    curve = sweep_curve(ci_length=np.array([np.nan, 8.0, 2.0, 1.0]))
    assert curve_title(curve, name, here) == said


def test_a_sweep_without_a_feasible_point_says_so():
    empty = sweep_curve(
        ci_length=np.full(4, np.nan), ci_sd=np.full(4, np.nan), vi_length=np.full(4, np.nan)
    )
    assert "no interval at any point" in sweep_chart.sweep_sentence([empty], x_label="n")
    sweep_chart.sweep_chart([empty], x_label="n", x_log=False, y_label="length", **COMMON)


def test_the_sweep_names_its_shortest_point():
    sentence = sweep_chart.sweep_sentence([sweep_curve()], x_label="Records n")
    assert "from 3 at 20 to 2 at 80, shortest at 40 (1)" in sentence


def test_no_buttons_lie_over_a_picture():
    assert plot_config()["displayModeBar"] is False


def test_a_table_on_file_holds_no_formula():
    table = pd.DataFrame({"=cmd|' /C calc'!A0": ["@SUM(1)", "age", None], "x": [-1.5, 2.0, 3.0]})
    assert csv_bytes(table).decode().splitlines() == [
        "'=cmd|' /C calc'!A0,x",
        "'@SUM(1),-1.5",
        "age,2.0",
        ",3.0",
    ]


def every_chart() -> list[dict]:
    """Each chart that is written as a dictionary, with all that can be on it."""
    curve = sweep_curve()
    along = {"x_label": "n", "y_label": "length", **COMMON}
    sweep = sweep_chart.sweep_chart([curve], x_log=True, **along)
    return [
        sweep,
        sweep_chart.sweep_chart([curve], x_log=False, **along),
        simulation_charts.add_points(sweep, [comparison(("a", "b"))], x=20.0, first_only=False),
    ]


@pytest.mark.parametrize("written", every_chart())
def test_charts_hold_only_what_plotly_knows_and_reach_the_page_as_written(written):
    """Nothing checks them later: `Written` hands them on."""
    checked = go.Figure(in_colour(written, "#123456"))
    assert (
        checked.to_dict()["layout"]["template"] == Written(written).to_dict()["layout"]["template"]
    )
    assert len(checked.data) == len(written["data"])
    assert Written(written).to_dict() == {
        "data": written["data"],
        "layout": Written(written).to_dict()["layout"],
    }
    with pytest.raises(ValueError, match="Invalid property"):
        go.Figure({"data": [], "layout": written["layout"] | {"no_such_thing": 1}})


@pytest.mark.parametrize("written", every_chart())
def test_one_colour_for_all_words_and_the_chart_itself_stays(written):
    before = copy.deepcopy(written)
    layout = go.Figure(in_colour(written, "#123456")).layout
    fonts = [layout.font, layout.legend.font, *(note.font for note in layout.annotations)]
    fonts += [
        font for axis in (layout.xaxis, layout.yaxis) for font in (axis.tickfont, axis.title.font)
    ]
    assert {font.color for font in fonts} == {"#123456"}
    assert layout.legend.font.size == 12
    assert layout.xaxis.title.text == written["layout"]["xaxis"]["title"]["text"]
    assert written == before


@pytest.mark.parametrize(
    ("longest", "written"),
    [
        (1.5, ["1", "2"]),
        (20.0, ["1", "2", "5", "10", "20"]),
        (50_000.0, ["1", "10", "100", "1,000", "10,000"]),
    ],
)
def test_the_length_axis_of_a_sweep_has_its_numbers_written_out(longest, written):
    curve = sweep_curve(ci_length=np.array([longest, 3.0, 1.0, 2.0]))
    made = sweep_chart.sweep_chart([curve], x_label="n", x_log=True, y_label="length", **COMMON)
    assert made["layout"]["yaxis"]["ticktext"] == written
    assert made["layout"]["xaxis"]["ticktext"][0].replace(",", "").isdigit()


def test_sentences_under_charts_write_numbers_out():
    curve = sweep_curve(
        x=np.array([1e3, 1e4, 1e5, 1e6]), ci_length=np.array([1110.0, 3.0, 1.0, 2.0])
    )
    said = sweep_chart.sweep_sentence([curve], x_label="Records n")
    assert "from 1,110 at 1,000 to 2 at 1,000,000" in said


def test_lengths_along_the_penalty_are_told_to_be_of_what_it_shrinks():
    """Else the shortest, at the largest penalty, looks like the best."""
    assert "penalised at c, which shrinks them" in sweep_chart.length_label(Settings(), "c")
    assert "shrinks" not in sweep_chart.length_label(START, "c")
