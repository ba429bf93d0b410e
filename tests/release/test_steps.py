"""A release by clipped Newton steps: by the command line from plan to verification."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from dpci_core import ApproxDP
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.cli.main import main
from dpci_core.plan import Plan, as_yaml, read_plan, to_html
from dpci_core.plan.script import to_script
from dpci_core.release import load_release
from tests.release.test_standard import PLAN as STANDARD
from tests.release.test_standard import desk_at
from tests.release.test_whitened import SOURCE

ASKED = replace(
    STANDARD,
    source=SOURCE,
    design=replace(
        STANDARD.design,
        mechanism="newton",
        target="penalised",
        budget=ApproxDP("4", "1e-6", ("0.8", "0.1", "0.1")),
        regularization=0.002,
    ),
)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """As the command plans it, from a plan without metric and clip."""
    folder = tmp_path_factory.mktemp("plan")
    file, written = folder / "plan.yaml", folder / "better.yaml"
    file.write_text(as_yaml(ASKED))
    out = io.StringIO()
    with redirect_stdout(out):
        assert (
            main(["plan", "geometry", "--plan", str(file), "--json", "--write", str(written)]) == 0
        )
    answer = json.loads(out.getvalue())
    assert answer["plain_length"] is answer["gain"] is None
    found = read_plan(written).expected(Plan)
    assert found.numbers().ci_length_mean == pytest.approx(answer["length"], rel=1e-9)
    assert found.design.clip == answer["clip"] < 1.0
    return found


def test_a_plan_without_a_metric_says_what_it_needs() -> None:
    with pytest.raises(InfeasibleDesignError, match=r"need a metric.*best_geometry"):
        ASKED.numbers()


def test_the_plan_is_a_file_and_says_what_is_cut(plan: Plan) -> None:
    assert plan.design.definition == "gdp"
    page = to_html(plan, plan.numbers())
    said = f"gradients longer than {plan.design.clip:.3g} in that metric cut"
    assert said in page
    assert f"clip={plan.design.clip!r}" in to_script(plan)
    assert not any("certified" in s for s in plan.numbers().rests_on(plan.design))
    assert not any("fit reaches" in s for s in plan.numbers().rests_on(plan.design))


def test_it_is_booked_drawn_and_recorded(plan: Plan, tmp_path: Path) -> None:
    desk = desk_at(tmp_path, plan)
    made = desk.release()
    assert list(made.guarantee.lines) == ["metric", "model", "hessian", "covariance"]
    total = sum(map(Decimal, made.guarantee.lines.values()))
    assert total == plan.design.budget.total
    assert "clipped Newton steps" in made.how
    assert "metric cut" in made.covers
    again = load_release(tmp_path / "out")
    assert again.to_json() == made.to_json()
    assert again.design.clip == plan.design.clip
    lengths = [c.scaled.high - c.scaled.low for c in made.coefficients]
    assert np.mean(lengths) == pytest.approx(plan.numbers().ci_length_mean, rel=0.15)
    with redirect_stdout(io.StringIO()) as said:
        assert main(["verify", str(tmp_path / "out")]) == 0
    assert "as they were released" in said.getvalue()
