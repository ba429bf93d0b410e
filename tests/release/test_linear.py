"""A linear regression from its plan to its report: the whole command line, what is refused, what
the hash covers, what is drawn and in which order, and that nothing of a record gets out.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from dpci_core import GDP, ApproxDP, DPLinearRegression, PureDP, read_plan
from dpci_core.__main__ import main
from dpci_core.base.batches import as_table
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.base.packed import written_out
from dpci_core.base.rows import beside
from dpci_core.estimators import regression as estimator_room
from dpci_core.ledger import Cap
from dpci_core.plan import Acceptance, LinearPlan, Plan, PlanFieldError, PublicTable, as_yaml
from dpci_core.regression import noise as noise_room
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.fit import linear_fit
from dpci_core.release import (
    AfterError,
    LinearRelease,
    ReleaseFailedError,
    ReleaseInference,
    ReleaseRefusedError,
    effect_lines,
    effect_sentences,
    load_release,
    once,
    rehearse,
    run,
    schema_hash,
)
from dpci_core.release.linear import Steps
from dpci_core.release.record import Interval, RecordError
from dpci_core.schema import Guesses, NumericColumn, RecordMapper, Schema
from dpci_core.schema.twin import twin_table
from tests.linear_example import (
    BUDGET,
    GUESSES,
    PRESSURE,
    SCHEMA,
    N,
    linear_desk,
    linear_plan,
    table_lines,
)
from tests.plan_examples import a_design
from tests.refusals import refuses
from tests.regression.test_audit import Spy, claimed, spent, spy_on
from tests.release.test_registry import RULES, breaches
from tests.release_example import Desk

NAMES = ("age", "sex=m", "constant")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return linear_desk(tmp_path)


# --- the whole way --------------------------------------------------------------------------------


def test_the_command_line_goes_the_whole_way(tmp_path: Path, capsys) -> None:
    plan, table, out = tmp_path / "plan.yaml", tmp_path / "table.csv", tmp_path / "out"
    plan.write_text(as_yaml(linear_plan(publish_if=Acceptance(reported=1))))
    table.write_text("\n".join(table_lines()) + "\n")
    ledger = ["--ledger", str(tmp_path / "ledger.sqlite")]

    def said(*words: object, code: int = 0) -> str:
        assert main([str(word) for word in words]) == code
        return capsys.readouterr().out

    shown = said("plan", "show", plan)
    assert "Difference in mmHg known to within ±" in shown
    assert "age, per 10 years" in shown
    assert "2 of 2 coefficients can be reported under all 9 sets of assumptions" in shown
    assert (
        "If the spread of pressure is twice as large as declared, the longest to within ±" in shown
    )
    assert "of 10 rehearsals" in said("plan", "rehearse", plan)
    said("ledger", "create", "Clinic", "--plan", plan, "--mu", "4", *ledger)
    asked = ["release", plan, "--dataset", "Clinic", "--file", table, *ledger]
    assert "second moment 0.8, steps 2.8, covariance 0.4" in said(*asked, "--check")
    assert not out.exists()
    found = said(*asked, "--folder", out, "--confirm", "Clinic", "--accept-warnings")
    assert "mmHg more per 10 years of age, 95 % interval" in found
    assert "Accepted by the plan's own rule." in found
    assert "All files (8) are as they were released." in said("verify", out)
    assert "age=10" in said("after", out, "--contrast", "age=10", "sex=m=-1", "--level", "0.9")
    assert "all 3 together in about" in said("after", out)
    assert "age=60 sex=f: mean 1" in said("after", out, "--predict", "age=60", "sex=f")
    new = tmp_path / "new.csv"
    new.write_text("age,sex\n60,f\n70,f\n,m\n")
    head, one, other, nothing = said("predict", out, new).splitlines()
    assert (head, nothing) == ("prediction", '""')  # a line with one empty cell
    assert float(other) - float(one) == pytest.approx(4.0, abs=2.0)
    entry = yaml.safe_load((out / "deployment.yaml").read_text())
    assert list(breaches(entry, RULES)) == []
    report = (out / "report.html").read_text()
    for words in ("Difference in mmHg (95&nbsp;% interval)", "the influence was cut", "Newton"):
        assert words in report or words.replace("&nbsp;", " ") in report
    assert "odds" not in report.lower().replace("odds_", "")
    made = load_release(out)
    assert isinstance(made, LinearRelease)
    assert made.to_json() == (out / "release.json").read_text()
    assert read_plan(out / "plan.yaml").digest == made.plan_hash


def test_a_better_split_is_a_plan_of_the_same_total(tmp_path: Path, capsys, monkeypatch) -> None:
    """The search itself, in every world: tests/ui/plan/test_linear.py."""
    asked, search = [], LinearPlan.with_best_design

    def in_one_world(plan, worlds):
        asked.append(len(worlds))
        return search(plan, worlds[:1])

    monkeypatch.setattr(LinearPlan, "with_best_design", in_one_world)
    plan, better = tmp_path / "plan.yaml", tmp_path / "better.yaml"
    plan.write_text(as_yaml(linear_plan(guesses=replace(GUESSES, n_rows=100))))
    assert main(["plan", "split", "--plan", str(plan), "--write", str(better)]) == 0
    assert asked == [len(read_plan(plan).worlds())]
    found = capsys.readouterr().out
    assert "steps, clip" in found
    assert "sets of assumptions that were checked" in found
    assert read_plan(better).design.budget.total == BUDGET.total
    asked = ["--plan", str(plan), "--length", "12", "--coefficient", "age"]
    better.unlink()  # no file is written over
    assert main(["plan", "budget", *asked, "--write", str(better)]) == 0
    assert "Most is needed if " in capsys.readouterr().out
    assert read_plan(better).design.budget.total < BUDGET.total
    assert main(["plan", "c", "--plan", str(plan)]) == 1
    assert "plan of a linear regression" in capsys.readouterr().err


def test_a_plan_file_says_all_of_it() -> None:
    plan = linear_plan()
    text = as_yaml(plan)
    assert read_plan(text) == plan
    assert read_plan(text).digest == plan.digest
    assert "model: linear" in text
    assert "base_rate" not in text
    assert "target" not in text
    with pytest.raises(ValueError, match="plan of a linear regression"):
        Plan.from_query(plan.to_query())
    assert LinearPlan.from_query(plan.to_query()) == plan


# --- what is refused ------------------------------------------------------------------------------


def edited(**design: Any) -> dict[str, Any]:
    record = linear_plan().to_dict()
    return record | {"design": record["design"] | design}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", "logistic"),
        ("mechanism", "output"),
        ("regularization", 0.01),
        ("calibration", "sharp"),
        ("target", "unpenalised"),
        ("geometry", {"ridge": 0.03, "leverage": 20}),
    ],
)
def test_what_a_linear_regression_does_not_have_is_refused(name: str, value: object) -> None:
    with pytest.raises(PlanFieldError, match=rf"design\.{name}: A linear regression has none"):
        LinearPlan.from_dict(edited(**{name: value}))


def test_another_model_and_a_pure_epsilon_are_refused() -> None:
    with pytest.raises(PlanFieldError, match=r"design\.model: Expected 'linear'"):
        LinearPlan.from_dict(edited(model="probit"))
    pure = {"definition": "pure", "model": "0.7", "hessian": "0.2", "covariance": "0.1"}
    with pytest.raises(PlanFieldError, match=r"Allow a small delta: ApproxDP\('1', '1e-6'"):
        LinearPlan.from_dict(edited(budget=pure))
    with pytest.raises(InfeasibleDesignError, match="pure epsilon"):
        LinearDesign(budget=PureDP(model="0.7", hessian="0.2", covariance="0.1"), n_records=9)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"missing": 130.0}, "no missing"),
        ({"limit": 3.0}, "no limit"),
        ({"step": 5.0}, "no step"),
        ({"transform": "log", "spread": 1.2}, "no transform"),
    ],
)
def test_what_does_not_go_with_an_outcome_is_refused(changes: dict[str, Any], said: str) -> None:
    with refuses(ValueError, match=said):
        replace(SCHEMA, outcome=replace(PRESSURE, **changes))


def test_declarations_that_do_not_fit_are_refused() -> None:
    with refuses(ValueError, match="typical value and spread"):
        linear_plan(schema=replace(SCHEMA, outcome=PRESSURE.bare()))
    with refuses(ValueError, match=r"schema\.standard"):
        linear_plan(schema=replace(SCHEMA, standard=None))
    with refuses(ValueError, match="no base_rate"):
        linear_plan(guesses=replace(GUESSES, base_rate=0.2))
    with refuses(ValueError, match="declared table"):
        linear_plan(source=PublicTable(key="census"))
    with refuses(ValueError, match="without odds ratios"):
        linear_plan(publish_if=Acceptance(within=1.2))
    with refuses(ValueError, match="no target"):
        Schema(SCHEMA.features, "ill", "yes", outcome=PRESSURE)
    with refuses(ValueError, match="a target with its codes, or an outcome"):
        Schema(SCHEMA.features)
    with refuses(ValueError, match="LinearDesign"):
        linear_plan(design=a_design())


def test_the_hash_covers_the_declaration_of_the_outcome(desk: Desk) -> None:
    digests, accounts = {desk.plan.digest}, {schema_hash(SCHEMA)}
    for change in (
        {"low": 50.0},
        {"high": 260.0},
        {"typical": 131.0},
        {"spread": 19.0},
        {"units": "kPa"},
        {"name": "systolic"},
    ):
        schema = replace(SCHEMA, target="", outcome=replace(PRESSURE, **change))  # type: ignore[arg-type]
        digests.add(linear_plan(schema=schema).digest)
        accounts.add(schema_hash(schema))
    for change in ({"steps": 4}, {"clip": 2.0}, {"row_clip": 2.0}, {"confidence_level": 0.9}):
        design = replace(desk.plan.design, **change)  # type: ignore[arg-type]
        digests.add(linear_plan(design=design).digest)
    assert len(digests) == 11
    assert len(accounts) == 4  # bounds and name say who the people are
    other = linear_plan(schema=replace(SCHEMA, outcome=replace(PRESSURE, high=260.0)))
    with pytest.raises(Exception, match="schema"):
        desk.release(plan=other)
    assert desk.spent == "0"


def test_what_was_approved_is_what_is_released(tmp_path: Path) -> None:
    desk = linear_desk(tmp_path)
    desk.ledger.create_dataset(
        "Ward",
        schema_hash=schema_hash(SCHEMA),
        cap=Cap.gdp(4),
        unit="one row is one person",
        person="A",
        other_people=True,
        needs_approval=True,
    )
    task = run.task_of(desk.plan)
    proposal = once.propose(task, desk.ledger, "Ward", person="Ada", request_id="r9")
    desk.ledger.approve(proposal.proposal_id, person="Bob")
    wider = replace(PRESSURE, typical=140.0)
    other = linear_plan(schema=replace(SCHEMA, outcome=wider))
    with pytest.raises(Exception, match="r9"):
        desk.release("r9", plan=other, dataset="Ward")
    assert desk.release("r9", dataset="Ward").plan_hash == desk.plan.digest


# --- what is drawn --------------------------------------------------------------------------------


def test_price_header_charge_rows_noise_in_this_order(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    for place, name in (
        (run, "price_of"),
        (once, "read_header"),
        (once, "counted"),
        (run, "read_records"),
        (run, "linear_fit"),
    ):
        original = getattr(place, name)

        def noted(*given: Any, _original=original, _name=name, **named: Any) -> Any:
            seen.append(_name)
            return _original(*given, **named)

        monkeypatch.setattr(place, name, noted)
    monkeypatch.setattr(once, "reached", seen.append)
    desk.release()
    wanted = [
        *("price_of", "read_header", "counted", "before booking", "booked"),
        *("read_records", "read", "begun", "linear_fit", "drawn"),
    ]
    assert [one for one in seen if one in wanted] == wanted


def test_it_is_the_computation_of_the_estimator(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run.linear_fit is estimator_room.linear_fit
    caught: list[tuple[Any, LinearDesign, Any]] = []
    original = run.linear_fit

    def fit(rows: Any, *, design: LinearDesign, source: Any) -> Any:
        caught.append((rows.memory, design, source))
        return original(rows, design=design, source=source)

    schema = Schema((SCHEMA.features[0],), outcome=PRESSURE, standard=SCHEMA.standard)
    plan = linear_plan(schema=schema, guesses=Guesses(n_rows=300))
    other = linear_desk(
        desk.folder / "x" if (desk.folder / "x").mkdir() is None else desk.folder, plan
    )
    monkeypatch.setattr(run, "linear_fit", fit)
    monkeypatch.setattr(estimator_room, "linear_fit", fit)
    other.release()
    frame = pd.read_csv(other.file)
    model = DPLinearRegression(
        budget=BUDGET, outcome=PRESSURE, feature_typical=60, feature_spread=15, random_state=None,
        feature_bounds=(18, 98),
    )  # fmt: skip
    model.fit(frame[["age"]], frame["pressure"])
    (rows, design, source), (again, same, real) = caught
    assert design == same
    assert type(source) is type(real)
    scaled = np.column_stack([again.rows[:, 0], again.rows[:, 1:] / 4.0])  # by its R
    np.testing.assert_allclose(rows.rows, scaled, rtol=1e-12)


@pytest.fixture
def audited(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Any:
    """mu^2 between releases of two tables, line by line, as a share of what each was given; the
    whole as a share of what the ledger booked.
    """
    spies = spy_on(monkeypatch)
    monkeypatch.setattr(run, "SystemSource", lambda: np.random.default_rng(3))
    asked = iter(range(100))

    def cost(one: list[str], other: list[str]) -> tuple[np.ndarray, float]:
        found: list[Spy] = []
        spies[:] = [Spy(replay=None)]
        run.price_of(desk.plan)  # its forecast draws as well, once for all releases of a plan
        for lines in (one, other):
            desk.file.write_text("\n".join(lines) + "\n")
            spies[:] = [Spy(replay=iter(found[0].values) if found else None)]
            request = f"audit {next(asked)}"
            desk.release(request, to=request, accept=("many_incomplete",))
            found.append(spies[-1])
        charge = desk.ledger.find(request)
        assert charge is not None
        lines = spent(*found)
        share = float(lines.sum()) / float(charge.cost.amount)
        return lines / claimed(desk.plan.design), share  # type: ignore[arg-type]

    return cost


PAIRS = (
    ("98,f,250,Ada", "98,f,60,Ada"),
    ("18,f,250,Ada", "98,m,60,Ada"),
    (",,,", "60,m,1e300,Ada"),
)
"""Last lines of two tables: opposite gradients, other rows, a record that counts for nothing."""


def small_tables() -> tuple[LinearPlan, list[str]]:
    lines = table_lines(8)
    return linear_plan(n=8, n_tolerance=0.0, guesses=replace(GUESSES, n_rows=100)), lines


def test_two_neighbouring_files_tell_no_more_than_the_ledger_booked(
    desk: Desk, audited: Any
) -> None:
    desk.plan, lines = small_tables()  # type: ignore[assignment]
    largest = np.zeros(11)
    for first, second in PAIRS:
        shares, whole = audited([*lines[:-1], first], [*lines[:-1], second])
        assert whole <= 1.0 + 1e-6
        largest = np.maximum(largest, shares)
    assert largest.max() <= 1.0 + 1e-6
    assert (largest > 0.3).sum() >= 4  # so that a scale that is too small would show


@pytest.mark.parametrize(
    "mutant", ["gradient_sensitivity", "second_moment_sensitivity", "count_sensitivity"]
)
def test_the_audit_sees_a_scale_that_is_too_small(
    mutant: str, desk: Desk, audited: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.plan, lines = small_tables()  # type: ignore[assignment]
    original = getattr(noise_room, mutant)
    monkeypatch.setattr(noise_room, mutant, lambda **of: original(**of) / 4.0)
    shares = [audited([*lines[:-1], one], [*lines[:-1], other])[0] for one, other in PAIRS]
    assert np.max(shares) > 1.3


def test_the_noise_is_of_the_operating_system_and_on_a_grid(desk: Desk) -> None:
    one, other = desk.release(), desk.release("r2", to="again")
    assert one.drawn.phi != other.drawn.phi
    for record in (one, other):  # a power of two below the deviation divides what was drawn
        sd = noise_room.matrix_sd(record.design, record.design.amounts().moment)
        diagonal = np.diag(np.array(record.drawn.second_moment))
        grid = 2.0 ** np.floor(np.log2(sd) - 30)
        np.testing.assert_array_equal(diagonal, np.round(diagonal / grid) * grid)


# --- rows -----------------------------------------------------------------------------------------

CELLS: dict[str, list[object]] = {
    "age": ["60", "75", None, "60", "1e9", "60", "x"],
    "sex": ["f", "m", "f", "?", "m", "f", "f"],
    "pressure": ["130", "148", "130", "130", "1e9", "", "130"],
}


def test_a_record_is_a_function_of_its_cells() -> None:
    mapper = RecordMapper(SCHEMA)
    X, t = mapper.records_of(CELLS)
    rows = beside(t, X).rows  # type: ignore[arg-type]
    # in spreads, by R = 4: level m is half a share away, at spread .5
    np.testing.assert_allclose(rows[0], [0.0, 0.0, -0.25, 0.25])
    np.testing.assert_allclose(rows[1], [1.0, 0.25, 0.25, 0.25])
    np.testing.assert_allclose(rows[4, 0], (250 - 130) / 18)
    np.testing.assert_array_equal(rows[[2, 3, 5, 6]], 0.0)
    assert mapper.note.n_incomplete == 4
    (packed,) = written_out([RecordMapper(SCHEMA).packed(CELLS)])
    np.testing.assert_array_equal(packed.rows, rows)  # type: ignore[union-attr]
    np.testing.assert_array_equal(packed.weights, X.weights)  # type: ignore[union-attr]
    *_, n_complete, n = RecordMapper(SCHEMA).fits(CELLS)
    assert (n_complete, n) == (3, 7)
    assert RecordMapper(SCHEMA).fits(CELLS)[2] == 5  # of the outcome: 1e9 and "" do not fit


def test_a_folder_of_parquet_files_is_released_too(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    frame = pd.read_csv(desk.file)
    frame[: N // 2].to_parquet(folder / "a.parquet")
    frame[N // 2 :].to_parquet(folder / "b.parquet")
    made = desk.release(file=folder)
    assert made.n_records == N
    assert abs(made.coefficients[0].original.estimate - 0.4) < 0.3


def test_a_table_in_other_units_is_refused_before_the_charge(desk: Desk) -> None:
    lines = [line.replace(",Ada", "") for line in table_lines()]
    cells = [line.split(",") for line in lines[1:]]
    desk.file.write_text(
        "\n".join([lines[0], *(f"{a},{s},{float(t) / 7.5:.2f}" for a, s, t in cells)]) + "\n"
    )
    with pytest.raises(ReleaseRefusedError) as caught:
        desk.release()
    assert caught.value.code == "cells_do_not_fit"
    assert caught.value.facts["names"] == "'pressure'"
    assert desk.spent == "0"


def test_the_twin_has_the_declared_outcome() -> None:
    frame = twin_table(SCHEMA, replace(GUESSES, n_rows=20_000))
    assert frame["pressure"].mean() == pytest.approx(130, abs=0.5)
    assert frame["pressure"].std() == pytest.approx(18, rel=0.03)
    slope = np.polyfit(frame["age"], frame["pressure"], 1)[0]
    assert slope == pytest.approx(0.4, abs=0.03)


# --- nothing gets out -----------------------------------------------------------------------------

PLANTED = ("7351946", "ZanzibarLevel", "MsLovelacePlanted")


def test_no_value_of_a_record_is_in_a_file_or_a_message(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    lines = table_lines()
    lines[5:8] = ["7351946.25,f,130,Ada", "60,ZanzibarLevel,7351946.5,Ada", "x7351946,f,,Ada"]
    lines = [line.replace("Ada", "MsLovelacePlanted") for line in lines]
    desk.file.write_text("\n".join(lines) + "\n")
    made = desk.release()
    told = [repr(made), capsys.readouterr().out, *effect_sentences(made), *effect_lines(made)]

    def broken(*given: Any, **named: Any) -> Any:
        raise ValueError(f"cells {PLANTED}")

    monkeypatch.setattr(run, "linear_fit", broken)
    with pytest.raises(ReleaseFailedError) as caught:
        desk.release("r2", to="broken")
    told += [str(caught.value), repr(caught.value.__cause__), repr(caught.value.__context__)]
    for path in desk.folder.rglob("*"):
        if path.is_file() and path != desk.file:
            told.append(path.read_bytes().decode("latin-1"))
    for text in told:
        assert not any(value in text for value in PLANTED)
    assert desk.spent == "8"  # what failed stays spent


# --- the record and what it answers ---------------------------------------------------------------


def test_an_edited_record_is_found_out(desk: Desk) -> None:
    made = desk.release()
    record = json.loads(made.to_json())
    file = desk.folder / "edited.json"

    def load(**changes: Any) -> LinearRelease:
        file.write_text(json.dumps(record | changes))
        found = load_release(file)
        assert isinstance(found, LinearRelease)
        return found

    doubled = [[2.0 * x for x in row] for row in record["matrices"]["covariance"]]
    for name, value in (("covariance", doubled), ("clips", [9.0, 9.0, 9.0])):
        with pytest.raises(AfterError):
            ReleaseInference(load(matrices=record["matrices"] | {name: value}))
    for name, value in (("phi", [1.0]), ("clips", [1.0]), ("metric", [[1.0]])):
        with pytest.raises(RecordError, match=rf"matrices\.{name}"):
            load(matrices=record["matrices"] | {name: value})
    with pytest.raises(RecordError, match=r"design\.mechanism"):
        load(design=record["design"] | {"mechanism": "output"})
    with pytest.raises(RecordError, match="switches"):
        load(switches={})
    assert load().to_json() == made.to_json()


def test_what_a_release_answers_is_what_it_released(desk: Desk) -> None:
    made = desk.release()
    after = ReleaseInference(made)
    assert after.is_exact
    for c in made.coefficients:
        one = after.contrast({c.name: 1.0})
        assert one.interval.low == pytest.approx(c.original.low, rel=1e-9)
        assert one.interval.high == pytest.approx(c.original.high, rel=1e-9)
        wider = after.contrast({c.name: 1.0}, level=0.99).interval
        assert wider.length > c.original.length
        assert (one.p_value < 0.05) == (not c.original.low <= 0.0 <= c.original.high)
        looked = after.contrast({c.name: 1.0}, after_looking=True).interval
        assert looked.length > c.original.length
    at_once = after.together()
    assert 0.85 < at_once.holds < 0.95
    assert 1.0 < at_once.multiplier < 1.35
    bonferroni = after.contrast({"age": 1.0}, level=1.0 - 0.05 / 3).interval
    assert at_once.intervals["age"].length <= bonferroni.length * (1.0 + 1e-9)
    (row,) = after.predict({"age": 60, "sex": "f"})
    mean = made.predict(pd.DataFrame({"age": [60], "sex": ["f"]}))
    assert row.score.estimate == pytest.approx(float(mean[0]))
    assert 120 < row.score.low < row.score.high < 140
    assert row.probability is None
    region = after.region(["age", "sex=m"])
    assert region.contains({"age": made.coefficients[0].original.estimate,
                            "sex=m": made.coefficients[1].original.estimate})  # fmt: skip
    draws = after.draws(4000, rng=np.random.default_rng(1))
    assert np.std(draws[:, 0]) == pytest.approx(np.sqrt(after._law.errors(
        after._to_original[:1]).variance[0, 0]), rel=0.05)  # fmt: skip


def test_joint_intervals_hold_at_once_by_their_law(desk: Desk) -> None:
    after = ReleaseInference(desk.release())
    errors = after._law.errors(after._to_original)
    rng = np.random.default_rng(2)
    fewest = errors._widths.degrees.min()
    scale = np.sqrt(fewest / rng.chisquare(fewest, size=(200_000, 1)))
    drawn = scale * errors.draws(200_000, rng)
    inside = np.all(np.abs(drawn) <= errors.half_width(0.95), axis=1).mean()
    assert errors.together() == pytest.approx(inside, abs=0.004)
    longer = errors.multiplier() * errors.half_width(0.95)
    assert np.all(np.abs(drawn) <= longer, axis=1).mean() == pytest.approx(0.95, abs=0.004)
    far = np.sum((drawn @ np.linalg.inv(np.linalg.cholesky(errors.variance)).T) ** 2, axis=1)
    assert (far <= errors.radius() ** 2).mean() == pytest.approx(0.95, abs=0.004)
    assert errors.beyond(errors.radius() ** 2) == pytest.approx(0.05, abs=1e-6)


def test_intervals_of_rehearsals_cover_the_made_up_effects() -> None:
    found = rehearse(linear_plan(), times=60)
    assert found.truth is not None
    assert found.truth[0] == pytest.approx(4.0, abs=1.2)  # for 10 years, as guessed
    inside = [
        row.interval[1] <= truth <= row.interval[2]
        for table in found.tables
        for row, truth in zip(table.rows, found.truth, strict=True)
        if row.interval is not None and not row.reason
    ]
    assert len(inside) > 100
    assert np.mean(inside) > 0.9
    planned = linear_plan().numbers().original.ci_length[0] * 10.0
    lengths = [table.rows[0].half * 2.0 for table in found.tables]
    assert np.mean(lengths) == pytest.approx(planned, rel=0.1)


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((0.32, 0.41, 0.5), "4.1 mmHg more per 10 years of age, 95 % interval 3.2 to 5.0"),
        ((-0.5, -0.41, -0.32), "4.1 mmHg less per 10 years of age, 95 % interval 3.2 to 5.0"),
        ((-0.11, -0.04, 0.03), "0.4 mmHg less per 10 years of age, 95 % interval 1.1 less to"),
    ],
)
def test_effects_are_told_in_units_of_the_outcome(
    desk: Desk, ends: tuple[float, float, float], said: str
) -> None:
    made = desk.release()
    low, middle, high = ends
    age = replace(
        made.coefficients[0],
        original=Interval(estimate=middle, low=low, high=high),
        is_not_estimable=False,
    )
    made = replace(made, coefficients=(age, *made.coefficients[1:]))
    assert effect_lines(made)[0].startswith(said)
    sentence = effect_sentences(made)[0]
    assert ("not established" in sentence) == (low < 0.0 < high)
    assert "odds" not in "".join(effect_sentences(made))


def test_a_budget_in_epsilon_and_delta_is_spent_as_mu_squared(tmp_path: Path) -> None:
    budget = ApproxDP("3", "1e-6", ("0.7", "0.2", "0.1"))
    plan = linear_plan(design=LinearDesign(budget=budget, n_records=N))
    made = linear_desk(tmp_path, plan).release()
    assert made.guarantee.definition == "gdp"
    assert made.guarantee.epsilon <= 3.0
    assert sum(map(float, made.guarantee.lines.values())) == pytest.approx(
        float(budget.to_gdp().total)
    )


def test_steps_read_back_are_the_fit() -> None:
    rng = np.random.default_rng(1)
    plan = linear_plan()
    table = as_table(plan.rows())
    design = LinearDesign(budget=GDP(model="2.8", hessian="0.8", covariance="0.4"), n_records=400)
    fit = linear_fit(table, design=design, source=rng)
    again = Steps.of(fit).fit(design)
    np.testing.assert_array_equal(
        again.half_widths(plan.contrasts).half_width, fit.half_widths(plan.contrasts).half_width
    )


def test_a_number_without_units_needs_none(tmp_path: Path) -> None:
    bare = NumericColumn("pressure", 60, 250, typical=130, spread=18)
    made = linear_desk(tmp_path, linear_plan(schema=replace(SCHEMA, outcome=bare))).release()
    assert "more per 10 years of age" in effect_lines(made)[0]
    assert "Difference (95" in (tmp_path / "out" / "model_card.md").read_text()
