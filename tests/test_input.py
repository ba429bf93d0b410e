"""Wrong input is refused before any work, by name, rule and value, and never with a value of a record."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from dpci_core import (
    ZCDP,
    DataRejectedError,
    Design,
    HuberSVM,
    InfeasibleDesignError,
    Logistic,
    PureDP,
    fit_moments,
    forecast,
    private_intervals,
)

BUDGET = PureDP(model="0.5", hessian="0.25", covariance="0.25")
N = 60


def design(**changes: object) -> Design:
    values = {"loss": Logistic(), "mechanism": "objective", "budget": BUDGET, "regularization": 0.05, **changes}
    return Design(**values)  # type: ignore[arg-type]


def table(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.c_[rng.uniform(-0.6, 0.6, (N, 2)), np.full(N, 0.5)]
    return X, np.where(rng.random(N) < 0.5, 1.0, -1.0)


def intervals_of(X: object, y: object) -> object:
    return private_intervals(X, y, design=design(), rng=np.random.default_rng(0))  # type: ignore[arg-type]


def moments_of(X: object, y: object) -> object:
    return fit_moments(X, y, loss=Logistic(), regularization=0.05)  # type: ignore[arg-type]


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def working(*_: object, **__: object) -> None:
        raise AssertionError("work began before the input was refused")

    for name in ("erm.solve", "perturbation.solve", "inference.train_private", "inference.release_moments"):
        monkeypatch.setattr(f"dpci_core.{name}", working)


def changed(where: tuple[int, ...], value: float) -> tuple[np.ndarray, np.ndarray]:
    X, y = table()
    (X if len(where) == 2 else y)[where] = value
    return X, y


SECRET = 0.7351946
BAD_TABLES = {
    "norm": (changed((7, 0), 1 + SECRET), "norm at most 1; row 7"),
    "norm just above 1": ((np.array([[1.0 + 1e-12, 0.0]]), np.ones(1)), "norm at most 1; row 0"),
    "label 0": (changed((3,), 0.0), "-1 or \\+1; row 3"),
    "label 2": (changed((3,), 2.0), "-1 or \\+1; row 3"),
    "label nan": (changed((4,), math.nan), "-1 or \\+1; row 4"),
    "nan": (changed((5, 1), math.nan), "finite .*; row 5"),
    "infinity": (changed((5, 1), -math.inf), "finite .*; row 5"),
    "no record": ((np.empty((0, 3)), np.empty(0)), "at least one record"),
    "no column": ((np.empty((4, 0)), np.ones(4)), "at least one record and one column"),
    "one dimension": ((np.ones(4), np.ones(4)), "2 dimensions"),
    "lengths": ((table()[0], np.ones(N - 1)), "y of shape"),
    "column of labels": ((table()[0], np.ones((N, 1))), "y of shape"),
    "words": (([["a", "b"]], ["yes"]), "numbers only"),
    "word labels": ((table()[0], ["yes"] * N), "numbers only"),
    "ragged": (([[0.1], [0.1, 0.2]], [1, -1]), "numbers only"),
}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("entry", [intervals_of, moments_of])
@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_records_are_refused_before_work(name: str, entry: Callable[[object, object], object]) -> None:
    (X, y), rule = BAD_TABLES[name]
    with pytest.raises(DataRejectedError, match=rule) as caught:
        entry(X, y)
    assert "7351946" not in str(caught.value)
    assert "nan" not in str(caught.value).replace("NaN", "")


def test_a_rejection_counts_rows_and_names_the_first() -> None:
    X, y = table()
    X[[4, 9, 11]] = 5.0
    with pytest.raises(DataRejectedError, match="row 4 is the first of 3") as caught:
        moments_of(X, y)
    assert caught.value.row == 4


BAD_DESIGNS = [
    ({"loss": "logistic"}, "loss"),
    ({"mechanism": "input"}, "mechanism='input'"),
    ({"budget": 1.0}, "budget"),
    ({"regularization": 0.0}, "regularization=0.0 > 0"),
    ({"regularization": -1.0}, "regularization=-1.0 > 0"),
    ({"regularization": math.nan}, "regularization=nan"),
    ({"confidence_level": 0.0}, "confidence_level=0.0 < 1"),
    ({"confidence_level": 1.0}, "confidence_level=1.0 < 1"),
    ({"confidence_level": 95}, "confidence_level=95 < 1"),
    ({"calibration": "best"}, "calibration='best'"),
]


@pytest.mark.parametrize(("change", "message"), BAD_DESIGNS)
def test_a_bad_design_cannot_be_made(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        design(**change)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_bad_width_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="h="):
        HuberSVM(h=bad)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("loss", [Logistic(), HuberSVM(h=0.5)])
@pytest.mark.parametrize("budget", [BUDGET, ZCDP(model="0.125", hessian="0.1", covariance="0.1")])
def test_too_small_a_penalty_is_refused_with_one_that_works(loss: object, budget: object) -> None:
    X, y = table()
    tiny = design(loss=loss, budget=budget, regularization=1e-5)
    with pytest.raises(InfeasibleDesignError, match=r"regularization=1e-05 > .*n_records=60") as caught:
        private_intervals(X, y, design=tiny, rng=np.random.default_rng(0))
    works = float(caught.value.suggestion.removeprefix("The smallest c that works is ").removesuffix("."))
    with pytest.raises(AssertionError, match="work began"):
        private_intervals(
            X, y, design=design(loss=loss, budget=budget, regularization=works), rng=np.random.default_rng(0)
        )
    with pytest.raises(InfeasibleDesignError):
        private_intervals(
            X, y, design=design(loss=loss, budget=budget, regularization=0.98 * works), rng=np.random.default_rng(0)
        )


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_one_class_only_is_valid(label: float) -> None:
    X, _ = table()
    result = private_intervals(X, np.full(N, label), design=design(), rng=np.random.default_rng(0))
    assert np.isfinite(result.length).all()


def test_whole_numbers_and_lists_are_taken_and_left_alone() -> None:
    X, y = [[0, 1], [1, 0], [0, -1]], [1, -1, 1]
    result = private_intervals(X, y, design=design(regularization=1.0), rng=np.random.default_rng(0))
    assert result.estimate.shape == (2,)
    features, labels = table()
    before = features.copy(), labels.copy()
    intervals_of(features, labels)
    np.testing.assert_array_equal(features, before[0])
    np.testing.assert_array_equal(labels, before[1])


def test_a_norm_of_exactly_one_is_allowed() -> None:
    X = np.array([[0.6, 0.8], [1.0, 0.0], [-0.8, 0.6]])
    moments_of(X, [1, -1, 1])


def test_a_seed_makes_a_result() -> None:
    X, y = table()
    one, two = (private_intervals(X, y, design=design(), rng=np.random.default_rng(3)) for _ in range(2))
    other = private_intervals(X, y, design=design(), rng=np.random.default_rng(4))
    np.testing.assert_array_equal(one.low, two.low)
    assert not np.array_equal(one.low, other.low)


def test_a_forecast_refuses_what_its_moments_are_not_for() -> None:
    moments = fit_moments(*table(), loss=Logistic(), regularization=0.05)
    for change in ({"loss": HuberSVM(h=1.0)}, {"regularization": 0.06}):
        with pytest.raises(ValueError, match="moments"):
            forecast(moments, design=design(**change))
    for bad in (0, -5, 2.5, True):
        with pytest.raises(ValueError, match="n_records"):
            forecast(moments, design=design(), n_records=bad)  # type: ignore[arg-type]
    with pytest.raises(InfeasibleDesignError, match="n_records=3"):
        forecast(moments, design=design(), n_records=3)
