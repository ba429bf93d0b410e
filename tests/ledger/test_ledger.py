"""The ledger in ordinary use: caps, charges, people, requests, heads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpci_core.ledger import (
    NO_HEAD,
    Account,
    BudgetExceededError,
    Cap,
    Charge,
    Cost,
    Ledger,
    LedgerError,
    RecordedHead,
    SamePeopleQuestionError,
    SchemaChangedError,
    Spending,
    UnknownDatasetError,
    price,
)
from dpci_core.privacy.budget import zcdp_to_epsilon
from dpci_core.report.refusals import said
from tests.refusals import refuses

UNIT = "one row is one person"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def create(ledger: Ledger, name: str = "Census", cap: Cap | None = None, **other: Any) -> Account:
    what = {"schema_hash": "schema-1", "unit": UNIT, "person": "Ada"} | other
    return ledger.create_dataset(name, cap=cap, **what)


def book(
    ledger: Ledger, amount: str, request: str, definition: str = "zcdp", **other: Any
) -> Charge:
    what = {
        "dataset": "Census",
        "schema_hash": "schema-1",
        "purpose": "model",
        "plan_hash": "plan",
        "person": "Ada",
    }
    cost = other.pop("cost", None) or Cost(definition=definition, amount=amount)  # type: ignore[arg-type]
    return ledger.book(cost=cost, request_id=request, **(what | other))


def test_a_ledger_that_does_not_exist_is_empty_and_stays_away(ledger: Ledger) -> None:
    assert (ledger.accounts(), ledger.history(), ledger.head(), ledger.find("r")) == (
        (),
        (),
        NO_HEAD,
        None,
    )
    assert ledger.verify([RecordedHead(NO_HEAD)]).is_good
    with refuses(UnknownDatasetError, match="none yet"):
        ledger.remaining("Census")
    assert not ledger.path.exists()
    assert ledger.key_path is None


def test_a_charge_is_spent_from_booking_on_whatever_becomes_of_it(ledger: Ledger) -> None:
    create(ledger, cap=Cap.zcdp("0.3"))
    first, second, third = (book(ledger, "0.1", request) for request in "abc")
    assert ledger.remaining("Census") == 0
    done = ledger.finish(first.charge_id, result_hash="result")
    failed = ledger.fail(second.charge_id, reason="the solver stopped")
    assert [charge.state for charge in ledger.history()] == ["done", "failed", "booked"]
    assert ledger.remaining("Census") == 0
    assert (done.result_hash, failed.reason, third.is_new) == ("result", "the solver stopped", True)
    assert failed.head == ledger.head() != done.head
    assert ledger.verify([RecordedHead(done.head), RecordedHead(third.head)]).n_entries == 6


def test_a_charge_knows_what_the_same_people_had_paid_and_later_ones_do_not_change_it(
    ledger: Ledger,
) -> None:
    create(ledger, cap=Cap.zcdp("10"))
    create(ledger, "Other", cap=Cap.zcdp("10"), other_people=True)
    create(ledger, "Sample", same_people_as="Census", schema_hash="schema-2")
    first = book(ledger, "0.5", "a")
    ledger.fail(first.charge_id, reason="it broke off")
    book(ledger, "3", "b", dataset="Other")
    book(ledger, "0.3", "c", "pure", plan_hash="another", dataset="Sample", schema_hash="schema-2")
    book(ledger, "1e-30", "d")
    book(ledger, "1", "e", plan_hash="another")
    newest = book(ledger, "1", "f")
    zcdp = partial(Spending, definition="zcdp")
    assert [charge.so_far for charge in ledger.history()] == [
        zcdp(amount="0.5"),
        zcdp(amount="3"),
        zcdp(amount="0.545", earlier=1),
        zcdp(amount="0.545000000000000000000000000001", earlier=2, same_plan=first.charge_id),
        zcdp(amount="1.545000000000000000000000000001", earlier=3, same_plan=7),
        zcdp(
            amount="2.545000000000000000000000000001",
            earlier=4,
            same_plan=newest.charge_id - 2,
        ),
    ]
    assert ledger.find("a").so_far == first.so_far == zcdp(amount="0.5")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "wrong",
    [
        {"definition": "no"},
        {"amount": "0.0"},
        {"amount": "-1"},
        {"amount": "1e3"},
        {"amount": ""},
        {"amount": "1\n"},
        {"earlier": -1},
        {"same_plan": 3},
    ],
)
def test_what_was_paid_is_a_positive_sum_of_a_known_definition(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Expected"):
        Spending(**{"definition": "pure", "amount": "1"} | wrong)


def test_totals_are_exact(ledger: Ledger) -> None:
    create(ledger, cap=Cap.zcdp("1.0000000000000000000000000000000000000001"))
    for k in range(10):
        book(ledger, "0.1", f"r{k}")
    assert ledger.remaining("Census") == Decimal("1E-40")
    with pytest.raises(BudgetExceededError) as error:
        book(ledger, "2e-30", "more")
    assert (error.value.requested, error.value.remaining) == (Decimal("2E-30"), Decimal("1E-40"))
    assert len(ledger.history()) == 10


def test_an_exhausted_budget_says_what_to_do(ledger: Ledger) -> None:
    create(ledger, cap=Cap.pure("1"))
    with refuses(
        BudgetExceededError, match=r"cost epsilon 1\.1, but epsilon 1 .* at most epsilon 1\.$"
    ):
        book(ledger, "1.1", "a", "pure")
    book(ledger, "1", "b", "pure")
    with refuses(BudgetExceededError, match="Nothing further"):
        book(ledger, "0.001", "c", "pure")


def test_a_pure_cap_takes_pure_charges_only(ledger: Ledger) -> None:
    create(ledger, cap=Cap.pure("1"))
    with refuses(LedgerError, match="no pure epsilon"):
        book(ledger, "0.001", "a", "zcdp")
    assert book(ledger, "0.25", "a", "pure").spent == Decimal("0.25")
    assert ledger.head().startswith("2:")


def test_a_zcdp_cap_takes_a_pure_epsilon_at_half_its_square(ledger: Ledger) -> None:
    create(ledger, cap=Cap.zcdp("0.2"))
    assert book(ledger, "0.3", "a", "pure").spent == Decimal("0.045")
    assert book(ledger, "0.155", "b").spent == ledger.accounts()[0].cap.amount - Decimal("0.045")
    assert ledger.remaining("Census") == 0


@pytest.mark.parametrize("digits", [1, 28, 100])
def test_half_a_square_loses_no_digit(digits: int) -> None:
    epsilon = Decimal("0." + "7" * digits)
    by_integers = (7 * (10**digits - 1) // 9) ** 2
    spent = price(Cap.zcdp(1), Cost(definition="pure", amount=epsilon))
    sign, places, exponent = spent.as_tuple()
    assert int(exponent) >= -2 * digits - 1
    assert (
        int("".join(map(str, places))) * 10 ** (2 * digits + 1 + int(exponent)) == by_integers * 5
    )
    assert sign == 0


def test_an_epsilon_delta_cap_becomes_rho_once_and_keeps_what_was_declared(ledger: Ledger) -> None:
    account = create(ledger, cap=Cap.approx("1", "1e-6"))
    assert (account.cap.epsilon, account.cap.delta) == (1, Decimal("0.000001"))
    assert 1 - 1e-6 < zcdp_to_epsilon(float(account.cap.amount), 1e-6) <= 1
    assert account.cap.sentence == f"rho {account.cap.amount} (from epsilon 1 at delta 0.000001)"
    forged = Cap(definition="zcdp", amount=Decimal(1), epsilon=Decimal(1), delta=Decimal("1e-6"))
    with refuses(LedgerError, match=r"Cap\.approx"):
        create(ledger, "Other", cap=forged, other_people=True)


@pytest.mark.parametrize(
    ("amount", "lines", "what"),
    [
        (
            "0.3",
            [("a", "0.1"), ("b", "0.2000000000000000000000000000000000000001")],
            "add up to exactly 0.3",
        ),
        ("0.3", [("a", "0.15"), ("a", "0.15")], "differ"),
        ("0.3", [("", "0.3")], "printable"),
        ("0.3", [("a\nb", "0.3")], "printable"),
        ("0", [], "> 0"),
        ("-1", [], "> 0"),
        ("nan", [], "finite"),
        ("inf", [], "finite"),
        ("1e-31", [], "1E-30"),
        ("1e21", [], r"1E\+20"),
        ("0." + "1" * 101, [], "100 digits"),
        (True, [], "number"),
    ],
)
def test_a_cost_is_positive_and_the_sum_of_its_lines(amount: Any, lines: Any, what: str) -> None:
    with refuses(ValueError, match=what):
        Cost(definition="zcdp", amount=amount, lines=lines)


def test_the_lines_of_a_cost_come_back_in_order(ledger: Ledger) -> None:
    create(ledger, cap=Cap.zcdp(1))
    lines = [
        ("coefficients", "0.0999"),
        ("inexact minimiser", "0.0001"),
        ("Hessian", "0.05"),
        ("ξ", "0.05"),
    ]
    cost = Cost(definition="zcdp", amount="0.2", lines=lines)
    book(ledger, "", "a", cost=cost)
    assert ledger.history()[0].cost == cost
    assert Cost(definition="zcdp", amount="0.20", lines=cost.lines) == cost


def test_the_same_request_is_booked_once(ledger: Ledger) -> None:
    create(ledger, cap=Cap.zcdp("0.1"))
    first = book(ledger, "0.1", "click")
    again = book(ledger, "0.1", " click ", dataset="CENSUS")
    assert (first.is_new, again.is_new) == (True, False)
    assert (again.charge_id, again.head, ledger.remaining("Census")) == (
        first.charge_id,
        first.head,
        0,
    )
    ledger.finish(first.charge_id, result_hash="result")
    assert book(ledger, "0.1", "click").state == "done"
    assert ledger.find("click") == ledger.history()[0]


@pytest.mark.parametrize(
    "other",
    [
        {"amount": "0.02"},
        {"purpose": "other"},
        {"plan_hash": "other"},
        {"person": "Bob"},
        {"definition": "pure"},
    ],
)
def test_a_request_with_another_content_is_refused(ledger: Ledger, other: dict[str, str]) -> None:
    create(ledger, cap=Cap.zcdp("1"))
    book(ledger, "0.01", "click")
    with refuses(LedgerError, match="another content, as entry 2"):
        book(ledger, **{"amount": "0.01", "request": "click", **other})
    assert len(ledger.history()) == 1


def test_a_charge_ends_once(ledger: Ledger) -> None:
    create(ledger, cap=Cap.zcdp("1"))
    charge = book(ledger, "0.01", "click")
    done = ledger.finish(charge.charge_id, result_hash="result")
    assert ledger.finish(charge.charge_id, result_hash="result") == done
    for end in (
        lambda: ledger.finish(2, result_hash="other"),
        lambda: ledger.fail(2, reason="late"),
    ):
        with refuses(LedgerError, match="has ended as done"):
            end()
    for unknown in (1, 3, 99, "2"):
        with refuses(LedgerError, match="no charge"):
            ledger.finish(unknown, result_hash="result")  # type: ignore[arg-type]
    assert ledger.head() == done.head


def test_a_long_reason_is_cut_to_one_line(ledger: Ledger) -> None:
    create(ledger, cap=Cap.zcdp("1"))
    charge = book(ledger, "0.01", "click")
    assert (
        ledger.fail(charge.charge_id, reason="it broke\n at\tonce" + "!" * 999).reason
        == "it broke at once" + "!" * 484
    )
    with refuses(LedgerError, match="reason"):
        ledger.fail(charge.charge_id, reason=" ")


def test_another_schema_asks_whether_the_people_are_the_same(ledger: Ledger) -> None:
    create(ledger, cap=Cap.zcdp("1"))
    with refuses(SchemaChangedError, match="same people") as error:
        book(ledger, "0.1", "a", schema_hash="schema-2")
    assert (error.value.dataset, error.value.schema_hash) == ("Census", "schema-2")
    with pytest.raises(SamePeopleQuestionError) as question:
        create(ledger, schema_hash="schema-2", cap=Cap.zcdp("1"))
    assert question.value.candidates == ("Census",)
    with refuses(LedgerError, match="belongs to other people already"):
        create(ledger, schema_hash="schema-2", cap=Cap.zcdp("1"), other_people=True)
    second = create(ledger, schema_hash="schema-2", same_people_as="census")
    book(ledger, "0.6", "a", schema_hash="schema-2")
    assert (second.people, second.pool_id, ledger.remaining("Census")) == (
        "same",
        1,
        Decimal("0.4"),
    )
    with pytest.raises(BudgetExceededError):
        book(ledger, "0.6", "b")


def test_the_same_people_under_another_name_share_the_cap(ledger: Ledger) -> None:
    create(ledger, cap=Cap.zcdp("1"))
    with pytest.raises(SamePeopleQuestionError) as question:
        create(ledger, "Follow-up", cap=Cap.zcdp("1"))
    assert question.value.candidates == ("Census",)
    shared = create(ledger, "Follow-up", same_people_as="Census", cap=Cap.zcdp("1"))
    third = create(ledger, "Third", same_people_as="Follow-up")
    other = create(ledger, "Hospital", cap=Cap.pure("2"), other_people=True)
    assert [(a.people, a.same_people_as, a.pool_id) for a in (shared, third, other)] == [
        ("same", "Census", 1),
        ("same", "Follow-up", 1),
        ("other", None, 4),
    ]
    book(ledger, "0.7", "a", dataset="Third")
    book(ledger, "0.5", "b", "pure", dataset="Hospital")
    assert [account.remaining for account in ledger.accounts()] == [Decimal("0.3")] * 3 + [
        Decimal("1.5")
    ]
    assert [account.n_charges for account in ledger.accounts()] == [1, 1, 1, 1]
    assert [charge.dataset for charge in ledger.history("Census")] == ["Third"]
    with refuses(LedgerError, match="never changed"):
        create(ledger, "Fifth", same_people_as="Census", cap=Cap.zcdp("2"))
    with refuses(LedgerError, match="one unit"):
        create(ledger, "Fifth", same_people_as="Census", unit="one row is one visit")
    with refuses(LedgerError, match="person, with several rows' to be 'one row is one person'"):
        create(ledger, "Fifth", same_people_as="Census", several_rows=True)
    with refuses(LedgerError, match="not both"):
        create(ledger, "Fifth", same_people_as="Census", other_people=True)
    with refuses(LedgerError, match="belongs to other people than"):
        create(ledger, "Census", schema_hash="schema-2", same_people_as="Hospital")
    with refuses(UnknownDatasetError, match="'Hospital'"):
        create(ledger, "Fifth", same_people_as="Nobody")
    with refuses(LedgerError, match="needs a cap"):
        create(ledger, "Fifth", other_people=True)


@pytest.mark.parametrize(
    "name",
    [
        "census 2020",
        "CENSUS 2020",
        " Census  2020 ",
        "Census-2020",
        "Census_2020.",
        "Ｃensus ２020",
        "Census\u00a02020",
    ],
)
def test_a_name_in_another_spelling_is_no_second_pot(ledger: Ledger, name: str) -> None:
    create(ledger, "Census 2020", cap=Cap.zcdp("1"))
    for answer in ({}, {"other_people": True}, {"same_people_as": name}):
        with refuses(LedgerError, match="exists already"):
            create(ledger, name, cap=Cap.zcdp("1"), **answer)
    book(ledger, "0.25", "a", dataset=name)
    assert ledger.remaining(name) == Decimal("0.75")


def test_a_name_in_another_unicode_form_is_no_second_pot(ledger: Ledger) -> None:
    create(ledger, "Zürich", cap=Cap.zcdp("1"))
    with refuses(LedgerError, match="exists already"):
        create(ledger, "Zu\u0308rich", cap=Cap.zcdp("1"), other_people=True)
    assert (
        create(ledger, "Zurich", cap=Cap.zcdp("1"), other_people=True).people == "other"
    )  # asked, answered, kept


@pytest.mark.parametrize(
    "name", ["", "  ", "--", "a\u200bb", "a\u202eb", "a\nb", "a\0b", "\ud800", "x" * 501, 3, None]
)
def test_a_name_nobody_can_read_is_refused(ledger: Ledger, name: Any) -> None:
    with refuses(LedgerError, match="name"):
        create(ledger, name, cap=Cap.zcdp("1"))
    assert not ledger.path.exists()


@pytest.mark.parametrize("field", ["schema_hash", "purpose", "plan_hash", "person", "request_id"])
def test_every_text_of_a_charge_is_one_visible_line(ledger: Ledger, field: str) -> None:
    create(ledger, cap=Cap.zcdp("1"))
    for bad in (" ", "a\nb", "a\0b", "\ud800", None):
        what: dict[str, Any] = {"request": "click", field: bad}
        if field == "request_id":
            what = {"request": bad}
        with refuses(LedgerError, match=field):
            book(ledger, "0.1", **what)
    assert ledger.history() == ()


def test_a_clock_that_goes_back_is_remarked_and_changes_nothing_else(tmp_path: Path) -> None:
    times = iter(
        [
            datetime(2026, 3, 2, tzinfo=UTC),
            datetime(2026, 3, 1, tzinfo=UTC),
            datetime(2026, 3, 3, tzinfo=UTC),
            datetime(2026, 3, 2, tzinfo=UTC),
        ]
    )
    ledger = Ledger(tmp_path / "ledger.sqlite", clock=lambda: next(times))
    create(ledger, cap=Cap.zcdp("1"))
    book(ledger, "0.1", "a")
    book(ledger, "0.1", "b")
    ledger.rotate_key(person="Ada")
    assert [charge.booked_at[:10] for charge in ledger.history()] == ["2026-03-01", "2026-03-03"]
    found = ledger.verify()
    assert found.is_good
    assert [remark.facts["entry"] for remark in found.remarks] == [2, 4]
    assert "Entry 2 is dated 2026-03-01" in said(found.remarks[0])


def test_no_time_in_the_ledger_tells_how_long_a_release_took(tmp_path: Path) -> None:
    """Bookings keep the hour, and the end of a charge has the time of its booking."""
    seconds = iter(range(0, 36_000, 1801))
    start = datetime(2026, 3, 2, 9, 20, 31, 5, tzinfo=UTC)
    ledger = Ledger(
        tmp_path / "ledger.sqlite", clock=lambda: start + timedelta(seconds=next(seconds))
    )
    create(ledger, cap=Cap.zcdp("1"))
    first, second = book(ledger, "0.1", "a"), book(ledger, "0.1", "b")
    ledger.fail(second.charge_id, reason="x")
    ledger.finish(first.charge_id, result_hash="00")
    assert [entry.written_at for entry in ledger.entries()] == [
        "2026-03-02T09:00:00+00:00",
        "2026-03-02T09:00:00+00:00",
        "2026-03-02T10:00:00+00:00",
        "2026-03-02T10:00:00+00:00",
        "2026-03-02T09:00:00+00:00",
    ]
    found = ledger.verify()
    assert found.is_good
    assert found.remarks == ()


def test_a_clock_without_a_time_zone_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite", clock=lambda: datetime(2026, 3, 2))
    with refuses(LedgerError, match="time zone"):
        create(ledger, cap=Cap.zcdp("1"))
    assert ledger.verify().n_entries == 0


def test_the_default_place_is_the_environment_s_or_the_user_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DPCI_LEDGER", raising=False)
    monkeypatch.delenv("DPCI_LEDGER_KEY", raising=False)
    assert Ledger().path.name == "ledger.sqlite"
    assert Ledger().path.is_absolute()
    monkeypatch.setenv("DPCI_LEDGER", str(tmp_path / "team.db"))
    assert (Ledger().path, Ledger().key_path) == (tmp_path / "team.db", None)
    monkeypatch.setenv("DPCI_LEDGER_KEYS", str(tmp_path / "own"))
    create(Ledger(), cap=Cap.zcdp("1"))
    (entry,) = Ledger().entries()
    assert Ledger().key_path == tmp_path / "own" / f"{entry.key_id}.key"
    monkeypatch.setenv("DPCI_LEDGER_KEY", str(tmp_path / "keys" / "k"))
    assert Ledger().key_path == tmp_path / "keys" / "k"
    for empty in ("", " "):
        monkeypatch.setenv("DPCI_LEDGER", empty)
        with refuses(LedgerError, match="Set DPCI_LEDGER"):
            Ledger()
