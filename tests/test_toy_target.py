"""A further target is one class: here twice the coefficient that the penalty leaves.

Every number of it is known: twice that of the penalised target, with the same coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from dpci_core import (
    Design,
    ExperimentResult,
    Logistic,
    PureDP,
    fit_moments,
    forecast,
    private_intervals,
    run_experiment,
)
from dpci_core.base.metric import Metric
from dpci_core.design import ESTIMANDS
from dpci_core.intervals._newton_step import Correction, no_correction
from dpci_core.intervals.draw import draw_release
from dpci_core.intervals.estimands import Estimand, Goal
from dpci_core.intervals.spectra import Spectrum
from dpci_core.plan.codec import plain, read
from dpci_core.plan.content import design_from
from dpci_core.report.covered import covered
from dpci_core.solvers.moments import Moments

Array = NDArray[np.float64]
N, P, C = 2_000, 3, 0.02


class Doubled(Estimand):
    """Twice the penalised coefficient."""

    name = "toy_doubled"
    reached = ", times two"
    is_shrunk = True
    takes_step = True

    def covers(self, c: float) -> str:
        return f"double coefficient at c = {c:g}"

    def in_table(self, penalised: Array, unpenalised: Callable[[], Array]) -> Array:
        return 2.0 * penalised

    def correction(
        self,
        spectrum: Spectrum,
        theta: Array,
        *,
        design: Design,
        hessian_sd: float,
        contrasts: Array,
        metric: Metric | None,
        constant: float | None = None,
    ) -> Correction:
        return no_correction(2.0 * contrasts, len(theta))

    def goal(
        self,
        moments: Moments,
        *,
        design: Design,
        hessian_sd: float,
        contrasts: Array,
        metric: Metric | None,
    ) -> Goal:
        return Goal(2.0 * contrasts, 2.0 * contrasts @ moments.theta_hat, 0.0, 0.0)


@pytest.fixture(autouse=True)
def further(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line in the registry, taken back afterwards."""
    monkeypatch.setitem(ESTIMANDS, Doubled.name, Doubled())


USUAL = Design(
    loss=Logistic(),
    mechanism="objective",
    budget=PureDP(model="2", hessian="2", covariance="2"),
    regularization=C,
    n_records=N,
    calibration="sharp",
)


def table() -> tuple[Array, Array]:
    rng = np.random.default_rng(7)
    X = np.c_[rng.uniform(-0.55, 0.55, (N, P - 1)), np.full(N, 0.55)]
    return X, np.where(rng.random(N) < expit(3.0 * X[:, 0]), 1.0, -1.0)


def numbers(design: Design) -> dict[str, Array]:
    """What forecast, one draw and an experiment say of a design; lengths, places and shares."""
    X, y = table()
    moments = fit_moments(X, y, loss=design.loss, regularization=C, target=design.target)
    seen = forecast(moments, design=design)
    drawn = private_intervals(X, y, design=design, rng=np.random.default_rng(5))
    many = run_experiment(
        X, y, designs=[design], n_variability=40, n_coverage=40, rng=np.random.default_rng(6)
    )
    assert ExperimentResult.from_record(many.to_record()).designs[0].design == design
    (result,) = many.designs
    return {
        "lengths": np.r_[
            seen.estimate,
            seen.ci_length,
            seen.vi_length,
            drawn.low,
            drawn.high,
            result.ci_length,
            result.vi_low,
            result.theta_hat,
        ],
        "shares": np.r_[seen.coverage, result.coverage, seen.chance_to_report],
    }


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("calibration", ["sharp", "published"])
def test_it_forecasts_draws_and_simulates(mechanism: str, calibration: str) -> None:
    usual = replace(USUAL, mechanism=mechanism, calibration=calibration)
    theirs, ours = numbers(usual), numbers(replace(usual, target=Doubled.name))
    np.testing.assert_allclose(ours["lengths"], 2.0 * theirs["lengths"], rtol=1e-9)
    np.testing.assert_allclose(ours["shares"], theirs["shares"], atol=1e-9)
    assert not np.allclose(ours["lengths"], theirs["lengths"])


def test_it_is_released_and_kept_in_files() -> None:
    design = replace(USUAL, target=Doubled.name)
    X, y = table()
    drawn = draw_release(X, y, design=design)
    np.testing.assert_allclose((drawn.low + drawn.high) / 2.0, 2.0 * drawn.theta_priv)
    made = plain(design)
    assert made["target"] == "toy_doubled"
    assert design_from(read(Design, made), N) == design
    assert covered(design, 0.4) == (
        "double coefficient at c = 0.02, typically shrunk to about 40 %"
    )


def test_what_is_in_no_registry_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(ESTIMANDS, Doubled.name)
    X, y = table()
    with pytest.raises(ValueError, match="target='toy_doubled' to be one of 'penalised'"):
        replace(USUAL, target=Doubled.name)
    with pytest.raises(ValueError, match="target='toy_doubled' to be one of 'penalised'"):
        fit_moments(X, y, loss=USUAL.loss, regularization=C, target=Doubled.name)


@pytest.mark.parametrize("target", ["penalised", "unpenalised"])
def test_names_and_files_are_as_they_were(target: str) -> None:
    assert ESTIMANDS[target].name == target
    assert plain(replace(USUAL, target=target)).get("target", "penalised") == target
