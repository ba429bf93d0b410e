"""The worlds that a case has to hold in: twins of a described table, or the rows that are there. No
Streamlit."""

from __future__ import annotations

from dpci_core import WorldMoments, simulate_twin, worlds_of
from dpci_core.planner.worlds import ONLY_WORLD
from dpci_core.schema import Records, Schema, World
from ui.session.case import Case
from ui.session.compute import DECLARED, TableSource, declared_table, fit_target


def worlds_of_case(case: Case, source: TableSource) -> tuple[WorldMoments, ...]:
    """The moments of every world, those of the case first; fits are kept in the store."""
    given = source.store.given
    is_given = given is not None and given.moments is case.moments
    if case.settings.dataset != DECLARED or is_given:
        return (WorldMoments(ONLY_WORLD, case.moments),)
    table = declared_table(case.settings.declared)
    assumptions = [world.assumption for world in worlds_of(table.schema, table.guesses)]
    found = [WorldMoments(assumptions[0], case.moments)]
    others = zip(assumptions, tables_of_case(case, source), strict=True)
    for assumption, records in list(others)[1:]:
        moments = source.store.moments(
            records,
            case.design.loss,
            case.settings.c,
            fit_target(records, case.design),
            geometry=case.design.geometry,
        )
        found.append(WorldMoments(assumption, moments))
    return tuple(found)


def tables_of_case(case: Case, source: TableSource) -> tuple[Records, ...]:
    """The planning rows of every world, those of the case first."""
    if case.settings.dataset != DECLARED:
        return (case.records,)
    table = declared_table(case.settings.declared)
    others = worlds_of(table.schema, table.guesses)[1:]
    return (case.records, *(_records(table.schema, world, case, source) for world in others))


def _records(schema: Schema, world: World, case: Case, source: TableSource) -> Records:
    names = case.records.feature_names[:-1]
    return source.store.records(
        (DECLARED, case.settings.declared, names, world.name),
        lambda: simulate_twin(schema, guesses=world.guesses, features=names),
    )
