"""The one release: check, book, read, fit, draw, write, and note the result; in this order, and
once.

docs/release.md says why. Whatever happens after booking, a charge stays spent and is never drawn
for twice.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from dpci_core.base.codes import ReleaseCode, SpentCode
from dpci_core.base.errors import (
    CodedError,
    DataRejectedError,
    Finding,
    InfeasibleDesignError,
    without_frames,
)
from dpci_core.intervals.draw import Drawn, check_feasible, draw_release
from dpci_core.ledger import Charge, Cost, Ledger, LedgerError
from dpci_core.mechanisms.shares import Shares, share_out
from dpci_core.plan import Plan
from dpci_core.release.content import Price, files_of, make_record, schema_hash
from dpci_core.release.folder import try_place, write_folder
from dpci_core.release.reading import load_release
from dpci_core.release.record import RECORD_NAME, Release
from dpci_core.release.table import (
    Header,
    TableError,
    TableFile,
    TextEncoding,
    read_header,
    read_records,
)
from dpci_core.report.refusals import said
from dpci_core.schema import CategoricalColumn, MappingNote, RecordMapper, Schema


class ReleaseRefusedError(CodedError, ValueError):
    """Something is wrong with what was asked for; nothing was booked."""

    def __init__(self, code: ReleaseCode, **facts: object) -> None:
        super().__init__(code, **facts)


class _SpentError(CodedError, RuntimeError):
    """Something went wrong after the release was booked; the charge stays spent."""

    def __init__(self, code: SpentCode, **facts: object) -> None:
        super().__init__(code, **facts)


class ReleaseFailedError(_SpentError):
    """The release ended without a result after it was booked. The charge stays spent; a new request
    starts anew.
    """


class ReleaseLostError(_SpentError):
    """This request was booked before and has no result here: it is running, or broke off. It is
    never drawn again.
    """


class ReleaseUnfinishedError(_SpentError):
    """The result is written, but the ledger could not note it; the same request again completes the
    entry.
    """


def price_of(plan: Plan, *, allow_unreviewed: bool = False) -> Price:
    """Return the price of a plan after every check that needs no file.

    Raises:  ReleaseRefusedError, InfeasibleDesignError: nothing was spent.
    """
    if plan.design.status and not allow_unreviewed:
        raise ReleaseRefusedError("not_reviewed", status=plan.design.status)
    check_feasible(plan.design, n_records=plan.n_records, dim=len(plan.names))
    _check_reachable(plan.schema)
    return Price(
        cost=_cost(share_out(plan.design)),
        schema_hash=schema_hash(plan.schema),
        numbers=plan.numbers(),
    )


def _check_reachable(schema: Schema) -> None:
    """Cells are compared without blanks around them: a level declared with some would count nobody,
    and still cost.
    """
    levels = (
        level
        for column in schema.features
        if isinstance(column, CategoricalColumn)
        for level in column.levels
    )
    for text in (
        schema.target,
        schema.positive,
        *(column.name for column in schema.features),
        *levels,
    ):
        if text != text.strip():
            raise ReleaseRefusedError("blanks_around", text=text)


def _cost(shares: Shares) -> Cost:
    planned = shares.planned
    return Cost(definition=planned.definition, amount=planned.budget.total, lines=shares.lines)


def release(
    plan: Plan,
    file: TableFile | str,
    *,
    ledger: Ledger,
    dataset: str,
    person: str,
    request_id: str,
    folder: Path | str,
    allow_unreviewed: bool = False,
    encoding: TextEncoding = "utf-8",
) -> Release:
    """Release the model of a plan from a private file, once, and return what was written to
    `folder`.

    Args:    dataset: name of the ledger's account.  request_id: of this release; the same one again
             returns the recorded release and never draws.  folder: a new folder for the result, its
             parent exists.
             allow_unreviewed: allow Gaussian objective perturbation.  encoding: of a CSV file.
    Privacy: the price of the plan in its own definition; replace-one neighbours, the number of rows
             is public.
    Raises:  before booking ReleaseRefusedError, DataRejectedError (the header),
             InfeasibleDesignError, LedgerError; after it ReleaseFailedError,
             ReleaseUnfinishedError; for a known request without a result ReleaseLostError. No
             message holds anything from below the header.
    """
    place, request_id = Path(folder).absolute(), request_id.strip()
    if os.path.lexists(place):
        return _recorded(place, plan, ledger, request_id)
    if ledger.find(request_id) is not None:
        raise ReleaseLostError("release_lost", request=request_id)
    price = price_of(plan, allow_unreviewed=allow_unreviewed)
    check_account(ledger, dataset, plan)
    header = check_table(plan, file, encoding=encoding)
    _check_place(place)
    _reached("before booking")
    charge = ledger.book(
        dataset,
        schema_hash=price.schema_hash,
        cost=price.cost,
        purpose=plan.title,
        plan_hash=plan.digest,
        person=person,
        request_id=request_id,
    )
    _reached("booked")
    if not charge.is_new:
        raise ReleaseLostError("release_lost", request=request_id)
    outcome = _carry_out(plan, header, price, charge, place)
    if not isinstance(outcome, Release):  # out here no traceback leads to the records
        if not _holds(place, charge):
            raise _failed(ledger, charge, outcome)
        outcome = load_release(place)  # stopped after the folder had its name
    _reached("written")
    _finish(ledger, charge, place)
    _reached("finished")
    return outcome


def check_account(ledger: Ledger, dataset: str, plan: Plan) -> None:
    """Raise ReleaseRefusedError unless the budget was given for the plan's unit, which the record
    states.

    An account never changes, so what is read here still holds when the charge is booked.
    """
    unit = ledger.account(dataset).unit
    if unit != plan.unit.strip():
        raise ReleaseRefusedError("another_unit", plan=plan.unit, dataset=dataset, ledger=unit)


def check_table(plan: Plan, file: TableFile | str, *, encoding: TextEncoding = "utf-8") -> Header:
    """Return the header of a private table that a plan can be released from, as far as public facts
    tell.

    The header and the number of rows that a Parquet file states beside it; nothing below a header
    is opened.
    Raises:  ReleaseRefusedError for what is no file, DataRejectedError, InfeasibleDesignError for
             too few rows.
    """
    path = Path(file) if isinstance(file, str) else file
    if (
        isinstance(path, Path) and path.exists() and not path.is_file()
    ):  # a pipe gives its bytes once
        raise ReleaseRefusedError("not_a_file")
    header = read_header(file, encoding=encoding)
    header.check_has(RecordMapper(plan.schema, plan.features).needed)
    if header.n_records == 0:
        raise DataRejectedError("nothing_to_release")
    if header.n_records is not None:
        check_feasible(plan.design, n_records=header.n_records, dim=len(plan.names))
    return header


def _check_place(place: Path) -> None:
    """What would keep the result from being written has to show before anything is spent on it."""
    if not place.parent.is_dir():
        raise ReleaseRefusedError("folder_missing", folder=place.parent)
    try:
        try_place(place)
    except OSError as error:
        raise ReleaseRefusedError(
            "folder_not_writable", folder=place, problem=error.strerror
        ) from None


def _reached(stage: str) -> None:
    """Nothing; tests stop the process here."""


def _failed(ledger: Ledger, charge: Charge, reason: Finding | Exception) -> ReleaseFailedError:
    """The error to raise after noting the failure; a ledger that cannot be written leaves the
    charge booked.
    """
    try:
        ledger.fail(charge.charge_id, reason=said(reason))
    except LedgerError:
        return ReleaseFailedError("failure_not_noted", reason=reason, charge=charge.charge_id)
    return ReleaseFailedError("release_failed", reason=reason, charge=charge.charge_id)


def _carry_out(
    plan: Plan, header: Header, price: Price, charge: Charge, place: Path
) -> Release | Finding | Exception:
    """Everything between booking and the finished folder; why it failed, free of records, where it
    did.
    """
    try:
        drawn, note = _draw(plan, header)
        _reached("drawn")
        made = make_record(plan, drawn, price, charge)
        files = files_of(made, plan)
        write_folder(
            place, files, owner=charge.request_id, dated=charge.booked_at, reached=_reached
        )
        return replace(made, note=note)
    except (TableError, InfeasibleDesignError) as error:
        return without_frames(error)  # of the file as a whole, or of n and other public numbers
    except OSError:
        return Finding("not_read_or_written")
    except MemoryError:
        return Finding("out_of_memory")
    except Exception as error:
        return Finding("broken_off", problem=type(error).__name__)
    except BaseException:
        return Finding("stopped")


def _draw(plan: Plan, header: Header) -> tuple[Drawn, MappingNote]:
    """The records exist in here only."""
    mapper = RecordMapper(plan.schema, plan.features)
    X, y, note = read_records(header, mapper)
    _reached("read")
    check_feasible(plan.design, n_records=len(X), dim=X.shape[1])
    return draw_release(X, y, design=plan.design, to_original=mapper.to_original), note


def _result_hash(place: Path) -> str:
    return hashlib.sha256((place / RECORD_NAME).read_bytes()).hexdigest()


def _holds(place: Path, charge: Charge) -> bool:
    """Whether the folder holds the release of this very charge."""
    try:
        made = load_release(place)
    except (OSError, ValueError):
        return False
    return made.charge_id == charge.charge_id and made.request_id == charge.request_id


def _finish(ledger: Ledger, charge: Charge, place: Path) -> None:
    try:
        ledger.finish(charge.charge_id, result_hash=_result_hash(place))
    except LedgerError as error:
        problem = without_frames(error)
    else:
        return
    raise ReleaseUnfinishedError(
        "release_unfinished", folder=place, charge=charge.charge_id, problem=problem
    )


def _recorded(place: Path, plan: Plan, ledger: Ledger, request_id: str) -> Release:
    """The release that is in the folder already, if it is that of this request; its entry is
    completed if need be.
    """
    try:
        made = load_release(place)
    except (OSError, ValueError):
        raise ReleaseRefusedError("no_release", folder=place) from None
    charge = ledger.find(request_id)
    if made.request_id != request_id or made.plan_hash != plan.digest:
        raise ReleaseRefusedError("another_release", folder=place)
    if charge is None or charge.charge_id != made.charge_id or charge.plan_hash != made.plan_hash:
        raise ReleaseRefusedError("release_unknown", folder=place)
    if charge.state == "booked":
        _finish(ledger, charge, place)
    elif charge.state == "failed" or charge.result_hash != _result_hash(place):
        raise ReleaseRefusedError("release_replaced", folder=place)
    return made
