"""What the ledger keeps of a fit tells every two settings apart."""

from __future__ import annotations

import datetime
import hashlib
import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpci_core import DPLogisticRegression, DPScorecard, Geometry, PureDP
from dpci_core.estimators.settings import (
    MOST_READ,
    settings_of,
    written,
    written_call,
)
from dpci_core.losses import HuberSVM, Logistic
from dpci_core.tuning.choose import Candidate
from dpci_core.tuning.learners import Learner
from dpci_core.tuning.selection import Ramp


def learner(h: float) -> Candidate:
    return Candidate(learner=Learner(loss=HuberSVM(h), method="output", regularization=0.1))


DIFFERENT: list[object] = [
    None, True, 1, 1.0, "1", Decimal("1"), Decimal("1.0"), np.True_, np.int64(1), np.float64(1.0),
    np.float32(1.0), np.str_("1"), 0.0, -0.0, "0.0", float("nan"), "nan", "None", "Decimal('1')",
    [1, 2], (1, 2), [[1, 2]], [(1, 2)], (1,), ((1,),), "1, 2", ["1, 2"], ["1", "2"],
    {1: 2}, {"1": 2}, {"1": 2.0}, {}, [], (),
    np.array([0, 1]), np.array([0.0, 1.0]), np.array(["0", "1"]), np.array([[0, 1]]),
    np.array([False, True]),
    pd.DataFrame({"a": [0, 1], "b": [0, 1]}), pd.DataFrame({"b": [0, 1], "a": [0, 1]}),
    pd.DataFrame({"a": [0, 1], "b": [0, 1]}, index=[1, 0]),
    pd.DataFrame({"a": [0.0, 1.0], "b": [0, 1]}),
    pd.Series({"a": 0, "b": 1}), pd.Series({"b": 0, "a": 1}), pd.Series({"a": 0, "b": 1}, name="a"),
    HuberSVM(0.1), HuberSVM(0.5), Logistic(), learner(0.1), learner(0.5), Ramp(0.5), Ramp(1.0),
    PureDP(model="0.5", hessian="0.25", covariance="0.25"),
    PureDP(model="0.25", hessian="0.5", covariance="0.25"),
    Geometry(ridge=0.3, leverage=3.0), Geometry(ridge=0.25, leverage=3.0),
    DPLogisticRegression(), DPLogisticRegression(classes=("a", "b")),
    DPLogisticRegression(classes=("b", "a")), DPLogisticRegression(feature_bounds=(0, 2)),
    DPScorecard(), DPScorecard(at_least=0.5),
]  # fmt: skip


def test_settings_that_differ_are_written_differently_and_in_one_line() -> None:
    texts = [written(value) for value in DIFFERENT]
    for (i, one), (j, other) in itertools.combinations(enumerate(texts), 2):
        assert one != other, (DIFFERENT[i], DIFFERENT[j])
    assert all(text.isprintable() for text in texts)
    assert written("a\n\u202eb") == r"'a\n\u202eb'"
    assert written({"b": 1, "a": 2}) == written({"a": 2, "b": 1})


@pytest.mark.parametrize(
    "value",
    [{1, 2}, range(3), b"a", 1j, Fraction(1, 3), datetime.date(2020, 1, 1), np.sin, object()],
)
def test_what_cannot_be_told_apart_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="so that others can read what they approve"):
        written([value])


def test_every_setting_of_an_estimator_counts_but_who_pays_and_what_draws() -> None:
    base = DPLogisticRegression()
    for name in base.get_params(deep=False):
        text = written(DPLogisticRegression(**{name: "changed"}))
        assert (text == written(base)) == (name in ("ledger", "random_state")), name
        assert (name in settings_of(base)) == (name not in ("ledger", "random_state"))


def test_a_long_setting_stands_as_its_hash() -> None:
    rows = [list(range(MOST_READ))]
    text = written_call("fit", {"n": 1, "bounds": rows})
    whole = written(rows)
    told = f"sha256 {hashlib.sha256(whole.encode()).hexdigest()} of {len(whole)} characters"
    assert text == f"fit(n=1, bounds={told})"
    assert len(text) < 200
    assert text != written_call("fit", {"n": 1, "bounds": told})
