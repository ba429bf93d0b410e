"""The planner of the standard encoding: small twins, what was tried, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpci_core import (
    ZCDP,
    CategoricalColumn,
    Design,
    Guesses,
    HuberSVM,
    InfeasibleDesignError,
    Logistic,
    NumericColumn,
    PureDP,
    Schema,
    forecast,
)
from dpci_core.mechanisms.mechanism import model_noise
from dpci_core.planner import standard
from dpci_core.planner.standard import StandardAnswer, best_standard
from dpci_core.schema import Records, StandardEncoding, simulate_twin

AGE = NumericColumn("age", 18, 100, typical=62, spread=16, step=10)
SEX = CategoricalColumn("sex", ("f", "m"), shares=(0.5, 0.5))
SMOKER = CategoricalColumn("smoker", ("no", "yes"), shares=(0.8, 0.2))
HOSPITAL = Schema((AGE, SMOKER), target="ill", positive="yes")
N = 8_000


def twin(
    schema: Schema = HOSPITAL, every: int = 20, **effects: float
) -> Callable[[StandardEncoding], Records]:
    """Some rows of a twin, few enough to be quick."""
    guesses = Guesses(effects=effects, base_rate=0.3)

    def encode(encoding: StandardEncoding) -> Records:
        records = simulate_twin(replace(schema, standard=encoding), guesses=guesses)
        return replace(records, X=records.X[::every], y=records.y[::every])

    return encode


def design_of(**changes: Any) -> Design:
    given = {
        "loss": Logistic(),
        "mechanism": "objective",
        "budget": PureDP(model="0.5", hessian="0.25", covariance="0.25"),
        "regularization": 0.001,
        "calibration": "sharp",
    }
    return Design(**(given | changes))


def planned(encode: Any = None, n: Any = N, limits: Any = (4.0,), **changes: Any) -> StandardAnswer:
    return best_standard(
        encode or twin(age=0.02, **{"smoker=yes": 0.4}),
        design=design_of(**changes),
        n_records=n,
        limits=limits,
    )


@pytest.fixture(scope="module")
def answer() -> StandardAnswer:
    return planned(limits=(4.0, 3.0))


def test_the_answer_is_what_was_tried(answer: StandardAnswer) -> None:
    """The last of them; the whole budget; its forecast."""
    assert answer.names == ("age", "smoker=yes", "constant")
    assert answer.out_of_reach == ()
    assert (answer.encoding, answer.design) in [(one.encoding, one.design) for one in answer.tried]
    assert answer.design.budget.total == design_of().budget.total
    assert answer.design.target == "unpenalised"
    assert answer.moments.drift is not None
    again = forecast(answer.moments, design=answer.design, n_records=N)
    np.testing.assert_allclose(answer.forecast.ci_length, again.ci_length, rtol=0.02)
    np.testing.assert_array_equal(answer.forecast.is_not_reportable, again.is_not_reportable)


def test_no_tried_design_is_better(answer: StandardAnswer) -> None:
    """The score by hand: mean logarithm of lengths per spread, three times the shortest where out
    of reach, and 0.05 for the second limit.
    """
    reached = [np.where(one.is_not_reportable, np.inf, one.length) for one in answer.tried]
    shortest = np.min(reached, axis=0)
    assert np.isfinite(shortest).all()

    def score(one: standard.Tried) -> float:
        longer = one.length * (1.0 + 10.0 * np.maximum(0.945 - one.coverage, 0.0))
        counted = np.where(one.is_not_reportable, 3.0 * shortest, longer)
        return float(np.log(counted).mean()) + (0.05 if one.encoding.limit == 3.0 else 0.0)

    scores = [score(one) for one in answer.tried]
    chosen = next(one for one in answer.tried if one.design == answer.design)
    assert score(chosen) <= min(scores) + 0.01
    np.testing.assert_allclose(
        chosen.length, answer.forecast.ci_length[:-1] / answer.encoding.radius, rtol=1e-12
    )
    half = answer.forecast.ci_length[:-1] / 2.0
    is_out = answer.forecast.is_not_reportable[:-1] | (
        np.abs(answer.forecast.bias[:-1]) > 0.2 * half
    )
    np.testing.assert_array_equal(chosen.is_not_reportable, is_out)
    assert {one.encoding.limit for one in answer.tried} == {4.0, 3.0}
    assert len({one.encoding.radius for one in answer.tried}) >= 3


def test_the_range_of_c(answer: StandardAnswer) -> None:
    """From twice the smallest that can run, by factors of two, to 0.3/R^2 or where nothing is in
    reach.
    """
    given = design_of().budget
    for encoding in {one.encoding for one in answer.tried}:
        some = [o for o in answer.tried if (o.encoding, o.design.budget) == (encoding, given)]
        c = [one.design.regularization for one in some]
        np.testing.assert_allclose(np.array(c[1:]) / c[:-1], 2.0, rtol=0.01)
        assert some[-1].is_not_reportable.all() or 0.15 < c[-1] * encoding.radius**2 <= 0.3
        assert not any(one.is_not_reportable.all() for one in some[:-1])
        model_noise(design_of(regularization=c[0] / 1.9), N)
        with pytest.raises(InfeasibleDesignError):
            model_noise(design_of(regularization=c[0] / 2.1), N)


def test_the_same_question_has_the_same_answer() -> None:
    one, other = (planned() for _ in range(2))
    assert one.encoding == other.encoding
    assert one.design == other.design
    np.testing.assert_array_equal(one.forecast.ci_length, other.forecast.ci_length)
    assert [t.design for t in one.tried] == [t.design for t in other.tried]


@pytest.mark.parametrize(
    ("schema", "changes"),
    [
        (Schema((AGE,), "ill", "yes"), {}),
        (Schema((SEX, SMOKER), "ill", "yes"), {}),
        (Schema((AGE, replace(SEX, has_reference=False)), "ill", "yes"), {}),
        (HOSPITAL, {"mechanism": "output"}),
        (HOSPITAL, {"loss": HuberSVM(h=0.5)}),
        (HOSPITAL, {"budget": ZCDP(model="0.01", hessian="0.005", covariance="0.005")}),
    ],
    ids=["one column", "levels only", "every level", "output", "huber", "zcdp"],
)
def test_other_tables_and_designs(schema: Schema, changes: dict[str, Any]) -> None:
    found = planned(twin(schema), **changes)
    assert np.isfinite(found.forecast.ci_length).all()
    assert found.design.loss == design_of(**changes).loss
    assert found.design.mechanism == design_of(**changes).mechanism
    names = {"sex=f", "sex=m"} if len(found.names) == 4 else set()
    assert names <= set(found.out_of_reach)
    assert "age" not in found.out_of_reach


def test_more_records_shorter_intervals() -> None:
    """From 50, where nothing is in reach, to a thousand million."""
    found = [planned(twin(Schema((AGE,), "ill", "yes")), n) for n in (50, N, 10**9)]
    lengths = [one.forecast.ci_length[0] / one.encoding.radius for one in found]
    assert lengths[0] > 10.0 * lengths[1] > 1000.0 * lengths[2]
    assert "age" in found[0].out_of_reach
    assert "age" not in found[2].out_of_reach


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"limits": ()}, r"limits=\(\) to hold at least one"),
        ({"limits": 4.0}, "limits=4.0 to hold at least one"),
        ({"limits": (0.5,)}, "limit=0.5"),
        ({"limits": (math.nan,)}, "limit=nan"),
        ({"n": 0}, "n_records=0"),
        ({"n": 1e3}, "n_records=1000.0"),
        ({"encode": lambda encoding: simulate_twin(HOSPITAL)}, "encode to give rows with weights"),
    ],
)
def test_a_bad_argument_is_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        planned(**given)


@pytest.mark.parametrize(
    "budget",
    [
        PureDP(model="1e-7", hessian="1e-7", covariance="1e-7"),
        ZCDP(model="1e-12", hessian="1e-12", covariance="1e-12"),
    ],
    ids=["pure", "zcdp"],
)
def test_a_budget_that_no_penalty_serves(budget: Any) -> None:
    """Refused with what would help, and it does."""
    with pytest.raises(InfeasibleDesignError) as caught:
        planned(n=100, budget=budget)
    changes = {change.what: change.value for change in caught.value.changes}
    assert {"n_records", "total"} <= changes.keys()
    c = standard._LARGEST
    model_noise(design_of(budget=budget, regularization=c), int(changes["n_records"]))
