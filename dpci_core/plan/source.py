"""Where a plan starts: a public or simulated set by name, or a table that is only declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypedDict

from dpci_core.base.errors import TextError, check_count, expect
from dpci_core.base.text import TextProblem, line_problem, text_problem
from dpci_core.datasets import list_datasets, load, schema_of
from dpci_core.planner.worlds import ONLY_WORLD
from dpci_core.schema import (
    Guesses,
    Records,
    Schema,
    StandardEncoding,
    World,
    simulate_twin,
    twin_table,
    worlds_of,
)
from dpci_core.schema.twin import DEFAULT_ROWS, twin_records

Encoder = Callable[[StandardEncoding], Records]
"""Planning rows under a standard encoding."""
DEFAULT_UNIT = "one row is one person"
PERSON_UNIT = "one person"
"""The same where a person may have several rows."""
MOST_TEXT = {"title": 200, "unit": 200, "notes": 10_000, "approved": 200}
"""Characters of what people type."""
MOST_FEATURES = 250
"""Encoded features of a declared table; matrices of their square are computed with, also for
whoever sends a link.
"""
MOST_CELLS = DEFAULT_ROWS * MOST_FEATURES
"""Rows times features of a twin with its incomplete records, 40 MB: the usual rows are enough for
as many features.
"""


class AccountUnit(TypedDict):
    """Whom an account of a ledger protects: what one row is, or, with several rows, a person."""

    unit: str
    several_rows: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PublicTable:
    """A set that comes with the project or can be had by anybody.

    key: its name.
    n_rows: how many of its rows (default: all, of the census its usual number).
    standard: the standard encoding, or None for that by bounds; typical values, spreads and shares
    are those of the public table (`schema.propose_standard`).
    """

    key: str
    n_rows: int | None = None
    standard: StandardEncoding | None = None

    def __post_init__(self) -> None:
        schema_of(self.key)
        given: object = self.standard
        expect(
            isinstance(given, StandardEncoding | None),
            f"Expected standard to be StandardEncoding, got {type(given).__name__}.",
        )
        if self.n_rows is None:
            return
        check_count(n_rows=self.n_rows)
        most = next(info.max_rows for info in list_datasets() if info.key == self.key)
        expect(
            self.n_rows <= most,
            f"Expected n_rows={self.n_rows!r} <= {most}, the rows of {self.key!r}.",
        )
        object.__setattr__(self, "n_rows", int(self.n_rows))

    @property
    def schema(self) -> Schema:
        """The declared columns; in the standard encoding the public table is read for them."""
        return schema_of(self.key, standard=self.standard)

    def select(self, features: int | tuple[str, ...] | None) -> tuple[str, ...]:
        """Return the names of the chosen features, as `Schema.select`; no row is read for it."""
        return schema_of(self.key).select(features)

    @property
    def is_standard(self) -> bool:
        """Whether the encoding is the standard one."""
        return self.standard is not None

    def in_standard(self, standard: StandardEncoding) -> PublicTable:
        """Return the same set in a standard encoding."""
        return replace(self, standard=standard)

    def records(self, features: int | tuple[str, ...] | None = None) -> Records:
        """The records under the `schema` encoding, or the standard one."""
        return load(
            self.key,
            encoding="schema" if self.standard is None else "standard",
            features=features,
            n_rows=self.n_rows,
            standard=self.standard,
        )

    def worlds(
        self, features: int | tuple[str, ...] | None = None
    ) -> Iterator[tuple[str, Records]]:
        """Yield the only world, which is the set's own rows, with what it assumes in words."""
        yield ONLY_WORLD, self.records(features)

    def described(self, features: int | tuple[str, ...] | None = None) -> Iterator[Records]:
        """Yield the set's own rows."""
        yield self.records(features)

    def encoders(self, features: int | tuple[str, ...] | None = None) -> tuple[Encoder, ...]:
        """Return the one function that reads the set's rows in a given standard encoding."""
        return (lambda standard: self.in_standard(standard).records(features),)


