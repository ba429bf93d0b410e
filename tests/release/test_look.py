"""The look before a charge: no budget goes on a table of which most would count for nothing, and
what is said of it holds no cell.
"""

from __future__ import annotations

import logging
import re
import traceback
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from dpci_core.base.errors import DataRejectedError
from dpci_core.cli.main import main
from dpci_core.plan import Plan, as_yaml
from dpci_core.release import (
    ACCEPTABLE,
    MemoryFile,
    NotAcceptedError,
    PlanRelease,
    ReleaseRefusedError,
    check_header,
    load_release,
    once,
    release,
)
from dpci_core.release.look import Look, look_at
from dpci_core.report.refusals import said
from dpci_core.schema import CategoricalColumn, NumericColumn, Persons, Schema
from tests.refusals import refuses
from tests.release_example import SCHEMA, Desk, N, make_plan

GOOD = {"age": "50", "city": "a", "sick": "no"}


def table(folder: Path, rows: list[dict[str, str]], name: str = "t.csv") -> Path:
    frame = pd.DataFrame([GOOD | row for row in rows])
    path = folder / name
    if name.endswith(".csv"):
        frame.to_csv(path, index=False)
    elif name.endswith(".parquet"):
        frame.to_parquet(path)
    else:
        path.mkdir()
        for part in range(3):
            frame.iloc[part::3].to_parquet(path / f"{part}.parquet")
    return path


def seen(plan: Plan, file: Path) -> Look:
    found = look_at(plan, check_header(PlanRelease(plan=plan), file))
    assert found is not None
    return found


def problem_of(plan: Plan, file: Path) -> str | None:
    """What a release would be refused for."""
    found = seen(plan, file)
    if found.unfit:
        return "cells_do_not_fit"
    return "many_incomplete" if "many_incomplete" in asks(plan, file) else None


def asks(plan: Plan, file: Path) -> list[str]:
    """Codes of what has to be accepted."""
    return [one.code for one in seen(plan, file).asks]


def with_schema(**changes: object) -> Plan:
    return make_plan(schema=replace(SCHEMA, **changes))


FILES = pytest.mark.parametrize("name", ["t.csv", "t.parquet", "folder"])


@FILES
def test_how_many_cells_fit_is_told_in_coarse_words(tmp_path: Path, name: str) -> None:
    rows = [{"age": "1e3"}] * 121 + [{"city": "c"}] * 9 + [{}] * 70
    found = seen(make_plan(), table(tmp_path, rows, name))
    assert found.columns == (("age", "less than half"), ("city", "nearly all"), ("sick", "all"))
    assert found.unfit == ("age",)
    rows = [{"age": "", "sick": "0"}] * 100 + [{"city": "x", "sick": "0"}] * 100
    found = seen(make_plan(), table(tmp_path, rows, f"other-{name}"))
    assert found.columns == (
        ("age", "between half and 95 %"),
        ("city", "between half and 95 %"),
        ("sick", "none"),
    )
    assert found.unfit == ("sick",)
    assert [one.code for one in found.asks] == ["yes_absent", "no_absent", "many_incomplete"]


@FILES
@pytest.mark.parametrize("n_unfit", [100, 101])
def test_more_than_half_is_refused_and_costs_nothing(
    tmp_path: Path, name: str, n_unfit: int
) -> None:
    """An outcome coded 0 and 1 where the plan says no and yes."""
    desk = Desk.at(tmp_path)
    rows = [{"sick": "1"}] * n_unfit + [{"sick": "yes"}] * 40 + [{}] * (N - n_unfit - 40)
    file = table(tmp_path, rows, name)
    if n_unfit <= N / 2:
        made = desk.release(file=file, accept=["many_incomplete"])
        assert made.n_records == N
        assert desk.spent == "1"
        return
    with refuses(ReleaseRefusedError, match="More than 50 % of the cells.*in 'sick': most") as told:
        desk.release(file=file, accept=ACCEPTABLE)  # not even then
    assert "codes (0 and 1, or no and yes)" in said(told.value)
    assert desk.spent == "0"
    assert desk.ledger.history("Clinic") == ()
    assert not (tmp_path / "out").exists()
    made = desk.release("again", plan=with_schema(positive="1", negative=("no", "yes")), file=file)
    assert made.n_records == N  # put right, it is paid from the same account


