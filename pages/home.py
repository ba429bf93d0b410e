"""Start: a working demo with one control, and where to go next."""

from __future__ import annotations

from ui.home.page import page

page()
