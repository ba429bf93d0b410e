"""Every page for every reader: axe-core in both themes, narrow, enlarged, by keys alone, and
nothing moves unasked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page

from tests.browser.conftest import forget
from tests.browser.driver import NAVIGATION, ROOT, Noise, press, wait_chart, wait_idle, wait_meta
from tests.browser.screenshots import PAGES, arrive
from tests.browser.tours import TOURS
from ui.learn.path import SCREENS

pytestmark = pytest.mark.browser

FILES = {
    "/" if file.stem == "explore" else f"/{file.stem}" for file in (ROOT / "pages").glob("*.py")
}
STATES = PAGES | {
    "evidence": ("/evidence?d=2&n=500", "chart_simulation"),  # a simulation that is soon done
    "evidence-published": ("/evidence?evidence=errors", "chart_accuracy_table1"),
    "plan-goal": ("/plan?step=goal", None),
    "plan-approve": ("/plan?step=approve", None),
}
PLACES = STATES | {
    path: (path, None) for path in FILES - {urlsplit(where).path for where, _ in STATES.values()}
}
"""Every page of the navigation, some in several states."""
HEIGHT = 900
WIDE, ENLARGED, NARROW = 1280, 640, 390
"""CSS pixels; a page of 1280 that is enlarged to 200 % has 640."""


@dataclass(frozen=True)
class Known:
    """A fault in Streamlit's own markup, out of reach of our labels and styles."""

    rule: str
    part: str
    places: tuple[str, ...]
    why: str


KNOWN = (
    Known(
        "presentation-role-conflict",
        'data-testid="stFileUploaderDropzone"',
        (
            *("release", "ledger", "evidence"),
            *("explore upload", "release file"),
            *("approval budget", "approval waiting", "approval approved"),
        ),
        "minor: the drop zone is presentation and has a label; the button in it has a name and "
        "works by keyboard",
    ),
)


@contextmanager
def visit(regular: BrowserContext, server: str) -> Iterator[Page]:
    """A wide page without transitions, judged at rest, and watched for noise."""
    page = regular.new_page()
    page.set_viewport_size({"width": WIDE, "height": HEIGHT})
    page.emulate_media(reduced_motion="reduce")
    noise = Noise(page, server)
    try:
        yield page
    finally:
        forget(regular)
        page.close()
    noise.check()


def open_everything(page: Page) -> None:
    """Open what can be opened, and what is in it; a tooltip that a click left behind goes: it
    stands outside of all landmarks.
    """
    page.mouse.move(0, 0)
    page.get_by_test_id("stTooltipContent").first.wait_for(state="detached")
    while closed := page.locator("details:not([open]) > summary").all():
        for summary in closed[::-1]:
            summary.dispatch_event("click")
        wait_idle(page)


# Formulas are KaTeX's own markup, in the colour of the text around them, and most of the elements
# of a page.
OURS = {"exclude": [[".katex"]]}


