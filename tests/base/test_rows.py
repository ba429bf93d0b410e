"""Products with encoded rows against those with the rows written out."""

from __future__ import annotations

import numpy as np
import pytest

from dpci_core.base.rows import EncodedRows, WeightedRows, stacked

RNG = np.random.default_rng(0)
Z, Y = RNG.uniform(-1, 1, (50, 3)), RNG.choice([-1.0, 1.0], 50)


def written(signs: np.ndarray | None) -> np.ndarray:
    rows = np.c_[0.3 * Z, np.full(50, 0.6)]
    return rows if signs is None else signs[:, None] * rows


@pytest.mark.parametrize("signs", [None, Y], ids=["unsigned", "signed"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_and_slices(signs: np.ndarray | None, dtype: type) -> None:
    plain = EncodedRows(Z, scale=0.3, constant=0.6)
    rows = (plain if signs is None else plain.signed(signs)).astype(dtype)
    A, eps = written(signs), 50 * np.finfo(dtype).eps
    theta, weights = RNG.normal(size=4).astype(dtype), RNG.normal(size=50).astype(dtype)
    assert rows.shape == A.shape == (len(rows), 4)
    assert rows.dtype == dtype
    for found, exact in (
        (rows @ theta, A @ theta),
        (weights @ rows, weights @ A),
        (rows[:], A),
        (rows[3:40:5], A[3:40:5]),
        (np.asarray(rows), A),
    ):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, exact, rtol=eps, atol=eps)


def test_several_scores_at_once() -> None:
    thetas = RNG.normal(size=(4, 3))
    np.testing.assert_allclose(
        EncodedRows(Z, scale=0.3, constant=0.6) @ thetas, written(None) @ thetas, rtol=1e-12
    )


def test_rows_are_rounded_once() -> None:
    rows = EncodedRows(Z, scale=0.3, constant=0.6, signs=Y)[:]
    np.testing.assert_array_equal(rows[:, :-1], Y[:, None] * (Z * 0.3))
    np.testing.assert_array_equal(rows[:, -1], Y * 0.6)


def test_blocks_keep_their_weights() -> None:
    parts = [WeightedRows(Z[:20], np.full(20, 0.5)), WeightedRows(Z[20:], np.full(30, 0.25))]
    whole = stacked(parts)
    assert isinstance(whole, WeightedRows)
    np.testing.assert_array_equal(whole.rows, Z)
    np.testing.assert_array_equal(whole.weights, [0.5] * 20 + [0.25] * 30)
    np.testing.assert_array_equal(stacked([Z[:20], Z[20:]]), Z)
    with pytest.raises(ValueError, match="all blocks of rows with weights, or none"):
        stacked([parts[0], Z])
