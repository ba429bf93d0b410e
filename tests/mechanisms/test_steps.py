"""Clipped Newton steps of a logistic model: exact audit as in `tests.regression.test_audit`, what
they refuse, and what they promise of lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import root

from dpci_core import (
    GDP,
    ZCDP,
    ApproxDP,
    Calibration,
    Design,
    Logistic,
    PureDP,
    fit_moments,
    forecast,
)
from dpci_core.base.batches import MemoryTable
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.base.metric import Metric
from dpci_core.base.rows import WeightedRows, signed
from dpci_core.datasets import load
from dpci_core.design import Geometry
from dpci_core.intervals.draw import draw_release
from dpci_core.losses import HuberSVM
from dpci_core.mechanisms import steps as steps_room
from dpci_core.mechanisms.mechanism import model_noise, train_private
from dpci_core.planner import best_geometry, rank_mechanisms
from dpci_core.planner.geometry import with_less_cut
from dpci_core.privacy.budget import Budget
from dpci_core.simulation.run import run_experiment
from dpci_core.solvers import batch_sums as sums_room
from dpci_core.solvers.metric import metric_of, second_moment_of, weighted
from dpci_core.solvers.moments import cut_away
from tests.regression.test_audit import ROUNDING, Spy, spent, spy_on

Array = np.ndarray
MU_SQUARED = 0.8
"""Of the coefficients, in an audited run."""
BUDGETS = {
    "gdp": GDP(model="0.8", hessian="0.1", covariance="0.1", metric="0.1"),
    "zcdp": ZCDP(model="0.4", hessian="0.05", covariance="0.05", metric="0.05"),
}
LINES = ("step", "curvature", "step", "curvature", "step", "curvature", "step")
SOME = Geometry(ridge=0.02, leverage=2.0)
DESIGN = Design(
    loss=Logistic(),
    mechanism="newton",
    budget=BUDGETS["zcdp"],
    regularization=0.001,
    n_records=100,
    geometry=SOME,
    clip=0.4,
)


# --- the law that intervals take ------------------------------------------------------------------

RHO_OF_MODEL = 0.4
"""Of `DESIGN`; .07 of it pays for curvatures, the rest for steps of 1, 6, 36 and 216 parts."""


def test_the_law_is_that_of_the_last_step_with_a_tenth_more_variance() -> None:
    rho = RHO_OF_MODEL * 0.93 * 216 / 259
    expected = 0.4 * 2.0 / math.sqrt(2.0 * rho) * math.sqrt(1.1)
    assert model_noise(DESIGN).sd == pytest.approx(expected, rel=1e-9)


def test_what_earlier_steps_leave_is_what_noise_on_the_curvature_makes_of_them() -> None:
    """The error before the last step has six times the variance of the last noise, and the noise on
    the curvature turns it, and that of the last step, into H^-1 N e.
    """
    rng, p = np.random.default_rng(26), 12
    n, tau = DESIGN.n_records, math.sqrt(2.0) / 4.0 / 100 / math.sqrt(2.0 * RHO_OF_MODEL * 0.05)
    vectors = np.linalg.qr(rng.normal(size=(p, p)))[0]
    H = (vectors * np.linspace(0.15, 0.2, p)) @ vectors.T
    assert n == 100
    left = []
    for _ in range(4_000):
        N = np.triu(rng.normal(size=(p, p)) / math.sqrt(2.0), 1)
        N = tau * (N + N.T + np.diag(rng.normal(size=p)))
        e = np.linalg.solve(H, rng.normal(size=p))
        left.append(np.sum(np.linalg.solve(H, N @ e) ** 2))
    share = 7.0 * np.mean(left) / np.trace(np.linalg.matrix_power(np.linalg.inv(H), 2))
    assert steps_room.left_of(DESIGN, H) == pytest.approx(share, rel=0.15)


# --- audit ----------------------------------------------------------------------------------------


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Spy]:
    """Runs the steps with every release recorded."""
    spies = spy_on(monkeypatch, steps_room)

    def run(
        rows: Array, metric: Metric, budget: Budget, clip: float, seed: int, like: Spy | None = None
    ) -> Spy:
        spies[:] = [Spy(replay=None if like is None else iter(like.values))]
        design = replace(DESIGN, budget=budget, n_records=len(rows), clip=clip)
        table = MemoryTable(weighted(WeightedRows.of(rows), metric))
        source = np.random.default_rng(seed)
        train_private(table, design=design, rng=source, metric=metric)
        return spies[-1]

    return run


def pairs(count: int) -> Iterator[tuple[Array, list[Array], Metric, float]]:
    """Tables (n, p) of a few records, each with neighbours whose first record is another, a metric
    and a clip: the opposite, one orthogonal in the metric, a short one, zeros, and hostile sizes.
    """
    rng = np.random.default_rng(8)
    for _ in range(count):
        n, p = int(rng.integers(1, 6)), int(rng.integers(2, 4))
        D = rng.normal(size=(n, p)) * rng.choice([1e-2, 1.0, 30.0], (n, 1))
        roots = rng.normal(size=(p, p)) / 5.0
        metric = metric_of(SOME, roots @ roots.T)
        v = metric.whiten @ D[0]
        turned = np.linalg.solve(metric.whiten, np.r_[-v[1], v[0], np.zeros(p - 2)])
        others = [-D[0], 10.0 * turned, D[0] * 1e-3, np.zeros(p)]
        others.append(rng.normal(size=p) * 10.0 ** rng.uniform(-3, 6))
        clip = float(rng.choice([0.3, 0.5, 1.0]))
        yield D, [np.vstack([new, D[1:]]) for new in others], metric, clip


def claimed(budget: Budget) -> Array:
    """What every release may cost, as mu^2."""
    costs = steps_room.amounts(replace(DESIGN, budget=budget))
    in_order = [costs.gradients[0]]
    for curvature, gradient in zip(costs.curvatures, costs.gradients[1:], strict=True):
        in_order += [curvature, gradient]
    return np.array(in_order) * MU_SQUARED / float(budget.model)


def audit(run: Callable[..., Spy], definition: str, count: int) -> tuple[Array, float]:
    """The largest mu^2 of every release, as a share of what it was given, and that of whole runs as
    a share of the coefficients' part. In every other run what is released keeps the coefficients at
    0, where curvatures are largest.
    """
    budget = BUDGETS[definition]
    given, largest, whole = claimed(budget), np.zeros(len(LINES)), 0.0
    for seed, (D, others, metric, clip) in enumerate(pairs(count)):
        p = D.shape[1]
        still = Spy(values=[np.zeros(p) if name == "step" else np.eye(p) for name in LINES])
        here = run(D, metric, budget, clip, seed, like=still if seed % 2 else None)
        for other in others:
            cost = spent(here, run(other, metric, budget, clip, seed, like=here))
            largest = np.maximum(largest, cost / given)
            whole = max(whole, float(cost.sum()) / MU_SQUARED)
    return largest, whole


@pytest.mark.parametrize("definition", BUDGETS)
def test_no_pair_costs_more_than_was_booked(definition: str, watched) -> None:
    largest, whole = audit(watched, definition, 300 if definition == "gdp" else 60)
    assert largest.max() <= 1.0 + ROUNDING
    assert whole <= 1.0 + ROUNDING
    # Every bound is nearly reached, so that one that is too small would show.
    for name, reached in zip(LINES, largest, strict=True):
        assert reached > 0.9, name


def _without_clip(self, place):
    total = np.zeros(len(self.theta))
    for block in place.chunks():
        slopes = block.weights * self.loss.slope(block.rows @ self.theta)
        total += (block.rows @ self.whiten * slopes[:, None]).sum(axis=0) / self.clip
    return total


def _all_of_it(design: Design) -> steps_room.Amounts:
    total = float(design.budget.model)
    return steps_room.Amounts((total,) * 4, (total,) * 3)


MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a clip forgotten": lambda m: m.setattr(sums_room.CutGradients, "__call__", _without_clip),
    "C for 2C": lambda m: m.setattr(
        steps_room, "gradient_sensitivity", lambda *, n_records: 1.0 / n_records
    ),
    "the square root of 2": lambda m: m.setattr(
        steps_room,
        "hessian_sensitivity",
        lambda *, loss, n_records, tight: loss.max_curvature / n_records,
    ),
    "mu for mu^2": lambda m: m.setattr(
        GDP, "noise_parameter", classmethod(lambda cls, amount: math.sqrt(amount) / 2.0)
    ),
    "rho for mu^2": lambda m: m.setattr(
        GDP, "noise_parameter", classmethod(lambda cls, amount: amount)
    ),
    "the total for each step": lambda m: m.setattr(steps_room, "amounts", _all_of_it),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_audit_sees_a_mistake(mutant: str, watched, monkeypatch: pytest.MonkeyPatch) -> None:
    given = claimed(BUDGETS["gdp"])
    MUTANTS[mutant](monkeypatch)
    monkeypatch.setitem(globals(), "claimed", lambda budget: given)
    largest, whole = audit(watched, "gdp", 120)
    assert max(float(largest.max()), whole) > 1.3


def test_no_noise_is_used_twice(watched) -> None:
    D, _, metric, clip = next(pairs(1))
    D = np.random.default_rng(0).normal(size=(50, D.shape[1]))
    seen = watched(D, metric, BUDGETS["gdp"], clip, 3)
    drawn = []
    for mean, sd, value in zip(seen.means, seen.sds, seen.values, strict=True):
        free = np.tril_indices(len(mean)) if mean.ndim == 2 else ...
        drawn += np.abs((value - mean)[free] / sd).ravel().round(9).tolist()
    assert len(drawn) >= 17
    assert len(set(drawn)) == len(drawn)


def test_a_program_that_uses_noise_twice_is_seen(watched, monkeypatch) -> None:
    class Stuck(np.random.Generator):
        """Gives the same numbers again and again."""

        def standard_normal(self, size=None, **_):
            return np.random.default_rng(5).standard_normal(size)

    plain = train_private
    monkeypatch.setitem(
        globals(),
        "train_private",
        lambda A, *, design, rng, metric: plain(
            A, design=design, rng=Stuck(np.random.PCG64(1)), metric=metric
        ),
    )
    with pytest.raises(AssertionError):
        test_no_noise_is_used_twice(watched)


@pytest.mark.parametrize("part", ["0.7", "1e-9", "0.123456789012345678901234567", "3"])
def test_the_parts_add_up_to_no_more_than_the_coefficients_have(part: str) -> None:
    budget = GDP(model=part, hessian="0.1", covariance="0.1", metric="0.1")
    costs = steps_room.amounts(replace(DESIGN, budget=budget))
    exact = sum(map(Fraction, (*costs.gradients, *costs.curvatures)))
    assert Fraction(Decimal(part)) * Fraction(999_999_999, 10**9) < exact <= Decimal(part)


def test_terms_have_norm_at_most_1_and_know_no_place() -> None:
    rng = np.random.default_rng(4)
    largest = Fraction(0)
    for _ in range(40):
        p = int(rng.integers(2, 6))
        rows = WeightedRows.of(rng.normal(size=(24, p)) * 10.0 ** rng.uniform(-8, 6, (24, 1)))
        roots = rng.normal(size=(p, p)) * 10.0 ** rng.uniform(-2, 0)
        metric = metric_of(SOME, roots @ roots.T)
        rows = weighted(rows, metric)
        theta = rng.normal(size=p) * 10.0 ** rng.uniform(-3, 3)
        sums = sums_room.CutGradients(theta, Logistic(), metric.whiten, 0.3)
        terms = [MemoryTable(rows[i : i + 1]).total(sums) for i in range(24)]
        for term in terms:
            largest = max(largest, sum(Fraction(float(x)) ** 2 for x in term))
        # a term, added to a term of zeros, is the same bits anywhere
        for i in (3, 17):
            others = WeightedRows(rows.rows.copy(), rows.weights)
            others.rows[np.arange(24) != i] = 0.0
            np.testing.assert_array_equal(MemoryTable(others).total(sums), terms[i])
    assert Fraction(999_999, 1_000_000) < largest <= 1


def test_nothing_raises_after_the_draw_began() -> None:
    rng = np.random.default_rng(9)
    for part in ("1e-9", "0.01", "1e6"):
        budget = GDP(model=part, hessian="0.1", covariance="0.1", metric="0.1")
        for D, others, metric, clip in pairs(40):
            for rows in (D, *others, np.zeros_like(D), 1e150 * D):
                table = MemoryTable(weighted(WeightedRows.of(rows), metric))
                for c in (1e-10, 0.001, 1e6):
                    design = replace(
                        DESIGN, budget=budget, n_records=len(rows), clip=clip, regularization=c
                    )
                    found = train_private(table, design=design, rng=rng, metric=metric)
                    assert np.isfinite(found.theta_priv).all()


# --- what they are not for ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"budget": PureDP(model=1, hessian=1, covariance=1), "geometry": None},
            r"under a pure epsilon .* Allow a small delta: ApproxDP\('3'",
        ),
        ({"loss": HuberSVM(h=0.5)}, "for logistic regression, not for a"),
        ({"target": "unpenalised"}, "Take target='penalised'"),
        (
            {"geometry": None, "budget": ZCDP(model=1, hessian=1, covariance=1)},
            "need a metric.*best_geometry",
        ),
        (
            {
                "geometry": None,
                "budget": ZCDP(model=1, hessian=1, covariance=1),
                "rows_per_person": 3,
            },
            "not the sum of a person's. Take mechanism='output'",
        ),
    ],
)
def test_what_they_are_not_for_is_refused_in_words(change: dict, said: str) -> None:
    with pytest.raises(InfeasibleDesignError, match=said):
        model_noise(replace(DESIGN, **change))


@pytest.mark.parametrize("clip", [0.1, 0.0, -1.0, 1.01, True, math.nan])
def test_a_clip_is_a_length_that_is_planned(clip: float) -> None:
    with pytest.raises(ValueError, match="clip"):
        replace(DESIGN, clip=clip)


def test_only_steps_cut() -> None:
    with pytest.raises(ValueError, match="clip"):
        replace(DESIGN, mechanism="objective")
    assert replace(DESIGN, mechanism="objective", clip=1.0).clip == 1.0


def test_an_approximate_budget_is_spent_as_mu_squared() -> None:
    """Noise of steps is exactly Gaussian: mu^2, of which rho-zCDP has less."""
    approx = ApproxDP("1", "1e-6", ("0.8", "0.1", "0.1"))
    found = replace(DESIGN, budget=approx, geometry=None).budget
    assert found.definition == "gdp"
    assert float(found.total) / 2.0 > 1.1 * float(approx.to_zcdp().total)


# --- planning -------------------------------------------------------------------------------------

N, C = 30_000, 0.001
RHO = ZCDP(model="0.02", hessian="0.0025", covariance="0.0025")


@pytest.fixture(scope="module")
def census():
    return load("census", encoding="paper", features=5, n_rows=N)


@pytest.fixture(scope="module")
def planned(census):
    """Steps and the objective, each planned for the same total."""
    bare = Design(loss=Logistic(), mechanism="newton", budget=RHO, regularization=C, n_records=N)
    return tuple(
        best_geometry(census.X, census.y, design=replace(bare, mechanism=name))
        for name in ("newton", "objective")
    )


def test_they_are_shorter_and_hold_what_they_say(census, planned) -> None:
    steps, shaped = planned
    assert steps.forecast.ci_length_mean < 0.95 * shaped.forecast.ci_length_mean
    assert steps.plain is None
    assert steps.gain is None
    assert steps.design.clip < 1.0
    k = 100
    found = run_experiment(
        census.X,
        census.y,
        designs=[steps.design],
        n_variability=k,
        n_coverage=k,
        rng=np.random.default_rng(2),
    ).designs[0]
    assert found.ci_length_mean == pytest.approx(steps.forecast.ci_length_mean, rel=0.03)
    assert 0.93 <= found.coverage_mean <= 0.97


def test_what_a_clip_moves_is_the_root_of_the_cut_score(census, planned) -> None:
    """Without noise, by a solver that shares no code."""
    design, moments = planned[0].design, planned[0].moments
    rows = signed(census.X, census.y)
    metric = metric_of(design.geometry, second_moment_of(rows))
    v = rows @ metric.whiten
    w = np.minimum(1.0, 1.0 / (v * v).sum(axis=1))

    def score(psi: Array, clip: float) -> Array:
        slopes = -w / (1.0 + np.exp(v @ psi))
        cut = np.minimum(1.0, clip / (np.abs(slopes) * np.linalg.norm(v, axis=1)))
        penalty = 2.0 * C * metric.whiten @ metric.whiten
        return (slopes * cut) @ v / len(v) + penalty @ psi

    start = np.linalg.solve(metric.whiten, moments.theta_hat)
    found = [metric.whiten @ root(score, start, args=(clip,)).x for clip in (design.clip, 2.0)]
    moved = cut_away(moments, design.geometry, design.clip)
    half = planned[0].forecast.ci_length / 2.0
    np.testing.assert_allclose(moved / half, (found[0] - found[1]) / half, atol=0.02)
    assert np.abs(moved / half).max() > 0.05
    np.testing.assert_allclose(planned[0].forecast.bias, moved, rtol=0.3, atol=1e-3)


def test_a_clip_that_moves_a_coefficient_too_far_leaves_it_out_of_reach(planned) -> None:
    steps = planned[0]
    assert not steps.forecast.is_not_reportable.any()
    design = replace(steps.design, clip=0.3)
    found = forecast(steps.moments, design=design)
    too_far = np.abs(found.bias) > 0.25 * found.ci_length / 2.0
    np.testing.assert_array_equal(found.is_not_reportable, too_far)
    assert too_far.any()
    assert with_less_cut(design, found).clip == 0.35
    assert with_less_cut(steps.design, steps.forecast) is None


def test_curvatures_that_are_too_noisy_are_refused(planned) -> None:
    steps = planned[0]
    with pytest.raises(InfeasibleDesignError, match="curvature of a Newton step would be too nois"):
        forecast(steps.moments, design=replace(steps.design, n_records=3_000, clip=1.0))


def test_the_ranking_offers_them_with_a_reason(census) -> None:
    moments = fit_moments(census.X, census.y, loss=Logistic(), regularization=C, with_spread=True)
    rows = rank_mechanisms(
        moments, epsilon="1", delta="1e-6", regularization=C, calibrations=["sharp"]
    )
    first = rows[0]
    assert (first.mechanism, first.definition, first.status) == ("newton", "gdp", "")
    assert f"cut at {first.design.clip:g} in a released metric" in first.reason
    shaped = next(r for r in rows if r.mechanism == "objective" and r.definition == "zcdp")
    assert shaped.design.geometry is not None  # like beside like
    reviewed = rank_mechanisms(
        moments,
        epsilon="1",
        delta="1e-6",
        regularization=C,
        calibrations=[Calibration(gaussian_objective=False)],
    )
    assert not any(r.status for r in reviewed)
    assert reviewed[0].mechanism == "newton"
    pure = next(r for r in rows if (r.mechanism, r.definition) == ("newton", "pure"))
    assert "Allow a small delta" in pure.reason


def test_a_release_lies_on_its_grid_and_has_no_minimiser() -> None:
    records = load("census", encoding="paper", features=2, n_rows=2_000)
    budget = GDP(model="40", hessian="5", covariance="5", metric="5")
    design = replace(DESIGN, budget=budget, n_records=2_000, clip=0.8)
    drawn = draw_release(records.X, records.y, design=design)
    assert [name for name, _ in drawn.shares.lines] == ["metric", "model", "hessian", "covariance"]
    assert drawn.second_moment is not None
    np.testing.assert_array_equal(drawn.theta_priv * 2.0**30 % 1.0, 0.0)
    assert np.isfinite(drawn.low).all()
    theta = fit_moments(records.X, records.y, loss=Logistic(), regularization=C).theta_hat
    assert np.abs(drawn.theta_priv - theta).max() < 3.0 * (drawn.high - drawn.low).max()
