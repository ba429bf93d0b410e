"""Which split of a total is best."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

from dpci_core.base.decimals import EXACT, smallest_amount
from dpci_core.base.errors import Change, ChangeName, InfeasibleDesignError
from dpci_core.base.limits import REGULARIZATION
from dpci_core.design import Design, check_design, guarantee_at
from dpci_core.intervals.forecast import HEADLINE_DELTA, Forecast, forecast
from dpci_core.intervals.spectra import SharedSpectra
from dpci_core.mechanisms.mechanism import model_noise
from dpci_core.planner.amounts import LARGEST_TOTAL, MOST_RECORDS, delta_in_range, with_total
from dpci_core.planner.search import SplitForecasts, SplitSearch, length_of, score, with_parts
from dpci_core.planner.worlds import Worlds, as_worlds
from dpci_core.privacy.budget import PARTS, Amount, Budget, Parts, to_decimal
from dpci_core.report import answers

Shares = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitAnswer:
    """The best split of a total, next to the one it was asked for.

    Args:
        design: with the best split.
        forecast: of that design, in the world that decides.
        asked: forecast of the design as it was given, there.
        near_best: of each part, the smallest and largest share among the splits whose score is
            within 1 % of the best, by the surrogate; by forecast up to 1.5 % longer.
        n_tried: number of splits that were scored.
        coefficient: whose interval was made short; None for the mean over all.
        delta: at which a budget in rho or mu^2 is stated as (epsilon, delta).
        decided_by: the assumption of the world that decides. Empty where planning rows are the only
            one.
    """

    design: Design
    forecast: Forecast
    asked: Forecast
    near_best: dict[str, tuple[float, float]]
    n_tried: int
    coefficient: int | None = None
    delta: float = HEADLINE_DELTA
    decided_by: str = ""

    @property
    def shares(self) -> Shares:
        """The best shares of the total (model, hessian, covariance)."""
        return shares_of(self.design.budget)

    @property
    def epsilon_delta(self) -> tuple[float, float]:
        """The guarantee as (epsilon, delta), at the delta asked for."""
        return guarantee_at(self.design, self.delta)

    @property
    def gain(self) -> float:
        """Share of the asked design's length that the best split saves."""
        best, asked = (length_of(found, self.coefficient) for found in (self.forecast, self.asked))
        return 1.0 - best / asked

    @property
    def reason(self) -> str:
        """Why, in a sentence."""
        said = answers.best_split(
            self.shares, self.gain, self.near_best["model"], is_mean=self.coefficient is None
        )
        return answers.decided(said, self.decided_by)


def shares_of(budget: Budget) -> Shares:
    """The three parts as shares of the total."""
    model, hessian, covariance = (float(part / budget.total) for part in budget.parts)
    return model, hessian, covariance


