"""Rehearsing on the page Release: free, marked as made up, and for the plan on the page alone."""

from __future__ import annotations

import json
import time

import pytest
from streamlit.testing.v1 import AppTest

from dpci_core.ledger import Ledger
from dpci_core.release.rehearsal import FREE
from tests.ui.release.test_page import begin, desk  # noqa: F401 - a fixture
from tests.ui.test_pages import check
from ui.session import jobs

pytestmark = pytest.mark.usefixtures("desk")


def finished(app: AppTest) -> AppTest:
    """The page once its job is done."""
    app.button(key="release_rehearse_now").click().run()
    job = jobs.find(app.session_state["release_rehearsal"])
    assert job is not None
    until = time.monotonic() + 60
    while job.is_active and time.monotonic() < until:
        time.sleep(0.05)
    assert job.state == "done", job.problem
    return app.run()


def pages(app: AppTest) -> str:
    """What frames on the page show."""
    shown = [json.loads(one.proto.json) for one in app.get("bidi_component") if one.proto.json]
    return "".join(given.get("html") or "" for given in shown)


def test_a_rehearsal_shows_what_would_come_out_and_spends_nothing() -> None:
    app = begin()
    assert app.button(key="release_rehearse_now").label.endswith("on made-up rows, free")
    assert not [one for one in app.expander if "ehears" in one.label], "it is not behind a line"
    assert "Rehearsal: " not in pages(app)
    finished(app)
    check(app)
    assert f"<strong>{FREE}</strong>" in pages(app)
    assert "carried out 10 times, each time on 3,000 rows made up as the plan expects" in pages(app)
    assert "smoker = yes instead of no" in pages(app)
    assert Ledger().history() == ()
    assert Ledger().accounts() == ()


def test_a_rehearsal_is_of_the_plan_on_the_page_alone() -> None:
    app = finished(begin())
    other = begin(c="0.02")
    other.session_state["release_rehearsal"] = app.session_state["release_rehearsal"]
    other.run()
    check(other)
    assert "Rehearsal: " not in pages(other)
    assert other.button(key="release_rehearse_now")
