"""Explore and Start in a real browser: every control by keyboard or typing, and the chart's data
read back.
"""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest

from dpci_core.plan.link import pack
from dpci_core.privacy.budget import pure_risk
from dpci_core.report.words import at_most
from tests.browser.driver import (
    chart,
    press,
    type_number,
    wait_chart,
    wait_frames,
    wait_idle,
    wait_meta,
)
from tests.browser.screenshots import DRAFT
from tests.ui.views.test_charts import THEME, contrast

pytestmark = pytest.mark.browser

SLIDERS = [
    ("total_slider", "total", lambda before, after: after > before),
    ("n_slider", "n", lambda before, after: after > before),
    ("c_slider", "c", lambda before, after: after > before),
]
OTHER_SLIDERS = [("split_slider", "effects 51"), ("d_slider", "8")]


def test_explore_is_downloaded_moved_by_keys_and_left_for_a_private_file(
    open_page, subtests, tmp_path
):
    page = open_page("/explore")
    wait_chart(page)
    for slider, name, moved in SLIDERS:
        with subtests.test("a slider moves by keyboard and the chart follows", slider=slider):
            check_slider(page, slider, name, moved)
    for slider, text in OTHER_SLIDERS:
        with subtests.test("a slider moves by keyboard", slider=slider):
            link = page.url
            press(page, slider)
            page.wait_for_function("link => location.href !== link", arg=link)
            wait_idle(page)
            page.wait_for_function(
                "([k, t]) => document.querySelector(`.st-key-compact_${k}`).innerText.includes(t)"
                " || document.querySelector(`.st-key-${k}_number input`)?.value === t",
                arg=[slider.removesuffix("_slider"), text],
            )
    with subtests.test("the numbers download as CSV"):
        page.get_by_role("radio", name="More").click()
        choose(page, "further_tab", "Table")
        check_download(page, tmp_path / "numbers.csv")
    with subtests.test("the private way is explained and offers no uploader"):
        choose(page, "dataset", "Your own file")
        page.get_by_text("Private records of people").click()
        page.get_by_text("is not opened here").wait_for()
        assert page.locator("[data-testid=stFileUploader]").count() == 0


def check_download(page, file):
    page.get_by_role("button", name="Download CSV").first.wait_for()
    wait_idle(page)  # a run that ends gives the file another name
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").first.click()
    waiting.value.save_as(file)
    lines = file.read_text().splitlines()
    assert lines[0].startswith("combination,coefficient,estimate")
    assert len(lines) == 1 + 9  # one feature more than at first


def check_slider(page, slider, name, moved):
    before = chart(page, "chart_intervals")
    press(page, slider)
    page.wait_for_function(
        "([n, v]) => document.querySelector('.st-key-chart_intervals .picture').drawing.meta[n] !== v",
        arg=[name, before["meta"][name]],
    )
    after = chart(page, "chart_intervals")
    assert moved(before["meta"][name], after["meta"][name])
    lengths = [
        [high - low for _, low, high, kind in drawn["bars"] if kind == 1]
        for drawn in (before, after)
    ]
    ratio = lengths[1][0] / lengths[0][0]
    if name == "c":  # so small that it hardly matters to a target without penalty
        assert 0.97 < ratio < 1.03
    else:
        assert ratio < 1.0, "more budget and more records shorten the interval"
    wait_idle(page)


def test_a_typed_budget_reaches_chart_slider_and_link(open_page):
    page = open_page("/explore")
    wait_chart(page)
    type_number(page, "total_number", "2.345")
    wait_meta(page, "chart_intervals", "total", 2.345)
    wait_idle(page)
    slider = page.locator(".st-key-total_slider input[type=range]")
    assert "2.34" in (slider.get_attribute("aria-valuetext") or "")
    assert "split=" in page.url
    again = open_page("/explore?" + page.url.split("?", 1)[1])
    wait_chart(again)
    kept = ("bars", "dots", "tables", "title", "footer")
    first, second = (chart(at, "chart_intervals") for at in (page, again))
    assert {name: first[name] for name in kept} == {name: second[name] for name in kept}


def choose(page, key, text):
    field = page.locator(f".st-key-{key} [data-testid=stSelectbox] input")
    if key == "dataset" and not field.count():
        page.locator(".st-key-choice_data button").click()
    field.scroll_into_view_if_needed()
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    field.click()  # scrolling that has not ended would close the list
    page.get_by_role("option", name=text).first.click()
    wait_idle(page)
    if key == "dataset":
        page.keyboard.press("Escape")


CSV = "wingspan_cm,weight,city,ill\n" + "\n".join(
    f"{150 + i % 47},{50 + i % 61},{'pqr'[i % 3]},{'yes' if (i * 7) % 5 < 2 else 'no'}"
    for i in range(900)
)


