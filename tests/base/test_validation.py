"""Wrong input is refused before any work, by name, rule and value, and never with a value of a
record.
"""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from dpci_core import (
    ZCDP,
    ApproxDP,
    ConvergenceError,
    DataRejectedError,
    Design,
    HuberSVM,
    InfeasibleDesignError,
    Logistic,
    PureDP,
    fit_moments,
    forecast,
    private_intervals,
    run_experiment,
)
from dpci_core.base.limits import BUDGET_PART, CONFIDENCE_LEVEL, HUBER_WIDTH, REGULARIZATION
from dpci_core.base.rows import WeightedRows
from dpci_core.base.validation import check_records, check_unit_records
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.quasi_newton import QuasiNewton
from tests.refusals import refuses

BUDGET = PureDP(model="0.5", hessian="0.25", covariance="0.25")
N = 60


def design(**changes: object) -> Design:
    values = {
        "loss": Logistic(),
        "mechanism": "objective",
        "budget": BUDGET,
        "regularization": 0.05,
        "n_records": N,
        **changes,
    }
    return Design(**values)  # type: ignore[arg-type]


def table(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.c_[rng.uniform(-0.6, 0.6, (N, 2)), np.full(N, 0.5)]
    return X, np.where(rng.random(N) < 0.5, 1.0, -1.0)


def intervals_of(X: object, y: object) -> object:
    return private_intervals(X, y, design=design(), rng=np.random.default_rng(0))  # type: ignore[arg-type]


def moments_of(X: object, y: object) -> object:
    return fit_moments(X, y, loss=Logistic(), regularization=0.05)  # type: ignore[arg-type]


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def working(*_: object, **__: object) -> None:
        raise AssertionError("work began before the input was refused")

    steps = {
        "solvers.moments": ("minimise",),
        "solvers.replicates": ("minimise",),
        "intervals.private_fit": ("train_private", "release_moments"),
        "intervals.forecast": ("error_variance", "private_half_widths"),
    }
    monkeypatch.setattr(Newton, "minimise", working)
    monkeypatch.setattr(QuasiNewton, "minimise", working)
    for room, names in steps.items():
        for name in names:
            monkeypatch.setattr(import_module(f"dpci_core.{room}"), name, working)


def changed(where: tuple[int, ...], value: float) -> tuple[np.ndarray, np.ndarray]:
    X, y = table()
    (X if len(where) == 2 else y)[where] = value
    return X, y


SECRET, NAME = 0.7351946, "Ms Lovelace"
FEATURES, LABELS = table()
FEATURES[:, 0] = SECRET / np.arange(1, N + 1)
BAD_TABLES = {
    "norm": (changed((7, 0), 1 + SECRET), "norm at most 1; row 7"),
    "norm just above 1": ((np.array([[1.0 + 1e-8, 0.0]]), np.ones(1)), "norm at most 1; row 0"),
    "norm that overflows": (changed((7, 0), SECRET * 1e300), "norm at most 1; row 7"),
    "label 0": (changed((3,), 0.0), r"-1 or \+1; row 3"),
    "label 2": (changed((3,), 2.0), r"-1 or \+1; row 3"),
    "label between": (changed((3,), SECRET), r"-1 or \+1; row 3"),
    "label nan": (changed((4,), math.nan), r"-1 or \+1; row 4"),
    "labels of 0 and 1": ((FEATURES, (LABELS > 0).astype(int)), r"-1 or \+1; row \d+"),
    "labels of true and false": ((FEATURES, LABELS > 0), "real numbers only"),
    "nan": (changed((5, 1), math.nan), r"finite \(no NaN, no infinity\); row 5"),
    "infinity": (changed((5, 1), -math.inf), r"finite \(no NaN, no infinity\); row 5"),
    "missing": (([[SECRET, None]], [1]), "real numbers only"),
    "no record": ((np.empty((0, 3)), np.empty(0)), "at least one record"),
    "no column": ((np.empty((4, 0)), np.ones(4)), "at least one record and one column"),
    "one dimension": ((FEATURES[:, 0], LABELS), "2 dimensions"),
    "three dimensions": ((FEATURES[None], LABELS), "2 dimensions .*, got 3"),
    "lengths": ((FEATURES, LABELS[1:]), r"y of shape \(60,\) like X, got \(59,\)"),
    "column of labels": ((FEATURES, LABELS[:, None]), r"y of shape \(60,\) like X, got \(60, 1\)"),
    "words": (([[SECRET, NAME]], [1]), "real numbers only"),
    "word labels": ((FEATURES, [NAME] * N), "real numbers only"),
    "ragged": (([[SECRET], [SECRET, 0.2]], [1, -1]), "real numbers only"),
    "masked": (
        (np.ma.masked_array(np.zeros((3, 2)), mask=np.eye(3, 2)), np.ones(3)),
        "plain array",
    ),
    "complex": ((np.zeros((3, 2), dtype=complex), np.ones(3)), "X to hold real numbers"),
    "numeric text": (([["0.1", "0.2"]], [1]), "X to hold real numbers"),
    "huge": (([[10**400, 0]], [1]), "X to hold real numbers"),
}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("entry", [intervals_of, moments_of])
@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_records_are_refused_before_work_and_without_a_value(
    name: str, entry: Callable[[object, object], object]
) -> None:
    (X, y), rule = BAD_TABLES[name]
    with refuses(DataRejectedError, match=rule) as caught:
        entry(X, y)
    shown = "".join(traceback.format_exception(caught.value))
    for private in (NAME, "Lovelace", "735194", "0.36"):
        assert private not in shown
    assert "nan" not in str(caught.value).replace("NaN", "")


def test_a_rejection_counts_rows_and_names_the_first() -> None:
    X, y = table()
    X[[4, 9, 11]] = 5.0
    with refuses(DataRejectedError, match="row 4 is the first of 3") as caught:
        moments_of(X, y)
    assert caught.value.row == 4


BAD_DESIGNS = [
    ({"loss": "logistic"}, "loss to be a Loss such as Logistic(), got str"),
    ({"mechanism": "input"}, "mechanism='input' to be one of 'objective', 'output'"),
    ({"budget": 1.0}, "budget to be PureDP, ZCDP, GDP or ApproxDP, got float"),
    ({"regularization": 0.0}, "regularization=0.0 > 0"),
    ({"regularization": -1.0}, "regularization=-1.0 > 0"),
    ({"regularization": math.nan}, "regularization=nan"),
    ({"confidence_level": 0.0}, "confidence_level=0.0 < 1"),
    ({"confidence_level": 1.0}, "confidence_level=1.0 < 1"),
    ({"confidence_level": 95}, "confidence_level=95 < 1"),
    ({"confidence_level": math.nan}, "confidence_level=nan < 1"),
    ({"calibration": "best"}, "calibration='best' to be one of 'published'"),
    ({"mechanism": np.array(["output", "output"])}, "to be one of 'objective', 'output'"),
    ({"regularization": 1e-20}, "1e-10 <= regularization=1e-20 <= 1e+06"),
    ({"regularization": 1e160}, "1e-10 <= regularization=1e+160 <= 1e+06"),
    ({"regularization": 10**400}, "> 0 and finite"),
    ({"regularization": Fraction(1, 10**400)}, "1e-10 <= regularization=Fraction(1, 1000"),
    ({"confidence_level": 1 - 1e-16}, "confidence_level=0.9999999999999999 <= 1"),
    ({"confidence_level": 1e-300}, "1e-06 <= confidence_level=1e-300"),
]


@pytest.mark.parametrize(("change", "message"), BAD_DESIGNS)
def test_a_bad_design_cannot_be_made(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match="Expected .*" + re.escape(message)):
        design(**change)


@pytest.mark.parametrize("part", ["model", "hessian", "covariance"])
@pytest.mark.parametrize("amount", ["1e-400", "1e-320", "1e-13", "1.1e20", "1e300"])
def test_a_part_out_of_range_is_named_with_the_amount_given(part: str, amount: str) -> None:
    for kind in (PureDP, ZCDP):
        budget = kind(**{"model": 1, "hessian": 1, "covariance": 1, part: amount})  # type: ignore[arg-type]
        with pytest.raises(
            ValueError, match=re.escape(f"1e-12 <= budget.{part}={Decimal(amount)} <= 1e+20")
        ):
            design(budget=budget)


def test_numbers_of_other_kinds_are_kept_as_plain_floats() -> None:
    made = design(
        regularization=Fraction(1, 20),
        confidence_level=np.float32(0.5),
        loss=HuberSVM(h=Fraction(1, 2)),
    )
    assert [type(x) for x in (made.regularization, made.confidence_level, made.loss.h)] == [
        float
    ] * 3  # type: ignore[attr-defined]
    assert made == design(regularization=0.05, confidence_level=0.5, loss=HuberSVM(h=0.5))
    assert PureDP(
        model=np.int64(1), hessian=np.float32(0.5), covariance=np.float64(0.1)
    ).total == Decimal("1.6")
    with pytest.raises(ValueError, match="hessian to be a number, got Fraction"):
        PureDP(model=1, hessian=Fraction(1, 2), covariance=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("calibration", ["published", "sharp"])
@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("kind", [PureDP, ZCDP])
@pytest.mark.parametrize("loss", [Logistic(), *(HuberSVM(h=h) for h in HUBER_WIDTH)])
def test_results_are_finite_at_every_corner_of_the_ranges(
    loss: Logistic | HuberSVM, kind: type[PureDP] | type[ZCDP], mechanism: str, calibration: str
) -> None:
    X, y = table()
    corners = [(c, part) for c in REGULARIZATION for part in BUDGET_PART]
    for (c, part), level in zip(corners, CONFIDENCE_LEVEL * 2, strict=True):
        budget = kind(model=part, hessian=part, covariance=part)
        values = {
            "loss": loss,
            "mechanism": mechanism,
            "calibration": calibration,
            "budget": budget,
        }
        made = design(regularization=c, confidence_level=level, **values)
        moments = fit_moments(X, y, loss=loss, regularization=c)
        try:
            found = private_intervals(X, y, design=made, rng=np.random.default_rng(0))
            assert np.isfinite([found.low, found.high, found.sampling_se, found.privacy_se]).all()
        except (InfeasibleDesignError, ConvergenceError):
            pass  # said in words
        for n in (1, 10**15):
            try:
                made_of_it = forecast(moments, design=replace(made, n_records=n), n_draws=4)
            except InfeasibleDesignError:
                continue
            lengths = [
                made_of_it.ci_length,
                made_of_it.vi_length,
                made_of_it.nonprivate_length,
                made_of_it.coverage,
            ]
            assert np.isfinite(lengths).all()


ALL_ALIKE = {
    "a constant": np.ones((2000, 1)),
    "one record": np.array([[0.3, 0.4]]),
    "the same rows": np.tile([[0.7, 0.1]], (500, 1)),
}


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("name", ALL_ALIKE)
def test_a_forecast_without_sampling_error_is_finite(name: str, mechanism: str) -> None:
    X = ALL_ALIKE[name]
    c = 5.0 if len(X) == 1 else 0.05
    moments = fit_moments(X, np.ones(len(X)), loss=Logistic(), regularization=c)
    found = forecast(moments, design=design(mechanism=mechanism, regularization=c))
    for values in (found.ci_length, found.vi_length, found.nonprivate_length, found.coverage):
        assert np.isfinite(values).all()
    assert (found.nonprivate_length < 1e-6).all()
    assert 0.9 < found.coverage_mean <= 1.0


def test_an_approximate_budget_is_stored_as_the_zcdp_it_becomes() -> None:
    approximate = ApproxDP("1", "1e-6", ("0.5", "0.25", "0.25"))
    made = design(budget=approximate, mechanism="objective")
    assert made.budget == approximate.to_zcdp()
    assert made.definition == "zcdp"


BAD_RUNS = [
    ({"designs": iter([])}, "designs to be a list or tuple of Design, got"),
    ({"designs": design()}, "designs to be a list or tuple of Design, got Design"),
    (
        {"designs": np.array([design(), design()], dtype=object)},
        "designs to be a list or tuple of Design, got ndarray",
    ),
    ({"designs": []}, "at least one design"),
    ({"designs": [None]}, "Expected a Design"),
    ({"n_variability": 1}, "n_variability=1 >= 2"),
    ({"designs": [design(n_records=2**24)]}, "n_records=16777216"),
    ({"designs": [design(), design(n_records=61)]}, "designs of one n_records"),
    *(
        ({"n_jobs": bad}, f"n_jobs={bad!r} to be a whole number other than 0")
        for bad in (0, "2", 2.5, True)
    ),
    ({"progress": 5}, "progress=5 to be a function or None"),
    ({"should_stop": True}, "should_stop=True to be a function or None"),
    *(
        ({"tolerance": bad}, f"1e-12 <= tolerance={bad!r} <= 0.01")
        for bad in (1e-300, 0.0, math.nan, 1.0, "1e-8")
    ),
]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("change", "message"), BAD_RUNS)
def test_a_bad_run_is_refused_before_work(change: dict[str, object], message: str) -> None:
    values = {
        "designs": [design()],
        "rng": np.random.default_rng(0),
        "n_variability": 4,
        "n_coverage": 4,
        **change,
    }
    with pytest.raises(ValueError, match=re.escape(message)):
        run_experiment(*table(), **values)  # type: ignore[arg-type]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("bad", [0.0, -0.1, math.nan, math.inf])
def test_a_fit_needs_a_penalty(bad: float) -> None:
    with pytest.raises(ValueError, match=f"Expected regularization={bad} > 0 and finite"):
        fit_moments(FEATURES, LABELS, loss=Logistic(), regularization=bad)


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, "1", None])
def test_a_bad_width_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match=f"Expected h={bad!r} > 0 and finite"):
        HuberSVM(h=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [1e-320, 1e-100, 1e308])
