"""Objects as plain values (texts, numbers, lists, mappings) and back, each field by the type its
class declares; an error begins with the path of its field.

As in `design.budget.model: Expected model=0 > 0 and finite.` A missing or unknown field is an error
too. A further field of a class needs nothing here: an absent one has its default, and a default is
not written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from decimal import Context, Decimal
from functools import cache, partial, reduce
from operator import or_
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from dpci_core.base.errors import ArgumentError

MOST_CHARACTERS = 1_000
"""Characters of an amount; longer ones are refused before anything is computed with them."""
_MOST_MESSAGE = 600
_LARGEST_WHOLE = 1e15
"""Whole numbers below it are written without a point."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """What the types of a class do not say about how it stands in a file.

    first: fields that stand first, in this order; the others follow as the class has them. A
    property may be among them that only the file has as a field.
    always: fields that are written though they have their default.
    short: fields whose whole numbers are written without a point, so that equal objects are written
    alike; None: every field that holds numbers.
    needed: fields that must stand in the file although the class has a default for them.
    types: of fields that are read as something else than the class holds, or are only in the file;
    fields in a field are a dict of types.
    without: fields of the class that the file does not have.
    build: makes the object of the fields that were read; default the class itself.
    write: makes the plain value of an object instead.
    """

    first: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    short: tuple[str, ...] | None = ()
    needed: tuple[str, ...] = ()
    types: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    build: Callable[..., Any] | None = None
    write: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class Kinds:
    """Reads one of several classes, told apart by a field of the file.

    name: of that field.
    kinds: the classes by what stands there; asked at each reading, so a registry may grow.
    is_word: whether a text alone stands for the class of this name.
    """

    name: str
    kinds: Mapping[str, type]
    is_word: bool = False

    def __call__(self, value: object) -> Any:
        """The object of the fields of one of them."""
        if self.is_word and isinstance(value, str):
            value = {self.name: value}
        if not isinstance(value, Mapping):
            raise ValueError(_WORDS["dict_type"].format(got=kind_of(value)))
        with at(self.name):
            if self.name not in value:
                raise ValueError(_WORDS["missing"])
            kind = self.kinds[one_of(tuple(self.kinds), value[self.name])]
        return read(kind, {name: given for name, given in value.items() if name != self.name})


FORMS: dict[type, Form] = {}
READERS: dict[Any, Callable[[Any], Any]] = {}
"""By the type that a field declares."""
_AS_TYPED = Form()
_WORDS = {
    "missing": "This field is missing.",
    "string_type": "Expected a text, got {got}.",
    "float_type": "Expected a number, got {got}.",
    "finite_number": "Expected a finite number, got {given}.",
    "int_type": "Expected a whole number, got {got}.",
    "bool_type": "Expected true or false, got {got}.",
    "tuple_type": "Expected a list, got {got}.",
    "dict_type": "Expected fields with values, got {got}.",
    "too_long": "Expected {max_length} values, got {actual_length}.",
}
"""What is wrong, by the library's types of errors."""


@contextmanager
def at(path: str) -> Iterator[None]:
    """Whatever rule is broken inside is reported with a path that begins with this one."""
    try:
        yield
    except PlanFieldError as error:
        raise PlanFieldError(_join(path, error.field), error.problem) from None
    except (ValueError, ArithmeticError) as error:
        problem = str(error) if type(error) is ValueError else error
        raise PlanFieldError(path, problem) from None


def _join(*steps: str | int) -> str:
    """The path of a field of a field."""
    path = ""
    for step in steps:
        is_place = isinstance(step, int) or step.startswith("[")
        dot = "" if is_place or not path or not step else "."
        path += f"[{step}]" if isinstance(step, int) else f"{dot}{step}"
    return path