@dataclass(frozen=True, kw_only=True, slots=True)
class DeclaredTable:
    """A table nobody has looked at: its declaration, guesses about it, and what one row is, or
    whom the rows of one person stand for.
    """

    unit: str = DEFAULT_UNIT
    schema: Schema
    guesses: Guesses = field(default_factory=Guesses)

    def __post_init__(self) -> None:
        for name, kind in (("schema", Schema), ("guesses", Guesses)):
            expect(
                isinstance(getattr(self, name), kind),
                f"Expected {name} to be {kind.__name__}, got {type(getattr(self, name)).__name__}.",
            )
        if self.schema.persons is not None and self.unit == DEFAULT_UNIT:
            object.__setattr__(self, "unit", PERSON_UNIT)
        check_line(unit=self.unit)
        d = len(self.schema.feature_names)
        expect(
            d <= MOST_FEATURES,
            f"Expected schema to have at most {MOST_FEATURES} encoded features, got {d:,}.",
        )
        most = int(self.schema.complete * MOST_CELLS) // d
        expect(
            self.guesses.n_rows <= most,
            f"Expected guesses.n_rows={self.guesses.n_rows:,} <= {most:,} with {d} features.",
        )
        self.guesses.check_against(self.schema)

    def __hash__(self) -> int:
        return hash((self.schema, self.unit))

    def select(self, features: int | tuple[str, ...] | None) -> tuple[str, ...]:
        """Return the names of the chosen features, as `Schema.select`."""
        return self.schema.select(features)

    @property
    def is_standard(self) -> bool:
        """Whether the encoding is the standard one."""
        return self.schema.standard is not None

    def in_standard(self, standard: StandardEncoding) -> DeclaredTable:
        """Return the same table in a standard encoding.

        Raises:  ValueError naming the first number whose typical value is not declared.
        """
        for column in self.schema.features:
            expect(
                column.has_usual or not column.reads_numbers,
                f"Expected typical and spread of column {column.name!r}: the standard encoding "
                "needs them of every number.",
            )
        return replace(self, schema=replace(self.schema, standard=standard))

    def records(self, features: int | tuple[str, ...] | None = None) -> Records:
        """The records of the twin of the first world; no file is opened."""
        return next(self.worlds(features))[1]

    def worlds(
        self, features: int | tuple[str, ...] | None = None
    ) -> Iterator[tuple[str, Records]]:
        """The records of the twins of all worlds that the declaration allows, one after the other,
        each with its assumption (`schema.worlds_of`).
        """
        for world in worlds_of(self.schema, self.guesses):
            yield (
                world.assumption,
                simulate_twin(self.schema, guesses=world.guesses, features=features),
            )

    def described(self, features: int | tuple[str, ...] | None = None) -> Iterator[Records]:
        """The records of twins that are as declared and together reach as far as it goes: where
        “yes” has a range that of `records`, those of its ends and, where it is within, that of an
        even share, which tells most. What may be wrong in other worlds is as declared in all.
        """
        first = worlds_of(self.schema, self.guesses)[0].guesses
        low, high = self.guesses.rates
        rates = [first.rate, low, high, *([0.5] if low < 0.5 < high else [])]
        for rate in dict.fromkeys(rates):
            yield simulate_twin(
                self.schema, guesses=replace(first, base_rate=rate), features=features
            )

    def encoders(self, features: int | tuple[str, ...] | None = None) -> tuple[Encoder, ...]:
        """The twins of all worlds under any standard encoding; each table is drawn once.

        Raises:  as `in_standard`.
        """
        self.in_standard(StandardEncoding())

        def encoder(world: World) -> Encoder:
            table = twin_table(self.schema, world.guesses)
            return lambda standard: twin_records(
                table, replace(self.schema, standard=standard), features
            )

        return tuple(map(encoder, worlds_of(self.schema, self.guesses)))


Source = PublicTable | DeclaredTable


def check_text(**texts: object) -> None:
    """Raise ValueError unless any file can hold every text, and none is longer than `MOST_TEXT`."""
    _check(text_problem, texts)


def check_line(**texts: object) -> None:
    """Raise ValueError unless every text is one line that says something, no longer than
    `MOST_TEXT`.
    """
    _check(line_problem, texts)


def _check(problem_of: Callable[..., TextProblem | None], texts: dict[str, object]) -> None:
    for name, text in texts.items():
        problem = problem_of(text, most=MOST_TEXT[name])
        if problem:
            raise TextError(name, problem)
