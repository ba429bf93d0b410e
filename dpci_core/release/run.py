"""The release of a plan: its model with intervals, by the one protocol of `release.once`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from dpci_core.base.array import Array
from dpci_core.base.batches import Engine, RecordBatches
from dpci_core.base.engines import try_engine
from dpci_core.base.persons import Numbers
from dpci_core.base.rows import WeightedRows
from dpci_core.datasets.folder import folder_batches
from dpci_core.intervals.certified import check_feasible
from dpci_core.intervals.draw import Drawn, draw_release
from dpci_core.ledger import Charge, Cost, Ledger
from dpci_core.mechanisms.shares import ReleaseParts, share_out
from dpci_core.plan import Plan, PlanNumbers
from dpci_core.release import once
from dpci_core.release.content import Price, files_of, make_record, schema_hash
from dpci_core.release.look import Acceptable, Look, look_at
from dpci_core.release.once import ReleaseRefusedError, ReleaseTask, check_header, check_reachable
from dpci_core.release.reading import load_release
from dpci_core.release.record import RECORD_NAME, Release
from dpci_core.release.table import Header, TableFile, TextEncoding, read_persons, read_records
from dpci_core.schema import MappingNote, RecordMapper


def price_of(plan: Plan, *, allow_unreviewed: bool = False) -> Price:
    """Return the price of a plan after every check that needs no file.

    Raises:  ReleaseRefusedError, InfeasibleDesignError: nothing was spent.
    """
    if plan.design.status and not allow_unreviewed:
        raise ReleaseRefusedError("not_reviewed", status=plan.design.status)
    check_feasible(plan.design, dim=len(plan.names))
    check_reachable(plan.schema)
    if not plan.schema.negative:
        raise ReleaseRefusedError("codes_not_declared", target=plan.schema.target)
    return Price(
        cost=_cost(share_out(plan.design)),
        schema_hash=schema_hash(plan.schema),
        numbers=_numbers(plan),
    )


@lru_cache(maxsize=4)
def _numbers(plan: Plan) -> PlanNumbers:
    """What a plan promises, of public numbers: a check, the release and its repetition ask."""
    return plan.numbers()


def _cost(shares: ReleaseParts) -> Cost:
    planned = shares.planned
    return Cost(definition=planned.definition, amount=planned.budget.total, lines=shares.lines)


@dataclass(frozen=True, kw_only=True)
class PlanRelease(ReleaseTask[Release]):
    """The question a plan is made for.

    allow_unreviewed: allow Gaussian objective perturbation.
    engine: where the batches of a folder are read.
    """

    allow_unreviewed: bool = False
    engine: Engine | None = None
    record_name = RECORD_NAME
    takes_persons = True

    @property
    def title(self) -> str:
        return self.plan.title

    @property
    def digest(self) -> str:
        return self.plan.digest

    @property
    def needed(self) -> tuple[str, ...]:
        whose = () if self.plan.persons is None else (self.plan.persons.column,)
        return *RecordMapper(self.plan.schema, self.plan.features).needed, *whose

    @cached_property
    def priced(self) -> Price:
        """`price_of` the plan; before anything is booked."""
        return price_of(self.plan, allow_unreviewed=self.allow_unreviewed)

    def price(self) -> Cost:
        if self.engine is not None:
            try:
                try_engine(self.engine)
            except Exception as error:
                raise ReleaseRefusedError("engine_broken", problem=type(error).__name__) from None
        return self.priced.cost

    def look(self, header: Header) -> Look | None:
        return look_at(self.plan, header, engine=self.engine)

    def check_size(self, n_records: int) -> None:
        check_feasible(replace(self.plan.design, n_records=n_records), dim=len(self.plan.names))

    def answer(
        self, header: Header, charge: Charge, begin: Callable[[], None]
    ) -> tuple[Release, dict[str, str]]:
        drawn, note = _draw(self.plan, header, self.engine, begin)
        once.reached("drawn")
        made = make_record(self.plan, drawn, self.priced, charge)
        return replace(made, note=note), files_of(made, self.plan)

    @classmethod
    def load(cls, folder: Path) -> Release:
        return load_release(folder)


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
    engine: Engine | None = None,
    accept: Collection[Acceptable] = (),
) -> Release:
    """Release the model of a plan from a private file or folder of Parquet files, once, and return
    what was written to `folder`.

    Args:    allow_unreviewed: allow Gaussian objective perturbation.  engine: where the batches of
             a folder are read.  The others as for `release_once`, which also says what is raised.
    Privacy: the price of the plan in its own definition; replace-one neighbours, the number of rows
             is public.
    """
    return once.release_once(
        PlanRelease(plan=plan, allow_unreviewed=allow_unreviewed, engine=engine),
        file,
        ledger=ledger,
        dataset=dataset,
        person=person,
        request_id=request_id,
        folder=folder,
        encoding=encoding,
        accept=accept,
    )


def check_table(plan: Plan, file: TableFile | str, *, encoding: TextEncoding = "utf-8") -> Header:
    """Return the header of a private table that a plan can be released from (`check_header`)."""
    return check_header(PlanRelease(plan=plan), file, encoding=encoding)


def _draw(
    plan: Plan, header: Header, engine: Engine | None, begin: Callable[[], None]
) -> tuple[Drawn, MappingNote | None]:
    """The records exist in here only; those of a folder as batches, whose cells nobody counts,
    unless rows of a person may lie in two of them.
    """
    mapper = RecordMapper(plan.schema, plan.features)
    to_original, basis = mapper.to_original, mapper.basis

    def draw(
        X: Array | WeightedRows | RecordBatches,
        y: Array | None = None,
        persons: Numbers | None = None,
    ) -> Drawn:
        return draw_release(
            X,
            y,
            design=plan.design,
            to_original=to_original,
            basis=basis,
            constant=mapper.constant,
            persons=persons,
        )

    if plan.persons is not None:
        X, y, numbers, note = read_persons(header, mapper, plan.persons)
        once.reached("read")
        begin()
        return draw(X, y, persons=numbers), note
    if header.kind == "folder":
        batches = folder_batches(header.parts, plan.schema, features=plan.features, engine=engine)
        once.reached("read")
        begin()
        return draw(batches), None
    X, y, note = read_records(header, mapper)
    once.reached("read")
    check_feasible(replace(plan.design, n_records=len(X)), dim=X.shape[1])
    begin()
    return draw(X, y), note
