"""The answers of the page Plan: what the settings give, what budget the target needs, and how many
records.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import streamlit as st

from dpci_core import NeededBudget, NeededRecords, forecast
from dpci_core.intervals.forecast import drawn_intervals, forecast_of
from dpci_core.plan.numbers import shrinkage_of
from dpci_core.planner.targets import as_if, outcome_of
from dpci_core.privacy.budget import to_float_down
from dpci_core.report.cautions import cautions
from ui.plan import numbers, words
from ui.plan.job import memo_key
from ui.plan.work import Work, work_on
from ui.session import state, text
from ui.session.case import Case
from ui.views.cautions import box


def cards(case: Case) -> Work:
    """In both directions: what the settings give, what budget the target needs, and how many
    records.
    """
    left, middle, right = st.columns(3, gap="small")
    with left.container(border=True, height="stretch"):
        found = _got_card(case)
    work = work_on(case)
    with middle.container(border=True, height="stretch"):
        _budget_card(case, work)
    with right.container(border=True, height="stretch"):
        _records_card(case, work)
    if found:
        box(found["cautions"])
    return work


def _got(case: Case) -> dict[str, Any]:
    drawn = drawn_intervals(case.moments, design=case.design, n_records=case.n)
    found = outcome_of(drawn, case.target)
    made = forecast_of(drawn, case.moments, design=case.design)
    if case.design.target == "unpenalised":  # as the page for the board: out of reach in any units
        L = case.records.to_original
        original = forecast(case.moments, design=case.design, n_records=case.n, contrasts=L)
        made = replace(made, is_out_of_reach=made.is_out_of_reach | original.is_out_of_reach)
    return {
        "length": found.length * case.scale,
        "probability": found.probability,
        "meets": found.meets,
        "as_if": as_if(made),
        "is_out_of_reach": words.is_out_of_reach(made, case.target),
        "of_no_use": words.of_no_use(made, case.target),
        "cautions": cautions(
            made,
            design=case.design,
            names=case.records.feature_names,
            shrinkage=shrinkage_of(case.moments),
        ),
    }


def _got_card(case: Case) -> dict[str, Any] | None:
    """What the settings give, also drawn; None where they give nothing."""
    got, why = state.memo().get(memo_key(case, "got"), lambda: numbers.attempt(lambda: _got(case)))
    st.markdown(f"**With {words.total_words(case.settings)} and n = {case.n:,}**")
    if why is not None:
        st.warning(words.no_answer(why, case.records, case.scale))
        return None
    found = cast("dict[str, Any]", got)
    if found["is_out_of_reach"]:
        st.markdown(found["of_no_use"])
        return found
    if case.target.is_power:
        st.metric("Chance to exclude zero", text.percent(found["probability"]))
    else:
        st.metric("Expected length", text.number(found["length"]))
    st.markdown(
        found["of_no_use"]
        or words.got_sentence(case.settings, found["meets"], found["probability"])
    )
    st.markdown(
        "The price of privacy: the mean interval is as long as if you had **only "
        f"{found['as_if']:,}** of your {case.n:,} records, without privacy."
    )
    return found


def _budget_card(case: Case, work: Work) -> None:
    st.markdown(f"**Budget needed, with n = {case.n:,}**")
    if "budget" in work.missing:
        work.stand_in("budget")
        return
    answer, why = work.known["budget"]
    if why is not None:
        st.warning(words.no_answer(why, case.records, case.scale))
        return
    found, settings = cast(NeededBudget, answer), case.settings
    typed = numbers.typed_total(settings, found.total)
    st.metric(f"Total {text.symbol(settings)}", text.number(typed, 4))
    st.markdown(words.risk_of(settings, to_float_down(found.total)))
    if problem := words.of_no_use(found.forecast, case.target):
        st.markdown(problem)
    st.caption(words.around_words(found.around, case.target, case.scale, "budget"))
    reaches = numbers.in_limits(settings.currency, typed)
    st.button(
        "Use this budget",
        key="use_budget",
        on_click=_use_budget,
        args=(typed,),
        disabled=not reaches,
    )
    if not reaches:
        st.caption(
            "The budget control does not go there: this would protect nobody, or less than is of "
            "use."
        )


def _use_budget(typed: float) -> None:
    now = state.settings()
    free = replace(now, split=replace(now.split, locked=(False, False, False)))
    state.put(free.swept("total", typed))


def _records_card(case: Case, work: Work) -> None:
    st.markdown(f"**Records needed, with {words.total_words(case.settings)}**")
    if "records" in work.missing:
        work.stand_in("records")
        return
    answer, why = work.known["records"]
    if why is not None:
        st.warning(words.no_answer(why, case.records, case.scale))
        return
    found = cast(NeededRecords, answer)
    st.metric("Records n", f"{found.n_records:,}")
    ratio = found.n_records / case.n
    st.markdown(
        f"That is **{text.number(ratio, 2)} times** the {case.n:,} of your settings, at the same "
        "budget."
    )
    if problem := words.of_no_use(found.forecast, case.target):
        st.markdown(problem)
    st.caption(words.around_words(found.around, case.target, case.scale, "records"))
    reaches = numbers.in_limits("n", found.n_records)
    st.button(
        "Use this number",
        key="use_records",
        on_click=lambda: state.update(n=found.n_records),
        disabled=not reaches,
    )
    if not reaches:
        st.caption("The control for n goes from 100 to 1,000,000.")
