"""Plans on the command line: shown, exported, and as the starting point of every question."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

from dpci_core import (
    DeclaredTable,
    Plan,
    StandardEncoding,
    Target,
    best_split,
    needed_budget,
    needed_records,
    rank_mechanisms,
    read_plan,
    write_plan,
)
from dpci_core.__main__ import main
from dpci_core.cli import plan as cli_plan
from dpci_core.cli import plan_export
from dpci_core.intervals.forecast import forecast
from dpci_core.plan import as_json, as_yaml, to_html, to_script
from dpci_core.report.cautions import cautions, sentences
from dpci_core.report.words import percent
from dpci_core.schema import Persons, told_steps
from tests.plan_examples import PLANS, numbers_of
from tests.release_example import make_plan

PLAN = replace(PLANS["twin sharp"], goal=Target(0.05, coefficient=0), title="Ages")
STEPS = dict(zip(PLAN.names, told_steps(PLAN.schema, PLAN.names), strict=True))

SET = ["--data", "census", "--loss", "logistic", "--regularization", "1"]
WAY = ["--mechanism", "output", "--calibration", "sharp"]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "plan.yaml"
    write_plan(PLAN, path)
    return str(path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["plan", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_show_prints_the_numbers(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, "show", file)
    assert found == {"title": "Ages", "digest": PLAN.digest, **numbers_of(PLAN).to_record()}
    assert main(["plan", "show", file]) == 0
    words = capsys.readouterr().out
    for piece in (
        "Ages\n",
        PLAN.digest,
        "at delta = 1e-07",
        "false alarm",
        "n = 50,000",
        "age  ",
        "not peer-reviewed",
    ):
        assert piece in words


def test_show_tells_the_chance_and_the_lengths_of_the_least_favourable_world(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    goal = Target(0.9 * float(numbers_of(PLAN).scaled.ci_length[0]), coefficient=0)
    path = Path(file).with_name("goal.yaml")
    write_plan(replace(PLAN, goal=goal), path)
    promised = said(capsys, "show", str(path))["promise"]
    assert len(promised["worlds"]) > 1
    assert main(["plan", "show", str(path)]) == 0
    words = capsys.readouterr().out
    chance, effects = promised["probability"], promised["effects"]
    longest = max(effects, key=lambda one: one["longest"] * STEPS[one["name"]])
    assert f"{percent(chance)} of releases" in words
    within = math.exp(longest["longest"] * STEPS[longest["name"]] / 2.0)
    assert longest["longest_decided_by"] == promised["worlds"][0]
    told = (
        f"If only {PLAN.promise().fewest:,} records can be used, the longest to within a factor of "
    )
    assert float(words.split(told)[1].split(".\n")[0].split(". ")[0]) == pytest.approx(
        within, abs=1e-5
    )
    assert f"{promised['reportable']} of {len(effects)} coefficients can be reported" in words


def test_export_gives_every_form(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = {
        "script": to_script(PLAN),
        "html": to_html(PLAN, numbers_of(PLAN)),
        "json": as_json(PLAN),
        "yaml": as_yaml(PLAN),
    }
    for form, text in expected.items():
        assert main(["plan", "export", file, "--to", form]) == 0
        assert capsys.readouterr().out == text
        assert main(["plan", "export", file, "--to", form, "-o", str(tmp_path / form)]) == 0
        assert (tmp_path / form).read_bytes().decode() == text
    assert main(["plan", "export", file, "--to", "notebook"]) == 0
    nbformat.validate(nbformat.reads(capsys.readouterr().out, as_version=4))
    assert main(["plan", "export", file, "--to", "link"]) == 0
    link = capsys.readouterr().out.strip()
    assert Plan.from_query({"plan": link.removeprefix("?plan=")}) == PLAN


@pytest.mark.parametrize(
    "asked", [("export", "--to", "yaml", "-o"), ("rehearse", "-o"), ("split", "--plan", "--write")]
)
def test_no_file_that_is_there_is_written_over(
    asked: tuple[str, ...], file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A private table was, by a plan that was to be written elsewhere."""
    table = tmp_path / "clinic.csv"
    table.write_text("age,ill\n40,no\n")
    action, *flags = asked
    before = [file] if action != "split" else []
    given = [flags[0], file, *flags[1:]] if action == "split" else flags
    assert main(["plan", action, *before, *given, str(table)]) == 1
    assert "clinic.csv exists already. Name a new file." in capsys.readouterr().err
    assert table.read_text() == "age,ill\n40,no\n"


