"""A plan: everything that is decided about a release before a record is read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any, Literal

from dpci_core.base.errors import check_range, expect
from dpci_core.base.limits import DELTA, records_in_range
from dpci_core.design import Design, check_design
from dpci_core.losses import LOSSES
from dpci_core.plan import link
from dpci_core.plan.acceptance import Acceptance
from dpci_core.plan.codec import FORMS, Form, at, plain_fields, read
from dpci_core.plan.content import coefficient_names, design_from, goal_from
from dpci_core.plan.numbers import PlanNumbers, plan_numbers, promise_of
from dpci_core.plan.source import (
    AccountUnit,
    DeclaredTable,
    PublicTable,
    Source,
    check_line,
    check_text,
)
from dpci_core.planner import (
    GeometryAnswer,
    Promise,
    Target,
    WorldMoments,
    Worlds,
    best_geometry,
)
from dpci_core.planner.promise import fewest_records
from dpci_core.planner.standard import StandardAnswer, best_standard
from dpci_core.planner.targets import check_target
from dpci_core.privacy.budget import check_amount, to_decimal
from dpci_core.schema import (
    Persons,
    Records,
    Schema,
    Transformations,
    basis_of,
    constant_of,
    to_original,
)
from dpci_core.solvers.moments import Moments, fit_moments

VERSION = 1
"""Of the content of a plan file; a file of another version is refused."""
N_TOLERANCE = 0.1
"""More than tables grow between a plan and its release, less than what an unclosed quotation mark
or half a file leaves of one.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A starting point, a design and an n, with a goal and words for people.

    Args:
        source: `PublicTable` or `DeclaredTable`.
        design: with n to plan for, public; of persons where the schema names them. A file has that
            n beside the design.
        features: the first so many encoded features, their names, or None for all.
        n_tolerance: a table is released whose number of rows, or persons, differs from that n by
            at most this share of it, in [0, 1].
        goal: a `Target` in encoded units, or None.
        publish_if: what a release has to meet to be published, or None for whatever comes out.
        delta: at which the epsilon of the budget is stated; exact.

    Privacy:
        Nothing here comes from a private table, so everything a plan says may steer a release.

    Raises:
        ValueError: naming the field.

    >>> from dpci_core import Logistic, PureDP
    >>> budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    >>> design = Design(loss=Logistic(), mechanism="output", budget=budget, regularization=0.001,
    ...                 n_records=100_000)
    >>> plan = Plan(title="Wages", source=PublicTable(key="census"), features=2, design=design,
    ...             delta="1e-6")
    >>> round(plan.numbers().ci_length_mean, 4), plan.digest[:8]
    (0.1882, '8694a4c8')
    """

    title: str
    source: Source
    design: Design
    n_tolerance: float = N_TOLERANCE
    goal: Target | None = None
    publish_if: Acceptance | None = None
    delta: Decimal
    features: int | tuple[str, ...] | None = None
    notes: str = ""

    def __post_init__(self) -> None:
        check_line(title=self.title)
        check_text(notes=self.notes)
        expect(
            isinstance(self.source, PublicTable | DeclaredTable),
            "Expected source to be PublicTable or DeclaredTable, got "
            f"{type(self.source).__name__}.",
        )
        check_design(self.design)
        k = 1 if self.persons is None else self.persons.rows
        if self.design.rows_per_person == 1:  # said once, by the declaration
            object.__setattr__(self, "design", replace(self.design, rows_per_person=k))
        expect(
            self.design.rows_per_person == k,
            f"Expected design.rows_per_person={self.design.rows_per_person} to be {k}, as the "
            "schema's persons say.",
        )
        if type(self.design.loss) not in LOSSES.values():  # a plan file could not name it
            *others, last = (kind.__name__ for kind in LOSSES.values())
            name = type(self.design.loss).__name__
            raise ValueError(
                f"Expected design.loss to be {', '.join(others)} or {last}, got {name}."
            )
        check_range((0.0, 1.0), n_tolerance=self.n_tolerance)
        object.__setattr__(self, "n_tolerance", float(self.n_tolerance))
        delta = to_decimal(self.delta, name="delta")
        check_amount(DELTA, delta=delta)
        object.__setattr__(self, "delta", delta)
        given: object = self.features  # what callers pass; the field holds a tuple
        if isinstance(given, list):
            object.__setattr__(self, "features", tuple(given))
        if self.goal is not None:
            check_target(self.goal, p=len(self.names))
        self.source.select(self.features)
        if self.publish_if is not None:
            self.publish_if.check_against(len(self.names) - 1, is_odds=self.design.loss.is_log_odds)

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

    def records(self) -> Records:
        """Return the public or simulated records that the plan is computed from, as they would be
        encoded.
        """
        return self.source.records(self.features)

    def moments(self) -> Moments:
        """Return the moments of `records` for the loss and the penalty of the design, and the fit
        without penalty, which says what the penalty leaves of the coefficients.
        """
        return self._fit(self.records())

    def worlds(self) -> tuple[WorldMoments, ...]:
        """Return the moments of every world that the source allows, that of `moments` first."""
        found = self.source.worlds(self.features)
        return tuple(WorldMoments(said, self._fit(records)) for said, records in found)

    def _fit(self, records: Records) -> Moments:
        return fit_moments(
            records.X,
            records.y,
            loss=self.design.loss,
            regularization=self.design.regularization,
            target="unpenalised",
            geometry=self.design.geometry,
            meaning=records.meaning,
        )

    def check_moments(self, moments: Moments, names: Sequence[str]) -> None:
        """Raise ValueError, naming what is another, for moments of coefficients with these names
        that are of other columns, another fit, or rows that are encoded otherwise: a release would
        have other lengths than they promise.
        """
        design, features, basis = self.design, self.features, moments.basis
        own = basis_of(self.schema, features)
        for name, wanted, found in (
            ("names", self.names, tuple(names)),
            ("loss", design.loss, moments.loss),
            ("regularization", design.regularization, moments.regularization),
            ("geometry", design.geometry, moments.geometry),
            ("basis", *(None if B is None else B.tolist() for B in (own, basis))),
            ("constant", constant_of(self.schema, features), moments.constant),
        ):
            expect(wanted == found, f"Expected moments for this plan: their {name} is another one.")

    def promise(self, worlds: Worlds | None = None) -> Promise:
        """Return what holds in every world, of the effects in original units; `worlds` as for
        `numbers`.

        Raises:  InfeasibleDesignError if the design cannot run at this n.
        """
        return promise_of(
            self.worlds() if worlds is None else worlds,
            design=self.design,
            to_original=to_original(self.schema, self.features),
            goal=self.goal,
            fewest=self.fewest,
        )

    def numbers(self, worlds: Worlds | None = None) -> PlanNumbers:
        """Return what the plan promises.

        Args:
            worlds: its `worlds`, from whoever has them already; or the moments of planning rows,
                which are the only world then.

        Raises:  InfeasibleDesignError if the design cannot run at this n.
        """
        return plan_numbers(
            self.worlds() if worlds is None else worlds,
            design=self.design,
            to_original=to_original(self.schema, self.features),
            names=self.names,
            delta=self.delta,
            goal=self.goal,
            fewest=self.fewest,
        )

    def in_standard(self) -> tuple[Plan, StandardAnswer]:
        """Return the plan for the coefficients without penalty, in the standard encoding with the
        shape of the rows, c and split of the shortest intervals; without a goal, whose units were
        those of another encoding.

        Raises:  ValueError naming a number without a typical value; InfeasibleDesignError.
        """
        first, *others = self.source.encoders(self.features)
        asked = replace(self.design, n_records=self.fewest)
        found = best_standard(first, design=asked, worlds=others)
        source = self.source.in_standard(found.encoding)
        design = replace(found.design, n_records=self.n_records)
        return replace(self, source=source, design=design, goal=None), found

    def with_geometry(self) -> tuple[Plan, GeometryAnswer]:
        """Return the plan with noise shaped like its planning rows and the split that goes with it,
        or with the best split of noise as it is where that is shorter.

        Raises:  ValueError for a mechanism or loss that no geometry goes with;
                 InfeasibleDesignError.
        """
        records = self.records()
        found = best_geometry(records.X, records.y, design=self.design, meaning=records.meaning)
        return replace(self, design=found.design), found

    @property
    def digest(self) -> str:
        """SHA-256 of the content, in hexadecimal; equal plans have equal digests."""
        return hashlib.sha256(link.canonical(self.to_dict()).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the content as plain values that `from_dict` turns back into an equal plan."""
        record = {"version": VERSION, **plain_fields(self)}
        if self.features is None:
            record["features"] = "all"
        if self.goal is not None and self.goal.coefficient is not None:
            record["goal"]["coefficient"] = self.names[self.goal.coefficient]
        return record

    @classmethod
    def from_dict(cls, record: object) -> Plan:
        """Return the plan of plain values, or raise `PlanFieldError` whose message begins with the
        field's path.
        """
        plan: Plan = read(cls, record)
        return plan

    def to_query(self) -> dict[str, str]:
        """Return the parameters of a link that restores every setting, or raise ValueError if they
        are too long.
        """
        return {link.LINK_KEY: link.pack(self.to_dict())}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Plan:
        """Return the plan of a link, or raise ValueError in words."""
        text = query.get(link.LINK_KEY)
        if not isinstance(text, str) or not text:
            raise ValueError(
                f"This link holds no plan: its parameter {link.LINK_KEY!r} is missing."
            )
        return cls.from_dict(link.unpack(text))


