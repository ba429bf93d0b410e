"""A plan: everything that is decided about a release before a record is read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dpci_core.base.limits import DELTA, records_in_range
from dpci_core.design import Design, check_design
from dpci_core.losses import LOSSES
from dpci_core.plan import link
from dpci_core.plan.content import (
    Plain,
    coefficient_names,
    design_from,
    goal_from,
    plain_design,
    plain_goal,
    plain_source,
    source_from,
)
from dpci_core.plan.fields import (
    Fields,
    PlanFieldError,
    a_count,
    a_text,
    an_amount,
    at,
    decimal_text,
    optional,
    texts,
)
from dpci_core.plan.numbers import PlanNumbers, plan_numbers
from dpci_core.plan.source import DeclaredTable, PublicTable, Source, check_line, check_text
from dpci_core.planner import Target
from dpci_core.planner.targets import check_target
from dpci_core.privacy.budget import check_amount, to_decimal
from dpci_core.schema import Records, Schema, to_original
from dpci_core.solvers.moments import Moments, fit_moments

VERSION = 1
"""Of the content of a plan file; a file of another version is refused."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A starting point, a design and an n, with a goal and words for people.

    Args:    source: `PublicTable` or `DeclaredTable`.  features: the first so many encoded
             features, their names, or None for all.  n_records: n to plan for, public.  goal: a
             `Target` in encoded units, or None.
             delta: at which the epsilon of the budget is stated; exact.
    Privacy: nothing here comes from a private table, so everything a plan says may steer a release.
    Raises:  ValueError naming the field.

    >>> from dpci_core import Logistic, PureDP
    >>> budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    >>> design = Design(loss=Logistic(), mechanism="output", budget=budget, regularization=0.001)
    >>> plan = Plan(title="Wages", source=PublicTable(key="census"), features=2, design=design,
    ...             n_records=100_000, delta="1e-6")
    >>> round(plan.numbers().ci_length_mean, 4), plan.digest[:8]
    (0.1882, '8694a4c8')
    """

    title: str
    source: Source
    design: Design
    n_records: int
    delta: Decimal
    features: int | tuple[str, ...] | None = None
    goal: Target | None = None
    notes: str = ""

    def __post_init__(self) -> None:
        check_line(title=self.title)
        check_text(notes=self.notes)
        if not isinstance(self.source, PublicTable | DeclaredTable):
            raise ValueError(
                "Expected source to be PublicTable or DeclaredTable, got "
                f"{type(self.source).__name__}."
            )
        check_design(self.design)
        if type(self.design.loss) not in LOSSES.values():  # a plan file could not name it
            *others, last = (kind.__name__ for kind in LOSSES.values())
            name = type(self.design.loss).__name__
            raise ValueError(
                f"Expected design.loss to be {', '.join(others)} or {last}, got {name}."
            )
        object.__setattr__(self, "n_records", records_in_range(self.n_records))
        delta = to_decimal(self.delta, name="delta")
        check_amount(DELTA, delta=delta)
        object.__setattr__(self, "delta", delta)
        given: object = self.features  # what callers pass; the field holds a tuple
        if isinstance(given, list):
            object.__setattr__(self, "features", tuple(given))
        if self.goal is not None:
            check_target(self.goal, p=len(self.names))
        self.schema.select(self.features)

    @property
    def schema(self) -> Schema:
        """The declared columns."""
        return self.source.schema

    @property
    def unit(self) -> str:
        """Whom a row stands for, as declared."""
        return (
            self.source.unit
            if isinstance(self.source, DeclaredTable)
            else "one row of the private table"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients in their order, the constant last."""
        return coefficient_names(self.schema, self.features)

    def records(self) -> Records:
        """Return the public or simulated records that the plan is computed from, under the `schema`
        encoding.
        """
        return self.source.records(self.features)

    def moments(self) -> Moments:
        """Return the moments of `records` for the loss and the penalty of the design."""
        records = self.records()
        return fit_moments(
            records.X, records.y, loss=self.design.loss, regularization=self.design.regularization
        )

    def numbers(self, moments: Moments | None = None) -> PlanNumbers:
        """Return what the plan promises; whoever has its `moments` already hands them over.

        Raises:  InfeasibleDesignError if the design cannot run at this n.
        """
        return plan_numbers(
            self.moments() if moments is None else moments,
            design=self.design,
            n_records=self.n_records,
            to_original=to_original(self.schema, self.features),
            names=self.names,
            delta=self.delta,
            goal=self.goal,
        )

    @property
    def digest(self) -> str:
        """SHA-256 of the content, in hexadecimal; equal plans have equal digests."""
        return hashlib.sha256(link.canonical(self.to_dict()).encode()).hexdigest()

    def to_dict(self) -> Plain:
        """Return the content as plain values that `from_dict` turns back into an equal plan."""
        features = "all" if self.features is None else self.features
        return {
            "version": VERSION,
            "title": self.title,
            "source": plain_source(self.source),
            "features": list(features) if isinstance(features, tuple) else features,
            "design": plain_design(self.design),
            "n_records": self.n_records,
            "goal": None if self.goal is None else plain_goal(self.goal, self.names),
            "delta": decimal_text(self.delta),
            "notes": self.notes,
        }

    @classmethod
    def from_dict(cls, record: object) -> Plan:
        """Return the plan of plain values, or raise `PlanFieldError` whose message begins with the
        field's path.
        """
        given = Fields(record, "")
        version = given.get("version", a_count)
        if version != VERSION:
            raise PlanFieldError(
                "version",
                f"Expected {VERSION}, the only version that can be read here, got {version}.",
            )
        title, notes = given.get("title", a_text), given.get("notes", optional(a_text), None) or ""
        source, design = given.get("source", source_from), given.get("design", design_from)
        features = given.get("features", _features_from, None)
        with at("features"):
            names = coefficient_names(source.schema, features)
        goal = given.get("goal", optional(lambda value, path: goal_from(value, path, names)), None)
        n_records, delta = given.get("n_records", a_count), given.get("delta", an_amount)
        given.done()
        for path, check in (
            ("title", lambda: check_line(title=title)),
            ("notes", lambda: check_text(notes=notes)),
            ("n_records", lambda: records_in_range(n_records)),
            ("delta", lambda: check_amount(DELTA, delta=to_decimal(delta, name="delta"))),
            ("goal", lambda: None if goal is None else check_target(goal, p=len(names))),
        ):
            with at(path):
                check()
        return cls(
            title=title,
            source=source,
            design=design,
            n_records=n_records,
            delta=delta,
            features=features,
            goal=goal,
            notes=notes,
        )

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


def _features_from(value: Any, path: str) -> int | tuple[str, ...] | None:
    if value is None or value == "all":
        return None
    if isinstance(value, list):
        return texts(value, path)
    if isinstance(value, str):
        raise PlanFieldError(path, f"Expected a number, a list of names or 'all', got {value!r}.")
    return a_count(value, path)
