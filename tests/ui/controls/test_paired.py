"""The buttons of a number field move by a step that fits the number beside them."""

from __future__ import annotations

import pytest

from tests.ui.test_pages import now, start
from ui.controls.paired import short, step_for


@pytest.mark.parametrize(
    ("value", "low", "high", "step"),
    [
        (0.001, 1e-6, 1.0, 0.0001),
        (0.005, 1e-4, 1.0, 0.0001),
        (1.0, 0.05, 10.0, 0.1),
        (10.0, 0.05, 10.0, 1.0),
        (1e-6, 1e-6, 1.0, 1e-7),
        (0.99, 0.5, 0.999, 0.001),
        (30_000, 100, 1_000_000, 1_000),
        (999_000, 100, 1_000_000, 1_000),
        (105, 100, 1_000_000, 1),
        (10, 1, 36, 1),
        (0.0085, 0.0, 1.0, 0.0001),
    ],
)
def test_a_step_is_small_beside_the_value_and_stays_within_the_ends(value, low, high, step):
    found = step_for(value, low, high)
    assert found == pytest.approx(step, rel=1e-12)
    assert type(found) is type(value)
    assert value == low or value - found >= low * (1 - 1e-9)
    assert value == high or value + found <= high * (1 + 1e-9)


@pytest.mark.parametrize(
    ("key", "field", "before", "after"),
    [
        ("c", "c", 0.001, 0.0011),
        ("n", "n", 30_000, 31_000),
        ("h", "h", 1.0, 1.1),
        ("level", "level", 0.95, 0.96),
    ],
)
def test_a_click_on_plus_moves_a_control_a_little(key, field, before, after):
    app = start("explore", losses="huber_svm")
    assert getattr(now(app), field) == before
    number = app.number_input(key=f"{key}_number")
    number.set_value(number.value + number.step).run()
    assert (
        getattr(now(app), field) == after
    )  # exactly: what floats add beyond the digits typed is left out


def test_a_part_moves_by_a_step_of_its_own():
    app = start("explore", split="0.7999~0.0085~0.1916")
    assert app.number_input(key="hessian_number").step == pytest.approx(0.0001)


@pytest.mark.parametrize(
    ("value", "words"), [(1e-6, "1e-6"), (2.5e-5, "2.5e-5"), (0.001, "0.001"), (0.25, "0.25")]
)
def test_positions_of_a_slider_are_written_shortly(value, words):
    assert short(value) == words


@pytest.mark.parametrize("half", ["number", "slider"])
def test_what_was_undone_can_be_set_again_at_once(half):
    app = start("explore", n="30000")
    for _ in range(2):
        moved = app.number_input if half == "number" else app.select_slider
        moved(key=f"n_{half}").set_value(100_000).run()
        assert now(app).n == 100_000
        app.button(key="undo").click().run()
        assert now(app).n == 30_000


def test_a_browser_that_has_not_got_an_undo_yet_takes_nothing_back():
    """It sends the old value of both widgets with what is moved elsewhere."""
    app = start("explore", n="30000")
    app.number_input(key="n_number").set_value(100_000).run()
    app.button(key="undo").click().run()
    app.number_input(key="n_number").set_value(100_000)
    app.select_slider(key="n_slider").set_value(100_000)
    app.select_slider(key="d_slider").set_value(5).run()
    assert (now(app).n, now(app).d) == (30_000, 5)


def test_a_typed_number_beyond_the_ends_is_refused_in_words():
    app = start("explore", n="30000")
    for key, typed, ends in (("total", 0.0, "0.05 to 10"), ("n", 5_000_000, "100 to 1,000,000")):
        before = now(app)
        app.number_input(key=f"{key}_number").set_value(typed).run()
        assert now(app) == before
        assert any(f"Type a number from {ends}." in shown.value for shown in app.warning)
