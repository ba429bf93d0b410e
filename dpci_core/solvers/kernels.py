"""Compiled passes over a table for many weighted replicates at once; they release the interpreter's
lock.

Rows are visited in blocks that stay in the first-level cache while all replicates of a batch use
them. A replicate's result does not depend on the others of its batch, to the last bit. `columns` is
the table turned on its side, (p, n). The arithmetic has the precision of the arrays: single for the
first steps of a fit, double for the ones that certify.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dpci_core.base.array import Array, Integers, Single

Floats = Single | Array
Counts = Single
"""How often each row was drawn: whole numbers below 2^24, which single precision holds exactly."""

LOGISTIC, HUBER, SMOOTHED = 0, 1, 2
BLOCK_ROWS = 512
_SATURATED = 37.0
"""Beyond it the sigmoid differs from 0 or 1 by less than rounding."""


@njit(error_model="numpy", fastmath={"contract"}, cache=True)
def _add_margins(columns: Floats, start: int, theta: Floats, z: Floats) -> None:
    """Add the margins of theta to z, over the rows of a block from `start` on."""
    p, size = columns.shape[0], len(z)
    # Four columns at a time: the sums are bound by loads and stores of z.
    whole = p - p % 4
    for j in range(0, whole, 4):
        one, two = columns[j, start : start + size], columns[j + 1, start : start + size]
        three, four = columns[j + 2, start : start + size], columns[j + 3, start : start + size]
        a, b, c, d = theta[j], theta[j + 1], theta[j + 2], theta[j + 3]
        for i in range(size):
            z[i] += (one[i] * a + two[i] * b) + (three[i] * c + four[i] * d)
    for j in range(whole, p):
        last, factor = columns[j, start : start + size], theta[j]
        for i in range(size):
            z[i] += last[i] * factor


@njit(error_model="numpy", fastmath={"contract", "nnan"}, cache=True)
def _sigmoids(z: Array, counts: Counts) -> None:
    """z becomes counts * sigmoid(-z), with relative error below 1e-13.

    e^z = 2^k e^r: k is written into the exponent bits and e^r is a Taylor polynomial, |r| <= 0.35.
    Plain arithmetic, which compilers turn into vector instructions; the library's exponential is a
    call for each number.
    """
    for i in range(len(z)):
        x = z[i]
        x = x if x < _SATURATED else _SATURATED
        x = x if x > -_SATURATED else -_SATURATED
        shifted = (
            x * 1.4426950408889634 + 6755399441055744.0
        )  # 1.5 * 2^52: the last bits hold the rounded number
        k = shifted - 6755399441055744.0
        r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10
        e = r * (1.0 / 39916800.0) + 1.0 / 3628800.0
        e = e * r + 1.0 / 362880.0
        e = e * r + 1.0 / 40320.0
        e = e * r + 1.0 / 5040.0
        e = e * r + 1.0 / 720.0
        e = e * r + 1.0 / 120.0
        e = e * r + 1.0 / 24.0
        e = e * r + 1.0 / 6.0
        e = e * r + 0.5
        e = e * r + 1.0
        e = e * r + 1.0
        power = (np.float64(shifted).view(np.int64) << np.int64(52)) + np.int64(1023 << 52)
        z[i] = counts[i] / (1.0 + e * np.int64(power).view(np.float64))


_F = np.float32


@njit(error_model="numpy", fastmath={"contract", "nnan"}, cache=True)
def _single_sigmoids(z: Single) -> None:
    """`_sigmoids` in single precision, with relative error below 1e-6."""
    for i in range(len(z)):
        x = z[i]
        x = x if x < _F(_SATURATED) else _F(_SATURATED)
        x = x if x > _F(-_SATURATED) else _F(-_SATURATED)
        k = (x * _F(1.44269504) + _F(12582912.0)) - _F(12582912.0)  # rounds to a whole number
        r = (x - k * _F(0.693359375)) + k * _F(2.12194440e-4)
        e = r * _F(1.0 / 720.0) + _F(1.0 / 120.0)
        e = e * r + _F(1.0 / 24.0)
        e = e * r + _F(1.0 / 6.0)
        e = e * r + _F(0.5)
        e = e * r + _F(1.0)
        e = e * r + _F(1.0)
        power = np.int32((np.int32(k) + np.int32(127)) << np.int32(23))
        z[i] = _F(1.0) / (_F(1.0) + e * power.view(np.float32))


@njit(error_model="numpy", fastmath={"contract", "nnan"}, cache=True)
def _ramps(z: Floats, h: float) -> None:
    """z becomes minus the slope of the Huber SVM, clip((1 + h - z) / (2h), 0, 1), the ramp of both
    SVMs.
    """
    kind = z.dtype.type
    zero, one, edge, scale = kind(0.0), kind(1.0), kind(1.0 + h), kind(0.5 / h)
    for i in range(len(z)):
        x = (edge - z[i]) * scale
        x = x if x < one else one
        z[i] = x if x > zero else zero


@njit(error_model="numpy", fastmath={"contract", "nnan"}, cache=True)
def _smooth(s: Floats) -> None:
    """The ramp s becomes that of the smoothed hinge, s^2 (3 - 2s)."""
    two, three = s.dtype.type(2.0), s.dtype.type(3.0)
    for i in range(len(s)):
        s[i] = s[i] * s[i] * (three - two * s[i])


@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"}, cache=True)
def _add_products(columns: Floats, start: int, weights: Floats, sums: Array) -> None:
    """sums += columns @ weights over the rows of the block."""
    p, size = columns.shape[0], len(weights)
    whole = p - p % 4
    for j in range(0, whole, 4):
        one, two = columns[j, start : start + size], columns[j + 1, start : start + size]
        three, four = columns[j + 2, start : start + size], columns[j + 3, start : start + size]
        a = weights.dtype.type(0.0)
        b, c, d = a, a, a
        for i in range(size):
            a += weights[i] * one[i]
            b += weights[i] * two[i]
            c += weights[i] * three[i]
            d += weights[i] * four[i]
        sums[j] += a
        sums[j + 1] += b
        sums[j + 2] += c
        sums[j + 3] += d
    for j in range(whole, p):
        last = columns[j, start : start + size]
        total = weights.dtype.type(0.0)
        for i in range(size):
            total += weights[i] * last[i]
        sums[j] += total


@njit(error_model="numpy", fastmath={"contract", "reassoc", "nsz"}, cache=True)
def _add_gram(columns: Array, start: int, weights: Array, scaled: Array, gram: Array) -> None:
    """Lower triangle of gram += sum of weights_i a_i a_i' over the rows of the block."""
    size = len(weights)
    for j in range(columns.shape[0]):
        column = columns[j, start : start + size]
        for i in range(size):
            scaled[i] = weights[i] * column[i]
        for k in range(j + 1):
            other = columns[k, start : start + size]
            total = 0.0
            for i in range(size):
                total += scaled[i] * other[i]
            gram[j, k] += total


