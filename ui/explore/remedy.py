"""What helps where effects are not reportable, found by the forecasts of settings beside these."""

from __future__ import annotations

from dataclasses import replace

from dpci_core import Forecast, forecast
from dpci_core.base.errors import ConvergenceError
from dpci_core.intervals.forecast import REPORTABLE_BIAS
from dpci_core.report.words import number
from ui.explore.finding import counted_coefficients
from ui.session import compute, text
from ui.session.settings import LIMITS

_SMALLER = (4.0, 16.0, 64.0)
_MORE = 4


def sentence(view: compute.View) -> str:
    """What helps the first design on the chart that cannot report every effect."""
    is_counted = counted_coefficients(view)
    for outcome in view.drawn:
        made = outcome.forecast
        if made is not None and (made.is_not_reportable & is_counted).any():
            return _found(view, outcome, made)
    return ""


def _found(view: compute.View, outcome: compute.Outcome, made: Forecast) -> str:
    lost = _n_lost(view, made)
    tried = [now for factor in _SMALLER if (now := view.settings.c / factor) >= LIMITS["c"][0]]
    there = {float(f"{c:.1g}"): _lost_at(view, outcome, c, view.settings.n) for c in tried}
    best = min(there, key=lambda c: there[c], default=None)
    if best is not None and there[best] < lost:
        which = f"{lost - there[best]} of these {lost}" if there[best] else "them"
        return f"A smaller penalty helps: c = {number(best, 1)} lets {which} be reported."
    more = min(_MORE * view.settings.n, LIMITS["n"][1])
    if _lost_at(view, outcome, view.settings.c, int(more)) < lost:
        return text.RECORDS_HELP
    if any(_lost_at(view, outcome, c, int(more)) < lost for c in there):
        return "More records help, together with a smaller penalty."
    return text.NEITHER_HELPS if _is_biased(view, made) else text.RECORDS_HELP


def _lost_at(view: compute.View, outcome: compute.Outcome, c: float, n: int) -> int:
    """Effects that are not reportable at another c and number of records; all where that cannot
    run.
    """
    moved = replace(view.settings, c=float(f"{c:.1g}") if c < view.settings.c else c, n=n)
    try:
        moments = view.moments_at(outcome, moved.c)
        design = compute.designed(moved, outcome.combination, moments)
        return _n_lost(view, forecast(moments, design=design))
    except (ConvergenceError, ValueError):
        return len(view.records.feature_names)


def _n_lost(view: compute.View, made: Forecast) -> int:
    return int((made.is_not_reportable & counted_coefficients(view)).sum())


def _is_biased(view: compute.View, made: Forecast) -> bool:
    """Whether all that is not reportable is moved too far, rather than too wide."""
    lost = made.is_not_reportable & counted_coefficients(view)
    return bool((abs(made.bias) > REPORTABLE_BIAS * made.ci_length / 2.0)[lost].all())
