"""A slider and a typed number for one value: what was typed is taken, or refused in words."""

from __future__ import annotations

import pytest

from tests.ui.test_pages import now, start, visit
from ui.controls.paired import short


@pytest.mark.parametrize(
    ("value", "words"), [(1e-6, "1e-6"), (2.5e-5, "2.5e-5"), (0.001, "0.001"), (0.25, "0.25")]
)
def test_positions_of_a_slider_are_written_shortly(value, words):
    assert short(value) == words


@pytest.mark.parametrize("half", ["number", "slider"])
def test_what_was_undone_can_be_set_again_at_once(half):
    app = start("explore", n="30000")
    for _ in range(2):
        if half == "number":
            app.text_input(key="n_number").set_value("100000").run()
        else:
            app.select_slider(key="n_slider").set_value(100_000).run()
        assert now(app).n == 100_000
        app.button(key="undo").click().run()
        assert now(app).n == 30_000


def test_a_browser_that_has_not_got_an_undo_yet_takes_nothing_back():
    """It sends the old value of both widgets with what is moved elsewhere."""
    app = start("explore", n="30000")
    app.text_input(key="n_number").set_value("100000").run()
    app.button(key="undo").click().run()
    app.text_input(key="n_number").set_value("100000")
    app.select_slider(key="n_slider").set_value(100_000)
    app.select_slider(key="d_slider").set_value(5).run()
    assert (now(app).n, now(app).d) == (30_000, 5)


def test_a_typed_number_beyond_the_ends_is_refused_in_words():
    app = start("explore", n="30000")
    for key, typed, ends in (("total", 0.0, "0.05 to 10"), ("n", 5_000_000, "100 to 1,000,000")):
        before = now(app)
        app.text_input(key=f"{key}_number").set_value(str(typed)).run()
        assert now(app) == before
        assert any(f"Type a number from {ends}." in shown.value for shown in app.warning)


POINT = "Type a number with a decimal point, such as 1.5, and without commas."

WHOLE = "Type a whole number, such as 20 or 8,000."


@pytest.mark.parametrize(
    ("key", "typed", "words"),
    [
        ("total", "0,5", POINT),
        ("total", "1,5", POINT),
        ("total", "nan", POINT),
        ("total", "1e400", POINT),
        ("n", "1e12", "Type a number from 100 to 1,000,000."),
        ("n", "0,500", WHOLE),
        ("n", "3,00", WHOLE),
        ("n", "300.5", WHOLE),
        ("n", "800.000", WHOLE),
        ("d", "1,5", WHOLE),
        ("c", "half", POINT),
        ("hessian", "0,25", POINT),
    ],
)
def test_what_is_no_number_as_it_was_meant_changes_nothing_and_that_is_said(key, typed, words):
    """A field of numbers made 5 of "0,5", 15 of "1,5" and 1 of "1e12", before anybody could refuse
    it.
    """
    app = start("explore", n="30000")
    before, held = now(app), app.text_input(key=f"{key}_number").value
    words += f" All that is shown is still for {held}."
    app.text_input(key=f"{key}_number").set_value(typed).run()
    assert now(app) == before
    assert app.text_input(key=f"{key}_number").value == typed  # to be corrected
    assert [one.value for one in app.warning if one.value == words]
    app.text_input(key=f"{key}_number").set_value(held).run()  # as it was before
    assert now(app) == before
    assert not [one.value for one in app.warning if one.value == words]


@pytest.mark.parametrize("how", ["undone", "moved"])
def test_what_was_refused_goes_once_its_value_is_another(how):
    app = start("explore", n="30000")
    app.text_input(key="n_number").set_value("40000").run()
    app.text_input(key="n_number").set_value("0,5").run()
    assert f"{WHOLE} All that is shown is still for 40000." in [one.value for one in app.warning]
    if how == "undone":
        app.button(key="undo").click().run()
        assert now(app).n == 30_000
    else:
        app.select_slider(key="n_slider").set_value(100_000).run()
        assert now(app).n == 100_000
    assert app.text_input(key="n_number").value == str(now(app).n)
    assert not [one.value for one in app.warning if one.value.startswith(WHOLE)]


def test_a_number_with_an_exponent_is_the_number_it_says():
    app = start("explore", n="30000")
    app.text_input(key="n_number").set_value("2e5").run()
    app.text_input(key="c_number").set_value("1.25e-3").run()
    assert (now(app).n, now(app).c) == (200_000, 0.00125)
    assert [app.text_input(key=f"{key}_number").value for key in "nc"] == ["200000", "0.00125"]


@pytest.mark.parametrize("page", ["explore", "plan"])
def test_thousands_of_a_whole_number_may_have_commas_between(page):
    app = start(page, n="20000")
    app.text_input(key="n_number").set_value("30,000").run()
    assert now(app).n == 30_000
    assert not app.warning


def test_the_method_of_a_regression_of_a_number_refuses_a_comma_too():
    app = visit("front")
    app.segmented_control(key="outcome").set_value("number").run()
    before = now(app)
    for typed, words in (("2,5", POINT), ("1000", "Type a number from")):
        app.text_input(key="linear_clip").set_value(typed).run()
        assert now(app) == before
        assert any(one.value.startswith(words) for one in app.warning)
    app.text_input(key="linear_clip").set_value("1.5").run()
    assert now(app).clip == 1.5


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("explore", {"n": "30000", "epsilon": "2"}),
        ("learn", {"screen": "n", "value": "20000"}),
        ("plan", {"step": "choose", "find": "precision", "method": "own", "d": "3", "n": "20000"}),
    ],
)
def test_a_browser_that_missed_the_run_that_set_a_control_shows_its_value_all_the_same(page, query):
    """It showed the first position, and reported that as a move."""
    app = visit(page, **query)
    if page == "learn":
        app.radio(key="learn_n_answer").set_value(0).run()
    fields = [f for f in app.text_input if f.key.endswith("_number") and "split" not in f.key]
    assert fields
    assert [f.proto.default for f in fields] == [f.value for f in fields]
    for one in app.select_slider:
        (place,) = map(int, one.proto.default)
        shown = float(one.proto.options[place].split()[-1].replace(",", ""))
        assert shown == pytest.approx(float(app.session_state[one.key]), rel=0.01)
    assert all(
        tuple(one.proto.default) == one.value for one in app.slider if one.key == "split_slider"
    )
