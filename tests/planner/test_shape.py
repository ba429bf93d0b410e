"""The shape of the shortest intervals: its derivatives, what it gains, and where there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpci_core import (
    ZCDP,
    CategoricalColumn,
    Design,
    HuberSVM,
    Logistic,
    NumberGuess,
    NumericColumn,
    PureDP,
    Schema,
)
from dpci_core.planner import standard
from dpci_core.planner.shape import _World, shortest_shape
from dpci_core.planner.standard import StandardAnswer, StandardSearch, best_standard, shapes_of
from dpci_core.schema import Records, StandardEncoding
from dpci_core.solvers.moments import Moments, fit_moments
from tests.planner.test_standard import AGE, SEX, SMOKER, WAIST, WEIGHT, design_of, twin

RARE = CategoricalColumn("exposed", ("no", "yes"), shares=(0.98, 0.02))
COHORT = Schema((WEIGHT, WAIST, RARE, SMOKER), "ill", "yes")
PAIR = {"base_rate": 0.04, "pairs": (("weight", "waist", 0.95),)}
RHO = ZCDP(model="0.015", hessian="0.005", covariance="0.005")


def world(
    encode: Any, shape: Any, design: Design, *, is_simulated: bool = True
) -> tuple[Records, Moments]:
    records = encode(StandardEncoding(limit=6.0, shape=shape))
    meaning = replace(records.meaning, is_simulated=is_simulated)
    moments = fit_moments(
        records.X,
        records.y,
        loss=design.loss,
        regularization=design.regularization,
        target="unpenalised",
        meaning=meaning,
    )
    return records, moments


@pytest.mark.parametrize(
    ("mechanism", "loss", "budget", "is_simulated"),
    [
        ("objective", Logistic(), RHO, True),
        ("objective", Logistic(), RHO, False),
        ("output", Logistic(), PureDP(model="1", hessian="1", covariance="1"), False),
        ("objective", HuberSVM(h=0.5), RHO, True),
    ],
)
def test_derivatives_are_those_of_the_length(
    mechanism: Any, loss: Any, budget: Any, is_simulated: bool
) -> None:
    """Against differences, in a map that turns the rows and cuts about half of them."""
    encode = twin(Schema((AGE, WEIGHT, SMOKER), "ill", "yes"), every=60)
    design = design_of(mechanism=mechanism, loss=loss, budget=budget, target="unpenalised")
    shape = shapes_of([encode])[0]
    seen = world(encode, shape, design, is_simulated=is_simulated)
    of = _World.of(*seen, design=design, n_rows=300)
    assert (of.own > 0.0) == (mechanism == "output")
    T = np.triu(0.2 * np.random.default_rng(3).standard_normal((4, 4))) + 0.9 * np.eye(4)
    assert 0.2 < np.mean(np.linalg.norm(of.rows @ T.T, axis=1) > 1.0) < 0.9
    counts, step = np.array([0.4, 0.3, 0.2, 0.1]), 1e-6
    found = of.length(T, counts)[1]
    for place in np.ndindex(4, 4):
        by = np.zeros((4, 4))
        by[place] = step
        expected = (of.length(T + by, counts)[0] - of.length(T - by, counts)[0]) / (2.0 * step)
        assert found[place] == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    ("mechanism", "model", "n_records", "c", "noise"),
    [
        ("objective", "0.02", 20_000, 0.001, 1.04),
        ("objective", "0.02", 2_000, 0.001, 1.5),
        ("output", "1", 5_000, 0.002, 1.1),
    ],
)
def test_the_length_is_that_of_a_forecast(
    mechanism: Any, model: str, n_records: int, c: float, noise: float
) -> None:
    """Up to the matrix noise: each coefficient by itself, within 3 %, also where noise makes it."""
    encode = twin(Schema((AGE, SEX, SMOKER), "ill", "yes"), every=1)
    design = design_of(
        mechanism=mechanism,
        budget=ZCDP(model=model, hessian="50", covariance="50"),
        regularization=c,
        n_records=n_records,
        target="unpenalised",
    )
    shape = shapes_of([encode])[3]
    records, moments = world(encode, shape, design)
    made = standard.forecast(moments, design=design)
    of = _World.of(records, moments, design=design, n_rows=len(records.y))
    for j in range(4):
        length = 2.0 * 1.96 * np.exp(of.length(np.eye(4), np.eye(4)[j])[0])
        assert length == pytest.approx(made.ci_length[j], rel=0.03)
        assert made.ci_length[j] > noise * made.nonprivate_length[j]


def test_the_shape_is_the_best_near_it() -> None:
    """Once more from there gains less than a thousandth; from the ellipsoid it was a twentieth."""
    encode = twin(COHORT, every=10, **PAIR)
    design = design_of(budget=RHO, n_records=20_000, target="unpenalised")
    first = shapes_of([encode])[2]

    def length(shape: Any) -> float:
        of = _World.of(*world(encode, shape, design), design=design, n_rows=20_000)
        p = len(shape)
        counts = np.array([1.0] * (p - 1) + [0.5])
        return of.length(np.eye(p), counts / counts.sum())[0]

    def better(shape: Any) -> Any:
        return shape_in(world(encode, shape, design), shape=shape, n_records=20_000)

    found = better(first)
    assert length(found) < length(first) - 0.05
    again = better(found)
    assert again is None or length(again) > length(found) - 0.001


def test_what_weights_move_counts_where_the_model_may_be_wrong() -> None:
    """To first order it is the distance of the fits with and without them."""
    encode = twin(Schema((AGE, SEX, SMOKER), "ill", "yes"), every=1)
    design = design_of(budget=RHO, target="unpenalised")
    shape = shapes_of([encode])[0]
    records, moments = world(encode, shape, design, is_simulated=False)
    rough = _World.of(records, moments, design=design, n_rows=len(records.y))
    exact, fit = replace(rough, is_exact=True), moments.unpenalised_fit
    simulated = world(encode, shape, design)
    assert _World.of(*simulated, design=design, n_rows=100).is_exact
    assert not rough.is_exact
    svm = replace(design, loss=HuberSVM(h=0.5))  # its coefficients are nobody's truth
    assert not _World.of(*simulated, design=svm, n_rows=100).is_exact
    assert fit is not None
    moved = np.abs(rough.basis @ (fit.theta - fit.unweighted))
    for j in range(4):
        surely, maybe = (
            np.exp(2.0 * one.length(np.eye(4), np.eye(4)[j])[0]) for one in (exact, rough)
        )
        assert np.sqrt(maybe - surely) == pytest.approx(moved[j], rel=0.1, abs=1e-4)


def found_by(
    monkeypatch: pytest.MonkeyPatch, encode: Any, *, is_shorter: bool, **given: Any
) -> StandardAnswer:
    """A search as it is, or one that has only ellipsoids."""
    with monkeypatch.context() as patch:
        if not is_shorter:
            patch.setattr(standard, "shortest_shape", lambda *_, **__: None)
        design = design_of(**{key: value for key, value in given.items() if key != "worlds"})
        return best_standard(encode, design=design, worlds=given.get("worlds", ()))


@pytest.mark.parametrize(
    ("encode", "given"),
    [
        (
            twin(Schema((AGE, SMOKER), "ill", "yes")),
            {"worlds": (twin(numbers={"age": NumberGuess(62, 6)}),)},
        ),
        (twin(Schema((AGE, SMOKER), "ill", "yes")), {"mechanism": "output"}),
    ],
    ids=["two worlds", "output"],
)
def test_the_search_is_never_worse_for_it(
    encode: Any, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ellipsoid, found = (
        found_by(monkeypatch, encode, is_shorter=is_shorter, **given)
        for is_shorter in (False, True)
    )
    search = StandardSearch((encode, *given.get("worlds", ())))
    assert search.cost(found.encoding, found.design) <= search.cost(
        ellipsoid.encoding, ellipsoid.design
    )
    assert set(found.not_reportable) <= set(ellipsoid.not_reportable)


def test_correlated_columns_and_a_rare_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth shorter at least in the geometric mean, and nothing that is in reach longer but for
    what that takes.
    """
    encode = twin(COHORT, every=2, **PAIR)
    given = {"budget": RHO, "n_records": 20_000}
    ellipsoid, found = (
        found_by(monkeypatch, encode, is_shorter=is_shorter, **given)
        for is_shorter in (False, True)
    )
    assert "weight" not in found.not_reportable
    before, after = (one.forecast.ci_length[:-1] for one in (ellipsoid, found))
    assert np.exp(np.mean(np.log(after / before))) < 0.9
    assert (after[[0, 1]] < before[[0, 1]]).all()
    assert after[3] < 1.05 * before[3]
    assert found.forecast.coverage[:-1][[0, 1, 3]].min() > 0.925


