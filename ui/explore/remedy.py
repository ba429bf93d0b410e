"""What helps where effects are not reportable, found by the forecasts of settings beside these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from dpci_core import Forecast, Remedies, forecast, remedies
from dpci_core.base.errors import ConvergenceError
from dpci_core.intervals.forecast import REPORTABLE_BIAS
from dpci_core.report.cautions import COVERAGE_SLACK
from dpci_core.report.words import as_typed, many, number
from ui.controls import currency
from ui.explore.finding import counted_coefficients
from ui.session import compute, text
from ui.session.budget import Split, from_shares
from ui.session.settings import LIMITS, Settings

_SMALLER = (4.0, 16.0, 64.0, 1024.0, 16384.0)
"""Times that c is divided by: from the largest c of the page down to one that shrinks little."""
_MORE = (2.0, 4.0, 8.0)
"""So many times the records or the budget; more is another study."""
_LARGER = (1.0, 1.1, 1.2, 1.35, 1.5, 2.0)
"""Times a first guess of c."""


@dataclass(frozen=True)
class _Change:
    """Settings to try, and how they are told: what helps, and the value of each control."""

    helps: str
    values: str
    settings: Settings


@dataclass(frozen=True)
class _There:
    """Effects under other settings that are not reportable, and that are but cover too little."""

    lost: int
    short: int


def sentence(view: compute.View) -> str:
    """The one change that lets most effects be reported which the first design on the chart cannot
    report; else which two together do, or that none does.
    """
    is_counted = counted_coefficients(view)
    for outcome in view.drawn:
        made = outcome.forecast
        if made is not None and (made.is_not_reportable & is_counted).any():
            return _found(view, outcome, made)
    return ""


def _found(view: compute.View, outcome: compute.Outcome, made: Forecast) -> str:
    now = view.settings
    records_or_budget = [
        change
        for times in _MORE
        for change in (*_more_records(now, times), *_larger_budget(now, times))
    ]
    together = [
        _Change("", f"{first.values} with {second.values}", second.settings)
        for times in _MORE[1:]
        for first in _more_records(now, times)
        for second in (
            *_smaller_penalty(first.settings, _SMALLER[1]),
            *_larger_budget(first.settings, times),
        )
    ]
    for tiers in (
        (
            [change for times in _SMALLER for change in _smaller_penalty(now, times)],
            list(_usual_split(now)),
            records_or_budget,
        ),
        (together,),
    ):
        if helps := _helping(view, outcome, made, tiers):
            return helps
    if _is_biased(view, made):
        return text.NEITHER_HELPS
    farthest = (together or records_or_budget)[-1:]
    return "".join(f"Not even {c.values} lets most of them be reported." for c in farthest)


def _helping(
    view: compute.View, outcome: compute.Outcome, made: Forecast, tiers: Iterable[list[_Change]]
) -> str:
    """What lets at least half of the lost effects be reported and makes no more intervals promise
    too much, of the first tier that has such a change; else of the first that has one at that
    price, which is told; else nothing.
    """
    lost, short, at_a_price = _n_lost(view, made), _n_short(view, made), ""
    for tier in tiers:
        helps, left = "", lost // 2 + 1
        for change in tier:
            there = _at(view, outcome, change.settings)
            if there is None or there.lost >= left:
                continue
            if there.short > short:
                at_a_price = at_a_price or _said(change, lost, there)
                continue
            helps, left = _said(change, lost, there), there.lost
            if not left:
                break
        if helps:
            return helps
    return at_a_price


def _said(change: _Change, lost: int, there: _There) -> str:
    helps = f"{change.helps}:" if change.helps else "No single control helps most of them, but"
    which = f"{lost - there.lost} of these {lost}" if there.lost else "them"
    though = (
        f", though {many(there.short, 'interval')} would promise too much" if there.short else ""
    )
    return f"{helps} {change.values} lets {which} be reported{though}."


def _smaller_penalty(now: Settings, times: float) -> Iterator[_Change]:
    c = float(f"{now.c / times:.1g}")
    if c >= LIMITS["c"][0]:
        yield _Change("A smaller penalty helps", f"c = {number(c, 1)}", now.swept("c", c))


def _usual_split(now: Settings) -> Iterator[_Change]:
    split = from_shares(now.split.total)
    if split != now.split and not any(now.split.locked):
        values = "half of the budget for the coefficients and a quarter for each matrix"
        yield _Change("Another split helps", values, replace(now, split=split).settled())


def _more_records(now: Settings, times: float) -> Iterator[_Change]:
    n = min(round(now.n * times), int(LIMITS["n"][1]))
    if n > now.n:
        yield _Change("More records help", f"n = {n:,}", now.swept("n", n))


def _larger_budget(now: Settings, times: float) -> Iterator[_Change]:
    yield from _at_total(now, min(now.typed_total * times, LIMITS[now.currency][1]))


def _at_total(now: Settings, total: float) -> Iterator[_Change]:
    """A larger total, to three digits; none where locked parts leave none for the others."""
    total = float(f"{total:.3g}")
    if total > now.typed_total:
        with suppress(ValueError):
            moved = currency.at_total(now, total)
            yield _Change("A larger budget helps", f"{now.typed.letter} = {as_typed(total)}", moved)


def _at(view: compute.View, outcome: compute.Outcome, moved: Settings) -> _There | None:
    """What other settings leave; None where they cannot run or no interval is of use."""
    made = _made(view, outcome, moved)
    return None if made is None else _There(_n_lost(view, made), _n_short(view, made))


def _made(view: compute.View, outcome: compute.Outcome, moved: Settings) -> Forecast | None:
    """The forecast of other settings; None where they cannot run or it cannot be used."""
    try:
        moments = view.moments_at(outcome, moved.c)
        design = compute.designed(moved, outcome.combination, moments)
        made = forecast(moments, design=design)
    except (ConvergenceError, ValueError):
        return None
    return None if made.validity.grade == "unusable" else made


def usual_split(view: compute.View) -> Split | None:
    """The usual split, where it is another and something can be drawn with it."""
    for change in _usual_split(view.settings):
        if any(_made(view, outcome, change.settings) for outcome in view.outcomes):
            return change.settings.split
    return None


def of_use(view: compute.View, useless: compute.Outcome) -> str:
    """From where on intervals of no use are of some, as far as controls go and forecasts keep it,
    and how many of them promise too much there.
    """
    now = view.settings
    assert useless.forecast is not None
    assert useless.moments is not None
    found = remedies(useless.moments, design=useless.forecast.design)
    times, guess = found.budget_factor, found.regularization
    total = None if times is None else times * now.typed_total
    larger = [] if guess is None else [float(f"{guess * more:.3g}") for more in _LARGER]
    at_n, at_total, at_c = (
        _first_of_use(view, useless, tried)
        for tried in (
            [now.swept("n", int(n)) for n in _within("n", found.n_records)],
            [one.settings for x in _within(now.currency, total) for one in _at_total(now, x)],
            (now.swept("c", c) for one in larger for c in _within("c", one)),
        )
    )
    kept = Remedies(
        n_records=at_n and found.n_records,
        budget_factor=at_total and times,
        regularization=at_c and at_c[0].c,
    )
    short = max((_n_short(view, there[1]) for there in (at_n, at_total, at_c) if there), default=0)
    told = f" Up to {many(short, 'interval')} would then promise too much." if short else ""
    return f"{kept.sentence}{told}"


def _within(name: str, value: float | None) -> list[float]:
    """The value of a control, where there is one and the page goes so far."""
    return [] if value is None or value > LIMITS[name][1] else [value]


def _first_of_use(
    view: compute.View, useless: compute.Outcome, tried: Iterable[Settings]
) -> tuple[Settings, Forecast] | None:
    """The first settings with which intervals are of use, with their forecast."""
    for moved in tried:
        made = _made(view, useless, moved)
        if made is not None and not made.usefulness.is_useless:
            return moved, made
    return None


def _n_lost(view: compute.View, made: Forecast) -> int:
    return int(np.sum(made.is_not_reportable & counted_coefficients(view)))


def _n_short(view: compute.View, made: Forecast) -> int:
    """Effects that can be reported and whose intervals cover less than is promised."""
    is_short = made.coverage < view.settings.level - COVERAGE_SLACK
    return int(np.sum(is_short & ~made.is_not_reportable & counted_coefficients(view)))


def _is_biased(view: compute.View, made: Forecast) -> bool:
    """Whether all that is not reportable is moved too far, rather than too wide."""
    lost = made.is_not_reportable & counted_coefficients(view)
    return bool((abs(made.bias) > REPORTABLE_BIAS * made.ci_length / 2.0)[lost].all())
