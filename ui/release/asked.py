"""What is asked of the private table: the plan's own release, or something chosen privately."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpci_core import Plan
from dpci_core.release import CardChoice, HistogramChoice, ModelChoice, PlanRelease, Question
from dpci_core.schema import NumericColumn
from dpci_core.scorecards import Question as YesNo
from dpci_core.scorecards.cards import MOST_POINTS
from ui.release import words
from ui.session import state
from ui.session.text import plain
from ui.session.words import in_words
from ui.views.ledger_text import GREEK

_COLUMN = "release_column"
_CANDIDATES = {
    "histogram": ("Numbers of bins", "8, 16, 32, 64, 128"),
    "model": ("Penalties c", "0.001, 0.01, 0.1"),
}


def step(plan: Plan) -> Question[Any] | None:
    """The question, every check that needs no file passed; None while something is missing."""
    kind = st.radio(
        "Release",
        list(words.KINDS),
        format_func=words.KINDS.__getitem__,
        key="release_kind",
        horizontal=True,
        persist_state="session",
    )
    try:
        makers = {"plan": _plan_release, "card": _card}
        made = makers[kind](plan) if kind in makers else _choice(plan, kind)
        if made is None:
            return None
        asked: Question[Any] = made
        return state.memo().get(("price", kind, asked.digest), lambda: _priced(asked))
    except (ValueError, ArithmeticError) as problem:
        st.error(plain(in_words(problem)))
        return None


def _priced(asked: Question[Any]) -> Question[Any]:
    """The question, which keeps its forecast."""
    asked.price()
    return asked


def _plan_release(plan: Plan) -> PlanRelease | None:
    """None until a result that is not peer-reviewed is allowed, where the plan rests on one."""
    if not plan.design.status:
        return PlanRelease(plan=plan)
    st.warning(plan.design.status)
    if not st.checkbox(words.ALLOW, key="release_unreviewed", persist_state="session"):
        st.caption(words.OTHERWISE)
        return None
    return PlanRelease(plan=plan, allow_unreviewed=True)


def _card(plan: Plan) -> CardChoice | None:
    """None while no question or no amount is given."""
    st.markdown(words.CHOICE["card"])
    listed = st.text_area(
        "Questions, one a line",
        placeholder="age>=40\nsmoker=yes\ncity=Oslo|Bergen",
        max_chars=4_000,
        key="release_card_questions",
        persist_state="session",
    )
    columns = st.columns(3, gap="medium")
    fewest, most = (
        int(
            place.number_input(
                label, -MOST_POINTS, MOST_POINTS, value, key=key, persist_state="session"
            )
        )
        for place, label, value, key in (
            (columns[0], "Fewest points for a yes", -2, "release_card_low"),
            (columns[1], "Most points for a yes", 2, "release_card_high"),
        )
    )
    share = _text(columns[2], "Share that counts mistakes", "0.3", "release_card_share")
    left, right = st.columns([1, 2], gap="medium")
    symbol = left.segmented_control(
        "Budget in",
        list(GREEK),
        format_func=GREEK.__getitem__,
        default="epsilon",
        required=True,
        key="release_card_kind",
        persist_state="session",
    )
    letter = GREEK[symbol]
    amount = _text(right, f"{letter} of all of it", "", f"release_{symbol}")
    texts = [line for line in listed.splitlines() if line.strip()]
    if not (texts and amount):
        st.caption(
            f"Still needed: questions and {letter}. The plan's own budget plays no part here."
        )
        return None
    if fewest > most:
        raise ValueError(f"The fewest points, {fewest}, are more than the most, {most}.")
    return CardChoice.make(
        plan,
        tuple(YesNo.read(line) for line in texts),
        weights=(fewest, most),
        holdout=share,
        epsilon=amount if symbol == "epsilon" else None,
        rho=amount if symbol == "rho" else None,
    )


def _choice(plan: Plan, kind: str) -> HistogramChoice | ModelChoice | None:
    """None while no epsilon is given; it has no default."""
    st.markdown(words.CHOICE[kind])
    columns = st.columns(4 if kind == "histogram" else 3, gap="medium", vertical_alignment="bottom")
    column = None
    if kind == "histogram":
        numbers = [one.name for one in plan.schema.features if isinstance(one, NumericColumn)]
        if st.session_state.get(_COLUMN) not in numbers:  # of a table described before
            st.session_state.pop(_COLUMN, None)
        column = columns[0].selectbox("Column", numbers, key=_COLUMN, persist_state="session")
    listed, share, epsilon = (
        _text(place, label, value, key)
        for place, label, value, key in (
            (columns[-3], *_CANDIDATES[kind], f"release_{kind}_candidates"),
            (columns[-2], "Held-out share", "0.1", "release_share"),
            (columns[-1], "ε of all of it", "", "release_epsilon"),
        )
    )
    if not epsilon:
        st.caption("Still needed: ε. The plan's own budget plays no part here.")
        return None
    given: dict[str, Any] = {"epsilon": epsilon, "validation_share": share}
    if kind == "histogram":
        return HistogramChoice.make(plan, column or "", bins=_each(listed, int), **given)
    return ModelChoice.make(plan, penalties=_each(listed, float), **given)


def _text(place: Any, label: str, value: str, key: str) -> str:
    """What is typed, without blanks around it."""
    typed = place.text_input(
        label, value, placeholder="0.5", max_chars=200, key=key, persist_state="session"
    )
    return str(typed).strip()


def _each(listed: str, kind: type[int] | type[float]) -> tuple[Any, ...]:
    """Typed numbers between commas or blanks."""
    try:
        return tuple(kind(one) for one in listed.replace(",", " ").split())
    except ValueError:
        raise ValueError(f"Expected numbers with commas between them, got {listed!r}.") from None
