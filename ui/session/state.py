"""The one state of a session: settings in `st.session_state`, restored from the link, mirrored back
to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pandas as pd
import streamlit as st

from dpci_core import datasets
from dpci_core.mechanisms.objective import Objective
from dpci_core.plan import LINK_KEY, AnyPlan
from ui.kit import bound as widgets
from ui.kit import linked, streamlit_internals
from ui.session import compute, jobs, quota, steps
from ui.session.budget import from_shares
from ui.session.choices import DEFINITIONS
from ui.session.plan_settings import settings_of
from ui.session.served import presence
from ui.session.settings import START, Settings, from_query
from ui.session.words import in_words

_GIVEN = "given"
_SETTINGS, _UPLOAD, _STORE, _PINNED, _MEMO = "settings", "upload", "store", "pinned", "memo"
_FILE, _PAGE = "upload_frame", "page_of_files"
_LINK_PROBLEM, _LINK_JOBS, _QUEUE_PROBLEM = "link_problem", "link_jobs", "queue_problem"
_HELP, _OFF, _PAST = "help", "off", "past"
_JOBS = ("job",)
"""Name in session and link of the key of a simulation."""
MAX_PINNED = 3
MAX_UNDO = 100
_PIN_LINK = "pin"


def settings() -> Settings:
    """The settings of this session; a first visit takes them from the link."""
    if _SETTINGS not in st.session_state:
        link = {k: str(v) for k, v in st.query_params.items()}
        read, unreadable, plan = _read_link(link)
        if plan is not None:
            steps.take_words(plan)
        restored, unfit = admissible(read)
        st.session_state[_SETTINGS] = restored
        st.session_state[_LINK_PROBLEM] = (
            *unreadable,
            *unfit,
            *linked.read(link),
            *_read_pinned(link),
        )
        st.session_state[_LINK_JOBS] = {name: st.query_params.get(name) for name in _JOBS}
        st.session_state.setdefault(_HELP, st.query_params.get(_HELP) != _OFF)
    return st.session_state[_SETTINGS]  # type: ignore[no-any-return]


def _read_link(query: dict[str, str]) -> tuple[Settings, tuple[str, ...], AnyPlan | None]:
    """Settings of a link, what of it cannot be used, and the plan in it; without one, settings one
    by one.
    """
    if LINK_KEY not in query:
        return (*from_query(query), None)
    try:
        plan = AnyPlan.from_query(query)
        return settings_of(plan), (), plan
    except ValueError as problem:
        return START, (f"{LINK_KEY}: {in_words(problem)}",), None


def job_key(name: str) -> str | None:
    """The key of this session's job of one kind; after a reload the link still knows it."""
    settings()
    return st.session_state.get(name) or st.session_state[_LINK_JOBS].get(name)  # type: ignore[no-any-return]


def find_job(name: str) -> jobs.Task | None:
    """This session's job of one kind, which is its page's to look at from now on."""
    job = jobs.find(job_key(name) or "")
    if job is not None:
        job.is_there = presence()
    return job


