"""Sessions at once: each sees its own numbers, in every answer. How fast is measured by `python -m
benchmarks.load`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from benchmarks.load import CHART, SLIDER, problems, visit
from tests.browser.visitor import Answer, visiting

pytestmark = pytest.mark.browser
SESSIONS = 4


def port_of(server: str) -> int:
    return int(server.rpartition(":")[2])


def test_sessions_that_move_at_once_see_their_own_numbers(server):
    begin = Barrier(SESSIONS)
    with ThreadPoolExecutor(SESSIONS) as pool:
        waiting = [
            pool.submit(visit, port_of(server), i, begin, seconds=0.0, pause=0.1, at_least=3)
            for i in range(SESSIONS)
        ]
        visits = [each.result() for each in waiting]
    assert [len(v.moves) for v in visits] == [3] * SESSIONS
    assert [words for v in visits for words in v.wrong] == []


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
            curves.append(visitor.move("tab", "Over budget").charts["chart_total"])
    assert curves[0] == curves[2]
    assert curves[0]["lines"] != curves[1]["lines"]


def test_another_sessions_answer_would_be_noticed():
    wrong = Answer(seconds=0.1, n_bytes=1, charts={CHART: {"meta": {"n": 5000, "total": 1.0}}})
    assert problems(wrong, n=5000, total=1.0) == []
    assert len(problems(wrong, n=6000, total=1.0)) == 1
    assert len(problems(wrong, n=5000, total=1.1)) == 1
    assert len(problems(Answer(seconds=0.1, n_bytes=1, charts={}), n=5000, total=1.0)) == 1
