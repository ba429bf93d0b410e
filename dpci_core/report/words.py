"""Numbers and risks in words: the same sentences on pages, in summaries and in reports."""

from __future__ import annotations

import math

from dpci_core.privacy.budget import approx_risk, pure_risk

LARGE_EPSILON = 3.0
"""Above this epsilon a budget is flagged: one person's odds move by a factor of 20."""


def number(x: float, digits: int = 3) -> str:
    """A number for people: 3 significant digits, thousands with commas, no exponent between 1e-4 and 1e7.

    >>> number(1234567.0), number(999.7), number(0.012345), number(0.00001)
    ('1,230,000', '1,000', '0.0123', '1.00e-05')
    """
    if not math.isfinite(x):
        return "-"
    if x == 0:
        return "0"
    if abs(float(f"{x:.{digits}g}")) >= 1000:
        return (
            f"{round(x, digits - 1 - math.floor(math.log10(abs(x)))):,.0f}" if abs(x) < 1e7 else f"{x:.{digits - 1}e}"
        )
    if abs(x) < 1e-4:
        return f"{x:.{digits - 1}e}"
    return f"{x:.{digits}g}"


def percent(x: float) -> str:
    """A share as percent; near the ends it never rounds to 0 or 100."""
    if 0.99 < x < 1:
        return f"{min(99.99, math.floor(10_000 * x) / 100):g} %"
    return f"{100 * x:.0f} %" if x >= 0.01 else f"{100 * x:.2g} %"


def risk_pure(epsilon: float, *, mark: str = "") -> str:
    """What a pure epsilon lets an attacker learn about one person; `mark` goes around the number, for Markdown."""
    return (
        f"Someone who is 50 % sure what one person's record says can become at most "
        f"{mark}{percent(pure_risk(epsilon))}{mark} sure by seeing everything you publish."
    )


def risk_approx(epsilon: float, delta: float, *, mark: str = "") -> str:
    """What an (epsilon, delta) guarantee lets an attacker find."""
    found = min(100.0, 100.0 * approx_risk(epsilon, delta))
    return (
        f"Of 100 people whose record is in the table instead of someone else's, an attacker who allows 1 false alarm "
        f"in 100 recognises at most {mark}{number(found, 2)}{mark} (1 would be blind guessing)."
    )


def risk(epsilon: float, delta: float) -> str:
    """The sentence of a guarantee, pure where delta is 0, with a flag on a large budget."""
    sentence = risk_pure(epsilon) if delta == 0 else risk_approx(epsilon, delta)
    large = " This is a large budget: weak protection for one person."
    return sentence + (large if epsilon > LARGE_EPSILON else "")
