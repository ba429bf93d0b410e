"""Answers that have to hold in several worlds (`schema.worlds`): the least favourable counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from dpci_core.intervals.forecast import Forecast
from dpci_core.solvers.moments import Moments

World = TypeVar("World")
Answer = TypeVar("Answer")


class WorldMoments(NamedTuple):
    """The fit of the planning rows of one world.

    assumption: a phrase that can stand after "if".
    moments: as `fit_moments` gives them.
    """

    assumption: str
    moments: Moments


Worlds = Moments | Sequence[WorldMoments]
"""The moments of planning rows, which are the only world then; or those of several worlds."""
ONLY_WORLD = "the table is like the planning rows"


def as_worlds(given: Worlds) -> tuple[WorldMoments, ...]:
    """Return what was given as worlds, at least one.

    Raises:  ValueError for anything else.
    """
    if isinstance(given, Moments):
        return (WorldMoments(ONLY_WORLD, given),)
    found = tuple(given) if isinstance(given, Sequence) else ()
    if not found or not all(isinstance(one, WorldMoments) for one in found):
        raise ValueError(
            "Expected moments as `fit_moments` returns them, or `WorldMoments` of several worlds, "
            f"got {type(given).__name__}."
        )
    return found


def cost_of(made: Forecast, length: float) -> tuple[int, float]:
    """Return what a design costs in a world: coefficients not reportable, then a length."""
    return int(made.is_not_reportable.sum()), length


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
