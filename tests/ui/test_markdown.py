"""Names out of files, plans and the ledger are shown letter by letter: on no page does a link, an
emphasis, a formula or a little picture come out of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from dpci_core import DeclaredTable, Design, Guesses, Logistic, Plan, PureDP
from dpci_core.ledger import Cap, Ledger
from dpci_core.release import schema_hash
from dpci_core.schema import CategoricalColumn, NumericColumn, Schema
from tests.ui.release.test_approved import approved, go
from tests.ui.release.test_page import button, desk, with_file  # noqa: F401 - a fixture
from tests.ui.test_pages import start
from ui.session.text import code, plain

EVIL = "[click](http://evil.example) www.evil.example eve@evil.example :smile: -> $x$ *i* `"
SHORT = "[s](http://evil.example) *i*"
"""Where a name has few characters."""

AWAKE = re.compile(
    r"(?<!\\)\[(click|s)\]|://evil|www\\?\.evil|@evil|:smile\\?:|(^|\s)\\?-\\?>(\s|$)"
    r"|(?<!\\)\$x|(?<!\\)\*i|(?<!\\)<b>",
    re.MULTILINE,
)
"""What Markdown, or Streamlit after it, would make something of."""
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_READ_AS_MARKDOWN = {"body", "label", "help", "caption", "captions", "tooltip"}
_LETTER_BY_LETTER = {"html", "code", "text", "text_input", "text_area", "plotly_chart"}
"""Elements of which nothing, or only the label, is read as Markdown."""
_OPTIONS_TOO = {"radio", "button_group"}


def markdown_of(message: Message, kind: str = "") -> Iterator[tuple[str, str]]:
    """Every text of an element that the browser reads as Markdown, with where it stands."""
    for field, value in message.ListFields():
        many = value if isinstance(value, list) or hasattr(value, "append") else [value]
        is_read = field.name in _READ_AS_MARKDOWN and not (
            kind in _LETTER_BY_LETTER and field.name == "body"
        )
        for one in many:
            if isinstance(one, Message):
                yield from markdown_of(one, kind or field.name)
            elif isinstance(one, str) and (
                is_read or (kind in _OPTIONS_TOO and field.name in ("options", "content"))
            ):
                yield f"{kind}.{field.name}", one


def awake(app: AppTest) -> list[str]:
    """Texts of a page in which a hostile name has an effect."""
    found = []

    def walk(node: Any) -> None:
        proto = getattr(node, "proto", None)
        if isinstance(proto, Message):
            for where, text in markdown_of(proto, getattr(node, "type", "")):
                if AWAKE.search(_CODE.sub("", text)):
                    found.append(f"{getattr(node, 'key', '')} {where}: {text[:300]}")
        for child in getattr(node, "children", {}).values():
            walk(child)

    walk(app._tree)
    return found


def hostile_plan(n_records: int = 1000) -> Plan:
    schema = Schema(
        (
            NumericColumn(EVIL, 0, 100, typical=50.0, spread=20.0, units=SHORT),
            CategoricalColumn(f"c {EVIL}", ("a", EVIL)),
        ),
        f"t {EVIL}",
        EVIL,
        negative=("no",),
    )
    return Plan(
        title=EVIL,
        source=DeclaredTable(schema=schema, guesses=Guesses(n_rows=500), unit=f"unit {EVIL}"),
        design=Design(
            loss=Logistic(),
            mechanism="output",
            budget=PureDP(model="5", hessian="2.5", covariance="2.5"),
            regularization=0.05,
            n_records=n_records,
        ),
        delta="1e-6",
        notes=f"{EVIL}\n\n# H",
    )


@pytest.fixture
def ledger(desk):  # noqa: F811 - the fixture
    """With a budget for the plan, one for others, a proposal, and hostile names of everything."""
    made = Ledger(desk / "ledger.sqlite")
    plan = hostile_plan()
    said = {"unit": plan.source.unit, "person": EVIL, "cap": Cap.pure("50")}
    made.create_dataset(EVIL, schema_hash=schema_hash(plan.schema), **said)
    made.create_dataset(f"2 {EVIL}", schema_hash="other", other_people=True, **said)
    return made


def test_of_a_hostile_name_nothing_takes_effect():
    for text in (EVIL, SHORT, "->", "1. x", "http://a.b", "WWW.a.b", "a@b.c", "a <-> b", "x -- y"):
        assert not AWAKE.search(plain(text))
        assert plain(text).replace(":small[]", "").replace("\\", "") == text
        assert plain(text).isprintable()  # nothing unseen would be copied with it
    assert AWAKE.search(EVIL)
    assert not AWAKE.search(_CODE.sub("", code(EVIL)))
    assert plain("age 0.5, 12:30; a@ b") == "age 0.5, 12\\:30; a@ b"


@pytest.mark.parametrize("page", ["plan", "explore", "release", "ledger", "evidence"])
@pytest.mark.parametrize("n_records", [100, 1000, 1_000_000])
def test_no_page_makes_anything_of_a_name(page, n_records, ledger):
    """Whether a forecast is good, rough or of no use."""
    app = start(page, **hostile_plan(n_records).to_query())
    assert awake(app) == []
    for choice in app.selectbox:
        if choice.key == "release_account":
            choice.select_index(0).run()
            assert awake(app) == []


@pytest.mark.parametrize("step", ["describe", "goal", "choose", "approve"])
def test_no_step_of_the_plan_does(step, ledger):
    app = start("plan", **hostile_plan().to_query())
    steps = [b for b in app.button if b.key and b.key == f"step_{step}"]
    for move in steps[:1]:
        move.click().run()
    assert not app.exception
    assert awake(app) == []


def test_neither_do_a_release_and_its_result(ledger):
    app = approved(go(start("release", **hostile_plan().to_query()), "plan", "approve"))
    app.selectbox(key="release_account").select_index(0).run()
    table = pd.DataFrame(
        {
            EVIL: [50.0] * 1000,
            f"c {EVIL}": ["a", EVIL] * 500,
            f"t {EVIL}": [EVIL, "no"] * 500,
            f"o {EVIL}": ["x"] * 1000,
        }
    )
    with_file(app, table.to_csv(index=False).encode(), name=f"{EVIL}.csv")
    assert awake(app) == []
    app.text_input(key="release_person").set_value(EVIL).run()
    app.text_input(key="release_typed").set_value(EVIL).run()
    assert awake(app) == []
    button(app, "release_now").click().run()
    assert not app.exception
    assert ledger.history()[-1].state == "done"
    assert awake(app) == []
    assert awake(start("ledger")) == []
