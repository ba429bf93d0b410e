"""The controls of the split: one slider that cuts the budget into three parts, and the parts one by
one, each a share, an amount and a lock.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import streamlit as st

from dpci_core.privacy.budget import PARTS
from dpci_core.report.words import in_hundred
from ui.controls import hints
from ui.controls.paired import footnote, number_field, refusal, take
from ui.kit.bound import bound, put
from ui.session import state, text
from ui.session.budget import Split, from_shares
from ui.session.settings import Settings


def split_controls(settings: Settings) -> None:
    """Three linked parts with locks; they add up to the total exactly."""
    for index, name in enumerate(PARTS):
        _part_control(settings.split, index, name)
    st.caption(
        f"The parts add up to {settings.split.total:f} exactly; nothing is left over. "
        f"{text.SPLIT_NOTE}"
    )


def split_slider(settings: Settings) -> None:
    """All three parts on one line: the first handle ends the coefficients, the second the
    Hessian.
    """
    cuts = _cuts(settings.split)
    put("split_slider", cuts, ())
    names = LINE_NAMES if settings.outcome is None else _OF_A_NUMBER
    first, second, third = names.values()
    shares = [f"{part}\N{NARROW NO-BREAK SPACE}%" for part in in_hundred(settings.split.parts)]
    words = [f"{name} {share}" for name, share in zip(names.values(), shares, strict=True)]
    if settings.is_plain:
        words = [f"effects {shares[0]}", f"standard errors {shares[1]} + {shares[2]}"]
    help = (
        f"The {first} give the effects; standard errors are computed from two matrices, the "
        f"{second} and the {third}. {text.SPLIT_NOTE}"
    )
    with st.container(key="compact_split", gap=None):
        st.markdown("**Budget split** " + " · ".join(words), help=help)
        st.slider(
            f"Budget split: where the part for the {first} ends, and that for the {second}",
            0,
            100,
            cuts,
            step=1,
            format="%d %%",
            key="split_slider",
            on_change=take,
            args=("split_slider", "split", _set_cuts),
            label_visibility="collapsed",
        )
        refusal("split")


def amounts(settings: Settings) -> None:
    """The parts one by one, behind a click."""
    with st.popover("Amounts, locks", type="tertiary", key="amounts"):
        split_controls(settings)


LINE_NAMES = {
    "model": "coefficients",
    "hessian": "Hessian",
    "covariance": "gradient covariance",
}
_OF_A_NUMBER = {
    "model": "steps",
    "hessian": "second moment",
    "covariance": "gradient covariance",
}
"""The same for a regression of a number."""
_SMALLEST_CUT = Decimal("0.005")
"""Share that a part keeps when one handle meets the other, or an end."""


def _cuts(split: Split) -> tuple[int, int]:
    """Return the positions of the two handles, in whole per cents."""
    return round(split.share(0)), round(100.0 - split.share(2))


def _set_cuts(moved: tuple[int, int]) -> None:
    """Move the parts beside the handle that moved; a part beside no handle that moved stays as it
    is, exactly.

    Raises:  ValueError in words where a part that would move is locked.
    """
    split = state.settings().split
    before, parts = _cuts(split), [part / split.total for part in split.parts]
    has_moved = [now != was for now, was in zip(moved, before, strict=True)]
    if not any(has_moved):
        return
    changes = [has_moved[0], True, has_moved[1]]
    for name, is_locked, is_changed in zip(PARTS, split.locked, changes, strict=True):
        if is_locked and is_changed:
            raise ValueError(f"{text.PART_NAMES[name]} is locked. Unlock it to move this handle.")
    wanted = [Decimal(moved[0]) / 100, Decimal(0), 1 - Decimal(moved[1]) / 100]
    model, _, covariance = (
        max(new, _SMALLEST_CUT) if is_changed else old
        for new, old, is_changed in zip(wanted, parts, changes, strict=True)
    )
    if has_moved[0]:
        model = min(model, 1 - covariance - _SMALLEST_CUT)
    else:
        covariance = min(covariance, 1 - model - _SMALLEST_CUT)
    made = from_shares(split.total, (model, 1 - model - covariance, covariance))
    state.update(split=made.with_locks(split.locked))


def _part_control(split: Split, index: int, name: str) -> None:
    amount = float(split.parts[index])
    share = min(98.0, max(1.0, float(round(split.share(index)))))
    put(f"{name}_slider", share)  # in something closed, as `paired` says
    st.markdown(
        f"**{text.PART_NAMES[name]}**",
        help="Its share of the budget, the amount, and a lock for the amount.",
    )
    left, middle, right = st.columns([4, 3, 3], vertical_alignment="center")
    left.slider(
        f"{text.PART_NAMES[name]}, share of the budget",
        1.0,
        98.0,
        step=1.0,
        format="%.0f %%",
        key=f"{name}_slider",
        on_change=take,
        args=(
            f"{name}_slider",
            name,
            lambda value: _move(index, lambda s: s.with_share(index, float(value))),
            f"{name}_number",
        ),
        label_visibility="collapsed",
    )
    with middle:
        number_field(
            name,
            f"{text.PART_NAMES[name]}, amount",
            amount,
            lambda value: _move(index, lambda s: s.with_part(index, Decimal(repr(value)))),
            name=f"{name}_number",
            beside=f"{name}_slider",
            is_shown=False,
            label_visibility="collapsed",
        )
    right.checkbox(
        "Lock",
        **bound(
            f"{name}_lock", split.locked[index], lambda _: _move(index, lambda s: s.toggled(index))
        ),
        help=f"Keep the amount for “{text.PART_NAMES[name]}” when other parts or the total move.",
    )
    footnote(name, hints.words(text.PART_SENTENCES[name]), amount)


def _move(index: int, change: Callable[[Split], Split]) -> None:
    state.update(split=change(state.settings().split))
