"""The audits of this folder once more, for noise drawn in a metric (docs/proofs/map.md#metric).

W is any symmetric positive definite matrix, v = W x, a record's loss w f(x.theta) with w = min(w0,
1/|v|^2), w0 = min(1, 1/|x|^2); what enters the objective is b = W^-1 xi. What is claimed of xi,
densities and sensitivities is not changed. Each claim is attacked with weights at work and axes of
W up to 20 apart, comes close to its bound somewhere, and fails for what looks alike.

One thing that looks wrong is private and is caught by the law of the samples alone: b = xi, noise
of equal size in every direction, for which weights are not needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np
import pytest
from scipy.optimize import minimize

from dpci_core import ZCDP, Calibration, Design, HuberSVM, Logistic, PureDP
from dpci_core.base.metric import Metric
from dpci_core.base.rows import WeightedRows
from dpci_core.design import Geometry
from dpci_core.losses import Loss
from dpci_core.mechanisms.mechanism import model_noise, train_private
from dpci_core.privacy.sensitivity import (
    covariance_sensitivity,
    hessian_sensitivity,
    second_moment_sensitivity,
)
from dpci_core.solvers.metric import metric_of, second_moment_of, weighted
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk
from tests.mechanisms import test_renyi_audit
from tests.mechanisms.test_audit import (
    EPSILON,
    H_WIDTH,
    LOSSES,
    claimed_objective_rate,
    identity_distance,
    penalty,
)
from tests.mechanisms.test_renyi_audit import Setting, attack, bounds, renyi
from tests.mechanisms.test_weighted_audit import NEIGHBOUR, TABLE, by_square
from tests.oracle import paper

Array = np.ndarray
Pair = tuple[Array, Array]
Rule = Callable[[Array, Array], Array]


def by_leverage(rows: Array, W: Array) -> Array:
    """The rule: w = min(w0, 1/|v|^2)."""
    return np.minimum(by_square(rows), by_square(rows @ W))


def by_length(rows: Array, W: Array) -> Array:
    """A rule that bounds gradients and not curvatures: 1/|v|."""
    return np.minimum(by_square(rows), np.sqrt(by_square(rows @ W)))


def base_forgotten(rows: Array, W: Array) -> Array:
    """1/|v|^2 alone, for rows of any length."""
    return by_square(rows @ W)


def left_out(rows: Array, W: Array) -> Array:
    """The weights that rows have without a metric."""
    return by_square(rows)


def metric_matrix(axes: Array, rng: np.random.Generator) -> Array:
    """W with these axes, turned at random."""
    vectors = np.linalg.qr(rng.normal(size=(len(axes), len(axes))))[0]
    return (vectors * axes) @ vectors.T


def random_metric(p: int, rng: np.random.Generator) -> Array:
    """Axes up to 20 apart; the longest from 1 to 6, so that many rows have weights."""
    longest, spread = np.exp(rng.uniform(0.0, np.log([6.0, 20.0])))
    return metric_matrix(longest * spread ** -np.linspace(0.0, 1.0, p), rng)


def pairs_in(W: Array, rng: np.random.Generator, n_pairs: int, *, is_long: bool) -> list[Pair]:
    """Neighbours with up to two common records; rows of norm 1 and less, or of any length, some of
    leverage just above 1, half of them turned round.
    """
    p, found = len(W), []
    for _ in range(n_pairs):
        rows = rng.normal(size=(2 + rng.integers(0, 3), p))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        if is_long:
            rows *= np.exp(rng.uniform(-0.5, 3.0, (len(rows), 1)))
        leverage = np.linalg.norm(rows @ W, axis=1, keepdims=True)
        is_cut = (rng.random(leverage.shape) < 0.5) & (leverage > 1.0)
        rows = np.where(is_cut, rows * rng.uniform(1.0, 1.1) / leverage, rows)
        if rng.random() < 0.5:
            rows[1] = -rows[0]
        found.append((np.vstack([rows[:1], rows[2:]]), np.vstack([rows[1:2], rows[2:]])))
    return found


def turned_round(W: Array, leverage: float, *, length: float | None = None) -> Pair:
    """A record of this |v|, or of this |x|, along the longest axis of W, and its opposite."""
    axis = np.linalg.eigh(W)[1][:, -1:].T
    row = axis * (leverage / np.linalg.norm(axis @ W) if length is None else length)
    return row, -row


def upright_and_level(W: Array) -> tuple[Array, Array]:
    """The longest and the shortest axis of W, (p,)."""
    vectors = np.linalg.eigh(W)[1]
    return vectors[:, -1], vectors[:, 0]


# --- pure: the ratio of densities, in one to four dimensions --------------------------------------


def log_density(
    rows: Array,
    theta: Array,
    *,
    loss: str,
    c: float,
    rate: float,
    W: Array,
    rule: Rule = by_leverage,
) -> Array:
    """log p_D at the rows of theta (m, p), up to a constant that neighbours share."""
    n, p = rows.shape
    z, w = theta @ rows.T, rule(rows, W)
    b = -((w * paper.loss_slope(z, loss, H_WIDTH)) @ rows + 2.0 * n * c * theta)
    curvature = w * paper.loss_curvature(z, loss, H_WIDTH)
    jacobian = np.einsum("mi,ij,ik->mjk", curvature, rows, rows) + 2.0 * n * c * np.eye(p)
    return -rate * np.linalg.norm(b @ W, axis=1) + np.linalg.slogdet(jacobian)[1]


def points(pair: Pair, W: Array, rng: np.random.Generator) -> Array:
    """Theta of every size, along random directions and those between the two records, and at the
    kinks of both.
    """
    (x,), (y,) = pair[0][:1], pair[1][:1]
    directions = [*rng.normal(size=(40, len(W))), x, y, x - y, x + y, 0.53 * (x - y) - (x + y)]
    directions += [np.linalg.solve(W, one) for one in (x, y, x - y)]
    unit = np.array([one / max(np.linalg.norm(one), 1e-9) for one in directions])
    radius = np.concatenate([[0.0], np.geomspace(0.01, 3e4, 22)])
    far = (radius[:, None, None] * np.concatenate([unit, -unit])).reshape(-1, len(W))
    kinks = []
    for row in (x, y):
        square = row @ row
        across = rng.normal(size=(30, len(W))) * np.geomspace(0.01, 1e3, 30)[:, None]
        across[0] = 0.0
        across -= np.outer(across @ row, row) / square
        kinks += [
            (margin + side) * row / square + across
            for margin in (1.0 - H_WIDTH, 1.0 + H_WIDTH)
            for side in (-1e-9, 1e-9)
        ]
    return np.vstack([far, *kinks])


def largest_loss(
    pairs: list[tuple[Array, Pair]],
    loss: str,
    kappa: float,
    *,
    rule: Rule = by_leverage,
    rate_factor: float = 1.0,
) -> float:
    """max over pairs, each with its W, and theta of |log p_D - log p_D'|."""
    rng, largest = np.random.default_rng(1), 0.0
    rate = rate_factor * claimed_objective_rate(EPSILON, kappa)
    for W, (A, B) in pairs:
        c = penalty(loss, len(A), kappa)
        theta = points((A, B), W, rng)
        density = partial(log_density, theta=theta, loss=loss, c=c, rate=rate, W=W, rule=rule)
        largest = max(largest, float(np.abs(density(A) - density(B)).max()))
    return largest


