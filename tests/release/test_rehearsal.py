"""A rehearsal is the plan's own release on made-up rows: free, seeded, and out of reach of anything
private.
"""

from __future__ import annotations

import builtins
import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpci_core.__main__ import main
from dpci_core.intervals.draw import rehearse_draw
from dpci_core.ledger import Ledger
from dpci_core.plan import Plan, as_yaml
from dpci_core.privacy.randomness import SystemSource
from dpci_core.release import rehearse
from dpci_core.release.effects import effect_table
from dpci_core.release.rehearsal import FREE, LARGEST_TABLE, rehearsed
from dpci_core.schema import Persons
from tests.refusals import refuses
from tests.release.test_standard import PLAN
from tests.release_example import Desk, make_plan


def test_it_opens_nothing_books_nothing_and_draws_no_entropy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk.at(tmp_path)
    plan = replace(desk.plan, title="Warm")
    rehearse(plan, times=1)  # what is loaded late is loaded

    def forbidden(*args: object, **other: object) -> object:
        raise AssertionError(f"a rehearsal asked for {args!r}")

    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    drawing = ("permutation", "below", "spherical_laplace", "gaussian", "add_spherical_laplace")
    with monkeypatch.context() as patched:
        for place, name in (
            (builtins, "open"),
            (os, "open"),
            (os, "urandom"),
            (sqlite3, "connect"),
            (Path, "open"),
            (Ledger, "__init__"),
            *((SystemSource, name) for name in drawing),
        ):
            patched.setattr(place, name, forbidden)
        found = rehearse(desk.plan, times=2)
    assert len(found.tables) == 2
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert desk.ledger.history() == ()
    assert desk.spent == "0"


def test_the_same_plan_has_the_same_rehearsal_and_its_draws_differ() -> None:
    one, again = (rehearse(make_plan(), times=3) for _ in range(2))
    assert one.tables == again.tables
    assert len({table.rows for table in one.tables}) == 3


def test_only_a_seeded_generator_rehearses() -> None:
    with refuses(ValueError, match="Generator"):
        rehearse_draw(np.zeros((5, 2)), design=make_plan().design, rng=SystemSource())  # type: ignore[arg-type]


def test_it_has_the_size_the_lengths_and_the_marks_of_a_release(tmp_path: Path) -> None:
    numbers = PLAN.numbers()
    made = list(rehearsed(PLAN, numbers, times=8))
    assert all(one.seconds > 0 for one in made)
    for place, row in enumerate(effect_table(made[0]).rows):
        lengths = [one.coefficients[place].scaled.length for one in made]
        assert np.mean(lengths) == pytest.approx(numbers.scaled.ci_length[place], rel=0.15)
        assert bool(row.reason) or not numbers.is_not_reportable[place]
    bold = replace(PLAN, design=replace(PLAN.design, n_records=PLAN.n_records * 4))
    (large,) = rehearsed(bold, bold.numbers(), times=1)
    shorter = large.coefficients[0].scaled.length / made[0].coefficients[0].scaled.length
    assert shorter < 0.65  # a half by sampling, less by noise


def test_intervals_lie_around_the_made_up_effects() -> None:
    found = rehearse(PLAN, times=20)
    assert found.truth is not None
    assert found.truth[0] == pytest.approx(10 * 0.02, abs=0.05)  # as guessed, per 10
    inside = [
        row.interval[1] <= truth <= row.interval[2]
        for table in found.tables
        for row, truth in zip(table.rows, found.truth, strict=True)
        if row.interval is not None and not row.reason
    ]
    assert np.mean(inside) > 0.85
    assert f"{sum(inside)} of {len(inside)} intervals cover the made-up effect" in " ".join(
        found.findings()
    )


def test_what_fails_is_counted_and_named() -> None:
    found = rehearse(PLAN, times=4)
    lost = tuple(
        replace(table, rows=(replace(table.rows[0], reason="why"), *table.rows[1:]))
        for table in found.tables[:3]
    )
    some = replace(found, tables=(*lost, found.tables[3]))
    assert some.lost_times(0) == found.lost_times(0) + 3
    assert "pressure: not reportable in 3 of 4." in some.findings()
    assert "not reportable: why" in some.html()


def test_the_page_says_that_it_is_made_up(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    page = rehearse(PLAN, times=2).html()
    assert FREE in page
    assert page.count("<svg") == 1
    (tmp_path / "plan.yaml").write_text(as_yaml(PLAN))
    place = tmp_path / "page.html"
    assert main(["plan", "rehearse", str(tmp_path / "plan.yaml"), "-o", str(place)]) == 0
    assert FREE in capsys.readouterr().out
    assert "This plan was carried out 10 times" in place.read_text()


def test_persons_and_the_limit_of_memory() -> None:
    table = make_plan().source
    many = replace(table, schema=replace(table.schema, persons=Persons("who", 3)))  # type: ignore[type-var]
    plan = Plan(title="P", source=many, design=make_plan().design, delta="1e-6")  # type: ignore[arg-type]
    assert len(rehearse(plan, times=1).tables) == 1
    huge = replace(plan, design=replace(plan.design, n_records=LARGEST_TABLE))
    with refuses(ValueError, match="to rehearse with"):
        next(rehearsed(huge, huge.numbers()))
    with refuses(ValueError, match="times"):
        rehearse(plan, times=0)
