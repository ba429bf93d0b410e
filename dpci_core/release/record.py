"""The record of a release: everything that was published and what is needed to read and check it; release.json.

It is made of declarations, public constants and released numbers. It can be shared like any text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from dpci_core.design import Design
from dpci_core.plan.content import coefficient_names, design_from, plain_design, plain_schema, schema_from
from dpci_core.plan.fields import (
    Fields,
    PlanFieldError,
    a_count,
    a_list,
    a_number,
    a_switch,
    a_text,
    at,
    mapping,
    texts,
)
from dpci_core.plan.link import load_json
from dpci_core.release.draw import GRID
from dpci_core.schema import MappingNote, RecordMapper, Schema
from dpci_core.schema.records import Array

FORMAT = "dpci release"
VERSION = 1
"""Of the content of release.json; a file of another version is refused."""
RECORD_NAME = "release.json"
NEIGHBOURS = "Neighbouring tables differ in the value of one record; the number of records is public."
_MOST_BYTES = 64 * 1024**2


class RecordError(PlanFieldError):
    """A field of a release.json that breaks a rule; `field` is its path, like "coefficients[2].low"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """An estimate with its interval."""

    estimate: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.high - self.low) and self.low <= self.estimate <= self.high):
            raise ValueError(f"Expected finite low={self.low!r} <= estimate={self.estimate!r} <= high={self.high!r}.")

    @property
    def length(self) -> float:
        """high - low."""
        return self.high - self.low


