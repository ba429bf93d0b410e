"""A linear regression in the planner: promise, needed records and budget in the worlds of its plan,
which more records and more budget never make worse.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dpci_core.base.batches import as_table
from dpci_core.base.rows import WeightedRows, beside
from dpci_core.plan import DeclaredTable, LinearPlan
from dpci_core.planner import (
    Promise,
    Target,
    WorldMoments,
    as_if_records,
    meeting_probability,
    needed_budget,
    needed_records,
    promise,
)
from dpci_core.planner.amounts import with_total
from dpci_core.planner.linear import CLIPS, LinearSearch, best_linear_design
from dpci_core.planner.needed import OutOfReachError
from dpci_core.planner.targets import Outcome, outcome, outcome_of
from dpci_core.planner.worlds import drawn, foreseen
from dpci_core.regression import forecast, intervals
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.fit import run_steps
from dpci_core.regression.forecast import PlanningRows, forecast_linear
from dpci_core.report.cautions import REPORTABLE_CHANCE, reach
from dpci_core.schema import Guesses, NumberGuess
from tests.linear_example import GUESSES, N, linear_plan
from tests.plan_examples import a_design

PLAN = linear_plan(guesses=replace(GUESSES, n_rows=300))
DESIGN = PLAN.design


@cache
def worlds() -> tuple[WorldMoments, ...]:
    return PLAN.worlds()


@cache
def promised(total: str, n: int) -> Promise:
    return promise(worlds()[:2], design=replace(with_total(DESIGN, Decimal(total)), n_records=n))


@settings(derandomize=True, max_examples=20, deadline=None)
@given(
    st.lists(st.sampled_from(["0.2", "0.5", "1", "4", "16"]), min_size=2, max_size=2, unique=True),
    st.lists(st.sampled_from([150, 300, 600, 2_500, 10_000]), min_size=2, max_size=2, unique=True),
)
def test_more_records_and_more_budget_never_lose_reach_nor_lengthen(totals, records):
    (less, more), (fewer, many) = sorted(totals, key=Decimal), sorted(records)
    for small, large in (
        (promised(less, fewer), promised(more, fewer)),
        (promised(less, fewer), promised(less, many)),
    ):
        lost = small.chance < REPORTABLE_CHANCE
        assert ((large.chance >= REPORTABLE_CHANCE) | lost).all()
        assert (large.longest <= 1.01 * small.longest).all()
        assert (large.shortest <= 1.01 * small.shortest).all()


def test_a_promise_is_that_of_the_least_favourable_world_and_says_which():
    found = PLAN.promise(worlds())
    said = [world.assumption for world in worlds()]
    assert found.worlds == tuple(said)
    assert found.fewest == PLAN.fewest < N
    L = PLAN.contrasts[3:5]
    there = replace(DESIGN, n_records=PLAN.fewest)
    made = [
        forecast_linear(w.moments.table, design=there, contrasts=L, n_draws=32) for w in worlds()
    ]
    np.testing.assert_allclose(found.longest, np.max([one.length for one in made], axis=0))
    np.testing.assert_allclose(found.chance, np.min([one.chance_to_report for one in made], axis=0))
    np.testing.assert_allclose(found.coverage, np.min([one.coverage for one in made], axis=0))
    for j, assumption in enumerate(found.longest_decided_by):
        assert made[said.index(assumption)].length[j] == pytest.approx(found.longest[j])
    assert found.longest_decided_by[0] == "the spread of pressure is twice as large as declared"
    numbers = PLAN.numbers(worlds())
    assert numbers.promise.chance.tolist() == found.chance.tolist()
    assert f"under all {len(said)} sets of assumptions" in reach(numbers.promise, 900)
    assert (found.longest > numbers.original.ci_length[:-1]).all()
    record = numbers.to_record()["promise"]
    assert [one["name"] for one in record["effects"]] == list(PLAN.names[:-1])


def test_what_another_world_loses_is_a_caution_and_stops_where_it_is_the_goal():
    plan = replace(PLAN, design=replace(DESIGN, n_records=90), goal=Target(9.0, coefficient=0))
    numbers = plan.numbers(worlds())
    assert not numbers.promise.reportable
    assert {one.gravity for one in numbers.cautions(plan.design)} == {"stops"}
    as_declared = meeting_probability(worlds()[:1], design=plan.design, target=plan.goal)
    assert numbers.promise.probability is not None
    assert numbers.promise.probability <= as_declared


def test_what_is_needed_is_needed_in_the_least_favourable_world():
    some = (worlds()[0], worlds()[6])
    goal = Target(9.0, coefficient=0, probability=0.8)
    found = needed_budget(some, design=DESIGN, target=goal, fewest=PLAN.fewest_of)
    assert found.decided_by == "the spread of pressure is twice as large as declared"
    assert f"Most is needed if {found.decided_by}" in found.reason
    assert found.fewest == PLAN.fewest
    assert found.probability == meeting_probability(some, design=found.at_fewest, target=goal)
    assert found.probability >= 0.8
    for factor, is_met in (("0.97", False), ("1", True)):
        there = with_total(found.at_fewest, found.total * Decimal(factor))
        assert outcome(some[0].moments, design=there, target=goal).meets
        assert outcome(some[1].moments, design=there, target=goal).meets == is_met
    assert 0 < as_if_records(some[0].moments, design=found.at_fewest) < PLAN.fewest
    more = needed_records(some, design=DESIGN, target=goal)
    assert more.decided_by == found.decided_by
    fewer = replace(DESIGN, n_records=int(0.97 * more.n_records))
    assert outcome(some[1].moments, design=more.design, target=goal).meets
    assert not outcome(some[1].moments, design=fewer, target=goal).meets


def test_a_length_of_what_noise_hides_does_not_meet_a_target():
    goal = Target(1e4, coefficient=0)
    found = needed_budget(worlds()[0].moments, design=DESIGN, target=goal)
    made = foreseen(worlds()[0].moments, design=found.design)
    assert made.chance_to_report[0] >= REPORTABLE_CHANCE
    less = drawn(worlds()[0].moments, design=with_total(DESIGN, found.total * Decimal("0.9")))
    assert less.lengths[:, 0].mean() < 1e4
    assert less.chance_to_report[0] < REPORTABLE_CHANCE


def test_a_length_below_that_of_sampling_is_out_of_reach():
    with pytest.raises(OutOfReachError, match="No budget makes it true"):
        needed_budget(worlds()[0].moments, design=DESIGN, target=Target(1e-4, coefficient=0))


def test_moments_and_designs_of_two_models_do_not_mix():
    with pytest.raises(ValueError, match="PlanningRows for a LinearDesign"):
        foreseen(object(), design=DESIGN)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="moments as `fit_moments` returns them"):
        foreseen(worlds()[0].moments, design=a_design())
    with pytest.raises(ValueError, match="Expected a Design"):
        needed_records(worlds(), design=3, target=Target(1.0))  # type: ignore[arg-type]


def test_a_goal_is_a_part_of_the_plan():
    plan = replace(PLAN, goal=Target(9.0, coefficient=0, probability=0.8))
    assert plan.to_dict()["goal"]["coefficient"] == "age"
    assert LinearPlan.from_dict(plan.to_dict()) == plan
    assert "goal" not in PLAN.to_dict()
    assert plan.digest != PLAN.digest
    with pytest.raises(ValueError, match="coefficient=3 < 3"):
        replace(PLAN, goal=Target(9.0, coefficient=3))


def test_the_outcome_may_be_guessed_and_is_wrong_in_worlds_of_its_own():
    said = [world.assumption for world in worlds()]
    assert "pressure has a long tail towards a far bound" in said
    spreads = {w.assumption: w.moments.table.rows.rows[:, 0].std() for w in worlds()}
    declared = spreads[said[0]]
    for assumption, factor in (
        ("the spread of pressure is half as large as declared", 0.5),
        ("the spread of pressure is twice as large as declared", 2.0),
    ):
        assert spreads[assumption] == pytest.approx(factor * declared, rel=0.1)
    wide = replace(GUESSES, n_rows=300, numbers={"pressure": NumberGuess(130, 36)})
    t = DeclaredTable(schema=PLAN.schema, guesses=wide).records().y
    assert t.std() == pytest.approx(spreads["the spread of pressure is twice as large as declared"])
    with pytest.raises(ValueError, match="centre"):
        Guesses(numbers={"pressure": NumberGuess(300, 36)}).check_against(PLAN.schema)


def test_what_the_steps_leave_counts_four_times_and_is_never_told(monkeypatch):
    rows = worlds()[0].moments.table
    fit = run_steps(rows, design=DESIGN, source=np.random.default_rng(1))
    far = replace(fit, phi=1e6 * fit.phi)  # so that nothing else is left of the variance
    widths = far.half_widths()
    assert not fit.half_widths().is_not_estimable.any()
    assert widths.is_not_estimable.all()
    monkeypatch.setattr(intervals, "_LEFT_COUNTS", 1.0)
    np.testing.assert_allclose(widths.privacy, 4.0 * far.half_widths().privacy, rtol=1e-3)


def skewed(spread: float) -> PlanningRows:
    """Rows whose second column moves an outcome with a long tail to one side."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(4_000)
    t = 0.3 * x + spread * (1.0 + x.clip(-1.0)) * rng.gamma(9.0, 1.0 / 3.0, size=4_000)
    X = np.column_stack([x, np.ones(4_000)])
    return PlanningRows(as_table(beside(t, WeightedRows.of(X))), np.eye(2))


