"""Real processes around one ledger, forked from a warm parent: races for the last of a budget, and
kill -9.

Run by `tests/ledger/test_faults.py` as `python -m tests.ledger_processes
race|approvals|kill|stages FOLDER ROUNDS`; prints JSON.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger import (
    BudgetExceededError,
    Cap,
    Cost,
    Entry,
    Ledger,
    RecordedHead,
    key,
    keyring,
    ledger,
    transaction,
)

UNIT = "one row is one person"
COST = Cost(
    definition="zcdp", amount="0.01", lines=[("coefficients", "0.006"), ("Hessian", "0.004")]
)


def create(book: Ledger, cap: str, **more: bool) -> None:
    given: dict[str, Any] = {"schema_hash": "s", "unit": UNIT, "person": "Ada"}
    book.create_dataset("Census", cap=Cap.zcdp(cap), **given, **more)


def asked(request: str, person: str = "Ada", cost: Cost = COST) -> dict[str, Any]:
    about = {"purpose": "model", "plan_hash": "p", "schema_hash": "s"}
    return about | {"cost": cost, "person": person, "request_id": request}


def charge(book: Ledger, request: str, cost: Cost = COST) -> Any:
    return book.book("Census", **asked(request, cost=cost))


def fork(work: Callable[[], None]) -> int:
    """Start a child that does this and nothing else; its exit code is 1 after any exception."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException as error:
        print(repr(error), file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)


