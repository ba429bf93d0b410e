"""The map of the page Plan at every kind of table has an answer, and none is an error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpci_core import DeclaredTable, Guesses, Persons
from tests.ui.test_pages import check, now, start, upload_rich
from ui.controls import declare
from ui.plan.job import memo_key, parts_of
from ui.session import compute
from ui.session.case import make_case
from ui.session.compute import DECLARED, PUBLIC, TableSource, packed_table
from ui.session.settings import Settings

EXAMPLE = replace(declare.example(), guesses=Guesses(n_rows=1_000))


pytestmark = pytest.mark.usefixtures("patient")


def described(table: DeclaredTable, **changes: object) -> Settings:
    return Settings(dataset=DECLARED, declared=packed_table(table), d=3, n=20_000, **changes)


def with_persons(most: int) -> DeclaredTable:
    return replace(EXAMPLE, schema=replace(EXAMPLE.schema, persons=Persons("who", most)))


KINDS = {
    "described": described(EXAMPLE, target="unpenalised"),
    "by bounds": described(
        replace(EXAMPLE, schema=replace(EXAMPLE.schema, standard=None)), target="unpenalised"
    ),
    "persons": described(with_persons(4), target="unpenalised"),
    "persons, in zCDP": described(
        with_persons(4), target="unpenalised", currency="approx", definitions=("zcdp",)
    ),
    "census without penalty": Settings(d=3, n=20_000, target="unpenalised"),
}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "described"])
def test_every_map_has_an_answer(kind):
    """Of a described table the next test draws it."""
    source = TableSource(PUBLIC)
    part = parts_of(make_case(KINDS[kind], source), source)["map"]
    assert part.find() is not None


def test_the_map_is_drawn_for_a_described_table_and_for_an_upload():
    app = start("plan", **KINDS["described"].to_query())
    assert_answered(app)
    said = "Drawn at each point for the least favourable table that was checked, at c"
    assert any(said in one.value for one in app.caption)
    app = start("plan", step="describe")
    upload_rich(app)
    app.button(key="describe_continue").click().run()
    app.session_state["linked"]["method"] = "own"
    app.button(key="step_choose").click().run()
    app.radio(key="is_standard").set_value(True).run()
    app.run()
    assert_answered(app)


def assert_answered(app) -> None:
    check(app)
    is_own = now(app).dataset == "upload"
    kept = dict((app.session_state["memo"] if is_own else compute.ANSWERS)._values)
    (why,) = {why for key, (_, why) in kept.items() if key[0] == "map"}
    assert why is None


def test_an_answer_is_kept_under_everything_that_it_tells():
    """What it holds of the settings reaches whoever is shown it, in another session too."""
    source = TableSource(PUBLIC)
    here = make_case(replace(KINDS["described"], goal="length", goal_on="age"), source)
    columns = here.settings.declared
    other = replace(here, settings=replace(here.settings, declared=f"{columns} of another person"))
    for kind, but in (
        ("budget", {"total"}),
        ("map", {"total", "n", "goal_length"}),
    ):
        assert memo_key(here, kind, but=but) != memo_key(other, kind, but=but)
    on_another = replace(here, settings=replace(here.settings, goal_on="smoker=yes"))
    assert parts_of(on_another, source)["map"].key != parts_of(here, source)["map"].key


def test_what_an_answer_does_not_rest_on_finds_it_again():
    source, settings = TableSource(PUBLIC), KINDS["described"]
    here, there = (make_case(now, source) for now in (settings, settings.swept("total", 3.0)))
    assert memo_key(here, "budget", but={"total"}) == memo_key(there, "budget", but={"total"})
    assert memo_key(here, "budget") != memo_key(there, "budget")
