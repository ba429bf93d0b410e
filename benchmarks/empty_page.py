"""The floor of every page: a slider, and the text that it changes."""

from __future__ import annotations

import streamlit as st

value = st.select_slider("One control", list(range(1, 101)), value=50, key="only_slider")
st.html(f'<p class="picture" data-drawn="{value}">{value}</p>')
