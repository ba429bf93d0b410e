"""Columns typed as lines, or as the header line of a file: "age: 18 to 100 years, per 10". No
Streamlit.

A line without a colon is a list of names; in quotation marks a name may have one. After a colon
stand bounds or levels, and after bounds and a comma what is usual:

    systolic_bp: 60 to 260 mmHg, typical 130, spread 18, per 10
    smoker: no 80 %, yes 20 %
"""

from __future__ import annotations

import csv
import math
import re

Cells = dict[str, object]
"""What a line says of a column, by the names of its fields."""
_NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?"
_TO = r"\s*(?:to|-|–|…|\.\.+)\s*"
_BOUNDS = re.compile(rf"({_NUMBER}){_TO}({_NUMBER})(?![\d.])(.*)", re.I)
_WITHOUT_COLON = re.compile(rf"\s*(\w+)\s+({_NUMBER}{_TO}{_NUMBER}.*)", re.I)
_LIKE_BOUNDS = re.compile(rf"-?\d+,\d+{_TO}-?\d|-?\d+{_TO}-?\d+,\d", re.I)
"""Numbers with a decimal comma, which also separates."""
_PARTS = re.compile(r"[;,](?!\d{3}(?!\d))")
"""Between what is said after the bounds; a comma before three digits belongs to a number."""
_USUAL = {
    "typical": re.compile(rf"typical\s+({_NUMBER})", re.I),
    "spread": re.compile(rf"(?:spread|±)\s*({_NUMBER})", re.I),
    "step": re.compile(rf"(?:per|step)\s+({_NUMBER})", re.I),
    "if missing": re.compile(rf"missing\s+({_NUMBER})", re.I),
}
_UNIT = re.compile(
    r"(?!-?\d)(?!.*\b(?:typical|spread|missing)\b)(?!.*(?:\b(?:per|step)|±)\s*\d).*", re.I
)
"""What may stand behind the bounds as their unit."""
_PERCENT = re.compile(r"\d+(?:\.\d+)?")
_MOST = 500


def read_lines(text: str) -> tuple[dict[str, Cells], dict[str, ValueError]]:
    """What each column is said to be, by its name, in the order of the lines; and of each line that
    cannot be read, why, with its number.

    Raises:  ValueError for too many columns.
    """
    found: dict[str, Cells] = {}
    wrong: dict[str, ValueError] = {}
    for place, line in enumerate(text.splitlines(), start=1):
        try:
            read = _line(line, place)
        except ValueError as problem:
            wrong[line] = problem
        else:
            found |= {name: cells for name, cells in read.items() if cells or name not in found}
    if len(found) > _MOST:
        raise ValueError(f"These are {len(found):,} columns; at most {_MOST} can be described.")
    return found, wrong


def _line(line: str, place: int) -> dict[str, Cells]:
    """The columns that one line names, and what it says of one."""
    name, colon, said = line.partition(":")
    if not colon or re.fullmatch(r'\s*"[^"]*', name):  # the colon is part of a name
        if match := _WITHOUT_COLON.fullmatch(line):
            raise ValueError(
                f"Line {place}: a colon is needed behind the name, as in “{match[1]}: {match[2]}”."
            )
        return {name: {} for name in names_of(line)}
    if not (name := name.strip().strip('"')):
        raise ValueError(f"Line {place}: the name of the column is missing.")
    return {name: _cells(said.strip(), f"Line {place} (“{name}”)") if said.strip() else {}}


def names_of(header: str) -> list[str]:
    """The names in a header line, whatever separates them."""
    separator = max(",;\t", key=header.count)
    try:
        cells = next(csv.reader([header.lstrip("\ufeff").strip()], delimiter=separator), [])
    except csv.Error:
        raise ValueError("A line without a colon is read as names, and one is too long.") from None
    return list(dict.fromkeys(cell.strip() for cell in cells if cell.strip()))


def _cells(said: str, where: str) -> Cells:
    if (match := _BOUNDS.fullmatch(said)) is not None:
        low, high = _value(match[1], where), _value(match[2], where)
        if not low < high:
            raise ValueError(
                f"{where}: the lowest, {low:,.10g}, is not below the highest, {high:,.10g}."
            )
        bounds: Cells = {"kind": "number", "lowest": low, "highest": high}
        return bounds | _about(match[3], where)
    if _LIKE_BOUNDS.match(said):
        raise ValueError(f"{where}: numbers have a decimal point, 0.5, not a comma.")
    parts = [part.strip() for part in re.split(r"[,;]", said) if part.strip()]
    if len(parts) < 2:
        raise ValueError(
            f"{where}: bounds such as “18 to 100”, or at least two levels such as “no, yes”, are "
            "needed."
        )
    if more := next((part for part in parts if ": " in part), None):
        raise ValueError(
            f"{where}: “{more}” has a colon, and one line describes one column. Names that have "
            "one stand in quotation marks."
        )
    shared = [_shared(part) for part in parts]
    cells: Cells = {"kind": "levels", "levels": "; ".join(level for level, _ in shared)}
    percents = [percent for _, percent in shared]
    if percents.count("") == 1:  # the rest
        rest = 100.0 - math.fsum(float(percent) for percent in percents if percent)
        percents[percents.index("")] = f"{max(rest, 0.0):.6g}"
    if all(percents):
        cells["shares"] = "; ".join(f"{float(percent):.6g}" for percent in percents)
    elif any(percents):
        raise ValueError(f"{where}: how often a value occurs is said of all of them, or of none.")
    return cells


def _about(rest: str, where: str) -> Cells:
    """The unit, and what is usual, that stand after the bounds.

    Raises:  ValueError naming what is none of it.
    """
    cells: Cells = {}
    for place, part in enumerate(one.strip() for one in _PARTS.split(rest)):
        found = {name: match for name, each in _USUAL.items() if (match := each.fullmatch(part))}
        for name, usual in found.items():
            number = _value(usual[1], where)
            cells[name] = f"{number:.12g}" if name == "if missing" else number
        if part.lower() == "log":
            cells["log"] = True
        elif place == 0 and part and not found and _UNIT.fullmatch(part):
            cells["units"] = part
        elif part and not found:
            raise ValueError(
                f"{where}: “{part}” is not understood. After bounds and a unit stand, with commas "
                "between them: typical 27, spread 5, per 10, missing 0, log."
            )
    return cells


def _shared(part: str) -> tuple[str, str]:
    """A level and its percentage, empty where there is none; a part may be long and all blanks."""
    level, *percent = part.removesuffix("%").rsplit(maxsplit=1) or [""]
    if part.endswith("%") and percent and _PERCENT.fullmatch(percent[0]):
        return level, percent[0]
    return part, ""


def _value(text: str, where: str) -> float:
    value = float(text.replace(",", ""))
    if not math.isfinite(value):
        raise ValueError(f"{where}: a number is too large.")
    return value
