"""Every constant by hand, and attacks that try to exceed each bound with neighbouring tables."""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from dpci_core import ZCDP, Design
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.base.rows import PersonRows
from dpci_core.losses import HuberSVM, Logistic, Loss, SmoothedHinge
from dpci_core.mechanisms.mechanism import model_noise
from dpci_core.privacy.sensitivity import (
    covariance_sensitivity,
    gaussian_sd,
    hessian_sensitivity,
    laplace_rate,
    objective_noise_rate,
    output_noise_rate,
    output_sensitivity,
    smallest_regularization,
)
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk

LOSSES: tuple[Loss, ...] = (
    Logistic(),
    HuberSVM(h=0.5),
    HuberSVM(h=2.0),
    SmoothedHinge(h=0.5),
    SmoothedHinge(h=2.0),
)
CLOSE = 1e-13


# --- constants by hand ----------------------------------------------------------------------------


def test_hessian_constants() -> None:
    # Lemma 3: 1/(2n).  Lemma 5: 1/(nh).
    assert hessian_sensitivity(loss=Logistic(), n_records=1000) == pytest.approx(0.0005, rel=CLOSE)
    assert hessian_sensitivity(loss=HuberSVM(h=0.5), n_records=1000) == pytest.approx(
        0.002, rel=CLOSE
    )
    assert hessian_sensitivity(loss=HuberSVM(h=4.0), n_records=10) == pytest.approx(
        0.025, rel=CLOSE
    )


def test_covariance_constants() -> None:
    # Lemma 2: 2 sigmoid(|theta|)^2/n, sigmoid(log 3) = 3/4.  Lemma 4: 2/n.
    for radius, squared in ((0.0, 0.25), (math.log(3), 0.5625), (1e3, 1.0)):
        value = covariance_sensitivity(loss=Logistic(), n_records=1000, radius=radius)
        assert value == pytest.approx(0.002 * squared, rel=CLOSE)
        value = covariance_sensitivity(loss=HuberSVM(h=0.5), n_records=1000, radius=radius)
        assert value == pytest.approx(0.002, rel=CLOSE)


@pytest.mark.parametrize("radius", [-1e-9, math.nan])
def test_bad_radius_is_named(radius: float) -> None:
    with pytest.raises(ValueError, match="Expected radius="):
        covariance_sensitivity(loss=Logistic(), n_records=10, radius=radius)


def test_smallest_regularization_constants() -> None:
    # t/(2n(e^eps - 1)); e^eps - 1 = 1 at log 2, 3 at log 4.
    for loss, epsilon, n, value in (
        (Logistic(), math.log(2), 1000, 0.000125),
        (Logistic(), math.log(4), 10, 0.25 / 60),
        (HuberSVM(h=0.5), math.log(2), 1000, 0.0005),
        (HuberSVM(h=2.0), math.log(2), 1000, 0.000125),
    ):
        assert smallest_regularization(epsilon=epsilon, n_records=n, loss=loss) == pytest.approx(
            value, rel=CLOSE
        )


def test_objective_rate_constants() -> None:
    # t/(2nc) = 1/8 for the logistic loss, 1/2 for Huber h = 0.5, at n = 1000, c = 0.001; eps' =
    # eps - log1p of it.
    rate = objective_noise_rate(epsilon=0.5, n_records=1000, regularization=0.001, loss=Logistic())
    assert rate == pytest.approx((0.5 - math.log(1.125)) / 2, rel=CLOSE)
    assert rate == pytest.approx(0.19110848, abs=1e-8)
    rate = objective_noise_rate(
        epsilon=1.0, n_records=1000, regularization=0.001, loss=HuberSVM(h=0.5)
    )
    assert rate == pytest.approx((1 - math.log(1.5)) / 2, rel=CLOSE)


def output_noise_sd(*, rho: float, n_records: int, regularization: float) -> float:
    """Of the Gaussian noise that the mechanism puts on a minimiser."""
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=ZCDP(model=rho, hessian=1, covariance=1),
        regularization=regularization,
        n_records=n_records,
        calibration="published",
    )
    return model_noise(design).sd


