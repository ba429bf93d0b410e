"""From the penalised to the unpenalised coefficient, by one Newton step on released quantities
(own).

At the penalised minimiser theta_0 the gradient of the unpenalised objective is -2c theta_0. With
K = H - 2cI its Hessian, released there or, better, at the one-step point (`solvers.one_step`), one
Newton step is linear in theta_0:

    theta_0 + 2c K^-1 theta_0  =  T theta_0,    T = K^-1 H

so the corrected estimate is T theta_priv, the interval is that of the contrasts T, and the noise on
H moves T: for H + N the estimate moves by -2c K^-1 N K^-1 theta_0, whose variance is added.
Post-processing; no budget.

Where a direction of K is flatter than `floor_of`, the step would multiply noise instead of removing
bias. There K is raised to that floor, and the step goes only part of the way. A long step ends
short as well, because the curvature changes on the way. Coefficients that one of the two concerns
are marked.

The error in full, with K* and S* at the coefficient theta* without penalty, T3 = K* - K(theta_0)
the change of the curvature along the step, and b the noise:

    theta* - estimate = K*^-1 G / sqrt n + J H(theta_0)^-1 b / n + 2c K^-1 N K^-1 theta_0
    J = T - K^-1 T3 (I + c K^-1) half way,    J = T - K^-1 T3 without

as the estimate is a Newton step from theta_priv towards the minimiser of the same records without
penalty or noise: their sampling error is that minimiser's, and b enters twice, by e and by where K
is taken. A release cannot know T3 and K*, but the curvature of its typical record: K is a mean over
records with their curvatures as weights, and so its last column, divided by its last entry, is the
mean record by curvature, but for the constant u that ends every row. By `lift` = e^x the curvature
of that record is smaller at theta* than where K is taken. Were K and K* proportional, K = e^x K*,
then to first order T3 = -2x K, J = T + x (I + T) and J H(theta_0)^-1 = (1 + x) K^-1, while S is
E[f'' u u'] at theta* to second order: sampling error and noise both grow by e^x, so half-widths
take K / lift for K*. `_fall` finds x, between 0 and .193; where single directions fall otherwise,
the forecast counts it, as it has every term (`unpenalised_error`), with the bias that is left.
docs/proofs/map.md#one-step-point has the point itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.design import Design
from dpci_core.intervals.inflation import ErrorVariance, variance_of_rows
from dpci_core.losses import Loss
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.solvers.moments import Moments
from dpci_core.solvers.one_step import floor_of, has_one_step_point, noise_floor, of_coefficients

_MARKED = 0.05
"""A coefficient is marked when more than this share of its squared length lies in directions
that are not estimable.
"""
_TOLERATED = 0.25
"""A coefficient is marked when the bias that a step leaves (`Loss.newton_remainder`) may exceed
this share of its half-width; `python -m benchmarks.constants newton-step` prints the coverage of
marked and unmarked intervals."""

_FALLS = np.linspace(0.0, np.log(2.0), 65)
_BY_STEP = (1.0 - np.exp(-_FALLS)) * np.exp((np.exp(_FALLS) - 1.0) / 2.0)
_BEYOND = _FALLS - (np.exp(_FALLS) - 1.0) / 2.0
"""Falls of the logarithm of the curvature along the whole way, along the step that is taken for it,
and beyond the point of H (`_fall`). The last is largest, .193, where the first is log 2, and is
kept for longer ways."""
_TINY = float(np.finfo(np.float64).tiny)
_NO_CURVATURE = 1e-10
"""A direction flatter than this share of the steepest is one that no record tells apart, as among
all levels of a column and the constant; coefficients with a part in it are marked."""


@dataclass(frozen=True, slots=True)
class Correction:
    """The step for a stack of released Hessians.

    contrasts: L T, (..., k, p).
    extra: variance from the noise on H, (..., k).
    has_inestimable_part: coefficients with a part in directions that are not estimable, (..., k).
    remainder: about the bias that is left, (..., k).
    rows: of L K^-1 (..., k, p), and moved (..., p): the noise on H, of entries of variance 1 on the
        diagonal, acts between the two.
    lift: how many times larger K is than K*, (...,); 1 where that is not known.
    acting: J (..., k, p), by which noise on the minimiser moves the estimates.
    """

    contrasts: Array
    extra: Array
    has_inestimable_part: Flags
    remainder: Array
    rows: Array
    moved: Array
    lift: Array
    acting: Array

    def lifted(self, rows: Array) -> Array:
        """Return the rows (..., k, p) of L K*^-1 for those of L K^-1."""
        return np.asarray(self.lift[..., None, None] * rows)

    @property
    def extra_root(self) -> Array:
        """R (..., k, p) with R R' the covariance of what the noise on H adds; `extra` is its
        diagonal.
        """
        size = np.maximum(np.linalg.norm(self.moved, axis=-1), np.finfo(np.float64).tiny)
        along = np.einsum("...ij,...j->...i", self.rows, self.moved) / size[..., None]
        bent = (np.sqrt(2.0) - 1.0) * along[..., None] * self.moved[..., None, :]
        return np.asarray((size[..., None, None] * self.rows + bent) / np.sqrt(2.0))

    def marked(self, half_width: Array) -> Flags:
        """Return where (k,) the step removes the bias of the penalty only in part."""
        return self.has_inestimable_part | (self.remainder > _TOLERATED * half_width)


def unpenalised_error(
    moments: Moments,
    hessian: Array,
    contrasts: Array,
    steps: Array,
    *,
    design: Design,
    noise: NoiseLaw,
    unwhiten: Array | None = None,
) -> ErrorVariance:
    """Return the law of the error in full (module docstring), arrays (..., k).

    Args:
        moments: with `unpenalised_fit`.
        hessian: (p, p), what is released but for its noise.
        contrasts: L (k, p).
        steps: L T (..., k, p), T at the released Hessians or at the true one.
        design: of the release.
        noise: on the coefficients.
        unwhiten: W^-1 (p, p), what a metric multiplies the noise by.
    """
    truth = moments.unpenalised_fit
    assert truth is not None
    p, c = len(hessian), design.regularization
    K = _inverse(hessian - 2.0 * c * np.eye(p))
    bent = K @ (truth.hessian - moments.hessian + 2.0 * c * np.eye(p))
    if has_one_step_point(design):
        bent = bent @ (np.eye(p) + c * K)
    inverse = np.linalg.inv(moments.hessian)
    law = partial(
        variance_of_rows, mechanism=design.mechanism, noise=noise, n_records=design.n_records
    )
    moved = steps - contrasts @ bent
    exact = contrasts @ _inverse(truth.hessian)
    sampled = exact + (steps - contrasts @ (np.eye(p) + 2.0 * c * K)) @ inverse
    noisy = moved @ inverse if unwhiten is None else moved @ inverse @ unwhiten
    privacy = law(noisy, moments.covariance, moved)
    return privacy._replace(sampling=law(sampled, truth.covariance, steps).sampling)


def _inverse(K: Array) -> Array:
    """Return the inverse of a curvature (p, p), 0 in directions where records do not differ."""
    return np.asarray(np.linalg.pinv(K, rcond=_NO_CURVATURE, hermitian=True), dtype=np.float64)


def _share(contrasts: Array, vectors: Array, chosen: Flags) -> Array:
    """Share (..., k) of the squared length of each contrast that lies along these eigenvectors."""
    share = (contrasts @ vectors) ** 2
    share = share / np.einsum("...ij,...ij->...i", contrasts, contrasts)[..., None]
    return np.asarray(np.einsum("...ij,...j->...i", share, chosen.astype(np.float64)))


def no_correction(contrasts: Array, size: int) -> Correction:
    """Return the contrasts themselves, for a stack of this size."""
    stacked = np.broadcast_to(contrasts, (size, *contrasts.shape[-2:]))
    nothing = np.zeros(stacked.shape[:2])
    still = np.zeros((size, stacked.shape[-1]))
    lost = nothing.astype(np.bool_)
    return Correction(
        stacked, nothing, lost, nothing, stacked, still, lift=np.ones(size), acting=stacked
    )


def correction(
    values: Array,
    vectors: Array,
    theta: Array,
    *,
    loss: Loss,
    regularization: float,
    hessian_sd: float,
    contrasts: Array,
    whiten: Array | None = None,
    constant: float | None = None,
) -> Correction:
    """Return the step to the unpenalised coefficients, with what it costs.

    Args:
        values: eigenvalues of H, (..., p); in a metric those of K, what the records add to the
            penalty's.
        vectors: their eigenvectors, (..., p, p).
        theta: released, where H is, (..., p).
        loss: f.
        regularization: c > 0, in c |theta|^2 of the mean objective.
        hessian_sd: standard deviation of a diagonal entry of the noise on H.
        contrasts: L (k, p), for L T.
        whiten: W (..., p, p) of the metric that H is in, so W H W.
        constant: the last entry u of every row; None where it is not known, which leaves out what
            the curvature does beyond the point of H.

    Privacy: post-processing; released quantities and public constants are all it sees.
    """
    two_c, p = 2.0 * regularization, values.shape[-1]
    floor = float(floor_of(regularization, hessian_sd, p))
    curvature, hidden = values - two_c, np.zeros(())
    if whiten is not None:
        below = noise_floor(hessian_sd, p)
        hidden = _share(contrasts @ whiten, vectors, values < below)
        curvature, vectors = of_coefficients(values, vectors, whiten, floor=below)
        floor = two_c
    steep = np.maximum(curvature, floor)
    turned = np.swapaxes(vectors, -1, -2)
    inverse = (vectors / steep[..., None, :]) @ turned
    L, pull = contrasts, theta
    if whiten is not None:
        back = np.linalg.inv(whiten)
        inverse = back @ inverse @ back
        L, pull = contrasts @ whiten, np.einsum("...ij,...j->...i", whiten, theta)
    rows = L @ inverse
    moved = np.einsum("...ij,...j->...i", inverse, pull)
    length = np.einsum("...ij,...ij->...i", rows, rows)
    along = np.einsum("...ij,...j->...i", rows, moved)
    size = np.einsum("...i,...i->...", moved, moved)[..., None]
    extra = two_c**2 * (hessian_sd**2 / 2.0) * (length * size + along**2)
    between = rows, two_c * hessian_sd * moved
    inestimable_share = _share(contrasts, vectors, curvature < floor) + hidden
    step = two_c * np.abs(np.einsum("...ij,...j->...i", rows, pull))
    if whiten is not None:
        moved, rows = np.einsum("...ij,...j->...i", whiten, moved), rows @ whiten
        size = np.einsum("...i,...i->...", moved, moved)[..., None]
    remainder = loss.newton_remainder * two_c * np.sqrt(size) * step
    steps = contrasts + two_c * rows
    fall = np.zeros(theta.shape[:-1])
    if constant is not None and loss.is_log_odds:
        column = np.einsum("...ij,...j->...i", vectors * steep[..., None, :], vectors[..., -1, :])
        record = constant * column / column[..., -1:]
        fall = _fall(record, theta, two_c * moved, loss)
    return Correction(
        steps,
        extra,
        inestimable_share > _MARKED,
        remainder,
        *between,
        lift=np.exp(fall),
        acting=steps + fall[..., None, None] * (contrasts + steps),
    )


def _fall(record: Array, theta: Array, step: Array, loss: Loss) -> Array:
    """Return by how much the logarithm of the curvature falls (...,) from the one-step point to the
    coefficients without penalty, as that of one record does; 0 where it rises.

    Were K = e^-Fs K0 on the way, s from 0 to 1, its mean would make the way (1 - e^-F) / F times
    2c K0^-1 theta, the point were at F s = (e^F - 1) / 2 by a gradient covariance that is K*, and
    the step with K there would fall by (1 - e^-F) e^(Fs). F is found from that.

    Args:
        record: mean record by curvature (..., p).
        theta: where the step begins (..., p).
        step: the whole way (..., p).
        loss: f.
    """
    begin, end = (
        np.maximum(loss.curvature(np.einsum("...i,...i->...", record, at)), _TINY)
        for at in (theta, theta + step)
    )
    return np.asarray(np.interp(np.log(begin) - np.log(end), _BY_STEP, _BEYOND))
