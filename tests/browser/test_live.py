"""The picture that follows the pointer: how often it is drawn, that it leaves, and that one value
is on the screen.
"""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from tests.browser.driver import chart, wait_chart, wait_frames, wait_idle, wait_meta
from tests.browser.tours import FITS, FITS_BUT_CAPTION
from tests.ui.test_pages import PAPER_TERMS
from ui.controls.declare import example_of_a_number
from ui.learn.path import SCREENS
from ui.session.compute import DECLARED, packed_table

pytestmark = pytest.mark.browser

WATCH = """() => {
  const root = document.querySelector('.picture')
  window.drawn = []
  window.asked = 0
  new MutationObserver(() => window.drawn.push([Number(root.dataset.position),
                                                Number(root.dataset.strokes)]))
    .observe(root, {attributes: true, attributeFilter: ['data-position']})
  let moved = false
  addEventListener('pointermove', () => { moved = true }, true)
  const paint = () => { window.asked += moved; moved = false; requestAnimationFrame(paint) }
  requestAnimationFrame(paint)
}"""
"""Keeps what is drawn, and counts the frames of the browser before which the pointer moved."""


def thumb(page, key):
    """The middle of a slider's thumb and the slider's left and right end. Streamlit loads its slider
    from a file of its own, which a chart does not wait for.
    """
    page.locator(f".st-key-{key} input[type=range]").first.wait_for(state="attached")
    return page.evaluate(
        """k => {const box = document.querySelector(`.st-key-${k}`); box.scrollIntoView({block: 'center'})
                 const t = box.querySelector('input[type=range]').parentElement.parentElement.getBoundingClientRect()
                 const s = box.querySelector('[role=group]').getBoundingClientRect()
                 return [t.x + t.width / 2, t.y + t.height / 2, s.left, s.right]}""",
        key,
    )


