"""Estimators of columns with typical values: the effect in the user's units, without penalty."""

from __future__ import annotations

import io
import math
import pickle
import struct
import tracemalloc
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from dpci_core import (
    ZCDP,
    DPLinearSVC,
    DPLogisticRegression,
    Logistic,
    NumericColumn,
    PureDP,
    Schema,
)
from dpci_core.design import Design
from dpci_core.estimators import tune_for_release
from dpci_core.estimators.defaults import default_regularization, effects_regularization
from dpci_core.estimators.scaling import Scaling, Standardisation
from dpci_core.estimators.summary import FLAG
from dpci_core.intervals.certified import GRID
from dpci_core.losses import HuberSVM
from dpci_core.mechanisms.mechanism import model_noise
from dpci_core.schema import StandardEncoding, encode
from dpci_core.tuning import Candidate, Learner
from tests.refusals import refuses

NO_PRIVACY = PureDP(model="1e9", hessian="1e9", covariance="1e9")
BUDGET = PureDP(model="1", hessian="0.5", covariance="0.5")
TYPICAL, SPREAD = (60.0, 1.0), (15.0, 0.7)
TRUTH = np.array([0.04, -0.8, -2.1])
"""Log odds for a year of age, a unit of dose, and the intercept."""


def table(n: int = 3_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Age and dose, the second skewed, and whether somebody is ill."""
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(60.0, 15.0, n), rng.gamma(2.0, 0.5, n)]
    return X, rng.random(n) < expit(X @ TRUTH[:2] + TRUTH[2])


def made(kind: Any = DPLogisticRegression, **settings: Any) -> Any:
    declared = {"feature_typical": TYPICAL, "feature_spread": SPREAD, "classes": (False, True)}
    return kind(**{"budget": BUDGET, "random_state": 3, **declared, **settings})


def by_hand(
    X: np.ndarray, *, radius: float, limit: float, bounds: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Values as they count, in their units, and weights, one record at a time."""
    values, weights = [], []
    for record in X.tolist():
        cut, squares = [], 1.0
        for j, value in enumerate(record):
            value = min(max(value, TYPICAL[j] - limit * SPREAD[j]), TYPICAL[j] + limit * SPREAD[j])
            if bounds is not None:
                value = min(max(value, bounds[0][j]), bounds[1][j])
            cut.append(value)
            squares += ((value - TYPICAL[j]) / SPREAD[j]) ** 2
        values.append([*cut, 1.0])
        weights.append(min(1.0, radius**2 / squares))
    return np.array(values), np.array(weights)


# --- the encoding ---------------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", [None, ([20, 0.0], [90, 3.0])])
@pytest.mark.parametrize(("radius", "limit"), [(None, 4.0), (1.0, 2.0), (50.0, 2.5)])
def test_rows_and_weights_by_hand(radius: float | None, limit: float, bounds: Any) -> None:
    X, _ = table(20_000)  # more than a block of rows
    X[:3] = [[1e300, -1e300], [60.0, 1.0], [60.0, -7.0]]
    R = 1.25 * math.sqrt(3.0) if radius is None else radius
    scaling = Standardisation.of(
        TYPICAL, SPREAD, n_features=2, limit=limit, shape=radius, bounds=bounds
    )
    found = scaling.encode(X)
    values, weights = by_hand(X, radius=R, limit=limit, bounds=bounds)
    v = (values - [*TYPICAL, 0.0]) / [*SPREAD, 1.0]
    np.testing.assert_allclose(found.rows, v / R, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.weights, weights, rtol=2e-12)
    assert (found.weights * (found.rows**2).sum(axis=1)).max() <= 1.0
    assert found.weights.max() <= 1.0
    assert (found.weights < 1.0).any() == (R < 50.0)
    # The user's units come back: L theta on (x, 1) is theta on the row.
    theta = np.array([0.7, -0.2, 0.4])
    beta = scaling.to_original @ theta
    np.testing.assert_allclose(values @ beta, found.rows @ theta, rtol=1e-9, atol=1e-9)


def test_the_encoding_is_that_of_a_schema() -> None:
    X, y = table()
    bounds = ([18.0, 0.0], [98.0, 6.0])
    columns = tuple(
        NumericColumn(name, bounds[0][j], bounds[1][j], typical=TYPICAL[j], spread=SPREAD[j])
        for j, name in enumerate(("age", "dose"))
    )
    schema = Schema(columns, target="ill", positive="yes", standard=StandardEncoding(shape=2.0))
    frame = pd.DataFrame(X, columns=["age", "dose"])
    frame["ill"] = np.where(y, "yes", "no")
    records = encode(frame, schema, source="simulated", title="clinic")
    scaling = Standardisation.of(TYPICAL, SPREAD, n_features=2, limit=4.0, shape=2.0, bounds=bounds)
    found = scaling.encode(X)
    np.testing.assert_allclose(found.rows, records.X.rows, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.weights, records.X.weights, rtol=1e-12)
    np.testing.assert_allclose(scaling.to_original, records.to_original / 2.0, rtol=1e-12)


def test_rows_of_a_map_are_those_of_a_schema_and_its_units_come_back() -> None:
    X, y = table(2_000)
    bounds, U = ([18.0, 0.0], [98.0, 6.0]), ((0.6, 0.2, 0.1), (0.5, -0.2), (0.4,))
    columns = tuple(
        NumericColumn(name, bounds[0][j], bounds[1][j], typical=TYPICAL[j], spread=SPREAD[j])
        for j, name in enumerate(("age", "dose"))
    )
    schema = Schema(columns, target="ill", positive="yes", standard=StandardEncoding(shape=U))
    frame = pd.DataFrame(X, columns=["age", "dose"])
    frame["ill"] = np.where(y, "yes", "no")
    records = encode(frame, schema, source="simulated", title="clinic")
    scaling = Standardisation.of(TYPICAL, SPREAD, n_features=2, limit=4.0, shape=U, bounds=bounds)
    found = scaling.encode(X)
    np.testing.assert_array_equal(found.rows, records.X.rows)
    np.testing.assert_array_equal(found.weights, records.X.weights)
    assert (found.weights < 1.0).any()
    np.testing.assert_array_equal(scaling.basis, records.meaning.basis)
    np.testing.assert_allclose(scaling.to_original, records.to_original @ scaling.basis, rtol=1e-12)
    assert scaling.radius == pytest.approx((0.6 * 0.5 * 0.4) ** (-1.0 / 3.0), rel=1e-12)
    model = made(shape=U, feature_bounds=bounds, budget=NO_PRIVACY, regularization=1e-5).fit(X, y)
    plain = made(feature_bounds=bounds, budget=NO_PRIVACY, regularization=1e-5).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=0.2)
    scaled, original = (model.confidence_intervals(units=units) for units in ("scaled", "original"))
    np.testing.assert_allclose(
        (scaled.high - scaled.low)[0, :2] / SPREAD, (original.high - original.low)[0, :2], rtol=1e-9
    )


