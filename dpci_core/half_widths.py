"""Half-widths from what was released: post-processing, no record in sight.

As published, the noisy matrices get their floors and count as the true ones. A noise-aware half-width (own) uses that
the law of the matrix noise is public:

1. The eigenvalues of the noisy Hessian repel each other more than those of the true one. `shrink_eigenvalues` moves
   them back, by the rotationally invariant estimator for additive symmetric noise, before the floor 2c.
2. The noisy gradient covariance enters the quadratic form v'Sv as it is: unbiased given v, where a projection pushes it
   up. Only a negative value is raised to 0.
3. Both still leave an error of known law in each half-width. Take the released matrices for the truth, add the noise
   again, and see by which factor the half-widths must be scaled to reach the confidence level (a parametric bootstrap;
   Beran 1987 calls it prepivoting). The noise on S enters only through v'Nv, one number of known law, which a
   quadrature replaces; the noise on H is drawn, from constants of this module.

Privacy: every argument is released or public, also the ratio that switches 1-3 off where the noise dominates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv, ndtr, ndtri, roots_hermitenorm

from dpci_core.design import Design
from dpci_core.intervals import ErrorVariance, error_variance
from dpci_core.linalg import floor_eigenvalues, lift
from dpci_core.perturbation import ModelNoise
from dpci_core.private_moments import MatrixNoise, fixed_draws, hessian_noise

Array = npt.NDArray[np.float64]

NOISE_DOMINATES = 6.0
"""Noise on the Hessian against its smallest eigenvalue, both released, above which the plain half-widths are used:
there the factor of step 3 lengthens intervals by a quarter (`python -m benchmarks.half_widths`)."""
_N_DRAWS = 48
"""Draws of the noise on H behind a factor, in antithetic pairs."""
_N_NODES = 5
"""Nodes for the noise on S."""
_SEED = 19_870_901
_NEWTON_STEPS = 6
_LARGEST_FACTOR = 3.0


@dataclass(frozen=True, slots=True)
class HalfWidths:
    """Half-widths (..., k) with the law and the matrices behind them.

    factor: what the noise-aware correction multiplied each half-width by, 1 without it.
    is_noise_aware: (...,), False where it is switched off or the noise dominates.
    """

    half_width: Array
    law: ErrorVariance
    hessian: Array
    covariance: Array
    factor: Array
    is_noise_aware: npt.NDArray[np.bool_]


def private_half_widths(
    H_noisy: Array,
    S_noisy: Array,
    *,
    design: Design,
    noise: ModelNoise,
    n_records: int,
    covariance_noise: MatrixNoise,
    covariance_sd: Array | float | None = None,
    contrasts: Array | None = None,
    n_factors: int | None = None,
) -> HalfWidths:
    """Return half-widths of the confidence level of the design from noisy symmetric matrices, before any floor.

    Args:    H_noisy, S_noisy: (..., p, p).  noise: of the coefficients.  covariance_noise: its law at the released
             norm.  covariance_sd: diagonal standard deviations (...,) where the norms of a stack differ.
             contrasts: L (k, p) for the combinations L theta.
             n_factors: compute the factors of so many of a stack, evenly spread, and use their mean (`forecast`).
    Privacy: post-processing; released matrices and public constants are all it sees.
    """
    p = H_noisy.shape[-1]
    lead = H_noisy.shape[:-2]
    H_stack, S_stack = H_noisy.reshape(-1, p, p), S_noisy.reshape(-1, p, p)
    known = _Known(
        design=design,
        noise=noise,
        n_records=n_records,
        contrasts=np.eye(p) if contrasts is None else contrasts,
        on_hessian=hessian_noise(design, n_records),
        on_covariance=covariance_noise,
    )
    sd = covariance_noise.diagonal_sd(p) if covariance_sd is None else covariance_sd
    sd_s = np.broadcast_to(np.asarray(sd, dtype=np.float64), lead).reshape(-1)
    plain = _plain(H_stack, S_stack, known)
    if design.switches.noise_aware:
        plain = _noise_aware(H_stack, S_stack, known, sd_s, plain, n_factors)
    return _reshape(plain, lead)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is public about a release."""

    design: Design
    noise: ModelNoise
    n_records: int
    contrasts: Array
    on_hessian: MatrixNoise
    on_covariance: MatrixNoise

    def law(self, H: Array, S: Array) -> ErrorVariance:
        """The error law at these matrices."""
        return error_variance(
            H,
            S,
            mechanism=self.design.mechanism,
            noise=self.noise,
            n_records=self.n_records,
            contrasts=self.contrasts,
        )

    def half_width(self, law: ErrorVariance) -> Array:
        return law.half_width(dim=self.contrasts.shape[1], confidence_level=self.design.confidence_level)


