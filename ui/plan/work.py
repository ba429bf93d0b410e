"""How the slow answers of the page Plan come about: known ones at once, the others by a job that
the page watches.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import cast

import streamlit as st

from ui.controls.job_panel import JobPanel
from ui.plan import numbers
from ui.plan.job import Answer, Choice, Key, Part, PlanJob, beside, parts_left, parts_of
from ui.plan.options import Find, Option, ranked
from ui.session import compute, jobs, state, steps
from ui.session.case import PlannedCase

_JOB, _ASKED = "plan_job", "plan_asked"
PATIENCE = 0.25
"""Seconds for which answers are waited for that may come by then; a fifth of it, until it shows
that they will not.
"""
_LENIENT = 1.6
"""So many times too far away may the end seem: a thread takes time to begin, and a step counts when
it is done.
"""
_QUICK = 21
"""With more coefficients no answer comes in time."""
_BRIEF = 5.0
"""Seconds for which nobody asks how long it takes."""
_TALL = 420
"""Pixels of the place of the map, so that what is below hardly moves when it comes."""
_AHEAD = ("kept", "first", "ways")
_PLACELESS = (*_AHEAD, "nearer")
"""What comes before the search, and before the answer, at whose place it is told how the work goes
on."""
_LOOKS = ("nearer", "first")
"""What stands for the answer until it comes."""


@dataclass(frozen=True)
class Work:
    """The slow answers of a case by name, those that are known; the names of the others, and the
    job for them.

    is_active: whether that was at work when the answers were looked up.  problem: why there is
    none.
    """

    known: dict[str, Answer]
    missing: tuple[str, ...]
    job: PlanJob | None
    is_active: bool
    problem: str | None

    def default_value(self, name: str) -> None:
        """What stands where an answer will; in one of the places how the work goes on, and how to
        stop it.
        """
        is_map = name == "map"
        with st.container(border=is_map, height=_TALL if is_map else "content"):
            if name != self._told_at:
                st.caption("Being computed …" if self.is_active else "Not computed.")
            elif self.is_active and self.job is not None:
                _PANEL.watch(was_active=True)
            else:
                self._at_rest()

    @property
    def first(self) -> Option | None:
        """The newest of the looks at the answer that found a design."""
        found = (self.known.get(name, (None, None))[0] for name in _LOOKS)
        return cast("Option | None", next((one for one in found if one is not None), None))

    @property
    def _told_at(self) -> str:
        """The first answer that is missing and has a place of its own."""
        return next((name for name in self.missing if name not in _PLACELESS), "kept")

    def _at_rest(self) -> None:
        if self.problem is not None:
            st.warning(self.problem)
        elif self.job is not None and self.job.state == "failed":
            st.warning(self.job.problem)
        elif "answer" in self.missing and not holds(self.first):
            st.info("Stopped without an answer.")
        else:
            is_search = "answer" in self.missing
            more = " A longer search may find a better answer." if is_search else ""
            st.info(f"The computation was stopped. What it had found by then is shown.{more}")
        st.button(
            "Compute after all", key="plan_again", on_click=lambda: st.session_state.pop(_JOB, None)
        )


def choice_of(case: PlannedCase) -> Choice | None:
    """How the method is searched for; None where it is set by hand."""
    schema = compute.schema_of(case.settings, state.source())
    if schema is None or not steps.is_chosen(case.settings):
        return None
    return Choice(schema, steps.MECHANISM.value, steps.SPLIT.value == "best", state.answers())


def work_on(case: PlannedCase, kept: PlannedCase | None = None) -> Work:
    """Look up what is known and have the rest found; of a session only the newest settings are
    worked on.

    kept: with the design that is looked at beside.
    """
    find, choice = cast(Find, steps.FIND.value), choice_of(case)
    memo = state.answers()
    parts = parts_of(case, state.source(), find, choice=choice)
    if kept is not None:  # takes no search, and waits for none
        parts = {"kept": beside(kept, state.source())} | parts
    job = _job_for(case, parts)
    is_active = (
        job is not None and job.is_active
    )  # before what is missing: one that has ended has nothing to add
    found = {name: memo.peek(part.key) for name, part in parts.items()}
    missing = {name: part for name, part in parts.items() if found[name] is None}
    known = {name: cast(Answer, answer) for name, answer in found.items() if answer is not None}
    known = with_better(known, find)
    return Work(known, tuple(missing), job, is_active, state.queue_problem())


def with_better(known: dict[str, Answer], find: Find) -> dict[str, Answer]:
    """What is known; the answer is a quick look, or equal parts, where these are better in every
    world, as a search may end beside what is best. An error that says nothing about designs is a
    defect, and stays to be seen.
    """
    if "answer" not in known:
        return known
    _, why = known["answer"]
    if why is not None and not numbers.is_refusal(why):
        return known
    found: dict[str, Answer] = {
        name: known[name]
        for name in ("answer", "equal", *_LOOKS)
        if name == "answer" or (name in known and holds(cast("Option | None", known[name][0])))
    }
    return known | {"answer": found[ranked(find, found).best]}


def holds(option: Option | None) -> bool:
    """Whether what this says is true in every world."""
    return option is not None and option.promise is not None


def _job_for(case: PlannedCase, parts: dict[str, Part]) -> PlanJob | None:
    """The job for what is missing: what comes before a search waits for nobody's search, so it has
    a job of its own, and the search the next.
    """
    memo, job = state.answers(), _PANEL.job()
    for _ in ("ahead", "search"):
        # before what is missing: an answer that comes in between is known
        left = None if job is None else job.left(memo)
        missing = parts_left(parts, memo)
        is_search = "first" in parts
        ahead = {name: part for name, part in missing.items() if is_search and name in _AHEAD}
        due = ahead or missing
        if job is not None and job.is_active and left != _keys(due):
            jobs.queue_of(job).cancel(job)
            job = None
        if missing and not _is_kept(job, case, missing):
            job = _start(case, due, asked=_keys(missing), is_search=is_search and not ahead)
        if job is None or job.state != "done":
            break
    return job


def _is_kept(job: PlanJob | None, case: PlannedCase, missing: dict[str, Part]) -> bool:
    """Whether the job is at work on the right answers, or was stopped by somebody, or failed, at
    these very settings with all of these questions; one that stopped because its page was gone, or
    for others' sake, begins anew.
    """
    if job is None or job.is_active:
        return job is not None
    key, had = st.session_state.get(_ASKED, ("", frozenset()))
    is_about = job.about == case.settings and job.key == key and _keys(missing) <= had
    return is_about and (job.stop.is_set() or job.state == "failed")


def _keys(parts: dict[str, Part]) -> frozenset[Key]:
    return frozenset(part.key for part in parts.values())


def _start(
    case: PlannedCase, missing: dict[str, Part], *, asked: frozenset[Key], is_search: bool
) -> PlanJob | None:
    """A job for what is missing, waited for a moment where that can help; None if too many people
    wait.

    asked: all that the page asks for.
    is_search: for a method that is searched for.
    """
    held = case.records.X.nbytes if case.settings.dataset == "upload" else 0
    memo, parts = state.answers(), tuple(missing.values())
    shared = frozenset() if memo is state.memo() else _keys(missing)
    job = PlanJob(about=case.settings, parts=parts, memo=memo, held=held, question=shared)
    st.session_state[_ASKED] = job.key, asked  # not with the job: they tell of an upload
    quick = jobs.SEARCHES if is_search else jobs.QUICK
    queue = quick if len(case.names) <= numbers.MANY else jobs.QUEUE
    if not state.submit(_JOB, job, queue):
        return None
    if len(case.names) > _QUICK:
        return job
    begun = time.monotonic()
    while job.is_active and _may_come(job, time.monotonic() - begun):
        time.sleep(0.005)
    return job


def _may_come(job: PlanJob, passed: float) -> bool:
    """Whether its end is near enough to wait for it, as far as its share of the work says."""
    return passed < PATIENCE / 5 or (
        passed < PATIENCE and passed <= _LENIENT * PATIENCE * job.share
    )


def _running(job: PlanJob) -> None:
    st.info(_progress_words(job))


def _progress_words(job: PlanJob) -> str:
    """What is being computed, how far that is where it can be told, and how long that took; neither
    a share of a search nor how long it will take, which show only at its end.
    """
    if job.stop.is_set():
        return "Stopping …"
    stages = ", ".join(
        f"{one.what} {one.number}" + (f" of {one.of}" if one.of else "") for one in job.stages
    )
    passed = time.monotonic() - job.begun_at
    so_far = f"{_elapsed(passed)} so far." if passed >= _BRIEF else ""
    said = ("Computing", job.now, f"({stages})" if stages else "", "…", so_far)
    return " ".join(filter(None, said))


def _elapsed(seconds: float) -> str:
    """A time in whole seconds that have passed.

    >>> _elapsed(8.9), _elapsed(100.0)
    ('8 s', '1 min 40 s')
    """
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


_PANEL = JobPanel(
    kind=PlanJob,
    name=_JOB,
    running=_running,
    stop_key="plan_stop",
    least_ahead=1,
    stop="Stop",
    waiting="Waiting: {ahead} before this one.",
    poll=0.3,
)
