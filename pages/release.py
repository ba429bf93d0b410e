"""Release: a plan, a budget, a private file, and one action that spends."""

from __future__ import annotations

from ui.release.page import page

page()
