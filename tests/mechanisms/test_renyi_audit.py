"""Exact audits of Gaussian objective perturbation: its Renyi divergence on small tables, and the
density identity.

The release on a table D of records u_i = y_i x_i, |u_i| <= 1, minimises sum f(u_i.theta) + n c
|theta|^2 + b.theta with b ~ N(0, s^2 I). In the scale of the sum over records it has the density

    p_D(theta) = phi_s(b_D(theta)) det A_D(theta),   b_D = -(sum f'(u_i.theta) u_i + L theta),   L =
                                                     2 n c,
    A_D = sum f''(u_i.theta) u_i u_i' + L I.

On neighbours (one record replaced) and with kappa = t/L, t the largest f'', its divergence of order
a is claimed to be at most each of the three formulas in `bounds`. Losses come from tests/oracle;
every constant is typed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import ndtr

from dpci_core import ZCDP, Calibration, Design
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.mechanisms.mechanism import train_private
from dpci_core.privacy.sensitivity import gaussian_objective_sd
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.risk import PenalisedRisk
from tests.mechanisms.test_audit import (
    H_WIDTH,
    LOSSES,
    N_SAMPLES,
    NEIGHBOUR,
    TABLE,
    identity_distance,
    make_pairs,
    sideways_pair,
)
from tests.oracle import paper

Array = np.ndarray
Pair = tuple[Array, Array]
Ends = tuple[float, float]
COST = 1.53
"""Units of kappa^2 that curvature adds to rho."""
RATIO_FACTOR = 1.152
"""Bound on E exp(m X_+) / exp(m^2 / 2) over m > 0, for a standard normal X."""
ROUNDING = 1e-9
"""Relative excess over a bound that quadrature may be to blame for."""


@dataclass(frozen=True)
class Setting:
    """Loss, Huber half-width h, kappa = t/(2nc), and the standard deviation s of the noise."""

    loss: str
    h: float
    kappa: float
    sd: float

    @property
    def stiffness(self) -> float:
        """L = 2 n c."""
        return paper.largest_curvature(self.loss, self.h) / self.kappa

    def weights(self, records: Array) -> Array:
        """Of the records' losses, each from its record."""
        return np.ones(len(records))

    def drawn(self, b: Array) -> Array:
        """What was drawn, N(0, s^2 I), where b (p, M) entered the objective."""
        return b

    @property
    def stretch(self) -> float:
        """How much longer b can be than what was drawn."""
        return 1.0

    @property
    def log_volume(self) -> float:
        """log of the volume of what was drawn by that of b."""
        return 0.0

    def turned(self, turn: Array) -> Setting:
        """The setting of records (n, 2) @ turn."""
        return self


def bounds(order: Array, kappa: float, sd: float) -> Array:
    """The three claimed bounds on the divergence, stacked first; the first only holds for (a - 1)
    kappa < 1.
    """
    k = np.asarray(order, dtype=float) - 1.0
    holds = k * kappa < 1.0
    few = -np.log1p(-np.where(holds, (k + 1.0) * k * kappa**2 / (1.0 + kappa), 0.0)) / k
    many = np.log1p(kappa) + np.log(RATIO_FACTOR) / k
    return 2.0 * (k + 1.0) / sd**2 + np.stack(
        [np.where(holds, few, np.inf), many, COST * kappa**2 * (k + 1.0)]
    )


# --- densities and quadrature ---------------------------------------------------------------------


def log_density(records: Array, theta: Array, setting: Setting) -> Array:
    """log p_D (M,) at theta (p, M), p = 1 or 2."""
    p, L = len(theta), setting.stiffness
    z = records @ theta
    weighted = setting.weights(records)[:, None] * records
    b = -(weighted.T @ paper.loss_slope(z, setting.loss, setting.h) + L * theta)
    products = np.stack([weighted[:, i] * records[:, j] for i, j in [(0, 0), (0, -1), (-1, -1)]])
    xx, xy, yy = products @ paper.loss_curvature(z, setting.loss, setting.h)
    det = L + xx if p == 1 else (L + xx) * (L + yy) - xy**2
    return (
        np.log(det)
        + setting.log_volume
        - (setting.drawn(b) ** 2).sum(axis=0) / (2.0 * setting.sd**2)
        - p * np.log(setting.sd * np.sqrt(2.0 * np.pi))
    )


