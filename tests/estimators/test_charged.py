"""After a draw is announced nothing about records raises: hostile tables at every charged path, in
every kind of rows, leave no charge that failed. docs/operations.md, "After the draw is announced".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from sklearn.base import clone

from dpci_core import (
    Cap,
    DPHistogram,
    DPLinearSVC,
    DPLogisticRegression,
    DPScorecard,
    DPSelection,
    Geometry,
    Ledger,
    LedgerAccount,
    PureDP,
)
from dpci_core.base.batches import Place
from dpci_core.base.errors import DataRejectedError
from dpci_core.estimators import linear, select_for_release, tune_for_release
from dpci_core.estimators.folder_table import FeatureTable
from dpci_core.estimators.scaling import Scaling, Standardisation
from dpci_core.estimators.table import DaskTable
from dpci_core.losses import Logistic
from dpci_core.report.refusals import said
from dpci_core.solvers.guaranteed import Guaranteed
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import Fit, PenalisedRisk
from dpci_core.tuning.choose import Candidate
from dpci_core.tuning.learners import Learner

array = pytest.importorskip("dask.array", reason="the extra dpci[dask] is not installed")
dataframe = pytest.importorskip("dask.dataframe")
N = 40
RNG = np.random.default_rng(11)
CELLS = RNG.uniform(0.0, 1.0, (N, 2))
LABELS = np.where(RNG.random(N) < 0.5, "yes", "no").astype(object)
BUDGET = PureDP(model="0.5", hessian="0.25", covariance="0.25")
NAMES = ("a", "b")


def with_cell(cell: float) -> tuple[np.ndarray, np.ndarray]:
    X = CELLS.copy()
    X[-1, 0] = cell
    return X, LABELS


HOSTILE: dict[str, tuple[np.ndarray, np.ndarray]] = {
    "missing": with_cell(np.nan),
    "infinite": with_cell(-np.inf),
    "largest": with_cell(np.finfo(float).max),
    "subnormal": with_cell(5e-324),
    "no row fits": (np.full((N, 2), np.nan), LABELS),
    "one value": (np.full((N, 2), 1e300), np.full(N, "yes", dtype=object)),
    "another label": (CELLS, np.where(np.arange(N) == N - 1, "31337", LABELS)),
    "no label": (CELLS, np.where(np.arange(N) == 3, None, LABELS)),
    "separable": (np.where(LABELS == "yes", 1.0, 0.0)[:, None] * np.ones((1, 2)), LABELS),
}


def in_memory(X: np.ndarray, y: np.ndarray, _: Path) -> tuple[Any, Any]:
    return X, y


def in_a_folder(X: np.ndarray, y: np.ndarray, folder: Path) -> tuple[Any, Any]:
    folder.mkdir()
    pd.DataFrame(X, columns=list(NAMES)).assign(t=y).to_parquet(folder / "p.parquet")
    return folder, "t"


def in_chunks(X: np.ndarray, y: np.ndarray, _: Path) -> tuple[Any, Any]:
    return array.from_array(X, (N // 4, 1)), y


def in_partitions(X: np.ndarray, y: np.ndarray, _: Path) -> tuple[Any, Any]:
    frame = dataframe.from_pandas(pd.DataFrame(X, columns=list(NAMES)), npartitions=3)
    return frame, array.from_array(y, (N // 2,))


ROWS = [in_memory, in_a_folder, in_chunks, in_partitions]
BOUNDS: dict[str, Any] = {"feature_bounds": (0.0, 1.0), "classes": ("no", "yes"), "budget": BUDGET}
TYPICAL = {"feature_typical": 0.5, "feature_spread": 0.3, "feature_bounds": None}
SHAPED = {
    "geometry": Geometry(ridge=0.3, leverage=3.0),
    "budget": PureDP(model="0.4", hessian="0.2", covariance="0.2", metric="0.2"),
}
MODELS = {
    "bounds": DPLogisticRegression(**BOUNDS, regularization=0.5),
    "output": DPLinearSVC(**BOUNDS, regularization=0.5, mechanism="output", intervals=False),
    "typical": DPLogisticRegression(**(BOUNDS | TYPICAL), regularization=0.5),
    "shaped": DPLogisticRegression(**(BOUNDS | SHAPED), regularization=0.5, calibration="sharp"),
    "classes": DPLogisticRegression(
        **(BOUNDS | {"classes": ("maybe", "no", "yes")}), regularization=1.0
    ),
}
CHOICES = {
    "selection": DPSelection(
        DPLogisticRegression(feature_bounds=(0, 1), classes=("no", "yes")),
        [{"regularization": c} for c in (1.0, 2.0)],
        epsilon=1,
    ),
    "histogram": DPHistogram(bounds=(0, 1), epsilon=1, candidates=(2, 4)),
    "scorecard": DPScorecard(epsilon=1, classes=("no", "yes"), at_least=0.5),
}


@pytest.fixture
def account(tmp_path: Path) -> LedgerAccount:
    given = {"schema_hash": "h", "unit": "one row is one person"}
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.create_dataset("People", **given, cap=Cap.pure(1000), person="Ada")
    return LedgerAccount(ledger=ledger, dataset="People", person="Kim", **given)


@pytest.fixture
def strict() -> Iterator[None]:
    """Arithmetic raises, as some programs ask NumPy to; warnings raise in all tests."""
    with np.errstate(all="raise"):
        yield


def charged(account: LedgerAccount, fit: Callable[[], object]) -> list[tuple[str, str | None]]:
    """The new charges after a fit, which may be refused before there is one."""
    before = len(account.ledger.history())
    try:
        fit()
    except ValueError as refusal:
        words = said(refusal) + str(refusal)
        assert "31337" not in words
        assert "row=" not in words
        assert "39" not in words
    return [(one.state, one.draw) for one in account.ledger.history()[before:]]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", MODELS)
def test_no_fit_fails_after_its_draw_began(rows, name, account, strict, tmp_path) -> None:
    model = clone(MODELS[name]).set_params(ledger=account)
    drawn = []
    for k, (what, (X, y)) in enumerate(HOSTILE.items()):
        table = rows(X, y, tmp_path / f"t{k}")
        found = charged(account, lambda table=table: clone(model).fit(*table))
        assert found in ([], [("done", "begun")]), what
        drawn += [what] * len(found)
    assert drawn == ["largest", "subnormal", "one value", "separable"]


@pytest.mark.parametrize("unit", [1e-160, 3e-308])
@pytest.mark.parametrize("rows", ROWS)
def test_products_that_vanish_are_drawn_for(rows, unit, account, strict, tmp_path) -> None:
    """Underflow depends on cells, so it must not raise even where it does in all other code."""
    model = clone(MODELS["bounds"]).set_params(ledger=account, feature_bounds=(-1.0, 1.0))
    with np.errstate(under="ignore"):
        X = CELLS * unit
    table = rows(X, LABELS, tmp_path / "t")
    assert charged(account, lambda: model.fit(*table)) == [("done", "begun")]


@pytest.mark.parametrize("name", CHOICES)
def test_no_choice_fails_after_its_draw_began(name, account, strict) -> None:
    model = clone(CHOICES[name]).set_params(ledger=account)
    for what, (X, y) in HOSTILE.items():
        found = charged(account, lambda X=X, y=y: clone(model).fit(X, y))
        assert found in ([], [("done", "begun")]), what
    assert account.ledger.history()


@np.errstate(under="ignore")
def test_tuning_refuses_without_a_row_and_before_a_charge(account) -> None:
    learner = Learner(loss=Logistic(), method="output", regularization=1.0)
    given = {"candidates": [Candidate(learner=learner)], "epsilon": "0.5", "ledger": account}
    for what, (cells, labels) in HOSTILE.items():
        X = np.c_[cells / 2.0, np.full(N, 0.5)]
        y = np.where(labels == "31337", 2.0, np.where(labels == "yes", 1.0, -1.0))
        for tuned in (tune_for_release, select_for_release):
            found = charged(account, lambda tuned=tuned, X=X, y=y: tuned(X, y, **given))
            assert found in ([], [("done", "begun")]), what
    assert account.ledger.history()


@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("what", ["cells", "labels"])
def test_a_table_that_changes_after_it_was_checked_does_not_raise(what, is_masked, account) -> None:
    """Three models read a chunk three times, once for the check and the first."""
    reads: list[int] = []

    def changed(block: np.ndarray) -> np.ndarray:
        reads.append(len(block))
        is_spoilt = (len(reads) > 4) & (np.arange(len(block)) % 2 == 0)
        is_spoilt = np.broadcast_to(is_spoilt.reshape(-1, *[1] * (block.ndim - 1)), block.shape)
        if is_masked:
            return np.ma.masked_array(block, is_spoilt)
        return np.where(is_spoilt, np.nan, block)

    X, y = array.from_array(CELLS, (N // 4, 2)), array.from_array(LABELS, (N // 4,))
    if what == "cells":
        X = X.map_blocks(changed, meta=np.empty((0, 2)))
    else:
        y = y.map_blocks(changed, meta=np.empty(0, dtype=object))
    model = clone(MODELS["classes"]).set_params(ledger=account)
    fitted = model.fit(X, y)
    assert len(reads) > 4
    assert fitted.privacy_.charge.state == "done"
    assert np.isfinite(fitted.coef_).all()


SCALINGS = [
    Scaling.of((0.0, 1.0), n_features=2),
    Standardisation.of([0.5, 0.5], [0.3, 0.3], n_features=2, limit=4),
]


class Unspeakable:
    """A label that nothing may be asked of."""

    def __hash__(self) -> int:
        raise RuntimeError("31337")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("31337")


@pytest.mark.parametrize("scaling", SCALINGS)
def test_one_record_changes_its_own_row_and_becomes_zeros_where_it_fits_nothing(scaling) -> None:
    classes, y = np.array(["no", "yes"]), LABELS.copy()
    table = DaskTable.of(array.from_array(CELLS, (N, 2)), y)
    encode = table.batches(scaling, classes, 0).batches[0].encode
    good = np.asarray(getattr(encode(CELLS, y), "rows", encode(CELLS, y)))
    strange = (np.nan, np.inf, None, "x", 10**400, Decimal("sNaN"), 1j, [1.0])
    for cell, fits in (*((cell, False) for cell in strange), (2.0, True), ("0.5", True)):
        X = CELLS.astype(object)
        X[7, 1] = cell
        found = encode(X, y)
        found = np.asarray(getattr(found, "rows", found))
        assert (np.delete(found, 7, 0) == np.delete(good, 7, 0)).all()
        assert (found[7] != 0.0).any() == fits
    for label in ("31337", None, np.nan, [], Decimal("sNaN"), Unspeakable(), 1):
        y[7] = label
        found = encode(CELLS, y)
        found = np.asarray(getattr(found, "rows", found))
        assert (np.delete(found, 7, 0) == np.delete(good, 7, 0)).all()
        assert (found[7] == 0.0).all()


def test_any_column_of_a_folder_is_read_without_an_error(tmp_path: Path) -> None:
    """Types of numbers, and bytes that are no text where labels are."""
    broken = pyarrow.array([b"no", b"yes", b"\xff\xfe", None] * 10).view(pyarrow.string())
    wanted = [1.0, 1.0, 0.0, 0.0] * 10
    columns = {
        "whole": pyarrow.array([1, None, 3, 4] * 10, pyarrow.uint64()),
        "decimal": pyarrow.array([Decimal("1.5"), None] * 20, pyarrow.decimal128(38, 2)),
        "yes": pyarrow.array([True, False] * 20),
        "coded": pyarrow.array([1, 2, None, 9] * 10).dictionary_encode(),
        "half": pyarrow.array(np.float16([1, 2] * 20)),
        "none": pyarrow.nulls(40),
    }
    for name, column in columns.items():
        folder = tmp_path / name
        folder.mkdir()
        pyarrow.parquet.write_table(pyarrow.table({"a": column, "t": broken}), folder / "p.parquet")
        read = FeatureTable.at(folder, "t").batches(
            Scaling.of((0.0, 5.0), n_features=1), np.array(["no", "yes"]), 0
        )
        (rows,) = Place(read.batches[0], 0, 0).chunks()
        has_number = [value is not None for value in column.to_pylist()]
        assert (np.abs(np.sign(rows[:, -1])) == np.array(wanted) * has_number).all(), name
    dates = pyarrow.array([0] * 40, pyarrow.timestamp("ns"))
    (tmp_path / "dates").mkdir()
    pyarrow.parquet.write_table(
        pyarrow.table({"a": columns["yes"], "t": dates}), tmp_path / "dates" / "p.parquet"
    )
    with pytest.raises(DataRejectedError):
        FeatureTable.at(tmp_path / "dates", "t")


def test_the_minimiser_goes_on_where_newtons_method_raises(monkeypatch) -> None:
    def gives_up(*_: object, **__: object) -> Fit:
        raise ValueError("array must not contain infs or NaNs")

    monkeypatch.setattr(Newton, "minimise", gives_up)
    A = np.c_[CELLS, np.ones(N)] / 2.0
    fit = Guaranteed().continued(PenalisedRisk(A, Logistic(), 0.5), None)
    assert fit.gradient_norm <= 1e-10


def test_the_check_reads_before_the_ledger_is_asked(account, monkeypatch, tmp_path) -> None:
    asked: list[str] = []
    check = linear.check_every_row_counts
    monkeypatch.setattr(
        linear, "check_every_row_counts", lambda table: (asked.append("rows"), check(table))
    )
    book = Ledger.book
    monkeypatch.setattr(Ledger, "book", lambda *a, **k: (asked.append("book"), book(*a, **k))[1])
    table = in_a_folder(CELLS, LABELS, tmp_path / "t")
    clone(MODELS["bounds"]).set_params(ledger=account).fit(*table)
    assert asked == ["rows", "book"]
