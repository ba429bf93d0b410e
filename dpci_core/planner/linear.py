"""Which clips, steps and split suit a linear regression: by its goal, in every world."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.base.decimals import DOWN, EXACT
from dpci_core.planner.targets import Target, nearness
from dpci_core.planner.worlds import SURELY, WorldMoments, Worlds, as_worlds, lengthened
from dpci_core.privacy.budget import Budget
from dpci_core.regression.design import LinearDesign

CLIPS = ((1.5, 1.2), (1.5, 2.0), (2.0, 2.0), (3.0, 2.0), (4.0, 3.0), (6.0, 4.0), (8.0, 6.0))
"""Of gradients and of rows; the more records or budget, the larger the ones that pay."""
_SHARES = (
    *(("0.7", "0.2", "0.1"), ("0.6", "0.2", "0.2")),
    *(("0.55", "0.35", "0.1"), ("0.8", "0.1", "0.1")),
)
_STEPS = (3, 2, 4)
_DRAWS = 8
"""Behind a forecast of a search."""
Cost = tuple[int, float]
"""How many effects are not surely reported, then how far away the goal is, farther by what chances
to report lack."""


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """What a design gives in one world: chances to report effects (k,), 0 of those with a bias that
    is only not certain to be small; which these are (k,); and how near it comes to the goal.
    """

    chance: Array
    is_biased: Flags
    near: float


@dataclass(eq=False)
class LinearSearch:
    """The search for the method of a linear regression, for one goal in the same worlds.

    worlds: at least one.
    target: the goal; None for short intervals of all effects.
    has_constant: whether the constant, the last coefficient, counts as an effect.

    Its answers rest on nothing that it was asked before.
    """

    worlds: Sequence[WorldMoments]
    target: Target | None = None
    has_constant: bool = False
    order: list[int] = field(init=False)
    """Places of the worlds, those first that lately ruled out a design."""
    decides: WorldMoments = field(init=False)
    """The world that is least favourable for the design that was found last."""
    is_biased: Flags = field(init=False)
    """Which of its effects (k,) clips may move too far in some world."""
    _seen: dict[tuple[LinearDesign, int], _Seen] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.order = list(range(len(self.worlds)))
        self.decides = self.worlds[0]

    def best(self, design: LinearDesign, *, is_split_free: bool = True) -> LinearDesign:
        """Return the design with the best clips and, where it is free, the best split of its total,
        and then the best number of steps, and clips for those; nothing of the method of `design`
        matters.
        """
        self._seen.clear()
        budgets = _splits(design.budget) if is_split_free else [design.budget]
        usual = replace(design, steps=_STEPS[0])
        found = self._least(
            [
                replace(usual, budget=budget, clip=clip, row_clip=row_clip)
                for budget in budgets
                for clip, row_clip in CLIPS
            ]
        )
        found = self._least([replace(found, steps=steps) for steps in _STEPS])
        clips = [replace(found, clip=clip, row_clip=row_clip) for clip, row_clip in CLIPS]
        found = self._least(clips)
        self.decides = self.worlds[max(self.order, key=lambda at: self._cost(found, [at], found))]
        self.is_biased = np.any([self._of(found, at).is_biased for at in self.order], axis=0)
        return found

    def _least(self, tried: Sequence[LinearDesign]) -> LinearDesign:
        """The design whose cost in all worlds is the least. No further world makes one cost less,
        so each is looked at in another world only while it costs least of all so far.
        """
        usual = tried[0]
        queue: list[tuple[Cost, int, list[int]]] = [((0, 0.0), k, []) for k in range(len(tried))]
        while True:
            before, k, places = heapq.heappop(queue)
            if len(places) == len(self.order):
                return tried[k]
            place = next(one for one in self.order if one not in places)
            cost = self._cost(tried[k], [*places, place], usual)
            heapq.heappush(queue, (cost, k, [*places, place]))
            if cost > before:
                self.order.remove(place)
                self.order.insert(0, place)

    def _cost(self, design: LinearDesign, places: Sequence[int], usual: LinearDesign) -> Cost:
        seen = [self._of(design, place) for place in places]
        near = [one.near for one in seen]
        if self.target is None:  # in each world against the same design
            near = [of / self._of(usual, at).near for of, at in zip(near, places, strict=True)]
        chance = np.min([one.chance for one in seen], axis=0)
        return int(np.count_nonzero(chance < SURELY)), lengthened(max(near), chance)

    def _of(self, design: LinearDesign, place: int) -> _Seen:
        key = design, place
        if key not in self._seen:
            made = self.worlds[place].moments.tried(design=design, n_draws=_DRAWS)
            effects = slice(None if self.has_constant else -1)
            lengths = made.length[effects] if self.target is None else made.length
            near, is_biased = nearness(made, lengths, self.target), made.is_biased[effects]
            chance = np.where(is_biased, 0.0, made.chance_to_report[effects])
            self._seen[key] = _Seen(chance, is_biased, near)
        return self._seen[key]


def _splits(budget: Budget) -> list[Budget]:
    """The splits of the total that are tried."""
    found = []
    for shares in _SHARES:
        model, hessian = (DOWN.multiply(budget.total, Decimal(share)) for share in shares[:2])
        rest = EXACT.subtract(budget.total, EXACT.add(model, hessian))
        found.append(type(budget)(model=model, hessian=hessian, covariance=rest))
    return found


def best_linear_design(
    moments: Worlds,
    *,
    design: LinearDesign,
    target: Target | None = None,
    is_split_free: bool = True,
    has_constant: bool = False,
) -> LinearDesign:
    """Return the design with the clips, the split of its total and the steps with which most
    effects are surely reported in every world and, of those, the goal is nearest in the least
    favourable one; without a goal the intervals are shortest, each against the usual design's.

    The page Plan asks for it at every amount that it looks at.

    Args:
        moments: planning rows, or those of several worlds (`LinearPlan.worlds`).
        design: whose total, n and level are kept; and its split, unless that is free.
        target: the goal.
        has_constant: whether the constant, the last coefficient, counts as an effect.

    Privacy: the rows are taken for public, and the total is spent whatever the split.
    Raises:  ValueError for what are no worlds.
    """
    search = LinearSearch(as_worlds(moments), target, has_constant)
    return search.best(design, is_split_free=is_split_free)