NODES, WEIGHTS = (part[:, None] for part in np.polynomial.legendre.leggauss(14))
LARGEST_SPREAD = 5.0
"""A panel is halved while the logarithm of an integrand varies by more on it."""
DEPTH = 30.0
"""A panel matters while the logarithm of an integrand comes this close to its peak."""
MISSED = 0.03
"""What the nodes of a panel may miss of a peak in it, as a fraction of the variation that they
see.
"""
NARROWEST = 1e-12
"""Panels narrower than this fraction of the whole range are left out: rounding would move their
nodes over a kink.
"""


def refine(
    log_f: Callable, line: Array, low: Array, high: Array, peak: Array
) -> tuple[Array, Array, Array]:
    """Halve panels until the integrands are smooth on each; return line (N,), log weights (m, N),
    log_f (J, m, N).

    log_f(line, y) takes lines (N,) and nodes (m, N) on them, and its first len(peak) integrands
    decide; `peak`, their largest values so far, is updated.
    """
    kept = []
    while len(low):
        half = (high - low) / 2.0
        values = log_f(line, low + half + half * NODES)
        top, bottom = (extreme(values[: len(peak)], axis=1) for extreme in (np.max, np.min))
        np.maximum(peak, top.max(axis=1), out=peak)
        matters = top + MISSED * (top - bottom) > peak[:, None] - DEPTH
        split = (matters & (top - bottom > LARGEST_SPREAD)).any(axis=0)
        keep = matters.any(axis=0) & ~split
        kept.append((line[keep], np.log(half[keep] * WEIGHTS), values[..., keep]))
        middle = (low + half)[split]
        low, high = np.concatenate([low[split], middle]), np.concatenate([middle, high[split]])
        line = np.tile(line[split], 2)
    return tuple(np.concatenate(parts, axis=-1) for parts in zip(*kept, strict=True))


def log_sums(line: Array, log_weights: Array, log_values: Array, n_lines: int) -> Array:
    """log of the weighted sums (J, n_lines) over the panels of every line; very small where no
    panel was kept.
    """
    terms = log_weights + log_values
    top = terms.max(axis=(1, 2), initial=-1e300)[:, None]
    sums = np.exp(terms - top[..., None]).sum(axis=1)
    return np.log(np.stack([np.bincount(line, v, n_lines) for v in sums]) + 1e-300) + top


def log_excess(log_ratio: Array, k: Array) -> Array:
    """log of r^k - 1 + k (1/r - 1) >= 0 for r = p/q, one row for each k.

    Its mean under p is that of r^k less 1, because the mean of q/p is 1; this keeps every digit
    where k is near 0.
    """
    k = k.reshape(-1, *[1] * log_ratio.ndim)
    scale = np.maximum(k * log_ratio, -log_ratio)
    near = np.clip(log_ratio, -1.0, 1.0 / k)
    close = np.expm1(k * near) + k * np.expm1(-near)
    apart = (
        np.exp(k * log_ratio - scale) + k * np.exp(-log_ratio - scale) - (1.0 + k) * np.exp(-scale)
    )
    is_close = scale < 1.0
    return np.where(is_close, 0.0, scale) + np.log(
        np.maximum(np.where(is_close, close, apart), 1e-300)
    )


def marks(setting: Setting) -> Array:
    """Margins at which panels must end: the kinks of the Huber slope, or where the logistic one
    bends.
    """
    if setting.loss == "huber_svm":
        return np.array([1.0 - setting.h, 1.0 + setting.h])
    side = np.array([1.5, 3.0, 5.0, 8.0, 13.0, 23.0, 40.0])
    return np.concatenate([-side, [0.0], side])


