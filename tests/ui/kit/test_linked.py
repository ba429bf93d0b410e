"""What single pages add to the link: which table, how thorough, what is pinned. A second visit
finds all of it again.
"""

from __future__ import annotations

import pytest

from tests.ui.test_pages import ROOT, check, now, picture_of, start, upload_rich, visit
from ui.session.settings import START, from_query

CHANGES = [
    ("replication", "selectbox", "published_table", "3", "table"),
    ("lengths", "selectbox", "compared_table", "census-10", "compared"),
    ("lengths", "segmented_control", "compared_split_of", "best", "compared_split"),
    ("coverage", "segmented_control", "effort", "Usual", "effort"),
    ("coverage", "text_input", "seed", "7", "seed"),
]


def link_of(app) -> dict[str, str]:
    """The link after a run; the runner gives what it was told in lists, and what the page wrote as
    texts.
    """
    return {
        name: given if isinstance(given, str) else given[0]
        for name, given in app.query_params.items()
    }


def widget(app, kind, key):
    return getattr(app, kind)(key=key)


@pytest.mark.parametrize(("page", "kind", "key", "value", "name"), CHANGES)
def test_a_choice_travels_and_survives_other_pages(page, kind, key, value, name):
    app = start(page, **({"errors": "published"} if name == "published" else {}))
    assert name not in link_of(app)
    widget(app, kind, key).set_value(value).run()
    check(app)
    app.run()  # the link is written before a page is drawn
    link = link_of(app)
    assert link[name] == str(value)

    again = start(page, **link)
    assert widget(again, kind, key).value == value
    elsewhere = start("explore", **link)
    assert link_of(elsewhere)[name] == str(value)
    assert not elsewhere.warning


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("table", "9"),
        ("evidence", "cards"),
        ("effort", ""),
        ("seed", "-1"),
        ("seed", str(2**31)),
        ("seed", "9" * 5_000),
        ("seed", "0" * 5_000),
        ("seed", "00000000001"),
        ("seed", "²"),
    ],
)
def test_a_choice_that_does_not_exist_is_named(name, text):
    app = start("coverage", **{name: text})
    assert any(name in warning.value for warning in app.warning)
    assert app.segmented_control(key="effort").value == "Quick"
    assert app.text_input(key="seed").value == "1"


def test_an_emptied_control_changes_nothing():
    app = start("coverage", effort="Usual")
    app.segmented_control(key="effort").set_value(None).run()
    check(app)
    assert app.segmented_control(key="effort").value == "Usual"


def test_the_largest_seed_travels():
    assert start("coverage", seed=str(2**31 - 1)).text_input(key="seed").value == str(2**31 - 1)


def pinned(app):
    """What is kept, and its column beside the picture."""
    rows = [row for table in picture_of(app)["tables"][1:] for row in table["rows"]]
    columns = list(zip(*rows, strict=True))[2:]
    return list(zip(app.session_state["pinned"], columns, strict=True))


def test_pins_travel_with_their_numbers():
    app = visit(n="50000")
    app.button(key="pin").click().run()
    app.text_input(key="n_number").set_value("80000").run()
    app.button(key="pin").click().run()
    app.run()
    link = link_of(app)
    again = visit(**link)
    assert pinned(again) == pinned(app)
    assert [settings.n for settings, _ in pinned(again)] == [50_000, 80_000]
    assert now(again).n == 80_000
    again.button(key="pin_drop_0").click().run()
    again.run()
    assert from_query({"n": "80000"})[0] == pinned(again)[0][0]
    assert "pin2" not in link_of(again)


def test_pinned_defaults_travel():
    app = visit("explore", pin1="")
    assert [settings for settings, _ in pinned(app)] == [START]


def test_a_lone_pin_is_the_first():
    app = visit("explore", pin2="n=5000")
    assert picture_of(app)["tables"][1]["head"] == ["", "now", "A"]


def test_nothing_of_an_uploaded_file_travels():
    app = start()
    upload_rich(app)
    app.button(key="pin").click().run()
    app.switch_page(str(ROOT / "pages" / "plan.py")).run()
    app.button(key="step_goal").click().run()
    app.radio(key="goal_first").set_value("other").run()
    app.radio(key="goal").set_value("length").run()
    app.radio(key="goal_on").set_value("age").run()
    app.text_input(key="goal_length_age").set_value("1.23").run()
    app.button(key="goal_continue").click().run()
    check(app)
    assert now(app).goal_on == "age"
    app.run()
    assert not set(link_of(app)) & {"dataset", "names", "goal_on", "goal_length", "pin1"}
    app.button(key="step_describe").click().run()
    app.segmented_control(key="describe_how").set_value("here").run()
    app.button(key="describe_continue").click().run()
    check(app)
    assert (now(app).dataset, now(app).goal_on) == ("census", "")
    app.switch_page(str(ROOT / "pages" / "explore.py")).run()
    app.button(key="pin").click().run()
    app.run()
    assert "age" not in "".join(link_of(app).values())


@pytest.mark.parametrize("text", ["garbage", "n=-3", "dataset=nothing"])
def test_a_pin_that_cannot_be_used_is_named(text):
    app = start("explore", pin1=text)
    assert any("pin1" in warning.value for warning in app.warning)
    assert "pinned" not in app.session_state or pinned(app) == []
