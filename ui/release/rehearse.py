"""A release rehearsed on made-up rows, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dpci_core.plan import AnyPlan
from dpci_core.plan.base import Planned
from dpci_core.release import ModelTask, Rehearsal
from dpci_core.release.rehearsal import FREE, TIMES, Rehearsed, rehearsal_of, rehearsed
from ui.controls.job_panel import JobPanel
from ui.session import jobs, state
from ui.views.board import board

_JOB = "release_rehearsal"
_ASK = f"Rehearse it first: {TIMES} times on made-up rows, free"


@dataclass(eq=False, kw_only=True)
class RehearsalJob(jobs.Task):
    """Releases of a plan on made-up rows; it knows no ledger and no file."""

    plan: AnyPlan
    numbers: Planned
    made: list[Rehearsed] = field(default_factory=list)
    answer: Rehearsal | None = None

    def _execute(self) -> bool:
        for one in rehearsed(self.plan, self.numbers):
            self.made.append(one)
            if self._should_stop():
                return False
        self.answer = rehearsal_of(self.plan, self.made)
        return True


def section(chosen: ModelTask[Any]) -> None:
    """The button, how far it is, and what came out."""
    job = _PANEL.job()
    is_of_plan = job is not None and job.plan.digest == chosen.digest
    if is_of_plan and job is not None and job.answer is not None:
        with st.expander("The rehearsal", expanded=True, key="release_rehearse"):
            board(job.answer.html(), "The rehearsal", key="rehearsal")
        return
    if is_of_plan:
        _PANEL.watch()
    if problem := state.queue_problem():
        st.warning(problem)
    if job is None or not (is_of_plan and job.is_active):
        st.button(
            _ASK,
            key="release_rehearse_now",
            on_click=_start,
            args=(chosen,),
            help=f"{FREE} What the report will look like, and which effects fail.",
        )


def _start(chosen: ModelTask[Any]) -> None:
    old = _PANEL.job()
    if old is not None and old.is_active:
        jobs.queue_of(old).cancel(old)
    numbers = chosen.priced.numbers
    job = RehearsalJob(plan=chosen.plan, numbers=numbers, is_private_to_session=True)
    state.submit(_JOB, job, jobs.QUICK)


def _running(job: RehearsalJob) -> None:
    st.progress(len(job.made) / TIMES, text=f"Rehearsing, {len(job.made)} of {TIMES} …")


_PANEL = JobPanel(
    kind=RehearsalJob,
    name=_JOB,
    running=_running,
    stop_key="release_rehearse_stop",
    least_ahead=1,
    stop="Stop",
    poll=0.3,
)
