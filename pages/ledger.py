"""Ledger: budgets, history, remaining, verification."""

from __future__ import annotations

from ui import ledger

ledger.page()
