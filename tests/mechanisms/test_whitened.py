"""Noise in a metric as it is drawn and used: what must not change anything, what is public, what is
refused, and the law of the release of the second moment.
"""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpci_core import (
    ZCDP,
    ApproxDP,
    Calibration,
    Design,
    HuberSVM,
    Logistic,
    PureDP,
    fit_moments,
    forecast,
    private_intervals,
)
from dpci_core.base.batches import as_table
from dpci_core.base.errors import RangeError
from dpci_core.base.limits import RIDGE
from dpci_core.base.linalg import symmetrise
from dpci_core.base.metric import Metric
from dpci_core.base.rows import WeightedRows
from dpci_core.design import Geometry
from dpci_core.intervals import certified, private_fit
from dpci_core.intervals.certified import GRID
from dpci_core.intervals.draw import draw_release
from dpci_core.intervals.half_widths import HalfWidths, private_half_widths
from dpci_core.mechanisms import metric as metric_release
from dpci_core.mechanisms.matrices import (
    covariance_noise,
    hessian_noise,
    release_moments,
    rounding_allowance,
)
from dpci_core.mechanisms.mechanism import model_noise, train_private
from dpci_core.mechanisms.metric import metric_noise, release_metric
from dpci_core.mechanisms.shares import share_out
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.randomness import SystemSource, grid_under
from dpci_core.solvers.metric import longest_stretch, metric_of, second_moment_of, weighted
from dpci_core.solvers.risk import PenalisedRisk, rounding_of_sums

Array = np.ndarray

PURE = PureDP(model="0.5", hessian="0.25", covariance="0.25")
RHO = ZCDP(model="0.125", hessian="0.03", covariance="0.03")
WITH_METRIC = {
    "pure": PureDP(model="0.4", hessian="0.25", covariance="0.2", metric="0.15"),
    "zcdp": ZCDP(model="0.12", hessian="0.03", covariance="0.03", metric="0.005"),
}
RELEASED = 1e-9
"""Probability of a false alarm of one test with fresh entropy."""
P = 3
MOMENT = np.array([[0.3, 0.05, 0.2], [0.05, 0.02, 0.0], [0.2, 0.0, 0.4]])
PRIVATE = Geometry(ridge=0.03, leverage=3.0)


def make(geometry: Geometry | None, budget: Any = None, **changes: Any) -> Design:
    if budget is None:
        budget = RHO if geometry is None else WITH_METRIC["zcdp"]
    given: dict[str, Any] = {
        "loss": Logistic(),
        "mechanism": "objective",
        "budget": budget,
        "regularization": 0.003,
        "n_records": 2_000,
        "calibration": "sharp",
    }
    return Design(geometry=geometry, **(given | changes))


def table(n: int = 2_000) -> tuple[Array, Array]:
    """A common column, a rare one, the constant; norms below 1."""
    rng = np.random.default_rng(3)
    X = np.c_[rng.uniform(-1.0, 1.0, n), rng.random(n) < 0.05, np.ones(n)] * (0.99 / math.sqrt(3.0))
    return X, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-6.0 * X[:, 0])), 1.0, -1.0)


def long_rows(X: Array) -> WeightedRows:
    return WeightedRows.of(2.0 * X)


