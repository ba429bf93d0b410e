"""Inverse questions over the forecast: which split of a budget is best, and what makes useless intervals useful.

Every answer is found by calling `forecast`, so it is as private as the moments it is given: on a sensitive table an
answer may steer a release only when the moments are public, simulated, or a release already paid for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext

import numpy as np
import numpy.typing as npt

from dpci_core.design import Design, check_design
from dpci_core.erm import Moments
from dpci_core.errors import InfeasibleDesignError
from dpci_core.forecast import N_DRAWS, Forecast, forecast
from dpci_core.limits import BUDGET_PART
from dpci_core.linalg import floor_eigenvalues
from dpci_core.privacy import Amount, Budget, to_decimal

Array = npt.NDArray[np.float64]

PARTS = ("model", "hessian", "covariance")
COVERAGE_SLACK = 0.005
"""A split may cost any coefficient so much forecast coverage; below that it counts as worse."""
_MATRIX_SHARES = (0.01, 0.025, 0.06, 0.12, 0.2, 0.3)
"""First grid of the shares of the two matrices; the coefficients get the rest."""
_STEPS = (1.6, 1.25, 1.1, 1.04)
"""Factors by which a pattern search moves a share."""
_EQUAL = 1e-6
"""Scores that differ by a smaller share count as equal."""
_SHARE_DIGITS = Decimal("0.0001")
_SMALLEST_SHARE = 0.002
_FLAT = 0.01
"""A split counts as equally good while its intervals are at most so much longer."""
_LARGEST = (1e6, 1e6, 1e4)
"""Remedies are looked for up to these multiples of n, of the budget and of c."""
_FIRST_STEP = 2.5
_FEW_DRAWS = 16
_CONFIRMATIONS = 20

_SMALLEST_PART = Decimal(repr(BUDGET_PART[0]))
_EXACT = Context(prec=200)
"""Budgets add up exactly, whatever decimal context the caller has set."""

Shares = tuple[float, float, float]
Parts = tuple[Decimal, Decimal, Decimal]


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitAnswer:
    """The best split of a total with its forecast, next to the design it was asked for.

    flat: for each part the smallest and largest share among the splits tried whose score is within 1 % of the best.
    """

    design: Design
    forecast: Forecast
    asked: Forecast
    flat: dict[str, tuple[float, float]]
    n_tried: int

    @property
    def shares(self) -> Shares:
        """The best shares of the total (model, hessian, covariance)."""
        return shares_of(self.design.budget)

    @property
    def gain(self) -> float:
        """Share of the asked design's mean length that the best split saves."""
        return 1.0 - self.forecast.ci_length_mean / self.asked.ci_length_mean

    @property
    def reason(self) -> str:
        """Why, in a sentence."""
        model, hessian, covariance = (f"{100 * share:.3g} %" for share in self.shares)
        low, high = self.flat["model"]
        return (
            f"{model} for the coefficients, {hessian} for the Hessian and {covariance} for the gradient covariance "
            f"shorten the mean interval by {self.gain:.1%}. Between {low:.0%} and {high:.0%} for the coefficients the "
            "length changes by less than 1 %."
        )


def shares_of(budget: Budget) -> Shares:
    """The three parts as shares of the total."""
    model, hessian, covariance = (float(part / budget.total) for part in budget.parts)
    return model, hessian, covariance


def best_split(
    moments: Moments,
    *,
    design: Design,
    n_records: int | None = None,
    locked: Mapping[str, Amount] | None = None,
) -> SplitAnswer:
    """Return the split of `design.budget.total` with the shortest mean interval, by forecast.

    Subject to a forecast coverage of every coefficient of at least the level less half a point; where no split
    reaches that, the score lengthens by 1 % for every tenth of a point that is missing. Equal lengths go to the
    larger covariance share. The split of the design itself is among the candidates, so the answer is never worse,
    unless a lock asks for another amount than the design's.

    Args:    moments, n_records: as for `forecast`.  locked: amounts of parts that must stay as they are.
    Privacy: the total does not move, so neither does the guarantee; see the module docstring for what it may steer.
    Raises:  ValueError naming the lock; InfeasibleDesignError if the locks leave nothing, or no split is feasible.
    """
    check_design(design)
    held = _locks(design, locked or {})
    search = _Search(moments, design, n_records, held)
    if len(held) < len(PARTS) - 1:
        search.run()
    answer = search.best()
    if answer is None:
        raise InfeasibleDesignError(
            f"No split of {design.budget.total} is feasible at regularization={design.regularization!r}.",
            "Raise the total budget, the number of records or c.",
        )
    best, found = answer
    try:
        asked = forecast(moments, design=design, n_records=n_records)
    except InfeasibleDesignError:
        asked = found
    return SplitAnswer(design=best, forecast=found, asked=asked, flat=search.flat(), n_tried=len(search.scores))


