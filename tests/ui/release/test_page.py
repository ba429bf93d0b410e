"""The pages Release and Ledger: declare, budget, header, one action, and what they know
afterwards.
"""

from __future__ import annotations

import io
import json
import os
import re
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpci_core import DeclaredTable, Guesses, ReleaseInference
from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger import (
    Account,
    Cap,
    Charge,
    Ledger,
    account_row,
    as_csv,
    charge_row,
    entry_row,
)
from dpci_core.plan.approval import approval_of
from dpci_core.release import (
    load_release,
    once,
    report_html,
    schema_hash,
)
from dpci_core.report.afterwards import CHARGED, hold_together
from dpci_core.schema import CategoricalColumn, NumericColumn, Schema, StandardEncoding
from tests.ui.test_pages import PAPER_TERMS, check, position, start, told_focus
from ui.controls import plan_file
from ui.kit import streamlit_internals
from ui.release import after as release_after
from ui.release import budget as release_budget
from ui.release import running
from ui.release import words as release_words
from ui.release.page import folder_of
from ui.session import state
from ui.session.case import make_case
from ui.session.choices import PROMISE
from ui.session.compute import DECLARED, PUBLIC, TableSource, packed_table
from ui.session.settings import from_query
from ui.session.text import number, plain
from ui.views import releases
from ui.views.releases import zipped