@njit(error_model="numpy", fastmath={"contract"}, cache=True)
def _times(z: Floats, counts: Counts) -> None:
    """Multiply z by the counts, in place."""
    for i in range(len(z)):
        z[i] *= counts[i]


@njit(nogil=True, error_model="numpy", cache=True)
def excess_sums(
    columns: Floats, values: Floats, counts: Counts, mean_count: float, sums: Array
) -> None:
    """sums (B, p) = sum over rows of (counts[b, i] - mean_count) values[i] columns[:, i].

    Terms of both signs nearly cancel, so that single precision loses little.
    """
    n = columns.shape[1]
    z = np.empty_like(values[:BLOCK_ROWS])
    mean = values.dtype.type(mean_count)
    sums[:] = 0.0
    for start in range(0, n, BLOCK_ROWS):
        size = min(BLOCK_ROWS, n - start)
        for b in range(len(sums)):
            count = counts[b, start : start + size]
            value = values[start : start + size]
            for i in range(size):
                z[i] = (count[i] - mean) * value[i]
            _add_products(columns, start, z[:size], sums[b])


@njit(nogil=True, error_model="numpy", cache=True)
def weighted_slopes(
    columns: Array, thetas: Array, counts: Counts, which: Integers, kind: int, h: float, sums: Array
) -> None:
    """sums (B, p) = sum over rows of counts[which[b], i] |f'(margin of thetas[b])| columns[:,
    i].
    """
    n = columns.shape[1]
    z = np.empty(BLOCK_ROWS)
    sums[:] = 0.0
    for start in range(0, n, BLOCK_ROWS):
        size = min(BLOCK_ROWS, n - start)
        for b in range(len(thetas)):
            z[:size] = 0.0
            _add_margins(columns, start, thetas[b], z[:size])
            count = counts[which[b], start : start + size]
            if kind == LOGISTIC:
                _sigmoids(z[:size], count)
            else:
                _ramps(z[:size], h)
                if kind == SMOOTHED:
                    _smooth(z[:size])
                _times(z[:size], count)
            _add_products(columns, start, z[:size], sums[b])


