"""Dask arrays and data frames are tables whose chunks of rows are batches: the same bits as the
same rows in memory, and refusals in words.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpci_core import (
    Design,
    DPLogisticRegression,
    Logistic,
    PureDP,
    RecordBatches,
    fit_moments,
    private_intervals,
)
from dpci_core.base.batch import BatchError
from dpci_core.base.errors import DataRejectedError
from tests.refusals import refuses

array = pytest.importorskip("dask.array", reason="the extra dpci[dask] is not installed")
RNG = np.random.default_rng(5)
N, ROWS = 900, 300
CELLS = RNG.uniform(-1.0, 1.0, (N, 3))
LABELS = np.where(RNG.random(N) < 0.5 + 0.4 * CELLS[:, 0], 1.0, -1.0)
X = np.c_[CELLS, np.ones(N)] / 2.0
DESIGN = Design(
    loss=Logistic(),
    mechanism="output",
    budget=PureDP(model=1, hessian=1, covariance=1),
    regularization=0.01,
    n_records=N,
)


def chunked(values: Any, *columns: int) -> Any:
    return array.from_array(values, (ROWS, *columns))


def same(one: Any, other: Any) -> None:
    for name in ("theta_hat", "hessian", "covariance"):
        assert (getattr(one, name) == getattr(other, name)).all(), name


@pytest.mark.parametrize("labels", [LABELS, chunked(LABELS), array.from_array(LABELS, (250,))])
def test_chunks_are_batches_with_the_bits_of_the_rows_in_memory(labels: Any) -> None:
    given = {"loss": Logistic(), "regularization": 0.01}
    wanted = RecordBatches.of(X, LABELS, batch_rows=ROWS)
    same(fit_moments(chunked(X, 2), labels, **given), fit_moments(wanted, **given))
    one, other = (
        private_intervals(*table, design=DESIGN, rng=np.random.default_rng(1))
        for table in ((chunked(X, 4), labels), (wanted,))
    )
    assert (one.estimate == other.estimate).all()


def test_a_chunk_travels_without_the_others_and_empty_ones_are_left_out() -> None:
    table = RecordBatches.of(array.from_array(X, ((0, 300, 0, 600), 4)), LABELS)
    assert [batch.n_rows for batch in table.batches] == [300, 600]
    assert len(pickle.dumps(table.batches[0])) < 0.6 * X.nbytes


def model(**given: Any) -> DPLogisticRegression:
    usual = {"budget": DESIGN.budget, "feature_bounds": (-1.0, 1.0), "random_state": 3}
    return DPLogisticRegression(**usual, classes=[-1.0, 1.0], **given)


def test_estimators_fit_arrays_and_data_frames() -> None:
    frame = pytest.importorskip("dask.dataframe").from_pandas(
        pd.DataFrame(CELLS, columns=["a", "b", "c"]), npartitions=3
    )
    wanted = model().fit(CELLS, LABELS)
    found = model().fit(chunked(CELLS, 3), LABELS)
    assert found.coef_ == pytest.approx(wanted.coef_, rel=1e-6)
    of_frame = model().fit(frame, chunked(LABELS))
    assert (of_frame.coef_ == found.coef_).all()
    assert list(of_frame.feature_names_in_) == ["a", "b", "c"]
    assert found.predict(CELLS).shape == (N,)


def test_what_does_not_fit_is_refused_without_a_value() -> None:
    unknown = chunked(CELLS, 3)[chunked(LABELS) > 0]
    for table, labels, match in (
        (unknown, LABELS, "compute_chunk_sizes"),
        (chunked(CELLS, 3), LABELS[:-1], "y"),
        (chunked(LABELS), LABELS, "2"),
        (chunked(CELLS.astype(str), 3), LABELS, "numbers"),
        (chunked(CELLS[:0], 3), LABELS[:0], "record"),
    ):
        with refuses(ValueError, match=match):
            model().fit(table, labels)
    spoilt = np.where(np.arange(N)[:, None] == 700, 31337.5 * np.nan, CELLS)
    with refuses(DataRejectedError, match="in every row. Which rows break it is not said"):
        model().fit(chunked(spoilt, 3), LABELS)
    with refuses(DataRejectedError, match="700|701"):
        fit_moments(
            chunked(np.where(np.arange(N)[:, None] == 700, 31337.5, X), 4),
            LABELS,
            loss=Logistic(),
            regularization=0.01,
        )
    with refuses(DataRejectedError, match="declared classes"):
        model().fit(chunked(CELLS, 3), np.where(np.arange(N) == 2, 31337.5, LABELS))
    with refuses(BatchError, match="ZeroDivisionError"):
        model().fit(chunked(CELLS, 3).map_blocks(lambda x: x / (1 // 0), dtype=float), LABELS)
    with refuses(DataRejectedError, match="finite number in every feature"):
        model().fit(chunked(np.ma.masked_less(CELLS, 0.0), 3), LABELS)
    with refuses(BatchError, match="masked entries would count"):
        masked = chunked(np.ma.masked_less(X, 0.0), 4)
        fit_moments(masked, LABELS, loss=Logistic(), regularization=0.01)
    with pytest.raises(ValueError, match="classes"):
        DPLogisticRegression(budget=DESIGN.budget, feature_bounds=(-1.0, 1.0)).fit(
            chunked(CELLS, 3), LABELS
        )
