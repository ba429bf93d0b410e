"""The private computation of a release: shares, scales, hidden solver error, exact agreement with
the simulations.
"""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats

from dpci_core import (
    ZCDP,
    ConvergenceError,
    Design,
    Geometry,
    HuberSVM,
    InfeasibleDesignError,
    Logistic,
    PureDP,
    forecast,
)
from dpci_core import fit_moments as fit
from dpci_core import private_intervals as simulate
from dpci_core.base.batches import as_table
from dpci_core.base.limits import NORM_MARGIN
from dpci_core.base.validation import UnfitRecordsError
from dpci_core.intervals import certified
from dpci_core.intervals.certified import GRID, check_feasible, draw_coefficients
from dpci_core.intervals.draw import Drawn, draw_release
from dpci_core.intervals.inflation import error_variance
from dpci_core.intervals.private_fit import private_fit
from dpci_core.mechanisms.matrices import (
    covariance_noise,
    hessian_noise,
    release_moments,
    rounding_allowance,
)
from dpci_core.mechanisms.mechanism import PerturbedModel, model_noise, train_private
from dpci_core.mechanisms.metric import release_metric
from dpci_core.mechanisms.shares import INEXACT_SHARE, TAU, share_out
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.randomness import SystemSource, grid_under
from dpci_core.solvers.guaranteed import Guaranteed, descent_passes, gradient_rounding
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk, rounding_of_sums

PURE = PureDP(model="0.5", hessian="0.25", covariance="0.25")
RHO = ZCDP(model="0.125", hessian="0.03", covariance="0.03")
CALIBRATIONS = ("published", "sharp")
RELEASED = 1e-9
"""Probability of a false alarm of one test with fresh entropy."""


def make(
    budget=RHO, mechanism="objective", calibration="sharp", c=0.001, loss=None, **fields
) -> Design:
    return Design(
        loss=loss or Logistic(),
        mechanism=mechanism,
        budget=budget,
        regularization=c,
        calibration=calibration,
        **{"n_records": 1_000} | fields,
    )


def table(n: int = 20_000, p: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = np.c_[
        rng.uniform(-1, 1, (n, p - 1)) / math.sqrt(2 * (p - 1)), np.full(n, math.sqrt(0.5))
    ] * (1 - 1e-12)
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-6 * X[:, 0])), 1.0, -1.0)


# --- shares ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["0.125", "1e-9", "0.1234567890123456789012345678901234567", "3"])
@pytest.mark.parametrize("kind", [PureDP, ZCDP])
def test_lines_add_up_to_the_price_exactly(kind, model) -> None:
    design = make(kind(model=model, hessian="0.1", covariance="0.2"), c=10.0)
    shares = share_out(design)
    assert sum(Fraction(amount) for _, amount in shares.lines) == Fraction(design.budget.total)
    share = Fraction(model) / 1000
    assert share <= Fraction(shares.minimiser) <= share * (1 + Fraction(1, 10**20))
    assert shares.design_after_solver_share.budget.model == shares.lines[0][1]


def test_output_perturbation_pays_in_its_sensitivity() -> None:
    design = make(mechanism="output")
    shares = share_out(design)
    assert [name for name, _ in shares.lines] == ["model", "hessian", "covariance"]
    n, c = 1000, design.regularization
    inflated = 1.0 + n * c * TAU / c
    plain, ours = (
        model_noise(dataclasses.replace(design, n_records=n), solver_error=e)
        for e in (0.0, TAU / c)
    )
    assert ours.sd == pytest.approx(plain.sd * inflated, rel=1e-12)
    assert ours.sd > plain.sd
    pure = make(PURE, "output")
    rates = [
        model_noise(dataclasses.replace(pure, n_records=n), solver_error=e).rate
        for e in (0.0, TAU / c)
    ]
    assert rates[1] == pytest.approx(rates[0] / inflated, rel=1e-12)
    assert rates[1] < rates[0]


def test_what_hides_the_solver_has_the_claimed_scale() -> None:
    # Typed from the claim: sensitivity tau/c = 1e-10/0.001, 0.1 % of the model's 0.5 and 0.125.
    assert share_out(make(PURE)).minimiser_noise().rate == pytest.approx(
        0.0005 * 0.001 / 1e-10, rel=1e-12
    )
    assert share_out(make(RHO)).minimiser_noise().sd == pytest.approx(
        1e-7 / math.sqrt(2 * 0.000125), rel=1e-12
    )
    assert share_out(make(PURE)).minimiser_noise().rate < 0.0005 * 0.001 / 1e-10
    assert Decimal("0.001") == INEXACT_SHARE
    assert TAU == 1e-10


