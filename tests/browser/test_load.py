"""Sessions at once: each sees its own numbers, in every answer."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier

import pytest

from tests.browser.visitor import PATIENCE, Answer, visiting

pytestmark = pytest.mark.browser
SESSIONS, MOVES = 4, 3
SLIDER, CHART = "total_slider", "chart_intervals"


def port_of(server: str) -> int:
    return int(server.rpartition(":")[2])


def problems(answer: Answer, *, n: int, total: float) -> list[str]:
    """What is wrong with an answer: an error on the page, or a chart of other settings than this
    session's.
    """
    shown = answer.charts[CHART]["meta"] if CHART in answer.charts else {}
    found = list(answer.errors)
    # a slider writes three digits
    if shown.get("n") != n or abs(shown.get("total", 0.0) / total - 1.0) > 1e-3:
        found.append(
            f"asked for n = {n}, total = {total}, got {shown.get('n')}, {shown.get('total')}"
        )
    return found


def visit(port: int, number: int, begin: Barrier) -> list[str]:
    """Open Explore with a number of records of its own; when all sessions have, move the slider to
    random positions. Returns what was wrong.
    """
    rng, n = Random(number), 5_000 + 1_000 * number
    with visiting(port, "explore", f"n={n}") as visitor:
        wrong = problems(visitor.open(), n=n, total=1.0)
        begin.wait(PATIENCE)
        for _ in range(MOVES):
            time.sleep(0.1 * rng.uniform(0.5, 1.5))
            option = rng.choice(visitor.options(SLIDER))
            wrong += problems(visitor.move(SLIDER, option), n=n, total=float(option))
    return wrong


def test_sessions_that_move_at_once_see_their_own_numbers(server):
    begin = Barrier(SESSIONS)
    with ThreadPoolExecutor(SESSIONS) as pool:
        waiting = [pool.submit(visit, port_of(server), i, begin) for i in range(SESSIONS)]
        assert [each.result() for each in waiting] == [[]] * SESSIONS


def test_curves_that_sessions_share_are_the_curves_of_their_own_settings(server):
    """Two sessions with the same records but other penalties, and a third that has the settings of
    the first.
    """
    curves = []
    for query in ("n=4000", "n=4000&c=0.01", "n=4000"):
        with visiting(port_of(server), "explore", query) as visitor:
            assert problems(visitor.open(), n=4000, total=1.0) == []
            moved = visitor.move(SLIDER, "2")
            assert problems(moved, n=4000, total=2.0) == []
            curves.append(visitor.move("tab", "By budget").charts["chart_total"])
    assert curves[0] == curves[2]
    assert curves[0]["lines"] != curves[1]["lines"]


def test_another_sessions_answer_would_be_noticed():
    wrong = Answer(seconds=0.1, n_bytes=1, charts={CHART: {"meta": {"n": 5000, "total": 1.0}}})
    assert problems(wrong, n=5000, total=1.0) == []
    assert len(problems(wrong, n=6000, total=1.0)) == 1
    assert len(problems(wrong, n=5000, total=1.1)) == 1
    assert len(problems(Answer(seconds=0.1, n_bytes=1, charts={}), n=5000, total=1.0)) == 1
