"""A linear regression whose persons may have several rows, from its plan to its report, and what
two files tell that differ in all rows of one person.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpci_core import read_plan
from dpci_core.__main__ import main
from dpci_core.ledger import Cap, Ledger
from dpci_core.plan import LinearPlan, as_yaml
from dpci_core.plan.script import to_script
from dpci_core.plan.summary import to_html
from dpci_core.regression.design import LinearDesign
from dpci_core.release import (
    LinearRelease,
    ReleaseRefusedError,
    load_release,
    once,
    rehearse,
    run,
    schema_hash,
)
from dpci_core.release.record import RecordError
from dpci_core.schema import Persons
from tests.linear_example import BUDGET, GUESSES, SCHEMA, linear_plan, table_lines
from tests.refusals import refuses
from tests.regression.test_audit import Spy, claimed, spent, spy_on
from tests.release.test_folder import write_parts
from tests.release_example import Desk

N, K = 300, 3
WITH = replace(SCHEMA, persons=Persons("name", K))
MARK = "Xanadu-"


def visits(n: int = N, rows: int = 600, seed: int = 1) -> list[str]:
    """Lines of a table of so many persons, its header first, and of rows without a name."""
    head, *lines = table_lines(rows, seed)
    whose = np.random.default_rng(4).integers(0, n, rows)
    whose[:n] = np.arange(n)
    names = [f"{MARK}{i}" if row % 11 != 10 or row < n else " " for row, i in enumerate(whose)]
    return [
        head,
        *(f"{line[: -len('Ada')]}{name}" for line, name in zip(lines, names, strict=True)),
    ]


def desk_at(folder: Path, plan: LinearPlan, lines: list[str]) -> Desk:
    ledger, file = Ledger(folder / "ledger.sqlite"), folder / "table.csv"
    ledger.create_dataset(
        "Clinic",
        schema_hash=schema_hash(plan.schema),
        cap=Cap.gdp(20),
        **plan.account_unit,
        person="A",
    )
    file.write_text("\n".join(lines) + "\n")
    return Desk(folder, plan, file, ledger)  # type: ignore[arg-type]


def test_the_command_line_goes_the_whole_way(tmp_path: Path, capsys) -> None:
    plain, plan = tmp_path / "plain.yaml", tmp_path / "plan.yaml"
    table, out = tmp_path / "table.csv", tmp_path / "out"
    plain.write_text(as_yaml(linear_plan()))
    table.write_text("\n".join(visits()) + "\n")
    ledger = ["--ledger", str(tmp_path / "ledger.sqlite")]

    def said(*words: object) -> str:
        assert main([str(word) for word in words]) == 0
        return capsys.readouterr().out

    asked = ["plan", "persons", "--plan", plain, "--column", "name", "--most", K]
    found = json.loads(said(*asked, "--n-records", N, "--write", plan, "--json"))
    assert (found["protected"], found["n_persons"]) == ("one person with up to 3 rows", N)
    assert found["design"]["rows_per_person"] == K
    assert set(found["lengths"]) == {"age", "sex=m", "constant"}
    assert "as if every person had one row" in found["reason"]
    made = read_plan(plan)
    assert isinstance(made, LinearPlan)
    assert (made.persons, made.n_records) == (Persons("name", K), N)
    said("ledger", "create", "Clinic", "--plan", plan, "--mu", "4", *ledger)
    asked = ["release", plan, "--dataset", "Clinic", "--file", table, *ledger]
    assert f"Planned lengths for {N} persons" in said(*asked, "--check")
    said(*asked, "--folder", out, "--confirm", "Clinic", "--accept-warnings")
    again = load_release(out)
    assert isinstance(again, LinearRelease)
    assert (again.n_records, again.design.rows_per_person) == (N, K)
    assert again.protects == "one person with up to 3 rows"
    assert "one person, in all of its up to 3 rows" in again.guarantee.neighbours
    assert "of the persons" in again.verdict
    assert "every person's influence" in again.how
    pages = {path.name: path.read_text() for path in out.iterdir()}
    for name in ("report.html", "model_card.md", "evaluation.md"):
        assert "one person with up to 3 rows" in pages[name], name
        assert "value of one record" not in pages[name], name
    files = [*out.iterdir(), *tmp_path.glob("ledger*")]
    assert len(files) >= 9
    assert not any(MARK.encode() in path.read_bytes() for path in files)
    with pytest.raises(RecordError, match=r"schema\.persons"):
        dataclasses.replace(again, design=replace(again.design, rows_per_person=2))


def test_the_declaration_says_it_for_the_design() -> None:
    plan = linear_plan(schema=WITH, n=N)
    assert plan.design.rows_per_person == K
    assert plan.unit == "one person"
    assert LinearPlan.from_dict(plan.to_dict()) == plan
    assert LinearPlan.from_query(plan.to_query()) == plan
    with refuses(ValueError, match="as the schema's persons say"):
        replace(plan, design=replace(plan.design, rows_per_person=2))
    with refuses(ValueError, match="to be 1, as the schema's persons say"):
        linear_plan(design=LinearDesign(budget=BUDGET, n_records=N, rows_per_person=2))
    assert "rows_per_person" not in as_yaml(linear_plan())
    page = to_html(plan, plan.numbers())
    assert "Every single person (one person with up to 3 rows)" in page
    assert "of the persons is cut" in page
    assert "as if every person had one row" in page


def test_rehearsals_draw_persons_with_one_row() -> None:
    plan = linear_plan(schema=WITH, n=N, guesses=replace(GUESSES, n_rows=100))
    found, plain = rehearse(plan, times=2), rehearse(replace(plan, **_single(plan)), times=2)
    for one, other in zip(found.tables, plain.tables, strict=True):
        assert one.rows[0].interval == other.rows[0].interval


def _single(plan: LinearPlan) -> dict:
    """The same for single rows."""
    schema = replace(plan.source.schema, persons=None)
    return {
        "source": replace(plan.source, schema=schema),
        "design": replace(plan.design, rows_per_person=1),
    }


def test_a_file_and_a_folder_hold_the_same_persons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each the first rows that are complete, in the order of the table."""
    plan = linear_plan(schema=WITH, n=N)
    desk, caught = desk_at(tmp_path, plan, visits()), []
    original = run.linear_fit

    def fit(rows, *, design, source):
        caught.append((rows.memory, design))
        return original(rows, design=design, source=source)

    monkeypatch.setattr(run, "linear_fit", fit)
    desk.release()
    desk.release("r2", to="again", file=write_parts(tmp_path / "parts", of=desk.file))
    (rows, design), (same, other) = caught
    assert design == other
    assert (design.n_records, design.rows_per_person) == (N, K)
    for part in ("rows", "weights", "first"):
        np.testing.assert_array_equal(getattr(rows, part), getattr(same, part))
    frame = pd.read_csv(desk.file, skipinitialspace=True).dropna(subset="name")
    kept = frame.groupby("name", sort=False).head(K).groupby("name", sort=False).size()
    np.testing.assert_array_equal(np.diff(rows.first, append=len(rows.rows)), kept.to_numpy())
    assert rows.most == K