@pytest.mark.parametrize("budget", [PURE, RHO], ids=["pure", "zcdp"])
def test_the_share_changes_length_by_less_than_a_thousandth(budget) -> None:
    X, y = table()
    for calibration in CALIBRATIONS:
        design = make(budget, calibration=calibration, n_records=len(X))
        shares = share_out(design)
        moments = fit(X, y, loss=design.loss, regularization=design.regularization)
        planned, running = (
            forecast(moments, design=d).ci_length
            for d in (design, shares.design_after_solver_share)
        )
        added = shares.minimiser_noise().variance(X.shape[1]) / (running / (2 * 1.96)) ** 2
        assert (running / planned * np.sqrt(1 + added) - 1 < 0.001).all()
        assert (running > planned).all()


# --- the solver -----------------------------------------------------------------------------------


def hostile_tables() -> list[np.ndarray]:
    rng = np.random.default_rng(11)
    unit = np.eye(3)
    tables = [
        unit[:1],
        -unit[:1],
        np.zeros((1, 3)),
        np.repeat(unit[:1], 5000, axis=0),
        np.vstack([unit, -unit]),
    ]
    tables += [np.vstack([np.repeat(unit[:1], 999, axis=0), -unit[:1]])]
    for n in (2, 7, 300):
        a = rng.normal(size=(n, 3))
        tables.append(a / np.linalg.norm(a, axis=1, keepdims=True) * rng.random((n, 1)) ** 4)
    return [np.ascontiguousarray(t * (1 - 1e-12)) for t in tables]


@pytest.mark.parametrize(
    "loss", [Logistic(), HuberSVM(h=1.0), HuberSVM(h=0.05), HuberSVM(h=20.0)], ids=str
)
@pytest.mark.parametrize("c", [1e-4, 1e-2, 3.0])
def test_hostile_tables_do_not_stop_the_solver(loss, c) -> None:
    rng = np.random.default_rng(5)
    condition = (loss.max_curvature + 2 * c) / (2 * c)
    for A in hostile_tables():
        for size in (0.0, 1e-9, 1.0, 30.0 * len(A)):
            noise_vector = size * rng.normal(size=3)
            norm = float(np.linalg.norm(noise_vector))
            error = gradient_rounding(n_records=len(A), dim=3, condition=condition, noise_norm=norm)
            if error > TAU / 2:
                continue
            found = Guaranteed(TAU / 2).continued(
                PenalisedRisk(A, loss=loss, regularization=c, noise_vector=noise_vector), None
            )
            gradient, _ = PenalisedRisk(
                A, loss=loss, regularization=c, noise_vector=noise_vector
            ).derivatives(found.theta)
            assert np.linalg.norm(gradient) <= TAU / 2 + error


def test_descent_takes_over_and_keeps_its_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    A, noise_vector = hostile_tables()[-1], np.array([3.0, -2.0, 1.0])
    exact = (
        Newton()
        .minimise(PenalisedRisk(A, loss=Logistic(), regularization=0.05, noise_vector=noise_vector))
        .theta
    )
    passes = []

    def stuck(*_, **__):
        raise ConvergenceError("stuck")

    monkeypatch.setattr(Newton, "minimise", stuck)
    for loss in (Logistic(), HuberSVM(h=0.5)):
        found = Guaranteed(1e-10).continued(
            PenalisedRisk(A, loss=loss, regularization=0.05, noise_vector=noise_vector), None
        )
        passes.append(found.n_iterations)
        condition = (loss.max_curvature + 0.1) / 0.1
        first = 1.0 + float(np.linalg.norm(noise_vector)) / len(A)
        assert (
            10
            < found.n_iterations
            <= descent_passes(condition=condition, first_norm=first, tolerance=1e-10)
        )
        if loss == Logistic():
            np.testing.assert_allclose(found.theta, exact, atol=1e-8)
    assert passes[0] != passes[1]


