"""The page About: its documents as Streamlit shows them, and what is protected, as elsewhere."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

import dpci_core
from tests.ui.test_pages import check, now, start
from ui.about.documents import DOCUMENTS, IN_SHORT, file_of, for_streamlit
from ui.about.page import TABS
from ui.session.text import privacy_unit


def shown(app) -> str:
    return "\n".join(one.value for one in app.markdown)


def test_about_opens_with_what_is_protected_for_a_newcomer_and_not_with_a_ledger():
    app = start("about")
    assert privacy_unit(now(app)) in shown(app)
    assert IN_SHORT in [one.value for one in app.markdown]
    assert "ledger" not in shown(app).lower()
    first, protects, learns, leaves, *_ = IN_SHORT.replace("\n\n", "\n").split("\n")
    assert "**differential privacy**" in first
    assert "protects" in protects
    assert "at most **73.2 %** sure" in learns
    assert "not protect" in leaves
    app.selectbox(key="about_document").set_value("operations").run()
    check(app)
    assert "| who | can | promised |" in shown(app)


@pytest.mark.parametrize("tab", DOCUMENTS)
def test_a_document_is_shown_in_its_tab(tab):
    name = next(iter(DOCUMENTS[tab]))
    document = file_of(name).read_text(encoding="utf-8")
    app = start("about", about=tab, document=name)
    assert for_streamlit(document).strip() in [one.value for one in app.markdown]


@pytest.mark.parametrize("name", [name for names in DOCUMENTS.values() for name in names])
def test_every_document_has_formulas_and_links_that_lead_somewhere(name):
    document = file_of(name).read_text(encoding="utf-8")
    text = for_streamlit(document)
    assert "```math" not in text
    assert "$`" not in text
    assert text.count("$$") % 2 == 0
    assert text.startswith("## ")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if not target.startswith("https:"):
            assert urlsplit(target).path == "about"
            (there,), (of,) = (parse_qs(urlsplit(target).query)[x] for x in ("document", "about"))
            assert there in DOCUMENTS[of]


def test_a_document_is_written_anew_for_streamlit():
    assert for_streamlit("a $`x`$\n```math\ny \\tag{1}\n```\n") == "a $x$\n$$\ny \\qquad (1)\n$$\n"
    written = for_streamlit("[ours](proofs/map.md#one), [near](release.md), [code](../ui/map.py)")
    assert written == (
        "[ours](about?about=proofs&document=map), [near](about?about=proofs&document=release), code"
    )


def test_the_versions_that_run_are_told_and_a_tab_travels():
    app = start("about")
    app.segmented_control(key="about_tab").set_value("versions").run()
    check(app)
    assert dpci_core.__version__ in set(app.dataframe[0].value["version here"])
    assert app.query_params["about"] in ("versions", ["versions"])
    table = app.dataframe[0].value.set_index("program")
    assert table.loc["numpy", "oldest tested"] == "2.2.0"
    assert list(TABS) == [*DOCUMENTS, "versions"]


@pytest.mark.parametrize("page", ["explore", "plan", "learn"])
def test_a_newcomer_is_led_to_what_differential_privacy_is(page):
    links = start(page).get("page_link")
    assert {"about"} == {
        one.proto.page for one in links if one.proto.label == "What is differential privacy?"
    }
    assert "nearly alike if any one person had answered otherwise" in shown(start("about"))
