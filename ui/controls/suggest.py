"""Suggestions for what nobody typed of a column, and the lines beside the columns: the share of
“yes”, and columns that go together. No Streamlit.

A suggestion comes from the column's name or its bounds, never from a table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from dpci_core.schema.copula import Pair
from dpci_core.schema.spelling import no_first
from dpci_core.schema.twin import Rate
from dpci_core.schema.worlds import UNKNOWN_RATE
from ui.session.forms import (
    LEFT_OUT,
    CellError,
    Row,
    form_of,
    levels_of,
    number_of,
    share_line,
    shares_of,
    text_of,
)
from ui.session.typed import written

STRENGTHS = {"weak": 0.3, "medium": 0.6, "strong": 0.9}
_USUAL = (
    (r"age|alter", 50.0, 18.0),
    (r"systol|sbp|blood.?pressure|^bp$|pressure", 130.0, 18.0),
    (r"diastol|dbp", 80.0, 11.0),
    (r"bmi", 27.0, 5.0),
    (r"weight|gewicht", 78.0, 16.0),
    (r"height|gr(ö|oe)(ß|ss)e", 170.0, 10.0),
    (r"waist", 95.0, 14.0),
    (r"pulse|heart.?rate", 74.0, 12.0),
    (r"cholesterol", 200.0, 40.0),
    (r"hours.*week|week.*hours", 40.0, 12.0),
    (r"income|salary|wage", 40_000.0, 25_000.0),
    (r"education|school", 12.0, 3.0),
)
"""Usual columns by their names, in usual units: typical value and spread."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TELLS_APART = re.compile(
    r"(?<![^\W\d_])(id|uuid|guid|(patient|person|subject|participant)[\W_]?(id|code))(?![^\W\d_])"
)
"""Words of a column that tells persons, or records, apart."""
_SIXTH = 6.0
_DIGITS = 2


def kind_by(name: str) -> dict[str, object]:
    """What a column's name says of its kind: one that tells persons apart is not in the model.

    >>> kind_by("patient_id"), kind_by("covid")
    ({'kind': 'not in the model'}, {})
    """
    words = _CAMEL.sub("_", name).lower()
    return {"kind": LEFT_OUT} if _TELLS_APART.search(words) else {}


def suggested(name: str, low: float, high: float, *, is_log: bool) -> tuple[float, float]:
    """A typical value and a spread for a number: by its name where it is a usual column and they
    fit its bounds, else the middle and a sixth of the distance between the bounds.
    """
    for words, typical, spread in _USUAL:
        fits = low + spread / 2.0 < typical < high - spread / 2.0 and spread < (high - low) / 2.0
        if not is_log and fits and re.search(rf"(?<![a-z])({words})", name.lower()):
            return typical, spread
    if is_log:
        apart = math.log(high) - math.log(low)
        return math.exp(math.log(low) + apart / 2.0), math.exp(apart / _SIXTH)
    return (low + high) / 2.0, float(f"{(high - low) / _SIXTH:.{_DIGITS}g}")


def suggestion_of(row: Row) -> tuple[float, float] | None:
    """The typical value and the spread of a number that has its bounds, where at least one of the
    two is not typed: that one is suggested.
    """
    if row.get("kind") == LEFT_OUT or not form_of(row).has_bounds:
        return None
    try:
        low, high = number_of(row, "lowest"), number_of(row, "highest")
        typed = number_of(row, "typical"), number_of(row, "spread")
    except CellError:
        return None
    is_log = row.get("log") is True
    if low is None or high is None or None not in typed:
        return None
    if not (math.isfinite(high - low) and low < high and (low > 0.0 or not is_log)):
        return None
    typical, spread = suggested(str(row.get("column", "")), low, high, is_log=is_log)
    return typical if typed[0] is None else typed[0], spread if typed[1] is None else typed[1]


def with_suggestions(rows: Sequence[Row]) -> tuple[list[Row], tuple[str, ...]]:
    """The rows with what is suggested, and the names of the columns of which something is."""
    filled: list[Row] = []
    names = []
    for row in rows:
        if (found := suggestion_of(row)) is not None:
            typical, spread = (written(value, None) for value in found)
            row = {**row, "typical": typical, "spread": spread}
            names.append(str(row["column"]))
        filled.append(row)
    return filled, tuple(names)


def with_no_first(row: Row) -> dict[str, object]:
    """What is typed of a column, its values and their shares in that order. Effects are about the
    order in which the values stand, which stays where there is one.
    """
    levels, shares = levels_of(row), shares_of(row)
    order = no_first(levels)
    if order == tuple(range(len(levels))) or text_of(row.get("effect")):
        return dict(row)
    found = {**row, "levels": "; ".join(levels[place] for place in order)}
    if len(shares) == len(levels):
        found["shares"] = "; ".join(shares[place].strip() for place in order)
    return found


def read_rate(line: str) -> Rate:
    """A share of “yes” in percent, or a range of it; nothing is not known.

    Raises:  ValueError in words.

    >>> read_rate("20"), read_rate("10 to 30 %"), read_rate("")
    (0.2, (0.1, 0.3), (0.05, 0.5))
    """
    if not line.strip():
        return UNKNOWN_RATE
    parts = re.split(r"to|–|-", line.replace("%", " "))
    try:
        ends = [float(part) / 100.0 for part in parts]
    except ValueError:
        ends = []
    if not 1 <= len(ends) <= 2 or not all(0.0 < end < 1.0 for end in ends):
        raise ValueError(
            "The share of “yes” is a number between 0 and 100, such as 20 or 0.5 with a decimal "
            "point, or a range, such as 10 to 30."
        )
    if len(ends) == 1 or ends[0] == ends[1]:
        return float(f"{ends[0]:.12g}")
    return float(f"{min(ends):.12g}"), float(f"{max(ends):.12g}")


def rate_line(rate: Rate) -> str:
    """A share as it is typed."""
    if rate == UNKNOWN_RATE:
        return ""
    low, high = rate if isinstance(rate, tuple) else (rate, rate)
    return share_line(100.0 * low, 100.0 * high)


def read_pairs(line: str, names: Sequence[str]) -> tuple[Pair, ...]:
    """Columns that go together, as in "weight, waist: strong; age, bmi: 0.2".

    Raises:  ValueError in words.
    """
    found = []
    for part in filter(str.strip, line.split(";")):
        columns, _, strength = part.rpartition(":")
        one, _, other = (text.strip() for text in columns.partition(","))
        said = strength.strip().lower()
        try:
            correlation = STRENGTHS[said] if said in STRENGTHS else float(said)
        except ValueError:
            correlation = math.nan
        if not ({one, other} <= set(names) and one != other and abs(correlation) <= 0.99):
            raise ValueError(
                f"“{part.strip()}”: two columns and how closely they go together are needed, such "
                "as “weight, waist: strong”; weak, medium, strong, or a correlation."
            )
        found.append((one, other, correlation))
    return tuple(found)


def pairs_line(pairs: Sequence[Pair]) -> str:
    """Pairs as they are typed."""
    words = {value: word for word, value in STRENGTHS.items()}
    return "; ".join(
        f"{one}, {other}: {words.get(correlation, f'{correlation:g}')}"
        for one, other, correlation in pairs
    )
