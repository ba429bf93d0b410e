"""Learn: short interactive screens, a question before each picture, and a lesson for teachers."""

from __future__ import annotations

from ui.learn.page import page

page()
