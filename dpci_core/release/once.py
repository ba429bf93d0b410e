"""What may be asked of a private table, and the one way of asking: check, book, read, draw, write,
and note the result; in this order, and once.

docs/proofs/release.md says why. Whatever happens after booking, a charge stays spent and is never
drawn for twice.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

from dpci_core.base.batch import BatchError
from dpci_core.base.errors import (
    CodedError,
    DataRejectedError,
    Finding,
    InfeasibleDesignError,
    check_choice,
    without_frames,
)
from dpci_core.ledger import (
    Charge,
    Cost,
    DrawBegunError,
    Ledger,
    LedgerError,
    Proposal,
)
from dpci_core.ledger.draw import Draw, check_approval
from dpci_core.ledger.state import whom
from dpci_core.plan import AnyPlan
from dpci_core.privacy.randomness import load_noise
from dpci_core.release.content import schema_hash
from dpci_core.release.folder import try_place, write_folder
from dpci_core.release.look import ACCEPTABLE, Acceptable, Look, largest_unfit
from dpci_core.release.record import Entry
from dpci_core.release.signature import SIGNATURE_NAME, signature_text
from dpci_core.release.table import (
    Header,
    TableFile,
    TextEncoding,
    counted,
    read_header,
)
from dpci_core.report.words import percent
from dpci_core.schema import Schema


class ReleaseRefusedError(CodedError, ValueError):
    """Something is wrong with what was asked for; nothing was booked."""

    def __init__(self, code: str, **facts: object) -> None:
        super().__init__(code, **facts)


class NotAcceptedError(ReleaseRefusedError):
    """The look found what nobody accepted; nothing was booked."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that was found, to be told at once; an acceptance names their codes."""
        return cast("tuple[Finding, ...]", self.facts["findings"])


class _SpentError(CodedError, RuntimeError):
    """Something went wrong after the release was booked; the charge stays spent."""

    def __init__(self, code: str, **facts: object) -> None:
        super().__init__(code, **facts)


class ReleaseFailedError(_SpentError):
    """The release ended without a result after it was booked. The charge stays spent; a new request
    starts anew.
    """


class ReleaseLostError(_SpentError):
    """This request was booked before and has no result here: noise is being drawn for it, or it
    broke off. It is never drawn again.
    """


class ReleasePausedError(_SpentError):
    """The release was stopped after booking and before anything was drawn; the same request goes
    on.
    """


class ReleaseUnfinishedError(_SpentError):
    """The result is written, but the ledger could not note it; the same request again completes the
    entry.
    """


Made_co = TypeVar("Made_co", bound=Entry, covariant=True)


