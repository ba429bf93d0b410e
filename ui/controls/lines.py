"""Columns typed as lines, or as the header line of a file: "age: 18 to 100 years, per 10". No
Streamlit.

After a colon stand bounds or levels, and after bounds and a comma what is usual; a name in
quotation marks may have a colon. How often a level occurs may be a range, "no, yes 10 to 20 %",
which the outcome takes over. What is no description is a list of names, and a header line may
have some described:

    systolic_bp: 60 to 260 mmHg, typical 130, spread 18, per 10
    age years 30 to 90, ward: a 50 %, b 30 %, c 20 %, smoker, ill
    patient_id: not in the model
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator

from ui.session.forms import (
    LEFT_OUT,
    SHARE_RANGE,
    UNFIT,
    do_ranges_fit,
    ends_of,
    half_range,
    share_line,
)
from ui.session.typed import written

Cells = dict[str, object]
"""What a line says of a column, by the names of its fields."""
_NUMBER = r"-?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e-?\d+)?"
_TO = r"\s*(?:to|-|–|…|\.\.+)\s*"
_BOUNDS = re.compile(rf"({_NUMBER}){_TO}({_NUMBER})(?![\d.])(.*)", re.I)
_NAME_FIRST = re.compile(rf"(\w+)\s+([^\s\d]\S*\s+)?({_NUMBER}{_TO}{_NUMBER}(?![\d.]))(.*)", re.I)
"""A name, perhaps a unit, and bounds, without a colon."""
_LEFT_OUT = re.compile(rf"\s*{LEFT_OUT}\s*", re.I)
_SAID_FIRST = re.compile(rf"(\w+)\s+(\S+\s+\d+(?:\.\d+)?\s*%|{LEFT_OUT})", re.I)
"""A name and its first level with its share, or that it is left out, without a colon."""
_RANGE_FIRST = re.compile(rf"(\w+)\s+(\w\S*\s+{SHARE_RANGE}\s*%)", re.I)
_RANGE = re.compile(rf"(?<!\S){SHARE_RANGE}\s*%$", re.I)
"""At the end of a level."""
_LIKE_BOUNDS = re.compile(rf"-?\d+,\d+{_TO}-?\d|-?\d+{_TO}-?\d+,\d", re.I)
_LIKE_SHARE = re.compile(rf"\s(?:[\d.]+{_TO})?\d+,\d+\s*%|\s\d+,\d+{_TO}[\d.,]+\s*%", re.I)
"""Numbers with a decimal comma, which also separates."""
_SHARE_FIRST = re.compile(rf"((?:{SHARE_RANGE}|\d+(?:\.\d+)?)\s*%)\s*(\S.*)", re.I)
"""How often a level occurs, before it."""
_AFTER_BOUNDS = re.compile(rf"(?:typical|spread|±|(?:if\s+)?missing)\s*{_NUMBER}", re.I)
"""What says something of a number, and is no level beside others."""
_PARTS = re.compile(r"[;,](?!\d{3}(?!\d))")
"""Between what is said after the bounds; a comma before three digits belongs to a number."""
_USUAL = {
    "typical": re.compile(rf"typical\s+({_NUMBER})", re.I),
    "spread": re.compile(rf"(?:spread|±)\s*({_NUMBER})", re.I),
    "step": re.compile(rf"(?:per|step)\s+({_NUMBER})", re.I),
    "if missing": re.compile(rf"if missing\s+({_NUMBER})", re.I),
}
_UNIT = re.compile(
    r"(?!-?\d)(?!.*\b(?:typical|spread|missing)\b)(?!.*(?:\b(?:per|step)|±)\s*\d).*", re.I
)
"""What may stand behind the bounds as their unit."""
_QUOTED = re.compile(r'\s*"[^"]*"')
_SEPARATOR = re.compile(r"\t|[;,](?!\d{3}(?!\d))")
_WORDS = ("typical", "spread", "per", "step", "missing", "log")
"""What stands after bounds, and names no column without a colon."""
_POINT = "numbers have a decimal point, 0.5, not a comma."
_FEW = 6
"""Words of a line that are repeated."""
_TINY = 1e-6
"""Percent by which a sum of shares may miss 100 that is 100."""
_PERCENT = re.compile(r"\d+(?:\.\d+)?")
_MOST = 500


def read_lines(text: str) -> tuple[dict[str, Cells], dict[str, ValueError]]:
    """What each column is said to be, by its name, in the order of the lines; and of each line that
    cannot be read, or says something of a column that another speaks of, why, with its number.

    Raises:  ValueError for too many columns.
    """
    read: dict[str, dict[str, Cells] | ValueError] = {}
    lines_of: dict[str, list[int]] = {}
    for place, line in enumerate(text.splitlines(), start=1):
        if line in read:
            continue
        try:
            read[line] = columns = _line(line, place)
        except ValueError as problem:
            read[line] = problem
        else:
            for name in (name for name, cells in columns.items() if cells):
                lines_of.setdefault(name, []).append(place)
    found: dict[str, Cells] = {}
    wrong: dict[str, ValueError] = {}
    for line, columns_or in read.items():
        if isinstance(columns_or, ValueError):
            wrong[line] = columns_or
        elif twice := [name for name in columns_or if len(lines_of.get(name, ())) > 1]:
            first, second, *_ = lines_of[twice[0]]
            wrong[line] = ValueError(f"Lines {first} and {second} both describe “{twice[0]}”.")
        else:
            found |= {n: cells for n, cells in columns_or.items() if cells or n not in found}
    if len(found) > _MOST:
        raise ValueError(f"These are {len(found):,} columns; at most {_MOST} can be described.")
    return found, wrong


def _line(line: str, place: int) -> dict[str, Cells]:
    """The columns that one line names, and what it says of each."""
    if _LIKE_SHARE.search(line):
        raise ValueError(f"Line {place}: {_POINT}")
    columns = _columns(line)
    if all(said is None for _, said in columns):
        return {name: {} for name in _names(line, place)}
    found: dict[str, Cells] = {}
    for name, said in columns:
        if not (name := name.strip().strip('"')):
            raise ValueError(f"Line {place}: the name of the column is missing.")
        text = ",".join(said or ()).strip()
        if text or name not in found:
            found[name] = _cells(text, f"Line {place} (“{name}”)") if text else {}
    return found


def _columns(line: str) -> list[tuple[str, list[str] | None]]:
    """The columns of a line, each with the parts of its description, None of one that is only
    named. A part belongs to the description before it, unless it begins another, or that has its
    whole 100 %.
    """
    found: list[tuple[str, list[str] | None]] = []
    said: list[str] | None = None
    total = 0.0  # of the shares of this description; no number where a level has none
    for part in _parts(line):
        if begun := _begun(part, found=bool(found), before=said):
            found.append(begun)
            said, total = begun[1], _percent(begun[1][0]) if begun[1] else 0.0
            if said and _LEFT_OUT.fullmatch(said[0]):
                said = None
        elif said is not None and not (abs(total - 100.0) < _TINY and math.isnan(_percent(part))):
            said.append(part)
            total += _percent(part)
        elif part.strip():
            found.append((part, None))
            said = None
    return found


def _parts(line: str) -> Iterator[str]:
    """What commas, semicolons or tabs separate: none of a number such as 1,000, and none within
    quotation marks at the beginning of a part.
    """
    start, end = 0, 0
    while start <= len(line):
        quoted = _QUOTED.match(line, start)
        separator = _SEPARATOR.search(line, quoted.end() if quoted else start)
        end = separator.start() if separator else len(line)
        yield line[start:end]
        start = end + 1


def _begun(part: str, *, found: bool, before: list[str] | None) -> tuple[str, list[str]] | None:
    """The name and the description that a part begins, None where it begins none.

    found: whether another column stands before it in its line.
    before: the description that it would end; values may look like one without a colon.
    """
    quoted = _QUOTED.match(part)
    end = quoted.end() if quoted else 0
    name, colon, said = part[end:].partition(": " if found and not quoted else ":")
    if colon and not (name.strip() if quoted else re.fullmatch(r'\s*"[^"]*', name)):
        return part[:end] + name, [said] if said.strip() else []
    text = part.strip()
    if before and not _BOUNDS.fullmatch(before[0].strip()):
        return None
    if before is None and (match := _RANGE_FIRST.fullmatch(text)):
        return match[1], [match[2]]
    if (match := _NAME_FIRST.fullmatch(text)) and match[1].lower() not in _WORDS:
        name, unit, bounds, rest = match.groups()
        if unit:
            bounds = f"{bounds} {unit.strip().strip('()')}{',' if rest.strip() else ''}"
        return name, [f"{bounds}{rest}"]
    if before is None and (match := _SAID_FIRST.fullmatch(text)):
        return match[1], [match[2]]
    return None


def _percent(part: str) -> float:
    """The share of a level, the middle of a range; no number where it has none."""
    ends = _shared(part.strip())[1]
    return math.nan if ends is None else (ends[0] + ends[1]) / 2.0


def _names(line: str, place: int) -> list[str]:
    """The names in a line without a description; of words side by side nobody knows whether they
    are one.
    """
    names = names_of(line)
    if len(names) == 1 and '"' not in line and len(words := names[0].split(maxsplit=_FEW)) > 2:
        first, *rest = words
        more = ", …" if len(words) > _FEW else ""
        raise ValueError(
            f"Line {place} has no comma and no colon. A column with its values is written "
            f"“{first}: {', '.join(rest[: _FEW - 1])}{more}”; a name of several words stands in "
            "quotation marks."
        )
    return names


def names_of(header: str) -> list[str]:
    """The names in a header line, whatever separates them."""
    separator = max(",;\t", key=header.count)
    try:
        cells = next(csv.reader([header.lstrip("\ufeff").strip()], delimiter=separator), [])
    except csv.Error:
        raise ValueError("A line without a colon is read as names, and one is too long.") from None
    return list(dict.fromkeys(cell.strip() for cell in cells if cell.strip()))


def _cells(said: str, where: str) -> Cells:
    if _LEFT_OUT.fullmatch(said):
        return {"kind": LEFT_OUT}
    if (match := _BOUNDS.fullmatch(said)) is not None:
        low, high = _value(match[1], where), _value(match[2], where)
        if not low < high:
            raise ValueError(
                f"{where}: the lowest, {low:,.10g}, is not below the highest, {high:,.10g}."
            )
        lowest, highest = written(low, None), written(high, None)
        bounds: Cells = {"kind": "number", "lowest": lowest, "highest": highest}
        return bounds | _about(match[3], where)
    if _LIKE_BOUNDS.match(said):
        raise ValueError(f"{where}: {_POINT}")
    parts = [part.strip() for part in re.split(r"[,;]", said) if part.strip()]
    if len(parts) < 2:
        raise ValueError(
            f"{where}: bounds such as “18 to 100”, or at least two levels such as “no, yes”, are "
            "needed."
        )
    if more := next((part for part in parts if ": " in part), None):
        raise ValueError(
            f"{where}: “{more}” has a colon, which stands behind the name of a column only."
        )
    shared = [_shared(part) for part in parts]
    like = [part for part in parts if _AFTER_BOUNDS.fullmatch(part)]
    if 0 < len(like) < len(parts):
        raise ValueError(f"{where}: “{like[0]}” stands behind bounds such as “18 to 100”.")
    for part, (_, ends) in zip(parts, shared, strict=True):
        if ends is None and (match := _SHARE_FIRST.fullmatch(part)):
            raise ValueError(
                f"{where}: how often a value occurs stands behind it, “{match[4]} {match[1]}”."
            )
    cells: Cells = {"kind": "levels", "levels": "; ".join(level for level, _ in shared)}
    if half := half_range(level for level, _ in shared):
        raise ValueError(f"{where}: {half}")
    told = [ends for _, ends in shared if ends is not None]
    if len(told) == len(shared) - 1:  # the rest
        most, least = (max(100.0 - math.fsum(each), 0.0) for each in zip(*told, strict=True))
        told.insert([ends for _, ends in shared].index(None), (least, most))
    if len(told) == len(shared):
        is_range = any(low < high for low, high in told)
        if is_range and not do_ranges_fit(told):
            raise ValueError(f"{where}: {UNFIT}")
        cells["shares"] = "; ".join(_share(*ends) for ends in told)
    elif told:
        raise ValueError(f"{where}: how often a value occurs is said of all of them, or of none.")
    return cells


def _share(low: float, high: float) -> str:
    return share_line(float(f"{low:.6g}"), float(f"{high:.6g}"))


def _about(rest: str, where: str) -> Cells:
    """The unit, and what is usual, that stand after the bounds.

    Raises:  ValueError naming what is none of it.
    """
    cells: Cells = {}
    for place, part in enumerate(one.strip() for one in _PARTS.split(rest)):
        found = {name: match for name, each in _USUAL.items() if (match := each.fullmatch(part))}
        for name, usual in found.items():
            cells[name] = written(_value(usual[1], where), None)
        if part.lower() == "log":
            cells["log"] = True
        elif place == 0 and part and not found and _UNIT.fullmatch(part):
            cells["units"] = part
        elif part and not found:
            raise ValueError(
                f"{where}: “{part}” is not understood. After bounds and a unit stand, with commas "
                "between them: typical 27, spread 5, per 10, if missing 0, log. Another column has "
                "a line of its own."
            )
    return cells


def _shared(part: str) -> tuple[str, tuple[float, float] | None]:
    """A level and the ends of its percentage, None where there is none; a part may be long and all
    blanks.
    """
    if match := _RANGE.search(part):
        level = part[: match.start()].rstrip()
        return (level, ends_of(match[0])) if level else (part, None)
    level, *percent = part.removesuffix("%").rsplit(maxsplit=1) or [""]
    if part.endswith("%") and percent and _PERCENT.fullmatch(percent[0]):
        return level, (float(percent[0]), float(percent[0]))
    return part, None


def _value(text: str, where: str) -> float:
    value = float(text.replace(",", ""))
    if not math.isfinite(value):
        raise ValueError(f"{where}: a number is too large.")
    return value
