"""The wording of the pages Release and Ledger that depends on a value."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dpci_core.ledger import Cap, Charge
from dpci_core.privacy import to_float_down, zcdp_to_epsilon
from ui.text import number, risk_approx, risk_pure

GREEK = {"epsilon": "ε", "rho": "ρ"}
STATES = {
    "booked": "⏳ booked: running, or broke off",
    "done": "✓ released",
    "failed": "✗ failed, spent all the same",
}
EMPTY = (
    "The ledger is empty: no data set has a budget yet. The page Release gives one its budget before its first release."
)
READ_AT = 1e-6
"""The delta at which a rho cap is read as (epsilon, delta) where none was declared."""


def symbol(cap: Cap) -> str:
    """Of the currency."""
    return GREEK[cap.symbol]


def cap_sentence(cap: Cap) -> str:
    """What a cap means for one person, if all of it is spent."""
    if cap.definition == "pure":
        return f"If all of it is spent: {_lowered(risk_pure(to_float_down(cap.amount)))}"
    if cap.epsilon is not None and cap.delta is not None:
        return (
            f"Declared as ε = {number(float(cap.epsilon))} at δ = {float(cap.delta):g}. If all of it is spent: "
            f"{_lowered(risk_approx(float(cap.epsilon), float(cap.delta)))}"
        )
    epsilon = zcdp_to_epsilon(float(cap.amount), READ_AT)
    return (
        f"That is ε = {number(epsilon)} at δ = {READ_AT:g}. If all of it is spent: "
        f"{_lowered(risk_approx(epsilon, READ_AT))}"
    )


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def day(written: str) -> str:
    """The date of an entry."""
    return written[:10]


def moment(written: str) -> str:
    """Date and minute of an entry, in universal time."""
    try:
        return f"{datetime.fromisoformat(written):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return written


def history_sentence(charges: Sequence[Charge]) -> str:
    """How many charges, and how they ended."""
    counts = {state: sum(charge.state == state for charge in charges) for state in STATES}
    parts = [f"{counts['done']} released"]
    if counts["failed"]:
        parts.append(f"{counts['failed']} failed (spent all the same)")
    if counts["booked"]:
        parts.append(f"{counts['booked']} booked without a result (running, or broke off; spent in any case)")
    many = "1 charge" if len(charges) == 1 else f"{len(charges)} charges"
    return f"{many}: {', '.join(parts)}."
