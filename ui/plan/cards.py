"""The columns of the step Describe, a card each: closed one line, open its fields.

A card has a number of its own for as long as it is there, and its fields are keyed by that number:
what is typed stays with its column, whatever is added, removed or moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import streamlit as st

from dpci_core.schema import Column
from ui.controls import declare, suggest
from ui.controls.lines import Cells
from ui.kit.bound import among, bound
from ui.kit.top import bring
from ui.plan.draft import NUMBER, OUTCOMES, YES_NO
from ui.session.forms import (
    FIELDS,
    KINDS,
    LEFT_OUT,
    OUTCOME_FIELDS,
    CellError,
    RangeError,
    even_shares,
    form_of,
    levels_of,
    number_of,
    text_of,
)
from ui.session.text import number as short
from ui.session.text import plain

_CARDS, _NEXT, _OPENED = "describe_cards", "describe_next", "describe_opened"
_SHOWN, _TRIED, _WANTED = "describe_shown", "describe_tried", "describe_wanted"
_ASKED = "describe_asked"
_CSS = """<style>
.st-key-cards [class*=_line] button > div { justify-content: start; text-align: start }
.st-key-cards > div > [class*=st-key-card_] { padding: 0.25rem 1rem 0.5rem }
</style>"""
"""A line begins on the left."""
_expanded = st.components.v2.component(
    "dpci_expanded",
    html="<span></span>",
    js="""let watch
export default function ({ data, parentElement }) {
  const tell = () => {
    for (const [key, isOpen] of data.cards)
      document.querySelector(`.st-key-${key} button`)?.setAttribute('aria-expanded', isOpen)
  }
  watch?.disconnect()
  const mine = watch = new MutationObserver(tell)
  mine.observe(document.querySelector('[data-testid=stMain]'), { childList: true, subtree: true })
  tell()
  return () => setTimeout(() => parentElement.isConnected || mine.disconnect()) // as in again.js
}""",
)
"""Tells readers of a screen which cards are open, for which a button has no option."""
TARGET = "describe_target"
"""The session's name of the outcome."""
OUTCOME = "describe_outcome"
"""The session's name of what the outcome is: one of `OUTCOMES`."""
KIND_OF = {YES_NO: "levels", NUMBER: "number"}
"""What the card of the outcome says of its kind."""
_USUAL_VALUES = ("0; 1", "no; yes", "false; true")
"""One rule reads Yes, TRUE and 1.0 like these."""


def rows() -> list[Cells]:
    """What is typed of each column, in their order."""
    return list(_cards().values())


def names() -> list[str]:
    """Names of the columns, each once."""
    found = (text_of(row.get("column")) for row in rows())
    return list(dict.fromkeys(filter(None, found)))


def fill(typed: Iterable[Mapping[str, Any]]) -> None:
    """Have a new card for each of these columns, and no other."""
    st.session_state.update({_CARDS: {}, _OPENED: set(), _ASKED: set(), _TRIED: False})
    for row in typed:
        _new(row)
    _open_what_lacks()


def add(found: Mapping[str, Cells]) -> None:
    """Have a card for each name, behind those that are there, with what is said of it."""
    for name, cells in found.items():
        same = (row for row in rows() if text_of(row.get("column")) == name)
        if (row := next(same, None)) is None:
            _new(suggest.with_no_first({"column": name} | (cells or suggest.kind_by(name))))
        else:
            _say_levels(row, cells)
    _open_what_lacks()


def wrong(
    roles: Mapping[str, str], known: Mapping[str, Column], *, is_all: bool = True
) -> dict[int, CellError]:
    """What is wrong with each card.

    roles: what a column that is not in the model is instead, by its name.
    known: the columns that filled the cards, by name.
    is_all: what is not typed yet counts.

    While no outcome is chosen, a range of shares is nothing wrong: its column may be the outcome.
    """
    found, names = {}, declare.wrong_names(rows())
    for (number, row), bad in zip(_cards().items(), names, strict=True):
        name = text_of(row.get("column"))
        if bad is None and name not in roles and row.get("kind") != LEFT_OUT:
            (filled,), _ = suggest.with_suggestions([row])
            bad = declare.wrong_cell(filled, known.get(name), is_number=is_of_number())
        if isinstance(bad, RangeError) and not st.session_state.get(TARGET):
            continue
        if bad is not None and (_is_told(row, bad) or (is_all and set(row) - {"kind"})):
            found[number] = bad
    return found


