"""Reading the fields of plain values strictly, one by one, with errors that begin with the path of
the field.

As in `design.budget.model: Expected model=0 > 0 and finite.` A missing or unknown field is an error
too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from decimal import Context, Decimal
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")

Read = Callable[[Any, str], Any]
"""Reads a plain value, given its path."""
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

    def get(self, name: str, read: Read, default: Any = _REQUIRED) -> Any:
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
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "fields",
    }
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
            raise PlanFieldError(
                path, "Expected a number of a size that can be computed with."
            ) from None


def a_count(value: object, path: str) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise PlanFieldError(
            path,
            "Expected a whole number, got "
            f"{value if isinstance(value, float) else kind_of(value)}.",
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


def list_of(read: Read) -> Callable[[Any, str], tuple[Any, ...]]:
    """A list of values of one kind."""

    def read_all(value: object, path: str) -> tuple[Any, ...]:
        items = a_list(value, path)
        return tuple(read(item, f"{path}[{i}]") for i, item in enumerate(items))

    return read_all


texts = list_of(a_text)
"""A list of texts."""


def optional(read: Read) -> Read:
    """The same, where nothing is allowed too."""
    return lambda value, path: None if value is None else read(value, path)


def mapping(read: Read) -> Callable[[Any, str], dict[str, Any]]:
    """Names with values of one kind."""

    def read_all(value: object, path: str) -> dict[str, Any]:
        record = Fields(value, path)
        return {
            str(name): read(item, record.where(str(name))) for name, item in record.left.items()
        }

    return read_all


def a_record(
    kind: type[T], *, needed: Collection[str] = (), **readers: Read
) -> Callable[[Any, str], T]:
    """The fields of a dataclass, each by its declared type; those with a default may be absent.

    Args:    needed: fields that must stand in the file although the class has a default for them.
             readers: of fields whose type does not say how they are written.
    """

    def read_it(value: object, path: str) -> T:
        given = value if isinstance(value, Fields) else Fields(value, path)
        hints, found = get_type_hints(kind), {}
        for field in fields(kind):  # type: ignore[arg-type]
            has_default = not (field.default is MISSING and field.default_factory is MISSING)
            if field.name in given.left or field.name in needed or not has_default:
                read = readers.get(field.name) or reader_of(hints[field.name])
                found[field.name] = given.get(field.name, read)
        given.done()
        with at(path):
            return kind(**found)

    return read_it


def reader_of(hint: Any) -> Read:
    """How a value of this type is read; a `Literal` is read as its text, which its class judges."""
    plain: dict[Any, Read] = {str: a_text, float: a_number, int: a_count, bool: a_switch}
    origin, inner = get_origin(hint), get_args(hint)
    if hint in plain:
        return plain[hint]
    if origin is Literal:
        return a_text
    if origin is UnionType and len(inner) == 2 and inner[1] is NoneType:
        return optional(reader_of(inner[0]))
    if origin is tuple and inner[1:] == (Ellipsis,):
        return list_of(reader_of(inner[0]))
    if origin in (dict, Mapping):
        return mapping(reader_of(inner[1]))
    if is_dataclass(hint) and isinstance(hint, type):
        return a_record(hint)
    raise TypeError(f"Expected a reader for {hint}.")


def decimal_text(amount: Decimal) -> str:
    """The shortest text of an exact decimal; equal amounts have equal texts.

    >>> decimal_text(Decimal("0.50")), decimal_text(Decimal("1E+2")), decimal_text(Decimal("1e-30"))
    ('0.5', '100', '1e-30')
    """
    short = amount.normalize(Context(prec=max(1, len(amount.as_tuple().digits))))
    low, high = _PLAIN_EXPONENTS
    return f"{short:f}" if low <= short.adjusted() <= high else f"{short:e}"