def read(kind: Any, value: object, path: str = "") -> Any:
    """Return the object of a declared type that plain values stand for.

    Args:
        kind: a class whose fields have types, or a type made of such classes.
        value: as JSON or YAML hold it.
        path: begins the path of every error.

    Raises:
        PlanFieldError: naming the first field that breaks a rule.
    """
    adapter, refused = _adapter(kind)
    with at(path):
        try:
            return adapter.validate_python(value)
        except refused as error:
            problem = error.errors(include_url=False)[0]
        with at(_join(*problem["loc"])):
            raise _refusal(problem["type"], problem["input"], problem.get("ctx", {}))


@cache
def _adapter(kind: Any) -> tuple[Any, type[Any]]:
    from pydantic import TypeAdapter, ValidationError  # only files need it, and it takes a while

    return TypeAdapter(_typed(kind)), ValidationError


def _refusal(kind: str, given: object, told: Mapping[str, Any]) -> ValueError:
    """An error of the library in our words."""
    if kind == "value_error":
        return told["error"]  # type: ignore[no-any-return]
    got = f"{given}" if kind == "int_type" and isinstance(given, float) else kind_of(given)
    said = _WORDS.get(kind, "Expected another value, got {got}.")
    if kind == "string_type" and isinstance(given, bool | float):
        said += " Put it in quotes."
    if kind == "float_type" and type(given) is int:
        said = "Expected a number of a size that can be computed with."
    return ValueError(said.format(**told, got=got, given=given))


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


def one_of(choices: tuple[Any, ...], value: object) -> Any:
    """The value if it is one of these, true and 1.0 being no 1."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise ValueError(f"Expected {' or '.join(map(repr, choices))}, got {value!r}.")
    return value


def _digits(value: object) -> object:
    """A whole number as a text counts as the digits it was written with."""
    return str(value) if type(value) is int else value


def _amount(value: object) -> object:
    """An amount that its class will judge."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"Expected an amount, got {kind_of(value)}.")
    if len(str(value)) > MOST_CHARACTERS:
        raise ValueError(f"Expected an amount of at most {MOST_CHARACTERS:,} digits.")
    return value


def _mapping(kind: Any, value: object) -> dict[str, Any]:
    """Names with values of one kind; ends at the first that is refused, as a list does."""
    if not isinstance(value, Mapping):
        raise ValueError(_WORDS["dict_type"].format(got=kind_of(value)))
    return {str(name): read(kind, given, str(name)) for name, given in value.items()}


def _known(names: Collection[str], value: object) -> object:
    """Fields that are all known, before any is read: nobody counts a million unknown ones."""
    for name in value if isinstance(value, Mapping) else ():
        if name not in names:
            raise PlanFieldError(str(name), "This field is unknown to this version of dpci.")
    return value