def wrong_outcome() -> CellError | None:
    """What is wrong with the outcome as a number."""
    try:
        declare.outcome_of(suggest.with_suggestions([outcome()])[0][0])
    except CellError as problem:
        return problem
    return None


def _is_told(row: Cells, bad: CellError) -> bool:
    """Whether something wrong is more than what is not typed yet."""
    return _is_finished(row) or bool(text_of(row.get(bad.field)))


def say_all(first: int) -> None:
    """From now on say of every card what it lacks; open this one."""
    st.session_state[_TRIED] = True
    _open(first)


def ask_shares(name: str) -> None:
    """Put the cursor at the shares of this column when it is drawn next."""
    st.session_state[_WANTED] = name


def draw(roles: Mapping[str, str], known: Mapping[str, Column], *, is_filled: bool) -> None:
    """Draw all cards; is_filled: with what an empty cell counts as."""
    bad = wrong(roles, known, is_all=st.session_state.get(_TRIED, False))
    st.html(_CSS)
    with st.container(key="cards", gap="xsmall"):
        for number, row in _cards().items():
            role = roles.get(text_of(row.get("column")), "")
            name = text_of(row.get("column"))
            line = _line(row, role, known.get(name), is_wrong=number in bad)
            is_open = number in _opened()
            with st.container(border=True, key=f"card_{number}"):
                st.button(
                    line,
                    key=f"card_{number}_line",
                    icon=f":material/keyboard_arrow_{'down' if is_open else 'right'}:",
                    type="tertiary",
                    width="stretch",
                    on_click=_toggle,
                    args=(number,),
                )
                if is_open:
                    _fields(number, row, role, bad.get(number), is_filled=is_filled)
                    _buttons(number)
                elif not role:
                    _ask_usual(number, row, bad.get(number))
    opened = [[f"card_{number}_line", number in _opened()] for number in _cards()]
    _expanded(key="cards_expanded", data={"cards": opened})
    st.button("Add a column", key="describe_add", on_click=_add_empty)
    if (shown := st.session_state.pop(_SHOWN, None)) in _cards():
        bring(f"card_{shown}", focus="alert")


def bring_wanted() -> None:
    """Bring the shares that were asked for into view; of the outcome they are a line below all
    cards.
    """
    wanted = st.session_state.pop(_WANTED, "")
    if wanted and wanted == st.session_state.get(TARGET):
        bring("describe_rate", focus="field")
        return
    for number, row in _cards().items():
        if text_of(row.get("column")) == wanted:
            bring(f"card_{number}_shares", focus="field")


def lacking_shares(roles: Mapping[str, str]) -> list[str]:
    """The columns of the model of which nobody said how often their values occur."""
    return [
        text_of(row.get("column"))
        for row in rows()
        if text_of(row.get("column")) not in roles
        and row.get("kind") != LEFT_OUT
        and _is_finished(row)
        and not all(text_of(row.get(name)) for name in form_of(row).asked)
    ]


def _ask_usual(number: int, row: Cells, bad: CellError | None) -> None:
    """Below the line of a closed card what the plan would otherwise be careful about; a field that
    was there stays, for whoever goes on by the keyboard.
    """
    form, asked = form_of(row), st.session_state.setdefault(_ASKED, set())
    for name in form.asked if _is_finished(row) else ():
        if not text_of(row.get(name)):
            asked.add((number, name))
        if (number, name) in asked:
            _field(number, row, name)
            _say(bad, (name,))


def outcome() -> Cells:
    """What is typed of the outcome; nothing where none is chosen."""
    target = st.session_state.get(TARGET)
    return next((row for row in rows() if row.get("column") == target is not None), {})


def is_of_number() -> bool:
    """Whether the outcome is a number: as somebody said, or else as what is typed of it looks."""
    said = st.session_state.get(OUTCOME)
    if said is not None:
        return bool(said == NUMBER)
    row = outcome()
    return "lowest" in row and "highest" in row and not text_of(row.get("levels"))


