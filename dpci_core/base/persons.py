"""Whose row it is: names of persons as numbers, and the rows of a table by person.

A name is a cell as text, in which case, blanks around it, unseen characters, the Unicode form and,
of a whole number, a plus, zeros in front and the decimal point do not count: who is written in two
ways is one person, and two persons that are taken for one only count as one. A row without a name
(empty, or as programs write a missing value) is left out. Both look at one cell, and no name is
kept: only its digest is.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.batches import Table, as_table
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.rows import PersonRows, Rows, WeightedRows
from dpci_core.base.text import UNSEEN, folded, one_i
from dpci_core.base.validation import UnfitRecordsError

Numbers = npt.NDArray[np.int64]


class PersonNumbers:
    """Numbers for the persons of a table, in the order in which they first appear; its length is
    that of persons so far.

    >>> numbers = PersonNumbers()
    >>> numbers.of(["ann", " bob", "", "ann "]).tolist(), numbers.of([None, 7, "7", 7.0]).tolist()
    ([0, 1, -1, 0], [-1, 2, 2, 2])
    >>> numbers.of(["Ann", "+07", "7.0", "NA", "null", "-7"]).tolist(), len(numbers)
    ([0, 2, 2, -1, -1, 3], 4)
    """

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, cells: Iterable[object]) -> Numbers:
        """The number of each cell's person, (n,); -1 for a cell without a name."""
        return np.fromiter((self._of(cell) for cell in cells), dtype=np.int64)

    def _of(self, cell: object) -> int:
        name = _name(cell)
        if not name:
            return -1
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
        return self._known.setdefault(digest, len(self._known))


def _name(cell: object) -> str:
    """A cell as a name, empty where it holds none."""
    if isinstance(cell, Decimal) and cell.is_finite() and cell == cell.to_integral_value():
        return str(int(cell))
    if isinstance(cell, Real) and not isinstance(cell, Integral):
        number = float(cell)
        cell = int(number) if number.is_integer() else number
    text = "" if cell is None else str(cell)
    if not (text.isascii() and text.isprintable()):
        text = one_i(folded("".join(filter(_is_seen, text))))
    text = text.casefold().strip()
    if whole := _WHOLE.fullmatch(text):
        digits = whole[2].lstrip("0")
        return whole[1].removeprefix("+") + digits if digits else "0"
    return "" if text in _NONE else text


def _is_seen(character: str) -> bool:
    """Blanks are: those within a name tell it from another."""
    is_control = unicodedata.category(character) in ("Cc", "Cf") and not character.isspace()
    return not (is_control or ord(character) in UNSEEN)


_WHOLE = re.compile(r"([-+]?)([0-9]++)(?:\.0*+)?")
"""Nothing in it is tried twice: a cell may hold a million digits."""
_NONE = {"na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "nat", "none", "null", "nil", "missing"}
"""As R, pandas, databases and spreadsheets write a value that is missing."""


def check_persons(A: Rows | Table, persons: object, *, rows_per_person: int) -> None:
    """Raise ValueError unless rows come with their persons where that is asked for, and in memory
    then.
    """
    if persons is None and rows_per_person > 1:
        raise ValueError(
            f"Expected persons beside rows_per_person={rows_per_person}: whose row each is."
        )
    if persons is not None and as_table(A).memory is None:
        raise ValueError(
            "Expected persons=None beside batches: rows of a person may lie in two of them."
        )


def check_numbers(persons: Numbers, *, n_rows: int) -> None:
    """Raise UnfitRecordsError unless these are numbers for as many rows, one of them a person's."""
    is_fit = isinstance(persons, np.ndarray) and persons.dtype == np.int64
    if not (is_fit and persons.shape == (n_rows,) and (persons >= 0).any()):
        raise UnfitRecordsError("Expected a number for the person of each row, and a person.")


def person_rows(
    A: Array | WeightedRows, persons: Iterable[object], *, rows_per_person: int
) -> PersonRows:
    """Return the rows that count of each person (`PersonRows.of`).

    Args:
        A: rows y_i x_i, (n, p).
        persons: a name for each row, (n,).
        rows_per_person: k.

    Raises:  DataRejectedError for another number of names, or none.
    """
    numbers = PersonNumbers().of(persons)
    if len(numbers) != len(A):
        raise DataRejectedError("persons_have_another_shape", wanted=len(A), found=len(numbers))
    if not (numbers >= 0).any():
        raise DataRejectedError("no_person")
    return PersonRows.of(A, numbers, most=rows_per_person)
