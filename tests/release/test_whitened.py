"""A release whose noise is shaped like the records: what is booked, drawn, recorded and said."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from dpci_core import ZCDP, PureDP
from dpci_core.cli.main import main
from dpci_core.plan import DeclaredTable, Plan, PublicTable, as_yaml, read_plan, to_html
from dpci_core.planner.geometry import best_geometry, without_geometry
from dpci_core.release import RecordError, ReleaseRefusedError, load_release, price_of
from dpci_core.release.reading import release_from
from dpci_core.schema import Guesses
from tests.release.test_standard import PLAN as STANDARD
from tests.release.test_standard import SCHEMA, N, desk_at

BUDGET = ZCDP(model="0.05", hessian="0.025", covariance="0.025")
SOURCE = DeclaredTable(
    schema=replace(SCHEMA, standard=None),
    guesses=Guesses(effects={"pressure": 0.02, "log(cost)": 0.3}, n_rows=N),
)
"""Scaled by their bounds, columns are of very different spread, which a metric makes up for."""


@pytest.fixture(scope="module")
def plan() -> Plan:
    design = replace(STANDARD.design, mechanism="objective", budget=BUDGET, regularization=0.002)
    asked = replace(STANDARD, source=SOURCE, design=replace(design, target="penalised"))
    records = asked.records()
    answer = best_geometry(records.X, records.y, design=asked.design, meaning=records.meaning)
    assert answer.gain > 0.0
    return replace(asked, design=answer.design)


def test_the_plan_is_a_file_and_says_what_shapes_its_noise(plan: Plan, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(as_yaml(plan))
    assert read_plan(file) == plan
    assert plan.design.geometry is not None
    assert plan.design.budget.metric > 0
    assert plan.design.budget.total == BUDGET.total
    page = to_html(plan, plan.numbers())
    assert "Second moment" in page
    leverage = f"{plan.design.geometry.leverage:.3g}"
    assert f"rows of leverage above {leverage}" in page
    assert "planning rows" in page


def test_the_metric_is_booked_drawn_and_recorded(plan: Plan, tmp_path: Path) -> None:
    desk = desk_at(tmp_path, plan)
    price = price_of(plan, allow_unreviewed=True)
    made = desk.release(allow_unreviewed=True)
    assert list(made.guarantee.lines) == [
        "metric",
        "model",
        "inexact minimiser",
        "hessian",
        "covariance",
    ]
    assert sum(map(Decimal, made.guarantee.lines.values())) == BUDGET.total == price.cost.amount
    M = np.array(made.second_moment)
    assert M.shape == (len(plan.names),) * 2
    assert np.array_equal(M, M.T)
    assert np.abs(np.array(made.hessian) - np.array(made.hessian).T).max() < 1e-12
    assert "weighted down" in made.covers
    assert any("planning rows" in sentence for sentence in made.assumptions)
    assert load_release(tmp_path / "out").to_json() == made.to_json()
    record = json.loads(made.to_json())
    assert release_from(json.dumps(record).encode()).second_moment == made.second_moment
    del record["matrices"]["second_moment"]
    with pytest.raises(RecordError, match=r"matrices\.second_moment"):
        release_from(json.dumps(record).encode())


def test_without_a_geometry_nothing_of_it_is_written(plan: Plan, tmp_path: Path) -> None:
    bare = replace(plan, design=without_geometry(plan.design))
    assert bare.design.budget.total == plan.design.budget.total
    assert "geometry" not in as_yaml(bare)
    assert "metric" not in as_yaml(bare)
    made = desk_at(tmp_path, bare).release(allow_unreviewed=True)
    assert made.second_moment == ()
    assert "second_moment" not in json.loads(made.to_json())["matrices"]


def test_without_review_it_is_refused_unless_asked_for(plan: Plan) -> None:
    pure = PureDP(model="0.5", hessian="0.25", covariance="0.25", metric="0.1")
    shaped = replace(plan.design, budget=pure)
    assert "docs/proofs/map.md#metric" in shaped.status
    assert without_geometry(shaped).status == ""
    with pytest.raises(ReleaseRefusedError):
        price_of(replace(plan, design=shaped))


def test_the_command_plans_it(tmp_path: Path) -> None:
    design = replace(STANDARD.design, mechanism="objective", target="penalised")
    budget = ZCDP(model="0.09", hessian="0.05", covariance="0.05")
    source = PublicTable(key="census", n_rows=4_000)
    asked = replace(
        STANDARD,
        source=source,
        features=3,
        design=replace(design, budget=budget, regularization=0.001, n_records=4_000),
    )
    file, written = tmp_path / "plan.yaml", tmp_path / "better.yaml"
    file.write_text(as_yaml(asked))
    out = io.StringIO()
    with redirect_stdout(out):
        main(["plan", "geometry", "--plan", str(file), "--json", "--write", str(written)])
    answer = json.loads(out.getvalue())
    assert answer["length"] < answer["plain_length"]
    assert answer["design"]["parts"].keys() == {"metric", "model", "hessian", "covariance"}
    assert "weighted down" in answer["covers"]
    found = read_plan(written)
    assert found.design.geometry is not None
    assert found.numbers().ci_length_mean == pytest.approx(answer["length"], rel=1e-9)
