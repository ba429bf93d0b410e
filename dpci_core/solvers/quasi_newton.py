"""The minimiser from a few passes over the records, for tables with many more rows than columns.

Newton's method pays p^2 operations a record and step for its Hessian. Here the minimiser of some of
the rows, in single precision, is where a quasi-Newton method starts, and their Hessian what it
starts from; its steps cost p operations a record. The gradient of all rows, in double precision,
certifies the answer as before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from dpci_core.base.array import Array
from dpci_core.base.errors import check_positive
from dpci_core.base.rows import plain, times_weights, unit_rows
from dpci_core.losses import Loss
from dpci_core.solvers.risk import TOLERANCE, Fit, PenalisedRisk

_SAMPLE_ROWS = 4_096
"""Rows that a fit of many more starts with, and of the Hessians that a stretch of steps starts
from; evenly spaced.
"""
_SAMPLE_TOLERANCE = 0.2
"""Gradient norm of the start, times the root of its rows: about as far as the gradient of all rows
is from theirs.
"""
_SINGLE_CURVATURE = 1e-5
"""Least penalty, as a share of the largest curvature, that a Hessian in single precision
resolves.
"""
_COARSER = 4
"""Only so many-th of them count where a start is far from the minimiser anyway."""
_SINGLE_CHANGE = 1e-4
"""Share of the gradient norm in double precision down to which changes in single precision lead
on.
"""
_STRETCH = 6
"""Steps before the Hessian is taken anew, at a point that is then closer,"""
_LAST_HESSIAN = 19
"""up to this pass."""
_MAX_PASSES = 60
_STALLED = 0.9
"""A step that leaves more than this share of the gradient norm is a stall."""
_MAX_STALLS = 6
"""After so many `newton.Newton` takes over; SVMs stall often before the band of their smoothing is
found.
"""


@dataclass(frozen=True, slots=True)
class QuasiNewton:
    """Quick steps, for rows in memory; other solvers take over where they stall.

    Args:
        tolerance: bound on the gradient norm of the mean objective that is aimed at, > 0.
    """

    tolerance: float = TOLERANCE

    @np.errstate(over="ignore", invalid="ignore")  # a step that leads nowhere is a stall
    def minimise(self, risk: PenalisedRisk, start: Array | None = None) -> Fit:
        """Return the point that quick steps reach, or the best they have seen when they stall; no
        records make it raise.

        Args:
            risk: J of rows in memory, with c > 0.
            start: first guess, (p,); none, and one that cannot be near, is zero.

        Returns:
            `gradient_norm` is what double precision finds from all rows, and infinite where the
            steps stalled.
        """
        A, loss, c = risk.rows.memory, risk.loss, risk.regularization
        assert A is not None
        check_positive(regularization=c, tolerance=self.tolerance)
        n, p = A.shape
        linear = np.zeros(p) if risk.noise_vector is None else risk.noise_vector / n
        # |theta| <= (1 + |b|/n)/(2c) at the minimiser, as slopes are at most 1: farther out, zero
        # is the better guess.
        reach = (1.0 + float(np.linalg.norm(linear))) / (2.0 * c)
        is_near = start is not None and float(np.linalg.norm(start)) <= reach
        first = start if start is not None and is_near else np.zeros(p)
        if n < 2 * _SAMPLE_ROWS:
            rows = A[:]
            return _descend(_Objective(rows, rows, loss, c, linear), first, None, self.tolerance)
        single = A.astype(np.float32)
        is_resolved = 2.0 * c >= _SINGLE_CURVATURE * loss.max_curvature
        sample = (single if is_resolved else A)[:: n // _SAMPLE_ROWS]
        part = _Objective(sample, sample, loss, c, linear)
        near = _descend(part, first, None, _SAMPLE_TOLERANCE / math.sqrt(len(sample)))
        objective = _Objective(A, sample, loss, c, linear, single)
        return _descend(objective, near.theta, near.theta, self.tolerance)


@dataclass(slots=True)
class _Objective:
    """J with its linear part b/n, its rows, and those whose Hessian stands for that of all.

    single: the rows in single precision, from which changes since the last gradient are computed.
    """

    rows: Any
    sample: Any
    loss: Loss
    regularization: float
    linear: Array
    single: Any = None
    theta: Array = field(init=False)
    margins: Array = field(init=False)
    slopes: Array = field(init=False)
    at_theta: Array = field(init=False)

    def gradient(self, theta: Array) -> Array:
        """At theta, in the precision of the rows; kept for `changed_gradient`."""
        self.theta = theta
        self.margins = self.rows @ theta.astype(self.rows.dtype, copy=False)
        self.slopes = self.loss.slope(self.margins)
        mean = (self.slopes @ self.rows) / len(self.rows)
        self.at_theta = np.asarray(mean + self.linear + 2.0 * self.regularization * theta)
        return self.at_theta

    def rough_gradient(self, theta: Array) -> Array:
        """At theta in single precision, where no gradient is at hand to start from."""
        slopes = self.loss.slope(self.single @ theta.astype(np.float32))
        mean = (slopes @ self.single) / len(self.rows)
        return np.asarray(mean + self.linear + 2.0 * self.regularization * theta)

    def changed_gradient(self, theta: Array) -> Array:
        """At theta, from the last `gradient` and what changed since; its error is some 1e-5 of the
        change.
        """
        step = theta - self.theta
        slopes = self.loss.slope(self.margins + self.single @ step.astype(np.float32))
        mean = ((slopes - self.slopes).astype(np.float32) @ self.single) / len(self.rows)
        return np.asarray(self.at_theta + mean + 2.0 * self.regularization * step)

    def inverse_hessian(self, theta: Array | None) -> Array:
        """Return the inverse Hessian (p, p) of the sample at theta, or for the largest curvature
        where theta is None; empty if singular up to rounding.
        """
        sample, loss = self.sample, self.loss
        if theta is None:
            some = sample[::_COARSER] if len(sample) >= _SAMPLE_ROWS else sample
            unit = unit_rows(some)
            hessian = (unit.T @ unit).astype(np.float64) * (loss.max_curvature / len(some))
        else:
            curvature = loss.curvature(sample @ theta.astype(sample.dtype, copy=False))
            rows = plain(sample)
            bent = rows * times_weights(curvature, sample)[:, None]
            hessian = (rows.T @ bent).astype(np.float64) / len(sample)
        hessian.flat[:: len(hessian) + 1] += 2.0 * self.regularization
        factor, is_singular = dpotrf(hessian, lower=True)
        if is_singular:
            return np.empty((0, 0))
        lower = np.tril(dpotri(factor, lower=True)[0])
        return np.asarray(lower + lower.T - np.diag(lower.diagonal()))


def _descend(objective: _Objective, theta: Array, at: Array | None, tolerance: float) -> Fit:
    """Quasi-Newton steps from theta to the tolerance, or to the best point seen when they stall.

    at: where the first Hessian is taken, None for the largest curvature: far from the minimiser of
    an SVM its Hessian says nothing about where a step ends.
    """
    is_certain = objective.single is None
    gradient = objective.gradient(theta) if is_certain else objective.rough_gradient(theta)
    norm, n_stalls = math.sqrt(gradient @ gradient), 0
    best, best_norm = theta, norm
    expected, last_certain = norm, norm if is_certain else math.inf
    inverse = np.empty((0, 0))
    for n_passes in range(1, _MAX_PASSES + 1):
        if norm <= tolerance and is_certain:
            return Fit(theta, norm, n_passes)
        if n_passes % _STRETCH == 1 and n_passes <= _LAST_HESSIAN:
            inverse = objective.inverse_hessian(at if n_passes == 1 else theta)
        if n_stalls >= _MAX_STALLS or not len(inverse):
            break
        step = -(inverse @ gradient)
        # A step that is likely to arrive, or too small beside the last certain gradient, is taken
        # in double precision.
        is_certain = (
            objective.single is None
            or expected <= tolerance
            or norm <= _SINGLE_CHANGE * last_certain
        )
        moved = (
            objective.gradient(theta + step)
            if is_certain
            else objective.changed_gradient(theta + step)
        )
        moved_norm = math.sqrt(moved @ moved)
        n_stalls += not moved_norm <= _STALLED * norm
        inverse = _updated(inverse, step, moved - gradient)
        expected = moved_norm * moved_norm / norm if moved_norm < norm else moved_norm
        theta, gradient, norm = theta + step, moved, moved_norm
        if is_certain:
            last_certain = norm
        if norm < best_norm:
            best, best_norm = theta, norm
    return Fit(best, math.inf, n_passes)


def _updated(inverse: Array, step: Array, change: Array) -> Array:
    """BFGS update; left out where the curvature along the step is not positive."""
    curvature = float(step @ change)
    if not curvature > 1e-12 * math.sqrt((step @ step) * (change @ change)):
        return inverse
    bent = inverse @ change
    half = np.outer(step, (0.5 + 0.5 * float(change @ bent) / curvature) * step - bent) / curvature
    return np.asarray(inverse + (half + half.T))
