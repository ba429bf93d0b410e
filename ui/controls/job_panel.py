"""A job in the background as its page sees it: found again after a reload, watched while it is
active, and stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import streamlit as st

from ui.kit import again
from ui.session import jobs, state

J = TypeVar("J", bound=jobs.Task)


@dataclass(frozen=True, kw_only=True)
class JobPanel(Generic[J]):
    """The jobs of one kind, each kept under `name` by its session.

    running: draws how far it is, also of one that waits with fewer than `least_ahead` before it.
    where: says where it runs.
    failed, ended: say why it failed, or how else it ended.  stop, stop_key: the button to stop it.
    poll: seconds between two looks at it.
    """

    kind: type[J]
    name: str
    running: Callable[[J], object]
    stop_key: str
    failed: Callable[[str], object] = st.error
    ended: Callable[[J], object] = lambda job: None
    waiting: str = "Waiting: {ahead} before this one. You can leave this page and come back."
    least_ahead: int = 0
    stop: str = "Cancel"
    poll: float = 1.0
    where: Callable[[], str] | None = None

    def job(self) -> J | None:
        """The job of this session; after a reload the link still knows its key, if it may be
        told.
        """
        job = state.find_job(self.name)
        if not isinstance(job, self.kind) or (
            job.is_private_to_session and self.name not in st.session_state
        ):
            return None
        st.session_state[self.name] = job.key
        return job

    @property
    def is_active(self) -> bool:
        """Whether there is one that waits or runs."""
        job = self.job()
        return job is not None and job.is_active

    @property
    def is_gone(self) -> bool:
        """Whether there was one that is no longer kept."""
        return self.job() is None and bool(state.job_key(self.name))

    def watch(self, *, was_active: bool = False) -> None:
        """How the job stands; while it is live the page is drawn again and again.

        was_active: it was live when the rest of the page was drawn, and may have ended since.
        """
        job = self.job()
        if was_active or (job is not None and job.is_active):
            again.want(self.poll)
        if job is not None:
            self._status(job)

    def _status(self, job: J) -> None:
        queue = jobs.queue_of(job)
        ahead = queue.place(job)
        if job.state == "queued" and ahead >= self.least_ahead:
            st.info(self.waiting.format(ahead=ahead))
        elif job.is_active:
            self.running(cast(J, queue.at_work(job)))
            if self.where is not None:
                st.caption(self.where())
        elif job.state == "failed":
            self.failed(job.problem)
        else:
            self.ended(job)
        if job.is_active:
            st.button(self.stop, key=self.stop_key, on_click=queue.cancel, args=(job,))