def test_output_constants() -> None:
    assert output_noise_rate(epsilon=0.5, n_records=1000, regularization=0.01) == pytest.approx(
        5.0, rel=CLOSE
    )
    # sd 1/(n c sqrt(2 rho)): sqrt(2 * 0.125) = 1/2.
    assert output_noise_sd(rho=0.125, n_records=1000, regularization=0.01) == pytest.approx(
        0.2, rel=CLOSE
    )


def test_noise_scale_constants() -> None:
    assert gaussian_sd(sensitivity=0.3, rho=0.125) == pytest.approx(0.6, rel=CLOSE)
    assert gaussian_sd(sensitivity=0.3, rho=2.0) == pytest.approx(0.15, rel=CLOSE)
    assert laplace_rate(sensitivity=0.25, epsilon=0.5) == pytest.approx(2.0, rel=CLOSE)


# --- rounding to the private side -----------------------------------------------------------------


def test_rounding_is_to_the_private_side() -> None:
    """Exact rationals of the float arguments: rates never above, sensitivities and sds never
    below.
    """
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 10**6))
        c, eps, s, h = (float(x) for x in np.exp(rng.uniform(-8, 2, 4)))
        exact_c, exact_eps, exact_s, exact_h = map(Fraction, (c, eps, s, h))
        rate = Fraction(output_noise_rate(epsilon=eps, n_records=n, regularization=c))
        assert rate < n * exact_c * exact_eps
        assert Fraction(laplace_rate(sensitivity=s, epsilon=eps)) < exact_eps / exact_s
        assert Fraction(hessian_sensitivity(loss=Logistic(), n_records=n)) > Fraction(1, 2 * n)
        assert Fraction(hessian_sensitivity(loss=HuberSVM(h=h), n_records=n)) > 1 / (n * exact_h)
        assert Fraction(
            covariance_sensitivity(loss=HuberSVM(h=h), n_records=n, radius=1.0)
        ) > Fraction(2, n)
        # sd >= s/sqrt(2 rho) is sd^2 2 rho >= s^2.
        assert Fraction(gaussian_sd(sensitivity=s, rho=eps)) ** 2 * 2 * exact_eps > exact_s**2
        sd = Fraction(output_noise_sd(rho=eps, n_records=n, regularization=c))
        assert (sd * n * exact_c) ** 2 * 2 * exact_eps > 1


def test_objective_rate_is_rounded_down_also_near_its_boundary() -> None:
    context, D = Context(prec=60), Decimal
    rng = np.random.default_rng(1)
    for k in range(200):
        n, eps = int(rng.integers(1, 10**6)), float(np.exp(rng.uniform(-5, 2)))
        loss = LOSSES[k % 5]
        c = smallest_regularization(epsilon=eps, n_records=n, loss=loss) * (
            1 + 10.0 ** rng.uniform(-12, 3)
        )
        rate = objective_noise_rate(epsilon=eps, n_records=n, regularization=c, loss=loss)
        ratio = context.divide(D(loss.max_curvature), context.multiply(D(2 * n), D(c)))
        exact = context.divide(context.subtract(D(eps), context.ln(context.add(D(1), ratio))), D(2))
        assert 0 < D(rate) <= exact


def test_rounding_costs_nothing() -> None:
    assert output_noise_rate(epsilon=1.0, n_records=1, regularization=1.0) > 1 - 1e-14
    assert output_noise_sd(rho=0.5, n_records=1, regularization=1.0) < 1 + 1e-14


# --- scaling --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_everything_scales_with_one_over_n(loss: Loss) -> None:
    for function in (
        lambda n: hessian_sensitivity(loss=loss, n_records=n),
        lambda n: covariance_sensitivity(loss=loss, n_records=n, radius=1.5),
        lambda n: smallest_regularization(epsilon=0.3, n_records=n, loss=loss),
        lambda n: output_noise_sd(rho=0.1, n_records=n, regularization=0.01),
        lambda n: 1 / output_noise_rate(epsilon=0.3, n_records=n, regularization=0.01),
    ):
        assert function(100) / function(1700) == pytest.approx(17, rel=CLOSE)


