"""The picture that follows the pointer: how often it is drawn, that it leaves, and that one value is on the screen."""

from __future__ import annotations

import pytest

from tests.browser.driver import chart, press, wait_chart, wait_idle, wait_meta

pytestmark = pytest.mark.browser

WATCH = """key => {
  const cover = document.querySelector(`.st-key-live_over_${key}`)
  const root = [...cover.querySelectorAll('*')].map(e => e.shadowRoot).find(r => r && r.querySelector('.live'))
  window.drawn = []
  new MutationObserver(() => {
    const svg = root.querySelector('svg')
    if (svg) window.drawn.push([performance.now(), Number(svg.dataset.position), svg.querySelectorAll('line').length])
  }).observe(root.querySelector('.live'), {childList: true})
}"""


def thumb(page, key):
    """The middle of a slider's thumb and the slider's left and right end."""
    return page.evaluate(
        """k => {const box = document.querySelector(`.st-key-${k}`); box.scrollIntoView({block: 'center'})
                 const t = box.querySelector('input[type=range]').parentElement.parentElement.getBoundingClientRect()
                 const s = box.querySelector('[role=group]').getBoundingClientRect()
                 return [t.x + t.width / 2, t.y + t.height / 2, s.left, s.right]}""",
        key,
    )


def drag(page, key, steps=150):
    """Press the thumb and move it to both ends and back to three quarters, one move per frame; it stays pressed."""
    x, y, left, right = thumb(page, key)
    page.mouse.move(x, y)
    page.mouse.down()
    path = [x + (right - x) * i / (steps / 3) for i in range(steps // 3)]
    path += [right + (left - right) * i / (steps / 3) for i in range(steps // 3)]
    path += [left + 0.75 * (right - left) * i / (steps / 3) for i in range(steps // 3 + 1)]
    for at in path:
        page.mouse.move(at, y)


def drawn(page):
    return page.evaluate("() => window.drawn")


def is_hidden(page, selector):
    return page.evaluate("s => getComputedStyle(document.querySelector(s)).visibility === 'hidden'", selector)


def opacity(page, selector):
    return page.evaluate("s => Number(getComputedStyle(document.querySelector(s)).opacity)", selector)


def test_explore_follows_the_pointer_and_letting_go_sets_the_total(open_page):
    page = open_page("/explore")
    wait_chart(page, "chart_coverage")
    before = chart(page, "chart_intervals")
    page.evaluate(WATCH, "intervals")
    drag(page, "total_slider")
    page.wait_for_timeout(300)
    frames = drawn(page)
    seconds = (frames[-1][0] - frames[0][0]) / 1000
    assert len(frames) / seconds >= 20, (len(frames), seconds)
    assert len({position for _, position, _ in frames}) > 15
    # While it is dragged nothing else shows a total: the chart is covered, the typed number hidden, the rest faded.
    assert chart(page, "chart_intervals")["meta"] == before["meta"]
    assert not is_hidden(page, ".st-key-live_over_intervals")
    assert is_hidden(page, ".st-key-total_number")
    for name in ("headline", "others", "split", "total_note"):
        assert (
            page.evaluate(f"() => Number(getComputedStyle(document.querySelector('.st-key-waits_{name}')).opacity)")
            < 0.1
        )
    page.mouse.up()
    wait_idle(page)
    shown = float(page.locator(".st-key-total_number input[type=number]").input_value())
    assert shown != before["meta"]["total"]
    wait_meta(page, "chart_intervals", "total", shown)
    page.wait_for_function("() => !document.documentElement.dataset.dpciLive", timeout=10_000)
    assert is_hidden(page, ".st-key-live_over_intervals")
    label = page.locator(".st-key-total_slider input[type=range]").get_attribute("aria-valuetext")
    assert float(label) == pytest.approx(shown, rel=5e-3)


def test_keys_move_the_picture_too_and_it_leaves(open_page):
    page = open_page("/explore")
    wait_chart(page, "chart_coverage")
    page.evaluate(WATCH, "intervals")
    press(page, "total_slider")
    wait_meta(page, "chart_intervals", "total", 1.1)
    page.wait_for_function("() => !document.documentElement.dataset.dpciLive", timeout=10_000)
    assert drawn(page)
    assert is_hidden(page, ".st-key-live_over_intervals")


def test_learn_follows_the_pointer(open_page):
    page = open_page("/learn?screen=promise")
    page.get_by_role("button", name="Show it without answering").click()
    wait_chart(page, "chart_learn_promise")
    page.evaluate(WATCH, "learn_promise")
    drag(page, "learn_promise_slider")
    page.wait_for_timeout(300)
    frames = drawn(page)
    seconds = (frames[-1][0] - frames[0][0]) / 1000
    assert len(frames) / seconds >= 20, (len(frames), seconds)
    assert all(lines > 100 for _, _, lines in frames)
    page.mouse.up()
    wait_idle(page)
    page.wait_for_function("() => !document.documentElement.dataset.dpciLive", timeout=10_000)
    assert chart(page, "chart_learn_promise")["meta"]["value"] != 0.95
    assert f"value={chart(page, 'chart_learn_promise')['meta']['value']:g}" in page.url
