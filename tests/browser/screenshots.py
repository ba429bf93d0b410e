"""Take a picture of every page, light and dark, wide and narrow: `python -m tests.browser.screenshots`."""

from __future__ import annotations

import argparse
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.driver import BROWSER_ARGS, ROOT, find_browser, running_server, wait_chart

PAGES = {
    "start": ("/", "chart_home_intervals"),
    "explore": ("/explore", "chart_coverage"),
    "validate": ("/validate?d=5&n=5000", "chart_simulation"),
    "sharp": ("/sharp", "chart_only_corner"),
    "reproduce": ("/reproduce", "chart_published_table2"),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.browser.screenshots", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "screenshots")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    path = find_browser()
    if path is None:
        raise SystemExit("No Chromium found: set DPCI_BROWSER or put chromium on PATH.")
    with running_server() as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=BROWSER_ARGS)
        for name, (where, key) in PAGES.items():
            for theme in ("light", "dark"):
                for width, height in ((1280, 1000), (390, 844)):
                    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
                    page.goto(address + where)
                    if name == "validate":
                        page.get_by_role("button", name="Start the simulation").click()
                    wait_chart(page, key)
                    page.wait_for_timeout(800)
                    file = out / f"{name}-{theme}-{width}.png"
                    page.screenshot(path=file)
                    print(f"{file.name}: {file.stat().st_size // 1024} kB")
                    page.close()
        browser.close()


if __name__ == "__main__":
    main()
