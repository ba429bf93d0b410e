"""Does a plan keep its promise: in every world that its declaration allows, in two that it does not
know, and on random tables?

    python -m benchmarks.bars [--only hospital registry cohort survey] [--records 2000 20000]
                              [--law "pure 1"] [--releases 300] [--two]
    python -m benchmarks.bars --random 40 [--releases 100]

A cell is a declared table, or public planning rows, planned by `best_standard`. A release is
simulated with fresh rows, drawn from 100,000 of its world that the planner did not see; their fit
without penalty is what intervals have to hold. Only effects promised as reportable are judged. A
line a world: the least share of releases that report such an effect, smallest and largest coverage
of its intervals where reported, and the least share that is at most as long as promised with 90 %.
Each is the worst effect's, with its standard error in brackets. The smallest coverage of many
effects is small by chance alone; so a cell ends with how often it would be as small where every one
of them is covered in .93, the least that is asked for. With --two releases come from tables where
two typed things are wrong at once, each all the way: more than a plan promises for.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import bdtr, expit

from dpci_core import (
    ZCDP,
    CategoricalColumn,
    Design,
    Guesses,
    InfeasibleDesignError,
    Logistic,
    NumberGuess,
    NumericColumn,
    PureDP,
    Schema,
    Target,
    World,
    private_intervals,
    worlds_of,
)
from dpci_core.base.array import Array
from dpci_core.intervals.forecast import drawn_intervals
from dpci_core.plan.base import N_TOLERANCE
from dpci_core.planner.promise import MORE_INCOMPLETE, Promise, fewest_records, promise
from dpci_core.planner.standard import best_standard
from dpci_core.planner.targets import outcome_of
from dpci_core.planner.worlds import WorldMoments
from dpci_core.privacy.budget import Budget
from dpci_core.schema import (
    Records,
    StandardEncoding,
    encode,
    meaning_of,
    to_original,
    twin_table,
)
from dpci_core.solvers.moments import Moments, fit_moments

Places = npt.NDArray[np.intp]
FRESH = 100_000
"""Rows of a world that releases are drawn from; the planner never saw them."""
LOWEST_REPORTED, COVERED, KEPT = 0.95, (0.93, 0.97), 0.88
"""What is judged: of an effect promised as reportable, in every world."""
TYPED = ("one direction", "half spreads", "twice the spreads", "off centre", "long tails")
"""Worlds in which what is typed, or assumed in its place, is wrong."""
ERRORS = 3.0
"""Standard errors beyond which a random table counts as a broken promise."""
BUDGETS: dict[str, Budget] = {
    "pure 1": PureDP(model="0.6", hessian="0.2", covariance="0.2"),
    "(1, 1e-6)": ZCDP(model="0.01461", hessian="0.00487", covariance="0.00488"),
}
"""rho .02436 is (1, 1e-6); the planner moves the split."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One cell: planned from some tables, released from others, each by the name of its world.

    n: that is planned for.
    released: records of the releases; None for n.
    """

    title: str
    schema: Schema
    planning: Mapping[str, pd.DataFrame]
    fresh: Mapping[str, pd.DataFrame]
    n: int
    budget: Budget
    is_simulated: bool = True
    released: int | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """A design with what it promises; lengths (k,) in original units, `within` with 90 %."""

    schema: Schema
    design: Design
    promised: Promise
    within: Array

    @property
    def sure(self) -> Places:
        """Places of the effects promised as reportable."""
        return np.flatnonzero(self.promised.chance >= LOWEST_REPORTED)


@dataclass(frozen=True, slots=True)
class Kept:
    """What releases of one world did, each (releases, k); lengths in original units."""

    reported: Array
    held: Array
    is_short: Array
    length: Array

    def broken(self, sure: Places) -> list[str]:
        """Promises that were not kept, beyond Monte Carlo error."""
        found = []
        for j in sure:
            told = self.reported[:, j]
            shares = (
                ("reported", told, LOWEST_REPORTED),
                ("coverage", self.held[told > 0.0, j], COVERED[0]),
                ("length", self.is_short[:, j], KEPT),
            )
            for what, counted, least in shares:
                share = counted.mean() if len(counted) else 1.0
                if share < least - ERRORS * error(least, len(counted)):
                    found.append(f"{what} of effect {j} {share:.3f}")
        return found

    def covered(self, sure: Places) -> Array:
        """Share of the intervals of each effect that hold it, where it is reported."""
        told = self.reported[:, sure]
        held = (self.held[:, sure] * told).sum(axis=0)
        return np.asarray(held / np.maximum(told.sum(axis=0), 1.0))

    def line(self, sure: Places) -> str:
        """The worst effect of each kind."""
        if not len(sure):
            return "nothing promised"
        told, n, covered = self.reported[:, sure], len(self.reported), self.covered(sure)
        return "  ".join(
            f"{share:.3f} ({error(share, n):.3f})"
            for share in (
                told.mean(axis=0).min(),
                covered.min(),
                covered.max(),
                covered.mean(),
                self.is_short[:, sure].mean(axis=0).min(),
            )
        )


def error(share: float, n: int) -> float:
    """Standard error of a share of n releases."""
    return math.sqrt(max(share * (1.0 - share), 1.0 / max(n, 1)) / max(n, 1))


def by_chance(smallest: float, n: int, effects: int) -> float:
    """How often the smallest coverage in n releases, of so many effects each covered in
    `COVERED[0]`, is at most this.
    """
    return 1.0 - (1.0 - float(bdtr(round(smallest * n), n, COVERED[0]))) ** effects


def in_standard(bar: Bar, frame: pd.DataFrame, standard: StandardEncoding) -> Records:
    """The records of a table, as the planner sees them."""
    schema = replace(bar.schema, standard=standard)
    made = encode(frame, schema, source="simulated", title=bar.title)
    meaning = replace(made.meaning, is_simulated=bar.is_simulated)
    return replace(made, meaning=meaning)


def fitted(records: Records, design: Design) -> Moments:
    """The fit of planning rows, and the one without penalty."""
    return fit_moments(
        records.X,
        records.y,
        loss=design.loss,
        regularization=design.regularization,
        target="unpenalised",
        meaning=records.meaning,
    )


def planned(bar: Bar) -> Planned:
    """What `best_standard` makes of a cell, and promises."""
    design = Design(
        loss=Logistic(),
        mechanism="objective",
        budget=bar.budget,
        regularization=0.001,
        n_records=bar.n,
        calibration="sharp",
        target="unpenalised",
    )
    first, *others = (
        lambda standard, frame=frame: in_standard(bar, frame, standard)
        for frame in bar.planning.values()
    )
    fewest = fewest_records(bar.n - math.floor(N_TOLERANCE * bar.n))
    answer = best_standard(first, design=replace(design, n_records=fewest), worlds=others)
    design = replace(answer.design, n_records=bar.n)
    schema = replace(bar.schema, standard=answer.encoding)
    L = to_original(schema)[:-1]
    worlds = [
        WorldMoments(name, fitted(in_standard(bar, frame, answer.encoding), answer.design))
        for name, frame in bar.planning.items()
    ]
    made = promise(worlds, design=design, contrasts=L, fewest=fewest)
    within = []
    for world in worlds:
        drawn = drawn_intervals(world.moments, design=answer.design, contrasts=L)
        asked = (Target(coefficient=j, length=1.0, probability=0.9) for j in range(len(L)))
        within.append([outcome_of(drawn, target).within_reach for target in asked])
    return Planned(schema, design, made, np.max(within, axis=0))


def releases(bar: Bar, plan: Planned, world: str, count: int) -> Kept | None:
    """Simulated releases from rows of a world; None where its classes can be separated."""
    assert plan.schema.standard is not None
    whole = in_standard(bar, bar.fresh[world], plan.schema.standard)
    fit = fitted(whole, plan.design).unpenalised_fit
    if fit is None:
        return None
    basis, constant = whole.meaning.basis, whole.meaning.constant
    truth = (fit.unweighted if basis is None else basis @ fit.unweighted)[:-1]
    scale = np.diag(to_original(plan.schema))[:-1]
    reported, held, is_short, length = (np.zeros((count, len(truth))) for _ in range(4))
    for k in range(count):
        rng = np.random.default_rng([zlib.crc32(f"{bar.title}, {world}".encode()), k])
        rows = rng.integers(0, len(whole.y), bar.released or bar.n)
        made = private_intervals(
            whole.X[rows],
            whole.y[rows],
            design=plan.design,
            rng=rng,
            basis=basis,
            constant=constant,
        )
        low, high = made.low[:-1], made.high[:-1]
        reported[k] = ~made.is_not_estimable[:-1]
        held[k] = (low <= truth) & (truth <= high)
        length[k] = scale * (high - low)
        is_short[k] = length[k] <= plan.within
    return Kept(reported, held, is_short, length)


def twin(schema: Schema, guesses: Guesses, *, n: int = FRESH) -> pd.DataFrame:
    """Rows of a world after those that the planner sees."""
    seen = Guesses().n_rows
    return twin_table(schema, replace(guesses, n_rows=seen + n)).iloc[seen:]


def declared(
    title: str, schema: Schema, guesses: Guesses, n: int, budget: Budget, *, two: bool = False
) -> Bar:
    """A cell planned from its declaration; two: released from `two_at_once`."""
    worlds = worlds_of(schema, guesses)
    of = two_at_once(schema, guesses) if two else (*worlds, *others(schema, guesses))
    return Bar(
        title,
        schema,
        {world.name: twin_table(schema, world.guesses) for world in worlds},
        {one.name: twin(schema, one.guesses) for one in of},
        n,
        budget,
    )


def two_at_once(schema: Schema, guesses: Guesses) -> tuple[World, ...]:
    """Tables in which two typed things are wrong at once, what is left open as in the worlds.

    Of spreads half and twice as large every second number has the one, the rest the other.
    """
    worlds = {world.name: world.guesses for world in worlds_of(schema, guesses)}
    related = max(world.correlation for world in worlds.values())
    base = replace(worlds["half spreads"], numbers={})
    wrong = {name: of for name, of in worlds.items() if name in TYPED}
    wrong["together"] = replace(base, correlation=related)
    made = []
    for (one, a), (other, b) in combinations(wrong.items(), 2):
        both = replace(
            base,
            effects=a.effects if b.effects == base.effects else b.effects,
            correlation=max(a.correlation, b.correlation),
            numbers={
                column.name: merged(column, a, b, place)
                for place, column in enumerate(schema.features)
                if isinstance(column, NumericColumn)
            },
        )
        made.append(World(f"{one}, {other}", (), both))
    return tuple(made)


def merged(column: NumericColumn, a: Guesses, b: Guesses, place: int) -> NumberGuess:
    """A number that is wrong in what either says of it; of two values every second has the one."""
    assert column.typical is not None
    assert column.spread is not None
    told = NumberGuess(column.typical, column.spread)
    found = {}
    for field in fields(NumberGuess):
        first, *values = (
            getattr(of, field.name)
            for of in (told, a.numbers.get(column.name, told), b.numbers.get(column.name, told))
        )
        off = [value for value in values if value != first] or [first]
        found[field.name] = off[place % len(off)]
    return NumberGuess(**found)


def others(schema: Schema, guesses: Guesses) -> tuple[World, ...]:
    """Two worlds that are not among those of the declaration."""
    first = worlds_of(schema, guesses)[0].guesses
    steep = {name: 2.0 * effect for name, effect in first.effects.items()}
    rate = math.sqrt(guesses.rates[0] * 0.6 * guesses.rates[1])
    return (
        World("steep, together", (), replace(first, correlation=0.4, effects=steep)),
        World("fewer yes", (), replace(first, correlation=0.2, base_rate=rate)),
    )


HOSPITAL = Schema(
    (
        NumericColumn("age", 18, 100, typical=62, spread=16, step=10),
        CategoricalColumn("sex", ("f", "m"), shares=(0.5, 0.5)),
        CategoricalColumn("smoker", ("no", "yes"), shares=(0.8, 0.2)),
        NumericColumn("pressure", 60, 260, typical=130, spread=18, step=10),
    ),
    "ill",
    "yes",
    negative=("no",),
)
REGISTRY = Schema(
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
COHORT = Schema(
    (
        NumericColumn("age", 18, 100, typical=50, spread=15, step=10),
        NumericColumn("weight", 30, 200, typical=75, spread=14, step=5),
        NumericColumn("waist", 40, 200, typical=90, spread=13, step=5),
        CategoricalColumn("exposed", ("no", "yes"), shares=(0.99, 0.01)),
        CategoricalColumn("smoker", ("no", "yes"), shares=(0.75, 0.25)),
    ),
    "case",
    "yes",
    negative=("no",),
)


def hospital(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """The hospital: log odds .02 a year, 0, .4 and .02 per mmHg; about 22 % ill."""
    age = np.clip(rng.normal(62.0, 16.0, n), 18.0, 100.0)
    pressure = np.clip(rng.normal(130.0, 18.0, n), 60.0, 260.0)
    is_male, smokes = rng.random(n) < 0.5, rng.random(n) < 0.2
    odds = -1.4 + 0.02 * (age - 62.0) + 0.02 * (pressure - 130.0) + 0.4 * smokes
    return pd.DataFrame(
        {
            "age": age,
            "sex": np.where(is_male, "m", "f"),
            "smoker": np.where(smokes, "yes", "no"),
            "pressure": pressure,
            "ill": np.where(rng.random(n) < expit(odds), "yes", "no"),
        }
    )


def cohort(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Weight and waist correlate by .95; age and smoking act together, which no model here has."""
    age = np.clip(rng.normal(50.0, 15.0, n), 18.0, 100.0)
    size, own = rng.standard_normal(n), rng.standard_normal(n)
    girth = 0.95 * size + math.sqrt(1.0 - 0.95**2) * own
    exposed, smokes = rng.random(n) < 0.01, rng.random(n) < 0.25
    older = (age - 50.0) / 15.0
    odds = -3.6 + 0.5 * older + 0.1 * size + 0.2 * girth + 0.7 * exposed + 0.4 * smokes
    odds += 0.3 * older * smokes
    return pd.DataFrame(
        {
            "age": age,
            "weight": np.clip(75.0 + 14.0 * size, 30.0, 200.0),
            "waist": np.clip(90.0 + 13.0 * girth, 40.0, 200.0),
            "exposed": np.where(exposed, "yes", "no"),
            "smoker": np.where(smokes, "yes", "no"),
            "case": np.where(rng.random(n) < expit(odds), "yes", "no"),
        }
    )


