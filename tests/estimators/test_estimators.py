"""The estimators: scikit-learn's own checks, units, what they refuse, and what they keep."""

from __future__ import annotations

import itertools
import os
import pickle
import struct
import subprocess
import sys
import warnings
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import kstest, norm
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpci_core import (
    ZCDP,
    ApproxDP,
    DataRejectedError,
    Design,
    DPLinearSVC,
    DPLogisticRegression,
    InfeasibleDesignError,
    Logistic,
    PureDP,
    private_intervals,
)
from dpci_core.estimators.defaults import default_regularization
from dpci_core.estimators.input import check_labels
from dpci_core.estimators.scaling import Scaling
from dpci_core.estimators.statement import LABELS_READ, noise_source
from dpci_core.intervals.certified import GRID
from dpci_core.losses import HuberSVM
from dpci_core.mechanisms.mechanism import model_noise
from dpci_core.privacy import exact
from dpci_core.report.words import SEEDED, UNBOOKED
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk
from tests.refusals import refuses

NO_PRIVACY = PureDP(model="1e6", hessian="1e6", covariance="1e6")
"""So much that scikit-learn's checks of accuracy see the learner and not the noise."""
BUDGET = PureDP(model="1", hessian="0.5", covariance="0.5")
ESTIMATORS = (DPLogisticRegression, DPLinearSVC)
EXPECTED_FAILURES: dict[str, str] = {}
"""Checks of scikit-learn that must fail, with the reason. None has to: weights are no argument of
`fit`.
"""
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")


