"""Numbers as they are typed: read and refused in words, and written as they are read. No Streamlit.

Every number is typed into a field of words, for a field of numbers changes what was typed before
anybody can refuse it: the browser leaves out a comma, so that 0,5 is 5, and Streamlit reads a whole
number up to its first letter, so that 1e3 is 1.
"""

from __future__ import annotations

import math
import re

Number = int | float
Limits = tuple[Number, Number]

_BETWEEN = "[, \u00a0\u202f]"
_GROUPED = re.compile(rf"-?[1-9]\d{{0,2}}({_BETWEEN}\d{{3}})+")
"""A whole number with commas or spaces between thousands."""
_NO_NUMBER = "Type a number with a decimal point, such as 1.5, and without commas."
_NOT_WHOLE = "Type a whole number, such as 20 or 8,000."


def written(value: Number | None, digits: int | None = 6) -> str:
    """A number as it stands in its field, empty where there is none.

    digits: of what is not whole; None for as many as give it back.
    """
    if value is None:
        return ""
    if digits is None:
        return repr(float(value)).removesuffix(".0")
    return str(value) if isinstance(value, int) else f"{value:.{digits}g}".replace("e-0", "e-")


def number_in(entry: str, limits: Limits | None = None) -> float:
    """The number that was typed.

    Raises:  ValueError in words, also for one beyond the limits.

    >>> number_in("1e-3")
    0.001
    """
    value = _finite(entry)
    if value is None:
        raise ValueError(_NO_NUMBER)
    return _within(limits, value)


def whole_in(entry: str, limits: Limits | None = None) -> int:
    """The whole number that was typed. Commas or spaces may stand between thousands; a point may
    only where an exponent follows, for 800.000 is eight hundred thousand to many.

    Raises:  ValueError in words, also for one beyond the limits.

    >>> whole_in("8,000"), whole_in("12 000"), whole_in("1.25e5")
    (8000, 12000, 125000)
    """
    entry = entry.strip()
    is_grouped = _GROUPED.fullmatch(entry) is not None
    value = _finite(re.sub(_BETWEEN, "", entry) if is_grouped else entry)
    if value is None or not value.is_integer() or ("." in entry and "e" not in entry.lower()):
        raise ValueError(_NOT_WHOLE)
    return int(_within(limits, value))


def _finite(entry: str) -> float | None:
    """The number that an entry is, None where it is none."""
    try:
        value = float(entry)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _within(limits: Limits | None, value: float) -> float:
    """A number that lies within the limits."""
    if limits is not None and not limits[0] <= value <= limits[1]:
        raise ValueError(f"Type a number from {limits[0]:,.12g} to {limits[1]:,.12g}.")
    return value
