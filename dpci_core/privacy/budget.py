"""Privacy budgets in exact decimals, and the conversions between definitions.

Neighbouring tables differ in the value of one record; the number of records is public.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from functools import reduce
from numbers import Integral
from typing import ClassVar, Literal, Self

import numpy as np
from scipy.special import ndtri_exp

from dpci_core.base.array import Array
from dpci_core.base.calls import Called
from dpci_core.base.decimals import DOWN, DOWN_3, EXACT, STRICT, UP, UP_3
from dpci_core.base.errors import (
    Change,
    DigitsError,
    InfeasibleDesignError,
    NotNumberError,
    RangeError,
    check_choice,
    check_positive,
    check_probability,
    shown_short,
)
from dpci_core.base.limits import BUDGET_PART, DELTA
from dpci_core.base.roots import find_root
from dpci_core.privacy.gaussian import epsilon_to_gdp, gdp_to_epsilon, gdp_to_pure_epsilon
from dpci_core.privacy.laws import Law, NoiseLaw, noise_law
from dpci_core.privacy.randomness import NoiseSource, SystemSource

Amount = str | int | float | Decimal
Pairing = Literal["paper", "guarantee"]

PARTS = ("model", "hessian", "covariance")
"""Names of the parts of a budget, in their order."""
Parts = tuple[Decimal, Decimal, Decimal]
"""Amounts or shares of the parts, in that order."""
MOST_DIGITS = 100
"""Significant digits of an amount: exact arithmetic with it ends at once, and every total and every
square of the ledger is exact in `STRICT`.
"""
_LONGEST = 1_000
_RHO_DIGITS = 12
"""Significant digits kept of a rho that was solved for, rounded down."""
_SHORT = Context(prec=16, rounding=ROUND_FLOOR)
_SAFETY = 1e-12
"""Relative slack by which a converted guarantee is rounded to the private side, far above its
rounding error.
"""


def to_decimal(value: Amount, *, name: str) -> Decimal:
    """Return an amount as a positive finite Decimal; a float counts as the digits Python prints for
    it.

    Exact sums and quotients take time with the digits, so they are bounded before any arithmetic.

    Args:
        value: > 0; of at most `MOST_DIGITS` significant digits, a text of ASCII digits without "_".
        name: of the argument, for the error.

    Raises:
        NotNumberError: for what is no number, or written with more digits.
        RangeError: for one that is not positive and finite.

    >>> to_decimal(0.1, name="epsilon")
    Decimal('0.1')
    """
    given = _plain(value)
    if given is None or (isinstance(given, str) and not _is_plain(given)):
        raise NotNumberError(name, value)
    try:
        amount = Decimal(given)
    except InvalidOperation:
        raise NotNumberError(name, value) from None
    if not amount.is_finite() or amount <= 0:
        raise RangeError(name, amount, 0.0, shown=shown_short(value).strip("'"))
    if len(amount.as_tuple().digits) > MOST_DIGITS or abs(amount.adjusted()) > _LONGEST:
        raise DigitsError(name, value, MOST_DIGITS)
    return amount


def _is_plain(text: str) -> bool:
    """Whether a text can be an amount: Python also takes "1_0" and the digits of other scripts."""
    return len(text) <= _LONGEST and text.isascii() and "_" not in text


def _plain(value: object) -> str | int | Decimal | None:
    """What `Decimal` takes for an amount, also one of NumPy; None if this is not an amount."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str | Decimal):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float):
        return repr(float(value))
    return str(value) if isinstance(value, np.floating) else None


def to_float_down(amount: Decimal) -> float:
    """Return the largest float that does not exceed a decimal amount: the private side of a
    budget.
    """
    nearest = float(amount)
    return nearest if Decimal(nearest) <= amount else math.nextafter(nearest, 0.0)


