"""Persons in a plan: declared once, in the file only where they are, and on its summary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpci_core import Logistic
from dpci_core.base.rows import PersonRows
from dpci_core.plan import Plan
from dpci_core.plan.script import to_script
from dpci_core.plan.summary import to_html
from dpci_core.release import schema_hash
from dpci_core.schema import Persons
from dpci_core.solvers.moments import fit_moments
from dpci_core.solvers.risk import PenalisedRisk
from tests.release_example import SCHEMA, make_plan

WITH = replace(SCHEMA, persons=Persons("visit of", 3))
PLAN = make_plan(schema=WITH)


def test_the_declaration_says_it_for_the_design() -> None:
    assert PLAN.design.rows_per_person == 3
    assert PLAN.unit == "one person"
    again = Plan.from_dict(PLAN.to_dict())
    assert again == PLAN
    assert Plan.from_query(PLAN.to_query()) == PLAN
    with pytest.raises(ValueError, match="as the schema's persons say"):
        replace(PLAN, design=replace(PLAN.design, rows_per_person=2))
    with pytest.raises(ValueError, match="to be 1"):
        replace(make_plan(), design=PLAN.design)


def test_an_account_of_persons_pays_for_no_plan_of_rows() -> None:
    assert schema_hash(WITH) != schema_hash(SCHEMA)
    assert schema_hash(WITH) == schema_hash(replace(WITH, persons=Persons("visit of", 9)))


@pytest.mark.parametrize(
    ("column", "rows", "named"),
    [("age", 2, "'age' twice"), ("sick", 2, "'sick' twice"), (" ", 2, "name"), ("x", 0, "rows")],
)
def test_a_column_of_persons_is_none_of_the_others(column: str, rows: int, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        replace(SCHEMA, persons=Persons(column, rows))


def test_board_and_script_are_told() -> None:
    page = to_html(PLAN, PLAN.numbers())
    assert "Every single person (one person with up to 3 rows)" in page
    assert "visit of" in page
    assert "as if every person had one row" in page
    script = to_script(PLAN)
    assert "persons=Persons(column='visit of', rows=3)" in script
    assert "rows_per_person=3" in script


def test_planning_with_one_row_a_person_is_never_too_short() -> None:
    """The covariance of averages is at most that of what is averaged, in every direction."""
    rng = np.random.default_rng(8)
    A = rng.uniform(-0.5, 0.5, (90, 3))
    whose = np.repeat(np.arange(30), 3)
    theta = fit_moments(A, np.ones(90), loss=Logistic(), regularization=0.1).theta_hat
    averaged, single = (
        PenalisedRisk(PersonRows.of(A, of, most=3), loss=Logistic(), regularization=0.0).covariance(
            theta
        )
        for of in (whose, np.arange(90))
    )
    assert np.linalg.eigvalsh(single - averaged).min() > -1e-9
