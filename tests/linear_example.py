"""A linear regression on a desk of its own: plan and private file, shared by its tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dpci_core import GDP
from dpci_core.ledger import Cap
from dpci_core.plan import DeclaredTable, LinearPlan
from dpci_core.regression.design import LinearDesign
from dpci_core.schema import (
    CategoricalColumn,
    Guesses,
    NumericColumn,
    Schema,
    StandardEncoding,
)
from tests.release_example import Desk

N = 600
BUDGET = GDP(model="2.8", hessian="0.8", covariance="0.4")
PRESSURE = NumericColumn("pressure", 60, 250, typical=130, spread=18, units="mmHg")
AGE = NumericColumn("age", 18, 98, typical=60, spread=15, step=10, units="years")
SCHEMA = Schema(
    (AGE, CategoricalColumn("sex", ("f", "m"), shares=(0.5, 0.5))),
    outcome=PRESSURE,
    standard=StandardEncoding(shape=4.0),
)
GUESSES = Guesses(n_rows=400, effects={"age": 0.4, "sex=m": -3.0})


def linear_plan(
    *, schema: Schema = SCHEMA, guesses: Guesses = GUESSES, **changes: Any
) -> LinearPlan:
    """A plan that costs mu^2 = 4."""
    design = LinearDesign(budget=BUDGET, n_records=changes.pop("n", N))
    given: dict[str, Any] = {
        "title": "Pressure",
        "source": DeclaredTable(schema=schema, guesses=guesses),
        "design": design,
        "delta": "1e-6",
    }
    return LinearPlan(**(given | changes))


def table_lines(n: int = N, seed: int = 1) -> list[str]:
    """Lines of a table in which pressure rises by 4 in ten years of age, its header first."""
    rng = np.random.default_rng(seed)
    age, sex = rng.normal(60, 15, n).clip(18, 98), rng.choice(["f", "m"], n)
    pressure = 106 + 0.4 * age - 3 * (sex == "m") + rng.normal(0, 14, n)
    rows = zip(age, sex, pressure, strict=True)
    return ["age,sex,pressure,name", *(f"{a:.2f},{s},{t:.2f},Ada" for a, s, t in rows)]


def linear_desk(folder: Path, plan: LinearPlan | None = None) -> Desk:
    """A desk with the file and an account of mu^2 = 400."""
    desk = Desk.at(folder, plan=plan or linear_plan(), cap=Cap.gdp(20))  # type: ignore[arg-type]
    desk.file.write_text("\n".join(table_lines()) + "\n")
    return desk
