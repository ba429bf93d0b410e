"""A further kind of rows is one class: here rows that are made anew at every pass, and never held.

It says how many there are and hands them over in chunks. Everything else that a fit, a forecast, an
experiment or a release asks of a table is a sum, which `base.batches` adds up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import expit

from dpci_core import (
    Design,
    Logistic,
    PureDP,
    RecordBatches,
    fit_moments,
    forecast,
    private_intervals,
    run_experiment,
)
from dpci_core.base.batch import CHUNK_ROWS, Batch, BatchError, Block, MemoryBatch
from dpci_core.intervals.draw import draw_release

Array = npt.NDArray[np.float64]
C = 0.01


@dataclass(frozen=True)
class MadeBatch(Batch):
    """Rows y x of a generator that starts at the same seed every time."""

    seed: int
    n_rows: int
    dim: int = 3
    is_weighted: bool = False
    short_of: int = 0

    def chunks(self) -> Iterator[Block]:
        rng = np.random.default_rng(self.seed)
        left = self.n_rows - self.short_of
        while left > 0:
            n = min(left, CHUNK_ROWS)
            X = np.c_[rng.uniform(-0.5, 0.5, (n, self.dim - 1)), np.full(n, 0.6)]
            chance = expit(3.0 * X[:, 0] - X[:, 1] - 0.5)
            yield np.where(rng.random(n) < chance, 1.0, -1.0)[:, None] * X
            left -= n


MADE = (MadeBatch(1, 10_000), MadeBatch(2, 3_000))
N = sum(batch.n_rows for batch in MADE)
DESIGN = Design(
    loss=Logistic(),
    mechanism="objective",
    budget=PureDP(model="2", hessian="1", covariance="1"),
    regularization=C,
    n_records=N,
    calibration="sharp",
)


def held() -> RecordBatches:
    """The same rows in memory, in the same batches."""
    return RecordBatches.listed(
        tuple(MemoryBatch(np.concatenate([*batch.chunks()])) for batch in MADE)
    )


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("target", ["penalised", "unpenalised"])
def test_it_fits_forecasts_and_simulates_as_rows_in_memory_do(mechanism: str, target: str) -> None:
    design = replace(DESIGN, mechanism=mechanism, target=target)

    def numbers(table: RecordBatches) -> list[Array]:
        moments = fit_moments(table, loss=design.loss, regularization=C, target=target)
        seen = forecast(moments, design=design)
        drawn = private_intervals(table, design=design, rng=np.random.default_rng(3))
        (many,) = run_experiment(
            table, designs=[design], n_variability=3, n_coverage=3, rng=np.random.default_rng(4)
        ).designs
        return [
            moments.theta_hat,
            moments.hessian,
            seen.ci_length,
            seen.vi_length,
            drawn.low,
            drawn.high,
            many.ci_length,
            many.vi_length,
            many.coverage,
        ]

    for ours, theirs in zip(numbers(RecordBatches.listed(MADE)), numbers(held()), strict=True):
        assert np.isfinite(ours).all()
        np.testing.assert_array_equal(ours, theirs)


def test_the_fit_is_that_of_one_table() -> None:
    rows = np.concatenate([chunk for batch in MADE for chunk in batch.chunks()])
    ours = fit_moments(RecordBatches.listed(MADE), loss=DESIGN.loss, regularization=C)
    whole = fit_moments(rows, np.ones(N), loss=DESIGN.loss, regularization=C)
    np.testing.assert_allclose(ours.theta_hat, whole.theta_hat, rtol=1e-7)
    np.testing.assert_allclose(ours.hessian, whole.hessian, rtol=1e-9)


def test_it_is_released() -> None:
    drawn = draw_release(RecordBatches.listed(MADE), design=DESIGN)
    truth = fit_moments(held(), loss=DESIGN.loss, regularization=C).theta_hat
    # The noise has standard deviation 0.01 here: 20 of them, and an error of the sign is 2 or more.
    np.testing.assert_allclose(drawn.theta_priv, truth, atol=0.2)
    assert (drawn.low < drawn.high).all()


def test_rows_that_are_fewer_than_declared_are_refused() -> None:
    table = RecordBatches.listed((MADE[0], replace(MADE[1], short_of=1)))
    with pytest.raises(BatchError):
        fit_moments(table, loss=DESIGN.loss, regularization=C)