SCHEMA = Schema(
    (NumericColumn("age", 0, 100), CategoricalColumn("smoker", ("no", "yes"))),
    "ill",
    "yes",
    negative=("no",),
)
TABLE = DeclaredTable(
    schema=SCHEMA, guesses=Guesses(base_rate=0.3, n_rows=3_000), unit="one patient"
)
LINK = {
    **PAPER_TERMS,
    "dataset": DECLARED,
    "declared": packed_table(TABLE),
    "d": "2",
    "n": "3000",
    "c": "0.01",
    "mechanisms": "objective",
}
PLANTED = "Xanthippe-4711"


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """A ledger and a folder of releases of its own."""
    monkeypatch.setenv("DPCI_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("DPCI_RELEASES", str(tmp_path / "releases"))
    return tmp_path


def rows(n: int = 3_000) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age, smoker = rng.uniform(0, 100, n).round(1), rng.random(n) < 0.3
    ill = rng.random(n) < 1 / (1 + np.exp(2 - 0.03 * age - 0.5 * smoker))
    return pd.DataFrame(
        {"age": age, "smoker": np.where(smoker, "yes", "no"), "ill": np.where(ill, "yes", "no")}
    )


def csv_bytes(frame: pd.DataFrame | None = None) -> bytes:
    return (rows() if frame is None else frame).to_csv(index=False).encode()


def words(app) -> str:
    kinds = (app.markdown, app.caption, app.warning, app.error, app.info, app.success)
    return "\n".join(element.value for kind in kinds for element in kind)


def approved_link(link: dict[str, str] = LINK, **changes: str) -> dict[str, str]:
    """The link of a plan that was approved at step 4."""
    link = link | changes
    settings, _ = state.admissible(from_query(link)[0])
    digest = plan_file.bare_plan(make_case(settings, TableSource(PUBLIC))).digest
    said = approval_of(digest, person="the board", day="2026-01-31")
    return link | {"approved": said, "approved_plan": digest}


def begin(**changes: str):
    return start("release", **approved_link(**changes))


def with_budget(app, amount: str = "3", name: str = "Clinic"):
    budget_typed(app, amount, name)
    budget_button(app).click().run()
    assert not app.exception
    return app


def budget_typed(app, amount: str, name: str) -> None:
    app.text_input(key="budget_name").set_value(name)
    app.text_input(key="release_person").set_value("Ada")
    app.text_input(key="budget_amount").set_value(amount).run()


def budget_button(app):
    """The button that gives a data set its budget; None where there is none."""
    return next((b for b in app.button if str(b.key).startswith("budget_make")), None)


def with_file(app, content: bytes | None = None, name: str = "private.csv"):
    app.file_uploader(key="release_file").upload(
        name, csv_bytes() if content is None else content, "text/csv"
    )
    app.run()
    for tick in app.checkbox:
        if tick.key == "release_read":
            tick.check().run()
    assert not app.exception
    return app


def ready(**changes: str):
    app = with_file(with_budget(begin(**changes)))
    app.text_input(key="release_person").set_value("Ada")
    app.text_input(key="release_typed").set_value("Clinic").run()
    check(app)
    return app


def of_others(name: str) -> Account:
    """A data set whose table is declared as that of the first, and its people as others."""
    first = Ledger().accounts()[0]
    return Ledger().create_dataset(
        name,
        schema_hash=first.schema_hash,
        cap=Cap.pure(3),
        unit=first.unit,
        person="Ada",
        other_people=True,
    )


def button(app, key: str):
    return next((b for b in app.button if b.key == key), None)


def test_without_a_declaration_the_page_says_what_to_do():
    app = start("release")
    assert "starts from a plan for a table that you **describe**" in words(app)
    assert button(app, "release_now") is None
    app.button(key="release_describe").click().run()
    check(app)
    assert app.title[0].value == "Describe the table, without opening it"
    assert app.text_area(key="describe_text").value == ""


def test_one_feature_is_one_and_names_and_rows_are_told_as_people_say_them():
    schema = Schema((NumericColumn("capital_loss", 0, 100),), "ill", "yes", negative=("no",))
    table = DeclaredTable(
        schema=schema, guesses=Guesses(n_rows=3_000), unit="One row is one person"
    )
    said = words(begin(declared=packed_table(table), d="1"))
    for told in ("on 1 feature (capital loss)", "one row is: one person.", "one per person"):
        assert told in said
    assert "1 features" not in said


def test_the_button_waits_for_file_name_and_confirmation():
    app = with_budget(begin())
    assert button(app, "release_now").disabled
    assert "a table whose header fits, the typed name" in words(app)
    with_file(app)
    assert "Only its header was read: all 3 columns" in words(app)
    assert button(app, "release_now").disabled
    app.text_input(key="release_typed").set_value("clinic ").run()
    assert button(app, "release_now").disabled
    app.text_input(key="release_typed").set_value("Clinic").run()
    assert not button(app, "release_now").disabled
    assert Ledger().history() == ()


def test_nothing_is_spent_without_the_approval_of_the_plan():
    """The button was active beside “This plan is not approved”, and she spent."""
    app = with_file(with_budget(start("release", **LINK)))
    app.text_input(key="release_typed").set_value("Clinic").run()
    check(app)
    assert "This plan is not approved" in words(app)
    assert f"Still needed: {release_words.APPROVAL}." in words(app)
    assert button(app, "release_now").disabled


def test_a_click_after_the_approval_was_withdrawn_spends_nothing():
    app = ready()
    kept = dict(app.session_state["linked"])
    app.session_state["linked"] |= {"approved": "", "approved_plan": ""}
    app.button(key="release_now").click().run()
    check(app)
    assert f"Still needed: {release_words.APPROVAL}." in words(app)
    assert Ledger().history() == ()
    app.session_state["linked"] |= kept
    app.run()
    assert not button(app, "release_now").disabled
    assert Ledger().history() == (), "the click of before is forgotten"


def test_what_speaks_against_a_release_is_read_before_it():
    """Consent is asked for what is grave; what is to be weighed stands there in the same words."""
    app = ready(c="0.05")
    assert any("shrunk to about" in one.value for one in app.info)
    assert [c.key for c in app.checkbox if c.key == "release_read"] == []
    app = with_file(begin(split="0.03~0.01~0.01", n="8000"))
    app.text_input(key="release_person").set_value("Ada")
    app.text_input(key="release_typed").set_value("Clinic").run()
    assert any("too long to be of use" in one.value for one in app.warning)
    assert "2 smaller points" in [one.label for one in app.expander]
    app.checkbox(key="release_read").uncheck().run()
    assert button(app, "release_now").disabled
    assert "Still needed: that you have read the warnings." in words(app)


def test_a_release_that_nothing_speaks_against_needs_no_tick():
    declared = replace(TABLE, schema=replace(SCHEMA, standard=StandardEncoding(shape=3.0)))
    fine = ready(declared=packed_table(declared), target="unpenalised", n="100000", c="0.0001")
    assert [c.key for c in fine.checkbox if c.key == "release_read"] == []
    assert not button(fine, "release_now").disabled


def test_before_the_click_everything_is_said():
    said = words(ready())
    for needed in (
        "**Price:** **ε = 1**",
        "ε = 2 of 3",
        "replace-one neighbours",
        "one patient",
        "cannot be undone",
    ):
        assert needed in said
    assert re.search(r"\*\*Planned:\*\* [012] of 2 coefficients can be reported", said)


def test_one_click_releases_books_and_shows_planned_beside_released():
    app = ready()
    app.button(key="release_now").click().run()
    check(app)
    (charge,) = Ledger().history()
    assert charge.state == "done"
    assert charge.spent == Decimal(1)
    assert charge.person == "Ada"
    made = load_release(folder_of(charge.request_id))
    assert made.n_records == 3_000
    shown = [json.loads(one.proto.json) for one in app.get("bidi_component") if one.proto.json]
    assert report_html(made) in [given.get("html") for given in shown]
    assert button(app, "release_rehearse_now") is None, "what came out is there"
    assert "This plan was released" in words(app)
    assert button(app, "release_now") is None
    labels = {b.proto.label for b in app.get("download_button")}
    assert {"Everything (ZIP)", "release.json", "report.html", "intervals.csv"} <= labels
    content = zipped(folder_of(charge.request_id))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert {"release.json", "report.html", "plan.yaml"} <= set(archive.namelist())


def test_a_finished_release_answers_more_at_no_charge():
    app = ready()
    app.button(key="release_now").click().run()
    (charge,) = Ledger().history()
    after = ReleaseInference.read(folder_of(charge.request_id))
    together = after.together()
    assert hold_together(together) in report_html(after.made)
    assert CHARGED in words(app)
    at_once = next(d.value for d in app.dataframe if "from" in d.value.columns)
    assert at_once["from"].tolist() == pytest.approx(
        [one.low for one in together.intervals.values()]
    )
    app.multiselect(key="after_names").set_value(["age", "smoker=yes"]).run()
    app.text_input(key="after_weight_smoker=yes").set_value("-2").run()
    check(app)
    found = after.contrast({"age": 1, "smoker=yes": -2})
    assert release_after.combination_words({"age": 1.0, "smoker=yes": -2.0}, found) in words(app)
    assert "Whether both are 0: p" in words(app)
    app.checkbox(key="after_looked").check().run()
    wider = after.contrast({"age": 1, "smoker=yes": -2}, after_looking=True)
    assert f"to {number(wider.interval.high)}**" in words(app)
    app.text_input(key="after_row_age").set_value("70").run()
    app.selectbox(key="after_row_smoker").set_value("yes").run()
    check(app)
    (row,) = after.predict({"age": 70.0, "smoker": "yes"})
    assert release_after.prediction_words(after.made, row) in words(app)
    assert f"chance of ill = yes is **{number(row.probability.estimate)}**" in words(app)
    assert len(Ledger().history()) == 1
    assert "after.ipynb" in {b.proto.label for b in app.get("download_button")}
    app.text_input(key="after_weight_smoker=yes").set_value("1e200").run()
    assert not app.exception
    assert "from 1e-100 to 1e+100" in app.error[0].value.replace("\\", "")


@pytest.mark.parametrize("typed", ["0,5", "1,5", "half", ""])
def test_a_comma_in_a_weight_or_a_value_is_refused_at_its_field_and_nothing_is_answered(typed):
    """A field of numbers made 5 of "0,5", and answered for that."""
    app = ready()
    app.button(key="release_now").click().run()
    app.multiselect(key="after_names").set_value(["age", "smoker=yes"]).run()
    assert "Whether both are 0: p" in words(app)
    assert "chance of ill = yes is" in words(app)
    for key, answer in (
        ("after_weight_smoker=yes", "Whether both are 0: p"),
        ("after_row_age", "chance of ill = yes is"),
    ):
        app.text_input(key=key).set_value(typed).run()
        assert [one.value for one in app.error] == [POINT]
        assert position(app, "error", POINT) == position(app, "text_input", key) + 1
        assert app.text_input(key=key).value == typed
        assert answer not in words(app)
        app.text_input(key=key).set_value("1e-1").run()
        assert answer in words(app)
    app.text_input(key="after_row_age").set_value("1e12").run()
    assert app.error[0].value == "Type a number from 0 to 100."


POINT = "Type a number with a decimal point, such as 1.5, and without commas."


def test_what_is_left_is_said_anew_beside_a_choice_whose_words_stay():
    app = ready()
    before = app.selectbox(key="release_account").options
    assert "ε = 3 left" in words(app)
    app.button(key="release_now").click().run()
    assert "ε = 2 left" in words(app)
    assert app.selectbox(key="release_account").options == before


def test_a_released_plan_is_shown_with_its_own_data_set_and_warns_beside_another():
    """The last one made was chosen: the charge of the plan was out of sight, and the same file
    could be paid for from a fresh budget without a word.
    """
    ready().button(key="release_now").click().run()
    (first,) = Ledger().accounts()
    second = of_others("Second")
    later, warns = start("release", **LINK), "This very plan was paid for from “Clinic”"
    assert later.selectbox(key="release_account").value == first.account_id
    assert "This plan was released" in words(later)
    assert warns not in words(later)
    refused = "This plan was released from 'Clinic', entry 2 of the ledger"
    for other in (second.account_id, 0):
        later.selectbox(key="release_account").set_value(other).run()
        if not other:
            assert not later.error
            later.radio(key="budget_people").set_value(release_budget.OTHERS).run()
        assert warns in words(later)
        assert [refused in one.value for one in later.error] == [True]
        assert later.get("file_uploader") == []
    later.radio(key="budget_people").set_value("Clinic").run()
    check(later)
    assert later.get("file_uploader") != []


def test_a_new_session_knows_that_it_happened():
    app = ready()
    app.button(key="release_now").click().run()
    later = begin()
    assert "This plan was released" in words(later)
    assert button(later, "release_now") is None
    assert later.get("file_uploader") == []


def test_what_was_released_is_named_before_the_same_is_asked_under_another_title():
    app = ready()
    assert "Already released" not in words(app)
    app.button(key="release_now").click().run()
    (charge,) = Ledger().history()
    said = (
        f"**Already released about these people:** “{charge.purpose}” on {charge.booked_at[:10]}."
    )
    again = start("release", **LINK, title="Anew")
    assert "This plan was released" not in words(again)
    assert said in words(again)
    assert again.get("file_uploader")


def named(ledger: Ledger, dataset: str) -> str:
    account = ledger.account(dataset)
    return release_words.earlier(ledger.accounts(), ledger.history(), account)


def test_the_newest_releases_are_named_and_the_others_counted():
    ledger, whose = Ledger(), {"schema_hash": "0" * 64, "person": "Ada"}
    for name, is_shared in (("Clinic", False), ("Ward", True)):
        ledger.create_dataset(
            name, cap=Cap.pure(9), unit="one patient", other_people=is_shared, **whose
        )

    def booked(title: str, dataset: str = "Clinic") -> Charge:
        one = {"purpose": title, "request_id": title, "plan_hash": "1" * 64}
        return ledger.book(dataset, cost=cost_of_one(), **one, **whose)

    for place in range(5):
        ledger.finish(booked(f"No. {place}").charge_id, result_hash="2" * 64)
    ledger.finish(booked("elsewhere", "Ward").charge_id, result_hash="2" * 64)
    booked("broken off")
    said = named(ledger, "Clinic")
    assert [f"No. {place}" in said for place in range(5)] == [False, False, True, True, True]
    assert said.index("No. 4") < said.index("No. 2")
    assert "and 2 more on the page Ledger" in said
    assert "elsewhere" not in said
    assert "broken off" not in said
    ledger.create_dataset("New", cap=None, unit="one patient", same_people_as="Clinic", **whose)
    assert named(ledger, "New") == said


@pytest.mark.parametrize("link_of", [approved_link, LINK.copy], ids=["approved", "withdrawn"])
def test_no_other_release_of_the_plan_is_offered(link_of):
    """Its approval pays for one, and without one none is made."""
    ready().button(key="release_now").click().run()
    app = start("release", **link_of())
    assert "This plan was released" in words(app)
    assert "This is the report to send" in words(app)
    assert button(app, "release_once_more") is None


def test_a_late_click_in_another_tab_lands_on_the_result_and_says_that_it_spent_nothing():
    app = ready()
    other = with_file(begin())
    other.text_input(key="release_person").set_value("Ada")
    other.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    check(app)
    assert "spent nothing more" not in words(app)
    other.button(key="release_now").click().run()
    check(other)
    assert "Your click after that spent nothing more." in words(other)
    assert any("scroll-margin-top" in one.proto.body for one in other.get("html"))
    assert len(Ledger().history()) == 1
    other.run()
    assert "spent nothing more" not in words(other)


def test_a_budget_that_is_spent_offers_no_other_release_of_the_plan():
    app = with_file(with_budget(begin(), amount="1"))
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    check(app)
    assert "ε = 0 left" in words(app)
    assert "This plan was released" in words(app)
    assert button(app, "release_once_more") is None


def test_a_release_that_ended_while_it_was_watched_is_shown(monkeypatch):
    app, found = ready(), []
    monkeypatch.setattr(once, "reached", lambda stage: found.extend(running.requests()))
    app.button(key="release_now").click().run()
    with running.noted(found[0]):
        later = begin()
        assert release_words.RUNNING in words(later)
    later.run()
    check(later)
    assert "This plan was released" in words(later)
    assert not later.error


def test_an_exhausted_budget_is_refused_in_words():
    app = with_budget(begin(), amount="0.5")
    assert any("0.5" in e.value for e in app.error)
    assert button(app, "release_now") is None
    assert not app.exception


def test_a_file_without_what_is_needed_says_what_to_do_and_costs_nothing():
    app = with_budget(begin())
    for content, said in (
        (b"", "Save the table again, as CSV or Parquet"),
        (b"age,ill\n0,1\n", "has no column 'smoker'"),
        (b"age\n0\n", "has no columns 'smoker' and 'ill'"),
        (b"AGE,smoker,ill\n0,no,no\n", "has no column 'age'"),
        (b"age,smoker,ill\n", "no rows"),
        (b"PK\x03\x04\x14\x00\n\x00xl/workbook.xml", "is a spreadsheet"),
    ):
        with_file(app, content)
        app.text_input(key="release_typed").set_value("Clinic").run()
        assert any(plain(said) in e.value for e in app.error), [e.value for e in app.error]
        assert button(app, "release_now").disabled
    assert Ledger().history() == ()


def test_a_file_with_other_names_is_told_by_them_and_a_line_that_may_be_a_record_is_not(caplog):
    app = with_file(with_budget(begin()), b"AGE,smokes,`ill`\n0,no,no\n")
    assert "has no columns 'age', 'smoker' and 'ill'" in words(app).replace("\\", "")
    assert "The file has these instead: `AGE`, `smokes`, `` `ill` ``." in words(app)
    many = ",".join(["ill", *(f"c{k}" for k in range(40))])
    with_file(app, f"{many}\n".encode())
    assert "`c29` and 10 more." in words(app)
    with_file(app, b"age,ill\n0,1\n")
    assert "instead" not in words(app)
    with_file(app, f"{PLANTED},no,41\n55,yes,no\n".encode())
    assert release_words.NO_NAMES in words(app)
    assert PLANTED not in words(app)
    assert not any(PLANTED in record.getMessage() for record in caplog.records)


def test_a_file_of_blank_lines_is_refused_and_costs_nothing():
    app = with_budget(begin())
    with_file(app, b"age,smoker,ill\n\n\n")
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    assert not app.exception
    assert Ledger().history() == ()
    (said,) = [e.value for e in app.error]
    assert "no rows" in said
    assert "Nothing was" in said


def test_a_refused_click_says_at_its_button_that_nothing_was_spent():
    app = ready()
    with_file(app, csv_bytes(rows(2_000)))
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    assert Ledger().history() == ()
    (said,) = [e.value for e in app.error]
    assert "Nothing was" in said
    assert position(app, "error", said) < position(app, "button", "release_now")
    assert position(app, "text_input", "release_typed") < position(app, "error", said)
    assert told_focus(app)


@pytest.mark.parametrize("is_booked", [False, True])
def test_nothing_was_spent_is_said_where_it_is_true(monkeypatch, is_booked):
    app = ready()

    def broken(asked, file, *, ledger, **given):
        if is_booked:
            what = {"schema_hash": schema_hash(SCHEMA), "cost": cost_of_one(), "purpose": "A plan"}
            who = {name: given[name] for name in ("person", "request_id")}
            ledger.book(given["dataset"], plan_hash=asked.digest, **what, **who)
        raise OSError("full")

    monkeypatch.setattr("ui.release.page.release_once", broken)
    app.button(key="release_now").click().run()
    (said,) = [e.value for e in app.error]
    assert "cannot be written" in said
    assert ("Nothing was spent" in said) is not is_booked


def test_the_number_of_rows_that_a_parquet_file_states_is_held_against_the_plan():
    app = with_budget(begin())
    out = io.BytesIO()
    rows(2_900).to_parquet(out)
    with_file(app, out.getvalue(), name="private.parquet")
    assert "2,900 rows; the plan is for 3,000" in words(app)
    out = io.BytesIO()
    rows(2_000).to_parquet(out)
    with_file(app, out.getvalue(), name="private.parquet")
    assert any("rows is 2,000," in e.value and "2,700 to 3,300" in e.value for e in app.error)
    assert button(app, "release_now").disabled
    out = io.BytesIO()
    rows(3_000).to_parquet(out)
    with_file(app, out.getvalue(), name="private.parquet")
    assert "; the plan is for" not in words(app)


def test_a_budget_for_another_unit_is_refused_before_the_file():
    Ledger().create_dataset(
        "Visits", schema_hash=schema_hash(SCHEMA), cap=Cap.pure(3), unit="one visit", person="Ada"
    )
    plan = start_allowing_errors("release")
    assert not plan.exception
    assert any("'one visit'" in e.value and "Nothing was booked" in e.value for e in plan.error)
    assert button(plan, "release_now") is None
    assert plan.get("file_uploader") == []


def test_a_charge_without_a_result_is_told_and_never_drawn_for():
    app = ready()
    plan_digest, account = digest_of(app), Ledger().accounts()[0]
    Ledger().book(
        "Clinic",
        schema_hash=schema_hash(SCHEMA),
        cost=cost_of_one(),
        purpose="A plan",
        plan_hash=plan_digest,
        person="Ada",
        request_id=f"{account.account_id}/{plan_digest}/0",
    )
    app.button(key="release_now").click().run()
    assert not app.exception
    assert "it broke off and is lost" in words(app)
    assert "its price is spent" in words(app)
    assert "is not on this server" not in words(app), "it was never written"
    assert Ledger().history()[0].state == "booked"
    assert len(Ledger().history()) == 1


def test_a_run_of_the_page_reads_the_history_of_the_ledger_once(monkeypatch):
    app, read, seen = ready(), Ledger.history, []
    monkeypatch.setattr(Ledger, "history", lambda *of: seen.append(of) or read(*of))
    app.run()
    check(app)
    assert "What remains afterwards" in words(app)
    assert len(seen) == 1


def test_a_release_stopped_before_its_draw_goes_on_with_its_charge(monkeypatch):
    app, told = ready(), once.reached

    def stop(stage: str) -> None:
        if stage == "read":
            raise KeyboardInterrupt

    monkeypatch.setattr(once, "reached", stop)
    app.button(key="release_now").click().run()
    monkeypatch.setattr(once, "reached", told)
    assert not app.exception
    (charge,) = Ledger().history()
    assert charge.may_go_on
    assert "before anything was drawn" in words(app)
    again = with_file(start("release", **LINK))  # paid: it needs no approval any more
    assert "The price is paid" in words(again)
    assert button(again, "release_now").label == "Go on with this release"
    assert button(again, "release_now").disabled
    again.text_input(key="release_typed").set_value("Clinic").run()
    again.button(key="release_now").click().run()
    check(again)
    assert "This plan was released" in words(again)
    (done,) = Ledger().history()
    assert (done.charge_id, done.state, done.person) == (charge.charge_id, "done", "Ada")
    assert Ledger().remaining("Clinic") == 2


def test_a_result_that_the_ledger_does_not_know_is_noted_from_the_page(monkeypatch):
    app = ready()

    def cannot(*_: object, **__: object) -> None:
        raise LedgerRuleError("disk_full", path="ledger")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "finish", cannot)
        app.button(key="release_now").click().run()
    assert not app.exception
    assert Ledger().history()[0].state == "booked"
    again = begin()
    assert "the server stopped before the ledger knew" in words(again)
    assert "lost" not in words(again)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "finish", cannot)
        again.button(key="release_note").click().run()
    assert not again.exception
    assert any("disk" in error.value for error in again.error)
    again.button(key="release_note").click().run()
    check(again)
    assert "This plan was released" in words(again)
    assert button(again, "release_note") is None
    (done,) = Ledger().history()
    assert (done.state, Ledger().verify().is_good) == ("done", True)


