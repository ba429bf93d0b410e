"""Where the project's own files are: beside the core in a checkout, inside it once installed."""

from __future__ import annotations

from pathlib import Path

_CORE = Path(__file__).resolve().parents[1]
_INSTALLED = _CORE / "_app"
"""Only a wheel has it; pyproject.toml says what goes in."""

HOME = _INSTALLED if _INSTALLED.is_dir() else _CORE.parent
"""Folder of app.py, `data` and `docs`."""
DATA = HOME / "data"
"""Published figures and the project's own measurements; no records."""