@parametrize_with_checks(
    [
        kind(budget=NO_PRIVACY, random_state=0, **declared)
        for kind, declared in zip(
            ESTIMATORS,
            ({"feature_bounds": (-10, 10)}, {"feature_typical": 0, "feature_spread": 3}),
            strict=True,
        )
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_agrees(estimator, check) -> None:
    check(estimator)


def table(n: int = 400, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform([0, -5, 100][:d], [10, 5, 300][:d], size=(n, d))
    return X, np.where(rng.random(n) < expit((X[:, 0] - 5) / 2), "yes", "no")


BOUNDS = ([0, -5, 100], [10, 5, 300])


def made(kind=DPLogisticRegression, **settings):
    return kind(**{"budget": BUDGET, "feature_bounds": BOUNDS, "random_state": 3, **settings})


# --- units and intervals --------------------------------------------------------------------------


def encoded_by_hand(X: np.ndarray) -> np.ndarray:
    z = (np.clip(X, *BOUNDS) - [5, 0, 200]) / [5, 5, 100]
    return np.c_[z / (np.sqrt(3) * np.sqrt(2)), np.full(len(X), 1 / np.sqrt(2))]


def test_scaling_by_hand_and_norms() -> None:
    X, _ = table()
    X[0] = [-50, 70, 1e300]
    records = Scaling.of(BOUNDS, n_features=3).encode(X)[:]
    np.testing.assert_allclose(records, encoded_by_hand(X), rtol=1e-11, atol=1e-15)
    assert np.linalg.norm(records, axis=1).max() <= 1.0
    assert np.linalg.norm(records[0]) == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize("norm_bound", [0.5, 1.0, 99.0])
def test_a_declared_norm_shortens_longer_rows_only(norm_bound: float) -> None:
    X, _ = table()
    scaling = Scaling.of(BOUNDS, n_features=3, norm_bound=norm_bound)
    z = (X - [5, 0, 200]) / [5, 5, 100]
    B = min(norm_bound, np.sqrt(3))
    short = z * np.minimum(1, B / np.linalg.norm(z, axis=1))[:, None]
    np.testing.assert_allclose(scaling.encode(X)[:][:, :-1], short / (B * np.sqrt(2)), rtol=1e-10)
    assert np.linalg.norm(scaling.encode(X)[:], axis=1).max() <= 1.0


@pytest.mark.parametrize("value", [1.0, -1.0, 1.0 + 2.0**-52, -1.5, 0.9])
def test_a_table_that_needs_no_change_is_not_copied(value: float) -> None:
    X = np.random.default_rng(0).uniform(-0.1, 0.1, (2_000, 30))
    X[1_999, 29] = value
    before = X.copy()
    for table, norm_bound in (
        (X, None),
        (np.asfortranarray(X), 1.2),
        (np.repeat(X, 2, axis=1)[:, ::2], None),
    ):
        records = Scaling.of((-1, 1), n_features=30, norm_bound=norm_bound).encode(table)
        is_kept = abs(value) <= 1.0 and table.flags.forc
        assert np.shares_memory(records.features, table) == is_kept
        B = norm_bound or np.sqrt(30)
        by_hand = np.clip(X, -1, 1) / (B * np.sqrt(2))
        np.testing.assert_allclose(records[:][:, :-1], by_hand, rtol=1e-11, atol=1e-15)
        np.testing.assert_array_equal(table, before)
    for size, is_kept in ((1.99, True), (2.01, False)):
        X[-1] = size / np.sqrt(30)  # all within their bounds
        records = Scaling.of((-1, 1), n_features=30, norm_bound=2.0).encode(X)
        assert np.shares_memory(records.features, X) == is_kept
        assert np.linalg.norm(records[:], axis=1).max() <= 1.0
        assert np.linalg.norm(records[-1:][0, :-1]) == pytest.approx(
            min(size, 2.0) / np.sqrt(8), rel=1e-11
        )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("bounds", [(-1, 1), (0, 5)])
def test_what_is_not_finite_is_refused_also_where_nothing_else_changes(
    bad: float, bounds: tuple[int, int]
) -> None:
    X, y = table()
    X = np.clip(X, -0.5, 0.5)
    X[-1, -1] = bad
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        made(feature_bounds=bounds).fit(X, y)


@pytest.mark.parametrize("labels", [(0, 1), (-1.0, 1.0), (False, True), (1, 2, 5)])
def test_plain_labels_are_read_as_others_are(labels: tuple[float, ...]) -> None:
    y = np.random.default_rng(0).choice(np.array(labels), 200)
    classes, codes = check_labels(y, labels, n_records=200)
    slowly, expected = check_labels(y.tolist(), labels, n_records=200)
    assert classes.tolist() == slowly.tolist() == list(labels)
    np.testing.assert_array_equal(codes, expected)
    y = y.astype(float)
    y[7] = 7.0
    with refuses(DataRejectedError, match=r"one of the declared classes=.*\.$"):
        check_labels(y, labels, n_records=200)
    y[7] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        check_labels(y, labels, n_records=200)
    with pytest.raises(ValueError, match="Unknown label type"):
        check_labels(np.array([0.5, 1.5]), None, n_records=2)
    assert check_labels(np.array([0.5, 1.5]), (0.5, 1.5), n_records=2)[1].tolist() == [0, 1]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_coef_is_the_linear_score_inside_the_bounds_and_clipped_outside(kind) -> None:
    X, y = table()
    model = made(kind).fit(X, y)
    scores = model.decision_function(X)
    np.testing.assert_allclose(
        scores, X @ model.coef_[0] + model.intercept_[0], rtol=1e-9, atol=1e-9
    )
    outside = np.array([[-1e6, 99.0, 200.0]])
    np.testing.assert_allclose(
        model.decision_function(outside), model.decision_function([[0.0, 5.0, 200.0]])
    )
    assert set(model.predict(X)) <= {"no", "yes"}
    assert list(model.classes_) == ["no", "yes"]


def test_scaled_intervals_are_those_of_the_core() -> None:
    X, y = table()
    model = made(regularization=0.01).fit(X, y)
    design = Design(
        loss=Logistic(),
        mechanism="objective",
        budget=BUDGET,
        regularization=0.01,
        n_records=len(y),
    )
    records = Scaling.of(BOUNDS, n_features=3).encode(X)[:]
    core = private_intervals(
        records, np.where(y == "yes", 1, -1), design=design, rng=np.random.default_rng(3)
    )
    found = model.confidence_intervals(units="scaled")
    # The two solvers agree to their tolerance.
    for ours, theirs in (
        (found.low, core.low),
        (found.high, core.high),
        (found.sampling_se, core.sampling_se),
    ):
        np.testing.assert_allclose(ours[0], theirs, rtol=1e-8)


def test_original_units_by_the_closed_form_of_output_perturbation() -> None:
    X, y = table(2_000)
    budget = ZCDP(model="0.5", hessian="5", covariance="5")
    paper = {"mechanism": "output", "calibration": "published"}
    model = made(budget=budget, regularization=0.05, **paper).fit(X, y)
    released = model._models[0]
    n, c, level = 2_000, 0.05, 0.9

    def floored(M: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(M)
        return vectors @ np.diag(np.maximum(values, 2 * c)) @ vectors.T

    H, S = floored(released.moments.hessian.noisy), floored(released.moments.covariance.noisy)
    U = np.eye(4) / (2 * 0.5 * (n * c) ** 2) + np.linalg.inv(H) @ S @ np.linalg.inv(H) / n
    low, high = np.array(BOUNDS, dtype=float)
    L = np.zeros(
        (4, 4)
    )  # score = sum theta_j (2 x_j - low - high) / ((high - low) sqrt 6) + theta_3 / sqrt 2
    L[range(3), range(3)] = 2 / ((high - low) * np.sqrt(6))
    L[3, :3] = -(low + high) / ((high - low) * np.sqrt(6))
    L[3, 3] = 1 / np.sqrt(2)
    half = norm.ppf(0.95) * np.sqrt(np.diag(L @ U @ L.T))
    found = model.confidence_intervals(level)
    np.testing.assert_allclose(found.high[0] - found.estimate[0], half, rtol=1e-9)
    np.testing.assert_allclose(found.estimate[0], L @ released.theta_priv, rtol=1e-9)
    np.testing.assert_allclose(found.estimate[0], [*model.coef_[0], *model.intercept_])
    # Interval arithmetic would add the half-widths of the slopes, which is a different and longer
    # interval.
    assert np.abs(L[3]) @ (norm.ppf(0.95) * np.sqrt(np.diag(U))) > 1.2 * half[3]


def test_intervals_cover_the_penalised_coefficients() -> None:
    # Fresh tables and fresh noise; the target from a table of 400,000.
    X, y = table(400_000, d=2, seed=99)
    bounds = ([0, -5], [10, 5])
    A = np.where(y == "yes", 1.0, -1.0)[:, None] * Scaling.of(bounds, n_features=2).encode(X)[:]
    scaling = Scaling.of(bounds, n_features=2)
    target = (
        scaling.to_original
        @ Newton().minimise(PenalisedRisk(A, loss=Logistic(), regularization=0.01)).theta
    )
    inside = []
    for seed in range(300):
        X, y = table(2_000, d=2, seed=seed)
        budget = PureDP(model="1", hessian="2", covariance="2")
        model = made(
            budget=budget,
            feature_bounds=bounds,
            regularization=0.01,
            calibration="sharp",
            random_state=seed,
        )
        found = model.fit(X, y).confidence_intervals()
        inside.append((found.low[0] <= target) & (target <= found.high[0]))
    # 900 correlated indicators; 4 standard errors of 300 independent ones are 0.05.
    assert 0.90 <= np.mean(inside) <= 0.995


def test_more_confidence_is_longer_and_joint_is_bonferroni() -> None:
    X, y = table()
    model = made().fit(X, y)
    usual, wide = model.confidence_intervals(), model.confidence_intervals(0.99)
    assert np.all(wide.high > usual.high)
    joint = model.confidence_intervals(0.96, joint=True)
    each = model.confidence_intervals(0.99)
    np.testing.assert_allclose(joint.low, each.low)  # 4 intervals: 1 - 0.04 / 4
    assert (joint.confidence_level, joint.joint) == (0.96, True)
    with pytest.raises(ValueError, match="units='metres'"):
        model.confidence_intervals(units="metres")


# --- more than two classes ------------------------------------------------------------------------


def three_classes(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    X, _ = table(n, d=2)
    return X, np.digitize(X[:, 0], [3, 6])


def test_divided_budgets_add_up_exactly() -> None:
    for n_parts in (2, 3, 7, 11):
        budget = PureDP(model="0.1", hessian="1e-9", covariance="123456.789")
        shares = budget.divided(n_parts)
        for name in ("model", "hessian", "covariance"):
            parts = [getattr(share, name) for share in shares]
            assert sum(map(Fraction, parts)) == Fraction(getattr(budget, name))
            assert max(parts) - min(parts) <= Decimal("1e-20")


def test_each_class_has_noise_of_its_own_at_its_share() -> None:
    X, y = three_classes()
    bounds, c, epsilon = ([0, -5], [10, 5]), 0.1, 3.0
    records = Scaling.of(bounds, n_features=2).encode(X)[:]
    exact = [
        Newton()
        .minimise(
            PenalisedRisk(
                np.where(y == k, 1.0, -1.0)[:, None] * records, loss=Logistic(), regularization=c
            )
        )
        .theta
        for k in range(3)
    ]
    model = DPLogisticRegression(
        budget=PureDP(model=epsilon, hessian="1", covariance="1"),
        feature_bounds=bounds,
        mechanism="output",
        regularization=c,
        random_state=np.random.default_rng(5),
    )
    noise = []
    for _ in range(400):
        model.fit(X, y)
        noise.append([model._models[k].theta_priv - exact[k] for k in range(3)])
    drawn = np.array(noise)  # (400, 3, 3)
    # One vector for all classes would correlate fully; 5 standard errors of independent ones are
    # 0.25.
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert np.abs(np.corrcoef(drawn[:, i, 0], drawn[:, j, 0])[0, 1]) < 0.25
        assert (
            np.abs(
                np.corrcoef(
                    np.linalg.norm(drawn[:, i], axis=1), np.linalg.norm(drawn[:, j], axis=1)
                )[0, 1]
            )
            < 0.25
        )
    sizes = np.linalg.norm(drawn, axis=2).ravel()
    rate = len(X) * c * epsilon / 3
    assert kstest(sizes, "gamma", args=(3, 0, 1 / rate)).pvalue > 1e-4
    assert kstest(sizes, "gamma", args=(3, 0, 1 / (1.25 * rate))).pvalue < 1e-6


def test_shapes_and_statement_of_three_classes() -> None:
    X, y = three_classes()
    model = made(
        feature_bounds=([0, -5], [10, 5]), budget=ApproxDP("2", "1e-6", ("0.5", "0.25", "0.25"))
    ).fit(X, y)
    assert (model.coef_.shape, model.intercept_.shape) == ((3, 2), (3,))
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba)
    np.testing.assert_allclose(
        proba,
        expit(model.decision_function(X)) / expit(model.decision_function(X)).sum(1, keepdims=True),
    )
    joint, each = model.confidence_intervals(0.91, joint=True), model.confidence_intervals(0.99)
    assert joint.low.shape == (3, 3)
    np.testing.assert_allclose(joint.low, each.low)  # 9 intervals: 1 - 0.09 / 9
    assert model.privacy_.n_models == 3
    assert sum(m.design.budget.total for m in model._models) == model.privacy_.amount
    assert model.privacy_.epsilon(1e-6) <= 2.0
    assert model.privacy_.epsilon(1e-6) == pytest.approx(2.0, rel=1e-9)


# --- what is promised and refused -----------------------------------------------------------------


def test_every_fit_is_labelled() -> None:
    X, y = table()
    for state in (0, np.random.default_rng(0), np.random.RandomState(0)):
        model = made(random_state=state).fit(X, y)
        assert (model.privacy_.noise, model.privacy_.is_simulation, model.privacy_.caution) == (
            "seeded",
            True,
            SEEDED,
        )
        assert "SIMULATION, not for publication" in str(model.summary())
        assert str(model.privacy_).startswith("SIMULATION")
    model = made(random_state=None).fit(X, y)
    assert (model.privacy_.noise, model.privacy_.is_simulation, model.privacy_.caution) == (
        "system",
        False,
        UNBOOKED,
    )
    assert "SIMULATION" not in str(model.summary())
    assert str(model.privacy_).startswith("NOT A RELEASE")


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_without_a_seed_all_noise_is_the_operating_systems(monkeypatch, mechanism: str) -> None:
    X, y = table()
    model, asked = made(random_state=None, mechanism=mechanism), []
    monkeypatch.setattr(np.random, "default_rng", lambda *_: pytest.fail("a generator was asked"))
    monkeypatch.setattr(exact.secrets, "token_bytes", lambda n: asked.append(n) or os.urandom(n))
    model.fit(X, y)
    # direction and length: of the coefficients, and of the 10 free entries of both matrices
    numbers = 4 + 4 + 2 * (10 + 10)
    numbers += 4 + 4 if mechanism == "objective" else 0  # and of what hides the minimiser's error
    assert sum(asked) == 16 * numbers  # 128 bits each


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_a_fit_from_the_system_is_drawn_as_a_release_is(mechanism: str) -> None:
    X, y = table()
    model = made(random_state=None, mechanism=mechanism).fit(X, y)._models[0]
    np.testing.assert_array_equal(model.theta_priv % GRID, 0.0)
    left = Decimal("0.999") if mechanism == "objective" else Decimal(1)
    assert model.design.budget.model == Decimal(1) * left
    assert (model.noise.added_var > 0.0) == (mechanism == "objective")
    seeded = made(mechanism=mechanism).fit(X, y)._models[0]
    assert (seeded.theta_priv % GRID != 0.0).any()


def test_fits_from_the_system_scatter_as_seeded_ones_do() -> None:
    X, y = table()
    fits = {
        state: np.array(
            [made(random_state=s, intervals=False).fit(X, y)._models[0].theta_priv for s in seeds]
        )
        for state, seeds in (("system", [None] * 120), ("seeded", range(120)))
    }
    for a, b in zip(fits["system"].T, fits["seeded"].T, strict=True):
        assert kstest(a, b).pvalue > 1e-6
    assert len(np.unique(fits["system"], axis=0)) == 120


def test_a_penalty_that_cannot_be_certified_is_refused_from_public_numbers() -> None:
    X, y = table()
    tiny = {"mechanism": "output", "regularization": 1e-10}
    made(**tiny).fit(X, y)
    with pytest.raises(InfeasibleDesignError, match="cannot be certified"):
        made(random_state=None, **tiny).fit(X, y)


@pytest.mark.parametrize("labels", [2, 3])
def test_a_penalty_that_nobody_chose_is_one_that_can_be_certified(labels: int) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1.0, 1.0, (3_000, 40)), rng.integers(labels, size=3_000)
    much = {
        "budget": PureDP(model="1000", hessian="1", covariance="1"),
        "feature_bounds": (-1, 1),
        "classes": list(range(labels)),
        "intervals": False,
    }
    free = made(**much).fit(X, y).regularization_
    held = made(random_state=None, **much).fit(X, y).regularization_
    assert held > 2.0 * free
    with pytest.raises(InfeasibleDesignError, match="cannot be certified"):
        made(random_state=None, regularization=0.99 * held, **much).fit(X, y)
    little = much | {"budget": PureDP(model="1", hessian="1", covariance="1")}
    assert (
        made(random_state=None, **little).fit(X, y).regularization_
        == made(**little).fit(X, y).regularization_
    )


def test_the_noise_drawn_never_decides_whether_a_fit_is_refused() -> None:
    """Else its law would be cut off where the certificate ends: a refusal is decided before, by
    public numbers.
    """
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1.0, 1.0, (10, 20)), np.array([0, 1] * 5)
    little = PureDP(model="0.001", hessian="0.001", covariance="0.001")
    model = DPLogisticRegression(budget=little, feature_bounds=(-1, 1), classes=(0, 1))
    for _ in range(25):
        with pytest.raises(InfeasibleDesignError, match="cannot be certified"):
            model.fit(X, y)


def test_a_far_cell_is_clipped_without_a_word() -> None:
    X, y = table()
    settings = {"feature_bounds": (-1, 1), "norm_bound": 1.0, "classes": ["no", "yes"]}
    X = X / 300.0
    far, near = X.copy(), X.copy()
    far[3, 1], near[3, 1] = 1e200, 1.0
    with np.errstate(over="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = made(**settings).fit(far, y)
    np.testing.assert_allclose(found.coef_, made(**settings).fit(near, y).coef_, rtol=1e-7)


@pytest.mark.parametrize("bound", [1e-170, 9e-7])
def test_a_norm_bound_that_squares_would_lose_is_refused(bound: float) -> None:
    X, y = table()
    with pytest.raises(ValueError, match="norm_bound"):
        made(norm_bound=bound).fit(X, y)


def test_statement_of_a_pure_fit() -> None:
    X, y = table()
    privacy = made().fit(X, y).privacy_
    assert (privacy.definition, privacy.amount, privacy.epsilon(1e-6)) == (
        "pure",
        Decimal("2.0"),
        2.0,
    )
    assert LABELS_READ in privacy.sentences
    declared = made(classes=["no", "yes"]).fit(X, y).privacy_
    assert LABELS_READ not in declared.sentences
    new = made(budget=ZCDP(model="1", hessian="1", covariance="1"), calibration="sharp").fit(X, y)
    assert "not peer-reviewed" in str(new.privacy_)
    assert "not peer-reviewed" not in str(privacy)


def test_fresh_noise_differs_and_a_seed_repeats() -> None:
    X, y = table()
    assert not np.array_equal(
        made(random_state=None).fit(X, y).coef_, made(random_state=None).fit(X, y).coef_
    )
    np.testing.assert_array_equal(made().fit(X, y).coef_, made().fit(X, y).coef_)
    for bad in (True, -1, 1.5, "0"):
        with pytest.raises(ValueError, match="Expected random_state"):
            noise_source(bad)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_fit_refuses(kind) -> None:
    X, y = table()
    refusals = {
        "There is no default for how private": {"budget": None},
        "got float": {"budget": 1.0},
        "would reveal its extremes": {"feature_bounds": None},
        "pair": {"feature_bounds": 3},
        "of feature 1": {"feature_bounds": ([0, 5, 0], [1, 5, 2])},
        "3 of them": {"feature_bounds": ([0, 1], 5)},
        "finite": {"feature_bounds": (0, np.inf)},
        "fit_intercept=True": {"fit_intercept": False},
        "intervals=1": {"intervals": 1},
        "at least two labels": {"classes": ["yes"]},
        "mechanism='both'": {"mechanism": "both"},
        "norm_bound=0": {"norm_bound": 0},
    }
    for words, settings in refusals.items():
        with pytest.raises(ValueError, match=words):
            made(kind, **settings).fit(X, y)
    for name in ("sample_weight", "persons"):
        with pytest.raises(
            ValueError, match=f"{name} is not supported: .* one record of each person"
        ):
            made(kind).fit(X, y, **{name: np.ones(len(X))})


def test_no_message_holds_a_value_of_a_record() -> None:
    X, y = table(50)
    secret = "770077"
    bad_tables = [
        (X.astype(object), 5, "text " + secret),
        (X.astype(object), 5, {secret: 1}),
        (X.astype(complex), 5, complex(float(secret), 1)),
        (X.copy(), 5, np.nan),
        (pd.DataFrame(X).astype(object), 5, "n" + secret),
    ]
    for bad, row, value in bad_tables:
        (bad.iloc if isinstance(bad, pd.DataFrame) else bad)[row, 1] = value
        with pytest.raises((ValueError, TypeError)) as caught:
            made().fit(bad, y)
        assert secret not in str(caught.value)
        assert (
            caught.value.__context__ is None
            or caught.value.__suppress_context__
            or secret not in str(caught.value.__context__)
        )
    labels = y.astype(object)
    labels[7] = secret
    with refuses(DataRejectedError, match=r"one of the declared classes=.*\.$") as rejected:
        made(classes=["no", "yes"]).fit(X, labels)
    assert secret not in str(rejected.value)
    with pytest.raises(ValueError, match="Complex") as of_labels:
        made().fit(X, np.full(50, 770077 + 1j))
    assert secret not in str(of_labels.value)


def test_declared_classes_take_one_class_and_keep_their_place() -> None:
    X, _ = table()
    model = made(classes=[1, 0]).fit(X, np.ones(len(X), dtype=int))
    assert list(model.classes_) == [0, 1]
    with pytest.raises(ValueError, match="one class"):
        made().fit(X, np.ones(len(X), dtype=int))


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_pickle_holds_no_training_row(kind) -> None:
    X, y = table(60)
    X[7] = [1.2345678912, -4.321987654, 123.456789123]  # planted
    model = made(kind, budget=NO_PRIVACY).fit(X, y)
    held = pickle.dumps(model)
    records = model._scaling.encode(X)[:]
    for value in (*X[7], *records[7, :3]):
        assert struct.pack("<d", value) not in held
        assert struct.pack(">d", value) not in held
    assert not any(array.shape[:1] == (60,) for array in arrays_of(model))
    assert (
        struct.pack("<d", model._models[0].theta_priv[0]) in held
    )  # the search finds what is there


def arrays_of(thing: object) -> list[np.ndarray]:
    """Every array below an object."""
    if isinstance(thing, np.ndarray):
        return [thing]
    if isinstance(thing, dict):
        return [a for value in thing.values() for a in arrays_of(value)]
    if isinstance(thing, list | tuple):
        return [a for value in thing for a in arrays_of(value)]
    names = [*getattr(thing, "__dict__", {}), *getattr(type(thing), "__slots__", ())]
    return [a for name in names for a in arrays_of(getattr(thing, name, None))]


def test_no_diagnostic_of_the_solver_is_kept() -> None:
    X, y = table()
    held = pickle.dumps(made().fit(X, y))
    assert b"gradient_norm" not in held
    assert b"n_iterations" not in held


# --- in scikit-learn's machinery ------------------------------------------------------------------


def test_pipeline_clone_and_cross_validation() -> None:
    X, y = table(600)
    model = make_pipeline(FunctionTransformer(), made(budget=NO_PRIVACY))
    copied = clone(model)
    assert copied[-1].budget == NO_PRIVACY
    assert cross_val_score(copied, X, y, cv=3).mean() > 0.7
    assert copied.fit(X, y)[-1].confidence_intervals().low.shape == (1, 4)


def test_names_of_a_frame_reach_the_summary() -> None:
    X, y = table()
    model = made().fit(pd.DataFrame(X, columns=["age", "mood", "height"]), y)
    frame = model.summary().to_frame()
    assert [name for _, name in frame.index] == ["age", "mood", "height", "intercept"]
    assert list(frame.columns) == ["estimate", "std err", "sampling", "privacy", "low", "high"]
    np.testing.assert_allclose(frame["std err"], np.hypot(frame["sampling"], frame["privacy"]))
    text = str(model.summary(0.9, joint=True))
    assert max(map(len, text.splitlines())) <= 88
    for words in (
        "age",
        "[0.05",
        "0.95]",
        "Penalty c",
        "coefficient penalised at c = 0.00142689",
        "hold together",
        "Guarantee: epsilon",
    ):
        assert words in " ".join(text.split())


def test_summary_of_truth_values_and_of_three_classes() -> None:
    X, y = table()
    assert "class True" in str(made().fit(X, y == "yes").summary())
    text = str(made().fit(X, np.digitize(X[:, 0], [3, 6])).summary())
    assert all(f"class {k}" in text for k in range(3))


def test_without_intervals_the_whole_budget_trains() -> None:
    X, y = table()
    settings = {"mechanism": "output", "regularization": 0.05, "random_state": 8}
    alone = made(intervals=False, **settings).fit(X, y)
    other = made(budget=PureDP(model="2", hessian="1", covariance="1"), **settings).fit(X, y)
    np.testing.assert_array_equal(alone.coef_, other.coef_)
    assert alone.privacy_.amount == Decimal("2")
    with pytest.raises(ValueError, match="intervals=True"):
        alone.confidence_intervals()


def test_unpenalised_target_keeps_the_released_coefficients() -> None:
    X, y = table(3_000)
    settings = {"budget": NO_PRIVACY, "regularization": 0.02}
    plain, step = made(**settings).fit(X, y), made(target="unpenalised", **settings).fit(X, y)
    np.testing.assert_array_equal(plain.coef_, step.coef_)
    slope, _ = step.confidence_intervals().estimate[0][0], None
    assert slope > 1.5 * plain.coef_[0, 0]  # 0.5 in the population


@pytest.mark.parametrize("calibration", ["published", "sharp"])
@pytest.mark.parametrize("loss", [Logistic(), HuberSVM(h=0.1)])
@pytest.mark.parametrize(
    "budget", [BUDGET, ZCDP(model="1e-6", hessian="1", covariance="1"), NO_PRIVACY]
)
def test_default_penalty_is_feasible(loss, budget, calibration) -> None:
    for mechanism, n, p in itertools.product(("objective", "output"), (1, 50, 30_000), (2, 37)):
        design = Design(
            loss=loss,
            mechanism=mechanism,
            budget=budget,
            regularization=1,
            n_records=n,
            calibration=calibration,
        )
        c = default_regularization(design, n_coefficients=p)
        assert model_noise(replace(design, regularization=c, n_records=n)).scale > 0


def test_default_penalty_by_hand_and_public() -> None:
    budget = ZCDP(model="0.5", hessian="1", covariance="1")  # epsilon 1
    rules = {
        ("output", "published"): 2e-3,
        ("objective", "sharp"): 3 * 1e-3**1.5,
        ("objective", "published"): 3 * 2e-3**1.5,
    }
    for (mechanism, calibration), c in rules.items():
        design = Design(
            loss=Logistic(),
            mechanism=mechanism,
            budget=budget,
            regularization=1,
            n_records=1_000,
            calibration=calibration,
        )
        found = default_regularization(design, n_coefficients=3)
        assert found == pytest.approx(max(c, 0.25e-3 * (mechanism == "objective")) + 1e-5, rel=1e-9)
    X, y = table()
    assert made().fit(X, y).regularization_ == made().fit(X[::-1] / 2, y).regularization_


def test_public_interface_gives_the_estimators_without_waking_scikit_learn() -> None:
    lines = (
        "import sys, dpci_core",
        "assert 'sklearn' not in sys.modules",
        "dpci_core.DPLinearSVC(h=2.0)",
    )
    subprocess.run([sys.executable, "-c", "; ".join(lines)], check=True)
