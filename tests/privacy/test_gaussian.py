"""Gaussian differential privacy: conversions against exact arithmetic, the mechanism against its
claim, and what it is refused for; docs/proofs/release.md#definitions-and-composition has the
argument.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from dpci_core import (
    GDP,
    ZCDP,
    ApproxDP,
    Design,
    DPLogisticRegression,
    Geometry,
    Logistic,
    PureDP,
    fit_moments,
    forecast,
    run_experiment,
    zcdp_to_epsilon,
)
from dpci_core.__main__ import main
from dpci_core.base.errors import LedgerError
from dpci_core.intervals.draw import draw_release
from dpci_core.ledger import Cap, Cost, Ledger, price
from dpci_core.plan.codec import plain, read
from dpci_core.plan.content import design_from
from dpci_core.privacy.budget import (
    epsilon_to_zcdp,
    granted,
    pair_budget,
    pure_to_zcdp,
    to_float_down,
)
from dpci_core.privacy.gaussian import gdp_to_delta, gdp_to_epsilon, gdp_to_pure_epsilon
from dpci_core.privacy.randomness import NoiseError, SystemSource
from tests.refusals import refuses

repeatable = settings(derandomize=True, deadline=None, max_examples=40)
SHARES = ("0.5", "0.25", "0.25")
EPSILONS = st.floats(-4.0, 2.5).map(lambda x: float(f"{10**x:.6g}"))
DELTAS = st.floats(-30.0, -0.05).map(lambda x: float(f"{10**x:.6g}"))


def exact_delta(mu_squared: Decimal | float, epsilon: float) -> arb:
    """The formula in 1,000 bits."""
    square = Fraction(mu_squared)
    with ctx.workprec(1000):
        mu = arb(fmpq(square.numerator, square.denominator)).sqrt()
        two, loss = arb(2).sqrt(), arb(epsilon)
        return (
            ((loss / mu - mu / 2) / two).erfc() - loss.exp() * ((loss / mu + mu / 2) / two).erfc()
        ) / 2


def within(mu_squared: Decimal | float, epsilon: float) -> Decimal:
    return GDP.total_within(Decimal(repr(mu_squared)), epsilon)


# --- conversions ----------------------------------------------------------------------------------


def test_values_typed_by_hand() -> None:
    assert gdp_to_delta(1.0, 0.0) == pytest.approx(2 * 0.6914624612740131 - 1, rel=1e-14)
    assert gdp_to_delta(1.0, 1.0) == pytest.approx(0.12693673750664397, rel=1e-13)
    assert gdp_to_delta(4.0, 2.0) == pytest.approx(0.5 - math.exp(2) * 0.022750131948179, rel=1e-12)
    # A promise of (1, 1e-6): rho .02801 where the conversion of zCDP grants .02436.
    assert float(within(1.0, 1e-6)) / 2 == pytest.approx(0.0280144819126, rel=1e-11)
    assert float(epsilon_to_zcdp(1.0, 1e-6)) == pytest.approx(0.0243559703594, rel=1e-11)
    assert float(within(1.0, 1e-12)) / 2 == pytest.approx(0.0116265468685, rel=1e-11)
    assert gdp_to_epsilon(0.0001, 0.5) == 0.0
    assert gdp_to_pure_epsilon(1.0) == pytest.approx(
        math.log(0.6914624612740131 / 0.3085375387259869)
    )


@pytest.mark.parametrize("rho", [0.01, 0.125, 2.0])
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_the_exact_epsilon_solves_the_hockey_stick_integral(rho: float, delta: float) -> None:
    mu, epsilon = math.sqrt(2 * rho), gdp_to_epsilon(2 * rho, delta)
    assert 0 < epsilon < zcdp_to_epsilon(rho, delta)

    def excess(x: float) -> float:
        return max(0.0, stats.norm.pdf(x, mu) - math.exp(epsilon) * stats.norm.pdf(x))

    kink = epsilon / mu + mu / 2
    integral = integrate.quad(excess, kink, kink + 40, epsabs=1e-14, limit=500)[0]
    assert integral == pytest.approx(delta, rel=1e-6)


@repeatable
@given(EPSILONS, DELTAS)
def test_a_budget_keeps_its_promise_exactly_and_hardly_less(epsilon: float, delta: float) -> None:
    total = within(epsilon, delta)
    assert exact_delta(total, epsilon) <= arb(delta)
    if total > 2 * epsilon_to_zcdp(epsilon, delta):
        assert exact_delta(total * (1 + Decimal("1e-7")), epsilon) > arb(delta)
    assert total >= 2 * epsilon_to_zcdp(epsilon, delta)
    assert GDP.epsilon_of(to_float_down(total), delta) <= epsilon
    assert GDP.epsilon_of(float(total), delta) == pytest.approx(epsilon, rel=1e-6, abs=2 * delta)


@repeatable
@given(st.floats(-18.0, 8.0).map(lambda x: 10**x), DELTAS)
def test_an_epsilon_is_proved_and_tight(mu_squared: float, delta: float) -> None:
    epsilon = gdp_to_epsilon(mu_squared, delta)
    assert exact_delta(mu_squared, epsilon) <= arb(delta)
    if epsilon > 0.0:
        assert exact_delta(mu_squared, epsilon * (1 - 1e-12)) > arb(delta)
    assert epsilon <= zcdp_to_epsilon(mu_squared / 2, delta) * (1 + 1e-12)
    assert gdp_to_epsilon(mu_squared * 1.01, delta) >= epsilon
    assert gdp_to_epsilon(mu_squared, delta / 2) >= epsilon


@settings(repeatable, max_examples=15)
@given(st.floats(-18.0, 8.0).map(lambda x: 10**x), st.floats(0.0, 50.0))
def test_a_delta_is_the_exact_one_rounded_up(mu_squared: float, epsilon: float) -> None:
    delta, exact = gdp_to_delta(mu_squared, epsilon), exact_delta(mu_squared, epsilon)
    assert delta == 1.0 or arb(delta) >= exact
    if delta > 1e-300:
        assert arb(delta) <= exact * arb(1 + 2**-50)


@pytest.mark.parametrize(
    ("mu_squared", "epsilon"), [(1e-300, 1.0), (1e300, 1.0), (1.0, 1e9), (5e-324, 0.0)]
)
def test_the_ends_of_the_range_end(mu_squared: float, epsilon: float) -> None:
    delta = gdp_to_delta(mu_squared, epsilon)
    assert 0.0 < delta <= 1.0
    assert (delta == 1.0) == (mu_squared == 1e300)
    epsilon = gdp_to_epsilon(mu_squared, 1e-6)
    assert mu_squared / 2 <= epsilon * 1.001 or epsilon == 0.0
    assert epsilon <= (mu_squared + 1) * 10


def test_a_pure_run_is_the_largest_that_is_gaussian_too() -> None:
    """Randomised response at epsilon: its kinds of error, 1/(1 + e^epsilon), lie on the curve."""
    for mu_squared in (1e-6, 0.04, 1.0, 30.0):
        epsilon = gdp_to_pure_epsilon(mu_squared)
        error = 1.0 / (1.0 + math.exp(epsilon))
        curve = stats.norm.cdf(stats.norm.isf(error) - math.sqrt(mu_squared))
        assert curve == pytest.approx(error, rel=1e-9)
        paid = GDP.cost_of_pure_epsilon(Decimal(repr(epsilon)))
        assert float(paid) == pytest.approx(mu_squared, rel=1e-9)


# --- the mechanism --------------------------------------------------------------------------------


def test_steps_that_depend_on_earlier_ones_cost_the_sum_of_squares() -> None:
    """The second step of two; whatever it does with the first result, its distance is at most m."""
    a, m, epsilon = 0.6, 0.45, 0.7

    def second(loss: float) -> float:
        return float(
            stats.norm.cdf(m / 2 - loss / m) - math.exp(loss) * stats.norm.cdf(-m / 2 - loss / m)
        )

    def integrand(y: float) -> float:
        return float(stats.norm.pdf(y, a)) * second(epsilon - (a * y - a * a / 2))

    both = integrate.quad(integrand, -12, 12, epsabs=1e-13, limit=200)[0]
    assert both == pytest.approx(gdp_to_delta(a * a + m * m, epsilon), rel=1e-8)
    assert both > 1.05 * gdp_to_delta(max(a, m) ** 2, epsilon)


def reached(sd: float, *, shift: float, epsilon: float, exponent: int) -> float:
    """The delta of M(0) against M(shift) on multiples of 2^exponent, from their exact masses."""
    grid = 2.0**exponent
    borders = (np.arange(-40_000, 40_001) + 0.5) * grid
    one, other = (np.diff(stats.norm.cdf(borders, x, sd)) for x in (shift, 0.0))
    return float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.3, 1e-3)])
def test_the_noise_reaches_the_claimed_delta_and_a_tenth_less_exceeds_it(
    epsilon: float, delta: float
) -> None:
    total = within(epsilon, delta)
    noise = GDP.noise(sensitivity=1.0, amount=to_float_down(total))
    claim = {"shift": 1.0, "epsilon": epsilon, "exponent": -9}
    assert 0.99 * delta < reached(noise.scale, **claim) <= delta
    assert reached(noise.scale / 1.1, **claim) > 1.2 * delta


def test_a_release_draws_normal_numbers_of_that_scale() -> None:
    n = 3_000
    noise = GDP.noise(sensitivity=0.5, amount=0.04)
    assert noise.scale == pytest.approx(0.5 / 0.2, rel=1e-12)
    drawn = GDP.add_noise(
        np.full(n, 7.0), noise, SystemSource(), sensitivity=0.5, amount=0.04, exponent=-20
    )
    assert np.array_equal(np.round(drawn * 2**20), drawn * 2**20)
    squares = float(np.mean(((drawn - 7.0) / noise.scale) ** 2))
    # 6 standard errors of a mean of squares; a scale 10 % off has 1.21 or .83.
    assert abs(squares - 1.0) < 6.0 * math.sqrt(2.0 / n)


def test_noise_below_what_was_booked_is_refused_to_the_last_bit() -> None:
    """Typed so that sd mu = s exactly: mu^2 = 1/4, s = 1, sd = 2."""
    given_ = {"sensitivity": 1.0, "mu_squared": 0.25, "exponent": -20}
    source, zero = SystemSource(), np.zeros(2)
    assert source.add_real_gaussian(zero, sd=2.0, **given_).shape == (2,)
    for change in (
        {"sd": math.nextafter(2.0, 0.0)},
        {"sd": 2.0, "sensitivity": math.nextafter(1.0, 2.0)},
        {"sd": 2.0, "mu_squared": math.nextafter(0.25, 0.0)},
    ):
        with pytest.raises(NoiseError, match="too small for what was booked"):
            source.add_real_gaussian(zero, **(given_ | change))
    with pytest.raises(NoiseError, match="finite"):
        source.add_real_gaussian(np.array([math.nan]), sd=2.0, **given_)


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = np.c_[rng.uniform(-0.55, 0.55, (600, 2)), np.full(600, 0.55)]
    return X, np.where(rng.random(600) < 1 / (1 + np.exp(-3.0 * X[:, 0])), 1.0, -1.0)


OUTPUT = Design(
    loss=Logistic(),
    mechanism="output",
    budget=GDP.of("2", shares=SHARES),
    regularization=0.02,
    n_records=600,
    calibration="sharp",
)


def test_a_release_never_draws_from_the_lattice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coefficients and both matrices: three draws, none of them OpenDP's."""
    amounts = []
    real = SystemSource.add_real_gaussian

    def watched(self: SystemSource, values: np.ndarray, **given: float) -> np.ndarray:
        amounts.append((len(values), given["mu_squared"]))
        return real(self, values, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(SystemSource, "add_real_gaussian", watched)
    monkeypatch.delattr(SystemSource, "add_gaussian")
    X, y = table()
    drawn = draw_release(X, y, design=OUTPUT)
    assert sorted(amounts) == [(3, 2.0), (6, 1.0), (6, 1.0)]
    assert [name for name, _ in drawn.shares.lines] == ["model", "hessian", "covariance"]


def test_forecast_and_experiment_agree_and_the_noise_is_that_of_its_rho() -> None:
    X, y = table()
    as_rho = replace(OUTPUT, budget=ZCDP(model="1", hessian="0.5", covariance="0.5"))
    moments = fit_moments(X, y, loss=Logistic(), regularization=0.02)
    ours, theirs = (forecast(moments, design=design) for design in (OUTPUT, as_rho))
    assert ours.ci_length == pytest.approx(theirs.ci_length, rel=1e-9)
    many = run_experiment(
        X,
        y,
        designs=[OUTPUT],
        n_variability=60,
        n_coverage=200,
        rng=np.random.default_rng(6),
    ).designs[0]
    # 4 standard errors, at most 1 % of coverage each.
    assert abs(many.coverage_mean - ours.coverage_mean) < 4.0 * max(many.coverage_se, 0.01)


# --- who gets it, and who is refused --------------------------------------------------------------


def test_a_promise_is_spent_in_the_definition_that_grants_most() -> None:
    asked = ApproxDP("1", "1e-6", SHARES)
    out, obj = (replace(OUTPUT, mechanism=name, budget=asked) for name in ("output", "objective"))
    assert (out.definition, obj.definition) == ("gdp", "zcdp")
    assert obj.budget == asked.to_zcdp()
    assert out.budget.guarantee("1e-6")[0] <= 1.0
    assert out.budget.as_rho(out.budget.total) > Decimal("1.15") * obj.budget.total
    assert design_from(read(Design, plain(out)), out.n_records) == out
    for budget in (ZCDP(model="1", hessian="1", covariance="1"), asked.to_zcdp()):
        assert replace(OUTPUT, budget=budget).budget == budget
    fitted = granted(GDP, Decimal(1), "1e-6", like=obj.budget)
    assert fitted.total == pytest.approx(out.budget.total, rel=Decimal("1e-14"))


def test_noise_in_the_objective_is_never_counted_so() -> None:
    with pytest.raises(ValueError, match="with noise in the objective"):
        replace(OUTPUT, mechanism="objective")
    with pytest.raises(ValueError, match="Expected no geometry"):
        replace(OUTPUT, geometry=Geometry(ridge=0.03, leverage=20))
    X, y = table()
    learner = DPLogisticRegression(
        budget=OUTPUT.budget,
        mechanism="objective",
        regularization=0.02,
        feature_bounds=(-1.0, 1.0),
        random_state=0,
    )
    with pytest.raises(ValueError, match="with noise in the objective"):
        learner.fit(X, y)
    learner.set_params(mechanism="output", budget=ApproxDP("8", "1e-6", SHARES)).fit(X, y)
    said = learner.privacy_
    assert said.definition == "gdp"
    assert 7.99 < said.epsilon(1e-6) <= 8.0
    with pytest.raises(ValueError, match="PureDP or ZCDP, got GDP"):
        pair_budget(OUTPUT.budget, rule="guarantee", delta="1e-6")


@pytest.mark.parametrize(
    "mu", ["0", "-1", "nan", "inf", "1_0", "1e2000", "", "0x1", "1" * 200, True, None, "٣"]
)
def test_nonsense_is_no_mu(mu: object) -> None:
    with pytest.raises(ValueError, match="mu"):
        GDP.of(mu, shares=SHARES)  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "delta"), [("0", "1e-6"), ("1", "0"), ("1", "1"), ("1", "2")])