def cost_of(rows: PlanningRows, design: LinearDesign) -> tuple[float, float]:
    """Chance to report the slope, and its length."""
    made = forecast_linear(rows.table, design=design, n_draws=8)
    return float(made.chance_to_report[0] * ~made.is_biased[0]), float(made.length[0])


def test_the_best_method_of_all_worlds_is_found_whatever_was_asked_before():
    """Each is looked at in a few worlds only; the answer is that of looking at all in all."""
    given = [WorldMoments(f"{spread}", skewed(spread)) for spread in (0.2, 0.5, 0.8)]
    target, search = Target(1.0, coefficient=0), LinearSearch(given, Target(1.0, coefficient=0))
    n_of = {}
    for n in (600, 10_000, 600):
        design = replace(DESIGN, n_records=n, clip=50.0, row_clip=50.0, steps=8)
        best = search.best(design, is_split_free=False)
        assert n_of.setdefault(n, best) == best
        assert best == best_linear_design(given, design=design, target=target, is_split_free=False)
        worst = {}
        for clip, row_clip in CLIPS:
            other = replace(best, clip=clip, row_clip=row_clip)
            seen = [cost_of(one.moments, other) for one in given]
            worst[clip, row_clip] = min(chance for chance, _ in seen), max(of for _, of in seen)
        chosen = worst[best.clip, best.row_clip]
        assert chosen[0] >= 0.98
        assert chosen[1] <= 1.01 * min(of for chance, of in worst.values() if chance >= 0.98)
    assert n_of[600].clip < n_of[10_000].clip  # a bias stays, noise does not


