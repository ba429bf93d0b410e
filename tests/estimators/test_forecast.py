"""What an estimator forecasts from planning rows is what its fits have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from dpci_core import DPLinearSVC, DPLogisticRegression, PureDP
from dpci_core.estimators import linear

N = 4_000
BUDGET = PureDP(model="4", hessian="2", covariance="2")
BOUNDS = {"feature_bounds": {"age": (20, 70), "dose": (0, 1)}}
TYPICAL = {"feature_typical": {"age": 45, "dose": 0.5}, "feature_spread": {"age": 14, "dose": 0.3}}


def table(n: int = N, seed: int = 0) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(seed)
    age, dose = rng.uniform(20, 70, n), rng.uniform(size=n)
    sick = rng.random(n) < expit((age - 45) / 20 - dose)
    return pd.DataFrame({"age": age, "dose": dose}), np.where(sick, "yes", "no")


@pytest.mark.parametrize("kind", [DPLogisticRegression, DPLinearSVC])
@pytest.mark.parametrize("declared", [BOUNDS, TYPICAL], ids=["bounds", "typical"])
def test_lengths_are_those_of_fits(kind, declared) -> None:
    model = kind(budget=BUDGET, classes=("no", "yes"), random_state=0, **declared)
    expected = model.forecast(*table(), n_records=N)
    fits = [
        kind(budget=BUDGET, classes=("no", "yes"), random_state=seed, **declared).fit(*table())
        for seed in range(12)
    ]
    lengths = np.mean(
        [one.confidence_intervals().high - one.confidence_intervals().low for one in fits], axis=0
    )[0]
    np.testing.assert_allclose(expected.ci_length, lengths, rtol=0.12)
    assert not hasattr(model, "coef_")
    far = model.forecast(*table(), n_records=40 * N)
    assert (far.ci_length < expected.ci_length).all()
    assert far.n_records == 40 * N


def test_without_a_seed_it_is_the_design_of_a_release(monkeypatch) -> None:
    """And nothing is drawn, so that no package of an extra is needed."""
    monkeypatch.setattr(linear, "noise_source", None)
    model = DPLogisticRegression(budget=BUDGET, classes=("no", "yes"), **TYPICAL)
    made = model.forecast(*table(), n_records=N)
    seeded = model.set_params(random_state=0).forecast(*table(), n_records=N)
    assert made.design.regularization >= seeded.design.regularization


def test_more_than_two_classes_are_refused() -> None:
    model = DPLogisticRegression(budget=BUDGET, classes=("no", "yes", "maybe"), **BOUNDS)
    with pytest.raises(ValueError, match="Expected two classes to forecast, got 3"):
        model.forecast(*table(), n_records=N)
