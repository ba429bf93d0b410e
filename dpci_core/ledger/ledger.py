"""The budget ledger of this machine or team: what was allowed, what was spent, and a seal on every
line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import platformdirs

from dpci_core.base.errors import (
    Finding,
    LedgerError,
    LedgerRuleError,
    LedgerTextError,
    without_frames,
)
from dpci_core.base.text import TextProblem
from dpci_core.ledger.amounts import Cap, Cost, as_text
from dpci_core.ledger.anchor import END, Anchor
from dpci_core.ledger.database import Database, changed_guards, read_entries
from dpci_core.ledger.entries import NO_HEAD, Entry, Kind
from dpci_core.ledger.key import PublicKey, SigningKey, new_key, read_key, write_key
from dpci_core.ledger.keyring import Keyring, keys_folder
from dpci_core.ledger.names import MOST_CHARACTERS, dataset_name, name_key, one_line
from dpci_core.ledger.people import check_declared, check_same_unit, shared_account, shared_cap
from dpci_core.ledger.problems import DrawBegunError, LedgerDamagedError
from dpci_core.ledger.proposals import ANOTHER_PERSON, Proposal
from dpci_core.ledger.request import Request
from dpci_core.ledger.state import SEVERAL_ROWS, Account, Charge, LedgerState, People
from dpci_core.ledger.transaction import Transaction
from dpci_core.ledger.verify import (
    RecordedHead,
    Verification,
    broken_seal,
    check_entries,
    clock_remarks,
    last_key,
    missing_head,
    unknown_result,
)

PATH_VARIABLE = "DPCI_LEDGER"
"""Environment variable: the file of the ledger; default in the user's data folder."""
KEY_VARIABLE = "DPCI_LEDGER_KEY"
"""Environment variable: the file of its key; default a file of its own in the folder of keys."""
BUSY_SECONDS = 15.0
"""How long to wait while another process writes."""


def utc_now() -> datetime:
    """The time on the clock of this machine."""
    return datetime.now(UTC)


