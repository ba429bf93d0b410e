"""Caps and costs in exact decimals: one currency a cap, and what a cost takes out of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce

from dpci_core.base.decimals import STRICT
from dpci_core.base.errors import LedgerRangeError, LedgerRuleError
from dpci_core.base.text import line_problem
from dpci_core.design import Definition
from dpci_core.privacy.budget import (
    DEFINITIONS,
    Amount,
    ApproxDP,
    definition_named,
    epsilon_to_zcdp,
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
        definition: "pure" (amount is an epsilon) or "zcdp" (amount is a rho).
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
    def approx(cls, epsilon: Amount, delta: Amount) -> Cap:
        """A cap declared as (epsilon, delta): the largest rho it is worth, found once and rounded
        down.

        Privacy: all charges together are rho-zCDP, so (epsilon, delta)-DP by [CKS20, Prop. 12].
        """
        checked = ApproxDP(epsilon, delta, ("0.5", "0.25", "0.25"))
        kept = exact_amount(checked.epsilon, name="epsilon"), Decimal(as_text(checked.delta))
        rho = epsilon_to_zcdp(to_float_down(kept[0]), to_float_down(kept[1]))
        return cls(
            definition="zcdp", amount=exact_amount(rho, name="rho"), epsilon=kept[0], delta=kept[1]
        )

    @property
    def symbol(self) -> str:
        """ "epsilon" or "rho"."""
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
        definition: "pure" or "zcdp".
        amount: epsilon of a "pure", rho of a "zcdp" cost.
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
        """ "epsilon" or "rho"."""
        return DEFINITIONS[self.definition].symbol


def price(cap: Cap, cost: Cost) -> Decimal:
    """Return what a cost takes out of a cap, in the currency of the cap, exactly.

    Privacy: pure epsilons add; rhos add, and a pure epsilon is epsilon^2/2 of them [BS16 Prop. 1.4,
             Lemma 2.3].
    Raises:  LedgerError for a rho under a pure cap: no pure epsilon is worth it.

    >>> price(Cap.zcdp(1), Cost(definition="pure", amount="0.5"))
    Decimal('0.125')
    """
    taken = DEFINITIONS[cap.definition].price_of(DEFINITIONS[cost.definition], cost.amount)
    if taken is None:
        raise LedgerRuleError("no_pure_price", amount=cap.amount)
    return Decimal(as_text(taken))
