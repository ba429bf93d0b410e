"""What tests of pages share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import local_script_runner

from tests.ui.test_pages import stop_jobs
from ui.plan import work as plan_work
from ui.session import compute


@pytest.fixture(scope="session", autouse=True)
def packages_are_searched_and_pages_compiled_once() -> Iterator[None]:
    """Streamlit's own start of a test reads the metadata of every installed package, in search of
    components: half the time of a small page. Each run of a test compiles its page anew.
    """
    with pytest.MonkeyPatch.context() as patch:
        found = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", found)
        patch.setattr(local_script_runner, "ScriptCache", cache(ScriptCache))
        yield


@pytest.fixture(autouse=True)
def no_job_is_left() -> Iterator[None]:
    """What a page has asked for, and nobody waits for, would be computed beside the next tests."""
    yield
    stop_jobs()


@pytest.fixture(autouse=True)
def no_answer_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins as a process does, that has answered nobody yet."""
    monkeypatch.setattr(compute, "ANSWERS", compute.LRU(1000))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are drawn with all their answers."""
    monkeypatch.setattr(plan_work, "PATIENCE", 240.0)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages wait for no answer, in tests that look at none."""
    monkeypatch.setattr(plan_work, "PATIENCE", 0.0)