def _typed(hint: Any) -> Any:
    """A declared type as the library reads it: strictly, and classes by their fields."""
    from pydantic import AllowInfNan, BeforeValidator, Field, PlainValidator, Strict

    leaves = {
        str: Annotated[str, Strict(), BeforeValidator(_digits)],
        float: Annotated[float, Strict(), AllowInfNan(False)],
        int: Annotated[int, Strict()],
        bool: Annotated[bool, Strict()],
        Decimal: Annotated[Any, PlainValidator(_amount)],
    }
    if isinstance(hint, dict):
        return _fields(hint, frozenset())
    if hint in READERS:
        return Annotated[Any, PlainValidator(READERS[hint])]
    if hint in leaves:
        return leaves[hint]
    if is_dataclass(hint) and isinstance(hint, type):
        return _record(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is None:
        return hint
    if origin is Literal:
        return Annotated[Any, PlainValidator(partial(one_of, inner))]
    if origin in (dict, Mapping):
        return Annotated[Any, PlainValidator(partial(_mapping, inner[1]))]
    kinds = tuple(part if part is Ellipsis else _typed(part) for part in inner)
    if origin in (UnionType, Union):  # a literal or None is the second
        return reduce(or_, kinds)
    return Annotated[origin[kinds], Field(fail_fast=True)]  # a million errors take gigabytes


def _form(kind: type) -> Form:
    """How a class, or the class that it is a kind of, stands in a file."""
    return next((FORMS[base] for base in kind.__mro__ if base in FORMS), _AS_TYPED)


def _record(kind: type) -> Any:
    """The fields of a class, then the object made of them."""
    from pydantic import AfterValidator

    form, hints = _form(kind), get_type_hints(kind)
    own = {field.name: field for field in fields(kind) if field.name not in form.without}
    types = {**form.types, **{name: hints[name] for name in own if name not in form.types}}
    absent = {name for name in own if _default(own[name]) is not MISSING} - {*form.needed}
    return Annotated[
        _fields(types, frozenset(absent)), AfterValidator(partial(built, form.build or kind))
    ]


def _fields(types: Mapping[str, Any], absent: frozenset[str]) -> Any:
    """Exactly these fields, of which some may be absent."""
    from pydantic import BeforeValidator
    from typing_extensions import TypedDict  # pydantic brings it; it takes no other before 3.12

    typed = {name: _typed(hint) for name, hint in types.items()}
    typed |= {name: NotRequired[typed[name]] for name in absent}
    found: Any = TypedDict("Fields", typed)  # type: ignore[misc]
    return Annotated[found, BeforeValidator(partial(_known, frozenset(types)))]


def built(build: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Return the object of its fields; what its class refuses is reported at the field that it
    names.
    """
    with at(""):
        try:
            return build(**given)
        except ArgumentError as error:
            path = error.name if error.name.partition(".")[0] in given else ""
            raise PlanFieldError(path, error) from None


def _default(of: Any) -> Any:
    """The default of a field of a class, MISSING for none."""
    return of.default if of.default_factory is MISSING else of.default_factory()


def plain(value: Any, *, is_short: bool = False) -> Any:
    """Return the plain values of an object, which `read` turns back into an equal one.

    Args:
        value: of a dataclass, or what its fields hold.
        is_short: whether whole numbers are written without a point.
    """
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: plain(given, is_short=is_short) for name, given in value.items()}
    if isinstance(value, tuple):
        return [plain(given, is_short=is_short) for given in value]
    if is_short and isinstance(value, float | int):
        is_whole = value == round(value) and abs(value) < _LARGEST_WHOLE
        return int(value) if is_whole else float(value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    form = _form(type(value))
    return form.write(value) if form.write else plain_fields(value)


def plain_fields(value: Any) -> dict[str, Any]:
    """Return the fields of an object as plain values, and which of its `Kinds` it is."""
    form, own = _form(type(value)), {field.name: field for field in fields(value)}
    kind: Any = type(value)
    short = number_fields(kind) if form.short is None else form.short
    record: dict[str, Any] = {
        kinds.name: name
        for kinds in READERS.values()
        if isinstance(kinds, Kinds)
        for name, each in kinds.kinds.items()
        if each is kind
    }
    for name in dict.fromkeys((*form.first, *own)):
        given = getattr(value, name)
        if name in form.without:
            continue
        default = _default(own[name]) if name in own else MISSING
        if name in form.always or default is MISSING or given != default:
            record[name] = plain(given, is_short=name in short)
    return record


@cache
def number_fields(kind: type) -> tuple[str, ...]:
    """The fields of a class whose declared type is a float, or has one in it."""
    hints = get_type_hints(kind)
    return tuple(field.name for field in fields(kind) if _has_float(hints[field.name]))


def _has_float(hint: Any) -> bool:
    return hint is float or any(map(_has_float, get_args(hint)))


def decimal_text(amount: Decimal) -> str:
    """The shortest text of an exact decimal; equal amounts have equal texts.

    >>> decimal_text(Decimal("0.50")), decimal_text(Decimal("1E+2")), decimal_text(Decimal("1e-30"))
    ('0.5', '100', '1e-30')
    """
    short = amount.normalize(Context(prec=max(1, len(amount.as_tuple().digits))))
    low, high = _PLAIN_EXPONENTS
    return f"{short:f}" if low <= short.adjusted() <= high else f"{short:e}"
