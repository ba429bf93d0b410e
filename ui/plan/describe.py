"""Step 1: the table. Described without being opened, or one that is here, or a plan file.

What is typed is a draft of this session until somebody goes on: nothing of an example, and nothing
of a table that was described before, gets into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import streamlit as st

from dpci_core import datasets
from dpci_core.base.limits import MOST_ROWS_PER_PERSON
from dpci_core.report.words import PERSONS_PLANNED
from dpci_core.schema import Persons
from dpci_core.schema.declare import COMPLETE
from dpci_core.schema.worlds import ODDS_RATIO
from ui.controls import declare, design, plan_file, suggest, upload
from ui.controls.lines import names_of, read_lines
from ui.controls.sidebar import dataset_label, feature_names, take_dataset
from ui.kit.bound import among, bound
from ui.plan import draft
from ui.session import forms, state, steps, text
from ui.session.compute import DECLARED, declared_table
from ui.session.settings import LIMITS, Settings
from ui.session.text import plain
from ui.session.words import in_words
from ui.views import path

HOWS = {
    "type": "Describe it: nothing is opened",
    "here": "A public or simulated set",
    "file": "A public or synthetic file",
    "plan": "A plan file",
}
_ROWS, _OF, _TURN, _SAID = "describe_rows", "describe_of", "describe_turn", "describe_said"
_HEADER, _BAD_LINES = "describe_header_line", "describe_bad_lines"
_UNIT = "one person"
_ONE_ROW, _SEVERAL = draft.ANSWERS
_FEW = 8
"""So many choices stand side by side; more are in a list."""
_LINES = """age: 18 to 100 years, per 10
sex: F, M
systolic_bp: 60 to 260 mmHg, typical 130, spread 18, per 10
diabetes: no, yes"""
_YES = ("yes", "1", "true", "positive", "case", "y")
_USUAL_CODES = {"0 / 1": ("0", "1"), "no / yes": ("no", "yes"), "false / true": ("false", "true")}
"""Of an outcome whose values nobody typed; one rule reads Yes, TRUE and 1.0 like these."""
_CODES_HELP = (
    "As the file writes them. Case, blanks around them and a decimal point do not count: 1 is 1.0, "
    "yes is Yes. A row with any other value counts for nothing."
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
    st.title("Describe the table, without opening it")
    how = steps.HOW.value or _how(settings)
    if how == "type":
        _draft(settings)
        draft.say_lost()
        if header := st.session_state.pop(_HEADER, None):
            _add({name: {} for name in names_of(header)})
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
        _typed()
        draft.keep(_rows() if _rows().empty else _edited())


def typed_words() -> str:
    """What of a draft is there, for beside the step; empty where nothing is."""
    n = st.session_state.get("describe_n")
    columns = 0 if _ROWS not in st.session_state or _rows().empty else len(_edited())
    parts = [f"{n:,} records"] if n is not None else []
    parts += [f"{columns} column{'s' if columns > 1 else ''}"] if columns else []
    return f"Typed so far: {', '.join(parts)}. “Continue” takes it over." if parts else ""


def _how(settings: Settings) -> str:
    """How the table that is planned for was described."""
    if settings.dataset in (DECLARED, "upload"):
        return "type" if settings.dataset == DECLARED else "file"
    return "here" if path.is_begun(settings) else "type"


def _records(settings: Settings, how: str) -> None:
    """The number of records, empty until somebody says it."""
    is_known = settings.dataset == DECLARED or how != "type"
    of = (how, settings.dataset, settings.n) if how in ("here", "file") else ("type",)
    if "describe_n" not in st.session_state or st.session_state.get("describe_n_of") != of:
        st.session_state["describe_n"] = settings.n if is_known else None
        st.session_state["describe_n_of"] = of
    left, right = st.columns(2)
    has_persons = how == "type" and _has_persons()
    left.number_input(
        f"Number of {'persons' if has_persons else 'records'} (public)",
        -draft.TYPED,
        draft.TYPED,
        value=None,
        step=1,
        key="describe_n",
        persist_state="session",
        placeholder="for example 8,000",
        help=f"Anyone may know how many {'persons' if has_persons else 'records'} there are; the "
        "guarantee does not hide it.",
    )
    if refused := _refused_number(st.session_state["describe_n"]):
        left.error(refused)
    if how == "type":
        if "describe_unit" not in st.session_state:
            st.session_state["describe_unit"] = _UNIT
        right.text_input(
            "Whom the guarantee protects" if has_persons else "What one record is",
            key="describe_unit",
            persist_state="session",
            help="The guarantee protects one record, or one person with all rows that count.",
        )
        _persons()
        _missing()


def _refused_number(n: int | None) -> str:
    """Why a number of records cannot be planned for; empty where it can, or is not typed yet."""
    low, high = (int(end) for end in LIMITS["n"])
    if n is None or low <= n <= high:
        return ""
    return f"Plans are made for {low:,} to {high:,} of them; {n:,} is outside."


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
        help="Yes: the guarantee protects a person with all rows that count, everybody counts "
        "alike, and the number of rows stays unknown.",
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
        st.session_state["describe_most"] = 4
    right.number_input(
        "Largest number of rows of a person",
        1,
        MOST_ROWS_PER_PERSON,
        step=1,
        key="describe_most",
        persist_state="session",
        help="Of somebody with more, the first ones count.",
    )
    st.caption(PERSONS_PLANNED)


def _missing() -> None:
    """What becomes of rows with missing cells, and how many are expected to be complete."""
    said = st.session_state
    for name, usual in (("fill", draft.LEAVE_OUT), ("complete", 100.0)):
        if f"describe_{name}" not in said:
            said[f"describe_{name}"] = usual
    left, right = st.columns(2)
    left.radio(
        "Rows with missing cells",
        [draft.LEAVE_OUT, draft.FILL_IN],
        key="describe_fill",
        persist_state="session",
        horizontal=True,
        help="Left out: a row that lacks a column of the model counts for nothing. Filled in: the "
        "cell counts as what stands under “If missing”; where nothing stands there, the row is "
        "left out.",
    )
    right.number_input(
        "Expected share of complete rows (%)",
        100.0 * COMPLETE[0],
        100.0,
        key="describe_complete",
        persist_state="session",
        step=1.0,
        format="%.4g",
        help="From what you knew beforehand, such as another year. Lengths are planned with it.",
    )


# --- a table that is here -------------------------------------------------------------------------


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
    st.session_state["describe_n"] = state.settings().n


def _use_set(key: str) -> None:
    n = st.session_state.get("describe_n")
    take_dataset(key)
    _go_on(n)


def _file() -> None:
    if state.settings().dataset != "upload":
        take_dataset("upload")
        st.rerun()
    upload.panel()
    if state.upload() is not None:
        design.d_control(state.settings(), feature_names())
        _continue("Continue", _go_on)


def _go_on(n: int | None = None) -> None:
    """Take the number of records, and go on."""
    n = st.session_state.get("describe_n") if n is None else n
    if problem := _NO_RECORDS if n is None else _refused_number(n):
        st.session_state[_SAID] = [problem]
        return
    state.update(n=int(cast(int, n)))
    steps.METHOD.take("chosen" if state.settings().dataset == "upload" else "own")
    steps.go("goal")


def _continue(label: str, take: Any, *args: object) -> None:
    path.problems(st.session_state.pop(_SAID, ()))
    st.button(label, key="describe_continue", type="primary", on_click=take, args=args)


_NO_RECORDS = "Say how many records there are."


# --- typed ----------------------------------------------------------------------------------------


def _typed() -> None:
    """A table described column by column."""
    st.markdown(declare.WHY)
    with st.form("describe_lines", clear_on_submit=False, border=False):
        st.text_area(
            "Paste the header line, or type one line for each column with its bounds or levels",
            key="describe_text",
            placeholder=_LINES,
            height=140,
        )
        st.form_submit_button("Add these columns", on_click=_add_lines)
    path.problems(st.session_state.pop(_BAD_LINES, ()), "These lines were not added:")
    found = _header(key="describe_header")
    if line := found.get("header"):
        st.session_state[_HEADER] = str(line)
        st.rerun()
    if not _rows().empty:
        _columns()
    else:
        st.button(
            "Try with an example",
            key="describe_example",
            on_click=_example,
            help="A made-up table of patients, marked as an example wherever it is shown.",
        )
    _continue("Continue", _hand_in)


def _draft(settings: Settings) -> None:
    """Start the draft: what is described, or nothing; anew when another plan was opened."""
    of = settings.declared if settings.dataset == DECLARED else ""
    if st.session_state.get(_OF) == of:
        return
    is_first = _OF not in st.session_state
    st.session_state[_OF] = of
    if is_first and (rows := draft.read()) is not None:
        st.session_state["describe_n_of"] = ("type",)
        _fill(rows)
        return
    draft.begin()
    if not of:
        _fill(declare.typed([]), target=None, positive=None)
        return
    table = declared_table(of)
    grid = declare.to_grid(table)
    schema = table.schema
    codes = (*schema.negative, schema.positive)
    levels = "; ".join(codes) if len(codes) > 1 else None
    outcome = declare.typed([{"column": schema.target, "levels": levels}])
    _fill(
        pd.concat([grid, outcome], ignore_index=True),
        target=schema.target,
        positive=schema.positive,
        negative="; ".join(schema.negative),
        fill=draft.FILL_IN if any(column.fill for column in schema.features) else draft.LEAVE_OUT,
        complete=100.0 * schema.complete,
    )
    st.session_state["describe_rate"] = suggest.rate_line(table.guesses.base_rate)
    st.session_state["describe_pairs"] = suggest.pairs_line(table.guesses.pairs)
    st.session_state["describe_unit"] = table.unit
    st.session_state["describe_n"] = settings.n
    _fill_persons(table.schema.persons)


def _fill_persons(persons: Persons | None) -> None:
    said = st.session_state
    said["describe_persons"] = _ONE_ROW if persons is None else _SEVERAL
    if persons is not None:
        said["describe_whose"], said["describe_most"] = persons.column, persons.rows


def _fill(rows: pd.DataFrame, **said: object) -> None:
    st.session_state[_ROWS] = rows
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
    for name, value in said.items():
        st.session_state[f"describe_{name}"] = value


def _rows() -> pd.DataFrame:
    return cast(pd.DataFrame, st.session_state[_ROWS])


def _example() -> None:
    state.update(n=8_000)
    declare.take(declare.example())
    steps.METHOD.take("chosen")
    st.session_state["describe_n"] = 8_000


def _add_lines() -> None:
    """Take the lines into the table; wrong ones stay where they are, and are told."""
    try:
        found, wrong = read_lines(st.session_state.get("describe_text") or "")
    except ValueError as problem:
        st.session_state[_BAD_LINES] = [in_words(problem)]
        return
    if found:
        _add(found)
    st.session_state["describe_text"] = "\n".join(wrong)
    st.session_state[_BAD_LINES] = [in_words(problem) for problem in wrong.values()]


def _add(found: dict[str, dict[str, object]]) -> None:
    """Columns with what is said of them, after those that are there, or about those."""
    now = state.settings()
    is_example = now.dataset == DECLARED and declare.is_example(declared_table(now.declared))
    before = declare.typed([]) if is_example else _edited()
    rows: dict[str, dict[Any, Any]] = {str(row["column"]): row for row in before.to_dict("records")}
    for name, cells in found.items():
        rows[name] = rows.get(name, {}) | {"column": name} | cells
    target = None if is_example else st.session_state.get("describe_target")
    _fill(declare.typed(list(rows.values())), target=target)
    if any("if missing" in cells for cells in found.values()):
        _fill(_rows(), fill=draft.FILL_IN)
    if is_example:
        _fill(_rows(), positive=None, negative=None)
        for name, usual in (("n", None), ("unit", _UNIT), ("rate", ""), ("pairs", "")):
            st.session_state[f"describe_{name}"] = usual


def _edited() -> pd.DataFrame:
    """The rows as they were last seen in the grids."""
    return cast(pd.DataFrame, st.session_state.get("describe_edited", _rows()))


def _columns() -> None:
    """Columns, outcome, guesses: what was understood, to be changed."""
    rows, turn = _rows(), st.session_state[_TURN]
    names = [str(name) for name in rows["column"]]
    target = _outcome(names, rows)
    is_outcome = np.array([name == target for name in names])
    features = rows[~is_outcome].reset_index(drop=True)
    st.markdown("**The columns**, to be completed or changed")
    is_filled = st.session_state.get("describe_fill") == draft.FILL_IN
    grid = st.data_editor(
        features.drop(columns=["effect"] if is_filled else ["effect", "if missing"]),
        num_rows="dynamic",
        placeholder="",
        hide_index=True,
        key=f"describe_grid_{turn}_{hash((target, is_filled))}",
        column_config=_CONFIG,
        width="stretch",
        alt="The columns you describe, one in each row",
    )
    if wrong := declare.problems(grid):
        st.error("\n".join(f"- {text.plain(said)}" for said in wrong))
    st.caption(HOW)
    _suggestions(grid)
    _rate_and_pairs()
    effects: dict[Any, Any] = features.set_index("column")["effect"].to_dict()
    with st.expander("Guessed effects (optional)"):
        grid["effect"] = grid["column"].map(_guesses(grid, effects, turn))
        if wrong := declare.wrong_guesses(grid):
            st.error("\n".join(f"- {text.plain(said)}" for said in wrong))
    outcome = rows[is_outcome]
    st.session_state["describe_edited"] = declare.typed(
        [*grid.to_dict("records"), *outcome.to_dict("records")]
    )


def _outcome(names: Sequence[str], rows: pd.DataFrame) -> str | None:
    """Which column is predicted, and which of its values counts as yes."""
    known = st.session_state.get("describe_target")
    is_few = len(names) <= _FEW
    pick: Any = st.radio if is_few else st.selectbox
    options: dict[str, Any] = {"horizontal": True, "format_func": plain} if is_few else {}
    st.session_state["describe_target_pick"] = known if known in names else None
    target = pick(
        "Outcome: the column that the model predicts",
        list(names),
        index=None,
        key="describe_target_pick",
        on_change=_pick_target,
        **options,
    )
    if target is None:
        return None
    known_levels = _outcome_levels(rows, target)
    positive = st.session_state.get("describe_positive")
    if known_levels:
        usual = next((level for level in known_levels if level.lower() in _YES), None)
        shown = positive if positive in known_levels else usual
        st.session_state["describe_positive_pick"] = shown
        st.session_state["describe_positive"] = shown
        st.radio(
            "Its value that counts as “yes”",
            known_levels,
            index=None,
            format_func=plain,
            horizontal=True,
            key="describe_positive_pick",
            on_change=_pick_positive,
        )
        st.caption(f"The others count as “no”. {_CODES_HELP}")
    else:
        _codes(positive)
    return str(target)


def _outcome_levels(rows: pd.DataFrame, target: object) -> list[str]:
    """The codes that were typed for the outcome; none where they are not two at least."""
    written = rows.set_index("column")["levels"].fillna("").get(target)
    levels = _listed(written)
    return levels if len(levels) > 1 else []


def _listed(written: object) -> list[str]:
    return [level.strip() for level in str(written or "").split(";") if level.strip()]


def _codes(positive: object) -> None:
    """Both codes of an outcome whose values nobody typed, and the usual ones to choose from."""
    said = st.session_state
    st.pills(
        "How does the file write the outcome?",
        list(_USUAL_CODES),
        key="describe_usual_codes",
        on_change=_pick_codes,
        help=_CODES_HELP,
    )
    said["describe_positive_pick"] = positive or ""
    said["describe_negative_pick"] = said.get("describe_negative") or ""
    left, right = st.columns(2)
    left.text_input(
        "Its value that counts as “yes”",
        key="describe_positive_pick",
        placeholder="yes",
        on_change=_pick_positive,
    )
    right.text_input(
        "Its value that counts as “no”",
        key="describe_negative_pick",
        placeholder="no",
        on_change=_pick_negative,
        help="Several are separated by semicolons.",
    )


def _pick_codes() -> None:
    if usual := st.session_state["describe_usual_codes"]:
        negative, positive = _USUAL_CODES[usual]
        st.session_state["describe_negative"] = negative
        st.session_state["describe_positive"] = positive


def _pick_negative() -> None:
    st.session_state["describe_negative"] = st.session_state["describe_negative_pick"] or None


def _pick_target() -> None:
    st.session_state["describe_target"] = st.session_state["describe_target_pick"]
    st.session_state["describe_positive"] = st.session_state["describe_negative"] = None
    _fill(_edited())


def _pick_positive() -> None:
    st.session_state["describe_positive"] = st.session_state["describe_positive_pick"] or None


def _suggestions(grid: pd.DataFrame) -> None:
    """What is used where nothing is typed."""
    _, found = suggest.with_suggestions(grid)
    if not found:
        return
    listed = "; ".join(
        f"{plain(name)} typical {typical:.3g}, spread {spread:.3g}"
        for name, (typical, spread) in found.items()
    )
    st.info(
        f"**Suggested, as nothing is typed:** {listed}. A suggestion comes from the name of the "
        "column, or is the middle and a sixth of its bounds. Type what you know over it: the "
        "length of every interval hangs on it."
    )


def _rate_and_pairs() -> None:
    """The share of “yes”, and columns that go together: a line each."""
    for name in ("rate", "pairs"):
        st.session_state.setdefault(f"describe_{name}", "")
    left, right = st.columns(2)
    left.text_input(
        "Share of “yes” (%)",
        key="describe_rate",
        persist_state="session",
        placeholder="20, or 10 to 30; empty: I do not know (5 to 50)",
        help="The plan holds at both ends of a range.",
    )
    right.text_input(
        "Columns that go together (optional)",
        key="describe_pairs",
        persist_state="session",
        placeholder="weight, waist: strong",
        help="Weak, medium, strong, or a correlation; several are separated by semicolons.",
    )


def _guesses(grid: pd.DataFrame, effects: dict[Any, Any], turn: int) -> dict[Any, Any]:
    """Guessed effects as odds ratios; the plan has to hold with usual ones where none is."""
    st.caption(
        "Odds ratios for the step of each column, for levels one for each but the first, separated "
        f"by semicolons; where none is typed, {ODDS_RATIO:g} for two spreads or for a level, up "
        "or down. They only shape the made-up rows to plan with."
    )
    shown = pd.DataFrame(
        {
            "column": grid["column"].astype("string"),
            "odds": [effects.get(name) for name in grid["column"]],
        }
    ).astype("string")
    edited = st.data_editor(
        shown,
        hide_index=True,
        disabled=["column"],
        key=f"describe_guesses_{turn}_{hash(tuple(grid['column']))}",
        column_config={"column": "Column", "odds": "Odds ratio per step"},
        alt="A guessed odds ratio for each column; can be left empty",
    )
    return dict(zip(edited["column"], edited["odds"], strict=True))


def _hand_in() -> None:
    """Take the description over and go on, or say what is missing."""
    said = st.session_state
    n, target, positive = (said.get(f"describe_{name}") for name in ("n", "target", "positive"))
    refused = _NO_RECORDS if n is None else _refused_number(n)
    missing = [refused] if refused else []
    rows, persons = _edited(), None
    if _has_persons():
        whose = str(said.get("describe_whose") or "").strip()
        if whose:
            persons = Persons(whose, int(said["describe_most"]))
            rows = rows[rows["column"] != whose]  # as a pasted header line has it
        else:
            missing.append("Name the column that says whose row it is.")
    if rows.empty:
        missing.append("Describe at least one column.")
    elif target is None:
        missing.append("Choose the outcome.")
    elif not positive:
        missing.append(f"Say which value of “{target}” counts as yes.")
    levels = _outcome_levels(rows, target) or _listed(said.get("describe_negative"))
    negative = tuple(level for level in levels if level != positive)
    if positive and not negative:
        missing.append(f"Say which value of “{target}” counts as no.")
    if missing:
        said[_SAID] = missing
        return
    now = state.settings()
    old = declared_table(now.declared) if now.dataset == DECLARED else None
    rows, suggested = suggest.with_suggestions(rows[rows["column"] != target])
    try:
        table = declare.from_grid(
            rows,
            target=str(target),
            positive=str(positive),
            negative=negative,
            base_rate=suggest.read_rate(str(said.get("describe_rate") or "")),
            pairs=suggest.read_pairs(
                str(said.get("describe_pairs") or ""), [str(name) for name in rows["column"]]
            ),
            suggested=tuple(suggested),
            unit=str(said.get("describe_unit") or _UNIT),
            rows=old.guesses.n_rows if old else declare.USUAL_ROWS,
            correlation=old.guesses.correlation if old else 0.0,
            before=old,
            persons=persons,
            complete=float(said.get("describe_complete", 100.0)) / 100.0,
        )
        declare.take(table)
    except ValueError as problem:
        said[_SAID] = [in_words(problem)]
        return
    if state.settings().goal_on not in ("", *table.schema.feature_names):
        state.put(state.settings().usual("goal", "goal_on", "goal_length", "goal_value"))
    state.update(n=int(cast(int, n)))
    if old is None:
        steps.METHOD.take("chosen")
    said[_OF] = state.settings().declared
    draft.begin()
    draft.forget()
    steps.go("goal")


HOW = (
    f"**Kind**: “{forms.LEFT_OUT}” leaves a column out, a name or a number of a patient. "
    "**Told per**: the step that effects are told for, 10 years, not 1. **Typical, spread, "
    "shares** are declared like bounds, never read off the table; left empty, the suggestion below "
    "counts, and all levels are as frequent. **Log**: for amounts, where ratios count; spread and "
    "step are factors then. Lists "
    "are separated by semicolons."
)
_CONFIG = {
    "column": st.column_config.TextColumn("Column", width=96, required=True),
    "kind": st.column_config.SelectboxColumn(
        "Kind",
        width=112,
        options=list(forms.KINDS),
        help=f"“{forms.LEFT_OUT}”: a column of the file that stays unread.",
    ),
    "lowest": st.column_config.NumberColumn(
        "Lowest", width=66, help="Bound of a number, known beforehand."
    ),
    "highest": st.column_config.NumberColumn(
        "Highest", width=68, help="Bound of a number, known beforehand."
    ),
    "units": st.column_config.TextColumn("Unit", width=62, help="mmHg, years, …"),
    "step": st.column_config.NumberColumn(
        "Told per", width=72, help="Effects are told for so many units."
    ),
    "typical": st.column_config.NumberColumn(
        "Typical", width=68, help="A middling value; empty: as suggested below."
    ),
    "spread": st.column_config.NumberColumn(
        "Spread", width=68, help="About the standard deviation; empty: as suggested below."
    ),
    "levels": st.column_config.TextColumn(
        "Levels",
        width=96,
        help="All levels as the file writes them, such as 0; 1, separated by semicolons; the first "
        "is the reference.",
    ),
    "shares": st.column_config.TextColumn(
        "Shares", width=72, help="How often each level occurs, in their order; empty: all alike."
    ),
    "log": st.column_config.CheckboxColumn("Log", width=50, help="For amounts: ratios count."),
    "if missing": st.column_config.TextColumn(
        "If missing",
        help="What a missing value counts as: a number, or a level. Empty: its row is left out.",
    ),
}
