"""Unmistakable values in a table of one session, and every place outside that session where they
could turn up.
"""

from __future__ import annotations

import gc
import json
import logging
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from ui.evidence.coverage.job import Job
from ui.plan.job import PlanJob
from ui.session import jobs

ROOT = Path(__file__).resolve().parents[1]
NAME, LEVEL, TEXT, NUMBER = "lovelace_shoe", "ZanzibarLevel", "MsLovelacePlanted", 7_351_946.25
PLANTED = (NAME, LEVEL, TEXT, "7351946", "7,351,946")
ROWS = 397
"""A number of rows that no other table of the tests has: an array of this length is the planted
table.
"""
CSV = f"{NAME},city,remark,ill\n" + "\n".join(
    f"{NUMBER + i % 40},{('q', LEVEL, 'q', 'r')[i % 4]},"
    f"{TEXT}{i % 7},{'yes' if i * 7 % 5 < 2 else 'no'}"
    for i in range(ROWS)
)


def session(page: str = "explore") -> AppTest:
    app = AppTest.from_file(str(ROOT / "ui" / "shell.py"), default_timeout=60).run()
    return go_to(app, page)


def go_to(app: AppTest, page: str) -> AppTest:
    app.switch_page(str(ROOT / "pages" / f"{page}.py")).run()
    assert not app.exception
    return app


def shown(app: AppTest) -> str:
    """Everything a page sends to its browser."""
    return "\n".join(str(element.proto) for element in app.main if hasattr(element, "proto")) + str(
        app._tree
    )


def ours(name: str) -> bool:
    return name.split(".")[0] in ("ui", "dpci_core", "app")


def held_by_modules() -> Iterator[object]:
    """Whatever can be reached from the modules of this project without going through other packages
    or a session.
    """
    modules = dict(sys.modules)
    foreign = {id(vars(module)) for name, module in modules.items() if not ours(name)}
    stack: list[object] = [vars(module) for name, module in modules.items() if ours(name)]
    seen: set[int] = set()
    while stack:
        value = stack.pop()
        if (
            id(value) in seen
            or id(value) in foreign
            or isinstance(value, types.ModuleType | types.FrameType)
        ):
            continue
        if isinstance(value, type) and not ours(value.__module__):
            continue
        seen.add(id(value))
        yield value
        stack.extend(gc.get_referents(value))


def traces() -> list[str]:
    """Where the planted table stands among the things the process shares between sessions."""
    found = []
    for value in held_by_modules():
        if isinstance(value, str) and any(mark in value for mark in PLANTED):
            found.append(f"text {value[:60]!r}")
        elif isinstance(value, bytes) and any(mark.encode() in value for mark in PLANTED):
            found.append(f"bytes {value[:60]!r}")
        elif isinstance(value, pd.DataFrame | pd.Series) and len(value) == ROWS:
            found.append(f"table {value.shape}")
        elif isinstance(value, np.ndarray) and ROWS in value.shape:
            found.append(f"array {value.shape}")
    return found


