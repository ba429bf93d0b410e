"""Noise shaped like the records: what is planned is no longer than without, covers, and costs what
it says.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from dpci_core import ZCDP, Design, Forecast, HuberSVM, Logistic, PureDP, fit_moments, forecast
from dpci_core.design import Geometry
from dpci_core.mechanisms.metric import metric_noise
from dpci_core.planner import best_geometry, best_split, shaped, with_room
from dpci_core.planner import geometry as planning
from dpci_core.planner.geometry import GeometryAnswer, _looks, without_geometry
from dpci_core.planner.split import quick_split
from dpci_core.simulation.run import run_experiment
from dpci_core.solvers.moments import Moments, Spread

N = 8_000


def table(seed: int = 1, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Two wide columns, two narrow ones, a rare level and the constant."""
    rng = np.random.default_rng(seed)
    wide = rng.uniform(-1, 1, (n, 2))
    narrow = rng.normal(0, 0.1, (n, 2)).clip(-1, 1)
    rare = (rng.random(n) < 0.02).astype(float)
    X = np.column_stack([wide, narrow, rare, np.ones(n)]) / np.sqrt(6.0)
    margin = X @ (np.sqrt(6.0) * np.array([0.8, -0.5, 1.0, 0.0, 0.7, -0.4]))
    y = np.where(rng.random(n) < expit(margin), 1.0, -1.0)
    return X, y


def design(budget: ZCDP | PureDP, **fields: object) -> Design:
    settings = {
        "loss": Logistic(),
        "mechanism": "objective",
        "regularization": 0.002,
        "n_records": N,
    }
    return Design(budget=budget, calibration="sharp", **(settings | fields))  # type: ignore[arg-type]


RHO = ZCDP(model="0.06", hessian="0.03", covariance="0.03")


@cache
def planned() -> GeometryAnswer:
    return best_geometry(*table(), design=design(RHO))


def test_the_plan_is_shorter_keeps_the_total_and_its_own_rules() -> None:
    found = planned()
    assert found.gain > 0.05
    assert found.forecast.ci_length_mean < found.plain_forecast.ci_length_mean
    assert found.plain == best_split(fit(*table()), design=design(RHO)).design
    assert found.design.budget.total == RHO.total == found.plain.budget.total
    geometry = found.design.geometry
    assert geometry is not None
    assert found.design.budget.metric > 0
    assert geometry.ridge * geometry.leverage < 1.0
    assert found.bias.max() <= 0.05
    assert found.n_rows == N
    sd = metric_noise(found.design).diagonal_sd(6)
    assert 2.0 * sd * np.sqrt(2.0 * 6) <= geometry.ridge


def fit(X: np.ndarray, y: np.ndarray, **fields: object):  # type: ignore[no-untyped-def]
    given = {"loss": Logistic(), "regularization": 0.002, "with_spread": True} | fields
    return fit_moments(X, y, **given)  # type: ignore[arg-type]


def test_where_nothing_is_shorter_the_answer_is_the_best_split() -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.choice([-1.0, 1.0], (N, 3)), np.ones(N)]) / 2.0
    y = np.where(rng.random(N) < expit(X[:, 0]), 1.0, -1.0)
    found = best_geometry(X, y, design=design(RHO))
    assert found.design.geometry is None
    assert found.gain == 0.0
    assert found.design == found.plain == best_split(fit(X, y), design=design(RHO)).design
    assert shaped(fit(X, y), design=design(RHO)) is None


def test_forecast_and_experiment_agree() -> None:
    found = planned()
    result = run_experiment(
        *table(),
        designs=[found.plain, found.design],
        n_variability=200,
        n_coverage=200,
        rng=np.random.default_rng(3),
    )
    before, after = result.designs
    assert found.forecast.validity.grade == "valid"
    assert after.ci_length_mean == pytest.approx(found.forecast.ci_length_mean, rel=0.02)
    assert after.vi_length_mean == pytest.approx(found.forecast.vi_length_mean, rel=0.06)
    assert after.coverage_mean > 0.95 - 3 * after.coverage_se - 0.006
    assert after.ci_length_mean < 0.95 * before.ci_length_mean


