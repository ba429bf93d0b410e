"""The page Plan: say how long an interval may be, get the budget, the number of records or the split."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, cast

import pandas as pd
import streamlit as st

from dpci_core import (
    NeededBudget,
    NeededRecords,
    RankedDesign,
    RegularizationAnswer,
    SplitAnswer,
    best_split,
    needed_budget,
    needed_records,
)
from dpci_core.errors import ConvergenceError, DataRejectedError
from dpci_core.planner.targets import as_if_records, outcome
from dpci_core.privacy import to_float_down
from ui import bounds, controls, declare, explore, plan_charts, plan_file, plan_text, planning, state, text
from ui.budget import Split
from ui.compute import DECLARED
from ui.planning import Case
from ui.settings import Settings

LOOKS = {
    "map": "Budget × records",
    "split": "Split of the budget",
    "mechanisms": "Which mechanism",
    "c": "Which penalty",
}
Answer = tuple[object, str]
"""What `planning.attempt` gives: a value and no words, or None and why."""
MEAN = ""
"""The wish about the mean over all coefficients."""


def page() -> None:
    """Draw the page."""
    settings = state.settings()
    st.title("Plan")
    st.markdown(
        "Before anyone opens the real table: **say what your intervals should be able to do, and see what it takes** "
        "in privacy budget or in records. Everything here is computed on a stand-in, never on private records."
    )
    controls.link_problem()
    with st.sidebar:
        ready = explore.sidebar(one_design=True)
    if not ready:
        st.info("Bring your file in the panel at the left, or choose another table there.")
        return
    if settings.dataset == DECLARED:
        declare.panel()
    started = time.perf_counter()
    try:
        with st.spinner("Fitting …", show_time=True, width="content"):
            case = planning.make_case(settings, state.source())
    except (DataRejectedError, ConvergenceError, FileNotFoundError, ValueError) as problem:
        st.error(str(problem))
        if isinstance(problem, planning.WishError):
            st.button("Take the usual wish", key="usual_wish", on_click=_use_usual_wish)
        return
    if settings.dataset == DECLARED:
        bounds.panel(case)
    _wish(case)
    if _is_wanted(case):
        _answers(case)
        _look_closer(case)
    plan_file.panel(case)
    st.caption(f"{text.PRIVACY_UNIT} Computed in {time.perf_counter() - started:.2f} s.")


def _use_usual_wish() -> None:
    usual = Settings()
    state.update(
        goal=usual.goal,
        goal_on=usual.goal_on,
        goal_length=usual.goal_length,
        goal_value=usual.goal_value,
        goal_chance=usual.goal_chance,
    )


# --- the wish ----------------------------------------------------------------------------------------------------


def _wish(case: Case) -> None:
    """What the intervals should be able to do."""
    settings = case.settings
    with st.container(border=True):
        st.header("What should the intervals be able to do?")
        left, right = st.columns(2, gap="medium")
        with left:
            st.session_state["goal"] = settings.goal
            st.radio(
                "The wish",
                list(plan_text.GOALS),
                format_func=plan_text.GOALS.__getitem__,
                key="goal",
                on_change=_take_goal,
                label_visibility="collapsed",
            )
            _which(case)
        with right:
            _amount(case)
            _chance(settings)


def _take_goal() -> None:
    goal = st.session_state["goal"]
    state.update(goal=goal, goal_chance=plan_text.USUAL_CHANCE[goal])


def _which(case: Case) -> None:
    names = list(case.records.feature_names)
    options = names if case.settings.goal == "zero" else [MEAN, *names]
    place = planning.place_of(case.settings, case.records)
    st.session_state["goal_on"] = MEAN if place is None else names[place]
    st.selectbox(
        "Which coefficient",
        options,
        format_func=lambda name: name or "the mean over all coefficients",
        key="goal_on",
        on_change=_take_which,
        args=(case,),
    )
    _say_if_gone(case, MEAN if place is None else names[place])


def _say_if_gone(case: Case, shown: str) -> None:
    """A wish about a coefficient that another table, or other features, do not have, is about another one now."""
    asked = case.settings.goal_on
    if asked in (MEAN, shown):
        return
    now = f"“{text.plain(shown)}”" if shown else "the mean over all coefficients"
    st.warning(
        f"Your wish was about “{text.plain(asked)}”, which is not among the coefficients. It is about {now} for now, "
        "with the same number in its units."
    )
    st.button("Keep it so", key="keep_which", on_click=lambda: state.update(goal_on=shown))


def _take_which(case: Case) -> None:
    """Another coefficient: the same wish in its units."""
    state.update(**planning.moved_wish(case, st.session_state["goal_on"]))


def _amount(case: Case) -> None:
    settings, unit = case.settings, plan_text.goal_unit(case.settings, case.records)
    name = "goal_length" if settings.goal == "length" else "goal_value"
    st.session_state[name] = getattr(settings, name)
    st.number_input(
        f"At most so long ({text.plain(unit)})"
        if settings.goal == "length"
        else f"True value to tell from zero ({text.plain(unit)})",
        value=None,
        step=None,
        format="%.6g",
        key=name,
        on_change=_take_amount,
        args=(case, name),
        help=plan_text.GOAL_HELP[settings.goal],
    )
    if refused := st.session_state.pop("goal_refused", None):
        st.warning(refused)


def _take_amount(case: Case, name: str) -> None:
    value = st.session_state[name]
    if value is None:
        return
    if not planning.in_limits(name, value) or value == 0:
        rule = "longer than 0" if name == "goal_length" else "another number than 0"
        st.session_state["goal_refused"] = f"Give {rule}, up to a thousand million."
        return
    try:
        planning.make_target(
            replace(case.settings, **cast("dict[str, Any]", {name: float(value)})), case.target.coefficient, case.scale
        )
    except planning.WishError as problem:
        st.session_state["goal_refused"] = str(problem)
        return
    state.update(**{name: float(value)})


def _chance(settings: Settings) -> None:
    choices = sorted({*plan_text.CHANCES, settings.goal_chance})
    st.session_state["goal_chance"] = settings.goal_chance
    st.select_slider(
        "How surely",
        choices,
        format_func=lambda chance: plan_text.chance_words(settings.goal, chance),
        key="goal_chance",
        on_change=lambda: state.update(goal_chance=float(st.session_state["goal_chance"])),
        help="The noise differs from release to release, and with it the length: ask for more than an even chance if "
        "you have only one release.",
    )


def _is_wanted(case: Case) -> bool:
    """Whether to compute; with many coefficients only if asked, because it takes minutes."""
    p = len(case.records.feature_names)
    if p <= planning.MANY:
        return True
    return st.toggle(f"Compute the answers for {p} coefficients, which takes minutes", key="many_coefficients")


# --- the answers -------------------------------------------------------------------------------------------------


def _answers(case: Case) -> None:
    """In both directions: what the settings give, what budget the wish needs, and how many records."""
    got = state.memo().get(_memo_key(case, "got"), lambda: planning.attempt(lambda: _got(case)))
    budget, records = _needed(case)
    left, middle, right = st.columns(3, gap="small")
    with left.container(border=True, height="stretch"):
        _got_card(case, *got)
    with middle.container(border=True, height="stretch"):
        _budget_card(case, cast("NeededBudget | None", budget[0]), budget[1])
    with right.container(border=True, height="stretch"):
        _records_card(case, cast("NeededRecords | None", records[0]), records[1])


def _needed(case: Case) -> tuple[Answer, Answer]:
    """The budget and the records that the wish needs, each or why there is none; remembered in the session."""
    memo = state.memo()
    budget = memo.get(_memo_key(case, "budget"), lambda: planning.attempt(lambda: _budget(case)))
    records = memo.get(_memo_key(case, "records"), lambda: planning.attempt(lambda: _records(case)))
    return budget, records


def _got(case: Case) -> dict[str, Any]:
    found = outcome(case.moments, design=case.design, target=case.target, n_records=case.n)
    return {
        "length": found.length * case.scale,
        "probability": found.probability,
        "meets": found.meets,
        "as_if": as_if_records(case.moments, design=case.design, n_records=case.n),
    }


def _budget(case: Case) -> NeededBudget:
    return needed_budget(case.moments, design=case.design, target=case.target, n_records=case.n)


def _records(case: Case) -> NeededRecords:
    return needed_records(case.moments, design=case.design, target=case.target)


def _got_card(case: Case, got: object, why: str) -> None:
    st.markdown(f"**With {plan_text.total_words(case.settings)} and n = {case.n:,}**")
    if got is None:
        st.warning(plan_text.in_names(why, case.records, case.scale))
        return
    found = cast("dict[str, Any]", got)
    if case.target.is_power:
        st.metric("Chance to exclude zero", text.percent(found["probability"]))
    else:
        st.metric("Expected length", text.number(found["length"]))
    st.markdown(plan_text.got_sentence(case.settings, found["meets"], found["probability"]))
    st.markdown(
        f"The price of privacy: the mean interval is as long as if you had **only {found['as_if']:,}** of your "
        f"{case.n:,} records, without privacy."
    )


def _budget_card(case: Case, found: NeededBudget | None, why: str) -> None:
    st.markdown(f"**Budget needed, with n = {case.n:,}**")
    if found is None:
        st.warning(plan_text.in_names(why, case.records, case.scale))
        return
    settings = case.settings
    typed = planning.typed_total(settings, found.total)
    st.metric(f"Total {plan_text.symbol(settings)}", text.number(typed, 4))
    st.markdown(plan_text.risk_of(settings, to_float_down(found.total)))
    st.caption(plan_text.around_words(found.around, case.target, case.scale, "budget"))
    reaches = planning.in_limits(settings.currency, typed)
    st.button("Use this budget", key="use_budget", on_click=_use_budget, args=(typed,), disabled=not reaches)
    if not reaches:
        st.caption("The budget control does not go there: this would protect nobody, or less than is of use.")


def _use_budget(typed: float) -> None:
    now = state.settings()
    free = replace(now, split=replace(now.split, locked=(False, False, False)))
    state.put(free.swept("total", typed))


def _records_card(case: Case, found: NeededRecords | None, why: str) -> None:
    st.markdown(f"**Records needed, with {plan_text.total_words(case.settings)}**")
    if found is None:
        st.warning(plan_text.in_names(why, case.records, case.scale))
        return
    st.metric("Records n", f"{found.n_records:,}")
    ratio = found.n_records / case.n
    st.markdown(f"That is **{text.number(ratio, 2)} times** the {case.n:,} of your settings, at the same budget.")
    st.caption(plan_text.around_words(found.around, case.target, case.scale, "records"))
    reaches = planning.in_limits("n", found.n_records)
    st.button(
        "Use this number",
        key="use_records",
        on_click=lambda: state.update(n=found.n_records),
        disabled=not reaches,
    )
    if not reaches:
        st.caption("The control for n goes from 100 to 1,000,000.")


# --- closer looks ------------------------------------------------------------------------------------------------


def _look_closer(case: Case) -> None:
    st.header("Look closer")
    st.session_state["look"] = case.settings.look
    st.segmented_control(
        "Look closer",
        list(LOOKS),
        format_func=LOOKS.__getitem__,
        key="look",
        on_change=lambda: state.update(look=st.session_state["look"] or case.settings.look),
        label_visibility="collapsed",
    )
    {"map": _map, "split": _split, "mechanisms": _mechanisms, "c": _penalty}[case.settings.look](case)


def _memo_key(case: Case, kind: str) -> tuple[object, ...]:
    """What an answer rests on: the case in the scale of the moments, and how budget and wish are typed."""
    now = case.settings
    typed = (now.currency, now.delta, now.results, case.scale)
    return (kind, case.records.digest, repr(case.design), repr(case.target), case.n, *typed)


def _caption(case: Case) -> str:
    return text.assumptions(case.settings, case.records)


def _map(case: Case) -> None:
    settings = case.settings
    with st.spinner("Computing the map …", width="content"):
        found = state.memo().get(_memo_key(case, "map"), lambda: planning.iso_map(case))
    is_chance = case.target.is_power
    x_label = f"total budget {plan_text.symbol(settings)}"
    wish = settings.goal_chance if is_chance else settings.goal_length
    marks = [plan_charts.here(explore.current_value(settings, "total"), case.n)]
    marks += _answer_marks(case)
    figure = plan_charts.iso_chart(
        found,
        wish=wish,
        is_chance=is_chance,
        marks=marks,
        x_label=x_label,
        caption=f"{_caption(case)}; {plan_text.wish_words(settings, case.records)}",
        meta={"look": "map", "wish": wish, "settings": settings.to_query()},
        source=case.records.source,
    )
    st.markdown(
        "On the thick line your wish comes true exactly; right of it and above it, with room to spare. Every other "
        f"line joins budgets and numbers of records with the same {'chance' if is_chance else 'length'}."
    )
    explore.show(
        "plan_map",
        figure,
        plan_text.map_sentence(settings, case.records, marks),
        plan_charts.iso_table(found, x_label=x_label, is_chance=is_chance),
        is_plain=True,
    )


def _answer_marks(case: Case) -> list[plan_charts.Mark]:
    """Where the wish comes true on the two lines through the present settings."""
    settings, marks = case.settings, []
    budget, records = _needed(case)
    if budget[0] is not None:
        typed = planning.typed_total(settings, cast(NeededBudget, budget[0]).total)
        marks.append(plan_charts.needed_budget(typed, case.n))
    if records[0] is not None:
        total = explore.current_value(settings, "total")
        marks.append(plan_charts.needed_records(total, cast(NeededRecords, records[0]).n_records))
    return marks


def _split(case: Case) -> None:
    locked = {
        name: part
        for name, part, is_locked in zip(
            text.PART_NAMES, case.settings.split.parts, case.settings.split.locked, strict=True
        )
        if is_locked
    }
    with st.spinner("Looking for the best split …", width="content"):
        answer, why = state.memo().get(
            (*_memo_key(case, "split"), tuple(locked.items())),
            lambda: planning.attempt(
                lambda: best_split(case.moments, design=case.design, n_records=case.n, locked=locked)
            ),
        )
    if answer is None:
        st.warning(plan_text.in_names(why, case.records, case.scale))
        return
    best = cast(SplitAnswer, answer)
    mine = tuple(case.settings.split.share(i) / 100.0 for i in range(3))
    length = best.forecast.ci_length_mean
    loss = best.asked.ci_length_mean / length - 1.0
    _split_words(best, loss, locked=bool(locked))
    found = state.memo().get(_memo_key(case, "triangle"), lambda: planning.split_map(case))
    figure = plan_charts.split_chart(
        found,
        best_length=length,
        marks=[
            plan_charts.your_split((mine[0], mine[1], mine[2]), loss),
            plan_charts.the_best_split(best.shares),
        ],
        caption=_caption(case),
        meta={"look": "split", "loss": loss, "settings": case.settings.to_query()},
        source=case.records.source,
    )
    explore.show("plan_split", figure, best.reason, plan_charts.split_table(found, best_length=length))


def _split_words(best: SplitAnswer, loss: float, *, locked: bool) -> None:
    left, right = st.columns([3, 1], vertical_alignment="center")
    among = " among those that keep what you locked" if locked else ""
    shares = " / ".join(f"{100 * share:.3g} %" for share in best.shares)
    left.markdown(
        f"The best split{among}: **{shares}** for coefficients, curvature and gradient covariance. Yours makes the "
        f"mean interval **{100 * loss:.1f} %** longer than that. {text.SPLIT_NOTE}"
    )
    model, hessian, covariance = best.design.budget.parts
    now = state.settings().split
    right.button(
        "Use the best split",
        key="use_split",
        on_click=lambda: state.update(split=Split(now.total, (model, hessian, covariance), now.locked)),
        disabled=(model, hessian, covariance) == now.parts,
        type="primary",
    )


def _mechanisms(case: Case) -> None:
    epsilon, delta = planning.guarantee(case.settings)
    with st.spinner("Comparing …", width="content"):
        rows = state.memo().get((*_memo_key(case, "rank"), epsilon, delta), lambda: planning.ranking(case))
    st.markdown(
        f"Every way to keep the promise ε = {text.number(epsilon)} (and δ = {delta:g} for zCDP; pure ways keep it with "
        "δ = 0, which is more), each with its own best split, the shortest intervals first."
    )
    table = _ranked_table(rows)
    picked = st.dataframe(
        table,
        hide_index=True,
        key="ranking",
        on_select="rerun",
        selection_mode="single-row",
        alt=plan_text.ranking_sentence(rows),
        column_config={
            "mean length": st.column_config.NumberColumn(format="%.3g"),
            "against the best": st.column_config.NumberColumn(format="%.2f ×"),
            "as if records": st.column_config.NumberColumn(format="localized"),
        },
    )
    st.markdown(plan_text.ranking_sentence(rows))
    chosen = [rows[i] for i in picked.selection.rows]
    runs = bool(chosen) and chosen[0].design is not None
    st.button(
        "Use the selected way",
        key="use_way",
        on_click=_use_way,
        args=(chosen[0] if chosen else None,),
        disabled=not runs,
        help="Select a row of the table first.",
    )
    if refused := st.session_state.pop("way_refused", None):
        st.warning(refused)
    for row in rows:
        if row.design is None:
            st.caption(f"{plan_text.way(row).label}: {row.reason}")
    if any(row.status for row in rows):
        st.caption(f"◆ {next(row.status for row in rows if row.status)}")


def _ranked_table(rows: tuple[RankedDesign, ...]) -> pd.DataFrame:
    best = min(row.length for row in rows)
    return pd.DataFrame(
        [
            {
                "way": f"{plan_text.way(row).label}{' ◆' if row.status else ''}",
                "mean length": row.length if row.design else None,
                "against the best": row.length / best if row.design else None,
                "as if records": row.as_if_records if row.design else None,
                "guarantee": f"ε = {text.number(row.epsilon)}, δ = {row.delta:g}" if row.design else "cannot run",
                "split": plan_text.share_words(row.design.budget.parts, row.design.budget.total) if row.design else "",
            }
            for row in rows
        ]
    )


def _use_way(row: RankedDesign | None) -> None:
    if row is None or row.design is None:
        return
    try:
        state.put(planning.adopted(state.settings(), row))
    except ValueError as problem:
        st.session_state["way_refused"] = str(problem)


def _penalty(case: Case) -> None:
    with st.spinner("Trying values of c …", width="content"):
        answer, why = state.memo().get(
            _memo_key(case, "c"), lambda: planning.attempt(lambda: planning.best_c(case, state.source()))
        )
    if answer is None:
        st.warning(plan_text.in_names(why, case.records, case.scale))
        return
    found = cast(RegularizationAnswer, answer)
    st.markdown(
        "A larger penalty c needs less noise, so intervals shrink; but it also **pulls the coefficients toward zero**, "
        "and the intervals are for the pulled ones. Short intervals around something else are no gain: below, both."
    )
    choices = [("shortest", found.shortest, plan_charts.shortest_c)]
    if found.faithful is not None:
        choices.append(("faithful", found.faithful, plan_charts.faithful_c))
    for column, (name, choice, _) in zip(st.columns(2, gap="small"), choices, strict=False):
        with column.container(border=True, height="stretch"):
            st.markdown(plan_text.c_words(name, choice, found))
            st.button(
                f"Use c = {choice.regularization:g}",
                key=f"use_c_{name}",
                on_click=lambda c=choice.regularization: state.update(c=c),
                disabled=choice.regularization == case.settings.c or not planning.in_limits("c", choice.regularization),
            )
    if found.faithful is None:
        st.info(f"No c that was tried keeps the target within {found.share:g} half-widths of the unpenalised one.")
    figure = plan_charts.c_chart(
        found.curve,
        now=case.settings.c,
        marks=[mark(choice.regularization, choice.forecast.ci_length_mean) for _, choice, mark in choices],
        share=found.share,
        caption=_caption(case),
        meta={"look": "c", "settings": case.settings.to_query()},
        source=case.records.source,
    )
    explore.show("plan_c", figure, found.reason, plan_charts.c_table(found.curve, case.records.feature_names))