@pytest.mark.parametrize(
    ("name", "given", "absent"),
    [("t.csv", "1", "yes"), ("t.parquet", "no", "yes"), ("folder", "yes", "no")],
)
def test_an_outcome_with_a_side_that_nobody_has_is_asked_about(
    tmp_path: Path, name: str, given: str, absent: str
) -> None:
    """A rare "yes" that is spelled otherwise stays below every share, and would be spent for."""
    desk = Desk.at(tmp_path)
    other = {"yes": "no", "no": "yes"}[absent]
    code = {"yes": "yes_absent", "no": "no_absent"}[absent]
    rows = [{"sick": given}] * 9 + [{"sick": other}] * (N - 9)
    file = table(tmp_path, rows, name)
    with refuses(ReleaseRefusedError, match=f"No cell of the outcome is written '{absent}'"):
        desk.release(file=file)
    assert desk.spent == "0"
    one = table(tmp_path, [*rows[:-1], {"sick": absent}], f"one-{name}")
    assert asks(make_plan(), one) == []
    desk.release(file=file, accept=[code])
    assert desk.spent == "1"


@FILES
def test_everything_is_asked_at_once_and_what_was_not_accepted_is_not(
    tmp_path: Path, name: str
) -> None:
    """Who is told that nobody has the outcome has not heard of the incomplete records behind it."""
    desk = Desk.at(tmp_path)
    file = table(tmp_path, [{"city": ""}] * 99 + [{}] * (N - 99), name)
    both = {"yes_absent", "many_incomplete"}
    for accept in ((), ("yes_absent",), ("many_incomplete",), ("no_absent", "many_incomplete")):
        with pytest.raises(NotAcceptedError) as caught:
            desk.release(file=file, accept=accept)
        assert {found.code for found in caught.value.findings} == both
        for told in (
            "is written 'yes'",
            "a cell that is missing or not declared",
            "Nothing was booked",
        ):
            assert told in said(caught.value)
    assert desk.ledger.history("Clinic") == ()
    desk.release(file=file, accept=both)
    assert desk.spent == "1"


@pytest.mark.parametrize("accept", ["many_incomplete", ["cells_do_not_fit"], [True]])
def test_only_a_known_finding_can_be_accepted(tmp_path: Path, accept: object) -> None:
    desk = Desk.at(tmp_path)
    with pytest.raises(ValueError, match="accept"):
        desk.release(accept=accept)
    assert desk.ledger.history("Clinic") == ()


def test_a_level_for_all_others_fits_every_cell(tmp_path: Path) -> None:
    features = (SCHEMA.features[0], replace(SCHEMA.features[1], other="b"))
    file = table(tmp_path, [{"city": "elsewhere"}] * 150 + [{}] * 50)
    assert seen(with_schema(features=features), file).columns[1] == ("city", "all")
    assert seen(make_plan(), file).unfit == ("city",)


def test_a_damaged_parquet_file_is_refused_before_the_charge(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path)
    file = table(tmp_path, [{}] * N, "t.parquet")
    whole = bytearray(file.read_bytes())
    whole[4:40] = b"\xff" * 36
    file.write_bytes(bytes(whole))
    with pytest.raises(DataRejectedError):
        desk.release(file=file)
    assert desk.spent == "0"
    assert desk.ledger.history("Clinic") == ()


def test_all_columns_that_do_not_fit_are_named(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path)
    file = table(tmp_path, [{"age": "18,5", "sick": "1"}] * N)
    with refuses(ReleaseRefusedError, match="in 'age', 'sick': most"):
        desk.release(file=file)


def test_a_declared_share_of_complete_records_moves_the_rule(tmp_path: Path) -> None:
    file = table(tmp_path, [{"age": ""}] * 130 + [{}] * 70)
    assert problem_of(make_plan(), file) == "cells_do_not_fit"
    assert problem_of(with_schema(complete=0.3), file) is None
    assert problem_of(with_schema(complete=0.34), file) is None
    assert problem_of(with_schema(complete=0.36), file) == "cells_do_not_fit"
    filled = (replace(SCHEMA.features[0], missing=40.0), SCHEMA.features[1])
    found = seen(with_schema(features=filled), file)
    assert (found.columns[0], found.unfit) == (("age", "all"), ())
    assert "many_incomplete" not in [one.code for one in found.asks]