def survey_schema() -> Schema:
    """Age and thirty dummies."""
    columns = [
        CategoricalColumn(name, tuple(f"{name[0]}{k}" for k in range(levels)))
        for name, levels in (("region", 16), ("education", 6), ("job", 11))
    ]
    age = NumericColumn("age", 18, 95, typical=48, spread=17, step=10)
    return Schema((age, *columns), "agrees", "yes", negative=("no",))


def bars(asked: argparse.Namespace) -> list[Bar]:
    """The cells that are asked for."""
    made = []
    for law in asked.law:
        budget, rng = BUDGETS[law], np.random.default_rng(20_261_122)
        public, fresh = hospital(rng, 20_000), hospital(rng, FRESH)
        if "hospital" in asked.only:
            here = {"the hospital": fresh}
            rows = {"planning rows": public}
            title = f"hospital from planning rows, {law}"
            made.append(Bar(title, HOSPITAL, rows, here, 8_000, budget, is_simulated=False))
            typed = Guesses(base_rate=(0.2, 0.25))
            name = f"hospital declared, {law}"
            found = declared(name, HOSPITAL, typed, 8_000, budget, two=asked.two)
            made.append(replace(found, fresh={**here, **found.fresh}))
        if "registry" in asked.only:
            title = f"registry, {law}"
            typed = Guesses(base_rate=0.2)
            made.append(declared(title, REGISTRY, typed, 8_000, budget, two=asked.two))
        for n in asked.records:
            if "cohort" in asked.only:
                pair = Guesses(base_rate=(0.03, 0.06), pairs=(("weight", "waist", 0.95),))
                rows, here = {"pilot": cohort(rng, FRESH)}, {"the cohort": cohort(rng, FRESH)}
                title = f"cohort from a pilot, n = {n:,}, {law}"
                made.append(Bar(title, COHORT, rows, here, n, budget, is_simulated=False))
                name = f"cohort declared, n = {n:,}, {law}"
                found = declared(name, COHORT, pair, n, budget, two=asked.two)
                made.append(replace(found, fresh={**here, **found.fresh}))
            if "survey" in asked.only:
                guesses, title = Guesses(base_rate=(0.3, 0.5)), f"survey, n = {n:,}, {law}"
                made.append(declared(title, survey_schema(), guesses, n, budget))
    return made


