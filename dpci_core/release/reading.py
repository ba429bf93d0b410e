"""A release.json read again: every field by its rule, and an error that names the path of the one
that breaks it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from dpci_core.intervals.draw import GRID
from dpci_core.plan.content import design_from, schema_from
from dpci_core.plan.fields import (
    Fields,
    PlanFieldError,
    a_count,
    a_number,
    a_record,
    a_text,
    at,
    list_of,
    mapping,
    texts,
)
from dpci_core.plan.link import load_json
from dpci_core.privacy.budget import DEFINITIONS
from dpci_core.release.record import (
    FORMAT,
    READABLE,
    RECORD_NAME,
    Coefficient,
    Guarantee,
    RecordError,
    Release,
    plain_fields,
)

_MOST_BYTES = 64 * 1024**2


def load_release(path: str | Path) -> Release:
    """Return the release of a release.json, or of the folder that holds one.

    Raises:  RecordError (a ValueError) that begins with the path of the field; OSError where
             nothing can be opened.
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
        raise RecordError(error.field, error.problem) from None
    except (ValueError, RecursionError):
        raise RecordError("", "Expected the JSON of a release.json.") from None


def _release_from(content: object) -> Release:
    given = Fields(content, "")
    if given.get("format", a_text) != FORMAT:
        raise RecordError("format", f"Expected {FORMAT!r}.")
    version = given.get("version", a_count)
    if version not in READABLE:
        raise RecordError(
            "version", f"Expected one of {READABLE}, which can be read here, got {version}."
        )
    found = {
        name: given.get(name, a_text)
        for name in (
            "title",
            "dataset",
            "person",
            "unit",
            "released_at",
            "request_id",
            "plan_hash",
            "schema_hash",
        )
    }
    ledger = Fields(given.get("ledger", _as_is), "ledger")
    head, charge_id = ledger.get("head", a_text), ledger.get("charge", a_count)
    ledger.done()
    design = given.get("design", design_from)
    if given.get("status", a_text) != design.status:
        raise RecordError("status", "Expected the status of this design.")
    if given.get("switches", _as_is) != plain_fields(design.switches):
        raise RecordError("switches", "Expected the switches of design.calibration.")
    if given.get("grid", a_number) != GRID:
        raise RecordError("grid", f"Expected {GRID!r}.")
    records = Fields(given.get("n_records", _as_is), "n_records")
    n_planned, n_records = records.get("planned", a_count), records.get("actual", a_count)
    records.done()
    matrices = Fields(given.get("matrices", _as_is), "matrices")
    hessian, covariance = matrices.get("hessian", _a_matrix), matrices.get("covariance", _a_matrix)
    matrices.done()
    coefficients = given.get("coefficients", list_of(_coefficient_from))
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
        version=version,
        ledger_head=head,
        charge_id=charge_id,
        design=design,
        schema=schema,
        features=features,
        n_planned=n_planned,
        n_records=n_records,
        coefficients=coefficients,
        hessian=hessian,
        covariance=covariance,
    )


def _as_is(value: Any, _: str) -> Any:
    return value


_a_matrix = list_of(list_of(a_number))


def _guarantee_from(record: object, path: str) -> Guarantee:
    found = a_record(Guarantee, needed=Guarantee.__slots__)(record, path)
    if found.definition not in DEFINITIONS:
        raise RecordError(f"{path}.definition", f"Expected {' or '.join(map(repr, DEFINITIONS))}.")
    return found


def _coefficient_from(record: object, path: str) -> Coefficient:
    found = a_record(Coefficient)(record, path)
    if not math.isfinite(found.released):
        raise RecordError(f"{path}.released", "Expected a finite number.")
    return found
