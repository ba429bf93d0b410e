"""A table in batches gives the moments, intervals and errors of the table itself, wherever batches
are read, and whichever worker dies meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from joblib import parallel_config

from dpci_core import (
    Design,
    HuberSVM,
    Logistic,
    PureDP,
    fit_moments,
    private_intervals,
    run_experiment,
)
from dpci_core.base.batch import CHUNK_ROWS, BatchError, MemoryBatch, aligned
from dpci_core.base.batches import MemoryTable, Place, RecordBatches, measured, pairwise
from dpci_core.base.engines import Dask, Processes, WorkersLostError, dask_workers
from dpci_core.base.rows import WeightedRows, signed
from dpci_core.datasets.folder import folder_batches, read_folder
from dpci_core.design import Geometry
from dpci_core.intervals.draw import draw_release
from dpci_core.losses import Loss
from dpci_core.solvers.batch_sums import Derivatives
from dpci_core.solvers.guaranteed import Guaranteed
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.risk import PenalisedRisk, rounding_of_sums
from tests.release_example import SCHEMA
from tests.solvers.batch_measures import AlwaysDeadly, Deadly, Faulty

Array = np.ndarray
C = 0.001


def records(n: int = 3000, p: int = 4, seed: int = 3) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = np.c_[rng.uniform(-1.0, 1.0, (n, p - 1)), np.ones(n)] / np.sqrt(p)
    return X, np.where(rng.random(n) < 0.5 + 0.4 * X[:, 0], 1.0, -1.0)


X, Y = records()


def in_batches(**given: object) -> RecordBatches:
    return RecordBatches.of(X, Y, batch_rows=700, **given)  # type: ignore[arg-type]


def same_moments(one: object, other: object, **near: float) -> None:
    for name in ("theta_hat", "hessian", "covariance"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), **near)


@pytest.mark.parametrize(
    ("loss", "rows", "given"),
    [
        (Logistic(), X, {}),
        (HuberSVM(h=0.1), X, {}),
        (Logistic(), WeightedRows.of(3.0 * X), {"target": "unpenalised"}),
        (Logistic(), X, {"geometry": Geometry(ridge=0.05, leverage=3.0)}),
    ],
)
def test_moments_are_those_of_the_table(
    loss: Loss, rows: Array | WeightedRows, given: dict[str, object]
) -> None:
    whole = fit_moments(rows, Y, loss=loss, regularization=C, **given)
    batches = RecordBatches.of(rows, Y, batch_rows=700)
    found = fit_moments(batches, loss=loss, regularization=C, **given)
    same_moments(found, whole, rel=1e-6, abs=1e-8)
    assert (found.n_records, found.n_weighted) == (whole.n_records, whole.n_weighted)
    assert found.drift.output == pytest.approx(whole.drift.output, rel=1e-6)
    assert found.leverage_correction == pytest.approx(whole.leverage_correction, rel=1e-6)
    if found.spread is not None:
        assert found.n_weighted > 0
        assert found.spread.leverages == pytest.approx(whole.spread.leverages, rel=1e-9)
    if found.unpenalised_fit is not None:
        for name in (
            "unweighted",
            "unweighted_se",
            "theta",
            "hessian",
            "covariance",
            "one_step_point",
        ):
            one, other = (getattr(m.unpenalised_fit, name) for m in (found, whole))
            assert one == pytest.approx(other, rel=1e-5, abs=1e-7)
    assert (found.unpenalised_fit is None) == ("target" not in given)


def test_one_batch_has_the_very_numbers_of_the_table() -> None:
    whole = fit_moments(X, Y, loss=Logistic(), regularization=C)
    found = fit_moments(RecordBatches.of(X, Y), loss=Logistic(), regularization=C)
    same_moments(found, whole, rel=1e-12)
    assert isinstance(RecordBatches.of(X, Y).in_memory(), MemoryTable)


def test_private_intervals_take_batches() -> None:
    design = Design(
        loss=Logistic(),
        mechanism="objective",
        budget=PureDP(model=1, hessian=1, covariance=1),
        regularization=C * 10,
        n_records=len(X),
        calibration="published",
    )
    one = private_intervals(X, Y, design=design, rng=np.random.default_rng(5))
    other = private_intervals(in_batches(), design=design, rng=np.random.default_rng(5))
    assert other.estimate == pytest.approx(one.estimate, rel=1e-6)
    assert other.length == pytest.approx(one.length, rel=1e-6)


def test_labels_stand_in_one_place() -> None:
    with pytest.raises(ValueError, match="y=None"):
        fit_moments(in_batches(), Y, loss=Logistic(), regularization=C)
    with pytest.raises(ValueError, match="labels of X"):
        fit_moments(X, loss=Logistic(), regularization=C)
    with pytest.raises(BatchError):
        RecordBatches.listed([])


def test_sums_are_taken_in_one_order() -> None:
    """A tree that the number of parts alone decides, whatever the parts are."""

    def by_rounds(parts: list[str]) -> str:
        while len(parts) > 1:
            pairs = [f"({a}{b})" for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = pairs + parts[len(pairs) * 2 :]
        return parts[0]

    for n in range(1, 40):
        parts = [f"{k}." for k in range(n)]
        assert pairwise(parts, lambda a, b: f"({a}{b})") == by_rounds(parts)


def test_rounding_bound_holds_however_batches_are_cut() -> None:
    """What a release pays for, against the longest chain of additions of any layout."""
    for n in np.unique(np.logspace(0, 15, 400).astype(np.int64)).tolist():
        largest = min(n, CHUNK_ROWS) + n / CHUNK_ROWS + 1 + math.ceil(math.log2(n)) + 16
        chain = largest * 2.0**-53 / (1.0 - largest * 2.0**-53)
        assert chain <= rounding_of_sums(n), n


@pytest.mark.parametrize("batch_rows", [1, 63, 10_000])
def test_sums_err_less_than_the_bound(batch_rows: int) -> None:
    n = 2000
    rng = np.random.default_rng(1)
    sizes = np.exp(rng.uniform(-18.0, 0.0, n))
    A = (sizes * rng.choice([-1.0, 1.0], n))[:, None] * np.array([[1.0, 0.5]]) / 2.0
    table = RecordBatches.of(A, np.ones(n), batch_rows=batch_rows)
    value, gradient, _ = table.total(Derivatives(np.zeros(2), Logistic()))
    exact = math.fsum((-0.5 * A[:, 0]).tolist())
    assert abs(gradient[0] - exact) <= rounding_of_sums(n) * math.fsum(abs(0.5 * A[:, 0]))
    assert value == pytest.approx(n * math.log(2.0), rel=1e-12)


def test_the_certified_minimiser_arrives_on_hostile_batches() -> None:
    one = np.array([0.6, 0.8])
    for rows in (
        np.tile(one, (40, 1)),
        np.concatenate([np.tile(one, (20, 1)), np.tile(-one, (20, 1))]),
        np.zeros((40, 2)),
    ):
        for loss in (Logistic(), HuberSVM(h=0.01)):
            for b in (None, np.array([300.0, -5.0])):
                table = RecordBatches.of(rows, np.ones(40), batch_rows=7)
                fit = minimise(
                    PenalisedRisk(table, loss=loss, regularization=1e-3, noise_vector=b),
                    Guaranteed(5e-11),
                )
                assert fit.gradient_norm <= 5e-11
                whole = minimise(
                    PenalisedRisk(rows, loss=loss, regularization=1e-3, noise_vector=b),
                    Guaranteed(5e-11),
                )
                assert fit.theta == pytest.approx(whole.theta, abs=1e-7)


def test_where_rows_lie_in_memory_changes_no_bit() -> None:
    measure = Derivatives(np.array([0.3, -0.2, 0.5, 0.1]), Logistic())
    A = signed(X, Y)
    found = []
    for shift in range(8):
        memory = np.empty(A.size + 8)[shift : shift + A.size].reshape(A.shape)
        memory[...] = A
        found.append(measured(measure, Place(MemoryBatch(memory), 0, 0)))
    assert all((a == b).all() for one in found for a, b in zip(one, found[0], strict=True))
    assert aligned([1.0, 2.0]).tolist() == [1.0, 2.0]


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as engine:
        yield engine


@pytest.fixture(scope="module")
def dask() -> Iterator[Dask]:
    pytest.importorskip("distributed", reason="the extra dpci[dask] is not installed")
    with dask_workers(2) as engine:
        yield engine


@pytest.mark.parametrize("name", ["processes", "dask"])
def test_workers_change_no_bit(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One process, two of them or two Dask workers, and one of those killed in the middle."""
    engine = request.getfixturevalue(name)
    here = fit_moments(in_batches(), loss=Logistic(), regularization=C)
    measure = Derivatives(here.theta_hat, Logistic())
    alone = in_batches().total(measure)
    table = in_batches(engine=engine)
    there = fit_moments(table, loss=Logistic(), regularization=C)
    for field in ("theta_hat", "hessian", "covariance"):
        assert (getattr(there, field) == getattr(here, field)).all(), field
    deadly = Deadly(measure, tmp_path / name)
    killed = table.total(deadly)
    assert deadly.marker.exists()
    assert all((a == b).all() for a, b in zip(killed, alone, strict=True))
    with pytest.raises(BatchError) as error:
        table.total(Faulty())
    assert "31337" not in str(error.value) + "".join(capfd.readouterr())
    assert table.total(Derivatives(here.theta_hat, Logistic()))[0] == alone[0]


