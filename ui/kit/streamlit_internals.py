"""All that this dashboard takes of Streamlit beyond what its documentation names, in one place: a
release of Streamlit may move it, and `tests/ui/kit/test_streamlit_internals.py` says so.
"""

from __future__ import annotations

from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

__all__ = [
    "BackMsg",
    "ScriptRequestType",
    "forget_file",
    "forget_files",
    "get_script_run_ctx",
    "is_back",
    "is_over",
    "runtime",
]


def is_over() -> bool:
    """Whether this run of a page is to end: somebody has moved something meanwhile, or has left.

    Streamlit ends a run where it draws the next thing, and tells nobody who computes until then.
    """
    running = get_script_run_ctx(suppress_warning=True)
    return running is not None and (
        running.script_requests._state is not ScriptRequestType.CONTINUE  # type: ignore[union-attr]
    )


def is_back() -> bool:
    """Whether this run of a page was asked for by the browser's Back or Forward."""
    running = get_script_run_ctx(suppress_warning=True)
    return running is not None and running.is_history_navigation


def forget_file(file_id: str) -> None:
    """Let go of a file of this session whose uploader is not drawn any more.

    Streamlit does so when somebody removes the file, and otherwise at the end of the session only.
    """
    running = get_script_run_ctx(suppress_warning=True)
    files = None if running is None else running.uploaded_file_mgr
    if isinstance(files, MemoryUploadedFileManager):
        files.remove_file(running.session_id, file_id)  # type: ignore[union-attr]


def forget_files() -> None:
    """Let go of all files of this session: on another page no uploader has one of them."""
    running = get_script_run_ctx(suppress_warning=True)
    if running is not None:
        running.uploaded_file_mgr.remove_session_files(running.session_id)