def test_a_width_out_of_range_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=re.escape(f"Expected 0.0001 <= h={bad} <= 1e+06")):
        HuberSVM(h=bad)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("loss", [Logistic(), HuberSVM(h=0.5)])
@pytest.mark.parametrize("budget", [BUDGET, ZCDP(model="0.125", hessian="0.1", covariance="0.1")])
def test_too_small_a_penalty_is_refused_with_one_that_works(loss: object, budget: object) -> None:
    X, y = table()
    tiny = design(loss=loss, budget=budget, regularization=1e-5)
    with pytest.raises(
        InfeasibleDesignError, match=r"regularization=1e-05 > .*n_records=60"
    ) as caught:
        private_intervals(X, y, design=tiny, rng=np.random.default_rng(0))
    works = float(
        caught.value.suggestion.removeprefix("The smallest c that works is ").removesuffix(".")
    )
    with pytest.raises(AssertionError, match="work began"):
        private_intervals(
            X,
            y,
            design=design(loss=loss, budget=budget, regularization=works),
            rng=np.random.default_rng(0),
        )
    with pytest.raises(InfeasibleDesignError):
        private_intervals(
            X,
            y,
            design=design(loss=loss, budget=budget, regularization=0.98 * works),
            rng=np.random.default_rng(0),
        )


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_one_class_only_is_valid(label: float) -> None:
    X, _ = table()
    result = private_intervals(X, np.full(N, label), design=design(), rng=np.random.default_rng(0))
    assert np.isfinite(result.length).all()


