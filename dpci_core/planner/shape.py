"""The shape of the rows in which intervals are shortest, by the law that estimates have for many
records.

With a shape U the rows v of a world have weights w = min(1, 1/|U v|^2), and an estimate has nearly
the variance

    K S K' / n + |A|^2,     K = (E[w f'' v v'])^-1,     S = E[w^2 f'^2 v v'],

where A = s K U^-1 / n for noise of standard deviation s in the objective, and the noise itself with
what the way back from the penalty makes of it, s (U' + 2 c K U^-1), where it is added to the
minimiser. Weights move an estimate by K E[(1 - w) f' v], to first order (docs/proofs/map.md,
Proposition 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.base.limits import SHAPE
from dpci_core.base.rows import parted
from dpci_core.base.watch import step
from dpci_core.design import Design
from dpci_core.mechanisms.mechanism import mechanism_of, model_noise
from dpci_core.schema import Records
from dpci_core.schema.declare import Triangle
from dpci_core.solvers.moments import Moments

_ROWS, _FEWEST_ROWS = 20_000, 2_000
"""Evenly spaced rows, of all worlds together and of each."""
_STEPS = 60
_BESIDE = 0.5
"""Weight of the constant, and of features that are out of reach, against the others: with a tenth
the noise on the constant grows so long that forecasts take back what the others gain."""
_LEAST = 1e-6
"""Curvature of directions that no row has, against the mean of the others."""


def shortest_shape(
    start: Triangle,
    worlds: Sequence[tuple[Records, Moments]],
    *,
    design: Design,
    is_out: Flags,
) -> Triangle | None:
    """Return the shape U with the least mean logarithm of the lengths, over coefficients and
    worlds, near one that is known; None where none is found that is shorter.

    Args:
        start: the known shape, by its rows from the diagonal on.
        worlds: planning rows under that shape, with their fit: public or simulated.
        design: mechanism, budget of the coefficients, c and n.
        is_out: features (p - 1,) that are out of reach and count less, as the constant does.

    Returns: rows of U from the diagonal on, to three digits.

    Privacy: none: the planning rows must not be private. Every public shape is allowed
             (docs/proofs/map.md).
    Raises:  InfeasibleDesignError: the design cannot run.
    """
    from scipy.optimize import minimize  # takes as long as half of this package

    if any(moments.unpenalised_fit is None for _, moments in worlds):
        return None
    p = len(start)
    counts = np.append(np.where(is_out, _BESIDE, 1.0), _BESIDE)
    every = max(_ROWS // len(worlds), _FEWEST_ROWS)
    seen = [_World.of(*world, design=design, n_rows=every) for world in worlds]
    place = np.triu_indices(p)

    def mean_length(entries: Array) -> tuple[float, Array]:
        T = np.zeros((p, p))
        T[place] = entries
        step(1)
        found = [one.length(T, counts / counts.sum()) for one in seen]
        slopes = np.mean([slope for _, slope in found], axis=0)
        return float(np.mean([length for length, _ in found])), slopes[place]

    try:
        with np.errstate(all="ignore"):  # a line search may go where no length is finite
            first = mean_length(np.eye(p)[place])[0]
            found = minimize(
                mean_length,
                np.eye(p)[place],
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": _STEPS},
            )
    except np.linalg.LinAlgError:
        return None
    T, U = np.zeros((p, p)), np.zeros((p, p))
    T[place] = found.x
    for k, row in enumerate(start):
        U[k, k:] = row
    U = T @ U
    U *= np.where(np.diag(U) < 0.0, -1.0, 1.0)[:, None]
    if not (found.fun < first and np.isfinite(U).all()):
        return None
    if np.diag(U).min() < 2.0 * SHAPE[0] or np.abs(U).max() > SHAPE[1] / 2.0:
        return None
    return rounded(U)


def rounded(U: Array) -> Triangle:
    """The rows of an upper triangle from the diagonal on, to three digits."""
    return tuple(tuple(float(f"{x:.3g}") for x in row[k:]) for k, row in enumerate(U))


@dataclass(frozen=True, slots=True, eq=False)
class _World:
    """Planning rows with what does not depend on the shape.

    rows: y v, (n, p), under the shape that is known: T times it is tried.
    slope, curvature: f' and f'' at the coefficients without penalty, rows in full, (n,).
    basis: of what is asked for, in these coordinates, (p, p).
    own, turned: standard deviation of the noise on a coefficient, and of that which H^-1 turns.
    is_exact: whether the model is right, so that weights move nothing but the sampling error of
        the rows; else the square of what they move counts like variance.
    n_records: that are planned for.
    """

    rows: Array
    slope: Array
    curvature: Array
    basis: Array
    own: float
    turned: float
    is_exact: bool
    n_records: int

    @classmethod
    def of(cls, records: Records, moments: Moments, *, design: Design, n_rows: int) -> _World:
        """Evenly spaced rows of a world, where fits and design are those of a release."""
        some = records.some(slice(None, None, -(-len(records.y) // n_rows)))
        rows = parted(some.X)[0] * some.y[:, None]
        fit, loss, p = moments.unpenalised_fit, design.loss, rows.shape[1]
        assert fit is not None
        margins = rows @ fit.unweighted
        sd = float(np.sqrt(model_noise(design).variance(p)))
        own, turned = sd, 2.0 * design.regularization * sd
        if mechanism_of(design).turns_noise:
            own, turned = 0.0, sd / design.n_records
        return cls(
            rows=rows,
            slope=loss.slope(margins),
            curvature=loss.curvature(margins),
            basis=np.eye(p) if moments.basis is None else moments.basis,
            own=own,
            turned=turned,
            is_exact=moments.is_simulated and loss.is_log_odds,
            n_records=design.n_records,
        )

    def length(self, T: Array, counts: Array) -> tuple[float, Array]:
        """The mean logarithm of the lengths with a map T (p, p), by these weights (p,), and its
        derivatives (p, p).
        """
        V, n, B = self.rows, len(self.rows), self.basis
        Z = V @ T.T
        size = np.einsum("ij,ij->i", Z, Z)
        w = 1.0 / np.maximum(size, 1.0)
        flat = _LEAST * float(self.curvature @ np.einsum("ij,ij->i", V, V)) / (n * V.shape[1])
        K = np.linalg.inv((V * (w * self.curvature / n)[:, None]).T @ V + flat * np.eye(len(T)))
        moved = np.zeros(len(T)) if self.is_exact else ((1.0 - w) * self.slope / n) @ V
        middle = (V * ((w * self.slope) ** 2 / n)[:, None]).T @ V / self.n_records
        middle += np.outer(moved, moved)
        back = np.linalg.inv(T)
        noise = self.own * T.T + self.turned * K @ back
        around = K @ middle @ K
        variance = np.einsum("ij,jk,ik->i", B, around + noise @ noise.T, B)

        # By the variance of each coefficient, then by K^-1, the middle and T.
        D = (B * (counts / (2.0 * variance))[:, None]).T @ B
        by_middle, by_noise = K @ D @ K, D @ noise
        turn = self.turned * back @ by_noise.T @ K
        by_curvature = -around @ D @ K - K @ turn
        by_curvature += by_curvature.T
        by_w = self.curvature * np.einsum("ij,ij->i", V @ by_curvature, V)
        by_w += 2.0 * w * self.slope**2 * np.einsum("ij,ij->i", V @ by_middle, V) / self.n_records
        if not self.is_exact:
            by_w -= 2.0 * self.slope * (V @ (by_middle @ moved))
        by_size = np.where(size > 1.0, -2.0 * by_w * w**2, 0.0) / n
        slopes = (Z * by_size[:, None]).T @ V
        slopes += 2.0 * self.own * by_noise.T - 2.0 * (turn @ back).T
        return float(counts @ np.log(variance)) / 2.0, slopes