def digest_of(app) -> str:
    case = make_case(app.session_state["settings"], TableSource(PUBLIC))
    return plan_file.bare_plan(case).digest


def cost_of_one():
    from dpci_core.ledger import Cost

    return Cost(definition="pure", amount="1")


def test_an_unreviewed_proof_has_to_be_allowed_by_name():
    app = start(
        "release", **LINK | {"currency": "zcdp", "definitions": "zcdp", "split": "0.1~0.05~0.05"}
    )
    assert "not peer-reviewed" in words(app)
    assert not app.get("file_uploader")
    allow(app)
    check(app)
    assert app.get("file_uploader")
    app.session_state["settings"] = replace(app.session_state["settings"], c=0.02, penalty="typed")
    app.run()  # another plan, in the same session
    assert "not peer-reviewed" in words(app)
    assert [tick.value for tick in app.checkbox] == [False]
    assert not app.get("file_uploader")


def allow(app):
    """Tick that a proof is accepted which no journal has reviewed."""
    next(c for c in app.checkbox if c.key.startswith("release_unreviewed")).check().run()


def test_a_budget_is_set_by_the_button_that_names_all_of_it():
    app = begin()
    app.segmented_control(key="budget_kind").set_value(PROMISE).run()
    app.text_input(key="budget_delta").set_value("1e-6")
    budget_typed(app, "9", "Clinic")
    before = budget_button(app)
    assert before.label == "Set ε = 9 at δ = 0.000001, for good: nobody can raise it"
    app.text_input(key="budget_delta").set_value("0.01").run()
    assert budget_button(app).key != before.key, "a click on the old words is none on these"
    assert not Ledger().accounts()


