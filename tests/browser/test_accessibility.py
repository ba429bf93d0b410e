"""Every page for every reader: axe-core in both themes, narrow, enlarged, by keys alone, and nothing moves unasked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.driver import ROOT, Noise, press, wait_chart, wait_idle, wait_meta
from tests.browser.screenshots import PAGES, arrive, desk_server

pytestmark = pytest.mark.browser

FILES = {"/" if file.stem == "home" else f"/{file.stem}" for file in (ROOT / "pages").glob("*.py")}
STATES = PAGES | {"validate": ("/validate?d=2&n=500", "chart_simulation")}  # a simulation that is soon done
PLACES = STATES | {path: (path, None) for path in FILES - {urlsplit(where).path for where, _ in STATES.values()}}
"""Every page of the navigation, some in several states."""
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
        ("plan", "plan-split", "release", "ledger", "validate"),
        "minor: the drop zone is presentation and has a label; the button in it has a name and works by keyboard",
    ),
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Iterator[str]:
    with desk_server(tmp_path_factory.mktemp("desk")) as address:
        yield address


@pytest.fixture(scope="module", params=PLACES)
def place(request, browser, desk) -> Iterator[tuple[str, Page]]:
    """A place of the dashboard with everything open on it that can be opened; without transitions, so at rest."""
    context = browser.new_context(viewport={"width": WIDE, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    noise = Noise(page, desk)
    arrive(page, desk, request.param, PLACES[request.param])
    page.locator("h1").first.wait_for()
    wait_idle(page)
    while closed := page.locator("details:not([open]) > summary").all():
        for summary in closed[::-1]:
            summary.dispatch_event("click")
        wait_idle(page)
    yield request.param, page
    context.close()
    noise.check()


def faults(page: Page, *rules: str) -> list[tuple[str, str, str]]:
    """Rule, element and what is wrong with it, for everything that axe finds."""
    # Formulas are KaTeX's own markup, in the colour of the text around them, and most of the elements of a page.
    page.evaluate("() => document.querySelectorAll('.katex').forEach(e => e.remove())")
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": rules}
    found = Axe().run(page, options=options).response["violations"]
    return [(rule["id"], node["html"], node["failureSummary"]) for rule in found for node in rule["nodes"]]


def test_every_page_of_the_navigation_is_visited(place):
    _, page = place
    paths = {urlsplit(link.get_attribute("href")).path for link in page.get_by_test_id("stTopNavLink").all()}
    assert paths == FILES


@pytest.mark.parametrize("width", [ENLARGED, NARROW])
def test_nothing_scrolls_sideways(place, width):
    _, page = place
    page.set_viewport_size({"width": width, "height": 844})
    wait_idle(page)
    page.wait_for_function(
        """() => [document.documentElement,
                  ...document.querySelectorAll('[data-testid=stMain], [data-testid=stSidebar][aria-expanded=true]')]
                 .every(e => e.scrollWidth <= e.clientWidth)""",
        timeout=10_000,
    )
    page.set_viewport_size({"width": WIDE, "height": 900})


def test_axe_finds_nothing_that_is_ours(place):
    name, page = place
    found, known = faults(page), [k for k in KNOWN if name in k.places]
    for k in known:
        assert any(rule == k.rule and k.part in html for rule, html, _ in found), f"No longer needed: {k}"
    assert [f for f in found if not any(f[0] == k.rule and k.part in f[1] for k in known)] == []


def test_axe_finds_no_weak_contrast_in_the_dark(place):
    _, page = place
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("() => getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
    assert faults(page, "color-contrast", "link-in-text-block") == []
    strange = """() => { const ink = getComputedStyle(document.querySelector('.stApp')).color
        return [...document.querySelectorAll('.js-plotly-plot .main-svg text')]
               .filter(t => !t.closest('.hoverlayer') && getComputedStyle(t).fill !== ink).length }"""
    assert page.evaluate(strange) == 0
    page.emulate_media(color_scheme="light")


def test_every_chart_has_a_sentence_and_a_table(place):
    _, page = place
    shown = page.evaluate(
        """() => [...document.querySelectorAll('[data-testid=stPlotlyChart], [data-testid=stDataFrame]')].map(e =>
               [e.dataset.testid, e.getAttribute('aria-label') || '', e.getAttribute('role')
                || '', [...e.querySelectorAll('[aria-label]')].map(x => x.getAttribute('aria-label')).join('|')])"""
    )
    for (kind, words, role, _), after in zip(shown, [*shown, None][1:], strict=True):
        if kind == "stPlotlyChart":
            assert role == "figure"
            assert len(words) > 40
            assert after is not None
            assert after[0] == "stDataFrame"
            assert words in after[1] + after[3]
    for kind, words, _, inner in shown:
        assert kind == "stPlotlyChart" or len(words + inner.removeprefix("Show/hide columns")) > 20


# --- by keys alone -----------------------------------------------------------------------------------------------

FOCUSED = """() => { const e = document.activeElement
  for (let n = e; n && n !== document.body; n = n.parentElement) {
    const s = getComputedStyle(n), box = n.getBoundingClientRect()
    if (s.outlineStyle === 'solid' && parseFloat(s.outlineWidth) >= 2 && s.outlineColor !== 'rgba(0, 0, 0, 0)'
        && box.width > 4 && box.bottom > 0 && box.top < innerHeight) return true
  }
  return false }"""
INSIDE = "([key, kind]) => document.activeElement.matches(`.st-key-${key} ${kind}`)"
NAMED = "([kind, name]) => document.activeElement.matches(kind) && document.activeElement.innerText.trim() === name"


def tab_to(page: Page, is_there: str, *args: str, limit: int = 150) -> None:
    """Press Tab until the predicate holds; wherever the keyboard is on the way, it can be seen."""
    for _ in range(limit):
        page.keyboard.press("Tab")
        if page.evaluate("() => ['BODY', 'MAIN'].includes(document.activeElement.tagName)"):
            continue  # Streamlit's scrolling pane shows a border of its own
        assert page.evaluate(FOCUSED), page.evaluate("() => document.activeElement.outerHTML.slice(0, 300)")
        if page.evaluate(is_there, list(args)):
            return
    raise AssertionError(f"Not reached within {limit} presses: {args}")


def go_to(page: Page, name: str) -> None:
    """Another page, through the navigation."""
    tab_to(page, NAMED, "[data-testid=stTopNavLink]", name)
    page.keyboard.press("Enter")
    page.locator("h1", has_text=name).wait_for()


def test_the_main_tasks_by_keys_alone(desk, open_page):
    page = open_page("/?d=2&n=5000&mechanisms=objective", at=desk)
    wait_chart(page, "chart_home_intervals")
    go_to(page, "Explore")
    wait_chart(page, "chart_coverage")
    tab_to(page, INSIDE, "total_slider", "input[type=range]")
    page.keyboard.press("ArrowRight")
    wait_meta(page, "chart_intervals", "total", 1.1)
    tab_to(page, INSIDE, "total_number", "input")
    page.keyboard.press("Control+a")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    wait_meta(page, "chart_intervals", "total", 2.0)
    wait_idle(page)
    go_to(page, "Plan")
    wait_chart(page, "chart_plan_map")
    tab_to(page, INSIDE, "look", "button")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    wait_chart(page, "chart_plan_split")
    tab_to(page, INSIDE, "use_split", "button")
    page.keyboard.press("Enter")
    page.locator(".st-key-use_split button[disabled]").wait_for()
    go_to(page, "Learn")
    tab_to(page, INSIDE, "learn_promise_answer", "input[type=radio]")
    page.keyboard.press("Space")
    wait_chart(page, "chart_learn_promise")
    tab_to(page, INSIDE, "learn_promise_slider", "input[type=range]")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "() => document.querySelector('.st-key-chart_learn_promise .js-plotly-plot').layout.meta.value === 0.94"
    )
    tab_to(page, NAMED, "button", "Next →")
    page.keyboard.press("Enter")
    page.get_by_text("Screen 2 of 14").wait_for()
    assert page.locator("[data-testid=stException]").count() == 0


# --- nothing moves unasked ---------------------------------------------------------------------------------------

STILL = """() => new Promise(done => { let moved = 0
  const watch = new MutationObserver(found => moved += found.length)
  for (const svg of document.querySelectorAll('.js-plotly-plot, [class*=st-key-live_]'))
    watch.observe(svg, {subtree: true, childList: true, attributes: true})
  setTimeout(() => { watch.disconnect(); done(moved) }, 1500) })"""
LONG = """() => document.getAnimations().filter(a => a.playState === 'running'
  && a.effect.getComputedTiming().activeDuration > 50).map(a => a.effect.target.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_no_picture_moves_by_itself(desk, open_page, motion):
    page = open_page("/learn?screen=noise", at=desk)
    page.emulate_media(reduced_motion=motion)
    page.get_by_role("button", name="Show it without answering").click()
    wait_chart(page, "chart_learn_noise")
    page.wait_for_timeout(500)
    assert page.evaluate(STILL) == 0
    assert page.evaluate("() => document.querySelector('.js-plotly-plot').layout.transition") is None


def test_with_reduced_motion_nothing_glides(desk, open_page):
    page = open_page("/explore", at=desk)
    page.emulate_media(reduced_motion="reduce")
    wait_chart(page, "chart_coverage")
    page.locator("summary").first.click()
    assert page.evaluate(LONG) == []
    press(page, "total_slider")
    assert page.evaluate(LONG) == []
    wait_meta(page, "chart_intervals", "total", 1.1)
    assert page.evaluate(LONG) == []