def far_pair(p: int) -> tuple[Array, Pair]:
    """Two records whose margins fall together while their v are all but opposite: logistic slopes
    reach 1 there, far out.
    """
    axes = 1.2513 * 20.0 ** -np.linspace(0.0, 1.0, p)
    W = metric_matrix(axes, np.random.default_rng(p))
    up, level = upright_and_level(W)
    return W, ((0.8 * up + 0.6 * level)[None], (-0.8 * up + 0.6 * level)[None])


STEEP = 1.7
"""A kappa at which log(1 + kappa) is nearly all of epsilon."""


@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize("loss", ["logistic", "huber_svm"])
def test_densities_differ_by_at_most_epsilon(loss: str, p: int) -> None:
    rng = np.random.default_rng([p, 18])
    found = []
    for kappa in (0.001, 0.3, STEEP):
        pairs = []
        for _ in range(8):
            W = random_metric(p, rng)
            for is_long in (False, True):
                pairs += [(W, pair) for pair in pairs_in(W, rng, 3, is_long=is_long)]
            pairs.append((W, turned_round(W, 1.001)))
            pairs.append((W, turned_round(W, 1.0, length=20.0)))
        barely = metric_matrix(1.0005 * 20.0 ** -np.linspace(0.0, 1.0, p), rng)
        pairs.append((barely, turned_round(barely, 0.0, length=1.0)))
        if p > 1:
            pairs.append(far_pair(p))
        found.append(largest_loss(pairs, loss, kappa))
    assert max(found) <= EPSILON + 1e-9
    if loss == "huber_svm":
        assert min(found) >= 0.99 * EPSILON
    elif p > 1:
        assert found[0] >= 0.99 * EPSILON