def test_what_promises_nothing_is_refused(epsilon: str, delta: str) -> None:
    with pytest.raises(ValueError, match="Expected"):
        ApproxDP(epsilon, delta, SHARES)
    with pytest.raises(ValueError, match="Expected"):
        gdp_to_epsilon(float(epsilon), float(delta) if delta != "1e-6" else 2.0)


@pytest.mark.parametrize("shares", [("0.5", "0.5", "0.5"), ("1",), "abc", ("0.5", "0.5", "0")])
def test_shares_of_a_mu_are_checked(shares: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="share"):
        GDP.of("1", shares=shares)


def test_the_command_line_takes_a_mu(capsys: pytest.CaptureFixture[str]) -> None:
    table_ = ["--data", "census", "--features", "3", "--rows", "500", "--loss", "logistic"]
    asked = ["plan", "split", *table_, "--regularization", "0.01", "--calibration", "sharp"]
    assert main([*asked, "--mechanism", "objective", "--mu", "1"]) == 1
    assert "noise in the objective" in capsys.readouterr().err
    assert main([*asked, "--mechanism", "output", "--mu", "1", "--rho", "1"]) == 1
    assert "exactly one of --epsilon, --rho and --mu" in capsys.readouterr().err
    assert main([*asked, "--mechanism", "output", "--mu", "1", "--json"]) == 0
    assert '"gdp"' in capsys.readouterr().out


