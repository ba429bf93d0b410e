"""Private matrices [WKL Algorithm 2], as published or with the switches of a `Calibration`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batches import Table
from dpci_core.base.linalg import floor_eigenvalues, symmetrise
from dpci_core.design import Definition, Design
from dpci_core.mechanisms.mechanism import check_metric, check_n_records
from dpci_core.privacy.budget import definition_named, to_float_down
from dpci_core.privacy.laws import Law, unit_vector
from dpci_core.privacy.randomness import NoiseSource, SystemSource, grid_under
from dpci_core.privacy.sensitivity import covariance_sensitivity, hessian_sensitivity
from dpci_core.solvers.one_step import has_one_step_point, one_step_point
from dpci_core.solvers.risk import PenalisedRisk, rounding_of_sums


@dataclass(frozen=True, slots=True)
class PrivateMatrix:
    """A released symmetric matrix (p, p): with its noise, with its floor, and how many eigenvalues
    that lifted.
    """

    noisy: Array
    matrix: Array
    n_lifted: int
    smallest_before: float


@dataclass(frozen=True, slots=True)
class PrivateMoments:
    """Released gradient covariance, at theta_priv, and Hessian, at `hessian_at` (p,)."""

    hessian: PrivateMatrix
    covariance: PrivateMatrix
    hessian_at: Array


@dataclass(frozen=True)
class MatrixNoise:
    """The public law of the noise on one matrix, and the floor under its eigenvalues afterwards.

    sensitivity: Frobenius.
    amount: in the definition `kind`.
    symmetric: whether the noise has p(p+1)/2 free entries, or p^2 before it is symmetrised.
    """

    sensitivity: float
    amount: float
    kind: Definition
    symmetric: bool
    floor: float

    @property
    def law(self) -> Law:
        """The law of the noise."""
        return definition_named(self.kind).law

    @cached_property
    def scale(self) -> float:
        """What `unit_noise` is multiplied by."""
        return noise_scale(sensitivity=self.sensitivity, amount=self.amount, kind=self.kind)

    def dim(self, p: int) -> int | None:
        """Dimension of spherical Laplace noise for a (p, p) matrix; None for Gaussian noise."""
        return _noise_dim(p, self.symmetric) if self.law == "laplace" else None

    def diagonal_sd(self, p: int) -> float:
        """Standard deviation of a diagonal entry; off the diagonal it is smaller by sqrt 2."""
        dim = self.dim(p)
        return self.scale if dim is None else self.scale * math.sqrt(dim + 1.0)


def hessian_noise(design: Design) -> MatrixNoise:
    """Return the noise on the Hessian; its floor 2c is a true lower bound of the Hessian's
    eigenvalues. In a metric it is the floor 0 of what the records add to the penalty's.
    """
    bound = hessian_sensitivity(
        loss=design.loss, n_records=design.n_records, tight=design.switches.tight_sensitivity
    )
    floor = 2.0 * design.regularization if design.geometry is None else 0.0
    return _law(design, bound, to_float_down(design.budget.hessian), floor)


def covariance_noise(design: Design, radius: float) -> MatrixNoise:
    """Return the noise on the gradient covariance at a released theta.

    Nothing bounds the eigenvalues of S from below by 2c: with the floor "zero" it is projected on
    the covariances.

    Args:
        design: budget, loss, n and switches.
        radius: norm of the released theta.
    """
    switches = design.switches
    bound = covariance_sensitivity(
        loss=design.loss,
        n_records=design.n_records,
        radius=radius,
        tight=switches.tight_sensitivity,
        exact_slope=switches.exact_slope_bound,
    )
    is_raised = switches.covariance_floor == "2c" and design.geometry is None
    floor = 2.0 * design.regularization if is_raised else 0.0
    return _law(design, bound, to_float_down(design.budget.covariance), floor)


def _law(design: Design, sensitivity: float, amount: float, floor: float) -> MatrixNoise:
    return MatrixNoise(
        sensitivity, amount, design.definition, design.switches.symmetric_noise, floor
    )


def _noise_dim(p: int, symmetric: bool) -> int:
    """Entries of a (p, p) matrix that noise is drawn for."""
    return p * (p + 1) // 2 if symmetric else p * p


def noise_scale(*, sensitivity: float, amount: float, kind: Definition) -> float:
    """Return what `unit_noise` is multiplied by: 1/rate or the standard deviation.

    Args:
        sensitivity: Frobenius (> 0).
        amount: of this matrix (> 0).
        kind: the definition that the amount is in.

    Privacy: a matrix of this Frobenius sensitivity plus the scaled noise keeps this amount of the
             definition `kind`.
    """
    return (
        definition_named(kind, argument="kind").noise(sensitivity=sensitivity, amount=amount).scale
    )


def unit_noise(p: int, *, law: Law, rng: np.random.Generator, symmetric: bool = False) -> Array:
    """Return (p, p) noise of scale 1, spherical Laplace or Gaussian.

    Without `symmetric` the p^2 entries are those of a vector in R^(p^2) [WKL Algorithm 2].

    Args:
        p: rows.
        law: "laplace" or "gaussian".
        symmetric: draw p(p+1)/2 entries, not p^2.

    Symmetric: the map from a symmetric matrix to its diagonal and sqrt(2) times its part above the
             diagonal keeps the Frobenius norm, so a matrix of sensitivity s becomes a vector of L2
             sensitivity s in R^(p(p+1)/2). Noise of the same rate or deviation there gives the same
             guarantee; mapped back, entries above the diagonal are divided by sqrt(2). Spherical
             Laplace noise grows with the dimension, so its entries shrink by sqrt((p(p+1)/2 + 1) /
             (p^2 + 1)) against the published noise after symmetrising; Gaussian noise has the law
             it had.
             Source: own.
    """
    return _matrix_of(unit_vector(law, _noise_dim(p, symmetric), rng), p, symmetric)


def _matrix_of(vector: Array, p: int, symmetric: bool) -> Array:
    """The matrix (p, p) with these coordinates: all entries, or the isometric ones of a symmetric
    matrix.
    """
    if not symmetric:
        return vector.reshape(p, p)
    matrix = np.zeros((p, p))
    matrix[np.diag_indices(p)] = vector[:p]
    matrix[np.triu_indices(p, 1)] = vector[p:] / math.sqrt(2.0)
    return np.asarray(matrix + np.triu(matrix, 1).T)


def _coordinates(matrix: Array, symmetric: bool) -> Array:
    """The inverse of `_matrix_of`; it keeps the Frobenius norm."""
    if not symmetric:
        return matrix.reshape(-1)
    return np.concatenate(
        [np.diagonal(matrix), math.sqrt(2.0) * matrix[np.triu_indices(len(matrix), 1)]]
    )


@lru_cache(maxsize=128)
def fixed_draws(p: int, *, n_draws: int, law: Law, symmetric: bool, seed: int) -> Array:
    """Return symmetric noise (n_draws, p, p) with diagonal entries of variance 1: constants,
    antithetic in pairs.

    Spherical Laplace noise in R^m is sqrt(W) times a normal vector, W ~ Gamma((m+1)/2, 1)
    (`noise`), so the same draws serve every budget. For post-processing and forecasts only.

    Args:
        p: rows.
        n_draws: even.
        law: "laplace" or "gaussian".
        symmetric: as for `unit_noise`.
        seed: of the constants.
    """
    rng = np.random.default_rng([seed, p])
    draws = symmetrise(rng.standard_normal((n_draws // 2, p, p)))
    if law == "laplace":
        shape = (_noise_dim(p, symmetric) + 1) / 2.0
        draws = draws * np.sqrt(rng.gamma(shape, size=n_draws // 2) / shape)[:, None, None]
    draws = np.concatenate([draws, -draws])
    draws.setflags(write=False)
    return draws


def private_matrix(
    matrix: Array,
    *,
    sensitivity: float,
    amount: float,
    kind: Definition,
    floor: float,
    rng: NoiseSource,
    symmetric: bool = False,
) -> PrivateMatrix:
    """Release one symmetric matrix (p, p) with eigenvalues of at least `floor`.

    Args:
        matrix: symmetric, (p, p).
        sensitivity: Frobenius.
        amount: of this matrix (> 0).
        kind: the definition that the amount is in.
        floor: smallest eigenvalue of what is returned (>= 0).
        rng: the system's entropy for a release, a generator for a simulation.
        symmetric: as for `unit_noise`.

    Privacy: `amount` in the definition `kind`; what follows the noise is post-processing. Noise of
             a release is exact, and the sum is rounded to a public grid (`randomness.grid_under`)
             before anything else.
    Source:  WKL Algorithm 2, Lemma 1.
    Differs: line 5 prints N(0, s^2 I_d); p^2 independent entries are meant and drawn.
    """
    definition = definition_named(kind, argument="kind")
    law = definition.noise(sensitivity=sensitivity, amount=amount)
    if isinstance(rng, SystemSource):
        drawn = definition.add_noise(
            _coordinates(matrix, symmetric),
            law,
            rng,
            sensitivity=sensitivity,
            amount=amount,
            exponent=grid_under(law.scale),
        )
        noisy = symmetrise(_matrix_of(drawn, len(matrix), symmetric))
    else:
        noise = law.scale * unit_noise(len(matrix), law=law.law, rng=rng, symmetric=symmetric)
        noisy = symmetrise(matrix + noise)
    floored = floor_eigenvalues(noisy, floor)
    return PrivateMatrix(
        noisy, floored.matrix, int(floored.n_lifted), float(floored.smallest_before)
    )


def rounding_allowance(design: Design, theta_priv: Array, whiten: Array | None = None) -> float:
    """Return what floating point may add to the Frobenius sensitivity of H and of S at a released
    theta.

    Each is a sum over records, computed with a relative error of at most `rounding_of_sums` against
    the sum of the absolute values, so two tables can differ by twice that; the public terms 2cI and
    4c^2 theta theta' count too, and the sqrt(2) of `_coordinates` is one of the few operations more
    that the error has room for.

    Args:
        design: its loss, c and n count; a person's sum has up to `rows_per_person` rows.
        theta_priv: released, (p,).
        whiten: of the metric, whose rows have norm at most 1 too; public like theta.
    """
    p, two_c = len(theta_priv), 2.0 * design.regularization
    largest = max(design.loss.max_curvature, design.loss.max_squared_slope(math.inf))
    unit, pull = math.sqrt(p), theta_priv
    if whiten is not None:
        unit, pull = float(np.linalg.norm(whiten @ whiten)), whiten @ theta_priv
    size = largest + two_c * unit + two_c**2 * float(pull @ pull)
    return 2.0 * rounding_of_sums(design.n_records * design.rows_per_person) * size


def release_moments(
    A: Table, theta_priv: Array, *, design: Design, rng: NoiseSource, whiten: Array | None = None
) -> PrivateMoments:
    """Release S at the already released theta_priv, and H there or at the one-step point,
    half way to the coefficient without penalty (`one_step_point`).

    Args:
        A: rows y_i x_i, (n, p), n that of the design, with the weights of the metric if there is
            one.
        theta_priv: released, (p,).
        design: its budgets of the two matrices count.
        rng: as for `private_matrix`.
        whiten: W (p, p) of a metric (`metric.Metric`): the matrices are W H W and W S W then.

    Privacy: `budget.hessian` and `budget.covariance`, adaptively composed with the release of
             theta_priv, on which the sensitivity of S depends, and of S, on which the point of H
             may depend.
    Raises:  ValueError for another number of rows than the design says, and for a metric without
             its geometry or its weights, or the other way round.
    """
    check_n_records(A, design)
    check_metric(A, design, has_metric=whiten is not None)
    p = len(theta_priv)
    c = design.regularization
    on_h = hessian_noise(design)
    on_s = covariance_noise(design, float(np.linalg.norm(theta_priv)))

    def released(matrix: Array, law: MatrixNoise, at: Array) -> PrivateMatrix:
        """A matrix of theta `at` with its noise; that of a release allows for rounding."""
        is_exact = isinstance(rng, SystemSource)
        return private_matrix(
            matrix,
            sensitivity=law.sensitivity
            + (rounding_allowance(design, at, whiten) if is_exact else 0.0),
            amount=law.amount,
            kind=law.kind,
            floor=law.floor,
            rng=rng,
            symmetric=law.symmetric,
        )

    risk = PenalisedRisk(A, design.loss, c)
    S = risk.covariance(theta_priv, whiten)
    if not has_one_step_point(design):
        H = risk.hessian(theta_priv, whiten)
        hessian = released(H, on_h, theta_priv)
        return PrivateMoments(hessian, released(S, on_s, theta_priv), np.array(theta_priv))
    covariance = released(S, on_s, theta_priv)
    sd = on_s.diagonal_sd(p)
    at = one_step_point(theta_priv, covariance.noisy, regularization=c, matrix_sd=sd, whiten=whiten)
    H = risk.hessian(at, whiten)
    return PrivateMoments(released(H, on_h, at), covariance, at)
