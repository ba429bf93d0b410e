"""Results of the scripts in `benchmarks`, read from the files that they wrote."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd
import streamlit as st

from ui.session.words import in_words

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Row = TypeVar("Row", bound=DataclassInstance)
else:
    Row = TypeVar("Row")

_TYPES: dict[Any, str] = {"int": "int64", "float": "float64"}
"""By the annotation of a field; any other is read as text."""
SCRIPT = "In a copy of the project's repository, `{command}` {does}."
"""How numbers are made again: the scripts are no part of an installed package."""


def rows_on_file(kind: type[Row], path: Path) -> list[Row]:
    """Return the rows of a CSV file; a file that is missing holds none, one that cannot be read
    none either, in words on the page.

    Args:
        kind: a frozen dataclass of text, int and float, in a module with postponed annotations.
        path: the file.
    """
    types = {field.name: _TYPES.get(field.type, "str") for field in fields(kind)}
    try:
        frame = pd.read_csv(
            path,
            dtype=types,
            keep_default_na=False,
            na_values={name: ["nan", ""] for name, what in types.items() if what == "float64"},
        )
        return [kind(*row) for row in frame[list(types)].itertuples(index=False)]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, OSError) as problem:
        st.warning(
            "The results on file cannot be read, so the page goes without them: "
            f"{in_words(problem)}"
        )
        return []
