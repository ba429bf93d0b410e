"""A release.json read again: every field by its rule, and an error that names the path of the one
that breaks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dpci_core.base.limits import records_in_range
from dpci_core.design import Design
from dpci_core.intervals.certified import GRID
from dpci_core.ledger import Spending
from dpci_core.plan.codec import FORMS, READERS, Form, PlanFieldError, at, plain_fields, read
from dpci_core.plan.content import coefficient_names, design_from, goal_from
from dpci_core.plan.linear import kind_in, linear_design_from
from dpci_core.plan.link import load_json
from dpci_core.regression.design import LinearDesign
from dpci_core.release.linear import LinearRelease, Steps
from dpci_core.release.record import (
    FORMAT,
    RECORD_NAME,
    VERSION,
    AnyRelease,
    Goal,
    RecordError,
    Release,
)

_MOST_BYTES = 64 * 1024**2


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrices:
    """The released matrices as they stand in a record, and where the first was released."""

    hessian: tuple[tuple[float, ...], ...]
    covariance: tuple[tuple[float, ...], ...]
    hessian_at: tuple[float, ...]
    second_moment: tuple[tuple[float, ...], ...] = ()


def load_release(path: str | Path) -> AnyRelease:
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


def release_from(content: bytes) -> AnyRelease:
    """Return the release of the bytes of a release.json."""
    try:
        made: AnyRelease = read(AnyRelease, load_json(content.decode("utf-8")))
        return made
    except PlanFieldError as error:
        raise RecordError(error.field, error.problem) from None
    except (ValueError, RecursionError):
        raise RecordError("", "Expected the JSON of a release.json.") from None


def _release_from(
    *,
    format: str,
    version: int,
    design: dict[str, Any],
    ledger: dict[str, Any],
    n_records: dict[str, Any],
    matrices: Matrices,
    status: str,
    switches: object,
    grid: float,
    **given: Any,
) -> Release:
    """A release of the fields of its file; what follows from others has to be what follows."""
    ran = design_from(design, _actual(n_records))
    for name, found, wanted, words in (
        ("status", status, ran.status, "the status of this design"),
        ("switches", switches, plain_fields(ran.switches), "the switches of design.calibration"),
        ("grid", grid, GRID, f"{GRID!r}"),
    ):
        if found != wanted:
            raise PlanFieldError(name, f"Expected {words}.")
    return Release(
        **_of_any(given, ledger, n_records),
        design=ran,
        hessian=matrices.hessian,
        covariance=matrices.covariance,
        hessian_at=matrices.hessian_at,
        second_moment=matrices.second_moment,
    )


def _linear_from(
    *,
    format: str,
    version: int,
    design: dict[str, Any],
    ledger: dict[str, Any],
    n_records: dict[str, Any],
    matrices: Steps,
    **given: Any,
) -> LinearRelease:
    ran = linear_design_from(design, _actual(n_records))
    return LinearRelease(**_of_any(given, ledger, n_records), design=ran, drawn=matrices)


def _actual(n_records: dict[str, Any]) -> int:
    with at("n_records.actual"):
        return records_in_range(n_records["actual"])


def _of_any(
    given: dict[str, Any], ledger: dict[str, Any], n_records: dict[str, Any]
) -> dict[str, Any]:
    """The fields of every model's record."""
    with at("features"):
        names = coefficient_names(given["schema"], given["features"])
    with at("goal.target"):
        if (goal := given.get("goal")) is not None:
            given["goal"] = Goal(**goal | {"target": goal_from(goal["target"], names)})
    return given | {
        "ledger_head": ledger["head"],
        "charge_id": ledger["charge"],
        "so_far": ledger["so_far"],
        "n_planned": n_records["planned"],
    }


_TYPES: dict[str, Any] = {
    "format": Literal[FORMAT],
    "version": Literal[VERSION],
    "ledger": {"head": str, "charge": int, "so_far": Spending},
    "n_records": {"planned": int, "actual": int},
}
_WITHOUT = ("note", "ledger_head", "charge_id", "so_far", "n_planned")
READERS[AnyRelease] = lambda value: kind_in(value, (Release, LinearRelease))
FORMS[Goal] = Form(build=dict)
FORMS[LinearRelease] = Form(
    needed=("version",),
    types={**_TYPES, "matrices": Steps, "design": LinearDesign},
    without=(*_WITHOUT, "drawn"),
    build=_linear_from,
)
FORMS[Release] = Form(
    needed=("version",),
    types={
        **_TYPES,
        "matrices": Matrices,
        "design": Design,
        "status": str,
        "switches": Any,
        "grid": float,
    },
    without=(*_WITHOUT, "hessian", "covariance", "hessian_at", "second_moment"),
    build=_release_from,
)
