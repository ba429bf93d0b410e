"""How far one record moves a minimiser stands in one place, and every noise follows it."""

from __future__ import annotations

import numpy as np
import pytest

from dpci_core import (
    ZCDP,
    Design,
    Logistic,
    PureDP,
    fit_moments,
    forecast,
    private_intervals,
    run_experiment,
)
from dpci_core.intervals.draw import draw_release
from dpci_core.privacy import sensitivity
from dpci_core.privacy.budget import Budget
from dpci_core.tuning.learners import Learner, learner_noise
from ui.learn.numbers import neighbours

N, C = 400, 0.02
# Little is spent on the coefficients, so that their noise is most of every length.
BUDGETS = {
    "pure": (PureDP(model="0.5", hessian="4", covariance="4"), {"epsilon": 0.5}),
    "zcdp": (ZCDP(model="0.02", hessian="2", covariance="2"), {"rho": 0.02}),
}


def scales(budget: Budget, amount: dict[str, float]) -> dict[str, np.ndarray]:
    """Something of every way that is as large as the noise."""
    rng = np.random.default_rng(1)
    X = np.c_[rng.uniform(-0.5, 0.5, (N, 2)), np.full(N, 0.6)]
    y = np.where(rng.random(N) < 0.4, 1.0, -1.0)
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=budget,
        regularization=C,
        n_records=N,
        calibration="published",
    )
    moments = fit_moments(X, y, loss=design.loss, regularization=C)
    drawn = private_intervals(X, y, design=design, rng=np.random.default_rng(2))
    many = run_experiment(
        X, y, designs=[design], n_variability=60, n_coverage=2, rng=np.random.default_rng(3)
    ).designs[0]
    learner = Learner(loss=Logistic(), method="output", regularization=C)
    trained = learner_noise(learner, n_records=N, **amount)
    return {
        "one simulation": drawn.theta_priv - moments.theta_hat,
        "its intervals": drawn.privacy_se,
        "release": draw_release(X, y, design=design).privacy_se,
        "forecast": forecast(moments, design=design).vi_length,
        "experiment": many.vi_length,
        "tuning": np.array([1.0 / trained.rate if trained.rate else trained.sd]),
    }


@pytest.mark.parametrize("definition", BUDGETS)
def test_all_noise_follows_the_one_definition(
    definition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget, amount = BUDGETS[definition]
    before, bound = scales(budget, amount), neighbours(N).facts["bound"]
    right = sensitivity.Sensitivity
    neighbours.cache_clear()
    monkeypatch.setattr(
        sensitivity, "Sensitivity", lambda size, divided_by: right(4.0 * size, divided_by)
    )
    after = scales(budget, amount)
    exactly = {"one simulation", "its intervals", "release", "tuning"}
    for way, size in before.items():
        # Lengths have a sampling part too, which does not grow.
        tolerance = 1e-6 if way in exactly else 0.1
        np.testing.assert_allclose(after[way], 4.0 * size, rtol=tolerance, err_msg=way)
    assert neighbours(N).facts["bound"] == pytest.approx(4.0 * bound, rel=1e-12)
    neighbours.cache_clear()