def shape_in(*worlds: tuple[Records, Moments], shape: Any, **changes: Any) -> Any:
    design = design_of(target="unpenalised", budget=RHO, **changes)
    is_out = np.zeros(len(shape) - 1, dtype=np.bool_)
    return shortest_shape(shape, worlds, design=design, is_out=is_out)


def test_classes_that_can_be_separated_have_no_other_shape() -> None:
    encode, design = twin(), design_of(target="unpenalised", budget=RHO)
    shape = shapes_of([encode])[1]
    records, moments = world(encode, shape, design)
    assert shape_in((records, moments), shape=shape) is not None
    separable = replace(moments, unpenalised_fit=None, is_separable=True)
    assert shape_in((records, moments), (records, separable), shape=shape) is None


@pytest.mark.parametrize("absent", ["everywhere", "in one world"])
def test_a_level_that_no_row_has(absent: str) -> None:
    """A direction without rows costs little and stops nothing."""
    never = twin(every=5, shares={"smoker": (1.0 - 1e-9, 1e-9)})
    first = never if absent == "everywhere" else twin(every=5)
    found = best_standard(first, design=design_of(budget=RHO), worlds=(never,))
    assert "smoker=yes" in found.not_reportable
    assert np.isfinite(found.forecast.ci_length[0])


def test_a_column_that_is_constant_beside_one_that_is_not() -> None:
    """Centred on its one value it has no rows; off its centre it is the constant once more."""
    for typical in (30.0, 40.0):
        kept = NumericColumn("kept", 0, 100, typical=typical, spread=5)
        schema = Schema((AGE, kept), "ill", "yes")
        encode = twin(schema, numbers={"kept": NumberGuess(30.0, 1e-9)})
        found = best_standard(encode, design=design_of(budget=RHO))
        assert "kept" in found.not_reportable
        assert "age" not in found.not_reportable