def check_amount(limits: tuple[float, float], **amounts: Decimal) -> None:
    """Raise ValueError unless every exact amount lies within the limits."""
    low, high = limits
    for name, amount in amounts.items():
        if not Decimal(repr(low)) <= amount <= Decimal(repr(high)):
            raise RangeError(name, amount, low, high, shown=shown_short(amount))


@dataclass(frozen=True)
class Budget(Called, ABC):
    """A budget for the coefficients, the Hessian and the gradient covariance, composed adaptively,
    and for the metric where one is released before them.

    Each subclass is one privacy definition: what its amounts are called, which noise they ask for,
    and what they mean elsewhere. `DEFINITIONS` lists those that a design may have.
    """

    definition: ClassVar[str]
    """Its name, in files too."""
    symbol: ClassVar[str]
    """The word that stands before an amount."""
    letter: ClassVar[str]
    """The same in a formula."""
    law: ClassVar[Law]
    """Of the noise on matrices and on a minimiser."""
    has_delta: ClassVar[bool]
    """Whether an amount means an epsilon only together with a delta."""
    title: ClassVar[str]
    """What a reader calls it."""
    promise: ClassVar[str]
    """What a release with an `{amount}` is."""
    additive_only: ClassVar[bool] = False
    """Whether it promises something only where all noise is added to what is released, and none
    joins an objective.
    """

    call_hint = (
        "Write {name}(model='0.5', hessian='0.25', covariance='0.25'): an amount for the "
        "coefficients and one for each matrix of the intervals, together 1."
    )
    model: Decimal
    hessian: Decimal
    covariance: Decimal
    metric: Decimal = Decimal(0)
    """Of the second moment that shapes the noise (`design.Geometry`); 0 where none is released."""

    def __init__(
        self, *, model: Amount, hessian: Amount, covariance: Amount, metric: Amount | None = None
    ) -> None:
        for name, value in zip(PARTS, (model, hessian, covariance), strict=True):
            object.__setattr__(self, name, to_decimal(value, name=name))
        is_absent = metric is None or (isinstance(metric, Decimal) and metric == 0)
        found = Decimal(0) if is_absent else to_decimal(metric, name="metric")  # type: ignore[arg-type]
        object.__setattr__(self, "metric", found)

    def __repr__(self) -> str:
        parts = [*PARTS, *(["metric"] if self.metric else [])]
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in parts)
        return f"{type(self).__name__}({shown})"

    @property
    def parts(self) -> Parts:
        """(model, hessian, covariance)."""
        return self.model, self.hessian, self.covariance

    @property
    def lines(self) -> tuple[tuple[str, Decimal], ...]:
        """All parts by name in the order of their release, the metric where there is one."""
        metric = (("metric", self.metric),) if self.metric else ()
        return (*metric, *zip(PARTS, self.parts, strict=True))

    @property
    def total(self) -> Decimal:
        """The exact sum of all parts."""
        three = EXACT.add(EXACT.add(self.model, self.hessian), self.covariance)
        return EXACT.add(three, self.metric) if self.metric else three

    def divided(self, n_parts: int) -> tuple[Self, ...]:
        """Return n_parts budgets that add up to this one exactly, part by part; equal up to the
        28th digit.

        >>> [str(b.model) for b in PureDP(model="0.6", hessian="0.3", covariance="0.3").divided(3)]
        ['0.2', '0.2', '0.2']
        """
        names = [name for name, _ in self.lines]
        divided = [_divided(amount, n_parts) for _, amount in self.lines]
        return tuple(
            type(self)(**dict(zip(names, amounts, strict=True)))
            for amounts in zip(*divided, strict=True)
        )

    def guarantee(self, delta: float | Decimal) -> tuple[float, float]:
        """What the total means as (epsilon, delta); delta is 0 where none is needed."""
        at = float(delta) if self.has_delta else 0.0
        return self.epsilon_of(float(self.total), at), at

    @classmethod
    @abstractmethod
    def epsilon_of(cls, amount: float, delta: float) -> float:
        """The epsilon that an amount means at a delta."""

    @classmethod
    @abstractmethod
    def as_rho(cls, amount: Amount) -> Decimal:
        """The zCDP that an amount implies, exactly: what it costs beside amounts of a rho."""

    @classmethod
    def price_of(cls, other: type[Budget], amount: Decimal) -> Decimal | None:
        """What an amount of another definition costs in this one, exactly; None if no amount covers
        it.
        """
        return amount if other is cls else None

    @classmethod
    @abstractmethod
    def pure_epsilon_within(cls, amount: Amount) -> float:
        """The largest float epsilon at which a purely private mechanism costs at most this
        amount.
        """

    @classmethod
    @abstractmethod
    def cost_of_pure_epsilon(cls, epsilon: Decimal) -> Decimal:
        """The amount that pays for a mechanism run at a pure epsilon, rounded up."""

    @classmethod
    @abstractmethod
    def total_within(cls, epsilon: Decimal, delta: float) -> Decimal | None:
        """The largest total that keeps (epsilon, delta), rounded down; None if none does."""

    @classmethod
    def noise_parameter(cls, amount: float) -> float:
        """Return a budget amount as epsilon (Laplace noise) or rho (Gaussian noise; mu^2/2 under
        GDP).
        """
        return amount

    @classmethod
    def cost_of_noise_parameter(cls, amount: Decimal) -> Decimal:
        """The inverse of `noise_parameter`, rounded up."""
        return amount

    @classmethod
    def noise(cls, *, sensitivity: float, amount: float, divided_by: float = 1.0) -> NoiseLaw:
        """Return the noise that makes values of L2 sensitivity sensitivity / divided_by
        amount-private.
        """
        amount = cls.noise_parameter(amount)
        return noise_law(cls.law, sensitivity=sensitivity, amount=amount, divided_by=divided_by)

    @classmethod
    def add_noise(
        cls,
        values: Array,
        noise: NoiseLaw,
        rng: NoiseSource,
        *,
        sensitivity: float,
        amount: float,
        exponent: int,
    ) -> Array:
        """Return values (k,) plus one draw of `noise`; in a release exact, checked and on a grid.

        Args:
            sensitivity: L2, of the values as they are in floating point.
            amount: that was booked, in this definition.
            exponent: the sum is rounded to multiples of 2 to this; a public number.
        """
        amount = cls.noise_parameter(amount)
        return noise.add_to(values, rng, sensitivity=sensitivity, amount=amount, exponent=exponent)


