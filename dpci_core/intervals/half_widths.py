"""Half-widths from what was released: post-processing, no record in sight.

As published, the noisy matrices get their floors and count as the true ones. A noise-aware
half-width (own) uses that the law of the matrix noise is public:

1. The eigenvalues of the noisy Hessian repel each other more than those of the true one.
   `shrink_eigenvalues` moves them back, by the rotationally invariant estimator for additive
   symmetric noise, before the floor 2c.
2. The noisy gradient covariance enters the quadratic form v'Sv as it is: unbiased given v, where a
   projection pushes it up. Only a negative value is raised to 0.
3. Both still leave an error of known law in each half-width. Take the released matrices for the
   truth, add the noise again, and see by which factor the half-widths must be scaled to reach the
   confidence level (a parametric bootstrap; Beran 1987 calls it prepivoting). The noise on S enters
   only through v'Nv, one number of known law, which a quadrature replaces; the noise on H is drawn,
   from constants of this module.

Privacy: every argument is released or public, also the ratios that switch 1-3 off where the noise
         dominates.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import gammaincinv, ndtr, ndtri, roots_hermitenorm

from dpci_core.base.array import Array, Flags, Positions
from dpci_core.base.linalg import floor_eigenvalues
from dpci_core.base.metric import Metric
from dpci_core.design import Design
from dpci_core.intervals._newton_step import Correction
from dpci_core.intervals.estimands import estimand_of
from dpci_core.intervals.inflation import ErrorVariance, variance_of_rows
from dpci_core.intervals.spectra import SharedSpectra, Spectrum
from dpci_core.mechanisms.matrices import MatrixNoise, fixed_draws, hessian_noise
from dpci_core.privacy.laws import NoiseLaw

NOISE_DOMINATES = (6.0, 24.0)
"""Noise on the Hessian against its smallest eigenvalue, both released, over which the half-widths
fade from the noise-aware to the plain ones: further on the factor of step 3 lengthens intervals by
a quarter and more, and a jump would make them longer at a larger budget (`python -m
benchmarks.constants rises`)."""
COVARIANCE_DOMINATES = (0.5, 1.0)
"""The same for the noise on a coefficient's v'Sv against its variance, as released: further on the
clip at 0 acts so often that no factor repairs the coverage."""
_ALLOWANCE = 0.5
"""Standard deviations of the noise on S that plain half-widths allow for beyond the first of these
limits: projection alone covers too little where a matrix is small and its noise large (the same
commands)."""
N_REDRAWS = 48
"""Draws of the noise on H behind a factor, in antithetic pairs."""
_N_NODES = 3
"""Nodes for the noise on S."""
_SEED = 19_870_901
_NEWTON_STEPS = 5
_LARGEST_FACTOR = 3.0
_SMALLEST_CARRIED = 0.5


@dataclass(frozen=True, slots=True)
class HalfWidths:
    """Half-widths (..., k) with the law and the matrices behind them.

    hessian, covariance: the matrices used, of the coefficients also where they were released in a
    metric; the covariance of a noise-aware interval is the noisy one, without floor.
    factor: what the noise-aware correction multiplied each half-width by, 1 without it.
    contrasts: (..., k, p), the estimate is contrasts @ theta_priv; they differ from the identity
    (or from what was asked for) where the target is the unpenalised coefficient.
    is_not_estimable: (..., k), coefficients for which the step to that target falls short.
    weight: (..., k), of the noise-aware half-width; 0 where it is switched off or the noise
    dominates.
    """

    half_width: Array
    law: ErrorVariance
    hessian: Array
    covariance: Array
    factor: Array
    weight: Array
    contrasts: Array
    is_not_estimable: Flags

    @property
    def is_noise_aware(self) -> Flags:
        """Which half-widths (..., k) have a noise-aware part."""
        return np.asarray(self.weight > 0.0)

    def estimate(self, theta_priv: Array) -> Array:
        """What the intervals are around, (..., k)."""
        return np.asarray(np.einsum("...ij,...j->...i", self.contrasts, theta_priv))


def private_half_widths(
    H_noisy: Array,
    S_noisy: Array,
    *,
    design: Design,
    noise: NoiseLaw,
    covariance_noise: MatrixNoise,
    theta_priv: Array,
    covariance_sd: Array | float | None = None,
    contrasts: Array | None = None,
    n_factors: int | None = None,
    n_redraws: int = N_REDRAWS,
    spectra: SharedSpectra | None = None,
    metric: Metric | None = None,
    constant: float | None = None,
) -> HalfWidths:
    """Return half-widths of the confidence level of the design from noisy symmetric matrices,
    before any floor.

    Args:
        H_noisy, S_noisy: released Hessian and gradient covariance, (..., p, p); in the metric if
            there is one.
        design: loss, mechanism, c, n, level and target.
        noise: law of that on the coefficients.
        covariance_noise: law of that on S at the released norm.
        theta_priv: (..., p) or (p,), where H and S are.
        covariance_sd: diagonal standard deviations (...,) where the norms of a stack differ.
        contrasts: L (k, p) for the combinations L theta.
        n_factors: compute the factors of so many of a stack, evenly spread, and carry them to the
            others by their half-widths (`forecast`).
        n_redraws: even, draws behind a factor.
        spectra: for stacks of forecasts, where H_noisy is a function of its law and its length
            alone.
        metric: of the design's geometry, one or a stack (...,).
        constant: the last entry of every row (`Meaning.constant`), public; None if it is not known.

    Privacy: post-processing; released matrices and public constants are all it sees.
    """
    p = H_noisy.shape[-1]
    lead = H_noisy.shape[:-2]
    H_stack, S_stack = H_noisy.reshape(-1, p, p), S_noisy.reshape(-1, p, p)
    known = ReleaseContext(
        design=design,
        noise=noise,
        theta=np.broadcast_to(theta_priv, (*lead, p)).reshape(-1, p),
        contrasts=np.eye(p) if contrasts is None else contrasts,
        on_hessian=hessian_noise(design),
        on_covariance=covariance_noise,
        n_redraws=n_redraws,
        spectra=spectra,
        metric=None if metric is None else metric.stacked(),
        constant=constant,
    )
    sd = covariance_noise.diagonal_sd(p) if covariance_sd is None else covariance_sd
    sd_s = np.broadcast_to(np.asarray(sd, dtype=np.float64), lead).reshape(-1)
    noisy = known.noisy(H_stack)

    def floored() -> Spectrum:
        return noisy.floored(known.on_hessian).plus(known.penalty)

    if not design.switches.noise_aware:
        S = floor_eigenvalues(S_stack, covariance_noise.floor).matrix
        return _reshape(_plain(floored(), S, known), lead)
    spectrum = noisy.shrunken(known.on_hessian).plus(known.penalty)
    return _reshape(_noise_aware(spectrum, floored, S_stack, known, sd_s, n_factors), lead)


def kept_half_widths(hessian: Array, covariance: Array, known: ReleaseContext) -> HalfWidths:
    """Return half-widths (1, k) once more, from the matrices (p, p) that `HalfWidths` kept.

    They are those of the release but where noise-aware and plain half-widths were mixed, of which
    only one pair of matrices is kept.
    """
    spectrum = Spectrum.of(known.taken(hessian)[None])
    S = known.taken(covariance)[None]
    if not known.design.switches.noise_aware:
        return _plain(spectrum, S, known)
    sd_s = np.array([known.on_covariance.diagonal_sd(len(hessian))])
    return _noise_aware(spectrum, lambda: spectrum, S, known, sd_s, None)


@dataclass(frozen=True, slots=True)
class ReleaseContext:
    """What is public about a release."""

    design: Design
    noise: NoiseLaw
    theta: Array
    contrasts: Array
    on_hessian: MatrixNoise
    on_covariance: MatrixNoise
    n_redraws: int
    spectra: SharedSpectra | None
    metric: Metric | None
    constant: float | None = None

    @property
    def whiten(self) -> Array | None:
        """W of the metric, (K or 1, p, p)."""
        return None if self.metric is None else self.metric.whiten

    @property
    def penalty(self) -> Array | None:
        """In a metric the Hessian (K or 1, p, p) of the penalty, which is public."""
        return None if self.metric is None else self.metric.penalty(self.design.regularization)

    def turned(self, contrasts: Array) -> Array:
        """Contrasts of the coefficients, of what the matrices are of."""
        return contrasts if self.metric is None else contrasts @ self.metric.whiten

    def noisy(self, H_noisy: Array) -> Spectrum:
        """The spectrum of the Hessians as they were released, without a public penalty."""
        bare = H_noisy if self.penalty is None else H_noisy - self.penalty
        return self.spectrum("noisy", len(H_noisy), lambda: Spectrum.of(bare))

    def spectrum(self, name: str, size: Hashable, make: Callable[[], Spectrum]) -> Spectrum:
        """A spectrum, shared between designs where that is asked for."""
        if self.spectra is None:
            return make()
        return self.spectra.recall((name, self.on_hessian, self.design.geometry, size), make)

    def law(self, rows: Array, S: Array, contrasts: Array) -> ErrorVariance:
        """The error law from the rows of L H^-1 and the contrasts L of the coefficients; a negative
        v'Sv counts as 0.
        """
        return variance_of_rows(
            rows,
            S,
            contrasts,
            mechanism=self.design.mechanism,
            noise=self.noise,
            n_records=self.design.n_records,
        )

    def half_width(self, law: ErrorVariance) -> Array:
        return law.half_width(
            dim=self.theta.shape[1], confidence_level=self.design.confidence_level
        )

    def estimand(self, spectrum: Spectrum, theta: Array) -> Correction:
        """Contrasts (K, k, p) that the design's intervals are for, L or L T, with the variance that
        T adds.
        """
        return estimand_of(self.design).correction(
            spectrum,
            theta,
            design=self.design,
            hessian_sd=self.on_hessian.diagonal_sd(theta.shape[1]),
            contrasts=self.contrasts,
            metric=self.metric,
            constant=self.constant,
        )

    def asking(self, contrasts: Array) -> ReleaseContext:
        """Return the context with other contrasts (k, p) of the coefficients."""
        return replace(self, contrasts=contrasts)

    def at(self, some: Positions) -> ReleaseContext:
        """Return the context of the chosen fits of a stack."""
        metric = self.metric
        if metric is None or len(metric.whiten) == 1:
            return self
        return replace(self, metric=metric[some])

    def told(self, matrices: Array) -> Array:
        """Matrices (K, p, p) of the coefficients."""
        return matrices if self.metric is None else self.metric.back(matrices)

    def taken(self, matrix: Array) -> Array:
        """The inverse of `told` for one matrix (p, p)."""
        return matrix if self.metric is None else self.metric[0].matrix(matrix)


def _plain(
    spectrum: Spectrum, S: Array, known: ReleaseContext, allowance: Array | float = 0.0
) -> HalfWidths:
    """WKL Algorithm 2, lines 7-13, then Algorithm 3 or 5, from matrices that have their floors
    already; `allowance` (K, k) times |v|^2 is added to v'Sv."""
    estimand = known.estimand(spectrum, known.theta)
    rows = estimand.lifted(spectrum.rows(known.turned(estimand.contrasts)))
    law = known.law(rows, S, estimand.acting)
    spread = allowance * np.einsum("...ij,...ij->...i", rows, rows) / known.design.n_records
    law = law._replace(sampling=law.sampling + spread, gaussian=law.gaussian + estimand.extra)
    q = known.half_width(law)
    return HalfWidths(
        q,
        law,
        known.told(spectrum.matrix),
        known.told(S),
        np.ones_like(q),
        np.zeros_like(q),
        estimand.contrasts,
        estimand.marked(q),
    )


