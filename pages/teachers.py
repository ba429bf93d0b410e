"""For teachers: a lesson, exercises with computed solutions, and settings by link."""

from __future__ import annotations

from ui.learn.teach import page

page()
