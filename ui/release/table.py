"""The second step of a release: the private file, seen to fit before a budget that is for ever."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import streamlit as st

from dpci_core.base.errors import DataRejectedError, Finding
from dpci_core.release import (
    Acceptable,
    Header,
    Look,
    MemoryFile,
    ModelTask,
    check_header,
    check_number,
    read_header,
)
from dpci_core.report.refusals import said
from ui.kit import streamlit_internals
from ui.release import words
from ui.session import text
from ui.session.words import in_words

_LOOK, _FOUND, _WHOLE = "release_look", "release_found", "release_read_whole"
_MOST_NAMES = 30
"""Columns of a file that are named; further ones are counted."""
_HELD, _IS_ASKED = "release_held", "release_file_is_asked"


@dataclass(frozen=True)
class Table:
    """The private file whose header fits, and how it is read.

    of: the plan, the upload and its encoding; what was seen or accepted of another is nothing here.
    The upload is known by its number in this session, not by a digest, which would tell of rows.
    """

    file: MemoryFile
    header: Header
    of: tuple[str, str, str]

    def tick(self, found: list[str], code: str) -> str:
        """Key of the tick that accepts one of the codes of all that was found."""
        given_for = repr((self.of, found))
        return f"release_accept_{code}_{hashlib.sha256(given_for.encode()).hexdigest()[:16]}"


def step(chosen: ModelTask[Any]) -> Table | None:
    """Ask for the file; None until there is one whose header fits."""
    plan = chosen.plan
    st.session_state[_IS_ASKED] = True
    st.markdown(words.FILE)
    st.markdown(
        f"This plan is for **{plan.n_records:,} records**: is that right? The rows of a CSV file "
        "are counted when you look or release, before anything is spent."
        if plan.persons is None
        else f"This plan is for **{plan.n_records:,} persons**: is that right? The names in the "
        f"column “{text.plain(plan.persons.column)}” are counted when you look or release, before "
        "anything is spent."
    )
    upload = st.file_uploader(
        "The private table (CSV or Parquet)",
        type=["csv", "tsv", "txt", "parquet", "xlsx", "xls"],  # the last two: refused in words
        key="release_file",
    )
    encoding = st.radio(
        "Text of a CSV file",
        ["utf-8", "latin-1"],
        format_func=words.ENCODINGS.__getitem__,
        key="release_encoding",
        horizontal=True,
    )
    if upload is None:
        return None
    st.session_state[_HELD] = upload.file_id
    file = MemoryFile(upload.name, upload.getvalue())
    try:
        header = check_header(chosen, file, encoding=cast(Any, encoding))
    except ValueError as problem:
        st.error(text.plain(in_words(problem)))
        if isinstance(problem, DataRejectedError) and problem.code == "columns_not_in_header":
            _other_names(chosen, read_header(file, encoding=cast(Any, encoding)))
        return None
    place = st.container()
    if plan.persons is None and header.n_records not in (None, plan.n_records):
        st.warning(words.other_number(header.n_records, plan))
    table = Table(file, header, (chosen.digest, upload.file_id, header.encoding))
    _look(chosen, table)
    is_whole = st.session_state.get(_WHOLE) == upload.file_id
    place.success(words.fits(chosen, header, is_whole=is_whole))
    return table


def _other_names(chosen: ModelTask[Any], header: Header) -> None:
    """The names in the header of a file that lacks some, on this screen alone; where none of them
    is one of the plan's in any letters, the line may be a record, and is not shown.
    """
    needed = {name.casefold() for name in chosen.needed}
    if not any(name.casefold() in needed for name in header.columns):
        st.caption(words.NO_NAMES)
        return
    names = [text.code(name) for name in header.columns if name not in chosen.needed]
    if names:
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        st.caption(f"The file has these instead: {', '.join(names[:_MOST_NAMES])}{more}.")


@contextmanager
def held_while_asked() -> Iterator[None]:
    """Let go of the bytes of a file whose uploader a run of the page does not draw any more: nobody
    could remove it, and where another person has to approve none is held before.
    """
    st.session_state[_IS_ASKED] = False
    yield
    if not st.session_state[_IS_ASKED] and (held := st.session_state.pop(_HELD, None)):
        streamlit_internals.forget_file(held)


def _look(chosen: ModelTask[Any], table: Table) -> None:
    """How many records there are and how many cells fit, on request, for whoever has the file; kept
    in this session alone.
    """
    if st.button(words.LOOK, key="release_look_now"):
        with st.spinner("Looking …", show_time=True):
            read_whole(table)
            st.session_state[_LOOK] = table.of, _looked(chosen, table.header)
    kept, looked = st.session_state.get(_LOOK, (None, None))
    if kept != table.of:
        return
    if isinstance(looked, str):
        st.error(text.plain(looked))
        return
    n, found = looked
    plan, is_told = chosen.plan, table.header.n_records is not None
    if n not in (None, plan.n_records) and not (is_told and plan.persons is None):
        st.warning(words.other_number(n, plan))
    if found is None:
        st.caption(words.NOT_LOOKED)
        return
    st.caption(words.ALONE)  # no data frame, whose toolbar offers a file
    number = [] if n is None else [f"- {n:,} {words.counted(plan)}"]
    columns = [f"- {text.plain(name)}: **{word}**" for name, word in found.columns]
    st.markdown("\n".join([*number, *columns]))
    for one in (*found.hints, *found.asks):
        st.warning(text.plain(said(one)))
    found_out(table, found.asks)


def _looked(chosen: ModelTask[Any], header: Header) -> tuple[int | None, Look | None] | str:
    """The number of records, which is public, and the look; or why the file is refused."""
    try:
        counted = check_number(chosen, header)
        n = counted.n_records if chosen.plan.persons is None else counted.n_persons
        return n, chosen.look(header)
    except ValueError as problem:
        return in_words(problem)


def say_hints(table: Table | None) -> None:
    """Say again what a look at this very file found that stops no release."""
    kept, looked = st.session_state.get(_LOOK, (None, None))
    if table is None or kept != table.of or isinstance(looked, str) or looked[1] is None:
        return
    for one in looked[1].hints:
        st.warning(text.plain(said(one)))


def read_whole(table: Table) -> None:
    """Note that more than the header of this file is read."""
    st.session_state[_WHOLE] = table.of[1]


def found_out(table: Table, findings: tuple[Finding, ...]) -> None:
    """Note what has to be accepted of this very file."""
    st.session_state[_FOUND] = table.of, findings


def accepted(table: Table) -> list[Acceptable]:
    """What is ticked of what was found in this very file; each by itself, after all was told."""
    kept, found = st.session_state.get(_FOUND, (None, ()))
    if kept != table.of:
        return []
    codes = [one.code for one in found]
    return [
        code
        for code, label in words.ACCEPT.items()
        if code in codes and st.checkbox(label, key=table.tick(codes, code))
    ]
