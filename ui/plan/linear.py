"""Designs of a regression of a number for the calculator. No Streamlit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpci_core.planner import promise
from dpci_core.planner.targets import as_if, outcome
from dpci_core.planner.worlds import WorldMoments, foreseen
from dpci_core.report.cautions import REPORTABLE_CHANCE, unreachable
from ui.plan.options import Amounts, Option, is_lost, nearest_goal
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

    def described(self, case: NumberCase) -> Option:
        """What a design gives in every world."""
        worlds, design = self.worlds(case), case.design
        names, target, fewest = case.names, case.target, case.fewest
        effects = np.eye(len(names))[:-1]
        promised = promise(worlds, design=design, contrasts=effects, target=target, fewest=fewest)
        made = foreseen(case.moments, design=design)
        lost = made.is_not_reportable[:-1] | (promised.chance < REPORTABLE_CHANCE)
        precision = max((nearest_goal(case, one) for one in worlds), key=abs)
        asked = (target.excludes_zero_at or target.most or 0.0) * case.scale
        probability = promised.probability or 0.0
        return Option(
            settings=case.settings,
            design=design,
            typed=float(f"{case.settings.typed_total:.12g}"),
            precision=precision,
            meets=probability > 0.0 and abs(precision) <= abs(asked) * (1.0 + 1e-9),
            length=outcome(case.moments, design=design, target=target).length * case.scale,
            probability=probability,
            reportable=int(np.count_nonzero(~lost)),
            of=len(lost),
            against=made.ci_length_mean / made.nonprivate_length_mean,
            as_if=as_if(made),
            is_lost=is_lost(case, np.append(lost, made.is_not_reportable[-1])),
            is_useless=False,
            cautions=tuple(unreachable(made.is_not_reportable[:-1], names[:-1], promised)),
            promise=None if self.is_first else promised,
        )
