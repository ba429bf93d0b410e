"""Ledger: budgets, history, remaining, verification."""

from __future__ import annotations

from ui.ledger.page import page

page()
