"""Does a plan keep its promise in every world that its declaration allows, and in two that it does
not know?

    python -m benchmarks.promised_worlds [--epsilon 1] [--records 8000] [--releases 40]

A declared table of patients with typical values and spreads, 20 % yes and no effect guessed; the
standard encoding, penalty and split of `best_standard`. First what is promised of each effect, then
what simulated releases from fresh rows of each world did: how often the effect is reported, how
often its interval holds the effect of all rows, and its mean length over the longest promised.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from decimal import Decimal

import numpy as np

from dpci_core import (
    CategoricalColumn,
    DeclaredTable,
    Design,
    Guesses,
    Logistic,
    NumericColumn,
    Plan,
    PureDP,
    Schema,
    World,
    fit_moments,
    private_intervals,
    worlds_of,
)
from dpci_core.intervals.forecast import forecast
from dpci_core.planner.promise import chance_to_report
from dpci_core.schema import encode, to_original, twin_table

SCHEMA = Schema(
    (
        NumericColumn("age", 18, 100, typical=64, spread=14, step=10),
        CategoricalColumn("sex", ("F", "M")),
        NumericColumn("pressure", 80, 220, typical=125, spread=17, step=10),
        NumericColumn("bmi", 15, 60, typical=27, spread=5, step=5),
        CategoricalColumn("diabetes", ("no", "yes"), shares=(0.8, 0.2)),
        CategoricalColumn("smoker", ("no", "yes"), shares=(0.75, 0.25)),
    ),
    "readmitted",
    "yes",
    negative=("no",),
)
GUESSES = Guesses(base_rate=0.2)
TABLES = 10


def others() -> tuple[World, ...]:
    """Two worlds that are not among those of the declaration."""
    first = worlds_of(SCHEMA, GUESSES)[0].guesses
    steep = {name: 2.0 * effect for name, effect in first.effects.items()}
    wide = replace(first, correlation=0.7, effects=steep)
    pairs = (("age", "pressure", 0.8), ("bmi", "diabetes", 0.6))
    return (
        World("steep", "columns go together (.7) and effects are twice as large", wide),
        World(
            "pairs",
            "two pairs go together, and 12 % are yes",
            replace(first, pairs=pairs, base_rate=0.12),
        ),
    )


def a_plan(epsilon: str, n: int) -> Plan:
    """The plan of `best_standard` at a total."""
    parts = {"model": "0.6", "hessian": "0.2", "covariance": "0.2"}
    budget = PureDP(**{part: Decimal(epsilon) * Decimal(share) for part, share in parts.items()})
    design = Design(
        loss=Logistic(),
        mechanism="objective",
        budget=budget,
        regularization=0.001,
        calibration="sharp",
        target="unpenalised",
    )
    table = DeclaredTable(schema=SCHEMA, guesses=GUESSES, unit="one patient")
    asked = Plan(title="Patients", source=table, design=design, n_records=n, delta="1e-6")
    return asked.in_standard()[0]


def kept(plan: Plan, world: World, longest: np.ndarray, releases: int) -> str:
    """What simulated releases from fresh rows of a world did, for each effect."""
    n, L = plan.n_records, to_original(plan.schema)[:-1]
    start = replace(world.guesses, n_rows=20_000 + TABLES * n)
    frame = twin_table(plan.schema, start).iloc[20_000:]  # planning rows are the first
    whole = encode(frame, plan.schema, source="simulated", title=world.name)
    fitted = fit_moments(
        whole.X,
        whole.y,
        loss=plan.design.loss,
        regularization=plan.design.regularization,
        target="unpenalised",
    )
    if fitted.unpenalised_fit is None:
        return "its classes can be separated"
    truth = L @ fitted.unpenalised_fit.unweighted
    made = forecast(fitted, design=plan.design, n_records=n, contrasts=L)
    reported, held, lengths = (np.zeros((releases, len(L))) for _ in range(3))
    for k in range(releases):
        rows = slice((k % TABLES) * n, (k % TABLES + 1) * n)
        drawn = private_intervals(
            whole.X[rows],
            whole.y[rows],
            design=plan.design,
            rng=np.random.default_rng(k),
        )
        scale = np.diag(L)
        reported[k] = ~drawn.is_not_estimable[:-1]
        low, high = scale * drawn.low[:-1], scale * drawn.high[:-1]
        held[k], lengths[k] = (low <= truth) & (truth <= high), high - low
    chance = chance_to_report(made)
    return "  ".join(
        f"{100 * chance[j]:4.0f} {100 * reported[:, j].mean():4.0f} {100 * held[:, j].mean():4.0f} "
        f"{lengths[:, j].mean() / longest[j]:5.2f}"
        for j in range(len(L))
    )


def main() -> None:
    """Print the promise, then each world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--records", type=int, default=8_000)
    parser.add_argument("--releases", type=int, default=40)
    asked = parser.parse_args()
    plan = a_plan(asked.epsilon, asked.records)
    found = plan.promise()
    print(
        f"epsilon {asked.epsilon}, n = {asked.records:,}, c = {plan.design.regularization:g}, "
        f"{plan.schema.standard}: {found.reportable} of {len(found.chance)} promised"
    )
    for j, name in enumerate(plan.names[:-1]):
        print(
            f"{name:<14} chance {100 * found.chance[j]:3.0f} %, length {found.shortest[j]:.4f} to "
            f"{found.longest[j]:.4f}, coverage at least {found.coverage[j]:.3f}; decided if "
            f"{found.decided_by[j]}"
        )
    print("forecast chance, reported, held (%), length over the longest promised; each effect")
    for world in (*worlds_of(SCHEMA, GUESSES), *others()):
        print(f"{world.name:<18} {kept(plan, world, found.longest, asked.releases)}", flush=True)


if __name__ == "__main__":
    main()
