"""The audits of this folder once more, for rows of any length whose losses have weights.

A record is a row x of any length, its loss w f(x.theta) with w = min(1, 1/|x|^2). Densities and
sensitivities are those of the plain rows with w in every sum; what is claimed of them is not
changed (docs/proofs/map.md). Each claim is attacked with weights at work, comes close to its bound
somewhere, and fails for three rules that look alike: no weights, w = min(1, 1/|x|), and a gradient
covariance with w in the place of w^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize

from dpci_core import ZCDP, Calibration, Design, HuberSVM, Logistic, PureDP, SmoothedHinge
from dpci_core.base.rows import WeightedRows
from dpci_core.losses import Loss
from dpci_core.mechanisms.mechanism import train_private
from dpci_core.privacy.sensitivity import covariance_sensitivity, hessian_sensitivity
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk
from tests.mechanisms import test_renyi_audit
from tests.mechanisms.test_audit import (
    EPSILON,
    H_WIDTH,
    KAPPAS,
    LOSSES,
    claimed_objective_rate,
    identity_distance,
    make_pairs,
    make_theta_grid,
    penalty,
)
from tests.mechanisms.test_renyi_audit import ORDERS, Setting, attack, bounds, renyi
from tests.oracle import paper

Array = np.ndarray
Pair = tuple[Array, Array]
Rule = Callable[[Array], Array]


def by_square(rows: Array) -> Array:
    """The rule: w = min(1, 1/|x|^2)."""
    return 1.0 / np.maximum(1.0, (rows**2).sum(axis=1))


def by_norm(rows: Array) -> Array:
    """A rule that bounds gradients and not curvatures."""
    return 1.0 / np.maximum(1.0, np.linalg.norm(rows, axis=1))


def left_out(rows: Array) -> Array:
    """No rule."""
    return np.ones(len(rows))


def with_weights(rows: Array) -> WeightedRows:
    return WeightedRows(rows, by_square(rows))


def turned_round(p: int, length: float) -> Pair:
    """One record of this length turned round."""
    row = np.zeros((1, p))
    row[0, 0] = length
    return row, -row


def replaced(p: int, length: float, other: float) -> Pair:
    """A record on the first axis replaced by one of another length there."""
    return turned_round(p, length)[0], turned_round(p, other)[0]


def long_pairs(p: int, rng: np.random.Generator, n_pairs: int) -> list[Pair]:
    """Neighbours whose first record has a weight below 1 in both tables, and half of the others."""
    pairs = []
    for A, B in make_pairs(p, rng, n_pairs):
        stretch = np.exp(rng.uniform(0.0, 3.0, (len(A) + 1, 1)))
        stretch[1:-1] = np.where(rng.random((len(A) - 1, 1)) < 0.5, 1.0, stretch[1:-1])
        here, there = A / np.linalg.norm(A[0]), B / np.linalg.norm(B[0])
        common = A[1:] * stretch[1:-1]
        pairs.append(
            (
                np.vstack([stretch[0] * here[:1], common]),
                np.vstack([stretch[-1] * there[:1], common]),
            )
        )
    return pairs


# --- objective perturbation, pure: the ratio of densities -----------------------------------------


def log_density(
    rows: Array, theta: Array, *, loss: str, c: float, rate: float, rule: Rule
) -> Array:
    """log p_D at the rows of theta (m, p), up to a constant that neighbours share."""
    n, p = rows.shape
    z, w = theta @ rows.T, rule(rows)
    b = -((w * paper.loss_slope(z, loss, H_WIDTH)) @ rows + 2.0 * n * c * theta)
    curvature = w * paper.loss_curvature(z, loss, H_WIDTH)
    jacobian = np.einsum("mi,ij,ik->mjk", curvature, rows, rows) + 2.0 * n * c * np.eye(p)
    return -rate * np.linalg.norm(b, axis=1) + np.linalg.slogdet(jacobian)[1]


def largest_loss(
    pairs: list[Pair], loss: str, kappa: float, *, rule: Rule = by_square, rate_factor: float = 1.0
) -> float:
    """max over pairs and theta of |log p_D - log p_D'|."""
    rng = np.random.default_rng(1)
    rate = rate_factor * claimed_objective_rate(EPSILON, kappa)
    largest = 0.0
    for A, B in pairs:
        c = penalty(loss, len(A), kappa)
        theta = make_theta_grid(A, B, loss=loss, c=c, rng=rng)
        density = partial(log_density, theta=theta, loss=loss, c=c, rate=rate, rule=rule)
        largest = max(largest, float(np.abs(density(A) - density(B)).max()))
    return largest


