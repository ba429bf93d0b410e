"""Step 1: the table. Described without being opened, or one that is here, or a plan file.

What is typed is a draft of this session until somebody goes on: nothing of an example, and nothing
of a table that was described before, gets into it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from dpci_core import datasets
from dpci_core.base.errors import expect
from dpci_core.base.limits import MOST_ROWS_PER_PERSON
from dpci_core.report.words import PERSONS_PLANNED
from dpci_core.schema import Column, NumericColumn, Persons, Schema
from dpci_core.schema.copula import Pair
from dpci_core.schema.declare import COMPLETE
from dpci_core.schema.spelling import usual_yes
from dpci_core.schema.twin import Rate
from ui.controls import declare, design, plan_file, suggest, upload
from ui.controls.lines import Cells, names_of, read_lines
from ui.controls.sidebar import dataset_label, feature_names, take_dataset
from ui.kit.bound import among, bound
from ui.plan import cards, draft
from ui.session import state, steps
from ui.session.compute import DECLARED, declared_table
from ui.session.forms import (
    RangeError,
    Row,
    ends_of,
    half_range,
    levels_of,
    share_line,
    shares_of,
    text_of,
)
from ui.session.settings import BUDGET, LIMITS, Settings, for_outcome
from ui.session.text import plain
from ui.session.typed import number_in, whole_in, written
from ui.session.words import in_words
from ui.views import path

HOWS = {
    "type": "Describe it: nothing is opened",
    "here": "A public or simulated set",
    "file": "A public or synthetic file",
    "plan": "A plan file",
}
_OF, _SAID = "describe_of", "describe_said"
_HEADER, _BAD_LINES = "describe_header_line", "describe_bad_lines"
_UNIT = "one person"
_MOST, _COMPLETE = "Largest number of rows of a person", "Expected share of complete rows (%)"
_ONE_ROW, _SEVERAL = draft.ANSWERS
_FEW = 8
"""So many choices stand side by side; more are in a list."""
_MOST_SAID = 5
"""Columns of which it is said at the button what they lack."""
_LINES = """age: 18 to 100 years, per 10
smoker: no 80 %, yes 20 %
systolic_bp: 60 to 260 mmHg, typical 130, spread 18, per 10
diabetes: no, yes"""
_DOOR = (
    "**A table to publish?** Begin with its header line. **None yet?** Type its columns, or try "
    "the example."
)
_CODES_HELP = (
    "The others count as “no”. 1 is also 1.0, and yes also Yes. A row with a value that is not "
    "listed counts for nothing."
)

_header = st.components.v2.component(
    "dpci_header",
    html='<label>Read them from the first line of a CSV <input type="file" '
    'accept=".csv,.tsv,.txt"></label>',
    css="""label { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center;
                   font: 14px var(--st-font); color: var(--st-text-color) }
           input { color: var(--st-text-color); font: inherit; max-width: 100% }
           input::file-selector-button { font: inherit; color: inherit; cursor: pointer;
             padding: 0.5rem 0.75rem; margin-right: 0.5rem; border-radius: 0.5rem;
             background: var(--st-background-color); border: 1px solid var(--st-border-color) }
           input:focus-visible { outline: 3px solid var(--st-link-color); outline-offset: 2px }""",
    js=Path(__file__).with_name("header.js").read_text(encoding="utf-8"),
)


def panel() -> None:
    """Ask for the number of records, then for the columns."""
    settings = state.settings()
    st.title("Describe the table, without opening it", anchor=False)
    how = steps.HOW.value or _how(settings)
    if how == "type":
        _draft(settings)
        draft.say_lost()
        if header := st.session_state.pop(_HEADER, None):
            _add({name: {} for name in names_of(header)})
        if not cards.rows():
            st.markdown(_DOOR)
    if how != "plan":
        _records(settings, how)
    st.segmented_control("How do you describe it?", **among(HOWS), **steps.HOW.bound(how))
    if how == "here":
        _here(settings)
    elif how == "file":
        _file()
    elif how == "plan":
        plan_file.opener()
    else:
        _typed(settings)
        draft.keep(cards.rows())


def typed_words() -> str:
    """What of a draft is there, for beside the step; empty where nothing is."""
    n = None if _wrong_n() else _n()
    columns = len(cards.names())
    parts = [f"{n:,} records"] if n is not None else []
    parts += [f"{columns} column{'s' if columns > 1 else ''}"] if columns else []
    return f"Typed so far: {', '.join(parts)}. “Continue” takes it over." if parts else ""


def _how(settings: Settings) -> str:
    """How the table that is planned for was described."""
    if settings.dataset in (DECLARED, "upload"):
        return "type" if settings.dataset == DECLARED else "file"
    return "here" if path.is_begun(settings) else "type"


def _records(settings: Settings, how: str) -> None:
    """The number of records, empty until somebody says it; where nothing else is typed, that which
    was set since.
    """
    said, of = st.session_state, _number_of(settings, how)
    is_kept = how == "type" and steps.DRAFT.value
    if "describe_n" not in said or (said.get("describe_n_of") != of and not is_kept):
        said["describe_n"] = written(of[-1])
        said["describe_n_of"] = of
        draft.begin()
    left, right = st.columns(2)
    has_persons = how == "type" and _has_persons()
    left.text_input(
        f"Number of {'persons' if has_persons else 'records'} (public)",
        key="describe_n",
        persist_state="session",
        placeholder="for example 8,000",
    )
    if wrong := _wrong_n():
        left.error(wrong)
    elif how == "type" and _n() is None:
        left.caption("Not known yet? Guess: the step Choose finds how many your goal needs.")
    if how == "type":
        if "describe_unit" not in st.session_state:
            st.session_state["describe_unit"] = _UNIT
        right.text_input(
            "Whom the guarantee protects" if has_persons else "What one record is",
            key="describe_unit",
            persist_state="session",
            help="This is what the guarantee protects.",
        )
        _persons()
        _missing()


def _n() -> int | None:
    """The number of records that was typed, None where none was.

    Raises:  ValueError in words.
    """
    typed = text_of(st.session_state.get("describe_n"))
    if not typed:
        return None
    n, (low, high) = whole_in(typed), LIMITS["n"]
    expect(low <= n <= high, f"Plans are made for {low:,} to {high:,} records.")
    return n


def _wrong_n(empty: str = "") -> str:
    """Why the number of records that was typed cannot be planned for, empty where it can.

    empty: what is said where none was typed.
    """
    try:
        return empty if _n() is None else ""
    except ValueError as problem:
        return in_words(problem)


def _has_persons() -> bool:
    """Whether somebody said that one person can have several rows."""
    return bool(st.session_state.get("describe_persons") == _SEVERAL)


def _persons() -> None:
    """One question, and what follows from a yes."""
    if "describe_persons" not in st.session_state:
        st.session_state["describe_persons"] = _ONE_ROW
    st.radio(
        "Can one person have several rows?",
        [_ONE_ROW, _SEVERAL],
        key="describe_persons",
        persist_state="session",
        horizontal=True,
        help="Then a person is protected with all rows that count, and everybody counts alike.",
    )
    if not _has_persons():
        return
    left, right = st.columns(2)
    left.text_input(
        "Column that says whose row it is",
        key="describe_whose",
        persist_state="session",
        placeholder="for example patient_id",
        help="Its cells are compared and never kept or shown. A row with an empty one is left out.",
    )
    if "describe_most" not in st.session_state:
        st.session_state["describe_most"] = "4"
    right.text_input(
        _MOST,
        key="describe_most",
        persist_state="session",
        help="Of a person with more, the first ones count.",
    )
    _refused(right, _most)
    st.caption(PERSONS_PLANNED)


def _missing() -> None:
    """What becomes of rows with missing cells, and how many are expected to be complete."""
    said = st.session_state
    for name, usual in (("fill", draft.LEAVE_OUT), ("complete", "100")):
        if f"describe_{name}" not in said:
            said[f"describe_{name}"] = usual
    left, right = st.columns(2)
    left.radio(
        "Rows with missing cells",
        [draft.LEAVE_OUT, draft.FILL_IN],
        key="describe_fill",
        persist_state="session",
        horizontal=True,
        help="Left out: the row counts for nothing. Filled in: the cell counts as what is typed at "
        "its column; where nothing is, the row is left out.",
    )
    right.text_input(
        _COMPLETE,
        key="describe_complete",
        persist_state="session",
        help="From what you knew before, such as another year.",
    )
    _refused(right, _complete)


def _most() -> int:
    """The largest number of rows of a person; raises ValueError in words."""
    return whole_in(text_of(st.session_state.get("describe_most")), (1, MOST_ROWS_PER_PERSON))


def _complete() -> float:
    """The expected share of complete rows; raises ValueError in words."""
    limits = (100.0 * COMPLETE[0], 100.0)
    return number_in(text_of(st.session_state.get("describe_complete")), limits) / 100.0


def _wrong(label: str, read: Callable[[], object]) -> str:
    """Why what was typed in a field cannot be, empty where it can."""
    try:
        read()
    except ValueError as problem:
        return f"{label}: {in_words(problem)}"
    return ""


# --- a table that is here -------------------------------------------------------------------------


def _number_of(settings: Settings, how: str) -> tuple[str, str, int | None]:
    """The way a table is described, the table, and its number of records as far as it is known."""
    if how == "type":
        return how, "", settings.n if settings.dataset == DECLARED else None
    return how, settings.dataset, settings.n


def _here(settings: Settings) -> None:
    infos = {info.key: info for info in datasets.list_datasets()}
    shown = settings.dataset if settings.dataset in infos else "census"
    st.selectbox(
        "Data",
        list(infos),
        format_func=lambda key: dataset_label(infos, key),
        **bound("dataset", shown, _take_set),
    )
    st.caption(infos[shown].sentence)
    if missing := st.session_state.pop("missing_dataset", None):
        st.warning(missing)
    if settings.dataset != shown:
        _continue("Use this set", _use_set, shown)
        return
    design.d_control(settings, feature_names())
    _continue("Continue", _go_on)


def _take_set(key: str) -> None:
    take_dataset(key)
    st.session_state["describe_n"] = written(state.settings().n)


def _use_set(key: str) -> None:
    take_dataset(key)
    _go_on()


def _file() -> None:
    if state.settings().dataset != "upload":
        take_dataset("upload")
        st.rerun()
    upload.panel()
    if state.upload() is not None:
        design.d_control(state.settings(), feature_names())
        _continue("Continue", _go_on)


def _go_on() -> None:
    """Take the number of records, and go on."""
    if problem := _wrong_n(_NO_RECORDS):
        st.session_state[_SAID] = [problem]
        return
    state.update(n=_n())
    steps.METHOD.take("chosen" if state.settings().dataset == "upload" else "own")
    steps.go("goal")


def _continue(label: str, take: Any, *args: object) -> None:
    path.problems(st.session_state.pop(_SAID, ()))
    st.button(label, key="describe_continue", type="primary", on_click=take, args=args)


_NO_RECORDS = "Say how many records there are, or guess: Choose finds how many your goal needs."


# --- typed ----------------------------------------------------------------------------------------


def _typed(settings: Settings) -> None:
    """A table described column by column."""
    st.markdown(declare.WHY)
    st.text_area(
        "Paste the header line, or type one line for each column with its bounds or values",
        key="describe_text",
        persist_state="session",
        placeholder=_LINES,
        height=140,
        on_change=_add_lines,
    )
    st.button("Add these columns", key="describe_add_lines", on_click=_add_lines)
    path.problems(st.session_state.pop(_BAD_LINES, ()), "These lines were not added:")
    found = _header(key="describe_header")
    if line := found.get("header"):
        st.session_state[_HEADER] = str(line)
        st.rerun()
    if cards.rows():
        _outcome()
        st.markdown(
            "**The columns.** Open one to change it. Suggestions are guesses from names and "
            "bounds; a value may be rare unless you say how often it occurs."
        )
    else:
        st.button(
            "Try with an example",
            key="describe_example",
            on_click=_example,
            help="A made-up table of patients, marked as an example wherever it is shown.",
        )
    is_filled = st.session_state.get("describe_fill") == draft.FILL_IN
    cards.draw(_roles(), _known(settings), is_filled=is_filled)
    if cards.rows():
        _rate_and_pairs()
    cards.bring_wanted()
    is_chosen = bool(st.session_state.get(cards.TARGET))  # until then it is a column like others
    if is_chosen and (untold := cards.lacking_shares(_roles())):
        st.warning(
            f"How often do the values of {path.named(untold)} occur? Until you say it, some may "
            "have a third of an even share (17 % of two values, 11 % of three), and none less: "
            "rare values can ask for more budget, or rule the goal out."
        )
    _continue("Continue", _hand_in)


def _roles() -> dict[str, str]:
    """What columns that are not in the model are instead, by name."""
    target = st.session_state.get(cards.TARGET)
    roles = {str(target): "the outcome"} if target else {}
    if _has_persons() and (whose := text_of(st.session_state.get("describe_whose"))):
        roles[whose] = "says whose row it is"
    return roles


def _known(settings: Settings) -> dict[str, Column]:
    """The columns of the table that is described, by name."""
    if settings.dataset != DECLARED:
        return {}
    schema = declared_table(settings.declared).schema
    return {column.name.strip(): column for column in schema.features}


def _draft(settings: Settings) -> None:
    """Start the draft: what is described, or nothing; anew when another plan was opened."""
    of = settings.declared if settings.dataset == DECLARED else ""
    if st.session_state.get(_OF) == of:
        return
    is_first = _OF not in st.session_state
    st.session_state[_OF] = of
    if is_first and (rows := draft.read()) is not None:
        st.session_state["describe_n_of"] = _number_of(settings, "type")
        _fill(rows)
        return
    draft.begin()
    if not of:
        _fill([], target=None, outcome=None, positive=None, text="")
        return
    table = declared_table(of)
    if not declare.is_example(table):
        st.session_state["describe_text"] = ""  # what was left there is about another table
    schema = table.schema
    _fill(
        [*declare.to_rows(table), declare.outcome_row(schema)],
        target=schema.target,
        outcome=None,
        positive=schema.positive or None,
        fill=draft.FILL_IN if any(column.fill for column in schema.features) else draft.LEAVE_OUT,
        complete=written(100.0 * schema.complete, 12),
    )
    st.session_state["describe_rate"] = suggest.rate_line(table.guesses.base_rate)
    st.session_state["describe_pairs"] = suggest.pairs_line(table.guesses.pairs)
    st.session_state["describe_unit"] = table.unit
    st.session_state["describe_n"] = written(settings.n)
    _fill_persons(table.schema.persons)


def _fill_persons(persons: Persons | None) -> None:
    said = st.session_state
    said["describe_persons"] = _ONE_ROW if persons is None else _SEVERAL
    if persons is not None:
        said["describe_whose"], said["describe_most"] = persons.column, written(persons.rows)


def _fill(rows: Sequence[Row], **said: object) -> None:
    """Have these columns, and this beside them."""
    st.session_state.update({f"describe_{name}": value for name, value in said.items()})
    cards.fill(rows)


def _example() -> None:
    state.update(n=8_000)
    declare.take(declare.example())
    steps.METHOD.take("chosen")
    st.session_state["describe_n"] = written(8_000)


def _add_lines() -> None:
    """Take the lines into the table; wrong ones stay where they are, and are told."""
    try:
        found, wrong = read_lines(st.session_state.get("describe_text") or "")
    except ValueError as problem:
        st.session_state[_BAD_LINES] = [in_words(problem)]
        return
    if found:
        _add(found)
    st.session_state["describe_text"] = left = "\n".join(wrong)
    _, wrong = read_lines(left)  # which are numbered as they stand there now
    st.session_state[_BAD_LINES] = [in_words(problem) for problem in wrong.values()]


def _add(found: dict[str, Cells]) -> None:
    """Columns with what is said of them, after those that are there, or about those; the example
    makes way.
    """
    now = state.settings()
    if now.dataset == DECLARED and declare.is_example(declared_table(now.declared)):
        _fill([], target=None, outcome=None, positive=None, n="", unit=_UNIT, rate="", pairs="")
    if any("if missing" in cells for cells in found.values()):
        st.session_state["describe_fill"] = draft.FILL_IN
    cards.add(found)
    if "shares" in found.get(str(st.session_state.get(cards.TARGET)), {}):
        st.session_state["describe_rate"] = _typed_rate(_yes())


def _outcome() -> None:
    """Which column is predicted, and its bounds, or which of its values counts as yes."""
    names = cards.names()
    known = st.session_state.get(cards.TARGET)
    is_few = len(names) <= _FEW
    pick: Any = st.radio if is_few else st.selectbox
    options: dict[str, Any] = {"horizontal": True, "format_func": plain} if is_few else {}
    st.session_state["describe_target_pick"] = known if known in names else None
    target = pick(
        "Outcome: the column that the model predicts",
        names,
        index=None,
        key="describe_target_pick",
        on_change=_pick_target,
        **options,
    )
    if target is None:
        return
    cards.ask_outcome()
    levels = _outcome_levels()
    if len(levels) > 1:
        st.session_state["describe_positive_pick"] = st.session_state["describe_positive"] = _yes()
        st.radio(
            "Its value that counts as “yes”",
            levels,
            index=None,
            format_func=plain,
            horizontal=True,
            key="describe_positive_pick",
            on_change=_pick_positive,
            help=_CODES_HELP,
        )


def _outcome_levels() -> tuple[str, ...]:
    """The values that were typed of the outcome; none of a number."""
    return () if cards.is_of_number() else levels_of(cards.outcome())


def _yes() -> str | None:
    """The value of the outcome that counts as yes: the chosen one, or else the usual one."""
    levels, positive = _outcome_levels(), st.session_state.get("describe_positive")
    return positive if positive in levels else usual_yes(levels)


def _pick_target() -> None:
    _keep_rate()
    st.session_state[cards.TARGET] = st.session_state["describe_target_pick"]
    st.session_state["describe_positive"] = st.session_state[cards.OUTCOME] = None
    # What was typed is the share of another column.
    st.session_state["describe_rate"] = _typed_rate(_yes())


def _keep_rate() -> None:
    """Say on the card of the outcome so far how often its two values occur: the share of “yes” that
    was typed of it; a range only in place of the one that stands there.
    """
    row, levels = cards.outcome(), _outcome_levels()
    try:
        rate = _rate()
    except ValueError:
        return
    yes = st.session_state.get("describe_positive")
    is_typed = bool(text_of(st.session_state.get("describe_rate")))
    is_share = isinstance(rate, float) or (is_typed and any(map(ends_of, shares_of(row))))
    if is_share and len(levels) == 2 and yes in levels:
        low, high = (100.0 * end for end in (rate if isinstance(rate, tuple) else (rate, rate)))
        shares = ((low, high) if level == yes else (100.0 - high, 100.0 - low) for level in levels)
        row["shares"] = "; ".join(share_line(*ends) for ends in shares)


def _typed_rate(yes: str | None) -> str:
    """How often the outcome has this value, where that was typed of its column: a number or a
    range.
    """
    row, levels = cards.outcome(), _outcome_levels()
    shares, bad = shares_of(row), declare.wrong_cell(row)
    if yes not in levels or len(shares) != len(levels) or not isinstance(bad, RangeError | None):
        return ""
    share = shares[levels.index(yes)].strip()
    return share_line(*ends) if (ends := ends_of(share)) else share


def _pick_positive() -> None:
    """Take the value that counts as yes; a share that was taken from the column's card is that of
    this value then.
    """
    said, before = st.session_state, _typed_rate(_yes())
    said["describe_positive"] = said["describe_positive_pick"]
    if text_of(said.get("describe_rate")) in ("", before):
        said["describe_rate"] = _typed_rate(_yes())


def _rate_and_pairs() -> None:
    """The share of “yes”, where there is one, and columns that go together: a line each."""
    for name in ("rate", "pairs"):
        st.session_state.setdefault(f"describe_{name}", "")
    left, right = st.columns(2)
    if st.session_state.get(cards.TARGET) and not cards.is_of_number():
        left.text_input(
            "Share of “yes” (%)",
            key="describe_rate",
            persist_state="session",
            placeholder="20, or 10 to 30; empty: I do not know (5 to 50)",
            help="The plan holds at both ends of a range.",
        )
        _refused(left, _rate)
        left = right
    left.text_input(
        "Columns that go together (optional)",
        key="describe_pairs",
        persist_state="session",
        placeholder="weight, waist: strong",
        help="Weak, medium, strong, or a correlation; several are separated by semicolons.",
    )
    _refused(left, _pairs)


def _refused(where: Any, read: Callable[[], object]) -> None:
    """What is wrong with a line, below it."""
    try:
        read()
    except ValueError as problem:
        where.error(plain(in_words(problem)))


def _rate() -> Rate:
    return suggest.read_rate(text_of(st.session_state.get("describe_rate")))


def _pairs() -> tuple[Pair, ...]:
    found = declare.in_model([row for row in cards.rows() if row.get("column") not in _roles()])
    names = [text_of(row["column"]) for row in found]
    return suggest.read_pairs(text_of(st.session_state.get("describe_pairs")), names)


def _lacking(known: Mapping[str, Column]) -> list[str]:
    """What is missing or wrong before the description can be handed in; its first card is
    opened.
    """
    said = st.session_state
    found = [_wrong_n(_NO_RECORDS), _wrong(_COMPLETE, _complete), _left_lines()]
    if _has_persons():
        found.append(_wrong(_MOST, _most))
        if not text_of(said.get("describe_whose")):
            found.append("Name the column that says whose row it is.")
    if not cards.rows():
        found.append("Describe at least one column.")
    elif not said.get(cards.TARGET):
        found.append("Choose the outcome.")
    else:
        is_number = cards.is_of_number()
        found.append(str(cards.wrong_outcome() or "") if is_number else _wrong_codes())
        if wrong := cards.wrong(_roles(), known):
            cards.say_all(next(iter(wrong)))
            found += [str(cell) for cell in wrong.values()][:_MOST_SAID]
            if (more := len(wrong) - _MOST_SAID) > 0:
                found.append(f"{more} more column{'s' if more > 1 else ''} below.")
    return [sentence for sentence in found if sentence]


def _left_lines() -> str:
    """That lines stand in their box which are no columns yet; empty where none do."""
    if not text_of(st.session_state.get("describe_text")):
        return ""
    return "Lines above were not added: correct them and add them, or delete them."


def _wrong_codes() -> str:
    """What is missing of the outcome's values; empty where nothing is."""
    target = st.session_state.get(cards.TARGET)
    if half := half_range(_outcome_levels()):
        return f"“{target}”: {half}"
    if len(_outcome_levels()) < 2:
        return f"Type the values of “{target}”, as the file writes them: two at least."
    if not st.session_state.get("describe_positive"):
        return f"Say which value of “{target}” counts as yes."
    return ""


