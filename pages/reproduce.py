"""Reproduce: the published tables and figures again."""

from __future__ import annotations

from ui import reproduce

reproduce.page()
