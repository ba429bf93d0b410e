"""The look before a charge: how many cells of each used column fit the plan, in coarse words.

It is for whoever is about to release, alone. docs/proofs/release.md#records says what it does to
the guarantee. Nothing of it is written, and no message holds a cell or a count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal, get_args

import numpy as np

from dpci_core.base.batch import BatchError
from dpci_core.base.batches import Engine, Place, added
from dpci_core.base.errors import DataRejectedError, Finding
from dpci_core.datasets.folder import ParquetBatch, folder_batches
from dpci_core.plan import AnyPlan
from dpci_core.planner.promise import MORE_INCOMPLETE
from dpci_core.release.table import REPLACED, Header, cell_blocks_of
from dpci_core.report.words import percent
from dpci_core.schema import RecordMapper
from dpci_core.schema.mapping import Cells, Fits

NEARLY_ALL = 0.95
"""Share of the cells of a column."""
_BEYOND_LIMITS = ("unpacking_too_large", "unpacking_too_slow")
"""Of a Parquet file that a release may still read: no reason to refuse it."""
Acceptable = Literal["yes_absent", "no_absent", "many_incomplete"]
"""Codes of what a look finds and a steward may accept, each by itself."""
ACCEPTABLE: tuple[Acceptable, ...] = get_args(Acceptable)
CODES_ONLY = (
    "Put right codes, spellings, the unit or the decimal comma, and nothing else: bounds, levels, "
    "a model or a budget that follow the table are not covered by the guarantee."
)
"""Stands with every look."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a steward may know of a table that she may see anyway, before she spends on it.

    columns: each used column with how many of its cells fit: "all", "nearly all", "between half
    and 95 %", "less than half" or "none".
    unfit: those of which so few fit that a release refuses.
    asks: everything that somebody has to accept first, by `ACCEPTABLE` codes: declared codes of a
    side of the outcome that no cell has, and more incomplete records than the plan declares, by
    some points.
    hints: what may be the reason of it, and stops nothing: cells of a CSV file that are no text in
    its encoding.
    """

    columns: tuple[tuple[str, str], ...]
    unfit: tuple[str, ...]
    asks: tuple[Finding, ...]
    hints: tuple[Finding, ...]


def largest_unfit(plan: AnyPlan) -> float:
    """Return the share of a column's cells beyond which a release refuses, a public number."""
    return max(0.5, 1.0 - plan.schema.complete)


def look_at(plan: AnyPlan, header: Header, *, engine: Engine | None = None) -> Look | None:
    """Return the look at a private table; None where it cannot be unpacked, which is no reason to
    refuse it.

    Args:
        plan: what would be released.
        header: of the table.
        engine: where the batches of a folder are read.

    Privacy: none. For the eyes of somebody who may see the table, before anything is booked.
    Raises:  TableError for a CSV file that changed; DataRejectedError without a cause for whatever
             else goes wrong, since what Python says of an error may hold a cell.
    """
    try:
        return _look_at(plan, header, engine)
    except BatchError:
        raise
    except BaseException as error:
        kind = type(error)
    if issubclass(kind, KeyboardInterrupt | SystemExit):
        raise kind
    raise DataRejectedError("look_broken_off", problem=kind.__name__)


def _look_at(plan: AnyPlan, header: Header, engine: Engine | None) -> Look | None:
    mapper, garbled = RecordMapper(plan.schema, plan.features), set[str]()
    try:
        if header.kind == "folder":
            batches = folder_batches(
                header.parts, plan.schema, features=plan.features, engine=engine
            )
            found = batches.total(_fits_of_batch)
        else:
            blocks = cell_blocks_of(header, mapper.needed, mapper.numbers)
            found = _sum(mapper, _noting(blocks, garbled))
    except BatchError as error:
        if error.code not in _BEYOND_LIMITS:
            raise
        return None
    names = tuple(name for name in mapper.needed if name in garbled and header.kind == "csv")
    hints = (Finding("another_encoding", names=", ".join(map(repr, names))),) if names else ()
    return _in_words(plan, mapper.needed, found, hints)


def _noting(
    blocks: Iterable[Mapping[str, Cells]], garbled: set[str]
) -> Iterator[Mapping[str, Cells]]:
    """The same blocks; the columns with bytes that are no text are added to `garbled`."""
    for block in blocks:
        garbled.update(
            name
            for name, cells in block.items()
            if name not in garbled
            and any(REPLACED in cell for cell in cells if isinstance(cell, str))
        )
        yield block


def _fits_of_batch(place: Place) -> Any:
    """Sums of a batch of a folder, where it is read."""
    batch = place.batch
    assert isinstance(batch, ParquetBatch)
    mapper = RecordMapper(batch.schema, batch.features)
    return _sum(mapper, batch.cells(mapper))


def _sum(mapper: RecordMapper, blocks: Iterable[Any]) -> Any:
    """Cells that fit by column, complete records, records."""
    nothing = np.zeros(len(mapper.needed) + 4, dtype=np.int64)
    return reduce(added, map(mapper.fits, blocks), nothing)


def _in_words(
    plan: AnyPlan, names: tuple[str, ...], found: Fits, hints: tuple[Finding, ...]
) -> Look:
    *fitting, n_yes, n_no, n_complete, n = (int(count) for count in found)
    least = (1.0 - largest_unfit(plan)) * n
    return Look(
        columns=tuple((name, _word(k, n)) for name, k in zip(names, fitting, strict=True)),
        unfit=tuple(name for name, k in zip(names, fitting, strict=True) if k < least),
        asks=tuple(_asks(plan, n_yes, n_no, n_complete, n)),
        hints=hints,
    )


def _asks(plan: AnyPlan, n_yes: int, n_no: int, n_complete: int, n: int) -> Iterator[Finding]:
    schema = plan.schema
    if schema.outcome is None and n_yes == 0:
        yield Finding("yes_absent", codes=repr(schema.positive))
    if schema.outcome is None and n_no == 0:
        yield Finding("no_absent", codes=", ".join(map(repr, schema.negative)))
    if n_complete < (schema.complete - MORE_INCOMPLETE) * n:
        so = (
            f"the plan counts on {plan.usable:,} complete ones only, and no fewer are there"
            # Not from `usable` on: with a smaller share complete, c moves the same records more.
            if n_complete >= plan.fewest and plan.persons is None  # rows are counted, not persons
            else "intervals will be longer than planned, and effects may be lost"
        )
        yield Finding("many_incomplete", complete=percent(schema.complete), so=so)


def _word(k: int, n: int) -> str:
    """How many k of n are."""
    if k in (0, n):
        return "all" if k else "none"
    if k >= NEARLY_ALL * n:
        return "nearly all"
    return "between half and 95 %" if 2 * k >= n else "less than half"
