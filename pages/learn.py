"""The path: short interactive screens, a question before each picture."""

from __future__ import annotations

from ui.learn.page import page

page()
