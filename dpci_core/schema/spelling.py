"""Which cells mean a declared level: one public rule for levels and for both codes of the outcome.

A cell is looked at by itself, so whether it fits is a function of that cell and the declaration.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import NamedTuple

import numpy as np

_LONGEST_NUMBER = 400
"""Signs; a longer text is no number, so that no cell takes long to read."""
_YES = ("yes", "y", "ja", "j", "true", "1", "present", "positive", "case")
_NO = ("no", "n", "nein", "n", "false", "0", "absent", "negative", "control")
"""What says “no” beside each of them, as `same_value` spells both."""


def number_of(cell: object) -> float:
    """Return the number in a cell, NaN where there is none. Infinity is a number: it is clipped
    like any other.

    >>> [number_of(cell) for cell in (" 1.5", "1e3", 7, True, "", "1,5", "1_000", None)]
    [1.5, 1000.0, 7.0, 1.0, nan, nan, nan, nan]
    """
    if isinstance(cell, str):
        return _parsed(cell)
    if not isinstance(cell, Real | Decimal | np.bool_):
        return math.nan
    try:
        return float(cell)
    except (OverflowError, ValueError):  # too large a whole number; a signalling NaN
        return _end_of(cell)


def _end_of(cell: Real | Decimal | np.bool_) -> float:
    if isinstance(cell, Decimal):
        return math.nan
    return math.inf if cell > 0 else -math.inf  # type: ignore[operator]


def _parsed(text: str) -> float:
    if "_" in text or len(text) > _LONGEST_NUMBER:
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def same_value(cell: object) -> str:
    """Return the text that all spellings of one value share: without regard to case and to blanks
    around it, a whole number without its decimal point.

    >>> [same_value(cell) for cell in (" Yes", "YES ", "1.0", 1, True, "0.50", "a b")]
    ['yes', 'yes', '1', '1', 'true', '0.50', 'a b']
    """
    text = str(cell).strip().casefold()
    if isinstance(cell, bool | np.bool_):
        return text
    number = number_of(cell)
    return str(int(number)) if math.isfinite(number) and number.is_integer() else text


def usual_yes(levels: Sequence[str]) -> str | None:
    """Return the first of these levels that says “yes”; None where none does.

    >>> usual_yes(("healthy", "Case")), usual_yes(("F", "M"))
    ('Case', None)
    """
    return next((level for level in levels if same_value(level) in _YES), None)


def no_first(levels: Sequence[str]) -> tuple[int, ...]:
    """Return the places of these levels in an order in which no effect is told of a “no” against a
    “yes”: a “yes” that is the first, and so the reference, changes places with its “no”.

    >>> no_first(("Yes", "unknown", "No")), no_first(("no", "yes")), no_first(("M", "F"))
    ((2, 1, 0), (0, 1), (0, 1))
    """
    places, said = list(range(len(levels))), [same_value(level) for level in levels]
    if said and said[0] in _YES and (no := _NO[_YES.index(said[0])]) in said:
        other = said.index(no)
        places[0], places[other] = other, 0
    return tuple(places)


class Spellings(NamedTuple):
    """The texts that mean a level, with its place.

    texts: as declared.
    values: what the spellings of a level share (`same_value`), of levels that share it with no
    other.
    """

    texts: Mapping[str, int]
    values: Mapping[str, int]


def spellings(levels: tuple[str, ...]) -> Spellings:
    """Return which texts mean which of the levels.

    >>> spellings(("No", "yes", "YES"))
    Spellings(texts={'No': 0, 'yes': 1, 'YES': 2}, values={'no': 0})
    """
    shared = [same_value(level) for level in levels]
    values = {text: place for place, text in enumerate(shared) if Counter(shared)[text] == 1}
    return Spellings({level: place for place, level in enumerate(levels)}, values)


def level_of(cell: object, known: Spellings) -> int:
    """Return the place of a cell's level, -1 for none of them; its text as it stands is looked for
    first.

    >>> [level_of(cell, spellings(("1", "True", "a")))
    ...  for cell in ("a ", 1.0, "1.0", "TRUE", True, None, "A", "b")]
    [2, 0, 0, 1, 1, -1, 2, -1]
    """
    if cell is None:
        return -1
    found = known.texts.get(str(cell).strip(), -1)
    return known.values.get(same_value(cell), -1) if found < 0 else found


def level_finder(levels: tuple[str, ...]) -> Callable[[object], float]:
    """Return the function that gives the place of a cell's level, -1 for none of them."""
    known = spellings(levels)
    return lambda cell: level_of(cell, known)