class PureDP(Budget):
    """Three parts of a pure epsilon; together they are `total`-differentially private [WKL Theorems
    2, 4].

    >>> PureDP(model="0.1", hessian=0.1, covariance="0.1").total
    Decimal('0.3')
    """

    definition = "pure"
    symbol = "epsilon"
    letter = "ε"
    law = "laplace"
    has_delta = False
    title = "pure differential privacy"
    promise = "{amount}-differentially private (pure epsilon)"

    @classmethod
    def epsilon_of(cls, amount: float, delta: float) -> float:
        return amount

    @classmethod
    def as_rho(cls, amount: Amount) -> Decimal:
        """epsilon^2/2 [BS16 Prop. 1.4], every digit of it."""
        epsilon = to_decimal(amount, name="epsilon")
        return STRICT.divide(STRICT.multiply(epsilon, epsilon), Decimal(2))

    @classmethod
    def pure_epsilon_within(cls, amount: Amount) -> float:
        return to_float_down(to_decimal(amount, name="epsilon"))

    @classmethod
    def cost_of_pure_epsilon(cls, epsilon: Decimal) -> Decimal:
        return epsilon

    @classmethod
    def total_within(cls, epsilon: Decimal, delta: float) -> Decimal | None:
        return epsilon


class ZCDP(Budget):
    """Three parts of a concentrated budget rho; together they are `total`-zCDP [BS16 Lemma 2.3,
    adaptive].

    >>> ZCDP(model="0.125", hessian="0.03125", covariance="0.03125").total
    Decimal('0.18750')
    """

    definition = "zcdp"
    symbol = "rho"
    letter = "ρ"
    law = "gaussian"
    has_delta = True
    title = "zero-concentrated differential privacy"
    promise = "{amount}-zCDP (rho)"
    call_hint = (
        "Write {name}(model='0.012', hessian='0.006', covariance='0.006'): an amount for the "
        "coefficients and one for each matrix of the intervals, together 0.024, which is about an "
        "epsilon of 1 at a delta of 1e-6."
    )

    @classmethod
    def epsilon_of(cls, amount: float, delta: float) -> float:
        """By `zcdp_to_epsilon`, the conversion that is shown everywhere."""
        return zcdp_to_epsilon(amount, delta)

    @classmethod
    def as_rho(cls, amount: Amount) -> Decimal:
        return to_decimal(amount, name="rho")

    @classmethod
    def price_of(cls, other: type[Budget], amount: Decimal) -> Decimal | None:
        return other.as_rho(amount)

    @classmethod
    def pure_epsilon_within(cls, amount: Amount) -> float:
        return zcdp_to_pure_epsilon(amount)

    @classmethod
    def cost_of_pure_epsilon(cls, epsilon: Decimal) -> Decimal:
        """epsilon^2/2 [BS16 Prop. 1.4]."""
        return UP.multiply(epsilon, UP.divide(epsilon, Decimal(2)))

    @classmethod
    def total_within(cls, epsilon: Decimal, delta: float) -> Decimal | None:
        return epsilon_to_zcdp(to_float_down(epsilon), delta) if delta > 0.0 else None