@pytest.mark.parametrize("cell", ["old", "1e9", "12,5"])
def test_a_declared_value_is_for_empty_cells(tmp_path: Path, cell: str) -> None:
    """A text that is no number, or another unit, is no gap that somebody foresaw."""
    filled = (replace(SCHEMA.features[0], missing=40.0), replace(SCHEMA.features[1], other="b"))
    rows = [{"age": cell, "city": "x"}] * N
    assert seen(with_schema(features=filled), table(tmp_path, rows)).unfit == ("age",)


def test_more_incomplete_records_than_declared_have_to_be_accepted(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path)
    file = table(tmp_path, [{"city": ""}] * 11 + [{"sick": "yes"}] * 80 + [{}] * 109)
    with refuses(
        ReleaseRefusedError,
        match="declares 100 % of them complete.* counts on 171 complete ones only",
    ):
        desk.release(file=file)
    fewer = table(tmp_path, [{"city": ""}] * 35 + [{"sick": "yes"}] * 60 + [{}] * 105, "f.csv")
    with refuses(ReleaseRefusedError, match="will be longer than planned"):
        desk.release("r2", file=fewer)
    assert desk.spent == "0"
    most = with_schema(complete=0.95)
    assert most.usable == 161 < most.fewest == 170
    for n_complete, so in (
        (175, "counts on 161 complete ones only, and no fewer are there"),
        (165, "will be longer than planned"),
    ):
        rows = [{"city": ""}] * (N - n_complete) + [{"sick": "yes"}] * 80 + [{}] * (n_complete - 80)
        (asked,) = seen(most, table(tmp_path, rows, f"{n_complete}.csv")).asks
        assert so in asked.facts["so"]
    assert problem_of(with_schema(complete=0.99), file) is None
    desk.release(file=file, accept=["many_incomplete"])
    assert desk.spent == "1"


