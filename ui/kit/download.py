"""A chart as a file: SVG or PNG as it is on the page, with its title above, its footer and the link
below. Made in the browser, of what is drawn there.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_HERE = Path(__file__)
FILES = _HERE.with_name("files.js").read_text(encoding="utf-8")
"""What scripts that save charts begin with."""
_component = st.components.v2.component(
    "dpci_download",
    html='<div class="files"></div>',
    css="""
.files { display: flex; gap: 0.5rem; }
button { font: inherit; color: var(--st-text-color); background: transparent; cursor: pointer;
         border: 1px solid var(--st-border-color); border-radius: var(--st-base-radius);
         min-height: 2.5rem; padding: 0 0.75rem; font-size: 1rem; }
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 3px solid var(--st-link-color); outline-offset: 2px; }
""",
    js=FILES + _HERE.with_suffix(".js").read_text(encoding="utf-8"),
)


def buttons(key: str, *, title: str, footer: str) -> None:
    """SVG and PNG of the chart with this key.

    title: the finding.
    """
    _component(
        data={"chart": f"chart_{key}", "name": f"dpci_{key}", "title": title, "footer": footer},
        key=f"files_{key}",
        width="content",
    )
