"""The page About, in tabs: what is protected, the methods, their proofs, and the versions that
run. Texts are the project's own documents; only the one that is open is read.
"""

from __future__ import annotations

import platform

import pandas as pd
import streamlit as st

import dpci_core
from dpci_core.base.extras import version_of
from dpci_core.base.places import DATA
from dpci_core.intervals.inference import RESULTS_VERSION
from ui.about import documents
from ui.controls import hints
from ui.kit import linked
from ui.session import state, text

TABS = {
    "protected": "What is protected",
    "methods": "Methods",
    "proofs": "Proofs",
    "versions": "Versions",
}
_TAB = linked.one_of("about", TABS, default="protected", widget="about_tab")
PACKAGES = ("numpy", "scipy", "numba", "pandas", "scikit-learn", "streamlit", "plotly", "opendp")
"""What numbers, releases and pages depend on most."""
TESTED = DATA / "tested_versions.csv"
"""The oldest and newest versions that passed the tests; `make versions` writes it."""


def page() -> None:
    """Draw the page."""
    st.title("About")
    tab = linked.tabs(_TAB, TABS)
    hints.link_problem()
    if tab == "protected":
        st.markdown(f"**{text.privacy_unit(state.settings())}**")
    if tab == "versions":
        _versions()
    else:
        documents.one_of(tab)


def _versions() -> None:
    st.markdown(
        f"Results of version {RESULTS_VERSION}: the number rises whenever the same input gives "
        "another result."
    )
    here = {"dpci": dpci_core.__version__, "Python": platform.python_version()}
    here |= {name: version_of(name) for name in PACKAGES}
    tested = pd.read_csv(TESTED, index_col="package", dtype=str).reindex(list(here)).fillna("")
    st.dataframe(
        pd.DataFrame(
            {
                "program": list(here),
                "version here": list(here.values()),
                "oldest tested": tested["oldest"].to_list(),
                "newest tested": tested["newest"].to_list(),
            }
        ),
        hide_index=True,
        alt="Versions of the programs that run here, and those that were tested",
        key="versions",
    )
