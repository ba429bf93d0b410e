"""The clipped Newton steps of a linear regression, in the order in which they are drawn.

Simulations, estimators and forecasts run them alike; where the noise comes from is the only
difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batches import Table
from dpci_core.base.limits import check_coefficients
from dpci_core.base.linalg import lift
from dpci_core.base.rows import PersonRows
from dpci_core.privacy.randomness import NoiseSource
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.intervals import LinearWidths, linear_half_widths
from dpci_core.regression.noise import Drawn, matrix_sd
from dpci_core.regression.sums import LADDER, Clipped, Lengths, Whitened, moment

_QUANTILE = 0.9
"""Share of the lengths below the one that clips and bounds are multiples of."""
_FLOOR = 2.0
"""Under the eigenvalues of a second moment, in sizes of its noise: a step stays a contraction."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearFit:
    """What one private linear regression drew, and public functions of that; no record.

    Coefficients theta are of the rows x, the constant last, with the outcome in its spreads.

    Args:
        design: that ran.
        phi: released coefficients of z = Q x, (p,).
        metric: Q (p, p).
        second_moment: of the rows as the steps count them, as it was drawn, (p, p).
        whiten: of it, (p, p): its own part of Q.
        covariance: second moment of the clipped gradients over C^2, as it was drawn, (p, p).
        clips: C of each step.
        share_clipped: of gradients that the last clip cuts, at the coefficients, as it was drawn.
        numbers: everything that was drawn, in order.
    """

    design: LinearDesign
    phi: Array
    metric: Array
    second_moment: Array
    whiten: Array
    covariance: Array
    clips: tuple[float, ...]
    share_clipped: float
    numbers: tuple[Array, ...]

    @property
    def theta(self) -> Array:
        """Q' phi (p,), the coefficients of x."""
        return np.asarray(self.metric.T @ self.phi)

    def half_widths(
        self, contrasts: Array | None = None, confidence_level: float | None = None
    ) -> LinearWidths:
        """Return the half-widths of the intervals of contrasts @ theta; post-processing.

        Args:
            contrasts: L (k, p); None for the coefficients themselves.
            confidence_level: like 0.95; None for that of the design.
        """
        L = np.eye(len(self.phi)) if contrasts is None else contrasts
        return linear_half_widths(
            L @ self.metric.T,
            design=self.design,
            phi=self.phi,
            second_moment=self.second_moment,
            whiten=self.whiten,
            covariance=self.covariance,
            clips=self.clips,
            share_clipped=self.share_clipped,
            confidence_level=confidence_level,
        )


def linear_fit(A: Table, *, design: LinearDesign, source: NoiseSource) -> LinearFit:
    """Return private least-squares coefficients with what their intervals are made of.

    Args:
        A: rows [t, x], (n, 1 + p), with weights w, w |x|^2 <= 1; n that of the design. Of persons
            with several rows `PersonRows`, of whom it counts the persons.
        design: budget, n, steps and clip.
        source: the operating system's entropy for a release, a generator for a simulation.

    Privacy: `design.budget.total` in its definition, replace-one neighbours, n public
             (docs/proofs/gaussian.md#linear-regression); of persons a neighbour differs in all rows
             of one. From a generator nothing is promised.
    Raises:  ValueError for another number of rows, or persons, than the design says, rows without
             weights, those of persons where the design has none, or the other way round, and for p
             from 4,000 on; before any draw.
    """
    check_coefficients(A.shape[1] - 1)
    if len(A) != design.n_records:
        raise ValueError(f"Expected design.n_records={design.n_records} rows, got {len(A)}.")
    most, rows = design.rows_per_person, A.memory
    held = rows.most if isinstance(rows, PersonRows) else None
    if most > 1 and held is None:
        raise ValueError(f"Expected rows of persons beside rows_per_person={most}.")
    if held is not None and held > most:
        raise ValueError(f"Expected at most rows_per_person={most} rows of each person.")
    with np.errstate(all="ignore"):  # arithmetic that raises would tell of records
        return run_steps(A, design=design, source=source)


def run_steps(A: Table, *, design: LinearDesign, source: NoiseSource) -> LinearFit:
    """Run the steps of `linear_fit` on any number of rows, with the noise for n of the design."""
    if not A.has_weights:
        raise ValueError("Expected rows with weights.")
    noise, n, p = Drawn(design, source, []), len(A), A.shape[1] - 1
    amounts, edges = design.amounts(), LADDER * math.sqrt(p)
    seen = A.through(Whitened(np.eye(p), is_new=True), has_weights=True)
    rough = _whitening(noise.matrix(seen.total(moment) / n, amounts.rough), design, amounts.rough)
    rough = rough / math.sqrt(p)
    seen = A.through(Whitened(rough, is_new=True), has_weights=True)
    counts = noise.counts(seen.total(Lengths(edges)) / n)
    rough = rough / (design.row_clip * length_at(counts, edges))
    rows = A.through(Whitened(rough, is_new=True), has_weights=True)
    second_moment = noise.matrix(rows.total(moment) / n, amounts.moment)
    whiten = _whitening(second_moment, design, amounts.moment)
    rows = rows.through(Whitened(whiten, is_new=False), has_weights=True)
    phi, clips = np.zeros(p), []
    for step in range(design.steps):
        counts = noise.counts(rows.total(Lengths(edges, phi)) / n)
        clips.append(design.clip * length_at(counts, edges))
        gradient = rows.total(Clipped(phi, clips[-1]))[0] / n
        phi = phi - clips[-1] * noise.gradient(gradient, step)
    _, outer, n_cut = rows.total(Clipped(phi, clips[-1]))
    share = noise.count(n_cut / n)
    covariance = noise.matrix(outer / n, amounts.covariance)
    metric = whiten @ rough
    return LinearFit(
        design=design,
        phi=phi,
        metric=metric,
        second_moment=second_moment,
        whiten=whiten,
        covariance=covariance,
        clips=tuple(clips),
        share_clipped=float(share[0]),
        numbers=tuple(noise.numbers),
    )


def _whitening(matrix: Array, design: LinearDesign, amount: float) -> Array:
    """A lower triangle Q with Q M Q' = I, eigenvalues of M raised to what their noise allows."""
    values, vectors = np.linalg.eigh(matrix)
    floor = _FLOOR * math.sqrt(len(matrix)) * matrix_sd(design, amount)
    floored = (vectors * lift(values, floor)) @ vectors.T
    return np.asarray(np.linalg.inv(np.linalg.cholesky((floored + floored.T) / 2.0)))


def length_at(counts: Array, edges: Array) -> float:
    """The length that nine of ten records do not exceed, of noisy shares (k + 1,) between edges
    (k,): those of the nearest distribution, evenly spread over the logarithm within a class.
    """
    shares = _nearest_distribution(counts)
    below = np.cumsum(shares)[:-1]
    k = int(np.searchsorted(below, _QUANTILE))
    if k in (0, len(edges)):
        return float(edges[min(k, len(edges) - 1)])
    inside = (_QUANTILE - below[k - 1]) / shares[k]
    return float(edges[k - 1] * (edges[k] / edges[k - 1]) ** inside)


def _nearest_distribution(values: Array) -> Array:
    """The point of the simplex nearest to values (k,)."""
    down = np.sort(values)[::-1]
    over = (np.cumsum(down) - 1.0) / np.arange(1, len(down) + 1)
    level = over[np.flatnonzero(down > over)[-1]]
    return np.asarray(np.maximum(values - level, 0.0))
