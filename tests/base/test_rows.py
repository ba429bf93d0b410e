"""Products with encoded and with weighted rows against those with the rows written out."""

from __future__ import annotations

import numpy as np
import pytest

from dpci_core.base.rows import (
    EncodedRows,
    WeightedRows,
    plain,
    signed,
    stacked,
    times_weights,
    unit_rows,
)

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


# --- rows with weights ----------------------------------------------------------------------------

LONG = 3.0 * RNG.normal(size=(50, 4))
W = np.minimum(1.0, 1.0 / (LONG**2).sum(axis=1))
WEIGHTED = WeightedRows(LONG, W)
assert (W < 1.0).any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights_enter_sums_and_not_margins(dtype: type) -> None:
    rows, eps = WEIGHTED.astype(dtype), 200 * np.finfo(dtype).eps
    theta, values = RNG.normal(size=4).astype(dtype), RNG.normal(size=50).astype(dtype)
    several = RNG.normal(size=(4, 3)).astype(dtype)
    assert (rows.shape, len(rows), rows.dtype, rows.size) == ((50, 4), 50, dtype, 200)
    assert rows.nbytes == 250 * np.dtype(dtype).itemsize
    slow_margins = [sum(LONG[i, j] * theta[j] for j in range(4)) for i in range(50)]
    slow_sum = [sum(values[i] * W[i] * LONG[i, j] for i in range(50)) for j in range(4)]
    for found, exact in (
        (rows @ theta, slow_margins),
        (rows @ several, LONG @ several),
        (values @ rows, slow_sum),
        (times_weights(values, rows), values * W),
        (plain(rows), LONG),
        (unit_rows(rows), LONG * np.sqrt(W)[:, None]),
    ):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, exact, rtol=eps, atol=eps)


def test_a_part_of_weighted_rows_keeps_their_weights() -> None:
    order = RNG.permutation(50)
    for chosen in (slice(3, 40, 5), order, W < 1.0):
        part = WEIGHTED[chosen]
        np.testing.assert_array_equal(part.rows, LONG[chosen])
        np.testing.assert_array_equal(part.weights, W[chosen])


def test_signs_turn_rows_and_leave_weights() -> None:
    turned = signed(WEIGHTED, Y)
    assert isinstance(turned, WeightedRows)
    np.testing.assert_array_equal(turned.rows, Y[:, None] * LONG)
    np.testing.assert_array_equal(turned.weights, W)
    np.testing.assert_array_equal(signed(LONG, Y), Y[:, None] * LONG)


def test_rows_without_weights_pass_through() -> None:
    assert plain(LONG) is LONG
    assert unit_rows(LONG) is LONG
    values = RNG.normal(size=50)
    assert times_weights(values, LONG) is values


LOSING = {
    "np.asarray": lambda rows: np.asarray(rows),
    "np.array": lambda rows: np.array(rows),
    "signs times": lambda rows: Y[:, None] * rows,
    "times signs": lambda rows: rows * Y[:, None],
    "2 times": lambda rows: 2.0 * rows,
    "plus": lambda rows: LONG + rows,
    "a ufunc": lambda rows: np.square(rows),
    "norm": lambda rows: np.linalg.norm(rows, axis=1),
    "einsum": lambda rows: np.einsum("ij,ij->i", rows, rows),
    "stack": lambda rows: np.vstack([rows, rows]),
    "contiguous": lambda rows: np.ascontiguousarray(rows),
}


@pytest.mark.parametrize("how", LOSING)
def test_no_array_is_made_that_has_lost_the_weights(how: str) -> None:
    with pytest.raises(TypeError):
        LOSING[how](WEIGHTED)


def test_blocks_keep_their_weights() -> None:
    parts = [WeightedRows(Z[:20], np.full(20, 0.5)), WeightedRows(Z[20:], np.full(30, 0.25))]
    whole = stacked(parts)
    assert isinstance(whole, WeightedRows)
    np.testing.assert_array_equal(whole.rows, Z)
    np.testing.assert_array_equal(whole.weights, [0.5] * 20 + [0.25] * 30)
    np.testing.assert_array_equal(stacked([Z[:20], Z[20:]]), Z)
    with pytest.raises(ValueError, match="all blocks of rows with weights, or none"):
        stacked([parts[0], Z])
