"""Long searches, watched and stopped from outside.

Whatever the planner looks for, it looks by forecasts, and nearly all its time goes into the draws
of matrix noise behind them. So every forecast is a step, which whoever watches is told of; the
searches themselves know nothing of it. How many steps there will be nobody knows: what a search can
say is how far it is through what it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Stage(NamedTuple):
    """Which of the things that a search goes through it is at, and how many there are; None where
    that shows only at the end.
    """

    what: str
    number: int
    of: int | None


_at_stage: ContextVar[Callable[[tuple[Stage, ...]], None] | None] = ContextVar(
    "at_stage", default=None
)
_stages: ContextVar[tuple[Stage, ...]] = ContextVar("stages", default=())
_on_step: ContextVar[Callable[[int], None] | None] = ContextVar("on_step", default=None)


class StoppedError(Exception):
    """A search was stopped before its end, so it has no answer. No ValueError: nothing may take it
    for a refusal.
    """


@contextmanager
def watched(
    *,
    progress: Callable[[int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    at_stage: Callable[[tuple[Stage, ...]], None] | None = None,
) -> Iterator[None]:
    """Watch the forecasts that this thread makes inside, alone or in a search of the planner; no
    number changes.

    Args:
        progress: called before every forecast with the draws of matrix noise that are done, of all
            forecasts so far; how many a search will take is not known before.
        should_stop: asked before every forecast.
        at_stage: called with where the search is, the outer things that it goes through first.

    Privacy:
        None of its own. Times and steps depend on the moments as the answers do.

    Raises:
        StoppedError: out of whatever runs inside, once should_stop says so.

    >>> import numpy as np
    >>> from dpci_core import Design, Logistic, Moments, PureDP, Target, needed_records
    >>> moments = Moments(
    ...     theta_hat=np.zeros(2), hessian=0.2 * np.eye(2), covariance=0.1 * np.eye(2),
    ...     n_records=1000, loss=Logistic(), regularization=0.01,
    ... )
    >>> design = Design(
    ...     loss=Logistic(), mechanism="output", budget=PureDP(model=1, hessian=1, covariance=1),
    ...     regularization=0.01, n_records=1000,
    ... )
    >>> done = []
    >>> with watched(progress=done.append):
    ...     answer = needed_records(moments, design=design, target=Target(0.5))
    >>> done[:3]
    [0, 16, 32]
    >>> try:
    ...     with watched(should_stop=lambda: True):
    ...         needed_records(moments, design=design, target=Target(0.5))
    ... except StoppedError as stopped:
    ...     print(stopped)
    Stopped after 0 draws.
    """
    done = 0

    def step(n_draws: int) -> None:
        nonlocal done
        if should_stop is not None and should_stop():
            raise StoppedError(f"Stopped after {done:,} draws.")
        if progress is not None:
            progress(done)
        done += n_draws

    before, told, stages = _on_step.set(step), _at_stage.set(at_stage), _stages.set(())
    try:
        yield
    finally:
        _on_step.reset(before)
        _at_stage.reset(told)
        _stages.reset(stages)


def counted(what: str, things: Iterable[T]) -> Generator[T, None, None]:
    """Each of these things, while whoever watches is told which of them a search is at.

    >>> told = []
    >>> with watched(at_stage=told.append):
    ...     for n in counted("size", (10, 20)):
    ...         total = sum(counted("row", range(2)))
    >>> told[2]
    (Stage(what='size', number=1, of=2), Stage(what='row', number=2, of=2))
    """
    outer, tell = _stages.get(), _at_stage.get() or (lambda stages: None)
    of = len(things) if isinstance(things, Sized) else None
    try:
        for number, thing in enumerate(things, 1):
            _stages.set(now := (*outer, Stage(what, number, of)))
            tell(now)
            yield thing
    finally:  # also where a search has found what it wants before the last of them
        _stages.set(outer)
        tell(outer)


def step(n_draws: int) -> None:
    """Say that a forecast of so many draws begins; returns unless it was asked to stop."""
    on_step = _on_step.get()
    if on_step is not None:
        on_step(n_draws)