# --- what changes nothing -------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["penalised", "unpenalised"])
@pytest.mark.parametrize("definition", ["pure", "zcdp"])
def test_a_round_metric_is_none(definition: str, target: str) -> None:
    """A ridge that any second moment is lost in, its inverse the leverage: W is the identity."""
    X, y = table()
    round_one = Geometry(ridge=1e6, leverage=1e-6)
    with_metric = WITH_METRIC[definition]
    budgets = {None: dataclasses.replace(with_metric, metric=Decimal(0)), round_one: with_metric}

    def source(geometry: Geometry | None) -> np.random.Generator:
        """The noise on a second moment comes first, wanted or not."""
        rng = np.random.default_rng(5)
        if geometry is None:
            release_metric(as_table(X), design=make(round_one, with_metric), rng=rng)
        return rng

    kept = "estimate low high theta_priv sampling_se privacy_se hessian covariance noise_factor"
    # The weights of long rows lose the 1e-8 that a leverage is raised by.
    for features in (X, long_rows(X)):
        found = [
            private_intervals(
                features,
                y,
                design=make(geometry, budgets[geometry], target=target),
                rng=source(geometry),
            )
            for geometry in (None, round_one)
        ]
        for name in kept.split():
            one, other = (getattr(each, name) for each in found)
            np.testing.assert_allclose(other, one, rtol=3e-5, atol=3e-5)
    bare, shaped = (
        fit_moments(X, y, loss=Logistic(), regularization=0.003, target=target, geometry=geometry)
        for geometry in (None, round_one)
    )
    lengths = [
        forecast(moments, design=make(geometry, budgets[geometry], target=target)).ci_length
        for moments, geometry in ((bare, None), (shaped, round_one))
    ]
    np.testing.assert_allclose(lengths[1], lengths[0], rtol=1e-5)


def test_order_and_labels_change_nothing() -> None:
    X, y = table()
    order = np.random.default_rng(4).permutation(len(X))
    metric = metric_of(PRIVATE, MOMENT)
    for features in (X, long_rows(X)):
        M = second_moment_of(features)
        np.testing.assert_allclose(second_moment_of(features[order]), M, rtol=1e-12, atol=1e-15)
        w = weighted(features, metric).weights
        assert 0.02 < (w < 0.9 * w.max()).mean() < 0.9, "or weights would not be seen"
        np.testing.assert_allclose(weighted(features[order], metric).weights, w[order], rtol=1e-12)
    turned = y[:, None] * X
    np.testing.assert_array_equal(second_moment_of(turned), second_moment_of(X))
    np.testing.assert_array_equal(weighted(turned, metric).weights, weighted(X, metric).weights)
    design = make(PRIVATE, WITH_METRIC["zcdp"])
    drawn = [
        release_metric(rows, design=design, rng=np.random.default_rng(6))
        for rows in (X, turned, X[order])
    ]
    for one in drawn:
        assert one is not None
        np.testing.assert_allclose(one.second_moment, drawn[0].second_moment, atol=1e-15)  # type: ignore[union-attr]


def test_a_weight_is_its_own_records_business() -> None:
    X, _ = table()
    metric = metric_of(PRIVATE, MOMENT)
    w = weighted(X, metric).weights
    others = np.roll(X, 1, axis=0)
    others[7] = X[7]
    assert weighted(others, metric).weights[7] == pytest.approx(w[7], rel=1e-13)
    again = weighted(weighted(X, metric), metric)
    np.testing.assert_array_equal(again.weights, w)


# --- half-widths ----------------------------------------------------------------------------------


def widths_of(
    design: Design, H: Array, S: Array, theta: Array, n: int, metric: Metric | None, added: float
) -> HalfWidths:
    noise = dataclasses.replace(
        model_noise(dataclasses.replace(design, n_records=n)), added_var=added
    )
    return private_half_widths(
        H,
        S,
        design=dataclasses.replace(design, n_records=n),
        noise=noise,
        covariance_noise=covariance_noise(
            dataclasses.replace(design, n_records=n), float(np.linalg.norm(theta))
        ),
        theta_priv=theta,
        contrasts=np.vstack([np.eye(P), [1.0, -2.0, 0.5]]),
        metric=metric,
    )


def fitted(c: float = 0.003) -> tuple[Array, Array, Array, Metric]:
    """theta, H and S of the weighted rows, without noise, and the metric."""
    X, y = table()
    metric = metric_of(PRIVATE, MOMENT)
    rows = weighted(y[:, None] * X, metric)
    theta = np.array([3.0, 0.5, -0.4])
    return theta, *PenalisedRisk(rows, loss=Logistic(), regularization=c).moments(theta), metric


