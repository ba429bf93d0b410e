"""The page Ledger: budgets, what was spent, and whether the book is whole."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpci_core.base.text import beginning
from dpci_core.ledger import (
    Account,
    Charge,
    Ledger,
    LedgerDamagedError,
    LedgerError,
    Proposal,
    PublicKey,
    RecordedHead,
    Verification,
    account_row,
    as_csv,
    charge_row,
    entry_row,
    proposal_row,
)
from dpci_core.report.refusals import said
from ui.controls.hints import link_problem
from ui.kit.exports import download
from ui.ledger import waiting
from ui.session import access
from ui.session.text import plain
from ui.session.words import in_words
from ui.views import ledger_text
from ui.views.releases import kept, listed, zipped

_CHECKED = "ledger_checked"


def page() -> None:
    """Draw the page."""
    st.title("Ledger")
    st.markdown(
        "Every release spends a part of the privacy budget of the people in a table, for ever. "
        "**The ledger records it**: what may be spent at most, what was, on what, by whom, and "
        "what is left."
    )
    if access.is_off("The ledger"):
        return
    link_problem()
    try:
        _book(Ledger())
    except LedgerError as problem:
        st.error(plain(in_words(problem)))


def _book(ledger: Ledger) -> None:
    """Everything in the ledger; of one that may lack entries only what a check of it finds."""
    try:
        accounts, charges = ledger.accounts(), ledger.history()
    except LedgerDamagedError as problem:
        st.error(plain(in_words(problem)))
        with suppress(LedgerError):  # it was said
            _verification(ledger)
        return
    is_asked = any(account.needs_approval for account in accounts)
    proposals = ledger.proposals() if is_asked else ()
    if not accounts:
        st.info(ledger_text.EMPTY)
    else:
        _budgets(accounts)
        waiting.section(accounts, proposals)
        _history(charges)
    _verification(ledger)
    _downloads(ledger, accounts, charges, proposals)
    if accounts:
        st.caption(ledger_text.BACKUP)


def _budgets(accounts: tuple[Account, ...]) -> None:
    st.header("Budgets")
    pools = [account for account in accounts if account.account_id == account.pool_id]
    for start in range(0, len(pools), 2):
        for account, column in zip(
            pools[start : start + 2], st.columns(2, gap="small"), strict=False
        ):
            with column.container(border=True, height="stretch"):
                _budget(account, accounts)


def _budget(account: Account, accounts: tuple[Account, ...]) -> None:
    cap = account.cap
    st.markdown(f"**{plain(account.dataset)}**")
    st.metric(f"Remaining {ledger_text.symbol(cap)}", ledger_text.shown(account.remaining))
    share = float(account.spent / cap.amount)
    spent, most = ledger_text.shown(account.spent), ledger_text.shown(cap.amount)
    st.progress(min(share, 1.0), text=f"{spent} of {most} spent ({100 * share:.3g} %)")
    st.markdown(ledger_text.cap_sentence(cap))
    others = [
        a.dataset for a in accounts if a.pool_id == account.pool_id and a.dataset != account.dataset
    ]
    if others:
        names = ", ".join(plain(name) for name in dict.fromkeys(others))
        st.caption(f"Shared with: {names} (the same people, or some of them).")
    st.caption(
        f"Who is protected: {plain(account.protected)}. Declared by {plain(account.person)} on "
        f"{ledger_text.day(account.created_at)}."
        f"{f' {ledger_text.NEEDS_APPROVAL}' if account.needs_approval else ''}"
    )


def _history(charges: tuple[Charge, ...]) -> None:
    st.header("History")
    if not charges:
        st.markdown("Nothing was spent yet.")
        return
    table = history_table(charges)
    if not table["reason"].any():
        table = table.drop(columns="reason")
    sentence = ledger_text.history_sentence(charges)
    st.markdown(sentence)
    st.dataframe(table, hide_index=True, key="ledger_history", alt=sentence, width="stretch")
    _files(charges)


def _files(charges: tuple[Charge, ...]) -> None:
    """What a finished release may publish, where its folder is on this server."""
    purposes = {charge.charge_id: beginning(charge.purpose) for charge in charges}
    found = {c.charge_id: c for c in reversed(charges) if listed(c)}
    if not found:
        return
    left, right = st.columns([3, 1], gap="medium", vertical_alignment="bottom")
    number = left.selectbox(
        "Files of a finished release",
        list(found),
        format_func=lambda n: f"Entry {n}: {purposes[n]}",
        key="ledger_files",
    )
    if (folder := kept(found[number])) is None:
        right.error("Its record was changed a moment ago.")
        return
    with right:
        content = partial(zipped, folder)
        download("Everything (ZIP)", content, file=f"{folder.name}.zip", key="ledger_zip")


def history_table(charges: tuple[Charge, ...]) -> pd.DataFrame:
    """Every charge, the newest first."""
    return pd.DataFrame(
        [
            {
                "entry": charge.charge_id,
                "when": ledger_text.moment(charge.booked_at),
                "data set": charge.dataset,
                "what for": beginning(charge.purpose),
                "cost": ledger_text.cost_words(charge.cost),
                "state": f"{ledger_text.SIGNS[charge.state]} {charge.became}",
                "by": charge.person,
                "plan": charge.plan_hash[:12],
                "result": (charge.result_hash or "")[:12],
                "reason": charge.reason or "",
            }
            for charge in reversed(charges)
        ]
    )


# --- verification ---------------------------------------------------------------------------------


def _verification(ledger: Ledger) -> None:
    own = ledger.public_key()
    st.header("Integrity check")
    st.markdown(
        f"Every entry is {'sealed' if own is None else 'signed'} together with the one before it. "
        "A check finds edited, removed, added and reordered entries"
        f"{'' if own is None else ', and needs no secret'}. Give the `release.json` files of past "
        "releases too, and it also finds missing entries at the end, and whether one of these "
        "files was edited."
    )
    files = st.file_uploader(
        "Records of past releases (release.json), any number",
        type=["json"],
        accept_multiple_files=True,
        key="ledger_records",
        max_upload_size=50,
    )
    pinned = st.text_input(
        "Public key that its keeper published (optional)",
        key="ledger_public_key",
        max_chars=100,
        placeholder="64 hexadecimal digits",
    )
    if own is not None:
        st.caption(f"The public key that this ledger names: `{own.text}`")
    st.button(
        "Check every entry", key="ledger_check", on_click=_check, args=(ledger, files, pinned)
    )
    of, checked = st.session_state.get(_CHECKED, (None, None))
    if of != _asked(files, pinned):
        return
    if isinstance(checked, str):
        st.error(plain(checked))
        return
    _show_verdict(checked)


def _asked(files: list[Any], pinned: str) -> tuple[tuple[str, ...], str]:
    """What a verdict is about."""
    return tuple(file.file_id for file in files), pinned.strip()


def _check(ledger: Ledger, files: list[Any], pinned: str) -> None:
    """Verify now; the verdict stays until another is asked for."""
    found: Verification | str
    try:
        key = PublicKey.of(pinned) if pinned.strip() else None
        heads = [RecordedHead.from_content(file.getvalue(), source=file.name) for file in files]
        found = ledger.verify(heads, public_key=key)
    except LedgerError as problem:
        found = in_words(problem)
    st.session_state[_CHECKED] = _asked(files, pinned), found


def _show_verdict(found: Verification) -> None:
    (st.success if found.is_good else st.error)(said(found.verdict))
    for problem in (*found.problems, *found.record_problems):
        st.markdown(f"- {plain(said(problem))}")
    if found.checked_with is not None:
        st.caption(plain(said(found.checked_with)))
    for remark in found.remarks:
        st.warning(plain(said(remark)))


def _downloads(
    ledger: Ledger,
    accounts: tuple[Account, ...],
    charges: tuple[Charge, ...],
    proposals: tuple[Proposal, ...],
) -> None:
    if not accounts:
        return
    st.header("Downloads")
    st.caption(
        "Plain tables for an audit; cells that a spreadsheet could take for formulas are made "
        "harmless."
    )
    kinds = {
        "Charges (CSV)": ("charges", lambda: as_csv([charge_row(charge) for charge in charges])),
        "Budgets (CSV)": (
            "budgets",
            lambda: as_csv([account_row(account) for account in accounts]),
        ),
        "Every entry with its seal (CSV)": (
            "entries",
            lambda: as_csv([entry_row(e) for e in ledger.entries()]),
        ),
    }
    if proposals:
        kinds["Proposals (CSV)"] = (
            "proposals",
            lambda: as_csv([proposal_row(one) for one in proposals]),
        )
    with st.container(horizontal=True):
        for label, (name, make) in kinds.items():
            content = partial(_encoded, make)
            download(label, content, file=f"dpci_ledger_{name}.csv", key=f"ledger_csv_{name}")


def _encoded(make: Callable[[], str]) -> bytes:
    return make().encode()
