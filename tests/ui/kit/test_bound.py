"""A widget that shows a value kept elsewhere, and gives back what it is moved to."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest


def script(empty: str | None) -> None:
    import streamlit as st

    from ui.kit.bound import among, bound

    def keep(value: str) -> None:
        st.session_state["kept"] = value

    kept = st.session_state.get("kept", "a")
    st.segmented_control(
        "One", **among({"a": "A", "b": "B"}), **bound("one", kept, keep, empty=empty)
    )
    st.button("Another way", on_click=keep, args=("a",))


@pytest.mark.parametrize(("empty", "kept"), [(None, "b"), ("a", "a")])
def test_a_widget_shows_what_is_kept_and_an_emptied_one_gives_what_it_may(empty, kept):
    app = AppTest.from_function(script, args=(empty,)).run()
    assert app.segmented_control(key="one").value == "a"
    app.segmented_control(key="one").set_value("b").run()
    assert app.session_state["kept"] == "b"
    app.segmented_control(key="one").set_value(None).run()
    assert app.session_state["kept"] == app.segmented_control(key="one").value == kept
    app.button[0].click().run()
    assert app.segmented_control(key="one").value == "a"
    assert not app.exception


def late() -> None:
    import streamlit as st

    from ui.kit.bound import is_stale, put

    told = st.session_state.setdefault("told", [])
    put("n", st.session_state.setdefault("kept", 1), (1, 2, 3, 4))
    st.select_slider("n", [1, 2, 3, 4], key="n", on_change=lambda: told.append(is_stale("n")))


def test_what_a_widget_shows_already_is_not_put_again():
    """It would replace what somebody has moved on to meanwhile."""
    app = AppTest.from_function(late).run()
    app.session_state["kept"] = 3
    app.select_slider(key="n").set_value(3).run()
    assert not app.select_slider(key="n").proto.set_value
    app.session_state["kept"] = 4
    app.run()
    assert app.select_slider(key="n").proto.set_value
    assert app.select_slider(key="n").value == 4


def test_what_the_page_set_before_the_last_time_may_still_come_and_is_no_move():
    app = AppTest.from_function(late).run()
    for kept in (2, 3):
        app.session_state["kept"] = kept
        app.select_slider(key="n").set_value(1).run()
    app.select_slider(key="n").set_value(2).run()
    assert app.session_state["told"] == [True, True]
    app.select_slider(key="n").set_value(4).run()
    assert app.session_state["told"] == [True, True, False]


def test_who_moves_on_and_back_is_not_taken_for_an_echo():
    app = AppTest.from_function(late).run()
    for moved in (2, 3, 2, 1):
        app.session_state["kept"] = moved
        app.select_slider(key="n").set_value(moved).run()
    assert app.session_state["told"] == [False] * 4
