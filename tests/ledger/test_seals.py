"""What verification finds: any changed field, any moved, removed or added entry, a cut end, a
replaced ledger.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpci_core.ledger import (
    BudgetExceededError,
    Cap,
    Cost,
    Entry,
    Ledger,
    LedgerDamagedError,
    LedgerError,
    RecordedHead,
    Verification,
    database,
)
from dpci_core.ledger.entries import COLUMNS, sealed_bytes
from dpci_core.ledger.key import read_key
from dpci_core.ledger.state import LedgerState
from dpci_core.ledger.verify import broken_seal
from dpci_core.report.refusals import said
from tests.refusals import refuses

FAST = ("PRAGMA foreign_keys = ON", "PRAGMA synchronous = OFF")
"""Nothing here is about power cuts."""
ALWAYS = ("sequence", "kind", "written_at", "key_id", "nonce", "signature", "seal")
LINES = [("coefficients", "0.06"), ("Hessian", "0.04")]


def fill(ledger: Ledger) -> Ledger:
    """Every kind of entry, and every column set in at least one."""
    what = {"unit": "one row is one person", "person": "Ada", "schema_hash": "s"}
    ledger.create_dataset("Census", cap=Cap.approx(5, "1e-6"), **what)  # type: ignore[arg-type]
    first = book(ledger, "first")
    ledger.finish(first, result_hash="result")
    ledger.create_dataset("Later", cap=None, same_people_as="Census", **what)  # type: ignore[arg-type]
    ledger.fail(book(ledger, "second", "Later"), reason="the solver stopped")
    book(ledger, "third", draws_later=True)
    return ledger


def book(
    ledger: Ledger,
    request: str,
    dataset: str = "Census",
    cost: Cost | None = None,
    **more: bool,
) -> int:
    cost = cost or Cost(definition="zcdp", amount="0.1", lines=LINES)
    what = {
        "purpose": "model",
        "plan_hash": "plan",
        "person": "Ada",
        "request_id": request,
        "schema_hash": "s",
    }
    return ledger.book(dataset, cost=cost, **what, **more).charge_id


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    return fill(Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite"))


@pytest.fixture
def ledger(original: Ledger, tmp_path: Path) -> Ledger:
    return copied(original, tmp_path)


def copied(ledger: Ledger, folder: Path) -> Ledger:
    shutil.copy(ledger.path, folder / ledger.path.name)
    (folder / f"{ledger.path.name}.head").write_text("dpci-ledger-head 0 0\n")
    return Ledger(folder / ledger.path.name)


def tampered(ledger: Ledger, *statements: str) -> Verification:
    """Verify after somebody removed the guards, ran statements, and put the guards back as they
    were.
    """
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    try:
        for setting in (
            "PRAGMA ignore_check_constraints = ON",
            "PRAGMA synchronous = OFF",
            "BEGIN",
        ):
            connection.execute(setting)
        rows = connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'index')"
        )
        guards = [row for row in rows.fetchall() if row[2]]
        for kind, name, _ in guards:
            connection.execute(f"DROP {kind} {name}")
        for statement in statements:
            connection.execute(statement)
        for _, _, sql in guards:
            connection.execute(sql)
        connection.execute("COMMIT")
    finally:
        connection.close()
    return ledger.verify()


def test_the_untouched_ledger_is_good_and_has_every_column(ledger: Ledger) -> None:
    found = tampered(ledger)
    assert replace(found, checked_with=None) == Verification(problems=(), n_entries=7)
    assert found.checked_with.code == "checked_with_named"
    unused = {n for n in COLUMNS if all(getattr(e, n) is None for e in ledger.entries())}
    # test_rotation.py, test_proposals.py
    assert unused == {"vouched", "approval", "proposal", "rows"}


@pytest.mark.parametrize("column", COLUMNS)
def test_a_change_of_any_field_of_any_entry_is_found(
    original: Ledger, tmp_path: Path, column: str
) -> None:
    for entry in original.entries():
        ledger, now = copied(original, tmp_path), getattr(entry, column)
        new = (
            f"{column} + 100"
            if isinstance(now, int)
            else "'1'"
            if now is None
            else f"{column} || '0'"
        )
        found = tampered(
            ledger, f"UPDATE entries SET {column} = {new} WHERE sequence = {entry.sequence}"
        )
        assert not found.is_good, (column, entry.sequence)
        if now is not None and column not in ALWAYS:
            found = tampered(
                ledger, f"UPDATE entries SET {column} = NULL WHERE sequence = {entry.sequence}"
            )
            assert not found.is_good, (column, entry.sequence)


def test_a_change_of_any_character_breaks_the_seal(original: Ledger) -> None:
    entries = original.entries()
    assert broken_seal(entries) is None
    n_tried = 0
    for place, entry in enumerate(entries):
        for column in COLUMNS:
            for other in others(getattr(entry, column)):
                changed = [
                    *entries[:place],
                    replace(entry, **{column: other}),
                    *entries[place + 1 :],
                ]
                assert broken_seal(changed) is not None, (place, column, other)
                n_tried += 1
    assert n_tried > 1_000


def others(value: str | int | None) -> list[str | int | None]:
    """Each single character of a text changed, dropped, or a number off by one."""
    if isinstance(value, str):
        flipped = [value[:k] + chr(ord(value[k]) ^ 1) + value[k + 1 :] for k in range(len(value))]
        return [
            *flipped,
            *(value[:k] + value[k + 1 :] for k in range(len(value)) if value),
            value + "\0",
            None,
        ][:-1]
    return [1, "", "None"] if value is None else [value + 1, value - 1, str(value)]


@given(
    st.lists(st.text(max_size=4), min_size=3, max_size=3),
    st.lists(st.text(max_size=4), min_size=3, max_size=3),
)
@settings(derandomize=True, max_examples=200, deadline=None)
def test_no_two_entries_are_sealed_over_the_same_bytes(first: list[str], second: list[str]) -> None:
    def sealed(texts: list[str]) -> bytes:
        purpose, reason, previous = texts
        entry = Entry(
            sequence=1,
            kind="failed",
            written_at="",
            key_id="",
            nonce="",
            purpose=purpose,
            reason=reason,
        )
        return sealed_bytes(entry, previous, "form")

    assert (sealed(first) == sealed(second)) == (first == second)


COPY = ", ".join("'new'" if name == "request_id" else name for name in COLUMNS[1:])
MOVE = "UPDATE entries SET sequence = {} WHERE sequence = {}"
FORGED = f"VALUES (1, 'other', 't', 'k', 'n', '{'0' * 128}', '{'0' * 64}')"


@pytest.mark.parametrize(
    ("statements", "what"),
    [
        (["DELETE FROM entries WHERE sequence = 3"], "Entry 3 is missing"),
        (["DELETE FROM entries WHERE sequence = 1"], "Entry 1 is missing"),
        (
            [
                "DELETE FROM entries WHERE sequence = 3",
                *(MOVE.format(k, k + 1) for k in (3, 4, 5, 6)),
            ],
            "Entry 3 was",
        ),
        ([MOVE.format(99, 2), MOVE.format(2, 3), MOVE.format(3, 99)], "Entry 2 was changed"),
        (
            [f"INSERT INTO entries SELECT 8, {COPY} FROM entries WHERE sequence = 7"],
            "Entry 8 was changed",
        ),
        (["UPDATE entries SET cap_amount = '9'"], "Entry 1 was changed"),
        (
            ["UPDATE entries SET written_at = x'00' WHERE sequence = 4"],
            "Entry 4 was changed: its written_at",
        ),
        (["UPDATE entries SET person = 1.5 WHERE sequence = 2"], "Entry 2 was changed"),
        (["UPDATE entries SET person = CAST(x'ff' AS TEXT) WHERE sequence = 2"], "damaged"),
        (
            [
                "DELETE FROM entries",
                f"INSERT INTO entries ({', '.join(ALWAYS)}) {FORGED}",
            ],
            "key",
        ),
    ],
)
def test_removal_reordering_and_insertion_are_found(
    ledger: Ledger, statements: list[str], what: str
) -> None:
    found = tampered(ledger, *statements)
    assert not found.is_good
    assert what in said(found.problems[0])
    with pytest.raises(LedgerDamagedError):
        book(ledger, "more")


def test_an_entry_of_an_older_copy_does_not_fit_elsewhere(original: Ledger, tmp_path: Path) -> None:
    entries, key = original.entries(), read_key(original.key_path)
    for place in range(1, len(entries)):
        assert (
            broken_seal([*entries[:place], replace(entries[place - 1], sequence=place + 1)])
            is not None
        )
    twin = twin_of(original, tmp_path / "other")
    mixed = [*entries[:4], *twin.entries()[4:]]
    assert {entry.key_id for entry in mixed} == {key.key_id}
    assert broken_seal(twin.entries()) is None
    assert broken_seal(mixed) is not None


def twin_of(ledger: Ledger, folder: Path) -> Ledger:
    """The same words under the same key."""
    folder.mkdir()
    (folder / f"{ledger.path.name}.head").write_text("dpci-ledger-head 0 0\n")
    return fill(Ledger(folder / ledger.path.name, key_path=ledger.key_path))


def test_a_cut_end_is_found_as_far_as_records_reach(ledger: Ledger) -> None:
    heads = [RecordedHead(entry.head, f"release {entry.sequence}") for entry in ledger.entries()]
    assert ledger.verify(heads).is_good
    assert tampered(
        ledger, "DELETE FROM entries WHERE sequence > 4"
    ).is_good  # which docs/operations.md says
    found = ledger.verify(heads[:6])
    assert [problem.facts["source"] for problem in found.problems] == ["release 5", "release 6"]
    assert ledger.verify(heads[:4]).is_good
    assert tampered(ledger, "DELETE FROM entries").n_entries == 0
    assert len(ledger.verify(heads).problems) == 7


def test_a_ledger_rewritten_by_who_has_the_key_differs_from_the_records(
    ledger: Ledger, tmp_path: Path
) -> None:
    heads = [RecordedHead(entry.head) for entry in ledger.entries()]
    rewritten = twin_of(ledger, tmp_path / "new")
    assert rewritten.verify().is_good
    assert len(rewritten.verify(heads).problems) == 7
    assert rewritten.verify(heads).problems[0].code == "entry_replaced"


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("DROP TRIGGER entries_are_never_deleted", "trigger entries_are_never_deleted"),
        ("DROP INDEX one_charge_a_request", "index one_charge_a_request"),
        ("DROP VIEW charges", "view charges"),
        (
            "CREATE TRIGGER mine AFTER INSERT ON entries BEGIN SELECT 1; END",
            "trigger mine was added",
        ),
    ],
)
def test_a_guard_that_was_removed_is_found(ledger: Ledger, statement: str, what: str) -> None:
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    connection.execute(statement)
    connection.close()
    assert what in said(ledger.verify().problems[0])


def test_a_reader_s_own_view_does_no_harm(ledger: Ledger) -> None:
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    connection.execute("CREATE VIEW mine AS SELECT count(*) FROM entries")
    connection.close()
    assert ledger.verify().is_good


def test_any_damaged_byte_of_the_file_is_found_or_changes_nothing(
    original: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "SETTINGS", FAST)
    content, entries, chance = original.path.read_bytes(), original.entries(), random.Random(3)
    n_found = 0
    for place in [*range(100), *chance.sample(range(100, len(content)), 150)]:
        broken = bytearray(content)
        broken[place] ^= 1 << chance.randrange(8)
        ledger = with_content(original, tmp_path, bytes(broken))
        try:
            is_good = ledger.verify().is_good
        except LedgerError:
            is_good = False
        n_found += not is_good
        if is_good:
            assert ledger.entries() == entries, place
        try:
            book(ledger, "more")
        except LedgerError:
            continue
        assert ledger.entries()[:-1] == entries, place
    assert n_found > 50


@pytest.mark.parametrize("kept", [0, 1, 15, 16, 99, 100, 4096, 8192, 20_000])
def test_a_file_cut_anywhere_is_found(original: Ledger, tmp_path: Path, kept: int) -> None:
    ledger = with_content(original, tmp_path, original.path.read_bytes()[:kept])
    found = ledger.verify([RecordedHead(original.head())])
    assert not found.is_good
    assert all(said(problem).endswith(".") for problem in found.problems)


def with_content(original: Ledger, folder: Path, content: bytes) -> Ledger:
    for path in folder.iterdir():
        path.unlink()
    ledger = copied(original, folder)
    ledger.path.write_bytes(content)
    return ledger


def test_entries_that_do_not_add_up_are_refused_whatever_their_seal(original: Ledger) -> None:
    entries = original.entries()
    for last, what in (
        (
            replace(entries[-1], cost_amount="9", cost_lines="[]", spent="9", request_id="x"),
            "more than was left",
        ),
        (replace(entries[-1], spent="0.01", request_id="x"), "another amount"),
        (replace(entries[-1], request_id="first"), "second time"),
        (replace(entries[2], result_hash="again"), "had ended"),
        (replace(entries[3], dataset="Z", cap_amount="9"), "another cap"),
        (replace(entries[-1], account=2, request_id="x"), "cannot be right"),
    ):
        with refuses(LedgerDamagedError, match=what):
            LedgerState.of([*entries, replace(last, sequence=8)])


@pytest.mark.parametrize("value", [None, "", "x", "NaN", "-1", "1e9", "[1]", "[" * 9999, 3, 10**30])
def test_entries_of_nonsense_are_read_or_refused_in_words(original: Ledger, value: Any) -> None:
    entries = original.entries()
    for place, entry in enumerate(entries):
        for column in COLUMNS:
            changed = [*entries[:place], replace(entry, **{column: value}), *entries[place + 1 :]]
            with suppress(LedgerDamagedError):
                LedgerState.of(changed)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "3",
        "null",
        '{"ledger": 3}',
        '{"ledger": {"head": 3}}',
        '{"ledger": {"head": "1:x:y"}}',
        "[" * 9999,
    ],
)
def test_a_record_without_a_head_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "release.json"
    path.write_text(content)
    with refuses(LedgerError, match=r"release\.json has no head"):
        RecordedHead.from_record(path)
    with refuses(LedgerError, match="cannot be read"):
        RecordedHead.from_record(tmp_path / "absent.json")


def test_a_record_gives_its_head(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "release.json"
    path.write_text(json.dumps({"ledger": {"head": ledger.head()}}))
    head = RecordedHead.from_record(path)
    assert (head.sequence, head.source, ledger.verify([head]).n_records) == (7, str(path), 1)


AMOUNTS = st.sampled_from(
    ["0.1", "0.05", "0.3", "1", "0.0000001", "0.123456789012345678901234567890", "7e-20"]
)
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["book", "book", "book", "again", "finish", "fail", "create"]),
        st.sampled_from(["A", "B", "C"]),
        st.sampled_from(["pure", "zcdp"]),
        AMOUNTS,
    ),
    max_size=14,
)


@given(OPERATIONS, st.sampled_from([Cap.pure("1.1"), Cap.zcdp("0.5"), Cap.approx(2, "1e-6")]))
@settings(derandomize=True, max_examples=40, deadline=None)
def test_no_sequence_of_operations_overspends(
    operations: list[tuple[str, str, str, str]], cap: Cap
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "SETTINGS", FAST)
        ledger = Ledger(Path(folder) / "ledger.sqlite")
        what: dict[str, Any] = {"unit": "u", "person": "p", "schema_hash": "s"}
        ledger.create_dataset("A", cap=cap, **what)
        ledger.create_dataset("B", cap=None, same_people_as="A", **what)
        spent = Fraction(0)
        for place, (name, dataset, definition, amount) in enumerate(operations):
            cost = Cost(definition=definition, amount=amount)  # type: ignore[arg-type]
            taken = Fraction(amount) ** 2 / 2 if definition != cap.definition else Fraction(amount)
            is_allowed = dataset != "C" and (cap.definition, definition) != ("pure", "zcdp")
            is_allowed &= spent + taken <= Fraction(str(cap.amount))
            before = ledger.head()
            refusal = attempt(ledger, name, dataset, cost, str(place))
            done = refusal is None
            if isinstance(refusal, BudgetExceededError):
                assert refusal.requested > refusal.remaining == ledger.remaining("A")
            if name == "book":
                assert done == is_allowed
                spent += taken if done else 0
            assert done or ledger.head() == before
            assert Fraction(str(ledger.remaining("A"))) == Fraction(str(cap.amount)) - spent >= 0
        assert ledger.verify([RecordedHead(ledger.head())]).is_good
        assert sum(charge.is_new for charge in ledger.history()) == 0


def attempt(
    ledger: Ledger, name: str, dataset: str, cost: Cost, request: str
) -> LedgerError | None:
    """How an operation was refused, None if it went through; anything but a sentence fails the
    test.
    """
    running = [charge for charge in ledger.history() if charge.state == "booked"]
    doing: dict[str, Callable[[], object]] = {
        "book": lambda: book(ledger, request, dataset, cost),
        "create": lambda: ledger.create_dataset(
            dataset, cap=Cap.zcdp(9), unit="u", person="p", schema_hash="s"
        ),
    }
    if running:
        last = running[-1]
        doing["again"] = lambda: book(ledger, last.request_id, last.dataset, last.cost)
        doing["finish"] = lambda: ledger.finish(last.charge_id, result_hash="r")
        doing["fail"] = lambda: ledger.fail(last.charge_id, reason="r")
    try:
        doing.get(name, lambda: None)()
    except LedgerError as error:
        return error
    return None
