"""Files of results: whole rows come back as they were, and nothing else is read or added to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from benchmarks.study import append_rows, read_rows


@dataclass(frozen=True)
class Measured:
    name: str
    n: int
    length: float


ROWS = [
    Measured("plain", 3, 0.1),
    Measured('with, comma and "quotes"', -4, 1e-300),
    Measured("η", 0, float("inf")),
]


def test_rows_come_back_as_they_were(tmp_path: Path):
    file = tmp_path / "rows.csv"
    assert read_rows(Measured, file) == []
    append_rows(ROWS[:1], file, Measured)
    append_rows(ROWS[1:], file, Measured)
    append_rows([], file, Measured)
    assert read_rows(Measured, file) == ROWS
    append_rows([Measured("nothing", 1, float("nan"))], file, Measured)
    assert np.isnan(read_rows(Measured, file)[-1].length)
    assert file.read_text().count("name,n,length") == 1


def test_a_kill_at_any_byte_of_a_row_costs_this_row_only(tmp_path: Path):
    whole = tmp_path / "whole.csv"
    append_rows(ROWS, whole, Measured)
    content = whole.read_bytes()
    for stop in range(content.index(b"\n") + 1, len(content) + 1):
        file = tmp_path / f"{stop}.csv"
        file.write_bytes(content[:stop])
        kept = read_rows(Measured, file)
        assert kept == ROWS[: content[:stop].count(b"\n") - 1]
        append_rows(ROWS[len(kept) :], file, Measured)
        assert file.read_bytes() == content


def test_a_file_of_something_else_is_neither_read_nor_changed(tmp_path: Path):
    file = tmp_path / "other.csv"
    for text in ("name,length\na,1\nunfini", "\n", "a,1,2\n", "one line"):
        file.write_text(text)
        with pytest.raises(
            ValueError, match=r"Expected other.csv to have the columns name, n, length\."
        ):
            read_rows(Measured, file)
        with pytest.raises(ValueError, match=r"Expected other.csv to have"):
            append_rows(ROWS, file, Measured)
        assert file.read_text() == text


def test_a_line_that_is_no_row_is_named(tmp_path: Path):
    file = tmp_path / "rows.csv"
    append_rows(ROWS[:1], file, Measured)
    for line, words in (
        ("b,two,1.5", "line 3: .*'two'"),
        ("b,2", "line 3"),
    ):
        damaged = tmp_path / "damaged.csv"
        damaged.write_text(file.read_text() + line + "\n")
        with pytest.raises(ValueError, match=words):
            append_rows(ROWS, damaged, Measured)
        assert damaged.read_text().endswith(f"{line}\n")