def show(bar: Bar, count: int) -> None:
    """Print a cell: what is promised, then what releases of each world did."""
    try:
        plan = planned(bar)
    except InfeasibleDesignError as problem:
        print(f"\n{bar.title}: refused, {problem}", flush=True)
        return
    found, sure = plan.promised, plan.sure
    parts = "/".join(
        f"{float(part / plan.design.budget.total):.2f}" for part in plan.design.budget.parts
    )
    print(
        f"\n{bar.title}: {len(sure)} of {len(found.chance)} promised; "
        f"c = {plan.design.regularization:g}, split {parts}"
    )
    names, told = plan.schema.feature_names, meaning_of(plan.schema).told
    assert told is not None
    width = (told / np.diag(to_original(plan.schema)))[:-1] * found.longest
    for j in sure:
        print(
            f"  {names[j]:<14} chance {found.chance[j]:.2f}, length {found.shortest[j]:.4f} to "
            f"{found.longest[j]:.4f}, 90 % within {plan.within[j]:.4f}; odds interval of two "
            f"spreads a factor of {math.exp(min(width[j], 99.0)):.3g}"
        )
    if len(sure):
        median = math.exp(min(float(np.median(width[sure])), 99.0))
        print(f"  median odds interval of what is promised: a factor of {median:.3g}")
    for j in np.setdiff1d(np.arange(len(width)), sure)[:8]:
        print(
            f"  {names[j]:<14} not promised, if {found.decided_by[j]}; a factor of up to "
            f"{math.exp(min(width[j], 99.0)):.3g}"
        )
    if not len(sure):
        return
    print(
        f"  {'':<34}reported       coverage from  to             mean           "
        "90 % length    mean lengths"
    )
    covered: list[float] = []
    for name in bar.fresh:
        kept = releases(bar, plan, name, count)
        covered += [] if kept is None else kept.covered(sure).tolist()
        said = "separable" if kept is None else kept.line(sure)
        lengths = [] if kept is None else kept.length[:, sure].mean(axis=0)
        said += "  " + " ".join(f"{length:.3g}" for length in lengths[:8])
        print(f"  {name:<34}{said}", flush=True)
        for one in [] if kept is None else kept.broken(sure):
            print(f"    broken: {one}", flush=True)
    if covered:
        chance = by_chance(min(covered), count, len(covered))
        print(
            f"  the smallest coverage of {len(covered)} effects is {min(covered):.3f}; where each "
            f"is covered in {COVERED[0]:g}, it is so small in {chance:.0%} of such runs"
        )


