"""A regression of a number on the page Release: booked, drawn and shown in the outcome's units."""

from __future__ import annotations

import json

import pytest

from dpci_core.ledger import Ledger
from dpci_core.release import LinearRelease, load_release, report_html
from tests.linear_example import table_lines
from tests.ui.plan.test_linear import LINK
from tests.ui.release.test_page import approved_link, button, with_budget, words
from tests.ui.test_pages import check, start
from ui.release.page import folder_of

FILE = ("\n".join(table_lines(3_000)) + "\n").encode()


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """A ledger and a folder of releases of its own."""
    monkeypatch.setenv("DPCI_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("DPCI_RELEASES", str(tmp_path / "releases"))


def test_a_number_is_released_and_told_in_its_units():
    app = start("release", **approved_link(LINK))
    assert "linear regression in 3 steps" in words(app)
    app.text_input(key="budget_delta").set_value("1e-6").run()
    with_budget(app, "3")
    app.file_uploader(key="release_file").upload("private.csv", FILE, "text/csv")
    app.run()
    app.text_input(key="release_typed").set_value("Clinic").run()
    check(app)
    said = words(app).replace("\\", "")
    assert "each difference in mmHg to within ±" in said
    assert "odds" not in said.lower()
    assert not button(app, "release_now").disabled
    app.button(key="release_now").click().run()
    check(app)
    (charge,) = Ledger().history()
    assert charge.state == "done"
    made = load_release(folder_of(charge.request_id))
    assert isinstance(made, LinearRelease)
    shown = [json.loads(one.proto.json) for one in app.get("bidi_component") if one.proto.json]
    page = report_html(made)
    assert page in [given.get("html") for given in shown]
    assert "Difference in mmHg (95 % interval)" in page
    app.text_input(key="after_row_age").set_value("70").run()
    check(app)
    assert "The mean of pressure is **" in words(app)
    assert "Difference in mmHg per unit of a column" in words(app)
    assert len(Ledger().history()) == 1
