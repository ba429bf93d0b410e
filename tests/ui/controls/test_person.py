"""Who acts, as a page asks for it."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def asking() -> None:
    import streamlit as st

    from ui.controls import person

    st.session_state["found"] = person.field(st, st.session_state.get("page", "release"))


def at(app: AppTest, page: str) -> str:
    app.session_state["page"] = page
    app.run()
    assert not app.exception
    return str(app.session_state["found"])


def test_a_name_that_was_typed_is_asked_for_once_in_a_session_and_emptying_forgets_it() -> None:
    app = AppTest.from_function(asking).run()
    assert app.session_state["found"] == ""
    app.text_input[0].set_value(" Ada ").run()
    assert app.session_state["found"] == "Ada"
    assert at(app, "ledger") == "Ada"
    app.text_input[0].set_value("").run()
    assert app.session_state["found"] == ""
    assert at(app, "another") == ""
