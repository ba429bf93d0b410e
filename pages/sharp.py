"""Sharper intervals: the same promise and budget, shorter intervals."""

from __future__ import annotations

from ui.sharp.page import page

page()
