"""What else a finished release answers, on the page: nothing is charged."""

from __future__ import annotations

from functools import lru_cache

import pandas as pd
import streamlit as st

from dpci_core.plan.effects import scale_of
from dpci_core.release import Answer, AnyRelease, Prediction, ReleaseInference, Together
from dpci_core.release.after import Unit
from dpci_core.release.reading import release_from
from dpci_core.report import afterwards
from dpci_core.report.cautions import not_reportable
from dpci_core.report.effect_table import Scale
from dpci_core.report.words import called
from ui.session.forms import FORMS, ask_number
from ui.session.text import number, plain
from ui.session.words import in_words

TITLE = "What else this release can answer"
UNITS: dict[Unit, str] = {
    "unit": "a unit of the column",
    "step": "its step",
    "encoded": "the scaled column",
}


@lru_cache(maxsize=4)
def _asked(record: str) -> tuple[ReleaseInference, Together]:
    """What a record answers, once for every run of the page."""
    found = ReleaseInference(release_from(record.encode()))
    return found, found.together()


def section(made: AnyRelease) -> None:
    """Combinations, tests, predictions and intervals that hold at once, behind one click."""
    with st.expander(TITLE, key="release_after"):
        try:
            after, at_once = _asked(made.to_json())
        except ValueError as problem:
            st.info(plain(in_words(problem)))
            return
        st.markdown(afterwards.CHARGED)
        if not after.is_exact:
            st.caption(afterwards.NOT_EXACT)
        _combination(after)
        _prediction(after)
        _at_once(at_once, scale_of(made.design.measures, made.schema))


def _combination(after: ReleaseInference) -> None:
    st.markdown("**A combination of coefficients, and whether they are 0**")
    left, right = st.columns([2, 1], gap="medium", vertical_alignment="bottom")
    chosen = left.multiselect(
        "Coefficients",
        [c.name for c in after.made.coefficients if not c.is_not_estimable],
        format_func=called,
        key="after_names",
    )
    unit = right.selectbox(
        "A weight of 1 is per", list(UNITS), format_func=UNITS.__getitem__, key="after_unit"
    )
    if not chosen:
        return
    weights = {}
    for name, place in zip(chosen, _grid(len(chosen)), strict=True):
        with place:
            weight = ask_number(f"Weight of {called(name)}", 1.0, f"after_weight_{name}")
        if weight is not None:
            weights[name] = weight
    looked = st.checkbox("Chosen after looking at the release", key="after_looked")
    if len(weights) < len(chosen):
        return
    if not any(weights.values()):
        st.caption("Give one of them a weight other than 0.")
        return
    try:
        found = after.contrast(weights, unit=unit, after_looking=looked)
    except ValueError as problem:
        st.error(plain(in_words(problem)))
        return
    st.markdown(combination_words(weights, found))
    if len(chosen) > 1 and not looked:
        test = after.test([{name: 1.0} for name in chosen])
        p = afterwards.p_value(test.p_value, test.privacy_share, found.level)
        every = "both" if len(chosen) == 2 else f"all {len(chosen)}"
        st.markdown(f"Whether {every} are 0: {p}")
    if not looked:
        st.caption(afterwards.AFTER_LOOKING)


def combination_words(weights: dict[str, float], found: Answer) -> str:
    """A combination with its interval and its p-value."""
    terms = " ".join(
        f"{'+' if w > 0 else '−'} {number(abs(w))} × {plain(called(name))}"
        for name, w in weights.items()
        if w
    )
    asked = terms.removeprefix("+ ")
    if found.is_not_estimable:
        return plain(not_reportable(list(weights)))
    told = found.interval
    return (
        f"{asked} = **{number(told.estimate)}**, {100 * found.level:.10g} % interval "
        f"**{number(told.low)} to {number(told.high)}**. "
        f"{afterwards.p_value(found.p_value, found.privacy_share, found.level)}"
    )


def _prediction(after: ReleaseInference) -> None:
    columns = after.made.schema.columns_of(after.made.features)
    if any(type(column) not in FORMS for column in columns):
        return
    st.markdown("**One row**")
    row: dict[str, object] = {}
    for column, place in zip(columns, _grid(len(columns)), strict=True):
        with place:
            row[column.name] = FORMS[type(column)].ask(column, f"after_row_{column.name}")
    if None in row.values():
        return
    st.markdown(prediction_words(after.made, after.predict(row)[0]))
    st.caption(afterwards.POINTWISE)


def prediction_words(made: AnyRelease, found: Prediction) -> str:
    """Score and chance of a row."""
    if found.is_not_estimable:
        return plain(not_reportable(made.not_estimable))
    outcome = plain(made.schema.outcome_words)
    told, what = found.score, f"{'mean of' if made.schema.outcome else 'score for'} {outcome}"
    if found.probability is not None:
        told, what = found.probability, f"chance of {outcome}"
    return (
        f"The {what} is **{number(told.estimate)}**, {100 * found.level:.10g} % interval "
        f"**{number(told.low)} to {number(told.high)}**."
    )


def _at_once(found: Together, scale: Scale) -> None:
    st.markdown("**All intervals at once**")
    what = "Log odds" if scale.is_odds else scale.heading
    st.caption(f"{what} per unit of a column; all hold together in {100 * found.level:.10g} %.")
    table = pd.DataFrame(
        [
            {"coefficient": called(name), "estimate": x.estimate, "from": x.low, "to": x.high}
            for name, x in found.intervals.items()
        ]
    )
    st.dataframe(table, hide_index=True, key="after_at_once", alt="Intervals that hold all at once")


def _grid(n: int) -> list[st.delta_generator.DeltaGenerator]:
    """Places for n fields, three beside each other."""
    wide = [st.columns(3, gap="medium") for _ in range(n // 3)]
    rest = st.columns(n % 3, gap="medium") if n % 3 else []
    return [place for row in (*wide, rest) for place in row]