@FILES
def test_a_look_changes_no_record_and_no_number_of_a_release(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether looked at or not, the same records reach the draw."""
    from dpci_core.release import run

    drawn = []
    original = run.draw_release

    def draw(X, y=None, **rest):
        drawn.append((X if y is None else (X.copy(), y.copy()), rest["design"]))
        return original(X, y, **rest)

    monkeypatch.setattr(run, "draw_release", draw)
    file = table(tmp_path, [{"sick": "yes"}] * 80 + [{}] * 120, name)
    desk = Desk.at(tmp_path)
    desk.release(file=file)
    monkeypatch.setattr(PlanRelease, "look", lambda self, header: None)
    desk.release("r2", file=file, to="out2")
    (first, design), (second, other) = drawn
    assert design == other
    rows = [next(f.batches[0].chunks()) if name == "folder" else f[0] for f in (first, second)]
    assert (rows[0] == rows[1]).all()


def test_neighbours_on_one_side_of_the_rule_are_told_the_same(tmp_path: Path) -> None:
    """The refusal is a function of counts against a public border, and of nothing else."""
    plan = make_plan()

    def problem(n_unfit: int, first: dict[str, str]) -> str | None:
        rows = [first] + [{"sick": "?"}] * n_unfit + [{}] * (N - 1 - n_unfit)
        return problem_of(plan, table(tmp_path, rows))

    good, bad = {"sick": "no"}, {"sick": "?"}
    for n_unfit in (0, 3, 40, 99, 101, 150, 199):
        told = {problem(n_unfit, first) for first in (good, bad)}
        assert len(told) == 1, n_unfit
    assert problem(100, good) == "many_incomplete"  # exactly half: the one place to tell
    assert problem(100, bad) == "cells_do_not_fit"


def test_what_was_booked_is_not_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk.at(tmp_path)

    class Stopped(BaseException):
        pass

    def stop(stage: str) -> None:
        if stage == "booked":
            raise Stopped

    monkeypatch.setattr(once, "reached", stop)
    with pytest.raises(Stopped):
        desk.release()
    monkeypatch.undo()
    bad = table(tmp_path, [{"sick": "1"}] * N, "bad.csv")
    made = desk.release(file=bad)  # no refusal after the charge, whatever the file holds by now
    assert made.n_records == N
    assert desk.spent == "1"


def umlauts(folder: Path, times: int, encoding: str = "cp1252") -> Path:
    """A table in which so many records have a level with a letter beyond ASCII."""
    rows = [GOOD | {"city": "Köln", "sick": sick} for sick in ("no", "yes") for _ in range(N // 2)]
    frame = pd.DataFrame(rows)
    frame.loc[times:, "city"] = "a"
    path = folder / f"{encoding}{times}.csv"
    frame.to_csv(path, index=False, encoding=encoding)
    return path


@pytest.mark.parametrize(
    ("times", "stop"), [(150, "'city'"), (80, "missing or not declared"), (1, "")]
)
def test_a_file_in_another_encoding_is_told_so_and_stopped_by_nothing_new(
    tmp_path: Path, times: int, stop: str
) -> None:
    """Its letters were told as missing cells alone; one cell that is no text stops no release."""
    schema = replace(
        SCHEMA, features=(SCHEMA.features[0], CategoricalColumn("city", ("a", "Köln")))
    )
    desk = Desk.at(tmp_path, plan=make_plan(schema=schema))
    wrong, right = umlauts(tmp_path, times), umlauts(tmp_path, times, "utf-8")
    hint = "letters in 'city' that are not written in UTF-8"
    (told,) = seen(desk.plan, wrong).hints
    assert hint in said(told)
    assert "K" not in said(told).replace("UTF-8", "")
    assert seen(desk.plan, right).hints == ()
    latin = check_header(PlanRelease(plan=desk.plan), wrong, encoding="latin-1")
    assert look_at(desk.plan, latin) == seen(desk.plan, right)
    if not stop:
        assert desk.release(file=wrong).n_records == N
        return
    with pytest.raises(ReleaseRefusedError) as caught:
        desk.release(file=wrong)
    for part in (hint, stop, "Save it as UTF-8"):
        assert part in said(caught.value)
    assert desk.spent == "0"
    assert desk.release(file=right).n_records == N


def test_what_has_no_hint_is_told_without_one(tmp_path: Path) -> None:
    with pytest.raises(ReleaseRefusedError) as caught:
        Desk.at(tmp_path).release(file=table(tmp_path, [{"city": ""}] * 99 + [{}] * (N - 99)))
    assert said(caught.value).endswith("they are.")


@FILES
def test_no_cell_is_in_what_is_said(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = Desk.at(tmp_path)
    file = table(tmp_path, [{"age": "secret 271828", "sick": "secret 314159"}] * N, name)
    with (
        caplog.at_level(logging.DEBUG),
        pytest.raises(ReleaseRefusedError) as caught,
    ):
        desk.release(file=file)
    look = seen(make_plan(), file)
    told = "".join(traceback.format_exception(caught.value)) + said(caught.value) + repr(look)
    told += caplog.text + "".join(capfd.readouterr())
    kept = b"".join(
        path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file() and path != file and file not in path.parents
    )
    for secret in ("271828", "314159"):
        assert secret not in told
        assert secret.encode() not in kept
    assert str(N) not in repr(look)  # words, no count


def test_a_parquet_file_that_cannot_be_unpacked_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What unpacking takes depends on cells, so it may end a release, and not refuse one."""
    from dpci_core.base.batch import BatchError
    from dpci_core.release import look

    code = "unpacking_too_large"

    def broken(*_: object) -> object:
        raise BatchError(code)

    monkeypatch.setattr(look, "cell_blocks_of", broken)
    file = table(tmp_path, [{"sick": "yes"}] * 80 + [{}] * 120, "t.parquet")
    header = check_header(PlanRelease(plan=make_plan()), file)
    assert look_at(make_plan(), header) is None
    assert Desk.at(tmp_path).release(file=file).n_records == N
    code = "file_changed"
    with pytest.raises(BatchError):
        look_at(make_plan(), header)


def test_persons_are_looked_at_by_their_rows(tmp_path: Path) -> None:
    schema = replace(SCHEMA, persons=Persons("name", 3))
    frame = pd.DataFrame([GOOD | {"name": f"p{i % N}", "sick": "1"} for i in range(2 * N)])
    content = frame.to_csv(index=False).encode()
    plan = make_plan(schema=schema)
    header = check_header(PlanRelease(plan=plan), MemoryFile("t.csv", content))
    found = look_at(plan, header)
    assert found is not None
    assert found.columns == (("age", "all"), ("city", "all"), ("sick", "none"))
    outcomes = ["yes"] * N + ["no"] * 180
    frame = pd.DataFrame(
        [
            GOOD | {"name": f"p{i % N}", "sick": sick, "city": "" if i % 5 == 0 else "a"}
            for i, sick in enumerate(outcomes)
        ]
    )
    found = look_at(
        plan, check_header(PlanRelease(plan=plan), MemoryFile("t.csv", frame.to_csv().encode()))
    )
    assert found is not None
    (asked,) = found.asks
    assert plan.fewest == 171 < (frame.city == "a").sum()  # rows, of how many persons nobody says
    assert "will be longer than planned" in asked.facts["so"]


def test_a_steward_whose_outcome_is_coded_otherwise_keeps_her_budget(tmp_path: Path) -> None:
    """The walk that found it: 8,000 rows coded 0 and 1, and a plan of no and yes."""
    schema = Schema(
        (NumericColumn("bmi", 15, 60), CategoricalColumn("smoker", ("no", "yes"))),
        "readmitted",
        "yes",
        negative=("no",),
    )
    rows = [
        {"bmi": str(20 + i % 20), "smoker": ["no", "yes"][i % 2], "readmitted": str(i % 5 // 4)}
        for i in range(N)
    ]
    file = tmp_path / "registry.csv"
    pd.DataFrame(rows).to_csv(file, index=False)
    desk = Desk.at(tmp_path, plan=make_plan(schema=schema))
    with refuses(ReleaseRefusedError, match="'readmitted'"):
        release(
            desk.plan,
            file,
            ledger=desk.ledger,
            dataset="Clinic",
            person="A",
            request_id="r",
            folder=tmp_path / "out",
        )
    assert desk.spent == "0"
    right = make_plan(schema=replace(schema, positive="1", negative=("0",)))
    desk.release(plan=right, file=file)
    assert load_release(tmp_path / "out").schema.codes == ("1", "0")
    assert desk.spent == "1"


def test_the_command_line_shows_the_look_at_a_terminal_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk.at(tmp_path)
    (tmp_path / "plan.yaml").write_text(as_yaml(desk.plan))
    file = table(tmp_path, [{"sick": "1"}] * N)
    command = ["release", str(tmp_path / "plan.yaml"), "--file", str(file), "--check"]
    assert main([*command, "--ledger", str(tmp_path / "ledger.sqlite")]) == 0
    assert "cells" not in capsys.readouterr().err  # a server's log
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main([*command, "--ledger", str(tmp_path / "ledger.sqlite")]) == 0
    out, told = capsys.readouterr()
    assert re.search(r"sick +none\n", told)
    assert re.search(r"age +all\n", told)
    assert "none" not in out
    assert "codes, spellings" in told
    spend = [*command[:-1], "--dataset", "Clinic", "--folder", str(tmp_path / "out")]
    spend += ["--confirm", "Clinic", "--ledger", str(tmp_path / "ledger.sqlite")]
    assert main(spend) == 1
    every = [word for code in ACCEPTABLE for word in ("--accept", code)]
    assert main([*spend, "--accept-warnings", *every]) == 1
    assert "in 'sick': most of the table" in capsys.readouterr().err
    assert desk.spent == "0"


def test_the_command_line_accepts_by_name_what_it_was_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk.at(tmp_path)
    (tmp_path / "plan.yaml").write_text(as_yaml(desk.plan))
    file = table(tmp_path, [{"city": ""}] * 99 + [{}] * (N - 99))
    spend = ["release", str(tmp_path / "plan.yaml"), "--file", str(file), "--dataset", "Clinic"]
    spend += ["--folder", str(tmp_path / "out"), "--ledger", str(tmp_path / "ledger.sqlite")]
    spend += ["--confirm", "Clinic", "--accept-warnings"]
    for accepted in ([], ["--accept", "yes_absent"]):
        assert main([*spend, *accepted]) == 1
        told = capsys.readouterr().err
        assert "If that is as it should be: --accept yes_absent --accept many_incomplete." in told
    assert desk.spent == "0"
    assert main([*spend, "--accept", "yes_absent", "--accept", "many_incomplete"]) == 0
    assert desk.spent == "1"
