"""The exhaustive search for the best split that the planner's search is measured against: full
forecasts only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

from dpci_core import Design, Forecast, InfeasibleDesignError, Moments, forecast

GRID = (0.01, 0.025, 0.06, 0.12, 0.2, 0.3)
"""First grid of the shares of the two matrices; the coefficients get the rest."""
STEPS = (1.6, 1.25, 1.1, 1.04)
"""Factors by which a share is moved."""
SMALLEST, LARGEST = 0.002, 0.9


class PatternSearch:
    """A grid of splits, then the best of eight neighbours with ever smaller steps; each split a
    forecast of its own.
    """

    def __init__(self, moments: Moments, design: Design, n_records: int) -> None:
        self.moments, self.design, self.n_records = moments, design, n_records
        self.found: dict[tuple[Decimal, Decimal], Forecast | None] = {}

    def run(self) -> Forecast | None:
        """The best forecast, the design's own split included; None if no split can run."""
        budget = self.design.budget
        own = self._forecast(budget.hessian / budget.total, budget.covariance / budget.total)
        h, s = min(((h, s) for h in GRID for s in GRID), key=lambda point: self.score(*point))
        for factor in STEPS:
            moved = True
            while moved:
                near = [
                    (h * a, s * b)
                    for a in (1 / factor, 1.0, factor)
                    for b in (1 / factor, 1.0, factor)
                ]
                best = min(near, key=lambda point: self.score(*point))
                moved = self.score(*best) < self.score(h, s) * (1 - 1e-5)
                h, s = best if moved else (h, s)
        tried = [found for found in (own, *self.found.values()) if found is not None]
        return min(tried, key=self.penalised_length) if tried else None

    def score(self, hessian: float, covariance: float) -> float:
        """Penalised length at these matrix shares, infinite outside the simplex and where the
        design cannot run.
        """
        h, s = (
            Decimal(repr(max(SMALLEST, min(x, LARGEST)))).quantize(Decimal("0.0001"))
            for x in (hessian, covariance)
        )
        if h + s >= 1:
            return math.inf
        if (h, s) not in self.found:
            self.found[h, s] = self._forecast(h, s)
        found = self.found[h, s]
        return math.inf if found is None else self.penalised_length(found)

    def penalised_length(self, found: Forecast) -> float:
        """Mean length, 1 % longer for every tenth of a point a coefficient lacks to the level less
        half a point.
        """
        missing = self.design.confidence_level - 0.005 - float(found.coverage.min())
        return found.ci_length_mean * (1.0 + 10.0 * max(0.0, missing))

    def _forecast(self, hessian: Decimal, covariance: Decimal) -> Forecast | None:
        total = self.design.budget.total
        h, s = hessian * total, covariance * total
        budget = type(self.design.budget)(model=total - h - s, hessian=h, covariance=s)
        try:
            return forecast(
                self.moments, design=replace(self.design, budget=budget), n_records=self.n_records
            )
        except InfeasibleDesignError:
            return None
