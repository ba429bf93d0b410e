"""A release in the standard encoding: what it is for, what is not estimable, and effects per
declared step.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpci_core import ZCDP, Design, Logistic
from dpci_core.base.rows import plain
from dpci_core.ledger import Cap
from dpci_core.plan import DeclaredTable, Plan
from dpci_core.planner.standard import ellipsoid
from dpci_core.release import (
    RecordError,
    Release,
    ReleaseInference,
    assumptions_of,
    effect_lines,
    effect_sentences,
    effects,
    load_release,
    once,
    price_of,
    run,
    warnings_of,
)
from dpci_core.release.effects import effect_table, told_odds
from dpci_core.report.cautions import not_reportable, sentences
from dpci_core.report.effect_table import DRAWN_REASON, PLANNED_REASON
from dpci_core.schema import CategoricalColumn, Guesses, NumericColumn, Schema, StandardEncoding
from tests.release_example import Desk

N = 4_000
SCHEMA = Schema(
    (
        NumericColumn("pressure", 80, 240, typical=130, spread=20, step=10),
        NumericColumn("cost", 1, 1e6, typical=1000, spread=3, transform="log"),
        CategoricalColumn("city", ("a", "b"), shares=(0.6, 0.4)),
    ),
    "ill",
    "yes",
    negative=("no",),
    standard=StandardEncoding(shape=3.0),
)
PLAN = Plan(
    title="Pressure",
    source=DeclaredTable(
        schema=SCHEMA, guesses=Guesses(effects={"pressure": 0.02, "log(cost)": 0.3}, n_rows=N)
    ),
    design=Design(
        loss=Logistic(),
        mechanism="output",
        budget=ZCDP(model="20", hessian="20", covariance="20"),
        regularization=0.005,
        calibration="sharp",
        target="unpenalised",
        n_records=N,
    ),
    delta="1e-6",
)


def write(path: Path) -> None:
    rng = np.random.default_rng(3)
    pressure = rng.normal(130, 20, N)
    cost = 1000 * 3 ** rng.standard_normal(N)
    margin = 0.02 * (pressure - 130) + 0.3 * np.log(cost / 1000)
    ill = np.where(rng.random(N) < 1 / (1 + np.exp(-margin)), "yes", "no")
    frame = {"pressure": pressure, "cost": cost, "city": rng.choice(["a", "b"], N), "ill": ill}
    pd.DataFrame(frame).to_csv(path, index=False)


def desk_at(folder: Path, plan: Plan = PLAN) -> Desk:
    desk = Desk.at(folder, plan=plan, cap=Cap.zcdp(1_000))
    write(desk.file)
    return desk


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = desk_at(tmp_path_factory.mktemp("desk"))
    desk.release()
    return desk


@pytest.fixture
def made(desk: Desk) -> Release:
    return load_release(desk.folder / "out")


def lost(made: Release, *names: str) -> Release:
    """The same, were these not estimable."""
    coefficients = (replace(c, is_not_estimable=c.name in names) for c in made.coefficients)
    return replace(made, coefficients=tuple(coefficients), not_reportable=names)


def test_it_is_for_the_effects_and_says_where_the_hessian_is(made: Release, desk: Desk) -> None:
    record = json.loads((desk.folder / "out/release.json").read_text())
    assert record["version"] == 1
    assert record["covers"] == made.covers == "coefficient without penalty"
    assert record["not_reportable"] == list(price_of(PLAN).numbers.not_reportable) == []
    at = np.array(record["matrices"]["hessian_at"])
    assert at.shape == made.theta.shape
    assert not np.array_equal(at, made.theta)  # half way, not at the coefficients
    full = at + (at - made.theta)
    assert abs(full[0]) > abs(made.theta[0])  # towards the coefficient without penalty
    assert made.not_estimable == ()
    pressure, cost = (c.original for c in made.coefficients[:2])
    assert abs(pressure.estimate - 0.02) < 0.01
    assert abs(cost.estimate - 0.3) < 0.2


def test_assumptions_name_no_column_that_is_not_used() -> None:
    said = "\n".join(assumptions_of(PLAN, PLAN.numbers()))
    assert "cost: the logarithm is taken." in said
    assert "Rows longer than 3 spreads count less." in said
    fewer = replace(PLAN, features=("pressure", "city=b"))
    some = "\n".join(assumptions_of(fewer, fewer.numbers()))
    assert "cost" not in some
    assert "Rows longer than 3 spreads count less." in some


def test_the_model_predicts_as_it_was_trained(made: Release) -> None:
    rows = pd.DataFrame({"pressure": [130.0, 1e9], "cost": [1000.0, -5.0], "city": ["a", "?"]})
    first, _ = made.decision(rows)
    v = np.array([0.0, 0.0, (0.0 - 0.4) / 0.5, 1.0]) / 3.0
    assert first == pytest.approx(float(v @ made.theta))
    assert made.predict(rows).shape == (2,)


def test_effects_are_told_per_declared_step(made: Release, desk: Desk) -> None:
    pressure, cost, city = effects(made)
    assert pressure.per == "per 10 of pressure"
    assert pressure.by.estimate == pytest.approx(10 * made.coefficients[0].original.estimate)
    assert pressure.odds is not None
    odds = [told_odds(made)(math.exp(10 * x)) for x in _ends(made.coefficients[0].original)]
    line = f"odds times {odds[0]} per 10 of pressure, 95 % interval {odds[1]} to {odds[2]}"
    assert effect_lines(made)[0] == line
    assert cost.change == "each time cost is doubled"
    assert cost.by.low == pytest.approx(math.log(2) * made.coefficients[1].original.low)
    assert city.step == 1.0
    assert "whose numbers are all 0 (1 where the logarithm is taken)" in effect_sentences(made)[-1]
    page, card = (
        (desk.folder / "out" / name).read_text() for name in ("report.html", "model_card.md")
    )
    shown = f"{odds[0]} ({odds[1]} to {odds[2]})"
    assert f'pressure, per 10</td><td class="number">{shown}'.replace(" ", "") in plainly(page)
    assert f"| ` pressure, per 10 ` | {shown} |" in card
    assert "coefficient without penalty" in card
    assert "Intervals for the coefficient without penalty." in page
    assert "each time cost is doubled, all else equal" in page
    assert "Values of pressure, cost beyond 4 spreads from the typical count as that far." in page
    assert "Rows longer than 3 spreads count less." in page
    assert "per unit of pressure" in page


def plainly(page: str) -> str:
    """A page without blanks of either kind."""
    return page.replace(" ", "").replace("\u00a0", "")


def _ends(interval):
    return interval.estimate, interval.low, interval.high


def test_the_table_holds_effects_and_what_is_covered(desk: Desk, made: Release) -> None:
    rows = list(csv.DictReader(io.StringIO((desk.folder / "out/intervals.csv").read_text())))
    assert [row["coefficient"] for row in rows] == [c.name for c in made.coefficients]
    assert {row["covers"] for row in rows} == {"coefficient without penalty"}
    assert float(rows[0]["step"]) == 10.0
    assert float(rows[0]["odds_ratio"]) == pytest.approx(
        math.exp(10.0 * float(rows[0]["estimate"]))
    )
    assert rows[-1]["odds_ratio"] == rows[-1]["step"] == ""
    assert {row["is_not_estimable"] for row in rows} == {"false"}
    page = (desk.folder / "out/report.html").read_text()
    for name in ("_encoded", "_per_step", "step", "odds_", "not_reportable"):
        assert f"<code>{name}</code>" in page
        assert any(name in head for head in rows[0])


def test_what_is_out_of_reach_has_no_interval_in_a_headline(made: Release) -> None:
    quiet = lost(made, "pressure", "constant")
    sentences = effect_sentences(quiet)
    assert sentences[0] == not_reportable(["pressure"])
    assert sentences[-1] == not_reportable(["constant"])
    assert len(effect_lines(quiet)) == 2
    page, card = (
        run.files_of(quiet, PLAN)["report.html"],
        run.files_of(quiet, PLAN)["model_card.md"],
    )
    assert not_reportable(["pressure", "constant"]) in card
    reason = f"not reportable: {PLANNED_REASON}"
    assert f">{reason}</td>" in page.split("pressure, per 10")[1]
    assert f"| ` pressure, per 10 ` | {reason} |" in card
    assert "Not reportable: pressure." in page
    assert "pressure" not in page.split("<svg")[1].split("</svg>")[0]
    drawn = replace(quiet, not_reportable=())
    assert DRAWN_REASON in run.files_of(drawn, PLAN)["report.html"]
    everything = lost(made, *(c.name for c in made.coefficients))
    assert "<svg" not in run.files_of(everything, PLAN)["report.html"]
    rows = list(csv.DictReader(io.StringIO(run.files_of(quiet, PLAN)["intervals.csv"])))
    assert [row["is_not_estimable"] for row in rows] == ["true", "false", "false", "true"]
    assert [row["not_reportable"] for row in rows] == [PLANNED_REASON, "", "", PLANNED_REASON]
    for row in (rows[0], rows[-1]):
        assert not any(re.fullmatch(r"-?[\d.e+-]+", cell) for cell in row.values())
    for ends in (made.coefficients[0].original, made.coefficients[-1].original):
        for digits in (4, 7):
            assert f"{ends.low:.{digits}g}" not in page + card


def test_what_privacy_costs_is_not_told_from_released_numbers(made: Release) -> None:
    """By the released matrices alone it was told as 1.7 where it was 0.9."""
    shown = effect_table(made)
    assert shown.heads == ("Effect", "Odds ratio (95 % interval)")
    assert {len(cells) for cells in shown.cells} == {2}
    page = run.files_of(made, PLAN)["report.html"]
    assert "ithout privacy" not in page
    assert "from sampling" not in page
    card = run.files_of(made, PLAN)["model_card.md"]
    assert {line.count(" | ") for line in card.splitlines() if line.startswith("| ")} == {1}
    assert "\n|---|---:|\n" in card
    assert shown.rows[0].half == pytest.approx(10 * made.coefficients[0].original.length / 2)
    digits = {len(part.partition(".")[2]) for cells in shown.cells for part in numbers(cells[1])}
    assert len(digits) == 1


def numbers(cell: str) -> list[str]:
    """The numbers in a cell."""
    return re.findall(r"\d+\.\d+", cell)


def test_what_can_be_said_follows_from_the_intervals(made: Release) -> None:
    def told(*ends: tuple[float, float]) -> str:
        rows = tuple(
            replace(row, interval=(sum(one) / 2, *one))
            for row, one in zip(effect_table(made).rows, ends, strict=True)
        )
        return replace(effect_table(made), rows=rows).saying()

    up, down, open_ = (0.1, 0.3), (-0.3, -0.1), (-0.1, 0.3)
    outcome = f"{SCHEMA.target} = {SCHEMA.positive}"
    assert told(up, down, open_) == (
        f"Higher odds of {outcome} go with pressure; lower odds of {outcome} go with cost. "
        "The direction is not established for city: b."
    )
    assert told(up, up, up) == f"Higher odds of {outcome} go with pressure, cost and city: b."
    assert told((0.0, 0.1), open_, open_).startswith(
        "The direction is not established for pressure, cost and"
    )


def test_what_the_plan_calls_out_of_reach_is_marked_whatever_is_drawn(tmp_path: Path) -> None:
    few = ZCDP(model="0.05", hessian="0.01", covariance="0.01")
    plan = replace(PLAN, design=replace(PLAN.design, budget=few, regularization=0.05))
    planned = price_of(plan).numbers.not_reportable
    assert planned
    made = desk_at(tmp_path, plan).release()
    assert made.not_reportable == planned
    assert made.warnings == sentences(warnings_of(plan, price_of(plan)))
    assert not_reportable(planned) in made.warnings
    page, card = (
        (tmp_path / "out" / name).read_text() for name in ("report.html", "model_card.md")
    )
    assert f"<li>{not_reportable(planned)}</li>" in page.split("before the noise was drawn:")[1]
    assert not_reportable(planned) in card
    assert set(planned) <= set(made.not_estimable)
    record = made.to_dict() | {"not_reportable": ["constant"]}
    record["coefficients"][-1]["is_not_estimable"] = False
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(record))
    with pytest.raises(RecordError) as caught:
        load_release(path)
    assert caught.value.field == "not_reportable"


def test_it_is_decided_before_anything_is_booked_or_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, seen = desk_at(tmp_path), []
    price = run.price_of
    monkeypatch.setattr(run, "price_of", lambda *a, **k: seen.append("decided") or price(*a, **k))
    monkeypatch.setattr(once, "reached", seen.append)
    desk.release()
    assert seen[:2] == ["decided", "before booking"]


def test_a_place_of_the_wrong_size_is_named(desk: Desk, tmp_path: Path) -> None:
    record = json.loads((desk.folder / "out/release.json").read_text())
    for change in ([0.0], []):
        record["matrices"]["hessian_at"] = change
        (tmp_path / "release.json").write_text(json.dumps(record))
        with pytest.raises(RecordError) as caught:
            load_release(tmp_path)
        assert caught.value.field == "matrices.hessian_at"


def test_a_penalised_record_says_what_is_left(tmp_path: Path) -> None:
    plan = replace(PLAN, design=replace(PLAN.design, target="penalised"))
    made = desk_at(tmp_path, plan).release()
    assert made.covers.startswith("coefficient penalised at c = 0.005, typically shrunk to about ")
    assert made.hessian_at == tuple(made.theta)
    assert made.covers in (tmp_path / "out/report.html").read_text()


# --- rows measured by a map -----------------------------------------------------------------------


def shaped() -> Plan:
    """The plan with the ellipsoid of its own planning rows in the place of a radius."""
    bare = replace(SCHEMA, standard=StandardEncoding())
    rows = plain(DeclaredTable(schema=bare, guesses=PLAN.source.guesses).records().X)
    standard = StandardEncoding(shape=ellipsoid(rows, 0.9))
    schema = replace(SCHEMA, standard=standard)
    return replace(PLAN, source=replace(PLAN.source, schema=schema))


def test_a_map_changes_what_is_drawn_and_not_what_it_means(tmp_path: Path) -> None:
    plan = shaped()
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    assert Plan.from_query(plan.to_query()) == plan
    desk = desk_at(tmp_path, plan)
    desk.release()
    made = load_release(tmp_path / "out")
    assert made.schema == plan.schema
    pressure, cost, city = (c.original for c in made.coefficients[:3])
    assert abs(pressure.estimate - 0.02) < 0.01
    assert abs(cost.estimate - 0.3) < 0.2
    B = made.mapper.basis
    assert B is not None
    for c, per_spread in zip(made.coefficients[:3], (20.0, math.log(3.0), 0.5), strict=True):
        assert c.scaled.length == pytest.approx(per_spread * c.original.length)
        assert c.planned_scaled == pytest.approx(c.scaled.length, rel=0.15)
    assert pressure.length < 0.02
    np.testing.assert_array_equal(np.rint(made.theta * 2**30), made.theta * 2**30)
    np.testing.assert_allclose([c.released for c in made.coefficients], B @ made.theta, rtol=1e-12)
    penalised = made.coefficients[0]
    assert 0.0 < penalised.released < penalised.scaled.estimate  # of pressure itself, not of a mix
    assert abs(city.estimate) < 0.3  # of which the rows of this table make -0.11, noise 0.01

    answers = ReleaseInference(made)
    assert answers.is_exact
    for c in made.coefficients[:3]:
        alone = answers.contrast({c.name: 1.0}).interval
        assert (alone.low, alone.high) == pytest.approx((c.original.low, c.original.high))

    frame = pd.DataFrame({"pressure": [130.0, 150.0], "cost": [1000.0] * 2, "city": ["a"] * 2})
    low, high = made.decision(frame)
    per_unit = made.mapper.to_original @ B @ made.theta
    assert high - low == pytest.approx(20.0 * per_unit[0])