def turn_of(pair: Pair) -> Array:
    """To coordinates in which no record is close to the first axis; divergences do not see the
    difference.
    """
    angles = np.linspace(0.0, np.pi, 180, endpoint=False)
    records = np.vstack(pair)
    records = records[records.any(axis=1)]
    seconds = np.abs(records @ [-np.sin(angles), np.cos(angles)]) / np.linalg.norm(
        records, axis=1, keepdims=True
    )
    best = angles[seconds.min(axis=0).argmax()]
    return np.array([[np.cos(best), -np.sin(best)], [np.sin(best), np.cos(best)]])


def crossings(records: Array, setting: Setting) -> Array:
    """First coordinates of the points where two kinks cross; the bends of logistic losses all cross
    around 0.
    """
    if setting.loss == "logistic":
        side = np.geomspace(1.0, 2000.0, 16)
        return np.concatenate([-side, [0.0], side])
    points = []
    for i, u in enumerate(records):
        for v in records[:i]:
            area = u[0] * v[1] - u[1] * v[0]
            if abs(area) > 1e-9:
                points += [
                    (z * v[1] - w * u[1]) / area for z in marks(setting) for w in marks(setting)
                ]
    return np.array(points)


class Integrals:
    """Masses of a pair and its Renyi divergences of the given orders, by Gauss rules on panels that
    end at the kinks.

    Two dimensions are an integral over lines of integrals along the line; between crossings of
    kinks the inner one is a smooth function of the line.
    """

    def __init__(self, pair: Pair, setting: Setting, orders: Array) -> None:
        self.is_not_estimable = pair[0].shape[1] == 1
        turn = np.eye(1) if self.is_not_estimable else turn_of(pair)
        self.pair = (pair[0] @ turn, pair[1] @ turn)
        setting = setting.turned(turn)
        self.setting, self.k = setting, np.asarray(orders, dtype=float) - 1.0
        self.records = np.unique(np.vstack(self.pair), axis=0)
        size = np.linalg.norm(self.records, axis=1)
        pull = setting.drawn((setting.weights(self.records)[:, None] * self.records).T)
        far = max(1.0, np.linalg.norm(pull, axis=0).max())  # 1 where the claim holds
        tail = far * (2.0 * self.k.max() + len(pair[0])) + 14.0 * setting.sd + 4.0
        self.reach = setting.stretch * tail / setting.stiffness + 10.0 / size[size > 0.05].min(
            initial=1.0
        )
        self.peak = np.full(2 + len(self.k), -np.inf)
        total = (self.along(np.zeros(1)) if self.is_not_estimable else self.across())[:, 0]
        assert np.abs(np.expm1(total[:2])).max() < 1e-10, "The masses of p and q are 1."
        self.divergences = np.logaddexp(0.0, total[2:]) / self.k

    def panels(self, edges: Array) -> tuple[Array, Array, Array]:
        """Line, lower and upper end of the panels between edges (n_lines, n_edges)."""
        edges = np.sort(np.clip(edges, -self.reach, self.reach), axis=1)
        line, start = np.nonzero(np.diff(edges, axis=1) > NARROWEST * self.reach)
        return line, edges[line, start], edges[line, start + 1]

    def along(self, x: Array) -> Array:
        """log of the integrals of p, q and every p^a q^(1-a) less 1 along the lines of first
        coordinate x, or R.
        """
        ends = self.reach * np.array([-1.0, 1.0])
        edges = [np.tile(ends, (len(x), 1))]
        for u in self.records[np.abs(self.records[:, -1]) > 1e-9]:
            across = np.zeros(1) if self.is_not_estimable else u[0] * x[:, None]
            edges.append(
                np.broadcast_to(
                    (marks(self.setting) - across) / u[-1], (len(x), len(marks(self.setting)))
                )
            )

        def log_f(line: Array, y: Array) -> Array:
            theta = y[None] if self.is_not_estimable else np.stack(np.broadcast_arrays(x[line], y))
            flat = theta.reshape(len(theta), -1)
            p, q = (
                log_density(records, flat, self.setting).reshape(y.shape) for records in self.pair
            )
            return np.stack([p, q, *(p + k * (p - q) for k in self.k)])

        line, weights, logs = refine(log_f, *self.panels(np.hstack(edges)), self.peak)
        logs[2:] = logs[0] + log_excess(logs[0] - logs[1], self.k)
        return log_sums(line, weights, logs, len(x))

    def across(self) -> Array:
        """log of the integrals of the same over the plane."""
        grid = np.linspace(-self.reach, self.reach, 9)
        edges = np.concatenate([crossings(self.records, self.setting), grid])[None]

        def log_f(_: Array, x: Array) -> Array:
            return self.along(x.ravel()).reshape(-1, *x.shape)

        return log_sums(*refine(log_f, *self.panels(edges), np.full(len(self.peak), -np.inf)), 1)


