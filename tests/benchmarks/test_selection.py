"""The curves of choosing privately: the code that is summed out agrees with the code that draws,
and the files of runs are read again.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from benchmarks.selection import (
    CURVE_METHODS,
    Mixture,
    SelectionProtocol,
    _measured,
    histogram_curve,
    selection_curve,
)
from dpci_core import Logistic
from dpci_core.tuning import SELECTION_METHODS, Candidate, Learner, select_privately

CANDIDATES = tuple(
    Candidate(learner=Learner(loss=Logistic(), method="objective_tight", regularization=c))
    for c in (0.01, 0.1, 2.0)
)


def table(n: int = 1_500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = np.c_[rng.uniform(-0.7, 0.7, n), np.full(n, 0.7)]
    return X, np.where(rng.random(n) < 0.5 + 0.6 * X[:, 0], 1.0, -1.0)


def curve(**given):
    settings = {
        "candidates": CANDIDATES,
        "epsilons": ["0.5", "4"],
        "protocol": SelectionProtocol(n_divisions=3),
        "rng": np.random.default_rng(0),
    }
    return selection_curve(*table(), **settings | given)


def test_every_method_has_a_point_at_every_budget() -> None:
    points = curve()
    assert {(p.method, p.epsilon) for p in points} == {
        (method, e) for method in CURVE_METHODS for e in ("0.5", "4")
    }
    for point in points:
        assert 0 <= point.error <= 1
        assert point.is_private == (point.method != "control")
        if point.method != "default":
            assert sum(point.chosen) == pytest.approx(1.0)
    control = [p for p in points if p.method == "control"]
    assert all(p.gap == 0 for p in control)
    ticks: list[int] = []
    assert curve(progress=lambda done, _: ticks.append(done)) == points
    assert ticks == [1, 2, 3]


@pytest.mark.parametrize("method", SELECTION_METHODS)
def test_what_is_summed_out_agrees_with_what_is_drawn(method) -> None:
    X, y = table(700)
    rng = np.random.default_rng(1)
    errors, index = [], []
    for _ in range(120):
        order = rng.permutation(len(y))
        test, rest = order[:70], order[70:]
        result = select_privately(
            X[rest], y[rest], candidates=CANDIDATES, epsilon="2", method=method,
            validation_share="0.111", rng=rng,
        )  # fmt: skip
        errors.append(np.mean(result.predict(X[test]) != y[test]))
        index.append(result.index)
    (point,) = selection_curve(
        X, y, methods=[method], candidates=CANDIDATES, epsilons=["2"],
        protocol=SelectionProtocol(n_divisions=120), rng=np.random.default_rng(2),
    )  # fmt: skip
    error, se = np.mean(errors), np.std(errors) / np.sqrt(120)
    assert abs(point.error - error) < 4.5 * np.hypot(se, point.error_se)
    shares = np.bincount(index, minlength=3) / 120
    assert np.abs(shares - point.chosen).max() < 0.2


def test_errors_and_areas_by_hand() -> None:
    y = np.array([1.0, 1.0, -1.0, -1.0])
    assert _measured(np.array([2.0, -1.0, -2.0, 1.0]), y) == (0.5, 0.75)
    assert _measured(np.array([1.0, 1.0, 1.0, 1.0]), y) == (0.5, 0.5)
    assert _measured(np.array([np.nan, 1.0, 1.0, 1.0]), y) == (1.0, 0.5)


def test_the_integrated_squared_error_is_that_of_a_fine_sum() -> None:
    mixture = Mixture()
    (point,) = histogram_curve(
        mixture=mixture, n_records=4_000, methods=["control"], candidates=(8,),
        epsilons=["1e6"], n_draws=2, rng=np.random.default_rng(3),
    )  # fmt: skip
    rng, found = np.random.default_rng(3), []
    middle = (np.arange(80_000) + 0.5) / 80_000
    for _ in range(2):
        x = mixture.draw(4_000, rng)
        rng.geometric(1 - np.exp(-5e5), (2, 8))  # what the noise takes
        density = np.histogram(x, bins=8, range=(0, 1), density=True)[0]
        found.append(((np.repeat(density, 10_000) - mixture.density(middle)) ** 2).mean())
    assert point.error == pytest.approx(np.mean(found), rel=1e-3)
    parts = 0.6 * beta(2, 8).cdf(0.5) + 0.4 * beta(30, 12).cdf(0.5)
    assert mixture.shares(2) == pytest.approx([parts, 1 - parts])


def test_refusals() -> None:
    with pytest.raises(ValueError, match="method"):
        curve(methods=["best"])
    with pytest.raises(ValueError, match="n_divisions"):
        SelectionProtocol(n_divisions=1)
    with pytest.raises(ValueError, match="method"):
        histogram_curve(
            mixture=Mixture(), n_records=100, methods=["default"], epsilons=["1"], n_draws=2,
            rng=np.random.default_rng(0),
        )  # fmt: skip
