"""What a move on the page Plan costs the server until the page is drawn, and until every answer is
found.

    python -m benchmarks.plan_page [--features 10 36] [--times 5]

One visitor; every move goes to settings that nobody asked for before. Processor times are those of
the whole server, so that what a search does beside the page counts as well. Answers that are
missing when the page is drawn come from a job in the background; the next move begins when the
server has been idle for a while.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator

import psutil

from tests.browser.driver import server_process
from tests.browser.visitor import Answer, Visitor, visiting

Move = Callable[[], Answer]
_IDLE = 0.6
"""Seconds without work after which nothing more is to come."""


class Meter:
    """Processor seconds of a server."""

    def __init__(self, process: psutil.Process) -> None:
        self.process = process

    def read(self) -> float:
        """Seconds so far, of all threads."""
        return float(sum(self.process.cpu_times()[:2]))

    def settled(self) -> float:
        """The same, once the server has nothing to do."""
        last, since = self.read(), time.monotonic()
        while time.monotonic() - since < _IDLE:
            time.sleep(0.05)
            if (now := self.read()) > last + 0.02:
                last, since = now, time.monotonic()
        return last


def moves(visitor: Visitor, times: int) -> Iterator[tuple[str, Move]]:
    """Moves with their names, each to be made before the next is asked for."""
    totals, counts = visitor.options("total_slider"), visitor.options("n_slider")
    for k in range(times):
        yield "ε", lambda k=k: visitor.move("total_slider", totals[len(totals) // 2 + k])
        yield "n", lambda k=k: visitor.move("n_slider", counts[len(counts) // 2 + k])
        yield "precision target", lambda k=k: visitor.type_number("goal_length", 0.6 + 0.05 * k)
        for look in ("Split of the budget", "Which mechanism", "Which penalty", "Budget × records"):
            yield f"look “{look}”", lambda look=look: visitor.move("look", look)


def measure(features: int, times: int) -> dict[str, list[tuple[float, float, float]]]:
    """Of every move processor seconds until the page is drawn, seconds on the clock, and processor
    seconds until all answers are found."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    with server_process() as server:
        meter = Meter(psutil.Process(server.process.pid))
        with visiting(int(server.address.rpartition(":")[2]), "plan", f"d={features}") as visitor:
            visitor.open()
            for name, move in moves(visitor, times):
                before = meter.settled()
                made = move()
                drawn = meter.read()
                assert not made.errors, made.errors
                found.setdefault(name, []).append(
                    (drawn - before, made.seconds, meter.settled() - before)
                )
    return found


def main() -> None:
    """Print one table for each number of features."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--features", type=int, nargs="+", default=[10, 36])
    parser.add_argument(
        "--times", type=int, default=5, help="how often each move is made; the medians are printed"
    )
    options = parser.parse_args()
    for d in options.features:
        print(
            f"\n| d = {d}: move | processor, drawn | clock, drawn | processor, all answers "
            "|\n|---|---|---|---|"
        )
        for name, made in measure(d, options.times).items():
            medians = [f"{statistics.median(column):.2f} s" for column in zip(*made, strict=True)]
            print("|", " | ".join([name, *medians]), "|")


if __name__ == "__main__":
    main()