def _plain(H_noisy: Array, S_noisy: Array, known: _Known) -> HalfWidths:
    """WKL Algorithm 2, lines 7-13, then Algorithm 3 or 5."""
    H = floor_eigenvalues(H_noisy, known.on_hessian.floor).matrix
    S = floor_eigenvalues(S_noisy, known.on_covariance.floor).matrix
    law = known.law(H, S)
    q = known.half_width(law)
    return HalfWidths(q, law, H, S, np.ones_like(q), np.zeros(len(H), dtype=np.bool_))


def shrink_eigenvalues(matrix: Array, sd: float) -> tuple[Array, Array]:
    """Return eigenvalues (..., p) corrected for symmetric noise of diagonal standard deviation `sd`, and the vectors.

    x_i = l_i - sd^2 sum_j (l_i - l_j) / ((l_i - l_j)^2 + p sd^2/2): the rotationally invariant estimator of Bun,
    Allez, Bouchaud and Potters (2016) for Gaussian symmetric noise, its resolvent taken at the noise level.
    """
    values, vectors = np.linalg.eigh(matrix)
    gap = values[..., :, None] - values[..., None, :]
    p = values.shape[-1]
    pull = gap / np.maximum(gap * gap + p * sd * sd / 2.0, np.finfo(np.float64).tiny)
    return values - sd * sd * pull.sum(axis=-1), vectors


def _shrunken(matrix: Array, sd: float, floor: float) -> tuple[Array, Array]:
    """The matrix with shrunken, floored eigenvalues, and the smallest of them."""
    values, vectors = shrink_eigenvalues(matrix, sd)
    lifted = lift(values, floor)
    return (vectors * lifted[..., None, :]) @ np.swapaxes(vectors, -1, -2), lifted.min(axis=-1)


def noise_ratio(sd_h: float, p: int, smallest_eigenvalue: Array) -> Array:
    """Spectral size of the noise on the Hessian against the smallest eigenvalue."""
    return np.asarray(sd_h * np.sqrt(2.0 * p) / smallest_eigenvalue)


