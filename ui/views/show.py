"""A chart as every page shows it: with its finding, a sentence, a footer, a table, and as files."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from ui.kit import download, exports
from ui.kit.figure import Figure, Written, footer, in_colour, plot_config
from ui.session import text


def show(
    key: str,
    figure: Figure | go.Figure,
    sentence: str,
    table: pd.DataFrame,
    *,
    title: str = "",
    is_plain: bool = False,
) -> None:
    """A chart with its table and its downloads.

    title: the finding, above the chart; the sentence is then for those who cannot see it.
    is_plain: the sentence holds names that somebody typed, and no Markdown that is meant.
    """
    drawn: Figure = figure.to_dict() if isinstance(figure, go.Figure) else figure
    # Streamlit paints a chart's words in a grey that is hard to read: take the page's own text
    # colour instead.
    if (theme := st.context.theme.type) and (colour := st.get_option(f"theme.{theme}.textColor")):
        drawn = in_colour(drawn, colour)
    if title:
        st.header(title, anchor=False)
    st.plotly_chart(Written(drawn), key=f"chart_{key}", config=plot_config(), alt=sentence)
    below = footer(drawn)
    st.caption(text.plain(text.unbroken(below)))
    if not title:
        st.markdown(text.plain(sentence) if is_plain else sentence)
    with st.container(horizontal=True, vertical_alignment="top"):
        with st.expander("The numbers as a table"):
            st.dataframe(table, hide_index=True, alt=sentence, key=f"{key}_table")
        _files(key, title or sentence, below, table)


def _files(key: str, title: str, below: str, table: pd.DataFrame) -> None:
    """The chart as a picture, its numbers as a table."""
    with st.popover("Download", key=f"files_of_{key}"), st.container(horizontal=True):
        download.buttons(key, title=title, footer=below)
        exports.download_csv("CSV", table, name=key)
