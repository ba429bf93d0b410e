"""What a person fills in for each kind of column: the fields of its card, and a field for one cell.

A kind that is not in the table can be planned with and released, but not typed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from dpci_core.base.errors import ArgumentError
from dpci_core.report.words import many
from dpci_core.schema import CategoricalColumn, Column, NumberGuess, NumericColumn
from dpci_core.schema.categorical import SHARES_SLACK
from ui.session.text import plain
from ui.session.typed import Limits, number_in, written
from ui.session.words import in_words

LEFT_OUT = "not in the model"
UNFIT = (
    "with a range, the others have to be what it leaves of 100, such as 80 to 90 beside 10 to 20."
)
POINTS = "Numbers have a decimal point, 1.5, and semicolons between them."
Row = Mapping[str, Any]
"""What is typed of one column, texts and a tick by the names of `FIELDS`; "column" is its name, and
"kind" the word of its form. What is empty may be absent.
"""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a card: what it is called, an example, more about it, and whether it is a tick."""

    label: str
    example: str = ""
    help: str | None = None
    is_tick: bool = False


FIELDS = {
    "column": Field("Name of the column", example="as in the first line of the file"),
    "kind": Field("Kind"),
    "lowest": Field("Lowest possible"),
    "highest": Field("Highest possible"),
    "units": Field("Unit", example="years"),
    "step": Field("Report effects per", example="1"),
    "typical": Field("Typical value"),
    "spread": Field("Spread"),
    "levels": Field("Values, as the file writes them", example="no; yes"),
    "shares": Field("How often each occurs (%)", example="for example 80; 20"),
    "effect": Field(
        "Guessed effect",
        example="optional",
        help="An odds ratio where the outcome is yes or no, else in its units; for each value but "
        "the first, with semicolons between. It only shapes the made-up rows to plan with.",
    ),
    "if missing": Field(
        "An empty cell counts as",
        example="its row is left out",
        help="A number within the bounds, or one of the values.",
    ),
    "log": Field(
        "Log scale",
        help="For amounts such as income, where ratios count. Spread and step are factors then.",
        is_tick=True,
    ),
}


class CellError(ValueError):
    """What is typed in one field cannot be.

    field: its name in `FIELDS`.  why: what is wrong with it; the message names the column as well.
    """

    def __init__(self, row: Row, field: str, why: str) -> None:
        self.field, self.why = field, why
        label = FIELDS[field].label
        super().__init__(f"“{text_of(row.get('column'))}”, {label[0].lower()}{label[1:]}: {why}")


class RangeError(CellError):
    """A share is a range, which only the outcome can have."""


@dataclass(frozen=True, kw_only=True)
class ColumnForm:
    """How one kind of column is typed.

    kind: what a row says of it.
    word: what a person reads.
    fields: of its card, in rows.
    needed: fields without which a row is not finished.
    asked: fields that a closed card shows too while they are empty.
    note: what the fields mean.
    line: a row in a few words, beside the column that filled it.
    to_row: the row of a column, and of what is guessed of its values.
    from_row: the column of a row, and the column of this kind that filled it.
    ask: a field for one cell, with its key; None while what is typed there cannot be one.
    widened: the column with bounds so many times as far apart; None for a column without bounds.
    """

    kind: str
    word: str
    fields: tuple[tuple[str, ...], ...]
    needed: tuple[str, ...]
    asked: tuple[str, ...] = ()
    note: str
    line: Callable[[Row, Column | None], str]
    to_row: Callable[[Any, Any], dict[str, object]]
    from_row: Callable[[Row, Any], Column]
    ask: Callable[[Any, str], float | str | None]
    widened: Callable[[Any, float], Any] | None = None

    @property
    def has_bounds(self) -> bool:
        """Whether such a column has bounds."""
        return self.widened is not None


def form_of(row: Row) -> ColumnForm:
    """The form of a row, that of a number unless it says another kind."""
    said = text_of(row.get("kind"))
    return next((form for form in FORMS.values() if form.kind == said), FORMS[NumericColumn])


def _check(is_fine: bool, row: Row, field: str, why: str) -> None:
    """Raise CellError unless it is fine."""
    if not is_fine:
        raise CellError(row, field, why)


