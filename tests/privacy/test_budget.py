"""Budgets in exact decimals, and conversions against OpenDP's, closed forms and brute force."""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable
from decimal import Decimal

import opendp.prelude as dp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpci_core.base.errors import DigitsError, NotNumberError
from dpci_core.privacy.budget import (
    ZCDP,
    ApproxDP,
    PureDP,
    approx_risk,
    epsilon_to_zcdp,
    pair_budget,
    pure_risk,
    pure_to_zcdp,
    to_decimal,
    to_float_down,
    zcdp_to_epsilon,
    zcdp_to_epsilon_published,
    zcdp_to_pure_epsilon,
)

RHOS = (1e-4, 0.01, 0.1875, 1.0, 5.0)
DELTAS = (1e-12, 1e-6, 1e-3, 0.05)
PARTS = ("model", "hessian", "covariance")
repeatable = settings(derandomize=True, deadline=None)
amounts = st.decimals(min_value="1e-6", max_value="100", allow_nan=False, places=8)


# --- exact decimals -------------------------------------------------------------------------------


@repeatable
@given(amounts, amounts, amounts)
def test_the_total_is_the_exact_sum_of_the_parts(a: Decimal, b: Decimal, c: Decimal) -> None:
    budget = PureDP(model=a, hessian=b, covariance=c)
    assert budget.parts == (a, b, c)
    as_integers = sum(int(x.scaleb(8)) for x in (a, b, c))
    assert int(budget.total.scaleb(8)) == as_integers


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (Decimal("0." + "3" * 101), DigitsError),
        ("0." + "3" * 101, DigitsError),
        ("0." + "3" * 100_000, NotNumberError),
        ("1_0", NotNumberError),
        ("\u0661", NotNumberError),
        (10**3000, DigitsError),
        ("1e-9999999", DigitsError),
    ],
)
def test_an_amount_is_bounded_before_any_exact_arithmetic(given, kind) -> None:
    with pytest.raises(kind) as refused:
        PureDP(model=given, hessian=1, covariance=1)
    assert len(str(refused.value)) < 250
    assert PureDP(model="0." + "3" * 100, hessian=1, covariance=1).total > 2


def test_a_float_counts_as_the_digits_it_prints() -> None:
    assert PureDP(model=0.1, hessian=0.1, covariance=0.1).total == Decimal("0.3")
    assert ZCDP(model="0.1", hessian=1, covariance=Decimal("0.2")).total == Decimal("1.3")


@pytest.mark.parametrize(
    ("bad", "rule"),
    [(bad, f"={bad} > 0 and finite.") for bad in (0, 0.0, -1, -0.5, math.nan, math.inf)]
    + [(bad, f"={bad} > 0 and finite.") for bad in ("0", "-0.1", "nan", "-inf", Decimal("sNaN"))]
    + [(bad, f"={bad!r} to be a number.") for bad in ("abc", "", "1,5")]
    + [(bad, f" to be a number, got {type(bad).__name__}.") for bad in (True, None, [1], 1j)],
)
@pytest.mark.parametrize("name", PARTS)
def test_a_bad_part_is_refused_by_name_rule_and_value(bad: object, rule: str, name: str) -> None:
    parts = dict.fromkeys(PARTS, "1") | {name: bad}
    for kind in (PureDP, ZCDP):
        with pytest.raises(ValueError, match=re.escape(f"Expected {name}{rule}")):
            kind(**parts)  # type: ignore[arg-type]


def test_parts_cannot_be_changed_and_definitions_are_not_equal() -> None:
    same = dict.fromkeys(PARTS, "1")
    with pytest.raises(AttributeError):
        PureDP(**same).model = Decimal(2)  # type: ignore[misc]
    assert PureDP(**same) != ZCDP(**same)


@repeatable
@given(st.decimals(min_value="1e-20", max_value="1e20", allow_nan=False))
def test_floats_never_exceed_the_amount(amount: Decimal) -> None:
    down = to_float_down(amount)
    assert Decimal(down) <= amount < Decimal(math.nextafter(down, math.inf))


@pytest.mark.parametrize("precision", [5, 28])
def test_shares_must_add_up_exactly_whatever_the_callers_context(precision: int) -> None:
    with decimal.localcontext(prec=precision):
        assert PureDP(model="0.1", hessian="1e-30", covariance="1").total == Decimal(
            "1.100000000000000000000000000001"
        )
        assert ApproxDP("1", "1e-6", ("0.5", "0.25", "0.25")).shares[0] == Decimal("0.5")
        for last in ("0.25000000000000000000000000000001", "0.249999", "0.250001"):
            with pytest.raises(ValueError, match="add up to exactly 1"):
                ApproxDP("1", "1e-6", ("0.5", "0.25", last))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"epsilon": 0}, "epsilon=0 > 0"),
        ({"delta": "0"}, "delta=0 > 0"),
        ({"delta": 1}, "delta=1 < 1"),
        ({"shares": ("0.5", "0.5")}, "3 or 4 entries, got 2"),
        ({"shares": ("0", "0.5", "0.5")}, "model share=0 > 0"),
        ({"shares": ("1", "-0.5", "0.5")}, "hessian share=-0.5 > 0"),
    ],
)
def test_a_bad_approximate_budget_is_refused(changes: dict[str, object], rule: str) -> None:
    given_values = {"epsilon": "1", "delta": "1e-6", "shares": ("0.5", "0.25", "0.25"), **changes}
    with pytest.raises(ValueError, match=rule):
        ApproxDP(**given_values)  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.01", "0.1"), ("20", "1e-12")])