@pytest.mark.parametrize(
    "convert", [np.asarray, np.ndarray.tolist, np.asfortranarray, lambda v: v.astype(np.float32)]
)
def test_whole_numbers_lists_and_other_layouts_are_taken(
    convert: Callable[[np.ndarray], object],
) -> None:
    X, y = np.array([[0, 1], [1, 0], [0, -1]]), np.array([1, -1, 1])
    plain, other = (
        private_intervals(a, b, design=design(regularization=1.0), rng=np.random.default_rng(0))  # type: ignore[arg-type]
        for a, b in ((X.astype(float), y.astype(float)), (convert(X), convert(y)))
    )
    np.testing.assert_allclose(other.low, plain.low, rtol=0, atol=1e-12)


@pytest.mark.parametrize("entry", [intervals_of, moments_of])
def test_the_table_is_left_alone(entry: Callable[[object, object], object]) -> None:
    X, y = table()
    X.flags.writeable = y.flags.writeable = False
    before = X.copy(), y.copy()
    entry(X, y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_a_norm_of_exactly_one_is_allowed() -> None:
    X = np.array([[0.6, 0.8], [1.0, 0.0], [-0.8, 0.6]])
    moments_of(X, [1, -1, 1])


def test_rows_scaled_just_below_one_are_allowed_whatever_their_rounding() -> None:
    rows = np.random.default_rng(1).normal(size=(5000, 7))
    rows *= (1 - 1e-12) / np.linalg.norm(rows, axis=1, keepdims=True)
    check_records(rows, np.ones(5000))


def test_a_seed_makes_a_result() -> None:
    X, y = table()
    one, two = (
        private_intervals(X, y, design=design(), rng=np.random.default_rng(3)) for _ in range(2)
    )
    other = private_intervals(X, y, design=design(), rng=np.random.default_rng(4))
    np.testing.assert_array_equal(one.low, two.low)
    assert (one.estimate != other.estimate).all()
    assert (one.hessian != other.hessian).all()


def test_a_forecast_refuses_what_its_moments_are_not_for(request: pytest.FixtureRequest) -> None:
    moments = fit_moments(*table(), loss=Logistic(), regularization=0.05)
    request.getfixturevalue("no_work")
    for change, message in (
        ({"loss": HuberSVM(h=1.0)}, r"moments of loss HuberSVM\(h=1.0\), got Logistic\(\)"),
        ({"regularization": 0.06}, "moments at regularization=0.06, got 0.05"),
    ):
        with pytest.raises(ValueError, match=message):
            forecast(moments, design=design(**change))
    for bad in (0, -5, 2.5, True):
        with pytest.raises(ValueError, match=f"n_records={bad} to be a whole number >= 1"):
            forecast(moments, design=replace(design(), n_records=bad))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"1 <= n_records=10+… <= 1e"):
        forecast(moments, design=replace(design(), n_records=10**200))
    for other in (None, {}, "moments"):
        with pytest.raises(ValueError, match=f"Expected moments .*got {type(other).__name__}"):
            forecast(other, design=design())  # type: ignore[arg-type]
    with pytest.raises(InfeasibleDesignError, match=r"n_records=3\. The smallest c that works is"):
        forecast(moments, design=replace(design(), n_records=3))
    with pytest.raises(AssertionError, match="work began"):
        forecast(moments, design=design())


