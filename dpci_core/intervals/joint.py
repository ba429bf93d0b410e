"""The joint law of the errors of one release: what its intervals say together (own).

The error of a combination of coefficients has the law that its interval is made of (`inflation`):
normal with variance A + B W, one W for the whole release. Here the combinations keep what they
share: A and B are matrices, made diagonal together, and given W the errors are F z, z standard
normal in R^m. Of the matrices behind F only noisy copies are known, so they are redrawn as in
`half_widths`: an error is held against h, the half-width that the redrawn matrices would have
given.

A probability over z is an average over directions u of the sphere: |F z| <= h in every row where
|z| <= 1/g(u), g(u) the largest |F u| / h, and |z|^2 is chi-squared. So every probability here is a
smooth function of the length, solved by bisection, and the directions are constants.

Privacy: post-processing; released and public numbers are all it sees, and nothing is charged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import chdtr, chdtrc, gammaincinv, ndtri

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import check_count, check_generator, check_probability
from dpci_core.base.linalg import floor_eigenvalues, symmetrise
from dpci_core.base.metric import Metric
from dpci_core.design import Design
from dpci_core.intervals.half_widths import (
    N_REDRAWS,
    HalfWidths,
    ReleaseContext,
    kept_half_widths,
    redrawn,
)
from dpci_core.intervals.inflation import ErrorVariance
from dpci_core.intervals.spectra import Spectrum
from dpci_core.mechanisms.matrices import covariance_noise, fixed_draws, hessian_noise
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.noise import coverage_probability

_N_DIRECTIONS = 48 * 256
"""So many for each redrawn matrix."""
_SEED = 20_261_122
_STEPS = 60
_TOLERANCE = 1e-12
"""Of a probability that a length is solved for."""
_RANK = 1e-13
"""Directions with a smaller share of the largest variance are left out."""
_DEPENDENT = 1e-9
"""Combinations whose covariance has an eigenvalue below this share of its largest say the same."""


@dataclass(frozen=True, slots=True)
class JointLaw:
    """The law of the errors of every combination of the coefficients of a release.

    known: what is public about it.
    hessian, covariance: the matrices that its intervals used, (p, p).
    theta_priv: released coefficients, (p,).
    """

    known: ReleaseContext
    hessian: Array
    covariance: Array
    theta_priv: Array

    @classmethod
    def of(
        cls,
        hessian: Array,
        covariance: Array,
        *,
        design: Design,
        noise: NoiseLaw,
        theta_priv: Array,
        metric: Metric | None = None,
        constant: float | None = None,
    ) -> JointLaw:
        """Return the law from what `intervals.draw` releases.

        Args:
            hessian, covariance: (p, p), as `HalfWidths` keeps them.
            design: that was run (`ReleaseParts.design_after_solver_share`).
            noise: on the coefficients (`draw.noise_of_release`).
            theta_priv: released, (p,).
            metric: of the design's geometry.
            constant: as for `private_half_widths`.
        """
        known = ReleaseContext(
            design=design,
            noise=noise,
            theta=theta_priv[None],
            contrasts=np.eye(len(theta_priv)),
            on_hessian=hessian_noise(design),
            on_covariance=covariance_noise(design, float(np.linalg.norm(theta_priv))),
            n_redraws=N_REDRAWS,
            spectra=None,
            metric=None if metric is None else metric.stacked(),
            constant=constant,
        )
        return cls(known, hessian, covariance, theta_priv)

    def errors(self, contrasts: Array) -> Errors:
        """Return the errors of the combinations L theta, L (k, p)."""
        known = self.known.asking(contrasts)
        widths = kept_half_widths(self.hessian, self.covariance, known)
        spectrum = Spectrum.of(known.taken(self.hessian)[None])
        S = floor_eigenvalues(known.taken(self.covariance)[None], 0.0).matrix
        estimand = known.estimand(spectrum, known.theta)
        steps = estimand.contrasts
        rows = estimand.lifted(spectrum.rows(known.turned(steps)))
        law = known.law(rows, S, estimand.acting)
        aware = bool(np.any(widths.weight > 0.0))
        again_rows, again_S = rows[0][None], S
        if aware:
            again = redrawn(spectrum, known)
            again_rows = estimand.lift[0] * again.rows(known.turned(steps)[:, None])[0]
            again_S = S + self._noise_on_covariance()
        return Errors(
            known=known,
            widths=widths,
            theta_priv=self.theta_priv,
            rows=rows[0],
            steps=steps[0],
            acting=estimand.acting[0],
            S=S[0],
            extra_root=estimand.extra_root[0],
            law=ErrorVariance(law.sampling[0], law.gaussian[0] + estimand.extra[0], law.laplace[0]),
            again_rows=again_rows,
            again_S=again_S,
        )

    def _noise_on_covariance(self) -> Array:
        """Noise on S once more, (draws, p, p)."""
        law, p = self.known.on_covariance, len(self.theta_priv)
        unit = fixed_draws(p, n_draws=N_REDRAWS, law=law.law, symmetric=law.symmetric, seed=_SEED)
        return law.diagonal_sd(p) * unit


class JointErrors(ABC):
    """The errors of k combinations together, normal given what is common to them, and their
    half-widths one by one.
    """

    level: float
    """Of the intervals as released."""

    @property
    @abstractmethod
    def estimate(self) -> Array:
        """What the intervals are around, (k,)."""

    @property
    @abstractmethod
    def privacy_share(self) -> Array:
        """Part of each error variance (k,) that is privacy noise on the coefficients."""

    @property
    @abstractmethod
    def is_not_estimable(self) -> Flags:
        """Which combinations (k,) cannot be estimated from the release."""

    @property
    def is_mixed(self) -> bool:
        """Whether noise is so large that a half-width may be a mixture."""
        return False

    @abstractmethod
    def half_width(self, level: float) -> Array:
        """Return half-widths (k,) of any level; at that of the design those of the release."""

    @abstractmethod
    def p_value(self, distance: Array) -> Array:
        """Return the probability (k,) of an error larger than `distance` (k,), by the intervals'
        law: below 1 - level exactly where the interval of that level excludes it.
        """

    @property
    @abstractmethod
    def variance(self) -> Array:
        """Covariance (k, k) of the errors."""

    @property
    @abstractmethod
    def furthest(self) -> tuple[Array, int]:
        """g (directions,), the largest error against its half-width, and m."""

    @property
    @abstractmethod
    def distances(self) -> tuple[Array, int]:
        """g (directions,), root of the `distance`, and m."""

    @abstractmethod
    def draws(self, size: int, rng: np.random.Generator) -> Array:
        """Return errors (size, k) drawn from their law, the released matrices taken for the
        truth.
        """

    def ball(self, m: int, squared: Array) -> Array:
        """The probability of |z|^2 at most `squared`, z in R^m."""
        return np.asarray(chdtr(m, squared))

    def outside(self, m: int, squared: Array) -> Array:
        """That of more."""
        return np.asarray(chdtrc(m, squared))

    def together(self) -> float:
        """Return the probability that all intervals of the release hold at once."""
        g, m = self.furthest
        return float(self.ball(m, 1.0 / g**2).mean())

    def multiplier(self, level: float | None = None) -> float:
        """Return by what all intervals have to be multiplied to hold at once at a level; that of
        the design by default.
        """
        return self._usual if level is None or level == self.level else self._multiplied(level)

    @cached_property
    def _usual(self) -> float:
        """That at the level of the design, which nearly every answer is asked for."""
        return self._multiplied(self.level)

    def _multiplied(self, level: float) -> float:
        check_probability(level=level)
        g, m = self.furthest

        def missed(length: Array) -> Array:
            return np.asarray(level - self.ball(m, (length / g) ** 2).mean())

        return max(1.0, float(_solved(missed, np.ones(()))))

    def simultaneous(self, level: float | None = None) -> Array:
        """Return half-widths (k,) that hold at once: at least as long as single ones, and at most
        as long as those of Bonferroni.
        """
        wanted = self.level if level is None else level
        single = self.half_width(self.level)
        bonferroni = self.half_width(1.0 - (1.0 - wanted) / len(single))
        return np.asarray(
            np.maximum(
                self.half_width(wanted), np.minimum(single * self.multiplier(wanted), bonferroni)
            )
        )

    def distance(self, gap: Array) -> float:
        """Return gap' V^-1 gap, V the variance, for gap (k,).

        Raises:  ValueError for combinations that depend on each other.
        """
        return float(np.sum((whitener(self.variance) @ gap) ** 2))

    def beyond(self, distance: float) -> float:
        """Return the probability of an error with a larger `distance`."""
        g, m = self.distances
        return float(self.outside(m, distance / g**2).mean())

    def radius(self, level: float | None = None) -> float:
        """Return the root of the `distance` within which errors are with the probability of a
        level.
        """
        wanted = self.level if level is None else level
        check_probability(level=wanted)
        g, m = self.distances

        def missed(length: Array) -> Array:
            return np.asarray(wanted - self.ball(m, (length / g) ** 2).mean())

        return float(_solved(missed, np.ones(())))


@dataclass(frozen=True, eq=False)
class Errors(JointErrors):
    """The errors of k combinations together, and their half-widths one by one.

    widths: of the level of the design, with a leading axis of length 1.
    rows, steps, acting: L T H^-1, L T and by what noise on the minimiser moves them, (k, p).
    S: gradient covariance without negative eigenvalues, (p, p).
    extra_root: of what the step to the unpenalised target adds, (k, p).
    law: of each error, the matrices taken for the truth, (k,).
    again_rows, again_S: rows and covariance from redrawn noise, (draws, k, p) and (draws, p, p).
    """

    known: ReleaseContext
    widths: HalfWidths
    theta_priv: Array
    rows: Array
    steps: Array
    acting: Array
    S: Array
    extra_root: Array
    law: ErrorVariance
    again_rows: Array
    again_S: Array

    @property
    def level(self) -> float:  # type: ignore[override]
        """That of the design."""
        return self.known.design.confidence_level

    @property
    def is_mixed(self) -> bool:
        """Whether noise is so large that a half-width may be a mixture."""
        is_aware = self.known.design.switches.noise_aware
        return is_aware and bool(np.any(self.widths.weight < 1.0))

    @property
    def estimate(self) -> Array:
        """What the intervals are around, (k,)."""
        return np.asarray(self.steps @ self.theta_priv)

    @property
    def dim(self) -> int:
        """p."""
        return len(self.theta_priv)

    @property
    def privacy_share(self) -> Array:
        """Part of each error variance (k,) that is privacy noise on the coefficients."""
        return np.asarray(self.law.privacy(self.dim) / self.law.total(self.dim))

    @property
    def is_not_estimable(self) -> Flags:
        """For which combinations the step to the unpenalised target falls short, (k,)."""
        return np.asarray(self.widths.is_not_estimable[0])

    # --- one by one -------------------------------------------------------------------------------

    def half_width(self, level: float) -> Array:
        """Return half-widths (k,) of any level; at that of the design those of the release."""
        check_probability(level=level)
        at_design: Array = self.widths.half_width[0]
        if level == self.known.design.confidence_level:
            return at_design
        return np.asarray(at_design * self._reach(level) / self._design_reach)

    def p_value(self, distance: Array) -> Array:
        """Return the probability (k,) of an error larger than `distance` (k,), by the intervals'
        law: below 1 - level exactly where the interval of that level excludes it.
        """
        scale = self._design_reach / self.widths.half_width[0]
        return np.asarray(1.0 - self._within(np.abs(distance) * scale))

    @cached_property
    def _ratio(self) -> Array:
        """Half-widths from redrawn matrices against those at the truth, (draws, k); of plain ones
        1.
        """
        law = self.known.law(self.again_rows, self.again_S, self.acting[None])
        gaussian = law.gaussian + np.einsum("kp,kp->k", self.extra_root, self.extra_root)
        found = self.known.half_width(law._replace(gaussian=gaussian))
        weight = self.widths.weight[0]
        return np.asarray((found / self.known.half_width(self.law)) ** weight)

    def _within(self, distance: Array) -> Array:
        """Probability (k,) of an error within `distance` times what redrawn matrices make of it."""
        covered = coverage_probability(
            distance * self._ratio, self.law.normal, self.law.laplace, dim=self.dim
        )
        return np.asarray(covered.mean(axis=0))

    @cached_property
    def _design_reach(self) -> Array:
        """The distances (k,) within which errors are with the level of the design."""
        return self._reach(self.known.design.confidence_level)

    def _reach(self, level: float) -> Array:
        """Return the distances (k,) within which errors are with probability `level`."""

        def missed(distance: Array) -> Array:
            return np.asarray(level - self._within(distance))

        return _solved(missed, np.sqrt(self.law.total(self.dim)))

    # --- together ---------------------------------------------------------------------------------

    def _root(self) -> tuple[Array, Array]:
        """F (k, m) and a (m,): the errors are F sqrt(a + (1 - a) W / mean W) z, z in R^m."""
        root, back = _roots(self.variance)
        if self.known.noise.rate is None:
            return root, np.ones(root.shape[1])
        share, turn = np.linalg.eigh(symmetrise(back.T @ self._noise_variance(self.rows) @ back))
        return root @ turn, 1.0 - np.clip(share, 0.0, 1.0)

    @cached_property
    def _moved(self) -> tuple[Array, int]:
        """F sqrt(...) u (directions, k) for directions u of R^m, and m."""
        root, normal = self._root()
        W = _mixing(self.dim)[:, None]
        u = directions(len(normal)) * np.sqrt(normal + (1.0 - normal) * W)
        return u @ root.T, len(normal)

    @cached_property
    def furthest(self) -> tuple[Array, int]:
        """g (directions,), the largest error against its half-width, and m."""
        ratio, (moved, m) = self._ratio, self._moved
        reach = self._design_reach * ratio[np.arange(_N_DIRECTIONS) % len(ratio)]
        return np.max(np.abs(moved) / reach, axis=1), m

    @cached_property
    def variance(self) -> Array:
        """Covariance (k, k) of the errors, W at its mean."""
        return self._variance(self.rows, self.S)

    def _variance(self, rows: Array, S: Array) -> Array:
        """Return that covariance (k, k) for rows and a covariance with redrawn noise."""
        known = self.known
        total = rows @ S @ rows.T / known.design.n_records + self._noise_variance(rows)
        total = total + known.noise.added_var * (self.acting @ self.acting.T)
        return symmetrise(total + self.extra_root @ self.extra_root.T)

    def _noise_variance(self, rows: Array) -> Array:
        """Return the covariance (k, k) that the noise on the coefficients alone adds."""
        known = self.known
        is_moved = mechanism_of(known.design).turns_noise
        spread = rows / known.design.n_records if is_moved else self.acting
        return np.asarray(known.noise.variance(self.dim) * (spread @ spread.T))

    @cached_property
    def distances(self) -> tuple[Array, int]:
        """g (directions,), root of the `distance` with V from redrawn matrices, and m."""
        moved, m = self._moved
        g = np.empty(len(moved))
        floored = floor_eigenvalues(self.again_S, 0.0).matrix
        for b, (rows, S) in enumerate(zip(self.again_rows, floored, strict=True)):
            some = slice(b, None, len(floored))
            g[some] = np.linalg.norm(moved[some] @ whitener(self._variance(rows, S)).T, axis=1)
        return g, m

    def draws(self, size: int, rng: np.random.Generator) -> Array:
        """Return errors (size, k) drawn from their law, the released matrices taken for the
        truth.
        """
        check_count(size=size)
        check_generator(rng)
        root, normal = self._root()
        W = rng.gamma(_shape(self.dim), size=(size, 1)) / _shape(self.dim)
        scale = np.sqrt(normal + (1.0 - normal) * W)
        return np.asarray((scale * rng.standard_normal((size, len(normal)))) @ root.T)


def _roots(V: Array) -> tuple[Array, Array]:
    """F (k, m) with F F' = V but for directions without variance, and B (k, m) with B' F = 1."""
    values, vectors = np.linalg.eigh(V)
    kept = values > _RANK * values[-1]
    roots = np.sqrt(values[kept])
    return vectors[:, kept] * roots, vectors[:, kept] / roots


def root_of(V: Array) -> Array:
    """F (k, m) with F F' = V but for directions without variance."""
    return _roots(V)[0]


