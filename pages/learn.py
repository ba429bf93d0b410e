"""Learn: a guided path of short interactive screens, and a page for teachers."""

from __future__ import annotations

from ui.learn.page import page

page()