class GDP(Budget):
    """Three parts of Gaussian differential privacy in amounts of mu^2; together they are
    sqrt(`total`)-GDP [DRS22 Corollary 3.3, adaptive].

    For releases whose noise is exactly Gaussian throughout, so not for a perturbed objective, whose
    theorem is one of zCDP.

    >>> GDP.of("0.3", shares=("0.5", "0.25", "0.25")).total
    Decimal('0.0900')
    """

    definition = "gdp"
    symbol = "mu^2"
    letter = "μ²"
    law = "gaussian"
    has_delta = True
    title = "Gaussian differential privacy"
    promise = "mu-GDP with mu^2 = {amount}"
    additive_only = True

    @classmethod
    def of(cls, mu: Amount, *, shares: Sequence[Amount]) -> GDP:
        """A budget of mu, its square to 28 digits split by shares that add up to 1."""
        exact = to_decimal(mu, name="mu")
        return cls(**_shared(DOWN.multiply(exact, exact), _checked_shares(shares), EXACT))

    @classmethod
    def epsilon_of(cls, amount: float, delta: float) -> float:
        """By `gdp_to_epsilon`, of the next float: the exact amount can be above this one."""
        return gdp_to_epsilon(math.nextafter(amount, math.inf), delta)

    @classmethod
    def as_rho(cls, amount: Amount) -> Decimal:
        """mu^2/2, every digit of it: what Gaussian noise costs in zCDP [BS16 Prop. 1.6]."""
        return STRICT.divide(to_decimal(amount, name="mu^2"), Decimal(2))

    @classmethod
    def pure_epsilon_within(cls, amount: Amount) -> float:
        return gdp_to_pure_epsilon(to_float_down(to_decimal(amount, name="mu^2")))

    @classmethod
    def cost_of_pure_epsilon(cls, epsilon: Decimal) -> Decimal:
        """(2 Phi^-1(e^epsilon / (1 + e^epsilon)))^2, the inverse of `gdp_to_pure_epsilon`."""
        mu = -2.0 * float(ndtri_exp(-np.logaddexp(0.0, float(epsilon))))
        return UP.create_decimal_from_float(mu * mu * (1.0 + _SAFETY))

    @classmethod
    def total_within(cls, epsilon: Decimal, delta: float) -> Decimal | None:
        """By `epsilon_to_gdp`; never less than zCDP grants."""
        rho = ZCDP.total_within(epsilon, delta)
        if rho is None:
            return None
        least = EXACT.multiply(rho, Decimal(2))
        return epsilon_to_gdp(to_float_down(epsilon), delta, at_least=least)

    @classmethod
    def noise_parameter(cls, amount: float) -> float:
        return amount / 2.0

    @classmethod
    def cost_of_noise_parameter(cls, amount: Decimal) -> Decimal:
        return EXACT.multiply(amount, Decimal(2))

    @classmethod
    def add_noise(
        cls,
        values: Array,
        noise: NoiseLaw,
        rng: NoiseSource,
        *,
        sensitivity: float,
        amount: float,
        exponent: int,
    ) -> Array:
        """As `Budget.add_noise`; a release draws real normal numbers, for which the promise is
        proved, and none from a lattice.
        """
        if not isinstance(rng, SystemSource):
            return values + noise.sample(len(values), rng)
        return rng.add_real_gaussian(
            values, sd=noise.scale, sensitivity=sensitivity, mu_squared=amount, exponent=exponent
        )