STEEP = 1.7
"""A kappa at which log(1 + kappa) is nearly all of epsilon, whatever the length of the rows."""


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kappa", [*KAPPAS, STEEP])
@pytest.mark.parametrize("loss", LOSSES)
def test_objective_perturbation_loses_at_most_epsilon(loss: str, kappa: float, p: int) -> None:
    rng = np.random.default_rng([p, int(100 * kappa)])
    lengths = (1.01, 1.5, 4.0, 1000.0)
    pairs = [turned_round(p, length) for length in lengths]
    pairs += long_pairs(p, rng, 80 if p == 1 else 30)
    largest = largest_loss(pairs, loss, kappa)
    assert largest <= EPSILON + 1e-9
    if loss == "huber_svm":  # the others' slope is far from 1 where their curvature is largest
        assert largest >= 0.95 * EPSILON


@pytest.mark.parametrize("p", [1, 2])
def test_long_rows_cost_all_that_curvature_does(p: int) -> None:
    for length in (3.0, 30.0):
        pairs = [turned_round(p, length)]
        assert 0.95 * EPSILON < largest_loss(pairs, "huber_svm", STEEP) <= EPSILON + 1e-9


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("rule", [left_out, by_norm])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_audit_of_densities_flags_other_weights(loss: str, rule: Rule, p: int) -> None:
    # Turned round, a logistic record keeps its curvature; a short one in its place has none.
    pairs = [turned_round(p, 30.0), replaced(p, 30.0, 0.1)]
    assert largest_loss(pairs, loss, 1.0, rule=rule) > EPSILON + 0.3
    assert largest_loss(pairs, loss, 1.0) <= EPSILON + 1e-9


def test_the_audit_of_densities_flags_too_little_noise() -> None:
    for p in (1, 2):
        loss = largest_loss([turned_round(p, 1.01)], "huber_svm", 0.02, rate_factor=1.05)
        assert loss > EPSILON + 1e-3


# --- objective perturbation, zCDP: the Renyi divergence -------------------------------------------


@dataclass(frozen=True)
class Weighted(Setting):
    """A setting whose records have the weights of a rule."""

    rule: Rule = by_square

    def weights(self, records: Array) -> Array:
        return self.rule(records)


KINDS = {"logistic": ("logistic", 1.0), "huber": ("huber_svm", 0.25), "wide": ("huber_svm", 2.0)}


DEAR = (5.0, 400.0)
"""kappa and s at which curvature costs nearly all, at an order of 200, whatever the lengths."""


@pytest.mark.parametrize("kind", KINDS)
def test_one_dimension_stays_below_the_renyi_bounds(kind: str) -> None:
    found = []
    for length in (1.01, 2.0, 30.0):
        for kappa in (0.02, 0.5, 5.0):
            for sd in (0.5, 3.0, 50.0):
                setting = Weighted(*KINDS[kind], kappa, sd)
                found.append(attack(turned_round(1, length), setting, ORDERS, both_ways=False))
    rng = np.random.default_rng([1, len(kind)])
    for pair in long_pairs(1, rng, 40):
        kappa, sd = np.exp(rng.uniform(np.log([0.02, 0.3]), np.log([5.0, 200.0])))
        orders = 1.0 + np.exp(rng.uniform(np.log(0.01), np.log(150.0), 2))
        found.append(attack(pair, Weighted(*KINDS[kind], kappa, sd), orders))
    assert kind != "huber" or max(one.ratio for one in found) >= 0.95
    for pair in (replaced(1, 30.0, 0.05), replaced(1, 30.0, -1.0)):
        found.append(attack(pair, Weighted(*KINDS[kind], *DEAR), [200.0]))
    assert max(one.ratio for one in found) >= 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_two_dimensions_stay_below_the_renyi_bounds(kind: str) -> None:
    east, north = 1.01 * np.array([[1.0, 0.0]]), 1.01 * np.array([[0.0, 1.0]])
    found = [
        attack((east, other), Weighted(*KINDS[kind], *scales), [2.0], both_ways=False)
        for other in (-east, north)
        for scales in ((0.02, 1.0), (1.0, 8.0))
    ]
    rng = np.random.default_rng([2, len(kind)])
    for pair in long_pairs(2, rng, 3):
        kappa, sd = np.exp(rng.uniform(np.log([0.05, 0.5]), np.log([2.0, 10.0])))
        found.append(attack(pair, Weighted(*KINDS[kind], kappa, sd), [1.5, 8.0], both_ways=False))
    assert kind != "huber" or max(one.ratio for one in found) >= 0.95
    pair = replaced(2, *((1.01, 0.05) if kind == "logistic" else (-1.0, 30.0)))
    found.append(attack(pair, Weighted(*KINDS[kind], *DEAR), [200.0]))
    assert max(one.ratio for one in found) >= 0.95


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(
    ("rule", "sd", "orders"), [(left_out, 3.0, [1.5, 2.0]), (by_norm, 50.0, [8.0, 12.0])]
)
def test_the_audit_of_divergences_flags_other_weights(
    rule: Rule, sd: float, orders: list[float], p: int
) -> None:
    kappa, pair = 0.06, turned_round(p, 30.0 if rule is by_norm else 3.0)
    found = renyi(pair, Weighted("huber_svm", 0.25, kappa, sd, rule), np.array(orders))
    assert (found > 1.2 * bounds(np.array(orders), kappa, sd).min(axis=0)).all()
    right = renyi(pair, Weighted("huber_svm", 0.25, kappa, sd), np.array(orders))
    assert (right <= bounds(np.array(orders), kappa, sd).min(axis=0)).all()


