"""Validate: the settings on screen, by simulation."""

from ui import validate

validate.page()
