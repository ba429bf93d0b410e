"""The worlds that a case has to hold in: twins of a described table, or the rows that are there. No
Streamlit."""

from __future__ import annotations

from typing import cast

from dpci_core import WorldMoments, simulate_twin, worlds_of
from dpci_core.planner.worlds import ONLY_WORLD, AnyMoments
from dpci_core.schema import Records, Schema, World
from ui.session.case import AnyCase, Case, NumberCase
from ui.session.compute import DECLARED, TableSource, declared_table, fit_target


def worlds_of_case(case: AnyCase, source: TableSource) -> tuple[WorldMoments, ...]:
    """The moments of every world, those of the case first; fits and rows are kept in the store."""
    given = source.store.given
    is_given = given is not None and given.moments is case.moments
    if case.settings.dataset != DECLARED or is_given:
        return (WorldMoments(ONLY_WORLD, case.moments),)
    tables = tables_of_case(case, source)
    return tuple(WorldMoments(said, _moments_in(case, source, of)) for said, of in tables.items())


def _moments_in(case: AnyCase, source: TableSource, records: Records) -> AnyMoments:
    """The moments of the world that has these planning rows."""
    if records is case.records:
        return cast(AnyMoments, case.moments)
    if isinstance(case, NumberCase):
        return case.plan.moments_of(records)
    assert isinstance(case, Case)
    return source.store.moments(
        records,
        case.design.loss,
        case.settings.c,
        fit_target(records, case.design),
        geometry=case.design.geometry,
    )


def tables_of_case(case: AnyCase, source: TableSource) -> dict[str, Records]:
    """The planning rows of every world by its assumption, those of the case first."""
    if case.settings.dataset != DECLARED:
        return {ONLY_WORLD: case.records}
    table = declared_table(case.settings.declared)
    first, *others = worlds_of(table.schema, table.guesses)
    drawn = {one.assumption: _records(table.schema, one, case, source) for one in others}
    return {first.assumption: case.records, **drawn}


def _records(schema: Schema, world: World, case: AnyCase, source: TableSource) -> Records:
    names = case.names[:-1]
    return source.store.records(
        (DECLARED, case.settings.declared, names, world.name),
        lambda: simulate_twin(schema, guesses=world.guesses, features=names),
    )
