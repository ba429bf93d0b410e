"""Charts as files, opened: title, footer and link are in them, no word is cut and none covers
another.
"""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image

from tests.browser.driver import wait_idle
from tests.plan_examples import a_plan

pytestmark = pytest.mark.browser

WORDS = """() => [...document.querySelectorAll('text')].filter(t => t.textContent.trim()).map(t => {
  const box = t.getBoundingClientRect()
  return [t.textContent, box.left, box.top, box.right, box.bottom] })"""
STRANGE = "text { font-family: monospace !important; font-weight: 900 !important }"


def saved(page, kind: str) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Download the chart as {kind}").click()
    assert download.value.suggested_filename == f"dpci_sharp_census-10.{kind.lower()}"
    with open(download.value.path(), "rb") as file:
        return file.read()


def opened(open_page, browser, subtests, width: int, tmp_path) -> None:
    page = open_page("/evidence?evidence=lengths&compared=census-10", width=width)
    page.locator(".js-plotly-plot .scatterlayer").first.wait_for()
    wait_idle(page)
    finding = page.locator("h2").first.inner_text()
    page.get_by_role("button", name="Download", exact=True).first.click()
    page.get_by_role("button", name="Download the chart as SVG").wait_for()
    drawing = saved(page, "SVG").decode()
    picture = Image.open(io.BytesIO(saved(page, "PNG")))
    link = page.url
    page.close()

    root = ElementTree.fromstring(drawing)
    lines = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    with subtests.test("title, footer and link are in it"):
        assert finding in " ".join(lines)
        assert "◇ Simulated data · Simulated census" in " ".join(lines)
        assert link in "".join(lines)
        assert "data:font/woff2" in drawing

    path = tmp_path / "chart.svg"
    path.write_text(drawing, encoding="utf-8")
    for font in ("", STRANGE):
        with subtests.test("no word is cut or covered", font=font):
            other = browser.new_page()
            other.goto(f"file://{path}")
            if font:
                other.evaluate(
                    "css => { const s = document.querySelector('style'); s.textContent = css }",
                    font,
                )
            words = other.evaluate(WORDS)
            assert len(words) > 20
            across, down = (float(root.get(name)) for name in ("width", "height"))
            for words_, left, top, right, bottom in words:
                assert left >= -1, words_
                assert right <= across + 1, words_
                assert top >= -1, words_
                assert bottom <= down + 1, words_
            for i, (one, left, top, right, bottom) in enumerate(words):
                for two, left2, top2, right2, bottom2 in words[:i]:
                    wide = min(right, right2) - max(left, left2)
                    high = min(bottom, bottom2) - max(top, top2)
                    assert wide < 2 or high < 6, (one, two)
            other.close()
    with subtests.test("the PNG is the same picture, and not empty"):
        assert picture.size == (2 * int(across), 2 * int(down))
        ink = np.asarray(picture.convert("L")) < 128
        assert ink[:60].any()  # the title
        assert ink[-60:].any()  # the link
        assert 0.002 < ink.mean() < 0.2


@pytest.mark.parametrize("width", [1280, 390])
def test_a_chart_as_a_file_looks_like_the_page(open_page, browser, subtests, tmp_path, width):
    opened(open_page, browser, subtests, width, tmp_path)


def test_what_is_copied_from_a_page_is_what_was_typed(open_page):
    """No link, arrow or picture is made of it, and no character is put in to prevent that."""
    title = "www.evil.example eve@evil.example http://a.b :smile: -> <-> x -- y"
    page = open_page("/release?" + urlencode(a_plan(title=title).to_query()))
    shown = page.locator("[data-testid=stMain] strong", has_text="evil").first
    shown.wait_for()
    assert shown.evaluate("e => e.textContent") == title
    assert page.locator("[data-testid=stMain] a", has_text="evil").count() == 0
