"""Spherical Laplace and Gaussian noise: samplers, and the exact quantile of their sum.

Spherical Laplace noise in R^k with rate g has density proportional to exp(-g |b|) [WKL eq. 3]. It
is a normal vector whose variance is itself random: b = sqrt(2 W)/g * N(0, I_k) with W ~
Gamma((k+1)/2, 1), because both sides have the characteristic function (1 + |t|^2/g^2)^(-(k+1)/2).
So any linear combination v.b is normal with variance 2 |v|^2 W / g^2, and a quantile of "normal
plus v.b" is one integral over W.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammainccinv, gammaincinv, ndtr, ndtri

from dpci_core.base.array import Array
from dpci_core.base.errors import check_count, check_positive, check_probability

_TAIL = 1e-17
"""Probability of W left out on each side by the quadrature."""
_N_TABLE = 48
"""Chebyshev nodes of the tabulated quantile factor."""
_TRIMMED = 1e-10
"""Trailing coefficients of the table below this are left out; evaluating them is most of a
half-width's time.
"""
_SQRT_2PI = float(np.sqrt(2.0 * np.pi))


def sample_spherical_laplace(
    dim: int, *, rate: float, rng: np.random.Generator, size: int | None = None
) -> Array:
    """Return spherical Laplace noise, shape (dim,) or (size, dim): norm Gamma(dim, 1/rate),
    direction uniform.

    Args:
        dim: number of coordinates (>= 1).
        rate: of the norm, 1 / noise unit (> 0).
        size: draws; None for one, without the axis.

    Source: WKL Algorithm 1, line 5; CMS Algorithm 1.
    """
    check_count(dim=dim)
    check_positive(rate=rate)
    shape = (1 if size is None else size, dim)
    direction = rng.standard_normal(shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    noise = direction * rng.gamma(dim, 1.0 / rate, size=(shape[0], 1))
    return noise[0] if size is None else noise


def sample_gaussian(
    dim: int, *, sd: float, rng: np.random.Generator, size: int | None = None
) -> Array:
    """Return independent N(0, sd^2) noise, shape (dim,) or (size, dim); a simulation's.

    Args:
        dim: entries of a draw.
        sd: standard deviation of an entry (> 0).
        rng: seeded generator.
        size: number of draws, None for one.
    """
    check_count(dim=dim)
    check_positive(sd=sd)
    return sd * rng.standard_normal(dim if size is None else (size, dim))


@lru_cache(maxsize=256)
def gamma_rule(dim: int) -> tuple[Array, Array]:
    """Return nodes and probability weights for W ~ Gamma((dim+1)/2, 1), each of shape (n_nodes,).

    The trapezoid rule in log W: integrand and density are analytic in a strip around the real line
    and fall off doubly exponentially, so about 50 nodes give full precision, also where W is near 0
    (where Gauss-Laguerre nodes lose six digits in dimension 1).
    """
    a = (dim + 1) / 2.0
    low, high = np.log(gammaincinv(a, _TAIL)), np.log(gammainccinv(a, _TAIL))
    step = min(0.25, 0.45 / np.sqrt(a))
    u = np.linspace(low, high, int(np.ceil((high - low) / step)) + 1)
    log_weights = a * u - np.exp(u)
    weights = np.exp(log_weights - log_weights.max())
    return np.exp(u), weights / weights.sum()


def coverage_probability(
    half_width: Array,
    gaussian_var: Array,
    mixture_var: Array,
    *,
    dim: int,
    shift: Array | float = 0.0,
) -> Array:
    """Return P(|T + shift| <= half_width) for T normal with variance gaussian_var + mixture_var *
    W; arrays broadcast.

    Args:
        half_width: >= 0.
        gaussian_var, mixture_var: >= 0; the second is 2 |v|^2 / g^2 for a linear combination v.b of
            spherical Laplace noise of rate g.
        dim: of that noise; W ~ Gamma((dim+1)/2, 1).
        shift: of T.
    """
    q, away = np.broadcast_arrays(half_width, np.abs(shift))
    if not np.any(mixture_var):
        sd = np.sqrt(gaussian_var)
        return np.asarray(ndtr((q - away) / sd) + ndtr((q + away) / sd) - 1.0)
    nodes, weights = gamma_rule(dim)
    sd = np.sqrt(np.asarray(gaussian_var)[..., None] + np.asarray(mixture_var)[..., None] * nodes)
    if not np.any(away):
        return np.asarray((2.0 * ndtr(q[..., None] / sd) - 1.0) @ weights)
    return np.asarray(
        (ndtr((q - away)[..., None] / sd) + ndtr((q + away)[..., None] / sd) - 1.0) @ weights
    )


def half_width(
    gaussian_var: Array, mixture_var: Array, *, dim: int, confidence_level: float
) -> Array:
    """Return q with P(|T| <= q) = confidence_level, T normal with variance gaussian_var +
    mixture_var * W.

    Args:
        gaussian_var, mixture_var: >= 0, shapes broadcast, the sum positive.
        dim: of the noise; W ~ Gamma((dim+1)/2, 1).
        confidence_level: in (0, 1).

    Returns: q of the broadcast shape; relative error below 1e-7 (tested against adaptive
             quadrature).
    Source:  replaces the Monte Carlo quantiles of WKL Algorithms 3 and 5 by the exact law they
             sample.
    """
    check_count(dim=dim)
    check_probability(confidence_level=confidence_level)
    if not np.any(mixture_var):
        z = float(ndtri(0.5 + confidence_level / 2.0))
        return np.asarray(z * np.sqrt(np.asarray(gaussian_var + mixture_var, dtype=np.float64)))
    mean_w = (dim + 1) / 2.0
    total = np.asarray(gaussian_var + mixture_var * mean_w, dtype=np.float64)
    share = np.divide(mixture_var * mean_w, total, out=np.zeros_like(total), where=total > 0)
    coefficients = _factor_table(dim, float(confidence_level))
    factor = np.polynomial.chebyshev.chebval(2.0 * share - 1.0, coefficients)
    return np.asarray(np.sqrt(total) * factor)


@lru_cache(maxsize=256)
def _factor_table(dim: int, confidence_level: float) -> Array:
    """Chebyshev coefficients of q / sd(T) as a function of the share of the noise in the variance
    of T.
    """
    angle = np.pi * (np.arange(_N_TABLE) + 0.5) / _N_TABLE
    shares = 0.5 + 0.5 * np.cos(angle)
    factors = np.array([_solve_factor(share, dim, confidence_level) for share in shares])
    coefficients = np.polynomial.chebyshev.chebfit(np.cos(angle), factors, _N_TABLE - 1)
    return np.asarray(np.polynomial.chebyshev.chebtrim(coefficients, _TRIMMED))


def _solve_factor(share: float, dim: int, confidence_level: float) -> float:
    """Newton's method on P(|T| <= q) = level for T of variance 1; concave in q, so it climbs from
    the left.
    """
    nodes, weights = gamma_rule(dim)
    sd = np.sqrt(1.0 - share + share * nodes * 2.0 / (dim + 1))
    q = 0.5 * float(ndtri(0.5 + confidence_level / 2.0))
    for _ in range(60):
        u = q / sd
        gap = (2.0 * ndtr(u) - 1.0) @ weights - confidence_level
        slope = (2.0 * np.exp(-0.5 * u * u) / (_SQRT_2PI * sd)) @ weights
        step = gap / slope
        q = max(q - step, q / 2.0)
        if abs(step) <= 1e-14 * q:
            break
    return q
