"""Fits that nobody pays for are told at the call, from the second on; nothing is read for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpci_core import (
    ApproxDP,
    Cap,
    DPHistogram,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPScorecard,
    DPSelection,
    Ledger,
    LedgerAccount,
    NumericColumn,
    PureDP,
    UnpaidFitWarning,
)
from dpci_core.estimators import select_for_release, tune_for_release, unpaid
from dpci_core.estimators.statement import READ_BEFORE
from dpci_core.losses import Logistic
from dpci_core.tuning.choose import Candidate
from dpci_core.tuning.learners import Learner

RNG = np.random.default_rng(7)
X = RNG.integers(0, 2, (300, 2)).astype(float)
Y = X[:, 0] > RNG.random(300)
BUDGET = PureDP(model="0.5", hessian="0.25", covariance="0.25")
MODEL = {"feature_bounds": (0, 1), "classes": (False, True), "budget": BUDGET, "intervals": False}
KINDS = {
    "logistic": DPLogisticRegression(**MODEL),
    "svm": DPLinearSVC(**MODEL),
    "linear": DPLinearRegression(
        budget=ApproxDP("1", "1e-6", ("0.7", "0.2", "0.1")),
        outcome=NumericColumn("y", 0, 1, typical=0.5, spread=0.5),
        feature_typical=0.5,
        feature_spread=0.5,
    ),
    "selection": DPSelection(
        DPLogisticRegression(feature_bounds=(0, 1), classes=(False, True)),
        [{"regularization": c} for c in (0.1, 0.5)],
        epsilon=1,
    ),
    "histogram": DPHistogram(bounds=(0, 1), epsilon=1, bins=4),
    "scorecard": DPScorecard(epsilon=1, classes=(False, True)),
}
CANDIDATES = [
    Candidate(learner=Learner(loss=Logistic(), method="output", regularization=c))
    for c in (0.5, 1.0)
]


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpaid, "_before", count())


def warned_of(call: Callable[[], object]) -> list[warnings.WarningMessage]:
    """What a call warned of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [one for one in found if issubclass(one.category, UnpaidFitWarning)]


def test_the_second_unpaid_fit_is_told_whatever_its_settings() -> None:
    """And of another class, as budgets add up over all."""
    calls = [lambda model=model: clone(model).fit(X, Y) for model in KINDS.values()]
    assert [len(warned_of(call)) for call in calls] == [0, 1, 1, 1, 1, 1]
    assert len(warned_of(calls[0])) == 1


@pytest.mark.parametrize("model", KINDS.values(), ids=KINDS)
def test_the_warning_stands_at_the_call(model: BaseEstimator) -> None:
    clone(model).fit(X, Y)
    (told,) = warned_of(lambda: clone(model).fit(X, Y))
    assert told.filename == __file__
    assert "their budgets add up" in str(told.message)


@pytest.mark.parametrize("tool", [tune_for_release, select_for_release])
def test_a_private_choice_counts_as_one(tool: Any) -> None:
    def call() -> object:
        return tool(X / 2, np.where(Y, 1.0, -1.0), candidates=CANDIDATES, epsilon=1)

    assert warned_of(call) == []
    (told,) = warned_of(call)
    assert told.filename == __file__


def test_every_fold_of_a_cross_validation_is_a_fit() -> None:
    scaled = make_pipeline(StandardScaler(), KINDS["logistic"])
    assert len(warned_of(lambda: cross_val_score(scaled, X, Y, cv=3))) == 2
    search = GridSearchCV(KINDS["logistic"], {"regularization": [0.1, 0.5]}, cv=2)
    assert (
        len(warned_of(lambda: search.fit(X, Y))) == 5
    )  # two folds of two candidates, and the best


@pytest.mark.parametrize("model", KINDS.values(), ids=KINDS)
def test_a_simulation_is_none(model: BaseEstimator) -> None:
    for _ in range(3):
        assert warned_of(lambda: clone(model).set_params(random_state=0).fit(X, Y)) == []
    assert warned_of(lambda: clone(model).fit(X, Y)) == []  # the first that is not


def test_a_paid_fit_is_none(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create_dataset(
        "Clinic", schema_hash="h", cap=Cap.pure(9), unit="one row is one person", person="Ada"
    )
    account = LedgerAccount(
        ledger=ledger, dataset="Clinic", schema_hash="h", unit="one row is one person", person="Kim"
    )
    paid = DPLogisticRegression(**MODEL, ledger=account)
    for _ in range(3):
        assert warned_of(lambda: clone(paid).fit(X, Y)) == []
    assert READ_BEFORE in paid.fit(X, Y).privacy_.sentences


def test_a_warning_made_an_error_stops_before_anything_is_drawn() -> None:
    model = clone(KINDS["logistic"]).fit(X, Y)
    before = model.coef_
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnpaidFitWarning)
        with pytest.raises(UnpaidFitWarning):
            model.fit(X, Y)
    assert model.coef_ is before


@pytest.mark.parametrize("model", KINDS.values(), ids=KINDS)
def test_what_was_read_before_is_told_with_every_fit_but_a_simulation(model: BaseEstimator) -> None:
    assert READ_BEFORE in clone(model).fit(X, Y).privacy_.sentences
    seeded = clone(model).set_params(random_state=0).fit(X, Y)
    assert READ_BEFORE not in seeded.privacy_.sentences


def test_the_summary_says_it_too() -> None:
    made = DPLogisticRegression(**{**MODEL, "intervals": True}).fit(X, Y)
    assert READ_BEFORE in made.summary().notes