def test_what_was_typed_after_its_button_was_drawn_is_not_set():
    app = begin()
    budget_typed(app, "4", "Clinic")
    app.text_input(key="budget_amount").set_value("40")  # in one message with the click
    budget_button(app).click().run()
    check_nothing_set(app, "ε = 40 stays the budget")
    app.text_input(key="budget_amount").set_value("")
    budget_button(app).click().run()
    assert not Ledger().accounts()


def check_nothing_set(app, why: str) -> None:
    assert not app.exception
    assert not Ledger().accounts()
    assert any(why in error.value for error in app.error)


def test_a_second_data_set_asks_for_the_same_people():
    with_budget(begin())
    other = DeclaredTable(
        schema=Schema((NumericColumn("age", 0, 120),), "ill", "yes", negative=("no",)),
        unit="one patient",
    )
    app = start("release", **(LINK | {"declared": packed_table(other), "d": "1"}))
    assert budget_button(app) is None
    assert not app.get("file_uploader")
    app.radio(key="budget_people").set_value("Clinic").run()
    assert app.get("file_uploader")
    app.text_input(key="budget_name").set_value("Follow-up")
    app.text_input(key="release_person").set_value("Ada")
    budget_button(app).click().run()
    check(app)
    first, second = Ledger().accounts()
    assert second.pool_id == first.pool_id
    assert second.remaining == Decimal(3)


