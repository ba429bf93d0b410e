"""All mechanisms and definitions at the same guarantee, each with its own best split."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

import numpy as np

from dpci_core.base.decimals import EXACT
from dpci_core.base.errors import InfeasibleDesignError, without_frames
from dpci_core.base.limits import BUDGET_PART
from dpci_core.design import (
    MECHANISMS,
    Calibration,
    CalibrationName,
    Definition,
    Design,
    MechanismName,
    TargetName,
)
from dpci_core.intervals.estimands import released_hessian
from dpci_core.intervals.forecast import Forecast, forecast
from dpci_core.intervals.spectra import SharedSpectra
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.planner.amounts import delta_in_range
from dpci_core.planner.geometry import in_metric, shaped, with_less_cut
from dpci_core.planner.split import quick_split, shares_of
from dpci_core.planner.targets import as_if
from dpci_core.planner.worlds import WorldMoments, as_worlds, cost_of
from dpci_core.privacy.budget import (
    DEFINITIONS,
    Amount,
    check_amount,
    to_decimal,
    to_float_down,
)
from dpci_core.report import answers
from dpci_core.solvers.moments import Moments

_START = Decimal("0.1")
"""Share of each matrix before the split is searched for."""


class NothingPromisedError(InfeasibleDesignError):
    """A budget in rho or mu^2 where delta is 0."""

    def __init__(self, symbol: str) -> None:
        self.symbol = symbol
        super().__init__(f"A budget in {symbol} promises nothing at delta = 0.", "")


@dataclass(frozen=True, kw_only=True, slots=True)
class RankedDesign:
    """One way to spend a guarantee; where it cannot run, `refusal` stands for design and forecast.

    Args:
        loss: its name.
        mechanism: its name.
        definition: name of the privacy definition.
        calibration: "sharp", "published" or "custom".
        design: with nearly its best split, None where it cannot run.
        forecast: of the design, None where it cannot run.
        epsilon: what its total means at delta, at most the epsilon asked for.
        delta: 0 in a pure definition.
        as_if_records: number of records with intervals as long without privacy; 0 if it cannot run.
        refusal: why it cannot run, None where it can.
        decided_by: the assumption of the world that the forecast is of, the worst one. Empty where
            planning rows are the only one.
    """

    loss: str
    mechanism: MechanismName
    definition: Definition
    calibration: str
    design: Design | None
    forecast: Forecast | None
    epsilon: float
    delta: float
    as_if_records: int
    refusal: InfeasibleDesignError | None = None
    decided_by: str = ""

    @property
    def reason(self) -> str:
        """What it gives, or why it cannot run, in a sentence."""
        if self.design is None or self.forecast is None:
            return str(self.refusal)
        n, shares = self.forecast.n_records, shares_of(self.design.budget)
        said = answers.ranked(self.length, self.as_if_records, n, shares)
        if self.design.clip < 1.0:
            moved = 2.0 * np.max(np.abs(self.forecast.bias) / self.forecast.ci_length)
            said += answers.cut(self.design.clip, float(moved))
        return answers.decided(said, self.decided_by)

    @property
    def length(self) -> float:
        """Forecast mean length, infinite where it cannot run."""
        return math.inf if self.forecast is None else self.forecast.ci_length_mean

    @property
    def status(self) -> str:
        """What must be said about a result that is not published."""
        return "" if self.design is None else self.design.status


def rank_mechanisms(
    moments: Moments | Sequence[Moments] | Sequence[WorldMoments],
    *,
    epsilon: Amount,
    delta: Amount,
    regularization: float,
    n_records: int | None = None,
    confidence_level: float = 0.95,
    target: TargetName = "penalised",
    calibrations: Sequence[CalibrationName | Calibration] = ("sharp", "published"),
    rows_per_person: int = 1,
) -> tuple[RankedDesign, ...]:
    """Return every mechanism and definition at the same (epsilon, delta): first those with which
    most coefficients can be reported, and of them the shortest mean interval.

    Where moments have the spread of planning rows, noise is in the metric of the shortest intervals
    if that is shorter; a mechanism that needs one is refused elsewhere.
    Pure designs spend epsilon, and their delta is 0; others the largest amount whose conversion at
    delta is at most epsilon, rounded down. Gaussian differential privacy, which grants more than
    zCDP, is there for noise that is added to the minimiser only. Each has nearly the best split of
    its own (`split.quick_split`). Designs that cannot run come last, with the reason. Moments of
    several losses give one block each, in the order given: lengths of different losses are those of
    different coefficients. Order and forecast are those of the world in which fewest coefficients
    can be reported with a design, then in which intervals are longest.

    Args:
        moments: of one loss or several, at this regularization; or of all worlds of one loss.
        epsilon: of the guarantee.
        delta: of the guarantee; 0 leaves rho and mu^2 without one.
        regularization: c.
        n_records: n that is planned for (default: that of the moments).
        confidence_level: of the intervals, in (0, 1).
        target: coefficients with or without the penalty.
        calibrations: which to rank.
        rows_per_person: k of the designs.

    Raises:
        ValueError: naming the argument.

    Privacy:
        Every design that can run is (epsilon, delta)-DP, replace-one neighbours, n public; the
        moments are not private, see the package docstring for what an answer may steer.
    """
    listed = [moments] if isinstance(moments, Moments) else list(moments)
    worlds = [one for one in listed if isinstance(one, WorldMoments)]
    given = [worlds[0].moments] if worlds else [one for one in listed if isinstance(one, Moments)]
    spectra: dict[int, SharedSpectra] = {}
    allowed = to_decimal(epsilon, name="epsilon")
    check_amount(BUDGET_PART, epsilon=allowed)
    at = _delta(delta)
    rows: list[RankedDesign] = []
    for fit in given:
        block = []
        for calibration in calibrations:
            for definition, kind in DEFINITIONS.items():
                total = kind.total_within(allowed, at)
                for mechanism, noise in MECHANISMS.items():
                    if kind.additive_only and noise.perturbs_objective:
                        continue
                    row = _Row(
                        fit, mechanism, definition, calibration, float(allowed), float(delta)
                    )
                    if total is None:
                        block.append(row.out_of_reach(NothingPromisedError(kind.symbol)))
                        continue
                    design = Design(
                        loss=fit.loss,
                        mechanism=mechanism,
                        budget=kind(**_parts(total)),
                        regularization=regularization,
                        n_records=fit.n_records if n_records is None else n_records,
                        confidence_level=confidence_level,
                        calibration=calibration,
                        target=target,
                        rows_per_person=rows_per_person,
                    )
                    block.append(row.ranked(design, worlds or as_worlds(fit), spectra))
        rows += sorted(block, key=_cost_of)
    return tuple(rows)


def _cost_of(row: RankedDesign) -> tuple[float, float]:
    return cost_of(row.forecast) if row.forecast else (math.inf, math.inf)


def _in_worst(design: Design, worlds: Sequence[WorldMoments]) -> tuple[Forecast, str]:
    """The forecast of the world that is worst for a design and, of several, its assumption."""
    made = [forecast(one.moments, design=design) for one in worlds]
    place = max(range(len(worlds)), key=lambda k: cost_of(made[k]))
    return made[place], worlds[place].assumption if len(worlds) > 1 else ""


def _in_metric(moments: Moments, design: Design, n_worlds: int) -> Design:
    """A design with the metric that it needs or, where planning rows say which and a new result is
    allowed, is shorter with; that of one table is none of another.
    """
    if not mechanism_of(design).needs_metric:
        may_turn = mechanism_of(design).turns_noise and design.switches.gaussian_objective
        is_known = moments.spread is not None and n_worlds < 2
        takes = design.rows_per_person == 1 and design.loss.allows_weights
        found = shaped(moments, design=design) if may_turn and is_known and takes else None
        return design if found is None else found
    if unfit := mechanism_of(design).unfit(design):
        raise unfit
    if n_worlds > 1:
        raise InfeasibleDesignError(
            "Its metric and clip are planned from one table, and these planning rows stand for "
            f"{n_worlds}.",
            "Plan it with best_geometry for the likeliest of them.",
        )
    return in_metric(moments, design=design)


def _delta(delta: Amount) -> float:
    """Delta as a float, 0 allowed."""
    if not isinstance(delta, bool) and delta in (0, "0"):
        return 0.0
    return delta_in_range(delta)


def _parts(total: Decimal) -> dict[str, Decimal]:
    with localcontext(EXACT):
        rest = total * _START
        return {"model": total - rest - rest, "hessian": rest, "covariance": rest}


@dataclass(frozen=True, slots=True)
class _Row:
    """What a ranked design is before its forecast."""

    moments: Moments
    mechanism: MechanismName
    definition: Definition
    calibration: CalibrationName | Calibration
    epsilon: float
    delta: float

    def ranked(
        self, design: Design, worlds: Sequence[WorldMoments], known: dict[int, SharedSpectra]
    ) -> RankedDesign:
        """The design with nearly its best split, and its forecast in the worst world.

        known: spectra of the Hessian that is released, which target and loss say: by world, one for
            all designs.
        """
        for one in worlds:
            if id(one.moments) not in known:
                known[id(one.moments)] = SharedSpectra(released_hessian(one.moments, design))
        spectra = [known[id(one.moments)] for one in worlds]
        try:
            design = _in_metric(self.moments, design, len(worlds))
            best, found = quick_split(worlds, design=design, spectra=spectra)
            while less := with_less_cut(best, found):
                best, found = quick_split(worlds, design=less, spectra=spectra)
        except InfeasibleDesignError as error:
            return self.out_of_reach(without_frames(error))
        total, kind = best.budget.total, type(best.budget)
        amount = to_float_down(total) if kind.has_delta else float(total)
        worst, decides = _in_worst(best, worlds)
        row = self._make(best, worst, kind.epsilon_of(amount, self.delta), as_if(worst))
        return replace(row, decided_by=decides)

    def out_of_reach(self, refusal: InfeasibleDesignError) -> RankedDesign:
        return self._make(None, None, self.epsilon, 0, refusal)

    def _make(
        self,
        design: Design | None,
        found: Forecast | None,
        epsilon: float,
        m: int,
        refusal: InfeasibleDesignError | None = None,
    ) -> RankedDesign:
        given = self.calibration
        name = given if isinstance(given, str) else given.name or "custom"
        return RankedDesign(
            loss=self.moments.loss.name,
            mechanism=self.mechanism,
            definition=self.definition,
            calibration=name,
            design=design,
            forecast=found,
            epsilon=epsilon,
            delta=self.delta if DEFINITIONS[self.definition].has_delta else 0.0,
            as_if_records=m,
            refusal=refusal,
        )