def test_the_split_stays_unless_it_is_free_and_the_constant_counts_where_it_is_asked():
    rows = skewed(0.5)
    design = replace(DESIGN, n_records=6_000)
    kept = best_linear_design(rows, design=design, is_split_free=False)
    assert kept.budget == design.budget
    assert best_linear_design(rows, design=design).budget.total == design.budget.total
    for has_constant in (False, True):
        search = LinearSearch([WorldMoments("", rows)], has_constant=has_constant)
        search.best(design, is_split_free=False)
        assert len(search.is_biased) == 1 + has_constant


def test_a_length_of_few_draws_is_kept_as_often_as_is_promised():
    """Five of six sets of draws promise too little, not too much: a standard error is kept back."""
    goal, rng, sampling = (
        Target(1.0, coefficient=0, probability=0.9),
        np.random.default_rng(0),
        0.02,
    )
    for spread in (0.0, 0.07, 0.3):
        law = norm(scale=float(np.hypot(spread, sampling)))
        sets = [np.exp(spread * rng.standard_normal(16)) for _ in range(200)]
        seen = [
            Outcome(goal, 1.0, draws, sampling, 0.0, True, False, is_paired=False) for draws in sets
        ]
        kept = [law.cdf(np.log(one.within_reach)) for one in seen]
        assert np.mean(np.array(kept) >= 0.9) > 0.75
        assert np.mean(kept) < 0.96
    made = drawn(worlds()[0].moments, design=DESIGN)
    assert not outcome_of(made, goal).is_paired