def test_huber_bounds_scale_with_one_over_h() -> None:
    for function in (
        lambda h: hessian_sensitivity(loss=HuberSVM(h=h), n_records=50),
        lambda h: smallest_regularization(epsilon=0.3, n_records=50, loss=HuberSVM(h=h)),
    ):
        assert function(0.1) / function(0.7) == pytest.approx(7, rel=CLOSE)


def test_objective_rate_grows_to_half_epsilon() -> None:
    rates = [
        objective_noise_rate(epsilon=0.5, n_records=1000, regularization=c, loss=Logistic())
        for c in (3e-4, 1e-3, 1e-1, 1e6)
    ]
    assert rates == sorted(rates)
    assert rates[-1] == pytest.approx(0.25, rel=1e-8)


# --- infeasible designs ---------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("epsilon", [0.01, 0.5, math.log(2), 3.0])
@pytest.mark.parametrize("n", [1, 100, 1000, 123_457])
def test_suggested_smallest_c_works_and_less_does_not(loss: Loss, epsilon: float, n: int) -> None:
    smallest = smallest_regularization(epsilon=epsilon, n_records=n, loss=loss)
    for c in (smallest / 100, smallest * (1 - 1e-9), smallest):
        with pytest.raises(InfeasibleDesignError) as caught:
            objective_noise_rate(epsilon=epsilon, n_records=n, regularization=c, loss=loss)
        assert f"regularization={c!r}" in str(caught.value)
        assert caught.value.suggestion in str(caught.value)
        match = re.fullmatch(r"The smallest c that works is (\S+?)\.", caught.value.suggestion)
        assert match
        works = float(match[1])
        assert smallest < works < smallest * 1.011
        assert (
            objective_noise_rate(epsilon=epsilon, n_records=n, regularization=works, loss=loss) > 0
        )
    assert (
        objective_noise_rate(
            epsilon=epsilon, n_records=n, regularization=smallest * (1 + 1e-9), loss=loss
        )
        > 0
    )


GOOD = {"epsilon": 0.5, "n_records": 100, "regularization": 0.1, "rho": 0.1, "sensitivity": 0.1}


@pytest.mark.parametrize("name", ["epsilon", "rho", "regularization", "sensitivity", "n_records"])
@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, 1.5, True])
def test_bad_arguments_are_named(name: str, bad: float) -> None:
    # 1.5 is fine for amounts and True counts as the number 1 there; a count must be a whole number.
    if name != "n_records" and bad in (1.5, True):
        return
    takes = {
        objective_noise_rate: ("epsilon", "n_records", "regularization"),
        smallest_regularization: ("epsilon", "n_records"),
        output_noise_rate: ("epsilon", "n_records", "regularization"),
        hessian_sensitivity: ("n_records",),
        covariance_sensitivity: ("n_records",),
        gaussian_sd: ("sensitivity", "rho"),
        laplace_rate: ("sensitivity", "epsilon"),
    }
    needs_loss = {
        objective_noise_rate,
        smallest_regularization,
        hessian_sensitivity,
        covariance_sensitivity,
    }
    for function, names in takes.items():
        if name in names:
            arguments = {k: GOOD[k] for k in names} | {name: bad}
            if function in needs_loss:
                arguments["loss"] = Logistic()
            if function is covariance_sensitivity:
                arguments["radius"] = 1.0
            with pytest.raises(ValueError, match=f"{name}="):
                function(**arguments)


# --- attacks on the matrix sensitivities ----------------------------------------------------------