@njit(nogil=True, error_model="numpy", cache=True)
def slope_changes(
    columns: Single,
    margins: Single,
    slopes: Single,
    steps: Single,
    counts: Counts,
    which: Integers,
    kind: int,
    h: float,
    sums: Array,
) -> None:
    """`weighted_slopes` of margins + columns' steps[b], less that of the margins, at about half the
    cost.

    Single precision is enough because only changes are summed: they are small, and so are their
    rounding errors.
    """
    n = columns.shape[1]
    z = np.empty(BLOCK_ROWS, dtype=np.float32)
    sums[:] = 0.0
    for start in range(0, n, BLOCK_ROWS):
        size = min(BLOCK_ROWS, n - start)
        for b in range(len(steps)):
            z[:size] = margins[start : start + size]
            _add_margins(columns, start, steps[b], z[:size])
            if kind == LOGISTIC:
                _single_sigmoids(z[:size])
            else:
                _ramps(z[:size], h)
                if kind == SMOOTHED:
                    _smooth(z[:size])
            count, slope = counts[which[b], start : start + size], slopes[start : start + size]
            for i in range(size):
                z[i] = (z[i] - slope[i]) * count[i]
            _add_products(columns, start, z[:size], sums[b])


@njit(error_model="numpy", cache=True)
def single_slopes(margins: Single, kind: int, h: float) -> Single:
    """|f'| at the margins, exactly as `slope_changes` computes it."""
    z = margins.copy()
    if kind == LOGISTIC:
        _single_sigmoids(z)
    else:
        _ramps(z, h)
        if kind == SMOOTHED:
            _smooth(z)
    return z


@njit(nogil=True, error_model="numpy", cache=True)
def weighted_moments(
    columns: Array,
    thetas: Array,
    counts: Counts,
    squared: Counts,
    kind: int,
    h: float,
    hessian: Array,
    second: Array,
) -> None:
    """Lower triangles (B, p, p) of the sums of counts f'' a a' and squared f'^2 a a'; one that is
    empty, (0, p, p), is left out.

    squared: the counts themselves; with weights, counts of w^2 where the others are of w.
    """
    n = columns.shape[1]
    z, weights, scaled = np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS)
    ones = np.ones(BLOCK_ROWS, dtype=np.float32)
    hessian[:] = 0.0
    second[:] = 0.0
    for start in range(0, n, BLOCK_ROWS):
        size = min(BLOCK_ROWS, n - start)
        for b in range(len(thetas)):
            z[:size] = 0.0
            _add_margins(columns, start, thetas[b], z[:size])
            if kind == LOGISTIC:
                _sigmoids(z[:size], ones[:size])
                for i in range(size):
                    weights[i] = z[i] * (1.0 - z[i])
            elif kind == HUBER:
                for i in range(size):
                    weights[i] = 0.5 / h if abs(1.0 - z[i]) <= h else 0.0
                _ramps(z[:size], h)
            else:
                _ramps(z[:size], h)
                for i in range(size):
                    weights[i] = 3.0 * z[i] * (1.0 - z[i]) / h
                _smooth(z[:size])
            if len(hessian):
                _times(weights[:size], counts[b, start : start + size])
                _add_gram(columns, start, weights[:size], scaled, hessian[b])
            if len(second):
                for i in range(size):
                    weights[i] = z[i] * z[i]
                _times(weights[:size], squared[b, start : start + size])
                _add_gram(columns, start, weights[:size], scaled, second[b])


@njit(nogil=True, cache=True)
def count_draws(raw: npt.NDArray[np.uint64], n_records: int, counts: Counts) -> int:
    """Draw rows from random words, two each, until n_records are drawn; returns how many were.

    A 32-bit number u gives row floor(u N / 2^32); the few u that would favour some rows are passed
    over [Lemire 2019].
    """
    n_rows = np.uint64(len(counts))
    low_bits = np.uint64(0xFFFFFFFF)
    first_fair = (np.uint64(2**32) - n_rows) % n_rows
    n_drawn = 0
    for word in raw:
        for shift in (np.uint64(0), np.uint64(32)):
            product = ((word >> shift) & low_bits) * n_rows
            if (product & low_bits) >= first_fair and n_drawn < n_records:
                counts[np.int64(product >> np.uint64(32))] += np.float32(1.0)
                n_drawn += 1
    return n_drawn