def test_an_answer_that_changes_a_plan_does_not_keep_its_approval(tmp_path: Path) -> None:
    path, better, same = (tmp_path / name for name in ("plan.yaml", "better.yaml", "same.yaml"))
    write_plan(replace(PLAN, approved="Approved by the board."), path)
    asked = ["plan", "split", "--plan", str(path), "--write"]
    assert main([*asked, str(better)]) == 0
    found = read_plan(better)
    assert (found.digest != PLAN.digest, found.approved) == (True, "")
    write_plan(replace(found, approved="Approved by the board."), tmp_path / "kept.yaml")
    asked[3] = str(tmp_path / "kept.yaml")
    assert main([*asked, str(same)]) == 0
    assert (read_plan(same).digest, read_plan(same).approved) == (
        found.digest,
        "Approved by the board.",
    )


@pytest.mark.parametrize(
    "asked",
    [("plan", "rehearse"), ("plan", "export", "--to", "html"), ("plan", "split", "--plan")],
)
def test_what_cannot_be_written_is_refused_before_anything_is_computed(
    asked: tuple[str, ...],
    file: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def computed(*_: object, **__: object) -> None:
        raise AssertionError("computed")

    for name in ("rehearse", "read_plan"):
        monkeypatch.setattr(plan_export, name, computed)
    monkeypatch.setattr(cli_plan, "read_plan", computed)
    to = "--write" if "split" in asked else "-o"
    for place, said in (
        (Path(file), "exists already. Name a new file."),
        (tmp_path / "no" / "page", f"There is no {tmp_path / 'no'}."),
    ):
        assert main([*asked, file, to, str(place)]) == 1
        assert said in capsys.readouterr().err


def test_a_target_is_told_of_a_column_by_its_name(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = PLAN.names[0]
    found = said(capsys, "budget", "--plan", file, "--length", "1", "--coefficient", "0")
    assert f"the interval of {name} is at most 1 long" in found["reason"]
    assert f"the interval of {name} " in found["target"]
    asked = ["plan", "records", "--plan", file, "--length", "1e-9", "--coefficient", name]
    assert main(asked) == 1
    refused = capsys.readouterr().err
    assert f"the interval of {name} " in refused
    assert "coefficient 0" not in refused


def test_a_reader_who_leaves_ends_a_command_without_a_word(file: str) -> None:
    """As after `| head -1`, whichever write finds that nobody reads on."""
    for action in (["show", file], ["export", file, "--to", "html"]):
        with subprocess.Popen(
            [sys.executable, "-m", "dpci_core", "plan", *action],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert (process.stderr.read(), process.wait()) == (b"", 141)


def test_a_pipe_that_broke_elsewhere_is_told(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise BrokenPipeError("A worker is gone.")

    monkeypatch.setattr(plan_export, "read_plan", broken)
    assert main(["plan", "show", file]) == 1
    assert capsys.readouterr().err == "A worker is gone.\n"


def test_what_the_system_refuses_is_told_without_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "there.csv"
    there.touch()
    simulate = ["data", "simulate", "census", "--rows", "10", "--folder"]
    assert main([*simulate, str(there)]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"{there} exists already. Name a new one."
    write_plan(PLAN, tmp_path / "plan.yaml")
    asked = ["moments", str(tmp_path / "plan.yaml"), "--public", "--file", str(tmp_path / "none")]
    assert main(asked) == 1
    assert capsys.readouterr().err == f"There is no {tmp_path / 'none'}.\n"


def keeps_its_promise(found: dict[str, Any], plan: Plan) -> None:
    """An answer and the plan that was written for it promise the same."""
    promised = plan.promise()
    assert PLAN.goal is not None
    assert promised.probability == found["probability"] >= PLAN.goal.probability
    assert promised.fewest == found["fewest"] < found["n_records"]
    assert f"even with only {found['fewest']:,} records" in found["reason"]


def test_questions_start_from_a_plan(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worlds, design = PLAN.worlds(), PLAN.design
    fewest = replace(design, n_records=PLAN.fewest)
    split = best_split(worlds, design=fewest)
    better = tmp_path / "better.json"
    found = said(capsys, "split", "--plan", file, "--write", str(better))
    assert (found["length"], found["reason"]) == (split.forecast.ci_length_mean, split.reason)
    planned = replace(split.design, n_records=PLAN.n_records)
    assert read_plan(better) == replace(PLAN, design=planned)
    assert found["epsilon_delta"][1] == 1e-7
    assert found["epsilon_delta"][0] == read_plan(better).numbers().epsilon
    assert PLAN.goal is not None
    records = needed_records(worlds, design=design, target=PLAN.goal, fewest=PLAN.fewest_of)
    better.unlink()
    found = said(capsys, "records", "--plan", file, "--write", str(better))
    assert found["n_records"] == records.n_records
    assert read_plan(better) == replace(PLAN, design=records.design)
    keeps_its_promise(found, read_plan(better))
    other = Target(0.15)
    budget = needed_budget(
        worlds,
        design=replace(design, n_records=10_000),
        target=other,
        delta="1e-7",
        fewest=PLAN.fewest_of,
    )
    found = said(capsys, "budget", "--plan", file, "--length", "0.15", "--n-records", "10000")
    assert (found["n_records"], found["reason"]) == (10_000, budget.reason)
    epsilon = numbers_of(PLAN).epsilon
    ranked = rank_mechanisms(
        worlds, epsilon=epsilon, delta="1e-7", regularization=0.01, n_records=PLAN.fewest
    )
    better.unlink()
    found = said(capsys, "budget", "--plan", file, "--write", str(better))
    keeps_its_promise(found, read_plan(better))
    better.unlink()
    found = said(capsys, "c", "--plan", file, "--write", str(better))
    assert (
        read_plan(better).design.regularization
        == (found["low_bias"] or found["shortest"])["regularization"]
    )
    assert set(found["curve"][0]["shift"]) == set(PLAN.names)
    assert found["reason"].endswith(f" Decided by this: {found['decided_by']}.")
    assert [row["reason"] for row in said(capsys, "rank", "--plan", file)["designs"]] == [
        row.reason for row in ranked
    ]
    only_pure = said(capsys, "rank", "--plan", file, "--epsilon", "0.5", "--delta", "0")["designs"]
    assert {row["definition"] for row in only_pure if row["design"]} == {"pure"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["split", "--plan", "{file}", "--data", "census"], "says it already: --data"),
        (["split", "--plan", "{file}", "--epsilon", "1"], "says it already: --epsilon"),
        (["records", "--plan", "{file}", "--epsilon", "1"], "Change it in a copy of the plan file"),
        (
            ["rank", "--plan", "{file}", "--confidence-level", "0.9"],
            "says it already: --confidence-level",
        ),
        (
            ["split", "--data", "census"],
            "required: --loss, --regularization, --mechanism, --calibration",
        ),
        (
            ["rank", "--data", "census", "--loss", "logistic", "--regularization", "1"],
            "required: --epsilon, --delta",
        ),
        (
            ["split", *SET, *WAY, "--write", "x.yaml"],
            "--write needs --plan",
        ),
    ],
)
def test_flags_that_do_not_go_together(
    arguments: list[str], words: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["plan", *(argument.format(file=file) for argument in arguments)])
    assert left.value.code == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_what_goes_wrong_is_a_sentence(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.yaml").write_text(
        Path(file).read_text().replace("model: '0.06'", "model: '-1'")
    )
    write_plan(replace(PLAN, goal=None), tmp_path / "aimless.yaml")
    bad, aimless = str(tmp_path / "bad.yaml"), str(tmp_path / "aimless.yaml")
    for arguments, words in (
        (["show", bad], "design.budget.model: Expected model=-1 > 0"),
        (["export", bad, "--to", "script"], "design.budget.model"),
        (["split", "--plan", bad], "design.budget.model"),
        (["show", str(tmp_path / "none.yaml")], f"There is no {tmp_path / 'none.yaml'}."),
        (["records", "--plan", aimless], "this plan has no goal"),
        (
            ["export", file, "--to", "json", "-o", str(tmp_path / "no" / "x")],
            f"There is no {tmp_path / 'no'}.",
        ),
        (["split", "--plan", file, "--write", str(tmp_path / "x.txt")], ".yaml, .yml or .json"),
    ):
        assert main(["plan", *arguments]) == 1
        captured = capsys.readouterr()
        assert words in captured.err
        assert captured.out == ""


STANDARD = ["split", "--data", "census", "--rows", "3000", "--features", "3", *SET[2:4], *WAY]


def test_a_plan_becomes_one_for_the_effects_people_mean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = replace(
        PLANS["twin standard"],
        title="Effects",
        design=replace(
            PLANS["twin standard"].design,
            target="penalised",
            regularization=0.01,
            n_records=20_000,
        ),
        goal=Target(0.1),
    )
    source = declared.source
    assert isinstance(source, DeclaredTable)
    bounded = replace(source, schema=replace(source.schema, standard=None))
    before, after = tmp_path / "before.yaml", tmp_path / "after.yaml"
    write_plan(replace(declared, source=bounded), before)
    found = said(capsys, "standard", "--plan", str(before), "--write", str(after))
    plan = read_plan(after)
    shape = tuple(map(tuple, found["shape"]))
    assert plan.schema.standard == StandardEncoding(limit=found["limit"], shape=shape)
    assert plan.design.target == "unpenalised"
    assert plan.design.regularization == found["regularization"] != 0.01
    assert plan.design.budget.total == declared.design.budget.total
    assert plan.goal is None  # its units were those of the other encoding
    numbers = plan.numbers()
    assert found["length"] == pytest.approx(numbers.ci_length_mean)
    assert found["not_reportable"] == list(numbers.not_reportable)
    assert set(found["warnings"]) == set(
        sentences(
            cautions(
                numbers,
                design=plan.design,
                names=plan.names,
                shrinkage=numbers.shrinkage,
                promised=numbers.promise,
            )
        )
    )
    assert main(["plan", "show", str(after)]) == 0
    assert "For the coefficient without penalty." in capsys.readouterr().out
    write_plan(PLAN, before)
    assert main(["plan", "standard", "--plan", str(before)]) == 1
    assert "Expected typical and spread of column 'age'" in capsys.readouterr().err


def test_the_planner_chooses_c_in_the_standard_encoding(
    capsys: pytest.CaptureFixture[str],
) -> None:
    budget = ["--epsilon", "2", "--delta", "1e-6", "--encoding", "standard"]
    found = said(capsys, *STANDARD, *budget)
    given = said(capsys, *STANDARD, *budget, "--regularization", "0.01", "--shape", "3")
    assert found["length"] != given["length"]
    for flags, words in (
        ((*budget, "--regularization", "0.01"), "--shape"),
        ((*budget[:4], "--regularization", "0.01", "--shape", "3"), "--encoding standard"),
    ):
        with pytest.raises(SystemExit):
            main(["plan", *STANDARD, *flags])
        assert words in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["plan", "standard", "--data", "census"])
    assert "--plan is required" in capsys.readouterr().err


def test_warnings_stand_under_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    strong = ["split", *SET, *WAY, "--epsilon", "0.01", "--rows", "500", "--features", "2"]
    (useless, *_, shrunken) = said(capsys, *strong)["warnings"]
    assert "too long to be of use" in useless
    assert "penalised at c = 1, typically shrunk to about" in shrunken
    assert main(["plan", *strong]) == 0
    assert useless in capsys.readouterr().out


def test_persons_are_declared_by_one_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, asked = tmp_path / "plain.yaml", tmp_path / "asked.yaml"
    write_plan(make_plan(mechanism="objective"), plain)
    flags = ["--column", "patient id", "--most", "4", "--n-records", "90", "--write", str(asked)]
    found = said(capsys, "persons", "--plan", str(plain), *flags)
    assert found["protected"] == "one person with up to 4 rows"
    assert found["n_persons"] == 90
    assert found["reason"].startswith("One person with up to 4 rows is protected: with 90 persons")
    plan = read_plan(asked)
    assert plan.persons == Persons("patient id", 4)
    assert main(["plan", "show", str(asked)]) == 0
    shown = capsys.readouterr().out
    assert "in all of its up to 4 rows; the number of persons is public." in shown
    assert "says the column “patient id”: of each person the first 4 rows count" in shown
    assert (plan.n_records, plan.design.rows_per_person) == (90, 4)
    ranked = said(capsys, "rank", "--plan", str(asked), "--epsilon", "1", "--delta", "1e-6")
    for row in ranked["designs"]:
        is_gaussian = (row["mechanism"], row["definition"]) == ("objective", "zcdp")
        if is_gaussian and row["calibration"] == "sharp":
            assert row["design"] is None


def test_an_expected_share_of_complete_records_is_given_by_a_flag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, asked = tmp_path / "plain.yaml", tmp_path / "asked.yaml"
    write_plan(make_plan(), plain)
    lengths = [
        said(capsys, "split", "--plan", str(plain), *flags)["length"]
        for flags in ([], ["--complete", "0.7", "--write", str(asked)])
    ]
    assert lengths[0] != lengths[1]
    written = read_plan(asked)
    design = replace(written.design, n_records=written.fewest)
    made = [forecast(one.moments, design=design) for one in written.worlds()]
    of_worlds = [one.ci_length_mean for one in made]
    assert min(abs(length - lengths[1]) for length in of_worlds) < 1e-9 * lengths[1]
    assert lengths[1] >= written.numbers().ci_length_mean  # in the world that decides
    assert written.schema.complete == 0.7
    assert "complete: 0.7" in asked.read_text()
    with pytest.raises(SystemExit):
        main(["plan", "split", "--data", "census", "--complete", "0.7"])
    assert "--complete needs --plan" in capsys.readouterr().err
