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
