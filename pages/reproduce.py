"""Reproduce: the published tables and figures again."""

from __future__ import annotations

from ui.reproduce.page import page

page()
