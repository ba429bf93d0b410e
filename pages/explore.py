"""Explore: move the budget and everything else that is public, and see what the intervals
become.
"""

from __future__ import annotations

from ui.explore.page import page

page()