def test_a_start_within_the_tolerance_is_checked_and_kept_and_another_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    A, noise_vector = hostile_tables()[-1], np.array([3.0, -2.0, 1.0])
    settings = {"loss": Logistic(), "regularization": 0.05, "noise_vector": noise_vector}
    exact = Newton(1e-13).minimise(PenalisedRisk(A, **settings)).theta
    near = Guaranteed(1e-10).continued(PenalisedRisk(A, **settings), exact + 1e-7)
    np.testing.assert_allclose(near.theta, exact, atol=1e-9)
    for wild in (np.array([np.nan, 0.0, 0.0]), np.full(3, np.inf), np.full(3, 1e100)):
        np.testing.assert_allclose(
            Guaranteed(1e-10).continued(PenalisedRisk(A, **settings), wild).theta, exact, atol=1e-9
        )
    monkeypatch.setattr(Newton, "minimise", None)  # would be called for another start
    kept = Guaranteed(1e-10).continued(PenalisedRisk(A, **settings), exact)
    assert kept.theta is exact
    assert kept.gradient_norm <= 1e-13


def test_the_number_of_passes_by_hand() -> None:
    # kappa = e, first norm e tolerances: e (1 + 2) = 8.15.
    assert descent_passes(condition=math.e, first_norm=math.e, tolerance=1.0) == 9
    assert descent_passes(condition=1.0, first_norm=1.0, tolerance=2.0) == 1


def test_rounding_bounds_hold_against_exact_sums() -> None:
    X, y = table(20_001, 3)
    A, theta = y[:, None] * X, np.array([3.0, -1.0, 2.0])
    slopes = Logistic().slope(A @ theta)
    ours, _ = PenalisedRisk(A, loss=Logistic(), regularization=0.001).derivatives(theta)
    exact = np.array([math.fsum(slopes * A[:, j]) / len(A) + 0.002 * theta[j] for j in range(3)])
    error = np.linalg.norm(ours - exact)
    assert 0.0 < error <= rounding_of_sums(len(A))
    assert rounding_of_sums(1_000_000) == pytest.approx((8192 + 1e6 / 8192 + 16) * 2.0**-52, abs=0)
    assert rounding_of_sums(10) == pytest.approx(26 * 2.0**-52, rel=1e-3, abs=0)


def test_what_cannot_be_certified_is_refused_from_public_numbers() -> None:
    check_feasible(make(c=0.001), dim=11)
    with pytest.raises(InfeasibleDesignError, match="certified"):
        check_feasible(
            dataclasses.replace(make(c=1e-9, mechanism="output"), n_records=10**6), dim=11
        )
    with pytest.raises(InfeasibleDesignError, match="smallest c that works"):
        check_feasible(dataclasses.replace(make(PURE, c=1e-7), n_records=100), dim=11)
    # The noise vector counts: with little budget it is as long as all records together.
    tiny = PureDP(model="0.00001", hessian="1", covariance="1")
    with pytest.raises(InfeasibleDesignError, match="certified"):
        check_feasible(make(tiny, c=60.0), dim=400)


@pytest.mark.parametrize(("ridge", "most"), [(None, 4_000), (1e-4, 263), (0.03, 1_087)])
def test_a_row_that_rounding_could_lift_above_its_norm_is_refused(
    ridge: float | None, most: int
) -> None:
    if ridge is None:
        design = make(c=0.1, n_records=10**5)
        assert (most + 1.0) * 2.0**-53 < 1.0 - NORM_MARGIN
    else:
        budget = ZCDP(model="0.1", hessian="0.03", covariance="0.03", metric="0.01")
        shaped = Geometry(ridge=ridge, leverage=3.0)
        design = make(budget, c=0.1, geometry=shaped, n_records=10**5)
        error = 2.0**-53 * 12.0 * math.sqrt(1.0 + 1.0 / ridge)
        assert (most - 1) ** 2 * error < 1e-8 < (1.05 * most) ** 2 * error
    check_feasible(design, dim=most - 1)
    with pytest.raises(InfeasibleDesignError, match=f"fewer than {most:,} coefficients"):
        check_feasible(design, dim=most)