def ask_outcome() -> None:
    """What the outcome is: the bounds of a number, or its values, and the usual ones to choose
    from.
    """
    row = outcome()
    number = next(number for number, one in _cards().items() if one is row)
    st.segmented_control(
        "What is the outcome?",
        OUTCOMES,
        required=True,
        **bound(
            "describe_outcome_pick",
            NUMBER if is_of_number() else YES_NO,
            partial(_take_outcome, number),
            options=OUTCOMES,
        ),
        help="Effects on a number are told in its units, those on a yes as odds ratios.",
    )
    if is_of_number():
        with st.grid(3, min_column_width=140, vertical_alignment="bottom"):
            for name in OUTCOME_FIELDS:
                _field(number, row, name)
        if (bad := wrong_outcome()) is not None and _is_told(row, bad):
            _say(bad, OUTCOME_FIELDS)
        st.caption(
            "For an outcome that is a number, ε is promised but for a tiny chance δ, which is less "
            "than the same ε without δ."
        )
        return
    _field(number, row, "levels")
    if not text_of(row.get("levels")):
        st.pills(
            "Usual values",
            _USUAL_VALUES,
            key="describe_usual",
            label_visibility="collapsed",
            on_change=lambda: _take(number, "levels", st.session_state["describe_usual"]),
        )


def _take_outcome(number: int, said: str) -> None:
    st.session_state[OUTCOME] = said
    _take(number, "kind", KIND_OF[said])


# --- one card -------------------------------------------------------------------------------------


def _line(row: Cells, role: str, known: Column | None, *, is_wrong: bool) -> str:
    """A card in one line, beside the column that filled it."""
    form, name = form_of(row), plain(text_of(row.get("column"))) or "A new column"
    if role or row.get("kind") == LEFT_OUT:
        return f"**{name}** · {role or LEFT_OUT}"
    if is_wrong:
        return f"**{name}** · to be corrected"
    if not _is_finished(row):
        lacking = " and ".join(FIELDS[field].label.lower() for field in form.needed)
        return f"**{name}** · still needed: {lacking}"
    return f"**{name}** · {plain(form.line(row, known) + _usual(row))}"


def _usual(row: Cells) -> str:
    """The typical value and the spread of a number, and whether somebody typed them."""
    if (found := suggest.suggestion_of(row)) is not None:
        mark, is_spread = " (suggested)", not text_of(row.get("spread"))
        after = ("", mark) if is_spread else (mark, "")
        return f", typical {short(found[0])}{after[0]}, spread {short(found[1])}{after[1]}"
    if form_of(row).has_bounds and text_of(row.get("typical")):
        typical, spread = number_of(row, "typical"), number_of(row, "spread")
        return f", typical {typical:,.10g}, spread {spread:,.10g}"
    return ""


def _fields(number: int, row: Cells, role: str, bad: CellError | None, *, is_filled: bool) -> None:
    """The fields of an open card, and what is wrong below the row where it is."""
    form = form_of(row)
    left, right = st.columns([2, 3])
    with left:
        _field(number, row, "column")
    if not role:
        with right:
            st.segmented_control(
                FIELDS["kind"].label,
                **among(KINDS),
                required=True,
                **bound(
                    f"card_{number}_kind",
                    LEFT_OUT if row.get("kind") == LEFT_OUT else form.kind,
                    partial(_take, number, "kind"),
                    options=list(KINDS),
                ),
            )
    _say(bad, ("column",))
    if role or row.get("kind") == LEFT_OUT:
        return
    for fields in form.fields:
        shown = [name for name in fields if is_filled or name != "if missing"]
        with st.grid(
            4 if len(fields) > 2 else 2, min_column_width=140, vertical_alignment="bottom"
        ):
            for name in shown:
                _field(number, row, name)
        _say(bad, fields)
    st.caption(form.note)


def _field(number: int, row: Cells, name: str) -> None:
    """One field; a typical value and a spread show what is suggested, shares as many as there are
    values.
    """
    field, key, value = FIELDS[name], f"card_{number}_{name}", row.get(name)
    example = field.example
    if name in ("typical", "spread") and (found := suggest.suggestion_of(row)) is not None:
        example = short(found[name == "spread"])
    if name == "shares" and (count := len(levels_of(row))) > 2:
        example = f"for example {even_shares(count)}"
    take = partial(_take, number, name)
    if field.is_tick:
        now = value is True
        st.checkbox(field.label, now, help=field.help, **bound(key, now, take, options=()))
    else:
        typed = text_of(value)
        st.text_input(
            field.label,
            typed,
            placeholder=example,
            help=field.help,
            **bound(key, typed, take, empty="", options=()),
        )


def _say(bad: CellError | None, fields: Sequence[str]) -> None:
    """What is wrong, below the fields where it is."""
    if bad is not None and bad.field in fields:
        st.error(f"**{FIELDS[bad.field].label}**: {plain(bad.why)}")


