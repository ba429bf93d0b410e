"""What the estimators refuse: never with a value of a record in the message, and never half
done.
"""

from __future__ import annotations

import copy
import pickle
import re
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from dpci_core import GDP, DPLogisticRegression, DPScorecard, InfeasibleDesignError, PureDP
from dpci_core.estimators import RandomCosines, tune_for_release, tuning
from dpci_core.intervals.certified import GRID
from dpci_core.losses import HuberSVM, Logistic
from dpci_core.tuning import Candidate, CosineFeatures, Learner, released, tune_privately

BUDGET = PureDP(model=2, hessian=1, covariance=1)


def table(n: int = 400, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)


def made(**settings: Any) -> DPLogisticRegression:
    return DPLogisticRegression(
        **{"budget": BUDGET, "feature_bounds": (-1, 1), "random_state": 3, **settings}
    )


SECRET = 271_828.125
"""A value of a record, far outside the bounds; no message may hold it."""


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        (np.full(200, SECRET), ValueError, "got 1D array instead: X has"),
        ([SECRET] * 200, ValueError, "got 1D array instead: X has"),
        (np.array(SECRET), ValueError, "got 0D array"),
        (np.full((200, 1, 1), SECRET), ValueError, "got 3D array"),
        (
            np.ma.masked_equal(np.full((200, 2), SECRET), SECRET),
            ValueError,
            "without masked values",
        ),
        (
            pd.DataFrame({"age": [SECRET] * 200, "city": ["271828.125x"] * 200}),
            ValueError,
            "Expected numbers in column 'city' of X",
        ),
        (
            pd.DataFrame({"age": pd.array([SECRET] * 199 + [None], dtype="Float64")}),
            TypeError,
            "numbers in column 'age' of X",
        ),
        (
            pd.DataFrame({"age": [10**400] * 200}, dtype=object),
            ValueError,
            "numbers in column 'age' of X",
        ),
        (pd.DataFrame({"age": pd.arrays.SparseArray([SECRET] * 200)}), TypeError, "Sparse input"),
        (np.zeros(200, dtype=[("a", float), ("b", float)]), ValueError, "got 1D array"),
        (
            np.zeros((200, 2), dtype=[("a", float)]),
            ValueError,
            "Expected numbers in X, without gaps",
        ),
    ],
)
def test_no_refusal_of_features_shows_a_value(X: Any, error: type[Exception], words: str) -> None:
    y = np.arange(200) % 2
    with pytest.raises(error, match=re.escape(words)) as refused:
        made(classes=(0, 1)).fit(X, y)
    fitted = made(classes=(0, 1)).fit(np.zeros((200, 2)), y)
    with pytest.raises(error, match=re.escape(words)) as at_predict:
        fitted.predict(X)
    for text in (str(refused.value), str(at_predict.value)):
        assert "271828" not in text