def wait(is_over: Callable[[], bool]) -> None:
    end = time.monotonic() + 90
    while not is_over():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """A session that planted its table and went through the pages, another that did not, and what
    was logged.
    """
    logged: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(handler.format(record))  # type: ignore[method-assign]
    places = [
        logging.getLogger(),
        *(logging.getLogger(n) for n in list(logging.root.manager.loggerDict)),
    ]
    for logger in places:
        logger.addHandler(handler)
    folder = tmp_path_factory.mktemp("tmp")
    patch = pytest.MonkeyPatch()
    patch.setenv("DPCI_LEDGER", str(folder / "ledger.sqlite"))
    patch.setattr(tempfile, "tempdir", str(folder))
    before = {path for path in ROOT.rglob("*") if ".git" not in path.parts}
    mine, other = session(), session()
    others = ""
    mine.selectbox(key="dataset").set_value("upload").run()
    mine.radio(key="upload_kind").set_value("declared synthetic").run()
    mine.file_uploader(key="upload_file").upload("LovelaceFile.csv", CSV.encode(), "text/csv").run()
    mine.selectbox(key="upload_target").set_value("ill").run()
    mine.selectbox(key="upload_positive_ill").set_value("yes").run()
    explored = shown(mine)
    assert not mine.exception
    go_to(mine, "evidence")
    mine.button(key="start").click().run()
    job = jobs.QUEUE.find(mine.session_state["job"])
    assert isinstance(job, Job)
    wait(lambda: job.progress is not None or not job.is_active)
    if job.is_active:  # far enough to have the table at hand; to the end it would take a minute
        jobs.QUEUE.cancel(job)
    wait(lambda: not job.is_active)
    assert job.state in ("done", "cancelled"), job.problem
    mine.run()
    go_to(mine, "plan")
    search = jobs.find(mine.session_state["plan_job"])
    assert isinstance(search, PlanJob)
    wait(lambda: not search.is_active)
    planned = shown(mine.run())
    declared = [shown(go_to(mine, page)) for page in ("ledger", "release")]
    for page in ("explore", "evidence", "plan", "ledger", "release"):
        go_to(other, page)
        others += shown(other)
    yield {
        "mine": mine,
        "others": others,
        "planned": planned,
        "declared": declared,
        "explored": explored,
        "job": job,
        "search": search,
        "logged": "\n".join(logged),
        "written": {path for path in ROOT.rglob("*") if ".git" not in path.parts} - before,
        "folder": folder,
    }
    patch.undo()
    for logger in places:
        logger.removeHandler(handler)


def test_the_table_was_used(used):
    assert NAME in used["explored"]
    assert LEVEL in used["explored"]
    assert used["mine"].session_state["upload"].frame.shape == (ROWS, 4)


def test_the_search_finds_what_is_there():
    from ui.session.compute import PUBLIC

    PUBLIC._moments.get("planted", lambda: f"x{TEXT}x")
    PUBLIC._records.get("planted", lambda: types.SimpleNamespace(X=np.zeros((ROWS, 3))))
    try:
        assert any(TEXT in trace for trace in traces())
        assert any("array" in trace for trace in traces())
    finally:
        del PUBLIC._moments._values["planted"]
        del PUBLIC._records._values["planted"]


def test_nothing_of_the_table_is_shared_between_sessions(used):
    assert traces() == []


def test_a_simulation_that_ended_has_let_go_of_the_table(used):
    assert used["job"].X is None
    assert used["job"].y is None
    assert used["job"].is_private_to_session


def test_a_search_that_ended_has_let_go_of_the_table_and_of_its_answers(used):
    assert used["search"].state == "done"
    assert used["search"].parts == ()
    assert used["search"].memo is None
    assert used["search"].held > 0


def test_the_other_session_sees_nothing(used):
    assert "The ledger is empty" in used["others"]
    assert "you **describe**" in used["others"]
    assert not [mark for mark in (*PLANTED, "LovelaceFile") if mark in used["others"]]


def test_the_pages_of_declared_tables_know_nothing_of_an_upload(used):
    assert NAME in used["planned"]
    assert not [
        mark for mark in (*PLANTED, "LovelaceFile") for page in used["declared"] if mark in page
    ]


def test_the_link_holds_nothing(used):
    link = json.dumps(dict(used["mine"].query_params))
    assert not [mark for mark in (*PLANTED, "upload", "Lovelace", "job") if mark in link]


def test_nothing_is_logged(used):
    assert not [mark for mark in (*PLANTED, "LovelaceFile") if mark in used["logged"]]


def test_nothing_is_written(used):
    written = [
        path
        for path in used["written"]
        if path.suffix not in (".pyc", ".nbi", ".nbc") and path.is_file()
    ]
    for path in [*written, *used["folder"].rglob("*")]:
        content = path.read_bytes() if path.is_file() else b""
        assert not [mark for mark in PLANTED if mark.encode() in content], path
