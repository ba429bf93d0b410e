"""`params`, `bse` and `conf_int()`: the numbers of `confidence_intervals` by the names of
statsmodels.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from dpci_core import ZCDP, DPLinearRegression, DPLogisticRegression, NumericColumn, PureDP

RNG = np.random.default_rng(5)
X = pd.DataFrame(RNG.uniform(size=(800, 2)), columns=["<b>age</b>", "dose"])
LOGISTIC = DPLogisticRegression(
    budget=PureDP(model="2", hessian="1", covariance="1"),
    feature_bounds=(0, 1),
    classes=(0, 1),
    confidence_level=0.9,
    random_state=1,
).fit(X, RNG.integers(2, size=800))
LINEAR = DPLinearRegression(
    budget=ZCDP(model="2", hessian="1", covariance="1"),
    outcome=NumericColumn("y", 0, 1, typical=0.5, spread=0.3),
    feature_typical=0.5,
    feature_spread=0.3,
    random_state=1,
).fit(X, RNG.uniform(size=800))


@pytest.mark.parametrize("model", [LOGISTIC, LINEAR], ids=["logistic", "linear"])
def test_the_names_of_statsmodels_give_the_same_numbers(model) -> None:
    found = model.confidence_intervals()
    names = ["<b>age</b>", "dose", "intercept"]
    assert list(model.params.index) == list(model.bse.index) == names
    assert_array_equal(model.params, found.estimate[0])
    assert_array_equal(model.bse, np.hypot(found.sampling_se, found.privacy_se)[0])
    assert_array_equal(model.conf_int(), np.c_[found.low[0], found.high[0]])
    assert list(model.conf_int().columns) == [0, 1]
    other = model.confidence_intervals(0.5)
    assert_array_equal(model.conf_int(alpha=0.5), np.c_[other.low[0], other.high[0]])
    assert (model.conf_int()[0] < model.conf_int(0.5)[0]).all()


def test_more_than_two_classes_are_each_named() -> None:
    model = LOGISTIC.__class__(**LOGISTIC.get_params()).set_params(classes=(0, 1, 2))
    found = model.fit(X, RNG.integers(3, size=800)).conf_int()
    assert found.shape == (9, 2)
    assert found.index[0] == (0, "<b>age</b>")
    assert found.index.names == [None, None]


def test_the_estimate_of_the_summary_is_not_called_coef() -> None:
    """What predicts is `coef_`; the two differ where the target is without a penalty."""
    assert "estimate" in str(LOGISTIC.summary())
    assert " coef " not in str(LOGISTIC.summary())


def test_an_interpreter_shows_the_summary_too() -> None:
    assert repr(LOGISTIC.summary()) == str(LOGISTIC.summary())


def test_a_notebook_shows_the_summary_with_everything_escaped() -> None:
    html = LOGISTIC.summary()._repr_html_()
    assert "<th>Calibration</th><td>sharp</td>" in html
    assert "&lt;b&gt;age&lt;/b&gt;" in html
    assert "<b>age" not in html
    assert all(note.split(".")[0] in html for note in LOGISTIC.summary().notes)