def column_of(row: Row, known: Column | None = None) -> Column:
    """The column that a row describes; `known` is the one that filled it.

    Raises:  CellError.
    """
    form = form_of(row)
    is_same = known is not None and FORMS[type(known)] is form
    try:
        return form.from_row(row, known if is_same else None)
    except CellError:
        raise
    except ValueError as problem:  # of the core, which names its own arguments
        field = problem.name if isinstance(problem, ArgumentError) else ""
        field = {"low": "lowest", "high": "highest", "missing": "if missing"}.get(field, field)
        place = field if field in FIELDS else form.needed[0]
        raise CellError(row, place, in_words(problem)) from None


def _number_row(column: NumericColumn, guess: NumberGuess | None) -> dict[str, object]:
    typical, spread = column.typical, column.spread
    if typical is None and guess is not None:
        typical, spread = guess.centre, guess.spread
    return {
        "lowest": written(column.low, None),
        "highest": written(column.high, None),
        "if missing": column.fill,
        "typical": written(typical, None),
        "spread": written(spread, None),
        "units": column.units,
        "step": written(column.step, None),
        "log": column.takes_log,
    }


def _numeric(row: Row, known: NumericColumn | None) -> NumericColumn:
    numbers = ("lowest", "highest", "typical", "spread", "step", "if missing")
    low, high, typical, spread, step, missing = (number_of(row, name) for name in numbers)
    for end, bound in (("lowest", low), ("highest", high)):
        why = f"a number is needed, or the kind “{KINDS[LEFT_OUT]}”."
        _check(bound is not None, row, end, why)
    assert low is not None
    assert high is not None
    why = f"it has to be above the lowest, {low:,.10g}; {high:,.10g} is not."
    _check(low < high, row, "highest", why)
    is_log = row.get("log") is True
    _check(low > 0.0 or not is_log, row, "lowest", "on a log scale it has to be above 0.")
    least = 1.0 if is_log else 0.0
    for field, value in (("spread", spread), ("step", step)):
        _check(value is None or value > least, row, field, f"it has to be above {least:g}.")
        most = math.inf if is_log else 10.0 * (high - low)
        why = f"it has to be at most {most:,.10g}, ten times what lies between."
        _check(value is None or value <= most, row, field, why)
    for field, one, other in (("typical", typical, spread), ("spread", spread, typical)):
        _check(one is not None or other is None, row, field, "a number is needed.")
    for field, value in (("typical", typical), ("if missing", missing)):
        is_within = value is None or low <= value <= high
        _check(is_within, row, field, f"it has to lie within {low:,.10g} to {high:,.10g}.")
    return NumericColumn(
        text_of(row.get("column")),
        low,
        high,
        missing,
        typical=typical,
        spread=spread,
        step=step,
        limit=known.limit if known else None,
        transform="log" if is_log else None,
        units=text_of(row.get("units")),
    )


def _number_line(row: Row, _: Column | None) -> str:
    units, step = text_of(row.get("units")), number_of(row, "step")
    ends = " to ".join(f"{number_of(row, end):,.10g}" for end in ("lowest", "highest"))
    found = [f"number, {ends} {units}".strip()]
    found += ["log scale"] if row.get("log") is True else []
    return ", ".join([*found, f"effects per {step:,.10g}"] if step is not None else found)


def ask_number(label: str, usual: float, key: str, limits: Limits | None = None) -> float | None:
    """A field for a number; None while what is typed there is none, as is said below it."""
    entry = st.text_input(plain(label), written(usual, None), key=key)
    try:
        return number_in(entry, limits)
    except ValueError as problem:
        st.error(in_words(problem))
        return None


def _ask_number(column: NumericColumn, key: str) -> float | None:
    units = f" ({column.units})" if column.units else ""
    return ask_number(f"{column.name}{units}", column.middling, key, (column.low, column.high))


def _widened(column: NumericColumn, factor: float) -> NumericColumn:
    middle, half = (column.low + column.high) / 2.0, factor * (column.high - column.low) / 2.0
    return replace(column, low=middle - half, high=middle + half, missing=None)


def _levels_row(column: CategoricalColumn, guess: tuple[float, ...] | None) -> dict[str, object]:
    shares = column.shares or guess or ()
    return {
        "levels": "; ".join(column.levels),
        "if missing": column.other,
        "shares": "; ".join(f"{100.0 * share:.12g}" for share in shares),
    }


