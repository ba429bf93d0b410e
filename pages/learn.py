"""Learn: a guided path of short interactive screens, and a page for teachers."""

from __future__ import annotations

from ui import learn

learn.page()