def renyi(pair: Pair, setting: Setting, orders: Array) -> Array:
    """Divergences of p_D from p_D' at the given orders."""
    return Integrals(pair, setting, orders).divergences


# --- the divergence never exceeds the bounds ------------------------------------------------------

KINDS = {"logistic": ("logistic", 1.0)} | {f"huber {h}": ("huber_svm", h) for h in (0.25, 1.0, 2.0)}
ORDERS = np.array([1.01, 1.1, 1.5, 2.0, 5.0, 20.0, 60.0, 200.0])
TURNED_ROUND = (np.array([[1.0]]), np.array([[-1.0]]))
"""One record turned round, where slope and curvature are at their bounds together."""


def test_quadrature_agrees_with_an_adaptive_rule() -> None:
    pair = (np.array([[0.9], [0.5], [-0.7]]), np.array([[-1.0], [0.5], [-0.7]]))
    cases = [
        ("huber 0.25", 0.3, 2.0, 1.5),
        ("huber 1.0", 1.0, 5.0, 6.0),
        ("logistic", 0.3, 3.0, 4.0),
    ]
    for kind, kappa, sd, order in cases:
        setting = Setting(*KINDS[kind], kappa, sd)

        def integrand(x: float, setting: Setting = setting, order: float = order) -> float:
            p, q = (log_density(records, np.array([[x]]), setting)[0] for records in pair)
            return float(np.exp(order * p - (order - 1.0) * q))

        kinks = sorted(z / u[0] for u in np.unique(np.vstack(pair), axis=0) for z in marks(setting))
        ends = [-80.0, *[x for x in kinks if abs(x) < 80.0], 80.0]
        total = sum(quad(integrand, a, b, epsabs=1e-13, limit=200)[0] for a, b in pairwise(ends))
        assert renyi(pair, setting, [order])[0] == pytest.approx(
            np.log(total) / (order - 1.0), rel=1e-9
        )


@pytest.mark.parametrize("kind", ["huber 0.25", "logistic"])
def test_two_dimensions_agree_with_one_where_records_share_a_line(kind: str) -> None:
    direction = np.array([[np.cos(0.7), np.sin(0.7)]])
    table, neighbour = np.array([[1.0], [0.5], [-0.7]]), np.array([[-0.8], [0.5], [-0.7]])
    for kappa, sd in [(0.3, 1.0), (1.0, 10.0)]:
        setting, orders = Setting(*KINDS[kind], kappa, sd), [1.01]
        plane = renyi((table @ direction, neighbour @ direction), setting, orders)
        assert plane == pytest.approx(renyi((table, neighbour), setting, orders), rel=1e-8)


@dataclass(frozen=True)
class Attack:
    """What was attained: divergence by smallest bound, the same less 2a/s^2, and overhead by a
    kappa^2.
    """

    ratio: float
    overhead_ratio: float
    overhead: float


def attack(pair: Pair, setting: Setting, orders: Array, *, both_ways: bool = True) -> Attack:
    """Check a pair and return the largest values."""
    orders = np.asarray(orders, dtype=float)
    bound, shift = (
        bounds(orders, setting.kappa, setting.sd).min(axis=0),
        2.0 * orders / setting.sd**2,
    )
    found = np.stack(
        [renyi(tables, setting, orders) for tables in [pair, pair[::-1]][: 1 + both_ways]]
    )
    assert (found <= bound * (1.0 + ROUNDING)).all(), (pair, setting, orders, found / bound)
    over = found - shift
    return Attack(
        (found / bound).max(),
        (over / (bound - shift)).max(),
        (over / (orders * setting.kappa**2)).max(),
    )


