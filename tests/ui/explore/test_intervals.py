"""The intervals of Explore: bars as long as what was computed, and words and a table that say the
same.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpci_core.report.words import number
from ui.explore import finding, later, sentences
from ui.explore.intervals import ChartText, interval_picture
from ui.kit import picture
from ui.kit.picture import Picture
from ui.session.choices import ALL_COMBINATIONS, Combination
from ui.session.results import IntervalRows

AROUND = ChartText(title="t", sub="s", alt="a", footer="f", meta={})
PRIVATE, VARIABILITY, WITHOUT = (1, 3), (2, 4), (0,)
"""Styles of the two combinations."""


def rows(k: int = 3) -> list[IntervalRows]:
    rng = np.random.default_rng(0)
    lengths = np.sort(rng.uniform(0.1, 2.0, (3, k)), axis=0)
    return [
        IntervalRows(
            combination=c,
            names=tuple(f"a rather long feature name {i}" for i in range(k)),
            estimate=rng.normal(size=k),
            ci_length=lengths[2],
            vi_length=lengths[1],
            nonprivate_length=lengths[0],
        )
        for c in ALL_COMBINATIONS[:2]
    ]


def drawn(made: list[IntervalRows], units: str = "scaled") -> Picture:
    return interval_picture(
        made, [], AROUND, units=units, span_of=lambda key, low, high: (low, high)
    )


@pytest.mark.parametrize("units", ["scaled", "odds"])
def test_intervals_are_drawn_where_they_are(units):
    made = rows()
    chart = drawn(made, units)
    for place, item in enumerate(made):
        for style, lengths in (
            (PRIVATE[place], item.ci_length),
            (VARIABILITY[place], item.vi_length),
        ):
            x = np.array([(low, high) for _, low, high, own in chart.bars if own == style])
            x = np.log(x) if units == "odds" else x
            expected = np.column_stack([item.estimate - lengths / 2, item.estimate + lengths / 2])
            found = sorted(map(tuple, x))
            np.testing.assert_allclose(found, sorted(map(tuple, expected)))
    other = made[0].nonprivate_length if units == "odds" else made[0].vi_length
    ratios = {f"{r:.2f}×" for r in made[0].ci_length / other}
    assert ratios <= {text for _, text in chart.right}
    assert all(panel.is_log is (units == "odds") for panel in chart.panels)


def test_the_ends_of_a_private_interval_are_drawn_at_full_strength():
    styles = drawn(rows()).styles
    for style in PRIVATE:
        assert styles[style].opacity < 1.0 < styles[style].ends
    script = Path(picture.__file__).with_name("picture.js").read_text(encoding="utf-8")
    (drawn_ends,) = [line for line in script.splitlines() if "d: ends[kind]" in line]
    assert "opacity" not in drawn_ends


def test_what_a_penalty_leaves_stands_beside_every_interval():
    made = [replace(item, left=np.array([0.27, -0.1, 1.64])) for item in rows()]
    notes = [note for _, _, note, _ in drawn(made).labels]
    for note, told in zip(notes, ("shrunk to 27 %", "past zero", "grown to 164 %"), strict=True):
        assert told in note
    assert (
        sentences.interval_table(made)["share without penalty"].tolist() == [0.27, -0.1, 1.64] * 2
    )


def test_a_coefficient_that_cannot_be_reported_is_drawn_as_such_and_counts_nowhere():
    lost = np.array([True, False, False])
    made = [replace(item, is_not_reportable=lost) for item in rows()]
    chart = drawn(made)
    assert ["not reportable" in note for _, _, note, _ in chart.labels] == lost.tolist()
    assert len(chart.bars) == 2 * (3 * 2 + 1)  # of two coefficients, and a pale one of the third
    assert len(chart.dots) == 2 * 2
    sentence = sentences.interval_sentence(made, "scaled")
    assert f"{number(made[0].ci_length[1:].mean())} long" in sentence
    assert "of 2 exclude zero" in sentence
    assert "not reportable: a rather long feature name 0" in sentence
    assert sentences.interval_table(made)["not reportable"].tolist() == lost.tolist() * 2
    nothing = [replace(item, is_not_reportable=~np.zeros(3, dtype=bool)) for item in rows()]
    assert "no coefficient can be reported" in sentences.interval_sentence(nothing, "scaled")


def test_sentence_and_table_say_what_the_chart_shows():
    made = rows()
    table = sentences.interval_table(made)
    assert len(table) == 6
    np.testing.assert_allclose(
        table["private high"] - table["private low"], table["private length"]
    )
    sentence = sentences.interval_sentence(made, "scaled")
    assert f"{made[1].ci_length.mean() / made[1].vi_length.mean():.2f} times" in sentence
    clear = int((np.abs(made[0].estimate) > made[0].ci_length / 2).sum())
    assert f"({clear} of 3 exclude zero)" in sentence
    assert f"({clear} of 3 exclude 1)" in sentences.interval_sentence(made, "odds")


def test_coverage_names_the_worst():
    row = (ALL_COMBINATIONS[3], ("age", "hours_per_week"), np.array([0.961, 0.884]))
    assert "lowest 88.4 % (hours per week)" in sentences.coverage_sentence([row], level=0.95)


def test_no_ratio_says_that_privacy_shortens_an_interval():
    """Two estimates are divided: a little below 1 is 1, and a real error is shown."""
    pure = [Combination("pure", way, "logistic") for way in ("objective", "output")]
    said = finding.length_ratio_sentence(pure[:1], [0.99])
    assert said == "Privacy makes intervals hardly longer on average"
    assert "hardly longer (objective) or 1.60 times as long (output)" in (
        finding.length_ratio_sentence(pure, [0.99, 1.6])
    )
    assert "0.80 times as long" in finding.length_ratio_sentence(pure[:1], [0.8])
    reach = later._Reach(pure[0], n=1, n_all=1, cost=0.99, span=(0.99, 0.99))
    cells = finding.live_cells([np.array([0.98])], [np.array([1.0])], [reach])
    assert (cells["ratio 0"], cells["cost 0"]) == ("1.00×", "1.00×")