def test_a_record_decides_its_own_row_and_weight_only() -> None:
    X, _ = table(200)
    scaling = Standardisation.of(TYPICAL, SPREAD, n_features=2, limit=4.0)
    before = scaling.encode(X)
    X[7] = [1e9, -1e9]
    after = scaling.encode(X)
    others = np.arange(200) != 7
    np.testing.assert_array_equal(before.rows[others], after.rows[others])
    np.testing.assert_array_equal(before.weights[others], after.weights[others])
    assert after.weights[7] == pytest.approx(1.25**2 * 3.0 / 33.0, rel=1e-9)  # 4, 4 and 1 long


# --- coefficients and intervals -------------------------------------------------------------------


@pytest.mark.parametrize(("radius", "limit"), [(1.2, 2.0), (None, 4.0)])
def test_estimate_and_intervals_are_those_of_a_weighted_fit_in_the_users_units(
    radius: float | None, limit: float
) -> None:
    X, y = table(1_500)
    model = made(budget=NO_PRIVACY, shape=radius, column_limit=limit, regularization=1e-5).fit(X, y)
    R = 1.25 * math.sqrt(3.0) if radius is None else radius
    G, w = by_hand(X, radius=R, limit=limit)
    signed = np.where(y, 1.0, -1.0)[:, None] * G

    def mean_loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        z = signed @ beta
        return float(w @ np.logaddexp(0.0, -z)) / len(w), -(w * expit(-z)) @ signed / len(w)

    beta = minimize(mean_loss, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    slope = expit(-signed @ beta)
    K = (G * (w * slope * (1.0 - slope))[:, None]).T @ G / len(w)
    S = (G * (w * slope)[:, None] ** 2).T @ G / len(w)
    sd = np.sqrt(np.diag(np.linalg.inv(K) @ S @ np.linalg.inv(K)) / len(w))
    found = model.confidence_intervals(0.9)
    np.testing.assert_allclose(found.estimate[0], beta, rtol=1e-4)
    np.testing.assert_allclose(found.high[0] - beta, norm.ppf(0.95) * sd, rtol=2e-3)
    np.testing.assert_allclose(beta - found.low[0], norm.ppf(0.95) * sd, rtol=2e-3)
    np.testing.assert_allclose(
        [*model.coef_[0], *model.intercept_], found.estimate[0], rtol=2e-2
    )  # the released ones keep the penalty


@pytest.mark.parametrize(
    ("mechanism", "n", "fits"), [("objective", 3_000, 400), ("output", 6_000, 300)]
)
def test_intervals_cover_the_effect_itself(mechanism: str, n: int, fits: int) -> None:
    inside, marked, penalised = [], [], []
    for seed in range(fits):
        X, y = table(n, seed)
        model = made(mechanism=mechanism, random_state=seed).fit(X, y)
        found = model.confidence_intervals()
        inside.append((found.low[0] <= TRUTH) & (found.high[0] >= TRUTH))
        marked.append(found.is_not_estimable)
        penalised.append(model.coef_[0])
    assert 0.93 <= np.mean(inside) <= 0.97
    assert not np.any(marked)
    if mechanism == "output":  # what a target with penalty would be about lies elsewhere
        assert abs(np.mean(penalised, axis=0)[0]) < 0.97 * TRUTH[0]


def test_scores_are_linear_where_nothing_is_cut_and_cut_elsewhere() -> None:
    X, y = table()
    model = made().fit(X, y)
    near = np.abs((X - TYPICAL) / SPREAD).max(axis=1) < 4.0
    assert near.sum() > 2_900
    np.testing.assert_allclose(
        model.decision_function(X[near]), X[near] @ model.coef_[0] + model.intercept_[0], rtol=1e-9
    )
    far = model.decision_function([[1e6, 1.0], [60.0, -1e6]])
    np.testing.assert_allclose(far, model.decision_function([[120.0, 1.0], [60.0, 1.0 - 2.8]]))


def test_every_class_is_told_from_the_rest() -> None:
    X, _ = table(2_000)
    y = np.digitize(X[:, 0] + np.random.default_rng(1).normal(0, 20, 2_000), [50, 70])
    settings = {"budget": NO_PRIVACY, "regularization": 1e-3}
    model = made(classes=(0, 1, 2), **settings).fit(X, y)
    for k in range(3):
        alone = made(**settings).fit(X, y == k)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-5)
        np.testing.assert_allclose(model.intercept_[k], alone.intercept_[0], rtol=1e-5)


