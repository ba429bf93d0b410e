"""A large table through the real server: its bytes never reach a file, a log, or another
browser.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.browser.driver import chart, go, server_process, wait_chart, wait_idle
from tests.browser.test_explore import choose
from tests.test_deployment import BASE, Container

pytestmark = pytest.mark.browser

MARKS = ("lovelace_shoe", "lovelace shoe", "ZanzibarLevel", "MsLovelacePlanted", "LovelaceFile")
"""What would give the file away: the first column as it is written, and as pictures write it."""
REMARK = "MsLovelacePlanted" * 20
CSV = "lovelace_shoe,city,remark,ill\n" + "\n".join(
    f"{7351946 + i % 47},{('q', 'ZanzibarLevel', 'q', 'r')[i % 4]},{REMARK},{'yn'[i * 7 % 5 < 2]}"
    for i in range(9_000)
)


@contextmanager
def watched(pid: int, folder: Path) -> Iterator[list[str]]:
    """Files that the process has open in a folder or that stand in it, nameless ones too, looked up
    all the time.
    """
    seen: set[str] = set()
    found: list[str] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                try:
                    target = os.readlink(entry)
                except OSError:
                    continue
                if target.startswith(str(folder)):
                    seen.add(target)
            seen.update(str(path) for path in folder.rglob("*"))
            time.sleep(0.001)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        is_over.set()
        thread.join()
        found.extend(sorted(seen))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_an_upload_reaches_neither_the_disk_nor_a_log_nor_another_browser(open_page, tmp_path):
    assert len(CSV) > 3 * 2**20
    with server_process(TMPDIR=str(tmp_path)) as server:
        page = open_page("/explore", at=server.address)
        wait_chart(page)
        choose(page, "dataset", "Your own file")
        page.get_by_text("Synthetic: made up").click()
        wait_idle(page)
        with watched(server.process.pid, tmp_path) as files:
            page.locator("input[type=file]").set_input_files(
                {"name": "LovelaceFile.csv", "mimeType": "text/csv", "buffer": CSV.encode()}
            )
            page.locator(".st-key-upload_target").wait_for()
        choose(page, "upload_target", "ill")
        choose(page, "upload_positive_ill", "y")
        wait_chart(page)
        page.locator(".picture", has_text="lovelace shoe").wait_for()
        other = open_page("/explore", at=server.address)
        wait_chart(other)
        shown = other.locator("[data-testid=stApp]").inner_html()
        assert not [mark for mark in MARKS if mark in shown or mark in page.url]
        for each in (page, other):
            each.close()
    assert files == []
    assert list(tmp_path.rglob("*")) == []
    assert not [mark for mark in MARKS if mark in server.output]


def test_the_image_works_on_read_only_files_under_a_base_path(open_page):
    container = Container()
    try:
        container.wait()
        page = open_page(f"/{BASE}/explore?n=5000", at=f"http://127.0.0.1:{container.port}")
        wait_chart(page, patience=180.0)  # it compiles first: what it compiled before is elsewhere
        assert chart(page, "chart_intervals")["meta"]["n"] == 5000
        assert page.locator("[data-testid=stException]").count() == 0
        go(page, "Evidence")
        page.get_by_role("button", name="Start the simulation").wait_for()
        assert f"/{BASE}/evidence" in page.url
        page.close()
        assert "Traceback" not in container.stop()
        assert container.listing() == container.files
    finally:
        container.remove()
