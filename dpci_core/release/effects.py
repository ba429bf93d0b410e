"""What each released coefficient says, in sentences and in the units of the declared columns.

Only declarations and released numbers enter: the step of a number comes from its declared bounds.
"""

from __future__ import annotations

import math

from dpci_core.release.record import Interval, Release
from dpci_core.report.words import number
from dpci_core.schema import CONSTANT, CategoricalColumn, NumericColumn

_ONE_BY_ONE = (2.0, 200.0)
"""A declared range within these is told per unit: a year of age, a point of a score."""
_LARGEST_LOG_ODDS = 10.0
"""Beyond it a factor on the odds is a number that nobody can read."""


def effect_sentences(release: Release) -> tuple[str, ...]:
    """Return one sentence for each coefficient, the constant last.

    Log-odds for a logistic model, with the factor on the odds; the score of its decision for an
    SVM.
    """
    columns = {name: column for column in release.schema.features for name in column.feature_names}
    found = []
    for c in release.coefficients[:-1]:
        column = columns[c.name]
        if isinstance(column, NumericColumn):
            step = unit_step(column)
            found.append(
                _moves(f"{step:,.12g} more of {column.name}", _times(c.original, step), release)
            )
        else:
            level = c.name.removeprefix(f"{column.name}=")
            found.append(
                _moves(f"{column.name} = {level} {_base(column, release)}", c.original, release)
            )
    return (*found, _start(release))


def unit_step(column: NumericColumn) -> float:
    """Return the difference that an effect is told for: 1, or a power of ten of at most a tenth of
    the declared range.

    >>> [unit_step(NumericColumn("x", 0, high)) for high in (1, 99, 100_000)]
    [0.1, 1.0, 10000.0]
    """
    width = column.high - column.low
    if _ONE_BY_ONE[0] <= width <= _ONE_BY_ONE[1]:
        return 1.0
    return float(f"1e{math.floor(math.log10(width / 10.0) + 1e-9)}")


def _times(interval: Interval, step: float) -> Interval:
    return Interval(
        estimate=interval.estimate * step, low=interval.low * step, high=interval.high * step
    )


def _base(column: CategoricalColumn, release: Release) -> str:
    """What a level is compared with: the levels without a coefficient of their own."""
    rest = [level for level in column.levels if f"{column.name}={level}" not in release.features]
    if not rest:
        return "(beside the other levels, each of which has its own number)"
    return f"instead of {' or '.join(rest)}"


def _moves(change: str, by: Interval, release: Release) -> str:
    """What a change does, all else equal, and whether its direction is known."""
    if by.low > 0.0:
        sure = f"It points towards {_outcome(release)}."
    elif by.high < 0.0:
        sure = f"It points away from {_outcome(release)}."
    else:
        sure = "Zero is within: it may go either way."
    level = f"{release.design.confidence_level:.10g}"
    ends = f"between {number(by.low)} and {number(by.high)} at level {level}"
    moved = f"{_measure(release, 'change')} by {number(by.estimate)}, {ends}{_odds(by, release)}"
    return f"{change}, all else equal: {moved}. {sure}"


def _start(release: Release) -> str:
    """The constant: where all numbers are 0 and all levels those that have no coefficient."""
    at = release.coefficients[-1].original
    ends = f"between {number(at.low)} and {number(at.high)}"
    return (
        f"{CONSTANT}: {_measure(release, 'are')} {number(at.estimate)}, {ends}, for a row whose "
        "numbers are all 0 and whose levels have no coefficient of their own; perhaps no such row "
        "exists."
    )


def _measure(release: Release, verb: str) -> str:
    """What the model adds up, with its verb in the right number."""
    if release.design.loss.is_log_odds:
        return f"the log-odds of {_outcome(release)} {verb}"
    return f"the score for {_outcome(release)} {'is' if verb == 'are' else f'{verb}s'}"


def _outcome(release: Release) -> str:
    return f"{release.schema.target} = {release.schema.positive}"


def _odds(by: Interval, release: Release) -> str:
    if not release.design.loss.is_log_odds or max(abs(by.low), abs(by.high)) > _LARGEST_LOG_ODDS:
        return ""
    low, middle, high = (number(math.exp(x)) for x in (by.low, by.estimate, by.high))
    return f" (odds times {middle}, between {low} and {high})"


def reading_sentence(release: Release) -> str:
    """What the numbers are measured in."""
    outcome = _outcome(release)
    if release.design.loss.is_log_odds:
        return (
            f"Log-odds of 0 are a chance of one half that {outcome}; each more multiplies the odds "
            "by e, about 2.72. A coefficient compares rows; it does not say that one thing causes "
            "another."
        )
    return (
        f"The model says {outcome} where the score is above 0. Rows with a score beyond 1 or -1 "
        "lie clear of the boundary. A score is no chance, and its size has a meaning only beside "
        "other scores of this model. A coefficient describes rows beside each other; it is no "
        "claim of a cause."
    )
