"""A person with several rows as the record: against single rows, coverage, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from dpci_core import GDP, ZCDP, Design, Logistic, PureDP, private_intervals
from dpci_core.base.batches import RecordBatches
from dpci_core.base.errors import DataRejectedError, PersonsNotShownError
from dpci_core.base.persons import PersonNumbers
from dpci_core.base.validation import UnfitRecordsError
from dpci_core.design import Calibration, Geometry
from dpci_core.intervals.certified import UncertainFitError, check_feasible
from dpci_core.intervals.draw import draw_release
from dpci_core.mechanisms.matrices import rounding_allowance
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.risk import PenalisedRisk

PARTS = {"model": "2", "hessian": "1", "covariance": "1"}
BUDGETS = (PureDP(**PARTS), ZCDP(**PARTS), GDP(**PARTS))


def make(
    budget: object = BUDGETS[0], mechanism: str = "output", k: int = 4, **given: object
) -> Design:
    return Design(
        loss=given.pop("loss", Logistic()),  # type: ignore[arg-type]
        mechanism=mechanism,
        budget=budget,  # type: ignore[arg-type]
        regularization=0.02,
        rows_per_person=k,
        **{"calibration": "sharp", "n_records": 300} | given,  # type: ignore[arg-type]
    )


def patients(n: int, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Up to k visits of n patients: what one has, and often the outcome, is that of all visits."""
    x = rng.uniform(-0.7, 0.7, n)
    up = rng.random(n) < 0.5 + 0.6 * x
    whose = np.repeat(np.arange(n), rng.integers(1, k + 1, n))
    rng.shuffle(whose)
    y = np.where(
        np.where(rng.random(len(whose)) < 0.9, up[whose], rng.random(len(whose)) < 0.5), 1, -1
    )
    return np.c_[x[whose], np.full(len(whose), 0.7)], y, whose


X, Y, WHOSE = patients(300, 4, np.random.default_rng(0))


@pytest.mark.parametrize("mechanism", ["output", "objective"])
@pytest.mark.parametrize("budget", BUDGETS[:2], ids=["pure", "zcdp"])
def test_persons_of_one_row_are_rows(budget: object, mechanism: str) -> None:
    design = make(budget, mechanism, k=1)
    found, wanted = (
        private_intervals(X, Y, design=design, rng=np.random.default_rng(5), persons=persons)
        for persons in ([f"p{i}" for i in range(len(X))], None)
    )
    assert found.n_records == len(X)
    for name in ("theta_priv", "low", "high", "hessian", "covariance"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(wanted, name), rtol=1e-9, atol=1e-9
        )


def test_intervals_cover_though_rows_of_a_person_are_alike() -> None:
    """Ten copies of each visit. With gradients of rows in S, intervals would be a third as long."""
    design = make(GDP(model="50", hessian="50", covariance="50"), k=10)
    A, y, _ = patients(40_000, 1, np.random.default_rng(1))
    truth = minimise(PenalisedRisk(y[:, None] * A, loss=Logistic(), regularization=0.02)).theta
    rng, n_runs, inside = np.random.default_rng(2), 60, 0
    for _ in range(n_runs):
        A, y, whose = (np.repeat(a, 10, axis=0) for a in patients(150, 1, rng))
        found = private_intervals(A, y, design=design, rng=rng, persons=whose)
        inside += int(((found.low < truth) & (truth < found.high)).sum())
    assert found.n_records == 150
    assert inside / (2 * n_runs) > 0.88


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp", "gdp"])
def test_a_release_is_one_of_persons(budget: object) -> None:
    numbers = PersonNumbers().of([f"p{i}" if i % 7 else "" for i in WHOSE])
    drawn = draw_release(X, Y.astype(float), design=make(budget), persons=numbers)
    assert drawn.n_records == len({i for i in WHOSE if i % 7})
    names = [None if i % 7 == 0 else str(i) for i in WHOSE]
    simulated = private_intervals(
        X, Y, design=make(budget), rng=np.random.default_rng(1), persons=names
    )
    assert simulated.n_records == drawn.n_records
    np.testing.assert_allclose(drawn.theta_priv, simulated.theta_priv, atol=2.0)