def test_a_file_is_seen_to_fit_before_a_budget_that_stays_for_ever():
    app, ask = begin(), "see first whether your file fits"
    assert ask in words(app)
    with_file(app)
    assert ask not in words(app)
    assert "Only its header was read: all 3 columns" in words(app)
    app.button(key="release_look_now").click().run()
    check(app)
    assert "- ill: **all**" in words(app)
    heads = [one.value for one in app.header]
    assert heads == [f"{place} · {release_words.PARTS[place]}" for place in "123"]
    assert position(app, "file_uploader", "release_file") < position(app, "header", heads[2])
    assert position(app, "header", heads[2]) < position(app, "button", budget_button(app).key)
    assert Ledger().accounts() == ()
    with_budget(app)
    assert "- ill: **all**" in words(app)  # the same file, seen once
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    check(app)
    assert [charge.state for charge in Ledger().history()] == ["done"]


def test_a_file_that_does_not_fit_is_told_before_a_budget_too():
    app = with_file(begin(), b"age,ill\n0,1\n")
    assert any("has no column" in e.value for e in app.error)
    assert button(app, "release_look_now") is None
    assert Ledger().accounts() == ()


def test_a_budget_that_another_tab_set_meanwhile_is_a_sentence():
    app = with_file(begin())
    budget_typed(app, "2", "Ward")
    with_budget(begin())
    budget_button(app).click().run()
    assert not app.exception
    assert any("Say whether these people" in e.value for e in app.error)
    assert [one.dataset for one in Ledger().accounts()] == ["Clinic"]
    assert button(app, "release_now") is None


