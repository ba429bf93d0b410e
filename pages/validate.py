"""Validate: the settings on screen, by simulation."""

from __future__ import annotations

from ui.validate.page import page

page()