def widest(p: int) -> Array:
    """A W whose axes are 20 apart, the longest 5."""
    return metric_matrix(5.0 * 20.0 ** -np.linspace(0.0, 1.0, p), np.random.default_rng(p))


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("loss", ["logistic", "huber_svm"])
def test_the_audit_of_densities_flags_missing_weights(loss: str, p: int) -> None:
    W = widest(p)
    pairs = [(W, turned_round(W, 0.0, length=1.0))]
    assert largest_loss(pairs, loss, 0.02, rule=left_out) > EPSILON + 0.3
    assert largest_loss(pairs, loss, 0.02) <= EPSILON + 1e-9


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("loss", ["logistic", "huber_svm"])
def test_the_audit_of_densities_flags_forgotten_base_weights(loss: str, p: int) -> None:
    """A row of norm 20 along a short axis has a leverage below 1 and 400 times the curvature."""
    W = metric_matrix(np.full(p, 0.04), np.random.default_rng(p))
    row = 20.0 * np.linalg.eigh(W)[1][:, :1].T
    pairs = [(W, (row, 0.001 * row))]
    assert largest_loss(pairs, loss, 1.0, rule=base_forgotten) > EPSILON + 0.3
    assert largest_loss(pairs, loss, 1.0) <= EPSILON + 1e-9


@pytest.mark.parametrize(("loss", "p"), [("huber_svm", 1), ("huber_svm", 3), ("logistic", 2)])
def test_the_audit_of_densities_flags_noise_for_half_of_c(loss: str, p: int) -> None:
    W, pair = (np.eye(1), turned_round(np.eye(1), 1.0)) if p == 1 else far_pair(p)
    for factor in (1.05, 2.0):
        found = largest_loss([(W, pair)], loss, 0.001, rate_factor=factor)
        assert found > EPSILON + 0.8 * (factor - 1.0)


# --- zCDP: the Renyi divergence, in one and two dimensions ----------------------------------------


@dataclass(frozen=True, eq=False)
class Whitened(Setting):
    """A setting whose noise is drawn in the metric W (p, p); `noise_is_plain` is b = xi."""

    W: Array = field(default_factory=lambda: np.eye(1))
    rule: Rule = by_leverage
    noise_is_plain: bool = False

    def weights(self, records: Array) -> Array:
        return self.rule(records, self.W)

    def drawn(self, b: Array) -> Array:
        return b if self.noise_is_plain else self.W @ b

    @property
    def stretch(self) -> float:
        return 1.0 if self.noise_is_plain else float(np.linalg.norm(np.linalg.inv(self.W), 2))

    @property
    def log_volume(self) -> float:
        return 0.0 if self.noise_is_plain else float(np.linalg.slogdet(self.W)[1])

    def turned(self, turn: Array) -> Setting:
        return replace(self, W=turn.T @ self.W @ turn)


