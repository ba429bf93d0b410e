"""Releases that another person approves before any file is opened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpci_core.__main__ import main
from dpci_core.ledger import BudgetExceededError, Cap, Ledger, NotApprovedError
from dpci_core.release import PlanRelease, ReleaseLostError, load_release, propose, schema_hash
from tests.refusals import refuses
from tests.release.test_release import command
from tests.release_desk import Desk, make_plan, write_table


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """One whose releases another person has to approve."""
    plan, ledger = make_plan(), Ledger(tmp_path / "ledger.sqlite")
    ledger.create_dataset(
        "Clinic",
        schema_hash=schema_hash(plan.schema),
        cap=Cap.pure("1.5"),
        unit="one row is one person",
        person="Ada",
        needs_approval=True,
    )
    return Desk(tmp_path, plan, write_table(tmp_path / "table.csv"), ledger)


def test_no_file_is_opened_before_somebody_else_approved(desk: Desk) -> None:
    for _ in range(2):
        with refuses(NotApprovedError, match="Another person than Ada has to approve entry 2"):
            desk.release(file=desk.folder / "none.csv", to="nowhere/out")
    (made,) = desk.ledger.proposals()
    assert (made.state, made.purpose, desk.spent) == ("proposed", "Sickness", "0")
    desk.ledger.approve(2, person="Grace")
    released = desk.release()
    assert (desk.spent, released.charge_id) == ("1", 4)
    assert desk.release() == released
    assert desk.ledger.proposals()[0].state == "booked"
    with pytest.raises(ReleaseLostError):
        desk.release(to="elsewhere")


def test_what_stops_a_release_stops_its_proposal(desk: Desk) -> None:
    desk.ledger.approve(propose_here(desk, "r1"), person="Grace")
    desk.release()
    with pytest.raises(BudgetExceededError):
        propose_here(desk, "r2")
    assert len(desk.ledger.proposals()) == 1


def test_another_plan_is_not_what_was_approved(desk: Desk) -> None:
    desk.ledger.approve(propose_here(desk, "r1"), person="Grace")
    with refuses(ValueError, match="another content"):
        desk.release(plan=make_plan(title="Others"))
    with refuses(ValueError, match="another content"):
        desk.release(person="Grace")
    assert desk.spent == "0"


def test_a_proposal_taken_back_is_not_released(desk: Desk) -> None:
    number = propose_here(desk, "r1")
    desk.ledger.approve(number, person="Grace")
    desk.ledger.withdraw(number, person="Grace")
    with refuses(NotApprovedError, match="has to approve entry 5"):  # it is proposed anew
        desk.release()
    assert desk.spent == "0"


def propose_here(desk: Desk, request: str) -> int:
    asked = {"person": "Ada", "request_id": request}
    return propose(PlanRelease(plan=desk.plan), desk.ledger, "Clinic", **asked).proposal_id


def test_two_persons_on_the_command_line(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    to = ["--folder", str(desk.folder / "out"), "--request", "first", "--person", "Ada"]
    to += ["--confirm", "Clinic", "--accept-warnings"]
    book = ["ledger", "{}", "--ledger", str(desk.ledger.path)]

    def on_ledger(action: str, *more: str) -> int:
        return main([word.format(action) for word in book] + list(more))

    for _ in range(2):
        assert main(command(desk, *to)) == 3
    said = capsys.readouterr()
    assert "costs epsilon 1" in said.err
    assert "dpci_core ledger approve 2" in said.err
    assert (said.out, desk.spent, (desk.folder / "out").exists()) == ("", "0", False)
    assert on_ledger("show") == 0
    shown = capsys.readouterr().out
    assert "each charge needs the approval of another person" in shown
    assert "proposed epsilon 1  Clinic: Sickness (Ada), waits for approval; plan " in shown
    assert shown.rstrip().endswith("request first")
    assert on_ledger("approve", "2", "--person", "ADA") == 1
    assert "another person has to approve it" in capsys.readouterr().err
    assert on_ledger("approve", "2", "--person", "Grace") == 0
    assert "Ada may release it now, with --request first" in capsys.readouterr().out
    assert main(command(desk, *to)) == 0
    assert load_release(desk.folder / "out").charge_id == 4
    capsys.readouterr()
    assert on_ledger("show", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["proposals"]
    assert (row["state"], row["approved_by"], row["spent_of_cap"]) == ("booked", "Grace", "1")
    assert on_ledger("withdraw", "2") == 1
    assert "stays spent" in capsys.readouterr().err
    assert on_ledger("approve", "99") == 1


def test_a_name_still_has_to_be_typed_after_approval(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    to = ["--folder", str(desk.folder / "out"), "--request", "first", "--person", "Ada"]
    assert main(command(desk, *to)) == 3
    desk.ledger.approve(2, person="Grace")
    assert main(command(desk, *to)) == 1
    assert "Nothing was spent" in capsys.readouterr().err
    assert desk.ledger.withdraw(2, person="Grace").state == "withdrawn"