@pytest.mark.parametrize("target", ["penalised", "unpenalised"])
@pytest.mark.parametrize("calibration", ["published", "sharp"])
def test_what_hides_the_solvers_error_is_isotropic_in_theta(calibration: str, target: str) -> None:
    n, added = 50_000, 1e-3
    theta, H, S, metric = fitted()
    design = make(PRIVATE, calibration=calibration, target=target)
    without, with_it = (
        widths_of(design, metric.matrix(H), metric.matrix(S), theta, n, metric, var)
        for var in (0.0, added)
    )
    L = with_it.contrasts
    more = with_it.law.gaussian - without.law.gaussian
    np.testing.assert_allclose(more, added * np.einsum("kj,kj->k", L, L), rtol=1e-6)
    turned = L @ metric.whiten
    assert np.abs(more / (added * (turned**2).sum(axis=1)) - 1.0).min() > 0.1, "or W is not seen"


def test_without_noise_the_law_is_the_one_in_theta() -> None:
    """L H^-1 S H^-1 L' / n + s^2 |L H^-1 W^-1|^2 / n^2 and the Newton step 2c K^-1 theta, for exact
    matrices and hardly any noise on them.
    """
    n = 50_000
    c = 3e-5  # small, so that no direction is too flat for a full step
    theta, H, S, metric = fitted(c)
    budget = ZCDP(model="0.125", hessian="1e6", covariance="1e6", metric="0.005")
    L = np.vstack([np.eye(P), [1.0, -2.0, 0.5]])
    for target in ("penalised", "unpenalised"):
        design = make(PRIVATE, budget, target=target, regularization=c, n_records=n)
        found = widths_of(design, metric.matrix(H), metric.matrix(S), theta, n, metric, 0.0)
        K = H - 2.0 * c * np.eye(P)
        T = L if target == "penalised" else L @ (np.eye(P) + 2.0 * c * np.linalg.inv(K))
        np.testing.assert_allclose(found.contrasts, T, rtol=1e-4, atol=1e-6)
        rows = T @ np.linalg.inv(H)
        sd = model_noise(design).sd
        assert sd is not None
        privacy = sd**2 * ((rows @ metric.unwhiten) ** 2).sum(axis=1) / n**2
        np.testing.assert_allclose(found.law.gaussian, privacy, rtol=1e-3)
        sampling = np.einsum("kj,ji,ki->k", rows, S, rows) / n
        np.testing.assert_allclose(found.law.sampling, sampling, rtol=1e-3)
        np.testing.assert_allclose(found.hessian, H, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("calibration", ["published", "sharp"])
def test_the_hessian_that_is_used_has_the_penalty_as_its_floor(calibration: str) -> None:
    n = 300
    theta, H, S, metric = fitted()
    design = make(PRIVATE, calibration=calibration, n_records=n)
    law, B = hessian_noise(design), metric.penalty(0.003)
    np.testing.assert_allclose(B, 0.006 * metric.whiten @ metric.whiten, rtol=1e-12)
    rng, n_lifted = np.random.default_rng(8), 0
    for _ in range(20):
        noisy = metric.matrix(H) + law.diagonal_sd(P) * symmetrise(rng.normal(size=(P, P)))
        n_lifted += int(np.linalg.eigvalsh(noisy - B)[0] < 0.0)
        used = widths_of(design, noisy, metric.matrix(S), theta, n, metric, 0.0).hessian
        smallest = np.linalg.eigvalsh(metric.matrix(used) - B)[0]
        assert smallest > -1e-9
        assert np.linalg.eigvalsh(used)[0] > 0.006 * (1.0 - 1e-6)
    assert n_lifted > 3, "or the floor would not be seen"


# --- the price ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PureDP, ZCDP])
@pytest.mark.parametrize("amount", ["0.004", "1e-9", "0.1234567890123456789012345678901234567"])
def test_four_parts_are_booked_to_the_last_digit(kind: Any, amount: str) -> None:
    budget = kind(model="0.1234567", hessian="0.03", covariance="0.0300000001", metric=amount)
    design = make(PRIVATE, budget, regularization=1.0)
    shares = share_out(design)
    names = [name for name, _ in shares.lines]
    assert names == ["metric", "model", "inexact minimiser", "hessian", "covariance"]
    parts = ("0.1234567", "0.03", "0.0300000001", amount)
    booked = sum(Fraction(Decimal(part)) for part in parts)
    assert Fraction(design.budget.total) == booked
    assert sum(Fraction(price) for _, price in shares.lines) == booked
    assert shares.lines[0][1] == Decimal(amount)
    assert shares.design_after_solver_share.geometry == design.geometry
    without = share_out(make(None, kind(model="0.1", hessian="0.1", covariance="0.1")))
    assert [name for name, _ in without.lines] == names[1:]


def test_an_epsilon_and_delta_has_four_shares() -> None:
    given = ApproxDP("1", "1e-6", ("0.8", "0.06", "0.1", "0.04"))
    design = make(PRIVATE, given)
    assert isinstance(design.budget, ZCDP)
    three = ApproxDP("1", "1e-6", ("0.8", "0.1", "0.1")).to_zcdp()
    assert design.budget.metric == pytest.approx(Decimal("0.04") * three.total, rel=Decimal("1e-9"))
    assert design.budget.total <= three.total
    assert design.budget.guarantee("1e-6")[0] <= 1.0
    with pytest.raises(ValueError, match="3 or 4 entries"):
        ApproxDP("1", "1e-6", ("0.4", "0.2", "0.2", "0.1", "0.1"))
    with pytest.raises(ValueError, match="add up to exactly 1"):
        ApproxDP("1", "1e-6", ("0.8", "0.1", "0.1", "0.04"))


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"ridge": 0.0},
        {"ridge": -0.1},
        {"ridge": math.nan},
        {"ridge": 1e-5},
        {"leverage": 0.0},
        {"leverage": -1.0},
        {"leverage": math.inf},
        {"leverage": 1e-300},
        {"ridge": 0.1, "leverage": 10.1},
    ],
    ids=str,
)
def test_numbers_of_a_geometry_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(RangeError):
        Geometry(**({"ridge": 0.1, "leverage": 1.0} | given))


