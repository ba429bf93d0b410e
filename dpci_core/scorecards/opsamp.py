"""OPSamp: the mean of many perturbed minimisers, plus Laplace noise. For comparison, never a
release.

OPSamp (Neel, Roth, Vietri and Wu) averages m minimisers of L(w) - <sigma, w>, sigma_i ~ Exp(rate
eta), and adds Laplace noise of scale lambda / epsilon. Published is lambda = 4 D_inf d sqrt(ln(4 d
/ delta) / (8 m)) + 250 eta G d^2 D_inf + alpha / (10 G), inferred, with D_inf in its first power as
units ask. Sharper: with G_h = 2 G, widths D_i, oracle error alpha in sum scale and e^(-eta c) d G_h
/ c < 1, minimisers x and x' of neighbours at the same sigma have

    E|x - x'|_1 <= ((1 - e^(-eta c)) sum D_i + 3 d alpha e^(-eta c) / c)
                  / (1 - e^(-eta c) d G_h / c).

Proof: x, x' minimise f - sigma and f' - sigma, y, y' do at sigma + c e_i. Two optimality
inequalities give y_i >= x_i. f(x') - sigma x' <= f(x) - sigma x + G_h |x - x'|_1 <= f(y) - sigma y
+ G_h |x - x'|_1, and y is optimal at sigma + c e_i: c (x'_i - y_i) <= G_h |x - x'|_1, likewise
exchanged. So min(y_i, y'_i) >= max(x_i, x'_i) - G_h |x - x'|_1 / c; each of three inexact optima
adds alpha. sigma_i is below c with probability 1 - e^(-eta c), and above it distributed as sigma_i
+ c: E|x_i - x'_i| = E max - E min <= (1 - e^(-eta c)) D_i + e^(-eta c) (G_h E|x - x'|_1 + 3 alpha)
/ c. Sum over i. The mean of m distances in [0, B], B = sum D_i, of mean at most M and so of
variance at most B M, exceeds M + sqrt(2 M B ln(1/delta) / m) + B ln(1/delta) / (3 m) with
probability at most delta (Bernstein)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.errors import check_choice, check_count, check_positive, check_probability
from dpci_core.scorecards.published import NEVER

Calibration = Literal["published", "sharp"]
MOST_DIMENSIONS = 2
"""Beyond it even the sharp bound says nothing at any number of records one has."""
_STEPS = np.linspace(-3.0, 12.0, 3_001)
"""Logarithms of the c that are tried, around the one of the closed form; each gives a bound."""


def stability(
    widths: npt.ArrayLike, *, lipschitz: float, rate: float, oracle_error: float = 0.0
) -> float:
    """Return how far the minimisers of two neighbours are apart in the 1-norm, on average over
    shared noise, at most.

    Args:
        widths: (d,) of the box.
        lipschitz: G of one record's loss in the 1-norm.
        rate: of the exponential noise, 1 / mean.
        oracle_error: alpha, of the sum of losses.

    Source:  own; the proof of this module. Never above the sum of the widths.
    """
    D = np.asarray(widths, dtype=np.float64)
    check_positive(lipschitz=lipschitz, rate=rate)
    d, moved = len(D), 2.0 * lipschitz
    c = 2.0 * d * moved * np.exp(_STEPS)
    kept = np.exp(-rate * c)
    left = 1.0 - kept * d * moved / c
    top = -np.expm1(-rate * c) * D.sum() + 3.0 * d * oracle_error * kept / c
    return min(float(D.sum()), float((top / left)[left > 0.0].min()))


def noise_scale(
    widths: npt.ArrayLike,
    *,
    lipschitz: float,
    delta: float,
    n_calls: int,
    rate: float,
    calibration: Calibration,
    oracle_error: float = 0.0,
) -> float:
    """Return lambda: Laplace noise of scale lambda / epsilon makes the mean private.

    Args:
        widths, lipschitz, rate, oracle_error: as for `stability`.
        delta: that the mean of n_calls distances exceeds what is counted on.
        calibration: "published", with D_inf in its first power, or "sharp".
    """
    check_choice(calibration, ("published", "sharp"), name="calibration")
    check_probability(delta=delta)
    check_count(n_calls=n_calls)
    D = np.asarray(widths, dtype=np.float64)
    d = len(D)
    if calibration == "published":
        gamma = d * math.sqrt(math.log(4.0 * d / delta) / (8.0 * n_calls))
        wide = float(D.max())
        return (
            4.0 * wide * gamma
            + 250.0 * rate * lipschitz * d**2 * wide
            + oracle_error / (10.0 * lipschitz)
        )
    mean = stability(D, lipschitz=lipschitz, rate=rate, oracle_error=oracle_error)
    most, tail = float(D.sum()), math.log(1.0 / delta) / n_calls
    return min(most, mean + math.sqrt(2.0 * mean * most * tail) + most * tail / 3.0)


def opsamp(
    oracle: Callable[[Array], Array],
    *,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    lipschitz: float,
    epsilon: float,
    delta: float,
    n_calls: int,
    rate: float,
    calibration: Calibration = "sharp",
    oracle_error: float = 0.0,
    rng: np.random.Generator,
) -> Array:
    """Return the noisy mean of perturbed minimisers, brought back into the box (d,).

    Args:
        oracle: from slopes (n_calls, d) to minimisers (n_calls, d) in the box of the sum of losses
            minus slope . w.
        low, high: corners of the box (d,), d at most 2.
        lipschitz, delta, n_calls, rate, calibration, oracle_error: as for `noise_scale`.
        epsilon: > 0.
        rng: a generator only.

    Privacy: a simulation; (epsilon, delta)-DP with noise nobody can predict.
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(NEVER.format(given=type(rng).__name__))
    check_positive(epsilon=epsilon)
    first, last = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    if first.ndim != 1 or first.shape != last.shape or not (first < last).all():
        raise ValueError("Expected low and high of shape (d,), low < high.")
    if len(first) > MOST_DIMENSIONS:
        raise ValueError(f"Expected at most {MOST_DIMENSIONS} dimensions, got {len(first)}.")
    scale = noise_scale(
        last - first,
        lipschitz=lipschitz,
        delta=delta,
        n_calls=n_calls,
        rate=rate,
        calibration=calibration,
        oracle_error=oracle_error,
    )
    mean = oracle(rng.exponential(1.0 / rate, (n_calls, len(first)))).mean(axis=0)
    noisy = mean + rng.laplace(0.0, scale / epsilon, len(first))
    return np.asarray(np.clip(noisy, first, last))
