"""The documents of the page About, as Streamlit shows them."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from urllib.parse import urlencode

import streamlit as st

from dpci_core.base.places import HOME
from ui.kit import linked
from ui.kit.bound import among
from ui.session.text import lowered, risk_pure

DOCUMENTS = {
    "protected": {
        "operations": "Who can do what, ledger, running it",
        "releasing": "Releasing",
    },
    "methods": {
        "methods": "Methods",
        "planning": "Planning",
        "library": "The library, and what a release answers afterwards",
        "evidence": "Evidence, and other tools",
    },
    "proofs": {
        "release": "The release: what protects it",
        "gaussian": "Noise in the objective, on the minimiser, in clipped steps (new)",
        "map": "Maps, weights, matrices and a metric (new)",
        "selection": "Private choices",
    },
}
"""By tab: the files of `docs`, and how they are called here; proofs are in a folder of their
own."""
_CSS = """<style>
.st-key-document :is(th, td, td code) { overflow-wrap: anywhere; white-space: normal }
.st-key-document :is(pre, pre *) { overflow-wrap: anywhere; white-space: pre-wrap !important }
</style>"""
"""Wide tables and long lines of code fit a phone."""
_TAB_OF = {name: tab for tab, documents in DOCUMENTS.items() for name in documents}
_SHORT = "short"
_DOCUMENT = linked.one_of("document", (_SHORT, *_TAB_OF), default=_SHORT, widget="about_document")
IN_SHORT = "\n".join(
    (
        "A release under **differential privacy** is computed with random noise, so that it would "
        "come out nearly alike if any one person had answered otherwise.\n",
        "- **What it protects**: what one record says, also from somebody who knows all the other "
        "records.",
        "- **What others can learn about one person at most** is set by the budget, called ε. With "
        f"ε = 1, {lowered(risk_pure(1.0))} A smaller ε lets them learn less, and needs more noise.",
        "- **What it does not protect**: what holds for everybody. That smoking harms is learnt of "
        "you too, whether or not you took part.",
        "- **What it does not hide**: that there was a release, in which hour, that it failed, and "
        "the number of records.",
        "- **What is spent is spent**: releases about the same people cost their sum.",
        "- **Simulations protect nobody**: on these pages only Release reads a private table.",
    )
)


def one_of(tab: str) -> None:
    """Show a document of a tab, and the choice among them; of what is protected a few sentences
    before them.
    """
    there = DOCUMENTS[tab]
    if tab == "protected":
        there = {_SHORT: "In short"} | there
    name = _DOCUMENT.value if _DOCUMENT.value in there else next(iter(there))
    if len(there) > 1:
        st.selectbox("Document", **among(there), **_DOCUMENT.bound(name))
    if name == _SHORT:
        st.markdown(IN_SHORT)
        return
    st.html(_CSS)
    with st.container(key="document"):
        st.markdown(for_streamlit(file_of(name).read_text(encoding="utf-8")))


def file_of(name: str) -> Path:
    """The file of a document."""
    folder = HOME / "docs" / "proofs" if _TAB_OF[name] == "proofs" else HOME / "docs"
    return folder / f"{name}.md"


def for_streamlit(document: str) -> str:
    """A document written for GitHub: formulas between plain dollars, headings below those of the
    page, and links to what this page shows; what it does not show is only named.
    """
    document = re.sub(
        r"^```math\n(.*?)^```$", r"$$\n\1$$", document, flags=re.DOTALL | re.MULTILINE
    )
    document = re.sub(r"\$`(.+?)`\$", r"$\1$", document)
    document = re.sub(
        r"\\tag\{(\d+)\}", r"\\qquad (\1)", document
    )  # a tag is printed over a formula that is too wide
    # The colours that Streamlit gives to the words of a language are too pale to be read.
    document = re.sub(r"^```\w+$", "```text", document, flags=re.MULTILINE)
    document = re.sub(r"\[([^]]+)\]\((?!https?:)([^)]*)\)", _linked, document)
    return re.sub(r"^(#{1,3}) ", r"#\1 ", document, flags=re.MULTILINE)


def _linked(found: re.Match[str]) -> str:
    words, target = found.groups()
    file = PurePosixPath(target.partition("#")[0])
    name = file.stem
    if file.suffix != ".md" or name not in _TAB_OF:
        return words
    return f"[{words}](about?{urlencode({'about': _TAB_OF[name], 'document': name})})"
