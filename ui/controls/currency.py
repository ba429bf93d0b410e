"""The controls of the total budget, and of the definition it is typed in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal

import streamlit as st

from ui.controls.paired import FINE, compact, log_grid, paired
from ui.kit.bound import among, bound
from ui.session import state, text
from ui.session.choices import CURRENCIES, labels_of
from ui.session.settings import Settings, in_currency
from ui.session.typed import Number

ENDS = ("more private", "more accurate")
"""What the two ends of a total mean."""
DELTAS = ("1e-4", "1e-5", "1e-6", "1e-7", "1e-8", "1e-9", "1e-10")


def total_grid(settings: Settings) -> list[Number]:
    """Round totals over the range of the control."""
    return log_grid(settings.currency, FINE)


def total_control(settings: Settings) -> None:
    """The total budget in its currency."""
    paired(
        "total",
        f"Total budget {settings.typed.letter}",
        settings.typed_total,
        total_grid(settings),
        _set_total,
        ends=ENDS,
        note=text.budget_sentence(settings),
        help=text.privacy_unit(settings),
    )


def quick_total(settings: Settings) -> None:
    """Draw the control of the total budget in two lines."""
    compact(
        "total",
        f"Privacy budget {settings.typed.letter}",
        settings.typed_total,
        total_grid(settings),
        _set_total,
        help=f"←\N{NO-BREAK SPACE}{ENDS[0]} · {ENDS[1]}\N{NO-BREAK SPACE}→  \n"
        f"{text.privacy_unit(settings)}",
    )


def at_total(now: Settings, value: Number) -> Settings:
    """The settings with another total; locked parts keep their amounts.

    Raises:  ValueError in words where the locked amounts leave nothing for the others.
    """
    if now.typed.is_promise:
        target = now.with_epsilon(float(value))
        return replace(target, split=now.split.with_total(target.split.total)).settled()
    return replace(now, split=now.split.with_total(Decimal(repr(value)))).settled()


def _set_total(value: Number) -> None:
    state.put(at_total(state.settings(), value))


def currency_control(settings: Settings, offered: Collection[str] = tuple(CURRENCIES)) -> None:
    """In which definition the budget is typed, and delta where there is one."""
    labels = {name: label for name, label in labels_of(CURRENCIES).items() if name in offered}
    st.segmented_control(
        "The budget is typed as",
        **among(labels),
        **bound("currency", settings.currency, _set_currency),
        help="Pure ε always holds. (ε, δ) fails with a tiny chance δ at most, and often needs less "
        "noise; it buys an amount ρ of zCDP, which can be typed instead.",
    )
    if settings.kind.has_delta or settings.is_compared:
        choices = sorted({*DELTAS, settings.delta}, key=lambda d: -float(d))
        st.selectbox(
            "δ: the chance that the ε promise fails",
            choices,
            **bound("delta", settings.delta, _set_delta),
            help="Keep it far below 1 in the number of people in the table.",
        )


def _set_currency(chosen: str) -> None:
    now = state.settings()
    if chosen != now.currency:
        state.put(in_currency(now, chosen))


def _set_delta(delta: str) -> None:
    now = replace(state.settings(), delta=delta)
    state.put(now.with_epsilon(float(now.epsilon)) if now.typed.is_promise else now)
