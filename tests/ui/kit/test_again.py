"""What a page leaves for later: done in a run that comes at rest, and given up for a move."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.test_pages import check, start
from ui.kit import again, streamlit_internals


@pytest.fixture
def told(monkeypatch) -> list[dict[str, object]]:
    """What the browser is told at the end of each run."""
    found: list[dict[str, object]] = []
    monkeypatch.setattr(again, "_component", lambda *, data, **_: found.append(data))
    return found


def test_the_best_split_is_looked_for_when_nothing_moves_and_given_up_when_something_does(
    monkeypatch, told
):
    app = start(n="12345")
    assert told[-1]["wait"] == 450
    assert any("Looking for the best split" in m.value for m in app.markdown)
    wanted = told[-1]["version"]
    monkeypatch.setattr(again, "is_asked", lambda version: version == wanted)
    monkeypatch.setattr(streamlit_internals, "is_over", lambda: True)
    app.run()
    assert any("Looking for the best split" in m.value for m in app.markdown)
    monkeypatch.setattr(streamlit_internals, "is_over", lambda: False)
    app.run()
    check(app)
    assert app.button(key="use_split")
    app.run()
    assert told[-1]["wait"] is None


def script() -> None:
    import streamlit as st

    from ui.kit import again

    again.begin()
    for seconds, version in st.session_state.get("wants", ()):
        again.want(seconds, version)
    st.session_state["found"] = [again.is_asked(version) for version in ("a", "b", "")]
    again.watch()


def test_of_several_wants_the_first_counts_and_all_are_told(told):
    app = AppTest.from_function(script).run()
    assert told[-1]["wait"] is None
    app.session_state["wants"] = ((1.0, ""), (0.5, "a"), (2.0, "b"))
    app.run()
    assert told[-1]["wait"] == 500
    app.session_state["again_told"] = told[-1]["version"]
    app.run()
    assert app.session_state["found"] == [True, True, False]
    app.run()
    assert app.session_state["found"] == [False, False, False]
    assert len({one["took"] for one in told}) == len(told)
    assert not app.exception