# --- the ledger -----------------------------------------------------------------------------------


amounts = st.decimals(min_value="0.0001", max_value="9", places=4)


@repeatable
@given(st.lists(st.tuples(st.sampled_from(["pure", "zcdp", "gdp"]), amounts), min_size=1))
def test_a_rho_cap_counts_every_mixture_at_its_rho(costs: list[tuple[str, Decimal]]) -> None:
    """The sum of what is taken is the exact rho of all of it, whatever the order."""
    rho = {"pure": lambda a: pure_to_zcdp(a), "zcdp": lambda a: a, "gdp": lambda a: a / 2}
    cap = Cap.approx(1, "1e-6")
    taken = sum(price(cap, Cost(definition=kind, amount=amount)) for kind, amount in costs)
    assert taken == sum(rho[kind](amount) for kind, amount in costs)


def test_a_mu_cap_takes_what_is_gaussian_and_nothing_else(tmp_path: Path) -> None:
    cap = Cap.approx(1, "1e-6", definition="gdp")
    assert cap.amount == within(1.0, 1e-6)
    assert Cap.gdp("0.5").amount == Decimal("0.25")
    assert price(cap, Cost(definition="gdp", amount="0.01")) == Decimal("0.01")
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.create_dataset("clinic", schema_hash="s", cap=cap, unit="a person", person="p")

    def book(definition: str, amount: object, name: str) -> None:
        cost = Cost(definition=definition, amount=amount)  # type: ignore[arg-type]
        ledger.book(
            "clinic",
            cost=cost,
            schema_hash="s",
            purpose="q",
            plan_hash="h",
            request_id=name,
            person="p",
        )

    with refuses(LedgerError, match="only releases under Gaussian differential privacy"):
        book("zcdp", "0.001", "rho")
    with refuses(LedgerError, match="only releases under Gaussian differential privacy"):
        book("pure", "0.001", "epsilon")
    book("gdp", cap.amount, "all")
    with pytest.raises(LedgerError):
        book("gdp", "1e-29", "more")
    assert ledger.verify().is_good
    with refuses(LedgerError, match="no pure epsilon"):
        price(Cap.pure(1), Cost(definition="gdp", amount="0.01"))


def test_the_promise_in_mu_does_not_fit_under_the_same_promise_counted_in_rho() -> None:
    """So the refusal is safe: a rho cap never grants what only exact accounting covers."""
    plan = ApproxDP("1", "1e-6", SHARES).to_gdp()
    cost = Cost(definition="gdp", amount=plan.total)
    assert price(Cap.approx(1, "1e-6"), cost) > Cap.approx(1, "1e-6").amount
    assert price(Cap.approx(1, "1e-6", definition="gdp"), cost) <= within(1.0, 1e-6)
    assert PureDP.price_of(GDP, plan.total) is None