DEFINITIONS: dict[str, type[Budget]] = {kind.definition: kind for kind in (PureDP, ZCDP, GDP)}
"""Every privacy definition by name, in the order in which they are listed; a further one is added
here.
"""


def definition_named(name: str, *, argument: str = "definition") -> type[Budget]:
    """Return the definition of a name; ValueError naming the argument for a name that is none."""
    check_choice(name, tuple(DEFINITIONS), name=argument)
    return DEFINITIONS[name]


@dataclass(frozen=True)
class ApproxDP:
    """An (epsilon, delta) budget with the shares of its parts; a design spends it through the
    definition that grants its mechanism the most: `GDP` where all noise is exactly Gaussian, else
    `ZCDP`.

    Args:
        epsilon: > 0.
        delta: in (0, 1).
        shares: of model, Hessian and covariance, and of the metric where one is released; they add
            up to 1.
    """

    epsilon: Decimal
    delta: Decimal
    shares: tuple[Decimal, ...]

    def __init__(self, epsilon: Amount, delta: Amount, shares: tuple[Amount, ...]) -> None:
        object.__setattr__(self, "epsilon", to_decimal(epsilon, name="epsilon"))
        object.__setattr__(self, "delta", to_decimal(delta, name="delta"))
        check_amount(BUDGET_PART, epsilon=self.epsilon)
        if self.delta >= 1:
            raise RangeError("delta", self.delta, high=1.0, is_open=True, shown=f"{self.delta}")
        check_amount(DELTA, delta=self.delta)
        object.__setattr__(self, "shares", _checked_shares(shares))

    def to_zcdp(self) -> ZCDP:
        """Return the largest zCDP budget, split by `shares`, whose guarantee does not exceed this
        one.

        Privacy: the sum of the parts never exceeds the rho of `epsilon_to_zcdp`; every rounding is
                 down.
        """
        rho = epsilon_to_zcdp(to_float_down(self.epsilon), to_float_down(self.delta))
        return ZCDP(**_shared(rho, self.shares, DOWN))

    def to_gdp(self) -> GDP:
        """Return the same as mu^2, by `epsilon_to_gdp`: for noise that is Gaussian throughout.

        >>> ApproxDP("1", "1e-6", ("0.5", "0.25", "0.25")).to_gdp().total
        Decimal('0.056028963825200')
        """
        total = GDP.total_within(self.epsilon, to_float_down(self.delta))
        assert total is not None
        return GDP(**_shared(total, self.shares, DOWN))


