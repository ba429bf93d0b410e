"""Designs of a regression of a number for the calculator. No Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpci_core.planner.linear import LinearSearch
from dpci_core.planner.targets import outcome
from dpci_core.planner.worlds import WorldMoments, foreseen
from dpci_core.regression.design import LinearDesign
from dpci_core.report.cautions import unreachable
from ui.plan.options import Amounts, Option, option_of, promise_of
from ui.session.budget import from_shares
from ui.session.case import NumberCase
from ui.session.settings import Settings
from ui.session.worlds import worlds_of_case


@dataclass
class LinearDesigns(Amounts[NumberCase]):
    """The method as it is set by hand: every total and n has the same steps, clips and split.

    is_first: whether only the table as declared is looked at: what can be told soon.
    """

    is_first: bool = False

    def at(self, typed: float, n: int) -> NumberCase:
        """The case with the design there."""
        now = replace(self.case.settings.swept("total", typed), n=n)
        return self.case.of(now)

    @cached_property
    def _worlds(self) -> tuple[WorldMoments, ...]:
        if self.is_first:
            return (WorldMoments("", self.case.moments),)
        return worlds_of_case(self.case, self.source)

    def worlds(self, case: NumberCase) -> tuple[WorldMoments, ...]:
        """The worlds in which it has to be enough, the same at every amount."""
        return self._worlds

    def method_of(self, case: NumberCase) -> object:
        """The same everywhere."""
        return ""

    def described(self, case: NumberCase) -> Option:
        """What a design gives in every world."""
        worlds, design = self.worlds(case), case.design
        promised = promise_of(case, worlds)
        made = foreseen(case.moments, design=design)
        said = tuple(unreachable(made.is_not_reportable[:-1], case.names[:-1], promised))
        found = outcome(case.moments, design=design, target=case.target)
        option = option_of(case, worlds, made, found, promised, said, case.plan.schema)
        return replace(option, promise=None, effects=None) if self.is_first else option


@dataclass
class SearchedLinear(LinearDesigns):
    """Clips, steps and, where it is free, the split are chosen at every amount, for the goal.

    is_split_free: whether the split is found too.
    """

    is_split_free: bool = True
    is_fixed: ClassVar[bool] = False

    @cached_property
    def _search(self) -> LinearSearch:
        return LinearSearch(self._worlds, self.case.target)

    def at(self, typed: float, n: int) -> NumberCase:
        """The case with the design there."""
        case = super().at(typed, n)
        asked = replace(case.design, n_records=case.fewest)
        found = self._search.best(asked, is_split_free=self.is_split_free)
        return self.case.of(_with_method(case.settings, found, self.is_split_free))

    def method_of(self, case: NumberCase) -> object:
        """Steps, clips and split, with the world that decides."""
        now = case.settings
        shares = tuple(now.split.share(part) for part in range(3))
        return now.steps, now.clip, now.row_clip, shares, self._search.decides.assumption

    def is_enough(self, option: Option) -> bool:
        """Whether it works, and no clip is likely to move what the goal is about too far: of the
        clips that may do so, a search would take those that planning rows happen to favour.
        """
        is_biased = np.append(self._search.is_biased, False)  # nobody's goal is the constant
        return option.works and not self.case.target.about(is_biased).any()

    def deciding(self, case: NumberCase) -> Sequence[WorldMoments]:
        """The least favourable for the design that was found last."""
        return (self._search.decides,)


def _with_method(now: Settings, found: LinearDesign, is_split_free: bool) -> Settings:
    """The settings with the method of a design."""
    now = replace(now, steps=found.steps, clip=found.clip, row_clip=found.row_clip)
    if not is_split_free:
        return now
    first, second = (part / found.budget.total for part in found.budget.parts[:2])
    shares = first, second, 1 - first - second
    return replace(now, split=from_shares(now.split.total, shares))