def largest(attacks: list[Attack]) -> Attack:
    return Attack(
        *(
            max(getattr(a, name) for a in attacks)
            for name in ("ratio", "overhead_ratio", "overhead")
        )
    )


def turned_round_with(others: list[float]) -> Pair:
    fixed = np.array(others).reshape(-1, 1)
    return np.vstack([TURNED_ROUND[0], fixed]), np.vstack([TURNED_ROUND[1], fixed])


def random_setting(kind: str, rng: np.random.Generator, kappas: Ends, sds: Ends) -> Setting:
    """kappa and s between two ends, uniform in their logarithms."""
    kappa, sd = (float(np.exp(rng.uniform(*np.log(ends)))) for ends in (kappas, sds))
    return Setting(*KINDS[kind], kappa, sd)


def random_orders(rng: np.random.Generator, largest: float, size: int) -> Array:
    return 1.0 + np.exp(rng.uniform(np.log(0.01), np.log(largest - 1.0), size=size))


@pytest.mark.parametrize("kind", KINDS)
def test_one_dimension_stays_below_the_bounds(kind: str) -> None:
    attacks = []
    for others in [[], [1.0], [1.0, -1.0], [0.8, -0.5, 0.1]]:
        for kappa in (0.02, 0.1, 0.5, 2.0, 5.0):
            for sd in (0.5, 3.0, 20.0, 200.0):
                attacks.append(
                    attack(turned_round_with(others), Setting(*KINDS[kind], kappa, sd), ORDERS)
                )
    rng = np.random.default_rng([1, len(kind)])
    for pair in make_pairs(1, rng, 100):
        setting = random_setting(kind, rng, (0.02, 5.0), (0.3, 200.0))
        attacks.append(attack(pair, setting, random_orders(rng, 200.0, 3)))
    best = largest(attacks)
    # The logistic loss reaches 0.61 here, 0.96 in the search below and 0.85 in two dimensions.
    assert best.ratio >= (0.6 if kind == "logistic" else 0.95)


LOW, HIGH = (
    np.array([-1.0, -1.0, *np.log([0.01, 0.005, 0.2])]),
    np.array([1.0, 1.0, *np.log([6.0, 400.0, 500.0])]),
)
"""Of the search: the replacement u', a fixed record, then the logarithms of kappa, a - 1 and s."""
STARTS = {
    "ratio": [(-1.0, 0.0, 0.05, 1.0, 0.5), (-1.0, 0.5, 5.0, 30.0, 50.0)],
    "overhead_ratio": [(-1.0, 0.0, 5.0, 150.0, 100.0), (0.0, 0.3, 1.0, 10.0, 20.0)],
    "overhead": [(-1.0, 0.0, 0.06, 80.0, 100.0), (-0.5, -0.5, 0.3, 10.0, 20.0)],
}


def searched(kind: str, goal: str, start: tuple[float, ...], n_steps: int) -> list[Attack]:
    """Everything that a Nelder-Mead search for the largest `goal` comes across."""
    attacks = []

    def loss(x: Array) -> float:
        new, fixed, *logs = np.clip(x, LOW, HIGH)
        kappa, k, sd = np.exp(logs)
        pair = np.array([[1.0], [fixed]]), np.array([[new], [fixed]])
        attacks.append(attack(pair, Setting(*KINDS[kind], kappa, sd), [1.0 + k]))
        return -getattr(attacks[-1], goal)

    x = np.concatenate([start[:2], np.log(start[2:])])
    simplex = np.vstack([x, x + np.diag(np.where(x[:5] < 0.0, 0.4, -0.4))])
    minimize(loss, x, method="Nelder-Mead", options={"maxfev": n_steps, "initial_simplex": simplex})
    return attacks


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_for_the_worst_case_stays_below_the_bounds(kind: str) -> None:
    best = largest(
        [a for goal in STARTS for start in STARTS[goal] for a in searched(kind, goal, start, 60)]
    )
    assert best.ratio >= 0.95
    # Far below the 1.53 of the claim: longer searches reach 0.062 for a table of two and h = 0.25,
    # and 0.072 for any h.
    assert best.overhead >= (0.035 if kind == "logistic" else 0.04)