@pytest.mark.parametrize(("size", "model"), [(0.5, "0.5"), (0.9, "2")])
def test_weights_that_move_a_coefficient_make_room_for_their_rows(size: float, model: str) -> None:
    """A level of two rows with one label: their weight would bend its coefficient."""
    X, y = table()
    X[:, 4] = 0.0
    X[:2, 4] = size * np.sqrt(1.0 - np.einsum("ij,ij->i", X[:2], X[:2]))
    y[:2] = 1.0
    found = best_geometry(X, y, design=design(replace(RHO, model=model)))
    assert found.n_weighted == 2
    assert found.bias == pytest.approx(bias_by_hand(X, y, found.design, found.forecast))
    assert 0.0 < found.bias.max() <= 0.05
    narrower = replace(found.design.geometry, leverage=found.design.geometry.leverage / 1.25)  # type: ignore[union-attr, type-var]
    step_before = replace(found.design, geometry=narrower)
    assert bias_by_hand(X, y, step_before, found.forecast).max() > 0.05


@pytest.mark.parametrize(("share", "leverage"), [(0.049, 10.0), (0.051, 12.5)])
def test_five_hundredths_of_a_half_width_are_tolerated(share: float, leverage: float) -> None:
    X, y = table()
    moments, paid = fit(X, y), replace(RHO, metric=Decimal("0.005"))
    asked = design(paid, geometry=Geometry(ridge=0.02, leverage=10.0))
    rows = fit(X, y, geometry=asked.geometry)
    made = forecast(rows, design=asked, n_draws=16)

    def moved(geometry: Geometry) -> Moments:
        by = share if geometry.leverage == 10.0 else 0.0
        theta = moments.theta_hat + by * made.ci_length / 2.0
        return replace(rows, theta_hat=theta, geometry=geometry)

    found, weighted = with_room(moments, moved, design=asked)
    assert found.geometry == weighted.geometry == Geometry(ridge=0.02, leverage=leverage)


def test_a_leverage_grows_no_further_than_every_record_has_it() -> None:
    X, y = table(n=600)
    moments, paid = fit(X, y), replace(RHO, metric=Decimal("0.005"))
    asked = design(paid, geometry=Geometry(ridge=0.02, leverage=40.0))

    def moved(geometry: Geometry) -> Moments:
        theta = moments.theta_hat + 1.0
        return replace(moments, theta_hat=theta, geometry=geometry, n_weighted=1)

    found, _ = with_room(moments, moved, design=asked)
    assert found.geometry == Geometry(ridge=0.02, leverage=50.0)


@pytest.mark.parametrize(
    ("model", "shares"),
    [
        ("0.06", {0.012: 8, 0.016: 8, 0.024: 8, 0.032: 4, 0.048: 4, 0.064: 4, 0.1: 2}),
        (
            "0.6",
            {
                0.004: 8,
                0.008: 8,
                0.012: 4,
                0.016: 4,
                0.024: 2,
                0.032: 2,
                0.048: 2,
                0.064: 2,
                0.1: 1,
            },
        ),
    ],
)
def test_every_ridge_is_tried_with_its_best_share_and_what_noise_leaves_of_it(
    model: str, shares: dict[float, int]
) -> None:
    """By hand: the ridge has twice the size of the noise, and the leverage is the usual one in the
    metric that noise makes worst, in four digits.
    """
    X, y = table()
    moments = fit(X, y)
    budget = ZCDP(model=model, hessian=Decimal(model) / 2, covariance=Decimal(model) / 2)
    looks = [look for _, look in _looks(moments, design(budget))]
    found = {look.geometry.ridge: 100 * look.budget.metric / budget.total for look in looks}  # type: ignore[union-attr]
    assert found == shares
    for look in looks:
        assert look.geometry is not None
        size = metric_noise(look).diagonal_sd(6) * np.sqrt(12.0)
        assert 2.0 * size <= look.geometry.ridge
        usual = Spread.of(X).leverage(look.geometry.ridge - size)
        assert 0.0 <= look.geometry.leverage - usual < 0.01
        assert look.geometry.leverage == float(f"{look.geometry.leverage:.4g}")
        assert look.budget.total == budget.total


