"""Watching and stopping the planner: the same numbers, soon ended, and no answer from a search that
was stopped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace

import numpy as np
import pytest

from dpci_core import (
    Design,
    InfeasibleDesignError,
    Logistic,
    PureDP,
    StoppedError,
    Target,
    best_regularization,
    best_split,
    datasets,
    fit_moments,
    forecast,
    needed_budget,
    needed_records,
    rank_mechanisms,
    remedies,
    watched,
)
from dpci_core.base.watch import Stage, counted
from dpci_core.intervals.forecast import N_DRAWS
from dpci_core.planner.regularization import GRID

TABLE = datasets.load("census", encoding="schema", features=3, n_rows=3_000)
FIT = fit_moments(TABLE.X, TABLE.y, loss=Logistic(), regularization=0.01)
DESIGN = Design(
    loss=Logistic(),
    mechanism="objective",
    budget=PureDP(model="0.5", hessian="0.25", covariance="0.25"),
    regularization=0.01,
    n_records=3_000,
    calibration="sharp",
)
TARGET = Target(0.5)
HOPELESS = replace(DESIGN, budget=PureDP(model="0.02", hessian="0.01", covariance="0.01"))
SEARCHES: dict[str, Callable[[], object]] = {
    "forecast": lambda: forecast(FIT, design=DESIGN),
    "budget": lambda: needed_budget(FIT, design=DESIGN, target=TARGET),
    "records": lambda: needed_records(FIT, design=DESIGN, target=TARGET),
    "split": lambda: best_split(FIT, design=DESIGN),
    "ranking": lambda: rank_mechanisms(FIT, epsilon=1, delta="1e-6", regularization=0.01),
    "c": lambda: best_regularization(TABLE.X, TABLE.y, design=DESIGN),
    "remedies": lambda: remedies(FIT, design=HOPELESS),
}


class Watch:
    """Counts steps, and asks to stop from one of them on."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.stop_at, self.asked, self.told = stop_at, 0, list[int]()

    def should_stop(self) -> bool:
        self.asked += 1
        return self.stop_at is not None and self.asked >= self.stop_at

    def run(self, search: Callable[[], object]) -> object:
        with watched(progress=self.told.append, should_stop=self.should_stop):
            return search()


def same(a: object, b: object) -> None:
    """Equal to the last bit, whatever is nested in them."""
    if isinstance(a, dict) and isinstance(b, dict):
        assert a.keys() == b.keys()
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same(one, other)
    elif isinstance(a, Exception):  # why a design of a ranking cannot run
        assert (type(a), str(a)) == (type(b), str(b))
    elif hasattr(a, "__dataclass_fields__"):
        same(asdict(a), asdict(b))  # type: ignore[call-overload]
    else:
        np.testing.assert_array_equal(a, b)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_ends_at_the_step_after_it_was_stopped_and_has_no_answer(name: str) -> None:
    """Every step is seen, and watching changes no number."""
    whole = Watch()
    found = whole.run(SEARCHES[name])
    assert whole.asked == len(whole.told) >= 1
    assert whole.told[0] == 0
    assert all(0 < step <= N_DRAWS for step in np.diff(whole.told))
    for stop_at in sorted({1, (whole.asked + 1) // 2, whole.asked}):
        watch, answers = Watch(stop_at), []
        with pytest.raises(StoppedError, match="Stopped after"):
            answers.append(watch.run(SEARCHES[name]))
        assert answers == []
        assert watch.asked == stop_at
        assert watch.told == whole.told[: stop_at - 1]
    same(found, SEARCHES[name]())


def test_a_stop_is_no_refusal() -> None:
    """Searches take an InfeasibleDesignError for a length out of reach; a stop must get past all of
    them.
    """
    assert not issubclass(StoppedError, ValueError)
    assert not issubclass(StoppedError, InfeasibleDesignError)


def test_other_threads_and_what_comes_after_are_not_watched() -> None:
    watch = Watch(stop_at=1)
    with watched(progress=watch.told.append, should_stop=watch.should_stop):
        found: list[object] = []
        other = threading.Thread(target=lambda: found.append(forecast(FIT, design=DESIGN)))
        other.start()
        other.join()
        assert len(found) == 1
        with pytest.raises(StoppedError):
            forecast(FIT, design=DESIGN)
    forecast(FIT, design=DESIGN)
    assert watch.asked == 1


def test_the_inner_watch_counts_for_itself() -> None:
    outer, inner = Watch(), Watch()
    with watched(progress=outer.told.append):
        forecast(FIT, design=DESIGN)
        inner.run(SEARCHES["forecast"])
        forecast(FIT, design=DESIGN)
    assert inner.told == [0]
    assert outer.told == [0, N_DRAWS]


def test_a_search_says_which_of_the_things_it_counts_it_is_at():
    told = []
    with watched(at_stage=told.append):
        SEARCHES["c"]()
    numbers = [stages[0].number for stages in told if stages]
    assert numbers == list(range(1, len(GRID) + 1))
    assert {stages[0].of for stages in told if stages} == {len(GRID)}
    assert told[-1] == ()  # what comes then counts nothing


def test_a_search_that_was_stopped_leaves_no_stage_to_the_next():
    told = []
    with suppress(StoppedError), watched(should_stop=lambda: True, at_stage=told.append):
        for _ in counted("outer", range(3)):
            SEARCHES["forecast"]()
    with watched(at_stage=told.append):
        list(counted("inner", range(1)))
    assert told == [(Stage("outer", 1, 3),), (), (Stage("inner", 1, 1),), ()]


def test_a_search_that_finds_what_it_wants_early_is_at_that_stage_no_longer():
    """“split 1 of 3, split 1 of 3, split 1 of 2” was told of three searches one after the other."""
    told = []
    with watched(at_stage=told.append):
        for _ in range(2):
            for _ in counted("split", range(3)):
                break
    assert told == [(Stage("split", 1, 3),), ()] * 2