@pytest.mark.usefixtures("no_work")
def test_wrong_kinds_of_argument_are_named() -> None:
    X, y = np.zeros((4, 2)), np.ones(4)
    good = Design(
        loss=Logistic(),
        mechanism="output",
        budget=PureDP(model=1, hessian=1, covariance=1),
        regularization=0.1,
        n_records=4,
    )
    for rng in (None, 42, np.random.RandomState(0)):
        with pytest.raises(ValueError, match="Generator"):
            private_intervals(X, y, design=good, rng=rng)
    with pytest.raises(ValueError, match="Expected a Design"):
        private_intervals(X, y, design=None, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="Expected loss"):
        fit_moments(X, y, loss="logistic", regularization=0.1)
    for start in (
        [0.0],
        np.array([np.nan, 0.0]),
        ["a", "b"],
        [1j, 0],
        [1e308, 1e308],
        [[0.0], [0.0, 1.0]],
    ):
        with pytest.raises(ValueError, match="Expected start to hold 2"):
            fit_moments(X, y, loss=Logistic(), regularization=0.1, start=start)


def test_draws_and_contrasts_of_a_forecast_are_checked() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-0.5, 0.5, (300, 2)), np.where(rng.random(300) < 0.5, 1, -1)
    moments = fit_moments(X, y, loss=Logistic(), regularization=0.1)
    good = Design(
        loss=Logistic(),
        mechanism="output",
        budget=PureDP(model=1, hessian=1, covariance=1),
        regularization=0.1,
        n_records=300,
    )
    for n_draws in (0, -4, 3, 2.5):
        with pytest.raises(ValueError, match="n_draws"):
            forecast(moments, design=good, n_draws=n_draws)
    extreme = [[[1, 0], [x, 0]] for x in (0.0, math.nan, math.inf, 1e200, 1e-200)]
    for contrasts in (
        np.ones(2),
        np.ones((1, 3)),
        np.ones((0, 2)),
        [["a", "b"]],
        [[1j, 0]],
        [[1], [1, 0]],
        *extreme,
    ):
        with pytest.raises(ValueError, match=r"Expected .*contrasts"):
            forecast(moments, design=good, contrasts=contrasts)
    assert forecast(moments, design=good, contrasts=[[1, 0]]).ci_length.shape == (1,)
    assert forecast(moments, design=replace(good, n_records=np.int64(500))).n_records == 500


