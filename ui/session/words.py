"""What the core refuses, in the words of the page: it names arguments, people know controls.

No Streamlit.
"""

from __future__ import annotations

from functools import singledispatch

from dpci_core.base.errors import (
    ArgumentError,
    BudgetExceededError,
    ChoiceError,
    CountError,
    DigitsError,
    NotNumberError,
    PenaltyTooSmallError,
    PersonsNotShownError,
    RangeError,
    TextError,
)
from dpci_core.intervals.certified import UncertainFitError
from dpci_core.plan import PlanFieldError
from dpci_core.planner.split import NoSplitError
from dpci_core.privacy.budget import NothingToPairError
from dpci_core.report.refusals import said, text_rule
from dpci_core.report.words import number

_NAMES = {
    "regularization": "The penalty c",
    "n_records": "The number of records n",
    "confidence_level": "The confidence level",
    "h": "The width h",
    "budget.model": "The part for the coefficients",
    "budget.hessian": "The part for the Hessian",
    "budget.covariance": "The part for the gradient covariance",
    "model": "The part for the coefficients",
    "hessian": "The part for the Hessian",
    "covariance": "The part for the gradient covariance",
    "epsilon": "ε",
    "rho": "ρ",
    "delta": "δ",
    "total": "The total budget",
    "length": "The length",
    "excludes_zero_at": "The true value",
    "unit": "What one row stands for",
    "person": "Your name",
    "dataset": "The name of the data set",
    "the name of the data set": "The name of the data set",
    "n_rows": "The number of rows",
}
_WAYS = {"total": "a total of {}", "n_records": "{:,} records", "regularization": "c = {:g}"}


@singledispatch
def in_words(problem: BaseException) -> str:
    """Why something was refused, with the names of the controls in the place of the arguments'.

    What it quotes is as it was typed: `text.plain` where Markdown would read it. Errors without
    fields say it themselves.

    >>> in_words(RangeError("regularization", -1.5, 0.0))
    'The penalty c is -1.5, but has to be above 0.'
    """
    return said(problem, in_words)


def _name(problem: ArgumentError) -> str:
    return _NAMES.get(problem.name, problem.name)


def _has_to_be(problem: ArgumentError, wanted: str) -> str:
    return f"{_name(problem)} is {_shown(problem.value)}, but has to be {wanted}."


def _shown(value: object) -> str:
    """A number, or what was typed."""
    if isinstance(value, str):
        return f"“{repr(value)[1:-1]}”"
    bare = str(value)
    return f"{int(bare):,}" if bare.isdigit() else bare


def _end(x: float) -> str:
    """An end of a range; far away it is a power of ten."""
    shown = number(x)
    mantissa, is_far, power = shown.partition("e")
    if not is_far or float(mantissa) != 1.0:
        return shown
    return f"10{str(int(power)).translate(_RAISED)}"


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@in_words.register
def _(problem: RangeError) -> str:
    low, high = (None if end is None else _end(float(end)) for end in (problem.low, problem.high))
    if low is not None and high is not None:
        return _has_to_be(problem, f"between {low} and {high}")
    return _has_to_be(problem, f"above {low}" if high is None else f"below {high}")


@in_words.register
def _(problem: CountError) -> str:
    return _has_to_be(problem, "a whole number >= 1")


@in_words.register
def _(problem: NotNumberError) -> str:
    if isinstance(problem.value, str):
        point = " with a decimal point" * ("," in problem.value)
        return _has_to_be(problem, f"a number{point}")
    return f"{_name(problem)} has to be a number, got {type(problem.value).__name__}."


@in_words.register
def _(problem: DigitsError) -> str:
    return f"{_name(problem)} may have at most {problem.limit} digits."


@in_words.register
def _(problem: ChoiceError) -> str:
    return _has_to_be(problem, f"one of {', '.join(map(repr, problem.choices))}")


@in_words.register
def _(problem: TextError) -> str:
    return f"{_name(problem)} has to {text_rule(problem)}."


@in_words.register
def _(problem: PlanFieldError) -> str:
    what = problem.problem
    said = what if isinstance(what, str) else in_words(what)
    return f"{problem.field}: {said}" if problem.field else said


@in_words.register
def _(problem: PenaltyTooSmallError) -> str:
    return (
        f"The penalty c is {problem.regularization}, but has to be above "
        f"{number(problem.smallest)} for {problem.method} perturbation with this budget and "
        f"n = {problem.n_records:,}. "
        f"The smallest c that works is {problem.works:.3g}."
    )


@in_words.register
def _(problem: PersonsNotShownError) -> str:
    return (
        f"Where one person may have up to {problem.rows_per_person:,} rows, Gaussian noise in the "
        "objective is not shown to protect them: its proof is for single rows. Choose output "
        "perturbation, a pure ε, or only peer-reviewed privacy results."
    )


@in_words.register
def _(problem: NothingToPairError) -> str:
    return (
        f"A rho of {problem.rho} already means epsilon = 0 at delta = {problem.delta}, which no "
        f"pure budget can match. Choose a total of {problem.total} or more, or a delta of "
        f"{problem.smaller} or less."
    )


@in_words.register
def _(problem: UncertainFitError) -> str:
    if problem.regularization is None:
        return (
            f"With n = {problem.n_records:,}, {problem.dim} coefficients and this budget a fit "
            "with noise from the operating system cannot be certified at any penalty. Spend more "
            "on the coefficients, or use more records."
        )
    return (
        f"With c = {problem.regularization:g}, n = {problem.n_records:,} and {problem.dim} "
        f"coefficients the fit cannot be certified to {problem.tolerance:.0e} in floating-point "
        "numbers. Choose a larger c, a larger budget of the coefficients or, for a Huber SVM, a "
        "larger h."
    )


@in_words.register
def _(problem: NoSplitError) -> str:
    why = f"The locked parts take {problem.taken} of the total {problem.total}."
    if problem.is_whole:
        return f"{why} The total must be {problem.taken}."
    if problem.taken is None:
        why = f"No split of {problem.total} is feasible at c = {problem.regularization:g}."
    ways = [f"choose {_WAYS[change.what].format(change.value)}" for change in problem.changes]
    say = " or ".join([*(["unlock a part"] if problem.is_locked else []), *ways])
    say = say or "no single change of the total, n or c helps"
    return f"{why} {say[0].upper()}{say[1:]}."


@in_words.register
def _(problem: BudgetExceededError) -> str:
    of = f"{problem.symbol} " if problem.symbol else ""
    advice = (
        f"Choose a plan that costs at most {of}{problem.remaining:f}."
        if problem.remaining > 0
        else "Nothing further about these people can be released under this cap."
    )
    return (
        f"This would cost {of}{problem.requested:f}, but {of}{problem.remaining:f} of the budget "
        f"is left, and nothing was booked. {advice}"
    )
