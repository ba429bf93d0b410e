"""An amount that is enough for a length says where a release would not report the coefficient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dpci_core import (
    Guesses,
    Moments,
    NeededBudget,
    NeededRecords,
    PureDP,
    Target,
    WorldMoments,
    fit_moments,
    forecast,
    needed_budget,
    needed_records,
    simulate_twin,
)
from dpci_core.planner.worlds import foreseen
from tests.linear_example import linear_plan
from tests.planner.test_width import DESIGN as WIDE
from tests.planner.test_width import SCHEMA

Ask = Callable[..., NeededBudget | NeededRecords]

DESIGN = replace(
    WIDE, budget=PureDP(model="0.6", hessian="0.2", covariance="0.2"), regularization=0.001
)


@cache
def fitted(
    effect: float = 0.02, *, c: float = DESIGN.regularization, base_rate: float = 0.3
) -> Moments:
    guesses = Guesses(base_rate=base_rate, n_rows=4_000, effects={"pressure": effect})
    made = simulate_twin(SCHEMA, guesses=guesses)
    return fit_moments(
        made.X,
        made.y,
        loss=DESIGN.loss,
        regularization=c,
        target="unpenalised",
        meaning=made.meaning,
    )


def least(found: NeededBudget | NeededRecords, *moments: Moments) -> float:
    """The least chance that a release of an answer reports the first coefficient."""
    return min(float(forecast(one, design=found.at_fewest).chance_to_report[0]) for one in moments)


@pytest.mark.parametrize("target", [Target(3.0, coefficient=0), Target(limits=(3.0,))])
@pytest.mark.parametrize("ask", [needed_budget, needed_records])
def test_an_answer_says_that_noise_would_hide_the_coefficient(ask: Ask, target: Target) -> None:
    found = ask(fitted(), design=DESIGN, target=target)
    assert found.length < 3.0
    assert found.chance_to_report == least(found, fitted()) < 0.95
    what = "the coefficient" if target.limits is None else "one of the coefficients"
    share = f"only {int(100 * found.chance_to_report)} % of releases"
    share = share if found.chance_to_report else "no release"
    assert f"But {share} would report {what} if the table is like the" in found.reason
    assert "`dpci plan standard`, or `best_standard`" in found.reason


def test_or_that_its_bias_is_too_large() -> None:
    moments = fitted(0.04, c=0.02)
    design = replace(DESIGN, regularization=0.02)
    found = needed_budget(moments, design=design, target=Target(0.2, coefficient=0))
    assert found.chance_to_report == least(found, moments) == 0.0
    assert "But no release would report the coefficient" in found.reason
    same = replace(design, target="penalised")
    told = needed_budget(moments, design=same, target=Target(0.2, coefficient=0))
    assert told.chance_to_report == 1.0
    assert "would report" not in told.reason


def test_every_world_counts_also_one_that_was_solved_before() -> None:
    """The mild world needs more than the strong one, in which the bias then is too large."""
    strong, mild = fitted(0.08), fitted(0.0, base_rate=0.1)
    worlds = (WorldMoments("effects are strong", strong), WorldMoments("few are ill", mild))
    for order in (worlds, worlds[::-1]):
        found = needed_budget(order, design=DESIGN, target=Target(0.2, coefficient=0))
        assert found.decided_by == "few are ill"
        assert found.chance_to_report == least(found, strong, mild) < 0.95
        assert found.lost_if == "effects are strong"
        assert "if effects are strong" in found.reason


def test_a_mean_is_about_no_coefficient_and_a_single_world_is_named() -> None:
    found = needed_budget(fitted(), design=DESIGN, target=Target(3.0))
    assert found.chance_to_report == 1.0
    assert found.reason.endswith("It is so if the table is like the planning rows.")


def test_a_linear_regression_says_it_too() -> None:
    plan = linear_plan()
    worlds = plan.worlds()[::4]  # the declared one, another, and the one that decides
    found = needed_budget(
        worlds, design=plan.design, target=Target(60.0, coefficient=0), fewest=plan.fewest_of
    )
    chances = [
        float(foreseen(one.moments, design=found.at_fewest).chance_to_report[0]) for one in worlds
    ]
    assert found.chance_to_report == min(chances) < 0.98
    assert found.lost_if == worlds[int(np.argmin(chances))].assumption
