"""An amount that is enough for a length but whose release would not report the coefficient is no
answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import cache

import numpy as np
import pytest

from dpci_core import (
    CategoricalColumn,
    Design,
    Forecast,
    Guesses,
    Logistic,
    Moments,
    NumericColumn,
    PureDP,
    Schema,
    StandardEncoding,
    Target,
    WorldMoments,
    fit_moments,
    forecast,
    needed_budget,
    needed_records,
    simulate_twin,
)
from dpci_core.base.decimals import amount_at, place_up
from dpci_core.planner.amounts import with_total
from dpci_core.planner.needed import NotReportableError

SCHEMA = Schema(
    (
        NumericColumn("pressure", 80, 220, typical=125, spread=17, step=10),
        CategoricalColumn("smoker", ("no", "yes"), shares=(0.7, 0.3)),
    ),
    "ill",
    "yes",
    standard=StandardEncoding(shape=4.0),
)
DESIGN = Design(
    loss=Logistic(),
    mechanism="objective",
    budget=PureDP(model="0.6", hessian="0.2", covariance="0.2"),
    regularization=0.001,
    n_records=8_000,
    calibration="sharp",
    target="unpenalised",
)


@cache
def fitted(effect: float = 0.02, *, c: float = DESIGN.regularization) -> Moments:
    guesses = Guesses(base_rate=0.3, n_rows=4_000, effects={"pressure": effect})
    made = simulate_twin(SCHEMA, guesses=guesses)
    return fit_moments(
        made.X,
        made.y,
        loss=DESIGN.loss,
        regularization=c,
        target="unpenalised",
        meaning=made.meaning,
    )


def at_total(total: Decimal, moments: Moments) -> Forecast:
    return forecast(moments, design=with_total(DESIGN, total))


def is_lost(made: Forecast) -> bool:
    return bool(made.is_not_reportable[0])


def is_biased(made: Forecast) -> bool:
    return abs(float(made.bias[0])) > 0.25 * float(made.ci_length[0]) / 2.0


def refusal(ask: Callable[[], object]) -> NotReportableError:
    with pytest.raises(NotReportableError) as caught:
        ask()
    return caught.value


def test_noise_that_hides_a_coefficient_needs_more_budget_than_its_length() -> None:
    moments = fitted()
    wide = Target(3.0, coefficient=0)
    found = needed_budget(moments, design=DESIGN, target=wide)
    assert found.length < 3.0
    assert not is_lost(found.forecast)
    less = amount_at(place_up(found.total) - 1)
    made = at_total(less, moments)
    assert is_lost(made)
    assert not is_biased(made)
    assert made.ci_length[0] < 3.0  # so the length alone would take it
    mean = needed_budget(moments, design=DESIGN, target=Target(3.0))
    assert mean.total < found.total  # a mean is about no coefficient


def test_the_same_of_records() -> None:
    moments, target = fitted(), Target(3.0, coefficient=0)
    found = needed_records(moments, design=DESIGN, target=target)
    assert not is_lost(found.forecast)
    less = int(amount_at(place_up(Decimal(found.n_records)) - 1))
    assert is_lost(forecast(moments, design=replace(DESIGN, n_records=less)))


@pytest.mark.parametrize(
    "target", [Target(0.2, coefficient=0), Target(limits=(0.2, 3.0))], ids=["one", "all"]
)
@pytest.mark.parametrize("ask", [needed_budget, needed_records])
def test_a_bias_that_more_does_not_help_is_refused(
    ask: Callable[..., object], target: Target
) -> None:
    moments = fitted(0.04, c=0.02)
    design = replace(DESIGN, regularization=0.02)
    error = refusal(lambda: ask(moments, design=design, target=target))
    assert "its bias there is above a quarter of the half-width" in error.message
    assert "`best_standard`, `dpci plan standard`" in error.suggestion
    assert error.found.length < (0.2 if target.limits is None else 1.0) * (1.0 + 1e-9)
    assert is_biased(error.found.forecast)  # type: ignore[arg-type]


def test_without_the_rule_of_a_release_nothing_is_refused() -> None:
    moments = fitted(0.04, c=0.02)
    design = replace(DESIGN, regularization=0.02, target="penalised")
    target = Target(0.2, coefficient=0)
    assert needed_budget(moments, design=design, target=target).length <= 0.2


def test_a_world_in_which_it_is_not_reported_counts() -> None:
    mild, strong = fitted(), fitted(0.08)
    target = Target(0.8, coefficient=0)
    kind = needed_budget(mild, design=DESIGN, target=target)
    lengths = [float(at_total(kind.total, one).ci_length[0]) for one in (mild, strong)]
    there = at_total(kind.total, strong)
    assert is_lost(there), lengths
    worlds = (WorldMoments("effects are mild", mild), WorldMoments("effects are strong", strong))
    error = refusal(lambda: needed_budget(worlds, design=DESIGN, target=target))
    assert np.isfinite(error.found.length)


def test_a_single_world_is_named() -> None:
    found = needed_budget(fitted(), design=DESIGN, target=Target(3.0))
    assert found.reason.endswith("It is so if the table is like the planning rows.")
