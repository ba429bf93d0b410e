"""A finished release on the page: intervals beside what was planned, and its files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpci_core.release import Release, effect_sentences, reading_sentence
from dpci_core.report.cautions import silent
from dpci_core.report.refusals import said
from dpci_core.schema import CONSTANT, MappingNote
from ui.kit.figure import common_layout, literal, short_name, wrapped
from ui.kit.palette import BLUE, GRID, PAPER, QUIET
from ui.session.text import number, plain
from ui.views.ledger_text import moment
from ui.views.show import show

MIME = {
    ".json": "application/json",
    ".csv": "text/csv",
    ".html": "text/html",
    ".md": "text/markdown",
    ".yaml": "application/yaml",
}


def panel(made: Release, folder: Path, fresh: tuple[str, MappingNote] | None) -> None:
    """The result, planned against released, files; right after the release also what was mapped."""
    if made.caution:
        st.error(said(made.caution))
    if made.verdict:
        st.warning(made.verdict)
    st.markdown(
        f"**{plain(made.title)}**, released {moment(made.released_at)} by {plain(made.person)} "
        f"from {made.n_records:,} rows (planned for {made.n_planned:,}): intervals for the "
        f"**{made.target_words}**. Entry {made.charge_id} of "
        "the ledger."
    )
    sentence = takeaway(made)
    show("release", release_chart(made), sentence, release_table(made))
    _effects(made)
    _files(folder)
    if fresh is not None:
        _mapped(fresh[1])


def takeaway(made: Release) -> str:
    """The result in a sentence."""
    spoken = [c for c in made.coefficients if not c.is_flat]
    if not spoken:
        return silent(made.silent)
    planned = sum(c.planned_scaled for c in spoken) / len(spoken)
    got = sum(c.scaled.length for c in spoken) / len(spoken)
    clear = [
        c.name for c in spoken if c.name != CONSTANT and (c.scaled.low > 0 or c.scaled.high < 0)
    ]
    if len(clear) == 1:
        told = f"The interval of {clear[0]} excludes zero."
    elif clear:
        told = f"The intervals of {', '.join(clear[:-1])} and {clear[-1]} exclude zero."
    else:
        told = "No interval excludes zero."
    return (
        f"Released intervals are {number(got)} long on average, where {number(planned)} was "
        f"planned ({number(got / planned)} times). {told}"
    ) + (f" {silent(made.silent)}" if made.silent else "")


def release_chart(made: Release) -> go.Figure:
    """Released intervals, with the planned length as a thin line under each; grey where the
    release cannot speak.
    """
    fig = go.Figure()
    rows = list(reversed(made.coefficients))
    for word, width, colour, shift, is_flat in (
        ("released interval", 10, BLUE, 0.0, False),
        ("out of reach", 10, GRID, 0.0, True),
        ("planned length", 2, QUIET, -0.32, None),
    ):
        xs: list[float | None] = []
        ys: list[float | None] = []
        for place, c in enumerate(rows):
            if is_flat not in (None, c.is_flat):
                continue
            half = c.planned_scaled / 2.0
            low, high = (
                (c.scaled.low, c.scaled.high)
                if shift == 0.0
                else (c.scaled.estimate - half, c.scaled.estimate + half)
            )
            xs += [low, high, None]
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
        x=[c.scaled.estimate for c in rows],
        y=list(range(len(rows))),
        mode="markers",
        marker={
            "symbol": "circle",
            "size": 9,
            "color": [QUIET if c.is_flat else BLUE for c in rows],
            "line": {"color": PAPER, "width": 1.5},
        },
        name="estimate",
        hovertext=[
            f"{literal(c.name)}: this release cannot speak about it"
            if c.is_flat
            else f"{literal(c.name)}: {number(c.scaled.estimate)} ({number(c.scaled.low)} to "
            f"{number(c.scaled.high)})"
            for c in rows
        ],
        hoverinfo="text",
    )
    fig.add_vline(x=0, line={"color": QUIET, "width": 1, "dash": "dot"})
    fig.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[short_name(c.name) for c in rows],
        showgrid=False,
        zeroline=False,
        automargin=True,
    )
    title = wrapped(f"scaled {made.target_words}")
    fig.update_xaxes(
        title={"text": "<br>".join(map(literal, title)), "standoff": 4},
        gridcolor=GRID,
        zeroline=False,
    )
    guarantee = made.guarantee
    meta: dict[str, object] = {
        "release": made.request_id,
        "guarantee": f"{guarantee.definition} {guarantee.amount}",
    }
    return fig.update_layout(
        common_layout(meta=meta, height=22 + 36 * len(rows), top=40, bottom=32 + 16 * len(title))
    )


def release_table(made: Release) -> pd.DataFrame:
    """Every coefficient with its interval in both units, planned and released length."""
    return pd.DataFrame(
        [
            {
                "coefficient": c.name,
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
            | ({"out of reach": c.is_flat} if made.silent else {})
            for c in made.coefficients
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
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.suffix in MIME)
    with st.container(horizontal=True):
        st.download_button(
            "Everything (ZIP)",
            lambda: zipped(folder),
            file_name=f"{folder.name}.zip",
            mime="application/zip",
            on_click="ignore",
            key="release_zip",
            type="primary",
        )
        for file in files:
            st.download_button(
                file.name,
                file.read_bytes(),
                file_name=file.name,
                mime=MIME[file.suffix],
                on_click="ignore",
                key=f"release_{file.name}",
            )


def zipped(folder: Path) -> bytes:
    """The files of a release in one archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            if file.is_file() and file.suffix in MIME:
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
