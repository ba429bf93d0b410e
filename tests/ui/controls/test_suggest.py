"""What is suggested of a column that nobody described, and the lines beside the columns."""

from __future__ import annotations

import math

import pytest

from ui.controls import suggest
from ui.session.forms import LEFT_OUT


@pytest.mark.parametrize(
    ("name", "low", "high", "is_log", "usual"),
    [
        ("age", 18, 100, False, (50.0, 18.0)),
        ("Age_at_entry", 0, 120, False, (50.0, 18.0)),
        ("systolic_bp", 80, 220, False, (130.0, 18.0)),
        ("BMI", 15, 60, False, (27.0, 5.0)),
        ("dosage", 0, 60, False, (30.0, 10.0)),  # no age
        ("age", 0, 20, False, (10.0, 3.3)),  # of children: the usual one does not fit
        ("income", 1, 1e6, True, (1e3, 10.0)),
        ("x", -3, 3, False, (0.0, 1.0)),
    ],
)
def test_a_suggestion_is_usual_by_name_or_the_middle_of_the_bounds(name, low, high, is_log, usual):
    assert suggest.suggested(name, low, high, is_log=is_log) == pytest.approx(usual)


@pytest.mark.parametrize(
    ("name", "tells_apart"),
    [
        *((name, True) for name in ("patient_id", "ID", "id_number", "PatientID", "patientid")),
        *((name, True) for name in ("record id", "case.uuid", "person_code", "participantCode")),
        *((name, False) for name in ("age", "covid", "uric_acid", "steroid", "idle", "diagnosis")),
        *((name, False) for name in ("icd_code", "width", "größeid")),
    ],
)
def test_a_column_that_tells_persons_apart_is_left_out_of_the_model(name, tells_apart):
    """“patient_id” was proposed as a number."""
    assert suggest.kind_by(name) == ({"kind": LEFT_OUT} if tells_apart else {})


def test_what_is_typed_stays_and_what_is_wrong_is_left_to_be_told():
    rows = [
        {"column": "a", "kind": "number", "lowest": "0", "highest": "12"},
        {
            "column": "b",
            "kind": "number",
            "lowest": "0",
            "highest": "9",
            "typical": "2",
            "spread": "1",
        },
        {"column": "c", "kind": "number", "lowest": "0", "highest": "9", "typical": "2"},
        {"column": "d", "kind": "number", "lowest": "9", "highest": "0"},
        {"column": "e", "kind": "number", "lowest": "0", "highest": "9", "log": True},
        {"column": "f", "kind": "levels", "levels": "x; y"},
        {"column": "g", "kind": "number"},
        {"column": "h", "kind": LEFT_OUT, "lowest": "0", "highest": "9"},
        {"column": "i", "lowest": "0", "highest": "9"},  # a number, unless it says another kind
    ]
    filled, found = suggest.with_suggestions(rows)
    assert found == ("a", "c", "i")
    none = [None] * 5
    assert [row.get("typical") for row in filled] == ["6", "2", "2", *none, "4.5"]
    assert [row.get("spread") for row in filled] == ["2", "1", "1.5", *none, "1.5"]
    assert sum("typical" in row for row in rows) == 2  # the rows themselves are left as they were


def test_a_suggestion_is_made_of_no_text_that_is_no_number():
    row = {"column": "a", "kind": "number", "lowest": "0,5", "highest": "12"}
    assert suggest.suggestion_of(row) is None
    assert suggest.suggestion_of(row | {"lowest": "0"}) is not None
    assert suggest.suggestion_of(row | {"lowest": "0", "spread": "0,5"}) is None
    assert suggest.suggestion_of(row | {"lowest": "0", "spread": "0.5"}) == (6.0, 0.5)
    assert suggest.suggestion_of(row | {"lowest": "0", "typical": "3"}) == (3.0, 2.0)
    both = {"lowest": "0", "typical": "3", "spread": "0.5"}
    assert suggest.suggestion_of(row | both) is None


@pytest.mark.parametrize("line", ["0,5", "0,5 to 1,5", "10 to 20,5 %", "1,000"])
def test_a_share_with_a_comma_is_refused_in_words(line):
    with pytest.raises(ValueError, match=r"0 and 100, such as 20 or .* with a decimal point"):
        suggest.read_rate(line)


@pytest.mark.parametrize("line", ["", "20", "10 to 30", "0.25", "2.5 to 97.5"])
def test_lines_are_written_as_they_are_read(line):
    assert suggest.rate_line(suggest.read_rate(line)) == line
    assert suggest.read_rate("30-10 %") == (0.1, 0.3)
    pairs = "a, b: strong; b, c: 0.2; a, c: -0.5"
    assert suggest.pairs_line(suggest.read_pairs(pairs, "abc")) == pairs
    assert suggest.read_pairs("", "abc") == ()
    assert math.isclose(suggest.read_pairs("a, b: weak", "abc")[0][2], 0.3)
