"""Step 3: three budgets to choose from, each with its risk, what it would show and a verdict; and
the method behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import streamlit as st

from dpci_core import NeededRecords
from dpci_core.privacy.budget import to_float_down
from dpci_core.report.cautions import Caution
from ui.controls import currency, design
from ui.controls.sidebar import feature_names
from ui.controls.split import split_controls
from ui.kit.bound import among
from ui.plan import bounds, numbers, options, pictures, standard, words
from ui.plan.job import Answer, memo_key
from ui.plan.options import Option
from ui.plan.work import Work, work_on
from ui.session import compute, state, steps, text
from ui.session.case import Case, place_of
from ui.session.compute import DECLARED
from ui.session.settings import Settings
from ui.views import goals
from ui.views.cautions import box

METHODS = {
    "chosen": "Chosen for me: encoding, penalty and split, without penalty in the target",
    "own": "Set by hand, with a closer look",
}


def panel(case: Case) -> None:
    """The three budgets, then how they are reached."""
    st.title("Choose a budget")
    sentence = goals.goal_words(case)
    st.markdown(f"Goal: **{text.plain(sentence)}**, with {case.n:,} records.")
    _say_if_gone(case)
    work: Work | None = None
    if _is_wanted(case):
        work = _cards(case)
    _method(case, work)


def _say_if_gone(case: Case) -> None:
    """A goal about a coefficient that another table, or other features, do not have, is about
    another one now.
    """
    asked = case.settings.goal_on
    if asked == "" or asked in case.records.feature_names:
        return
    place = place_of(case.settings, case.records)
    shown = "" if place is None else case.records.feature_names[place]
    now = f"“{text.plain(text.called(shown))}”" if shown else "the mean over all coefficients"
    st.warning(
        f"Your goal was about “{text.plain(text.called(asked))}”, which is not among the "
        f"coefficients. It is about {now} for now, with the same number in its units."
    )
    st.button("Keep it so", key="keep_which", on_click=lambda: state.update(goal_on=shown))


def _is_wanted(case: Case) -> bool:
    """Whether to compute; with many coefficients only if asked, because it takes minutes."""
    p = len(case.records.feature_names)
    if p <= numbers.MANY:
        return True
    return st.toggle(
        f"Compute the answers for {p} coefficients, which takes minutes", key="many_coefficients"
    )


# --- the three budgets ----------------------------------------------------------------------------


def _cards(case: Case) -> Work:
    work = work_on(case)
    if not steps.is_chosen(case.settings):
        work.known.setdefault("own", _as_set(case))  # as declared, until the worst case is known
    shared = _shared(work)
    box(shared)
    left, middle, right = st.columns(3, gap="small")
    with left.container(border=True, height="stretch"):
        _card(case, work, "least", "Least budget that works", shared)
    with middle.container(border=True, height="stretch"):
        _card(case, work, "balanced", "As much noise as sampling error", shared)
    with right.container(border=True, height="stretch"):
        _own(case, work, shared)
    return work


def _shared(work: Work) -> tuple[Caution, ...]:
    """What speaks against every budget alike, to be said once."""
    found = [one.cautions for one, _ in work.known.values() if isinstance(one, Option)]
    if len(found) < 2:
        return ()
    return tuple(said for said in found[0] if all(said in other for other in found))


def _card(case: Case, work: Work, name: str, title: str, shared: Sequence[Caution]) -> None:
    st.markdown(f"**{title}**")
    if name in work.missing:
        work.default_value(name)
        return
    answer, why = work.known[name]
    option = options.least_of(work.known) if name == "least" else cast("Option | None", answer)
    if option is None:
        assert why is not None
        st.warning(words.no_answer(why, case.records, case.scale))
        return
    _numbers(case, option, shared)
    if name == "least" and option.nearby:
        st.caption(words.nearby_words(case, option))
    _use(case, option, name)


def _own(case: Case, work: Work, shared: Sequence[Caution]) -> None:
    """The total of the settings, to be moved."""
    st.markdown("**Your own total**")
    currency.total_control(case.settings)
    if "own" not in work.known:
        work.default_value("own")
        return
    answer, why = work.known["own"]
    if why is not None:
        st.warning(words.no_answer(why, case.records, case.scale))
        return
    option = cast(Option, answer)
    _numbers(case, option, shared, has_total=False)
    _records(case, work)
    _use(case, option, "own")


def _as_set(case: Case) -> Answer:
    """What the settings give as they are, which takes no search."""
    return state.memo().get(
        memo_key(case, "as declared"), lambda: numbers.attempt(lambda: options.described(case))
    )


def _numbers(
    case: Case, option: Option, shared: Sequence[Caution], *, has_total: bool = True
) -> None:
    """The total with its risk, what would be seen, and the verdict with what speaks against it."""
    if has_total:
        st.metric(f"Total {case.settings.typed.letter}", text.number(option.typed, 4))
        st.markdown(words.risk_of(case.settings, to_float_down(option.total)))
    st.markdown(words.effects_sentence(option))
    if option.is_not_reportable:
        st.markdown(words.NOT_REPORTABLE)
    else:
        shown = text.plain(goals.interval_words(case, option.length))
        st.markdown(
            f"{shown}: {text.number(option.against)} times as long as without privacy, or as from "
            f"{option.as_if:,} records."
        )
        if option.range is not None:
            shortest, longest = (goals.interval_words(case, end) for end in option.range)
            st.caption(text.plain(f"In the best world: {shortest}. In the worst: {longest}."))
        st.markdown(words.verdict(case, option))
    box([said for said in option.cautions if said not in shared])


def _use(case: Case, option: Option, name: str) -> None:
    reaches = numbers.in_limits(case.settings.currency, option.typed)
    st.button(
        "Use this budget",
        key=f"use_{name}",
        type="primary" if name == "least" else "secondary",
        on_click=_take,
        args=(option,),
        disabled=not reaches,
    )
    if not reaches:
        st.caption(
            "The budget control does not go there: this would protect nobody, or less than is of "
            "use."
        )


def _take(option: Option) -> None:
    """Plan with this design, and go on."""
    if option.encoding is not None:
        standard.encode_by(option.encoding)
    state.put(options.adopted(state.settings(), option))
    steps.go("approve")


def _records(case: Case, work: Work) -> None:
    """How many records would do at this total, where the method stays as it is."""
    if "records" not in work.known:
        if "records" in work.missing:
            st.caption("Records needed: being computed …")
        return
    answer, why = work.known["records"]
    if why is not None:
        st.caption(words.no_answer(why, case.records, case.scale))
        return
    found = cast(NeededRecords, answer)
    st.metric("Records needed", f"{found.n_records:,}")
    reaches = numbers.in_limits("n", found.n_records)
    st.button(
        "Plan for so many",
        key="use_records",
        type="tertiary",
        on_click=lambda: state.update(n=found.n_records),
        disabled=not reaches,
    )


# --- the method -----------------------------------------------------------------------------------


def _method(case: Case, work: Work | None) -> None:
    """How the design is found; by hand with every control and every closer look."""
    schema = options.schema_of(case.settings, state.source())
    if schema is not None:
        st.radio("Change method", **among(METHODS), **steps.METHOD.bound())
    settings = case.settings
    _noise(case)
    if steps.is_chosen(settings):
        return
    with st.expander("Every setting of the method", key="method_by_hand"):
        left, right = st.columns(2, gap="large")
        with left:
            currency.currency_control(settings)
            split_controls(settings)
        with right:
            design.design_controls(settings)
            design.model_controls(settings)
            design.target_control()
            if schema is not None:
                standard.controls(schema)
            design.n_control(settings, _rows(settings))
            design.d_control(settings, feature_names())
    if settings.dataset == DECLARED and case.records.encoding == "schema":
        bounds.panel(case)
    if work is not None:
        pictures.panel(case, work)


def _noise(case: Case) -> None:
    """How the noise is shaped, and what came of it."""
    design.noise_control(case.settings)
    if not case.settings.is_shaped:
        return
    if case.design.geometry is None:
        st.caption(text.NO_SHAPE)
        return
    how = text.OPENED_SHAPE if case.is_opened else text.HOW_SHAPED
    st.caption(f"{text.noise_sentence(case.design)} {how}")
    if case.is_opened:
        st.button("Plan the shape anew", key="shape_anew", on_click=lambda: state.update(shape=""))


def _rows(settings: Settings) -> int:
    kept = state.upload()
    if kept is not None and settings.dataset == "upload":
        return len(kept.frame)
    return compute.table_rows(settings)
