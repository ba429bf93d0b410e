"""What the page shows of a table before anything is spent, and what it refuses."""

from __future__ import annotations

import pytest

from dpci_core.ledger import Ledger
from dpci_core.release import load_release
from tests.ui.release.test_page import (  # noqa: F401 - the ledger is a fixture
    begin,
    button,
    csv_bytes,
    desk,
    ready,
    rows,
    with_file,
    words,
)
from tests.ui.test_pages import check, position
from ui.release.page import folder_of
from ui.session.text import plain


def asked(app):
    """Ticks that accept something found in the file."""
    return [tick for tick in app.checkbox if tick.key.startswith("release_accept")]


def test_the_look_says_in_words_how_many_cells_fit_and_spends_nothing():
    frame = rows()
    app = with_file(ready(), csv_bytes(frame.assign(ill=frame["ill"].map({"no": 0, "yes": 1}))))
    assert "**none**" not in words(app)
    app.button(key="release_look_now").click().run()
    check(app)
    for said in ("- age: **all**", "- smoker: **all**", "- ill: **none**", "For you alone"):
        assert said in words(app)
    assert "3,000 of" not in words(app)
    with_file(app, name="another.csv")  # words of one file never stand beside another
    assert "**none**" not in words(app)
    assert Ledger().history() == ()


@pytest.mark.parametrize(
    ("n", "said"),
    [(2_000, "2,700 to 3,300"), (2_900, "2,900 rows; the plan"), (3_000, "3,000 rows")],
)
def test_the_look_counts_the_rows_before_a_budget_is_declared(n: int, said: str):
    """Their number is public, and what a release would refuse for it costs nothing to know."""
    app = with_file(begin(), csv_bytes(rows(n)))
    assert said not in words(app)
    app.button(key="release_look_now").click().run()
    app.text_input(key="budget_amount").set_value("3").run()
    assert not app.exception
    assert said in words(app)
    assert ("- ill: **all**" in words(app)) is (n > 2_000)
    assert Ledger().accounts() == ()


def test_an_outcome_coded_otherwise_is_refused_before_it_is_paid_for():
    frame = rows()
    app = with_file(ready(), csv_bytes(frame.assign(ill=frame["ill"].map({"no": 0, "yes": 1}))))
    app.button(key="release_now").click().run()
    assert not app.exception
    assert "do not fit the plan in 'ill'" in words(app)
    assert "Nothing was booked" in words(app)
    assert Ledger().history() == ()
    assert not button(app, "release_now").disabled


@pytest.mark.parametrize(("is_seen", "cell"), [(True, ""), (False, "Y")])
def test_more_incomplete_records_than_planned_are_accepted_first(is_seen: bool, cell: str):
    """A code that the plan does not know was told as a missing cell."""
    frame = rows()
    frame.loc[:299, "smoker"] = cell
    app = with_file(ready(), csv_bytes(frame))
    app.button(key="release_look_now" if is_seen else "release_now").click().run()
    assert not app.exception
    assert Ledger().history() == ()
    (tick,) = asked(app)
    for told in (words(app), tick.label):
        assert "a cell that is missing or not declared" in told
    tick.check().run()
    app.button(key="release_now").click().run()
    check(app)
    (charge,) = Ledger().history()
    assert load_release(folder_of(charge.request_id)).n_records == 3_000
    for told in (
        "300 of 3,000 cells of smoker: missing or not declared.",
        "300 of 3,000 records have a missing cell and count for nothing.",
    ):
        assert plain(told) in words(app)


def lacking(frame):
    """A fifth of the records without their age."""
    return frame.assign(age=frame["age"].where(frame.index > 600))


def test_what_was_accepted_of_one_file_is_not_accepted_of_another():
    frame = rows()
    app = with_file(ready(), csv_bytes(lacking(frame)), "a.csv")
    app.button(key="release_now").click().run()
    (tick,) = asked(app)
    tick.check().run()
    with_file(app, csv_bytes(frame.assign(ill="no")), "b.csv")  # nobody is a "yes"
    assert asked(app) == []
    app.button(key="release_now").click().run()
    assert Ledger().history() == ()
    assert "No cell of the outcome is written 'yes'" in words(app).replace("\\", "")
    assert [tick.value for tick in asked(app)] == [False]
    with_file(app, csv_bytes(lacking(frame)), "a.csv")  # the first again is another upload
    assert asked(app) == []
    app.button(key="release_now").click().run()
    assert Ledger().history() == ()


@pytest.mark.parametrize("is_seen", [True, False])
def test_each_of_two_findings_has_a_tick_of_its_own(is_seen: bool):
    app = with_file(ready(), csv_bytes(lacking(rows().assign(ill="no"))))
    app.button(key="release_look_now" if is_seen else "release_now").click().run()
    for told in ("No cell of the outcome is written", "a cell that is missing or not declared"):
        assert told in words(app)
    assert len(asked(app)) == 2
    for place in range(2):
        assert Ledger().history() == ()
        asked(app)[place].check().run()
        app.button(key="release_now").click().run()
    check(app)
    assert len(Ledger().history()) == 1


def test_a_tick_for_one_finding_goes_when_the_same_file_read_otherwise_has_more():
    """A code that only one encoding of the file spells as the plan does."""
    app = with_file(ready(), csv_bytes(lacking(rows())))
    app.button(key="release_now").click().run()
    asked(app)[0].check().run()
    app.radio(key="release_encoding").set_value("latin-1").run()
    assert asked(app) == []
    app.button(key="release_now").click().run()
    assert [tick.value for tick in asked(app)] == [False]
    assert Ledger().history() == ()


def test_letters_of_another_encoding_are_told_at_the_button_that_spends_too():
    """They count as missing, and that was said far above alone."""
    frame = rows().astype({"smoker": object})
    frame.loc[0, "smoker"] = "ja, früher"
    app = with_file(ready(), frame.to_csv(index=False).encode("latin-1"))
    told = plain("not written in UTF-8")
    assert told not in words(app)  # nothing below the header is read yet
    app.button(key="release_look_now").click().run()
    check(app)
    every = enumerate(app.main)
    above, beside = (at for at, one in every if one.type == "warning" and told in one.value)
    assert above < position(app, "text_input", "release_typed") < beside
    app.radio(key="release_encoding").set_value("latin-1").run()
    assert told not in words(app)
