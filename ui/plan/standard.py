"""The standard encoding on the page Plan: row radius, limit, c and split chosen together by a job,
or by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import streamlit as st

from dpci_core import Design, StoppedError, watched
from dpci_core.planner.standard import StandardAnswer, best_standard
from dpci_core.schema import Records, Schema, StandardEncoding, encode
from dpci_core.schema.declare import LIMIT, RADIUS
from ui.controls import declare
from ui.controls.job_panel import JobPanel
from ui.kit.bound import among, bound
from ui.plan import words
from ui.session import jobs, state, text
from ui.session.budget import Split
from ui.session.case import Case
from ui.session.compute import DECLARED, declared_table, packed_table
from ui.session.settings import PRECISION, Settings

_TAKEN, _CHOSEN = "standard_taken", "standard_chosen"
USUAL_DRAWS = 6_000
"""Draws of a search: 4,600 to 7,200 on the example and on tables with a dozen features."""
ENCODINGS = {True: "By typical value and spread", False: "By bounds"}


@dataclass(eq=False, kw_only=True)
class StandardJob(jobs.Task):
    """The search for the encoding and the design of one table, for the settings `about`."""

    about: Settings
    make: Callable[[StandardEncoding], Records] | None
    design: Design
    n_records: int
    held: int = 0
    share: float = 0.0
    answer: StandardAnswer | None = None

    def _execute(self) -> bool:
        assert self.make is not None

        def count(done: int) -> None:
            self.share = min(0.95, done / USUAL_DRAWS)

        try:
            with watched(progress=count, should_stop=self._should_stop):
                self.answer = best_standard(self.make, design=self.design, n_records=self.n_records)
        except StoppedError:
            return False
        return True

    @property
    def n_bytes(self) -> int:
        """What it holds while it waits."""
        return self.held

    def release(self) -> None:
        """Let go of the table."""
        self.make = None


def panel(case: Case) -> None:
    """The main button, what was chosen and why, and the numbers themselves."""
    schema = _schema(case.settings)
    if schema is None:
        return
    _take_over()
    with st.container(border=True):
        left, right = st.columns([3, 2], gap="medium", vertical_alignment="center")
        left.markdown(_said(schema))
        right.button(
            "Choose R, c and split for me",
            key="choose_standard",
            type="primary",
            width="stretch",
            on_click=_start,
            args=(case,),
            disabled=_PANEL.is_active,
        )
        _PANEL.watch()
        if problem := state.queue_problem():
            st.warning(problem)
        with st.expander("Set the encoding yourself"):
            _by_hand(case.settings, schema)


def _schema(settings: Settings) -> Schema | None:
    """What is declared of the table, where it may have the standard encoding."""
    if settings.dataset == DECLARED:
        return declared_table(settings.declared).schema
    kept = state.upload()
    return kept.schema if settings.dataset == "upload" and kept else None


def _said(schema: Schema) -> str:
    """What was chosen, as long as it stands, or the encoding in use."""
    chosen = st.session_state.get(_CHOSEN)
    if chosen is not None and chosen[0] == _about(state.settings()):
        return str(chosen[1])
    if schema.standard is None:
        return (
            "Columns are scaled by their **bounds**. By typical value and spread, intervals of the "
            "coefficients without penalty are usually shorter."
        )
    return words.encoding_words(schema.standard)


def _about(settings: Settings) -> Settings:
    """What a choice rests on, or is: not the target, nor how the page shows it."""
    return settings.usual(*PRECISION, "look", "units", "sweep")


def _maker(case: Case, schema: Schema) -> Callable[[StandardEncoding], Records]:
    names = case.records.feature_names[:-1]
    if case.settings.dataset == DECLARED:
        table = declared_table(case.settings.declared)
        return lambda encoding: replace(table, schema=replace(schema, standard=encoding)).records(
            names
        )
    kept = state.upload()
    assert kept is not None
    return lambda encoding: encode(
        kept.frame,
        replace(schema, standard=encoding),
        features=names,
        source=kept.source,
        title=kept.title,
    )


def _start(case: Case) -> None:
    schema = _schema(case.settings)
    if schema is None or _PANEL.is_active:
        return
    is_upload = case.settings.dataset == "upload"
    job = StandardJob(
        about=_about(state.settings()),
        make=_maker(case, schema),
        design=case.design,
        n_records=case.n,
        held=case.records.X.nbytes if is_upload else 0,
        is_private_to_session=is_upload,
    )
    state.submit(_PANEL.name, job, jobs.QUICK)


def _take_over() -> None:
    """Plan with the answer of a finished job, once, if nothing it rests on was changed since."""
    job = _PANEL.job()
    if job is None or job.answer is None or st.session_state.get(_TAKEN) == job.key:
        return
    st.session_state[_TAKEN] = job.key
    now = state.settings()
    if _about(now) != job.about:
        return
    new = adopted(now, job.answer)
    _encode_by(job.answer.encoding)
    state.put(replace(new, declared=state.settings().declared))
    st.session_state[_CHOSEN] = (
        _about(state.settings()),
        words.chosen_words(job.answer),
    )
    st.rerun()


def adopted(settings: Settings, found: StandardAnswer) -> Settings:
    """The settings with c, split and target of an answer."""
    model, hessian, covariance = found.design.budget.parts
    return replace(
        settings,
        c=found.design.regularization,
        split=Split(found.design.budget.total, (model, hessian, covariance)),
        target="unpenalised",
        encoding="schema",
    )


def _encode_by(encoding: StandardEncoding | None) -> None:
    """Use this encoding for the table of the settings."""
    settings = state.settings()
    if settings.dataset == DECLARED:
        table = declared_table(settings.declared)
        schema = replace(table.schema, standard=encoding)
        state.update(declared=packed_table(replace(table, schema=schema)))
    elif (kept := state.upload()) is not None:
        state.set_upload(replace(kept, schema=replace(kept.schema, standard=encoding)))


def _by_hand(settings: Settings, schema: Schema) -> None:
    now = schema.standard
    usual = declare.usual_encoding(schema)
    st.radio(
        "Columns are scaled",
        **among(ENCODINGS),
        **bound("is_standard", now is not None, lambda is_on: _encode_by(usual if is_on else None)),
        horizontal=True,
    )
    if now is None:
        return
    left, right = st.columns(2)
    left.number_input(
        "Row radius R, in spreads",
        RADIUS[0],
        1e3,
        step=None,
        format="%.6g",
        **bound("standard_radius", now.radius, lambda r: _encode_by(replace(now, radius=float(r)))),
        help="Rows longer than R count less. A small R needs less noise, and moves what the "
        "intervals are around.",
    )
    right.number_input(
        "Limit, in spreads",
        LIMIT[0],
        1e3,
        step=None,
        format="%.6g",
        **bound("standard_limit", now.limit, lambda x: _encode_by(replace(now, limit=float(x)))),
        help="Values further from the typical one count as that far.",
    )


def _running(job: StandardJob) -> None:
    doing = "Stopping …" if job.stop.is_set() else "Trying radii, penalties and splits …"
    st.progress(job.share, text=doing)


_PANEL = JobPanel(
    kind=StandardJob,
    name="standard_job",
    running=_running,
    failed=lambda problem: st.warning(text.plain(problem)),
    stop_key="standard_stop",
    least_ahead=1,
    stop="Stop",
    poll=0.5,
)
