"""What the planner answers, in sentences made of the answer's data."""

from __future__ import annotations

import math
from collections.abc import Iterable

from dpci_core.report.words import in_hundred, number, plainly


def needed(
    amount: str,
    wanted: str,
    *,
    length: float,
    probability: float | None,
    around: Iterable[tuple[float, float, float]],
) -> str:
    """How much a target needs; `probability` None where the target is no power.

    around: factor of the amount, length there (inf where the design cannot run) and probability.
    """

    def chance(value: float) -> str:
        return "" if probability is None else f" and the chance {value:.2g}"

    parts = [
        f"{near:.3g}{chance(there)} at {factor:g} times as much"
        if math.isfinite(near)
        else f"out of reach at {factor:g} times as much, where the design cannot run"
        for factor, near, there in around
    ]
    return (
        f"{amount} needed so that {wanted}. There the length is {length:.3g}"
        f"{chance(probability or 0.0)}; {', '.join(parts)}."
    )


def hardly_reported(chance: float, assumption: str, *, is_one: bool, helps: str) -> str:
    """That a length is no use where releases do not report it, and what helps.

    is_one: whether it is that of one coefficient, else of several of which one is meant.
    """
    whole = math.floor(100.0 * chance)
    share = f"only {whole} % of releases" if chance > 0.0 else "no release"
    what = "the coefficient" if is_one else "one of the coefficients"
    return f"But {share} would report {what} if {assumption}. {helps}"


def decided(said: str, assumption: str) -> str:
    """An answer with the assumption of the world that decided it; empty where there is one only."""
    return f"{said} Decided by this: {plainly(assumption)}." if assumption else said


def best_split(
    shares: tuple[float, float, float],
    gain: float,
    near_best: tuple[float, float],
    *,
    is_mean: bool = True,
) -> str:
    """The best split of a total; near_best: shares of the coefficients that are nearly as good.

    is_mean: whether the mean over all intervals was made short, not that of one coefficient.
    """
    model, hessian, covariance = in_hundred(shares)
    low, high = near_best
    which = "the mean interval" if is_mean else "this interval"
    return (
        f"{model} % for the coefficients, {hessian} % for the Hessian and {covariance} % for the "
        f"gradient covariance shorten {which} by {gain:.1%}. Between {low:.0%} "
        f"and {high:.0%} for the coefficients the length changes by about 1 % or less."
    )


def ranked(
    length: float, as_if_records: int, n_records: int, shares: tuple[float, float, float]
) -> str:
    """What one way to spend a guarantee gives."""
    model, hessian, covariance = in_hundred(shares)
    return (
        f"{length:.3g} on average, as long as without privacy from {as_if_records:,} of the "
        f"{n_records:,} records, with {model} % for the coefficients, {hessian} % for the "
        f"Hessian, {covariance} % for the covariance."
    )


def standard_encoding(
    limit: float, regularization: float, shares: tuple[float, float, float]
) -> str:
    """The encoding and design of the shortest intervals without penalty."""
    model, hessian, covariance = in_hundred(shares)
    return (
        "Rows count less outside the ellipsoid of the planning rows and values are cut off "
        f"{limit:g} spreads from the typical one; c = {regularization:g}, with {model} % for the "
        f"coefficients, {hessian} % for the Hessian and {covariance} % for the gradient covariance."
    )


Choice = tuple[float, float, float, tuple[float, float]]
"""A regularization c, mean length, shift in half-widths, and the c of about that length."""


def best_regularization(
    shortest: Choice,
    low_bias: Choice | None,
    unpenalised: Choice | None,
    *,
    share: float,
    within: float,
    is_at_end: bool,
) -> str:
    """Both answers about c; within: by which lengths differ in the range of a choice."""
    if low_bias is None:
        other = f"No c that was tried keeps the target within {share:g} half-widths."
    elif low_bias[0] == shortest[0]:
        other = f"That is also the shortest with the target within {share:g} half-widths."
    else:
        other = f"With the target within {share:g} half-widths, {_choice(low_bias, within)}"
    if is_at_end:
        other = f"By length alone there is no best c: this is the largest that was tried. {other}"
    if unpenalised is not None:
        other += (
            ' For the coefficients without penalty (target="unpenalised"), '
            f"{_choice(unpenalised, within)}"
        )
    return f"Shortest, {_choice(shortest, within)} {other}"


def _choice(choice: Choice, within: float) -> str:
    c, length, shift, (low, high) = choice
    around = (
        ""
        if low == high
        else f"; between c = {low:g} and {high:g} lengths are within {within:.0%} of that"
    )
    return (
        f"c = {c:g}: {number(length)} long on average, and the target lies {number(shift, 2)} "
        f"half-widths from the coefficients without penalty{around}."
    )


def shortfall(ratio: float, usual: float, is_hessian: bool) -> str:
    """Why sharp intervals stay longer than they usually do."""
    part = "Hessian" if is_hessian else "gradient covariance"
    return (
        f"{100 * (ratio / usual - 1):.0f} % longer than usual, because the {part} is released with "
        "much noise."
    )


def cut(clip: float, moved: float) -> str:
    """What a clip does to the coefficients of planning rows, after another sentence."""
    return (
        f" Gradients are cut at {clip:g} in a released metric, which moves no coefficient of the "
        f"planning rows by more than {moved:.2f} half-widths."
    )


def geometry(gain: float | None, *, is_shorter: bool) -> str:
    """What noise shaped like the records gains against the best split without, None where none
    runs without.
    """
    if gain is None:
        return "Of the metrics and clips that can run, these make the mean interval shortest."
    if not is_shorter:
        return "Noise shaped like the records is not shorter here; this is the best split without."
    return (
        f"Noise shaped like the records makes the mean interval {gain:.1%} shorter than the best "
        "split without."
    )