KINDS = {"logistic": ("logistic", 1.0), "huber": ("huber_svm", 0.25)}
DEAR = (5.0, 400.0)
"""kappa and s at which curvature costs nearly all, at an order of 200."""


@pytest.mark.parametrize("kind", KINDS)
def test_one_dimension_stays_below_the_renyi_bounds(kind: str) -> None:
    found, rng = [], np.random.default_rng([1, len(kind)])
    for _ in range(40):
        W = np.array([[np.exp(rng.uniform(-1.0, 2.0))]])
        kappa, sd = np.exp(rng.uniform(np.log([0.02, 0.3]), np.log([5.0, 200.0])))
        orders = 1.0 + np.exp(rng.uniform(np.log(0.01), np.log(150.0), 2))
        (pair,) = pairs_in(W, rng, 1, is_long=rng.random() < 0.5)
        found.append(attack(pair, Whitened(*KINDS[kind], kappa, sd, W), orders).ratio)
    W = np.array([[3.0]])
    for kappa, sd in ((0.02, 0.5), (0.02, 3.0), (0.5, 3.0)):
        setting = Whitened(*KINDS[kind], kappa, sd, W)
        found.append(attack(turned_round(W, 1.01), setting, [1.01, 1.5, 5.0, 60.0]).ratio)
    assert kind == "logistic" or max(found) >= 0.95
    dear = Whitened(*KINDS[kind], *DEAR, np.array([[0.03]]))
    found.append(attack((np.array([[30.0]]), np.array([[0.01]])), dear, [200.0]).ratio)
    assert max(found) >= 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_two_dimensions_stay_below_the_renyi_bounds(kind: str) -> None:
    found, rng = [], np.random.default_rng([2, len(kind)])
    for is_long in (False, True):
        W = random_metric(2, rng)
        (pair,) = pairs_in(W, rng, 1, is_long=is_long)
        kappa, sd = np.exp(rng.uniform(np.log([0.05, 0.5]), np.log([2.0, 10.0])))
        setting = Whitened(*KINDS[kind], kappa, sd, W)
        found.append(attack(pair, setting, [1.3, 8.0], both_ways=False).ratio)
    W = widest(2)
    aimed = Whitened(*KINDS[kind], 0.02, 1.0, W)
    found.append(attack(turned_round(W, 1.01), aimed, [2.0], both_ways=False).ratio)
    assert kind == "logistic" or max(found) >= 0.95
    W = metric_matrix(np.array([0.9, 0.045]), np.random.default_rng(4))
    up = upright_and_level(W)[0]
    dear = Whitened(*KINDS[kind], *DEAR, W)
    pair = (1.01 * up[None], 0.05 * up[None])
    found.append(attack(pair, dear, [200.0], both_ways=kind == "huber").ratio)
    assert max(found) >= 0.95


def excess(pair: Pair, setting: Setting, claimed: Setting, order: float) -> float:
    """Divergence by the smallest bound on what is claimed."""
    orders = np.array([order])
    bound = bounds(orders, claimed.kappa, claimed.sd).min(axis=0)
    return float((renyi(pair, setting, orders) / bound)[0])


