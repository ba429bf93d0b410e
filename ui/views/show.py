"""A chart as every page shows it: with a sentence, a table and the table's download."""

from __future__ import annotations

from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from ui.kit import live
from ui.kit.exports import csv_bytes
from ui.kit.figure import Figure, Written, in_colour, plot_config
from ui.session import text


def show(
    key: str,
    figure: Figure | go.Figure,
    sentence: str,
    table: pd.DataFrame,
    *,
    is_plain: bool = False,
    animation: live.Animation | None = None,
) -> None:
    """A chart with its sentence, its table and the table's download; an animation covers it while
    its slider is dragged.

    is_plain: the sentence holds names that somebody typed, and no Markdown that is meant.
    """
    drawn: Figure = figure.to_dict() if isinstance(figure, go.Figure) else figure
    # Streamlit paints a chart's words in a grey that is hard to read: take the page's own text
    # colour instead.
    if (theme := st.context.theme.type) and (colour := st.get_option(f"theme.{theme}.textColor")):
        drawn = in_colour(drawn, colour)
    with live.covering(key, animation):
        st.plotly_chart(
            Written(drawn),
            key=f"chart_{key}",
            config=plot_config(key, st.session_state.get("picture") or "svg"),
            alt=sentence,
        )
    with live.waits(key):
        _words_and_numbers(key, text.plain(sentence) if is_plain else sentence, sentence, table)


def _words_and_numbers(key: str, words: str, sentence: str, table: pd.DataFrame) -> None:
    st.markdown(words)
    with st.expander("The numbers as a table"):
        st.dataframe(table, hide_index=True, alt=sentence, key=f"{key}_table")
        st.download_button(
            "Download CSV",
            partial(csv_bytes, table),  # made when somebody asks
            file_name=f"dpci_{key}.csv",
            mime="text/csv",
            on_click="ignore",
            key=f"{key}_csv",
        )
