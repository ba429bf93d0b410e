"""The record of a release: everything that was published and what is needed to read and check it;
release.json.

It is made of declarations, public constants and released numbers. It can be shared like any text.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd
from scipy.special import expit

from dpci_core.base.array import Array
from dpci_core.base.rows import plain as plain_rows
from dpci_core.design import Design
from dpci_core.intervals.certified import GRID, noise_of_release
from dpci_core.intervals.estimands import estimand_of
from dpci_core.intervals.joint import JointErrors, JointLaw
from dpci_core.ledger import Spending, safe_cell
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.mechanisms.shares import share_out
from dpci_core.plan.acceptance import Acceptance
from dpci_core.plan.codec import PlanFieldError, plain, plain_fields
from dpci_core.plan.content import coefficient_names
from dpci_core.planner import Target
from dpci_core.privacy.budget import definition_named
from dpci_core.regression.design import LinearDesign
from dpci_core.report.covered import expected_complete, missing_cells
from dpci_core.report.words import counted_as, protected
from dpci_core.schema import CONSTANT, MappingNote, RecordMapper, Schema
from dpci_core.solvers.metric import metric_of

FORMAT = "dpci release"
VERSION = 1
"""Of the content of release.json; another one is refused."""
RECORD_NAME = "release.json"


class Law(Protocol):
    """The joint law of a release."""

    def errors(self, contrasts: Array) -> JointErrors:
        """Return the errors of the combinations L theta, L (k, p)."""


class RecordError(PlanFieldError):
    """A field of a release.json that breaks a rule; `field` is its path, like
    "coefficients[2].low".
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """An estimate with its interval."""

    estimate: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.high - self.low) and self.low <= self.estimate <= self.high):
            raise ValueError(
                f"Expected finite low={self.low!r} <= estimate={self.estimate!r} <= "
                f"high={self.high!r}."
            )

    @property
    def length(self) -> float:
        """high - low."""
        return self.high - self.low


