"""Releases that another person approves before any file is opened."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dpci_core import PureDP
from dpci_core.__main__ import main
from dpci_core.ledger import (
    BudgetExceededError,
    Cap,
    Ledger,
    LedgerDamagedError,
    NotApprovedError,
)
from dpci_core.plan import as_yaml
from dpci_core.plan.approval import approval_of
from dpci_core.release import (
    PlanRelease,
    ReleaseLostError,
    ReleaseRefusedError,
    check_approved,
    check_is_left,
    load_release,
    once,
    propose,
    schema_hash,
)
from tests.ledger.test_proposals import ANSWERS, hide
from tests.ledger.test_seals import tampered
from tests.refusals import refuses
from tests.release.test_release import command
from tests.release_example import Desk, make_plan, write_table


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


def test_what_waits_is_told_so_whatever_is_left(desk: Desk) -> None:
    waits = propose_here(desk, "r1")
    desk.ledger.approve(propose_here(desk, "r2"), person="Grace")
    desk.release("r2")
    with refuses(NotApprovedError, match=f"has to approve entry {waits} first"):
        desk.release("r1", to="other")


def test_another_plan_is_not_what_was_approved(desk: Desk) -> None:
    desk.ledger.approve(propose_here(desk, "r1"), person="Grace")
    with refuses(ValueError, match="another content"):
        desk.release(plan=make_plan(title="Others"))
    with refuses(ValueError, match="another content"):
        desk.release(person="Grace")
    assert desk.spent == "0"


def test_what_is_booked_goes_on_as_it_was_approved(desk: Desk) -> None:
    """After a stop before the draw, or where another process booked it meanwhile."""
    desk.ledger.approve(propose_here(desk, "r1"), person="Grace")
    asked = PlanRelease(plan=desk.plan)
    desk.ledger.book(
        "Clinic",
        schema_hash=schema_hash(desk.plan.schema),
        cost=asked.price(),
        purpose=asked.title,
        plan_hash=asked.digest,
        person="Ada",
        request_id="r1",
        draws_later=True,
    )
    with refuses(ValueError, match="another content"):  # and no file is looked for
        desk.release(plan=make_plan(title="Others"), file=desk.folder / "none.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "find", lambda *_: None)
        assert desk.release().charge_id == 4
    assert desk.spent == "1"


def test_a_proposal_taken_back_is_not_released(desk: Desk) -> None:
    number = propose_here(desk, "r1")
    desk.ledger.approve(number, person="Grace")
    desk.ledger.withdraw(number, person="Grace")
    with refuses(NotApprovedError, match="has to approve entry 5"):  # it is proposed anew
        desk.release()
    assert desk.spent == "0"


def test_no_file_is_opened_for_a_withdrawal_that_is_hidden(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = propose_here(desk, "r1")
    desk.ledger.approve(number, person="Grace")
    desk.ledger.withdraw(number, person="Grace")
    propose_here(desk, "r2")
    monkeypatch.setattr(once, "check_header", lambda *_, **__: pytest.fail("the file was opened"))
    hide(desk.ledger, "one_answer_a_proposal", f"{ANSWERS} AND kind != 'withdrawn'", ANSWERS)
    with refuses(NotApprovedError, match="has to approve entry 6"):  # it is known all the same
        desk.release()
    tampered(desk.ledger, "DELETE FROM entries WHERE kind = 'withdrawn'")
    with pytest.raises(LedgerDamagedError):
        desk.release()


def propose_here(desk: Desk, request: str) -> int:
    asked = {"person": "Ada", "request_id": request}
    return propose(PlanRelease(plan=desk.plan), desk.ledger, "Clinic", **asked).proposal_id


def test_two_persons_on_the_command_line(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    to = ["--folder", str(desk.folder / "out"), "--request", "first", "--person", "Ada"]
    to += ["--confirm", "Clinic", "--accept-warnings"]
    book = ["ledger", "{}", "--ledger", str(desk.ledger.path)]

    def on_ledger(action: str, *more: str) -> int:
        return main([word.format(action) for word in book] + list(more))

    assert main(command(desk, "--check")) == 0
    assert "Another person has to approve it" in capsys.readouterr().out
    for _ in range(2):
        assert main(command(desk, *to)) == 3
    said = capsys.readouterr()
    assert "costs epsilon 1" in said.err
    assert "dpci_core ledger approve 2" in said.err
    assert (said.out, desk.spent, (desk.folder / "out").exists()) == ("", "0", False)
    assert on_ledger("show") == 0
    shown = capsys.readouterr().out
    assert "each charge needs the approval of another person" in shown
    waiting = "proposed epsilon 1  Clinic: 'Sickness' ('Ada'), waits for approval; of it "
    assert waiting in shown
    assert "'model' 0.5, 'hessian' 0.25, 'covariance' 0.25; plan " in shown
    assert shown.rstrip().endswith("request 'first'")
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


def test_what_is_said_after_an_approval_is_true(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = [propose_here(desk, request) for request in ("r1", "r2; ls")]

    def approve(number: int) -> str:
        to = ["--ledger", str(desk.ledger.path), "--person", "Grace"]
        assert main(["ledger", "approve", str(number), *to]) == 0
        return capsys.readouterr().out.splitlines()[-1]

    assert "with --request 'r2; ls' (" in approve(numbers[1])
    approve(numbers[0])
    desk.release()
    assert approve(numbers[0]) == "It was approved and booked before."
    assert approve(numbers[1]).startswith("Only 0.5 is left of the cap")


def test_a_folder_that_is_there_proposes_nothing(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk.folder / "out").mkdir()
    to = ["--folder", str(desk.folder / "out"), "--request", "first", "--person", "Ada"]
    to += ["--confirm", "Clinic", "--accept-warnings"]
    assert main(command(desk, *to)) == 1
    assert "no release" in capsys.readouterr().err
    assert desk.ledger.proposals() == ()


def test_a_name_still_has_to_be_typed_after_approval(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    to = ["--folder", str(desk.folder / "out"), "--request", "first", "--person", "Ada"]
    assert main(command(desk, *to)) == 3
    desk.ledger.approve(2, person="Grace")
    assert main(command(desk, *to)) == 1
    assert "Nothing was spent" in capsys.readouterr().err
    assert desk.ledger.withdraw(2, person="Grace").state == "withdrawn"


def test_a_look_at_the_approval_writes_nothing_and_refuses_what_booking_would(desk: Desk) -> None:
    asked = PlanRelease(plan=desk.plan)

    def look(question: PlanRelease = asked) -> None:
        check_approved(question, desk.ledger, "Clinic", person="Ada", request_id="r1")

    with refuses(NotApprovedError, match="was not proposed"):
        look()
    number = propose_here(desk, "r1")
    with refuses(NotApprovedError, match="Another person than Ada"):
        look()
    desk.ledger.approve(number, person="Grace")
    look()
    with refuses(ValueError, match="another content"):
        look(PlanRelease(plan=make_plan(title="Others")))
    assert [entry.kind for entry in desk.ledger.entries()] == ["account", "proposed", "approved"]
    desk.ledger.approve(propose_here(desk, "r2"), person="Grace")
    desk.release("r2")
    with pytest.raises(BudgetExceededError):
        look()


BY_ADA = approval_of(make_plan().digest, person="Ada", day="2026-01-31")
"""Of the plan of the desk, as the page Approve writes it."""
HIDDEN = (
    BY_ADA,
    BY_ADA.rstrip("."),
    BY_ADA.upper(),
    f"{BY_ADA} Read again on 2026-02-01.",
    approval_of("f" * 64, person=BY_ADA.rstrip("."), day="2026-02-01"),
)
"""Ways to write it that still name the plan."""


@pytest.mark.parametrize("approved", HIDDEN)
def test_a_plan_that_was_changed_after_its_approval_is_refused_before_its_file_is_opened(
    approved: str, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part of the budget is changed in an approved file: nothing is proposed or booked, no
    price is told, and a file that is not even there is not looked for.
    """
    changed = replace(
        desk.plan,
        approved=approved,
        design=replace(
            desk.plan.design, budget=PureDP(model="0.9", hessian="0.25", covariance="0.25")
        ),
    )
    file = desk.folder / "changed.yaml"
    file.write_text(as_yaml(changed), encoding="utf-8")
    where = ["--ledger", str(desk.ledger.path), "--dataset", "Clinic", "--person", "Ada"]
    to = ["--file", str(desk.folder / "none.csv"), "--folder", str(desk.folder / "nowhere/out")]
    for more in ([*to, "--confirm", "Clinic", "--accept-warnings"], ["--check"]):
        assert main(["release", str(file), *where, *more]) == 1
        told = capsys.readouterr()
        assert "Take the plan as it was approved, or have this one approved" in told.err
        assert "costs" not in told.out + told.err
    for ask in (propose, check_approved):
        with refuses(ReleaseRefusedError, match="changed after its approval"):
            ask(PlanRelease(plan=changed), desk.ledger, "Clinic", person="Ada", request_id="r1")
    with refuses(ReleaseRefusedError, match="changed after its approval"):
        desk.release(plan=changed, file=desk.folder / "none.csv")
    assert [entry.kind for entry in desk.ledger.entries()] == ["account"]


