"""What is declared for each feature is taken by name where it has names, and refused where they are
not those of the columns.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpci_core import DPLogisticRegression, PureDP
from dpci_core.estimators import DPScorecard, DPSelection
from dpci_core.estimators.settings import written

BUDGET = PureDP(model=2, hessian=1, covariance=1)
TYPICAL, SPREAD = {"age": 60, "dose": 1}, {"age": 15, "dose": 0.7}
LOW, HIGH = {"age": 18, "dose": 0}, {"age": 100, "dose": 9}


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(60, 15, 600), "dose": rng.gamma(2, 0.5, 600)})
    return X, (rng.random(600) < 1 / (1 + np.exp(2 - 0.04 * X["age"]))).to_numpy()


def turned(numbers: dict[str, Any]) -> dict[str, Any]:
    """The same names in the other order."""
    return dict(reversed(numbers.items()))


def made(**declared: Any) -> DPLogisticRegression:
    return DPLogisticRegression(
        budget=BUDGET, classes=(False, True), random_state=3, intervals=False, **declared
    )


BY_PLACE = {
    "feature_typical": [60, 1],
    "feature_spread": [15, 0.7],
    "feature_bounds": ([18, 0], [100, 9]),
}
BY_NAME = {
    "Series": {
        "feature_typical": pd.Series(turned(TYPICAL)),
        "feature_spread": pd.Series(turned(SPREAD)),
        "feature_bounds": (pd.Series(turned(LOW)), pd.Series(HIGH)),
    },
    "dictionaries": {
        "feature_typical": turned(TYPICAL),
        "feature_spread": turned(SPREAD),
        "feature_bounds": (turned(LOW), HIGH),
    },
    "pairs": {
        "feature_typical": TYPICAL,
        "feature_spread": 15 * pd.Series({"dose": 0.7 / 15, "age": 1}),
        "feature_bounds": {"dose": (0, 9), "age": (18, 100)},
    },
    "numbered": {
        "feature_typical": pd.Series([60, 1]),
        "feature_spread": pd.Series([15, 0.7], index=[0, 1]),
        "feature_bounds": (pd.Series([18, 0]), [100, 9]),
    },
}


@pytest.mark.parametrize("declared", BY_NAME.values(), ids=BY_NAME)
@pytest.mark.parametrize("left_out", [(), ("feature_bounds",), ("feature_typical",)])
def test_by_name_is_by_place_in_the_order_of_the_columns(
    table: Any, declared: dict[str, Any], left_out: tuple[str, ...]
) -> None:
    X, y = table
    if left_out == ("feature_typical",):
        left_out = ("feature_typical", "feature_spread")
    wanted = made(**{k: v for k, v in BY_PLACE.items() if k not in left_out}).fit(X, y)
    found = made(**{k: v for k, v in declared.items() if k not in left_out})
    for model in (found.fit(X, y), clone(found).fit(X, y)):
        np.testing.assert_allclose(model.coef_, wanted.coef_, rtol=1e-12)
        np.testing.assert_allclose(model.decision_function(X), wanted.decision_function(X))


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"feature_typical": {"age": 60}}, "no 'dose' in it"),
        ({"feature_typical": {**TYPICAL, "bp": 120}}, "no 'bp' in X"),
        ({"feature_spread": pd.Series({"Age": 15, "dose": 1})}, "no 'age' in it, no 'Age' in X"),
        ({"feature_typical": pd.Series([60, 1, 2], index=["age", "dose", "age"])}, "a name twice"),
        ({"feature_typical": pd.Series([60, 1], index=[1, 0])}, "no 'age' in it"),
        ({"feature_bounds": {"age": (18, 100)}}, "feature_bounds to name each column of X once"),
        ({"feature_bounds": ({"age": 18}, 100)}, "low in feature_bounds to name"),
        ({"feature_bounds": {"age": 100, "dose": 9}}, "a pair (low, high) for each feature"),
        ({"feature_typical": {"age": "sixty", "dose": 1}}, "to be a finite number, or 2 of them"),
    ],
)
def test_other_names_are_refused(table: Any, declared: dict[str, Any], words: str) -> None:
    settings = {"feature_typical": TYPICAL, "feature_spread": SPREAD, **declared}
    with pytest.raises(ValueError, match=re.escape(words)):
        made(**settings).fit(*table)


@pytest.mark.parametrize("declared", BY_NAME.values(), ids=BY_NAME)
def test_names_need_columns_that_have_some(table: Any, declared: dict[str, Any]) -> None:
    X, y = table
    model = made(**declared).fit(X, y)  # names of an earlier fit do not stay
    if isinstance(declared["feature_typical"], pd.Series) and 0 in declared["feature_typical"]:
        model.fit(X.to_numpy(), y)
        return
    with pytest.raises(ValueError, match="columns of X have none"):
        model.fit(X.to_numpy(), y)


def test_a_folder_and_a_dask_table_have_names_too(table: Any, tmp_path: Path) -> None:
    X, y = table
    X[["dose", "age"]].assign(ill=y).to_parquet(tmp_path / "one.parquet")
    swapped = made(
        feature_typical=[1, 60], feature_spread=[0.7, 15], feature_bounds=([0, 18], [9, 100])
    ).fit(tmp_path, "ill")
    model = made(**BY_NAME["Series"]).fit(tmp_path, "ill")
    np.testing.assert_array_equal(model.coef_, swapped.coef_)
    wanted = made(**BY_PLACE).fit(X, y).coef_
    frame = dd.from_pandas(X, npartitions=2)
    model.fit(frame, y)
    np.testing.assert_allclose(model.coef_, wanted, rtol=1e-6)
    with pytest.raises(ValueError, match="columns of X have none"):
        model.fit(frame.to_dask_array(lengths=True), y)


def test_a_choice_and_a_card_take_names(table: Any) -> None:
    X, y = table
    found = [
        DPSelection(
            DPLogisticRegression(feature_bounds=bounds, classes=(False, True)),
            [{"regularization": 0.01}, {"regularization": 0.1}],
            epsilon=4,
            random_state=1,
        )
        .fit(X, y)
        .best_estimator_.coef_
        for bounds in (BY_PLACE["feature_bounds"], BY_NAME["Series"]["feature_bounds"])
    ]
    np.testing.assert_array_equal(*found)
    cards = [
        DPScorecard(epsilon=4, at_least=cuts, classes=(False, True), random_state=1).fit(X, y)
        for cuts in ([60, 1.5], pd.Series({"dose": 1.5, "age": 60}), {"dose": 1.5, "age": 60})
    ]
    for card in cards[1:]:
        np.testing.assert_array_equal(card.points_, cards[0].points_)
        np.testing.assert_array_equal(card.decision_function(X), cards[0].decision_function(X))
    with pytest.raises(ValueError, match="at_least to name each column"):
        DPScorecard(epsilon=4, at_least={"age": 60}, classes=(False, True)).fit(X, y)


def test_what_is_approved_has_the_names() -> None:
    """Else what was approved for one column could be drawn for another."""
    one = made(feature_typical=pd.Series(TYPICAL), feature_spread=1)
    other = made(feature_typical=pd.Series({"dose": 60, "age": 1}), feature_spread=1)
    same = made(feature_typical=pd.Series(dict(TYPICAL)), feature_spread=1)
    assert written(one) != written(other)
    assert written(one) == written(same)


def test_columns_numbered_in_another_order_are_refused(
    table: tuple[pd.DataFrame, np.ndarray],
) -> None:
    """A Series numbered from 0 would be taken by place beside them, and so would another X."""
    X, y = table
    model = made(feature_typical=pd.Series([60, 1]), feature_spread=pd.Series([15, 0.7]))
    numbered = X.set_axis([0, 1], axis=1)
    fitted = clone(model).fit(numbered, y)
    for do in (
        lambda: clone(model).fit(numbered[[1, 0]], y),
        lambda: fitted.predict(numbered[[1, 0]]),
        lambda: clone(model).fit(dd.from_pandas(numbered[[1, 0]], npartitions=2), y),
        lambda: clone(model).fit(X.set_axis([1, 2], axis=1), y),  # is 1 the first or the second?
        lambda: fitted.predict(X.set_axis(np.array([3, 1]), axis=1)),
    ):
        with pytest.raises(ValueError, match="to be 0, 1 and so on in this order"):
            do()
