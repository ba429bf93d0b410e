"""What every plan is, whatever the model: declarations, a budget, an n, and words for people."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import check_range, expect
from dpci_core.base.limits import DELTA, records_in_range
from dpci_core.design import Design
from dpci_core.plan import link
from dpci_core.plan.acceptance import Acceptance
from dpci_core.plan.codec import at, plain_fields, read
from dpci_core.plan.content import coefficient_names, goal_from
from dpci_core.plan.source import (
    AccountUnit,
    DeclaredTable,
    PublicTable,
    Source,
    check_line,
    check_text,
)
from dpci_core.planner.promise import Promise, fewest_records, promise, usable_records
from dpci_core.planner.targets import Target, check_target
from dpci_core.planner.worlds import AnyMoments, WorldMoments, Worlds
from dpci_core.privacy.budget import check_amount, to_decimal
from dpci_core.regression.design import LinearDesign
from dpci_core.report.cautions import Caution
from dpci_core.report.words import counted_as
from dpci_core.schema import Persons, Records, Schema, Transformations, to_original

VERSION = 1
"""Of the content of a plan file; a file of another version is refused."""
N_TOLERANCE = 0.1
"""More than tables grow between a plan and its release, less than what an unclosed quotation mark
or half a file leaves of one.
"""
FIRST = ("title", "source", "features", "design", "n_records", "n_tolerance", "goal")
"""Fields that stand first in a plan file."""
TYPES: dict[str, Any] = {
    "version": Literal[VERSION],
    "features": Any,
    "notes": str | None,
    "title": str,
    "source": Source,
    "n_records": int,
    "goal": Target | None,
}
"""Of fields of a plan file that the class holds as something else, or does not have."""


PlanT = TypeVar("PlanT", bound="AnyPlan")


class PlannedLengths(Protocol):
    """Of one unit, arrays (p,): planned lengths, and those without privacy noise."""

    @property
    def ci_length(self) -> Array: ...
    @property
    def nonprivate_length(self) -> Array: ...


class Planned(Protocol):
    """What a plan of any model says beforehand; `PlanNumbers` and `LinearNumbers` do."""

    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def scaled(self) -> PlannedLengths: ...
    @property
    def original(self) -> PlannedLengths: ...
    @property
    def is_not_reportable(self) -> Flags: ...
    @property
    def not_reportable(self) -> tuple[str, ...]: ...
    @property
    def promise(self) -> Promise: ...
    def cautions(self, design: Any) -> tuple[Caution, ...]: ...
    def covers(self, design: Any) -> str: ...
    def rests_on(self, design: Any) -> tuple[str, ...]: ...
    def to_record(self) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class AnyPlan(ABC):
    """A starting point, a design and an n, with words for people.

    Args:
        source: `PublicTable` or `DeclaredTable`.
        design: with n to plan for, public; of persons where the schema names them. A file has that
            n beside the design.
        features: the first so many encoded features, their names, or None for all.
        n_tolerance: a table is released whose number of rows, or persons, differs from that n by
            at most this share of it, in [0, 1].
        goal: a `Target` in units of the outcome, or log odds, for one of the encoding; or None.
        publish_if: what a release has to meet to be published, or None for whatever comes out.
        delta: at which the epsilon of the budget is stated; exact.
        approved: who approved the plan, and when; no part of its digest, so that what was shown
            to whoever approves has the digest of what is released.

    Privacy:
        Nothing here comes from a private table, so everything a plan says may steer a release.
    """

    elsewhere: ClassVar[str] = "Expected the plan of another model."
    """Said where one is asked for."""

    title: str
    source: Source
    design: Design | LinearDesign
    n_tolerance: float = N_TOLERANCE
    goal: Target | None = None
    publish_if: Acceptance | None = None
    delta: Decimal
    features: int | tuple[str, ...] | None = None
    notes: str = ""
    approved: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        check_line(title=self.title)
        check_text(notes=self.notes)
        check_text(approved=self.approved)
        expect(
            isinstance(self.source, PublicTable | DeclaredTable),
            "Expected source to be PublicTable or DeclaredTable, got "
            f"{type(self.source).__name__}.",
        )
        check_range((0.0, 1.0), n_tolerance=self.n_tolerance)
        object.__setattr__(self, "n_tolerance", float(self.n_tolerance))
        delta = to_decimal(self.delta, name="delta")
        check_amount(DELTA, delta=delta)
        object.__setattr__(self, "delta", delta)
        given: object = self.features  # what callers pass; the field holds a tuple
        if isinstance(given, list):
            object.__setattr__(self, "features", tuple(given))
        self._check_model()
        self._check_persons()
        self.source.select(self.features)
        if self.goal is not None:
            check_target(self.goal, p=len(self.names))
        if self.publish_if is not None:
            self.publish_if.check_against(len(self.names) - 1, measures=self.design.measures)

    @abstractmethod
    def _check_model(self) -> None:
        """Raise ValueError unless design and declarations are of the model, and complete them."""

    def _check_persons(self) -> None:
        """Tell the design of the persons that the schema declares, once for both."""
        k = 1 if self.persons is None else self.persons.rows
        if self.design.rows_per_person == 1:
            object.__setattr__(self, "design", replace(self.design, rows_per_person=k))
        expect(
            self.design.rows_per_person == k,
            f"Expected design.rows_per_person={self.design.rows_per_person} to be {k}, as the "
            "schema's persons say.",
        )

    @abstractmethod
    def check_can_run(self, n_records: int) -> None:
        """Raise InfeasibleDesignError unless a release of so many records can run; from public
        numbers.
        """

    @property
    @abstractmethod
    def lines(self) -> tuple[tuple[str, Decimal], ...]:
        """(name, amount) of every part of the price, in the order of the draws."""

    @abstractmethod
    def moments_of(self, records: Records) -> AnyMoments:
        """Return what the planner takes of planning rows."""

    @abstractmethod
    def numbers(self, worlds: Worlds | None = None) -> Planned:
        """Return what the plan promises, by forecast.

        Args:
            worlds: its `worlds`, from whoever has them already; or those of planning rows, which
                are the only world then.

        Raises:  InfeasibleDesignError if the design cannot run at this n.
        """

    def records(self) -> Records:
        """Return the public or simulated records that the plan is computed from, as they would be
        encoded.
        """
        return self.source.records(self.features)

    def worlds(self) -> tuple[WorldMoments, ...]:
        """Return what the planner takes of every world that the source allows, that of `records`
        first.
        """
        found = self.source.worlds(self.features)
        return tuple(WorldMoments(said, self.moments_of(records)) for said, records in found)

    def promise(self, worlds: Worlds | None = None) -> Promise:
        """Return what holds in every world, of the effects in original units; `worlds` as for
        `numbers`. The constant is left out: it is about somebody with zero everywhere.

        Raises:  InfeasibleDesignError if the design cannot run at this n.
        """
        return promise(
            self.worlds() if worlds is None else worlds,
            design=self.design,
            contrasts=to_original(self.schema, self.features)[:-1],
            target=self.goal,
            fewest=self.fewest,
        )

    @property
    def n_records(self) -> int:
        """n to plan for, that of the design."""
        return self.design.n_records

    @property
    def schema(self) -> Schema:
        """The declared columns."""
        return self.source.schema

    @property
    def persons(self) -> Persons | None:
        """Whose row it is, where a person may have several; then they are what n counts."""
        return self.source.schema.persons if isinstance(self.source, DeclaredTable) else None

    @property
    def counted(self) -> str:
        """What n counts: "records" or "persons"."""
        return counted_as(None if self.persons is None else self.persons.rows)

    @property
    def unit(self) -> str:
        """Whom a row, or all rows of one name, stand for, as declared."""
        return (
            self.source.unit
            if isinstance(self.source, DeclaredTable)
            else "one row of the private table"
        )

    @property
    def account_unit(self) -> AccountUnit:
        """What an account of a ledger that pays for the plan says of whom it protects."""
        return {"unit": self.unit.strip(), "several_rows": self.persons is not None}

    @property
    def n_range(self) -> tuple[int, int]:
        """The smallest and the largest number of records that the plan is released for."""
        off = Fraction(repr(self.n_tolerance)) * self.n_records
        return max(1, self.n_records - floor(off)), self.n_records + floor(off)

    @property
    def fewest(self) -> int:
        """How many records the release counts on at least, where no question is asked: what is
        promised is for them.
        """
        return self.fewest_of(self.n_records)

    @property
    def usable(self) -> int:
        """How many of these are complete."""
        return usable_records(self.fewest, self.schema.complete)

    def fewest_of(self, n_records: int) -> int:
        """Return the same where another number of records is planned for."""
        least = n_records - floor(Fraction(repr(self.n_tolerance)) * n_records)
        return fewest_records(max(1, least), self.schema.complete)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients in their order, the constant last."""
        return coefficient_names(self.source, self.features)

    @property
    def transformations(self) -> Transformations:
        """What is done to values of the columns that the plan uses, besides scaling them."""
        return self.schema.used(self.names).transformations

    @property
    def digest(self) -> str:
        """SHA-256 of the content but for its approval, in hexadecimal; equal plans have equal
        digests.
        """
        content = self.to_dict()
        content.pop("approved", None)
        return hashlib.sha256(link.canonical(content).encode()).hexdigest()

    def to_query(self) -> dict[str, str]:
        """Return the parameters of a link that restores every setting, or raise ValueError if they
        are too long.
        """
        return {link.LINK_KEY: link.pack(self.to_dict())}

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the content as plain values that `from_dict` turns back into an equal plan."""

    def _plain(self) -> dict[str, Any]:
        record = {"version": VERSION, **plain_fields(self)}
        if self.features is None:
            record["features"] = "all"
        if self.goal is not None and self.goal.coefficient is not None:
            record["goal"]["coefficient"] = self.names[self.goal.coefficient]
        return record

    @classmethod
    def from_dict(cls, record: object) -> Self:
        """Return the plan of plain values, or raise `PlanFieldError` whose message begins with the
        field's path, or ValueError for the plan of another model.
        """
        plan: AnyPlan = read(AnyPlan, record)
        return plan.expected(cls)

    def expected(self, kind: type[PlanT]) -> PlanT:
        """Return the plan itself, or raise ValueError in words where it is one of another model."""
        if not isinstance(self, kind):
            raise ValueError(self.elsewhere)
        return self

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """Return the plan of a link, or raise ValueError in words."""
        text = query.get(link.LINK_KEY)
        if not isinstance(text, str) or not text:
            raise ValueError(
                f"This link holds no plan: its parameter {link.LINK_KEY!r} is missing."
            )
        return cls.from_dict(link.unpack(text))


def plan_from(
    kind: type[PlanT],
    designed: Callable[[Mapping[str, Any], int], Any],
    *,
    version: int,
    design: dict[str, Any],
    n_records: int,
    features: object = None,
    goal: Any = None,
    notes: str | None = None,
    **given: Any,
) -> PlanT:
    """Return a plan of the fields of its file, whose n stands beside the design; a goal names its
    coefficient among those of the source.
    """
    n = records_in_range(n_records)
    with at("features"):
        chosen = _features_from(features)
        names = coefficient_names(given["source"], chosen)
    with at("goal"):
        target = None if goal is None else goal_from(goal, names)
    asked = designed(design, n)
    with at("publish_if"):
        if (rule := given.get("publish_if")) is not None:
            rule.check_against(len(names) - 1, measures=asked.measures)
    return kind(features=chosen, design=asked, goal=target, notes=notes or "", **given)


def _features_from(value: object) -> int | tuple[str, ...] | None:
    if value is None or value == "all":
        return None
    if isinstance(value, list | int):
        found: int | tuple[str, ...] = read(
            tuple[str, ...] if isinstance(value, list) else int, value
        )
        return found
    raise ValueError(f"Expected a number, a list of names or 'all', got {value!r}.")