@pytest.mark.parametrize("name", ["processes", "dask"])
def test_what_a_worker_keeps_changes_no_bit(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """In its memory and in a cache, against batches that are mapped in every pass."""
    rng = np.random.default_rng(4)
    ages, sick = rng.integers(0, 99, 300), rng.choice(["yes", "no"], 300)
    table = pyarrow.table({"age": ages, "city": rng.choice(["a", "b"], 300), "sick": sick})
    folder, cache = tmp_path / "table", tmp_path / "cache"
    folder.mkdir()
    for part in ("a", "b", "c"):
        pyarrow.parquet.write_table(table, folder / f"{part}.parquet")
    files, measure = read_folder(folder), Derivatives(np.array([0.3, -0.2, 0.5]), Logistic())
    alone = folder_batches(files, SCHEMA, most_kept=0).total(measure)
    there = folder_batches(files, SCHEMA, cache=cache, engine=request.getfixturevalue(name))
    again = folder_batches(files, SCHEMA, cache=cache)
    for found in (there.total(measure), there.total(measure), again.total(measure)):
        assert all((a == b).all() for a, b in zip(found, alone, strict=True))
    assert len(list(cache.iterdir())) == 3


def test_experiments_run_on_dask_through_joblib(dask: Dask) -> None:
    """The replicates of a table in memory, which is scattered once."""
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=PureDP(model=1, hessian=1, covariance=1),
        regularization=C,
        n_records=len(X),
        calibration="published",
    )

    def lengths(n_jobs: int) -> Array:
        found = run_experiment(
            X,
            Y,
            designs=[design],
            n_variability=4,
            n_coverage=4,
            rng=np.random.default_rng(1),
            n_jobs=n_jobs,
        )
        return found.designs[0].ci_length

    with parallel_config(backend="dask", client=dask.client):
        there = lengths(-1)
    assert there == pytest.approx(lengths(1), rel=1e-9)


