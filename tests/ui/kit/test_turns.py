"""Pages take turns: one after the other, but never behind a slow one for long."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from ui.kit import turns

PATIENCE = 30.0
NEVER = 1000.0


def test_pages_are_drawn_one_after_the_other(monkeypatch):
    monkeypatch.setattr(turns, "LONGEST", NEVER)
    inside, most = [], []

    def page(number: int) -> None:
        with turns.turn():
            inside.append(number)
            most.append(len(inside))
            Event().wait(0.01)
            inside.remove(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(page, range(24), timeout=PATIENCE))
    assert most == [1] * 24


def test_a_slow_page_goes_on_beside_the_next_one(monkeypatch):
    monkeypatch.setattr(turns, "LONGEST", 0.01)
    begun, other_done = Event(), Event()

    def slow() -> bool:
        with turns.turn():
            begun.set()
            return other_done.wait(PATIENCE)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(slow)
        assert begun.wait(PATIENCE)
        with turns.turn():
            other_done.set()
        assert waiting.result(PATIENCE)


def test_a_turn_is_given_back_once_whatever_happens(monkeypatch):
    """A page that fails gives its turn back; one whose time was up does not give back that of the
    next.
    """
    monkeypatch.setattr(turns, "LONGEST", NEVER)
    with pytest.raises(KeyError), turns.turn():
        raise KeyError
    monkeypatch.setattr(turns, "LONGEST", 0.01)
    with turns.turn(), turns.turn():  # waits until the first one's time is up
        pass
    assert turns._FREE.acquire(blocking=False)
    assert not turns._FREE.acquire(blocking=False)
    turns._FREE.release()


def test_a_clock_that_cannot_start_costs_its_own_page_only(monkeypatch):
    class Clock(turns.Timer):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(turns, "Timer", Clock)
    with pytest.raises(RuntimeError), turns.turn():
        pass
    monkeypatch.undo()
    assert turns._FREE.acquire(blocking=False)
    turns._FREE.release()


def test_a_page_gives_way_before_its_time_is_up(monkeypatch):
    monkeypatch.setattr(turns, "LONGEST", NEVER)
    with turns.turn():
        turns.give_way()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(_a_turn).result(PATIENCE)
        turns.give_way()
    assert turns._FREE.acquire(blocking=False)
    assert not turns._FREE.acquire(blocking=False)
    turns._FREE.release()


def _a_turn() -> None:
    with turns.turn():
        pass
