"""Exceptions that a caller may want to tell apart, and the checks that raise the plain ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Literal, TypeGuard

import numpy as np

ChangeName = Literal["regularization", "n_records", "model", "total", "length", "excludes_zero_at", "delta"]


@dataclass(frozen=True, slots=True)
class Change:
    """One way out of an infeasible design: this argument at this value, all others as they are.

    what: "regularization" (c), "n_records", "model" (the budget of the coefficients, the matrices keep theirs),
    "total" (of the budget; where the split is not searched for, at the shares it has), "length" or "excludes_zero_at"
    (of a target), "delta".
    value: rounded to the side that works, to three significant digits or finer; 2 % nearer to what was asked for does
    not work, unless `is_smallest` is False.
    """

    what: ChangeName
    value: int | float | Decimal
    is_smallest: bool = True


class InfeasibleDesignError(ValueError):
    """A design that no data could satisfy; `suggestion` is the smallest change that makes it feasible.

    changes: the same for a program, each of which is enough alone; empty where none is known.
    """

    def __init__(self, message: str, suggestion: str, changes: tuple[Change, ...] = ()) -> None:
        super().__init__(f"{message} {suggestion}")
        self.message = message
        self.suggestion = suggestion
        self.changes = changes

    def change(self, what: ChangeName) -> Change | None:
        """The change of this argument, None where it does not help or is not known."""
        return next((change for change in self.changes if change.what == what), None)


class DataRejectedError(ValueError):
    """Records that break a rule; `row` and `column` say where, never what stands there."""

    def __init__(self, message: str, row: int | None = None, column: str | None = None) -> None:
        super().__init__(message)
        self.row = row
        self.column = column


class ConvergenceError(RuntimeError):
    """The solver could not reach its fixed tolerance; the message says what helps."""


class LedgerError(ValueError):
    """The ledger cannot do what was asked; the message says what to do. Nothing was booked."""


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
            f"This would cost {of}{requested:f}, but {of}{remaining:f} of the budget is left, and nothing was booked. "
            f"{what_to_do}"
        )
        self.requested = requested
        self.remaining = remaining


def _is_real(value: object) -> TypeGuard[float]:
    """A real number of Python or NumPy; truth values are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_finite(value: float) -> bool:
    """Whether a real number has a finite float; whole numbers and fractions can be too large for one."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_positive(**values: object) -> None:
    """Raise ValueError unless every value is a finite number above 0."""
    for name, value in values.items():
        if not (_is_real(value) and _is_finite(value) and value > 0):
            raise ValueError(f"Expected {name}={value!r} > 0 and finite.")


def check_range(limits: tuple[float, float], **values: object) -> None:
    """Raise ValueError unless every value is a number from the first limit to the second."""
    low, high = limits
    for name, value in values.items():
        if not (_is_real(value) and low <= value <= high):
            raise ValueError(f"Expected {low:g} <= {name}={value!r} <= {high:g}.")


def check_probability(**values: object) -> None:
    """Raise ValueError unless every value lies strictly between 0 and 1."""
    for name, value in values.items():
        if not (_is_real(value) and 0 < value < 1):
            raise ValueError(f"Expected 0 < {name}={value!r} < 1.")


def check_count(**values: object) -> None:
    """Raise ValueError unless every value is a whole number of at least 1."""
    for name, value in values.items():
        if isinstance(value, bool) or not (isinstance(value, Integral) and int(value) >= 1):
            raise ValueError(f"Expected {name}={value!r} to be a whole number >= 1.")


def check_generator(rng: object) -> None:
    """Raise ValueError unless `rng` is a NumPy generator."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"Expected rng to be a numpy.random.Generator, got {type(rng).__name__}.")


def check_choice(value: object, allowed: tuple[object, ...], *, name: str) -> None:
    """Raise ValueError unless `value` is one of `allowed`, all of them names."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"Expected {name}={value!r} to be one of {', '.join(map(repr, allowed))}.")
