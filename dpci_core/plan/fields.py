"""Reading the fields of plain values strictly, one by one, with errors that begin with the path of the field.

As in `design.budget.model: Expected model=0 > 0 and finite.` A missing or unknown field is an error too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Context, Decimal
from typing import Any

_REQUIRED: Any = object()
_MOST_MESSAGE = 600
_PLAIN_EXPONENTS = (-12, 15)
"""Powers of ten between which a decimal is written out in full."""


class PlanFieldError(ValueError):
    """A field of a plan that breaks a rule.

    field: its path, like "design.budget.model".
    problem: what is wrong with it, a sentence, or the error of whoever refused its value.
    """

    def __init__(self, field: str, problem: str | Exception) -> None:
        super().__init__(_cut(f"{field}: {problem}" if field else f"{problem}"))
        self.field = field
        self.problem = _cut(problem) if isinstance(problem, str) else problem


def _cut(message: str) -> str:
    """A message of readable length, also where it repeats what somebody wrote."""
    return message if len(message) <= _MOST_MESSAGE else f"{message[:_MOST_MESSAGE]}…"


@contextmanager
def at(path: str) -> Iterator[None]:
    """Whatever rule is broken inside is reported with this path."""
    try:
        yield
    except PlanFieldError:
        raise
    except (ValueError, ArithmeticError) as error:
        raise PlanFieldError(path, error) from None


class Fields:
    """The fields of one mapping, each read once; `done` refuses the ones nobody asked for."""

    def __init__(self, record: object, path: str) -> None:
        if not isinstance(record, Mapping):
            raise PlanFieldError(path, f"Expected fields with values, got {kind_of(record)}.")
        self.left, self.path = dict(record), path

    def where(self, name: str) -> str:
        """The path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def get(self, name: str, read: Callable[[Any, str], Any], default: Any = _REQUIRED) -> Any:
        """Read one field; an absent one has its default, if any."""
        path = self.where(name)
        if name not in self.left:
            if default is _REQUIRED:
                raise PlanFieldError(path, "This field is missing.")
            return default
        with at(path):
            return read(self.left.pop(name), path)

    def done(self) -> None:
        """Raise if a field is left that no version of the format knows."""
        if self.left:
            raise PlanFieldError(self.where(str(next(iter(self.left)))), "This field is unknown.")


def kind_of(value: object) -> str:
    """A type in words."""
    names = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "fields"}
    return "nothing" if value is None else names.get(type(value), type(value).__name__)


def a_text(value: object, path: str) -> str:
    """A text; a whole number counts as the digits it was written with."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        hint = " Put it in quotes." if isinstance(value, bool | float) else ""
        raise PlanFieldError(path, f"Expected a text, got {kind_of(value)}.{hint}")
    return value


def a_number(value: object, path: str) -> float:
    """A number as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PlanFieldError(path, f"Expected a number, got {kind_of(value)}.")
    with at(path):
        try:
            return float(value)
        except OverflowError:
            raise PlanFieldError(path, "Expected a number of a size that can be computed with.") from None


def a_count(value: object, path: str) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise PlanFieldError(
            path, f"Expected a whole number, got {value if isinstance(value, float) else kind_of(value)}."
        )
    return value


def an_amount(value: object, path: str) -> Any:
    """An amount that `to_decimal` will judge."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise PlanFieldError(path, f"Expected an amount, got {kind_of(value)}.")
    return value


def a_switch(value: object, path: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise PlanFieldError(path, f"Expected true or false, got {kind_of(value)}.")
    return value


def a_list(value: object, path: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise PlanFieldError(path, f"Expected a list, got {kind_of(value)}.")
    return value


def texts(value: object, path: str) -> tuple[str, ...]:
    """A list of texts."""
    return tuple(a_text(item, f"{path}[{i}]") for i, item in enumerate(a_list(value, path)))


def optional(read: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """The same, where nothing is allowed too."""
    return lambda value, path: None if value is None else read(value, path)


def mapping(read: Callable[[Any, str], Any]) -> Callable[[Any, str], dict[str, Any]]:
    """Names with values of one kind."""

    def read_all(value: object, path: str) -> dict[str, Any]:
        record = Fields(value, path)
        return {str(name): read(item, record.where(str(name))) for name, item in record.left.items()}

    return read_all


def decimal_text(amount: Decimal) -> str:
    """The shortest text of an exact decimal; equal amounts have equal texts.

    >>> decimal_text(Decimal("0.50")), decimal_text(Decimal("1E+2")), decimal_text(Decimal("1e-30"))
    ('0.5', '100', '1e-30')
    """
    short = amount.normalize(Context(prec=max(1, len(amount.as_tuple().digits))))
    low, high = _PLAIN_EXPONENTS
    return f"{short:f}" if low <= short.adjusted() <= high else f"{short:e}"
