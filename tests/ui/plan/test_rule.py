"""The rule about publication on the page Approve: part of the plan that is approved."""

from __future__ import annotations

import json

from streamlit.testing.v1 import AppTest

from dpci_core.plan import Acceptance
from dpci_core.plan.acceptance import STAYS_SPENT
from tests.ui.plan.test_standard import LINK, words
from tests.ui.test_pages import check, start


def page(app) -> str:
    """The page for the board."""
    shown = [json.loads(one.proto.json) for one in app.get("bidi_component") if one.proto.json]
    return "".join(given.get("html") or "" for given in shown)


def test_a_rule_that_is_typed_stands_on_the_page_that_is_approved():
    app = start("plan", step="approve", **LINK)
    assert "Published only if" not in page(app)
    app.text_input(key="plan_publish_within").set_value("1,5")
    app.text_input(key="plan_publish_reported").set_value("2").run()
    check(app)
    rule = Acceptance(within=1.5, reported=2)
    assert rule.sentence in page(app)
    assert STAYS_SPENT in words(app)
    assert app.query_params["publish_within"] in ("1,5", ["1,5"])
    again = start("plan", step="approve", **LINK, publish_within="1.5", publish_reported="2")
    assert rule.sentence in page(again)


def opened() -> None:
    """Take the words of a plan, and tell the rule that the page has then."""
    from dataclasses import replace

    import streamlit as st

    from dpci_core.plan import Acceptance
    from tests.release_example import make_plan
    from ui.session import steps

    steps.take_words(replace(make_plan(), publish_if=Acceptance(within=1.2345678901234567)))
    st.text(repr(steps.rule()))


def test_a_rule_of_a_file_keeps_every_digit():
    app = AppTest.from_function(opened, default_timeout=300).run()
    check(app)
    assert app.text[0].value == repr(Acceptance(within=1.2345678901234567))


def test_what_is_no_rule_is_told_in_words():
    for field, typed, said in (
        ("within", "x", "type a factor like 1.2"),
        ("within", "0.5", "within"),
        ("reported", "99", "at most"),
    ):
        app = start("plan", step="approve", **LINK, **{f"publish_{field}": typed})
        check(app)
        assert any(said in warning.value for warning in app.warning), typed


def test_an_approval_is_of_a_plan_with_its_rule():
    app = start("plan", step="approve", **LINK, publish_within="3")
    app.text_input(key="approve_person").set_value("A. Steward").run()
    if any(box.key == "approve_read" for box in app.checkbox):
        app.checkbox(key="approve_read").check().run()
    app.button(key="approve").click().run()
    approved = {key: app.query_params[key] for key in ("approved", "approved_plan")}
    flat = {k: v[0] if isinstance(v, list) else v for k, v in approved.items()}
    with_rule = start("plan", step="approve", **LINK, publish_within="3", **flat)
    assert any("Approved by A. Steward" in one.value for one in with_rule.success)
    without = start("plan", step="approve", **LINK, **flat)
    assert not any("Approved by A. Steward" in one.value for one in without.success)
