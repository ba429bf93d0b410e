"""Evidence: coverage, lengths, replication and prediction error, as measured."""

from __future__ import annotations

from ui.evidence.page import page

page()