# --- output perturbation: how far the minimiser moves ---------------------------------------------


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_minimiser_moves_at_most_one_over_nc(loss: str, p: int) -> None:
    pairs = [
        turned_round(p, 1.01),
        turned_round(p, 5.0),
        *long_pairs(p, np.random.default_rng(p), 60),
    ]
    moves, unweighted = [], []
    for A, B in pairs:
        for c in (0.001, 0.1, 1.0, 100.0):

            def solved(rows: object, c: float = c) -> Array:
                return Newton().minimise(PenalisedRisk(rows, LOSSES[loss], c)).theta  # type: ignore[arg-type]

            gap = solved(with_weights(A)) - solved(with_weights(B))
            moves.append(len(A) * c * float(np.linalg.norm(gap)))
            if len(A) == 1 and c == 100.0:
                unweighted.append(c * float(np.linalg.norm(solved(A) - solved(B))))
    assert max(moves) <= 1.0 + 1e-9
    # Logistic slopes of a record and its opposite add up to 1, not 2.
    assert max(moves) >= (0.95 if loss != "logistic" else 0.45)
    assert max(unweighted) > 1.2


# --- the samplers of the package have these densities ---------------------------------------------

TABLE = np.array([[2.7, 0.9], [-0.5, 0.8], [-0.6, -2.7]])
NEIGHBOUR = np.vstack([[-1.8, 0.8], TABLE[1:]])
N_SAMPLES = 1_000
"""Weights that are left out are 20 standard errors away."""


def sampled(records: Array | WeightedRows, design: Design) -> Array:
    rng = np.random.default_rng(3)
    draws = [train_private(records, design=design, rng=rng).theta_priv for _ in range(N_SAMPLES)]
    return np.array(draws)


@pytest.mark.parametrize("definition", ["pure", "zcdp"])
@pytest.mark.parametrize("loss", ["logistic", "huber_svm"])
def test_density_identity_with_weights(loss: str, definition: str) -> None:
    kappa = 0.9
    if definition == "pure":
        budget: PureDP | ZCDP = PureDP(model="2", hessian="1", covariance="1")
        rate, c = claimed_objective_rate(2.0, kappa), penalty(loss, 3, kappa)
        density = partial(log_density, loss=loss, c=c, rate=rate, rule=by_square)
    else:
        budget = ZCDP(model="2", hessian="1", covariance="1")
        setting = Weighted(loss, H_WIDTH, kappa, test_renyi_audit.CLAIMED_SD)
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
    )

    def distance(records: Array | WeightedRows) -> float:
        theta = sampled(records, design)
        return abs(
            identity_distance(theta, lambda rows, at: density(rows, theta=at), (TABLE, NEIGHBOUR))
        )

    assert distance(with_weights(TABLE)) <= 4.0
    assert distance(TABLE) > 5.0  # weights left out


# --- the matrices ---------------------------------------------------------------------------------

MATRIX_LOSSES: tuple[Loss, ...] = (
    Logistic(),
    HuberSVM(h=0.5),
    HuberSVM(h=2.0),
    SmoothedHinge(h=0.5),
    SmoothedHinge(h=2.0),
)
N = 2


def matrices(rows: Array, theta: Array, loss: Loss, rule: Rule, power: int) -> tuple[Array, Array]:
    """The two sums over records without what is public, by hand; S has w to this power."""
    w, z = rule(rows), rows @ theta
    H = np.einsum("i,ij,ik->jk", w * loss.curvature(z), rows, rows)
    S = np.einsum("i,ij,ik->jk", w**power * loss.slope(z) ** 2, rows, rows)
    return H / len(rows), S / len(rows)