def _noise_aware(
    H_noisy: Array, S_noisy: Array, known: _Known, sd_s: Array, plain: HalfWidths, n_factors: int | None
) -> HalfWidths:
    """Steps 1-3 of the module where the noise does not dominate, the plain half-widths elsewhere."""
    p = H_noisy.shape[-1]
    sd_h = known.on_hessian.diagonal_sd(p)
    H, smallest = _shrunken(H_noisy, sd_h, known.on_hessian.floor)
    used = noise_ratio(sd_h, p, smallest) <= NOISE_DOMINATES
    if not used.any():
        return plain
    law = known.law(H, S_noisy)
    S = floor_eigenvalues(S_noisy, 0.0).matrix
    factor = np.ones_like(plain.factor)
    chosen = np.flatnonzero(used)
    if n_factors is not None and n_factors < len(chosen):
        some = chosen[:: -(-len(chosen) // n_factors)]
        factor[chosen] = _factors(H[some], S[some], sd_s[some], known).mean(axis=0)
    else:
        factor[chosen] = _factors(H[chosen], S[chosen], sd_s[chosen], known)
    return HalfWidths(
        np.where(used[:, None], factor * known.half_width(law), plain.half_width),
        ErrorVariance(*(np.where(used[:, None], new, old) for new, old in zip(law, plain.law, strict=True))),
        np.where(used[:, None, None], H, plain.hessian),
        np.where(used[:, None, None], S, plain.covariance),
        factor,
        used,
    )


def _factors(H: Array, S: Array, sd_s: Array, known: _Known) -> Array:
    """Return the factors (K, k) that make the half-widths of redrawn noise cover at the confidence level.

    H, S (K, p, p) count as the truth. The error has the law at the truth, a mixture of normals close to one normal;
    its distribution function at m q_b is taken as that of the normal with the same quantile at the level.
    """
    p, design = H.shape[-1], known.design
    on_h, on_s = known.on_hessian, known.on_covariance
    unit = fixed_draws(p, n_draws=_N_DRAWS, kind=on_h.kind, symmetric=on_h.symmetric, seed=_SEED)
    redrawn, _ = _shrunken(H[:, None] + on_h.diagonal_sd(p) * unit, on_h.diagonal_sd(p), on_h.floor)
    law = known.law(redrawn, S[:, None])
    rows = np.linalg.solve(redrawn, np.broadcast_to(known.contrasts.T, (*redrawn.shape[:-1], len(known.contrasts))))
    size = np.einsum("...ij,...ij->...j", rows, rows)
    nodes, weights = _covariance_rule(on_s.dim(p))
    shift = sd_s[:, None, None, None] * size[..., None, :] * nodes[:, :, None] / known.n_records
    sampling = np.maximum(law.sampling[..., None, :] + shift, 0.0)
    other = [np.broadcast_to(part[..., None, :], sampling.shape) for part in (law.gaussian, law.laplace)]
    q = known.half_width(ErrorVariance(sampling, *other))
    ratio = q / known.half_width(known.law(H, S))[:, None, None, :]
    return _solve_factor(ratio, weights, design.confidence_level)


def _solve_factor(ratio: Array, weights: Array, level: float) -> Array:
    """Newton's method on mean Phi(m z ratio) = (1 + level)/2 in m; ratio (K, draws, nodes, k), concave in m."""
    z = float(ndtri(0.5 + level / 2.0))
    scaled = z * ratio
    average = weights / ratio.shape[1]
    m = np.ones((ratio.shape[0], ratio.shape[3]))
    for _ in range(_NEWTON_STEPS):
        u = m[:, None, None, :] * scaled
        gap = np.einsum("kbgj,g->kj", ndtr(u), average) - (0.5 + level / 2.0)
        slope = np.einsum("kbgj,g->kj", scaled * np.exp(-0.5 * u * u), average) / np.sqrt(2.0 * np.pi)
        m = np.clip(m - gap / np.maximum(slope, 1e-3), m / 2.0, _LARGEST_FACTOR)
    return np.asarray(m)


@lru_cache(maxsize=64)
def _covariance_rule(dim: int | None) -> tuple[Array, Array]:
    """Nodes (draws, nodes) and weights (nodes,) for v'Nv / (sd |v|^2), N the noise on S.

    Standard normal for Gaussian noise. For spherical Laplace noise in R^dim a normal times sqrt(W / mean W), one
    W ~ Gamma((dim+1)/2) to each draw of the noise on H, at evenly spaced quantiles in a fixed random order.
    """
    nodes, weights = roots_hermitenorm(_N_NODES)
    if dim is None:
        scale = np.ones(_N_DRAWS)
    else:
        shape = (dim + 1) / 2.0
        scale = np.sqrt(gammaincinv(shape, (np.arange(_N_DRAWS) + 0.5) / _N_DRAWS) / shape)
        scale = np.random.default_rng(_SEED).permutation(scale)
    return scale[:, None] * nodes, weights / weights.sum()


def _reshape(widths: HalfWidths, lead: tuple[int, ...]) -> HalfWidths:
    """Undo the flattening of the leading axes."""

    def back(x: Array) -> Array:
        return x.reshape(lead + x.shape[1:])

    return HalfWidths(
        back(widths.half_width),
        ErrorVariance(*map(back, widths.law)),
        back(widths.hessian),
        back(widths.covariance),
        back(widths.factor),
        widths.is_noise_aware.reshape(lead),
    )
