"""The page Release: a plan, a budget, a private file, and one action that spends."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from dpci_core.ledger import (
    Account,
    BudgetExceededError,
    Charge,
    Ledger,
    LedgerError,
    Proposal,
    price,
)
from dpci_core.plan import AnyPlan
from dpci_core.release import (
    Acceptable,
    AnyRelease,
    ModelTask,
    NotAcceptedError,
    ReleaseRefusedError,
    check_account,
    check_is_left,
    complete,
    release_once,
)
from dpci_core.report.cautions import stopping
from ui.controls import declare, person, plan_file
from ui.controls.hints import link_problem
from ui.kit import again
from ui.kit.top import bring, told_here
from ui.release import approval, asked, budget, rehearse, result, running, table, words
from ui.session import access, state, steps, text
from ui.session.case import make_case
from ui.session.compute import DECLARED, PUBLIC, TableSource
from ui.session.forms import FIELDS
from ui.session.words import in_words
from ui.views import ledger_text, path
from ui.views.cautions import box
from ui.views.releases import folder_of

_WANTED, _AGAIN, _FRESH = "release_wanted", "release_again", "release_fresh"
_WATCHED, _UNSEEN = "release_watched", "release_unseen"
_POLL = 1.0
"""Seconds after which a page that shows a running release is drawn again."""


@dataclass(frozen=True)
class Request:
    """Everything that a click on the button would carry out."""

    asked: ModelTask[Any]
    account: Account
    attempt: int

    @property
    def request_id(self) -> str:
        """The key of the charge: the same in every tab, as long as the ledger has no further charge
        for this question.
        """
        return f"{self.account.account_id}/{self.asked.digest}/{self.attempt}"

    @property
    def folder(self) -> Path:
        """The folder that has the result or will have it."""
        return folder_of(self.request_id)


def page() -> None:
    """Draw the page."""
    left, right = path.columns("release")
    with left:
        st.title("Release, once")
        st.markdown(words.INTRODUCTION)
        if access.is_off("Release"):
            return
        link_problem()
        with table.held_while_asked():
            try:
                _steps(Ledger())
            except (LedgerError, ReleaseRefusedError) as problem:
                st.error(text.plain(in_words(problem)))
    with right:
        path.so_far(path.case_or_none(state.settings(), make_case), "release")


def _steps(ledger: Ledger) -> None:
    plan = _plan_step()
    chosen = None if plan is None else asked.step(plan)
    if chosen is None:
        _still_to_come("2", "3", "4")
        return
    budget.price_of(chosen)
    running_now = running.requests()
    history = ledger.history()
    is_released = any((one.plan_hash, one.state) == (chosen.digest, "done") for one in history)
    if not is_released:
        rehearse.section(chosen)
    st.header(f"2 · {words.PARTS['2']}")
    accounts = ledger.accounts()
    account = budget.data_set(accounts, history, chosen)
    if account is None:
        _without_budget(ledger, chosen)
        return
    charges = _charges(history, account, chosen.digest)
    check_account(ledger, account.dataset, chosen.plan)
    if is_released and not charges:
        check_is_left(ledger, account.dataset, chosen)
    if _is_running(account, chosen, running_now, charges):
        return
    once_more = st.session_state.get(_AGAIN) == (account.account_id, chosen.digest, len(charges))
    paused = approved = None
    if charges and not once_more:
        paused, request = charges[-1], Request(chosen, account, len(charges) - 1)
        if not paused.may_go_on or paused.request_id != request.request_id:
            _say()
            _released_before(ledger, account, chosen, paused)
            return
        st.info(words.before_words(paused))
    else:
        request = Request(chosen, account, len(charges))
    before = words.earlier(accounts, history, account)
    if paused is None and account.needs_approval:
        approved = approval.step(ledger, chosen, account, request.request_id, before)
        if approved is None:
            _say()
            return
    spent = price(account.cap, chosen.price())
    if paused is None and spent > account.remaining:
        said = BudgetExceededError(spent, account.remaining, symbol=account.cap.symbol)
        st.error(in_words(said))
        return
    private = table.step(chosen)
    st.header(f"3 · {words.PARTS['3']}")
    st.markdown(words.PAID if paused else words.remains(chosen, account, spent))
    if before and not paused:
        st.markdown(before)
    _release_step(ledger, request, private, paused, approved)


def _without_budget(ledger: Ledger, chosen: ModelTask[Any]) -> None:
    """A data set that is yet to get its budget, which is for ever: its file may be seen before,
    unless its people share a budget that asks for an approval first.
    """
    if not budget.people(ledger):
        _still_to_come("3", "4")
        return
    check_is_left(ledger, budget.shared(), chosen)
    private = None if budget.approval_comes_first(ledger) else table.step(chosen)
    st.header(f"3 · {words.PARTS['3']}")
    budget.form(chosen, has_file=private is not None)
    _still_to_come("4")


def _still_to_come(*steps: str) -> None:
    """The parts of a release that wait for one above."""
    for place in steps:
        st.markdown(f"**{place} · {words.PARTS[place]}**")
    st.caption("This follows when what is above is decided.")


# --- 1: the plan ----------------------------------------------------------------------------------


def _plan_step() -> AnyPlan | None:
    st.header(f"1 · {words.PARTS['1']}")
    settings = state.settings()
    if settings.dataset != DECLARED:
        st.markdown(words.NEEDS_DECLARATION)
        left, right = st.columns(2, gap="large")
        with left:
            if st.button("Describe my table (no file needed)", key="release_describe"):
                path.show("describe")
        with right:
            plan_file.opener()
        return None
    try:
        case = make_case(settings, TableSource(PUBLIC))
        plan = plan_file.current_plan(case)
    except ValueError as problem:
        st.error(text.plain(in_words(problem)))
        return None
    with st.container(border=True):
        st.markdown(text.unbroken(words.plan_words(plan)))
        if plan.approved:
            st.caption(f"**The plan:** {text.plain(plan.approved)}")
    path.waiting(settings, approved=plan.approved)
    if approved := steps.approval_of_another(plan.digest):
        _changed(approved)
        return None
    if declare.is_example(declare_of(plan)):
        st.warning("This is the built-in example, not a table of yours. Describe yours first.")
    elif not plan.approved:
        st.warning("**This plan is not approved.**")
        if st.button("Approve it first: step 4", key="release_approve"):
            path.show("approve")
    with st.expander("Every column, as declared"):
        rows = [
            {FIELDS[name].label: cell for name, cell in row.items() if name != "effect"}
            for row in declare.to_rows(declare_of(plan))
        ]
        st.dataframe(rows, hide_index=True, key="release_columns", alt="Every column, as declared")
    return plan


def _changed(approved: str) -> None:
    """The plan is another one than was approved: which of the two, somebody has to say."""
    st.warning(f"{text.plain(approved)} {words.CHANGED}")
    with st.container(horizontal=True):
        if st.button("Approve it as it is now: step 4", key="release_approve", type="primary"):
            path.show("approve")
        if plan_file.has_approved():
            st.button(
                "Back to the approved plan",
                key="release_back",
                on_click=plan_file.back_to_approved,
            )


def declare_of(plan: AnyPlan) -> Any:
    """The described table behind a plan of this page."""
    return plan.source


# --- what runs ------------------------------------------------------------------------------------


def _is_running(
    account: Account,
    chosen: ModelTask[Any],
    running_now: tuple[str, ...],
    charges: tuple[Charge, ...],
) -> bool:
    """Whether a release of this question is carried out, in whichever session; the page then says
    that alone, until it ends.
    """
    of = f"{account.account_id}/{chosen.digest}/"
    found = next((one for one in running_now if one.startswith(of)), None)
    watched = st.session_state.pop(_WATCHED, None)
    if found is None:
        if watched is not None and watched.startswith(of):
            _after_watching(account, chosen, watched, charges)
        return False
    st.session_state[_WATCHED] = found
    st.header("3 · The release")
    st.info(words.RUNNING)
    again.want(_POLL)
    return True


def _after_watching(
    account: Account, chosen: ModelTask[Any], watched: str, charges: tuple[Charge, ...]
) -> None:
    """A release that was carried out elsewhere and was not booked leaves no trace but this, and an
    earlier one is not what came of it.
    """
    if all(charge.request_id != watched for charge in charges):
        st.session_state[approval.SAID] = words.NOT_BOOKED
        st.session_state[_AGAIN] = (account.account_id, chosen.digest, len(charges))


# --- what was released before ---------------------------------------------------------------------


def _charges(history: tuple[Charge, ...], account: Account, digest: str) -> tuple[Charge, ...]:
    """Every charge of this question on this account, oldest first."""
    of = account.account_id, digest
    return tuple(c for c in history if (c.account_id, c.plan_hash) == of)


def _released_before(
    ledger: Ledger, account: Account, chosen: ModelTask[Any], last: Charge
) -> None:
    """The newest charge of this question: its result, or what became of it."""
    made: AnyRelease | None = None
    if last.state != "failed" and last.request_id.count("/") == 2:
        with suppress(OSError, ValueError):
            made = chosen.load(folder_of(last.request_id))
    with st.container(key="release_made"):
        st.header("3 · The release")
        said = words.before_words(last, has_result=made is not None)
        if st.session_state.pop(_WANTED, None):  # a click that came after the release
            st.session_state[_UNSEEN] = True
            said += " Your click after that spent nothing more."
        st.info(said)
    if plan_file.ask_next(account.dataset, is_spent=not account.remaining):
        path.show("describe")
    if made is None and last.state == "done" and last.request_id.count("/") == 2:
        st.warning(words.no_folder(folder_of(last.request_id)))
    if made is not None and last.state == "booked":
        st.markdown(words.NOT_NOTED)
        st.button(
            "Note this result in the ledger",
            key="release_note",
            on_click=_note,
            args=(chosen, last.request_id),
        )
    if made is not None:
        fresh = st.session_state.get(_FRESH)
        result.panel(
            made,
            folder_of(last.request_id),
            fresh if fresh and fresh[0] == last.request_id else None,
            chosen.plan,
            chosen.priced.numbers,
        )
    if st.session_state.pop(_UNSEEN, False):
        st.html("<style>.st-key-release_made { scroll-margin-top: 4rem }</style>")
        bring("release_made")
    if price(account.cap, chosen.price()) > account.remaining:
        return
    if last.state == "done" and not (account.needs_approval or chosen.plan.approved):
        return  # the approval that another would wait for pays for the one above
    try:
        check_is_left(ledger, account.dataset, chosen)
    except ReleaseRefusedError as problem:
        st.caption(text.plain(in_words(problem)))
        return
    with st.expander("Release the same plan once more"):
        st.markdown(words.AGAIN)
        st.button(
            "I want another release, at the same price again",
            key="release_once_more",
            on_click=_once_more,
            args=(account.account_id, chosen.digest, last.charge_id),
        )


def _note(chosen: ModelTask[Any], request_id: str) -> None:
    try:
        complete(chosen, Ledger(), request_id=request_id, folder=folder_of(request_id))
    except (ValueError, RuntimeError, OSError) as problem:
        st.session_state[approval.SAID] = in_words(problem)


def _once_more(account_id: int, digest: str, charge_id: int) -> None:
    account = next(a for a in Ledger().accounts() if a.account_id == account_id)
    known = _charges(Ledger().history(), account, digest)
    if known and known[-1].charge_id == charge_id:  # another tab may have released in the meantime
        st.session_state[_AGAIN] = (account_id, digest, len(known))


# --- 4: the one action ----------------------------------------------------------------------------


def _release_step(
    ledger: Ledger,
    request: Request,
    private: table.Table | None,
    paused: Charge | None,
    approved: Proposal | None,
) -> None:
    """The button, and what it does; a charge that was paused is paid, and what was proposed or
    booked keeps its person.
    """
    st.header(f"4 · {words.PARTS['4']}")
    account, cost = request.account, request.asked.price()
    with st.container(border=True):
        warned = words.warnings(request.asked)
        box(warned)
        st.markdown(words.GO_ON if paused else words.before_click(request.asked, account))
        left, right = st.columns(2, gap="medium", vertical_alignment="bottom")
        decided = paused or approved
        who = person.fixed(left, decided) if decided else person.field(left, "release")
        typed = right.text_input(
            f"Type the name of the data set, “{text.plain(account.dataset)}”, to confirm",
            key="release_typed",
        )
        stops = stopping(warned)
        is_read = (
            not stops
            or plan_file.has_read(request.asked.plan, who, stops)
            or st.checkbox("I have read the warnings and go on", key="release_read")
        )
        accepted = [] if paused or private is None else table.accepted(private)
        missing = words.missing(
            who,
            typed.strip() == account.dataset,
            private is not None,
            is_approved=paused is not None or bool(request.asked.plan.approved),
            is_read=is_read,
        )
        table.say_hints(private)
        _say()
        st.button(
            f"Spend {ledger_text.cost_words(cost)} and release"
            if paused is None
            else "Go on with this release",
            key="release_now",
            type="primary",
            disabled=bool(missing),
            on_click=_want,
            args=(request.request_id,),
        )
        if missing:
            st.caption(missing)
    if (
        st.session_state.pop(_WANTED, None) == request.request_id
        and not missing
        and private is not None
    ):
        _carry_out(ledger, request, private, who, accepted)


def _want(request_id: str) -> None:
    st.session_state[_WANTED] = request_id


def _carry_out(
    ledger: Ledger, request: Request, private: table.Table, who: str, accepted: list[Acceptable]
) -> None:
    """Release, and say what became of it on a page drawn anew."""
    table.read_whole(private)
    with st.spinner("Releasing: booked, read, fitted, drawn, written …", show_time=True):
        try:
            request.folder.parent.mkdir(parents=True, exist_ok=True)
            with running.noted(request.request_id):
                made = release_once(
                    request.asked,
                    private.file,
                    ledger=ledger,
                    dataset=request.account.dataset,
                    person=who,
                    request_id=request.request_id,
                    folder=request.folder,
                    encoding=private.header.encoding,
                    accept=accepted,
                )
        except (ValueError, RuntimeError, OSError) as problem:
            if isinstance(problem, NotAcceptedError):
                table.found_out(private, problem.findings)
            is_file = isinstance(problem, OSError)
            told = "The folder of releases cannot be written." if is_file else in_words(problem)
            if not _is_booked(ledger, request) and "Nothing was" not in told:
                told += " Nothing was spent."
            st.session_state[approval.SAID] = told
        else:
            note = made.note if isinstance(made, AnyRelease) else None
            st.session_state[_FRESH] = (request.request_id, note)
            st.session_state[_UNSEEN] = True  # the button that was pressed stood far below
            st.session_state.pop(_AGAIN, None)
    st.rerun()


def _is_booked(ledger: Ledger, request: Request) -> bool:
    """Whether the request was charged for."""
    return ledger.find(request.request_id) is not None


def _say() -> None:
    """What the last click led to, told once, at its button."""
    if said := st.session_state.pop(approval.SAID, None):
        told_here(text.plain(said))