@dataclass(frozen=True, kw_only=True)
class ReleaseTask(ABC, Generic[Made_co]):
    """What is asked of the private table of a plan, which declares columns, unit and n."""

    plan: AnyPlan
    record_name: ClassVar[str]
    takes_persons: ClassVar[bool] = False
    """Whether a person may have several rows; every other question is about single rows."""

    def __post_init__(self) -> None:
        if self.plan.persons is not None and not self.takes_persons:
            raise ReleaseRefusedError("persons_not_offered")

    @property
    @abstractmethod
    def title(self) -> str:
        """The title under which the ledger lists the release."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """SHA-256 of everything that was decided."""

    @property
    @abstractmethod
    def needed(self) -> tuple[str, ...]:
        """Columns that the table must have."""

    @abstractmethod
    def price(self) -> Cost:
        """Return the price after every check that needs no file.

        Raises:  ValueError, ReleaseRefusedError, InfeasibleDesignError: nothing was spent.
        """

    def look(self, header: Header) -> Look | None:
        """Return how many cells fit, before anything is booked; None where nobody looks."""
        return None

    @abstractmethod
    def check_size(self, n_records: int) -> None:
        """Refuse what public numbers rule out at this n."""

    @abstractmethod
    def answer(
        self, header: Header, charge: Charge, begin: Callable[[], None]
    ) -> tuple[Made_co, dict[str, str]]:
        """Return the record and the files of its folder; the rows exist in here only.

        begin: called right before the first draw.
        """

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Made_co:
        """Return the record of a finished folder; ValueError or OSError."""


def release_once(
    question: ReleaseTask[Made_co],
    file: TableFile | str,
    *,
    ledger: Ledger,
    dataset: str,
    person: str,
    request_id: str,
    folder: Path | str,
    encoding: TextEncoding = "utf-8",
    accept: Collection[Acceptable] = (),
) -> Made_co:
    """Release the answer to a question from a private file, once, and return what was written to
    `folder`.

    Args:
        question: what is asked.
        file: the private table.
        ledger: that pays.
        dataset: name of the ledger's account.
        person: who releases, for the ledger.
        request_id: of this release; the same one again returns the recorded release and never
            draws.
        folder: a new folder for the result, its parent exists.
        encoding: of a CSV file.
        accept: codes of what the look may find and was accepted of this very file; whatever else
            it finds is refused.

    Privacy: the price of the question in its own definition; replace-one neighbours, the number of
             rows is public.
    Raises:  before booking ReleaseRefusedError (where most cells of a column do not fit the plan:
             docs/proofs/release.md#records), NotAcceptedError (for all that was found, at once),
             DataRejectedError (the header, the number of rows), InfeasibleDesignError, LedgerError
             (NotApprovedError where another person has to approve: then it is proposed, and no file
             was opened); after it ReleaseFailedError, ReleaseUnfinishedError; for a known request
             without a result ReleaseLostError. No message holds anything from below the header.
    """
    for code in accept:
        check_choice(code, ACCEPTABLE, name="accept")
    place, request_id = Path(folder).absolute(), request_id.strip()
    if os.path.lexists(place):
        return _recorded(question, place, ledger, request_id)
    known = ledger.find(request_id)
    if known is not None and not known.may_go_on:
        if known.state == "done":
            raise ReleaseLostError("release_elsewhere", request=request_id)
        raise ReleaseLostError("release_lost", request=request_id)
    load_noise()
    asked = _asked(question, person, request_id)
    check_account(ledger, dataset, question.plan)
    if known is None:
        check_is_left(ledger, dataset, question)
    check_approval(ledger, dataset, asked)
    header = check_header(question, file, encoding=encoding)
    _check_place(place)
    header = check_number(question, header)
    if known is None:  # what was booked is never refused for what its cells hold
        _check_cells(question, header, accept)
    reached("before booking")
    charge = ledger.book(dataset, **asked, draws_later=True)
    reached("booked")
    if not charge.may_go_on:
        raise ReleaseLostError("release_lost", request=request_id)
    with Draw(ledger, charge) as draw:
        outcome = _carry_out(question, header, charge, place, draw)
        if isinstance(outcome, Finding | Exception):  # out here no traceback leads to the records
            if not (draw.is_begun and _holds(question, place, charge)):
                raise _failed(draw, outcome)
            outcome = question.load(place)  # stopped after the folder had its name
        reached("written")
        _finish(draw, _result_hash(question, place), place)
    reached("finished")
    return outcome


def propose(
    question: ReleaseTask[Made_co], ledger: Ledger, dataset: str, *, person: str, request_id: str
) -> Proposal:
    """Return the proposal of a release that another person has to approve, made unless it is there.
    It spends nothing, and no file is needed for it.

    Args:
        question, ledger, dataset, person, request_id: of the release, which takes exactly these.

    Raises:  as `release_once` before booking.
    """
    asked = _asked(question, person, request_id)
    check_account(ledger, dataset, question.plan)
    check_is_left(ledger, dataset, question)
    return ledger.propose(dataset, **asked)


def check_approved(
    question: ReleaseTask[Made_co], ledger: Ledger, dataset: str, *, person: str, request_id: str
) -> None:
    """Refuse a release that another person did not approve field for field, or that the budget does
    not cover any more; before a file is asked for. Arguments as of `propose`.
    """
    ledger.check_approved(dataset, **_asked(question, person, request_id))


def _asked(question: ReleaseTask[Made_co], person: str, request_id: str) -> dict[str, Any]:
    """What the ledger is asked to book, after every check that needs no file."""
    return {
        "cost": question.price(),
        "schema_hash": schema_hash(question.plan.schema),
        "purpose": question.title,
        "plan_hash": question.digest,
        "person": person,
        "request_id": request_id,
    }


def complete(
    question: ReleaseTask[Made_co], ledger: Ledger, *, request_id: str, folder: Path
) -> Made_co:
    """Return the release that a folder holds, and note it where a stop kept the ledger from knowing
    its result. Nothing is drawn or spent.

    Raises:  ReleaseRefusedError for what is not the release of this request,
             ReleaseUnfinishedError where the ledger still cannot note it.
    """
    return _recorded(question, folder.absolute(), ledger, request_id)


def check_reachable(schema: Schema) -> None:
    """Cells are compared without blanks around them: a level declared with some would count nobody,
    and still cost.
    """
    for text in (
        schema.target,
        *schema.codes,
        *(() if schema.persons is None else (schema.persons.column,)),
        *(text for column in schema.features for text in (column.name, *column.texts)),
    ):
        if text != text.strip():
            raise ReleaseRefusedError("blanks_around", text=text)


def check_account(ledger: Ledger, dataset: str, plan: AnyPlan) -> None:
    """Raise ReleaseRefusedError unless the budget was given for the plan's unit, which the record
    states.

    An account never changes, so what is read here still holds when the charge is booked.
    """
    account, wanted = ledger.account(dataset), plan.account_unit
    if (account.unit, account.several_rows) != (wanted["unit"], wanted["several_rows"]):
        raise ReleaseRefusedError(
            "another_unit", plan=whom(**wanted), dataset=dataset, ledger=account.protected
        )


def check_is_left(ledger: Ledger, dataset: str | None, question: ReleaseTask[Any]) -> None:
    """Raise ReleaseRefusedError where a plan has been released and may not be again.

    A plan is of the people whom it was released from first: the same file may be declared to be of
    others under another name, and would be paid for as if they were. Whoever approved it read what
    one release of it lets others learn, so its approval pays for one; where the account asks
    another person each time, each release has an approval of its own.

    dataset: None for one of people who have no account yet.
    """
    done = [
        charge
        for charge in ledger.history()
        if (charge.plan_hash, charge.state) == (question.digest, "done")
    ]
    if not done:
        return
    is_each = dataset is not None and ledger.account(dataset).needs_approval
    if question.plan.approved and not is_each:
        raise ReleaseRefusedError("approved_for_one", entry=done[0].charge_id)
    here = set() if dataset is None else {one.charge_id for one in ledger.history(dataset)}
    for charge in done:
        if charge.charge_id not in here:
            named = {one.account_id: one.dataset for one in ledger.accounts()}
            payer = named[charge.account_id]
            raise ReleaseRefusedError("released_of_others", entry=charge.charge_id, dataset=payer)


def check_header(
    question: ReleaseTask[Made_co], file: TableFile | str, *, encoding: TextEncoding = "utf-8"
) -> Header:
    """Return the header of a private table that can answer a question, as far as public facts tell.

    The header and the number of rows that a Parquet file states beside it; nothing below a header
    is opened.
    Raises:  ReleaseRefusedError for what is no file or has another number of rows than declared,
             DataRejectedError, InfeasibleDesignError where too few rows were declared to be enough.
    """
    path = Path(file) if isinstance(file, str) else file
    if (
        isinstance(path, Path) and path.exists() and not (path.is_file() or path.is_dir())
    ):  # a pipe gives its bytes once
        raise ReleaseRefusedError("not_a_file")
    header = read_header(file, encoding=encoding)
    header.check_has(question.needed)
    _check_rows(question, header)
    return header


def check_number(question: ReleaseTask[Made_co], header: Header) -> Header:
    """Return the header with the number of its records, which is public, where it can be known.

    Rows of a CSV file are cut as the release cuts them, and no cell is looked at but the names of
    persons.
    Raises:  as `check_header`, and DataRejectedError for a file that cannot be read or has changed.
    """
    header = counted(header, question.plan.persons)
    _check_rows(question, header)
    return header


def _check_rows(question: ReleaseTask[Made_co], header: Header) -> None:
    """Refuse a table whose number of records is known and too small, or not the one that was
    declared; records are rows, or persons.

    n is public, so what it decides costs nothing.
    """
    plan = question.plan
    n = header.n_records if plan.persons is None else header.n_persons
    if header.n_records == 0:
        raise DataRejectedError("nothing_to_release")
    if n is None:
        return
    low, high = plan.n_range
    if low <= n <= high:
        question.check_size(n)
        return
    planned = plan.n_records
    if plan.persons is None:
        raise ReleaseRefusedError("rows_not_as_planned", n=n, planned=planned, low=low, high=high)
    raise ReleaseRefusedError("persons_not_as_planned", n=n, planned=planned, low=low, high=high)


def _check_cells(
    question: ReleaseTask[Made_co], header: Header, accept: Collection[Acceptable]
) -> None:
    """Refuse a table of which most would count for nothing, naming columns and no cell, and one of
    which anything was found that nobody accepted.
    """
    seen = question.look(header)
    if seen is None:
        return
    hints = seen.hints or ""
    if seen.unfit:
        names, share = ", ".join(map(repr, seen.unfit)), percent(largest_unfit(question.plan))
        raise ReleaseRefusedError("cells_do_not_fit", names=names, share=share, hints=hints)
    if not {one.code for one in seen.asks} <= set(accept):
        raise NotAcceptedError("not_accepted", findings=seen.asks, hints=hints)


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


def reached(stage: str) -> None:
    """Nothing; tests stop the process here."""


def _failed(draw: Draw, reason: Finding | Exception) -> _SpentError:
    """The error to raise after noting the failure; a ledger that cannot be written leaves the
    charge booked. One that was stopped before its draw, or whose draw the ledger could not note, is
    left as it is: it may go on.
    """
    charge, request = draw.charge, draw.charge.request_id
    if isinstance(draw.problem, DrawBegunError):
        return ReleaseLostError("release_lost", request=request)
    is_stopped = isinstance(reason, Finding) and reason.code == "stopped"
    if not draw.is_begun and (is_stopped or draw.problem is not None):
        return ReleasePausedError("release_paused", request=request)
    try:
        draw.fail(reason)
    except DrawBegunError:
        return ReleaseLostError("release_lost", request=request)
    except LedgerError:
        return ReleaseFailedError("failure_not_noted", reason=reason, charge=charge.charge_id)
    return ReleaseFailedError("release_failed", reason=reason, charge=charge.charge_id)


def _carry_out(
    question: ReleaseTask[Made_co], header: Header, charge: Charge, place: Path, draw: Draw
) -> Made_co | Finding | Exception:
    """Everything between booking and the finished folder; why it failed, free of records, where it
    did.
    """

    def begin() -> None:
        draw.begin()
        reached("begun")

    try:
        made, files = question.answer(header, charge, begin)
        if not draw.is_begun or draw.key is None:
            raise AssertionError("nothing may be written that was not announced")
        files = {**files, SIGNATURE_NAME: signature_text(files, draw.key)}
        write_folder(place, files, owner=charge.request_id, dated=charge.booked_at, reached=reached)
        return made
    except (BatchError, InfeasibleDesignError) as error:
        return without_frames(error)  # of the file as a whole, or of n and other public numbers
    except OSError:
        return Finding("not_read_or_written")
    except MemoryError:
        return Finding("out_of_memory")
    except Exception as error:
        return Finding("broken_off", problem=type(error).__name__)
    except BaseException:
        return Finding("stopped")


def _result_hash(question: ReleaseTask[Made_co], place: Path) -> str:
    return hashlib.sha256((place / question.record_name).read_bytes()).hexdigest()


def _holds(question: ReleaseTask[Made_co], place: Path, charge: Charge) -> bool:
    """Whether the folder holds the release of this very charge."""
    try:
        made = question.load(place)
    except (OSError, ValueError):
        return False
    return made.charge_id == charge.charge_id and made.request_id == charge.request_id


def _finish(draw: Draw, result_hash: str, place: Path) -> None:
    try:
        draw.finish(result_hash)
    except LedgerError as error:
        problem = without_frames(error)
    else:
        return
    raise ReleaseUnfinishedError(
        "release_unfinished", folder=place, charge=draw.charge.charge_id, problem=problem
    )


def _recorded(
    question: ReleaseTask[Made_co], place: Path, ledger: Ledger, request_id: str
) -> Made_co:
    """The release that is in the folder already, if it is that of this request; its entry is
    completed if need be.
    """
    try:
        made = question.load(place)
    except (OSError, ValueError):
        raise ReleaseRefusedError("no_release", folder=place) from None
    charge = ledger.find(request_id)
    if made.request_id != request_id or made.plan_hash != question.digest:
        raise ReleaseRefusedError("another_release", folder=place)
    if charge is None or charge.charge_id != made.charge_id or charge.plan_hash != made.plan_hash:
        raise ReleaseRefusedError("release_unknown", folder=place)
    if charge.state == "booked":
        # two ledgers may have the same request under one number; a head is of one alone
        if ledger.booking_head(charge.charge_id) != made.ledger_head:
            raise ReleaseRefusedError("release_unknown", folder=place)
        _finish(Draw(ledger, charge), _result_hash(question, place), place)
    elif charge.state == "failed" or charge.result_hash != _result_hash(question, place):
        raise ReleaseRefusedError("release_replaced", folder=place)
    return made