class TwoSided(Logistic):
    """A loss that says nothing about weights."""

    allows_weights = False


def test_designs_that_do_not_go_together_are_refused() -> None:
    cases = [
        ({"geometry": PRIVATE, "budget": RHO}, "budget.metric"),
        ({"geometry": None, "budget": WITH_METRIC["zcdp"]}, "no budget.metric"),
        ({"geometry": PRIVATE, "mechanism": "output"}, "geometry"),
        ({"geometry": PRIVATE, "loss": TwoSided()}, "allows no weights"),
        ({"geometry": {"ridge": 0.1}}, "Geometry or None"),
    ]
    for given, said in cases:
        with pytest.raises(ValueError, match=said):
            make(**({"geometry": None} | given))  # type: ignore[arg-type]


def test_a_metric_is_not_used_without_its_weights() -> None:
    X, y = table()
    metric, design = metric_of(PRIVATE, MOMENT), make(PRIVATE)
    A = y[:, None] * X
    rows, rng = weighted(A, metric), np.random.default_rng(1)
    with pytest.raises(ValueError, match="weights of the metric"):
        train_private(A, design=design, rng=rng, metric=metric)
    with pytest.raises(ValueError, match="where the design has a geometry"):
        train_private(rows, design=design, rng=rng)
    with pytest.raises(ValueError, match="where the design has a geometry"):
        train_private(rows, design=make(None), rng=rng, metric=metric)
    theta = np.zeros(P)
    with pytest.raises(ValueError, match="weights of the metric"):
        release_moments(A, theta, design=design, rng=rng, whiten=metric.whiten)
    with pytest.raises(ValueError, match="where the design has a geometry"):
        release_moments(rows, theta, design=design, rng=rng)