@pytest.mark.parametrize("p", [1, 2])
def test_the_audit_of_divergences_flags_what_looks_alike(p: int) -> None:
    W = widest(p) if p == 2 else np.array([[5.0]])
    claimed = Whitened("huber_svm", 0.25, 0.06, 3.0, W)
    over = partial(excess, claimed=claimed, order=1.5)
    at_1, full = turned_round(W, 1.01), turned_round(W, 0.0, length=1.0)
    assert 0.95 < over(at_1, claimed) <= 1.0
    assert over(full, claimed) <= 1.0
    assert over(full, replace(claimed, rule=left_out)) > 3.0
    assert over(at_1, replace(claimed, sd=1.5)) > 3.0, "noise for half of C"
    assert over(at_1, replace(claimed, sd=3.0 / 2.7)) > 3.0, "noise that C has not scaled"
    # Noise of equal size in every direction is as private: gradients are no longer than 1.
    assert over(full, replace(claimed, noise_is_plain=True)) <= 1.0
    short = 0.04 * np.eye(p)
    row = 20.0 * np.eye(p)[:1]
    dear = Whitened("huber_svm", 0.25, 0.06, 50.0, short)
    pair = (row, 0.001 * row)
    assert excess(pair, replace(dear, rule=base_forgotten), dear, 8.0) > 1.2
    assert excess(pair, dear, dear, 8.0) <= 1.0


# --- the samplers of the package have these densities ---------------------------------------------

MOMENT = np.array([[0.5, 0.1], [0.1, 0.02]])
GEOMETRY = Geometry(ridge=0.02, leverage=9.0)
N_SAMPLES = 2_500


def metric_by_hand() -> Array:
    """W = (M + ridge I)^(-1/2) / C."""
    values, vectors = np.linalg.eigh(MOMENT + 0.02 * np.eye(2))
    return (vectors / np.sqrt(9.0 * values)) @ vectors.T


def test_the_metric_of_the_package_is_the_one_by_hand() -> None:
    metric, W = metric_of(GEOMETRY, MOMENT), metric_by_hand()
    np.testing.assert_allclose(metric.whiten, W, rtol=1e-12)
    np.testing.assert_allclose(metric.unwhiten, np.linalg.inv(W), rtol=1e-12)
    plain = TABLE / 3.0
    weights = [weighted(rows, metric).weights for rows in (plain, base_weighted(TABLE))]
    np.testing.assert_allclose(weights[0], by_leverage(plain, W), rtol=2e-8)
    np.testing.assert_allclose(weights[1], by_leverage(TABLE, W), rtol=2e-8)
    assert (weights[0] < 1.0).any(), "or the metric would not be seen"
    assert (weights[1] < 0.999 * by_square(TABLE)).any(), "or the metric would not be seen"


def base_weighted(rows: Array) -> WeightedRows:
    return WeightedRows(rows, by_square(rows))


@pytest.mark.parametrize("definition", ["pure", "zcdp"])
@pytest.mark.parametrize("loss", ["logistic", "huber_svm"])
def test_density_identity_in_a_metric(loss: str, definition: str) -> None:
    kappa, W, metric = 0.9, metric_by_hand(), metric_of(GEOMETRY, MOMENT)
    if definition == "pure":
        budget: PureDP | ZCDP = PureDP(model="2", hessian="1", covariance="1", metric="1")
        rate, c = claimed_objective_rate(2.0, kappa), penalty(loss, 3, kappa)
        density = partial(log_density, loss=loss, c=c, rate=rate, W=W)
    else:
        budget = ZCDP(model="2", hessian="1", covariance="1", metric="1")
        setting = Whitened(loss, H_WIDTH, kappa, test_renyi_audit.CLAIMED_SD, W)
        c = setting.stiffness / 6.0

        def density(rows: Array, theta: Array) -> Array:
            return test_renyi_audit.log_density(rows, theta.T, setting)

    design = Design(
        loss=LOSSES[loss],
        mechanism="objective",
        budget=budget,
        regularization=c,
        n_records=len(TABLE),
        calibration=Calibration.published(gaussian_objective=definition == "zcdp"),
        geometry=GEOMETRY,
    )
    rng = np.random.default_rng(3)
    pair = (TABLE, NEIGHBOUR)

    def distance(draw: Callable[[], Array]) -> float:
        theta = np.array([draw() for _ in range(N_SAMPLES)])
        return abs(identity_distance(theta, lambda rows, at: density(rows, theta=at), pair))

    rows = weighted(base_weighted(TABLE), metric)
    noise = model_noise(replace(design, n_records=3))

    def solved(b: Array) -> Array:
        return Newton().minimise(PenalisedRisk(rows, LOSSES[loss], c, b)).theta

    drawn = partial(train_private, rows, design=design, rng=rng, metric=metric)
    assert distance(lambda: drawn().theta_priv) <= 4.0
    # b = xi, which no divergence flags.
    assert distance(lambda: solved(noise.sample(2, rng))) > 5.0


