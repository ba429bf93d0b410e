"""The non-private fit of a table with its two moments, from which every question about lengths is
answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.batch import Block
from dpci_core.base.batches import Place, RecordBatches, Table, as_table, table_of
from dpci_core.base.errors import ConvergenceError, check_choice, short_repr
from dpci_core.base.limits import LARGEST_START, regularization_in_range
from dpci_core.base.metric import Metric
from dpci_core.base.rows import Meaning, Rows, WeightedRows, plain, times_weights, unit_rows
from dpci_core.base.validation import check_vector
from dpci_core.design import ESTIMANDS, Geometry, TargetName
from dpci_core.losses import Loss, check_loss
from dpci_core.solvers.batch_sums import LeverageSums, rows_of
from dpci_core.solvers.cuts import Cuts
from dpci_core.solvers.metric import metric_of, second_moment_of, weighted, weighted_table
from dpci_core.solvers.minimise import CHECKED, minimise
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.one_step import one_step_point
from dpci_core.solvers.risk import PenalisedRisk
from dpci_core.solvers.variance_drift import VarianceDrift


@dataclass(frozen=True, slots=True)
class HessianDrift:
    """How far the Hessian moves when theta does: mean |H(theta + step) - H| / |H| by
    root-mean-square |step|.

    Steps are isotropic ("output", like output perturbation) or shaped like H^-1 z ("objective").
    """

    step: Array
    output: Array
    objective: Array


@dataclass(frozen=True, slots=True)
class UnpenalisedFit:
    """The fit of the same records without a penalty; not private.

    unweighted: what intervals are for, (p,): its coefficients, all rows counting in full and no
    value cut off at a limit.
    unweighted_se: standard error (p,) of what weights and limits move, B (unweighted - theta) with
    the B of `Moments.basis`; 0 without them.
    theta: its coefficients (p,), rows with their weights; the same without weights.
    hessian: its Hessian K* (p, p).
    covariance: its gradient covariance S* (p, p).
    one_step_point: the penalised Hessian H (p, p) half way to it, where a release has it
    (`solvers.one_step`).
    """

    unweighted: Array
    unweighted_se: Array
    theta: Array
    hessian: Array
    covariance: Array
    one_step_point: Array


@dataclass(frozen=True, slots=True)
class Spread:
    """Second moment (p, p) of the rows of a table, and the leverages |Q x|^2 that are usual there;
    not private.

    ridges, leverages: what all but one row in `_EXTREME` stay below in M + ridge I, tabulated (K,).
    """

    second_moment: Array
    ridges: Array
    leverages: Array

    @classmethod
    def of(cls, A: Rows | Table) -> Spread:
        """Return the spread of the rows of a table; rows with weights count as rows of norm at most
        1.
        """
        A = as_table(A)
        M = second_moment_of(A)
        values, vectors = np.linalg.eigh(M)
        scales = (1.0 / (np.maximum(values, 0.0) + _RIDGES[:, None])).T
        measure = _Largest(vectors, scales, 1 + len(A) // _EXTREME)
        return cls(M, _RIDGES, A.total(measure, measure.merged).min(axis=0))

    def leverage(self, ridge: float) -> float:
        """Return the usual leverage at a ridge, by interpolation; it falls as the ridge grows."""
        least = float(self.ridges[0])
        found = np.interp(np.log(ridge), np.log(self.ridges), np.log(self.leverages))
        return float(np.exp(found)) * max(1.0, least / ridge)


def _leverages(rows: Block, vectors: Array, scales: Array) -> Array:
    """Return the leverage of each row (n,) at each of the ridges, (n, K)."""
    return np.asarray((unit_rows(rows) @ vectors) ** 2 @ scales)


@dataclass(frozen=True, slots=True, eq=False)
class _Largest:
    """The so many largest leverages of a batch at each ridge."""

    vectors: Array
    scales: Array
    count: int

    def __call__(self, place: Place) -> Array:
        blocks = (_leverages(a, self.vectors, self.scales) for a in place.chunks())
        found = next(blocks)
        for block in blocks:
            found = self.merged(found, block)
        return self.merged(found, found[:0])

    def merged(self, a: Array, b: Array) -> Array:
        """The largest of two such lists."""
        both = np.concatenate([a, b])
        return np.asarray(np.partition(both, max(0, len(both) - self.count), axis=0))[-self.count :]


_RIDGES = np.logspace(-3, 0, 25)
_EXTREME = 3_000
"""The most extreme rows of a large table do not decide how long every interval is."""
_AS_IT_WAS = 1.0 - 1e-6


@dataclass(frozen=True, slots=True)
class Moments:
    """Non-private fit of one table: theta_hat (p,), Hessian and gradient covariance (p, p), and how
    they were made.

    drift and unpenalised_fit are None where no records were at hand, as for moments that are
    themselves a release, and where nobody asked for them; the second also where there is no
    minimiser without a penalty because the classes can be separated (`is_separable`).
    geometry: whose metric the rows have weights for; None for rows as they are.
    spread: the second moment of the rows as they are, where noise is to be shaped like it.
    n_weighted: rows that a metric makes count less.
    leverage_correction: (p, p), gradient covariance in which a row counts by its leverage,
        w f'' a'H^-1 a: by n, what the fit of n rows takes off the gradient covariance that it sees;
        None as for drift.
    variance_drift, unpenalised_variance_drift: of the variance of the penalised coefficients, and
        of those without penalty; None as for drift, and where there is no fit without penalty.
    basis, is_simulated, constant, told: as in `Meaning`; forecasts are about B theta.
    cuts: what cut gradients move, where a spread is and steps may run; it is in no file.

    Not private: on a sensitive table, neither these nor anything chosen with them may reach a
    release.
    """

    theta_hat: Array
    hessian: Array
    covariance: Array
    n_records: int
    loss: Loss
    regularization: float
    drift: HessianDrift | None = None
    unpenalised_fit: UnpenalisedFit | None = None
    is_separable: bool = False
    geometry: Geometry | None = None
    spread: Spread | None = None
    n_weighted: int = 0
    leverage_correction: Array | None = None
    basis: Array | None = None
    is_simulated: bool = False
    variance_drift: VarianceDrift | None = None
    unpenalised_variance_drift: VarianceDrift | None = None
    constant: float | None = None
    told: Array | None = None
    cuts: Cuts | None = None

    __repr__ = short_repr


def fit_moments(
    X: npt.ArrayLike | WeightedRows | RecordBatches,
    y: npt.ArrayLike | None = None,
    *,
    loss: Loss,
    regularization: float,
    start: npt.ArrayLike | None = None,
    target: TargetName = "penalised",
    with_drift: bool = True,
    geometry: Geometry | None = None,
    with_spread: bool = False,
    meaning: Meaning | None = None,
    known: UnpenalisedFit | None = None,
) -> Moments:
    """Return the non-private fit and its moments, from which `forecast` answers every question
    about lengths.

    Args:
        X: (n, p), row norms at most 1, constant column included; or batches, which hold y too.
        y: (n,) in {-1, +1}; None with batches.
        loss: f.
        regularization: c > 0, in c |theta|^2 of the mean objective.
        start: first guess, (p,); it decides how long the fit takes.
        target: "unpenalised" adds what a forecast of that target needs, a second fit.
        with_drift: False leaves out what only the validity of a forecast needs, for searches.
        geometry: rows get the weights of its metric; implies with_spread.
        with_spread: adds what shapes noise like the records.
        meaning: of the coefficients (`Records.meaning`); None where theta itself is meant and no
            value was cut off.
        known: the fit without a penalty of these very rows at another c, which nothing but its
            `one_step_point` depends on.

    Privacy: none. The result describes the table; use it for public, simulated or already released
             data.
    Raises:  DataRejectedError (ValueError) for records that break a rule, ConvergenceError.
    """
    check_loss(loss)
    check_choice(target, tuple(ESTIMANDS), name="target")
    regularization = regularization_in_range(regularization)
    A, meaning = table_of(X, y), meaning or Meaning()
    first = (
        None
        if start is None
        else check_vector(start, n=A.shape[1], largest=LARGEST_START, name="start")
    )
    spread = None if geometry is None and not with_spread else Spread.of(A)
    n_weighted = 0
    if geometry is not None:
        assert spread is not None
        metric = metric_of(geometry, spread.second_moment)
        n_weighted = int(A.total(_Lightened(metric)))
        A = weighted_table(A, metric)
    risk = PenalisedRisk(A, loss, regularization)
    theta = minimise(risk, CHECKED, start=first).theta
    H, S = risk.moments(theta)
    found = None
    is_free = ESTIMANDS[target].needs_unpenalised_fit
    if is_free:
        in_full = meaning.rows_in_full(y)
        found = _without_penalty(A, theta, S, loss, regularization, meaning, in_full, known)

    def variance_drift(K: Array) -> VarianceDrift | None:
        if not with_drift:
            return None
        basis = np.eye(len(theta)) if meaning.basis is None else meaning.basis
        return VarianceDrift.of(A, theta, K, S, loss=loss, basis=basis)

    without = H - 2.0 * regularization * np.eye(len(theta))
    return Moments(
        theta_hat=theta,
        hessian=H,
        covariance=S,
        n_records=len(A),
        loss=loss,
        regularization=regularization,
        drift=_hessian_drift(A, theta, H, loss=loss) if with_drift else None,
        unpenalised_fit=found,
        is_separable=is_free and found is None,
        geometry=geometry,
        spread=spread,
        n_weighted=n_weighted,
        leverage_correction=_leverage_correction(A, theta, H, loss, regularization)
        if with_drift
        else None,
        basis=meaning.basis,
        is_simulated=meaning.is_simulated,
        variance_drift=variance_drift(H),
        unpenalised_variance_drift=None if found is None else variance_drift(without),
        constant=meaning.constant,
        told=meaning.told,
        cuts=None
        if spread is None or not loss.is_log_odds
        else Cuts.of(A, theta, H, spread.second_moment, loss=loss),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Lightened:
    """How many rows of a batch a metric makes count less."""

    metric: Metric

    def __call__(self, place: Place) -> int:
        found = 0
        for block in place.chunks():
            before = times_weights(np.full(len(block), _AS_IT_WAS), block)
            found += int(np.count_nonzero(weighted(block, self.metric).weights < before))
        return found


def _without_penalty(
    A: Table,
    theta: Array,
    S: Array,
    loss: Loss,
    c: float,
    meaning: Meaning,
    in_full: Array | None,
    known: UnpenalisedFit | None,
) -> UnpenalisedFit | None:
    """The fit without a penalty, from half a step twice on; None if there is none."""
    at = one_step_point(theta, S, regularization=c, matrix_sd=0.0)
    H = PenalisedRisk(A, loss=loss, regularization=c).hessian(at)
    if known is not None:
        return replace(known, one_step_point=H)
    try:
        truth = unpenalised_minimiser(A, loss=loss, start=2.0 * at - theta)
        unweighted, se = _in_full(A, truth, loss, meaning, in_full)
    except ConvergenceError:
        return None
    K, covariance = PenalisedRisk(A, loss=loss, regularization=0.0).moments(truth)
    return UnpenalisedFit(unweighted, se, truth, K, covariance, H)


def _in_full(
    A: Table, truth: Array, loss: Loss, meaning: Meaning, in_full: Array | None
) -> tuple[Array, Array]:
    """The fit of all rows in full, no value cut off, with the standard error of its difference from
    that of the weighted rows.

    Rows drawn from a logistic model have the same one with weights and without (docs/proofs/map.md,
    Proposition 1), so that what lies between them would be the sampling error of the rows.
    """
    is_exact = meaning.is_simulated and loss.is_log_odds
    if in_full is None and (is_exact or not A.has_weights):
        return truth, np.zeros_like(truth)
    of_all = as_table(A if in_full is None else in_full).through(plain, has_weights=False)
    unweighted = unpenalised_minimiser(of_all, loss=loss, start=truth)
    K, K0 = (
        PenalisedRisk(of, loss, 0.0).hessian(at) for of, at in ((A, truth), (of_all, unweighted))
    )
    B = np.eye(len(truth)) if meaning.basis is None else meaning.basis
    inverse, inverse_full = (np.asarray(B @ np.linalg.pinv(of)) for of in (K, K0))
    gap = _Gap(truth, inverse, unweighted, inverse_full, loss, in_full)
    return unweighted, np.asarray(np.sqrt(A.total(gap)) / len(A))


@dataclass(frozen=True, slots=True, eq=False)
class _Gap:
    """Sums (p,) of squares of the difference of two influences, B K^-1 w f' a - B K0^-1 f' a, each
    of its fit with its B K^-1.

    in_full: the rows that count in full, where they are not those of the table.
    """

    theta: Array
    inverse: Array
    theta_full: Array
    inverse_full: Array
    loss: Loss
    in_full: Array | None

    def __call__(self, place: Place) -> Array:
        found, first = np.zeros(len(self.inverse)), 0
        for block in place.chunks():
            rows = plain(block)
            free = rows if self.in_full is None else self.in_full[first : first + len(rows)]
            first += len(rows)
            slopes = times_weights(self.loss.slope(rows @ self.theta), block)
            in_full = self.loss.slope(free @ self.theta_full)
            apart = self.inverse @ (slopes[:, None] * rows).T
            apart -= self.inverse_full @ (in_full[:, None] * free).T
            found += np.einsum("ij,ij->i", apart, apart)
        return found


def _leverage_correction(
    A: Table, theta: Array, H: Array, loss: Loss, regularization: float
) -> Array:
    """`Moments.leverage_correction`; at the minimiser the mean gradient is -2c theta."""
    inverse = np.asarray(np.linalg.inv(H))
    return np.asarray(
        A.total(LeverageSums(theta, loss, inverse, -2.0 * regularization * theta)) / len(A)
    )


_DRIFT_STEPS = np.logspace(-2.5, 1.5, 9)
_DRIFT_DRAWS = 16
_DRIFT_ROWS = 500


def _hessian_drift(A: Table, theta: Array, H: Array, *, loss: Loss) -> HessianDrift:
    """Tabulate `HessianDrift` on an evenly spaced subsample; the draws are a fixed constant of this
    module.
    """
    step = -(-len(A) // _DRIFT_ROWS)
    sample = rows_of(A, step)
    p = len(theta)
    z = np.random.default_rng(20_240_607).standard_normal((_DRIFT_DRAWS, p))
    shaped = np.linalg.solve(H, z.T).T / np.linalg.norm(np.linalg.inv(H))
    margin = sample @ theta
    unit, rows = unit_rows(sample), plain(sample)
    size_of = _size_of_sum(unit)
    families = []
    for directions in (z / np.sqrt(p), shaped):
        moved = margin[:, None, None] + (rows @ directions.T)[:, :, None] * _DRIFT_STEPS
        change = (loss.curvature(moved) - loss.curvature(margin)[:, None, None]).reshape(
            len(sample), -1
        )
        size = size_of(change) / len(sample)
        families.append(size.reshape(_DRIFT_DRAWS, -1).mean(axis=0) / np.linalg.norm(H))
    return HessianDrift(step=_DRIFT_STEPS, output=families[0], objective=families[1])


def _size_of_sum(rows: Array) -> Callable[[Array], Array]:
    """Return |sum_i w_i a_i a_i'|_F of weights (n, k) as a function of them, of rows a (n, p): by
    the entries of these matrices, or where they are more than rows as the root of w' (K o K) w with
    K the Gram matrix.
    """
    n, p = rows.shape
    if p * (p + 1) < 2 * n:
        i, j = np.triu_indices(p)
        entries = (rows[:, i] * rows[:, j] * np.where(i == j, 1.0, np.sqrt(2.0))).T
        return lambda w: np.linalg.norm(entries @ w, axis=0)
    squared_gram = (rows @ rows.T) ** 2
    return lambda w: np.sqrt(np.maximum(0.0, np.einsum("ij,ij->j", w, squared_gram @ w)))


def cut_away(moments: Moments, geometry: Geometry, clip: float) -> Array:
    """Return how far gradients cut at a length in the metric of a geometry move theta (p,).

    Raises:  ValueError for moments that do not know.
    """
    spread, cuts = moments.spread, moments.cuts
    if spread is None or cuts is None:
        raise ValueError("Expected moments that know of cuts: fit_moments(..., with_spread=True).")
    least = max(float(np.linalg.eigvalsh(spread.second_moment)[0]), 0.0) + geometry.ridge
    return cuts.at(geometry.ridge, clip * float(np.sqrt(min(geometry.leverage, 1.0 / least))))


_TINY_PENALTY = 1e-9
"""Stands for no penalty at all."""
_HELD = 0.1
"""A Newton step without it that moves a margin by more says that it holds the minimiser, whatever
the length of the rows: where classes can be separated such a step is about 1, however often it is
taken.
"""


def unpenalised_minimiser(A: Rows | Table, *, loss: Loss, start: Array | None = None) -> Array:
    """Return the theta (p,) that minimises the risk without a penalty; not private.

    Args:
        A: rows y_i x_i, (n, p).
        loss: f.
        start: first guess, (p,).

    Raises:  ConvergenceError if there is none, as for a table whose classes can be separated.
    """
    A = as_table(A)
    risk = PenalisedRisk(A, loss, _TINY_PENALTY)
    fit = minimise(risk, Newton(), start=start)
    H = risk.hessian(fit.theta)
    step = 2.0 * _TINY_PENALTY * np.linalg.solve(H, fit.theta)
    reach = _Reach(np.asarray(step, dtype=np.float64))
    if float(A.total(reach, max)) > _HELD:
        raise ConvergenceError("classes_separable")
    return fit.theta


@dataclass(frozen=True, slots=True, eq=False)
class _Reach:
    """How far a step moves a margin at most."""

    step: Array

    def __call__(self, place: Place) -> float:
        return max(float(np.max(np.abs(plain(a) @ self.step))) for a in place.chunks())


def unweighted_minimiser(A: Rows | Table, *, loss: Loss, start: Array | None = None) -> Array:
    """Return what intervals without a penalty are for, (p,): the same with every row in full.

    Weights make room for unusual rows; nobody asks for the coefficients of a table in which they
    count less.
    """
    in_full = as_table(A).through(plain, has_weights=False)
    return unpenalised_minimiser(in_full, loss=loss, start=start)