def test_forecasts_refuse_moments_of_another_metric() -> None:
    X, y = table()
    known: dict[str, Any] = {"loss": Logistic(), "regularization": 0.003}
    bare, spread = (fit_moments(X, y, with_spread=has, **known) for has in (False, True))
    own = fit_moments(X, y, geometry=PRIVATE, **known)
    assert own.n_weighted > 0
    for design, moments, said in (
        (make(PRIVATE), bare, "with_spread"),
        (make(PRIVATE), spread, "weights of this geometry"),
        (make(dataclasses.replace(PRIVATE, leverage=2.0)), own, "weights of this geometry"),
        (make(None), own, "got none"),
    ):
        with pytest.raises(ValueError, match=said):
            forecast(moments, design=design)
    assert forecast(own, design=make(PRIVATE)).ci_length_mean > 0.0
    roomy = Geometry(ridge=0.03, leverage=33.0)
    assert forecast(spread, design=make(roomy, WITH_METRIC["zcdp"])).ci_length_mean > 0.0


# --- rounding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [3, 60])
@pytest.mark.parametrize("ridge", [RIDGE[0], 0.01])
def test_leverages_are_within_bounds_for_the_exact_inverse(ridge: float, p: int) -> None:
    """w |v|^2 <= 1 for v = (W^-1)^-1 x, W^-1 the doubles that multiply the noise, in extended
    precision; rows along the axes of W and in between, of any length, and 12 p^2 2^-53 sqrt(1 +
    1/ridge) as the bound on what rounding does.
    """
    rng = np.random.default_rng([p, 9])
    vectors = np.linalg.qr(rng.normal(size=(p, p)))[0]
    for size, leverage in ((0.0, 0.3 / ridge), (8.0, 0.3 / ridge), (3.0, 1e-3)):
        values = 10.0 ** -np.linspace(0.0, size, p)
        values[1:] *= size > 0.0
        M = symmetrise((vectors * values / values.sum()) @ vectors.T)
        metric = Metric.of(M, ridge=ridge, leverage=leverage)
        rows = np.vstack([vectors.T, np.linalg.eigh(metric.whiten)[1].T, rng.normal(size=(60, p))])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True) * (1.0 + 1e-12)
        wide = np.longdouble
        rest = np.eye(p) - metric.unwhiten.astype(wide) @ metric.whiten.astype(wide)
        exact = metric.whiten.astype(wide) @ (np.eye(p) + rest + rest @ rest + rest @ rest @ rest)
        for A in (weighted(rows, metric), weighted(WeightedRows.of(50.0 * rows), metric)):
            v = A.rows.astype(wide) @ exact
            found = (v * v).sum(axis=1)
            assert (A.weights * found <= 1.0).all()
            told = ((A.rows @ metric.whiten) ** 2).sum(axis=1)
            bound = 12.0 * p**2 * 2.0**-53 * math.sqrt(1.0 + 1.0 / ridge)
            assert (found <= told * (1.0 + bound)).all()
            assert bound < 1e-8


def test_no_metric_stretches_noise_by_more_than_is_allowed_for() -> None:
    rng = np.random.default_rng(10)
    for _ in range(200):
        p = int(rng.integers(1, 6))
        ridge = 10.0 ** rng.uniform(-4.0, 1.0)
        geometry = Geometry(ridge=ridge, leverage=rng.uniform(1e-3, 1.0) / ridge)
        drawn = 10.0 ** rng.uniform(-3.0, 12.0) * symmetrise(rng.normal(size=(p, p)))
        metric = metric_of(geometry, drawn)
        assert np.linalg.norm(metric.unwhiten, 2) <= longest_stretch(geometry)
        assert np.isfinite(metric.whiten).all()


# --- releases -------------------------------------------------------------------------------------

N_DRAWS = 300


