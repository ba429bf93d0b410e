"""Experiments on tables in batches: exact replicates, the same bits wherever batches are read, and
the fits and moments of the rows that were drawn.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpci_core import Design, Geometry, Logistic, Processes, PureDP, run_experiment
from dpci_core.base.batch import BatchError
from dpci_core.base.batches import RecordBatches
from dpci_core.base.rows import WeightedRows, signed
from dpci_core.simulation import run as experiments
from dpci_core.solvers import batch_replicates
from dpci_core.solvers.batch_replicates import (
    BatchTable,
    DrawnCounts,
    drawn_moments,
    fit_drawn,
    second_moments,
)
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.risk import PenalisedRisk

Array = np.ndarray
C = 0.01
N = 900
_rng = np.random.default_rng(8)
X = np.c_[_rng.uniform(-1.0, 1.0, (N, 2)), np.ones(N)] / np.sqrt(3.0)
Y = np.where(_rng.random(N) < 0.5 + 0.4 * X[:, 0], 1.0, -1.0)
BUDGET = PureDP(model=1, hessian=1, covariance=1)
DESIGN = Design(
    loss=Logistic(),
    mechanism="objective",
    budget=BUDGET,
    regularization=C,
    n_records=N,
    calibration="published",
)


def batches(X: Array | WeightedRows = X, rows: int = 250, **given: object) -> RecordBatches:
    return RecordBatches.of(X, Y, batch_rows=rows, **given)  # type: ignore[arg-type]


def experiment(table: RecordBatches, **given: object) -> object:
    options = {"designs": [DESIGN], "n_variability": 8, "n_coverage": 4} | given
    return run_experiment(table, rng=np.random.default_rng(2), **options)  # type: ignore[arg-type]


def test_a_replicate_has_its_records_exactly() -> None:
    table = batches()
    drawn = DrawnCounts.of(table, seed=3, first=5, last=9, n_records=700)
    assert drawn.splits.sum(axis=1).tolist() == [700] * 4
    for b in range(4):
        for index, batch in enumerate(table.batches):
            counts = drawn.of_one(b, index, batch.n_rows)
            assert counts.sum() == drawn.splits[b, index]
    later = DrawnCounts.of(table, seed=3, first=7, last=9, n_records=700)
    assert (later.splits == drawn.splits[2:]).all()
    assert (later.of_one(0, 1, 250) == drawn.of_one(2, 1, 250)).all()


@pytest.mark.parametrize("rows", [X, WeightedRows.of(2.0 * X)])
def test_fits_and_moments_are_those_of_the_rows_that_were_drawn(
    rows: Array | WeightedRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = BatchTable.of(batches(rows), loss=Logistic(), regularization=C)
    drawn = DrawnCounts.of(table.batches, seed=3, first=0, last=3, n_records=N)
    noise = np.random.default_rng(1).normal(0.0, 20.0, (3, 3))
    found = fit_drawn(table, drawn, n_records=N, noise_vector=noise)
    assert found.converged.all()
    H, S = drawn_moments(table, drawn, found.theta, n_records=N)
    M = second_moments(table, drawn, n_records=N)
    A = signed(rows, Y)
    for b in range(3):
        times = [drawn.of_one(b, k, part.n_rows) for k, part in enumerate(table.batches.batches)]
        repeated = A[np.repeat(np.arange(N), np.concatenate(times).astype(int))]
        given = {"loss": Logistic(), "regularization": C}
        whole = minimise(PenalisedRisk(repeated, noise_vector=noise[b], **given))
        assert found.theta[b] == pytest.approx(whole.theta, abs=1e-6)
        for one, other in zip(
            (H[b], S[b]), PenalisedRisk(repeated, **given).moments(found.theta[b]), strict=True
        ):
            assert one == pytest.approx(other, rel=1e-5, abs=1e-8)
        assert M[b].trace() <= 1.0
    monkeypatch.setattr(batch_replicates, "_MAX_PASSES", 0)
    alone = fit_drawn(table, drawn, n_records=N, noise_vector=noise)
    assert alone.theta == pytest.approx(found.theta, abs=1e-6)


def test_where_batches_are_read_and_how_many_at_once_changes_no_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = experiment(batches())
    with Processes(2) as engine:
        there = experiment(batches(engine=engine))
    monkeypatch.setattr(experiments, "_STREAMED", 3)
    few = experiment(batches())
    for other in (there, few):
        for one, same in zip(here.designs, other.designs, strict=True):
            assert (one.ci_length == same.ci_length).all()
            assert (one.vi_length == same.vi_length).all()
    assert here.n_rows == N


def test_a_table_of_one_batch_is_the_table() -> None:
    whole = run_experiment(
        X, Y, designs=[DESIGN], n_variability=8, n_coverage=4, rng=np.random.default_rng(2)
    )
    one = experiment(batches(rows=N))
    assert one.designs[0].ci_length == pytest.approx(whole.designs[0].ci_length, rel=1e-9)


def test_batches_agree_with_the_table_in_every_design() -> None:
    """The same law: means of a few replicates within their errors, for what a design may ask."""
    geometry = Geometry(ridge=0.05, leverage=4.0)
    shaped = Design(
        loss=Logistic(),
        mechanism="objective",
        budget=PureDP(model=1, hessian=1, covariance=1, metric=1),
        regularization=C,
        n_records=N,
        calibration="sharp",
        geometry=geometry,
    )
    target = Design(
        loss=Logistic(),
        mechanism="output",
        budget=BUDGET,
        regularization=C,
        n_records=N,
        calibration="sharp",
        target="unpenalised",
    )
    designs = [DESIGN, shaped, target]
    given = {"designs": designs, "n_variability": 24, "n_coverage": 24}
    found = experiment(batches(), **given)
    whole = run_experiment(X, Y, rng=np.random.default_rng(2), **given)  # type: ignore[arg-type]
    for one, other in zip(found.designs, whole.designs, strict=True):
        assert one.n_failed == 0
        assert one.ci_length.mean() == pytest.approx(other.ci_length.mean(), rel=0.1)


def test_stopping_and_bad_numbers() -> None:
    stopped = experiment(batches(), should_stop=lambda: True)
    assert stopped.n_done == 0
    with pytest.raises(ValueError, match="y=None"):
        run_experiment(batches(), Y, designs=[DESIGN], rng=np.random.default_rng(0))
    with pytest.raises(BatchError):
        RecordBatches.listed(())