def race(folder: Path, rounds: int) -> dict[str, Any]:
    """Six processes at once create the ledger (one may), then each wants 0.3 of a cap of 1: three
    may.
    """
    won, left, codes = [], [], []
    for k in range(rounds):
        book = Ledger(folder / f"{k}" / "ledger.sqlite", busy_seconds=60)
        start, go = os.pipe()

        def run(place: int, book: Ledger = book, start: int = start, go: int = go) -> None:
            os.close(go)
            os.read(start, 1)  # returns for all at the same moment, when the parent closes its end
            try:
                create(book, "1")
            except LedgerRuleError as error:
                if error.code != "dataset_exists":
                    raise
            try:
                charge(book, f"request {place}", Cost(definition="zcdp", amount="0.3"))
            except BudgetExceededError as error:
                if error.remaining != Decimal("0.1"):
                    raise

        children = [fork(lambda place=place: run(place)) for place in range(6)]  # type: ignore[misc]
        os.close(start)
        os.close(go)
        codes += [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        won.append(len(book.history()))
        left.append(str(book.remaining("Census")))
        codes.append(0 if book.verify().is_good else 2)
    return {"won": sorted(set(won)), "left": sorted(set(left)), "codes": sorted(set(codes))}


def approvals(folder: Path, rounds: int) -> dict[str, Any]:
    """Six processes at once propose, approve, withdraw and book whatever chance says, one of them
    killed; what was booked is held against the entries alone.
    """
    answers, faults = dict.fromkeys(("booked", "approved", "withdrawn"), 0), 0
    for k in range(rounds):
        book = Ledger(folder / f"{k}" / "ledger.sqlite", busy_seconds=60)
        create(book, "100", needs_approval=True)
        children = [fork(partial(_act, book, f"{k} {place}")) for place in range(6)]  # type: ignore[misc]
        time.sleep(random.Random(k).uniform(0, 0.2))
        os.kill(children[0], signal.SIGKILL)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        entries = book.entries()
        for kind in answers:
            answers[kind] += sum(entry.kind == kind for entry in entries)
        is_good = book.verify().is_good and set(codes[1:]) == {0} and codes[0] in (0, -9)
        faults += not (is_good and all(map(_is_approved, _until_booked(entries))))
    return {"faults": faults, **answers}


def _act(book: Ledger, seed: str) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        request, person = chance.choice("abc"), chance.choice(("Ada", "Grace"))
        known = book.proposal_of(request)
        number = 0 if known is None else known.proposal_id
        try:
            match chance.choice(("propose", "approve", "withdraw", "book", "book")):
                case "propose":
                    book.propose("Census", **asked(request, person))
                case "book":
                    book.book("Census", **asked(request, person))
                case "approve":
                    book.approve(number, person=person)
                case _ if chance.random() < 0.3:
                    book.withdraw(number, person=person)
        except LedgerRuleError:
            pass


def _until_booked(entries: tuple[Entry, ...]) -> Iterator[tuple[Entry, ...]]:
    """For each booking what the ledger had of its request before, and the booking."""
    for booking in (entry for entry in entries if entry.kind == "booked"):
        mine = {e.sequence for e in entries if e.request_id == booking.request_id}
        before = entries[: booking.sequence]
        yield tuple(e for e in before if {e.sequence, e.proposal} & mine)


def _is_approved(story: tuple[Entry, ...]) -> bool:
    """Whether it ends: proposed by one, approved by another, booked by the first."""
    kinds = [entry.kind for entry in story[-3:]]
    if kinds != ["proposed", "approved", "booked"]:
        return False
    proposed, approved, booked = story[-3:]
    is_once = sum(entry.kind == "booked" for entry in story) == 1
    return is_once and proposed.person == booked.person != approved.person


def kill(folder: Path, rounds: int) -> dict[str, Any]:
    """A process creates, books and finishes without end and says what was returned; it is killed at
    any moment.
    """
    chance = random.Random(1)
    faults: list[str] = []
    n_said, longest = 0, _a_life(folder / "life" / "ledger.sqlite")
    for k in range(rounds):
        path = folder / f"{k}" / "ledger.sqlite"
        heard, say = os.pipe()

        def live(path: Path = path, say: int = say) -> None:
            book = Ledger(path)
            create(book, "1")
            for place in range(1000):
                booked = charge(book, f"{place}")
                os.write(say, f"booked {booked.head}\n".encode())
                done = book.finish(booked.charge_id, result_hash=f"result {place}")
                os.write(say, f"done {done.head}\n".encode())

        child = fork(live)
        os.close(say)
        time.sleep(chance.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        said = _read_all(heard).splitlines()
        heads = [RecordedHead(line.split()[1]) for line in said]
        n_said += len(said)
        faults += _after(Ledger(path), heads)
    return {"faults": faults, "said": n_said}


def _a_life(path: Path) -> float:
    """Seconds that creation and five charges take here: processes are killed up to this age."""
    start, book = time.monotonic(), Ledger(path)
    create(book, "1")
    for place in range(5):
        book.finish(charge(book, f"{place}").charge_id, result_hash="result")
    return time.monotonic() - start


def _read_all(pipe: int) -> str:
    content = b""
    while select.select([pipe], [], [], 5)[0] and (piece := os.read(pipe, 65536)):
        content += piece
    os.close(pipe)
    return content[: content.rfind(b"\n") + 1].decode()


def _after(book: Ledger, heads: list[RecordedHead]) -> list[str]:
    """What is wrong with a ledger whose process died: everything said stands, and work goes on."""
    faults = list(book.verify(heads).problems)
    before = book.history()
    if len(before) not in (len(heads) // 2, len(heads) // 2 + 1, (len(heads) + 1) // 2):
        faults.append(f"{len(before)} charges after {len(heads)} words")
    if not book.accounts():
        create(book, "1")
    again = charge(book, f"{len(before) - 1}" if before else "0")
    if before and (again.is_new or again.charge_id != before[-1].charge_id):
        faults.append("a request was booked twice")
    if again.state == "booked":
        book.fail(again.charge_id, reason="the process died")
    if book.remaining("Census") != 1 - Decimal("0.01") * len(book.history()):
        faults.append("the total is wrong")
    return faults + list(book.verify(heads).problems)


def stages(folder: Path, rounds: int) -> dict[str, Any]:
    """A process is killed exactly at each step of the first write and of a booking; then the same
    is asked again.
    """
    found = {}
    for k, (module, name, is_before) in enumerate(STAGES):
        book = Ledger(folder / f"{k}" / "ledger.sqlite")
        if name not in ("token_bytes", "sync_folder", "write_key"):
            create(book, "1")
        n_before = book.verify().n_entries

        def die(
            book: Ledger = book, module: Any = module, name: str = name, is_before: bool = is_before
        ) -> None:
            real = getattr(module, name)

            def deadly(*arguments: Any, **named: Any) -> None:
                if not is_before:
                    real(*arguments, **named)
                os.kill(os.getpid(), signal.SIGKILL)

            setattr(module, name, deadly)
            if book.accounts():
                charge(book, "click")
            else:
                create(book, "1")

        code = os.waitstatus_to_exitcode(os.waitpid(fork(die), 0)[1])
        good = book.verify()
        kept = good.n_entries - n_before
        if not book.accounts():
            create(book, "1")
        charge(book, "click")
        charge(book, "click")
        state = [
            code,
            good.is_good,
            kept,
            len(book.history()),
            str(book.remaining("Census")),
            book.verify().is_good,
        ]
        found[f"{'before' if is_before else 'after'} {name}"] = state
    return found


STAGES: list[tuple[Any, str, bool]] = [
    (key.secrets, "token_bytes", True),  # there is no key yet
    (key, "sync_folder", True),  # the key is written, its name perhaps not on disk
    (keyring, "write_key", False),
    (ledger, "check_entries", True),
    (transaction, "add_entry", True),
    (transaction, "add_entry", False),  # written, not committed
    (Ledger, "book", False),  # committed, never heard of by the caller
]

if __name__ == "__main__":
    os.environ.setdefault("DPCI_LEDGER_KEYS", str(Path(sys.argv[2]) / "keys"))
    print(
        json.dumps(
            {"race": race, "approvals": approvals, "kill": kill, "stages": stages}[sys.argv[1]](
                Path(sys.argv[2]), int(sys.argv[3])
            )
        )
    )