def random_bar(seed: int) -> Bar:
    """A random declaration and a table that it allows."""
    rng = np.random.default_rng([33, seed])
    n_columns = int(rng.integers(2, 13))
    columns: list[NumericColumn | CategoricalColumn] = []
    for k in range(n_columns):
        if rng.random() < 0.5:
            typical, spread = rng.uniform(-50.0, 200.0), float(np.exp(rng.uniform(-2.0, 4.0)))
            low, high = typical - spread * rng.uniform(2, 7), typical + spread * rng.uniform(2, 7)
            column = NumericColumn(f"x{k}", low, high, typical=typical, spread=spread)
            columns.append(column)
        else:
            levels = tuple(f"l{i}" for i in range(int(rng.integers(2, 6))))
            shares = rng.dirichlet(np.full(len(levels), 5.0))
            typed = tuple(map(float, shares / shares.sum())) if rng.random() < 0.5 else None
            columns.append(CategoricalColumn(f"x{k}", levels, shares=typed))
    schema = Schema(tuple(columns), "answer", "yes", negative=("no",))
    rate = float(rng.uniform(0.08, 0.5))
    numbers = [column.name for column in columns if isinstance(column, NumericColumn)]
    r = float(rng.uniform(-0.9, 0.9))
    pairs = ((numbers[0], numbers[1], r),) if len(numbers) > 1 and rng.random() < 0.5 else ()
    guesses = Guesses(
        base_rate=(rate, min(0.6, 1.5 * rate)) if rng.random() < 0.5 else rate, pairs=pairs
    )
    n = round(math.exp(rng.uniform(math.log(2_000), math.log(100_000))))
    epsilon = math.exp(rng.uniform(math.log(0.3), math.log(5.0)))
    is_pure = rng.random() < 0.5
    total = Decimal(f"{epsilon if is_pure else 0.02436 * epsilon**2:.6f}")
    parts = {"model": total / 2, "hessian": total / 4, "covariance": total / 4}
    budget: Budget = PureDP(**parts) if is_pure else ZCDP(**parts)
    worlds = worlds_of(schema, guesses)
    truth, said = allowed(rng, schema, guesses)
    law = "pure" if is_pure else "(eps, 1e-6)"
    fewer, missing = float(rng.uniform(0.0, N_TOLERANCE)), float(rng.uniform(0.0, MORE_INCOMPLETE))
    title = (
        f"table {seed}: {n_columns} columns, {len(schema.feature_names)} features, n = {n:,}, "
        f"{law} {epsilon:.2f}; the truth: {said}, {fewer:.0%} fewer, {missing:.0%} incomplete"
    )
    planning = {world.name: twin_table(schema, world.guesses) for world in worlds}
    fresh = twin(schema, truth).reset_index(drop=True)
    fresh = fresh.where(np.repeat(rng.random((len(fresh), 1)) >= missing, fresh.shape[1], axis=1))
    released = math.ceil(n * (1.0 - fewer))
    return Bar(title, schema, planning, {"the truth": fresh}, n, budget, released=released)