@pytest.mark.parametrize(
    ("y", "classes", "words"),
    [
        ("SECRET", (0, 1), "got a single one"),
        ({"SECRET": 1}, None, "got a single one"),
        (np.array(["SECRET", 1] * 100, dtype=object), None, "of one kind"),
        (np.ma.masked_equal(np.arange(200) % 2, 1), (0, 1), "without masked"),
        (np.arange(200) % 2, (None, 1), "classes to be of one kind"),
    ],
)
def test_no_refusal_of_labels_shows_one(y: Any, classes: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as refused:
        made(classes=classes).fit(np.zeros((200, 2)), y)
    assert "SECRET" not in str(refused.value)


def test_a_refused_fit_leaves_the_one_before_as_it_was() -> None:
    X, y = table()
    model = made().fit(X, y)
    before = dict(vars(model))
    refused = (
        (X[:, :1], y[:-1], "400 values"),
        (X[:, :1], None, "Expected y"),
        (X * np.nan, y, "NaN"),
    )
    for bad_X, bad_y, words in refused:
        with pytest.raises(ValueError, match=words):
            model.fit(bad_X, bad_y)
        assert vars(model) == before
    fresh = made()
    with pytest.raises(ValueError, match="400 values"):
        fresh.fit(X, y[:-1])
    assert not hasattr(fresh, "n_features_in_")


def test_a_summary_is_of_the_fit_and_not_of_later_settings() -> None:
    X, y = table()
    model = made(intervals=True).fit(X, y)
    said = str(model.summary())
    model.set_params(target="unpenalised", mechanism="output")
    assert str(model.summary()) == said


def test_a_default_penalty_that_nothing_certifies_is_told_without_naming_it() -> None:
    X, y = table()
    tiny = PureDP(model="1e-9", hessian="1e-9", covariance="1e-9")
    with pytest.raises(InfeasibleDesignError, match="at any penalty") as refused:
        DPLogisticRegression(budget=tiny, feature_bounds=(-1, 1), classes=(-1, 1)).fit(X, y)
    assert "larger c" not in str(refused.value)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: PureDP(1), TypeError, "Write PureDP(model='0.5', hessian='0.25', covar"),  # type: ignore[call-arg, misc]
        (lambda: PureDP(epsilon=1), TypeError, "'model'. Write PureDP(model="),  # type: ignore[call-arg]
        (
            lambda: DPLogisticRegression(epsilon=1),  # type: ignore[call-arg]
            TypeError,
            "DPLogisticRegression: got an unexpected keyword argument 'epsilon'. Say how private",
        ),
        (lambda: DPLogisticRegression(BUDGET), TypeError, "arguments. Say how private as budget"),  # type: ignore[misc]
        (lambda: fitted(budget=1), ValueError, "got int. Say how private as budget=PureDP("),
        (lambda: fitted(feature_typical=[1, 2], feature_spread=1), ValueError, "order, got 2."),
        (lambda: fitted(feature_bounds=[(0, 9)] * 3), ValueError, "Write all lows and all highs"),
        (lambda: fitted(feature_bounds=([5] * 3, 1)), ValueError, "Write all lows and all highs"),
        (lambda: fitted(mechanism="objectiv"), ValueError, "Write mechanism='objective'."),
        (lambda: fitted(classes=("no", "yes")), ValueError, "declared classes=['no', 'yes']"),
        (lambda: made().fit(*swapped()), ValueError, "y holds labels, declare them as classes=."),
        (lambda: made(C=1.0), TypeError, "scikit-learn's C is c = 1 / (2 n C)"),
        (
            lambda: fitted(budget=GDP(model=2, hessian=1, covariance=1)),
            ValueError,
            "Take mechanism='output', or PureDP, ZCDP or ApproxDP.",
        ),
        (lambda: fitted(confidence_level=90), ValueError, "a fraction below 1, such as 0.9."),
        (lambda: fitted().conf_int(90), ValueError, "below 1, such as 0.1 for intervals at 0.9."),
    ],
)
def test_a_slip_is_answered_with_what_to_write(
    call: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=re.escape(words)) as refused:
        call()
    assert "__init__" not in str(refused.value)


def fitted(**settings: Any) -> DPLogisticRegression:
    return made(**settings).fit(*table())


def swapped() -> tuple[np.ndarray, np.ndarray]:
    """A table whose outcome is a number."""
    X, _ = table()
    return X, X[:, 0]


def test_c_of_scikit_learn_is_the_penalty_that_its_refusal_says() -> None:
    X, y = table()
    no_noise = PureDP(model="1e12", hessian=1, covariance=1)
    model = made(budget=no_noise, regularization=1 / (2 * len(y) * 3.0), mechanism="output")
    rows = model.fit(X, y)._scaling.encode(X)[:]
    theirs = LogisticRegression(C=3.0, fit_intercept=False, tol=1e-10).fit(rows, y)
    np.testing.assert_allclose(model._models[0].theta_priv, theirs.coef_[0], rtol=1e-5)