# --- rows of norm 1 up to rounding, and rows with weights -----------------------------------------


def normalised(n: int, p: int, seed: int) -> np.ndarray:
    """Rows divided by their norm, as people do it."""
    rows = np.random.default_rng(seed).normal(size=(n, p))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def exact_square(row: np.ndarray) -> Fraction:
    return sum((Fraction(float(x)) ** 2 for x in row), Fraction(0))


@pytest.mark.parametrize("p", [1, 2, 5, 20, 90])
@pytest.mark.parametrize("n", [1, 277, 1000])
def test_rows_that_were_normalised_in_floating_point_are_accepted(n: int, p: int) -> None:
    rows = normalised(n, p, n + p)
    kept, _ = check_records(rows, np.ones(n))
    np.testing.assert_allclose(kept, rows, rtol=2e-12, atol=0)
    is_long = np.einsum("ij,ij->i", rows, rows) > 1.0
    assert is_long.any() == (n > 1 and p > 1)
    np.testing.assert_array_equal(kept[~is_long], rows[~is_long])
    assert all(exact_square(row) <= 1 for row in kept[is_long])


def test_what_rounding_adds_is_taken_off_each_row_for_itself() -> None:
    rows = normalised(277, 6, 3)
    kept, _ = check_records(rows, np.ones(277))
    assert (kept != rows).any()
    others = normalised(277, 6, 4)
    for i in np.flatnonzero((kept != rows).any(axis=1))[:5]:
        mixed = others.copy()
        mixed[i] = rows[i]
        np.testing.assert_array_equal(check_records(mixed, np.ones(277))[0][i], kept[i])