def test_noise_of_the_operating_system_and_an_svm() -> None:
    X, y = table()
    model = made(DPLinearSVC, random_state=None).fit(X, y)
    np.testing.assert_array_equal(model._models[0].theta_priv % GRID, 0.0)
    found = model.confidence_intervals(1.0 - 1e-9)  # this noise has no seed
    assert (found.covers, model.privacy_.noise) == (
        "coefficient without penalty",
        "system",
    )
    assert found.low[0, 0] < 0.0467 < found.high[0, 0]  # of 400,000 records without noise


# --- what the intervals are for, and the penalty --------------------------------------------------


@pytest.mark.parametrize("kind", [DPLogisticRegression, DPLinearSVC])
def test_the_target_follows_the_declaration(kind: Any) -> None:
    X, y = table(600)

    def target(**settings: Any) -> str:
        return made(kind, **settings).fit(X, y)._models[0].design.target

    by_bounds = {"feature_typical": None, "feature_spread": None, "feature_bounds": (-50, 150)}
    assert target() == "unpenalised"
    assert target(target="penalised") == "penalised"
    assert target(intervals=False) == "penalised"
    assert target(**by_bounds) == "penalised"
    assert target(**by_bounds, target="unpenalised") == "unpenalised"
    for words in ("penalized", 1):
        with pytest.raises(ValueError, match="target"):
            target(target=words)


def test_what_is_covered_is_said() -> None:
    X, y = table(600)
    model = made().fit(X, y)
    without = "coefficient without penalty"
    assert model.confidence_intervals().covers == without
    assert without in " ".join(str(model.summary()).split())
    assert f"x0{FLAG}" not in str(model.summary())
    model = made(target="penalised", regularization=0.0123).fit(X, y)
    assert "coefficient penalised at c = 0.0123;" in " ".join(str(model.summary()).split())
    assert without not in " ".join(str(model.summary()).split())


