"""What the page Plan computes: one design, one target, and the answers. No Streamlit; maths only by
`dpci_core`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from dpci_core import InfeasibleDesignError, Moments
from dpci_core.base.array import Array
from dpci_core.base.errors import ConvergenceError, without_frames
from dpci_core.base.watch import counted
from dpci_core.planner.targets import outcome
from dpci_core.privacy.budget import Budget, to_float_down
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


Answer = tuple[object, Exception | None]


def attempt(make: Callable[[], object]) -> Answer:
    """A value, or None and the error that says why there is none and what helps."""
    try:
        return make(), None
    except (ConvergenceError, ValueError) as problem:
        return None, without_frames(problem)


def is_refusal(why: Exception) -> bool:
    """Whether an error is about designs: there is none, or of one the computation did not end."""
    return isinstance(why, InfeasibleDesignError | ConvergenceError)
