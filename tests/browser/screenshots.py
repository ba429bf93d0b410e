"""Take a picture of every page, light and dark, wide and narrow: `python -m
tests.browser.screenshots`.

Release and Ledger show a made-up table, in a ledger that is thrown away.
"""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

from playwright.sync_api import Page, expect, sync_playwright

from dpci_core.ledger import Cap, Cost, Ledger
from dpci_core.plan.link import pack
from dpci_core.release import schema_hash
from tests.browser.driver import (
    BROWSER_ARGS,
    ROOT,
    find_browser,
    running_server,
    wait_chart,
    wait_idle,
)
from tests.ui.release.test_page import LINK, SCHEMA

DRAFT = {
    "n": "8000",
    "target": "ill",
    "rows": [
        {"column": "age", "kind": "number", "lowest": "18", "highest": "100", "units": "years"},
        {"column": "sex", "kind": "levels", "levels": "f; m", "shares": "60; 30"},
        {"column": "patient_id", "kind": "not in the model"},
        {"column": "bmi"},
        {"column": "ill", "kind": "levels", "levels": "no; yes"},
    ],
}
"""Columns of which one is wrong and one is not finished: their cards are open."""
PAGES: dict[str, tuple[str, str | None]] = {
    "learn": ("/learn?screen=odds", "chart_learn_odds"),
    "learn-teachers": ("/learn?learn=teachers", None),
    "about": ("/about", None),
    "explore": ("/", "chart_intervals"),
    "evidence": ("/evidence?d=5&n=5000", "chart_simulation"),
    "plan": ("/plan?step=choose", "chart_plan_map"),
    "plan-describe": ("/plan", None),
    "plan-cards": ("/plan?" + urlencode({"draft": pack(DRAFT)}), None),
    "release": ("/release?" + urlencode(LINK), None),
    "ledger": ("/ledger", None),
    "evidence-lengths": ("/evidence?evidence=lengths", "chart_sharp_adult-10"),
    "evidence-replication": ("/evidence?evidence=replication", "chart_published_2"),
}


def desk_server(desk: Path) -> AbstractContextManager[str]:
    """A dashboard with one data set and one charge in its ledger."""
    ledger = Ledger(desk / "ledger.sqlite", key_path=desk / "key")
    what = {"schema_hash": schema_hash(SCHEMA), "person": "Ada"}
    ledger.create_dataset("Clinic", cap=Cap.pure(3), unit="one patient", **what)
    cost = Cost(definition="pure", amount="0.5")
    made = ledger.book(
        "Clinic", cost=cost, purpose="Pilot", plan_hash="0" * 64, request_id="pilot", **what
    )
    ledger.finish(made.charge_id, result_hash="1" * 64)
    return running_server(
        DPCI_LEDGER=str(ledger.path),
        DPCI_LEDGER_KEY=str(desk / "key"),
        DPCI_RELEASES=str(desk / "releases"),
    )


ANSWERS = {"evidence": "Start the simulation", "learn": "Show it without answering"}
"""The button that brings the chart of a page."""


def arrive(page: Page, address: str, name: str, place: tuple[str, str | None]) -> None:
    """Open a page by its path and wait until it is drawn, up to the chart with the key."""
    where, key = place
    page.goto(address + where)
    if name in ANSWERS:
        page.get_by_role("button", name=ANSWERS[name]).click()
    if key is None:
        wait_idle(page)
        expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=60_000)
    else:
        wait_chart(page, key)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.browser.screenshots", description=__doc__
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "screenshots")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    path = find_browser()
    if path is None:
        raise SystemExit("No Chromium found: set DPCI_BROWSER or put chromium on PATH.")
    with (
        TemporaryDirectory() as desk,
        desk_server(Path(desk)) as address,
        sync_playwright() as play,
    ):
        browser = play.chromium.launch(executable_path=path, args=BROWSER_ARGS)
        for name, place in PAGES.items():
            for theme in ("light", "dark"):
                for width, height in ((1280, 1000), (390, 844)):
                    page = browser.new_page(
                        viewport={"width": width, "height": height}, color_scheme=theme
                    )
                    arrive(page, address, name, place)
                    page.wait_for_timeout(800)
                    file = out / f"{name}-{theme}-{width}.png"
                    page.screenshot(path=file)
                    print(f"{file.name}: {file.stat().st_size // 1024} kB")
                    page.close()
        browser.close()


if __name__ == "__main__":
    main()