@pytest.mark.parametrize("definition", WITH_METRIC)
def test_the_second_moment_is_released_with_its_law(definition: str) -> None:
    """Diagonal sd s and s/sqrt 2 beside it under zCDP, s = sqrt 2 / (n sqrt(2 rho)); pure, a norm
    that is Gamma(6) at the rate n epsilon / sqrt 2.
    """
    X, y = table(200)
    n, budget = len(X), WITH_METRIC[definition]
    design = make(PRIVATE, budget, n_records=len(X))
    M = second_moment_of(X)
    released = [
        release_metric(y[:, None] * X, design=design, rng=SystemSource()) for _ in range(N_DRAWS)
    ]
    noise = np.array([one.second_moment - M for one in released if one is not None])
    np.testing.assert_array_equal(noise, np.swapaxes(noise, 1, 2))
    above = noise[:, *np.triu_indices(P, 1)]
    v = np.c_[np.diagonal(noise, axis1=1, axis2=2), math.sqrt(2.0) * above]
    if definition == "zcdp":
        sd = math.sqrt(2.0) / (n * math.sqrt(2.0 * 0.005))
        sizes, law = (v / sd).ravel() ** 2, stats.chi2
    else:
        sizes, law = np.linalg.norm(v, axis=1) * n * 0.15 / math.sqrt(2.0), stats.gamma
    count = sizes.size if definition == "zcdp" else 6 * N_DRAWS

    def is_likely(total: float) -> bool:
        return RELEASED < float(law(count).cdf(total)) < 1.0 - RELEASED

    assert is_likely(sizes.sum())
    assert not is_likely(sizes.sum() * 1.5)
    assert not is_likely(sizes.sum() / 1.5)
    # Every coordinate alike, and none tied to another: sd of a mean of products at most 0.17.
    unit = v / math.sqrt((v**2).mean())
    assert np.abs(unit.T @ unit / N_DRAWS - np.eye(6)).max() < 0.17 * 7.0
    assert np.abs(unit.mean(axis=0)).max() < 7.0 / math.sqrt(N_DRAWS)
    bound = metric_noise(design)
    k = grid_under(bound.scale * (1.0 + 2.0 * rounding_of_sums(n) / bound.sensitivity))
    for one in released[:20]:
        assert one is not None
        on_grid(one.second_moment, k)


def on_grid(matrix: Array, exponent: int) -> None:
    """Isometric coordinates are multiples of 2^exponent."""
    diagonal = np.ldexp(np.diag(matrix), -exponent)
    np.testing.assert_array_equal(diagonal, np.round(diagonal))
    above = np.ldexp(math.sqrt(2.0) * matrix[np.triu_indices(P, 1)], -exponent)
    np.testing.assert_allclose(above, np.round(above), rtol=1e-12)


@pytest.mark.parametrize("target", ["penalised", "unpenalised"])
@pytest.mark.parametrize("definition", WITH_METRIC)
def test_both_matrices_keep_to_their_grids_in_a_metric(definition: str, target: str) -> None:
    X, y = table(800)
    design = make(PRIVATE, WITH_METRIC[definition], target=target, n_records=len(X))
    A = y[:, None] * X
    metric = release_metric(A, design=design, rng=SystemSource())
    assert metric is not None
    theta = np.array([1.2, -0.7, 0.9])
    rows = weighted(A, metric)
    found = release_moments(rows, theta, design=design, rng=SystemSource(), whiten=metric.whiten)
    laws = (
        hessian_noise(design),
        covariance_noise(design, float(np.linalg.norm(theta))),
    )
    true = (
        PenalisedRisk(rows, loss=Logistic(), regularization=0.003).moments(found.hessian_at)[0],
        PenalisedRisk(rows, loss=Logistic(), regularization=0.003).moments(theta)[1],
    )
    parts, points = (found.hessian, found.covariance), (found.hessian_at, theta)
    for law, at, matrix, released in zip(laws, points, true, parts, strict=True):
        bound = law.sensitivity + rounding_allowance(design, at, metric.whiten)
        on_grid(released.noisy, grid_under(law.scale * bound / law.sensitivity))
        assert np.abs(released.noisy - metric.matrix(matrix)).max() < 30.0 * law.diagonal_sd(P)
    assert np.linalg.norm(found.hessian_at - theta) <= np.linalg.norm(theta) / 2.0 * (1.0 + 1e-12)


