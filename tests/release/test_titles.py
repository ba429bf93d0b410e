"""What a plan takes as its title or unit, the ledger takes too, so that it can be released."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpci_core.ledger import Cap
from dpci_core.plan import DeclaredTable, as_yaml, read_plan
from dpci_core.release import load_release, report_html, schema_hash
from tests.base.test_text import LINES, NO_LINES
from tests.refusals import refuses
from tests.release_example import Desk, make_plan


@pytest.mark.parametrize("title", LINES.values(), ids=LINES)
def test_a_plan_with_such_a_title_and_unit_is_released(title: str, tmp_path: Path) -> None:
    plan = make_plan(title=title)
    assert isinstance(plan.source, DeclaredTable)
    plan = replace(plan, source=replace(plan.source, unit=title))
    desk = Desk.at(tmp_path, plan=read_plan(as_yaml(plan)))
    desk.ledger.create_dataset(
        f"Ward {title}",
        schema_hash=schema_hash(plan.schema),
        cap=Cap.pure(1),
        unit=title,
        person=title,
        other_people=True,
    )
    made = desk.release(dataset=f"Ward {title}", person=title)
    assert (made.title, made.unit, made.person) == (title, title, title)
    assert load_release(desk.folder / "out").to_json() == made.to_json()
    assert desk.ledger.history()[-1].purpose == title


@pytest.mark.parametrize("title", NO_LINES.values(), ids=NO_LINES)
def test_a_title_that_could_not_be_released_is_no_plan(title: str) -> None:
    with refuses(ValueError, match="Expected title to be"):
        make_plan(title=title)
    with refuses(ValueError, match="Expected unit to be"):
        DeclaredTable(schema=make_plan().schema, unit=title)


def test_the_report_names_who_approved_the_plan_as_it_was_typed(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path, plan=replace(make_plan(), approved="Approved by <b>Ada</b> & others."))
    made = desk.release()
    assert "Approved by &lt;b&gt;Ada&lt;/b&gt; &amp; others." in report_html(made)
    assert load_release(desk.folder / "out").approved == made.approved == desk.plan.approved
    assert "approved" not in replace(made, approved="").to_dict()
