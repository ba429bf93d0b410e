"""Plan: say how long an interval may be, get the budget, the number of records or the split."""

from __future__ import annotations

from ui.plan.page import page

page()