def best_split(
    moments: Worlds,
    *,
    design: Design,
    locked: Mapping[str, Amount] | None = None,
    coefficient: int | None = None,
    delta: Amount = HEADLINE_DELTA,
) -> SplitAnswer:
    """Return the split of `design.budget.total` with the shortest mean interval, or the shortest
    interval of one coefficient, by forecast.

    Subject to a forecast coverage of every coefficient of at least the level less half a point;
    where no split reaches that, the score lengthens by 1 % for every tenth of a point that is
    missing. Equal lengths go to the larger covariance share. The split of the design itself is
    among the candidates, so the answer is never worse, unless a lock asks for another amount than
    the design's. What may not be reported counts as longer. Of several worlds the worst one
    counts.

    Args:
        moments: fit of the table that stands for the data, at the c of the design; or of all worlds
            that it may be like.
        design: its split is one of the candidates, its n is planned for.
        locked: amounts of parts that stay as they are, in the definition of the budget.
        coefficient: place of the one whose interval counts; None for the mean over all.
        delta: at which an answer in rho or mu^2 is stated as (epsilon, delta), in (0, 1); moves no
            answer.

    Raises:
        ValueError: naming the lock.
        NoSplitError: the locks leave nothing, or no split is feasible; with the smallest total, n
            and c at which one is.

    Privacy:
        The total does not move, so neither does the guarantee; see the package docstring for what
        the answer may steer.
    """
    check_design(design)
    stated_at = delta_in_range(delta)
    held = _locks(locked or {})
    worlds = as_worlds(moments)
    p = len(worlds[0].moments.theta_hat)
    if coefficient is not None and not 0 <= coefficient < p:
        raise ValueError(f"Expected coefficient={coefficient!r} to be a place from 0 to {p - 1}.")

    known = [SplitForecasts(one.moments, design, coefficient) for one in worlds]
    _check_locks(SplitSearch(known, design, held))
    search, best, worst = _searched(known, design, held)
    if best is None:
        raise _no_split(search)
    found = known[worst].confirm(best)
    assert found is not None
    return SplitAnswer(
        design=with_parts(design, best),
        forecast=found,
        asked=known[worst].confirm(design.budget.parts) or found,
        near_best=search.near_best(),
        n_tried=search.n_tried,
        coefficient=coefficient,
        delta=stated_at,
        decided_by=worlds[worst].assumption if len(worlds) > 1 else "",
    )


def quick_split(
    moments: Worlds,
    *,
    design: Design,
    spectra: Sequence[SharedSpectra] | None = None,
) -> tuple[Design, Forecast]:
    """Return the best split with its forecast, by the search of `best_split` with fewer forecasts
    at the end.

    The design's own split is no candidate.

    Args:
        moments: as for `best_split`.
        design: loss, mechanism, budget, c, level and calibration, and the n planned for.
        spectra: of each world, eigenvectors to share with other searches on these moments.

    Raises:
        InfeasibleDesignError: it cannot run with almost everything spent on the coefficients.
    """
    check_design(design)
    worlds = as_worlds(moments)
    known = [
        SplitForecasts(one.moments, design, spectra=spectra[place] if spectra else None)
        for place, one in enumerate(worlds)
    ]
    search, best, worst = _searched(known, design, {}, is_quick=True)
    if best is not None:
        found = known[worst].confirm(best)
        assert found is not None
        return with_parts(design, best), found
    least = search.parts(0.0, 0.0)
    chosen = design if least is None else with_parts(design, least)
    made = [forecast(one.moments, design=chosen) for one in worlds]
    return chosen, max(made, key=lambda one: score(one, design.confidence_level))


def _start(search: SplitSearch) -> Parts | None:
    """The design's own split, or its matrix shares where a lock asks for another amount."""
    own = dict(zip(PARTS, search.design.budget.parts, strict=True))
    if all(own[name] == amount for name, amount in search.held.items()):
        return search.design.budget.parts
    _, hessian, covariance = shares_of(search.design.budget)
    return search.parts(hessian, covariance)


def _searched(
    known: Sequence[SplitForecasts],
    design: Design,
    held: dict[str, Decimal],
    *,
    is_quick: bool = False,
) -> tuple[SplitSearch, Parts | None, int]:
    """A search, its best split, None if no design can run, and the place of that split's worst
    world. The split of the design is one of the candidates, but not of a quick search.

    The first world is searched, and whichever was the worst for what was found: what is best in the
    worst of some worlds, and no worse in any other, is best in the worst of all. What was best in
    fewer worlds stays a candidate.
    """
    start = None if is_quick else _start(SplitSearch(known, design, held))
    places, candidates = [0], [] if start is None else [start]
    while True:
        search = SplitSearch([known[place] for place in places], design, held, is_quick)
        for parts in candidates:
            search.confirm(parts)
        if len(held) < len(PARTS) - 1:
            search.run()
        best = search.best()
        if best is None:
            return search, None, 0
        for world in known:
            world.confirm(best)
        worst = max(range(len(known)), key=lambda place: known[place].score_of(best))
        if worst in places:
            return search, best, worst
        places.append(worst)
        candidates.append(best)