def _buttons(number: int) -> None:
    """The next card, another place, or none."""
    order = list(_cards())
    place = order.index(number)
    with st.container(horizontal=True):
        for name, (word, step, act) in _MOVES.items():
            if 0 <= place + step < len(order):
                st.button(
                    word,
                    key=f"card_{number}_{name}",
                    on_click=act,
                    args=(number, order[place + step]),
                    type="secondary" if act is _next else "tertiary",
                )
        st.button(
            "Remove", key=f"card_{number}_remove", on_click=_remove, args=(number,), type="tertiary"
        )


# --- what is kept ---------------------------------------------------------------------------------


def _cards() -> dict[int, Cells]:
    return cast("dict[int, Cells]", st.session_state.setdefault(_CARDS, {}))


def _new(row: Mapping[str, Any]) -> int:
    """A card behind the others, with a number that none had before."""
    number = st.session_state.get(_NEXT, 0)
    st.session_state[_NEXT] = number + 1
    _cards()[number] = dict(row)
    return cast(int, number)


def _add_empty() -> None:
    _open(_new({}))


def _opened() -> set[int]:
    return cast("set[int]", st.session_state.setdefault(_OPENED, set()))


def _toggle(number: int) -> None:
    _opened().symmetric_difference_update({number})


def _open(number: int) -> None:
    """Open a card and bring it into view."""
    _opened().add(number)
    st.session_state[_SHOWN] = number


def _open_what_lacks() -> None:
    """Open the first card that lacks something, and those where something is wrong."""
    target = st.session_state.get(TARGET)
    lacking = [
        number
        for number, row in _cards().items()
        if not _is_finished(row) and row.get("column") != target
    ]
    _opened().update(lacking[:1], wrong({str(target): ""}, {}, is_all=False))


def _is_finished(row: Cells) -> bool:
    """Whether what is needed of a column is typed."""
    if row.get("kind") == LEFT_OUT:
        return bool(text_of(row.get("column")))
    return all(text_of(row.get(field)) for field in ("column", *form_of(row).needed))


def _take(number: int, field: str, value: object) -> None:
    """Keep what was typed; the outcome keeps being one under another name."""
    if (row := _cards().get(number)) is None:
        return
    value = value.strip() if isinstance(value, str) else value
    if field == "levels" and value:
        _say_levels(row, {field: value})
        return
    if field == "column" and _is_outcome(row):
        st.session_state[TARGET] = value
    elif field == "column" and not row:
        row.update(suggest.kind_by(str(value)))
    if value == "":
        row.pop(field, None)
    else:
        row[field] = value


def _say_levels(row: Cells, cells: Mapping[str, object]) -> None:
    """Take cells into a row; new values of it with a “no” as the reference, known ones in the order
    in which somebody typed them.
    """
    before = set(levels_of(row))
    row.update(cells)
    if set(levels_of(row)) != before:
        row.update(suggest.with_no_first(row))


def _is_outcome(row: Cells) -> bool:
    """Whether this card has the name of the outcome, and no other has it too."""
    target = st.session_state.get(TARGET)
    named = [one for one in rows() if text_of(one.get("column")) == target]
    return len(named) == 1 and named[0] is row


def _next(number: int, other: int) -> None:
    _opened().discard(number)
    _open(other)


def _swap(number: int, other: int) -> None:
    """Have two cards change places."""
    order = list(_cards())
    if not {number, other} <= set(order):
        return
    here, there = order.index(number), order.index(other)
    order[here], order[there] = other, number
    st.session_state[_CARDS] = {one: _cards()[one] for one in order}
    st.session_state[_SHOWN] = number


_MOVES = {
    "next": ("Next column", 1, _next),
    "up": ("Move up", -1, _swap),
    "down": ("Move down", 1, _swap),
}
"""Buttons of a card by their keys: words, the other card by its distance, what is done."""


def _remove(number: int) -> None:
    """Drop a card, and the outcome with it if it is that; the one in its place has the focus. The
    second half of a double click finds none, and drops nothing.
    """
    if number not in _cards():
        return
    place = list(_cards()).index(number)
    if _is_outcome(_cards()[number]):
        st.session_state[TARGET] = None
    del _cards()[number]
    left = list(_cards())
    if left:
        st.session_state[_SHOWN] = left[min(place, len(left) - 1)]