def whitener(V: Array) -> Array:
    """R with R'R = V^-1."""
    values, vectors = np.linalg.eigh(V)
    if values[0] <= _DEPENDENT * values[-1]:
        raise ValueError("Expected combinations that do not depend on each other.")
    return np.asarray((vectors / np.sqrt(values)).T)


def _solved(missed: Callable[[Array], Array], start: Array) -> Array:
    """The zero of a falling function of a length, elementwise, by the Illinois rule in its
    logarithm.
    """
    low = high = np.log(start)
    f_low = f_high = missed(np.exp(low))
    for _ in range(_STEPS):
        is_short, is_long = f_high > 0.0, f_low < 0.0
        if not (np.any(is_short) or np.any(is_long)):
            break
        high, low = np.where(is_short, high + 0.7, high), np.where(is_long, low - 0.7, low)
        f_high, f_low = missed(np.exp(high)), missed(np.exp(low))
    middle, last = low, np.zeros_like(low)
    for _ in range(_STEPS):
        apart = f_low - f_high
        share = np.divide(f_low, apart, out=np.full_like(apart, 0.5), where=apart > 0.0)
        middle = low + share * (high - low)
        found = missed(np.exp(middle))
        if np.max(np.abs(found)) <= _TOLERANCE:
            break
        side = np.where(found > 0.0, 1.0, -1.0)
        again = np.where(side == last, 0.5, 1.0)
        f_low = np.where(side > 0.0, found, f_low * again)
        f_high = np.where(side > 0.0, f_high * again, found)
        low, high = np.where(side > 0.0, middle, low), np.where(side > 0.0, high, middle)
        last = side
    return np.exp(middle)


