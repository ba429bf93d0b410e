"""`DPScorecard`: scikit-learn's checks, what it keeps and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpci_core import DPScorecard
from dpci_core.estimators.statement import LABELS_READ
from dpci_core.report.words import SEEDED, UNBOOKED
from dpci_core.scorecards import TooManyCardsError

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
FAILURES = {
    "check_classifier_not_supporting_multiclass": "its 20 columns are more cards than are listed"
}


@parametrize_with_checks(
    [DPScorecard(epsilon="1e6", at_least=0.0, weights=(-1, 1), random_state=0)],
    expected_failed_checks=lambda _: FAILURES,
)
def test_scikit_learn_agrees(estimator, check) -> None:
    check(estimator)


def table(n: int = 3_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 4))
    return X, np.where(2 * X[:, 0] + X[:, 1] - X[:, 2] > 0.5, "ill", "well")


def made(**given) -> DPScorecard:
    settings = {"epsilon": 1, "classes": ("ill", "well"), "random_state": 1}
    return DPScorecard(**settings | given)


def test_a_card_is_points_and_a_threshold() -> None:
    X, y = table()
    model = made().fit(X, y)
    assert model.points_.dtype == np.int64
    assert model.threshold_ % 1 == 0.5
    scores = X @ model.points_ - model.threshold_
    np.testing.assert_array_equal(model.decision_function(X), scores)
    np.testing.assert_array_equal(model.predict(X), np.where(scores > 0, "well", "ill"))
    wrong = (model.predict(X) != y).mean()
    assert model.error_interval_[0] <= wrong + 0.01
    assert wrong < 0.02
    assert model.n_rules_ == 986
    lines = model.to_card(["a", "bb", "c", "d"]).splitlines()
    assert lines[1].split() == ["bb", str(model.points_[1])]
    assert lines[-1] == f"yes if the sum is above {model.threshold_:g}"
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = made().fit(frame, y)
    assert named.to_card().startswith("a")
    assert made().fit(X, y).to_card().startswith("x0")
    with pytest.raises(ValueError, match="4 names"):
        model.to_card(["a"])
    assert not hasattr(model, "predict_proba")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_what_is_said_of_privacy() -> None:
    X, y = table(200)
    model = made().fit(X, y)
    assert model.privacy_.is_simulation
    assert model.privacy_.sentences[0] == SEEDED
    assert model.privacy_.guarantee == "epsilon = 1 (pure differential privacy)"
    model = made(epsilon=None, rho="0.125", random_state=None).fit(X, y)
    assert model.privacy_.sentences[0] == UNBOOKED
    assert model.privacy_.guarantee.startswith("rho = 0.125 (zero-concentrated")
    assert LABELS_READ in made(classes=None).fit(X, y).privacy_.sentences
    assert LABELS_READ not in model.privacy_.sentences
    narrow, wide = (made(confidence_level=level).fit(X, y).error_interval_ for level in (0.5, 0.99))
    assert 0 <= wide[0] <= narrow[0] < narrow[1] < wide[1] <= 1


def test_cut_points_make_answers_of_numbers() -> None:
    X, y = table()
    numbers = np.where(X == 1, 40.0, 39.9)
    for cuts in (40, [40.0] * 4):
        model = made(at_least=cuts).fit(numbers, y)
        np.testing.assert_array_equal(model.points_, made().fit(X, y).points_)
        np.testing.assert_array_equal(model.predict(numbers), made().fit(X, y).predict(X))
    for bad in ([40.0] * 3, np.nan, [[40.0] * 4]):
        with pytest.raises(ValueError, match="at_least"):
            made(at_least=bad).fit(numbers, y)


def test_costs_move_the_card() -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (4_000, 2))
    y = np.where(rng.random(4_000) < 0.2 + 0.2 * X[:, 0], "well", "ill")
    careful = made(cost=("0.1", "1"), epsilon=20).fit(X, y).predict(X)
    assert (careful == "well").mean() > 0.9
    assert (made(epsilon=20).fit(X, y).predict(X) == "well").mean() < 0.1


def test_one_class_is_a_table_like_any_other() -> None:
    X, _ = table(400)
    model = made(epsilon=5).fit(X, np.full(400, "well"))
    assert (model.predict(X) == "well").mean() > 0.95


class Unread:
    """Columns that nobody may look at."""

    shape = (5, 12)

    def __array__(self, *_, **__):
        raise AssertionError("a row was looked at")


def test_too_many_cards_are_refused_before_a_row_is_looked_at() -> None:
    with pytest.raises(TooManyCardsError):
        made().fit(Unread(), ["ill"] * 5)
    with pytest.raises(AssertionError, match="looked at"):
        made(weights=(0, 1)).fit(Unread(), ["ill"] * 5)


def test_refusals_name_the_argument_and_no_value() -> None:
    X, y = table(60)
    for given, words in (
        ({"epsilon": None}, "epsilon or rho"),
        ({"rho": 1}, "epsilon or rho"),
        ({"epsilon": -1}, "epsilon"),
        ({"weights": (0.5, 1)}, "weights"),
        ({"weights": (2, 1)}, "weights"),
        ({"thresholds": (0, 1)}, "thresholds"),
        ({"holdout": "1"}, "holdout"),
        ({"holdout": "0.001"}, "n_records=60"),
        ({"cost": (1, 2)}, "cost"),
        ({"confidence_level": 1.5}, "confidence_level"),
        ({"random_state": "x"}, "random_state"),
        ({"classes": ("a", "b", "c")}, "declared|classes"),
    ):
        with pytest.raises(ValueError, match=words):
            made(**given).fit(X, y)
    bad = X.astype(float)
    bad[3, 2] = 0.123
    with pytest.raises(ValueError, match="column 2 of X") as caught:
        made().fit(bad, y)
    assert "0.123" not in str(caught.value)
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        made().fit(bad, y)
    with pytest.raises(ValueError, match="Only binary"):
        made(classes=None).fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="one of the declared classes"):
        made().fit(X, ["other", *y[1:]])
    assert clone(made(cost=("0.5", "1"))).cost == ("0.5", "1")