def test_a_grid_lists_whole_budgets() -> None:
    budgets = [PureDP(model="1e-6", hessian=1, covariance=1), BUDGET]
    search = GridSearchCV(made(classes=(-1, 1), intervals=False), {"budget": budgets}, cv=2)
    assert search.fit(*table()).best_params_["budget"] in budgets


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"feature_bounds": ([0, 3, 0], [9, 3, 9])}, "feature_bounds of feature 1 ('dose'), 1e"),
        ({"feature_typical": 5, "feature_spread": [1, 0, 1]}, "1e+30 of feature 1 ('dose')."),
        ({"feature_typical": [0, 9, 0], "feature_spread": 1}, "of feature 1 ('dose') to lie"),
    ],
)
def test_a_refusal_names_the_feature_of_a_data_frame(settings: Any, words: str) -> None:
    X, y = table()
    with pytest.raises(ValueError, match=re.escape(words)):
        made(**settings).fit(pd.DataFrame(X, columns=["age", "dose", "days"]), y)
    X = pd.DataFrame(X[:, :1], columns=["dose"])
    with pytest.raises(ValueError, match="Expected column 'dose' of X to hold 0 and 1"):
        DPScorecard(epsilon=1).fit(X, y)


def test_signatures_and_copies_are_what_they_were() -> None:
    assert {*signature(DPLogisticRegression).parameters} == {*made().get_params()}
    assert [*signature(PureDP).parameters] == ["model", "hessian", "covariance", "metric"]
    assert copy.deepcopy(BUDGET) == pickle.loads(pickle.dumps(BUDGET)) == BUDGET


def test_a_text_among_the_features_is_answered_with_how_to_encode_it() -> None:
    X = pd.DataFrame({"city": ["SECRET", "b"] * 100})
    with pytest.raises(ValueError, match="levels that are declared, OneHotEncoder") as refused:
        made().fit(X, np.arange(200) % 2)
    assert "SECRET" not in str(refused.value)


# --- random features ------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [10.0, 1e308])
def test_norms_hold_whatever_x_is(gamma: float) -> None:
    X, _ = table()
    X[7] = [1e308, 1e308, -1e308]
    found = RandomCosines(n_components=50, gamma=gamma).fit(X).transform(X)
    assert np.isfinite(found).all()
    assert np.linalg.norm(found, axis=1).max() <= 1.0
    others = RandomCosines(n_components=50, gamma=gamma).fit(X).transform(np.delete(X, 7, axis=0))
    np.testing.assert_array_equal(np.delete(found, 7, axis=0), others)


@pytest.mark.parametrize("seed", [-1, 1.5, "a", None, True])
def test_a_wrong_seed_is_named(seed: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"seed={seed!r}")):
        RandomCosines(seed=seed).fit(np.zeros((3, 2)))


@pytest.mark.parametrize("count", [0, -1, "a", 1.5])
def test_a_wrong_number_of_components_is_named(count: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"n_components={count!r}")):
        RandomCosines.bounds(count)


# --- private tuning in earnest --------------------------------------------------------------------


def candidate(
    method: str = "output", c: float = 0.1, loss: Any = None, **features: Any
) -> Candidate:
    kernel = CosineFeatures(**features) if features else None
    return Candidate(
        learner=Learner(loss=loss or Logistic(), method=method, regularization=c), features=kernel
    )


CANDIDATES = [
    candidate(),
    candidate("objective_tight", 1e-7),  # too small for this epsilon: raised
    candidate("objective_tight", 0.1, HuberSVM(h=0.5), gamma=1.0, n_components=5),
]