def unit_ball(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """Rows of norm at most 1, half of them corners on the sphere or axes."""
    a = rng.normal(size=(n, p))
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    kind = rng.integers(0, 4, n)
    a[kind == 0] *= rng.random(((kind == 0).sum(), 1))
    a[kind == 1] = np.eye(p)[rng.integers(0, p, (kind == 1).sum())] * rng.choice(
        [-1.0, 1.0], ((kind == 1).sum(), 1)
    )
    return a


def change(
    A: np.ndarray, record: np.ndarray, theta: np.ndarray, loss: Loss, c: float
) -> tuple[float, float]:
    """Frobenius change of H and S when the first record becomes `record`."""
    B = A.copy()
    B[0] = record
    H, S = PenalisedRisk(A, loss=loss, regularization=c).moments(theta)
    other_H, other_S = PenalisedRisk(B, loss=loss, regularization=c).moments(theta)
    return float(np.linalg.norm(H - other_H)), float(np.linalg.norm(S - other_S))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_random_and_corner_neighbours_stay_inside(loss: Loss) -> None:
    rng = np.random.default_rng(2)
    n, c = 6, 0.01
    for _ in range(400):
        p = int(rng.integers(1, 5))
        A, record = unit_ball(rng, n, p), unit_ball(rng, 1, p)[0]
        theta = rng.normal(size=p) * 10 ** rng.uniform(-2, 2)
        dH, dS = change(A, record, theta, loss, c)
        assert dH <= hessian_sensitivity(loss=loss, n_records=n)
        assert dS <= covariance_sensitivity(
            loss=loss, n_records=n, radius=float(np.linalg.norm(theta))
        )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("which", [0, 1])
def test_optimised_neighbours_stay_inside(loss: Loss, which: int) -> None:
    rng = np.random.default_rng(3)
    n, p, radius = 4, 3, 2.0
    bound = (
        hessian_sensitivity(loss=loss, n_records=n),
        covariance_sensitivity(loss=loss, n_records=n, radius=radius),
    )

    def ball(v: np.ndarray) -> np.ndarray:
        return v / max(1.0, float(np.linalg.norm(v)))

    def minus(v: np.ndarray) -> float:
        A = np.zeros((n, p))
        A[0] = ball(v[:p])
        return (
            -change(A, ball(v[p : 2 * p]), radius * ball(v[2 * p :]), loss, 0.1)[which]
            / bound[which]
        )

    # Most starts leave one of the records on the flat part of Huber's loss: search from the best of
    # many.
    starts = sorted((rng.normal(size=3 * p) for _ in range(600)), key=minus)[:8]
    worst = max(-minimize(minus, start, method="Nelder-Mead").fun for start in starts)
    # The published bound adds two norms; the difference of two rank-one matrices is sqrt 2 smaller
    # at its worst.
    assert 0.6 < worst <= 1 / math.sqrt(2) + 1e-9


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_orthogonal_pair_reaches_the_hessian_bound_over_root_two(loss: Loss) -> None:
    n = 5
    # Margins at the largest curvature: 0 for the logistic loss, inside the middle branch for Huber.
    theta = np.zeros(2) if isinstance(loss, Logistic) else np.ones(2)
    A = np.zeros((n, 2))
    A[0] = [1.0, 0.0]
    dH, _ = change(A, np.array([0.0, 1.0]), theta, loss, 0.01)
    assert dH == pytest.approx(hessian_sensitivity(loss=loss, n_records=n) / math.sqrt(2), rel=0.01)


def test_orthogonal_pair_reaches_the_covariance_bound_over_root_two() -> None:
    n = 5
    # Both records at margin -|theta|/sqrt 2: for long theta every f'^2 is 1.
    for loss in LOSSES:
        theta = np.array([-20.0, -20.0])
        A = np.zeros((n, 2))
        A[0] = [1.0, 0.0]
        _, dS = change(A, np.array([0.0, 1.0]), theta, loss, 0.01)
        radius = float(np.linalg.norm(theta))
        bound = covariance_sensitivity(loss=loss, n_records=n, radius=radius)
        assert dS == pytest.approx(bound / math.sqrt(2), rel=0.01)


def test_penalty_terms_carry_no_sensitivity() -> None:
    rng = np.random.default_rng(4)
    A, theta = unit_ball(rng, 6, 3), rng.normal(size=3)
    record = unit_ball(rng, 1, 3)[0]
    # c enters both tables alike once theta is public, so the change does not depend on it.
    assert change(A, record, theta, Logistic(), 5.0) == pytest.approx(
        change(A, record, theta, Logistic(), 1e-6), abs=1e-14
    )


# --- attacks on the minimiser and the perturbed objective -----------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_minimiser_moves_at_most_one_over_nc(loss: Loss) -> None:
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(60):
        p, n, c = int(rng.integers(1, 4)), int(rng.integers(1, 8)), float(10 ** rng.uniform(-2, 1))
        A = unit_ball(rng, n, p)
        B = A.copy()
        B[0] = -A[0] if rng.random() < 0.5 else unit_ball(rng, 1, p)[0]
        moved = (
            Newton().minimise(PenalisedRisk(A, loss=loss, regularization=c)).theta
            - Newton().minimise(PenalisedRisk(B, loss=loss, regularization=c)).theta
        )
        worst = max(worst, float(np.linalg.norm(moved)) * n * c)
    assert 0.2 < worst <= 1 + 1e-6


def test_huber_pair_in_the_linear_branch_attains_one_over_nc() -> None:
    # Where f' = -1 for both records of the pair, 2c theta = mean of the rows: opposite rows move it
    # by 1/(nc).
    n, c = 10, 1.0
    A = np.zeros((n, 2))
    A[0] = [1.0, 0.0]
    B = -A
    loss = HuberSVM(h=0.5)
    moved = (
        Newton().minimise(PenalisedRisk(A, loss=loss, regularization=c)).theta
        - Newton().minimise(PenalisedRisk(B, loss=loss, regularization=c)).theta
    )
    norm = float(np.linalg.norm(moved))
    assert norm == pytest.approx(1 / (n * c), rel=0.01)
    # The rate and the sd are calibrated to exactly this distance.
    assert output_noise_rate(epsilon=0.7, n_records=n, regularization=c) * norm == pytest.approx(
        0.7, rel=0.01
    )
    sd = output_noise_sd(rho=0.3, n_records=n, regularization=c)
    assert norm**2 / (2 * sd**2) == pytest.approx(0.3, rel=0.01)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_noise_vector_that_keeps_a_minimiser_shifts_by_at_most_two(loss: Loss) -> None:
    """Theorem 1: for the same theta, b changes by |n grad difference| <= 2, so rate eps'/2 pays
    eps'.
    """
    rng = np.random.default_rng(6)
    worst = 0.0
    for _ in range(300):
        p, n = int(rng.integers(1, 4)), 5
        A, theta = unit_ball(rng, n, p), rng.normal(size=p) * 10 ** rng.uniform(-1, 2)
        B = A.copy()
        B[0] = -A[0] if rng.random() < 0.3 else unit_ball(rng, 1, p)[0]
        if rng.random() < 0.3:  # the worst pair, as far as it can be seen from one theta
            A[0] = -theta / np.linalg.norm(theta)
            B[0] = np.roll(A[0], 1)
        one = PenalisedRisk(A, loss=loss, regularization=0.1).derivatives(theta)[0]
        two = PenalisedRisk(B, loss=loss, regularization=0.1).derivatives(theta)[0]
        worst = max(worst, n * float(np.linalg.norm(one - two)))
    assert 1.0 < worst <= 2 + 1e-12


def test_opposite_records_on_one_margin_attain_the_shift_of_two() -> None:
    # theta orthogonal to both: f'(0) = -1 for a Huber loss with h < 1.
    A, theta = np.array([[1.0, 0.0], [0.0, 0.3]]), np.zeros(2)
    B = A * np.array([[-1.0], [1.0]])
    loss = HuberSVM(h=0.5)
    one = PenalisedRisk(A, loss=loss, regularization=0.1).derivatives(theta)[0]
    two = PenalisedRisk(B, loss=loss, regularization=0.1).derivatives(theta)[0]
    assert 2 * np.linalg.norm(one - two) == pytest.approx(2, rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_determinant_ratio_is_what_the_slack_pays_for(loss: Loss) -> None:
    """The Jacobian of theta -> b changes by at most the factor 1 + t/(2nc), and nearly attains
    it.
    """
    n, c = 4, 0.05
    theta = np.zeros(2) if isinstance(loss, Logistic) else np.array([1.0, 0.0])
    A = np.zeros((n, 2))
    B = A.copy()
    B[0] = [1.0, 0.0]
    one = PenalisedRisk(A, loss=loss, regularization=c).derivatives(theta)[1]
    two = PenalisedRisk(B, loss=loss, regularization=c).derivatives(theta)[1]
    ratio = float(np.linalg.det(two) / np.linalg.det(one))
    epsilon = 5.0
    rate = objective_noise_rate(epsilon=epsilon, n_records=n, regularization=c, loss=loss)
    assert math.log(ratio) + 2 * rate == pytest.approx(epsilon, rel=1e-9)


# --- persons with several rows --------------------------------------------------------------------


def persons_rows(rng: np.random.Generator, n: int, k: int, p: int) -> np.ndarray:
    """Rows (n, k, p) of norm 1; those of a person the same, alike, or anything."""
    apart = rng.choice([0.0, 0.3, 3.0], (n, 1, 1))
    rows = rng.standard_normal((n, 1, p)) + apart * rng.standard_normal((n, k, p))
    return np.asarray(rows / np.linalg.norm(rows, axis=2)[:, :, None])


def table_of_persons(rows: np.ndarray, counts: np.ndarray) -> PersonRows:
    n, k, p = rows.shape
    numbers = np.where(np.arange(k) < counts[:, None], np.arange(n)[:, None], -1)
    return PersonRows.of(rows.reshape(-1, p), numbers.ravel(), most=k)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_person_moves_nothing_farther_than_the_bounds(loss: Loss) -> None:
    """All rows of one of n persons are replaced, their number too;
    docs/proofs/release.md#persons."""
    rng, p, k, n, c = np.random.default_rng(11), 3, 4, 3, 0.5
    nearest = np.zeros(3)
    for trial in range(60):
        theta = rng.standard_normal(p) * rng.choice([0.3, 3.0])
        rows = persons_rows(rng, n + 1, k, p)
        if trial % 3 == 0:  # orthogonal, at the largest curvature
            rows[n - 1 :] = np.linalg.svd(theta[None])[2][1:, None]
        if trial % 3 == 1:  # against each other
            rows[n - 1 :] = np.array([1.0, -1.0])[:, None, None] * theta / np.linalg.norm(theta)
        counts = rng.integers(1, k + 1, n + 1)
        tables = [
            table_of_persons(rows[at], counts[at])
            for at in ([*range(n - 1), n - 1], [*range(n - 1), n])
        ]
        H, S = zip(
            *(PenalisedRisk(A, loss=loss, regularization=c).moments(theta) for A in tables),
            strict=True,
        )
        fits = [
            Newton().minimise(PenalisedRisk(A, loss=loss, regularization=c)).theta for A in tables
        ]
        radius = float(np.linalg.norm(theta))
        bounds = (
            hessian_sensitivity(loss=loss, n_records=n, tight=True),
            covariance_sensitivity(
                loss=loss, n_records=n, radius=radius, tight=True, exact_slope=True
            ),
            output_sensitivity(n_records=n, regularization=c, solver_error=1e-10 / c).upper,
        )
        moved = [np.linalg.norm(a - b) for a, b in (H, S, fits)]
        nearest = np.maximum(nearest, np.divide(moved, bounds))
    assert (nearest <= 1.0).all()
    assert (nearest > [0.5, 0.7, 0.4]).all(), nearest


def test_the_line_of_rank_k_is_attained_and_beyond_that_of_one_row() -> None:
    """Orthogonal rows of one person, each with the largest curvature, against rows without any."""
    loss, k, c, epsilon = Logistic(), 3, 0.05, 1.5
    one = table_of_persons(np.eye(k)[None], np.array([k]))
    curved = PenalisedRisk(one, loss=loss, regularization=c).derivatives(np.zeros(k))[1]
    grown = float(np.linalg.slogdet(curved)[1]) - k * math.log(2.0 * c)
    rates = [
        objective_noise_rate(
            epsilon=4.0 * epsilon, n_records=1, regularization=c, loss=loss, rows_per_person=rows
        )
        for rows in (k, 1)
    ]
    spent = [4.0 * epsilon - 2.0 * rate for rate in rates]
    assert spent[0] == pytest.approx(grown, rel=1e-9)
    assert spent[1] < 0.9 * grown
    least = smallest_regularization(epsilon=epsilon, n_records=20, loss=loss, rows_per_person=k)
    assert k * math.log1p(0.25 / (2 * 20 * least * k)) == pytest.approx(epsilon, rel=1e-9)
    with pytest.raises(InfeasibleDesignError):
        objective_noise_rate(
            epsilon=epsilon, n_records=20, regularization=least, loss=loss, rows_per_person=k
        )