def change(
    first: Array, second: Array, theta: Array, loss: Loss, rule: Rule = by_square, power: int = 2
) -> tuple[float, float]:
    """Frobenius change of H and of S over their bounds, when one of N records is replaced."""
    rows = [np.vstack([row, np.full((N - 1, len(row)), 0.3)]) for row in (first, second)]
    radius = float(np.linalg.norm(theta))
    known = {"loss": loss, "n_records": N, "tight": True}
    bound = (
        hessian_sensitivity(**known),  # type: ignore[arg-type]
        covariance_sensitivity(radius=radius, exact_slope=True, **known),  # type: ignore[arg-type]
    )
    if rule is by_square and power == 2:
        found = [
            PenalisedRisk(with_weights(A), loss=loss, regularization=0.1).moments(theta)
            for A in rows
        ]
    else:
        found = [matrices(A, theta, loss, rule, power) for A in rows]
    gaps = [float(np.linalg.norm(one - two)) for one, two in zip(*found, strict=True)]
    return gaps[0] / bound[0], gaps[1] / bound[1]


def searched(which: int, loss: Loss, rule: Rule = by_square, power: int = 2) -> float:
    """Largest change over its bound that random pairs and a search from the best of them find."""
    rng = np.random.default_rng(4)

    def minus(v: Array) -> float:
        # Lengths from 1 up, so that every record has a weight below 1.
        first, second = (
            row / np.linalg.norm(row) * (1.001 + abs(stretch))
            for row, stretch in ((v[:2], v[6]), (v[2:4], v[7]))
        )
        return -change(first, second, v[4:6], loss, rule, power)[which]

    starts = rng.normal(size=(300, 8)) * np.exp(rng.uniform(-2.0, 2.0, (300, 1)))
    starts[:, 6:] = np.expm1(rng.uniform(0.0, 2.0, (300, 2)))
    # Chance finds pairs of which one counts. Both do at right angles, with margins alike: around 0
    # or 1 for H, far below 0 for S.
    corner = 0.0 if isinstance(loss, Logistic) else 1.0 / 1.2
    if which == 1:
        corner = -30.0
    right_angle = np.array(
        [1.0, 0.0, 0.0, 1.0, corner, corner, *([0.2, 0.2] if which == 0 else [0.0, 0.0])]
    )
    best = [right_angle, *sorted(starts, key=minus)[:3]]
    return max(
        -minimize(minus, start, method="Nelder-Mead", options={"maxfev": 300}).fun for start in best
    )


@pytest.mark.parametrize("which", [0, 1], ids=["H", "S"])
@pytest.mark.parametrize("loss", MATRIX_LOSSES, ids=repr)
def test_searched_pairs_reach_the_matrix_sensitivities_and_stay_below(
    loss: Loss, which: int
) -> None:
    assert 0.95 <= searched(which, loss) <= 1.0


@pytest.mark.parametrize("loss", MATRIX_LOSSES, ids=repr)
def test_the_hand_made_sums_are_those_of_the_package(loss: Loss) -> None:
    rng = np.random.default_rng(5)
    rows, theta = 2.0 * rng.normal(size=(6, 3)), rng.normal(size=3)
    H, S = PenalisedRisk(with_weights(rows), loss=loss, regularization=0.1).moments(theta)
    by_hand = matrices(rows, theta, loss, by_square, 2)
    np.testing.assert_allclose(H - 0.2 * np.eye(3), by_hand[0], atol=1e-14)
    np.testing.assert_allclose(S + 0.04 * np.outer(theta, theta), by_hand[1], atol=1e-14)


MUTANTS = {
    "H without weights": (0, left_out, 2),
    "H with 1/|x|": (0, by_norm, 2),
    "S without weights": (1, left_out, 2),
    "S with w for w^2": (1, by_square, 1),
}


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("loss", [Logistic(), HuberSVM(h=2.0)], ids=repr)
def test_the_search_flags_other_weights(loss: Loss, name: str) -> None:
    which, rule, power = MUTANTS[name]
    assert searched(which, loss, rule, power) > 1.2


def test_w_for_w_squared_shows_only_where_a_slope_grows_with_its_margin() -> None:
    """A covariance with w has slopes of margins |x| |theta|, farther out than |theta|."""
    theta = np.array([-0.5, 0.0])
    first, second = np.array([40.0, 0.0]), np.array([0.0, 1.0])
    assert change(first, second, theta, Logistic(), power=1)[1] > 1.5
    assert change(first, second, theta, Logistic())[1] < 1.0
