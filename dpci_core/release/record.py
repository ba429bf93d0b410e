"""The record of a release: everything that was published and what is needed to read and check it;
release.json.

It is made of declarations, public constants and released numbers. It can be shared like any text.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from dpci_core.base.array import Array
from dpci_core.base.rows import plain as plain_rows
from dpci_core.design import Design
from dpci_core.intervals.certified import GRID
from dpci_core.plan.codec import PlanFieldError, plain, plain_fields
from dpci_core.plan.content import coefficient_names
from dpci_core.privacy.budget import definition_named
from dpci_core.report.covered import missing_cells
from dpci_core.report.words import counted_as, neighbours, protected
from dpci_core.schema import MappingNote, RecordMapper, Schema

FORMAT = "dpci release"
VERSION = 1
"""Of the content of release.json; another one is refused."""
RECORD_NAME = "release.json"
NEIGHBOURS = neighbours(None)


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
class Entry(ABC):
    """What every record says about its place in the ledger."""

    title: str
    dataset: str
    person: str
    unit: str
    released_at: str
    request_id: str
    charge_id: int
    ledger_head: str
    plan_hash: str
    schema_hash: str

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the content of the record's file as plain values."""

    def to_json(self) -> str:
        """Return the text of the record's file."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Release(Entry):
    """One release: the record that release.json holds, and a model that predicts.

    design: as it was planned, but with the n of the table, or of its persons.
    n_planned: n of the plan.
    note: for the steward alone, which cells of the table were mapped; only right after the release,
    in no file.
    second_moment: that shapes the noise, as released; empty where none was.
    hessian_at: where the Hessian was released, (p,); at the coefficients themselves for a penalised
    target.
    covers: what the intervals are for, in words, to stand after "for the".
    not_reportable: names that the plan called not reportable before the draw.
    warnings: what spoke against the plan before the draw, in sentences.
    """

    guarantee: Guarantee
    design: Design
    schema: Schema
    features: tuple[str, ...]
    n_planned: int
    coefficients: tuple[Coefficient, ...]
    hessian: tuple[tuple[float, ...], ...]
    covariance: tuple[tuple[float, ...], ...]
    verdict: str
    assumptions: tuple[str, ...]
    software: dict[str, str]
    hessian_at: tuple[float, ...]
    covers: str
    note: MappingNote | None = field(default=None, repr=False)
    not_reportable: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    second_moment: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        names = coefficient_names(self.schema, self.features)
        if tuple(c.name for c in self.coefficients) != names:
            raise RecordError(
                "coefficients", "Expected one for each feature in order, and the constant last."
            )
        for name, p in (
            ("hessian", len(names)),
            ("covariance", len(names)),
            ("second_moment", 0 if self.design.geometry is None else len(names)),
        ):
            matrix = getattr(self, name)
            if len(matrix) != p or any(len(row) != p for row in matrix):
                raise RecordError(f"matrices.{name}", f"Expected {p} rows of {p} numbers.")
        if len(self.hessian_at) != len(names):
            raise RecordError("matrices.hessian_at", f"Expected {len(names)} numbers.")
        if self.design.rows_per_person != (self._most or 1):
            raise RecordError("design.rows_per_person", "Expected that of schema.persons.")
        lost = {c.name for c in self.coefficients if c.is_not_estimable}
        if not set(self.not_reportable) <= lost:
            raise RecordError(
                "not_reportable", "Expected names of coefficients with is_not_estimable."
            )

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
    def missing_cells(self) -> str:
        """What became of records with a missing cell, in words."""
        return missing_cells(self.schema.used(self.features).transformations)

    @property
    def not_estimable(self) -> tuple[str, ...]:
        """Names of the coefficients that are not estimable from this release."""
        return tuple(c.name for c in self.coefficients if c.is_not_estimable)

    @property
    def theta(self) -> Array:
        """What was drawn (p,), multiples of the grid: the released coefficients or, where rows are
        measured by a map, what they are B times (`Meaning.basis`).
        """
        released, basis = np.array([c.released for c in self.coefficients]), self.mapper.basis
        if basis is None:
            return released
        return np.asarray(np.rint(np.linalg.solve(basis, released) / GRID) * GRID)

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

    def to_dict(self) -> dict[str, Any]:
        matrices = {
            "hessian": plain(self.hessian),
            "hessian_at": plain(self.hessian_at),
            "covariance": plain(self.covariance),
        }
        if self.second_moment:
            matrices["second_moment"] = plain(self.second_moment)
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "dataset": self.dataset,
            "person": self.person,
            "unit": self.unit,
            "released_at": self.released_at,
            "request_id": self.request_id,
            "ledger": {"head": self.ledger_head, "charge": self.charge_id},
            "plan_hash": self.plan_hash,
            "schema_hash": self.schema_hash,
            "guarantee": plain(self.guarantee),
            "design": plain(self.design),
            "switches": plain_fields(self.design.switches),
            "status": self.design.status,
            "n_records": {"planned": self.n_planned, "actual": self.n_records},
            "schema": plain(self.schema),
            "features": list(self.features),
            "coefficients": plain(self.coefficients),
            "grid": GRID,
            "matrices": matrices,
            "covers": self.covers,
            "not_reportable": list(self.not_reportable),
            "warnings": list(self.warnings),
            "verdict": self.verdict,
            "assumptions": list(self.assumptions),
            "software": self.software,
        }
