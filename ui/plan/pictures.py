"""Closer looks of the page Plan: budget by records, and the split."""

from __future__ import annotations

from typing import cast

import numpy as np
import streamlit as st

from dpci_core import SplitAnswer
from dpci_core.report.answers import decided
from dpci_core.report.words import as_typed
from ui.kit.bound import among
from ui.plan import charts, numbers, words
from ui.plan.numbers import IsoMap, SplitMap
from ui.plan.options import Option
from ui.plan.work import Work
from ui.session import state, steps, text
from ui.session.budget import split_of
from ui.session.case import Case
from ui.session.compute import DECLARED, effective_settings, schema_of
from ui.views import goals
from ui.views.show import show
from ui.views.sweep import current_value

ANALYSES = {"map": "Budget × records", "split": "Split of the budget"}


def panel(case: Case, work: Work) -> None:
    """The look that is chosen."""
    st.header("Look closer")
    st.segmented_control(
        "Look closer", **among(ANALYSES), **state.bound("look"), label_visibility="collapsed"
    )
    look = case.settings.look
    if look in work.missing:
        work.default_value(look)
        return
    answer, why = work.known[look]
    if why is not None:
        st.warning(words.no_answer(why, case))
    elif look == "map":
        _map(case, cast(IsoMap, answer), work)
    else:
        _split(case, *cast("tuple[SplitAnswer, SplitMap]", answer))


def _caption(case: Case) -> str:
    return text.assumptions(effective_settings(case.settings, [case.design]), case.records)


def _say_world(case: Case, *, is_of_all: bool) -> None:
    """Say in which table a closer look is true, where the table is only described."""
    if case.settings.dataset == DECLARED:
        c, fewest = text.number(case.settings.c), "with the fewest records that a release takes."
        st.caption(
            f"**Drawn at each point for the least favourable table that was checked, at c = {c}**, "
            f"{fewest}"
            if is_of_all
            else f"**Drawn for the table as it is described, at c = {c}**; what is found has to "
            f"hold in every table that was checked, {fewest}"
        )


def _map(case: Case, found: IsoMap, work: Work) -> None:
    settings = case.settings
    is_chance = case.target.is_power
    x_label = f"total budget {settings.typed.letter}"
    target = settings.goal_chance if is_chance else settings.goal_length
    marks = [charts.here(current_value(settings, "total"), case.n)]
    marks += _answer_marks(case, work)
    figure = charts.iso_chart(
        found,
        target=target,
        goal=_goal(case, target),
        is_chance=is_chance,
        marks=marks,
        x_label=x_label,
        caption=f"{_caption(case)}; goal: {goals.goal_words(case)}",
        meta={"look": "map", "target": target, "settings": settings.to_query()},
        source=case.records.source,
    )
    st.markdown(
        "On the thick line your goal is met exactly; right of it and above it, with room to "
        "spare. Every other line joins budgets and numbers of records with the same "
        f"{'chance' if is_chance else 'length'}."
    )
    _say_world(case, is_of_all=numbers.is_of_all(case))
    show(
        "plan_map",
        figure,
        words.map_sentence(case, marks),
        charts.iso_table(found, x_label=x_label, is_chance=is_chance),
        is_plain=True,
    )


def _goal(case: Case, target: float) -> str:
    """The thick line: a chance or a length, and the factor that a length is."""
    if case.target.is_power:
        return f"chance {as_typed(target)}"
    factor = goals.as_number(case, target) if goals.has_odds(case) else None
    length = f"length {as_typed(target)}"
    return length if factor is None else f"×/÷ {text.number(factor, 4)} ({length})"


def _answer_marks(case: Case, work: Work) -> list[charts.Mark]:
    """Where the target comes true on the two lines through the present settings, as far as that is
    known.
    """
    option = cast("Option | None", work.known.get("answer", (None, None))[0])
    if option is None or not option.works:
        return []
    total = current_value(case.settings, "total")
    found = {
        "budget": lambda: charts.needed_budget(option.typed, case.n),
        "records": lambda: charts.needed_records(total, option.settings.n),
    }
    return [found[steps.FIND.value]()] if steps.FIND.value in found else []


def _split(case: Case, best: SplitAnswer, found: SplitMap) -> None:
    mine = tuple(case.settings.split.share(i) / 100.0 for i in range(3))
    asked, least = (numbers.length_of(case, made) for made in (best.asked, best.forecast))
    loss = max(asked / least - 1.0, 0.0)
    _split_words(case, best)
    figure = charts.split_chart(
        found,
        marks=[
            charts.your_split((mine[0], mine[1], mine[2]), loss),
            charts.the_best_split(numbers.shares_beside_metric(best)),
        ],
        caption=_caption(case),
        meta={"look": "split", "loss": loss, "settings": case.settings.to_query()},
        source=case.records.source,
    )
    _say_world(case, is_of_all=False)
    table = charts.split_table(found)
    show("plan_split", figure, best.reason, table, title=split_title(best, loss))


def split_title(best: SplitAnswer, loss: float) -> str:
    """What the split that stands costs beside the best, of which it is so much longer."""
    lost, least = (
        int(np.count_nonzero(made.is_not_reportable)) for made in (best.asked, best.forecast)
    )
    where = ", in the least favourable case" if best.decided_by else ""
    if lost > least:
        return f"With your split {lost - least} fewer of the coefficients can be reported{where}"
    if loss < _AS_GOOD:
        return f"No other split makes {_shortened(best)} clearly shorter{where}"
    return f"Your split makes {_shortened(best)} {100 * loss:.1f} % longer than the best{where}"


def _shortened(best: SplitAnswer) -> str:
    """What the best split makes as short as it can be, which need not be what the goal is about."""
    return "the mean interval" if best.coefficient is None else "the interval you asked for"


_AS_GOOD = 5e-4
"""A split that is longer by less reads as no longer."""


def _split_words(case: Case, best: SplitAnswer) -> None:
    left, right = st.columns([3, 1], vertical_alignment="center")
    among = " among those that keep what you locked" if any(case.settings.split.locked) else ""
    shares = words.share_words(numbers.shares_beside_metric(best))
    is_searched = schema_of(case.settings, state.source()) is not None
    searches = ", and “Chosen for me” searches for the goal" if is_searched else ""
    said = (
        f"The best split{among} for {_shortened(best)}: **{shares}** for the coefficients and the "
        "two matrices of their standard errors, the Hessian and the gradient covariance. An "
        "interval whose coverage falls short, or that may not be reported, counts as longer. Your "
        "goal may need another split: whether it is met with this one is said above once it is "
        f"used{searches}. {text.SPLIT_NOTE}"
    )
    left.markdown(decided(said, text.plain(best.decided_by)))
    now = state.settings().split
    better = split_of(best.design.budget, now)
    right.button(
        "Use the best split",
        key="use_split",
        on_click=lambda: state.update(split=better),
        disabled=better.parts == now.parts,
    )