def allowed(rng: np.random.Generator, schema: Schema, guesses: Guesses) -> tuple[Guesses, str]:
    """A table that a declaration allows, with several things off at once, and what they are.

    What is left open is anywhere in its range: the share of "yes", levels whose shares nobody told,
    the size and sign of effects. What is typed or assumed in its place (spreads, centres,
    correlation) is off in all of it together by no more than a world is in one thing: the squares
    of their shares of the way add up to one at most.
    """
    worlds = {world.name: world.guesses for world in worlds_of(schema, guesses)}
    first = worlds["as declared"]
    way = rng.standard_normal(3)
    way *= rng.uniform() ** (1.0 / 3.0) / np.linalg.norm(way)
    related = max(world.correlation for world in worlds.values())
    low, high = (math.log(rate / (1.0 - rate)) for rate in guesses.rates)
    rate = float(expit(rng.uniform(low, high)))
    numbers: dict[str, NumberGuess] = {}
    shares: dict[str, tuple[float, ...]] = {}
    for column in schema.features:
        if isinstance(column, NumericColumn):
            assert column.typical is not None
            assert column.spread is not None
            numbers[column.name] = NumberGuess(
                min(max(column.typical + way[0] * column.spread, column.low), column.high),
                column.spread * 2.0 ** way[1],
            )
        elif isinstance(column, CategoricalColumn) and column.shares is None:
            even = 1.0 / len(column.levels)
            free = rng.dirichlet(np.ones(len(column.levels)))
            drawn = even / 3.0 + (1.0 - 1.0 / 3.0) * free
            shares[column.name] = tuple(map(float, drawn / drawn.sum()))
    effects = {name: float(rng.uniform(-1.0, 1.0)) * size for name, size in first.effects.items()}
    correlation = max(guesses.correlation, related * abs(float(way[2])))
    truth = replace(
        first,
        base_rate=rate,
        effects=effects,
        correlation=correlation,
        numbers=numbers,
        shares={**first.shares, **shares},
    )
    said = (
        f"{rate:.1%} yes, centres {way[0]:+.2f} spreads off, spreads times {2.0 ** way[1]:.2f}, "
        f"correlation {correlation:.2f}, {len(shares)} columns of open shares"
    )
    return truth, said


