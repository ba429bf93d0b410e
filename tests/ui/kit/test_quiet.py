"""What a page leaves for later gives way to a move that comes meanwhile."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests

from tests.ui.test_pages import check, start
from ui.kit import quiet


class Whatever(str):
    """A version that is every version."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True


@pytest.mark.parametrize("fragments", [[], ["one"]])
def test_a_waiting_move_is_seen_whatever_it_draws_anew(monkeypatch, fragments):
    requests = ScriptRequests()
    monkeypatch.setattr(
        quiet,
        "get_script_run_ctx",
        lambda **_: SimpleNamespace(script_requests=requests),
    )
    assert not quiet.is_over()
    requests.request_rerun(RerunData(fragment_id_queue=fragments))
    assert quiet.is_over()


def test_outside_a_page_nothing_waits():
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(quiet.is_over()))
    thread.start()
    thread.join()
    assert found == [False]


def test_the_best_split_is_looked_for_when_nothing_moves_and_given_up_when_something_does(
    monkeypatch,
):
    monkeypatch.setattr(quiet, "asked", lambda key: (Whatever(), ""))
    monkeypatch.setattr(quiet, "is_over", lambda: True)
    app = start(n="12345")
    assert any("Looking for the best split" in m.value for m in app.markdown)
    monkeypatch.setattr(quiet, "is_over", lambda: False)
    app.run()
    check(app)
    assert app.button(key="use_split")