def plane_pairs() -> list[Pair]:
    """One record turned round, one turned by a right angle, and one mirrored while others push b
    sideways.
    """
    east, north = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    return [(east, -east), (east, north), tuple(records[:4] for records in sideways_pair())]


@pytest.mark.parametrize("kind", KINDS)
def test_two_dimensions_stay_below_the_bounds(kind: str) -> None:
    is_smooth = kind == "logistic"
    cases = [(pair, (0.02, 1.0), [1.01, 2.0]) for pair in plane_pairs()]
    cases += [(pair, (5.0, 20.0), [50.0]) for pair in plane_pairs()[: 2 if is_smooth else 3]]
    cases += [(plane_pairs()[1], (1.0, 8.0), [1.01, 5.0])]
    # Symmetry makes one direction enough for these; random pairs come in both roles.
    attacks = [
        attack(pair, Setting(*KINDS[kind], *scales), orders, both_ways=False)
        for pair, scales, orders in cases
    ]
    rng = np.random.default_rng([2, len(kind)])
    for pair in make_pairs(2, rng, 4 if is_smooth else 8):
        setting = random_setting(kind, rng, (0.05, 2.0), (0.5, 10.0))
        attacks.append(attack(pair, setting, random_orders(rng, 30.0, 2), both_ways=False))
    best = largest(attacks)
    assert best.ratio >= (0.95 if kind == "huber 0.25" else 0.8)


# --- the audit has teeth --------------------------------------------------------------------------


def test_audit_flags_noise_5_percent_too_small() -> None:
    orders, claimed = np.array([1.1, 2.0, 5.0]), Setting("huber_svm", 0.25, 0.02, 1.0)
    weak = Setting("huber_svm", 0.25, 0.02, 1.0 / 1.05)
    east = np.array([[1.0, 0.0]])
    for pair in (TURNED_ROUND, (east, -east)):
        assert (
            renyi(pair, weak, orders) > 1.05 * bounds(orders, claimed.kappa, claimed.sd).min(axis=0)
        ).all()


def test_audit_flags_a_forgotten_curvature_term() -> None:
    orders = np.array([40.0, 80.0, 120.0])
    found = renyi(TURNED_ROUND, Setting("huber_svm", 0.25, 0.06, 100.0), orders)
    assert (found > 1.5 * orders * 2.0 / 100.0**2).all()


# --- the density identity -------------------------------------------------------------------------

IDENTITY_RHO = 2.0
IDENTITY_KAPPA = 0.9
"""Large, so that the curvature term 1.53 kappa^2 is more than half of rho."""
CLAIMED_SD = 2.0 / np.sqrt(2.0 * (IDENTITY_RHO - COST * IDENTITY_KAPPA**2))


def identity_setting(loss: str) -> Setting:
    return Setting(loss, H_WIDTH, IDENTITY_KAPPA, CLAIMED_SD)