class Ledger:
    """Caps and charges in one file; every method is one whole operation, safe beside other threads
    and processes.

    Args:
        path: the file; default $DPCI_LEDGER, else ledger.sqlite in the user's data folder. It and
            its key come into being at the first write.
        key_path: of the key that signs; default $DPCI_LEDGER_KEY, else a file named by its public
            key in $DPCI_LEDGER_KEYS or the folder `keys` of the user's configuration.
        clock: gives the time of entries, kept to the hour.
        read_only: refuse to write.
        busy_seconds: patience with other writers.

    Privacy:
        What is booked is spent, whatever happens next; no sum is ever rounded; nothing is booked on
        a ledger whose seals do not hold. Reading and checking need no secret.

    Raises:
        LedgerError: from every method, with what to do; after it, nothing of that operation stands.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        key_path: Path | None = None,
        clock: Callable[[], datetime] = utc_now,
        read_only: bool = False,
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        self.path = (
            _place(path, PATH_VARIABLE) or platformdirs.user_data_path("dpci") / "ledger.sqlite"
        )
        named = _place(key_path, KEY_VARIABLE)
        if named == self.path:
            raise LedgerRuleError("ledger_is_its_key", path=self.path)
        self.read_only = read_only
        self._clock = clock
        self._database = Database(self.path, busy_seconds)
        file = Path(os.path.realpath(self.path))  # of all links to one ledger the same
        self._anchor = Anchor(file.with_name(file.name + END), busy_seconds)
        self._keys = Keyring(file, self.path, named, keys_folder())

    @property
    def key_path(self) -> Path | None:
        """The file of the key that seals the next entry, which need not be there; None before the
        first one where none was named.
        """
        if self._keys.named is not None:
            return self._keys.named
        entries = self.entries()
        return self._keys.file_of(entries[-1].key_id) if entries else self._keys.kept()

    def public_key(self) -> PublicKey | None:
        """The key that others check this ledger with, as the ledger names it; None where nothing is
        signed.
        """
        return last_key(self.entries())

    def public_keys(self) -> tuple[tuple[int, PublicKey], ...]:
        """Every key that signed, with the number of the first entry that is its."""
        return tuple(
            (entry.sequence, PublicKey.of(entry.public_key))
            for entry in self.entries()
            if entry.public_key is not None
        )

    def create_dataset(
        self,
        name: str,
        *,
        schema_hash: str,
        cap: Cap | None,
        unit: str,
        several_rows: bool = False,
        person: str,
        same_people_as: str | None = None,
        other_people: bool = False,
        needs_approval: bool = False,
    ) -> Account:
        """Return a new account; the same people share the cap they already have.

        Args:
            name: of the data set.
            schema_hash: of the declared columns, levels and bounds.
            cap: the most that may ever be spent; None or the same again with `same_people_as`.
            unit: whom one row stands for, in words, or who has rows.
            several_rows: whether the account is for plans in which a person may have several rows:
                nothing that protects a single row is ever paid from it.
            person: who declares this.
            same_people_as: the data set that has some or all of these people already.
            other_people: says that no data set of this ledger has any of them.
            needs_approval: whether another person has to approve each charge, once and for all; of
                the same people it is what was declared first.

        Raises:
            SamePeopleQuestionError: where the ledger has data sets and neither of the two was
                given.
        """
        name = dataset_name(name)
        schema_hash, unit = one_line(schema_hash, name="schema_hash"), one_line(unit, name="unit")
        person = one_line(person, name="person")
        if cap is not None:
            check_declared(cap)
        with self._writing() as transaction:
            transaction.check_room()
            other = shared_account(
                transaction.state, name, schema_hash, same_people_as, other_people
            )
            if other is not None:
                cap = shared_cap(other, cap, needs_approval)
                check_same_unit(other, unit, several_rows=several_rows)
                needs_approval = other.needs_approval
            if cap is None:
                raise LedgerRuleError("no_cap", dataset=name)
            people: People = "same" if other else "other" if transaction.state.accounts else "first"
            transaction.write(
                "account",
                person=person,
                dataset=name,
                schema_hash=schema_hash,
                unit=unit,
                rows=SEVERAL_ROWS if several_rows else None,
                people=people,
                account=other.account_id if other else None,
                cap_definition=cap.definition,
                cap_amount=as_text(cap.amount),
                cap_epsilon=None if cap.epsilon is None else as_text(cap.epsilon),
                cap_delta=None if cap.delta is None else as_text(cap.delta),
                approval=ANOTHER_PERSON if needs_approval else None,
            )
            return transaction.state.account(name, schema_hash)

    def propose(
        self,
        dataset: str,
        *,
        schema_hash: str,
        cost: Cost,
        purpose: str,
        plan_hash: str,
        person: str,
        request_id: str,
    ) -> Proposal:
        """Return a charge that waits for the approval of another person, on disk; the same request
        again gives the same one. Nothing is spent or reserved.

        Args:
            dataset, schema_hash, cost, purpose, plan_hash, person, request_id: as of `book`, which
                takes exactly these once they are approved.

        Raises:
            BudgetExceededError: where the cap leaves less.
            LedgerError: for an account that needs no approval, a known request id with anything
                else changed, and as `book` does.
        """
        request = Request(dataset, schema_hash, cost, purpose, plan_hash, person, request_id)
        if not name_key(request.person):  # anybody would be another person
            raise LedgerTextError("person", TextProblem("without_letters", request.person))
        with self._writing() as transaction:
            transaction.booked(request)
            known = transaction.state.proposals.of(request.request_id)
            if known is not None and known.state != "withdrawn":
                request.check_same(known, known.proposal_id)
                return known
            transaction.check_room()
            transaction.check_unbooked(request.person)
            account, spent = transaction.within_cap(request)
            if not account.needs_approval:
                raise LedgerRuleError("no_approval_needed", dataset=account.dataset)
            transaction.check_unbooked_of(account)
            entry = transaction.write("proposed", **request.fields(account, spent))
            return transaction.state.proposals.by_id[entry.sequence]

    def approve(self, proposal_id: int, *, person: str) -> Proposal:
        """Return the proposal, approved: its own person may book it now. Once more changes nothing.

        Args:
            proposal_id: what was read and agreed to; what a number names is never changed.
            person: another than proposed it. Names that differ in case, blanks or punctuation alone
                are one.

        Raises:
            LedgerError: for the own proposal of a person, and for one that was withdrawn.
        """
        person = one_line(person, name="person")
        with self._writing() as transaction:
            proposal = transaction.proposal(proposal_id)
            if proposal.is_by(person):
                raise LedgerRuleError("approves_the_own", proposal=proposal_id, person=person)
            if proposal.state == "withdrawn":
                raise LedgerRuleError("proposal_withdrawn", proposal=proposal_id)
            if proposal.state == "proposed":
                transaction.write("approved", person=person, proposal=proposal_id)
            return transaction.state.proposals.by_id[proposal_id]

    def check_approved(
        self,
        dataset: str,
        *,
        schema_hash: str,
        cost: Cost,
        purpose: str,
        plan_hash: str,
        person: str,
        request_id: str,
    ) -> None:
        """Refuse, as `book` does, what it would not book now for want of approval or of budget, on
        a ledger whose seals hold; nothing is written.

        Args:
            dataset, schema_hash, cost, purpose, plan_hash, person, request_id: as of `book`.
        """
        request = Request(dataset, schema_hash, cost, purpose, plan_hash, person, request_id)
        with self._writing() as transaction:
            if transaction.booked(request) is None:  # else `book` returns it, whatever is left
                transaction.may_book(request)

    def withdraw(self, proposal_id: int, *, person: str) -> Proposal:
        """Return the proposal, which is never booked from here on, approved or not; whoever
        proposed it, who approved it and anybody else may do this. Once more changes nothing.

        Raises:
            LedgerError: where it is booked, which stays spent.
        """
        person = one_line(person, name="person")
        with self._writing() as transaction:
            proposal = transaction.proposal(proposal_id)
            if proposal.state == "booked":
                raise LedgerRuleError("proposal_booked", proposal=proposal_id)
            if proposal.state != "withdrawn":
                transaction.write("withdrawn", person=person, proposal=proposal_id)
            return transaction.state.proposals.by_id[proposal_id]

    def book(
        self,
        dataset: str,
        *,
        schema_hash: str,
        cost: Cost,
        purpose: str,
        plan_hash: str,
        person: str,
        request_id: str,
        draws_later: bool = False,
    ) -> Charge:
        """Return a charge that is on disk, so that noise may be drawn; the same request again gives
        the same charge.

        Only a charge with `is_new` gives the right to draw: any other has been drawn for, or may
        have been. With `draws_later` none does: `begin_draw` gives it, to one call.

        Args:
            dataset: name of the account.
            schema_hash: of the declared columns; it must be the account's.
            cost: amount and its lines, in the definition of the release.
            purpose: one line of text.
            plan_hash: of what will be drawn.
            person: who spends.
            request_id: of this release.
            draws_later: whether nothing is drawn before `begin_draw`.

        Raises:
            BudgetExceededError: where the cap leaves less.
            UnknownDatasetError: for a name without an account.
            SchemaChangedError: for other columns.
            NotApprovedError: where another person has to approve exactly this, and has not.
            LedgerError: for a rho under a pure cap, or for a known request id with anything else
                changed.
        """
        request = Request(dataset, schema_hash, cost, purpose, plan_hash, person, request_id)
        with self._writing() as transaction:
            charge = transaction.booked(request)
            if charge is not None:
                return charge
            account, spent = transaction.may_book(request)
            announced = "announced" if draws_later else None
            entry = transaction.write("booked", **request.fields(account, spent), draw=announced)
            return replace(transaction.state.charges[entry.sequence], is_new=True)

    def begin_draw(self, charge_id: int) -> Charge:
        """Return the charge, which is on disk as drawn for: from here on noise may be drawn, by the
        caller alone.

        Raises:
            DrawBegunError: if it was drawn for, ended or booked without `draws_later`.
        """
        with self._writing() as transaction:
            charge = transaction.charge(charge_id)
            if not charge.may_go_on:
                raise DrawBegunError("draw_begun", charge=charge_id)
            transaction.write("drawing", at=charge.booked_at, charge=charge_id)
            return transaction.state.charges[charge_id]

    def finish(self, charge_id: int, *, result_hash: str) -> Charge:
        """Return the charge as done; the same result again changes nothing. Its `head` belongs in
        the record.
        """
        return self._end(charge_id, "done", result_hash=one_line(result_hash, name="result_hash"))

    def fail(self, charge_id: int, *, reason: str, is_drawn: bool = True) -> Charge:
        """Return the charge as failed: still spent, since noise may have been drawn. Never put data
        in the reason.

        Args:
            charge_id: of the charge.
            reason: one line of text.
            is_drawn: False where the caller did not begin to draw.

        Raises:
            DrawBegunError: if another one draws, where the caller does not.
        """
        if isinstance(reason, str):
            reason = " ".join(reason.split())[
                :MOST_CHARACTERS
            ]  # a long reason must not keep a charge from its end
        what = {"reason": one_line(reason, name="reason")}
        return self._end(charge_id, "failed", is_drawn=is_drawn, **what)

    def account(self, dataset: str) -> Account:
        """The oldest account of a name: every other one of the name shares its cap.

        Raises:
            LedgerDamagedError: where entries may be missing: what is left would be too much.
        """
        return self._whole_state().pool(dataset)

    def remaining(self, dataset: str) -> Decimal:
        """What may still be spent on the people of a data set, in the currency of its cap."""
        return self.account(dataset).remaining

    def accounts(self) -> tuple[Account, ...]:
        """Every account, oldest first; raises as `account`."""
        return self._whole_state().accounts

    def history(self, dataset: str | None = None) -> tuple[Charge, ...]:
        """Every charge, or those on the cap that a data set shares with others of its people, in
        order of booking.
        """
        state = self._state()
        return (
            tuple(state.charges.values())
            if dataset is None
            else state.of_pool(state.pool(dataset).pool_id)
        )

    def find(self, request_id: str) -> Charge | None:
        """The charge of a request, None if it was never booked."""
        state = self._state()
        known = state.by_request.get(request_id.strip())
        return None if known is None else state.charges[known]

    def proposals(self) -> tuple[Proposal, ...]:
        """Every proposal with what became of it, in order."""
        return tuple(self._state().proposals.by_id.values())

    def proposal_of(self, request_id: str) -> Proposal | None:
        """The newest proposal of a request, None if there is none."""
        return self._state().proposals.of(request_id.strip())

    def rotate_key(self, *, person: str, new_key_path: Path | None = None) -> PublicKey:
        """Return the public key of a new key that signs from here on; the one that did until now
        agrees, and is of no use for what follows.

        Args:
            person: who does this.
            new_key_path: a new file for the new key; default one named by its public key in the
                folder of keys.

        Raises:
            LedgerError: where the present key is missing: nobody else can name the next one.
        """
        person = one_line(person, name="person")
        path = None if new_key_path is None else Path(os.path.abspath(new_key_path))
        if path is None and self._keys.named is not None:
            raise LedgerRuleError("new_key_unnamed", path=self._keys.named)
        if path is not None and os.path.lexists(path):
            raise LedgerRuleError("new_key_in_the_way", path=path)
        with self._writing() as transaction:
            if transaction.last is None:
                raise LedgerRuleError("no_key_yet")
            made = new_key()
            path = path or self._keys.file_of(made.key_id)
            write_key(path, made, None)  # on the disk before anything is signed with it
            transaction.give_place(made, person)
        with suppress(LedgerError), self._writing():
            pass  # which notes where the new key signs
        return made.public

    def adopt(self) -> str:
        """Return the head, after the `.head` file that was not beside the ledger is written: what
        is in the ledger now counts as all that was ever booked in it. Once more changes nothing.

        Privacy:
            Charges that are missing now are forgotten, and their people would be charged too
            little: hold the ledger against every record first.

        Raises:
            LedgerError: where an entry does not hold, or there is a `.head` file that the ledger
                does not hold.
        """
        with self._writing(adopts=True) as transaction:
            head = NO_HEAD if transaction.last is None else transaction.last.head
            self._anchor.adopt(head)
        return head

    def entries(self) -> tuple[Entry, ...]:
        """Every line as it stands in the file; its seals are not checked."""
        with self._database.reading() as connection:
            return () if connection is None else read_entries(connection)

    def head(self) -> str:
        """The end of the ledger in one word, for a record to carry away: number, key and seal of
        the last entry.
        """
        entries = self.entries()
        return entries[-1].head if entries else NO_HEAD

    def booking_head(self, charge_id: int) -> str | None:
        """The head right after a charge was booked, as its record carries it; None if there is no
        such charge.
        """
        found = [e for e in self.entries() if (e.kind, e.sequence) == ("booked", charge_id)]
        return found[0].head if found else None

    def signing_key(self) -> SigningKey:
        """The key that signs what follows; it is to be shown to nobody.

        Raises:
            LedgerError: if it is not there, or not for this ledger, or there is no entry yet.
        """
        entries = self.entries()
        if not entries:
            raise LedgerRuleError("no_key_yet")
        place, found = entries[-1].sequence, entries[-1].key_id
        key = read_key(self._keys.file_of(found))
        if key.key_id != found:
            problem = Finding("entry_of_another_key", entry=place, found=found, wanted=key.key_id)
            raise LedgerDamagedError("not_trusted", problem=problem)
        return key

    def verify(
        self, against: Sequence[RecordedHead] = (), *, public_key: PublicKey | None = None
    ) -> Verification:
        """Return whether every entry is as it was written and in its place, and every record as it
        was released.

        Finds edits, deletions, insertions and changes of order by anyone without the key, a cut end
        as far as records reach, and records that were edited. `docs/operations.md` says what it
        cannot find. No secret is read.

        Args:
            against: what records carry.
            public_key: that the entries have to be signed by; None takes the one that the ledger
                names itself, which whoever wrote the whole ledger anew would have named, too.
        """
        problems: list[Finding | LedgerDamagedError] = []
        entries: tuple[Entry, ...] = ()
        if self._database.is_begun and not self._anchor.is_there:
            problems.append(Finding("no_anchor", path=self._anchor.path))
        anchored: LedgerDamagedError | RecordedHead
        try:
            anchored = self._anchor.told()  # before the entries: others may be booking
        except LedgerDamagedError as error:
            anchored = without_frames(error)
        try:
            with self._database.reading() as connection:
                if connection is not None:
                    problems += changed_guards(connection)
                    entries = read_entries(connection)
        except LedgerDamagedError as error:
            problems.append(without_frames(error))
        lost = [missing_head(entries, record) for record in against]
        problems += filter(None, lost)
        if isinstance(anchored, LedgerDamagedError):
            problems.append(anchored)
        else:
            problems += filter(None, [missing_head(entries, anchored)])
        strange = [
            unknown_result(entries, record)
            for record, gone in zip(against, lost, strict=True)
            if not gone
        ]
        own = last_key(entries)
        if public_key is not None and own != public_key:
            problems.append(_another_key(entries, own, public_key))
        problems += filter(None, [broken_seal(entries)])
        try:
            LedgerState.of(entries)
        except LedgerDamagedError as error:
            problems.append(without_frames(error))
        return Verification(
            problems=tuple(problems),
            n_entries=len(entries),
            n_records=len(against),
            record_problems=tuple(filter(None, strange)),
            remarks=(*clock_remarks(entries), *self._orphaned_key(entries)),
            checked_with=_checked_with(own, public_key),
        )

    def _orphaned_key(self, entries: Sequence[Entry]) -> tuple[Finding, ...]:
        path = None if entries else self._keys.kept()
        return () if path is None else (Finding("key_without_entries", path=path),)

    def _state(self) -> LedgerState:
        return LedgerState.of(self.entries())

    def _whole_state(self) -> LedgerState:
        """The state of a ledger that has the end that was told of it."""
        is_begun = self._database.is_begun  # first: the anchor is there before the first byte
        told = self._anchor.told() if self._anchor.is_there else None  # others may be booking
        entries = self.entries()
        if is_begun and told is None:
            raise LedgerDamagedError("no_anchor", path=self._anchor.path)
        if told is not None and (lost := missing_head(entries, told)):
            raise LedgerDamagedError("not_trusted", problem=lost)
        return LedgerState.of(entries)

    def _end(self, charge_id: int, kind: Kind, *, is_drawn: bool = True, **what: str) -> Charge:
        with self._writing() as transaction:
            charge = transaction.charge(charge_id)
            if charge.state == kind and all(
                getattr(charge, name) == value for name, value in what.items()
            ):
                return charge
            if charge.state != "booked":
                raise LedgerRuleError("charge_has_ended", charge=charge_id, state=charge.state)
            if charge.draw == "begun" and not is_drawn:
                raise DrawBegunError("draw_begun", charge=charge_id)
            transaction.write(kind, at=charge.booked_at, charge=charge_id, **what)
            return transaction.state.charges[charge_id]

    @contextmanager
    def _writing(self, *, adopts: bool = False) -> Iterator[Transaction]:
        """The open end of the ledger after a check of every entry; what is written is committed at
        the end.
        """
        if self.read_only:
            raise LedgerRuleError("reading_only", path=self.path)
        with self._database.writing(self._begin) as connection:
            entries = read_entries(connection)
            if not self._anchor.is_there and not adopts:
                raise LedgerDamagedError("no_anchor", path=self._anchor.path)
            if lost := missing_head(entries, self._anchor.told()):
                raise LedgerDamagedError("not_trusted", problem=lost)
            last = entries[-1] if entries else None
            if last is None:
                self._begin()
            key = read_key(self._keys.file_of(last.key_id)) if last else self._keys.first()
            state = check_entries(entries, key.public)
            transaction = Transaction(connection, key, state, last, self._clock)
            self._keys.note(key)
            yield transaction
            if transaction.last is not None and transaction.last is not last:
                self._anchor.begin(transaction.last.head)
        if transaction.last is not None:
            self._anchor.settle(transaction.last.head)

    def _begin(self) -> None:
        """Write the anchor of a ledger without entries, unless it had some."""
        kept = self._keys.kept()  # first: another process that begins writes the anchor, then a key
        if self._anchor.is_there:
            lost = missing_head((), self._anchor.told())
            if lost and not self._database.is_begun:  # asked last: bytes come before what was told
                raise LedgerDamagedError("not_trusted", problem=lost)
            return
        if kept is not None and read_key(kept):
            raise LedgerDamagedError("key_without_ledger", path=kept)
        self._anchor.adopt(NO_HEAD)


def _place(given: Path | None, variable: str) -> Path | None:
    """The absolute path that was given or set, None if neither; an empty one is a mistake, not a
    default.
    """
    text = os.environ.get(variable) if given is None else os.fspath(given)
    if text is None:
        return None
    if not text.strip() or "\0" in text:
        raise LedgerRuleError("empty_path", variable=variable)
    return Path(os.path.abspath(os.path.expanduser(text)))


def _another_key(entries: Sequence[Entry], own: PublicKey | None, pinned: PublicKey) -> Finding:
    """That a ledger is not signed by the key that was given, or not any more."""
    if own is not None and pinned.text in {entry.public_key for entry in entries}:
        return Finding("pinned_key_replaced", found=own.text, wanted=pinned.text)
    found = "none" if own is None else own.text
    return Finding("pinned_key_differs", found=found, wanted=pinned.text)


def _checked_with(own: PublicKey | None, pinned: PublicKey | None) -> Finding | None:
    """Whose word the check rests on."""
    if own is None:
        return None
    return Finding("checked_with_named" if pinned is None else "checked_with_pinned", key=own.text)