def test_a_file_is_let_go_when_its_release_is_done(monkeypatch):
    gone = []
    monkeypatch.setattr(streamlit_internals, "forget_file", gone.append)
    app = ready()
    assert gone == []
    app.button(key="release_now").click().run()
    check(app)
    assert not app.get("file_uploader")
    assert len(gone) == 1


@pytest.mark.parametrize(("amount", "name"), [("-1", "Clinic"), ("1", "")])
def test_a_bad_budget_is_refused_in_words(amount, name):
    app = with_budget(begin(), amount=amount, name=name)
    assert app.error
    assert Ledger().accounts() == ()


@pytest.fixture
def watched_ledger(desk):
    """A second reader of the ledger keeps SQLite's own files, -wal and -shm, from being tidied
    away.
    """
    Ledger().create_dataset(
        "Others", schema_hash="0" * 64, cap=Cap.pure(1), unit="one person", person="Ada"
    )
    with closing(sqlite3.connect(desk / "ledger.sqlite")) as reader:
        reader.execute("SELECT count(*) FROM entries").fetchone()
        yield reader


def test_nothing_of_the_table_is_anywhere_but_in_its_session(desk, watched_ledger, caplog):
    frame = rows()
    frame.loc[17, "smoker"] = PLANTED
    frame["name"] = PLANTED
    app = begin()
    app.radio(key="budget_people").set_value(release_budget.OTHERS).run()
    with_file(app, csv_bytes(frame))
    app.button(key="release_look_now").click().run()
    with_budget(app)
    assert "- smoker: **nearly all**" in words(app)
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    check(app)
    places = [p for p in desk.rglob("*") if p.is_file()]
    assert {"ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "report.html"} <= {
        p.name for p in places
    }
    for place in places:
        assert PLANTED.encode() not in place.read_bytes(), place
    found = Ledger()
    tables = [list(map(charge_row, found.history())), list(map(account_row, found.accounts()))]
    assert PLANTED not in "".join(map(as_csv, [*tables, list(map(entry_row, found.entries()))]))
    assert PLANTED not in caplog.text
    assert PLANTED not in words(app)
    assert PLANTED not in str(dict(app.query_params))
    for page in ("release", "ledger", "plan"):
        other = start(page, **LINK)
        assert PLANTED not in words(other) + "".join(d.value.to_csv() for d in other.dataframe)
    assert all(
        PLANTED not in repr(key)
        for store in (PUBLIC._records, PUBLIC._moments)
        for key in store._values
    )