@dataclass(frozen=True, kw_only=True, slots=True)
class Coefficient:
    """One released coefficient.

    released: of the model itself, in encoded units.  scaled, original: the intervals of what the
    plan is for, in encoded and in original units; they lie around `released`, or around its step to
    the coefficient without penalty.
    planned_scaled, planned_original: the lengths that the plan expected.
    is_not_estimable: whether the release says nothing about it: the plan said so before the draw,
        or the released matrices do; its intervals are for the full table only.
    """

    name: str
    released: float
    scaled: Interval
    original: Interval
    planned_scaled: float
    planned_original: float
    sampling_se: float
    privacy_se: float
    noise_factor: float
    is_noise_aware: bool
    is_not_estimable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Guarantee:
    """What was spent: exact amounts as text in the currency of the definition, and what they mean.

    epsilon, delta: the guarantee of the whole; delta is 0 for a pure one.  rho: what it costs in
    zCDP, as text.
    """

    definition: str
    amount: str
    lines: dict[str, str]
    epsilon: float
    delta: float
    rho: str
    neighbours: str

    def __post_init__(self) -> None:
        definition_named(self.definition)


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """What the plan asked of its release.

    is_promised: whether the plan could promise it before the draw.
    """

    target: Target
    is_promised: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry(ABC):
    """What every record says about its place in the ledger.

    so_far: what was spent on the same people once it was booked, itself included.
    """

    title: str
    dataset: str
    person: str
    unit: str
    released_at: str
    request_id: str
    charge_id: int
    ledger_head: str
    so_far: Spending
    plan_hash: str
    schema_hash: str

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the content of the record's file as plain values."""

    def to_json(self) -> str:
        """Return the text of the record's file."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class AnyRelease(Entry):
    """What the record of a release says whatever the model, and a model that predicts.

    design: as it was planned, but with the n of the table, or of its persons.
    n_planned: n of the plan.
    note: for the steward alone, which cells of the table were mapped; only right after the release,
    in no file.
    covers: what the intervals are for, in words, to stand after "for the".
    not_reportable: names that the plan called not reportable before the draw.
    warnings: what spoke against the plan before the draw, in sentences.
    verdict: what the released numbers say of their own use; empty for nothing.
    goal: of the plan; `effects.against_goal` says whether the release meets it.
    publish_if: the rule of the plan; `effects.acceptance` says whether the release meets it.
    approved: who approved the plan, and when, as the plan says; empty for nobody.
    """

    guarantee: Guarantee
    design: Design | LinearDesign
    schema: Schema
    features: tuple[str, ...]
    n_planned: int
    coefficients: tuple[Coefficient, ...]
    verdict: str
    assumptions: tuple[str, ...]
    software: dict[str, str]
    covers: str
    note: MappingNote | None = field(default=None, repr=False)
    not_reportable: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    goal: Goal | None = None
    publish_if: Acceptance | None = None
    approved: str = ""

    def __post_init__(self) -> None:
        names = coefficient_names(self.schema, self.features)
        if self.names != names:
            raise RecordError(
                "coefficients", "Expected one for each feature in order, and the constant last."
            )
        for name, array, shape in self._arrays(len(names)):
            if not _has_shape(array, shape):
                told = " rows of ".join(map(str, shape))
                raise RecordError(f"matrices.{name}", f"Expected {told} numbers.")
        if self.design.rows_per_person != (self._most or 1):
            raise RecordError("design.rows_per_person", "Expected that of schema.persons.")
        lost = {c.name for c in self.coefficients if c.is_not_estimable}
        if not set(self.not_reportable) <= lost:
            raise RecordError(
                "not_reportable", "Expected names of coefficients with is_not_estimable."
            )

    @abstractmethod
    def _arrays(self, p: int) -> Iterator[tuple[str, Sequence[Any], tuple[int, ...]]]:
        """Name, numbers and shape of everything that was drawn."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients in their order, the constant last."""
        return tuple(c.name for c in self.coefficients)

    @property
    def n_records(self) -> int:
        """n of the table, or of its persons; public."""
        return self.design.n_records

    @property
    def _most(self) -> int | None:
        """Rows of a person that count, None where a row is a record."""
        return None if self.schema.persons is None else self.schema.persons.rows

    @property
    def protects(self) -> str:
        """Whom the guarantee protects, in words."""
        return protected(self.unit, self._most)

    @property
    def counted(self) -> str:
        """What `n_records` counts: "records" or "persons"."""
        return counted_as(self._most)

    @property
    def counted_words(self) -> str:
        """How many records were counted, and what share of them was expected to be complete: how
        many were is not released.
        """
        share = expected_complete(self.schema.complete)
        whose = "them" if self._most is None else "their records"
        return f"{self.n_records:,} {self.counted} (planned: {share} of {whose} complete)"

    @property
    def times_as_planned(self) -> float | None:
        """How many times as long as planned the reported intervals of the effects are together;
        None where none is reported.
        """
        told = [self.coefficients[place] for place in self.reported_effects]
        planned = sum(one.planned_scaled for one in told)
        return sum(one.scaled.length for one in told) / planned if planned else None

    @property
    def lengths_words(self) -> str:
        """How long the reported intervals of the effects are against the plan, together and each;
        empty where none is reported.
        """
        if (together := self.times_as_planned) is None:
            return ""
        told = [self.coefficients[place] for place in self.reported_effects]
        ratios = [one.scaled.length / one.planned_scaled for one in told]
        each = "" if len(told) == 1 else f" ({min(ratios):.2f} to {max(ratios):.2f} times)"
        return f"Released intervals are {together:.2f} times as long as planned{each}."

    @property
    def reported_effects(self) -> list[int]:
        """Places of the coefficients with an interval; the intercept is no effect."""
        return [
            place
            for place, one in enumerate(self.coefficients)
            if not one.is_not_estimable and one.name != CONSTANT
        ]

    @property
    def missing_cells(self) -> str:
        """What became of records with a missing cell, in words."""
        return missing_cells(self.schema.used(self.features).transformations)

    @property
    def not_estimable(self) -> tuple[str, ...]:
        """Names of the coefficients that are not estimable from this release."""
        return tuple(c.name for c in self.coefficients if c.is_not_estimable)

    @property
    @abstractmethod
    def how(self) -> str:
        """How the model was trained and the noise put in, in a sentence."""

    @property
    def reached(self) -> str:
        """How what the intervals are for was reached, to stand after it."""
        return ""

    @property
    @abstractmethod
    def theta(self) -> Array:
        """The coefficients (p,) of rows x, whose products with them `decision` returns."""

    @abstractmethod
    def law(self) -> Law:
        """Return the joint law of the errors of combinations of `theta`."""

    @property
    def mapper(self) -> RecordMapper:
        """The map from cells to rows, for the columns that the model needs."""
        return RecordMapper(self.schema, self.features)

    def decision(self, frame: pd.DataFrame) -> Array:
        """Return x.theta (n,) for rows of a table with the schema's columns, in original units; NaN
        for a row with a missing cell.

        Every row is mapped as in the release: clipped to the bounds, what is missing as declared.
        Raises:  ValueError naming a column that the table does not have.
        """
        mapper = self.mapper
        columns = mapper.needed[:-1]
        for name in columns:
            if list(frame.columns).count(name) != 1:
                raise ValueError(f"Expected the table to have one column {name!r}.")
        if len(frame) == 0:
            return np.zeros(0)
        X = plain_rows(mapper.features_of({name: frame[name].tolist() for name in columns}))
        return np.where(X[:, -1] == 0.0, np.nan, X @ self.theta)

    @abstractmethod
    def predictions(self, frame: pd.DataFrame) -> dict[str, list[str]]:
        """Return what is predicted of every row as texts, by the heads of their columns; NaN stands
        for a row with a missing cell.
        """

    @abstractmethod
    def _drawn(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the file says of the design, and of what was drawn."""

    def to_dict(self) -> dict[str, Any]:
        rule = {} if self.publish_if is None else {"publish_if": plain(self.publish_if)}
        goal = {} if self.goal is None else {"goal": plain(self.goal)}
        if self.goal is not None and (place := self.goal.target.coefficient) is not None:
            goal["goal"]["target"]["coefficient"] = self.names[place]
        approved = {"approved": self.approved} if self.approved else {}
        design, drawn = self._drawn()
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "dataset": self.dataset,
            "person": self.person,
            "unit": self.unit,
            "released_at": self.released_at,
            "request_id": self.request_id,
            "ledger": {
                "head": self.ledger_head,
                "charge": self.charge_id,
                "so_far": plain(self.so_far),
            },
            "plan_hash": self.plan_hash,
            "schema_hash": self.schema_hash,
            "guarantee": plain(self.guarantee),
            **design,
            "n_records": {"planned": self.n_planned, "actual": self.n_records},
            "schema": plain(self.schema),
            "features": list(self.features),
            "coefficients": plain(self.coefficients),
            **drawn,
            "covers": self.covers,
            "not_reportable": list(self.not_reportable),
            "warnings": list(self.warnings),
            "verdict": self.verdict,
            **goal,
            **rule,
            **approved,
            "assumptions": list(self.assumptions),
            "software": self.software,
        }


def _has_shape(array: Sequence[Any], shape: tuple[int, ...]) -> bool:
    n, *rest = shape
    return len(array) == n and all(len(row) == k for k in rest for row in array)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Release(AnyRelease):
    """One release of a penalised model: the record that release.json holds.

    hessian_at: where the Hessian was released, (p,); at the coefficients themselves for a penalised
    target.
    second_moment: that shapes the noise, as released; empty where none was.
    """

    design: Design
    hessian: tuple[tuple[float, ...], ...]
    covariance: tuple[tuple[float, ...], ...]
    hessian_at: tuple[float, ...]
    second_moment: tuple[tuple[float, ...], ...] = ()

    def _arrays(self, p: int) -> Iterator[tuple[str, Sequence[Any], tuple[int, ...]]]:
        yield "hessian", self.hessian, (p, p)
        yield "covariance", self.covariance, (p, p)
        has_metric = self.design.geometry is not None
        yield "second_moment", self.second_moment, (p, p) if has_metric else (0,)
        yield "hessian_at", self.hessian_at, (p,)

    @property
    def how(self) -> str:
        """How the model was trained and the noise put in."""
        design = self.design
        mechanism = mechanism_of(design)
        kind = f"{mechanism.title}{mechanism.noise_words(design)}"
        return f"{design.loss.opening}, penalty c = {design.regularization:g}, trained by {kind}."

    @property
    def reached(self) -> str:
        """By which step from the released coefficients."""
        return estimand_of(self.design).reached

    @property
    def theta(self) -> Array:
        """What was drawn (p,), multiples of the grid: the released coefficients or, where rows are
        measured by a map, what they are B times (`Meaning.basis`).
        """
        released, basis = np.array([c.released for c in self.coefficients]), self.mapper.basis
        if basis is None:
            return released
        return np.asarray(np.rint(np.linalg.solve(basis, released) / GRID) * GRID)

    def law(self) -> JointLaw:
        """Return the law that the intervals are made of."""
        geometry = self.design.geometry
        metric = None if geometry is None else metric_of(geometry, np.array(self.second_moment))
        return JointLaw.of(
            np.array(self.hessian),
            np.array(self.covariance),
            design=share_out(self.design).design_after_solver_share,
            noise=noise_of_release(self.design, dim=len(self.coefficients)),
            theta_priv=self.theta,
            metric=metric,
            constant=self.mapper.constant,
        )

    def predict(self, frame: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return +1 (the positive level) or -1 for every row; 0 for one with a missing cell."""
        scores = self.decision(frame)
        return np.where(np.isnan(scores), 0, np.where(scores > 0.0, 1, -1))

    def predict_proba(self, frame: pd.DataFrame) -> Array:
        """Return the probability of the positive level for every row (n,), NaN for one with a
        missing cell; of a logistic model only.
        """
        if not self.design.loss.is_log_odds:
            raise ValueError(
                "Expected a logistic model: a support vector machine has no probabilities."
            )
        return np.asarray(expit(self.decision(frame)))

    def predictions(self, frame: pd.DataFrame) -> dict[str, list[str]]:
        """Return scores, levels and, of a logistic model, the probability of the positive one."""
        scores, positive = self.decision(frame), self.schema.positive
        others = self.schema.negative
        other = others[0] if len(others) == 1 else f"not {positive}"
        told = [str(safe_cell(positive if x > 0.0 else other)) for x in scores]
        found: dict[str, list[str]] = {
            "score": list(map(repr, scores.tolist())),
            "prediction": told,
        }
        if self.design.loss.is_log_odds:
            found["probability"] = list(map(repr, self.predict_proba(frame).tolist()))
        return found

    def _drawn(self) -> tuple[dict[str, Any], dict[str, Any]]:
        matrices = {
            "hessian": plain(self.hessian),
            "hessian_at": plain(self.hessian_at),
            "covariance": plain(self.covariance),
        }
        if self.second_moment:
            matrices["second_moment"] = plain(self.second_moment)
        design = {
            "design": plain(self.design),
            "switches": plain_fields(self.design.switches),
            "status": self.design.status,
        }
        return design, {"grid": GRID, "matrices": matrices}
