"""Simulations and searches in the background: one worker a queue for all sessions, first come
first served, one job a session.

Knows no Streamlit. Pages ask a job how it stands; a job whose page was closed is stopped, and one
that nobody has asked about for a while, sooner where it holds up others. Sessions that ask the same
public question wait in one place. A release is no such job: it is drawn where it is booked, and
nothing stops it half way. Finished jobs keep their small results, never the table.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from dpci_core.base.array import Array
from dpci_core.base.engine_names import HERE, engine_parts, workers_named
from dpci_core.base.errors import ConvergenceError
from dpci_core.base.rows import WeightedRows
from ui.session.quota import is_public_demo, job_engine, most_minutes
from ui.session.words import in_words

if TYPE_CHECKING:
    from dpci_core.simulation.result import Progress

State = Literal["queued", "running", "done", "cancelled", "failed"]

ABANDONED_SECONDS = 900.0
"""A job nobody has looked at for so long is stopped though its page is open: browsers slow the
polls of hidden tabs, so this is generous.
"""
LEFT_SECONDS = 60.0
"""The same once its page is closed: time for a reload, a lost line, a phone that looked away."""
UNSEEN_SECONDS = 120.0
"""The same where somebody waits for another answer and its page would start it anew: hidden tabs
poll at least once a minute.
"""
KEPT_JOBS = 40
GAVE_WAY = (
    "It had run for more than {minutes} minutes and others were waiting, so it was stopped. Ask "
    "for fewer replicates or fewer curves, or come back when nobody waits."
)
GONE = "The {what} of this link is no longer kept here: start it again."
MOST_WAITING = 12
LARGEST_TABLE = 20_000_000
"""Numbers in a table to simulate on: working copies take about 50 bytes each."""
MOST_HELD = 500 * 2**20
"""Bytes of tables that waiting simulations may hold together."""


class QueueFullError(RuntimeError):
    """Too many people are waiting already."""


@dataclass(eq=False, kw_only=True)
class Task:
    """Something slow that pages can watch and stop.

    is_private_to_session: it is about a table of the session's own, so that no link leads to it.
    question: what is asked, each under everything that it rests on, where other sessions may share
        the answers; empty where what is asked is the session's own.
    is_there: whether the page that looked last is still open.
    """

    begins_anew: ClassVar[bool] = False
    """Whether its page starts it anew where it was stopped for others' sake."""

    is_private_to_session: bool = False
    question: frozenset[Hashable] = frozenset()
    is_there: Callable[[], bool] = lambda: True
    key: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    state: State = "queued"
    progress: Progress | None = None
    problem: str = ""
    address: str = ""
    looked_at: float = field(default_factory=time.monotonic)
    begun_at: float = field(default_factory=time.monotonic, init=False)
    _there_at: float = field(default_factory=time.monotonic, init=False)
    stop: threading.Event = field(default_factory=threading.Event)
    gives_way: Callable[[], bool] = lambda: False
    """Whether it has run long enough that those who wait come first; its queue says so."""
    holds_up: Callable[[], bool] = lambda: False
    """Whether others wait while nobody looks at it; its queue says so."""

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("queued", "running")

    @property
    def is_left(self) -> bool:
        """Whether nobody looks at it any more."""
        now = time.monotonic()
        if not self.is_there():
            return now - max(self.looked_at, self._there_at) > LEFT_SECONDS
        self._there_at = now
        return now - self.looked_at > ABANDONED_SECONDS

    @property
    def is_seen(self) -> bool:
        """Whether a page that is on screen looks at it."""
        return time.monotonic() - self.looked_at <= UNSEEN_SECONDS

    def is_answered_by(self, other: Task) -> bool:
        """Whether another gives what is asked here."""
        return other is self or bool(self.question and self.question <= other.question)

    def run(self) -> None:
        """Run to the end; never raises."""
        self.state, self.begun_at = "running", time.monotonic()
        end: State = "failed"
        try:
            is_done = not self._should_stop() and self._execute()
            if is_done or self.stop.is_set() or not self.gives_way():
                end = "done" if is_done else "cancelled"
            else:
                self.problem = GAVE_WAY.format(minutes=most_minutes())
        except (ValueError, FileNotFoundError, ConvergenceError) as problem:
            self.problem = in_words(problem)
        # a worker that dies would leave everyone waiting; the message could quote data
        except Exception as problem:
            self.problem = f"The simulation stopped unexpectedly ({type(problem).__name__})."
        finally:  # who sees an end may count on what is let go
            self.release()
            self.state = end

    def _execute(self) -> bool:
        """Do the work; False if it was stopped before the end."""
        raise NotImplementedError

    def release(self) -> None:
        """Let go of anything large."""

    @property
    def n_bytes(self) -> int:
        """What it holds while it waits."""
        return 0

    def _should_stop(self) -> bool:
        return self.is_left or self.stop.is_set() or self.gives_way() or self.holds_up()

    def _take(self, progress: Progress) -> None:
        self.progress = progress


@dataclass(eq=False, kw_only=True)
class TableTask(Task):
    """A task on a table, which it forgets at the end."""

    X: Array | WeightedRows | None
    y: Array | None

    @property
    def n_bytes(self) -> int:
        """The table."""
        return 0 if self.X is None else int(self.X.nbytes)

    def release(self) -> None:
        """Forget the table."""
        self.X = self.y = None


def n_workers() -> int:
    """Cores for a simulation: all but one, which answers the pages."""
    return max(1, (os.cpu_count() or 1) - 1)


@contextmanager
def workers() -> Iterator[int]:
    """The number of workers of a simulation, for as long as the block runs, where the deployment
    says (`DPCI_ENGINE`).
    """
    with workers_named(job_engine(), n_workers()) as n:
        yield n


