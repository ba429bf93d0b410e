"""The perturbed minimum as an integer program, with a certificate; public and simulated tables
only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from dpci_core.base.array import Array, Integers
from dpci_core.base.errors import check_positive
from dpci_core.scorecards.published import IntegerBall, PublishedMethod, features_of

TOLERANCE = 1e-6
"""Relative distance of a value from its proven bound that still is equality."""
OPTIONS = {"mip_rel_gap": 0.0}
"""HiGHS stops at a gap of 1e-4 otherwise, which certifies nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Solved:
    """What the solver found; a failure unless `is_certified`.

    vector: (d,), None if it found none.
    value: its objective, computed again from whole numbers and the noise.
    bound: no vector is below it, as proven by the solver.
    is_certified: status optimal, and the value reaches the bound.
    """

    vector: tuple[int, ...] | None
    value: float
    bound: float
    is_certified: bool

    @property
    def gap(self) -> float:
        """Distance of value and bound, as a share of the value."""
        return (self.value - self.bound) / max(1.0, abs(self.value))


def solve_exactly(
    cells: Integers,
    ball: IntegerBall,
    *,
    method: PublishedMethod | None = None,
    noise: Array | None = None,
    time_limit: float,
) -> Solved:
    """Return the vector with the fewest mistakes, or with the smallest perturbed objective.

    Args:
        cells: (2^k, 2) counts of a public or simulated table.
        ball: the class.
        method, noise: of `published.draw_noise`, one draw (m,); None for no noise.
        time_limit: in seconds.

    Privacy: none.
    """
    check_positive(time_limit=time_limit)
    d, K, values = ball.n_entries, len(ball.values), ball.values
    gained = cells[:, 0] - cells[:, 1]
    used = np.flatnonzero(gained)
    bits = (used[:, None] >> np.arange(d - 1)[::-1]) & 1
    x = np.column_stack([bits, np.ones(len(used), dtype=np.int64)])
    costs, norm_costs = _costs(ball, method, noise)
    n_r, n_z, n_q = d * K, len(used), len(norm_costs)
    n = n_r + n_z + n_q

    score = np.zeros((n_z, n))
    score[:, :n_r] = (x[:, :, None] * values).reshape(n_z, -1)
    reach = ball.largest * x.sum(axis=1)
    falls = gained[used] < 0
    score[np.arange(n_z), n_r + np.arange(n_z)] = np.where(falls, -(1 + reach), -reach)
    low = np.where(falls, -reach, -np.inf)
    high = np.where(falls, np.inf, 0.0)

    one_each = np.zeros((d, n))
    for j in range(d):
        one_each[j, j * K : (j + 1) * K] = 1.0
    square = np.zeros((1, n))
    square[0, :n_r] = np.tile(values**2, d)
    rows = [
        LinearConstraint(csr_array(score), low, high),
        LinearConstraint(csr_array(one_each), 1.0, 1.0),
    ]
    if n_q:
        single = np.zeros((1, n))
        single[0, n_r + n_z :] = 1.0
        square[0, n_r + n_z :] = -np.arange(n_q)
        rows += [LinearConstraint(single, 1.0, 1.0), LinearConstraint(square, 0.0, 0.0)]
    else:
        rows.append(LinearConstraint(square, 0.0, ball.radius2))
    found = milp(
        np.concatenate([costs, gained[used].astype(np.float64), norm_costs]),
        constraints=rows,
        integrality=np.ones(n),
        bounds=Bounds(0.0, 1.0),
        options=OPTIONS | {"time_limit": time_limit},
    )
    always = float(cells[:, 1].sum())
    bound = -math.inf if found.mip_dual_bound is None else float(found.mip_dual_bound) + always
    if found.x is None:
        return Solved(vector=None, value=math.inf, bound=bound, is_certified=False)
    picked = np.round(found.x[:n_r]).astype(np.int64).reshape(d, K)
    vector = picked @ values
    value = objective(cells, ball, vector, method, noise)
    is_right = bool((picked.sum(axis=1) == 1).all()) and int(vector @ vector) <= ball.radius2
    reached = abs(value - bound) <= TOLERANCE * max(1.0, abs(value))  # below it, a bound is wrong
    return Solved(
        vector=tuple(int(one) for one in vector),
        value=value,
        bound=bound,
        is_certified=is_right and found.status == 0 and reached,
    )


def objective(
    cells: Integers,
    ball: IntegerBall,
    vector: Integers,
    method: PublishedMethod | None,
    noise: Array | None,
) -> float:
    """Return mistakes minus noise . phi of one vector (d,), from whole numbers."""
    k = ball.n_questions
    bits = (np.arange(2**k)[:, None] >> np.arange(k)[::-1]) & 1
    says_yes = bits @ vector[:-1] + vector[-1] > 0
    mistakes = int(cells[says_yes, 0].sum() + cells[~says_yes, 1].sum())
    if method is None or noise is None:
        return float(mistakes)
    place = np.flatnonzero((ball.vectors == vector).all(axis=1))
    if len(place) == 0:
        return math.inf
    return float(mistakes - features_of(ball, method)[place[0]] @ noise)


def _costs(
    ball: IntegerBall, method: PublishedMethod | None, noise: Array | None
) -> tuple[Array, Array]:
    """What every entry's value costs (d K,), and every squared norm (D^2 + 1,)."""
    d, K = ball.n_entries, len(ball.values)
    if method is None or noise is None:
        return np.zeros(d * K), np.zeros(0)
    if method == "rspm":
        steps = np.concatenate([np.zeros((d, 1)), noise.reshape(d, K - 1)], axis=1)
        return np.cumsum(steps, axis=1).reshape(-1), np.zeros(0)
    if method == "one_hot":
        return -noise, np.zeros(0)
    D2 = ball.radius2
    along = -np.outer(noise[:d], ball.values) / math.sqrt(D2)
    return along.reshape(-1), -noise[d] * np.sqrt(1.0 - np.arange(D2 + 1) / D2)
