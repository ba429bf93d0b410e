"""The map of the page Plan: budget by records."""

from __future__ import annotations

from typing import cast

import streamlit as st

from dpci_core.report.words import as_typed
from ui.plan import charts, numbers, words
from ui.plan.numbers import IsoMap
from ui.plan.options import Option
from ui.plan.work import Work
from ui.session import steps, text
from ui.session.case import Case
from ui.session.compute import DECLARED, effective_settings
from ui.views import goals
from ui.views.show import show
from ui.views.sweep import current_value


def panel(case: Case, work: Work) -> None:
    """The map, or how far the work on it is."""
    st.header("Budget × records")
    if "map" in work.missing:
        work.default_value("map")
        return
    answer, why = work.known["map"]
    if why is not None:
        st.warning(words.no_answer(why, case))
    else:
        _map(case, cast(IsoMap, answer), work)


def _caption(case: Case) -> str:
    return text.assumptions(effective_settings(case.settings, [case.design]), case.records)


def _say_world(case: Case) -> None:
    """Say in which table the map is true, where the table is only described."""
    if case.settings.dataset == DECLARED:
        c, fewest = text.number(case.settings.c), "with the fewest records that a release takes."
        st.caption(
            f"**Drawn at each point for the least favourable table that was checked, at c = {c}**, "
            f"{fewest}"
            if numbers.is_of_all(case)
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
        meta={"target": target, "settings": settings.to_query()},
        source=case.records.source,
    )
    st.markdown(
        "On the thick line your goal is met exactly; right of it and above it, with room to "
        "spare. Every other line joins budgets and numbers of records with the same "
        f"{'chance' if is_chance else 'length'}."
    )
    _say_world(case)
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
