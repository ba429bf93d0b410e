"""Attacks that are counted: tries, faults, and what a session costs; docs/security.md shows them.

    python -m benchmarks.security race mutants   # these, printed
    python -m benchmarks.security --write        # all of them into docs/security.json
    python -m benchmarks.security --table        # the table of docs/security.md from that file

What takes hours is in `make soak`, whose figures the table takes from docs/soak.json.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import load
from benchmarks.ledger import COST, fill
from dpci_core.ledger import BudgetExceededError, Cap, Cost, Ledger, LedgerError
from dpci_core.ledger.transaction import MOST_ENTRIES
from dpci_core.plan import read_plan
from dpci_core.release import load_release
from tests import ledger_lab
from tests.hostile import SECRET, Reader, corpus
from ui.session.jobs import MOST_HELD, MOST_WAITING
from ui.session.quota import MB, Quota, most_minutes

ROOT = Path(__file__).resolve().parents[1]
FOUND, SOAK = ROOT / "docs" / "security.json", ROOT / "docs" / "soak.json"
FIXTURES = ROOT / "tests" / "fixtures"
Found = dict[str, Any]


@contextmanager
def in_memory() -> Iterator[Path]:
    """A folder in memory where there is one: flushing a disk takes most of the time of a kill."""
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def race(folder: Path) -> Found:
    """Six processes at once, 100 times, want 0.3 of a cap of 1."""
    found = ledger_lab.race(folder, 100)
    is_good = found == {"won": [3], "left": ["0.1"], "codes": [0]}
    return {"tries": 600, "faults": int(not is_good)}


def approvals(folder: Path) -> Found:
    """Six processes at once propose, approve, withdraw and book, one of them killed, 200 times."""
    return {"tries": 200, **ledger_lab.approvals(folder, 200)}


def kill(folder: Path) -> Found:
    """Processes that book are killed at any moment."""
    found = ledger_lab.kill(folder, 400)
    return {"tries": 400, "faults": len(found["faults"]), "said and kept": found["said"]}


def stages(folder: Path) -> Found:
    """A booking is killed at each of its steps."""
    found = ledger_lab.stages(folder, 1)
    wrong = [s for s in found.values() if not (s[0] == -9 and s[1] and s[3] == 1 and s[5])]
    return {"tries": len(found), "faults": len(wrong)}


def release_kill(folder: Path) -> Found:
    """Releases are killed at each stage and at any moment, and asked for again."""
    found = _release_lab("kill", folder, 400)
    return {
        "tries": 400,
        "faults": len(found["faults"]),
        "charges": found["charges"],
        "draws": found["draws"],
    }


def release_race(folder: Path) -> Found:
    """Eight processes at once want a release that is paid for once, ten times."""
    faults = 0
    for k in range(10):
        place = folder / f"{k}"
        place.mkdir()
        found = _release_lab("race", place, 8)
        faults += (found["draws"], found["results"], found["is_good"]) != (1, 1, True)
    return {"tries": 80, "faults": faults}


def _release_lab(what: str, folder: Path, count: int) -> Found:
    """In a process of its own: it changes what it watches."""
    command = [sys.executable, "-m", "tests.release_lab", what, str(folder), str(count)]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    found: Found = json.loads(said.splitlines()[-1])
    return found


def edits(folder: Path) -> Found:
    """Bytes of a ledger's file are changed; then it is checked, and more than is left is asked."""
    ledger = Ledger(folder / "ledger.sqlite")
    ledger_lab.create(ledger, "1")
    for k in range(30):
        ledger.finish(ledger_lab.charge(ledger, f"{k}").charge_id, result_hash="result")
    shutil.rmtree(folder / "copy", ignore_errors=True)
    whole, before, rng = ledger.path.read_bytes(), ledger.entries(), random.Random(3)
    ends: Counter[str] = Counter()
    for k in range(1_000):
        place = folder / f"{k}"
        place.mkdir()
        for name in folder.glob("ledger.sqlite*"):
            shutil.copy(name, place / name.name)
        data = bytearray(whole)
        for _ in range(rng.choice([1, 4, 32])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        (place / "ledger.sqlite").write_bytes(bytes(data))
        ends[_after_edit(Ledger(place / "ledger.sqlite"), before)] += 1
        shutil.rmtree(place)
    return {"tries": 1_000, "faults": ends.pop("fault", 0), **ends}


def _after_edit(edited: Ledger, before: object) -> str:
    try:
        is_good = edited.verify().is_good
        if is_good and edited.entries() != before:
            return "fault"
    except LedgerError:
        is_good = False
    try:
        ledger_lab.charge(edited, "more", Cost(definition="zcdp", amount="0.9"))
    except BudgetExceededError:
        return "nothing read differently" if is_good else "found"
    except LedgerError:
        return "found"
    return "fault"


def files(_: Path) -> Found:
    """Files that no honest person uploads, each in a process that is watched."""
    cases, reader = corpus(), Reader()
    faults, most = 0, 0.0
    try:
        for case in cases.values():
            fault, gigabytes = _read(reader, case.data, case.name)
            faults, most = faults + fault, max(most, gigabytes)
    finally:
        reader.close()
    return {"tries": len(cases), "faults": faults, "most gigabytes": round(most, 2)}


def mutants(_: Path) -> Found:
    """Their mutants: bytes changed, cut, doubled, mixed."""
    from tests.datasets.test_hostile_uploads import PARQUETS, TEXTS, mutant  # made when imported

    reader, rng = Reader(), random.Random(4)
    faults, most = 0, 0.0
    try:
        for k in range(4_000):
            fault, gigabytes = _read(
                reader, mutant(rng, PARQUETS if k % 20 == 0 else TEXTS), "t.csv"
            )
            faults, most = faults + fault, max(most, gigabytes)
    finally:
        reader.close()
    return {"tries": 4_000, "faults": faults, "most gigabytes": round(most, 2)}


def _read(reader: Reader, data: bytes, name: str) -> tuple[int, float]:
    """Whether a file ended otherwise than as a table or a sentence without its cells, and the
    memory.
    """
    try:
        found = reader.read(data, name)
    except RuntimeError:  # it hung or died
        return 1, 0.0
    is_good = found["kind"] in ("table", "sentence") and SECRET not in json.dumps(found)
    return int(not is_good), float(found["gigabytes"])  # type: ignore[arg-type]


def records(folder: Path) -> Found:
    """Mutants of records and plans, opened as the pages do."""
    from tests.datasets.test_hostile_uploads import mutant

    rng, ends, slowest = random.Random(5), Counter[str](), 0.0
    seeds = {path: path.read_bytes() for path in sorted(FIXTURES.glob("[rp]*"))}
    for _ in range(6_000):
        path = rng.choice(list(seeds))
        file = folder / path.name
        file.write_bytes(mutant(rng, [seeds[path]]))
        opened: Callable[[Path], object] = load_release if path.name[0] == "r" else read_plan
        start = time.perf_counter()
        try:
            opened(file)
        except (ValueError, OSError):
            ends["refused"] += 1
        except Exception:
            ends["fault"] += 1
        else:
            ends["opened"] += 1
        slowest = max(slowest, time.perf_counter() - start)
    return {"tries": 6_000, "faults": ends.pop("fault", 0), **ends, "slowest s": round(slowest, 2)}


def booking(folder: Path) -> Found:
    """A booking on a ledger that is almost full."""
    ledger = Ledger(folder / "ledger.sqlite")
    ledger.create_dataset(
        "Census",
        schema_hash="s",
        cap=Cap.zcdp(1_000),
        unit="one row is one person",
        person="Ada",
    )
    fill(ledger, MOST_ENTRIES - 10)
    took = []
    for k in range(9):
        start = time.process_time()
        ledger_lab.charge(ledger, f"more {k}", COST)
        took.append(time.process_time() - start)
    return {"processor seconds each": round(sorted(took)[4], 1)}


def sessions(_: Path) -> Found:
    """Ten sessions that move a slider every four seconds."""
    found = load.measure(10, seconds=30.0, pause=4.0)
    one, _, end = (size / 2**20 for size in found.memory)
    return {
        "tries": len(found.moves),
        "faults": len(found.wrong),
        "MB with one": round(one),
        "MB for each more": round((end - one) / 10, 1),
        "processor seconds of a move": round(found.processor / len(found.moves), 2),
    }


STEPS: dict[str, Callable[[Path], Found]] = {
    "race": race,
    "approvals": approvals,
    "kill": kill,
    "stages": stages,
    "edits": edits,
    "release-race": release_race,
    "release-kill": release_kill,
    "files": files,
    "mutants": mutants,
    "records": records,
    "booking": booking,
    "sessions": sessions,
}
_HERE = "`python -m benchmarks.security {}`"
_SOAK = "`make soak`: `{}`"


def table(found: dict[str, Found], soak: dict[str, Found]) -> str:
    """The table of docs/security.md."""
    rows = [("what was tried", "tries", "faults", "what came of it", "command")]
    rows += [
        (
            what,
            f"{found[name]['tries']:,}",
            f"{found[name]['faults']:,}",
            told.format(**{key.replace(" ", "_"): x for key, x in found[name].items()}),
            _HERE.format(name),
        )
        for name, what, told in _TOLD
    ]
    rows += list(_long(soak))
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---|---:|---:|---|---|", *lines[1:]])


_TOLD = (
    (
        "race",
        "bookings of six processes at once for 0.3 of a cap of 1",
        "three each time, 0.1 left",
    ),
    (
        "approvals",
        "six processes at once that propose, approve, withdraw and book, one of them killed",
        "{booked:,} booked, each as another person had approved it; {approved:,} approved, "
        "{withdrawn:,} withdrawn",
    ),
    (
        "kill",
        "processes killed while they book",
        "{said_and_kept:,} bookings and ends told, all kept",
    ),
    ("stages", "a booking killed at each of its steps", "one charge or none"),
    (
        "edits",
        "a ledger whose bytes were changed, 1 to 32 of them",
        "{found:,} found, {nothing_read_differently:,} changed nothing that is read; no budget won",
    ),
    ("release-race", "processes that release at once on a budget for one", "one draw each time"),
    (
        "release-kill",
        "releases killed at each stage and at any moment, asked again",
        "{charges:,} charges, {draws:,} draws, none twice",
    ),
    (
        "files",
        "hostile tables",
        "a table or a sentence without a cell; at most {most_gigabytes:g} GB",
    ),
    ("mutants", "mutants of these", "the same; at most {most_gigabytes:g} GB"),
    (
        "records",
        "mutants of records and plans",
        "{refused:,} refused, {opened:,} opened; the slowest took {slowest_s:g} s",
    ),
    ("sessions", "moves of a slider by ten sessions", "every answer for its own session"),
)


def _long(soak: dict[str, Found]) -> Iterator[tuple[str, str, str, str, str]]:
    """What `make soak` found."""
    kills = soak["tests/release/test_attacks.py::test_killed_a_thousand_times"]["found"]
    yield (
        "releases killed so, many more",
        f"{sum(kills['outcomes'].values()):,}",
        f"{len(kills['faults'])}",
        f"{kills['charges']:,} charges, {kills['draws']:,} draws, none twice",
        _SOAK.format("test_killed_a_thousand_times"),
    )
    ends = [one["outcomes"] for name, one in soak.items() if "test_sigterm.py" in name]
    yield (
        "a live server told to end in mid-release, and started again",
        f"{sum(sum(one.values()) for one in ends)}",
        f"{sum(n for one in ends for end, n in one.items() if end not in _IN_ORDER)}",
        "before its draw it went on with its charge, after it the result was there",
        _SOAK.format("test_a_server_told_to_end_in_mid_release"),
    )
    guesses = [
        [int(n) for n in re.findall(r"(?:right|wrong) (\d+)", one[matrix])]
        for name, one in soak.items()
        if "test_last_bits.py" in name
        for matrix in ("hessian", "covariance")
    ]
    failed = sum("test_last_bits" in k and one["outcome"] != "passed" for k, one in soak.items())
    right, wrong = (sum(pair[k] for pair in guesses) for k in (0, 1))
    yield (
        "which of two neighbouring tables, guessed from the last bits of a matrix",
        f"{right + wrong:,}",
        f"{failed}",
        f"{right:,} right, {wrong:,} wrong: a coin's",
        _SOAK.format("test_last_bits.py"),
    )
    audits = [one["log ratio, at least"] for name, one in soak.items() if "long_audit" in name]
    yield (
        "whole releases at ε = 2 on two neighbouring tables, 20,000 a side",
        f"{40_000 * len(audits):,}",
        f"{sum(one > 2.0 for one in audits)}",
        f"log odds of at least {max(audits):g} seen, at most 2 promised",
        _SOAK.format("test_a_long_audit_of_whole_releases"),
    )


_IN_ORDER = ("may go on, went on", "done, released")


def quotas() -> str:
    """What one process takes by default, as the code has it, and on a public demo."""
    usual, demo = ({"DPCI_VISITORS": "200"}, {"DPCI_PUBLIC_DEMO": "1", "DPCI_VISITORS": "200"})
    own, open_ = Quota.from_environment(usual), Quota.from_environment(demo)
    rows = (
        ("open pages", f"{own.visitors}", f"{open_.visitors}"),
        ("open pages of one address", f"{own.visitors_each}", f"{open_.visitors_each}"),
        ("MB of one file", f"{own.upload // MB}", f"{open_.upload // MB}"),
        (
            "MB of the files of a session",
            f"{own.upload_session // MB}",
            f"{open_.upload_session // MB}",
        ),
        ("MB of all files", f"{own.upload_all // MB}", f"{open_.upload_all // MB}"),
        (
            "minutes of a simulation while others wait",
            f"{most_minutes(usual)}",
            f"{most_minutes(demo)}",
        ),
        ("simulations that wait", f"{MOST_WAITING}", f"{MOST_WAITING}"),
        ("of these of one address", f"{MOST_WAITING // 2}", f"{MOST_WAITING // 2}"),
        ("MB of the tables of these", f"{MOST_HELD // MB}", f"{MOST_HELD // MB}"),
    )
    head = ["| at most | default | public demo |", "|---|---:|---:|"]
    return "\n".join([*head, *("| " + " | ".join(row) + " |" for row in rows)])


def costs(found: dict[str, Found]) -> str:
    """What a session and a booking cost, in a sentence."""
    one, took = found["sessions"], found["booking"]["processor seconds each"]
    move = one["processor seconds of a move"]
    return (
        f"a server with one session takes {one['MB with one']:,} MB, each further one "
        f"{one['MB for each more']:g} MB, a move of a slider {move:g} s "
        f"of a processor; a booking on a ledger of almost 10,000 entries {took:g} s."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.security", description=__doc__)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(STEPS))
    parser.add_argument("--write", action="store_true", help="into docs/security.json")
    parser.add_argument("--table", action="store_true", help="print the table of docs/security.md")
    args = parser.parse_args()
    known = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    if args.table:
        print(table(known, json.loads(SOAK.read_text())), quotas(), costs(known), sep="\n\n")
        return
    for name in args.steps or STEPS:
        start = time.monotonic()
        with in_memory() as folder:
            os.environ["DPCI_LEDGER_KEYS"] = str(folder / "keys")
            found = STEPS[name](folder)
        finished = datetime.now(UTC).isoformat(timespec="minutes")
        known[name] = {**found, "seconds": round(time.monotonic() - start), "finished": finished}
        print(name, json.dumps(known[name]), flush=True)
        if args.write:
            FOUND.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