def _typed_outcome() -> Row:
    """The outcome that is a number, with what is suggested of it."""
    return suggest.with_suggestions([cards.outcome()])[0][0]


def _said_outcome() -> dict[str, Any]:
    """The outcome as `declare.from_rows` takes it."""
    if cards.is_of_number():
        return {"outcome": declare.outcome_of(_typed_outcome())}
    positive = st.session_state["describe_positive"]
    return {
        "target": str(st.session_state[cards.TARGET]),
        "positive": positive,
        "negative": tuple(level for level in _outcome_levels() if level != positive),
        "base_rate": _rate(),
    }


def _hand_in() -> None:
    """Take the description over and go on, or say what is missing."""
    said = st.session_state
    if missing := _lacking(_known(state.settings())):
        said[_SAID] = missing
        return
    persons = None
    if _has_persons():
        persons = Persons(text_of(said["describe_whose"]), _most())
    now = state.settings()
    old = declared_table(now.declared) if now.dataset == DECLARED else None
    unfilled = {"if missing": None} if said.get("describe_fill") == draft.LEAVE_OUT else {}
    rows, suggested = suggest.with_suggestions(
        [row | unfilled for row in cards.rows() if row.get("column") not in _roles()]
    )
    if cards.is_of_number():
        suggested += suggest.with_suggestions([cards.outcome()])[1]
    try:
        table = declare.from_rows(
            rows,
            **_said_outcome(),
            pairs=_pairs(),
            suggested=suggested,
            unit=str(said.get("describe_unit") or _UNIT),
            rows=old.guesses.n_rows if old else declare.USUAL_ROWS,
            correlation=old.guesses.correlation if old else 0.0,
            before=old,
            persons=persons,
            complete=_complete(),
        )
        declare.take(table)
    except ValueError as problem:
        said[_SAID] = [in_words(problem)]
        return
    was, now = None if old is None else old.schema.outcome, state.settings()
    outcome, names = table.schema.outcome, ("", *table.schema.feature_names)
    is_new = old is None or _is_another_study(old.schema, table.schema)
    if is_new:
        steps.KEPT.take("")
        if old is not None:
            steps.TITLE.take("")
            steps.NOTES.take("")
        now = now.usual(*BUDGET)
        state.put(now)
    is_goal_known = not is_new
    if (outcome is None) != (was is None) or (is_new and outcome is not None):
        is_goal_known = False
        state.put(for_outcome(now))
    elif _unit_of(outcome) != _unit_of(was) or now.goal_on not in names:
        is_goal_known = False
        state.put(now.with_usual_goal())
    state.update(n=_n())
    if old is None:
        steps.METHOD.take("chosen")
    said[_OF] = state.settings().declared
    draft.begin()
    draft.forget()
    steps.after_describe(is_goal_known=is_goal_known)


def _is_another_study(one: Schema, other: Schema) -> bool:
    """Whether outcome and columns are others; a name that is mended makes no new study."""
    return one.target != other.target and one.feature_names != other.feature_names


def _unit_of(outcome: NumericColumn | None) -> tuple[str, str] | None:
    """What a goal about a number is in."""
    return None if outcome is None else (outcome.name, outcome.units)
