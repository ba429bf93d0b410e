"""Designs of a regression of a number for the calculator. No Streamlit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpci_core.planner.targets import outcome
from dpci_core.planner.worlds import WorldMoments, foreseen
from dpci_core.report.cautions import unreachable
from ui.plan.options import Amounts, Option, option_of, promise_of
from ui.session.case import NumberCase


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

    def worlds(self, case: NumberCase) -> tuple[WorldMoments, ...]:
        """The worlds in which it has to be enough."""
        return (WorldMoments("", case.moments),) if self.is_first else super().worlds(case)

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
        option = option_of(case, worlds, made, found, promised, said)
        return replace(option, promise=None) if self.is_first else option