def _checked_shares(given: object) -> tuple[Decimal, ...]:
    """Shares as exact decimals, or ValueError."""
    if not isinstance(given, tuple | list):
        raise ValueError(f"Expected shares to be a tuple of 3 amounts, got {type(given).__name__}.")
    if len(given) not in (3, 4):
        raise ValueError(f"Expected shares to have 3 or 4 entries, got {len(given)}.")
    names = (*PARTS, "metric")
    exact = tuple(to_decimal(s, name=f"{n} share") for s, n in zip(given, names, strict=False))
    # The caller's decimal context could round a sum above 1 to 1.
    if (total := reduce(EXACT.add, exact)) != 1:
        raise ValueError(f"Expected shares to add up to exactly 1, got {total}.")
    return exact


def _shared(total: Decimal, shares: tuple[Decimal, ...], context: Context) -> dict[str, Decimal]:
    """The parts of a total by name."""
    parts = (context.multiply(total, share) for share in shares)
    return dict(zip((*PARTS, "metric"), parts, strict=False))


def pure_to_zcdp(epsilon: Amount) -> Decimal:
    """Return the rho = epsilon^2/2 that a pure epsilon costs in zCDP, exactly [BS16 Prop. 1.4].

    >>> pure_to_zcdp("0.5")
    Decimal('0.125')
    """
    amount = to_decimal(epsilon, name="epsilon")
    return EXACT.divide(EXACT.multiply(amount, amount), Decimal(2))


def zcdp_to_pure_epsilon(rho: Amount) -> float:
    """Return the largest float epsilon with epsilon^2/2 <= rho: a pure mechanism run at it costs
    rho-zCDP.
    """
    amount = to_decimal(rho, name="rho")
    return to_float_down(DOWN.sqrt(DOWN.multiply(amount, Decimal(2))).next_minus(DOWN))


def zcdp_to_epsilon_published(rho: float, delta: float) -> float:
    """Return rho + 2 sqrt(rho log(1/delta)) [BS16 Prop. 1.3; WKL Prop. 2], looser than
    `zcdp_to_epsilon`.
    """
    check_positive(rho=rho)
    check_probability(delta=delta)
    return (rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))) * (1.0 + _SAFETY)


def zcdp_to_epsilon(rho: float, delta: float) -> float:
    """Return the smallest epsilon so that rho-zCDP implies (epsilon, delta)-DP by the bound of
    [CKS20].

    The minimum over alpha > 1 of alpha rho + log(1 - 1/alpha) - (log delta + log alpha)/(alpha -
    1), at least 0.

    Args:
        rho: > 0.
        delta: in (0, 1).

    Privacy: any alpha gives a valid bound, so an inexact minimiser is loose, never wrong; rounded
             up.
    Source:  Canonne, Kamath, Steinke 2020, Prop. 12.

    >>> round(zcdp_to_epsilon(0.125, 1e-6), 3)
    2.419
    """
    check_positive(rho=rho)
    check_probability(delta=delta)
    log_delta = math.log(delta)

    def derivative(k: float) -> float:
        # Of the bound in k = alpha - 1, times k^2; increasing, negative at 0 because delta < 1.
        return rho * k * k + log_delta + math.log1p(k)

    high = 1.0
    while derivative(high) < 0:
        high *= 2.0
    k = find_root(derivative, 0.0, high, xtol=1e-14 * high, rtol=1e-14)
    bound = (1.0 + k) * rho + math.log(k) - math.log1p(k) - (log_delta + math.log1p(k)) / k
    return max(0.0, bound + _SAFETY * (abs(bound) + abs(log_delta / k)))


def epsilon_to_zcdp(epsilon: float, delta: float) -> Decimal:
    """Return the largest rho whose conversion at `delta` does not exceed `epsilon`, rounded down.

    Args:
        epsilon: > 0.
        delta: in (0, 1).

    Privacy: the post-condition zcdp_to_epsilon(rho, delta) <= epsilon is checked, not assumed.
    """
    check_positive(epsilon=epsilon)
    check_probability(delta=delta)

    def excess(log_rho: float) -> float:
        return zcdp_to_epsilon(math.exp(log_rho), delta) - epsilon

    low, high = math.log(1e-300), math.log(epsilon)
    while excess(high) < 0:  # a large delta makes the bound smaller than rho
        high += 1.0
    rho = math.exp(find_root(excess, low, high, xtol=1e-15, rtol=1e-15))
    rounded = Context(prec=_RHO_DIGITS, rounding=ROUND_FLOOR).create_decimal_from_float(rho)
    while zcdp_to_epsilon(to_float_down(rounded), delta) > epsilon:
        rounded = rounded.next_minus(Context(prec=_RHO_DIGITS))
    return rounded