@lru_cache(maxsize=8)
def directions(m: int) -> Array:
    """Constants on the sphere of R^m, (directions, m): normal quantiles of a lattice of square
    roots of primes.
    """
    roots = np.sqrt(_primes(m)) % 1.0
    shift = np.random.default_rng([_SEED, m]).random(m)
    uniform = (np.arange(1, _N_DIRECTIONS + 1)[:, None] * roots + shift) % 1.0
    normal = ndtri(np.clip(uniform, 1e-12, 1.0 - 1e-12))
    found = np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))
    found.setflags(write=False)
    return found


def _primes(n: int) -> Array:
    """The first n primes."""
    found: list[int] = []
    candidate = 2
    while len(found) < n:
        if all(candidate % prime for prime in found if prime * prime <= candidate):
            found.append(candidate)
        candidate += 1
    return np.array(found, dtype=np.float64)


def _shape(dim: int) -> float:
    """Return the shape of the gamma law of W, which is also its mean."""
    return (dim + 1) / 2.0


@lru_cache(maxsize=8)
def _mixing(dim: int) -> Array:
    """W / mean W of each direction: evenly spaced quantiles in a fixed random order."""
    even = (np.arange(_N_DIRECTIONS) + 0.5) / _N_DIRECTIONS
    W = gammaincinv(_shape(dim), even) / _shape(dim)
    return np.asarray(np.random.default_rng(_SEED).permutation(W))
