"""Answers that have to hold in several worlds (`schema.worlds`): the least favourable counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from dpci_core.design import Design, check_design
from dpci_core.intervals.forecast import (
    N_DRAWS,
    DrawnIntervals,
    Forecast,
    drawn_intervals,
    forecast,
)
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.forecast import LinearForecast, PlanningRows
from dpci_core.solvers.moments import Moments

World = TypeVar("World")
Answer = TypeVar("Answer")


AnyDesign = Design | LinearDesign
AnyMoments = Moments | PlanningRows
"""What a design is forecast from: a fit, or of a linear regression the rows themselves."""
AnyForecast = Forecast | LinearForecast
SURELY = 0.98
"""Chance to report from which a search counts on an effect: more than is promised from
(`cautions.REPORTABLE_CHANCE`), since it goes to the edge of what the draws of a forecast allow, and
other draws allow less.
"""
_LOST = 1e4
"""Intervals so many times as long are as bad as one more effect that is never reported: what
shrinks all of them to nothing is not.
"""
_DRAWS_OF_ROWS = 2
"""Draws of a penalised model for one of a linear regression, which takes all planning rows."""


class WorldMoments(NamedTuple):
    """What planning rows of one world say.

    assumption: a phrase that can stand after "if".
    moments: as `fit_moments` gives them, or rows for a linear regression.
    """

    assumption: str
    moments: Any


Worlds = AnyMoments | Sequence[WorldMoments]
"""The moments of planning rows, which are the only world then; or those of several worlds."""
ONLY_WORLD = "the table is like the planning rows"


def as_worlds(given: Worlds) -> tuple[WorldMoments, ...]:
    """Return what was given as worlds, at least one.

    Raises:  ValueError for anything else.
    """
    if isinstance(given, Moments | PlanningRows):
        return (WorldMoments(ONLY_WORLD, given),)
    found = tuple(given) if isinstance(given, Sequence) else ()
    if not found or not all(isinstance(one, WorldMoments) for one in found):
        raise ValueError(
            "Expected moments as `fit_moments` returns them, or `WorldMoments` of several worlds, "
            f"got {type(given).__name__}."
        )
    return found


def foreseen(
    moments: AnyMoments,
    *,
    design: AnyDesign,
    contrasts: npt.ArrayLike | None = None,
    n_draws: int = N_DRAWS,
) -> AnyForecast:
    """Return the forecast of a design in a world, of any model; `contrasts` (k, p) of the
    coefficients of the named features, `n_draws` as of a penalised model.
    """
    if isinstance(design, LinearDesign):
        return _of_rows(moments, design, contrasts, n_draws)
    return forecast(moments, design=design, contrasts=contrasts, n_draws=n_draws)  # type: ignore[arg-type]


def drawn(
    moments: AnyMoments, *, design: AnyDesign, n_draws: int = N_DRAWS
) -> DrawnIntervals | LinearForecast:
    """Return the intervals behind a forecast draw by draw; `n_draws` is that of a penalised
    model, and of a linear one nothing of bias is looked for.
    """
    if isinstance(design, LinearDesign):
        return _of_rows(moments, design, None, n_draws, has_bias=False)
    return drawn_intervals(moments, design=design, n_draws=n_draws)  # type: ignore[arg-type]


def _of_rows(
    moments: object,
    design: LinearDesign,
    contrasts: npt.ArrayLike | None,
    n_draws: int = N_DRAWS,
    *,
    has_bias: bool = True,
) -> LinearForecast:
    if not isinstance(moments, PlanningRows):
        raise ValueError(f"Expected PlanningRows for a LinearDesign, got {type(moments).__name__}.")
    return moments.forecast(
        design=design,
        contrasts=moments.basis if contrasts is None else np.asarray(contrasts) @ moments.basis,
        n_draws=n_draws // _DRAWS_OF_ROWS,
        has_bias=has_bias,
    )


def n_coefficients(moments: AnyMoments) -> int:
    """Return p."""
    return len(moments.basis if isinstance(moments, PlanningRows) else moments.theta_hat)


def check_designed(design: object) -> None:
    """Raise ValueError unless this is a design of any model."""
    if not isinstance(design, LinearDesign):
        check_design(design)


def cost_of(made: Forecast) -> tuple[int, float]:
    """Return what a design costs in a world: coefficients not reportable, then the mean length."""
    return int(made.is_not_reportable.sum()), made.ci_length_mean


def lengthened(length: float, chance: npt.NDArray[np.float64], further: float = 0.0) -> float:
    """Return a length as a search counts it: longer by what chances to report (k,) lack of
    `SURELY`, and by `further` effects.
    """
    lack = float(np.maximum(SURELY - chance, 0.0).sum()) + further
    return float(length * _LOST**lack)


def least_favourable(
    worlds: Sequence[World],
    *,
    solve: Callable[[World], Answer],
    cost: Callable[[Answer, World], Any],
) -> tuple[Answer, World]:
    """Return the answer whose worst cost is the least among those of the worlds that decide, and
    the world that it is the answer for.

    The answer of the first world is tried in all; where it costs most the next one is found, until
    a world decides that was solved already.

    Args:
        worlds: at least one.
        solve: the answer for one world.
        cost: of an answer in a world, ordered.
    """
    found: dict[int, tuple[Any, Answer]] = {}
    place = 0
    while place not in found:
        answer = solve(worlds[place])
        costs = [cost(answer, world) for world in worlds]
        worst = max(range(len(worlds)), key=costs.__getitem__)
        found[place] = costs[worst], answer
        place = worst
    decides = min(found, key=lambda one: found[one][0])
    return found[decides][1], worlds[decides]