def pure_risk(epsilon: float, prior: float = 0.5) -> float:
    """Return how sure an attacker can become of one person's record, from `prior`, after an
    epsilon-DP release.

    Args:
        epsilon: > 0.
        prior: how sure the attacker was before, in (0, 1).

    >>> round(pure_risk(1.0), 3)
    0.731
    """
    check_positive(epsilon=epsilon)
    check_probability(prior=prior)
    return 1.0 / (1.0 + math.exp(-epsilon) * (1.0 - prior) / prior)


def approx_risk(epsilon: float, delta: float, false_alarms: float = 0.01) -> float:
    """Return the share of people in the table that an attacker finds at most, with this share of
    false alarms.

    Args:
        epsilon: > 0.
        delta: in (0, 1).
        false_alarms: that the attacker allows, in (0, 1).

    >>> round(approx_risk(1.0, 1e-6), 4)
    0.0272
    """
    check_probability(delta=delta, false_alarms=false_alarms)
    if not epsilon >= 0:
        raise ValueError(f"Expected epsilon={epsilon!r} >= 0.")
    return 1.0 if epsilon > 700 else min(1.0, false_alarms * math.exp(epsilon) + delta)


class NothingToPairError(InfeasibleDesignError):
    """A rho whose promise delta alone keeps.

    rho, delta: as they were given.
    total, smaller: the smallest rho, and the largest delta, that mean an epsilon above 0.
    """

    def __init__(self, rho: Decimal, delta: Amount, total: Decimal, smaller: Decimal) -> None:
        self.rho, self.delta, self.total, self.smaller = rho, delta, total, smaller
        super().__init__(
            f"A rho of {rho} already means epsilon = 0 at delta = {delta}, which no pure budget "
            "can match.",
            f"Choose a total of {total} or more, or a delta of {smaller} or less.",
            (Change("total", total), Change("delta", smaller)),
        )


def pair_budget(budget: Budget, *, rule: Pairing, delta: Amount) -> Budget:
    """Return the budget in the other definition that a comparison sets beside this one.

    Args:
        budget: pure or zCDP, in three parts.
        rule: "paper" pairs part by part, rho_k = epsilon_k^2/2; "guarantee" gives both totals the
            same (epsilon, delta) at `delta`, with the same shares of the parts. Parts are rounded
            down; the epsilon that a rho total stands for is `zcdp_to_epsilon`, the one shown beside
            it.
        delta: in (0, 1).

    Raises:  ValueError naming the rule; NothingToPairError where delta alone keeps the promise of a
             rho, so that its epsilon is 0 and no pure epsilon can be set beside it.

    >>> pair_budget(
    ...     PureDP(model="0.5", hessian="0.25", covariance="0.25"), rule="paper", delta="1e-6"
    ... ).total
    Decimal('0.18750')
    """
    check_choice(rule, ("paper", "guarantee"), name="rule")
    if not isinstance(budget, PureDP | ZCDP):
        raise ValueError(f"Expected budget to be PureDP or ZCDP, got {type(budget).__name__}.")
    if rule == "paper" and isinstance(budget, PureDP):
        return ZCDP(**{name: pure_to_zcdp(part) for name, part in budget.lines})
    if rule == "paper":
        return PureDP(**{name: _root_down(part) for name, part in budget.lines})
    at = to_float_down(to_decimal(delta, name="delta"))
    if isinstance(budget, PureDP):
        return ZCDP(**_split(epsilon_to_zcdp(to_float_down(budget.total), at), budget))
    epsilon = zcdp_to_epsilon(to_float_down(budget.total), at)
    if epsilon == 0.0:
        total, smaller = _first_above_zero(to_float_down(budget.total), at)
        raise NothingToPairError(budget.total, delta, total, smaller)
    return PureDP(**_split(Decimal(repr(epsilon)), budget))


