"""Rows measured by a public map: against a slow loop, within the rule exactly, one at a time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpci_core.base.array import Array
from dpci_core.base.packed import written_out
from dpci_core.base.rows import WeightedRows, parted, plain
from dpci_core.planner.standard import ellipsoid
from dpci_core.schema import (
    Guesses,
    NumericColumn,
    RecordMapper,
    Schema,
    StandardEncoding,
    basis_of,
    encode,
    simulate_twin,
)
from tests.schema.test_standard import HOSTILE, SCHEMA, cells_of, coded, make_table, weighted

P = 9
Shape = tuple[tuple[float, ...], ...]


def shape_of(seed: int, p: int = P) -> Shape:
    rng = np.random.default_rng(seed)
    U = np.triu(rng.normal(size=(p, p)), 1) + np.diag(rng.uniform(0.05, 1.5, p))
    return tuple(tuple(float(x) for x in row[k:]) for k, row in enumerate(U))


def with_shape(seed: int, schema: Schema = SCHEMA) -> Schema:
    p = len(schema.feature_names) + 1
    return replace(schema, standard=StandardEncoding(limit=2.5, shape=shape_of(seed, p)))


def spreads(frame: pd.DataFrame) -> Array:
    """The rows v."""
    return plain(coded(frame, replace(SCHEMA, standard=StandardEncoding(limit=2.5))).X)


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_those_of_a_slow_loop(seed: int) -> None:
    frame, shape = make_table(), shape_of(seed)
    X = weighted(coded(frame, with_shape(seed)))
    for v, x, weight in zip(spreads(frame), X.rows, X.weights, strict=True):
        by_hand = [sum(u * v[k + j] for j, u in enumerate(row)) for k, row in enumerate(shape)]
        np.testing.assert_allclose(x, by_hand, rtol=1e-12, atol=1e-13)
        assert weight == pytest.approx(min(1.0, 1.0 / sum(e**2 for e in by_hand)), rel=1e-11)
    assert (X.weights < 1.0).mean() > 0.05


@pytest.mark.parametrize("seed", range(3))
def test_the_rule_holds_exactly(seed: int) -> None:
    X = weighted(coded(make_table(), with_shape(seed)))
    for row, weight in zip(X.rows, X.weights, strict=True):
        size = Fraction(float(weight)) * sum(Fraction(float(x)) ** 2 for x in row)
        assert size <= 1
        assert weight == 1.0 or size > 1 - Fraction(1, 10**11)


def test_a_row_has_the_same_bits_wherever_it_stands() -> None:
    """At the ends of blocks, alone, and beside other records."""
    schema, frame = with_shape(0), make_table(70_000)
    X = weighted(coded(frame, schema))
    for i in (0, 1, 32_767, 32_768, 65_535, 65_536, 69_999):
        alone = weighted(coded(frame.iloc[[i]], schema))
        np.testing.assert_array_equal(alone.rows[0], X.rows[i])
        assert alone.weights[0] == X.weights[i]


def test_mapped_and_packed_rows_have_the_same_bits() -> None:
    schema, frame = with_shape(1), make_table()
    mapper, records = RecordMapper(schema), coded(frame, schema)
    X, y = mapper.records_of(cells_of(frame))
    np.testing.assert_array_equal(plain(X), plain(records.X))
    np.testing.assert_array_equal(y, records.y)
    (packed,) = written_out([mapper.packed(cells_of(frame))])
    rows, weights = parted(packed)
    np.testing.assert_array_equal(rows, y[:, None] * plain(X))
    np.testing.assert_array_equal(weights, weighted(records).weights)


def test_hostile_cells_keep_the_rule() -> None:
    mapper = RecordMapper(with_shape(2))
    X, _ = mapper.records_of({name: list(HOSTILE) for name in mapper.needed})
    assert isinstance(X, WeightedRows)
    squares = np.einsum("ij,ij->i", X.rows, X.rows)
    assert (X.weights * squares <= 1.0).all()


def test_margins_are_those_of_the_named_coefficients() -> None:
    frame, schema = make_table(), with_shape(0)
    records = coded(frame, schema)
    B = records.meaning.basis
    assert B is not None
    np.testing.assert_array_equal(B, basis_of(schema))
    for seed in range(5):
        theta = np.random.default_rng(seed).normal(size=P)
        np.testing.assert_allclose(
            plain(records.X) @ theta, spreads(frame) @ (B @ theta), rtol=0, atol=1e-11
        )


def test_rows_in_full_have_no_limit() -> None:
    column = NumericColumn("x", -50, 50, typical=0, spread=1, limit=3)
    schema = Schema(
        (column,), "y", "1", standard=StandardEncoding(limit=2, shape=((0.5, 0.1), (1.0,)))
    )
    frame = pd.DataFrame({"x": [0.0, 2.5, 40.0, None], "y": ["1", "0", "1", "0"]})
    records = encode(frame, schema, source="simulated", title="t")
    assert records.meaning.in_full is not None
    np.testing.assert_allclose(plain(records.X)[:, 0], [0.1, 1.35, 1.6, 0.0])
    np.testing.assert_allclose(records.meaning.in_full[:, 0], [0.1, 1.35, 20.1, 0.0])
    near = replace(schema, features=(replace(column, low=-2, high=2),))
    assert encode(frame, near, source="simulated", title="t").meaning.in_full is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"shape": ((1.0, 0.0), (1.0, 1.0))}, "Expected 1 numbers in row 1 of shape, got 2"),
        ({"shape": ((0.0, 0.0), (1.0,))}, r"shape\[0\]\[0\]"),
        ({"shape": ((1.0, float("nan")), (1.0,))}, r"shape\[0\]\[1\]"),
        ({"shape": ((1.0, 1e9), (1.0,))}, r"shape\[0\]\[1\]"),
        ({"shape": 0.5}, "shape=0.5"),
    ],
)
def test_a_bad_shape_is_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        StandardEncoding(**given)


def test_a_shape_is_for_the_features_that_are_used() -> None:
    with pytest.raises(ValueError, match="a shape of 3 rows"):
        coded(make_table(), with_shape(0), features=("age", "hours"))


# --- the ellipsoid --------------------------------------------------------------------------------


def twin_rows(seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    one = rng.normal(size=(4000, 1))
    V = np.c_[one, 0.95 * one + 0.3 * rng.normal(size=(4000, 1)), rng.random((4000, 1)) < 0.05]
    return np.c_[V, np.ones(4000)]


def matrix_of(shape: Shape) -> Array:
    return StandardEncoding(shape=shape).map_of(len(shape))


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_the_ellipsoid_holds_its_share_and_is_small(share: float) -> None:
    """Smaller than the sphere and than the ellipsoid of the second moment around as many rows; a
    rare level is not left out.
    """
    V = twin_rows()
    U = matrix_of(ellipsoid(V, share))
    assert (np.linalg.norm(V @ U.T, axis=1) <= 1.02).mean() >= share - 0.01
    volume = -np.linalg.slogdet(U)[1]
    radius = np.quantile(np.linalg.norm(V, axis=1), share)
    assert volume < 4.0 * np.log(radius) - 0.3
    W = np.linalg.cholesky(np.linalg.inv(V.T @ V)).T
    reach = np.quantile(np.linalg.norm(V @ W.T, axis=1), share)
    assert volume < 4.0 * np.log(reach) - np.linalg.slogdet(W)[1] + 0.02
    rare = np.linalg.norm(V[V[:, 2] == 1.0] @ U.T, axis=1)
    assert np.median(rare) < 5.0


def test_the_ellipsoid_follows_units() -> None:
    """In other units and mixtures it is the same ellipsoid, to the three digits it is told with."""
    V = twin_rows()
    A = np.array([[2.0, 0.3, 0.0, 0.1], [0.0, 0.5, 0.2, 0.0], [0.0, 0.0, 3.0, 0.4], [0, 0, 0, 1.0]])
    one, other = matrix_of(ellipsoid(V, 1.0)), matrix_of(ellipsoid(V @ A.T, 1.0)) @ A
    np.testing.assert_allclose(other.T @ other, one.T @ one, rtol=0.05, atol=0.02)


def test_a_direction_that_no_row_has_costs_nothing() -> None:
    """All levels of a column and the constant: the ellipsoid is finite all the same."""
    V = np.c_[np.eye(3)[np.arange(300) % 3], np.ones(300)]
    U = matrix_of(ellipsoid(V, 1.0))
    assert np.isfinite(U).all()
    assert np.linalg.norm(V @ U.T, axis=1).max() < 1.02


def test_a_twin_says_that_it_is_one() -> None:
    schema = Schema((NumericColumn("x", 0, 1),), "y", "1")
    assert simulate_twin(schema, guesses=Guesses(n_rows=100)).meaning.is_simulated


def test_a_digest_covers_the_rows_in_full() -> None:
    """Beyond the limit tables may differ that are encoded alike."""
    column = NumericColumn("x", -50, 50, typical=0, spread=1)
    schema = Schema((column,), "y", "1", standard=StandardEncoding(shape=2.0, limit=2.0))
    one, other = (
        encode(
            pd.DataFrame({"x": [0.0, far], "y": ["1", "0"]}), schema, source="simulated", title="t"
        )
        for far in (10.0, 40.0)
    )
    np.testing.assert_array_equal(plain(one.X), plain(other.X))
    assert one.digest != other.digest