def noise_ratio(sd_h: float, p: int, smallest_eigenvalue: Array) -> Array:
    """Spectral size of the noise on the Hessian against the smallest eigenvalue."""
    return np.asarray(sd_h * np.sqrt(2.0 * p) / smallest_eigenvalue)


def _noise_aware(
    spectrum: Spectrum,
    floored: Callable[[], Spectrum],
    S_noisy: Array,
    known: ReleaseContext,
    sd_s: Array,
    n_factors: int | None,
) -> HalfWidths:
    """Steps 2-3 of the module where the noise does not dominate, after step 1 gave the spectrum;
    the plain half-widths elsewhere, of the floored one.
    """
    p = S_noisy.shape[-1]
    estimand = known.estimand(spectrum, known.theta)
    rows = estimand.lifted(spectrum.rows(known.turned(estimand.contrasts)))
    S = floor_eigenvalues(S_noisy, 0.0).matrix
    law = known.law(rows, S_noisy, estimand.acting)
    on_hessian = noise_ratio(known.on_hessian.diagonal_sd(p), p, spectrum.values.min(axis=-1))
    total = known.law(rows, S, estimand.acting).total(p)
    on_covariance = (
        sd_s[:, None]
        * np.einsum("...ij,...ij->...i", rows, rows)
        / (known.design.n_records * total)
    )
    is_steady = np.asarray(on_covariance <= COVARIANCE_DOMINATES[0])
    weight = _fading(on_hessian, *NOISE_DOMINATES)[:, None] * _fading(
        on_covariance, *COVARIANCE_DOMINATES
    )
    used = np.asarray(weight > 0.0)
    factor = np.ones_like(total)
    chosen = np.flatnonzero(used.any(axis=1))
    some = chosen if n_factors is None else chosen[:: max(1, -(-len(chosen) // n_factors))]
    law = law._replace(gaussian=law.gaussian + estimand.extra)
    bare = known.half_width(law)
    if len(some):
        again = known.spectrum(
            "redrawn",
            (len(S_noisy), known.n_redraws, some.tobytes()),
            lambda: redrawn(spectrum.take(some), known.at(some)),
        )
        found = _factors(
            spectrum.take(some),
            again,
            S[some],
            sd_s[some],
            estimand.contrasts[some],
            known.at(some),
        )
        factor[chosen] = (
            found if n_factors is None else _carried(found, bare[some], bare[chosen], used[some])
        )
    q = factor * bare
    aware = HalfWidths(
        q,
        law,
        known.told(spectrum.matrix),
        known.told(S_noisy),
        factor,
        weight,
        estimand.contrasts,
        estimand.marked(q),
    )
    if np.all(weight == 1.0):
        return aware
    allowance = np.where(is_steady, 0.0, _ALLOWANCE * sd_s[:, None])
    floor = known.on_covariance.floor
    S_plain = S if floor == 0.0 else floor_eigenvalues(S_noisy, floor).matrix
    return _blend(aware, _plain(floored(), S_plain, known, allowance))


def _carried(found: Array, some: Array, every: Array, used: Flags) -> Array:
    """Factors of a whole stack (K, k) from those found at some of it: log-linear in the half-width
    they multiply.

    Each coefficient has its own level, the mean over the releases that use it; the slope is common
    to all. 1 where a coefficient has none.
    """
    count = np.maximum(np.sum(used, axis=0), 1)
    x, y = np.log(some), np.log(found)
    x_mean, y_mean = (np.sum(values * used, axis=0) / count for values in (x, y))
    dx, dy = (x - x_mean) * used, (y - y_mean) * used
    slope = float(np.sum(dx * dy) / max(float(np.sum(dx * dx)), np.finfo(np.float64).tiny))
    carried = np.clip(
        y_mean + slope * (np.log(every) - x_mean),
        np.log(_SMALLEST_CARRIED),
        np.log(_LARGEST_FACTOR),
    )
    return np.where(np.any(used, axis=0), np.exp(carried), 1.0)


def _fading(ratio: Array, start: float, end: float) -> Array:
    """The weight of the noise-aware half-widths: 1 up to the start, 0 from the end on, along the
    logarithm between.
    """
    return np.asarray(
        np.clip(np.log(end / np.maximum(ratio, start)) / np.log(end / start), 0.0, 1.0)
    )


def _blend(aware: HalfWidths, plain: HalfWidths) -> HalfWidths:
    """Both results with their weights: half-widths in logarithms, laws and contrasts as they
    are.
    """
    weight = aware.weight
    most = weight >= 0.5
    any_most = np.any(most, axis=1, keepdims=True)[..., None]

    def mix(new: Array, old: Array) -> Array:
        w = weight[..., None] if new.ndim > weight.ndim else weight
        return np.where(w == 1.0, new, np.where(w == 0.0, old, w * new + (1.0 - w) * old))

    def mix_log(new: Array, old: Array) -> Array:
        return np.where(weight == 0.0, old, new**weight * old ** (1.0 - weight))

    return HalfWidths(
        mix_log(aware.half_width, plain.half_width),
        ErrorVariance(*map(mix, aware.law, plain.law)),
        np.where(any_most, aware.hessian, plain.hessian),
        np.where(any_most, aware.covariance, plain.covariance),
        mix_log(aware.factor, plain.factor),
        weight,
        mix(aware.contrasts, plain.contrasts),
        (aware.is_not_estimable & (weight > 0.0)) | (plain.is_not_estimable & (weight < 1.0)),
    )


def redrawn(truth: Spectrum, known: ReleaseContext) -> Spectrum:
    """The Hessians (K, p, p) with noise once more, as released Hessians are read, (K, draws, p,
    p).
    """
    law, p = known.on_hessian, truth.values.shape[-1]
    unit = fixed_draws(p, n_draws=known.n_redraws, law=law.law, symmetric=law.symmetric, seed=_SEED)
    penalty = known.penalty
    bare = truth.matrix if penalty is None else truth.matrix - penalty
    noisy = Spectrum.of(bare[:, None] + law.diagonal_sd(p) * unit)
    return noisy.shrunken(law).plus(None if penalty is None else penalty[:, None])


def _factors(
    truth: Spectrum, again: Spectrum, S: Array, sd_s: Array, contrasts: Array, known: ReleaseContext
) -> Array:
    """Return the factors (K, k) that make the half-widths of redrawn noise cover at the confidence
    level.

    H and S (K, p, p) count as the truth, `again` has the noise on H. The error has the law at the
    truth, a mixture of normals close to one normal; its distribution function at m q_b is taken as
    that of the normal with the same quantile at the level.
    """
    turned = known.turned(contrasts)
    rows = again.rows(turned[:, None])
    law = known.law(rows, S[:, None], contrasts[:, None])
    nodes, weights = _covariance_rule(known.on_covariance.dim(S.shape[-1]), known.n_redraws)
    size = np.einsum("...ij,...ij->...i", rows, rows)[..., None, :]
    shift = sd_s[:, None, None, None] * size * nodes[:, :, None] / known.design.n_records
    sampling = np.maximum(law.sampling[..., None, :] + shift, 0.0)
    other = [
        np.broadcast_to(part[..., None, :], sampling.shape) for part in (law.gaussian, law.laplace)
    ]
    q = known.half_width(ErrorVariance(sampling, *other))
    at_truth = known.half_width(known.law(truth.rows(turned), S, contrasts))
    return _solve_factor(q / at_truth[:, None, None, :], weights, known.design.confidence_level)


def _solve_factor(ratio: Array, weights: Array, level: float) -> Array:
    """Newton's method on mean Phi(m z ratio) = (1 + level)/2 in m; ratio (K, draws, nodes, k),
    concave in m.
    """
    K, draws, _, k = ratio.shape
    scaled = float(ndtri(0.5 + level / 2.0)) * ratio.reshape(K, -1, k)
    average = np.tile(weights / draws, draws)
    m = np.ones((K, k))
    for _ in range(_NEWTON_STEPS):
        u = m[:, None, :] * scaled
        gap = average @ ndtr(u) - (0.5 + level / 2.0)
        slope = average @ (scaled * np.exp(-0.5 * u * u)) / np.sqrt(2.0 * np.pi)
        m = np.clip(m - gap / np.maximum(slope, 1e-3), m / 2.0, _LARGEST_FACTOR)
    return np.asarray(m)


@lru_cache(maxsize=64)
def _covariance_rule(dim: int | None, n_draws: int) -> tuple[Array, Array]:
    """Nodes (draws, nodes) and weights (nodes,) for v'Nv / (sd |v|^2), N the noise on S.

    Standard normal for Gaussian noise. For spherical Laplace noise in R^dim a normal times sqrt(W /
    mean W), one W ~ Gamma((dim+1)/2) to each draw of the noise on H, at evenly spaced quantiles in
    a fixed random order.
    """
    nodes, weights = roots_hermitenorm(_N_NODES)
    if dim is None:
        scale = np.ones(n_draws)
    else:
        shape = (dim + 1) / 2.0
        scale = np.sqrt(gammaincinv(shape, (np.arange(n_draws) + 0.5) / n_draws) / shape)
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
        back(widths.weight),
        back(widths.contrasts),
        widths.is_not_estimable.reshape(lead + widths.is_not_estimable.shape[1:]),
    )