def granted(kind: type[Budget], epsilon: Decimal, delta: Amount, *, like: Budget) -> Budget:
    """Return the largest budget of a definition that keeps (epsilon, delta), with the shares of
    another; parts are rounded down, to the digits of a float.

    >>> shares = ZCDP(model="2", hessian="1", covariance="1")
    >>> granted(GDP, Decimal(1), "1e-6", like=shares).as_rho("0.0560289638252")
    Decimal('0.0280144819126')
    """
    total = kind.total_within(epsilon, to_float_down(to_decimal(delta, name="delta")))
    assert total is not None
    parts = _split(total, like)
    return kind(**{name: _SHORT.plus(part) for name, part in parts.items()})


def pure_refused(budget: Budget, releases: str, instead: str = "") -> InfeasibleDesignError:
    """Return why a pure epsilon does not pay for steps, with the nearest way.

    Args:
        budget: that was given.
        releases: what releases them, with its verb, such as "A linear regression releases".
        instead: another way, to stand after the nearest.
    """
    shares = tuple(f"{part / budget.total:.3g}" for part in budget.parts)
    return InfeasibleDesignError(
        f"{releases} several vectors and matrices, and under a pure epsilon each would need "
        "spherical Laplace noise that grows with its dimension.",
        f"Allow a small delta: ApproxDP('{float(budget.total):.6g}', '1e-6', {shares}){instead}.",
    )


def _first_above_zero(rho: float, delta: float) -> tuple[Decimal, Decimal]:
    """The smallest rho, and the largest delta, that mean an epsilon above 0, to three digits."""

    def halve(log_low: float, log_high: float, works: Callable[[float], bool]) -> float:
        """Where `works` begins, from a point where it does not to one where it does."""
        for _ in range(60):
            middle = (log_low + log_high) / 2.0
            log_low, log_high = (log_low, middle) if works(middle) else (middle, log_high)
        return math.exp(log_high)

    # A rho of 1e3 means more than nothing at every delta; a delta of rho^2 e^-40 is far below what
    # rho promises.
    total = halve(math.log(rho), math.log(1e3), lambda x: zcdp_to_epsilon(math.exp(x), delta) > 0.0)
    small = math.log(min(rho, 1.0)) * 2.0 - 40.0
    smaller = halve(
        math.log(delta),
        max(small, math.log(DELTA[0])),
        lambda x: zcdp_to_epsilon(rho, math.exp(x)) > 0.0,
    )
    return UP_3.create_decimal(repr(total)), DOWN_3.create_decimal(repr(smaller))


def _root_down(rho: Decimal) -> Decimal:
    """sqrt(2 rho) rounded down to 12 digits, exact where the root is a short decimal."""
    short = Context(prec=_RHO_DIGITS, rounding=ROUND_FLOOR)
    root = EXACT.sqrt(EXACT.multiply(rho, Decimal(2)))
    return short.plus(root)


def _split(total: Decimal, like: Budget) -> dict[str, Decimal]:
    """Divide a total in the proportions of another budget, each part rounded down."""
    return {name: DOWN.divide(DOWN.multiply(total, part), like.total) for name, part in like.lines}


def _divided(amount: Decimal, n_parts: int) -> list[Decimal]:
    """Equal amounts rounded down, the last with what rounding left."""
    share = DOWN.divide(amount, Decimal(n_parts))
    last = EXACT.subtract(amount, EXACT.multiply(share, Decimal(n_parts - 1)))
    return [share] * (n_parts - 1) + [last]