def test_what_a_typed_budget_promises_is_that_of_this_budget(open_page, subtests):
    """The slider passed other places on its way, and the words of one of them stayed."""
    page = open_page("/explore")
    wait_chart(page)
    for typed in (3.0, 4.0, 0.75, 0.3, 5.0, 0.6):
        wait_frames(page, "total_slider")
        type_number(page, "total_number", f"{typed:g}")
        wait_meta(page, "chart_intervals", "total", typed)
        wait_idle(page)
        said = " ".join(page.locator(".odds").inner_text().split())
        with subtests.test(typed):
            assert f"at most {at_most(pure_risk(typed))} sure" in said


def test_a_comma_reaches_the_page_as_it_was_typed_and_is_refused(open_page):
    """A browser leaves the comma out of a field of numbers: 0,5 would be a budget of 5."""
    page = open_page("/")
    wait_chart(page)
    field = page.locator(".st-key-total_number input")
    field.click()
    field.press("Control+a")
    page.keyboard.type("0,5")
    assert field.input_value() == "0,5"
    field.press("Enter")
    page.get_by_text("Type a number with a decimal point").wait_for()
    wait_idle(page)
    assert field.input_value() == "0,5"  # to be corrected where it stands
    assert chart(page, "chart_intervals")["meta"]["total"] == 1.0


def test_what_is_closed_at_first_opens_with_its_values(open_page):
    """A browser makes what stands in a popover when it is opened; what it was set to before that
    is gone by then, and it would show, and send, the smallest value.
    """
    page = open_page("/explore")
    wait_chart(page, "chart_intervals")
    page.locator(".st-key-outcome").get_by_text("A number").click()
    page.get_by_text("differences in mmHg").wait_for()
    wait_idle(page)
    page.get_by_text("Method:").first.click()
    level = page.locator(".st-key-level_number input")
    level.wait_for()
    assert float(level.input_value()) == 0.95
    page.locator(".st-key-linear_steps button").last.click()
    wait_idle(page)
    assert "95" in page.locator(".picture").get_by_text("confidence intervals").inner_text()
    page.keyboard.press("Escape")
    page.get_by_text("Amounts, locks").click()
    share = page.locator(".st-key-model_slider input[type=range]")
    share.wait_for()
    assert share.input_value() == "70"


def bring_file(page):
    choose(page, "dataset", "Your own file")
    page.get_by_text("Synthetic: made up").click()
    wait_idle(page)
    page.locator("input[type=file]").set_input_files(
        {"name": "mine.csv", "mimeType": "text/csv", "buffer": CSV.encode()}
    )
    page.locator(".st-key-upload_target").wait_for()
    choose(page, "upload_target", "ill")
    choose(page, "upload_positive_ill", "yes")
    wait_chart(page)


def test_an_upload_stays_in_the_session_that_made_it(open_page):
    mine, other = open_page("/explore"), open_page("/explore")
    wait_chart(mine)
    wait_chart(other)
    bring_file(mine)
    assert "wingspan cm" in mine.locator(".picture").inner_html()
    press(other, "total_slider")
    wait_idle(other)
    assert "wingspan" not in other.locator("[data-testid=stApp]").inner_html()
    assert "wingspan_cm" not in mine.url
    assert "mine.csv" not in mine.url
    second_tab = open_page("/explore?" + mine.url.partition("?")[2])
    wait_chart(second_tab)
    assert "wingspan" not in second_tab.locator("[data-testid=stApp]").inner_html()


def box(page, selector):
    return page.evaluate(
        "s => { const b = document.querySelector(s).getBoundingClientRect();"
        " return [b.left, b.top, b.right, b.bottom] }",
        selector,
    )


@pytest.mark.parametrize("query", ["", "?losses=logistic~huber_svm"])
def test_controls_and_chart_are_on_one_screen_without_scrolling(open_page, query):
    page = open_page(f"/{query}")
    wait_chart(page)
    main = "document.querySelector('[data-testid=stMain]')"
    if not query:
        assert page.evaluate(f"() => {main}.scrollHeight - {main}.clientHeight") <= 0
    sliders = ["total", "split", "n", "d", "c", *(["h"] if query else [])]
    for name in sliders:
        left, top, right, bottom = box(page, f".st-key-{name}_slider")
        assert 0 <= left < right <= 1280
        assert 0 <= top < bottom <= 400
        assert name != "total" or right - left > 640
    _, top, _, bottom = box(page, ".picture .canvas svg")
    assert top < 520
    assert query or bottom <= 900
    assert page.locator("[data-testid=stSidebar]").is_hidden()