def _locks(locked: Mapping[str, Amount]) -> dict[str, Decimal]:
    """Locked amounts, exactly."""
    held = {}
    for name, amount in locked.items():
        if name not in PARTS:
            raise ValueError(f"Expected locked part {name!r} to be one of {', '.join(PARTS)}.")
        held[name] = to_decimal(amount, name=f"locked {name}")
    return held


def _check_locks(search: SplitSearch) -> None:
    """Raise unless the locks leave something to the other parts, or are the total."""
    total, left = search.total, search.left
    if left >= 0 and (left == 0) == (len(search.held) == len(PARTS)):
        return
    with localcontext(EXACT):
        taken = total - left
    if len(search.held) == len(PARTS):
        raise NoSplitError(search, (Change("total", taken),), taken)
    raise _no_split(search, taken)


class NoSplitError(InfeasibleDesignError):
    """No split of a total can run, or locked parts do not leave one.

    Args:
        total: epsilon or rho.
        regularization: c.
        taken: what the locked parts take where that is why, else None.
        is_locked: whether a part is, so that unlocking one may help.
        is_whole: whether all are, so that the total has to be what they take.
    """

    def __init__(
        self, search: SplitSearch, changes: tuple[Change, ...], taken: Decimal | None = None
    ) -> None:
        self.total, self.regularization, self.taken = (
            search.design.budget.total,
            search.design.regularization,
            taken,
        )
        self.is_locked, self.is_whole = bool(search.held), len(search.held) == len(PARTS)
        ways = [_WAYS[change.what].format(change.value) for change in changes]
        said = [*(["unlock a part"] if self.is_locked else []), *(f"choose {way}" for way in ways)]
        say = " or ".join(said) or "no single change of the total, n or c helps"
        super().__init__(
            f"No split of {self.total} is feasible at regularization={self.regularization!r}."
            if taken is None
            else f"The locked parts take {taken} of the total {self.total}.",
            f"The total must be {taken}." if self.is_whole else f"{say[0].upper()}{say[1:]}.",
            changes,
        )


def _no_split(search: SplitSearch, taken: Decimal | None = None) -> NoSplitError:
    """The refusal with the smallest total, n and c at which some split of the search can run."""
    design = search.design

    def runs_at(what: ChangeName) -> Callable[[Decimal], bool]:
        def runs(value: Decimal) -> bool:
            if what == "total":
                return _can_run(search, with_total(design, value))
            if what == "n_records":
                return _can_run(search, replace(design, n_records=math.ceil(value)))
            return _can_run(search, replace(design, regularization=float(value)))

        return runs

    changes: list[Change] = []
    ranges: tuple[tuple[ChangeName, Decimal, Decimal], ...] = (
        ("total", design.budget.total, LARGEST_TOTAL),
        ("n_records", Decimal(design.n_records), Decimal(MOST_RECORDS)),
        ("regularization", Decimal(repr(design.regularization)), Decimal(repr(REGULARIZATION[1]))),
    )
    for what, start, largest in ranges:
        found = smallest_amount(runs_at(what), start=start, largest=largest)
        if found is not None:
            changes.append(Change(what, _in_type(what, found)))
    return NoSplitError(search, tuple(changes), taken)


_WAYS = {"total": "a total of {}", "n_records": "{:,} records", "regularization": "c = {:g}"}


def _in_type(what: ChangeName, found: Decimal) -> Decimal | int | float:
    if what == "n_records":
        return math.ceil(found)
    return Decimal(f"{found.normalize():f}") if what == "total" else float(found)


def _can_run(search: SplitSearch, design: Design) -> bool:
    """Whether a split of this total that the search reaches can run: one that leaves the matrices
    least.
    """
    parts = SplitSearch(search.worlds, design, search.held).parts(0.0, 0.0)
    if parts is None:
        return False
    try:
        model_noise(with_parts(design, parts))
    except InfeasibleDesignError:
        return False
    return True
