"""What the dashboard takes of Streamlit beyond its documentation: still there, and in one file."""

from __future__ import annotations

import ast
import dataclasses
import re
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from ui.kit import streamlit_internals as internals

UI = Path(internals.__file__).parents[1]
OF_SOMEBODY = {"again.js", "header.js"}
"""Components that send: at rest, and when somebody has chosen a file."""


def test_a_run_is_over_when_another_is_asked_for_or_it_is_stopped(monkeypatch):
    requests = ScriptRequests()
    running = SimpleNamespace(script_requests=requests)
    monkeypatch.setattr(internals, "get_script_run_ctx", lambda **_: running)
    assert not internals.is_over()
    requests.request_rerun(RerunData())
    assert internals.is_over()
    assert requests.on_scriptrunner_ready().type is internals.ScriptRequestType.RERUN
    assert not internals.is_over()
    requests.request_stop()
    assert internals.is_over()


@pytest.mark.parametrize("asked", [internals.is_over, internals.is_back])
def test_outside_a_page_nothing_is_over_and_nobody_comes_back(asked):
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(asked()))
    thread.start()
    thread.join()
    assert found == [False]


@pytest.mark.parametrize("is_back", [False, True])
def test_back_is_told_from_other_moves(monkeypatch, is_back):
    running = SimpleNamespace(is_history_navigation=is_back)
    monkeypatch.setattr(internals, "get_script_run_ctx", lambda **_: running)
    assert internals.is_back() is is_back


def test_streamlit_still_has_what_is_taken_of_it():
    context = {field.name for field in dataclasses.fields(ScriptRunContext)}
    assert {"session_id", "script_requests", "is_history_navigation"} <= context
    assert internals.runtime.exists() in (False, True)
    assert callable(internals.runtime.get_instance)
    assert callable(Runtime.is_active_session)
    assert isinstance(Runtime.uploaded_file_mgr, property)
    assert MemoryUploadedFileManager("/").file_storage == {}
    assert "uploaded_file_mgr" in context
    kinds = [one.name for one in internals.BackMsg.DESCRIPTOR.oneofs_by_name["type"].fields]
    assert {
        "rerun_script",
        "file_urls_request",
        "load_git_info",
        "clear_cache",
        "set_run_on_save",
    } <= set(kinds)


def test_files_that_no_uploader_has_are_let_go(monkeypatch):
    """One of them, or all of a session; those of others stay."""
    files = MemoryUploadedFileManager("/")
    for session, file in (("ada", "1"), ("ada", "2"), ("bob", "3")):
        files.add_file(session, UploadedFileRec(file, "t.csv", "text/csv", b"a secret"))
    running = SimpleNamespace(session_id="ada", uploaded_file_mgr=files)
    monkeypatch.setattr(internals, "get_script_run_ctx", lambda **_: running)
    internals.forget_file("1")
    assert {session: [*held] for session, held in files.file_storage.items()} == {
        "ada": ["2"],
        "bob": ["3"],
    }
    internals.forget_files()
    assert [*files.file_storage] == ["bob"]


def test_no_other_file_takes_any_of_it():
    """Nor is there a fragment anywhere: see `ui.kit.again`."""
    sources = [file for file in UI.rglob("*.py") if file.name != "streamlit_internals.py"]
    assert len(sources) > 100
    for file in sources:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            taken = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                taken = [f"{node.module}.{a.name}" for a in node.names]
            assert not [name for name in taken if re.match(r"streamlit\.(runtime|proto)", name)], (
                file
            )
            assert getattr(node, "attr", "") != "fragment", file
            assert getattr(node, "arg", "") != "run_every", file


def test_a_component_sends_at_rest_or_because_of_somebody():
    senders = {
        file.name
        for file in [*UI.rglob("*.js"), *UI.rglob("*.py")]
        if re.search(r"set(Trigger|State)Value", file.read_text(encoding="utf-8"))
    }
    assert senders == OF_SOMEBODY