@pytest.mark.parametrize("approved", ["", "Approved by the board, 2026 (plan B).", BY_ADA])
def test_a_plan_with_its_own_approval_or_one_that_names_none_is_released(
    approved: str, desk: Desk
) -> None:
    desk.ledger.approve(propose_here(desk, "r1"), person="Grace")
    made = desk.release(plan=replace(desk.plan, approved=approved))
    assert made.plan_hash == desk.plan.digest


def test_what_was_booked_does_not_go_on_with_an_approval_of_another_plan(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The approval is no part of the hash, so the request alone would take the changed file."""
    desk.ledger.approve(propose_here(desk, "r1"), person="Grace")

    def stop(stage: str) -> None:
        if stage == "read":
            raise KeyboardInterrupt

    monkeypatch.setattr(once, "reached", stop)
    with pytest.raises(RuntimeError, match="goes on"):
        desk.release()
    monkeypatch.undo()
    other = approval_of("f" * 64, person="Ada", day="2026-01-31")
    with refuses(ReleaseRefusedError, match="changed after its approval"):
        desk.release(plan=replace(desk.plan, approved=other))
    assert desk.release().charge_id == 4


def test_an_approved_plan_pays_for_one_release(tmp_path: Path, capsys, monkeypatch) -> None:
    """The board read what one release lets others learn, and two were made of its approval."""
    desk = Desk.at(tmp_path, plan=replace(make_plan(), approved=BY_ADA), cap=Cap.pure(4))
    with monkeypatch.context() as patch:
        patch.setattr(once, "write_folder", None)
        with pytest.raises(RuntimeError):
            desk.release("r0", to="failed")  # of which nobody has seen anything
    made = desk.release("r1")
    assert desk.release("r1").charge_id == made.charge_id
    said = f"approved for one release, which is entry {made.charge_id} of the ledger"
    with refuses(ReleaseRefusedError, match=said):
        desk.release("r2", to="again", file=tmp_path / "none.csv")
    plan = tmp_path / "plan.yaml"
    plan.write_text(as_yaml(desk.plan), encoding="utf-8")
    check = ["release", str(plan), "--check", "--ledger", str(desk.ledger.path)]
    assert main([*check, "--dataset", "Clinic"]) == 1
    assert said in capsys.readouterr().err
    desk.ledger.create_dataset(
        "Same file, renamed",
        schema_hash=schema_hash(desk.plan.schema),
        cap=Cap.pure(4),
        unit="one row is one person",
        person="Ada",
        other_people=True,
    )
    with refuses(ReleaseRefusedError, match=said):
        desk.release("r2", to="renamed", dataset="Same file, renamed")
    with refuses(ReleaseRefusedError, match=said):
        check_is_left(desk.ledger, None, PlanRelease(plan=desk.plan))
    assert desk.spent == "2"
    titled = make_plan(title="Sickness, again")
    again = replace(titled, approved=approval_of(titled.digest, person="Ada", day="2026-02-01"))
    assert desk.release("r3", to="again", plan=again).so_far.earlier == 2
    assert desk.release("r4", to="bare", plan=make_plan()).so_far.same_plan == made.charge_id


def test_a_plan_is_of_the_people_whom_it_was_released_from_first(tmp_path: Path) -> None:
    """The approval was withdrawn, and the same file was released from three budgets, each record
    saying that it was the first about these people.
    """
    desk = Desk.at(tmp_path, cap=Cap.pure(4))
    made = desk.release("r1")
    others = {
        "schema_hash": schema_hash(desk.plan.schema),
        "unit": "one row is one person",
        "person": "Ada",
    }
    for needs_approval in (False, True):
        name = f"Falls copy {needs_approval}"
        desk.ledger.create_dataset(
            name, cap=Cap.pure(4), other_people=True, needs_approval=needs_approval, **others
        )
        said = f"was released from 'Clinic', entry {made.charge_id} of the ledger"
        with refuses(ReleaseRefusedError, match=said):
            desk.release("r2", to="copy", dataset=name, file=tmp_path / "none.csv")
        with refuses(ReleaseRefusedError, match=said):
            propose(PlanRelease(plan=desk.plan), desk.ledger, name, person="Ada", request_id="r2")
    with refuses(ReleaseRefusedError, match=said):
        check_is_left(desk.ledger, None, PlanRelease(plan=desk.plan))
    desk.ledger.create_dataset("Shared", cap=None, same_people_as="Clinic", **others)
    assert desk.release("r2", to="again", dataset="Shared").so_far.same_plan == made.charge_id
    titled = make_plan(title="Other people")
    assert (
        desk.release("r3", to="titled", plan=titled, dataset="Falls copy False").so_far.earlier == 0
    )


def test_where_each_release_is_approved_a_plan_may_be_released_again(desk: Desk) -> None:
    desk.plan = make_plan(PureDP(model="0.3", hessian="0.2", covariance="0.2"))
    day = "2026-02-01"
    desk.plan = replace(desk.plan, approved=approval_of(desk.plan.digest, person="Ada", day=day))
    for request in ("r1", "r2"):
        desk.ledger.approve(propose_here(desk, request), person="Grace")
        desk.release(request, to=request)
    assert desk.spent == "1.4"