def test_an_approximate_budget_is_never_exceeded_and_hardly_wasted(
    epsilon: str, delta: str
) -> None:
    spent = ApproxDP(epsilon, delta, ("0.5", "0.3", "0.2")).to_zcdp()
    rho = epsilon_to_zcdp(float(epsilon), float(delta))
    assert Decimal("0.99999999999") * rho <= spent.total <= rho
    assert spent.model / spent.total == pytest.approx(Decimal("0.5"), rel=Decimal("1e-9"))


def test_long_shares_are_rounded_down() -> None:
    third, rest = "0." + 40 * "3", "0." + 39 * "3" + "4"
    spent = ApproxDP("1", "1e-6", (third, third, rest)).to_zcdp()
    rho = epsilon_to_zcdp(1.0, 1e-6)
    assert spent.total < rho
    assert rho * (1 - Decimal("1e-26")) < spent.total


# --- zCDP and (epsilon, delta) --------------------------------------------------------------------


def opendp_profile(rho: float) -> dp.PrivacyProfile:
    """What OpenDP says of a rho-zCDP measurement."""
    dp.enable_features("contrib")
    gaussian = dp.m.make_gaussian(
        dp.atom_domain(T=float, nan=False),
        dp.absolute_distance(T=float),
        scale=1.0 / math.sqrt(2.0 * rho),
    )
    return dp.c.make_zCDP_to_approxDP(gaussian).map(1.0)


def lowest(bound: Callable[[Decimal], Decimal]) -> Decimal:
    """Minimum over the orders alpha = 1 + k of a bound with one valley in log k; no derivative, 40
    digits.
    """
    with decimal.localcontext(prec=40):
        low, high = Decimal(-12), Decimal(12)
        for _ in range(60):
            one, two = (2 * low + high) / 3, (low + 2 * high) / 3
            low, high = (low, two) if bound(one.exp()) < bound(two.exp()) else (one, high)
        return bound(low.exp())


def exact_epsilon(rho: float, delta: float) -> Decimal:
    r, d = Decimal(rho), Decimal(delta)
    return lowest(lambda k: (1 + k) * r + (k / (1 + k)).ln() - (d.ln() + (1 + k).ln()) / k)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_epsilon_agrees_with_opendp_and_never_undercuts_the_optimum(
    rho: float, delta: float
) -> None:
    ours, optimum = Decimal(zcdp_to_epsilon(rho, delta)), max(Decimal(0), exact_epsilon(rho, delta))
    assert optimum <= ours <= optimum * (1 + Decimal("1e-11"))
    assert float(ours) == pytest.approx(opendp_profile(rho).epsilon(delta), rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_published_conversion_is_looser_and_as_printed(rho: float, delta: float) -> None:
    published = zcdp_to_epsilon_published(rho, delta)
    r, d = Decimal(rho), Decimal(delta)
    exact = r + 2 * (r * -d.ln()).sqrt()
    assert exact <= Decimal(published) <= exact * (1 + Decimal("2e-12"))
    assert zcdp_to_epsilon(rho, delta) < published


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (1.0, 1e-6),
        (0.01, 0.1),
        (0.1, 0.5),
        (1e-6, 0.01),
        (1e-6, 1e-6),
        (5.0, 0.9),
        (1e5, 1e-6),
        (20.0, 1e-15),
    ],
)
def test_the_largest_rho_keeps_the_guarantee(epsilon: float, delta: float) -> None:
    rho = epsilon_to_zcdp(epsilon, delta)
    assert zcdp_to_epsilon(to_float_down(rho), delta) <= epsilon
    assert zcdp_to_epsilon(float(rho) * (1 + 1e-9), delta) > epsilon


@repeatable
@given(st.floats(1e-9, 1e4), st.floats(1e-15, 0.999))
def test_a_solved_rho_never_breaks_its_guarantee(epsilon: float, delta: float) -> None:
    rho = epsilon_to_zcdp(epsilon, delta)
    assert zcdp_to_epsilon(to_float_down(rho), delta) <= epsilon
    assert len(rho.as_tuple().digits) <= 12


# --- pure and zCDP --------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "rho"), [("0.5", "0.125"), ("1", "0.5"), ("0.3", "0.045")])
def test_pure_costs_half_its_square(epsilon: str, rho: str) -> None:
    assert pure_to_zcdp(epsilon) == Decimal(rho)


@repeatable
@given(amounts)
def test_a_pure_run_never_costs_more_than_its_rho(rho: Decimal) -> None:
    epsilon = zcdp_to_pure_epsilon(rho)
    assert pure_to_zcdp(Decimal(epsilon)) <= rho
    assert pure_to_zcdp(Decimal(epsilon * (1 + 1e-14))) > rho