def faults(page: Page, *rules: str) -> list[tuple[str, str, str]]:
    """Rule, element and what is wrong with it, for everything that axe finds."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": rules}
    found = Axe().run(page, context=OURS, options=options).response["violations"]
    return [
        (rule["id"], node["html"], node["failureSummary"])
        for rule in found
        for node in rule["nodes"]
    ]


def check_faults(name: str, page: Page) -> None:
    """Axe finds what is known of this place, and nothing else."""
    found, known = faults(page), [k for k in KNOWN if name in k.places]
    for k in known:
        assert any(rule == k.rule and k.part in html for rule, html, _ in found), (
            f"No longer needed: {k}"
        )
    assert [f for f in found if not any(f[0] == k.rule and k.part in f[1] for k in known)] == []


CUT_OFF = """() => [...document.querySelectorAll('.js-plotly-plot .main-svg, .picture .canvas svg')].flatMap(svg => {
  const frame = svg.getBoundingClientRect()
  return [...svg.querySelectorAll('text')].filter(t => { const box = t.getBoundingClientRect()
    return box.width > 0 && (box.left < frame.left - 2 || box.right > frame.right + 2) }).map(t => t.textContent) })"""
"""The words of charts that reach beyond their picture."""


def check_width(page: Page, width: int) -> None:
    """On a page so wide nothing scrolls sideways, and the words of charts fit."""
    page.set_viewport_size({"width": width, "height": HEIGHT})
    wait_idle(page)
    page.wait_for_function(
        """() => [document.documentElement,
                  ...document.querySelectorAll('[data-testid=stMain], [data-testid=stSidebar][aria-expanded=true]')]
                 .every(e => e.scrollWidth <= e.clientWidth)""",
    )
    for _ in range(20):  # a picture may still be drawn for the new width
        if not (cut := page.evaluate(CUT_OFF)):
            break
        page.wait_for_timeout(500)
    assert cut == []


def set_theme(page: Page, theme: str) -> None:
    """Light or dark, and the words of every chart in the ink of the page."""
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.wait_for_function(
        "t => getComputedStyle(document.querySelector('.stApp')).colorScheme === t", arg=theme
    )
    strange = """() => { const ink = getComputedStyle(document.querySelector('.stApp')).color
        return [...document.querySelectorAll('.js-plotly-plot .main-svg text, .picture text')]
               .filter(t => !t.closest('.hoverlayer') && getComputedStyle(t).fill !== ink).length }"""
    assert page.evaluate(strange) == 0


def check_charts(page: Page) -> None:
    """Every chart has a sentence, and after it a table that has it too; a picture with a heading
    has its own numbers.
    """
    for picture in page.locator(".picture").all():
        words = picture.locator(".canvas svg").get_attribute("aria-label") or ""
        assert len(words) > 40
        assert picture.locator(".finding").inner_text()
        assert not picture.locator("h2").count() or picture.locator("tbody td").count() >= 2
    shown = page.evaluate(
        """() => [...document.querySelectorAll(`[data-testid=stPlotlyChart], [data-testid=stDataFrame],
                                               .picture:not(:has(h2)) .canvas svg`)].map(e =>
               [e.dataset.testid ?? 'picture', e.getAttribute('aria-label') || '', e.getAttribute('role')
                || '', [...e.querySelectorAll('[aria-label]')].map(x => x.getAttribute('aria-label')).join('|')])"""
    )
    for (kind, words, role, _), after in zip(shown, [*shown, None][1:], strict=True):
        if kind != "stDataFrame":
            assert role == ("figure" if kind == "stPlotlyChart" else "img")
            assert len(words) > 40
            assert after is not None
            assert after[0] == "stDataFrame"
            assert words in after[1] + after[3]
    for kind, words, _, inner in shown:
        assert kind != "stDataFrame" or len(words + inner.removeprefix("Show/hide columns")) > 20


def check_navigation(page: Page) -> None:
    """The tab of the browser names the page, and every page that the navigation leads to is among
    ours.
    """
    name = urlsplit(page.url).path.strip("/") or "explore"
    assert page.title().startswith(f"{name.capitalize()} ·")
    links = page.get_by_test_id("stTopNavLink").all()
    paths = {urlsplit(link.get_attribute("href")).path for link in links}
    assert paths == FILES
    assert [link.inner_text().strip() for link in links] == list(NAVIGATION)


def check_contrast_in_the_dark(page: Page) -> None:
    """Axe finds no weak contrast in the dark."""
    set_theme(page, "dark")
    assert faults(page, "color-contrast", "link-in-text-block") == []
    set_theme(page, "light")


@pytest.mark.parametrize("name", PLACES)
def test_a_place_is_for_every_reader(regular, server, subtests, name):
    """A place of the dashboard with everything open on it that can be opened: one visit, several
    looks.
    """
    with visit(regular, server) as page:
        arrive(page, server, name, PLACES[name])
        page.locator("h1").first.wait_for()
        wait_idle(page)
        open_everything(page)
        assert page.locator("[data-testid=stException]").count() == 0
        with subtests.test("the navigation is known"):
            check_navigation(page)
        with subtests.test("every chart has a sentence and a table"):
            check_charts(page)
        for width in (ENLARGED, NARROW):
            with subtests.test("nothing scrolls sideways", width=width):
                check_width(page, width)
        page.set_viewport_size({"width": WIDE, "height": HEIGHT})
        wait_idle(page)
        # Left out by axe all the same, but a page of many formulas takes it ten times as long to
        # leave them out.
        page.evaluate("() => document.querySelectorAll('.katex').forEach(e => e.remove())")
        with subtests.test("axe finds nothing that is ours"):
            check_faults(name, page)
        with subtests.test("axe finds no weak contrast in the dark"):
            check_contrast_in_the_dark(page)


@pytest.mark.parametrize("tour", TOURS)
def test_what_no_link_opens(regular, server, subtests, tour):
    """All of the above, in one visit, at every stop of a tour; light and dark take turns."""
    with visit(regular, server) as page:
        for stop, theme in zip(TOURS[tour](page, server), cycle(("light", "dark")), strict=False):
            open_everything(page)
            with subtests.test("words of charts in the ink of the page", stop=stop, theme=theme):
                set_theme(page, theme)
            with subtests.test("axe finds nothing that is ours", stop=stop, theme=theme):
                check_faults(f"{tour} {stop}", page)
            with subtests.test("every chart has a sentence and a table", stop=stop):
                check_charts(page)
            with subtests.test("nothing scrolls sideways", stop=stop, width=NARROW):
                check_width(page, NARROW)
            page.set_viewport_size({"width": WIDE, "height": HEIGHT})


# --- by keys alone --------------------------------------------------------------------------------

STOP = """([selector, name]) => { const e = document.activeElement
  const rings = n => { const s = getComputedStyle(n), box = n.getBoundingClientRect()
    return s.outlineStyle === 'solid' && parseFloat(s.outlineWidth) >= 2 && s.outlineColor !== 'rgba(0, 0, 0, 0)'
           && box.width > 4 && box.bottom > 0 && box.top < innerHeight }
  let n = e
  while (n && n !== document.body && !rings(n)) n = n.parentElement
  return { seen: n !== document.body && !!n, html: e.outerHTML.slice(0, 300),
           pane: ['BODY', 'MAIN'].includes(e.tagName),
           there: e.matches(selector) && (!name || e.innerText.trim() === name) } }"""
"""What has the keyboard: whether it shows a ring, is the page itself, or is what we look for."""


def tab_to(page: Page, selector: str, name: str = "", limit: int = 150) -> None:
    """Press Tab until the selector (and the words) match; wherever the keyboard is on the way, it
    can be seen.
    """
    for _ in range(limit):
        page.keyboard.press("Tab")
        at = page.evaluate(STOP, [selector, name])
        if not (at["seen"] or at["pane"]):  # what is drawn above it may still push it out of view
            wait_idle(page)
            at = page.evaluate(STOP, [selector, name])
        assert at["seen"] or at["pane"], at[
            "html"
        ]  # the scrolling pane has a border of Streamlit's own
        if at["there"]:
            return
    raise AssertionError(f"Not reached within {limit} presses: {selector} {name}")


def go_to(page: Page, name: str, heading: str) -> None:
    """Another page, through the navigation."""
    tab_to(page, "[data-testid=stTopNavLink]", name)
    page.keyboard.press("Enter")
    page.locator("h1", has_text=heading).wait_for()


def test_the_main_tasks_by_keys_alone(open_page):
    page = open_page("/?d=2&n=5000&mechanisms=objective")
    wait_chart(page, "chart_intervals")
    tab_to(page, ".st-key-total_number input")
    page.keyboard.press("Control+a")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    wait_meta(page, "chart_intervals", "total", 2.0)
    wait_idle(page)
    tab_to(page, ".st-key-total_slider input[type=range]")
    page.keyboard.press("ArrowRight")
    wait_meta(page, "chart_intervals", "total", 2.25)
    page.locator(".st-key-use_split").wait_for()  # what was left for later is drawn
    wait_idle(page)
    tab_to(page, ".st-key-use_split button")
    split = parse_qs(urlsplit(page.url).query)["split"]
    page.keyboard.press("Enter")
    page.wait_for_function(
        "was => new URLSearchParams(location.search).get('split') !== was", arg=split[0]
    )
    wait_idle(page)
    go_to(page, "Plan", "Budget, records, precision")
    wait_chart(page, "chart_plan_map")
    go_to(page, "Learn", SCREENS[0].title)
    tab_to(page, ".st-key-learn_promise_answer input[type=radio]")
    page.keyboard.press("Space")
    wait_chart(page, "chart_learn_promise")
    tab_to(page, ".st-key-learn_promise_slider input[type=range]")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "() => document.querySelector('.st-key-chart_learn_promise .picture').drawing.meta.value === 0.94"
    )
    tab_to(page, "button", "Next →")
    page.keyboard.press("Enter")
    page.get_by_text("Screen 2 of 15").wait_for()
    assert page.locator("[data-testid=stException]").count() == 0


@pytest.mark.parametrize("path", [*sorted(FILES), "/evidence?evidence=lengths"])
def test_one_press_leads_past_the_navigation(open_page, path):
    """To the open tab where tabs come first, else to the first slider, else to what can be filled
    in or pressed first; and it can be moved.
    """
    page = open_page(path)
    page.locator("h1").first.wait_for()
    if path == "/":
        wait_chart(page)
    has_tabs = path.startswith(("/about", "/evidence", "/learn"))
    controls = "[data-testid=stMain] " + (
        "[role=radiogroup] button[aria-checked=true]"
        if has_tabs
        else ":is(input, textarea, button, summary):not(.st-key-foot *)"
    )
    page.locator(controls).first.wait_for(state="attached")
    page.wait_for_load_state("networkidle")  # the code of a widget comes when it is drawn first
    wait_idle(page)
    tab_to(page, "#skip", limit=1)
    page.keyboard.press("Enter")
    at = page.evaluate(STOP, [controls, ""])
    assert at["there"], at["html"]
    assert at["seen"], at["html"]
    if path == "/":
        page.keyboard.press("ArrowRight")
        wait_meta(page, "chart_intervals", "total", 1.1)


def test_where_nothing_can_be_moved_one_press_leads_to_the_heading(open_page):
    page = open_page("/about")
    page.locator("[data-testid=stMain] [role=radiogroup]").first.wait_for()
    wait_idle(page)
    page.evaluate(
        """() => document.querySelectorAll(
             '[data-testid=stMain] :is(input, textarea, button, summary):not(.st-key-foot *)'
           ).forEach(one => { one.style.display = 'none' })"""
    )
    tab_to(page, "#skip", limit=1)
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.innerText") == "About"


# --- nothing moves unasked ------------------------------------------------------------------------

STILL = """() => new Promise(done => { let moved = 0
  const watch = new MutationObserver(found => moved += found.length)
  for (const svg of document.querySelectorAll('.js-plotly-plot, .picture'))
    watch.observe(svg, {subtree: true, childList: true, attributes: true})
  setTimeout(() => { watch.disconnect(); done(moved) }, 1500) })"""
GLIDING = """() => document.getAnimations().filter(a => a.playState === 'running'
  && (a instanceof CSSTransition || a instanceof CSSAnimation)
  && a.effect.getComputedTiming().activeDuration > 50).map(a => a.effect.target.outerHTML.slice(0, 200))"""
OPENED = """async () => { const box = document.querySelector('details:not([open])'), heights = new Set()
  box.querySelector('summary').click()
  for (const start = performance.now(); performance.now() - start < 700;) {
    await new Promise(requestAnimationFrame)
    if (box.open) heights.add(Math.round(box.getBoundingClientRect().height)) }
  return heights.size }"""
"""Number of heights that an expander has while it opens."""


def test_no_picture_moves_by_itself(open_page):
    page = open_page("/learn?screen=noise")
    page.get_by_role("button", name="Show it without answering").click()
    wait_chart(page, "chart_learn_noise")
    page.wait_for_timeout(500)
    for motion in ("no-preference", "reduce"):
        page.emulate_media(reduced_motion=motion)
        assert page.evaluate(STILL) == 0


def test_with_reduced_motion_nothing_glides(open_page):
    page = open_page("/evidence")
    page.emulate_media(reduced_motion="reduce")
    page.locator("details:not([open]) > summary").first.wait_for()
    wait_idle(page)
    page.wait_for_timeout(2_000)  # what is in it may still arrive and make it taller
    assert page.evaluate(OPENED) <= 3  # gliding has a height for every frame
    page.goto(page.url.replace("/evidence", "/explore"))
    wait_chart(page, "chart_intervals")
    press(page, "total_slider")
    assert page.evaluate(GLIDING) == []
    wait_meta(page, "chart_intervals", "total", 1.1)
    assert page.evaluate(GLIDING) == []
