"""Exceptions that a caller may want to tell apart, and the checks that raise the plain ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, TypeGuard, TypeVar

import numpy as np

from dpci_core.base.codes import SENTENCES
from dpci_core.base.text import TextProblem

ChangeName = Literal[
    "regularization", "n_records", "model", "total", "length", "excludes_zero_at", "delta"
]


@dataclass(frozen=True, slots=True)
class Change:
    """One way out of an infeasible design: this argument at this value, all others as they are.

    what: "regularization" (c), "n_records", "model" (the budget of the coefficients, the matrices
    keep theirs), "total" (of the budget; where the split is not searched for, at the shares it
    has), "length" or "excludes_zero_at" (of a target), "delta".
    value: rounded to the side that works, to three significant digits or finer; 2 % nearer to what
    was asked for does not work, unless `is_smallest` is False.
    """

    what: ChangeName
    value: int | float | Decimal
    is_smallest: bool = True


class TypedError(ValueError):
    """A refusal as data: fields hold what was refused, `str` is a plain sentence for programmers.

    Whoever shows one to people makes the words from its fields.
    """

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self.args, vars(self))


class CodedError(Exception):
    """A refusal as data: the rule that was broken, and what a sentence about it names.

    code: of the rule; `codes` has its sentence.
    facts: rows, columns, limits, names; never a value of a private cell.
    """

    def __init__(self, code: str, **facts: object) -> None:
        super().__init__(described(code, facts))
        self.code = code
        self.facts = facts

    def __str__(self) -> str:
        return sentence(self) if self.code in SENTENCES else str(self.args[0])

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self.args, vars(self))


class Finding:
    """What was found or done, as data; nothing is refused for it.

    code: `codes` has its sentence.
    facts: as of a `CodedError`; one may be a finding, a tuple of findings, or an error itself.
    """

    def __init__(self, code: str, **facts: object) -> None:
        self.code = code
        self.facts = facts

    def __repr__(self) -> str:
        return described(self.code, self.facts)


def sentence(problem: CodedError | Finding, inner: Callable[[BaseException], str] = str) -> str:
    """Return the sentence of a code and its facts.

    >>> sentence(CodedError("another_number_of_fields", row=7, found=3, wanted=4))
    'Line 7 has another number of fields (3) than the first line (4).'
    """
    facts = {name: _fact(fact, inner) for name, fact in problem.facts.items()}
    return SENTENCES[problem.code].format(**facts).rstrip()


def _fact(fact: object, inner: Callable[[BaseException], str]) -> object:
    """What stands for a fact in a sentence: their own of a finding, several, or an error."""
    if isinstance(fact, Finding):
        return sentence(fact, inner)
    if isinstance(fact, tuple) and fact and all(isinstance(one, Finding) for one in fact):
        return " ".join(str(_fact(one, inner)) for one in fact)
    return inner(fact) if isinstance(fact, BaseException) else fact


def described(code: str, facts: Mapping[str, object]) -> str:
    """A code and its facts for programmers.

    >>> described("name_too_long", {"position": 3, "limit": 500})
    'name too long (position=3, limit=500)'
    """
    listed = ", ".join(
        f"{name}={value if isinstance(value, Path | Decimal) else repr(value)}"
        for name, value in facts.items()
        if value is not None
    )
    return code.replace("_", " ") + (f" ({listed})" if listed else "")


_LONGEST_SHOWN = 80
"""Characters of a refused value that its sentence repeats; a table may be passed by mistake."""
_FEW = 12
"""Entries of an array that is shown."""
_LONGEST_INT = 10_000
"""Bits that are written out: Python refuses to write far longer ones."""


def shown_short(value: object) -> str:
    """A refused value as Python writes it, cut where it is long; of an array only what it is.

    >>> shown_short("abc"), shown_short(np.zeros((3, 2))), len(shown_short("9" * 10**6))
    ("'abc'", 'array (3, 2)', 81)
    """
    if hasattr(value, "shape") and value.shape:
        return f"array {value.shape}"
    if isinstance(value, list | tuple | set | dict) and len(value) > _LONGEST_SHOWN:
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, int) and value.bit_length() > _LONGEST_INT:
        return f"whole number of {value.bit_length()} bits"
    start = value[: _LONGEST_SHOWN + 1] if isinstance(value, str) else value
    text = str(start) if isinstance(start, Decimal) else repr(start)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def short_repr(made: Any) -> str:
    """The `__repr__` of a dataclass with long fields: of long arrays what they are, of others the
    start.
    """
    values = {field.name: getattr(made, field.name) for field in fields(made)}
    shown = (
        f"{name}={repr(x) if isinstance(x, np.ndarray) and x.size <= _FEW else shown_short(x)}"
        for name, x in values.items()
    )
    return f"{type(made).__name__}({', '.join(shown)})"


def _restored(
    kind: type[Exception], args: tuple[object, ...], fields: dict[str, object]
) -> Exception:
    error = kind.__new__(kind, *args)
    vars(error).update(fields)
    return error


class ArgumentError(TypedError):
    """An argument that breaks a rule.

    name: of the argument.
    value: as it was given.
    """

    def __init__(self, name: str, value: object, message: str) -> None:
        super().__init__(message)
        self.name = name
        self.value = value


class RangeError(ArgumentError):
    """A number outside its range.

    low, high: the ends, None where there is none.
    is_open: whether the ends are outside too.
    """

    def __init__(
        self,
        name: str,
        value: object,
        low: float | Decimal | None = None,
        high: float | Decimal | None = None,
        *,
        is_open: bool = False,
        shown: str | None = None,
        hint: str = "",
    ) -> None:
        given = f"{name}={shown_short(value)}" if shown is None else f"{name}={shown}"
        sign = "<" if is_open else "<="
        least, most = (
            f"{end:g}" if isinstance(end, float | int) else str(end) for end in (low, high)
        )
        ends = f"{given} > {least} and finite" if high is None else f"{given} {sign} {most}"
        both = low is not None and high is not None
        least_sign = f"{least} {sign} " if both else ""
        super().__init__(name, value, f"Expected {least_sign}{ends}.{hint}")
        self.low = low
        self.high = high
        self.is_open = is_open


class CountError(ArgumentError):
    """Anything but a whole number of at least 1."""

    def __init__(self, name: str, value: object) -> None:
        given = f"{name}={shown_short(value)}"
        super().__init__(name, value, f"Expected {given} to be a whole number >= 1.")


class NotNumberError(ArgumentError):
    """Anything but a number."""

    def __init__(self, name: str, value: object) -> None:
        given = f"{name} to be a number, got {type(value).__name__}"
        if isinstance(value, str):
            given = f"{name}={shown_short(value)} to be a number"
        super().__init__(name, value, f"Expected {given}.")


class DigitsError(ArgumentError):
    """A number of more significant digits than exact arithmetic should carry; `limit` says how
    many.
    """

    def __init__(self, name: str, value: object, limit: int) -> None:
        super().__init__(name, value, f"Expected {name} to have at most {limit} digits.")
        self.limit = limit


class ChoiceError(ArgumentError):
    """A name that is none of the choices."""

    def __init__(self, name: str, value: object, choices: tuple[object, ...]) -> None:
        given = f"{name}={shown_short(value)}"
        listed = ", ".join(map(repr, choices))
        typed = value[:_LONGEST_SHOWN] if isinstance(value, str) else ""
        meant = [
            f" Write {name}={one!r}." for one in get_close_matches(typed, [*map(str, choices)], 1)
        ]
        super().__init__(name, value, f"Expected {given} to be one of {listed}.{''.join(meant)}")
        self.choices = choices


class TextError(ArgumentError):
    """A text that breaks a rule; `problem` says which."""

    def __init__(self, name: str, problem: TextProblem) -> None:
        said = described(problem.code, {"found": problem.found, "limit": problem.limit})
        super().__init__(name, None, f"Expected {name} not to be {said}.")
        self.problem = problem


class InfeasibleDesignError(TypedError):
    """A design that no data could satisfy; subclasses hold the numbers that say why.

    message, suggestion: the same for programmers, and the smallest change that makes it feasible.
    changes: that for a program, each of which is enough alone; empty where none is known.
    """

    def __init__(self, message: str, suggestion: str, changes: tuple[Change, ...] = ()) -> None:
        super().__init__(f"{message} {suggestion}".rstrip())
        self.message = message
        self.suggestion = suggestion
        self.changes = changes

    def change(self, what: ChangeName) -> Change | None:
        """The change of this argument, None where it does not help or is not known."""
        return next((change for change in self.changes if change.what == what), None)


class PenaltyTooSmallError(InfeasibleDesignError):
    """A c at which objective perturbation cannot run.

    method: "objective" or "Gaussian objective".
    regularization: the c that was given.
    smallest: c has to be above it.
    works: such a c, with three significant digits.
    n_records: number of records.
    """

    def __init__(
        self,
        method: str,
        regularization: float,
        smallest: float,
        n_records: int,
        changes: tuple[Change, ...],
    ) -> None:
        self.method = method
        self.regularization = regularization
        self.smallest = smallest
        self.works = float(changes[0].value)
        self.n_records = n_records
        super().__init__(
            f"Expected regularization={regularization!r} > {smallest:.6g} for {method} "
            f"perturbation with this budget and n_records={n_records}.",
            f"The smallest c that works is {self.works:.3g}.",
            changes,
        )


class PersonsNotShownError(InfeasibleDesignError):
    """Gaussian objective perturbation where a person may have several rows, which no proof covers.

    rows_per_person: k of the design.
    """

    def __init__(self, rows_per_person: int) -> None:
        self.rows_per_person = rows_per_person
        super().__init__(
            f"Expected rows_per_person={rows_per_person} to be 1 for Gaussian objective "
            "perturbation: its proof is for single rows.",
            "Take output perturbation, a pure budget, or switch gaussian_objective off.",
        )


class DataRejectedError(CodedError, ValueError):
    """Records that break a rule; `row` and `column` say where, never what stands there."""

    def __init__(
        self, code: str, *, row: int | None = None, column: str | None = None, **facts: object
    ) -> None:
        super().__init__(code, row=row, column=column, **facts)
        self.row = row
        self.column = column


class ConvergenceError(CodedError, RuntimeError):
    """The solver could not reach its fixed tolerance."""

    def __init__(self, code: str, **facts: object) -> None:
        super().__init__(code, **facts)


class LedgerError(TypedError):
    """The ledger cannot do what was asked. Nothing was booked."""


class LedgerRuleError(CodedError, LedgerError):
    """A rule of the ledger, or of the place where it is kept, stands in the way."""

    def __init__(self, code: str, **facts: object) -> None:
        super().__init__(code, **facts)


class LedgerRangeError(LedgerError, RangeError):
    """An amount that the ledger cannot keep exactly."""


class LedgerTextError(LedgerError, TextError):
    """A text that the ledger cannot keep on one line."""


class BudgetExceededError(LedgerError):
    """A charge above what is left of a cap; both amounts are in the currency of the cap."""

    def __init__(self, requested: Decimal, remaining: Decimal, *, symbol: str = "") -> None:
        of = f"{symbol} " if symbol else ""
        what_to_do = (
            f"Choose a plan that costs at most {of}{remaining:f}."
            if remaining > 0
            else "Nothing further about these people can be released under this cap."
        )
        super().__init__(
            f"This would cost {of}{requested:f}, but {of}{remaining:f} of the budget is left, and "
            f"nothing was booked. {what_to_do}"
        )
        self.requested = requested
        self.remaining = remaining
        self.symbol = symbol


E = TypeVar("E", bound=Exception)


def without_frames(error: E) -> E:
    """The error without what it was raised in, so that who keeps it keeps no records with it."""
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)


def _is_real(value: object) -> TypeGuard[float]:
    """A real number of Python or NumPy; truth values are none."""
    # float and int first: an abstract class takes ten times as long to ask
    return isinstance(value, (float, int, Real)) and not isinstance(value, bool)


def _is_finite(value: float) -> bool:
    """Whether a real number has a finite float; whole numbers and fractions can be too large for
    one.
    """
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_positive(**values: object) -> None:
    """Raise RangeError unless every value is a finite number above 0."""
    for name, value in values.items():
        if not (_is_real(value) and _is_finite(value) and value > 0):
            raise RangeError(name, value, 0.0)


def expect(is_so: bool, rule: str) -> None:
    """Raise ValueError with the rule, a sentence with argument and value, unless it is kept."""
    if not is_so:
        raise ValueError(rule)


def check_range(limits: tuple[float, float], **values: object) -> None:
    """Raise RangeError unless every value is a number from the first limit to the second."""
    low, high = limits
    for name, value in values.items():
        if not (_is_real(value) and low <= value <= high):
            raise RangeError(name, value, low, high)


def check_probability(**values: object) -> None:
    """Raise RangeError unless every value lies strictly between 0 and 1."""
    for name, value in values.items():
        if not (_is_real(value) and 0 < value < 1):
            raise RangeError(name, value, 0.0, 1.0, is_open=True)


def check_count(**values: object) -> None:
    """Raise CountError unless every value is a whole number of at least 1."""
    for name, value in values.items():
        if isinstance(value, bool) or not (isinstance(value, Integral) and int(value) >= 1):
            raise CountError(name, value)


def check_generator(rng: object) -> None:
    """Raise ValueError unless `rng` is a NumPy generator."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"Expected rng to be a numpy.random.Generator, got {type(rng).__name__}.")


def check_choice(value: object, allowed: tuple[object, ...], *, name: str) -> None:
    """Raise ChoiceError unless `value` is one of `allowed`, all of them names."""
    if not isinstance(value, str) or value not in allowed:
        raise ChoiceError(name, value, allowed)