def where() -> str:
    """Return a sentence about where simulations run; a public demo tells nobody its addresses."""
    kind, count = engine_parts(name := job_engine(), elsewhere=True)
    if kind == HERE:
        count = n_workers()
        return f"Runs on {count} core{'s' if count > 1 else ''} of this machine."
    many = "es" if kind == "processes" and count > 1 else "s" if count > 1 else ""
    if kind == "processes":
        return f"Runs in {count} process{many} of this machine."
    if kind == "dask":
        return f"Runs on {count} Dask worker{many} of this machine."
    return "Runs on Dask workers" + ("." if is_public_demo() else f" at {name}.")


class JobQueue:
    """Jobs in the order they came, run one at a time by a daemon thread that starts with the
    first.
    """

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._most_waiting = most_waiting
        self._lock = threading.Condition()
        self._waiting: list[Task] = []
        self._jobs: OrderedDict[str, Task] = OrderedDict()
        self._worker: threading.Thread | None = None

    def submit(self, job: Task, address: str = "") -> None:
        """Put a job at the end of the queue; raises QueueFullError with a sentence.

        Args:
            job: to be run.
            address: that it is for, of which half of the queue may wait; empty where nobody else
                can come from.
        """
        with self._lock:
            job.address = address
            self._let_go()
            active = [other for other in self._jobs.values() if other.is_active]
            if not any(job.is_answered_by(other) for other in active):
                self._refuse_more(job)
            self._waiting.append(job)
            self._jobs[job.key] = job
            self._forget_old()
            if self._worker is None or not self._worker.is_alive():
                self._worker = threading.Thread(target=self._work, daemon=True, name="simulations")
                self._worker.start()
            self._lock.notify()

    def _refuse_more(self, job: Task) -> None:
        apart = _apart(self._waiting)
        own = sum(other.address == job.address for other in apart)
        if job.address and own >= max(1, self._most_waiting // 2):
            raise QueueFullError(
                f"{own} simulations of your address are waiting already. Try again in a few "
                "minutes."
            )
        held = sum(other.n_bytes for other in self._waiting)
        if len(apart) >= self._most_waiting or (self._waiting and held + job.n_bytes > MOST_HELD):
            raise QueueFullError(
                f"{len(apart)} simulations are waiting already. Try again in a few minutes."
            )

    def find(self, key: str) -> Task | None:
        """The job under a key, marked as looked at."""
        with self._lock:
            job = self._jobs.get(key)
        if job is not None:
            job.looked_at = time.monotonic()
        return job

    def place(self, job: Task) -> int:
        """How many questions are answered before that of this job."""
        return self._ahead(job)[0]

    def at_work(self, job: Task) -> Task:
        """The first job that asks what this one does: how far it is, both are."""
        return self._ahead(job)[1]

    def _ahead(self, job: Task) -> tuple[int, Task]:
        """Questions before that of a job, and the first that asks the same; a job that was told to
        stop is as good as gone.
        """
        with self._lock:
            self._let_go()
            if job.state != "queued":
                return 0, job
            running = [other for other in self._jobs.values() if other.state == "running"]
            line = [*(other for other in running if not other.stop.is_set()), *self._waiting]
            first = next((k for k, other in enumerate(line) if job.is_answered_by(other)), 0)
            return len(_apart(line[:first])), line[first] if line else job

    def cancel(self, job: Task) -> None:
        """Stop a job; one that still waits leaves the queue at once."""
        job.stop.set()
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        """Take those who wait for nobody out of the queue."""
        for job in [one for one in self._waiting if one.stop.is_set() or one.is_left]:
            self._waiting.remove(job)
            job.release()
            job.state = "cancelled"

    def _forget_old(self) -> None:
        finished = [key for key, job in self._jobs.items() if not job.is_active]
        for key in finished[: max(0, len(self._jobs) - KEPT_JOBS)]:
            del self._jobs[key]

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._waiting:
                    self._lock.wait()
                job = self._waiting.pop(0)
                job.state = "running"
            job.gives_way = partial(self._is_others_turn, job)
            job.holds_up = partial(self._is_in_the_way, job)
            job.run()

    def _is_others_turn(self, job: Task) -> bool:
        """Whether it took its time and somebody waits for another answer."""
        is_long = time.monotonic() - job.begun_at > 60.0 * most_minutes()
        return is_long and not all(other.is_answered_by(job) for other in list(self._waiting))

    def _is_in_the_way(self, job: Task) -> bool:
        """Whether all who look on wait for another answer, and it can begin anew."""
        seen = [other for other in (job, *self._waiting) if other.is_seen]
        is_wanted = any(other.is_answered_by(job) for other in seen)
        return job.begins_anew and bool(seen) and not is_wanted


def _apart(tasks: Iterable[Task]) -> list[Task]:
    """One job of each question."""
    found: list[Task] = []
    for task in tasks:
        if not any(task.is_answered_by(other) for other in found):
            found.append(task)
    return found


QUEUE = JobQueue()
QUICK, SEARCHES = JobQueue(most_waiting=60), JobQueue(most_waiting=60)
"""For answers of a second or a few, and for searches of a minute or two: who looks at one design or
rehearses a release waits neither behind a search nor behind a simulation; more people fit in.
"""
_QUEUES = (QUICK, SEARCHES, QUEUE)


def find(key: str) -> Task | None:
    """The job under a key in any queue, marked as looked at."""
    return next((job for queue in _QUEUES if (job := queue.find(key)) is not None), None)


def queue_of(job: Task) -> JobQueue:
    """The queue that a job waits in."""
    return next((queue for queue in _QUEUES if queue.find(job.key) is job), QUEUE)
