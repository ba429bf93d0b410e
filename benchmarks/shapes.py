"""What shapes the noise, and how long intervals are: as declared, as in the planning rows, or as a
released second moment has it.

    python -m benchmarks.shapes

Lengths are forecasts of the effects without penalty in the standard encoding, in spreads,
n = 20,000, as a geometric mean over the effects; beside them how many of these cannot be reported.
The plan is made from one set of rows and forecast for other rows of the same kind. "As declared" is
one radius; a look is a `Geometry` besides the map, its split searched for. The last line of a
budget is the encoding by bounds, penalised at c = 0.001.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.bars import COHORT, HOSPITAL, cohort, hospital
from dpci_core import (
    ZCDP,
    Design,
    Forecast,
    InfeasibleDesignError,
    Logistic,
    PureDP,
    best_geometry,
    fit_moments,
    forecast,
)
from dpci_core.datasets import schema_of, simulate_census
from dpci_core.planner.standard import best_standard, enclosing_regularization
from dpci_core.privacy.budget import Budget
from dpci_core.schema import Records, Schema, StandardEncoding, encode

N = 20_000
BUDGETS: dict[str, Budget] = {
    "pure 1": PureDP(model="0.5", hessian="0.3", covariance="0.2"),
    "rho .1875": ZCDP(model="0.11", hessian="0.05", covariance="0.0275"),
}
Made = Callable[[Schema], Records]


def census(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Some rows of the simulated census."""
    return simulate_census(4 * n).sample(n, random_state=rng).reset_index(drop=True)


TABLES = {
    "census, 10 features": (schema_of("census", standard=StandardEncoding()), census, 10),
    "hospital": (HOSPITAL, hospital, None),
    "cohort": (COHORT, cohort, None),
}


def told(made: Forecast) -> str:
    """Length and what is out of reach, of the effects."""
    length = float(np.exp(np.log(made.ci_length[:-1]).mean()))
    is_out = made.is_not_reportable[:-1]
    return f"{length:.3f}, {int(is_out.sum())} of {len(is_out)} out"


def looked(records: Records, design: Design) -> tuple[Forecast, Forecast]:
    """The best split without a look and with one."""
    found = best_geometry(records.X, records.y, design=design, meaning=records.meaning)
    return found.plain_forecast, found.forecast


def unpenalised(name: str, law: str) -> None:
    """One table in the standard encoding."""
    schema, draw, d = TABLES[name]
    rng = np.random.default_rng(33)
    planning, fresh = (draw(rng, N) for _ in range(2))

    def records(frame: pd.DataFrame, standard: StandardEncoding) -> Records:
        given = replace(schema, standard=standard)
        return encode(frame, given, features=d, source="simulated", title=name)

    design = Design(
        loss=Logistic(),
        mechanism="objective",
        budget=BUDGETS[law],
        regularization=0.001,
        n_records=N,
        calibration="sharp",
        target="unpenalised",
    )
    round_one = records(fresh, StandardEncoding(shape=1.25 * (len(schema.select(d)) + 1) ** 0.5))
    c = enclosing_regularization(design)
    ball, _ = looked(round_one, replace(design, regularization=c))
    found = best_standard(lambda standard: records(planning, standard), design=design)
    of = records(fresh, found.encoding)
    moments = fit_moments(
        of.X,
        of.y,
        loss=design.loss,
        regularization=found.design.regularization,
        target="unpenalised",
        meaning=of.meaning,
    )
    mapped = forecast(moments, design=found.design)
    _, look = looked(of, found.design)
    print(f"| {name}, {law} | {told(ball)} | {told(mapped)} | {told(look)} |", flush=True)


def penalised(law: str) -> None:
    """The census by its bounds."""
    schema, draw, d = TABLES["census, 10 features"]
    frame = draw(np.random.default_rng(33), N)
    bounds = replace(schema, standard=None)
    of = encode(frame, bounds, features=d, source="simulated", title="census")
    design = Design(
        loss=Logistic(),
        mechanism="objective",
        budget=BUDGETS[law],
        regularization=0.001,
        n_records=N,
        calibration="sharp",
    )
    plain, look = looked(of, design)
    print(f"| census by bounds, penalised, {law} | {told(plain)} | - | {told(look)} |", flush=True)


def main() -> None:
    """Print the table."""
    print("| | as declared | map of the planning rows | map and a look |\n|---|---|---|---|")
    for law in BUDGETS:
        for name in TABLES:
            try:
                unpenalised(name, law)
            except InfeasibleDesignError as error:
                print(f"| {name}, {law} | {error} |")
        penalised(law)


if __name__ == "__main__":
    main()
