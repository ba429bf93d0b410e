"""Plan: say how long an interval may be, get the budget, the number of records or the split."""

from __future__ import annotations

from ui import plan

plan.page()
