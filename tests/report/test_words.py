"""Numbers in sentences that promise."""

from __future__ import annotations

import math
from dataclasses import replace

from dpci_core.report.effect_table import SCALES, EffectRow, EffectTable, Scale
from dpci_core.report.words import number_at_most, together_with_earlier


def test_a_promised_number_is_never_below_what_it_stands_for() -> None:
    for exponent in range(-40, 60):
        x = 1.2345678 * 10.0 ** (exponent / 10.0)
        assert x <= float(number_at_most(x).replace(",", "")) <= 1.01 * x
    assert number_at_most(math.inf) == "-"


def test_no_planned_precision_is_told_as_better_than_it_is() -> None:
    """A difference known to within 1.84 was told as 1.8 in a table, and as 1.84 beside it."""
    row = EffectRow(name="age", label="age, per 10", interval=None, half=1.843, without=0.9035)
    shown = EffectTable(rows=(row,), outcome="pressure", level=0.95, scale=Scale.of_number("mmHg"))
    assert shown.cells == (("age, per 10", "1.85", "0.904", "2.04"),)
    assert "to within ±1.85, without" in shown.saying()
    row = replace(row, half=math.log(1.1904), without=math.log(1.19))
    shown = replace(shown, rows=(row,), scale=SCALES["odds"])
    assert shown.cells[0][1:3] == ("1.20", "1.19")


def test_the_newest_of_several_earlier_releases_is_named_and_a_risk_is_rounded_up() -> None:
    told = together_with_earlier("pure", "3.5", 4, 9)
    assert "4 earlier releases were paid for, the newest of this same plan (entry 9)." in told
    assert "3.5-differentially private (pure epsilon): 50 % → at most 97.1 %" in told
    assert "plan" not in together_with_earlier("pure", "3.5", 4, None)
