"""About: what is protected, the methods and their proofs, and the versions that run here."""

from __future__ import annotations

from ui.about.page import page

page()