def admissible(wanted: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Settings that fit the tables on this machine, and the names of those that had to give way."""
    if wanted.dataset == compute.DECLARED:
        try:
            known = compute.declared_table(wanted.declared).schema.feature_names
        except ValueError:
            return admissible(replace(wanted, dataset="census", declared="", names=()))[0], (
                "declared",
            )
        return _with_features(replace(wanted, encoding="schema"), known, len(known), ())
    infos = {info.key: info for info in datasets.list_datasets() if info.available}
    if wanted.dataset not in infos:
        return admissible(replace(wanted, dataset="census", names=()))[0], ("dataset",)
    info = infos[wanted.dataset]
    bad: tuple[str, ...] = ()
    if wanted.encoding not in info.encodings:
        wanted, bad = replace(wanted, encoding=info.encodings[0]), ("encoding",)
    return _with_features(wanted, datasets.feature_names(wanted.dataset), info.max_features, bad)


def _with_features(
    wanted: Settings, known: Collection[str], most: int, bad: tuple[str, ...]
) -> tuple[Settings, tuple[str, ...]]:
    """Settings that ask for features of a table only, and the names of what gave way, after those
    that did before.
    """
    if len(set(wanted.names)) < len(wanted.names) or not set(known).issuperset(wanted.names):
        wanted, bad = replace(wanted, names=()), (*bad, "names")
    if wanted.d > most:
        wanted, bad = replace(wanted, d=most), (*bad, "d")
    return wanted, bad


def submit(name: str, task: jobs.Task, queue: jobs.JobQueue = jobs.QUEUE) -> bool:
    """Queue a task as this session's job of one kind; a full queue is kept as a problem for the
    page to tell.
    """
    task.is_there = presence()
    try:
        queue.submit(task, _address())
    except jobs.QueueFullError as problem:
        st.session_state[_QUEUE_PROBLEM] = in_words(problem)
        return False
    st.session_state[name] = task.key
    return True


def _address() -> str:
    """Return the address that the visitor of this page comes from."""
    forwarded = st.context.headers.get("X-Forwarded-For") or ""
    client = st.context.ip_address
    return quota.visitor_address(client if isinstance(client, str) else "", forwarded)


def queue_problem() -> str | None:
    """Why the last task was not queued; told once."""
    return st.session_state.pop(_QUEUE_PROBLEM, None)  # type: ignore[no-any-return]


def put(new: Settings) -> None:
    """Replace the settings, with the c they ask for; what was wrong with the link no longer
    matters then.
    """
    new = new.settled()
    past = st.session_state.setdefault(_PAST, [])
    if (now := st.session_state.get(_SETTINGS)) is not None and now != new:
        past.append(now)
        del past[:-MAX_UNDO]
    st.session_state[_SETTINGS] = new
    st.session_state.pop(_LINK_PROBLEM, None)


def can_undo() -> bool:
    """Whether a setting was changed in this session."""
    return bool(st.session_state.get(_PAST))


def undo() -> None:
    """Back to the settings before the last change."""
    if can_undo():
        st.session_state[_SETTINGS] = st.session_state[_PAST].pop()


def bound(field: str, value: object = None, *, empty: object = None) -> dict[str, Any]:
    """Key and callback of the widget of one setting; value: what it shows, if not that."""
    shown = getattr(settings(), field) if value is None else value
    return widgets.bound(field, shown, lambda given: update(**{field: given}), empty=empty)


def link_problem() -> tuple[str, ...]:
    """Names of what the link held but could not be used, until a setting is changed."""
    settings()
    return st.session_state.get(_LINK_PROBLEM, ())  # type: ignore[no-any-return]


def update(**changes: Any) -> None:
    """Change some settings; c is typed from now on if it is one of them."""
    if "c" in changes:
        changes.setdefault("penalty", "typed")
    put(replace(settings(), **changes))


def mirror_to_link(extra: Mapping[str, str] | None = None) -> None:
    """Write what differs from the defaults into the address bar; nothing of an uploaded file goes
    there.

    extra: what a page adds, as the screen of Learn.
    """
    now = settings()
    if now.dataset == "upload":
        now = now.without_table()
    query = now.to_query()
    for name in _JOBS:  # a reload finds them again
        job = find_job(name)
        if job is not None and not job.is_private_to_session:
            query[name] = job.key
    query |= (
        linked.to_query()
        | _pinned_query()
        | ({} if is_help_on() else {_HELP: _OFF})
        | dict(extra or {})
    )
    if dict(st.query_params) != query:
        st.query_params.from_dict(query)
    steps.written()


def is_help_on() -> bool:
    """Whether explanations are shown; no preset and no reset switches them on again."""
    settings()
    return bool(st.session_state.get(_HELP, True))


def set_help(is_on: bool) -> None:
    """Show or hide explanations."""
    st.session_state[_HELP] = is_on


def reset() -> None:
    """Back to the defaults; the uploaded file and moments from elsewhere go too."""
    st.session_state.pop(_UPLOAD, None)
    st.session_state.pop(_STORE, None)
    forget_file()
    set_given(None)
    put(START)
    _forget_settings_of_uploads()


def _forget_settings_of_uploads() -> None:
    """No way back to columns of a table that is no longer there."""
    past = st.session_state.get(_PAST, [])
    past[:] = [settings for settings in past if settings.dataset != "upload"]


def paper_preset() -> None:
    """The settings of the paper's figures: Adult where it is installed, epsilon 0.5/0.25/0.25, c
    0.001, h 1, d 10.
    """
    available = {info.key: info for info in datasets.list_datasets() if info.available}
    key = "adult" if "adult" in available else "census"
    put(paper_settings(key, available[key].n_rows))


def paper_settings(dataset: str, n: int) -> Settings:
    """Those of `paper_preset` for another set."""
    return Settings(
        dataset=dataset,
        encoding="paper",
        definitions=tuple(DEFINITIONS),
        mechanisms=(Objective.name,),
        calibrations=("published",),
        pairing="paper",
        split=from_shares(Decimal(1)),
        n=n,
    )


def source(of: Settings | None = None) -> compute.TableSource:
    """Where settings take their table from, the present ones if none are given."""
    if (of or settings()).dataset == "upload" and upload() is not None:
        store = st.session_state.setdefault(_STORE, compute.Store(compute.SESSION_LIMIT))
        return compute.TableSource(store, upload())
    if (store := given()) is not None and store.given and store.given.is_of(of or settings()):
        return compute.TableSource(store)
    return compute.TableSource(compute.PUBLIC)


def given() -> compute.Store | None:
    """The store of this session with moments that were computed elsewhere, if any."""
    return st.session_state.get(_GIVEN)


def set_given(new: compute.ImportedFit | None) -> None:
    """Keep moments that were computed elsewhere, and forget what was computed without them."""
    st.session_state[_GIVEN] = new and compute.Store(compute.SESSION_LIMIT, new)
    st.session_state[_MEMO] = compute.LRU(64)


def upload() -> compute.Upload | None:
    """The table this session uploaded, if any."""
    return st.session_state.get(_UPLOAD)


def file_read() -> tuple[str, pd.DataFrame] | None:
    """The uploaded file that this session has read last, by its number, and its table."""
    return st.session_state.get(_FILE)


def keep_file(file_id: str, frame: pd.DataFrame) -> None:
    """Keep the table of the file that is in the uploader; that of the file before it goes."""
    forget_file()
    st.session_state[_FILE] = (file_id, frame)


def forget_file() -> None:
    """Let go of what was read of a file, and of its bytes, which Streamlit holds."""
    if (kept := st.session_state.pop(_FILE, None)) is not None:
        streamlit_internals.forget_file(kept[0])


def forget_files_on_another_page(page: str) -> None:
    """Let go of the bytes of all files when a page is left: Streamlit forgets which file was in an
    uploader, so that nothing can read them again, and keeps them to the end of the session.
    """
    if st.session_state.setdefault(_PAGE, page) != page:
        st.session_state[_PAGE] = page
        st.session_state.pop(_FILE, None)
        streamlit_internals.forget_files()


def set_upload(new: compute.Upload | None) -> None:
    """Keep an uploaded table in this session, with a fresh store for what is computed from it."""
    _forget_settings_of_uploads()
    st.session_state[_UPLOAD] = new
    st.session_state[_STORE] = compute.Store(compute.SESSION_LIMIT)
    st.session_state[_MEMO] = compute.LRU(64)


def memo() -> compute.LRU:
    """What this session computed lately: small results only, never records."""
    return st.session_state.setdefault(_MEMO, compute.LRU(64))  # type: ignore[no-any-return]


def _with_table(shared: compute.LRU) -> compute.LRU:
    """The session's memory where the table is its own; else that of all sessions."""
    return shared if source().store is compute.PUBLIC else memo()


def curves() -> compute.LRU:
    """Where curves over the range of a control are kept: with the session if their table is, else
    for all sessions.
    """
    return _with_table(compute.CURVES)


def animations() -> compute.LRU:
    """Return the store of charts for all positions of a slider: the session's if its table is, else
    that of all sessions.
    """
    return _with_table(compute.ANIMATIONS)


def answers() -> compute.LRU:
    """Where the slow answers of the page Plan are kept: with the session if their table is, else
    for all sessions.
    """
    return _with_table(compute.ANSWERS)


def pinned() -> list[Settings]:
    """The settings that this session keeps to compare with, at most three."""
    return st.session_state.setdefault(_PINNED, [])  # type: ignore[no-any-return]


def _read_pinned(link: Mapping[str, str]) -> tuple[str, ...]:
    """Take the pinned settings of a link; the names of those that cannot be used."""
    bad = []
    for number in range(1, MAX_PINNED + 1):
        if (name := f"{_PIN_LINK}{number}") not in link:
            continue
        wanted, unreadable = from_query(dict(parse_qsl(link[name], keep_blank_values=True)))
        restored, unfit = admissible(wanted)
        says_nothing = bool(link[name]) and not wanted.to_query()
        if unreadable or unfit or says_nothing:
            bad.append(name)
        else:
            pinned().append(restored)
    return tuple(bad)


def _pinned_query() -> dict[str, str]:
    """Pinned settings as parameters of a link, those of an uploaded file left out."""
    shared = [pin.to_query() for pin in pinned() if pin.dataset != "upload"]
    return {f"{_PIN_LINK}{number}": urlencode(query) for number, query in enumerate(shared, 1)}
