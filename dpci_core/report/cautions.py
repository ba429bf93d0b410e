"""What has to be known before a design is released, gravest first, in the same words on pages, in
commands and in reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from dpci_core.base.array import Array, Flags
from dpci_core.design import ESTIMANDS, Design
from dpci_core.report.words import listed, percent, plainly

Gravity = Literal["stops", "weigh", "know"]
"""How grave a caution is: release and you get nothing or something wrong; weigh it against the
price; good to know."""
COVERAGE_SLACK = 0.01
"""Forecast coverage may fall so far below the level without a caution: no forecast is surer."""
LEAST_LEFT = 0.8
"""Share of the coefficients without penalty that a penalty may leave without a caution."""
_GRAVITIES: tuple[Gravity, ...] = ("stops", "weigh", "know")
_MISSES = 2.0
"""An interval that misses so many times as often as its level says is no interval of that level."""
_HALF = 0.5
"""A penalty that leaves less of the effects is to be weighed, not only known."""


@dataclass(frozen=True, slots=True)
class Caution:
    """A sentence that speaks against a release, and how grave it is."""

    gravity: Gravity
    sentence: str


class _Useful(Protocol):
    @property
    def is_useless(self) -> bool: ...
    @property
    def sentence(self) -> str: ...


class _Valid(Protocol):
    @property
    def grade(self) -> Literal["valid", "rough", "unusable"]: ...
    def reasons_of(self, names: Sequence[str]) -> tuple[str, ...]: ...


class Foreseen(Protocol):
    """What a forecast says of a design; `intervals.forecast.Forecast` and `plan.PlanNumbers` do."""

    @property
    def coverage(self) -> Array: ...
    @property
    def is_not_reportable(self) -> Flags: ...
    @property
    def usefulness(self) -> _Useful: ...
    @property
    def validity(self) -> _Valid: ...


class Promised(Protocol):
    """What holds in every world; `planner.Promise` does."""

    @property
    def worlds(self) -> tuple[str, ...]: ...
    @property
    def chance(self) -> Array: ...
    @property
    def decided_by(self) -> tuple[str, ...]: ...
    @property
    def reportable(self) -> int: ...
    @property
    def about(self) -> int | None: ...


REPORTABLE_CHANCE = 0.95
"""A coefficient is promised from this chance on that a release reports it."""


def reach(promised: Promised, usable: int) -> str:
    """How many coefficients are promised, in a sentence: what was checked, and no more.

    usable: how many complete records that is for.
    """
    n, n_worlds = len(promised.chance), len(promised.worlds)
    where = f" under all {n_worlds} sets of assumptions that were checked" if n_worlds > 1 else ""
    return (
        f"{promised.reportable} of {n} coefficient{'' if n == 1 else 's'} can be reported{where}, "
        f"even if only {usable:,} records can be used."
    )


def cautions(
    found: Foreseen,
    *,
    design: Design,
    names: Sequence[str],
    shrinkage: float | None = None,
    promised: Promised | None = None,
) -> tuple[Caution, ...]:
    """Return what speaks against a release of a design, gravest first; none where nothing does.

    Useless intervals, an invalid forecast, coefficients that are not reportable, those that are not
    in another world, coverage that falls short, and a penalised target far from the coefficients
    without penalty; of equal gravity in this order.

    Args:
        found: the forecast.
        design: it is for.
        names: of the coefficients, (p,).
        shrinkage: as for `report.covered.covered`.
        promised: what holds in every world, of the first coefficients.
    """
    said = []
    if found.usefulness.is_useless:
        said.append(Caution("stops", found.usefulness.sentence))
    rough: Gravity = "stops" if found.validity.grade == "unusable" else "weigh"
    said += [Caution(rough, reason) for reason in found.validity.reasons_of(names)]
    said += unreachable(found.is_not_reportable, names, promised)
    is_short = found.coverage < design.confidence_level - COVERAGE_SLACK
    is_short &= ~found.is_not_reportable
    if is_short.any():
        short = [name for name, is_one in zip(names, is_short, strict=True) if is_one]
        worst = float(found.coverage[is_short].min())
        lead = "If the table is as described, the" if promised and promised.worlds[1:] else "The"
        said.append(_shortfall(lead, short, worst, design.confidence_level))
    is_shrunk = ESTIMANDS[design.target].is_shrunk
    if is_shrunk and shrinkage is not None and shrinkage < LEAST_LEFT:
        left = percent(max(shrinkage, 0.0))
        sentence = (
            f"The intervals are for coefficients penalised at c = {design.regularization:g}, "
            f"typically shrunk to about {left} of the effects. For the effects choose the target "
            "without penalty, or a smaller c."
        )
        said.append(Caution("weigh" if shrinkage < _HALF else "know", sentence))
    return tuple(sorted(said, key=lambda one: _GRAVITIES.index(one.gravity)))


def unreachable(
    is_lost: Flags, names: Sequence[str], promised: Promised | None
) -> Iterator[Caution]:
    """What cannot be reported, of `names` (p,), or cannot be in another world."""
    lost = [name for name, is_one in zip(names, is_lost, strict=True) if is_one]
    if lost:
        is_grave = len(lost) == len(names)
        if promised is not None:
            is_goal = promised.about is not None and bool(is_lost[promised.about])
            is_grave = is_grave or is_goal or promised.reportable == 0
        yield Caution("stops" if is_grave else "weigh", not_reportable(lost))
    if promised is not None:
        yield from _elsewhere(promised, names, lost)


def _elsewhere(promised: Promised, names: Sequence[str], lost: Sequence[str]) -> Iterator[Caution]:
    """What cannot be promised because of another world, by the world that decides; grave where it
    is what the goal is about, or everything.
    """
    failing = [j for j, chance in enumerate(promised.chance) if chance < REPORTABLE_CHANCE]
    for assumption in dict.fromkeys(promised.decided_by[j] for j in failing):
        here = [j for j in failing if promised.decided_by[j] == assumption]
        told = [names[j] for j in here if names[j] not in lost]
        is_grave = promised.about in here or promised.reportable == 0
        if told:
            yield Caution(
                "stops" if is_grave else "weigh",
                f"If {plainly(assumption)}, these may not be reportable: {listed(told)}.",
            )


def gravest(said: Sequence[Caution]) -> tuple[tuple[Caution, ...], tuple[Caution, ...]]:
    """Return what is as grave as the first, and the smaller points.

    >>> gravest((Caution("weigh", "a"), Caution("weigh", "b"), Caution("know", "c")))[1]
    (Caution(gravity='know', sentence='c'),)
    """
    n = sum(one.gravity == said[0].gravity for one in said) if said else 0
    return tuple(said[:n]), tuple(said[n:])


def stopping(said: Sequence[Caution]) -> tuple[Caution, ...]:
    """Return those that a release asks consent for."""
    return tuple(one for one in said if one.gravity == "stops")


def sentences(said: Sequence[Caution]) -> tuple[str, ...]:
    """Return them in words, where how grave they are is not shown."""
    return tuple(one.sentence for one in said)


def smaller_points(n: int) -> str:
    """What smaller cautions stand behind.

    >>> smaller_points(1), smaller_points(2)
    ('1 smaller point', '2 smaller points')
    """
    return f"{n} smaller point{'' if n == 1 else 's'}"


def _shortfall(lead: str, short: Sequence[str], worst: float, level: float) -> Caution:
    """That the intervals of these coefficients promise too much."""
    is_one = len(short) == 1
    says = "interval of {} promises" if is_one else "intervals of {} promise"
    covers = "it says {:g} % and covers" if is_one else "they say {:g} % and cover at worst"
    return Caution(
        "stops" if 1.0 - worst > _MISSES * (1.0 - level) else "weigh",
        f"{lead} {says.format(listed(short, 4))} too much: {covers.format(100.0 * level)} "
        f"{100 * worst:.1f} %.",
    )


def not_reportable(names: Sequence[str]) -> str:
    """That nothing can be said about these coefficients.

    >>> not_reportable(["age", "income"])
    'Not reportable with this release: age, income.'
    """
    return f"Not reportable with this release: {listed(names)}."