def test_a_public_demo_releases_nothing(monkeypatch):
    monkeypatch.setenv("DPCI_PUBLIC_DEMO", "1")
    for page in ("release", "ledger"):
        app = start(page, **LINK)
        assert "switched off on this public demo" in words(app)
        assert app.get("file_uploader") == []
    assert not Path(Ledger().path).exists()


# --- the ledger's page ----------------------------------------------------------------------------


def test_an_empty_ledger_is_no_error():
    app = start("ledger")
    assert "The ledger is empty" in words(app)
    app.button(key="ledger_check").click().run()
    check(app)
    assert "no entries" in words(app)


def test_the_ledger_shows_budget_history_and_verdict():
    app = ready()
    app.button(key="release_now").click().run()
    page = start("ledger")
    assert {m.label: m.value for m in page.metric} == {"Remaining ε": "2"}
    assert "1 charge: 1 released." in words(page)
    table = page.dataframe[0].value
    assert table["state"].tolist() == ["✓ released"]
    record = folder_of(Ledger().history()[0].request_id) / "release.json"
    page.file_uploader(key="ledger_records").upload(
        "release.json", record.read_bytes(), "application/json"
    )
    page.run()
    page.button(key="ledger_check").click().run()
    check(page)
    assert any("All entries (4) are as they were written" in s.value for s in page.success)
    own = Ledger().public_key().text
    assert f"with the public key that the ledger itself names, {own}" in words(page)
    for pinned, said in ((own, "that was given"), ("0" * 64, "NOT as it was"), ("x", "64 hexa")):
        page.text_input(key="ledger_public_key").set_value(pinned).run()
        assert not page.success  # the verdict was about another key
        assert not page.error
        page.button(key="ledger_check").click().run()
        assert not page.exception
        assert said in words(page) or any(said in e.value for e in page.error)


def test_the_ledger_hands_out_the_files_that_it_knows_and_no_others():
    app = ready()
    app.button(key="release_now").click().run()
    (charge,) = Ledger().history()
    page = start("ledger")
    assert page.selectbox(key="ledger_files").options == [f"Entry 2: {charge.purpose}"]
    assert "Everything (ZIP)" in {b.proto.label for b in page.get("download_button")}
    record = folder_of(charge.request_id) / "release.json"
    record.write_bytes(record.read_bytes() + b" ")
    page = start("ledger")
    assert not page.selectbox
    assert "Everything (ZIP)" not in {b.proto.label for b in page.get("download_button")}


def test_a_record_is_read_again_only_when_its_file_is_another_and_when_it_is_handed_out(
    monkeypatch,
):
    """A long history had every record read for each click on the page."""
    ready().button(key="release_now").click().run()
    app = with_file(begin(c="0.02"))
    app.text_input(key="release_person").set_value("Ada")
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    check(app)
    first, last = (folder_of(one.request_id) / "release.json" for one in Ledger().history())
    read: list[Path] = []
    hash_of = releases._hash_of
    monkeypatch.setattr(releases, "_hash_of", lambda one: (read.append(one), hash_of(one))[1])
    page = start("ledger")
    assert (read.count(first), read.count(last)) == (1, 2)  # the newest one is handed out
    page.run()
    assert (read.count(first), read.count(last)) == (1, 3)
    at = first.stat()
    first.write_bytes(first.read_bytes().replace(b"0", b"1", 1))
    os.utime(first, ns=(at.st_atime_ns, at.st_mtime_ns))
    page.run()
    place = next(one for one in page.selectbox(key="ledger_files").options if "Entry 2" in one)
    page.selectbox(key="ledger_files").select(place).run()
    assert not page.exception
    assert any("Its record was changed" in one.value for one in page.error)
    assert "Everything (ZIP)" not in {b.proto.label for b in page.get("download_button")}


def test_a_data_set_with_two_tables_shares_its_budget_with_nobody_else():
    with_budget(begin())
    what = {"schema_hash": "0" * 64, "unit": "one patient", "person": "Ada"}
    Ledger().create_dataset("Clinic", cap=None, same_people_as="Clinic", **what)
    page = start("ledger")
    check(page)
    assert "Shared with" not in words(page)
    Ledger().create_dataset("Ward", cap=None, same_people_as="Clinic", **what)
    assert "Shared with: Ward (the same people" in words(start("ledger"))


def test_a_changed_ledger_is_called_so(desk):
    Ledger().create_dataset(
        "A", schema_hash="0" * 64, cap=Cap.pure(1), unit="one person", person="Ada"
    )
    with sqlite3.connect(desk / "ledger.sqlite") as connection:
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE entries SET person = 'Eve'")
    connection.close()
    app = start("ledger")
    app.button(key="ledger_check").click().run()
    assert not app.exception
    assert any("NOT as it was written" in e.value for e in app.error)


def test_a_damaged_ledger_is_a_sentence(desk):
    (desk / "ledger.sqlite").write_bytes(b"not a database" * 100)
    for page in ("ledger", "release"):
        app = start_allowing_errors(page)
        assert not app.exception
        assert len(app.error) == 1