def levels_of(row: Row) -> tuple[str, ...]:
    """The values that are typed, with semicolons between them, or commas where there is none."""
    return tuple(part.strip() for part in _parts(row, "levels") if part.strip())


def shares_of(row: Row) -> list[str]:
    """The percentages that are typed of them, separated in the same way."""
    return _parts(row, "shares")


def ends_of(share: str) -> tuple[float, float] | None:
    """The lowest and the highest of a range of percentages; None where it is none.

    >>> ends_of("10 to 20"), ends_of(" 10–20 %"), ends_of("20")
    ((10.0, 20.0), (10.0, 20.0), None)
    """
    if (match := _RANGE.fullmatch(share.strip())) is None:
        return None
    one, other = sorted(map(float, match.groups()))
    return one, other


def share_line(low: float, high: float) -> str:
    """Percentages as they are typed: a number, or a range."""
    ends = (low,) if low == high else (low, high)
    return " to ".join(f"{end:.12g}" for end in ends)


def do_ranges_fit(ends: Sequence[tuple[float, float]]) -> bool:
    """Whether each range of percentages is within what the others leave of 100."""
    low, high = (math.fsum(each) for each in zip(*ends, strict=True))
    return all(
        one + (high - other) >= 100.0 - _SLACK and other + (low - one) <= 100.0 + _SLACK
        for one, other in ends
    )


def half_range(levels: Iterable[str]) -> str:
    """Why one of these is no value: it ends as a range begins, "yes 10 to"; empty where none is."""
    half = next((level for level in levels if _HALF.search(level)), None)
    return f"“{half}” ends like half a range: write “yes 10 to 20 %”." if half else ""


def _parts(row: Row, field: str) -> list[str]:
    typed = text_of(row.get(field))
    return typed.split(";" if ";" in typed else ",")


def even_shares(count: int) -> str:
    """An example of as many shares in per cent, whose sum is 100.

    >>> even_shares(3), even_shares(5), even_shares(20)[:16]
    ('34; 33; 33', '20; 20; 20; 20; 20', '5; 5; 5; 5; 5; 5')
    """
    each, more = divmod(100, count)
    return "; ".join(str(each + (place < more)) for place in range(count))


def _levels(row: Row, known: CategoricalColumn | None) -> CategoricalColumn:
    old = _unchanged(row, known)
    levels = old.levels if old else levels_of(row)
    why = "values with a comma in them need semicolons between."
    _check(old is not None or not _COMMAS.fullmatch(text_of(row.get("levels"))), row, "levels", why)
    _check(len(levels) >= 2, row, "levels", "at least two are needed, with semicolons between.")
    other = text_of(row.get("if missing")) or None
    why = f"“{other}” is not one of the values."
    _check(other is None or other in levels, row, "if missing", why)
    _check(not (why := half_range(levels)), row, "levels", why)
    ends = [_ends(row, part) for part in filter(str.strip, shares_of(row))]
    shares = tuple(low / 100.0 for low, _ in ends) or None
    if shares:
        point = f" {POINTS}" if "," in text_of(row.get("shares")) else ""
        why = f"{len(levels)} are needed, one for each value.{point}"
        _check(len(shares) == len(levels), row, "shares", why)
        _check_ranges(row, ends)
        total = math.fsum(shares)
        why = "they have to add up to 100, none below 0; these add up to "
        why += f"{100.0 * total:.4g}.{point}"
        _check(min(shares) >= 0.0 and abs(total - 1.0) <= SHARES_SLACK, row, "shares", why)
    return CategoricalColumn(
        text_of(row.get("column")), levels, other, old is None or old.has_reference, shares
    )


def _ends(row: Row, share: str) -> tuple[float, float]:
    """The ends of a range of percentages; of a number that number twice."""
    if (found := ends_of(share)) is not None:
        return found
    value = _number(row, "shares", share)
    return value, value


def _check_ranges(row: Row, ends: Sequence[tuple[float, float]]) -> None:
    """Raise CellError for ranges that do not go together, RangeError for those that do."""
    if all(low == high for low, high in ends):
        return
    _check(do_ranges_fit(ends), row, "shares", UNFIT)
    middles = [(low + high) / 2.0 for low, high in ends]
    total = math.fsum(middles)
    numbers = "; ".join(f"{100.0 * middle / total:.4g}" for middle in middles)
    why = f"only the outcome can have a range: write a number for each value, such as {numbers}."
    raise RangeError(row, "shares", why)


