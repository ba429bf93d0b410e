"""Designs of a regression of a number for the calculator: what its forecasts say, in the one place
that asks for them. No Streamlit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, NamedTuple, cast

import numpy as np

from dpci_core.plan import LinearNumbers, LinearPlan
from dpci_core.planner.worlds import WorldMoments
from dpci_core.privacy.budget import to_float_down
from ui.plan import numbers
from ui.plan.options import BALANCED, Designs, Option
from ui.session.case import NumberCase, PlannedCase
from ui.session.plan_settings import plan_of

_TITLE = "Number"


class _Length(NamedTuple):
    """One planned length, its part from sampling, and the longest that is asked for; scaled."""

    planned: float
    sampling: float
    asked: float


@dataclass
class LinearDesigns(Designs):
    """The method as it is set by hand: every total and n has the same steps, clips and split."""

    case: NumberCase
    is_fixed: ClassVar[bool] = True

    def at(self, typed: float, n: int) -> NumberCase:
        """The case with the design there."""
        now = replace(self.case.settings.swept("total", typed), n=n)
        return replace(self.case, settings=now, design=now.linear_design)

    def described(self, case: PlannedCase) -> Option:
        """What a design gives in the table as declared, with the fewest records."""
        here = cast(NumberCase, case)
        made = numbers_at(here, here.fewest)
        lengths, scaled = list(_lengths(here, made)), made.scaled
        longest = max(one.planned / one.asked for one in lengths)
        lost = made.is_not_reportable[:-1]
        place = here.target.coefficient
        against = float(np.mean(scaled.ci_length) / np.mean(scaled.nonprivate_length))
        most = here.target.most or 0.0
        return Option(
            settings=here.settings,
            design=here.design,
            fewest=here.fewest,
            typed=float(f"{here.settings.typed_total:.12g}"),
            precision=longest * most * here.scale,
            meets=longest <= 1.0 + 1e-9,
            length=longest * most * here.scale,
            probability=float(longest <= 1.0),
            reportable=int(np.count_nonzero(~lost)),
            of=len(lost),
            against=against,
            as_if=math.floor(here.n / against**2),
            is_lost=bool(lost.any() if place is None else made.is_not_reportable[place]),
            is_useless=False,
            cautions=made.cautions(here.design),
        )

    def worlds(self, case: PlannedCase) -> tuple[WorldMoments, ...]:
        """None but the one that is declared."""
        return ()

    def balanced(self) -> float:
        """The total, as it is typed, at which privacy adds as much variance as sampling."""
        made = numbers_at(self.case, self.case.n).scaled
        sampling = float(np.mean(made.nonprivate_length))
        one = _Length(float(np.mean(made.ci_length)), sampling, BALANCED * sampling)
        return self._typed(self.case, _more_budget(one))

    def _total_for(self, here: PlannedCase) -> float:
        case = cast(NumberCase, here)
        made = numbers_at(case, case.fewest)
        return self._typed(case, max(map(_more_budget, _lengths(case, made))))

    def _records_for(self, here: PlannedCase) -> float:
        case = cast(NumberCase, here)
        made = numbers_at(case, case.fewest)
        return case.n * max(map(_more_records, _lengths(case, made)))

    def _typed(self, case: NumberCase, times: float) -> float:
        """So many times the budget, as it is typed."""
        if not math.isfinite(times):
            return math.inf
        budget = case.design.budget
        spent = numbers.decimal(times * to_float_down(budget.total))
        return numbers.typed_total(case.settings, type(budget), spent)


def numbers_at(case: NumberCase, n_records: int) -> LinearNumbers:
    """What the plan of a case promises with so many records."""
    plan = plan_of(case, _TITLE)
    assert isinstance(plan, LinearPlan)
    return _numbers(replace(plan, design=replace(case.design, n_records=n_records)))


@lru_cache(maxsize=32)
def _numbers(plan: LinearPlan) -> LinearNumbers:
    """Where an amount is looked at, and where to look next, ask for the same."""
    return plan.numbers()


def _lengths(case: NumberCase, made: LinearNumbers) -> Iterator[_Length]:
    """The lengths that the goal of a case is about."""
    target = case.target
    asked = (
        {target.coefficient: target.length}
        if target.limits is None
        else dict(enumerate(target.limits))
    )
    for place, most in asked.items():
        assert place is not None
        assert most is not None
        planned = float(made.scaled.ci_length[place])
        yield _Length(planned, float(made.scaled.nonprivate_length[place]), most)


def _more_budget(one: _Length) -> float:
    """How many times the budget brings a length to what is asked for, its variance from noise going
    with one over it; where to look next, and no answer.
    """
    left = one.asked**2 - one.sampling**2
    return (one.planned**2 - one.sampling**2) / left if left > 0.0 else math.inf


def _more_records(one: _Length) -> float:
    """The same of records, the variance from noise going with one over their square."""
    noise = one.planned**2 - one.sampling**2
    root = math.sqrt(one.sampling**4 + 4.0 * noise * one.asked**2)
    return (one.sampling**2 + root) / (2.0 * one.asked**2)
