"""The joint law of a release against closed forms, brute force and repetitions with real fits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit

from dpci_core import ZCDP, Design, Logistic, PureDP, fit_moments, private_intervals
from dpci_core.base.rows import signed
from dpci_core.intervals import joint
from dpci_core.intervals.certified import draw_coefficients, noise_of_release
from dpci_core.intervals.joint import JointLaw
from dpci_core.mechanisms.mechanism import model_noise
from dpci_core.mechanisms.shares import share_out
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.randomness import SystemSource

RHO = ZCDP(model="0.5", hessian="0.25", covariance="0.25")
PURE = PureDP(model="0.5", hessian="0.25", covariance="0.25")


def make(budget=RHO, mechanism="output", calibration="published", **fields) -> Design:
    settings = {"loss": Logistic(), "regularization": 0.01, "n_records": 1_000} | fields
    return Design(mechanism=mechanism, budget=budget, calibration=calibration, **settings)


def law(H, S, noise: NoiseLaw, *, n: int = 1000, theta=None, design: Design | None = None):
    p = len(H)
    return JointLaw.of(
        np.array(H),
        np.array(S),
        design=replace(design or make(), n_records=n),
        noise=noise,
        theta_priv=np.ones(p) if theta is None else theta,
    )


# --- typed values ---------------------------------------------------------------------------------


def test_independent_gaussian_errors_have_the_textbook_numbers() -> None:
    H, S = np.diag([0.1, 0.2]), np.diag([0.1, 0.2])
    errors = law(H, S, NoiseLaw(sd=0.1)).errors(np.eye(2))
    variances = [0.1 / (0.01 * 1000) + 0.01, 0.2 / (0.04 * 1000) + 0.01]
    assert errors.half_width(0.95) == pytest.approx(1.959964 * np.sqrt(variances), rel=1e-6)
    assert errors.together() == pytest.approx(0.9025, abs=2e-4)
    assert errors.multiplier() == pytest.approx(2.236477 / 1.959964, rel=2e-4)
    assert errors.radius() == pytest.approx(2.447747, rel=1e-6)
    assert errors.radius(0.5) == pytest.approx(1.177410, rel=1e-6)
    assert errors.variance == pytest.approx(np.diag(variances), rel=1e-12)
    assert errors.beyond(5.991465) == pytest.approx(0.05, rel=1e-6)
    assert errors.distance(np.sqrt(variances)) == pytest.approx(2.0, rel=1e-9)
    assert errors.half_width(0.99) == pytest.approx(2.575829 * np.sqrt(variances), rel=1e-6)
    assert errors.p_value(3.0 * np.sqrt(variances)) == pytest.approx([0.0026998] * 2, rel=1e-4)
    assert errors.privacy_share == pytest.approx(0.01 / np.array(variances), rel=1e-12)


def test_spherical_laplace_noise_alone_has_a_gamma_radius() -> None:
    H, S = np.eye(2), 1e-12 * np.eye(2)
    errors = law(H, S, NoiseLaw(rate=2.0), design=make(PURE)).errors(np.eye(2))
    # |b| is Gamma(2, 1/2): its quantile at .95 is 4.743865/2, and a coordinate has variance 3/4.
    assert errors.radius() * math.sqrt(0.75) == pytest.approx(4.743865 / 2.0, rel=2e-4)
    assert errors.beyond(1.0 / 0.75) == pytest.approx(3.0 * math.exp(-2.0), rel=1e-3)


def brute(errors_of: np.ndarray, half_width: np.ndarray) -> tuple[float, float]:
    """Share of draws in all intervals, and its standard error."""
    held = np.all(np.abs(errors_of) <= half_width, axis=1)
    share = float(held.mean())
    return share, math.sqrt(share * (1.0 - share) / len(held))


@pytest.mark.parametrize("mechanism", ["output", "objective"])
@pytest.mark.parametrize("kind", ["pure", "zcdp"])
def test_the_joint_law_is_that_of_its_description(mechanism: str, kind: str) -> None:
    rng, n, p = np.random.default_rng(5), 500, 3
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    H = turn @ np.diag([0.05, 0.1, 0.3]) @ turn.T
    S = turn @ np.diag([0.03, 0.1, 0.2]) @ turn.T
    noise = {
        ("pure", "output"): NoiseLaw(rate=4.0),
        ("zcdp", "output"): NoiseLaw(sd=0.3),
        ("pure", "objective"): NoiseLaw(rate=0.08, added_var=0.02),
        ("zcdp", "objective"): NoiseLaw(sd=15.0, added_var=0.02),
    }[kind, mechanism]
    design = make(PURE if kind == "pure" else RHO, mechanism)
    L = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, -2.0, 0.5]])
    errors = law(H, S, noise, n=n, design=design).errors(L)
    size = 60_000
    G = rng.multivariate_normal(np.zeros(p), S, size=size)
    b = rng.standard_normal((size, p))
    if kind == "pure":
        norm = rng.gamma(p, 1.0 / noise.rate, size=(size, 1))
        b *= norm / np.linalg.norm(b, axis=1, keepdims=True)
    else:
        b *= noise.sd
    inner = G / math.sqrt(n) + (b / n if mechanism == "objective" else 0.0)
    e = np.linalg.solve(H, inner.T).T + (b if mechanism == "output" else 0.0)
    e = (e + rng.normal(0.0, math.sqrt(noise.added_var), size=e.shape)) @ L.T
    share, se = brute(e, errors.half_width(0.95))
    assert abs(errors.together() - share) < 4 * se + 2e-3
    share, se = brute(e, errors.simultaneous())
    assert abs(0.95 - share) < 4 * se + 2e-3
    some = law(H, S, noise, n=n, design=design).errors(L[:2])
    inside = np.einsum("ij,jk,ik->i", e[:, :2], np.linalg.inv(some.variance), e[:, :2])
    assert abs(np.mean(inside <= some.radius() ** 2) - 0.95) < 4 * se + 2e-3
    assert np.cov(e.T) == pytest.approx(errors.variance, rel=0.05, abs=0.02 * np.trace(np.cov(e.T)))
    drawn = errors.draws(size, np.random.default_rng(1))
    share, se = brute(drawn, errors.half_width(0.95))
    assert abs(errors.together() - share) < 4 * se + 2e-3
    assert stats.ks_2samp(drawn[:10_000, 3], e[:10_000, 3]).pvalue > 1e-4


def test_a_p_value_is_the_tail_of_the_mixture() -> None:
    H, S = np.diag([0.1, 0.2]), np.diag([0.1, 0.2])
    errors = law(H, S, NoiseLaw(rate=3.0), design=make(PURE)).errors(np.array([[1.0, 1.0]]))
    sampling, mixing = 0.1 / 10 + 0.2 / 40, 2.0 * 2.0 / 9.0

    def tail(W: float) -> float:
        density = W**0.5 * math.exp(-W) / math.gamma(1.5)
        return density * 2.0 * stats.norm.sf(1.7 / math.sqrt(sampling + mixing * W))

    expected = integrate.quad(tail, 0.0, 60.0, epsabs=1e-12)[0]
    assert float(errors.p_value(np.array([1.7]))[0]) == pytest.approx(expected, rel=1e-7)


# --- properties -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """One simulated release and its joint law."""

    law: JointLaw
    low: np.ndarray
    high: np.ndarray


def population(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = np.c_[rng.uniform(-0.45, 0.45, (n, 2)), np.full(n, 0.7)]
    X[:, 1] = 0.5 * X[:, 0] + 0.5 * X[:, 1]
    return X, np.where(rng.random(n) < expit(3.0 * X[:, 0] - 1.0), 1.0, -1.0)


def released(design: Design, n: int, rng: np.random.Generator) -> Drawn:
    made = private_intervals(*population(n, rng), design=design, rng=rng)
    found = JointLaw.of(
        made.hessian,
        made.covariance,
        design=replace(design, n_records=n),
        noise=model_noise(replace(design, n_records=n)),
        theta_priv=made.theta_priv,
    )
    return Drawn(found, made.low, made.high)


SHARP = make(calibration="sharp")
DESIGNS = {
    "published": make(PURE, "objective"),
    "sharp": SHARP,
    "sharp-pure": make(PURE, "objective", "sharp"),
    "unpenalised": make(RHO, "objective", "sharp", target="unpenalised", regularization=0.0003),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_a_unit_combination_has_the_interval_of_the_release(name: str) -> None:
    drawn = released(DESIGNS[name], 4000, np.random.default_rng(2))
    errors = drawn.law.errors(np.eye(3))
    half = (drawn.high - drawn.low) / 2.0
    assert errors.half_width(0.95) == pytest.approx(half, rel=1e-9)
    assert errors.estimate == pytest.approx((drawn.high + drawn.low) / 2.0, rel=1e-9)
    assert errors.p_value(half) == pytest.approx([0.05] * 3, rel=1e-6)
    assert np.all(errors.half_width(0.9) < half)
    q = errors.simultaneous()
    assert np.all(q > 1.05 * half)
    assert np.all(q <= errors.half_width(1.0 - 0.05 / 3) * (1.0 + 1e-12))
    assert errors.together() < 0.95
    assert errors.simultaneous(0.8) == pytest.approx(
        np.minimum(half * errors.multiplier(0.8), errors.half_width(1 - 0.2 / 3)), rel=1e-9
    )
    one = drawn.law.errors(np.eye(3)[:1])
    assert one.together() == pytest.approx(0.95, abs=2e-3)
    assert one.simultaneous() == pytest.approx(half[:1], rel=2e-3)


def test_other_levels_are_those_that_a_release_at_that_level_would_have() -> None:
    # So much noise on the matrices that its factor counts.
    budget = ZCDP(model="20", hessian="0.0003", covariance="0.02")
    found = {}
    for level in (0.8, 0.95):
        design = make(budget, calibration="sharp", confidence_level=level)
        found[level] = released(design, 4000, np.random.default_rng(2))
    drawn = found[0.95]
    errors = drawn.law.errors(np.eye(3))
    assert np.all(errors.widths.weight == 1.0)
    assert errors.widths.factor.max() > 1.04
    half = (found[0.8].high - found[0.8].low) / 2.0
    assert errors.half_width(0.8) == pytest.approx(half, rel=0.01)
    assert (
        errors.multiplier()
        > 1.005
        * law(drawn.law.hessian, drawn.law.covariance, drawn.law.known.noise, n=4000)
        .errors(np.eye(3))
        .multiplier()
    )


def test_a_release_has_the_noise_that_it_draws() -> None:
    X, y = population(2000, np.random.default_rng(1))
    given = {"n_records": len(X)}
    for design in (make(PURE, "objective", regularization=0.1, **given), make(PURE, **given)):
        drawn = draw_coefficients(signed(X, y), shares=share_out(design), source=SystemSource())[1]
        assert noise_of_release(design, dim=3) == drawn


def test_what_the_step_adds_has_the_variance_of_the_intervals() -> None:
    drawn = released(DESIGNS["unpenalised"], 4000, np.random.default_rng(2))
    L = np.array([[1.0, 0.0, 0.0], [1.0, -1.0, 0.3]])
    errors = drawn.law.errors(L)
    extra = np.einsum("kp,kp->k", errors.extra_root, errors.extra_root)
    assert np.all(extra > 0.0)
    assert np.diag(errors.variance) == pytest.approx(errors.law.total(3), rel=1e-9)


def test_the_same_question_has_one_answer_in_every_unit() -> None:
    drawn = released(SHARP, 4000, np.random.default_rng(3))
    units = np.diag([3.0, 0.1, 7.0])
    plain, scaled = drawn.law.errors(np.eye(3)), drawn.law.errors(units)
    assert scaled.together() == pytest.approx(plain.together(), abs=2e-3)
    assert scaled.radius() == pytest.approx(plain.radius(), rel=2e-3)
    gap = np.array([0.2, -0.4, 0.3])
    assert scaled.distance(units @ gap) == pytest.approx(plain.distance(gap), rel=1e-9)


def test_dependent_combinations_are_refused_where_they_have_no_region() -> None:
    drawn = released(SHARP, 4000, np.random.default_rng(3))
    errors = drawn.law.errors(np.array([[1.0, 0, 0], [0, 1.0, 0], [1.0, 1.0, 0]]))
    assert 0.85 < errors.together() < 0.93
    with pytest.raises(ValueError, match="depend"):
        errors.distance(np.ones(3))
    with pytest.raises(ValueError, match="level"):
        errors.radius(1.0)
    with pytest.raises(ValueError, match="size"):
        errors.draws(0, np.random.default_rng(1))


# --- repetitions with real fits -------------------------------------------------------------------

CONTRAST = np.array([[1.0, -2.0, 0.0]])
ROW = np.array([[0.3, 0.1, 0.7]])


def repeated(design: Design, *, n: int, repetitions: int) -> dict[str, float]:
    """Shares, over repeated releases with fits, of what should have the level or the size."""
    X, y = population(400_000, np.random.default_rng(11))
    c = design.regularization if design.target == "penalised" else 1e-7
    truth = fit_moments(X, y, loss=design.loss, regularization=c).theta_hat
    counted: dict[str, list[bool]] = {}
    for k in range(repetitions):
        law = released(design, n, np.random.default_rng([12, k])).law

        def held(name: str, is_held: bool) -> None:
            counted.setdefault(name, []).append(bool(is_held))

        errors = law.errors(np.eye(3))
        gap = errors.estimate - truth
        held("together", np.all(np.abs(gap) <= errors.half_width(0.95)))
        held("simultaneous", np.all(np.abs(gap) <= errors.simultaneous()))
        held("region", errors.distance(gap) <= errors.radius() ** 2)
        held("test", errors.beyond(errors.distance(gap)) >= 0.05)
        counted.setdefault("expected", []).append(errors.together())
        for name, one in (("contrast", CONTRAST), ("prediction", ROW)):
            combined = law.errors(one)
            away = combined.estimate - one @ truth
            held(name, abs(float(away[0])) <= float(combined.half_width(0.95)[0]))
            held(f"{name} test", float(combined.p_value(away)[0]) >= 0.1)
    return {name: float(np.mean(values)) for name, values in counted.items()}


LEVELS = {
    "simultaneous": 0.95,
    "region": 0.95,
    "test": 0.95,
    "contrast": 0.95,
    "contrast test": 0.9,
    "prediction": 0.95,
    "prediction test": 0.9,
}


def check(found: dict[str, float], repetitions: int, slack: float = 0.0) -> None:
    for name, level in LEVELS.items():
        assert (
            abs(found[name] - level) <= 3 * math.sqrt(level * (1 - level) / repetitions) + slack
        ), name
    p = found["expected"]
    assert abs(found["together"] - p) <= 3 * math.sqrt(p * (1 - p) / repetitions) + slack


@pytest.fixture
def _few_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for a share of a few hundred repetitions."""
    for constant in (joint.directions, joint._mixing):
        constant.cache_clear()
    monkeypatch.setattr(joint, "_N_DIRECTIONS", 48 * 12)
    yield
    for constant in (joint.directions, joint._mixing):
        constant.cache_clear()


@pytest.mark.usefixtures("_few_directions")
def test_repeated_releases_are_covered_together() -> None:
    check(repeated(SHARP, n=3000, repetitions=100), 100)


@pytest.mark.soak
@pytest.mark.usefixtures("_few_directions")
@pytest.mark.parametrize("name", ["sharp", "sharp-pure", "unpenalised"])
def test_many_repeated_releases_are_covered_together(name: str, record_property) -> None:
    found = repeated(DESIGNS[name], n=4000, repetitions=1000)
    record_property("held", {what: round(share, 3) for what, share in found.items()})
    check(found, 1000, slack=0.01)