def test_a_pure_run_is_rounded_down_where_the_root_is_nearly_a_float() -> None:
    assert zcdp_to_pure_epsilon("4.4" + 40 * "9") == math.nextafter(3.0, 0.0)


# --- pairing and risk -----------------------------------------------------------------------------


def test_pairing_by_the_paper_is_part_by_part_and_exact() -> None:
    pure = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    rho = pair_budget(pure, rule="paper", delta="1e-6")
    assert rho == ZCDP(model="0.125", hessian="0.03125", covariance="0.03125")
    assert pair_budget(rho, rule="paper", delta="1e-6") == pure


@repeatable
@given(st.tuples(*[st.decimals(min_value="0.001", max_value="99", places=3)] * 3))
def test_pairing_by_the_paper_there_and_back_is_exact_for_short_decimals(
    parts: tuple[Decimal, ...],
) -> None:
    pure = PureDP(**dict(zip(PARTS, parts, strict=True)))
    assert (
        pair_budget(pair_budget(pure, rule="paper", delta="1e-6"), rule="paper", delta="1e-6")
        == pure
    )


@repeatable
@given(amounts, amounts, amounts)
def test_pairing_by_the_paper_never_costs_more_than_its_rho(
    a: Decimal, b: Decimal, c: Decimal
) -> None:
    rho = ZCDP(model=a, hessian=b, covariance=c)
    for epsilon, part in zip(
        pair_budget(rho, rule="paper", delta="1e-6").parts, rho.parts, strict=True
    ):
        assert pure_to_zcdp(epsilon) <= part <= pure_to_zcdp(epsilon) * (1 + Decimal("1e-10"))


@repeatable
@given(amounts, amounts, amounts)
def test_pairing_by_guarantee_never_promises_less(a: Decimal, b: Decimal, c: Decimal) -> None:
    pure = PureDP(model=a, hessian=b, covariance=c)
    rho = pair_budget(pure, rule="guarantee", delta="1e-6")
    assert zcdp_to_epsilon(to_float_down(rho.total), 1e-6) <= pure.total
    assert float(rho.parts[0] / rho.total) == pytest.approx(float(a / pure.total), rel=1e-9)
    back = pair_budget(rho, rule="guarantee", delta="1e-6")
    assert isinstance(back, PureDP)
    assert rho.total <= epsilon_to_zcdp(to_float_down(pure.total), 1e-6)
    assert pure.total * (1 - Decimal("1e-6")) <= back.total <= pure.total


def test_an_unknown_pairing_is_refused() -> None:
    with pytest.raises(ValueError, match="rule='equal'"):
        pair_budget(PureDP(model=1, hessian=1, covariance=1), rule="equal", delta="1e-6")  # type: ignore[arg-type]


@repeatable
@given(st.floats(0.01, 10), st.floats(0.01, 0.99))
def test_pure_risk_multiplies_the_odds_by_e_to_epsilon(epsilon: float, prior: float) -> None:
    risk = pure_risk(epsilon, prior)
    assert risk / (1 - risk) == pytest.approx(math.exp(epsilon) * prior / (1 - prior), rel=1e-6)


def test_an_even_prior_is_assumed() -> None:
    assert pure_risk(1.0) == pure_risk(1.0, 0.5)


def test_approx_risk() -> None:
    assert approx_risk(math.log(3), 0.001, 0.02) == pytest.approx(0.061)
    assert approx_risk(0.0, 1e-6) == pytest.approx(0.010001, rel=1e-12)
    assert approx_risk(1e6, 1e-6) == approx_risk(50.0, 1e-6) == 1.0


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_conversions_refuse_what_is_no_budget(bad: float) -> None:
    for value in (0.0, bad):
        for call in (
            zcdp_to_epsilon,
            zcdp_to_epsilon_published,
        ):
            with pytest.raises(ValueError, match=f"rho={value} > 0 and finite"):
                call(value, 1e-6)
        for call in (epsilon_to_zcdp, pure_risk):
            with pytest.raises(ValueError, match=f"epsilon={value} > 0 and finite"):
                call(value, 0.5)
        with pytest.raises(ValueError, match=f"name={value} > 0 and finite"):
            to_decimal(value, name="name")
    for outside in (0.0, 1.0, bad):
        rule = f"0 < delta={outside} < 1"
        for call in (
            zcdp_to_epsilon,
            zcdp_to_epsilon_published,
            epsilon_to_zcdp,
            approx_risk,
        ):
            with pytest.raises(ValueError, match=rule):
                call(1.0, outside)
        with pytest.raises(ValueError, match=f"0 < prior={outside} < 1"):
            pure_risk(1.0, outside)
        with pytest.raises(ValueError, match=f"0 < false_alarms={outside} < 1"):
            approx_risk(1.0, 1e-6, outside)


def test_a_negative_epsilon_is_refused() -> None:
    with pytest.raises(ValueError, match=r"epsilon=-1\.0 >= 0"):
        approx_risk(-1.0, 1e-6)