@pytest.mark.parametrize("target", ["penalised", "unpenalised"])
@pytest.mark.parametrize("definition", ["pure", "zcdp"])
def test_a_release_draws_the_metric_first(
    definition: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = table()
    design = make(PRIVATE, WITH_METRIC[definition], target=target)
    order: list[tuple[str, bool]] = []
    for name, place in (
        ("release_metric", private_fit),
        ("train_private", certified),
        ("release_moments", private_fit),
    ):
        run = getattr(place, name)

        def watched(A: Any, *args: Any, name: str = name, run: Any = run, **named: Any) -> Any:
            order.append((name, as_table(A).has_weights))
            return run(A, *args, **named)

        monkeypatch.setattr(place, name, watched)
    drawn = draw_release(X, y, design=design)
    names = ["release_metric", "train_private", "release_moments"]
    assert order == list(zip(names, [False, True, True], strict=True))
    np.testing.assert_array_equal(drawn.theta_priv / GRID, np.round(drawn.theta_priv / GRID))
    assert (drawn.low < drawn.estimate).all()
    assert (drawn.estimate < drawn.high).all()
    assert drawn.second_moment is not None
    law = metric_noise(design)
    bound = 1.0 + 2.0 * rounding_of_sums(len(X)) / law.sensitivity
    on_grid(drawn.second_moment, grid_under(law.scale * bound))
    # What is published leads back to the metric, and the Hessian in it to its floor.
    metric = metric_of(PRIVATE, drawn.second_moment)
    B = metric.penalty(0.003)
    assert np.linalg.eigvalsh(metric.matrix(drawn.hessian) - B)[0] > -1e-9


def test_nothing_is_refused_because_of_what_was_drawn() -> None:
    """Second moments that are nearly all noise, below 0 or far above 1, still lead to a release."""
    X, y = table(500)
    budget = PureDP(model="20", hessian="20", covariance="20", metric="1e-6")
    for _ in range(3):
        drawn = draw_release(X, y, design=make(PRIVATE, budget))
        assert drawn.second_moment is not None
        assert np.abs(drawn.second_moment).max() > 10.0
        assert np.isfinite(drawn.high).all()


def test_a_geometry_changes_no_law() -> None:
    """Every scale is the one without a metric at the same amounts."""
    for calibration in (Calibration.sharp(), Calibration.published()):
        for loss in (Logistic(), HuberSVM(h=0.5)):
            shaped = make(PRIVATE, calibration=calibration, loss=loss)
            plain = dataclasses.replace(
                shaped, geometry=None, budget=dataclasses.replace(shaped.budget, metric=Decimal(0))
            )
            assert model_noise(plain) == model_noise(shaped)
            assert isinstance(model_noise(shaped), NoiseLaw)
            pairs = [
                (
                    hessian_noise(one),
                    covariance_noise(one, 2.0),
                )
                for one in (plain, shaped)
            ]
            for one, other in zip(*pairs, strict=True):
                assert dataclasses.replace(other, floor=one.floor) == one


# --- by hand --------------------------------------------------------------------------------------


def test_a_second_moment_by_hand() -> None:
    rows = np.array([[0.6, 0.8], [0.0, -0.5]])
    expected = [[0.18, 0.24], [0.24, 0.445]]
    np.testing.assert_allclose(second_moment_of(rows), expected, rtol=1e-14)
    heavy = WeightedRows(2.0 * rows, np.array([0.25, 0.25]))
    np.testing.assert_allclose(second_moment_of(heavy), expected, rtol=1e-14)


def test_weights_by_hand() -> None:
    """Leverages 4, 1 and 0.25 in units of the largest: the rows' own weights stay where smaller."""
    metric = metric_of(Geometry(ridge=0.25, leverage=1.0), np.zeros((2, 2)))
    np.testing.assert_allclose(metric.whiten, 2.0 * np.eye(2), rtol=1e-14)
    rows = np.array([[1.0, 0.0], [0.0, 0.5], [0.15, 0.2]])
    np.testing.assert_allclose(weighted(rows, metric).weights, [0.25, 1.0, 1.0], rtol=1e-7)
    own = np.array([0.9, 0.5, 0.125])
    found = weighted(WeightedRows(rows, own), metric)
    np.testing.assert_allclose(found.weights, [0.25, 0.5, 0.125], rtol=1e-7)
    assert found.rows is rows


def test_a_metric_by_hand() -> None:
    """Eigenvalues between 0 and 1, no leverage beyond what a record can have."""
    found = Metric.of(np.diag([0.001, 0.5]), ridge=0.01, leverage=5.0)
    np.testing.assert_allclose(np.diag(found.whiten), [0.055**-0.5, 2.55**-0.5], rtol=1e-12)
    cut = Metric.of(np.diag([-0.2, 3.0]), ridge=0.1, leverage=5.0)
    np.testing.assert_allclose(np.diag(cut.whiten), [0.5**-0.5, 5.5**-0.5], rtol=1e-12)
    wide = Metric.of(np.diag([0.1, 0.5]), ridge=0.1, leverage=1e6)
    np.testing.assert_allclose(np.diag(wide.whiten), [1.0, 3.0**-0.5], rtol=1e-12)
    np.testing.assert_allclose(wide.vector(np.array([2.0, 2.0])), [2.0, 12.0**0.5], rtol=1e-12)
    np.testing.assert_allclose(wide.penalty(0.5), np.diag([1.0, 1.0 / 3.0]), rtol=1e-12)
    np.testing.assert_allclose(wide.matrix(np.diag([2.0, 6.0])), np.diag([2.0, 2.0]), rtol=1e-12)
    np.testing.assert_allclose(wide.back(np.diag([2.0, 2.0])), np.diag([2.0, 6.0]), rtol=1e-12)


def test_the_noise_on_a_second_moment_by_hand() -> None:
    """Of a symmetric matrix: a spherical Laplace vector of six numbers, or Gaussian ones."""
    unit = math.sqrt(2.0) / 2_000
    pure = metric_noise(make(PRIVATE, WITH_METRIC["pure"]))
    assert pure.diagonal_sd(3) == pytest.approx(unit / 0.15 * math.sqrt(7.0), rel=1e-9)
    zcdp = metric_noise(make(PRIVATE, WITH_METRIC["zcdp"]))
    assert zcdp.diagonal_sd(3) == pytest.approx(unit / math.sqrt(2.0 * 0.005), rel=1e-9)


def test_a_release_of_the_second_moment_allows_for_the_rounding_of_two_sums(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, _ = table()
    given: list[dict[str, Any]] = []
    real = metric_release.private_matrix

    def kept(matrix: Array, **named: Any) -> Any:
        given.append(named)
        return real(matrix, **named)

    monkeypatch.setattr(metric_release, "private_matrix", kept)
    design = make(PRIVATE, WITH_METRIC["zcdp"])
    for rng in (np.random.default_rng(1), SystemSource()):
        release_metric(X, design=design, rng=rng)
    seeded, released = given
    assert math.sqrt(2.0) / 2_000 <= seeded["sensitivity"] < math.sqrt(2.0) / 2_000 * (1.0 + 1e-14)
    assert released["sensitivity"] == seeded["sensitivity"] + 2.0 * rounding_of_sums(2_000)
    assert released["sensitivity"] > seeded["sensitivity"]
    assert seeded["symmetric"] is released["symmetric"] is True