# --- the second moment and the matrices -----------------------------------------------------------

N = 2
WIDE = metric_matrix(np.array([21.0, 1.05]), np.random.default_rng(5))
"""Orthogonal rows of norm 1 with leverages above 1."""
NARROW = metric_matrix(np.array([2.0, 0.1]), np.random.default_rng(6))
"""Long rows with leverages below 1."""


def of_matrix(W: Array) -> Metric:
    return Metric(W, W, np.linalg.inv(W))


def change(
    first: Array,
    second: Array,
    theta: Array,
    loss: Loss,
    W: Array,
    *,
    rule: Rule = by_leverage,
    power: int = 2,
) -> tuple[float, float]:
    """Frobenius change of W H W and of W S W over their bounds, one of N records replaced."""
    tables = [np.vstack([row, np.full((N - 1, 2), 0.2)]) for row in (first, second)]
    known = {"loss": loss, "n_records": N, "tight": True}
    radius = float(np.linalg.norm(theta))
    bound = (
        hessian_sensitivity(**known),  # type: ignore[arg-type]
        covariance_sensitivity(radius=radius, exact_slope=True, **known),  # type: ignore[arg-type]
    )
    if rule is by_leverage and power == 2:
        rows = [weighted(base_weighted(table), of_matrix(W)) for table in tables]
        found = [
            [one(PenalisedRisk(A, loss, 0.1), theta, W) for A in rows]
            for one in (PenalisedRisk.hessian, PenalisedRisk.covariance)
        ]
    else:
        by_hand = (sums(A, theta, loss, W, rule, power) for A in tables)
        found = [list(both) for both in zip(*by_hand, strict=True)]
    gaps = [float(np.linalg.norm(one - two)) for one, two in found]
    return gaps[0] / bound[0], gaps[1] / bound[1]


def sums(
    rows: Array, theta: Array, loss: Loss, W: Array, rule: Rule, power: int
) -> tuple[Array, Array]:
    """The two sums over records without what is public, by hand; S has w to this power."""
    w, z, v = rule(rows, W), rows @ theta, rows @ W
    H = np.einsum("i,ij,ik->jk", w * loss.curvature(z), v, v)
    S = np.einsum("i,ij,ik->jk", w**power * loss.slope(z) ** 2, v, v)
    return H / len(rows), S / len(rows)


def searched(
    which: int,
    loss: Loss,
    W: Array,
    *,
    is_long: bool,
    rule: Rule = by_leverage,
    power: int = 2,
) -> float:
    """Largest change over its bound that random pairs, aimed ones and a search from the best find:
    rows of norm at most 1, or of any length.
    """
    rng = np.random.default_rng(7)

    def minus(x: Array) -> float:
        first, second = x[:2], x[2:4]
        if not is_long:
            first, second = (row / max(1.0, np.linalg.norm(row)) for row in (first, second))
        return -change(first, second, x[4:], loss, W, rule=rule, power=power)[which]

    starts = rng.normal(size=(120, 6)) * np.exp(rng.uniform(-1.5, 3.0, (120, 1)))
    up, level = upright_and_level(W)
    axes = np.linalg.eigvalsh(W)[::-1]
    if which == 0:  # margins alike, where the curvature is largest
        margin = 0.0 if isinstance(loss, Logistic) else 1.0
        aimed = [np.concatenate([up, level, margin * (up + level)])]
    else:  # leverages just above 1, margins far below 0; a long row against a short theta
        first, second = up * 1.005 / axes[0], level * 1.005 / axes[1]
        aimed = [np.concatenate([first, second, -40.0 * (axes[0] * up + level)])]
        aimed += [np.concatenate([10.0 * one, 0.001 * up, -0.3 * one]) for one in (up, level)]
    best = [*aimed, *sorted(starts, key=minus)[:2]]
    return max(
        -minimize(minus, start, method="Nelder-Mead", options={"maxfev": 120}).fun for start in best
    )


