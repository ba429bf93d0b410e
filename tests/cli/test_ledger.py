"""The ledger on the command line: create, show, verify, export."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shlex
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpci_core import (
    DeclaredTable,
    Design,
    DPLogisticRegression,
    LedgerAccount,
    Logistic,
    NumericColumn,
    Plan,
    PureDP,
    Schema,
    write_plan,
)
from dpci_core.__main__ import main
from dpci_core.ledger import Cost, Ledger, NotApprovedError, as_csv, safe_cell
from dpci_core.release import schema_hash

UNIT = "one row is one person"
CREATE = ("create", "Census", "--schema-hash", "s", "--unit", UNIT, "--person", "Ada")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPCI_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.delenv("DPCI_LEDGER_KEY", raising=False)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, output, error output."""
    code = main(["ledger", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def book(request: str, purpose: str = "model") -> str:
    cost = Cost(
        definition="zcdp", amount="0.1", lines=[("coefficients", "0.06"), ("Hessian", "0.04")]
    )
    what = {"purpose": purpose, "plan_hash": "plan", "person": "Ada", "request_id": request}
    ledger = Ledger()
    charge = ledger.book("Census", schema_hash="s", cost=cost, **what)
    return ledger.finish(charge.charge_id, result_hash="r").head


def test_a_charge_whose_draw_was_lost_is_not_told_like_one_that_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(capsys, *CREATE, "--rho", "1")
    ledger, cost = Ledger(), Cost(definition="zcdp", amount="0.1")

    def book_later(request: str) -> int:
        what = {"purpose": request, "plan_hash": "p", "person": "Ada", "request_id": request}
        found = ledger.book("Census", schema_hash="s", cost=cost, draws_later=True, **what)
        return found.charge_id

    book_later("waits")
    ledger.begin_draw(book_later("lost"))
    ledger.fail(book_later("bad"), reason="It broke off.", is_drawn=False)
    book("good")
    _, said, _ = run(capsys, "show")
    ends = [line.split(" (Ada)")[1] for line in said.splitlines()[1:]]
    asked = "; spent; ask again with --request {} and the same folder:"
    assert ends == [
        f"{asked.format('waits')} it goes on, at no further price",
        f"{asked.format('lost')} a result that is there is noted, else it is lost",
        "",
        "",
    ]
    told = [line.split("h  ")[1].split(" (Ada)")[0] for line in said.splitlines()[1:]]
    assert told == [
        "booked, nothing drawn yet; rho 0.1  Census: waits",
        "booked, no result: it runs, or broke off; rho 0.1  Census: lost",
        "failed, spent all the same; rho 0.1  Census: bad",
        "released; rho 0.1  Census: model",
    ]


def write_released(record: Path, dataset: str, schema: str) -> None:
    """A record that was written after its booking, as a release does, and is the result of its
    charge.
    """
    cost = Cost(definition="zcdp", amount="0.001")
    what = {"purpose": "model", "plan_hash": "p", "person": "Ada", "request_id": "released"}
    charge = Ledger().book(dataset, schema_hash=schema, cost=cost, **what)
    record.write_text(json.dumps({"ledger": {"head": charge.head}}))
    Ledger().finish(charge.charge_id, result_hash=hashlib.sha256(record.read_bytes()).hexdigest())


def test_a_cap_can_ask_for_two_persons(capsys: pytest.CaptureFixture[str]) -> None:
    code, said, _ = run(capsys, *CREATE, "--rho", "1", "--needs-approval", "--json")
    assert (code, json.loads(said)["needs_approval"]) == (0, "yes")
    with pytest.raises(NotApprovedError):
        book("r")
    made = Ledger().propose(
        "Census",
        schema_hash="s",
        cost=Cost(definition="zcdp", amount="0.1"),
        purpose="model",
        plan_hash="plan",
        person="Ada",
        request_id="r2",
    )
    assert run(capsys, "withdraw", f"{made.proposal_id}")[:2] == (
        0,
        "Proposal 2 is withdrawn: it will never be booked.\n",
    )
    assert "withdrawn" not in run(capsys, "show")[1]
    assert run(capsys, "approve", "2", "--person", "Grace")[0] == 1
    other = "create", "Other", "--schema-hash", "s", "--unit", UNIT, "--other-people", "--rho", "1"
    assert run(capsys, *other)[0] == 0
    assert [account.needs_approval for account in Ledger().accounts()] == [True, False]


def test_who_approves_a_fit_reads_its_settings(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, *CREATE, "--epsilon", "3", "--needs-approval")
    account = LedgerAccount(
        ledger=Ledger(), dataset="Census", schema_hash="s", unit=UNIT, person="Kim", request_id="r"
    )
    X, y = np.tile([[0.0, 1.0], [1.0, 1.0]], (300, 1)), np.tile(["no", "yes"], 300)
    frame, ill = pd.DataFrame(X, columns=["age", "dose"]), pd.Series(y, name="ill")
    budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    model = DPLogisticRegression(
        budget=budget, feature_bounds=(0, 9), classes=("no", "yes"), ledger=account
    )
    with pytest.raises(NotApprovedError):
        model.fit(frame, ill)
    for action in (("show",), ("approve", "2", "--person", "Grace")):
        told = run(capsys, *action)[1]
        for words in ("label='ill'", "features=('age', 'dose')", "feature_bounds=(0, 9)"):
            assert words in told
    model.fit(frame, ill)
    charge = run(capsys, "show")[1].splitlines()[-1]
    assert "DPLogisticRegression.fit(label='ill', features=('age', 'dose')" in charge
    assert charge.endswith("… (Kim)")


def test_no_balance_is_shown_without_the_end_of_the_ledger(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is left may be too much; `show` says what `verify` does, in the same words."""
    run(capsys, *CREATE, "--rho", "1")
    (place / "ledger.sqlite.head").unlink()
    said = "ledger.sqlite.head is not there, which holds the end of the ledger once more"
    for words in (("show",), ("show", "Census"), ("show", "--json")):
        code, out, error = run(capsys, *words)
        assert (code, out) == (1, "")
        assert said in error
    code, out, _ = run(capsys, "verify")
    assert (code, said in out) == (1, True)


def test_an_absent_ledger_shows_verifies_and_exports_nothing(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    assert run(capsys, "show") == (0, f"The ledger {place / 'ledger.sqlite'} is empty.\n", "")
    assert run(capsys, "verify") == (0, "The ledger has no entries.\n", "")
    assert run(capsys, "export") == (0, "", "")
    code, _, problem = run(capsys, "public-key")
    assert (code, "has no public key" in problem) == (1, True)
    assert list(place.iterdir()) == []


def test_from_the_cap_to_the_proof(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    code, out, _ = run(capsys, *CREATE, "--rho", "0.3")
    assert (code, out) == (0, f"Census: rho 0.3 left of rho 0.3; {UNIT}; schema s\n")
    book("first")
    code, out, _ = run(capsys, "show", "census")
    assert code == 0
    assert "rho 0.2 left of rho 0.3" in out
    assert "released; rho 0.1  Census: model (Ada)" in out
    write_released(record := place / "release.json", "Census", "s")
    code, out, _ = run(capsys, "verify", "--against", str(record))
    assert (code, "All entries (5)" in out, "the given records (1)" in out) == (0, True, True)
    code, out, _ = run(capsys, "verify")
    assert (code, "Entries cut off its end would not show" in out) == (0, True)


def test_a_broken_ledger_verifies_with_exit_code_1(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    run(capsys, *CREATE, "--rho", "0.3")
    record = place / "release.json"
    record.write_text(json.dumps({"ledger": {"head": book("first")}}))
    connection = sqlite3.connect(Ledger().path, isolation_level=None)
    connection.execute("DROP TRIGGER entries_are_never_deleted")
    connection.execute("DELETE FROM entries WHERE sequence = 3")
    connection.close()
    code, out, _ = run(capsys, "verify", "--against", str(record))
    assert (code, "NOT as it was written" in out, f"{record} was written when" in out) == (
        1,
        True,
        True,
    )
    code, out, _ = run(capsys, "verify", "--against", str(record), "--json")
    found = json.loads(out)
    assert (
        code,
        found["is_good"],
        found["n_entries"],
        found["records"],
        len(found["problems"]),
    ) == (1, False, 2, 1, 3)
    code, _, err = run(capsys, "verify", "--against", str(place / "absent.json"))
    assert (code, "cannot be read" in err) == (1, True)


@pytest.mark.parametrize(
    ("words", "cap"),
    [
        (["--epsilon", "1"], {"currency": "epsilon", "cap": "1", "declared_epsilon": None}),
        (["--rho", "0.5"], {"currency": "rho", "cap": "0.5", "declared_delta": None}),
        (
            ["--epsilon", "1", "--delta", "1e-6"],
            {
                "currency": "rho",
                "cap": "0.0243559703594",
                "declared_epsilon": "1",
                "declared_delta": "0.000001",
            },
        ),
    ],
)
def test_a_cap_in_each_currency(
    capsys: pytest.CaptureFixture[str], words: list[str], cap: dict[str, Any]
) -> None:
    code, out, _ = run(capsys, *CREATE, *words, "--json")
    made = json.loads(out)
    assert code == 0
    assert cap.items() <= made.items()
    assert (made["remaining"], made["people"], made["person"]) == (made["cap"], "first", "Ada")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "Expected --epsilon, --rho or --mu, the most"),
        (["--delta", "1e-6"], "--epsilon with --delta"),
        (["--rho", "1", "--epsilon", "1"], "no --epsilon"),
        (["--rho", "-1"], "> 0"),
        (["--rho", "a lot"], "number"),
        (["--epsilon", "1", "--delta", "2"], "delta=2 < 1"),
    ],
)
def test_a_cap_that_makes_no_sense_is_a_sentence(
    capsys: pytest.CaptureFixture[str], words: list[str], what: str
) -> None:
    code, out, err = run(capsys, *CREATE, *words)
    assert (code, out, what in err) == (1, "", True)
    assert not Ledger().verify().n_entries


def test_the_same_people_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, *CREATE, "--rho", "0.3")
    second = ("create", "Follow-up", "--schema-hash", "t", "--unit", UNIT)
    code, _, err = run(capsys, *second, "--rho", "0.3")
    assert (code, "the same as in 'Census'" in err, "--same-people-as" in err) == (1, True, True)
    code, out, _ = run(capsys, *second, "--same-people-as", "census")
    assert (code, "shared with Census" in out) == (0, True)
    code, out, _ = run(
        capsys, "create", "Others", *second[2:], "--epsilon", "1", "--other-people", "--json"
    )
    assert (code, json.loads(out)["people"]) == (0, "other")
    code, out, _ = run(capsys, "show", "follow-up", "--json")
    assert [account["dataset"] for account in json.loads(out)["accounts"]] == [
        "Census",
        "Follow-up",
    ]
    code, _, err = run(capsys, "show", "nobody")
    assert (code, "no data set 'nobody'" in err) == (1, True)


def test_the_export_is_text_to_every_spreadsheet(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    run(capsys, *CREATE, "--rho", "0.3")
    book("@sum", purpose='=HYPERLINK("http://x";"y")')
    code, out, _ = run(capsys, "export")
    (row,) = csv.DictReader(io.StringIO(out))
    assert (code, row["purpose"], row["request_id"]) == (0, '\'=HYPERLINK("http://x";"y")', "'@sum")
    assert (row["charge"], row["cost"], row["lines"], row["state"]) == (
        "2",
        "0.1",
        "coefficients 0.06; Hessian 0.04",
        "done",
    )
    code, out, _ = run(capsys, "export", "--entries")
    lines = list(csv.DictReader(io.StringIO(out)))
    assert [line["kind"] for line in lines] == ["account", "booked", "done"]
    assert lines[2]["seal"] == Ledger().entries()[2].seal
    target = place / "out.csv"
    assert run(capsys, "export", "--output", str(target)) == (0, "", "")
    assert target.read_text().startswith("charge,dataset")
    code, _, err = run(capsys, "export", "--output", str(target))
    assert (code, "exists already" in err) == (1, True)
    code, _, err = run(capsys, "export", "--output", str(place / "no" / "out.csv"))
    assert code == 1
    assert err


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", "\t", "\r", "\n", " =", "＝", "＋", "－", "＠"]
)
def test_what_could_be_a_formula_gets_an_apostrophe(start: str) -> None:
    assert safe_cell(f"{start}1") == f"'{start}1"
    assert (
        next(csv.reader(io.StringIO(as_csv([{"a": f"{start}1"}]).partition("\n")[2], newline="")))[
            0
        ][0]
        == "'"
    )


@pytest.mark.parametrize("end", [";", "\t", "\r", "\n", "\v", "\u2028"])
@pytest.mark.parametrize("unseen", ["", " ", "\N{NO-BREAK SPACE}", "\u200b", "\ufeff", '"', "\0"])
def test_no_formula_begins_where_another_spreadsheet_cuts(end: str, unseen: str) -> None:
    for start in "=+-@＝−﹫":
        hostile = f"x{end}{unseen}{start}1"
        assert safe_cell(hostile) == f"x{end}'{unseen}{start}1"
        assert safe_cell(f"{unseen}{start}1") == f"'{unseen}{start}1"
    harmless = f"x{end}{unseen}y-1"
    assert safe_cell(harmless) == harmless


def test_another_place_can_be_named(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    words = ("--ledger", str(place / "a" / "other.db"), "--key", str(place / "b" / "other.key"))
    assert run(capsys, *CREATE, "--rho", "1", *words)[0] == 0
    assert sorted(path.name for path in place.rglob("*.*") if path.suffix in (".db", ".key")) == [
        "other.db",
        "other.key",
    ]
    assert run(capsys, "verify", *words)[0] == 0
    assert run(capsys, "verify")[1] == "The ledger has no entries.\n"


def test_a_ledger_without_its_end_is_adopted_in_words(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    assert run(capsys, *CREATE, "--rho", "1")[0] == 0
    (place / "ledger.sqlite.head").unlink()
    code, said, _ = run(capsys, "verify")
    assert (code, "python -m dpci_core ledger adopt" in said) == (1, True)
    code, said, _ = run(capsys, "adopt")
    assert (code, "ends with entry 1, and counts as whole" in said) == (0, True)
    assert run(capsys, "verify")[0] == 0


DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "operations.md").read_text(
    encoding="utf-8"
)


def test_the_document_s_code_runs() -> None:
    found: dict[str, Any] = {}
    exec(DOCUMENT.partition("```python\n")[2].partition("```")[0], found)
    assert (found["done"].state, found["done"].head) == ("done", Ledger().head())


def test_the_document_s_commands_run(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    commands = DOCUMENT.partition("```sh\n")[2].partition("```")[0].splitlines()
    words = [shlex.split(command, comments=True)[4:] for command in commands]
    assert [w[0] for w in words] == [
        "create", "show", "verify", "public-key", "rotate-key", "approve", "export",
    ]  # fmt: skip
    for w in words[:2]:
        assert run(capsys, *w)[0] == 0
    record = place / "release.json"
    write_released(record, "Patients 2026", "HASH")
    assert run(capsys, *words[2][:-1], str(record))[0] == 0
    code, out, _ = run(capsys, *words[3])
    (place / "public").write_text(out)
    for pinned in (str(place / "public"), out.split()[1]):
        code, said, _ = run(capsys, "verify", "--public-key", pinned)
        assert (code, "with the public key that was given" in said) == (0, True)
    code, said, _ = run(capsys, "verify", "--public-key", "0" * 64)
    assert (code, "somebody wrote it anew" in said) == (1, True)
    code, _, problem = run(capsys, "verify", "--public-key", "nonsense")
    assert (code, "64 hexadecimal digits" in problem) == (1, True)
    code, said, _ = run(capsys, *words[4])
    new = said.splitlines()[-1]
    assert (code, new) == (0, run(capsys, "public-key")[1].strip())
    listed = run(capsys, "public-key", "--all")[1].splitlines()
    assert listed == [f"from entry 1: {out.split()[1]}", f"from entry 4: {new.split()[1]}"]
    code, said, _ = run(capsys, "verify", "--public-key", out.split()[1])
    assert (code, "If the keeper confirms the new key" in said) == (1, True)
    assert run(capsys, *words[5])[2] == "The ledger has no proposal 12.\n"
    assert run(capsys, *words[6][:-1], str(place / "charges.csv"))[0] == 0


def test_a_plan_file_declares_schema_and_unit(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    table = DeclaredTable(
        schema=Schema((NumericColumn("age", 0, 100),), "ill", "yes"), unit="one visit"
    )
    budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    design = Design(
        loss=Logistic(), mechanism="output", budget=budget, regularization=0.01, n_records=1_000
    )
    file = place / "plan.yaml"
    write_plan(Plan(title="A", source=table, design=design, delta="1e-6"), file)
    assert (
        run(capsys, "create", "Clinic", "--plan", str(file), "--epsilon", "3", "--person", "Ada")[0]
        == 0
    )
    account = Ledger().account("Clinic")
    assert (account.schema_hash, account.unit) == (schema_hash(table.schema), "one visit")
    code, _, problem = run(capsys, "create", "Other", "--schema-hash", "s", "--epsilon", "3")
    assert (code, problem) == (1, "Expected --unit with --schema-hash.\n")
    code, _, problem = run(
        capsys, "create", "Other", "--plan", str(file), "--several-rows", "--epsilon", "3"
    )
    assert (code, problem) == (
        1,
        "Expected no --several-rows: in the plan one row is one record.\n",
    )


def test_an_account_says_in_a_field_that_a_person_may_have_several_rows(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    words = ("--schema-hash", "s", "--unit", "one patient", "--several-rows", "--epsilon", "3")
    code, said, _ = run(capsys, "create", "Visits", *words, "--person", "Ada")
    assert (code, "; one patient, with several rows; schema s" in said) == (0, True)
    account = Ledger().account("Visits")
    assert (account.unit, account.several_rows) == ("one patient", True)
    _, shown, _ = run(capsys, "show", "--json")
    (row,) = json.loads(shown)["accounts"]
    assert (row["unit"], row["several_rows"]) == ("one patient", "yes")


@pytest.mark.parametrize("error", [KeyError("uid"), OSError("no name"), ImportError("pwd")])
def test_a_user_of_the_machine_without_a_name_is_asked_for_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def nobody() -> str:
        raise error

    monkeypatch.setattr("getpass.getuser", nobody)
    code, out, said = run(capsys, *CREATE[:-2], "--epsilon", "1")
    assert (code, out) == (1, "")
    assert said == "Expected --person: the user of this machine has no name.\n"
    assert run(capsys, *CREATE, "--epsilon", "1")[0] == 0