def test_a_bias_within_a_standard_error_of_too_much_is_too_much():
    """For a search; and coverage is what the larger bias leaves."""
    rows, between = skewed(0.5), 0
    for n in (2_000, 4_000, 8_000, 16_000, 32_000, 64_000):
        design = replace(DESIGN, n_records=n, clip=3.0, row_clip=2.0)
        made = rows.forecast(design=design, contrasts=np.eye(2), n_draws=4, has_plain=False)
        half, size = made.half_width.mean(axis=0), np.abs(made.bias)
        is_far = size + made.bias_se > 0.25 * half
        assert (made.is_biased == is_far).all()
        assert (made.coverage < made._within(size).mean(axis=0)).all()
        between += np.count_nonzero(is_far & (size - 2.0 * made.bias_se < 0.25 * half))
    assert between


def test_a_search_sees_other_draws_than_a_promise():
    rows = skewed(0.5)
    tried = rows.tried(design=DESIGN, n_draws=4)
    made = rows.forecast(design=DESIGN, contrasts=rows.basis, n_draws=32, has_plain=False)
    assert not np.isin(tried.half_width, made.half_width).any()
    np.testing.assert_array_equal(tried.bias, rows.tried(design=DESIGN, n_draws=4).bias)
    seen = PlanningRows(rows.table, rows.basis)
    best_linear_design(seen, design=DESIGN, target=Target(1.0, coefficient=0))
    assert not seen._known


def test_all_planning_rows_take_steps_in_turn(monkeypatch):
    monkeypatch.setattr(forecast, "_MOST_ROWS", 2_000)
    rows = skewed(0.5).table.memory.rows.copy()
    rows[1::2, 0] *= 3.0
    whole, half = (
        forecast_linear(
            as_table(beside(of[:, 0], WeightedRows.of(of[:, 1:]))), design=DESIGN, n_draws=2
        )
        for of in (rows, rows[::2])
    )
    np.testing.assert_array_equal(whole.half_width[0], half.half_width[0])
    assert (whole.half_width[1] > 2.0 * half.half_width[1]).all()


def test_fits_that_are_known_are_not_made_again(monkeypatch):
    rows, made = skewed(0.5), []
    run = forecast.run_steps
    monkeypatch.setattr(forecast, "run_steps", lambda *a, **k: made.append(1) or run(*a, **k))
    few = rows.forecast(design=DESIGN, contrasts=np.eye(2), n_draws=4, has_plain=False)
    assert len(made) == 4
    all_of = rows.forecast(design=DESIGN, contrasts=2.0 * np.eye(2), n_draws=6, has_plain=False)
    assert len(made) == 6
    np.testing.assert_array_equal(all_of.half_width[:4], 2.0 * few.half_width)
    plain = forecast_linear(rows.table, design=DESIGN, n_draws=6)
    np.testing.assert_array_equal(plain.half_width, all_of.half_width / 2.0)
    for n in (700, 800, 900):
        other = replace(DESIGN, n_records=n)
        rows.forecast(design=other, contrasts=np.eye(2), n_draws=2, has_plain=False)
    assert len(rows._known) == 2