# --- the draw -------------------------------------------------------------------------------------


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("budget", [PURE, RHO], ids=["pure", "zcdp"])
def test_a_release_has_the_length_of_a_simulation(budget, mechanism, calibration) -> None:
    X, y = table()
    design = make(budget, mechanism, calibration)
    units = np.diag([10.0, 1.0, -2.0, 1.0])
    drawn = draw_release(X, y, design=design, to_original=units)
    simulated = simulate(X, y, design=design, rng=np.random.default_rng(1))
    assert np.array_equal(drawn.theta_priv / GRID, np.round(drawn.theta_priv / GRID))
    length, in_units = np.split(drawn.high - drawn.low, 2)
    np.testing.assert_allclose(length, simulated.length, rtol=0.5)
    assert length.mean() == pytest.approx(simulated.length.mean(), rel=0.2)
    estimate, of_units = np.split(drawn.estimate, 2)
    np.testing.assert_allclose(of_units, units @ estimate, rtol=1e-12)
    np.testing.assert_allclose(in_units, np.abs(np.diag(units)) * length, rtol=1e-9)
    assert not np.array_equal(drawn.theta_priv, draw_release(X, y, design=design).theta_priv)


def residuals(budget, mechanism, *, draws: int = 400) -> np.ndarray:
    """What the draws of one table add to what they should be around, per coordinate, in units of
    the claimed sd.
    """
    X, y = table(500, 3)
    design = make(budget, mechanism, "published", c=1.0, n_records=len(X))
    shares, A = share_out(design), y[:, None] * X
    theta = np.array(
        [draw_coefficients(A, shares=shares, source=SystemSource())[0] for _ in range(draws)]
    )
    if mechanism == "output":
        found = (
            theta - Newton().minimise(PenalisedRisk(A, loss=design.loss, regularization=1.0)).theta
        )
        sensitivity = 1.0 / 500 + 1e-10
        sd = sensitivity / math.sqrt(0.25) if budget is RHO else sensitivity / 0.5 * math.sqrt(4.0)
    else:  # the noise vector that explains theta: -(n gradient)
        found = np.array(
            [
                -500 * PenalisedRisk(A, loss=design.loss, regularization=1.0).derivatives(t)[0]
                for t in theta
            ]
        )
        epsilon = 0.4995 if budget is PURE else math.sqrt(2 * 0.124875)
        sd = 2.0 / (epsilon - math.log1p(0.25 / 1000)) * math.sqrt(4.0)
    return (found / sd).ravel()


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("budget", [PURE, RHO], ids=["pure", "zcdp"])
def test_noise_on_the_coefficients_has_the_claimed_size(budget, mechanism) -> None:
    z = residuals(budget, mechanism)
    spread = float(np.mean(z**2))
    # The kurtosis of a coordinate is at most 6, so the standard error of the mean square is at most
    # sqrt(5 / len(z)).
    assert abs(spread - 1.0) < 6 * math.sqrt(5.0 / len(z))
    assert abs(spread * 2.0 - 1.0) > 6 * math.sqrt(
        5.0 / len(z)
    )  # a rate wrong by sqrt 2 would be seen


def test_the_solver_is_hidden_by_noise_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(500, 2)
    A = y[:, None] * X
    for budget, law in ((RHO, stats.norm), (PURE, None)):
        shares = share_out(
            make(
                budget, calibration="published", c=1e-3 if budget is RHO else 1e-2, n_records=len(X)
            )
        )
        still = Newton().minimise(
            PenalisedRisk(A, loss=Logistic(), regularization=shares.planned.regularization)
        )
        monkeypatch.setattr(
            certified, "train_private", lambda A, fit=still, **_: drawing_model(fit)
        )
        z = (
            np.array(
                [draw_coefficients(A, shares=shares, source=SystemSource())[0] for _ in range(1000)]
            )
            - still.theta
        )
        amount = 0.000125 if law else 0.0005
        unit = TAU / shares.planned.regularization
        if law:
            scaled = z.ravel() / (unit / math.sqrt(2 * amount))
            assert stats.kstest(scaled, law.cdf).pvalue > RELEASED
            assert stats.kstest(scaled * 1.6, law.cdf).pvalue < RELEASED
        else:
            norm = np.linalg.norm(z, axis=1) * amount / unit
            assert stats.kstest(norm, stats.gamma(2).cdf).pvalue > RELEASED
            assert stats.kstest(norm * 1.6, stats.gamma(2).cdf).pvalue < RELEASED