def test_workers_that_always_die_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpci_core.base.engines.MOST_LOSSES", 0)
    with Processes(1) as engine, pytest.raises(WorkersLostError):
        in_batches(engine=engine).total(AlwaysDeadly())


def test_progress_counts_batches_and_a_lying_batch_is_found() -> None:
    seen: list[tuple[int, int]] = []
    table = RecordBatches.listed(
        in_batches().batches, progress=lambda done, of_pass: seen.append((done, of_pass))
    )
    minimise(PenalisedRisk(table, loss=Logistic(), regularization=C))
    assert seen[:2] == [(1, 5), (2, 5)]
    assert seen[-1][0] % 5 == 0

    class Lying(MemoryBatch):
        n_rows = 701  # type: ignore[assignment]

    with pytest.raises(BatchError, match="700 rows instead of the 701"):
        RecordBatches.listed([Lying(X[:700])]).total(Derivatives(np.zeros(4), Logistic()))


def test_a_release_takes_batches() -> None:
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=PureDP(model=10**6, hessian=10**6, covariance=10**6),
        regularization=0.01,
        n_records=len(X),
        calibration="published",
    )
    one = draw_release(X, Y, design=design)
    other = draw_release(in_batches(), design=design)
    assert other.n_records == one.n_records == len(X)
    assert other.estimate == pytest.approx(one.estimate, abs=1e-3)
    assert other.hessian == pytest.approx(one.hessian, abs=1e-4)
