"""What a report says about each coefficient, held against the model's own predictions."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from markupsafe import escape

from dpci_core import Design, HuberSVM
from dpci_core.ledger import Cap
from dpci_core.plan import to_html
from dpci_core.release import (
    Interval,
    Release,
    effect_lines,
    effect_sentences,
    model_card,
    reading_sentence,
    schema_hash,
)
from dpci_core.release.effects import told_odds
from dpci_core.release.evaluation import evaluation
from dpci_core.release.report import price_words
from dpci_core.report.words import number, odds
from dpci_core.schema import CategoricalColumn, NumericColumn, Schema
from tests.release_example import PURE, SCHEMA, Desk, make_plan


@pytest.fixture
def made(tmp_path: Path) -> Release:
    return Desk.at(tmp_path).release()


def decision(made: Release, age: float, city: str) -> float:
    return float(made.decision(pd.DataFrame({"age": [age], "city": [city]}))[0])


def test_a_sentence_says_what_the_model_does(made: Release) -> None:
    age, city, start = effect_sentences(made)
    year = decision(made, 41, "a") - decision(made, 40, "a")
    factor = told_odds(made)(math.exp(year))
    assert age.startswith(f"1 more of age, all else equal: odds times {factor}, 95 % interval ")
    assert f"of sick = yes change by {number(year)} per unit of age, between" in age
    move = decision(made, 40, "b") - decision(made, 40, "a")
    assert city.startswith("city = b instead of a, all else equal: ")
    assert f"change by {number(move)}, between" in city
    assert f"the log-odds of sick = yes are {number(decision(made, 0, 'a'))}, between" in start


def test_the_ends_are_those_of_the_interval(made: Release) -> None:
    for c, sentence in zip(made.coefficients, effect_sentences(made), strict=True):
        assert f"between {number(c.original.low)} and {number(c.original.high)}" in sentence
    age = made.coefficients[0].original
    told = re.search(r"95 % interval ([\d.]+) to ([\d.]+)\.", effect_sentences(made)[0])
    assert told is not None
    for shown, true in zip(told.groups(), (age.low, age.high), strict=True):
        half = 0.5 * 10.0 ** -len(shown.partition(".")[2])
        assert abs(float(shown) - math.exp(true)) <= half * (1.0 + 1e-9)


def test_the_odds_of_one_release_have_the_same_decimals(made: Release) -> None:
    lines = [line.partition(", 95 % interval ") for line in effect_lines(made)]
    found = [re.findall(r"\d\.(\d+)", line[0]) for line in lines]
    ends = [re.findall(r"\d\.(\d+)", line[2]) for line in lines]
    digits = {len(decimals) for line in ends for decimals in line}
    assert len(found) > 1
    assert len(digits) == 1
    assert digits == {len(line[0]) for line in found}


def told(made: Release, low: float, high: float) -> str:
    """The sentence of age, were its interval this one."""
    age = made.coefficients[0]
    other = replace(age, original=Interval(estimate=(low + high) / 2, low=low, high=high))
    return effect_sentences(replace(made, coefficients=(other, *made.coefficients[1:])))[0]


def test_the_direction_is_claimed_only_where_zero_is_outside(made: Release) -> None:
    assert told(made, 0.1, 0.3).endswith("It points towards sick = yes.")
    assert told(made, -0.3, -0.1).endswith("It points away from sick = yes.")
    assert told(made, -0.1, 0.3).endswith(
        "The interval contains zero: the direction is not established."
    )
    assert told(made, 0.0, 0.3).endswith(
        "The interval contains zero: the direction is not established."
    )
    assert "odds times" not in told(made, -800.0, 800.0)


def test_a_machine_speaks_of_scores(tmp_path: Path) -> None:
    design = Design(
        loss=HuberSVM(h=1.0),
        mechanism="output",
        budget=PURE,
        regularization=0.05,
        n_records=200,
        calibration="published",
    )
    made = Desk.at(tmp_path, plan=replace(make_plan(), design=design)).release()
    age, _, start = effect_sentences(made)
    year = decision(made, 41, "a") - decision(made, 40, "a")
    assert f"score {number(year)} more, 95 % interval" in age
    assert f"score for sick = yes changes by {number(year)} per unit of age, between" in age
    assert "odds" not in age + start + reading_sentence(made)
    assert f"the score for sick = yes is {number(decision(made, 0, 'a'))}" in start
    assert "above 0" in reading_sentence(made)


def test_a_step_fits_the_declared_range_and_a_level_its_base(tmp_path: Path) -> None:
    schema = Schema(
        features=(
            NumericColumn("pay", 0, 100_000),
            CategoricalColumn("city", ("a", "b", "c")),
            CategoricalColumn("flag", ("x", "y"), has_reference=False),
        ),
        target="sick",
        positive="yes",
        negative=("no",),
    )
    desk = Desk.at(tmp_path, plan=make_plan(schema=schema), cap=Cap.pure(2))
    desk.file.write_text("pay,city,flag,sick\n" + "5,a,x,yes\n90000,c,y,no\n" * 100)
    pay, b, c, x, *_ = effect_sentences(desk.release())
    assert pay.startswith("10,000 more of pay, ")
    assert b.startswith("city = b instead of a, ")
    assert c.startswith("city = c instead of a, ")
    assert x.startswith("flag = x (beside the other levels, each of which has its own number), ")
    some = desk.release("r2", to="some", plan=replace(desk.plan, features=("pay", "city=c")))
    assert effect_sentences(some)[1].startswith("city = c instead of a or b, ")


def test_the_report_shows_them_and_names_stay_text(tmp_path: Path) -> None:
    schema = replace(
        SCHEMA,
        features=(NumericColumn("<script>", 0, 100), CategoricalColumn("city", ("a", "<b>"))),
    )
    desk = Desk.at(tmp_path, plan=make_plan(schema=schema))
    desk.file.write_text("<script>,city,sick\n" + "5,a,yes\n90,<b>,no\n" * 100)
    made = desk.release()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "1 more of &lt;script&gt;, all else equal" in page
    assert "city = &lt;b&gt; instead of a" in page
    assert "<script>" not in page
    assert reading_sentence(made) in page
    assert "from 200 records (planned: all of them complete)" in page
    assert "A record with a missing cell counts for nothing" in page
    assert "How many were complete is not released." in page


_OF_THE_METHOD = (
    *("python -m", "Log-odds", "log-odds", "Hessian", "covariance", "Neighbouring", "perturbation"),
    *("public grid", "encoded"),
)


def test_a_report_keeps_the_terms_of_the_method_in_its_appendix(tmp_path: Path) -> None:
    plan = make_plan(schema=replace(SCHEMA, complete=0.89))
    made = Desk.at(tmp_path, plan=plan).release()
    page = (tmp_path / "out" / "report.html").read_text()
    body, appendix = page.split("Appendix: ")
    assert [term for term in _OF_THE_METHOD if term in body] == []
    assert [term for term in _OF_THE_METHOD if term not in appendix] == []
    assert all(str(escape(line)) in appendix for line in made.assumptions)
    assert made.guarantee.neighbours in appendix
    said = "200 records (planned: 89 % of them complete)"
    assert all(said in text for text in (body, model_card(made), evaluation(made)))
    sentence = "the guarantee limits how well anybody who sees all that is published"
    assert sentence in body
    assert sentence in to_html(plan, plan.numbers())


def test_units_stand_in_what_an_effect_is_told_for_and_small_effects_keep_their_digits():
    column = NumericColumn("pressure", 60, 260, step=10.0, units="mmHg")
    assert schema_hash(Schema((column,), "ill", "yes")) == schema_hash(
        Schema((replace(column, units=""),), "ill", "yes")
    )
    with pytest.raises(ValueError, match="units"):
        replace(column, units="x" * 41)
    assert (odds(1.22), odds(1.0081234), odds(1.08)) == ("1.22", "1.00812", "1.08")


def test_the_parts_of_the_price_are_exact_and_so_add_up_to_the_total():
    lines = {"model": "0.7010982", "inexact minimiser": "0.0007018", "hessian": "0.1957"}
    assert price_words(lines) == "coefficients 0.7018, Hessian 0.1957"