def test_gaussian_objective_perturbation_is_refused_for_persons() -> None:
    design = make(ZCDP(**PARTS), "objective")
    with pytest.raises(PersonsNotShownError) as refused:
        check_feasible(design, dim=2)
    assert refused.value.rows_per_person == 4
    with pytest.raises(PersonsNotShownError):
        private_intervals(X, Y, design=design, rng=np.random.default_rng(0), persons=WHOSE)
    laplace = replace(design, calibration=Calibration(gaussian_objective=False))
    check_feasible(laplace, dim=2)


class _Bare(Logistic):
    allows_weights = False


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"k": 0}, "rows_per_person"),
        ({"k": 1001}, "rows_per_person"),
        ({"k": True}, "rows_per_person"),
        ({"k": 2, "loss": _Bare()}, "allows no weights"),
        (
            {"k": 2, "mechanism": "objective", "geometry": Geometry(ridge=0.1, leverage=4.0)},
            "single rows",
        ),
    ],
)
def test_a_design_without_an_argument_for_persons_is_refused(
    given: dict[str, object], named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        make(**given)  # type: ignore[arg-type]


def test_rows_and_persons_have_to_go_together() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="Expected persons beside"):
        private_intervals(X, Y, design=make(), rng=rng)
    batches = RecordBatches.of(np.repeat(X, 400, axis=0), np.repeat(Y, 400))
    with pytest.raises(ValueError, match="may lie in two"):
        private_intervals(batches, design=make(), rng=rng, persons=WHOSE)
    for persons, code in ((WHOSE[1:], "persons_have_another_shape"), ([""] * len(X), "no_person")):
        with pytest.raises(DataRejectedError) as refused:
            private_intervals(X, Y, design=make(), rng=rng, persons=persons)
        assert refused.value.code == code
    y = Y.astype(float)
    for numbers in (np.full(len(X), -1), np.arange(len(X) - 1), np.arange(len(X)) * 1.0):
        with pytest.raises(UnfitRecordsError):
            draw_release(X, y, design=make(), persons=numbers)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Expected persons beside"):
        draw_release(X, y, design=make())


def test_what_rounding_may_add_is_that_of_all_rows() -> None:
    """Sums over persons have up to k terms for each, and nobody may know how many."""
    several, one = (
        rounding_allowance(replace(make(k=k), n_records=n), np.ones(2))
        for k, n in ((10, 300), (1, 3000))
    )
    assert several == pytest.approx(one, rel=1e-9)
    assert several > 5.0 * rounding_allowance(make(k=1), np.ones(2))
    check_feasible(replace(make(k=1), n_records=10**7), dim=2)
    with pytest.raises(UncertainFitError):
        check_feasible(replace(make(k=1000), n_records=10**7), dim=2)


def test_a_whole_number_is_one_name_in_every_type() -> None:
    """One file may hold it as a decimal, another as an integer or a double."""
    cells = (7, 7.0, np.float32(7), np.int8(7), Decimal("7"), Decimal("7.00"), Decimal("7E+0"), "7")
    assert PersonNumbers().of(cells).tolist() == [0] * len(cells)
    missing = (None, "", " ", float("nan"), Decimal("NaN"))
    assert PersonNumbers().of(missing).tolist() == [-1] * len(missing)


def test_a_name_is_one_however_it_is_written() -> None:
    """The second of each pair: composed, without what nobody sees, in another case, of full width;
    and a cell of a million digits takes no longer than any.
    """
    pairs = (
        ("Zoe\u0308", "Zo\u00eb"),
        ("an\u200bn", "ann"),
        ("ann\ufe0f", "ann"),  # a variation selector, a filler and two controls
        ("\u3164ann", "ann"),
        ("\x00a\x08nn", "ann"),
        ("STRASSE", "stra\u00dfe"),
        ("7", "\uff17"),
        ("\u0390", "\u0390".upper()),
        ("i\u015f\u0131k", "I\u015eIK"),  # Turkish
    )
    for one, other in pairs:
        assert PersonNumbers().of([one, other, "else"]).tolist() == [0, 0, 1]
    long = "0" * 1_000_000
    assert PersonNumbers().of([f"{long}x", f"{long}1", "1", "-0", "+0.0"]).tolist() == [
        0,
        1,
        1,
        2,
        2,
    ]