def _locks(design: Design, locked: Mapping[str, Amount]) -> dict[str, Decimal]:
    """Locked amounts, exactly."""
    total, held = design.budget.total, {}
    for name, amount in locked.items():
        if name not in PARTS:
            raise ValueError(f"Expected locked part {name!r} to be one of {', '.join(PARTS)}.")
        held[name] = to_decimal(amount, name=f"locked {name}")
    with localcontext(_EXACT):
        left = total - sum(held.values())
    if left < 0 or (left == 0) != (len(held) == len(PARTS)):
        raise InfeasibleDesignError(
            f"The locked parts take {total - left} of the total {total}.", "Unlock a part or raise the total."
        )
    return held


class _Search:
    """Pattern search over the two matrix shares; fewer draws are too few for the coverage of every coefficient."""

    def __init__(self, moments: Moments, design: Design, n: int | None, held: dict[str, Decimal]) -> None:
        self.moments, self.design, self.n, self.held = moments, design, n, held
        self.scores: dict[Parts, float] = {}
        self.found: dict[Parts, Forecast] = {}
        total, own = design.budget.total, dict(zip(PARTS, design.budget.parts, strict=True))
        with localcontext(_EXACT):
            self.left = total - sum(held.values())
        _, hessian, covariance = shares_of(design.budget)
        keeps_locks = all(own[name] == amount for name, amount in held.items())
        self.start = design.budget.parts if keeps_locks else self._parts(hessian, covariance)
        if self.start is not None:
            self._score(self.start)

    def _parts(self, hessian: float, covariance: float) -> Parts | None:
        """Exact amounts for wished matrix shares of what the locks leave; None outside the simplex."""
        held = self.held
        with localcontext(_EXACT):
            total = self.design.budget.total
            h = held.get("hessian", self.left * _rounded(hessian))
            s = held.get("covariance", self.left * _rounded(covariance))
            if "model" in held:
                rest = total - held["model"]
                h, s = (rest - s, s) if "covariance" in held else (h, rest - h)
            parts = total - h - s, h, s
        return parts if min(parts) >= _SMALLEST_PART else None

    def _score(self, parts: Parts | None) -> float:
        if parts is None:
            return math.inf
        if parts not in self.scores:
            with suppress(InfeasibleDesignError):
                self.found[parts] = forecast(self.moments, design=self._design(parts), n_records=self.n)
            self.scores[parts] = score(self.found.get(parts), self.design.confidence_level)
        return self.scores[parts]

    def _design(self, parts: Parts) -> Design:
        if parts == self.design.budget.parts:
            return self.design
        model, hessian, covariance = parts
        budget = type(self.design.budget)(model=model, hessian=hessian, covariance=covariance)
        return replace(self.design, budget=budget)

    def run(self) -> None:
        """A grid, then steps of shrinking size from its best point."""
        grid = [(h, s) for h in _MATRIX_SHARES for s in _MATRIX_SHARES]
        h, s = min(grid, key=lambda point: self._score(self._parts(*point)))
        for factor in _STEPS:
            moved = True
            while moved:
                around = [(h * a, s * b) for a in (1 / factor, 1.0, factor) for b in (1 / factor, 1.0, factor)]
                best = min(around, key=lambda point: self._score(self._parts(*point)))
                moved = self._score(self._parts(*best)) < self._score(self._parts(h, s)) * (1 - 1e-5)
                h, s = best if moved else (h, s)

    def best(self) -> tuple[Design, Forecast] | None:
        """The best split tried; ties go to the larger covariance share."""
        if not self.found:
            return None
        limit = min(self.scores.values()) * (1.0 + _EQUAL)
        parts = max((parts for parts in self.found if self.scores[parts] <= limit), key=lambda parts: parts[2])
        return self._design(parts), self.found[parts]

    def flat(self) -> dict[str, tuple[float, float]]:
        """Ranges of the shares of splits that are nearly as good."""
        limit = min(self.scores.values()) * (1.0 + _FLAT)
        good = [parts for parts, value in self.scores.items() if value <= limit]
        shares = [[float(part / self.design.budget.total) for part in parts] for parts in good]
        return {name: (min(s[i] for s in shares), max(s[i] for s in shares)) for i, name in enumerate(PARTS)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Remedies:
    """The smallest single change that makes a useless design useful, to a few per cent, rounded up; None where none is
    found up to the multiples of `_LARGEST`.

    n_records and budget_factor (of all three parts) are confirmed by forecast. regularization is from moments carried
    to the other c by one Newton step, so it is a first guess; a larger c also moves what is estimated.
    """

    n_records: int | None
    budget_factor: float | None
    regularization: float | None

    @property
    def sentence(self) -> str:
        """The changes in words."""
        ways = []
        if self.n_records is not None:
            ways.append(f"{self.n_records:,} records")
        if self.budget_factor is not None:
            ways.append(f"{self.budget_factor:.3g} times the budget")
        if self.regularization is not None:
            ways.append(f"about c = {self.regularization:.3g}, which also pulls the coefficients towards zero")
        if not ways:
            return "No single change of n, budget or c helps."
        return "The smallest change that helps: " + ", or ".join(ways) + "."


def remedies(moments: Moments, *, design: Design, n_records: int | None = None) -> Remedies:
    """Return the smallest n, budget or c at which the forecast of a useless design is usable and no longer useless.

    Args:    as for `forecast`.
    Privacy: as for every plan, see the module docstring.
    """
    n = moments.n_records if n_records is None else n_records

    def is_useful(moments: Moments, design: Design, n: int, n_draws: int) -> bool:
        made = forecast(moments, design=design, n_records=n, n_draws=n_draws)
        return not made.usefulness.is_useless and made.validity.grade != "unusable"

    def at_n(factor: float, n_draws: int) -> bool:
        return is_useful(moments, design, _at_least(n * factor), n_draws)

    def at_budget(factor: float, n_draws: int) -> bool:
        times = Decimal(repr(factor))
        model, hessian, covariance = (part * times for part in design.budget.parts)
        budget = type(design.budget)(model=model, hessian=hessian, covariance=covariance)
        return is_useful(moments, replace(design, budget=budget), n, n_draws)

    def at_c(factor: float, n_draws: int) -> bool:
        c = _rounded_up(design.regularization * factor)
        return is_useful(moments_near(moments, c), replace(design, regularization=c), n, n_draws)

    of_n, of_budget, of_c = (
        _smallest_factor(works, largest) for works, largest in zip((at_n, at_budget, at_c), _LARGEST, strict=True)
    )
    return Remedies(
        n_records=None if of_n is None else _at_least(n * of_n),
        budget_factor=of_budget,
        regularization=None if of_c is None else _rounded_up(design.regularization * of_c),
    )


def _at_least(n: float) -> int:
    """n rounded up to three digits, or to the next whole number."""
    return math.ceil(_rounded_up(n)) if n > 1000 else math.ceil(n)


def _rounded_up(x: float) -> float:
    """x rounded up to three significant digits."""
    unit = 10.0 ** (math.floor(math.log10(x)) - 2)
    return float(f"{math.ceil(x / unit * (1.0 - 1e-12)) * unit:.12g}")


def moments_near(moments: Moments, regularization: float) -> Moments:
    """Moments at another c by one Newton step from theta_hat, S with the new penalty term; a first guess."""
    extra = 2.0 * (regularization - moments.regularization)
    H = moments.hessian + extra * np.eye(len(moments.hessian))
    theta = moments.theta_hat - np.linalg.solve(H, extra * moments.theta_hat)
    outer = 4.0 * moments.regularization**2 * np.outer(moments.theta_hat, moments.theta_hat)
    S = moments.covariance + outer - 4.0 * regularization**2 * np.outer(theta, theta)
    S = floor_eigenvalues(S, 0.0).matrix
    return replace(moments, theta_hat=theta, hessian=H, covariance=S, regularization=regularization)


def _smallest_factor(works: Callable[[float, int], bool], largest: float) -> float | None:
    """The smallest factor that works, found with few draws and confirmed with all, rounded up; None up to `largest`."""

    def try_out(factor: float, n_draws: int) -> bool:
        try:
            return works(factor, n_draws)
        except ValueError:  # infeasible, or out of the range of an argument
            return False

    if try_out(1.0, N_DRAWS):
        return 1.0
    high = _FIRST_STEP
    while not try_out(high, _FEW_DRAWS):
        if high >= largest:
            return None
        high = min(high * _FIRST_STEP, largest)
    low = high / _FIRST_STEP
    while high > low * 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if try_out(middle, _FEW_DRAWS) else (middle, high)
    for _ in range(_CONFIRMATIONS):
        high = _rounded_up(high)
        if try_out(high, N_DRAWS):
            return high
        high *= 1.02
    return None


def _rounded(share: float) -> Decimal:
    """A share to four places, at least the smallest one worth trying."""
    return Decimal(repr(max(_SMALLEST_SHARE, min(share, 0.9)))).quantize(_SHARE_DIGITS)


def score(found: Forecast | None, level: float) -> float:
    """Mean length, made longer by 1 % for every tenth of a point of coverage that a coefficient lacks."""
    if found is None:
        return math.inf
    missing = max(0.0, level - COVERAGE_SLACK - float(found.coverage.min()))
    return found.ci_length_mean * (1.0 + 10.0 * missing)
