"""The answers of the page Plan: what the settings give, what budget the wish needs, and how many records."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

import streamlit as st

from dpci_core import NeededBudget, NeededRecords, needed_budget, needed_records
from dpci_core.planner.amounts import with_total
from dpci_core.planner.targets import as_if_records, outcome
from dpci_core.privacy import to_float_down
from ui import plan_text, planning, state, text
from ui.planning import Case

Answer = tuple[object, str]
"""What `planning.attempt` gives: a value and no words, or None and why."""


def cards(case: Case) -> None:
    """In both directions: what the settings give, what budget the wish needs, and how many records."""
    got = state.memo().get(memo_key(case, "got"), lambda: planning.attempt(lambda: _got(case)))
    budget, records = needed(case)
    left, middle, right = st.columns(3, gap="small")
    with left.container(border=True, height="stretch"):
        _got_card(case, *got)
    with middle.container(border=True, height="stretch"):
        _budget_card(case, cast("NeededBudget | None", budget[0]), budget[1])
    with right.container(border=True, height="stretch"):
        _records_card(case, cast("NeededRecords | None", records[0]), records[1])


def needed(case: Case) -> tuple[Answer, Answer]:
    """The budget and the records that the wish needs, each or why there is none; remembered in the session."""
    memo = state.memo()
    budget = memo.get(memo_key(case, "budget", but={"total"}), lambda: planning.attempt(lambda: _budget(case)))
    records = memo.get(memo_key(case, "records", but={"n"}), lambda: planning.attempt(lambda: _records(case)))
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


def memo_key(case: Case, kind: str, *, but: Collection[str] = ()) -> tuple[object, ...]:
    """What an answer rests on: the case in the scale of the moments, and how budget and wish are typed.

    but: what it does not rest on, of the "total" (only its shares count), the number "n", the "length" wished for and
    the whole "wish".
    """
    now, target = case.settings, case.target
    design = with_total(case.design, Decimal(1)) if "total" in but else case.design
    wish = "" if "wish" in but else repr((target.coefficient, target.excludes_zero_at) if "length" in but else target)
    typed = (now.currency, now.delta, now.results, case.scale)
    return (kind, case.records.digest, repr(design), wish, None if "n" in but else case.n, *typed)