def test_persons_are_read_after_the_charge_and_before_the_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, seen = desk_at(tmp_path, linear_plan(schema=WITH, n=N), visits()), []
    for name in ("read_persons", "linear_fit"):
        original = getattr(run, name)

        def noted(*given, _original=original, _name=name, **named):
            seen.append(_name)
            return _original(*given, **named)

        monkeypatch.setattr(run, name, noted)
    monkeypatch.setattr(once, "reached", seen.append)
    desk.release()
    wanted = ["booked", "read_persons", "read", "begun", "linear_fit", "drawn"]
    assert [one for one in seen if one in wanted] == wanted


def test_accounts_of_single_rows_pay_for_no_plan_of_persons(tmp_path: Path) -> None:
    plan = linear_plan(schema=WITH, n=N)
    desk = desk_at(tmp_path, plan, visits())
    with refuses(ReleaseRefusedError, match="persons"):
        desk.release(plan=replace(plan, design=replace(plan.design, n_records=200)))
    desk.ledger.create_dataset(
        "Rows",
        schema_hash=schema_hash(WITH),
        cap=Cap.gdp(20),
        unit="one person",
        person="A",
        other_people=True,
    )
    with refuses(ReleaseRefusedError, match="with several rows"):
        desk.release(dataset="Rows")
    assert desk.spent == "0"


HOSTILE = [
    ["98,f,250,P"] * K,
    ["98,f,60,P"] * K,
    ["18,m,60,P", "98,f,250,P"],
    [",,,P"] * K,
    ["98,f,1e300,P", "x,?,,P", "18,m,-1e300,P", "18,m,60,P", "60,f,130,P"],
    ["60,f,130,P"],
]
"""All rows of one person, in different tables."""


def test_files_that_differ_in_a_person_tell_no_more_than_the_ledger_booked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, *lines = table_lines(7)
    others = [f"{line[: -len('Ada')]}{i // 2}" for i, line in enumerate(lines)]
    guesses = replace(GUESSES, n_rows=100)
    plan = linear_plan(schema=WITH, n=5, n_tolerance=0.0, guesses=guesses)
    desk = desk_at(tmp_path, plan, [head, *others])
    desk = replace(desk, ledger=_wide(desk))
    spies, largest, asked = spy_on(monkeypatch), np.zeros(11), iter(range(1000))
    monkeypatch.setattr(run, "SystemSource", lambda: np.random.default_rng(3))
    spies[:] = [Spy(replay=None)]
    run.price_of(plan)

    def seen(own: list[str], like: Spy | None = None) -> Spy:
        desk.file.write_text("\n".join([head, *own, *others]) + "\n")
        spies[:] = [Spy(replay=None if like is None else iter(like.values))]
        request = f"audit {next(asked)}"
        desk.release(request, to=request, accept=("many_incomplete",))
        return spies[-1]

    for i, own in enumerate(HOSTILE):
        here = seen(own)
        for other in HOSTILE[i + 1 :]:
            cost = spent(here, seen(other, like=here))
            largest = np.maximum(largest, cost / claimed(plan.design))
            charge = desk.ledger.find(f"audit {next(asked) - 1}")
            next(asked)
            assert charge is not None
            assert float(cost.sum()) <= float(charge.cost.amount) * (1.0 + 1e-6)
    assert largest.max() <= 1.0 + 1e-6
    assert (largest > 0.3).sum() >= 4


def _wide(desk: Desk) -> Ledger:
    """A ledger that pays for many."""
    ledger = Ledger(desk.folder / "wide.sqlite")
    ledger.create_dataset(
        "Clinic",
        schema_hash=schema_hash(WITH),
        cap=Cap.gdp(1000),
        **desk.plan.account_unit,
        person="A",
    )
    return ledger


def test_a_script_has_the_persons(capsys) -> None:
    plan = linear_plan(schema=WITH, n=N, guesses=replace(GUESSES, n_rows=100))
    script = to_script(plan)
    assert "persons=Persons(column='name', rows=3)" in script
    found: dict = {}
    exec(script, found)
    capsys.readouterr()
    assert found["numbers"] == plan.numbers().to_record()