def test_on_a_phone_the_chart_is_above_a_bar_and_settings_open_over_half_the_screen(open_page):
    page = open_page("/", width=390, height=844)
    wait_chart(page)
    assert page.locator(".st-key-total_slider").is_visible()
    assert page.locator(".odds").is_visible()
    assert page.locator(".st-key-split_slider").is_hidden()
    page.get_by_text("Settings", exact=True).click()
    for name in ("split", "n", "d", "c"):
        page.locator(f".st-key-{name}_slider").wait_for()
    _, top, _, bottom = box(page, ".st-key-controls")
    assert top >= 844 * 0.45
    assert bottom == 844
    press(page, "n_slider")
    page.wait_for_function(
        "() => document.querySelector('.picture').drawing.meta.n === 40000", timeout=30_000
    )
    page.get_by_text("Settings", exact=True).click()
    page.locator(".st-key-split_slider").wait_for(state="hidden")


def test_on_a_phone_the_axis_of_a_number_is_above_the_bar_and_what_goes_on_sideways_fades(
    open_page,
):
    page = open_page("/", width=390, height=844)
    wait_chart(page)
    page.get_by_role("radio", name="A number").click()
    page.get_by_text("confidence intervals for differences in mmHg").wait_for()
    wait_idle(page)
    axis = page.locator(".picture svg text", has_text="coefficient, for the step").last
    page.wait_for_function(
        "([text, bar]) => text.getBoundingClientRect().bottom <= bar.getBoundingClientRect().top",
        arg=[axis.element_handle(), page.locator(".st-key-controls").element_handle()],
    )
    fades = "e => [getComputedStyle(e).maskImage !== 'none', e.scrollWidth > e.clientWidth]"
    assert page.locator(".st-key-choices").evaluate(fades) == [True, True]
    left, _, right, _ = box(page, ".st-key-choice_method")
    assert left < 374 < right, "it shows that there is more"
    page.locator(".st-key-choices").evaluate("e => e.scrollTo(9999, 0)")
    _, _, right, _ = box(page, ".st-key-choice_method")
    assert right <= 390 - 16 - 32 + 1, "the last one is not under the fade"


ABOVE_THE_BAR = """([text, bar]) =>
  text.getBoundingClientRect().bottom <= bar.getBoundingClientRect().top"""


def test_on_a_short_phone_picture_axis_and_slider_are_seen_together(open_page):
    page = open_page("/", width=390, height=667)
    wait_chart(page)
    for choice, axis, head in (
        (None, "odds ratio, for the step", "÷ without privacy"),
        ("A number", "coefficient, for the step", "÷ without privacy"),
    ):
        if choice:
            page.get_by_role("radio", name=choice).click()
            page.locator(".picture .sub", has_text="differences in mmHg").wait_for()
            wait_idle(page)
        ends = page.locator(".picture svg text", has_text=axis).last
        parts = [ends.element_handle(), page.locator(".st-key-controls").element_handle()]
        page.wait_for_function(ABOVE_THE_BAR, arg=parts)
        assert box(page, ".st-key-total_slider")[3] <= 667
        assert head in page.locator(".picture svg text").all_text_contents()
        assert overlaps(page) == [], "the head is in nobody's way"


def overlaps(page):
    """What the head of the numbers at the right covers."""
    return page.evaluate(
        """() => {
          const boxes = [...document.querySelectorAll('.picture .canvas svg text')]
            .map(e => [e.textContent, e.getBoundingClientRect()])
          const [, head] = boxes.find(([text]) => text.startsWith('÷'))
          return boxes.filter(([text, box]) => !text.startsWith('÷')
            && head.left < box.right - 1 && box.left < head.right - 1
            && head.top < box.bottom - 3 && box.top < head.bottom - 3).map(([text]) => text)
        }"""
    )


def test_on_a_phone_the_numbers_at_the_right_have_a_head_in_both_terms(open_page):
    page = open_page("/", width=390, height=844)
    wait_chart(page)
    assert "÷ without privacy" in page.locator(".picture svg text").all_text_contents()
    page.locator(".st-key-choices").get_by_role("radio", name="As in the paper").click()
    page.locator(".picture .sub", has_text="penalised at c").wait_for()
    wait_idle(page)
    assert "÷ variability" in page.locator(".picture svg text").all_text_contents()
    assert overlaps(page) == []