@pytest.mark.parametrize(("excess", "is_refused"), [(0.9e-9, False), (1.1e-9, True), (1e-6, True)])
def test_more_than_rounding_adds_is_refused(excess: float, is_refused: bool) -> None:
    rows = np.array([[0.6, 0.8]]) * (1.0 + excess)
    if is_refused:
        with refuses(DataRejectedError, match="norm at most 1; row 0"):
            check_records(rows, np.ones(1))
    else:
        assert exact_square(check_records(rows, np.ones(1))[0][0]) <= 1


def weighted_table(**changes: object) -> WeightedRows:
    rows = np.array([[2.0, 0.0], [0.3, 0.4], [0.0, -4.0]])
    return WeightedRows(
        **{"rows": rows, "weights": np.array([0.25, 1.0, 0.01]), **changes}  # type: ignore[arg-type]
    )


def test_rows_with_weights_pass_as_they_are() -> None:
    kept, y = check_records(weighted_table(), [1, -1, 1])
    assert isinstance(kept, WeightedRows)
    np.testing.assert_array_equal(kept.rows, weighted_table().rows)
    np.testing.assert_array_equal(kept.weights, [0.25, 1.0, 0.01])
    assert y.tolist() == [1, -1, 1]


@pytest.mark.parametrize(
    ("weights", "rule"),
    [
        ([0.25, 0.0, 0.01], "0 < w <= 1 .*; row 1 is the first of 1"),
        ([0.25, -1.0, 0.01], "0 < w <= 1 .*; row 1"),
        ([0.25, 1.0 + 1e-15, 0.01], "0 < w <= 1 .*; row 1"),
        ([0.25, math.nan, 0.01], "0 < w <= 1 .*; row 1"),
        ([0.25, math.inf, 0.01], "0 < w <= 1 .*; row 1"),
        ([0.2500001, 1.0, 1.0], r"w \|x\|\^2 at most 1; row 0 is the first of 2"),
        ([0.25, 1.0], r"weights of X of shape \(3,\) like y, got \(2,\)"),
        ([[0.25], [1.0], [0.01]], r"weights of X of shape \(3,\) like y, got \(3, 1\)"),
        (0.01, r"weights of X of shape \(3,\) like y, got \(\)"),
        (["a", "b", "c"], "the weights of X to hold real numbers only"),
        (np.ma.masked_array([0.25, 1.0, 0.01], [0, 1, 0]), "the weights of X to be a plain array"),
    ],
)
@pytest.mark.parametrize("entry", [check_records, moments_of])
def test_bad_weights_are_refused(
    weights: object, rule: str, entry: Callable[[object, object], object]
) -> None:
    weights = weights if isinstance(weights, np.ndarray) else np.array(weights)
    with refuses(DataRejectedError, match=rule):
        entry(weighted_table(weights=weights), np.ones(3))


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e200])
def test_bad_rows_with_weights_are_refused(bad: float) -> None:
    rows = weighted_table().rows.copy()
    rows[1, 0] = bad
    with refuses(DataRejectedError, match="row 1"):
        check_records(weighted_table(rows=rows), np.ones(3))


def test_weights_are_refused_where_they_have_no_use() -> None:
    with refuses(DataRejectedError, match="X without weights"):
        check_unit_records(weighted_table(), np.ones(3))
