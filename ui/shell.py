"""The Streamlit script that every session runs: page settings and navigation.

Not named after a sibling of `pages/`, and pages are registered by absolute path: Streamlit would
otherwise serve a deep link straight from the folder, past this file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import streamlit as st

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

# Pages are imported here so that the heap is frozen with them.
import ui.about.page  # noqa: E402
import ui.evidence.page  # noqa: E402
import ui.explore.page  # noqa: E402
import ui.learn.page  # noqa: E402
import ui.ledger.page  # noqa: E402
import ui.plan.page  # noqa: E402
import ui.release.page  # noqa: E402, F401
from ui.controls import hints  # noqa: E402
from ui.kit import again  # noqa: E402
from ui.kit.bound import begin as begin_widgets  # noqa: E402
from ui.kit.turns import turn  # noqa: E402
from ui.kit.warm import settle  # noqa: E402
from ui.session import access, compute, state  # noqa: E402
from ui.session.served import served  # noqa: E402

settle()
st.set_page_config(
    page_title="Private confidence intervals",
    page_icon="📏",
    layout="wide",
    initial_sidebar_state=380,
)
access.require_login()


# Addresses of the front page: its own, and two of old links. No docstring: Streamlit would show it.
FRONT = ("", "explore", "start")


OTHERS = ("plan", "release", "ledger", "learn", "evidence", "about")


def _entry(file: str, address: str = "", **kind: Any) -> st.Page:
    title = file.capitalize()
    return st.Page(ROOT / "pages" / f"{file}.py", title=title, url_path=address or file, **kind)


page = st.navigation(
    [
        _entry("explore", "front", default=True),
        # Drawn where they are: Back would come to an address that leads on again and again.
        *(_entry("explore", address, visibility="hidden") for address in FRONT[1:]),
        *map(_entry, OTHERS),
    ],
    position="top",
)
title = (page.url_path if page.url_path in OTHERS else "explore").capitalize()
st.set_page_config(page_title=f"{title} · Private confidence intervals")  # tabs differ
again.begin()
begin_widgets(page.url_path)
state.forget_files_on_another_page(page.url_path)
if page.url_path not in ("learn", "plan"):  # which have places of their own in the address
    state.mirror_to_link()
with turn(), served(compute.most_features(state.settings())):
    page.run()
hints.foot()
again.watch()