def test_the_line_of_an_open_card_can_be_read_in_the_dark(open_page):
    page = open_page("/plan?" + urlencode({"draft": pack(DRAFT)}), theme="dark")
    line = page.locator("[class*=st-key-card_] button[kind=tertiary][aria-expanded=true]").first
    line.wait_for()
    wait_idle(page)
    colour = line.evaluate("e => getComputedStyle(e).color")
    hexes = "#" + "".join(f"{int(x):02x}" for x in re.findall(r"\d+", colour)[:3])
    assert contrast(hexes, THEME["dark"]["backgroundColor"]) >= 4.5


def test_on_a_phone_every_page_can_be_reached_from_the_front(open_page):
    page = open_page("/")
    page.set_viewport_size({"width": 390, "height": 844})
    wait_chart(page)
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebarNavLink").get_by_text("Ledger", exact=True).click()
    page.get_by_role("heading", name="Ledger", exact=True).wait_for()


def test_what_is_told_of_the_split_is_not_read_once_an_input_has_changed(open_page):
    """Words about the split before stood beside the new total until its run had ended."""
    page = open_page("/explore")
    wait_chart(page)
    page.locator(".st-key-best_line", has_text="is better on average").wait_for()
    page.evaluate(
        """() => {
          window.read = []
          const look = () => {
            const line = document.querySelector('.st-key-best_line')
            const words = line.firstElementChild
            if (words && document.querySelector('[data-test-script-state=running]')
                && line.querySelector('[data-stale=true]') && words.innerText.includes('better on average'))
              window.read.push([getComputedStyle(words).opacity, getComputedStyle(line, '::before').content])
            requestAnimationFrame(look)
          }
          look()
        }"""
    )
    read: list[list[str]] = []
    for total in (0.87, 0.86, 0.85, 0.84):  # a busy browser may draw no frame in between
        type_number(page, "total_number", str(total))
        wait_meta(page, "chart_intervals", "total", total)
        wait_idle(page)
        if read := page.evaluate("() => window.read"):
            break
        page.locator(".st-key-best_line", has_text="is better on average").wait_for()
    assert read
    assert {tuple(one) for one in read} == {("0", '"computing …"')}


@pytest.mark.parametrize("width", [900, 1000, 1280])
def test_nothing_moves_when_the_best_split_is_known(open_page, width):
    """Sliders and chart went 14 to 53 pixels down beside a line that was there a second later."""
    split = f"0.4~0.3~{width / 4000}"  # of no other width: what is known comes at once
    page = open_page(f"/explore?split={split}&mechanisms=objective~output", width=width)
    wait_chart(page)
    line = page.locator(".st-key-best_line")
    line.get_by_text("Looking for the best split").wait_for()
    places = [page.locator(f".st-key-{key}") for key in ("n_slider", "amounts", "tabs")]
    before = [one.bounding_box() for one in places]
    line.get_by_role("button", name="Use the best split").wait_for()
    wait_idle(page)
    assert [one.bounding_box() for one in places] == before


OVER_THE_SLIDER = ("0.05", "0.1", "0.5", "1", "2", "5", "10")


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_nothing_moves_while_the_budget_does(open_page, width, height):
    """A box above the chart, a line more about a large budget and a title of two lines pushed
    sliders and chart 18 to 156 pixels down.
    """
    page = open_page("/explore", width=width, height=height)
    wait_chart(page)
    is_drawn = "document.querySelector('.picture .canvas svg')"
    seen = set()
    for typed in OVER_THE_SLIDER:
        type_number(page, "total_number", typed)
        wait_meta(page, "chart_intervals", "total", float(typed))
        wait_idle(page)
        page.wait_for_function(f"() => {is_drawn}")
        places = [box(page, one) for one in (".st-key-total_slider", ".picture .canvas")]
        seen.add(str([(top, bottom) for _, top, _, bottom in places]))
        assert page.locator(".odds").evaluate("e => getComputedStyle(e).fontSize") == (
            "15px" if width > 640 else "13px"
        )
    assert len(seen) == 1, seen
    axis = page.locator(".picture svg text", has_text="odds ratio, for the step").last
    if width < 640:
        bar = page.locator(".st-key-controls")
        assert page.evaluate(ABOVE_THE_BAR, [axis.element_handle(), bar.element_handle()])


def test_the_chart_keeps_its_height_when_the_best_split_arrives(open_page):
    """What moves with the slider took the place of the line below until the run had ended."""
    page = open_page("/explore?split=0.43~0.3~0.27")
    wait_chart(page)
    page.evaluate(
        """() => {
          window.heights = new Set()
          const chart = document.querySelector('.picture .canvas')
          new ResizeObserver(() => window.heights.add(chart.offsetHeight)).observe(chart)
        }"""
    )
    page.locator(".st-key-best_line").get_by_role("button").wait_for()
    wait_frames(page, "total_slider")
    wait_idle(page)
    assert len(page.evaluate("() => [...window.heights]")) == 1
