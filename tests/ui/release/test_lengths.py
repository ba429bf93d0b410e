"""What the page Release says of released beside planned lengths is true of nearly all releases."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from dpci_core import (
    CategoricalColumn,
    DeclaredTable,
    Design,
    Guesses,
    Logistic,
    NumericColumn,
    Plan,
    PureDP,
    Schema,
    StandardEncoding,
)
from dpci_core.intervals.forecast import drawn_intervals
from dpci_core.plan.numbers import PlanNumbers
from dpci_core.planner import targets
from dpci_core.release.record import AnyRelease, Coefficient
from dpci_core.release.rehearsal import rehearsed
from dpci_core.schema.twin import NumberGuess
from tests.linear_example import linear_plan
from ui.release import result
from ui.release.result import against_plan

AGE = NumericColumn("age", 18, 98, typical=60, spread=15, step=10)
DOSE = NumericColumn("dose", 0, 10, typical=3, spread=1.5)
SMOKER = CategoricalColumn("smoker", ("no", "yes"), shares=(0.7, 0.3))
GUESSES = Guesses(effects={"age": 0.03, "dose": 0.2, "smoker=yes": 0.5}, base_rate=0.3)
PLAN = Plan(
    title="Smoking",
    source=DeclaredTable(
        schema=Schema(
            (AGE, DOSE, SMOKER), "ill", "yes", negative=("no",), standard=StandardEncoding()
        ),
        guesses=GUESSES,
    ),
    design=Design(
        loss=Logistic(),
        mechanism="objective",
        budget=PureDP(model="0.5", hessian="0.25", covariance="0.25"),
        regularization=0.0024,
        n_records=3_000,
        calibration="sharp",
        target="unpenalised",
    ),
    delta="1e-6",
)
HALF = {one.name: NumberGuess(one.typical, one.spread / 2.0) for one in (AGE, DOSE)}
OTHER = replace(PLAN, source=replace(PLAN.source, guesses=replace(GUESSES, numbers=HALF)))
BLAMED = "The table probably differs"
RANGE = (0.1, 0.2)


def with_yes(rate) -> Plan:
    """The plan with another share of “yes”, or a range of it."""
    return replace(PLAN, source=replace(PLAN.source, guesses=replace(GUESSES, base_rate=rate)))


@cache
def numbers(plan) -> PlanNumbers:
    return plan.numbers()


@dataclass(frozen=True)
class Made:
    """As much of a release as its lengths are."""

    coefficients: tuple[Coefficient, ...]
    n_records: int
    n_planned: int
    schema: Schema

    times_as_planned = AnyRelease.times_as_planned
    reported_effects = AnyRelease.reported_effects


def sentences(table, *, plan=PLAN, times: int, n: int = 0) -> list[str]:
    """What is said of releases of a plan from tables of the kind that another one describes."""
    promised = numbers(plan)
    design = replace(table.design, n_records=n or plan.n_records)
    return [
        against_plan(
            Made(one.coefficients, design.n_records, plan.n_records, one.schema), plan, promised
        )
        for one in rehearsed(replace(table, design=design), promised, times=times)
    ]


@pytest.mark.parametrize(("plan", "n"), [(PLAN, 0), (PLAN, 2_750), (linear_plan(), 0)])
def test_a_table_as_described_is_not_blamed_for_what_noise_does(plan, n) -> None:
    said = sentences(plan, plan=plan, times=40, n=n)
    assert sum(BLAMED in one for one in said) <= 3
    assert all(("from 2,750 rows, not 3,000" in one) is (n > 0) for one in said)
    assert len({one.split("are **")[1][:4] for one in said}) > 3, "they differ"


@pytest.mark.parametrize("table", [OTHER, with_yes(0.08)])
def test_a_table_that_differs_is_named(table) -> None:
    said = sentences(table, times=20)
    assert sum(BLAMED in one and "less spread" in one for one in said) >= 18


@pytest.mark.parametrize("rate", [0.1, 0.11, 0.2])
def test_a_share_within_the_declared_range_is_as_described(rate) -> None:
    """“Yes” in 11 % was blamed for lengths that are planned with 14.3 %, the middle of a range."""
    said = sentences(with_yes(rate), plan=with_yes(RANGE), times=40)
    assert sum(BLAMED in one for one in said) <= 1
    explained = "which noise and the range of “yes” explain: nearly all releases of a table as "
    assert sum(f"{explained}described, with “yes” in 10 to 20 %, are" in one for one in said) >= 39


@pytest.mark.parametrize(("rate", "why"), [(0.03, "is more one"), (0.4, "is less one")])
def test_a_share_beyond_the_declared_range_is_not(rate, why) -> None:
    said = sentences(with_yes(rate), plan=with_yes(RANGE), times=20)
    assert sum(BLAMED in one and why in one and "noise hardly" in one for one in said) >= 18


def test_usual_lengths_reach_over_declared_ranges_alone() -> None:
    """Spreads half as large are no range that somebody declared."""

    def usual(rate) -> tuple[float, float]:
        return result._usual(with_yes(rate), 3_000, (0, 1, 2))

    assert usual(RANGE) == (usual(0.2)[0], usual(0.1)[1])
    assert usual((0.3, 0.9)) == (usual(0.5)[0], usual(0.9)[1]), "an even share tells most"
    (only,) = PLAN.source.described()
    np.testing.assert_array_equal(only.X.rows, PLAN.records().X.rows)
    assert len(list(with_yes((0.5, 0.9)).source.described())) == 3
    assert "range" not in sentences(PLAN, times=1)[0]


def test_what_privacy_costs_is_told_by_the_plan_alone() -> None:
    """Without the intercept, which is no effect."""
    found = numbers(PLAN).scaled
    cost = found.ci_length[:-1].sum() / found.nonprivate_length[:-1].sum()
    (said,) = {one.rsplit("By the plan", 1)[1] for one in sentences(PLAN, times=5)}
    assert said == (
        f", intervals are {cost:.3g} times as long as without privacy, on average of the reported "
        "effects."
    )


def test_usual_lengths_are_the_middle_of_those_that_noise_and_sampling_make() -> None:
    """Beside the shares of a million lengths that are drawn: of a draw of the noise, and around
    it.
    """
    drawn = drawn_intervals(PLAN.moments(), design=PLAN.design)
    rng, places = np.random.default_rng(3), [0, 2]
    spread = math.hypot(targets._OF_MEAN / math.sqrt(3_000), targets._of_drift(drawn, places))
    lengths = rng.choice(drawn.lengths[:, places].mean(axis=1), 1_000_000)
    lengths *= np.exp(spread * rng.standard_normal(len(lengths)))
    for share in (0.5, 0.99):
        low, high = targets.usual_lengths(drawn, places, share=share)
        assert np.mean(lengths < low) == pytest.approx((1.0 - share) / 2.0, abs=2e-3)
        assert np.mean(lengths > high) == pytest.approx((1.0 - share) / 2.0, abs=2e-3)
