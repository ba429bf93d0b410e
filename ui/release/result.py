"""A finished release on the page: intervals beside what was planned, and its files."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import NormalDist

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpci_core.plan.numbers import PlanNumbers
from dpci_core.release import (
    Release,
    effect_sentences,
    reading_sentence,
)
from dpci_core.release.effects import Effect, effect_lines, effects, told_odds
from dpci_core.release.record import Interval
from dpci_core.release.signature import SIGNATURE_NAME
from dpci_core.report.cautions import not_reportable
from dpci_core.report.html import ticks
from dpci_core.report.words import called
from dpci_core.schema import MappingNote
from ui.kit.exports import MIME, download
from ui.kit.figure import common_layout, literal, short_name, wrapped
from ui.kit.palette import BLUE, GRID, PAPER, QUIET
from ui.release import after
from ui.session.text import number, plain
from ui.views.ledger_text import moment
from ui.views.show import show


def panel(
    made: Release,
    folder: Path,
    fresh: tuple[str, MappingNote] | None,
    planned: PlanNumbers | None = None,
) -> None:
    """The result, planned against released, files; right after the release also what was mapped."""
    if made.verdict:
        st.warning(made.verdict)
    st.markdown(
        f"**{plain(made.title)}**, released {moment(made.released_at)} by {plain(made.person)} "
        f"from {made.n_records:,} {_counted(made)} (planned for {made.n_planned:,}): intervals for "
        f"the **{made.covers}**. Entry {made.charge_id} of "
        "the ledger."
    )
    sentence = takeaway(made)
    st.markdown("\n".join(f"- {plain(line)}" for line in effect_lines(made)))
    show("release", release_chart(made), sentence, release_table(made), is_plain=True)
    if compared := against_plan(made, planned):
        st.markdown(compared)
    if at_once := after.sentence(made):
        st.markdown(at_once)
    _effects(made)
    after.section(made)
    _files(folder)
    if fresh is not None:
        _mapped(fresh[1])


def _counted(made: Release) -> str:
    return "rows" if made.schema.persons is None else made.counted


def takeaway(made: Release) -> str:
    """The result in a sentence: what is told from nothing."""
    if not any(not c.is_not_estimable for c in made.coefficients):
        return not_reportable(made.not_estimable)
    spoken = [c for c in made.coefficients[:-1] if not c.is_not_estimable]
    clear = [c.name for c in spoken if c.scaled.low > 0 or c.scaled.high < 0]
    none = "1" if has_odds(made) else "zero"
    if len(clear) == 1:
        told = f"The interval of {clear[0]} excludes {none}."
    elif clear:
        told = f"The intervals of {', '.join(clear[:-1])} and {clear[-1]} exclude {none}."
    else:
        told = f"No interval excludes {none}."
    beside = "Released intervals, each beside its planned length."
    lost = not_reportable(made.not_estimable) if made.not_estimable else ""
    return " ".join(filter(None, [beside, lost, told]))


_LIKE_PLANNED = (0.9, 1.1)
"""Lengths within these multiples of the planned ones are as planned."""
_AXIS_WIDTH = 30
"""Characters of a line below the axis: on a phone the names of the columns take half the width."""


def against_plan(made: Release, planned: PlanNumbers | None) -> str:
    """Released lengths beside planned ones, and where the difference comes from."""
    spoken = [j for j, c in enumerate(made.coefficients) if not c.is_not_estimable]
    if not spoken:
        return ""
    told = [made.coefficients[j] for j in spoken]
    ratio = sum(c.scaled.length for c in told) / sum(c.planned_scaled for c in told)
    if _LIKE_PLANNED[0] <= ratio <= _LIKE_PLANNED[1]:
        return f"Intervals are about as long as planned ({number(ratio)} times)."
    word = "longer" if ratio > 1.0 else "shorter"
    said = f"Intervals are **{number(ratio)} times** as long as planned."
    if made.n_records != made.n_planned:
        of_n = math.sqrt(made.n_planned / made.n_records)
        said += (
            f" The table has {made.n_records:,} {_counted(made)}, not {made.n_planned:,}: that "
            f"alone makes the sampling part {number(of_n)} times as long."
        )
    if planned is None:
        return said
    z = NormalDist().inv_cdf((1.0 + made.design.confidence_level) / 2.0)
    sampling = sum(2.0 * z * c.sampling_se for c in told)
    sampling /= sum(float(planned.scaled.nonprivate_length[j]) for j in spoken)
    is_table = (sampling - 1.0) / (ratio - 1.0) > 0.5
    if is_table:
        return (
            f"{said} Mostly the table: its sampling part is {number(sampling)} times the planned "
            f"one, because the made-up rows of the plan vary otherwise (a rarer outcome, or "
            f"columns with {'less' if ratio > 1.0 else 'more'} spread)."
        )
    return (
        f"{said} Mostly the noise: what privacy added to the coefficients, the Hessian and the "
        f"gradient covariance made them {word}; another draw would have given another length."
    )


def _shown(effect: Effect) -> Interval:
    """An effect as it is drawn: a factor on the odds, or its own scale."""
    return effect.by if effect.odds is None else effect.odds


def has_odds(made: Release) -> bool:
    """Whether effects are told as factors on the odds: of a logistic model, each of which can be
    read.
    """
    told = [e for e in effects(made) if not e.is_not_estimable]
    return bool(told) and all(e.odds is not None for e in told)


def release_chart(made: Release) -> go.Figure:
    """Released intervals for the step of each column, as odds ratios where the model has odds, with
    the planned length as a thin line under each; grey where they are not estimable.
    """
    fig = go.Figure()
    is_odds = has_odds(made)
    rows = [
        (effect, c)
        for effect, c in zip(effects(made), made.coefficients, strict=False)
        if not (is_odds and effect.odds is None)
    ][::-1]

    def at(value: float) -> float:
        return math.exp(value) if is_odds else value

    for word, width, colour, shift, is_not_estimable in (
        ("released interval", 10, BLUE, 0.0, False),
        ("not estimable", 10, GRID, 0.0, True),
        ("planned length", 2, QUIET, -0.32, None),
    ):
        xs: list[float | None] = []
        ys: list[float | None] = []
        for place, (effect, c) in enumerate(rows):
            if is_not_estimable not in (None, effect.is_not_estimable):
                continue
            half = effect.step * c.planned_original / 2.0
            by = effect.by
            ends = (by.low, by.high) if shift == 0.0 else (by.estimate - half, by.estimate + half)
            xs += [at(ends[0]), at(ends[1]), None]
            ys += [place + shift, place + shift, None]
        if not xs:
            continue
        fig.add_scatter(
            x=xs,
            y=ys,
            mode="lines",
            line={"width": width, "color": colour},
            name=word,
            hoverinfo="skip",
        )
    fig.add_scatter(
        x=[at(effect.by.estimate) for effect, _ in rows],
        y=list(range(len(rows))),
        mode="markers",
        marker={
            "symbol": "circle",
            "size": 9,
            "color": [QUIET if effect.is_not_estimable else BLUE for effect, _ in rows],
            "line": {"color": PAPER, "width": 1.5},
        },
        name="estimate",
        hovertext=[_hover(effect, told_odds(made)) for effect, _ in rows],
        hoverinfo="text",
    )
    fig.add_vline(x=at(0.0), line={"color": QUIET, "width": 1, "dash": "dot"})
    fig.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[
            f"{short_name(called(c.name))}<br><span style='font-size:11px'>"
            f"{literal(_step_words(effect))}</span>"
            for effect, c in rows
        ],
        showgrid=False,
        zeroline=False,
        automargin=True,
    )
    what = "odds ratio" if is_odds else "coefficient"
    title = wrapped(f"{what} for the step of each column, {made.covers}", _AXIS_WIDTH)
    drawn = [x for trace in fig.data for x in (trace.x or ()) if x is not None]
    fig.update_xaxes(
        title={"text": "<br>".join(map(literal, title)), "standoff": 4},
        gridcolor=GRID,
        zeroline=False,
        **(_log_axis(min(drawn), max(drawn)) if is_odds else {}),
    )
    guarantee = made.guarantee
    meta: dict[str, object] = {
        "release": made.request_id,
        "guarantee": f"{guarantee.definition} {guarantee.amount}",
    }
    return fig.update_layout(
        common_layout(meta=meta, height=22 + 44 * len(rows), top=40, bottom=32 + 16 * len(title))
    )


def _hover(effect: Effect, odds: Callable[[float], str]) -> str:
    if effect.is_not_estimable:
        return f"{literal(effect.name)}: not estimable from this release"
    shown, told = _shown(effect), number if effect.odds is None else odds
    ends = f"({told(shown.low)} to {told(shown.high)})"
    return f"{literal(effect.name)}: {told(shown.estimate)} {ends} {literal(effect.per)}"


def _step_words(effect: Effect) -> str:
    """What an effect is told for, without its column."""
    return effect.per.rsplit(" of ", 1)[0] if effect.unit else effect.per


def _log_axis(low: float, high: float) -> dict[str, object]:
    """A logarithmic axis with its numbers written out."""
    if high / low < 4.0:
        at = [x for x in ticks(low, high) if x > 0]
    else:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        digits = (1, 2, 5) if high / low < 100.0 else (1,)
        every = (float(f"{m}e{e}") for e in powers for m in digits)
        at = [x for x in every if low / 1.1 <= x <= high * 1.1]
    return {"type": "log", "tickvals": at, "ticktext": [number(x) for x in at]}


def release_table(made: Release) -> pd.DataFrame:
    """Every coefficient with its effect for the step of its column, its interval in both units,
    planned and released length.
    """
    told: list[Effect | None] = [*effects(made), None]
    factors = [None if effect is None else effect.odds for effect in told]
    return pd.DataFrame(
        [
            {
                "coefficient": called(c.name),
                "told": "" if effect is None else effect.per,
                "odds ratio": None
                if effect is None or effect.odds is None
                else effect.odds.estimate,
                "odds from": None if effect is None or effect.odds is None else effect.odds.low,
                "odds to": None if effect is None or effect.odds is None else effect.odds.high,
                "estimate": c.original.estimate,
                "low": c.original.low,
                "high": c.original.high,
                "planned length": c.planned_original,
                "released length": c.original.length,
                "scaled estimate": c.scaled.estimate,
                "scaled low": c.scaled.low,
                "scaled high": c.scaled.high,
                "from sampling (se)": c.sampling_se,
                "from privacy (se)": c.privacy_se,
            }
            | ({"not estimable": c.is_not_estimable} if made.not_estimable else {})
            for c, effect, factor in zip(made.coefficients, told, factors, strict=True)
        ]
    )


def _effects(made: Release) -> None:
    """Every coefficient in words."""
    with st.expander("What each number says", key="release_effects"):
        st.markdown(plain(reading_sentence(made)))
        st.markdown(
            "\n".join(
                f"- {plain(' '.join(sentence.split()))}" for sentence in effect_sentences(made)
            )
        )


def _files(folder: Path) -> None:
    st.markdown(
        f"Files of this release, kept on the server as `{folder.name}`. All of them may be "
        "published."
    )
    if (folder / SIGNATURE_NAME).exists():
        st.caption(
            "`signature.json` signs all of them: whoever has the ledger's public key can check a "
            "copy with `python -m dpci_core verify`, and nobody can edit one unseen."
        )
    files = sorted(file for file in folder.iterdir() if file.suffix[1:] in MIME and file.is_file())
    with st.container(horizontal=True):
        download(
            "Everything (ZIP)",
            partial(zipped, folder),
            file=f"{folder.name}.zip",
            key="release_zip",
            is_main=True,
        )
        for file in files:
            download(file.name, file.read_bytes(), file=file.name, key=f"release_{file.name}")


def zipped(folder: Path) -> bytes:
    """The files of a release in one archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            if file.suffix[1:] in MIME and file.is_file():
                archive.write(file, file.name)
    return out.getvalue()


def _mapped(note: MappingNote) -> None:
    """Counts for the steward alone."""
    with st.expander("For you alone: cells that did not fit the declaration"):
        st.markdown(
            "These counts come from the private table **without protection**. They are in no file "
            "and are gone when you leave; do not publish them, and do not change bounds because of "
            "them."
        )
        sentences = note.sentences()
        st.markdown(
            "\n".join(f"- {plain(sentence)}" for sentence in sentences) or "Every cell fitted."
        )
