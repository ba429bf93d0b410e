"""Which clicks on "Use this design" and "+ Compare" count, whatever a browser sends: those on an
answer that was searched for, to the question that is asked now.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.ui.test_pages import check, now
from ui.kit import share
from ui.plan.options import Option
from ui.session.settings import Settings

FOUND = Settings(n=7_000, target="unpenalised")
OPTION = Option(
    settings=FOUND,
    design=FOUND.design(FOUND.combinations[0]),
    typed=1.0,
    precision=0.5,
    meets=True,
    length=0.5,
    probability=0.9,
    as_described=0.9,
    reportable=3,
    of=3,
    against=1.1,
    as_if=6_000,
    is_lost=False,
    is_useless=False,
    cautions=(),
)


def buttons() -> None:
    """The two buttons, below a control that a move may still be under way from."""
    import streamlit as st

    from ui.plan import choose
    from ui.session import state

    def move() -> None:
        state.update(n=int(st.session_state["moved"]))

    st.number_input("Records", value=state.settings().n, key="moved", on_change=move)
    option, is_first = st.session_state["shown"]
    choose._use(None, option, is_first=is_first)  # type: ignore[arg-type]


def page(option: Option | None, *, is_first: bool) -> AppTest:
    app = AppTest.from_function(buttons, default_timeout=300)
    app.session_state["shown"] = option, is_first
    app.run()
    check(app)
    return app


def taken(app: AppTest) -> tuple[int, str, str]:
    """The number of records planned for, the step, and the design that is kept."""
    linked = app.session_state.get("linked", {})
    return now(app).n, linked.get("step", ""), linked.get("kept", "")


@pytest.mark.parametrize("key", ["use_design", "keep_design"])
@pytest.mark.parametrize(("option", "is_first"), [(OPTION, True), (None, True), (None, False)])
def test_nothing_is_taken_before_every_world_was_checked(key, option, is_first) -> None:
    app = page(option, is_first=is_first)
    assert app.button(key=key).disabled
    before = taken(app)
    app.button(key=key).proto.disabled = False  # in a browser that has not heard of it
    app.button(key=key).click().run()
    check(app)
    assert taken(app) == before


@pytest.mark.parametrize("key", ["use_design", "keep_design"])
def test_a_click_beside_a_move_is_about_what_was_shown_before_it(key) -> None:
    app = page(OPTION, is_first=False)
    app.number_input(key="moved").set_value(50_000)
    app.button(key=key).click().run()
    check(app)
    assert taken(app) == (50_000, "", "")


@pytest.mark.parametrize(
    ("url", "is_for_others"),
    [("http://localhost:8501/plan", False), ("https://stats.example.org/plan", True)],
)
def test_a_link_that_others_cannot_follow_says_so_and_is_not_drawn_to_scan(
    url, is_for_others, monkeypatch
) -> None:
    monkeypatch.setattr(type(st.context), "url", property(lambda _: url))
    drawn, draw = [], share.code
    monkeypatch.setattr(share, "code", lambda link: drawn.append(link) or draw(link))
    app = page(OPTION, is_first=False)
    assert app.code[0].value.startswith(url)
    assert any("Others cannot reach" in one.value for one in app.caption) != is_for_others
    assert drawn == ([app.code[0].value] if is_for_others else [])


def test_a_click_on_an_answer_takes_it_and_a_second_one_nothing_more() -> None:
    app = page(OPTION, is_first=False)
    app.button(key="use_design").click().run()
    check(app)
    assert taken(app) == (7_000, "approve", "")
    assert now(app) == replace(now(app), n=7_000, target="unpenalised")
    app = page(OPTION, is_first=False)
    app.button(key="keep_design").click().run()
    check(app)
    assert taken(app)[2]