def show_random(seeds: range, count: int) -> None:
    """Print a line a random table, and the number of broken promises."""
    n_promised = n_broken = 0
    for seed in seeds:
        bar = random_bar(seed)
        try:
            plan = planned(bar)
        except InfeasibleDesignError:
            print(f"{bar.title}: refused", flush=True)
            continue
        sure = plan.sure
        n_promised += len(sure)
        kept = releases(bar, plan, "the truth", count) if len(sure) else None
        said = "" if kept is None else kept.line(sure)
        print(f"{bar.title}; {len(sure)} promised\n  {said}", flush=True)
        for one in [] if kept is None else kept.broken(sure):
            n_broken += 1
            print(f"    broken: {one}", flush=True)
    print(f"{n_promised} effects promised, {n_broken} promises broken")


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bars")
    cells = ("hospital", "registry", "cohort", "survey")
    parser.add_argument("--only", nargs="+", choices=cells, default=cells)
    parser.add_argument("--law", nargs="+", choices=tuple(BUDGETS), default=tuple(BUDGETS))
    parser.add_argument("--records", nargs="+", type=int, default=[2_000, 20_000, 200_000])
    parser.add_argument("--releases", type=int, default=300)
    parser.add_argument("--two", action="store_true", help="two typed things wrong at once")
    parser.add_argument("--random", type=int, default=0, help="so many random tables instead")
    parser.add_argument("--first", type=int, default=0, help="number of the first random table")
    asked = parser.parse_args()
    if asked.random:
        show_random(range(asked.first, asked.first + asked.random), asked.releases)
        return
    for bar in bars(asked):
        show(bar, asked.releases)


if __name__ == "__main__":
    main()