def test_a_coefficient_that_a_release_cannot_speak_about_is_flagged() -> None:
    X, y = table(600)
    little = PureDP(model="1e9", hessian="0.01", covariance="0.01")
    model = made(budget=little).fit(pd.DataFrame(X, columns=["age", "d" * 30]), y)
    found, text = model.confidence_intervals(), str(model.summary())
    assert found.is_not_estimable.all()
    for label in ("age*", "d" * 20 + "*", "intercept*"):
        assert f"\n{label:<22}" in text
    assert f"{FLAG} Not estimable: the coefficient" in text
    # Along one direction only: two columns that are nearly the same.
    twins = np.c_[X[:, 0], X[:, 0] + np.random.default_rng(0).normal(0, 0.5, 600), X[:, 1]]
    three = {"feature_typical": [60, 60, 1], "feature_spread": [15, 15, 0.7]}
    model = made(budget=PureDP(model="50", hessian="50", covariance="50"), **three).fit(twins, y)
    assert model.confidence_intervals().is_not_estimable[0].tolist() == [True, True, False, False]


def test_the_penalty_by_hand() -> None:
    epsilon, n, R = 0.5, 2_000, 3.0
    rules = {
        ("output", PureDP, "0.5"): 0.04 * (2.0 / (n * epsilon) * R) ** 0.25 / 9.0,
        ("output", ZCDP, "0.125"): 0.04 * (1.0 / (n * epsilon) * R) ** 0.25 / 9.0,
        ("objective", PureDP, "0.5"): 4.0 * 0.25 / (n * epsilon),
        ("objective", ZCDP, "0.125"): 4.0 * 0.25 / (n * epsilon),
    }
    for (mechanism, kind, amount), c in rules.items():
        design = Design(
            loss=Logistic(),
            mechanism=mechanism,
            budget=kind(model=amount, hessian=1, covariance=1),
            regularization=1,
            n_records=n,
            calibration="sharp",
        )
        found = effects_regularization(design, n_coefficients=3, row_radius=R)
        assert found == pytest.approx(c + 0.01 / n / 9.0, rel=1e-9)


@pytest.mark.parametrize("calibration", ["published", "sharp"])
@pytest.mark.parametrize("loss", [Logistic(), HuberSVM(h=0.1)])
@pytest.mark.parametrize("amount", ["1e-6", "0.3", "1e6"])
def test_the_penalty_is_feasible(loss: Any, amount: str, calibration: Any) -> None:
    for kind in (PureDP, ZCDP):
        for mechanism in ("objective", "output"):
            design = Design(
                loss=loss,
                mechanism=mechanism,
                budget=kind(model=amount, hessian=1, covariance=1),
                regularization=1,
                n_records=50,
                calibration=calibration,
            )
            c = effects_regularization(design, n_coefficients=3, row_radius=2.0)
            used = Design(
                loss=loss,
                mechanism=mechanism,
                budget=design.budget,
                regularization=c,
                n_records=50,
                calibration=calibration,
            )
            assert model_noise(used).scale > 0.0


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_the_penalty_of_a_fit_comes_from_public_numbers(mechanism: str) -> None:
    X, y = table(600)
    model = made(mechanism=mechanism).fit(X, y)
    other = made(mechanism=mechanism).fit(X[::-1] * 3.0, y)
    assert model.regularization_ == other.regularization_
    design = model._models[0].design
    for radius in (None, 2.0):
        found = made(mechanism=mechanism, shape=radius).fit(X, y).regularization_
        R = 1.25 * math.sqrt(3.0) if radius is None else radius
        assert found == effects_regularization(design, n_coefficients=3, row_radius=R)
    penalised = made(mechanism=mechanism, target="penalised").fit(X, y).regularization_
    assert penalised == default_regularization(design, n_coefficients=3)
    held = made(mechanism=mechanism, random_state=None).fit(X, y).regularization_
    assert held == model.regularization_