@dataclass(frozen=True, kw_only=True, slots=True)
class Coefficient:
    """One released coefficient.

    released: of the model itself, what `predict` uses.  scaled, original: the intervals of what the plan is for, in
    encoded and in original units; they lie around `released`, or around its step to the coefficient without penalty.
    planned_scaled, planned_original: the lengths that the plan expected.
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
    is_flat: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Guarantee:
    """What was spent: exact amounts as text in the currency of the definition, and what they mean.

    epsilon, delta: the guarantee of the whole; delta is 0 for a pure one.  rho: what it costs in zCDP, as text.
    """

    definition: str
    amount: str
    lines: dict[str, str]
    epsilon: float
    delta: float
    rho: str
    neighbours: str = NEIGHBOURS


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Release:
    """One release: the record that release.json holds, and a model that predicts.

    note: for the steward alone, which cells of the table were mapped; only right after the release, in no file.
    """

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
    guarantee: Guarantee
    design: Design
    schema: Schema
    features: tuple[str, ...]
    n_planned: int
    n_records: int
    coefficients: tuple[Coefficient, ...]
    hessian: tuple[tuple[float, ...], ...]
    covariance: tuple[tuple[float, ...], ...]
    verdict: str
    assumptions: tuple[str, ...]
    software: dict[str, str]
    note: MappingNote | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        names = coefficient_names(self.schema, self.features)
        if tuple(c.name for c in self.coefficients) != names:
            raise RecordError("coefficients", "Expected one for each feature in order, and the constant last.")
        for name in ("hessian", "covariance"):
            matrix = getattr(self, name)
            if len(matrix) != len(names) or any(len(row) != len(names) for row in matrix):
                raise RecordError(f"matrices.{name}", f"Expected {len(names)} rows of {len(names)} numbers.")

    @property
    def theta(self) -> Array:
        """The released coefficients (p,), encoded units, the constant last."""
        return np.array([c.released for c in self.coefficients])

    def decision(self, frame: pd.DataFrame) -> Array:
        """Return x.theta (n,) for rows of a table with the schema's columns, in original units.

        Every row is mapped as in the release: clipped to the bounds, unknown levels to the declared one.
        Raises:  ValueError naming a column that the table does not have.
        """
        mapper = RecordMapper(self.schema, self.features)
        columns = mapper.needed[:-1]
        for name in columns:
            if list(frame.columns).count(name) != 1:
                raise ValueError(f"Expected the table to have one column {name!r}.")
        if len(frame) == 0:
            return np.zeros(0)
        return np.asarray(mapper.features_of({name: frame[name].tolist() for name in columns}) @ self.theta)

    def predict(self, frame: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return +1 (the positive level) or -1 for every row."""
        return np.where(self.decision(frame) > 0.0, 1, -1)

    def predict_proba(self, frame: pd.DataFrame) -> Array:
        """Return the probability of the positive level for every row (n,); of a logistic model only."""
        if self.design.loss.name != "logistic":
            raise ValueError("Expected a logistic model: a support vector machine has no probabilities.")
        return np.asarray(expit(self.decision(frame)))

    def to_dict(self) -> dict[str, Any]:
        """Return the content of release.json as plain values."""
        guarantee = self.guarantee
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
            "guarantee": {
                "definition": guarantee.definition,
                "amount": guarantee.amount,
                "lines": guarantee.lines,
                "epsilon": guarantee.epsilon,
                "delta": guarantee.delta,
                "rho": guarantee.rho,
                "neighbours": guarantee.neighbours,
            },
            "design": plain_design(self.design),
            "switches": _plain(self.design.switches),
            "status": self.design.status,
            "n_records": {"planned": self.n_planned, "actual": self.n_records},
            "schema": plain_schema(self.schema),
            "features": list(self.features),
            "coefficients": [_plain_coefficient(c) for c in self.coefficients],
            "grid": GRID,
            "matrices": {"hessian": list(map(list, self.hessian)), "covariance": list(map(list, self.covariance))},
            "verdict": self.verdict,
            "assumptions": list(self.assumptions),
            "software": self.software,
        }

    def to_json(self) -> str:
        """Return the text of release.json."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(fields: Any) -> dict[str, Any]:
    return {name: getattr(fields, name) for name in fields.__slots__}


def _plain_coefficient(c: Coefficient) -> dict[str, Any]:
    return _plain(c) | {"scaled": _plain(c.scaled), "original": _plain(c.original)}


def load_release(path: str | Path) -> Release:
    """Return the release of a release.json, or of the folder that holds one.

    Raises:  RecordError (a ValueError) that begins with the path of the field; OSError where nothing can be opened.
    """
    file = Path(path)
    if file.is_dir():
        file = file / RECORD_NAME
    with file.open("rb") as raw:
        content = raw.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise RecordError("", f"Expected a release.json of at most {_MOST_BYTES // 1024**2} MB.")
    return release_from(content)


def release_from(content: bytes) -> Release:
    """Return the release of the bytes of a release.json."""
    try:
        plain = load_json(content.decode("utf-8"))
        return _release_from(plain)
    except RecordError:
        raise
    except PlanFieldError as error:
        raise RecordError(error.field, str(error).removeprefix(f"{error.field}: ")) from None
    except (ValueError, RecursionError):
        raise RecordError("", "Expected the JSON of a release.json.") from None


def _release_from(content: object) -> Release:
    given = Fields(content, "")
    if given.get("format", a_text) != FORMAT:
        raise RecordError("format", f"Expected {FORMAT!r}.")
    version = given.get("version", a_count)
    if version != VERSION:
        raise RecordError("version", f"Expected {VERSION}, the only version that can be read here, got {version}.")
    found = {
        name: given.get(name, a_text)
        for name in ("title", "dataset", "person", "unit", "released_at", "request_id", "plan_hash", "schema_hash")
    }
    ledger = Fields(given.get("ledger", _as_is), "ledger")
    head, charge_id = ledger.get("head", a_text), ledger.get("charge", a_count)
    ledger.done()
    design = given.get("design", design_from)
    if given.get("status", a_text) != design.status:
        raise RecordError("status", "Expected the status of this design.")
    if given.get("switches", _as_is) != _plain(design.switches):
        raise RecordError("switches", "Expected the switches of design.calibration.")
    if given.get("grid", a_number) != GRID:
        raise RecordError("grid", f"Expected {GRID!r}.")
    records = Fields(given.get("n_records", _as_is), "n_records")
    n_planned, n_records = records.get("planned", a_count), records.get("actual", a_count)
    records.done()
    matrices = Fields(given.get("matrices", _as_is), "matrices")
    hessian, covariance = matrices.get("hessian", _a_matrix), matrices.get("covariance", _a_matrix)
    matrices.done()
    items = given.get("coefficients", a_list)
    schema = given.get("schema", schema_from)
    features = given.get("features", texts)
    with at("features"):
        schema.select(features)
    rest = {
        "guarantee": given.get("guarantee", _guarantee_from),
        "verdict": given.get("verdict", a_text),
        "assumptions": given.get("assumptions", texts),
        "software": given.get("software", mapping(a_text)),
    }
    given.done()
    return Release(
        **found,
        **rest,
        ledger_head=head,
        charge_id=charge_id,
        design=design,
        schema=schema,
        features=features,
        n_planned=n_planned,
        n_records=n_records,
        coefficients=tuple(_coefficient_from(item, f"coefficients[{i}]") for i, item in enumerate(items)),
        hessian=hessian,
        covariance=covariance,
    )


def _as_is(value: Any, _: str) -> Any:
    return value


def _a_matrix(value: object, path: str) -> tuple[tuple[float, ...], ...]:
    rows = a_list(value, path)
    return tuple(
        tuple(a_number(cell, f"{path}[{i}][{j}]") for j, cell in enumerate(a_list(row, f"{path}[{i}]")))
        for i, row in enumerate(rows)
    )


def _guarantee_from(record: object, path: str) -> Guarantee:
    given = Fields(record, path)
    kinds: dict[str, Callable[[Any, str], Any]] = {
        "definition": a_text,
        "amount": a_text,
        "lines": mapping(a_text),
        "epsilon": a_number,
        "delta": a_number,
        "rho": a_text,
        "neighbours": a_text,
    }
    found = {name: given.get(name, read) for name, read in kinds.items()}
    given.done()
    if found["definition"] not in ("pure", "zcdp"):
        raise RecordError(f"{path}.definition", "Expected 'pure' or 'zcdp'.")
    return Guarantee(**found)


def _interval_from(record: object, path: str) -> Interval:
    given = Fields(record, path)
    found = {name: given.get(name, a_number) for name in ("estimate", "low", "high")}
    given.done()
    with at(path):
        return Interval(**found)


def _coefficient_from(record: object, path: str) -> Coefficient:
    given = Fields(record, path)
    kinds: dict[str, Callable[[Any, str], Any]] = {
        "name": a_text,
        "scaled": _interval_from,
        "original": _interval_from,
        "is_noise_aware": a_switch,
        "is_flat": a_switch,
    }
    found = {name: given.get(name, kinds.get(name, a_number)) for name in Coefficient.__slots__}
    given.done()
    if not math.isfinite(found["released"]):
        raise RecordError(f"{path}.released", "Expected a finite number.")
    return Coefficient(**found)
