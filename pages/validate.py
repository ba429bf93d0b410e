"""Validate: the settings on screen, by simulation."""

from __future__ import annotations

from ui import validate

validate.page()