def _features_from(value: object) -> int | tuple[str, ...] | None:
    if value is None or value == "all":
        return None
    if isinstance(value, list | int):
        found: int | tuple[str, ...] = read(
            tuple[str, ...] if isinstance(value, list) else int, value
        )
        return found
    raise ValueError(f"Expected a number, a list of names or 'all', got {value!r}.")


def _plan_from(
    *,
    version: int,
    design: dict[str, Any],
    n_records: int,
    features: object = None,
    goal: Any = None,
    notes: str | None = None,
    **given: Any,
) -> Plan:
    """A plan of the fields of its file, whose n stands beside the design; a goal names its
    coefficient among those of the source.
    """
    n = records_in_range(n_records)
    with at("features"):
        chosen = _features_from(features)
        names = coefficient_names(given["source"], chosen)
    with at("goal"):
        target = None if goal is None else goal_from(goal, names)
    asked = design_from(design, n)
    with at("publish_if"):
        if (rule := given.get("publish_if")) is not None:
            rule.check_against(len(names) - 1, is_odds=asked.loss.is_log_odds)
    return Plan(features=chosen, design=asked, goal=target, notes=notes or "", **given)


FORMS[Plan] = Form(
    first=("title", "source", "features", "design", "n_records"),
    always=("features", "goal", "notes"),
    types={
        "version": Literal[VERSION],
        "features": Any,
        "goal": Target | None,
        "notes": str | None,
        "title": str,
        "source": Source,
        "design": Design,
        "n_records": int,
    },
    build=_plan_from,
)
