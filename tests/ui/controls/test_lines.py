"""Columns typed as lines, and header lines of files."""

from __future__ import annotations

import pytest

from ui.controls.lines import names_of, read_lines


def test_bounds_units_and_what_is_usual():
    found = read_lines("systolic_bp: 60 to 260 mmHg, typical 130, spread 18, per 10")
    assert found == {
        "systolic_bp": {
            "kind": "number",
            "lowest": 60.0,
            "highest": 260.0,
            "units": "mmHg",
            "typical": 130.0,
            "spread": 18.0,
            "step": 10.0,
        }
    }


@pytest.mark.parametrize(
    ("said", "low", "high"),
    [
        ("18-100", 18.0, 100.0),
        ("18 – 100 years", 18.0, 100.0),
        ("-5 to 40 °C", -5.0, 40.0),
        ("1 to 1,000,000 €, log, per 2", 1.0, 1e6),
        ("0.5..2", 0.5, 2.0),
    ],
)
def test_bounds_are_written_in_many_ways(said, low, high):
    cells = read_lines(f"x: {said}")["x"]
    assert (cells["lowest"], cells["highest"]) == (low, high)
    assert cells.get("log", False) == ("log" in said)


def test_levels_with_and_without_shares():
    assert read_lines("sex: F, M") == {"sex": {"kind": "levels", "levels": "F; M"}}
    found = read_lines("smoker: no 80 %, yes 20%")["smoker"]
    assert found == {"kind": "levels", "levels": "no; yes", "shares": "0.8; 0.2"}


def test_blanks_are_gone_through_once():
    """A million of them in a level held the whole server for hours."""
    gap = " " * 1_000_000
    assert read_lines(f"city: a{gap}b, c")["city"]["levels"] == f"a{gap}b; c"
    assert read_lines(f"city: a{gap}80{gap}%, b 20 %")["city"]["shares"] == "0.8; 0.2"


def test_a_header_line_gives_names_alone():
    assert read_lines("age,sex\n\nsmoker: no, yes") == {
        "age": {},
        "sex": {},
        "smoker": {"kind": "levels", "levels": "no; yes"},
    }
    assert names_of('\ufeff"a, b";c;d') == ["a, b", "c", "d"]
    assert names_of("a\tb\ta") == ["a", "b"]
    assert names_of("") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age: 18 to 100\nx: 5", "Line 2 .“x”.: bounds such as"),
        (": 1 to 2", "Line 1: the name"),
        ("\n".join(f"c{i}" for i in range(501)), "at most 500"),
        ("a" * 200_000, "one is too long"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(text, said):
    with pytest.raises(ValueError, match=said):
        read_lines(text)


def test_a_percent_sign_alone_is_a_level():
    assert read_lines("a: yes, %")["a"]["levels"] == "yes; %"
