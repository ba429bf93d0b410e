"""A promise holds in every world: it is never better than what is forecast of one of them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpci_core import (
    CategoricalColumn,
    DeclaredTable,
    Design,
    Guesses,
    InfeasibleDesignError,
    Logistic,
    Moments,
    NumberGuess,
    NumericColumn,
    Plan,
    PublicTable,
    PureDP,
    Schema,
    StandardEncoding,
    Target,
    WorldMoments,
    best_regularization,
    best_split,
    fit_moments,
    forecast,
    meeting_probability,
    needed_budget,
    needed_records,
    promise,
    rank_mechanisms,
    simulate_twin,
    worlds_of,
)
from dpci_core.intervals.forecast import drawn_intervals, forecast_of
from dpci_core.plan.effects import planned_effects
from dpci_core.planner.amounts import LARGEST_TOTAL, with_total
from dpci_core.planner.needed import OutOfReachError
from dpci_core.planner.promise import fewest_records, usable_records
from dpci_core.planner.search import SplitSearch, score
from dpci_core.planner.split import quick_split
from dpci_core.planner.standard import enclosing
from dpci_core.planner.targets import outcome
from dpci_core.planner.worlds import least_favourable
from dpci_core.report.cautions import cautions, reach
from dpci_core.schema import twin_table
from dpci_core.schema.twin import twin_records

SCHEMA = Schema(
    (
        NumericColumn("age", 18, 100, typical=64, spread=14, step=10),
        NumericColumn("pressure", 80, 220, typical=125, spread=17, step=10),
        CategoricalColumn("smoker", ("no", "yes"), shares=(0.7, 0.3)),
    ),
    "ill",
    "yes",
    negative=("no",),
    standard=StandardEncoding(shape=2.5),
)
N = 8_000
GOAL = Target(0.9, coefficient=1, probability=0.8)


def a_plan(**changes: object) -> Plan:
    given = {
        "title": "Ages",
        "source": DeclaredTable(
            schema=SCHEMA, guesses=Guesses(base_rate=(0.1, 0.4), n_rows=4_000), unit="one person"
        ),
        "design": Design(
            loss=Logistic(),
            mechanism="objective",
            budget=PureDP(model="1.2", hessian="0.4", covariance="0.4"),
            regularization=0.001,
            n_records=N,
            calibration="sharp",
            target="unpenalised",
        ),
        "delta": "1e-6",
        "goal": GOAL,
    }
    return Plan(**(given | changes))  # type: ignore[arg-type]


@cache
def worlds() -> tuple[WorldMoments, ...]:
    return a_plan().worlds()


DESIGN = a_plan().design


@settings(derandomize=True, max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=4, unique=True),
    st.sampled_from(["0.4", "1", "4"]),
    st.sampled_from(["objective", "output"]),
    st.sampled_from([500, 8_000, 200_000]),
)
def test_a_promise_is_never_better_than_one_world_and_no_world_improves_it(places, total, how, n):
    some = [worlds()[place] for place in places]
    each = {"model": "0.6", "hessian": "0.2", "covariance": "0.2"}
    budget = PureDP(**{part: Decimal(total) * Decimal(share) for part, share in each.items()})
    design = replace(DESIGN, budget=budget, mechanism=how)
    try:
        whole = promise(some, design=replace(design, n_records=n), target=GOAL)
    except InfeasibleDesignError:
        return
    fewer = promise(some[:-1], design=replace(design, n_records=n), target=GOAL)
    assert ((whole.chance >= 0.0) & (whole.chance <= 1.0)).all()
    assert 0.0 <= whole.probability <= fewer.probability <= 1.0
    assert (whole.chance <= fewer.chance).all()
    assert (whole.coverage <= fewer.coverage).all()
    assert (whole.longest >= fewer.longest).all()
    assert (whole.shortest <= fewer.shortest).all()
    assert whole.reportable <= fewer.reportable
    for world in some:
        made = forecast(world.moments, design=replace(design, n_records=n))
        assert (whole.chance <= made.chance_to_report).all()
        assert (whole.longest >= made.ci_length).all()
        alone = meeting_probability(world.moments, design=replace(design, n_records=n), target=GOAL)
        assert whole.probability <= alone


def test_a_coefficient_out_of_reach_by_bias_is_never_reported_and_one_often_marked_sometimes():
    moments = worlds()[0].moments
    drawn = drawn_intervals(moments, design=DESIGN)
    q = drawn.half_width
    marks = np.zeros_like(drawn.is_not_estimable)
    marks[:13, [0, 1, 3]] = marks[0, 2] = True
    odd = replace(
        drawn,
        half_width=q * np.array([1.5, 1.5, 1.5, 0.8]),
        shift=np.broadcast_to(np.array([0.45, 0.0, 0.0, 0.0]) * q.mean(axis=0), q.shape),
        is_not_estimable=marks,
        goal=replace(drawn.goal, target_se=0.0),
    )
    made = forecast_of(odd, moments)
    assert made.chance_to_report.tolist() == [0.0, 51 / 64, 63 / 64, 0.0]
    assert made.is_not_reportable.tolist() == [True, True, False, True]


def test_which_world_decides_is_said():
    found = promise(worlds(), design=DESIGN, target=GOAL)
    assert found.worlds == tuple(world.assumption for world in worlds())
    alone = [meeting_probability(one.moments, design=DESIGN, target=GOAL) for one in worlds()]
    assert found.probability == min(alone)
    assert found.probability_decided_by == found.worlds[int(np.argmin(alone))]
    assert found.probability == meeting_probability(worlds(), design=DESIGN, target=GOAL)
    for place, assumption in enumerate(found.decided_by):
        world = worlds()[found.worlds.index(assumption)]
        made = forecast(world.moments, design=DESIGN)
        assert made.chance_to_report[place] == found.chance[place]


def test_what_is_needed_is_needed_in_the_least_favourable_world():
    goal = Target(1.2, coefficient=1, probability=0.8)
    found = needed_budget(worlds(), design=DESIGN, target=goal)
    alone = [needed_budget(w.moments, design=DESIGN, target=goal) for w in worlds()]
    totals = [one.total for one in alone]
    assert found.total == max(totals)
    assert found.decided_by == worlds()[totals.index(max(totals))].assumption
    assert found.probability >= 0.8
    assert f" Most is needed if {found.decided_by}." in found.reason
    records = needed_records(worlds(), design=DESIGN, target=goal)
    for world in worlds():
        chance = meeting_probability(
            world.moments, design=replace(DESIGN, n_records=records.n_records), target=goal
        )
        assert chance >= 0.8, world.assumption
    assert (
        records.n_records
        >= needed_records(worlds()[0].moments, design=DESIGN, target=goal).n_records
    )


def test_split_and_ranking_go_by_the_worst_world():
    some = worlds()[:4]
    found = best_split(some, design=DESIGN)

    def worst(design: Design) -> tuple[int, float]:
        made = [forecast(w.moments, design=design) for w in some]
        return max((int(one.is_not_reportable.sum()), one.ci_length_mean) for one in made)

    def worst_score(design: Design) -> tuple[int, float]:
        made = [forecast(w.moments, design=design) for w in some]
        return max((int(one.is_not_reportable.sum()), score(one, 0.95)) for one in made)

    kind = best_split(some[0].moments, design=DESIGN)
    assert worst_score(found.design) <= worst_score(kind.design)
    by_name = {world.assumption: world.moments for world in some}
    there = forecast(by_name[found.decided_by], design=found.design)
    np.testing.assert_array_equal(found.forecast.ci_length, there.ci_length)
    assert found.reason.endswith(f" Decided by this: {found.decided_by}.")
    assert kind.decided_by == ""
    assert "Decided" not in kind.reason
    rows = rank_mechanisms(
        some, epsilon="2", delta="1e-6", regularization=0.001, n_records=N, target="unpenalised"
    )
    can_run = [row for row in rows if row.design is not None]
    costs = [worst(row.design) for row in can_run]
    assert costs == sorted(costs)
    assert [row.forecast.ci_length_mean for row in can_run] == [cost[1] for cost in costs]
    for row in can_run:
        there = forecast(by_name[row.decided_by], design=row.design)
        assert there.ci_length_mean == row.forecast.ci_length_mean
        assert row.reason.endswith(f" Decided by this: {row.decided_by}.")


def test_the_penalty_is_that_of_the_worst_world():
    tables = dict(list(a_plan().source.worlds())[:3])

    def source(table):
        return cache(
            lambda c: fit_moments(
                table.X, table.y, loss=Logistic(), regularization=c, target="unpenalised"
            )
        )

    sources = {said: source(table) for said, table in tables.items()}
    found = best_regularization(sources, design=DESIGN)
    alone = {said: best_regularization(one, design=DESIGN) for said, one in sources.items()}
    np.testing.assert_array_equal(found.curve.length, alone[found.decided_by].curve.length)
    assert found.reason == f"{alone[found.decided_by].reason} Decided by this: {found.decided_by}."

    def worst(answer) -> tuple[int, float]:
        chosen = answer.low_bias or answer.shortest
        made = [
            forecast(one(chosen.regularization), design=chosen.design) for one in sources.values()
        ]
        return max((int(one.is_not_reportable.sum()), one.ci_length_mean) for one in made)

    assert worst(found) <= worst(next(iter(alone.values())))


def test_the_least_favourable_answer_is_found_in_the_worlds_that_decide():
    asked = []

    def solve(world: int) -> int:
        asked.append(world)
        return world

    answer, decides = least_favourable(
        [0, 5, 9], solve=solve, cost=lambda answer, world: abs(answer - world)
    )
    assert (answer, decides, asked) == (0, 0, [0, 9])
    only, _ = least_favourable([7], solve=solve, cost=lambda answer, world: 0.0)
    assert only == 7


def test_planning_rows_are_the_only_world():
    plan = a_plan(source=PublicTable(key="census", n_rows=2_000), features=3, goal=None)
    moments = plan.moments()
    assert isinstance(moments, Moments)
    (world,) = plan.worlds()
    assert np.array_equal(world.moments.theta_hat, moments.theta_hat)
    found = plan.promise(moments)
    assert found.worlds == (world.assumption,)
    assert (found.longest >= found.shortest).all()
    assert found.probability is None
    assert "of 3 coefficients can be reported, even if only 6,840 records can be used" in reach(
        found, plan.usable
    )
    for wrong in ([], "x", None, [moments]):
        with pytest.raises(ValueError, match="Expected moments"):
            promise(wrong, design=plan.design)  # type: ignore[arg-type]


def test_the_numbers_of_a_plan_carry_its_promise_and_say_what_fails():
    plan = a_plan()
    found = plan.numbers(worlds())
    assert found.promise.chance.shape == (3,)
    assert np.array_equal(found.promise.chance, plan.promise(worlds()).chance)
    assert found.promise.about == 1
    assert np.allclose(found.original.ci_length[:-1], found.promise.longest, rtol=2.0)
    assert (found.original.ci_length[:-1] <= found.promise.longest + 1e-12).all()
    shown = found.original.ci_length[:-1]  # with the constant beside them, which moves a mean
    assert (shown >= found.promise.shortest * (1.0 - 1e-5)).all()

    def said(chance: list[float]) -> list[tuple[str, str]]:
        promised = replace(found.promise, chance=np.array(chance), decided_by=("a", "b", "b"))
        made = cautions(
            replace(found, is_not_reportable=np.zeros(4, dtype=bool)),
            design=plan.design,
            names=plan.names,
            promised=promised,
        )
        return [(one.gravity, one.sentence) for one in made if one.sentence.startswith("If ")]

    assert said([1.0, 0.96, 1.0]) == []
    assert said([0.5, 1.0, 1.0]) == [("weigh", "If a, these may not be reportable: age.")]
    assert said([1.0, 0.5, 0.0]) == [
        ("stops", "If b, these may not be reportable: pressure, smoker: yes.")
    ]
    assert [gravity for gravity, _ in said([0.0, 0.0, 0.0])] == ["stops", "stops"]
    assert reach(found.promise, plan.usable).endswith(
        f"under all {len(worlds())} sets of assumptions that were checked, even if only "
        "6,840 records can be used."
    )


BARE = Schema(
    (
        NumericColumn("age", 18, 100, typical=62, spread=16, step=10),
        NumericColumn("bmi", 15, 60, typical=27, spread=5, step=5),
        CategoricalColumn("sex", ("f", "m")),
        CategoricalColumn("smoker", ("no", "yes")),
    ),
    "ill",
    "yes",
    negative=("no",),
)
"""With no shares typed."""
ASKED = Guesses(base_rate=(0.05, 0.5))
OFF: dict[str, dict[str, Any]] = {
    "a rare level": {"shares": {"smoker": (5 / 6, 1 / 6)}},
    "rare first levels": {"shares": {"smoker": (1 / 6, 5 / 6), "sex": (1 / 6, 5 / 6)}},
    "half spreads": {"numbers": {"age": NumberGuess(62, 8), "bmi": NumberGuess(27, 2.5)}},
    "columns that go together": {"correlation": 0.5},
    "an ordinary table": {
        "base_rate": 0.07,
        "correlation": 0.3,
        "shares": {"sex": (0.6, 0.4), "smoker": (0.83, 0.17)},
        "numbers": {"age": NumberGuess(62, 13), "bmi": NumberGuess(27, 4)},
    },
}
"""Tables that the declaration allows with few yes, each with something else off."""
BROAD = replace(DESIGN, regularization=0.0001)


@cache
def enclosed() -> Schema:
    first = worlds_of(BARE, ASKED)[0].guesses
    table = twin_table(BARE, first)
    return replace(
        BARE, standard=enclosing(lambda made: twin_records(table, replace(BARE, standard=made)))
    )


def fitted(guesses: Guesses) -> Moments:
    table = simulate_twin(enclosed(), guesses=guesses)
    return fit_moments(
        table.X,
        table.y,
        loss=Logistic(),
        regularization=BROAD.regularization,
        target="unpenalised",
        meaning=table.meaning,
    )


@cache
def bare_worlds() -> tuple[WorldMoments, ...]:
    made = worlds_of(enclosed(), ASKED)
    return tuple(WorldMoments(one.assumption, fitted(one.guesses)) for one in made)


@pytest.mark.parametrize("name", OFF)
def test_a_table_with_more_than_one_thing_off_is_no_worse_than_promised(name):
    first = worlds_of(BARE, ASKED)[0].guesses
    moments = fitted(replace(first, **({"base_rate": 0.05} | OFF[name])))
    n_sure = 0
    for total in ("4", "8", "16", "32", "64"):
        design = with_total(BROAD, Decimal(total))
        found = promise(bare_worlds(), design=design, fewest=fewest_records(7_200))
        made = forecast(moments, design=replace(design, n_records=7_200))
        is_sure = found.chance >= 0.95
        n_sure += int(is_sure.sum())
        assert (made.chance_to_report[is_sure] >= 0.95).all()
        assert (found.longest >= made.ci_length)[is_sure].all()
    assert n_sure >= 4


def test_fewer_records_never_raise_a_promise():
    some = worlds()[:3]
    planned = promise(some, design=DESIGN, target=GOAL)
    fewer = promise(some, design=DESIGN, target=GOAL, fewest=fewest_records(7_200))
    assert (planned.fewest, fewer.fewest) == (N, 6_840)
    assert fewer.probability <= planned.probability
    assert (fewer.longest >= planned.longest).all()
    assert (fewer.shortest >= planned.shortest).all()
    assert (fewer.shortest <= forecast(some[0].moments, design=DESIGN).ci_length).all()
    assert fewer.reportable <= planned.reportable


def test_a_promise_is_for_the_fewest_records_that_a_release_takes_unasked():
    plan = a_plan()
    assert plan.fewest == fewest_records(plan.n_range[0]) == 6_840
    assert plan.promise(worlds()[:1]).fewest == 6_840
    half = replace(plan.source, schema=replace(plan.schema, complete=0.5))
    assert replace(plan, source=half).fewest == 6_480
    assert replace(plan, source=half).usable == 3_240 == 7_200 * 0.45


def test_what_can_be_used_is_complete():
    """“Even if only 6,480 records can be used” was said of a table of which half are complete."""
    plan = a_plan()
    half = replace(plan, source=replace(plan.source, schema=replace(plan.schema, complete=0.5)))
    numbers = half.numbers()
    assert numbers.promise.fewest == 6_480
    first = (numbers.promise.worlds[0],) * 3
    decided = replace(numbers.promise, longest_decided_by=first)
    told = planned_effects(half, replace(numbers, promise=decided)).worst
    assert told == "only 3,240 records can be used"
    assert usable_records(1, 0.05) == 1


@pytest.mark.parametrize("what", ["budget", "records"])
@pytest.mark.parametrize(
    "goal", [GOAL, Target(coefficient=1, excludes_zero_at=0.7, probability=0.8)]
)
def test_what_a_goal_needs_is_solved_where_the_promise_is_made(what, goal):
    """An answer that were solved for all records would fail its own promise, for fewer."""
    plan = a_plan(goal=goal)
    search = needed_budget if what == "budget" else needed_records

    def promised(design: Design) -> float:
        found = replace(plan, design=design).promise(worlds())
        assert found.probability is not None
        return found.probability

    answer = search(worlds(), design=DESIGN, target=goal, fewest=plan.fewest_of)
    own = replace(plan, design=answer.design)
    assert (answer.fewest, answer.at_fewest.n_records) == (own.fewest, own.fewest)
    assert answer.probability == promised(answer.design) >= goal.probability
    assert f"even with only {own.fewest:,} records" in answer.reason
    of_all = search(worlds(), design=DESIGN, target=goal)
    assert of_all.amount < answer.amount
    assert promised(of_all.design) < goal.probability


def test_a_budget_that_no_total_reaches_names_the_records_to_plan_for():
    goal = Target(0.02, coefficient=1)
    plan = a_plan(goal=goal)
    few = replace(DESIGN, n_records=2_000)
    with pytest.raises(OutOfReachError) as caught:
        needed_budget(worlds()[0].moments, design=few, target=goal, fewest=plan.fewest_of)
    assert caught.value.n_records == plan.fewest_of(2_000)
    n = caught.value.needed
    assert n is not None
    largest = with_total(replace(few, n_records=plan.fewest_of(n)), LARGEST_TOTAL)
    assert outcome(worlds()[0].moments, design=largest, target=goal).meets


def standing(n, total):
    """A design whose split somebody set: 50, 30 and 20 per cent."""
    parts = {"model": "0.5", "hessian": "0.3", "covariance": "0.2"}
    budget = PureDP(**{name: Decimal(total) * Decimal(share) for name, share in parts.items()})
    return replace(DESIGN, budget=budget, n_records=n)


@pytest.mark.parametrize(("n", "total"), [(2_000, "1.5"), (2_000, "2.5"), (8_000, "0.7")])
def test_the_best_split_reports_no_fewer_effects_than_another(n, total):
    """It was the shortest, and lost up to three of three in one of the worlds."""
    design = standing(n, total)
    best = best_split(worlds(), design=design).design
    lost, least = (
        max(int(forecast(one.moments, design=of).is_not_reportable[:-1].sum()) for one in worlds())
        for of in (design, best)
    )
    assert least <= lost
    assert (n, total) != (2_000, "2.5") or (lost, least) == (0, 0)


@pytest.mark.parametrize(("n", "epsilon"), [(500, "2"), (1_200, "1")])
def test_what_can_be_reported_ranks_before_what_is_short(n, epsilon):
    """A mechanism whose penalty shrinks every coefficient has the shortest intervals."""
    rows = rank_mechanisms(
        worlds()[0].moments,
        epsilon=epsilon,
        delta="1e-6",
        regularization=0.001,
        n_records=n,
        target="unpenalised",
    )
    made = [(row.forecast.is_not_reportable.sum(), row.length) for row in rows if row.forecast]
    assert made == sorted(made)
    assert [length for _, length in made] != sorted(length for _, length in made)


@pytest.mark.parametrize(("n", "total"), [(1_000, "2.5"), (2_000, "1")])
def test_in_several_worlds_no_split_is_better_than_the_best_one(n, total):
    """The split that stands was no candidate, and a mechanism had the split of the first world."""
    design = standing(n, total)

    def lost(of):
        made = [forecast(one.moments, design=of) for one in worlds()]
        return max(int(one.is_not_reportable.sum()) for one in made)

    best = best_split(worlds(), design=design).design
    assert lost(best) <= lost(design)
    again = best_split(worlds(), design=best).design
    assert lost(again) <= lost(best)
    rows = rank_mechanisms(
        worlds(),
        epsilon=total,
        delta="1e-6",
        regularization=design.regularization,
        n_records=n,
        target="unpenalised",
        calibrations=("sharp",),
    )
    (same,) = (row for row in rows if (row.mechanism, row.definition) == ("objective", "pure"))
    assert lost(same.design) <= lost(best) + 1  # nearly the best


def test_the_split_is_best_in_the_worst_world_and_may_be_best_in_none():
    """It was that of the world that decides, which is worse than its own elsewhere."""

    def worst(of):
        return max(score(forecast(one.moments, design=of), 0.95) for one in worlds())

    design = standing(3_000, "3")
    found = best_split(worlds(), design=design)
    (decides,) = (one for one in worlds() if one.assumption == found.decided_by)
    assert decides is not worlds()[0]
    there = forecast(decides.moments, design=found.design)
    assert score(there, 0.95) == worst(found.design)
    assert found.forecast.ci_length_mean == there.ci_length_mean
    own = best_split(decides.moments, design=design).design
    assert worst(found.design) < 0.95 * worst(own)
    again = best_split(worlds(), design=found.design)
    assert worst(again.design) <= worst(found.design)
    held = best_split(worlds(), design=design, locked={"hessian": "0.6"})
    assert held.design.budget.hessian == Decimal("0.6")
    quick, made = quick_split(worlds(), design=design)
    assert worst(quick) == score(made, 0.95) < 0.95 * worst(own)


def test_the_split_that_stands_is_a_candidate(monkeypatch):
    monkeypatch.setattr(SplitSearch, "run", lambda _: None)
    design = standing(3_000, "3")
    assert best_split(worlds(), design=design).design == design


def test_what_is_best_in_fewer_worlds_is_a_candidate_in_more(monkeypatch):
    def worst(of):
        return max(score(forecast(one.moments, design=of), 0.95) for one in worlds())

    design = standing(3_000, "3")
    first = best_split(worlds()[0].moments, design=design).design
    assert worst(first) < worst(design)
    searched, runs = SplitSearch.run, []

    def once(search):
        runs.append(search)
        if len(runs) == 1:
            searched(search)

    monkeypatch.setattr(SplitSearch, "run", once)
    assert best_split(worlds(), design=design).design == first
    assert len(runs) > 1
