"""Files to take along, and tables as files that no spreadsheet runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from dpci_core.ledger import safe_cell

MIME = {
    "csv": "text/csv",
    "html": "text/html",
    "ipynb": "application/x-ipynb+json",
    "json": "application/json",
    "md": "text/markdown",
    "py": "text/x-python",
    "yaml": "application/yaml",
    "zip": "application/zip",
}
"""By the ending of a file."""


def download(
    label: str,
    content: bytes | Callable[[], bytes],
    *,
    file: str,
    key: str,
    is_main: bool = False,
) -> None:
    """A button that saves a file and draws nothing anew; content: or what makes it when asked."""
    st.download_button(
        label,
        content,
        file_name=file,
        mime=MIME[file.rpartition(".")[2]],
        on_click="ignore",
        key=key,
        type="primary" if is_main else "secondary",
    )


def download_csv(label: str, table: pd.DataFrame, *, name: str) -> None:
    """A button that saves a table, which becomes a file when somebody asks."""
    download(label, partial(csv_bytes, table), file=f"dpci_{name}.csv", key=f"{name}_csv")


def csv_bytes(table: pd.DataFrame) -> bytes:
    """A table as CSV; texts and column names that a spreadsheet could take for formulas stay
    texts.
    """
    safe = table.map(lambda cell: safe_cell(cell) if isinstance(cell, str) else cell)
    return safe.rename(columns=lambda name: safe_cell(str(name))).to_csv(index=False).encode()
