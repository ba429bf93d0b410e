"""Caps and costs in exact decimals: one currency a cap, and what a cost takes out of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce

from dpci_core.base.decimals import DOWN, STRICT
from dpci_core.base.errors import LedgerRangeError, LedgerRuleError
from dpci_core.base.text import line_problem
from dpci_core.design import Definition
from dpci_core.privacy.budget import (
    DEFINITIONS,
    Amount,
    ApproxDP,
    definition_named,
    to_decimal,
    to_float_down,
)

LARGEST = Decimal("1e20")
SMALLEST = Decimal("1e-30")


def exact_amount(value: Amount, *, name: str) -> Decimal:
    """Return an amount that the ledger can keep exactly.

    >>> exact_amount("0.1000", name="epsilon")
    Decimal('0.1')
    """
    amount = to_decimal(value, name=name)
    if not SMALLEST <= amount <= LARGEST:
        raise LedgerRangeError(name, amount, SMALLEST, LARGEST, shown=f"{value}")
    return Decimal(as_text(amount))


def exact_sum(amounts: Iterable[Decimal]) -> Decimal:
    """The sum without any rounding."""
    return reduce(STRICT.add, amounts, Decimal(0))


def exact_difference(first: Decimal, second: Decimal) -> Decimal:
    """The difference without any rounding."""
    return STRICT.subtract(first, second)


def as_text(amount: Decimal) -> str:
    """The one way an amount is written: plain digits, no exponent, no trailing zeros.

    >>> as_text(Decimal("1.50E+2")), as_text(Decimal("0.250"))
    ('150', '0.25')
    """
    plain = f"{amount:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


@dataclass(frozen=True, kw_only=True, slots=True)
class Cap:
    """The most that may ever be spent on the people of a data set, in one currency; it is never
    raised.

    Args:
        definition: "pure" (amount is an epsilon), "zcdp" (a rho) or "gdp" (a mu^2).
        amount: > 0, exact.
        epsilon, delta: where the cap was declared as (epsilon, delta), what was declared; see
            `approx`.

    >>> Cap.pure("1.5").amount, Cap.approx(1, "1e-6").amount
    (Decimal('1.5'), Decimal('0.0243559703594'))
    """

    definition: Definition
    amount: Decimal
    epsilon: Decimal | None = None
    delta: Decimal | None = None

    def __post_init__(self) -> None:
        kind = definition_named(self.definition)
        object.__setattr__(self, "amount", exact_amount(self.amount, name=kind.symbol))
        if (self.epsilon is None) != (self.delta is None) or (
            self.epsilon is not None and not kind.has_delta
        ):
            raise LedgerRuleError("half_a_declared_cap")

    @classmethod
    def pure(cls, epsilon: Amount) -> Cap:
        """A cap of pure epsilon; it takes pure charges only."""
        return cls(definition="pure", amount=exact_amount(epsilon, name="epsilon"))

    @classmethod
    def zcdp(cls, rho: Amount) -> Cap:
        """A cap of concentrated budget; it takes rho, and a pure epsilon at epsilon^2/2."""
        return cls(definition="zcdp", amount=exact_amount(rho, name="rho"))

    @classmethod
    def gdp(cls, mu: Amount) -> Cap:
        """A cap of Gaussian differential privacy, counted in mu^2; it takes charges in mu^2 only,
        since neither a rho nor a perturbed objective is mu-GDP for its noise.
        """
        exact = to_decimal(mu, name="mu")
        return cls(definition="gdp", amount=exact_amount(DOWN.multiply(exact, exact), name="mu^2"))

    @classmethod
    def approx(cls, epsilon: Amount, delta: Amount, *, definition: Definition = "zcdp") -> Cap:
        """A cap declared as (epsilon, delta): the largest amount it is worth in the definition that
        it counts in, found once and rounded down.

        Args:
            epsilon, delta: the promise.
            definition: "zcdp" takes every charge; "gdp" is worth more and takes charges in mu^2
                only. It is chosen before anything is released: a cap that changed with what was
                seen would be none.

        Privacy: all charges together are rho-zCDP, so (epsilon, delta)-DP by [CKS20, Prop. 12], or
                 mu-GDP, so by [DRS22, Corollary 2.13].
        """
        checked = ApproxDP(epsilon, delta, ("0.5", "0.25", "0.25"))
        kept = exact_amount(checked.epsilon, name="epsilon"), Decimal(as_text(checked.delta))
        kind = definition_named(definition)
        worth = kind.total_within(kept[0], to_float_down(kept[1]))
        assert worth is not None
        return cls(
            definition=definition,
            amount=exact_amount(worth, name=kind.symbol),
            epsilon=kept[0],
            delta=kept[1],
        )

    @property
    def symbol(self) -> str:
        """ "epsilon", "rho" or "mu^2"."""
        return DEFINITIONS[self.definition].symbol

    @property
    def sentence(self) -> str:
        """The cap in words, with what was declared."""
        declared = (
            ""
            if self.epsilon is None
            else f" (from epsilon {self.epsilon:f} at delta {self.delta:f})"
        )
        return f"{self.symbol} {self.amount:f}{declared}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """The price of one release in its own definition, with the parts it is made of.

    Args:
        definition: "pure", "zcdp" or "gdp".
        amount: epsilon of a "pure", rho of a "zcdp", mu^2 of a "gdp" cost.
        lines: (name, amount) of each part, in the same currency; they add up exactly to the amount.

    >>> Cost(
    ...     definition="pure", amount="0.3", lines=[("coefficients", "0.1"), ("Hessian", "0.2")]
    ... ).amount
    Decimal('0.3')
    """

    definition: Definition
    amount: Decimal
    lines: tuple[tuple[str, Decimal], ...] = ()

    def __init__(
        self, *, definition: Definition, amount: Amount, lines: Iterable[tuple[str, Amount]] = ()
    ) -> None:
        exact = exact_amount(amount, name=definition_named(definition).symbol)
        kept = tuple((name, exact_amount(part, name=f"line {name!r}")) for name, part in lines)
        names = [name for name, _ in kept]
        if any(line_problem(name) or name.strip() != name for name in names):
            raise LedgerRuleError("line_name_unreadable")
        if len(set(names)) < len(names):
            raise LedgerRuleError("line_names_repeat", names=", ".join(names))
        if kept and exact_sum(part for _, part in kept) != exact:
            total = as_text(exact_sum(part for _, part in kept))
            raise LedgerRuleError("lines_do_not_add_up", amount=exact, found=total)
        object.__setattr__(self, "definition", definition)
        object.__setattr__(self, "amount", exact)
        object.__setattr__(self, "lines", kept)

    @property
    def symbol(self) -> str:
        """ "epsilon", "rho" or "mu^2"."""
        return DEFINITIONS[self.definition].symbol


def price(cap: Cap, cost: Cost) -> Decimal:
    """Return what a cost takes out of a cap, in the currency of the cap, exactly.

    Privacy: pure epsilons add; rhos add, and a pure epsilon is epsilon^2/2 of them, a mu^2 half of
             it [BS16 Prop. 1.4, 1.6, Lemma 2.3]; mu^2 add.
    Raises:  LedgerError for noise under a pure cap that no pure epsilon is worth, and for what has
             no mu^2 under a cap of these.

    >>> price(Cap.zcdp(1), Cost(definition="pure", amount="0.5"))
    Decimal('0.125')
    """
    taken = DEFINITIONS[cap.definition].price_of(DEFINITIONS[cost.definition], cost.amount)
    if taken is None:
        has_delta = DEFINITIONS[cap.definition].has_delta
        raise LedgerRuleError(
            "no_gaussian_price" if has_delta else "no_pure_price", amount=cap.amount
        )
    return Decimal(as_text(taken))
