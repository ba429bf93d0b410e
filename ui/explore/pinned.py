"""Settings that are pinned to compare with: at most three, as thin lines in the charts and columns
of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from dpci_core import ConvergenceError, DataRejectedError
from dpci_core.report.words import in_hundred
from ui.explore import finding
from ui.explore.finding import Numbers, cost_words, percent
from ui.explore.intervals import LETTERS, PinnedIntervals
from ui.kit.picture import Cell, Table
from ui.session import compute, state
from ui.session.choices import distinguishing_labels
from ui.session.results import IntervalRows
from ui.session.settings import Settings
from ui.session.text import number


@dataclass(frozen=True, eq=False)
class Pinned:
    """A pinned setting with its intervals and its numbers, both empty where it has none now."""

    letter: str
    settings: Settings
    rows: tuple[IntervalRows, ...]
    numbers: tuple[Numbers, ...]

    def of(self, item: IntervalRows | Numbers) -> Numbers | None:
        """The numbers that compare with those of one combination: of the same, else the first."""
        same = [n for n in self.numbers if n.combination == item.combination]
        return next(iter(same or self.numbers), None)


def pinned(units: str) -> list[Pinned]:
    """The pinned settings of this session, computed once."""
    made = []
    for letter, one in zip(LETTERS, state.pinned(), strict=False):
        make = partial(_computed, one, units)
        rows, numbers = state.memo().get(("pinned", repr(one), units), make)
        made.append(Pinned(letter, one, rows, numbers))
    return made


def _computed(
    settings: Settings, units: str
) -> tuple[tuple[IntervalRows, ...], tuple[Numbers, ...]]:
    try:
        view = compute.compute(settings, state.source(settings))
        return tuple(compute.interval_rows(view, units)), tuple(finding.numbers(view))
    except (DataRejectedError, ConvergenceError, FileNotFoundError):
        return (), ()


def intervals(found: Sequence[Pinned], rows: Sequence[IntervalRows]) -> list[PinnedIntervals]:
    """Their intervals, each beside the combination that it compares with: the same, or the only
    one.
    """
    made = []
    for each in found:
        same = [
            next((r for r in each.rows if r.combination == item.combination), None) for item in rows
        ]
        if not any(same) and each.rows:
            same[0] = each.rows[0]
        made.append(PinnedIntervals(each.letter, tuple(same)))
    return made


def table(found: Sequence[Pinned], now: Settings, numbers: Sequence[Numbers]) -> Table | None:
    """What is set and what comes of it, for the first combination; what differs from now is
    bold.
    """
    if not found or not numbers:
        return None
    all_settings = [now, *(each.settings for each in found)]
    rows: list[tuple[Cell | str, ...]] = []
    for name, texts in _said(all_settings):
        if name in _ALWAYS or len(set(texts)) > 1:
            cells = [Cell(text=t, is_bold=t != texts[0]) for t in texts[1:]]
            rows.append((name, texts[0], *cells))
    first = numbers[0]
    others = [each.of(first) for each in found]
    for name, say in _RESULTS.items():
        texts = [say(n) if n else "-" for n in (first, *others)]
        rows.append((name, texts[0], *(Cell(text=t, is_bold=t != texts[0]) for t in texts[1:])))
    way = distinguishing_labels([n.combination for n in numbers])[0]
    about = f", {way}" if len(numbers) > 1 else ""
    return Table(
        head=("", "now", *(each.letter for each in found)),
        rows=tuple(rows),
        caption=f"Compared with kept settings{about}",
    )


_ALWAYS = ("budget", "records n", "features d", "split, %", "penalty c")
_RESULTS: dict[str, Callable[[Numbers], str]] = {
    "mean length": lambda n: number(n.private),
    "÷ without privacy": cost_words,
    "coverage": lambda n: percent(n.coverage),
}


def _said(settings: Sequence[Settings]) -> list[tuple[str, list[str]]]:
    """Name and text of everything that may differ between settings."""
    columns: dict[str, Callable[[Settings], str]] = {
        "data": lambda s: s.dataset,
        "budget": lambda s: f"{s.typed.letter} = {number(s.typed_total)}",
        "records n": lambda s: f"{s.n:,}",
        "features d": lambda s: str(len(s.names) or s.d),
        "split, %": lambda s: "/".join(in_hundred(s.split.parts, 0)),
        "penalty c": lambda s: f"{s.c:g}",
        "width h": lambda s: f"{s.h:g}",
        "level": lambda s: percent(s.level, 6),
        "model": lambda s: s.combinations[0].loss,
        "mechanism": lambda s: s.combinations[0].mechanism,
        "intervals": lambda s: s.combinations[0].calibration,
        "target": lambda s: s.target,
        "encoding": lambda s: s.encoding,
    }
    return [(name, [say(s) for s in settings]) for name, say in columns.items()]


_HELP = f"Keeps these settings as thin lines in the chart, at most {state.MAX_PINNED}."
_FULL = f"A chart has room for at most {state.MAX_PINNED}: drop one first."
_NOTHING = "At these settings no effect can be reported, so there is nothing to compare."


def controls(*, has_numbers: bool) -> None:
    """Keep the present settings; go back to kept ones, or drop them."""
    found = state.pinned()
    is_full = len(found) >= state.MAX_PINNED
    st.button(
        "+ Compare",
        key="pin",
        on_click=_keep,
        disabled=is_full or not has_numbers,
        help=_FULL if is_full else _HELP if has_numbers else _NOTHING,
    )
    if not found:
        return
    with st.popover(f"{len(found)} of {state.MAX_PINNED} kept", key="kept"):
        for index, letter in zip(range(len(found)), LETTERS, strict=False):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**{letter}**")
                st.button(
                    f"Go back to {letter}",
                    key=f"pin_use_{index}",
                    on_click=state.put,
                    args=(found[index],),
                )
                st.button(f"Drop {letter}", key=f"pin_drop_{index}", on_click=_drop, args=(index,))


def _keep() -> None:
    if len(state.pinned()) < state.MAX_PINNED:
        state.pinned().append(state.settings())


def _drop(index: int) -> None:
    state.pinned().pop(index)