def _unchanged(row: Row, known: Column | None) -> CategoricalColumn | None:
    """The column that filled a row, where it has values and they are as they were."""
    if not isinstance(known, CategoricalColumn):
        return None
    return known if text_of(row.get("levels")) == "; ".join(known.levels) else None


def _levels_line(row: Row, known: Column | None) -> str:
    levels, shares = levels_of(row), shares_of(row)
    found = list(levels)
    if is_told := len(shares) == len(levels):
        found = [f"{level} {share.strip()} %" for level, share in zip(levels, shares, strict=True)]
    old = _unchanged(row, known)
    if old is None or old.has_reference:
        found[0] += " (reference)"
    more = ", …" if len(levels) > _LISTED else ""
    told = "" if is_told else ", how often is not said: some may be rare"
    return f"{many(len(levels), 'value')}, {', '.join(found[:_LISTED])}{more}{told}"


def _ask_level(column: CategoricalColumn, key: str) -> str:
    return str(st.selectbox(plain(column.name), column.levels, key=key))


def text_of(value: object) -> str:
    """What is typed in a field, empty where nothing is."""
    return "" if value is None else str(value).strip()


def number_of(row: Row, field: str) -> float | None:
    """The number that is typed in a field, None where it is empty.

    Raises:  CellError.
    """
    typed = text_of(row.get(field))
    return _number(row, field, typed) if typed else None


def _number(row: Row, field: str, typed: str) -> float:
    try:
        return number_in(typed)
    except ValueError as problem:
        raise CellError(row, field, in_words(problem)) from None


_SHARE = r"(\d{1,3}(?:\.\d+)?)"
_TO = r"(?:to|-|–|—|…|\.\.+)"
SHARE_RANGE = rf"{_SHARE}(?:\s*%)?\s*{_TO}\s*{_SHARE}"
"""Two percentages and what stands between them; a percent sign may follow."""
_RANGE = re.compile(rf"{SHARE_RANGE}(?:\s*%)?", re.I)
_SLACK = 0.1
"""Percent by which a range may miss what the others leave, as rounded ones do."""
_HALF = re.compile(rf"(?<!\S)\d+(?:\.\d+)?(?:\s*%)?\s+{_TO}(?:\s*%)?$", re.I)
_COMMAS = re.compile(r"(?=.*\d,\d)(?=.*,\s)[^;]*")
"""Values with commas between, of which some stand within a number."""
_LISTED = 5
"""Values that a line names."""
OUTCOME_FIELDS = ("lowest", "highest", "units", "typical", "spread")
"""What is typed of an outcome that is a number."""
FORMS: dict[type[Column], ColumnForm] = {
    NumericColumn: ColumnForm(
        kind="number",
        word="Number",
        fields=(
            ("lowest", "highest", "units", "step"),
            ("typical", "spread", "effect", "if missing", "log"),
        ),
        needed=("lowest", "highest"),
        note="A value outside the bounds counts as the nearest bound. About two of three values "
        "differ from the typical one by less than the spread. What is left empty counts as the "
        "suggestion in grey.",
        line=_number_line,
        to_row=_number_row,
        from_row=_numeric,
        ask=_ask_number,
        widened=_widened,
    ),
    CategoricalColumn: ColumnForm(
        kind="levels",
        word="Yes/no or categories",
        fields=(("levels", "shares"), ("effect", "if missing")),
        needed=("levels",),
        asked=("shares",),
        note="All values, with semicolons between them: effects are reported against the first. "
        "How often they occur stands in the same order; left empty, some may be "
        "rare, which takes more budget. An ordered scale that is coded 1 to 5 can be a number.",
        line=_levels_line,
        to_row=_levels_row,
        from_row=_levels,
        ask=_ask_level,
    ),
}
"""By kind; the only place of the pages that knows one from another."""
KINDS = {form.kind: form.word for form in FORMS.values()} | {LEFT_OUT: "Not in the model"}
"""What a row may say of its kind, in the words of the pages."""
