"""What the page Plan computes: one design, one target, and the answers. No Streamlit; maths only by
`dpci_core`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from dpci_core import Forecast, Moments, SplitAnswer, best_split, forecast
from dpci_core.base.array import Array, Positions
from dpci_core.base.errors import ConvergenceError, without_frames
from dpci_core.base.watch import counted
from dpci_core.planner import search
from dpci_core.planner.split import Shares
from dpci_core.planner.targets import outcome
from dpci_core.privacy.budget import PARTS, Budget, to_float_down
from ui.session.budget import split_of
from ui.session.case import Case
from ui.session.compute import DECLARED, TableSource
from ui.session.settings import Settings
from ui.session.worlds import worlds_of_case

MAP_POINTS = {False: 13, True: 7}
"""Budgets, and numbers of records, at which the map is computed, fewer with more than `MANY`
coefficients (the key); between them it is interpolated in logarithms."""
_FEW = 4
"""Every so many budgets, and numbers of records, a world is looked at before the whole map."""
MAP_RECORDS = (300.0, 1_000_000.0)
MAP_DRAWS = (64, 16, 8, 2)
"""Draws behind a point of a picture: usually, from 11 features on, from 21 on, with more than
`MANY` coefficients. Answers take all of them."""
MANY = 61
SPLIT_SHARES = tuple((k / 10.0) ** 2 for k in (0.4, 0.7, 1, 1.5, 2, 3, 4, 5, 6, 7, 8))
"""Shares of each matrix at which the split's picture is computed, closer where the best ones
lie.
"""


def draws(case: Case) -> int:
    """Draws of the matrix noise behind a point of a picture."""
    p = len(case.moments.theta_hat)
    return MAP_DRAWS[sum(p > most for most in (11, 21, MANY))]


def at(case: Case, total: float, n: float, world: Moments | None = None) -> float:
    """What the map shows: the shortest length that is met as surely as asked, in the units of the
    target, or the chance to tell the value from zero; with the fewest records of a release.

    world: moments of another table than that of the case.
    """
    try:
        design, moments = case.at(decimal(total), case.fewest_of(round(n)))
        found = outcome(world or moments, design=design, target=case.target, n_draws=draws(case))
    except ValueError:  # infeasible there
        return float("nan")
    return found.probability if case.target.is_power else found.within_reach * case.scale


def decimal(value: float) -> Decimal:
    """A number to six digits."""
    return Decimal(f"{value:.6g}")


@dataclass(frozen=True, eq=False)
class IsoMap:
    """Lengths (or chances) by budget and records: values (n_y, n_x), NaN where the design cannot
    run.
    """

    totals: Array
    records: Array
    values: Array


def iso_map(case: Case, source: TableSource) -> IsoMap:
    """The map's values in the worst world at each point; budgets in the currency of the settings.
    Worlds that are the worst at none of a few points are left out.
    """
    points = map_points(case)
    totals = np.geomspace(*case.settings.typed.map_limits, points)
    counts = np.geomspace(*MAP_RECORDS, points)
    kind = type(case.design.budget)
    spent = [own_total(case.settings, kind, total) for total in totals]
    rows = [float(n) for n in counts]
    others = [one.moments for one in worlds_of_case(case, source)[1:]]
    others = others if is_of_all(case) else []

    def values(world: Moments | None, every: int = 1) -> Array:
        few = counted("line", rows[::every])
        return np.array([[at(case, x, n, world) for x in spent[::every]] for n in few])

    found = values(None)
    worst = np.minimum if case.target.is_power else np.maximum  # of NaN and a number NaN
    for world in counted("table", others):
        few = found[::_FEW, ::_FEW]
        if not np.array_equal(worst(few, values(world, _FEW)), few, equal_nan=True):
            found = worst(found, values(world))
    return IsoMap(totals, counts, found)


def is_of_all(case: Case) -> bool:
    """Whether the map is of all tables that a described one may be: a shape that is planned from
    one is none of another.
    """
    return case.settings.dataset == DECLARED and not case.settings.is_shaped


def map_tables(case: Case) -> int:
    """About so many tables are drawn in full."""
    return 3 if is_of_all(case) else 1


def map_points(case: Case) -> int:
    """Budgets, and numbers of records, of the map."""
    return MAP_POINTS[len(case.moments.theta_hat) > MANY]


def own_total(settings: Settings, kind: type[Budget], typed: float) -> float:
    """A typed total as what is spent: the rho or mu^2 that an (epsilon, delta) buys."""
    if not settings.typed.is_promise:
        return typed
    bought = kind.total_within(Decimal(f"{typed:.12g}"), float(settings.delta))
    assert bought is not None
    return to_float_down(bought)


def typed_total(settings: Settings, kind: type[Budget], spent: Decimal) -> float:
    """What is spent as it is typed; epsilon rounded up for (epsilon, delta), so that it buys at
    least as much.
    """
    if not settings.typed.is_promise:
        return float(spent)
    epsilon = kind.epsilon_of(float(spent), float(settings.delta))
    return float(f"{epsilon * 1.0005:.4g}")


@dataclass(frozen=True, eq=False)
class SplitMap:
    """Scores of splits, as the search for the best one scores them: the length of what the goal is
    about, counted as longer where a coefficient's coverage falls short. Shares (k, 3), lengths
    (k,), triangles (t, 3) of neighbouring splits by index.

    best_length: at the best split, from the same few draws as the others, so that what they err by
    cancels.
    """

    shares: Array
    lengths: Array
    triangles: Positions
    best_length: float

    @property
    def loss(self) -> Array:
        """How much longer than at the best split, as a share; (k,)."""
        return self.lengths / self.best_length - 1.0


def locked_parts(case: Case) -> tuple[tuple[str, Decimal], ...]:
    """Names and amounts of the parts that are locked."""
    parts = zip(PARTS, case.design.budget.parts, case.settings.split.locked, strict=True)
    return tuple((name, part) for name, part, is_locked in parts if is_locked)


def split_answer(case: Case, source: TableSource) -> tuple[SplitAnswer, SplitMap]:
    """The best split that keeps what is locked, of all worlds the worst counts; and the lengths
    over all others, as declared.
    """
    locked = dict(locked_parts(case))
    best = best_split(
        worlds_of_case(case, source),
        design=case.at_fewest,
        locked=locked,
        coefficient=case.target.coefficient,
    )
    return best, split_map(case, shares_beside_metric(best))


def shares_beside_metric(best: SplitAnswer) -> Shares:
    """The best shares of what the metric leaves of the total."""
    if not best.design.budget.metric:
        return best.shares
    split = split_of(best.design.budget)
    return split.share(0) / 100.0, split.share(1) / 100.0, split.share(2) / 100.0


def split_map(case: Case, best: Shares) -> SplitMap:
    """Scores over a grid of splits of the same total, or of what the metric leaves of it, finer
    where matrices get little, through the best.

    best: shares of the best split, without which the valley would end beside it.
    """
    along_h, along_s = (sorted({*SPLIT_SHARES, share}) for share in best[1:])
    index: dict[tuple[int, int], int] = {}
    shares: list[tuple[float, float, float]] = []
    lengths: list[float] = []
    for i, h in enumerate(counted("line", along_h)):
        for j, s in enumerate(along_s):
            if h + s > 0.97:
                continue
            index[i, j] = len(shares)
            shares.append((1.0 - h - s, h, s))
            lengths.append(_score(case, h, s))
    cells = []
    for i, j in index:
        right, up, across = index.get((i + 1, j)), index.get((i, j + 1)), index.get((i + 1, j + 1))
        if right is not None and up is not None:
            cells.append((index[i, j], right, up))
            if across is not None:
                cells.append((right, across, up))
    best_length = _score(case, best[1], best[2])
    return SplitMap(
        np.array(shares), np.array(lengths), np.array(cells, dtype=np.intp), best_length
    )


def _score(case: Case, hessian: float, covariance: float) -> float:
    budget = case.design.budget
    rest = budget.total - budget.metric
    h, s = (rest * decimal(share) for share in (hessian, covariance))
    try:
        design = replace(
            case.at_fewest, budget=replace(budget, model=rest - h - s, hessian=h, covariance=s)
        )
        made = forecast(case.moments, design=design, n_draws=draws(case))
        return search.score(made, case.design.confidence_level, case.target.coefficient)
    except ValueError:
        return float("nan")


def length_of(case: Case, made: Forecast) -> float:
    """The length of what the goal is about, longer where coverage falls short."""
    length = search.length_of(made, case.target.coefficient)
    return search.length_score(length, float(made.coverage.min()), case.design.confidence_level)


Answer = tuple[object, Exception | None]


def attempt(make: Callable[[], object]) -> Answer:
    """A value, or None and the error that says why there is none and what helps."""
    try:
        return make(), None
    except (ConvergenceError, ValueError) as problem:
        return None, without_frames(problem)