def records(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    X, y = table(n)
    return X / 2.0, y.astype(float)


def test_tuning_draws_from_the_system_and_says_what_it_cost() -> None:
    X, y = records()
    found = [tune_for_release(X, y, candidates=CANDIDATES, epsilon="0.5") for _ in range(2)]
    assert not np.array_equal(found[0].theta[:3], found[1].theta[:3])
    for one in found:
        assert not one.is_simulation
        assert "SIMULATION" not in one.sentence()
        assert "cost epsilon = 0.5." in one.sentence()
        assert (one.n_train, one.n_holdout) == (100, 100)
        np.testing.assert_array_equal(one.theta, np.round(one.theta / GRID) * GRID)
    simulated = tune_privately(
        X, y, candidates=CANDIDATES, epsilon="0.5", rng=np.random.default_rng(0)
    )
    assert simulated.is_simulation
    assert "SIMULATION" in simulated.sentence()


def test_every_candidate_is_a_release_of_the_whole_epsilon_on_rows_of_its_own(monkeypatch) -> None:
    X, y = records()
    X[:, 2] = np.linspace(0.001, 0.4, 400)  # tells the rows apart
    plain = [candidate(), candidate("objective_tight", 0.2), candidate("objective_tight", 1e-7)]
    seen: list[set[float]] = []
    ran: list[tuple[str, float]] = []

    def spy(A, *, shares, source):
        budget = shares.design_after_solver_share.budget
        hidden = shares.minimiser or 0
        assert float(budget.model + hidden) == 0.5
        seen.append(set(np.abs(A[:, 2])))
        ran.append((shares.planned.mechanism, shares.planned.regularization))
        assert len(A) == 100
        return np.zeros(3), None

    monkeypatch.setattr(released, "draw_coefficients", spy)
    tune_for_release(X, y, candidates=plain, epsilon="0.5")
    assert [len(part) for part in seen] == [100] * 3
    assert len(set.union(*seen)) == 300
    assert [mechanism for mechanism, _ in ran] == ["output", "objective", "objective"]
    raised = 0.25 / (2 * 100) / np.expm1(0.5 / 2)  # t / (2 n (e^(epsilon/2) - 1)), n of a part
    np.testing.assert_allclose([c for _, c in ran], [0.1, 0.2, raised], rtol=1e-12)


def test_the_choice_is_the_exponential_mechanism(monkeypatch) -> None:
    """Two fixed models of which the second is wrong about every record: mistakes 0 and 5 of 5 held
    out.
    """
    X, y = np.full((15, 1), 0.5), np.ones(15)
    models = iter([np.array([1.0]), np.array([-1.0])] * 2000)
    monkeypatch.setattr(
        released, "draw_coefficients", lambda A, *, shares, source: (next(models), None)
    )
    both = [candidate(c=1.0), candidate(c=2.0)]
    picks = [tune_for_release(X, y, candidates=both, epsilon="0.4").index for _ in range(2000)]
    expected = 1.0 / (1.0 + np.exp(0.2 * 5))
    assert abs(np.mean(picks) - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / 2000)


def test_tuning_in_earnest_refuses_before_it_draws(monkeypatch) -> None:
    X, y = records()

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("drawn")

    monkeypatch.setattr(released, "draw_coefficients", never)
    monkeypatch.setattr(tuning.SystemSource, "permutation", never)
    with pytest.raises(ValueError, match="objective_tight"):
        tune_for_release(X, y, candidates=[candidate("objective")], epsilon=1)
    with pytest.raises(ValueError, match="private"):
        tune_for_release(X, y, candidates=[candidate("non_private")], epsilon=1)
    with pytest.raises(ValueError, match="at least one Candidate"):
        tune_for_release(X, y, candidates=None, epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(InfeasibleDesignError):
        tune_for_release(X, y, candidates=[candidate(), candidate(c=1e-9)], epsilon="1e-6")


def test_a_tuned_model_names_the_shape_it_predicts_for() -> None:
    X, y = records()
    for one in CANDIDATES:
        found = tune_privately(X, y, candidates=[one], epsilon=1, rng=np.random.default_rng(0))
        assert found.predict(X).shape == (400,)
        with pytest.raises(ValueError, match=r"shape \(n, 3\), got \(400, 2\)"):
            found.predict(X[:, :2])
