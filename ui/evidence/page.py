"""The page Evidence, in tabs: coverage of the settings on screen, lengths beside the published
method, the published tables and error rates again. Only the work of the open tab is done.
"""

from __future__ import annotations

import streamlit as st

from ui.evidence import attack, errors
from ui.evidence.coverage import tab as coverage
from ui.evidence.lengths import tab as lengths
from ui.evidence.replication import tab as replication
from ui.kit import linked
from ui.session.evidence import TAB, TABS

_SECTIONS = {
    "coverage": coverage.section,
    "lengths": lengths.section,
    "replication": replication.section,
    "errors": errors.section,
    "attack": attack.section,
}


def page() -> None:
    """Draw the page."""
    st.title("Evidence")
    _SECTIONS[linked.tabs(TAB, TABS)]()