def drag(page, key, steps=150):
    """Press the thumb and move it to both ends and back to three quarters, one move per frame; it
    stays pressed. The animation of Explore is made when the page rests.
    """
    x, y, left, right = thumb(page, key)
    page.mouse.move(x, y)
    wait_frames(page, key)
    page.mouse.down()
    path = [x + (right - x) * i / (steps / 3) for i in range(steps // 3)]
    path += [right + (left - right) * i / (steps / 3) for i in range(steps // 3)]
    path += [left + 0.75 * (right - left) * i / (steps / 3) for i in range(steps // 3 + 1)]
    for at in path:
        page.mouse.move(at, y)


def drawn(page):
    """Positions and strokes of all that was drawn. However slow the machine is, the picture is drawn
    in half of the frames in which the pointer moved (`benchmarks.page_speed` has the seconds).
    """
    frames, asked = page.evaluate("() => [window.drawn, window.asked]")
    assert len(frames) >= asked / 2 > 10, (len(frames), asked)
    return frames


def is_hidden(page, selector):
    return page.evaluate(
        "s => getComputedStyle(document.querySelector(s)).visibility === 'hidden'", selector
    )


def opacity(page, selector):
    return page.evaluate(
        "s => Number(getComputedStyle(document.querySelector(s)).opacity)", selector
    )


def test_explore_follows_the_pointer_and_letting_go_sets_the_total(open_page):
    page = open_page("/explore")
    wait_chart(page, "chart_intervals")
    before = chart(page, "chart_intervals")
    page.evaluate(WATCH)
    said = page.locator(".odds").inner_text()
    title = page.locator(".picture h2").inner_text()
    drag(page, "total_slider")
    page.wait_for_timeout(300)
    frames = drawn(page)
    assert len({position for position, _ in frames}) > 15
    drawn_here = {strokes for _, strokes in frames}  # three bars and a dot, or one pale bar
    assert 7 * 4 in drawn_here
    assert drawn_here <= {4 * k + (7 - k) for k in range(8)}
    # While it is dragged finding, numbers and odds follow; what cannot is hidden or faded.
    assert chart(page, "chart_intervals")["meta"] == before["meta"]
    assert page.locator(".odds").inner_text() != said
    assert page.locator(".picture h2").inner_text() != title
    assert (
        page.locator("[data-live='cost 0']").inner_text()
        != before["tables"][0]["rows"][0][1]["text"]
    )
    assert page.locator("[data-live='coverage 0']").inner_text() == "…"
    assert is_hidden(page, ".st-key-total_number")
    assert is_hidden(page, ".picture .foot span"), "it names the budget before the move"
    assert opacity(page, ".st-key-best_split") < 0.1
    page.mouse.up()
    wait_idle(page)
    shown = float(page.locator(".st-key-total_number input").input_value())
    assert shown != before["meta"]["total"]
    wait_meta(page, "chart_intervals", "total", shown)
    page.wait_for_function("() => !document.documentElement.dataset.dpciLive")
    label = page.locator(".st-key-total_slider input[type=range]").get_attribute("aria-valuetext")
    assert float(label) == pytest.approx(shown, rel=5e-3)


def test_what_no_animation_knows_is_hidden_while_the_slider_moves(open_page):
    page = open_page("/explore")
    wait_chart(page, "chart_intervals")
    wait_frames(page, "total_slider")
    wait_idle(page)
    page.evaluate("() => window[Symbol.for('dpci animations')].delete('total_slider')")
    caption = (".odds", ".picture h2", ".picture .foot span")
    assert not any(is_hidden(page, part) for part in caption)
    x, y, _, right = thumb(page, "total_slider")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move((x + right) / 2, y, steps=5)
    page.wait_for_timeout(300)
    assert all(is_hidden(page, part) for part in caption)
    page.mouse.up()
    page.wait_for_function("() => !document.documentElement.dataset.dpciLive")
    wait_idle(page)
    assert not any(is_hidden(page, part) for part in caption)


def test_a_regression_of_a_number_follows_too(open_page):
    table = packed_table(example_of_a_number())
    link = {"dataset": DECLARED, "declared": table, "d": 5, "currency": "approx", "epsilon": "1"}
    page = open_page(f"/explore?{urlencode(link)}")
    wait_chart(page, "chart_intervals")
    page.evaluate(WATCH)
    title = page.locator(".picture h2").inner_text()
    drag(page, "total_slider", steps=60)
    page.wait_for_timeout(300)
    frames = drawn(page)
    assert len({position for position, _ in frames}) > 10
    assert {strokes for _, strokes in frames} <= {4 * k + (5 - k) for k in range(6)}
    assert page.locator(".picture h2").inner_text() != title
    page.mouse.up()
    wait_idle(page)
    page.wait_for_function("() => !document.documentElement.dataset.dpciLive")


def test_a_chart_with_every_feature_of_a_table_follows_too(open_page):
    page = open_page(
        "/explore?" + urlencode(PAPER_TERMS | {"d": "36", "n": "400000", "mechanisms": "objective"})
    )
    wait_chart(page, "chart_intervals")
    page.evaluate(WATCH)
    drag(page, "total_slider", steps=60)
    page.wait_for_timeout(300)
    frames = drawn(page)
    assert {strokes for _, strokes in frames} == {
        37 * 4
    }  # three intervals and a dot for each coefficient
    assert len({position for position, _ in frames}) > 10
    page.mouse.up()
    wait_idle(page)
    page.wait_for_function("() => !document.documentElement.dataset.dpciLive")


def test_learn_follows_the_pointer(open_page):
    page = open_page("/learn?screen=promise")
    page.get_by_role("button", name="Show it without answering").click()
    wait_chart(page, "chart_learn_promise")
    page.evaluate(WATCH)
    said = page.locator(".picture .finding").inner_text()
    drag(page, "learn_promise_slider")
    page.wait_for_timeout(300)
    frames = drawn(page)
    # a bar for every study, and two crosses for one that misses
    assert all(strokes >= 100 and strokes % 2 == 0 for _, strokes in frames)
    assert len({strokes for _, strokes in frames}) > 5
    assert page.locator(".picture .finding").inner_text() != said
    slider = page.locator(".st-key-learn_promise_slider input[type=range]")
    footer = page.locator(".picture .foot span").inner_text()
    shown = slider.get_attribute("aria-valuetext")
    assert footer.replace("\N{NO-BREAK SPACE}", " ").endswith(f": {shown}")
    assert is_hidden(page, ".st-key-learn_promise_number")
    assert opacity(page, ".st-key-learn_table") < 0.1
    page.mouse.up()
    wait_idle(page)
    page.wait_for_function("() => !document.documentElement.dataset.dpciLive")
    assert chart(page, "chart_learn_promise")["meta"]["value"] != 0.95
    assert f"value={chart(page, 'chart_learn_promise')['meta']['value']:g}" in page.url


@pytest.mark.parametrize("key", ["noise", "mechanisms", "n", "crowd", "peeking"])
def test_every_kind_of_picture_of_learn_follows(open_page, key):
    page = open_page(f"/learn?screen={key}&pictures=first")
    wait_chart(page, f"chart_learn_{key}")
    picture = page.locator(".picture svg").first
    before, said = picture.inner_html(), page.locator(".picture .finding").inner_text()
    drag(page, f"learn_{key}_slider", steps=30)
    assert picture.inner_html() != before
    assert page.locator(".picture .finding").inner_text() != said
    page.mouse.up()
    wait_idle(page)
    page.wait_for_function("() => !document.documentElement.dataset.dpciLive")


def test_an_exercise_opens_its_settings_in_a_new_tab_and_back_goes_back(open_page):
    page = open_page("/learn?screen=odds&value=2")
    page.get_by_role("button", name="Show it without answering").click()
    wait_chart(page, "chart_learn_odds")
    assert chart(page, "chart_learn_odds")["meta"] == {"screen": "odds", "value": 2}
    page.get_by_role("button", name="Next").click()
    page.get_by_text("Screen 5 of 15").wait_for()
    page.wait_for_url("**screen=concentrated**")
    page.go_back()
    page.get_by_text("Screen 4 of 15").wait_for()
    page.get_by_text("For teachers").click()
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Explore with ε = 2").click()
    wait_chart(opened.value)
    assert chart(opened.value, "chart_intervals")["meta"]["total"] == 2.0


@pytest.mark.parametrize("screen", ["odds", "crowd"])
def test_an_answer_brings_verdict_picture_and_slider_with_next_in_reach(open_page, screen):
    """On a wide page; phones are in the tour of Learn."""
    page = open_page(f"/learn?screen={screen}")
    page.locator(f".st-key-learn_{screen}_answer label").last.click()
    wait_chart(page, f"chart_learn_{screen}")
    wait_idle(page)
    page.wait_for_function(
        """(screen) => {
          const box = (key) => document.querySelector(key).getBoundingClientRect()
          const steps = box('.st-key-learn_steps')
          return box('.st-key-learn_seen').top >= 60 && steps.bottom <= innerHeight
            && box(`.st-key-learn_${screen}_slider input[type=range]`).bottom <= steps.top
        }""",
        arg=screen,
    )


SIZED = "size => document.documentElement.style.setProperty('font-size', size, 'important')"
"""Type as large as somebody has set it in the browser."""


def test_every_screen_fits_a_projector_in_large_type_after_the_longest_reply(open_page, subtests):
    """Title, answer, slider, finding, chart and caption stand between the head of the page and
    Next; also in type half as large again as usual, all but the caption.
    """
    page = open_page("/learn?screen=promise&type=large", width=1280, height=720)
    for number, screen in enumerate(SCREENS, 1):
        page.get_by_text(f"Screen {number} of {len(SCREENS)}").wait_for()
        wait_idle(page)
        choices = screen.question.choices
        lengths = [len(choice.reply) + 11 * (not choice.is_right) for choice in choices]
        answers = page.locator(f".st-key-learn_{screen.key}_answer label:has(input)")
        answers.nth(lengths.index(max(lengths))).click()
        wait_chart(page, f"chart_learn_{screen.key}")
        with subtests.test("all is on the screen at once", screen=screen.key):
            page.wait_for_function(
                FITS,
                arg=screen.key,
            )
        page.evaluate(SIZED, "24px")
        with subtests.test("so it is in another size", screen=screen.key):
            page.wait_for_function(FITS_BUT_CAPTION, arg=screen.key)
        page.evaluate(SIZED, "")
        if number < len(SCREENS):
            page.get_by_role("button", name="Next").click()


def test_learn_fits_a_phone_also_in_large_type(open_page):
    page = open_page("/learn?screen=n", width=390, theme="dark")
    page.get_by_role("button", name="Show it without answering").click()
    wait_chart(page, "chart_learn_n")
    for large in (False, True):
        if large:
            page.get_by_text("Large type, for a projector").click()
            wait_chart(page, "chart_learn_n")
        main = "document.querySelector('[data-testid=stMain]')"
        assert page.evaluate(f"() => {main}.scrollWidth - {main}.clientWidth") <= 0
    assert page.locator("[data-testid=stException]").count() == 0


def test_next_begins_at_the_top_and_the_slider_is_in_view_with_its_chart(open_page):
    page = open_page("/learn?pictures=first&type=large")
    wait_chart(page, "chart_learn_promise")
    slider = page.locator(".st-key-learn_promise_slider").bounding_box()
    picture = page.locator(".st-key-chart_learn_promise").bounding_box()
    assert slider["y"] + slider["height"] - picture["y"] < 900
    page.get_by_role("button", name="Next").scroll_into_view_if_needed()
    page.get_by_role("button", name="Next").click()
    page.get_by_text("Screen 2 of 15").wait_for()
    wait_chart(page, "chart_learn_noise")
    page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollTop === 0")
    page.get_by_role("button", name="Share").click()
    page.get_by_text("type=large").wait_for()