def drawing_model(found):
    return PerturbedModel(found.theta, NoiseLaw(rate=1.0), found)


def test_matrices_of_a_release_have_the_noise_of_the_simulation() -> None:
    X, y = table(300, 2)
    A, theta = y[:, None] * X, np.array([0.5, -0.25])
    for budget in (PURE, RHO):
        for calibration in CALIBRATIONS:
            design = make(budget, calibration=calibration, n_records=len(X))
            ours, theirs = (
                np.array(
                    [
                        [m.hessian.noisy, m.covariance.noisy]
                        for m in (
                            release_moments(A, theta, design=design, rng=rng) for _ in range(600)
                        )
                    ]
                )
                for rng in (SystemSource(), np.random.default_rng(2))
            )
            for k in (0, 1):
                for i, j in ((0, 0), (0, 1), (1, 1)):
                    assert stats.ks_2samp(ours[:, k, i, j], theirs[:, k, i, j]).pvalue > RELEASED
            spread = np.log(ours[:, :, 0, 0].std(axis=0) / theirs[:, :, 0, 0].std(axis=0))
            assert (
                np.abs(spread) < 0.33
            ).all()  # 6 standard errors; a scale wrong by sqrt 2 is 0.35 away


def test_rounding_of_sums_widens_the_sensitivity() -> None:
    design = make(c=0.01)
    allowance = rounding_allowance(design, np.array([3.0, 4.0]))
    by_hand = 2 * rounding_of_sums(1000) * (1.0 + 0.02 * math.sqrt(2) + 0.02**2 * 25)
    assert allowance == pytest.approx(by_hand, rel=1e-12, abs=0)


def test_gaussian_noise_of_a_release_is_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = SystemSource.add_gaussian

    def spy(self, values, *, sd, sensitivity, rho, exponent):
        calls.append((len(values), sensitivity, rho))
        return original(self, values, sd=sd, sensitivity=sensitivity, rho=rho, exponent=exponent)

    monkeypatch.setattr(SystemSource, "add_gaussian", spy)
    X, y = table(500, 3)
    draw_release(X, y, design=make(RHO, "output", c=0.01))
    assert [(k, rho) for k, _, rho in calls] == [(3, 0.125), (6, 0.03), (6, 0.03)]
    assert calls[0][1] == pytest.approx(1 / 5 + 1e-8, rel=1e-12)
    assert calls[1][1] == pytest.approx(math.sqrt(2) * 0.25 / 500, rel=1e-6)
    calls.clear()
    draw_release(X, y, design=make(RHO, "objective", "published", c=0.01))
    assert [k for k, _, _ in calls] == [3, 9, 9]
    assert calls[0][1:] == (pytest.approx(1e-8), pytest.approx(0.000125))


@pytest.mark.parametrize(
    "row", [[0.8, 0.8], [math.nan, 0.0], [math.inf, 0.0]], ids=["long", "nan", "infinite"]
)
def test_records_of_another_encoding_never_reach_the_fit(row) -> None:
    X = np.vstack([np.full((5, 2), 0.5), [row]])
    with pytest.raises(UnfitRecordsError) as caught:
        draw_release(X, np.ones(6), design=make())
    assert not any(digit in str(caught.value) for digit in "0123456789")
    with pytest.raises(UnfitRecordsError):
        draw_release(np.full((2, 2), 0.5), np.array([1.0, 0.5]), design=make())


def test_the_drawing_function_takes_no_other_source() -> None:
    X, y = table(50, 2)
    for other in (np.random.default_rng(1), 3):
        with pytest.raises(ValueError, match="system source"):
            draw_coefficients(y[:, None] * X, shares=share_out(make()), source=other)
    with pytest.raises(TypeError):
        draw_release(X, y, design=make(), rng=np.random.default_rng(1))


