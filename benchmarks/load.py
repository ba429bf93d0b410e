"""Sessions that move a slider at once: server time of a move, errors, and memory of a session.

Each session has a number of records of its own and lets go of the budget's slider at a random
position, again and again, with a pause as people take to look. Moves begin when the last session
has its page. `python -m benchmarks.load --pause 0` leaves the pause out: the server is then always
busy, and its time is the number of sessions times what one run takes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random
from threading import Barrier

import numpy as np
import psutil

from tests.browser.driver import server_process
from tests.browser.visitor import PATIENCE, Answer, visiting

PAGE, SLIDER, CHART = "explore", "total_slider", "chart_intervals"
_MEGABYTE = 2.0**20


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """One session's time on the page; `wrong` are charts that showed somebody else's numbers, or
    errors.
    """

    first: float
    moves: tuple[float, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """What all sessions saw, and of the server the resident memory in bytes (with one session, with
    all of them, at the end) and the seconds of processor time of all moves, which other programs on
    the machine do not lengthen much."""

    visits: tuple[Visit, ...]
    memory: tuple[int, int, int]
    processor: float

    @property
    def moves(self) -> list[float]:
        """Seconds of every move of every session."""
        return [seconds for visit in self.visits for seconds in visit.moves]

    @property
    def wrong(self) -> list[str]:
        """Everything that went wrong."""
        return [words for visit in self.visits for words in visit.wrong]


def visit(
    port: int, number: int, begin: Barrier, *, seconds: float, pause: float, at_least: int = 1
) -> Visit:
    """Open the page with a number of records of its own; when all have, move the slider until the
    time is up.
    """
    rng, n = Random(number), 5_000 + 1_000 * number
    with visiting(port, PAGE, f"n={n}") as visitor:
        opened = visitor.open()
        moves, wrong = [], problems(opened, n=n, total=1.0)
        begin.wait(PATIENCE)
        until = time.monotonic() + seconds
        while len(moves) < at_least or time.monotonic() < until:
            time.sleep(pause * rng.uniform(0.5, 1.5))
            option = rng.choice(visitor.options(SLIDER))
            made = visitor.move(SLIDER, option)
            moves.append(made.seconds)
            wrong += problems(made, n=n, total=float(option))
    return Visit(first=opened.seconds, moves=tuple(moves), wrong=tuple(wrong))


def problems(made: Answer, *, n: int, total: float) -> list[str]:
    """What is wrong with an answer: an error on the page, or a chart of other settings than this
    session's.
    """
    shown = made.charts[CHART]["meta"] if CHART in made.charts else {}
    found = list(made.errors)
    if (
        shown.get("n") != n or abs(shown.get("total", 0.0) / total - 1.0) > 1e-3
    ):  # a slider writes three digits
        found.append(
            f"asked for n = {n}, total = {total}, got {shown.get('n')}, {shown.get('total')}"
        )
    return found


def measure(n_sessions: int, *, seconds: float, pause: float) -> Load:
    """Start a dashboard, let one session in, then all of them, and have them move for so many
    seconds.
    """
    with server_process() as server:
        port, process = int(server.address.rpartition(":")[2]), psutil.Process(server.process.pid)
        readings: list[tuple[int, float]] = []

        def read() -> None:
            readings.append((process.memory_info().rss, sum(process.cpu_times()[:2])))

        visit(port, 0, Barrier(1, action=read), seconds=0.0, pause=0.0)
        begin = Barrier(n_sessions, action=read)
        with ThreadPoolExecutor(n_sessions) as pool:
            waiting = [
                pool.submit(visit, port, i, begin, seconds=seconds, pause=pause)
                for i in range(n_sessions)
            ]
            visits = tuple(each.result() for each in waiting)
        read()
    (one, _), (opened, begun), (end, ended) = readings
    return Load(visits=visits, memory=(one, opened, end), processor=ended - begun)


def main() -> None:
    """Print one table; exit with 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each session moves")
    parser.add_argument(
        "--pause", type=float, default=4.0, help="mean seconds between letting go and the next move"
    )
    args = parser.parse_args()
    found = measure(args.sessions, seconds=args.seconds, pause=args.pause)
    one, opened, end = (bytes_ / _MEGABYTE for bytes_ in found.memory)
    print(
        f"\n| {args.sessions} sessions on {PAGE}, a move every {args.pause:g} s each | |\n|---|---|"
    )
    print(f"| moves | {len(found.moves)} |")
    print(f"| first visit, median | {statistics.median(v.first for v in found.visits):.2f} s |")
    print(f"| server time of a move, median | {statistics.median(found.moves):.2f} s |")
    print(
        f"| server time of a move, 95 % of moves within | {np.quantile(found.moves, 0.95):.2f} s |"
    )
    print(f"| processor time of a move, mean | {found.processor / len(found.moves):.2f} s |")
    print(f"| errors and answers of other sessions | {len(found.wrong)} |")
    print(
        f"| resident memory with one session, with all open, at the end | {one:,.0f}, "
        f"{opened:,.0f}, {end:,.0f} MB |"
    )
    print(f"| growth for each session | {(end - one) / args.sessions:.1f} MB |")
    print(
        f"| load average of the machine | {psutil.getloadavg()[0]:.1f} on {psutil.cpu_count()} "
        "cores |"
    )
    for words in found.wrong[:5]:
        print(words)
    sys.exit(bool(found.wrong))


if __name__ == "__main__":
    main()
