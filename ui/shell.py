"""The Streamlit script that every session runs: page settings and navigation.

Not named after a sibling of `pages/`, and pages are registered by absolute path: Streamlit would otherwise serve a deep
link straight from the folder, past this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

# Pages are imported here so that the heap is frozen with them.
from ui import (  # noqa: E402, F401
    access,
    accuracy,
    explore,
    hints,
    home,
    learn,
    ledger,
    plan,
    release,
    reproduce,
    sharp,
    validate,
)
from ui.warm import freeze_gc  # noqa: E402

freeze_gc()
st.set_page_config(page_title="Private confidence intervals", page_icon="📏", layout="wide", initial_sidebar_state=380)
# Streamlit leaves six rem above the first line; the charts need the room.
st.html("<style>.stMainBlockContainer {padding-top: 4rem; padding-bottom: 3rem}</style>")
access.require_login()
st.navigation(
    [
        st.Page(ROOT / "pages" / "home.py", title="Start", url_path="start", default=True),
        st.Page(ROOT / "pages" / "learn.py", title="Learn", url_path="learn"),
        st.Page(ROOT / "pages" / "explore.py", title="Explore", url_path="explore"),
        st.Page(ROOT / "pages" / "plan.py", title="Plan", url_path="plan"),
        st.Page(ROOT / "pages" / "release.py", title="Release", url_path="release"),
        st.Page(ROOT / "pages" / "ledger.py", title="Ledger", url_path="ledger"),
        st.Page(ROOT / "pages" / "validate.py", title="Validate", url_path="validate"),
        st.Page(ROOT / "pages" / "accuracy.py", title="Accuracy", url_path="accuracy"),
        st.Page(ROOT / "pages" / "sharp.py", title="Published or sharp", url_path="sharp"),
        st.Page(ROOT / "pages" / "reproduce.py", title="Reproduce", url_path="reproduce"),
    ],
    position="top",
).run()
hints.switch()