# --- what is refused and kept ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ("feature_spread, both", {"feature_spread": None}),
        ("feature_spread, both", {"feature_typical": None}),
        ("feature_typical to be a finite number, or 2", {"feature_typical": [1, 2, 3]}),
        ("feature_typical to be a finite number", {"feature_typical": [1, np.nan]}),
        ("feature_spread to be a finite number", {"feature_spread": "wide"}),
        (r"feature_spread=0\.0 .* of feature 1", {"feature_spread": [1, 0]}),
        (r"feature_spread=-2\.0 .* of feature 0", {"feature_spread": [-2, 1]}),
        (r"feature_spread=1e\+31 .* of feature 0", {"feature_spread": 1e31}),
        ("1e-06 <= feature_spread=1e-07", {"feature_typical": 1e6, "feature_spread": 1e-7}),
        (r"feature_typical=1\.0 of feature 1 .* within", {"feature_bounds": ([0, 2], [99, 9])}),
        (r"feature_typical=60\.0 of feature 0 .* within", {"feature_bounds": ([0, 0], [59, 9])}),
        ("in feature_bounds of feature 1", {"feature_bounds": ([0, 2], [99, 2])}),
        ("shape=0.5", {"shape": 0.5}),
        ("shape='a'", {"shape": "a"}),
        ("shape=nan", {"shape": np.nan}),
        (r"shape\[0\]\[0\]=0.0", {"shape": ((0.0, 1.0, 1.0), (1.0, 0.0), (1.0,))}),
        ("a shape of 3 rows", {"shape": ((1.0, 0.0), (1.0,))}),
        ("column_limit=0.9", {"column_limit": 0.9}),
        ("column_limit=None", {"column_limit": None}),
        ("norm_bound=1.0 to be None", {"norm_bound": 1.0}),
        ("beside shape", {"feature_typical": None, "feature_spread": None, "shape": 2}),
        ("beside shape", {"feature_typical": None, "feature_spread": None, "column_limit": 3}),
    ],
)
def test_a_wrong_declaration_is_named(words: str, settings: dict[str, Any]) -> None:
    X, y = table(50)
    if "beside" in words:
        settings = settings | {"feature_bounds": (0, 100)}
    with pytest.raises(ValueError, match=words):
        made(**settings).fit(X, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(bad: float) -> None:
    X, y = table(50)
    model = made().fit(X, y)
    X[-1, -1] = bad
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        made().fit(X, y)
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        model.predict(X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_large_table_is_written_out_once(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40_000, 20)), rng.integers(n_classes, size=40_000)
    model = made(feature_typical=0, feature_spread=1, classes=range(n_classes))
    model.fit(X[:9_000], y[:9_000])  # what is imported and kept once
    before = X.copy()
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(X, before)
    # The rows, half as much in single precision, and vectors; another copy is one more.
    assert 1.4 < peak / X.nbytes < 2.2


def test_a_pickle_holds_no_record() -> None:
    X, y = table(60)
    X[7] = [51.2345678912, 1.21987654]  # planted
    model = made(budget=NO_PRIVACY).fit(X, y)
    held = pickle.dumps(model)
    for value in (*X[7], *model._scaling.encode(X).rows[7, :2]):
        assert struct.pack("<d", value) not in held
    assert struct.pack("<d", model._models[0].theta_priv[0]) in held
    again = pickle.loads(held)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


# --- documents -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["README.md", "docs/library.md"])
def test_the_example_runs(name: str) -> None:
    text = (Path(__file__).resolve().parents[2] / name).read_text(encoding="utf-8")
    X = np.random.default_rng(0).uniform([20, 10_000], [70, 90_000], (2_000, 2))
    space = {"X": X, "y": np.where(X[:, 0] > 45, "yes", "no")}
    with redirect_stdout(io.StringIO()) as printed:
        exec(text.split("```python\n")[1].split("```")[0], space)
    assert "coefficient without penalty; units" in printed.getvalue()
    found = space["model"].confidence_intervals(1.0 - 1e-9)  # the noise of one has no seed
    assert found.low[0, 0] < (0.04 if name == "README.md" else np.inf)
    assert found.high[0, 0] > 0.04


# --- records in encoded units ---------------------------------------------------------------------


def long_by_rounding() -> tuple[np.ndarray, np.ndarray]:
    """Rows divided by their norm, some of which come out longer than 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X /= np.linalg.norm(X, axis=1)[:, None]
    assert (np.einsum("ij,ij->i", X, X) > 1.0).any()
    return X, np.where(X[:, 0] > 0, 1, -1)


def test_rows_that_rounding_made_too_long_are_taken() -> None:
    X, y = long_by_rounding()
    settings = {"budget": BUDGET, "feature_bounds": (-1, 1), "norm_bound": 1.0, "random_state": 0}
    assert DPLogisticRegression(**settings).fit(X, y).score(X, y) > 0.9
    rows = Scaling.of((-1, 1), n_features=3, norm_bound=1.0).encode(X)[:]
    assert np.linalg.norm(rows, axis=1).max() <= 1.0
    learner = Learner(loss=Logistic(), method="output", regularization=0.05)
    candidates = [Candidate(learner=learner), Candidate(learner=learner)]
    found = tune_for_release(X, y, candidates=candidates, epsilon="20")
    assert np.mean(found.predict(X) == y) > 0.9
    with refuses(ValueError, match="of norm at most 1"):
        tune_for_release(X * (1.0 + 1e-8), y, candidates=candidates, epsilon="20")
