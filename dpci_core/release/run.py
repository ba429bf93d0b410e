"""The release of a plan: its model with intervals, by the one protocol of `release.once`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batches import Engine, RecordBatches, Table, as_table
from dpci_core.base.engines import try_engine
from dpci_core.base.persons import Numbers, check_numbers
from dpci_core.base.rows import PersonRows, WeightedRows, beside
from dpci_core.base.validation import check_rows
from dpci_core.datasets.folder import folder_batches
from dpci_core.intervals.certified import check_feasible
from dpci_core.intervals.draw import Drawn, draw_release
from dpci_core.ledger import Charge, Cost, Ledger
from dpci_core.plan import AnyPlan, LinearPlan, Plan
from dpci_core.plan.approval import is_of_another
from dpci_core.plan.base import Planned
from dpci_core.privacy.randomness import SystemSource
from dpci_core.regression.fit import linear_fit
from dpci_core.release import once
from dpci_core.release.content import (
    Price,
    files_of,
    make_linear_record,
    make_record,
    schema_hash,
)
from dpci_core.release.linear import LinearRelease
from dpci_core.release.look import Acceptable, Look, look_at
from dpci_core.release.once import (
    Made_co,
    ReleaseRefusedError,
    ReleaseTask,
    check_header,
    check_reachable,
)
from dpci_core.release.reading import load_release
from dpci_core.release.record import RECORD_NAME, AnyRelease, Release
from dpci_core.release.table import Header, TableFile, TextEncoding, read_persons, read_records
from dpci_core.schema import MappingNote, RecordMapper


def price_of(plan: AnyPlan, *, allow_unreviewed: bool = False) -> Price[Any]:
    """Return the price of a plan after every check that needs no file.

    Raises:  ReleaseRefusedError, InfeasibleDesignError: nothing was spent.
    """
    if is_of_another(plan.approved, plan.digest):
        raise ReleaseRefusedError(
            "approved_another_plan", approved=plan.approved, digest=plan.digest[:12]
        )
    if plan.design.status and not allow_unreviewed:
        raise ReleaseRefusedError("not_reviewed", status=plan.design.status)
    plan.check_can_run(plan.n_records)
    check_reachable(plan.schema)
    if plan.schema.outcome is None and not plan.schema.negative:
        raise ReleaseRefusedError("codes_not_declared", target=plan.schema.target)
    budget = plan.design.budget
    return Price(
        cost=Cost(definition=budget.definition, amount=budget.total, lines=plan.lines),
        schema_hash=schema_hash(plan.schema),
        numbers=_numbers(plan),
    )


@lru_cache(maxsize=4)
def _numbers(plan: AnyPlan) -> Planned:
    """What a plan promises, of public numbers: a check, the release and its repetition ask."""
    return plan.numbers()


@dataclass(frozen=True, kw_only=True)
class ModelTask(ReleaseTask[Made_co]):
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
    def priced(self) -> Price[Any]:
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
        self.plan.check_can_run(n_records)


@dataclass(frozen=True, kw_only=True)
class PlanRelease(ModelTask[Release]):
    """That of a penalised model."""

    plan: Plan

    def answer(
        self, header: Header, charge: Charge, begin: Callable[[], None]
    ) -> tuple[Release, dict[str, str]]:
        drawn, note = _draw(self.plan, header, self.engine, begin)
        once.reached("drawn")
        made = make_record(self.plan, drawn, self.priced, charge)
        return replace(made, note=note), files_of(made, self.plan)

    @classmethod
    def load(cls, folder: Path) -> Release:
        return _of_kind(load_release(folder), Release)


@dataclass(frozen=True, kw_only=True)
class LinearPlanRelease(ModelTask[LinearRelease]):
    """That of a linear regression: the clipped steps of `DPLinearRegression`, with noise of the
    operating system.
    """

    plan: LinearPlan

    def answer(
        self, header: Header, charge: Charge, begin: Callable[[], None]
    ) -> tuple[LinearRelease, dict[str, str]]:
        plan, note = self.plan, None
        if header.kind == "folder" and plan.persons is None:
            rows: Table = _batches(plan, header, self.engine).in_memory()
        else:
            rows, note = _outcomes(plan, header)
        once.reached("read")
        design = replace(plan.design, n_records=len(rows))
        begin()
        fit = linear_fit(rows, design=design, source=SystemSource())
        once.reached("drawn")
        made = make_linear_record(plan, fit, self.priced, charge)
        return replace(made, note=note), files_of(made, plan)

    @classmethod
    def load(cls, folder: Path) -> LinearRelease:
        return _of_kind(load_release(folder), LinearRelease)


def _outcomes(plan: LinearPlan, header: Header) -> tuple[Table, MappingNote]:
    """The rows [t, x] of records, or of persons."""
    mapper, numbers = RecordMapper(plan.schema, plan.features), None
    if plan.persons is None:
        X, t, note = read_records(header, mapper)
    else:
        X, t, numbers, note = read_persons(header, mapper, plan.persons)
    check_rows(X, np.ones(len(X)))
    rows = beside(t, X)
    if numbers is not None:
        check_numbers(numbers, n_rows=len(rows))
        rows = PersonRows.of(rows, numbers, most=plan.design.rows_per_person)
    return as_table(rows), note


_Made = TypeVar("_Made", bound=AnyRelease)


def _of_kind(made: AnyRelease, kind: type[_Made]) -> _Made:
    if not isinstance(made, kind):
        raise ValueError("Expected the release of another model.")
    return made


def task_of(
    plan: AnyPlan, *, allow_unreviewed: bool = False, engine: Engine | None = None
) -> ModelTask[Any]:
    """Return the question that a plan is made for."""
    kinds: dict[type, type[ModelTask[Any]]] = {Plan: PlanRelease, LinearPlan: LinearPlanRelease}
    return kinds[type(plan)](plan=plan, allow_unreviewed=allow_unreviewed, engine=engine)


def release(
    plan: AnyPlan,
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
) -> Any:
    """Release the model of a plan from a private file or folder of Parquet files, once, and return
    what was written to `folder`.

    Args:    allow_unreviewed: allow Gaussian objective perturbation.  engine: where the batches of
             a folder are read.  The others as for `release_once`, which also says what is raised.
    Privacy: the price of the plan in its own definition; replace-one neighbours, the number of rows
             is public.
    """
    return once.release_once(
        task_of(plan, allow_unreviewed=allow_unreviewed, engine=engine),
        file,
        ledger=ledger,
        dataset=dataset,
        person=person,
        request_id=request_id,
        folder=folder,
        encoding=encoding,
        accept=accept,
    )


def check_table(
    plan: AnyPlan, file: TableFile | str, *, encoding: TextEncoding = "utf-8"
) -> Header:
    """Return the header of a private table that a plan can be released from (`check_header`)."""
    return check_header(task_of(plan), file, encoding=encoding)


def _batches(plan: AnyPlan, header: Header, engine: Engine | None) -> RecordBatches:
    return folder_batches(header.parts, plan.schema, features=plan.features, engine=engine)


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
        batches = _batches(plan, header, engine)
        once.reached("read")
        begin()
        return draw(batches), None
    X, y, note = read_records(header, mapper)
    once.reached("read")
    check_feasible(replace(plan.design, n_records=len(X)), dim=X.shape[1])
    begin()
    return draw(X, y), note