@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize(("which", "least"), [(0, 0.99), (1, 0.95)], ids=["H", "S"])
@pytest.mark.parametrize("loss", [Logistic(), HuberSVM(h=0.5), HuberSVM(h=2.0)], ids=repr)
def test_searched_pairs_reach_the_matrix_sensitivities_and_stay_below(
    loss: Loss, which: int, least: float, is_long: bool
) -> None:
    found = [searched(which, loss, W, is_long=is_long) for W in (WIDE, NARROW)]
    assert least <= max(found) <= 1.0


def test_the_hand_made_sums_are_those_of_the_package() -> None:
    rng = np.random.default_rng(8)
    rows, theta, W = rng.normal(size=(6, 2)) * 2.0, rng.normal(size=2), NARROW
    A = weighted(base_weighted(rows), of_matrix(W))
    for loss in (Logistic(), HuberSVM(h=0.5)):
        H, S = sums(rows, theta, loss, W, by_leverage, 2)
        risk = PenalisedRisk(A, loss, 0.1)
        B, pull = 0.2 * W @ W, 0.2 * W @ theta
        np.testing.assert_allclose(risk.hessian(theta, W), H + B, rtol=1e-7)
        np.testing.assert_allclose(
            risk.covariance(theta, W),
            S - np.outer(pull, pull),
            rtol=1e-6,
        )


MUTANTS: dict[str, tuple[int, Array, bool, Rule, int]] = {
    "H without weights": (0, WIDE, False, left_out, 2),
    "H with 1/|v|": (0, WIDE, False, by_length, 2),
    "S without weights": (1, WIDE, False, left_out, 2),
    "S without base weights": (1, NARROW, True, base_forgotten, 2),
    "S with w for w^2, long rows": (1, NARROW, True, by_leverage, 1),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_search_flags_what_looks_alike(name: str) -> None:
    which, W, is_long, rule, power = MUTANTS[name]
    assert searched(which, Logistic(), W, is_long=is_long, rule=rule, power=power) > 1.2


def test_w_for_w_squared_breaks_nothing_for_rows_of_norm_1() -> None:
    for W in (WIDE, NARROW):
        assert searched(1, Logistic(), W, is_long=False, power=1) <= 1.0


@cache
def moments_apart(is_long: bool) -> tuple[float, float]:
    """Largest change of the second moment over its bound that random pairs and an aimed one find,
    with base weights and without.
    """
    rng, found, bare = np.random.default_rng(9), 0.0, 0.0
    rows = rng.normal(size=(300, 2, 3))
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    rows[0] = np.eye(3)[:2]
    rows[1:] *= rng.random((299, 2, 1)) ** 0.2
    rows *= np.exp(rng.uniform(0.0, 2.0, (300, 2, 1))) if is_long else 1.0
    bound = second_moment_sensitivity(n_records=N)
    for first, second in rows:
        tables = [np.vstack([row, np.full(3, 0.3)]) for row in (first, second)]
        here, there = (second_moment_of(base_weighted(table)) for table in tables)
        found = max(found, float(np.linalg.norm(here - there)) / bound)
        here, there = (second_moment_of(table) for table in tables)
        bare = max(bare, float(np.linalg.norm(here - there)) / bound)
    return found, bare


def test_the_second_moment_changes_by_its_bound() -> None:
    for is_long in (False, True):
        assert 0.99 <= moments_apart(is_long)[0] <= 1.0
    assert moments_apart(True)[1] > 2.0, "long rows without their weights"