def distance(theta: Array, setting: Setting) -> float:
    """Standard errors between 1 and the mean of p_D'/p_D over samples (N, p) of p_D."""
    return identity_distance(
        theta, lambda records, rows: log_density(records, rows.T, setting), (TABLE, NEIGHBOUR)
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_density_identity(loss: str) -> None:
    setting = identity_setting(loss)
    design = Design(
        loss=LOSSES[loss],
        mechanism="objective",
        budget=ZCDP(model="2", hessian="1", covariance="1"),
        regularization=setting.stiffness / (2.0 * len(TABLE)),
        n_records=len(TABLE),
        calibration=Calibration.published(gaussian_objective=True),
    )
    rng = np.random.default_rng([4, len(loss)])
    theta = np.array(
        [train_private(TABLE, design=design, rng=rng).theta_priv for _ in range(N_SAMPLES)]
    )
    assert abs(distance(theta, setting)) <= 4.0


@pytest.mark.parametrize(
    "sd", [CLAIMED_SD / 2.0, 2.0 / np.sqrt(2.0 * IDENTITY_RHO)], ids=["halved", "no curvature"]
)
@pytest.mark.parametrize("loss", LOSSES)
def test_density_identity_catches_wrong_samplers(loss: str, sd: float) -> None:
    setting = identity_setting(loss)
    c = setting.stiffness / (2.0 * len(TABLE))
    noise_vectors = np.random.default_rng(5).normal(scale=sd, size=(N_SAMPLES // 3, 2))
    theta = np.array(
        [
            minimise(
                PenalisedRisk(TABLE, loss=LOSSES[loss], regularization=c, noise_vector=b)
            ).theta
            for b in noise_vectors
        ]
    )
    assert abs(distance(theta, setting)) > 5.0


# --- the scale that the package runs at -----------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_package_runs_at_the_audited_scale(loss: str) -> None:
    for n, c, rho in [
        (7, 0.05, 40.0),
        (500, 0.004, 2.0),
        (30_000, 0.001, 0.125),
        (10**6, 1e-5, 0.3),
    ]:
        sd = gaussian_objective_sd(rho=rho, n_records=n, regularization=c, loss=LOSSES[loss])
        kappa = Fraction(float(paper.largest_curvature(loss, H_WIDTH))) / (2 * n * Fraction(c))
        smallest = 2 / (
            Fraction(rho) - Fraction("1.53") * kappa**2
        )  # the square of 2/sqrt(2 (rho - 1.53 kappa^2))
        assert smallest <= Fraction(sd) ** 2 <= smallest * Fraction(1.0 + 1e-12) ** 2


@pytest.mark.parametrize("loss", LOSSES)
def test_package_refuses_what_curvature_uses_up(loss: str) -> None:
    for n, rho in [(7, 0.5), (500, 0.01), (30_000, 1e-4)]:
        edge = (
            paper.largest_curvature(loss, H_WIDTH) / (2.0 * n) * np.sqrt(COST / rho)
        )  # where rho = 1.53 kappa^2
        ask = partial(gaussian_objective_sd, rho=rho, n_records=n, loss=LOSSES[loss])
        for c in (edge * (1.0 - 1e-9), edge / 10.0):
            with pytest.raises(InfeasibleDesignError) as refused:
                ask(regularization=float(c))
            works = float(refused.value.suggestion.rstrip(".").split()[-1])
            assert edge < works <= 1.02 * edge
            assert ask(regularization=works) > 0.0


# --- from the two bounds to one constant ----------------------------------------------------------


def test_ratio_factor_covers_every_ratio() -> None:
    m = np.linspace(1e-6, 50.0, 200_001)
    factor = np.exp(-(m**2) / 2.0) / 2.0 + ndtr(m)
    assert 1.151 < factor.max() <= RATIO_FACTOR


def largest_cost(kappa: Array, x: Array) -> Array:
    """The smaller overhead of the first two bounds, in units of a kappa^2, at a = 1 + x / kappa."""
    units = x * (x + kappa)  # (a - 1) a kappa^2
    inside = np.minimum(x, 1.0 - 1e-12)
    few = np.where(x < 1.0, -np.log1p(-inside * (inside + kappa) / (1.0 + kappa)) / units, np.inf)
    many = (x / kappa * np.log1p(kappa) + np.log(RATIO_FACTOR)) / units
    return np.minimum(few, many)


def test_two_bounds_combine_to_one_constant() -> None:
    kappa = np.geomspace(1e-6, 1e3, 361)[:, None]
    x = np.concatenate(
        [
            np.geomspace(1e-6, 1e6, 2401),
            np.linspace(0.7, 0.85, 3001),
            1.0 - np.geomspace(1e-9, 0.1, 200),
        ]
    )
    cost = largest_cost(kappa, x)
    assert 1.52 < cost.max() <= COST