def test_nothing_of_the_fit_is_in_the_result() -> None:
    names = {field.name for field in dataclasses.fields(Drawn)}
    assert not names & {"gradient_norm", "n_iterations", "fit", "notes", "X", "y"}


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("budget", [PURE, RHO], ids=["pure", "zcdp"])
def test_the_law_of_the_noise_is_that_of_what_is_left(budget, mechanism) -> None:
    X, y = table(500, 3)
    design = make(budget, mechanism, "published", c=0.01, n_records=len(X))
    _, noise = draw_coefficients(y[:, None] * X, shares=share_out(design), source=SystemSource())
    if mechanism == "output":
        sensitivity = 1 / 5 + 1e-8
        claimed = 0.5 / sensitivity if budget is PURE else 1 / (sensitivity / math.sqrt(2 * 0.125))
        ours = noise.rate if budget is PURE else 1 / noise.sd
        assert noise.added_var == 0.0
    else:
        epsilon = 0.4995 if budget is PURE else math.sqrt(2 * 0.124875)
        claimed, ours = (epsilon - math.log1p(0.25 / 10)) / 2, noise.rate
        sd = 1e-8 / math.sqrt(2 * 0.000125) if budget is RHO else 1e-8 / 0.0005 * math.sqrt(4)
        assert noise.added_var == pytest.approx(sd**2, rel=1e-9, abs=0)
    assert claimed * (1 - 1e-12) <= ours <= claimed


