"""Tables as files that no spreadsheet runs."""

from __future__ import annotations

import pandas as pd

from dpci_core.ledger import safe_cell


def csv_bytes(table: pd.DataFrame) -> bytes:
    """A table as CSV; texts and column names that a spreadsheet could take for formulas stay
    texts.
    """
    safe = table.map(lambda cell: safe_cell(cell) if isinstance(cell, str) else cell)
    return safe.rename(columns=lambda name: safe_cell(str(name))).to_csv(index=False).encode()
