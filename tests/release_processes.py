"""Releases under attack, forked from one warm process: killed anywhere, or racing for the last of a
budget.

`python -m tests.release_processes kill FOLDER ROUNDS` and `... race FOLDER PROCESSES` print what
they found as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from dpci_core.ledger import Cap
from dpci_core.privacy.randomness import load_noise
from dpci_core.release import ReleaseLostError, load_release, once, run
from tests.release_example import RHO, Desk, make_plan

STAGES = (
    "before booking",
    "booked",
    "read",
    "begun",
    "drawn",
    "wrote release.json",
    "wrote report.html",
    "wrote plan.yaml",
    "renamed",
    "written",
    "finished",
)


DESK_ROUNDS = 50
"""Kills on one ledger: every write reads all of a ledger, so a thousand on one would take most of
their time there.
"""


def log_draws(folder: Path) -> Path:
    """Every draw of noise first leaves a line with its request in a file that outlives a kill."""
    path = folder / "draws"
    original = once._carry_out

    def logged(question, header, charge, place, begin):
        def draw(X, y, **design):
            with path.open("a") as lines:
                lines.write(f"{charge.request_id}\n")
            return run_draw(X, y, **design)

        run.draw_release = draw
        return original(question, header, charge, place, begin)

    run_draw = run.draw_release
    once._carry_out = logged
    return path


def attempt(desk: Desk, request: str, stage: str | None) -> int:
    """A child that releases, and kills itself at a stage; its process id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        if stage is not None:
            once.reached = lambda reached: (
                os.kill(os.getpid(), signal.SIGKILL) if reached == stage else None
            )
        desk.release(request, to=request)
        code = 0
    except ValueError:
        code = 2
    except RuntimeError:
        code = 3
    finally:
        os._exit(code)


def kill(folder: Path, rounds: int) -> dict[str, object]:
    """Kill releases at every stage in turn and at random times; then make each request again, in
    peace, twice.
    """
    desks = [new_desk(folder / "first", 2)]
    draws = log_draws(folder)
    desks[0].release("warm", to="warm")  # imports what is imported late
    started = time.monotonic()
    desks[0].release("usual", to="usual")
    usual = time.monotonic() - started
    rng = random.Random(5)
    faults: list[str] = []
    outcomes: Counter[str] = Counter()
    for k in range(rounds):
        if k % DESK_ROUNDS == 0:
            desks.append(new_desk(folder / f"{k}", DESK_ROUNDS))
        desk, request = desks[-1], f"r{k}"
        stage = STAGES[k % (2 * len(STAGES))] if k % (2 * len(STAGES)) < len(STAGES) else None
        child = attempt(desk, request, stage)
        if stage is None:
            time.sleep(rng.uniform(0.0, 1.1 * usual))
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        outcomes[look(desk, request, faults)] += 1
    drawn = Counter(draws.read_text().split())
    faults += [f"{request} was drawn {n} times" for request, n in drawn.items() if n > 1]
    booked = {charge.request_id for desk in desks for charge in desk.ledger.history()}
    faults += [
        f"{request} was drawn without a charge" for request in drawn if request not in booked
    ]
    for desk in desks:
        if not desk.ledger.verify().is_good or desk.ledger.remaining("Clinic") < 0:
            faults.append("the ledger is not good")
    return {
        "faults": faults,
        "outcomes": dict(outcomes),
        "charges": len(booked),
        "draws": len(drawn),
    }


def new_desk(folder: Path, releases: int) -> Desk:
    """A desk whose budget is enough for so many releases."""
    folder.mkdir()
    return Desk.at(folder, plan=make_plan(RHO), cap=Cap.zcdp(RHO.total * releases))


def look(desk: Desk, request: str, faults: list[str]) -> str:
    """What a kill left, and what the same request says afterwards."""
    charge, place = desk.ledger.find(request), desk.folder / request
    if place.exists() and (charge is None or load_release(place).charge_id != charge.charge_id):
        faults.append(f"{request} has a result without a charge")
    had = "nothing" if charge is None else "a result" if place.exists() else "a charge"
    if had == "a charge" and charge.may_go_on:
        had = "a charge without a draw"
    before = load_release(place).to_dict() if place.exists() else None
    for _ in range(2):
        try:
            found = desk.release(request, to=request).to_dict()
        except ReleaseLostError:
            if had != "a charge":
                faults.append(f"{request} had {had} and is called lost")
            continue
        if had == "a charge":
            faults.append(f"{request} was drawn again")
        if before is not None and found != before:
            faults.append(f"{request} has another result now")
        before = found
        if desk.ledger.find(request).state != "done":  # type: ignore[union-attr]
            faults.append(f"{request} is not noted as done")
    return had


def race(folder: Path, processes: int) -> dict[str, object]:
    """Let processes release at once on a budget for one of them, half of them with the same
    request.
    """
    folder = folder / "desk"
    desk = new_desk(folder, 1)
    run.price_of(desk.plan), load_noise()  # kept, and the children inherit it
    draws = log_draws(folder)
    children = [attempt(desk, f"r{k // 2}", None) for k in range(processes)]
    codes = Counter(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    results = [path.parent.name for path in folder.glob("*/release.json")]
    return {
        "won": codes[0],
        "codes": sorted(codes),
        "draws": len(draws.read_text().split()),
        "results": len(results),
        "left": str(desk.ledger.remaining("Clinic")),
        "is_good": desk.ledger.verify().is_good,
    }


if __name__ == "__main__":
    print(
        json.dumps({"kill": kill, "race": race}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3])))
    )
