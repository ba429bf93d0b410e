"""The Streamlit script that every session runs: page settings and navigation.

Not named after a sibling of `pages/`, and pages are registered by absolute path: Streamlit would
otherwise serve a deep link straight from the folder, past this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

# Pages are imported here so that the heap is frozen with them.
import ui.accuracy.page  # noqa: E402
import ui.explore.page  # noqa: E402
import ui.home.page  # noqa: E402
import ui.learn.page  # noqa: E402
import ui.ledger.page  # noqa: E402
import ui.plan.page  # noqa: E402
import ui.release.page  # noqa: E402
import ui.reproduce.page  # noqa: E402
import ui.sharp.page  # noqa: E402
import ui.validate.page  # noqa: E402, F401
from ui.controls import hints  # noqa: E402
from ui.kit import style  # noqa: E402
from ui.kit.turns import turn  # noqa: E402
from ui.kit.warm import freeze_gc, one_thread  # noqa: E402
from ui.session import access, address, state  # noqa: E402

freeze_gc()
one_thread()
st.set_page_config(
    page_title="Private confidence intervals",
    page_icon="📏",
    layout="wide",
    initial_sidebar_state=380,
)
st.html(style.sheet())
access.require_login()
page = st.navigation(
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
)
address.one_entry_per_page()
if page.url_path != "learn":  # which has a place of its own in the address
    state.mirror_to_link()
with turn():
    page.run()
hints.switch()
