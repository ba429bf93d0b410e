"""The tabs of the page Evidence, which other pages lead to. No picture."""

from __future__ import annotations

from ui.kit import linked

TABS = {
    "coverage": "Coverage",
    "lengths": "Lengths",
    "replication": "Replication",
    "errors": "Prediction error",
    "attack": "Attack on ε",
}
TAB = linked.one_of("evidence", TABS, default="coverage", widget="evidence_tab")
"""Which one is open."""