def test_a_metric_in_which_every_row_counts_in_full_is_not_tried() -> None:
    X, y = table(n=600)
    moments = fit(X, y)
    ridges = np.logspace(-3, 0, 25)
    spread = Spread(moments.spread.second_moment, ridges, 1.0 / ridges)
    rows_everywhere = replace(moments, spread=spread)
    assert not list(_looks(rows_everywhere, design(RHO)))


def test_three_geometries_get_their_best_split(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(n=2_000)
    asked: list[Design] = []

    def kept(moments: Moments, **given: Any) -> Any:
        asked.append(given["design"])
        return quick_split(moments, **given)

    monkeypatch.setattr(planning, "quick_split", kept)
    best_geometry(X, y, design=design(RHO))
    assert len({one.geometry.ridge for one in asked if one.geometry}) == 3


def bias_by_hand(X: np.ndarray, y: np.ndarray, design: Design, made: Forecast) -> np.ndarray:
    """How far weights move each coefficient, against half of its interval's length."""
    moved = fit(X, y, geometry=design.geometry).theta_hat - fit(X, y).theta_hat
    return np.abs(moved) / (made.ci_length / 2.0)


def test_the_usual_leverage_is_what_two_of_six_thousand_rows_exceed() -> None:
    X, _ = table(n=6_000)
    spread = Spread.of(X)
    for ridge in (0.001, 0.1, 1.0):
        Q = np.linalg.inv(X.T @ X / 6_000 + ridge * np.eye(6))
        leverages = np.sort(np.einsum("ij,jk,ik->i", X, Q, X))
        assert spread.leverage(ridge) == pytest.approx(leverages[-3], rel=1e-9)
        assert leverages[-4] < leverages[-3] < leverages[-2]
    between = spread.leverage(0.05)
    assert spread.leverage(0.1) < between < spread.leverage(0.001)
    assert spread.leverage(0.0005) == pytest.approx(2.0 * spread.leverage(0.001), rel=1e-12)


def test_a_split_at_once_has_the_designs_proportions() -> None:
    X, y = table()
    moments = fit(X, y)
    found = shaped(moments, design=replace(design(RHO), n_records=50_000))
    assert found is not None
    budget = found.budget
    assert budget.total == RHO.total
    assert budget.metric > 0
    rest = budget.total - budget.metric
    assert float(budget.hessian / rest) == pytest.approx(0.25, rel=1e-9)
    assert float(budget.covariance / rest) == pytest.approx(0.25, rel=1e-9)
    own = forecast(moments, design=replace(design(RHO), n_records=50_000))
    assert forecast(moments, design=found).vi_length_mean < own.vi_length_mean
    assert without_geometry(found).budget.total == RHO.total
    assert without_geometry(found).geometry is None


def test_pure_budgets_and_the_svm_have_it_too() -> None:
    X, y = table()
    pure = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    assert best_geometry(X, y, design=design(pure)).gain > 0.05
    svm = best_geometry(X, y, design=design(RHO, loss=HuberSVM(h=0.5)))
    assert svm.gain > 0.05


def test_what_no_geometry_goes_with_is_refused() -> None:
    X, y = table(n=200)
    with pytest.raises(ValueError, match="not on its minimiser"):
        best_geometry(X, y, design=design(RHO, mechanism="output"))
    with pytest.raises(ValueError, match="spread"):
        forecast(
            fit(X, y, with_spread=False),
            design=shaped(fit(*table()), design=design(RHO)),  # type: ignore[arg-type]
        )
