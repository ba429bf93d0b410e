"""The queue of simulations: order, place, cancel, abandonment, failures, and what is kept."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpci_core import Design, Logistic, PureDP
from ui.evidence.coverage.job import Job
from ui.session import jobs, state
from ui.session.choices import ALL_COMBINATIONS
from ui.session.settings import Settings

DESIGN = Design(
    loss=Logistic(),
    mechanism="output",
    budget=PureDP(model="0.5", hessian="0.25", covariance="0.25"),
    regularization=0.01,
    n_records=400,
)


def job(m: int = 40, k: int = 20, kind: type[Job] = Job, **changes: object) -> Job:
    rng = np.random.default_rng(0)
    X = np.c_[rng.uniform(-0.5, 0.5, (400, 2)), np.full(400, 0.5)]
    values = {
        "settings": Settings(),
        "assumptions": "",
        "digest": "",
        "combinations": ALL_COMBINATIONS[:1],
        "designs": (DESIGN,),
        "m": m,
        "k": k,
        "seed": 1,
        "is_private_to_session": False,
        "X": X,
        "y": np.where(rng.random(400) < 0.5, 1.0, -1.0),
    }
    return kind(**{**values, **changes})


def wait_for(condition, seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


LONG = 100_000_000


@pytest.mark.parametrize("queue", ["alone", "crowded"])
def test_a_long_job_gives_way_to_those_who_wait(queue, monkeypatch):
    monkeypatch.setattr(jobs, "most_minutes", lambda: 0)
    line = jobs.JobQueue()
    long = job(m=LONG)
    line.submit(long)
    wait_for(lambda: long.progress is not None)
    if queue == "alone":
        time.sleep(0.2)
        assert long.state == "running"
        line.cancel(long)
        wait_for(lambda: long.state == "cancelled")
        return
    other = job()
    line.submit(other)
    wait_for(lambda: other.state == "done")
    assert long.state == "failed"
    assert long.problem == jobs.GAVE_WAY.format(minutes=0)


class Search(Job):
    """One that its page starts anew."""

    begins_anew = True


@pytest.mark.parametrize(
    ("kind", "waits", "gives_way"),
    [
        (Search, "for another answer", True),
        (Search, "for the same answer", False),
        (Search, "and does not look either", False),
        (Search, "nobody", False),
        (Job, "for another answer", False),
    ],
)
def test_what_nobody_looks_at_gives_way_to_who_waits(kind, waits, gives_way):
    """A session that had gone on to another page held up everybody for minutes. A simulation, which
    may be left and is not started anew, goes on.
    """
    queue = jobs.JobQueue()
    running = job(m=LONG, kind=kind, question=frozenset({"mine"}))
    queue.submit(running)
    wait_for(lambda: running.progress is not None)
    asked = "mine" if waits == "for the same answer" else "another"
    other = job(question=frozenset({asked}))
    if waits != "nobody":
        queue.submit(other)
    time.sleep(0.2)
    assert running.state == "running"  # while its page looks at it
    running.looked_at -= jobs.UNSEEN_SECONDS
    if waits == "and does not look either":
        other.looked_at -= jobs.UNSEEN_SECONDS
    if gives_way:
        wait_for(lambda: other.state == "done")
        assert (running.state, running.problem) == ("cancelled", "")
        assert not running.stop.is_set()  # nobody has stopped it
        return
    time.sleep(0.5)
    assert running.state == "running"
    for one in (running, other):
        queue.cancel(one)


def test_jobs_run_in_order_and_know_their_place():
    queue = jobs.JobQueue()
    first, second, third = job(m=LONG), job(), job()
    for one in (first, second, third):
        queue.submit(one)
    wait_for(lambda: first.progress is not None)
    assert (queue.place(first), queue.place(second), queue.place(third)) == (0, 1, 2)
    queue.cancel(first)
    assert (queue.place(second), queue.place(third)) == (
        0,
        1,
    )  # not behind one that is about to end
    wait_for(lambda: third.state == "done")
    assert first.state == "cancelled"
    assert 0 < first.result.n_done < LONG
    assert second.result.n_done == 40
    assert queue.find(second.key) is second
    assert first.X is None
    assert second.X is None


def test_a_waiting_job_leaves_the_queue_at_once():
    queue = jobs.JobQueue()
    first, second = job(m=LONG), job()
    queue.submit(first)
    queue.submit(second)
    queue.cancel(second)
    assert second.state == "cancelled"
    assert second.X is None
    queue.cancel(first)
    wait_for(lambda: not first.is_active)
    assert second.result is None


def test_a_job_nobody_looks_at_is_stopped(monkeypatch):
    monkeypatch.setattr(jobs, "ABANDONED_SECONDS", 0.3)
    queue = jobs.JobQueue()
    lonely = job(m=LONG)
    queue.submit(lonely)
    wait_for(lambda: lonely.state == "cancelled")


@pytest.mark.parametrize("is_open", [True, False])
def test_a_job_whose_page_was_closed_stops_within_seconds(is_open, monkeypatch):
    """It went on for a quarter of an hour, and everybody else waited for it."""
    monkeypatch.setattr(jobs, "LEFT_SECONDS", 0.3)
    queue = jobs.JobQueue()
    running, waiting = job(m=LONG), job(m=LONG)
    for one in (running, waiting):
        one.is_there = lambda: is_open
        queue.submit(one)
    if is_open:
        time.sleep(1.0)
        assert (running.state, waiting.state) == ("running", "queued")
        for one in (running, waiting):
            queue.cancel(one)
        return
    wait_for(lambda: not running.is_active, seconds=5)
    wait_for(lambda: not waiting.is_active, seconds=5)
    assert waiting.result is None
    assert not waiting.stop.is_set()


def test_who_left_the_queue_holds_no_place_in_it(monkeypatch):
    queue = jobs.JobQueue(most_waiting=1)
    running, gone, here = job(m=LONG), job(), job()
    queue.submit(running)
    wait_for(lambda: running.state == "running")
    queue.submit(gone)
    gone.is_there = lambda: False
    monkeypatch.setattr(jobs, "LEFT_SECONDS", -1.0)
    queue.submit(here)
    assert (gone.state, gone.X, queue.place(here)) == ("cancelled", None, 1)
    for one in (running, here):
        queue.cancel(one)


def test_who_asks_what_is_being_answered_waits_for_nobody(monkeypatch):
    """A class that opens one link stood in a queue, each behind the same question."""
    monkeypatch.setattr(jobs, "most_minutes", lambda: 0)
    queue = jobs.JobQueue(most_waiting=2)
    both, one = frozenset({"answer", "map"}), frozenset({"answer"})
    first = job(m=LONG, question=both)
    queue.submit(first, "192.0.2.7")
    wait_for(lambda: first.progress is not None)
    same = [job(question=question) for question in (both, one, both, one)]
    for other in same:
        queue.submit(other, "192.0.2.7")  # a class behind one address
    assert [queue.place(other) for other in same] == [0] * 4
    assert {queue.at_work(other) for other in same} == {first}
    time.sleep(0.2)
    assert first.state == "running"  # it gives way to nobody who waits for its answer
    apart = job(question=frozenset({"another"}))
    queue.submit(apart)
    assert queue.at_work(apart) is apart
    wait_for(lambda: first.state == "failed")
    for other in (*same, apart):
        queue.cancel(other)


def test_what_is_a_sessions_own_is_nobody_elses():
    queue = jobs.JobQueue()
    mine, yours = job(m=LONG), job()
    for one in (mine, yours):
        queue.submit(one)
    assert mine.question == yours.question == frozenset()
    assert not yours.is_answered_by(mine)
    assert (queue.place(yours), queue.at_work(yours)) == (1, yours)
    for one in (mine, yours):
        queue.cancel(one)


def test_looking_keeps_a_job_alive(monkeypatch):
    monkeypatch.setattr(jobs, "ABANDONED_SECONDS", 1.0)
    queue = jobs.JobQueue()
    watched = job(m=LONG)
    queue.submit(watched)
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        assert queue.find(watched.key).is_active
        time.sleep(0.05)
    queue.cancel(watched)


def test_a_full_queue_refuses_in_words():
    queue = jobs.JobQueue(most_waiting=1)
    running, waiting = job(m=LONG), job()
    queue.submit(running)
    wait_for(lambda: running.state == "running")
    queue.submit(waiting)
    with pytest.raises(jobs.QueueFullError, match="waiting already"):
        queue.submit(job())
    for one in (running, waiting):
        queue.cancel(one)


def test_one_address_fills_half_of_a_queue():
    queue = jobs.JobQueue(most_waiting=4)
    running, *waiting = job(m=LONG), job(), job(), job()
    queue.submit(running, "192.0.2.7")
    wait_for(lambda: running.state == "running")
    for one in waiting[:2]:
        queue.submit(one, "192.0.2.7")
    with pytest.raises(jobs.QueueFullError, match="2 simulations of your address are waiting"):
        queue.submit(job(), "192.0.2.7")
    queue.submit(waiting[2], "192.0.2.8")
    for one in (running, *waiting):
        queue.cancel(one)


def test_a_visitor_is_told_from_others_as_the_gate_does(monkeypatch):
    given = SimpleNamespace(headers={"X-Forwarded-For": "a, 192.0.2.8"}, ip_address=None)
    taken: list[str] = []
    queue = SimpleNamespace(submit=lambda task, address: taken.append(address))
    monkeypatch.setattr(state.st, "context", given)
    state.submit("any", job(), queue)
    given.ip_address = "192.0.2.7"
    state.submit("any", job(), queue)
    assert taken == ["192.0.2.8", "192.0.2.7"]


def test_waiting_tables_are_bounded(monkeypatch):
    monkeypatch.setattr(jobs, "MOST_HELD", 15_000)
    queue = jobs.JobQueue()
    running, first, second = job(m=LONG), job(), job()
    queue.submit(running)
    wait_for(lambda: running.state == "running")
    queue.submit(first)
    with pytest.raises(jobs.QueueFullError, match="1 simulations are waiting"):
        queue.submit(second)
    for one in (running, first):
        queue.cancel(one)


def test_a_refusal_is_a_sentence_and_the_next_job_runs():
    queue = jobs.JobQueue()
    bad, good = job(designs=(replace(DESIGN, n_records=2**24),)), job()
    queue.submit(bad)
    queue.submit(good)
    wait_for(lambda: good.state == "done")
    assert bad.state == "failed"
    assert "number of records n is 16,777,216" in bad.problem


def test_an_unexpected_end_quotes_nothing(monkeypatch):
    def break_down(*_, **__):
        raise RuntimeError("the value 0.7351946 of row 3")

    monkeypatch.setattr("dpci_core.simulation.run.run_experiment", break_down)
    queue, ugly = jobs.JobQueue(), job()
    queue.submit(ugly)
    wait_for(lambda: not ugly.is_active)
    assert ugly.problem == "The simulation stopped unexpectedly (RuntimeError)."
    assert ugly.X is None


def test_old_results_are_forgotten(monkeypatch):
    monkeypatch.setattr(jobs, "KEPT_JOBS", 3)
    queue = jobs.JobQueue()
    many = [job(m=2, k=2) for _ in range(6)]
    for one in many:
        queue.submit(one)
        wait_for(lambda one=one: not one.is_active)
    assert queue.find(many[0].key) is None
    assert queue.find(many[-1].key) is many[-1]


def test_keys_cannot_be_guessed():
    assert len({job().key for _ in range(50)}) == 50
    assert all(len(job().key) >= 20 for _ in range(3))


@pytest.mark.parametrize(
    ("engine", "words", "n"),
    [
        ("", f"{jobs.n_workers()} core", jobs.n_workers()),
        ("processes:2", "in 2 processes of this machine", 2),
        ("dask:3", "on 3 Dask workers of this machine", None),
        ("tcp://10.0.0.7:8786", "on Dask workers at tcp://10.0.0.7:8786", None),
    ],
)
def test_a_job_says_where_it_runs(
    engine: str, words: str, n: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPCI_ENGINE", engine)
    assert words in jobs.where()
    if n is not None:
        with jobs.workers() as found:
            assert found == n
    monkeypatch.setenv("DPCI_PUBLIC_DEMO", "1")
    assert "10.0.0.7" not in jobs.where()