def test_the_solver_of_a_release_is_asked_for_half_of_tau(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def spy(risk, solver):
        asked.append(solver)
        return minimise(risk, solver)

    monkeypatch.setattr(certified, "minimise", spy)
    X, y = table(100, 2)
    for mechanism in ("objective", "output"):
        draw_release(X, y, design=make(PURE, mechanism, c=0.1))
    assert asked == [Guaranteed(5e-11)] * 2


def test_matrices_are_protected_with_their_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    protected = []
    original = SystemSource.add_gaussian

    def spy(self, values, *, sd, sensitivity, rho, exponent):
        protected.append(sensitivity)
        return original(self, values, sd=sd, sensitivity=sensitivity, rho=rho, exponent=exponent)

    monkeypatch.setattr(SystemSource, "add_gaussian", spy)
    X, y = table(500, 3)
    theta = np.array([0.5, 0.0, 0.0])
    design = make(RHO, "output", c=0.01, n_records=len(X))
    release_moments(y[:, None] * X, theta, design=design, rng=SystemSource())
    allowance = rounding_allowance(design, theta)
    bare = [math.sqrt(2) * 0.25 / 500, math.sqrt(2) / (1 + math.exp(-0.5)) ** 2 / 500]
    np.testing.assert_allclose(np.subtract(protected, bare), allowance, rtol=1e-3)


def test_what_is_added_for_the_solver_counts_in_the_variance() -> None:
    L, S = np.array([[2.0, 0.0], [0.0, 1.0]]), np.eye(2)
    for noise in (NoiseLaw(rate=2.0, added_var=0.5), NoiseLaw(sd=2.0, added_var=0.5)):
        with_it, without = (
            error_variance(
                np.eye(2), S, mechanism="objective", noise=law, n_records=10, contrasts=L
            )
            for law in (noise, dataclasses.replace(noise, added_var=0.0))
        )
        np.testing.assert_allclose(with_it.total(2) - without.total(2), [2.0, 0.5])


def test_the_length_that_no_noise_vector_exceeds_has_the_stated_probability() -> None:
    log_tail = -200 * math.log(2.0)
    x = (
        certified._longest_noise_vector(NoiseLaw(rate=0.5), 3) - 2.0
    ) * 0.5  # P(Gamma(3) > x) = e^-x (1 + x + x^2/2)
    assert -x + math.log(1 + x + x * x / 2) == pytest.approx(log_tail, rel=1e-6)
    z = (
        certified._longest_noise_vector(NoiseLaw(sd=2.0), 2) - 2.0
    ) / 2.0  # P(|N(0, I_2)| > z) = exp(-z^2/2)
    assert -z * z / 2 == pytest.approx(log_tail, rel=1e-6)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("budget", [PURE, RHO], ids=["pure", "zcdp"])
def test_what_is_drawn_for_the_matrices_is_on_their_grids(budget, calibration) -> None:
    X, y = table(500, 3)
    theta = np.array([0.5, 0.0, 0.25])
    design = make(budget, "output", calibration, c=0.01, n_records=len(X))
    found = release_moments(y[:, None] * X, theta, design=design, rng=SystemSource())
    laws = (
        hessian_noise(design),
        covariance_noise(design, float(np.linalg.norm(theta))),
    )
    for law, matrix in zip(laws, (found.hessian.noisy, found.covariance.noisy), strict=True):
        grid = 2.0 ** grid_under(law.scale)
        assert law.scale / 2**21 < grid <= law.scale / 2**20
        assert np.array_equal(np.diagonal(matrix) / grid, np.round(np.diagonal(matrix) / grid))
        above = (
            matrix[np.triu_indices(3, 1)]
            * (math.sqrt(2.0) if calibration == "sharp" else 2.0)
            / grid
        )
        np.testing.assert_allclose(above, np.round(above), rtol=1e-12, atol=1e-9)
        assert not np.array_equal(above, np.zeros(3))


def test_the_rounding_of_a_gradient_by_hand() -> None:
    found = gradient_rounding(n_records=1000, dim=3, condition=51.0, noise_norm=500.0)
    by_hand = (2.0 + 0.5) * (2 * rounding_of_sums(1000) + 51.0 * 5.0 * 2.0**-53 + 2.0**-51)
    assert found == pytest.approx(by_hand, rel=1e-12, abs=0)


@pytest.mark.parametrize("error", [0.4 * TAU, 0.6 * TAU])
def test_the_certificate_is_asked_for_half_of_tau(
    error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certified, "gradient_rounding", lambda **_: error)
    if error < TAU / 2:
        check_feasible(make(c=0.1), dim=2)
    else:
        with pytest.raises(InfeasibleDesignError, match="certified"):
            check_feasible(make(c=0.1), dim=2)


def test_a_noise_vector_beyond_the_checked_length_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = table(100, 2)
    monkeypatch.setattr(
        SystemSource, "spherical_laplace", lambda self, dim, *, rate: np.full(dim, 1e9)
    )
    with pytest.raises(InfeasibleDesignError, match="certified"):
        draw_coefficients(
            y[:, None] * X,
            shares=share_out(make(PURE, c=0.1, n_records=len(X))),
            source=SystemSource(),
        )


def test_without_noise_the_matrices_are_the_true_ones() -> None:
    X, y = table(500, 3)
    theta, loose = (
        np.array([0.5, 0.0, 0.25]),
        PureDP(model="1e20", hessian="1e20", covariance="1e20"),
    )
    for calibration in CALIBRATIONS:
        design = make(loose, "output", calibration, c=0.01, n_records=len(X))
        found = release_moments(y[:, None] * X, theta, design=design, rng=SystemSource())
        H, S = PenalisedRisk(
            y[:, None] * X, loss=design.loss, regularization=design.regularization
        ).moments(theta)
        np.testing.assert_allclose(found.hessian.noisy, H, atol=1e-15)
        np.testing.assert_allclose(found.covariance.noisy, S, atol=1e-15)


# --- n --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_whatever_n_a_design_says_it_runs_with_that_of_its_rows(mechanism: str) -> None:
    """Twice the n would be half the noise."""
    X, y = table()
    planned, right = (make(mechanism=mechanism, c=0.01, n_records=n) for n in (3_000, len(X)))
    one, other = (
        simulate(X, y, design=design, rng=np.random.default_rng(1)) for design in (planned, right)
    )
    assert one.design == other.design == right
    np.testing.assert_array_equal(one.low, other.low)
    drawn = draw_release(X, y, design=planned)
    assert (drawn.n_records, drawn.shares) == (len(X), share_out(right))


@pytest.mark.parametrize("source", [SystemSource(), np.random.default_rng(2)])
def test_noise_for_another_number_of_rows_is_never_drawn(source: object) -> None:
    X, y = table()
    A = as_table(y[:, None] * X)
    shaped = make(
        ZCDP(model="0.1", hessian="0.03", covariance="0.03", metric="0.01"),
        geometry=Geometry(ridge=0.03, leverage=3.0),
    )
    for n in (len(X) - 1, len(X) + 1):
        plain, whitened = (
            dataclasses.replace(design, n_records=n) for design in (make(c=0.01), shaped)
        )
        theta = np.zeros(X.shape[1])
        for release, given in (
            (private_fit, {"design": plain, "source": source}),
            (train_private, {"design": plain, "rng": source}),
            (partial(release_moments, theta_priv=theta), {"design": plain, "rng": source}),
            (release_metric, {"design": whitened, "rng": source}),
        ):
            with pytest.raises(ValueError, match=f"design.n_records={n} rows, got {len(X)}"):
                release(A, **given)