def test_a_ledger_without_its_end_shows_no_balance_and_can_be_checked(desk):
    Ledger().create_dataset(
        "A", schema_hash="0" * 64, cap=Cap.pure(1), unit="one person", person="Ada"
    )
    assert [one.label for one in start("ledger").metric] == ["Remaining ε"]
    (desk / "ledger.sqlite.head").unlink()
    app, said = start_allowing_errors("ledger"), "holds the end of the ledger once more"
    assert not app.metric
    assert [said in one.value for one in app.error] == [True]
    app.button(key="ledger_check").click().run()
    assert any("NOT as it was written" in one.value for one in app.error)
    assert said in words(start_allowing_errors("release"))


def start_allowing_errors(page: str):
    from streamlit.testing.v1 import AppTest

    from tests.ui.test_pages import ROOT

    app = AppTest.from_file(str(ROOT / "ui" / "shell.py"), default_timeout=60)
    for name, value in approved_link().items():
        app.query_params[name] = value
    app.run()
    app.switch_page(str(ROOT / "pages" / f"{page}.py")).run()
    return app


def test_a_promise_that_waits_in_mu_gets_a_cap_that_can_pay_for_it():
    app = begin(currency="approx", definitions="zcdp", mechanisms="output", epsilon="1")
    assert app.button_group(key="budget_kind").value == "approx"
    app.text_input(key="budget_amount").set_value("1")
    app.text_input(key="budget_delta").set_value("1e-6").run()
    assert "pays for releases under Gaussian differential privacy only" in words(app)
    with_budget(app, "1")
    (account,) = Ledger().accounts()
    assert account.cap == Cap.approx("1", "1e-6", definition="gdp")


def test_a_typed_cap_says_what_it_would_let_happen():
    app = start("release", **LINK)
    app.text_input(key="budget_amount").set_value("4").run()
    assert "become at most **98.3 %** sure" in words(app)
    assert "**Large budget:**" in words(app)
    assert "hardly protects" not in budget_button(app).label
    app.text_input(key="budget_amount").set_value("1").run()
    assert "**73.2 %** sure" in words(app)
    assert "**Large budget:**" not in words(app)


def test_a_cap_that_protects_nobody_is_named_as_that():
    app = start("release", **LINK)
    budget_typed(app, "3000000", "Clinic")
    assert (
        budget_button(app).label == "Set ε = 3,000,000, for good, though it hardly protects anybody"
    )
    budget_button(app).click().run()
    check(app)
    assert Ledger().accounts()[0].cap == Cap.pure(3_000_000)
    assert "ε = 3,000,000 left" in words(app)


def test_a_budget_for_life_is_at_least_the_price():
    app = with_budget(start("release", **LINK), amount="0.3")
    check_nothing_set(app, "ε = 0.3 is less than this release costs, ε = 1")
    app = with_budget(app, amount="2")
    check(app)
    assert Ledger().accounts()[0].cap == Cap.pure(2)


def test_a_budget_of_the_price_itself_is_enough():
    with_budget(start("release", **LINK), amount="1")
    assert Ledger().accounts()[0].cap == Cap.pure(1)


def test_suggested_budgets_pay_for_what_they_say():
    app = start("release", **LINK)
    labels = {b.key: b.label for b in app.button if str(b.key).startswith("budget_suggest")}
    assert labels["budget_suggest_1"] == "ε = 1: for this release alone"
    assert labels["budget_suggest_5"].startswith("ε = 5: ")
    app.button(key="budget_suggest_2").click().run()
    assert app.text_input(key="budget_amount").value == "2"
    assert budget_button(app).label == "Set ε = 2, for good: nobody can raise it"


def test_a_definition_that_cannot_pay_is_no_budget():
    app = start("release", **(LINK | {"currency": "zcdp", "definitions": "zcdp"}))
    allow(app)
    app.segmented_control(key="budget_kind").set_value("pure").run()
    with_budget(app, amount="2")
    assert not Ledger().accounts()
    assert app.error


def test_a_refused_name_is_shown_letter_by_letter():
    app = with_budget(start("release", **LINK), amount="abc")
    assert any("ε is “abc”, but has to be a number." in e.value for e in app.error)
    app = with_budget(start("release", **LINK), amount="$x^2$")
    assert any(r"\$x^2\$" in e.value for e in app.error)
    app = with_budget(start("release", **LINK), name="$x^2$\u200b")
    assert any(r"got U\+200B \(zero width space\)" in e.value for e in app.error)


@pytest.mark.parametrize("page", ["release", "ledger"])
def test_a_visitor_is_not_shown_where_files_are(page, desk):
    app = with_budget(start("release", **LINK))
    app = start(page, **LINK) if page == "ledger" else app
    said = " ".join(
        element.value for kind in (app.caption, app.markdown, app.info) for element in kind
    )
    assert str(desk) not in said
    assert "DPCI_" not in said
    assert ("Keep a backup" in said) == (page == "ledger")


@pytest.mark.parametrize("page", ["release", "ledger", "lengths", "replication"])
def test_every_page_says_what_of_its_link_cannot_be_used(page):
    app = start(page, dataset=DECLARED, declared=LINK["declared"][:40])
    told = " ".join(warning.value for warning in app.warning)
    assert "declared" in told.partition("cannot be used (")[2].partition(")")[0]
