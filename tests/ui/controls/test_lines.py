"""Columns typed as lines, and header lines of files."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import pytest

from ui.controls.lines import Cells, names_of, read_lines
from ui.session.forms import LEFT_OUT


def columns_of(text: str) -> dict[str, Cells]:
    """Of lines that can all be read."""
    found, wrong = read_lines(text)
    assert not wrong
    return found


def test_bounds_units_and_what_is_usual():
    found = columns_of("systolic_bp: 60 to 260 mmHg, typical 130, spread 18, per 10")
    assert found == {
        "systolic_bp": {
            "kind": "number",
            "lowest": "60",
            "highest": "260",
            "units": "mmHg",
            "typical": "130",
            "spread": "18",
            "step": "10",
        }
    }


@pytest.mark.parametrize(
    ("said", "low", "high"),
    [
        ("18-100", "18", "100"),
        ("18 – 100 years", "18", "100"),
        ("-5 to 40 °C", "-5", "40"),
        ("1 to 1,000,000 €, log, per 2", "1", "1000000"),
        ("0.5..2", "0.5", "2"),
    ],
)
def test_bounds_are_written_in_many_ways(said, low, high):
    cells = columns_of(f"x: {said}")["x"]
    assert (cells["lowest"], cells["highest"]) == (low, high)
    assert cells.get("log", False) == ("log" in said)


@pytest.mark.parametrize(
    ("said", "cells"),
    [
        ("15 to 60, typical 27, spread 5", {"typical": "27", "spread": "5"}),
        ("15 to 60 typical 27", {"typical": "27"}),
        ("15 to 60 kg,if missing 20,log", {"units": "kg", "if missing": "20", "log": True}),
        ("15 to 60 mg per l, ±5", {"units": "mg per l", "spread": "5"}),
        ("15 to 60, per 1,000", {"step": "1000"}),
    ],
)
def test_what_is_usual_is_no_unit(said, cells):
    bounds = {"kind": "number", "lowest": "15", "highest": "60"}
    assert columns_of(f"bmi: {said}")["bmi"] == bounds | cells


def test_levels_with_and_without_shares():
    assert columns_of("sex: F, M") == {"sex": {"kind": "levels", "levels": "F; M"}}
    found = columns_of("smoker: no 80 %, yes 20%")["smoker"]
    assert found == {"kind": "levels", "levels": "no; yes", "shares": "80; 20"}


def test_one_share_that_is_not_said_is_the_rest():
    """What was said of one level was dropped without a word."""
    assert columns_of("ill: no, yes 10 %")["ill"]["shares"] == "90; 10"
    assert columns_of("city: a 20 %, b 50 %, c")["city"]["shares"] == "20; 50; 30"


@pytest.mark.parametrize(
    "said",
    [
        "no, yes 10 to 20 %",
        "no, yes 10 to 20%",
        "no, yes 10 - 20 %",
        "no, yes 10-20%",
        "no, yes 10–20 %",
        "no, yes 10 % to 20 %",
        "no, yes 20 TO 10 %",
        "no 80 to 90 %, yes",
        "no 80–90%, yes 10–20%",
    ],
)
def test_a_share_may_be_a_range(said):
    """“yes 10 to” was a value with 20 %."""
    read = {"kind": "levels", "levels": "no; yes", "shares": "80 to 90; 10 to 20"}
    assert columns_of(f"readmitted: {said}") == {"readmitted": read}


@pytest.mark.parametrize(
    ("said", "levels", "shares"),
    [
        ("no, yes 0.5 to 2.5 %", "no; yes", "97.5 to 99.5; 0.5 to 2.5"),
        ("no, yes 10 to 10 %", "no; yes", "90; 10"),
        ("home, died 5 to 9 %, lost 1 %", "home; died; lost", "90 to 94; 5 to 9; 1"),
        ("young, 18-29 30 %", "young; 18-29", "70; 30"),
        ("grade 1 to 2 30 %, grade 3", "grade 1 to 2; grade 3", "30; 70"),
        ("grade 1 to 2, grade 3 to 4", "grade 1 to 2; grade 3 to 4", None),
        ("HER2-, HER2+", "HER2-; HER2+", None),
        ("low, 0 to 10 %, 10 to 20 %", "low; 0 to 10 %; 10 to 20 %", None),
    ],
)
def test_a_range_is_no_part_of_a_name_and_a_name_no_range(said, levels, shares):
    cells = columns_of(f"x: {said}")["x"]
    assert (cells["levels"], cells.get("shares")) == (levels, shares)


@pytest.mark.parametrize(
    "line",
    [
        "age: 1 to 2, ill: no 80 to 90 %, yes 10 to 20 %, sex",
        "ill no 80 to 90 %, yes 10 to 20 %, sex, age 1 to 2",
    ],
)
def test_a_header_line_may_have_ranges_of_shares(line):
    found = columns_of(line)
    assert set(found) == {"age", "ill", "sex"}
    assert found["ill"]["shares"] == "80 to 90; 10 to 20"


WARD = {"kind": "levels", "levels": "a; b; c", "shares": "50; 30; 20"}
OUT = {"kind": LEFT_OUT}
SEX = {"kind": "levels", "levels": "F; M"}
AGE = {"kind": "number", "lowest": "30", "highest": "90", "units": "years"}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("age years 30 to 90", {"age": AGE}),
        ("age (years) 30-90, per 10", {"age": AGE | {"step": "10"}}),
        ("age 30 to 90 years", {"age": AGE}),
        ("ward a 50 %, b 30 %, c 20%", {"ward": WARD}),
        ("sex,ward: a 50 %, b 30 %, c 20 %,ill", {"sex": {}, "ward": WARD, "ill": {}}),
        (
            "age years 30 to 90\tward: a 50 %\tb 30 %\tc 20 %\tsmoker\till",
            {"age": AGE, "ward": WARD, "smoker": {}, "ill": {}},
        ),
        (
            "age: 30 to 90 years, per 10, dose 1 to 2, sex: F, M",
            {
                "age": AGE | {"step": "10"},
                "dose": {"kind": "number", "lowest": "1", "highest": "2"},
                "sex": SEX,
            },
        ),
        ("ward: a 50 %, b 30 %, c 20 %, ward, ill", {"ward": WARD, "ill": {}}),
        (
            "x: a 50 %, b 50 %, c 0 %",
            {"x": {"kind": "levels", "levels": "a; b; c", "shares": "50; 50; 0"}},
        ),
        (
            "x: a 50 %, b 49.7 %, c",
            {"x": {"kind": "levels", "levels": "a; b; c", "shares": "50; 49.7; 0.3"}},
        ),
        ('"a, b": x, y', {"a, b": {"kind": "levels", "levels": "x; y"}}),
        ("id: Not in the model", {"id": OUT}),
        ("id not in the model", {"id": OUT}),
        ("id: not in the model, ill, age years 30 to 90", {"id": OUT, "ill": {}, "age": AGE}),
        ("ill, id not in the model, sex: F, M", {"ill": {}, "id": OUT, "sex": SEX}),
        (
            "dose: low 1 to 2, high 3 to 4",
            {"dose": {"kind": "levels", "levels": "low 1 to 2; high 3 to 4"}},
        ),
    ],
)
def test_a_header_line_may_describe_some_of_its_columns(line, found):
    """Shares in it became parts of names, and all before the first colon one name."""
    assert columns_of(line) == found


@pytest.mark.parametrize(
    "line",
    [
        '"' + "a," * 300_000,
        "x: " + "a 0.1 %," * 100_000,
        "a: 1 to 2" + ", b 1 to 2" * 60_000,
        "1 to " * 200_000,
        "x: a, b " + "1 to 2 " * 150_000 + "%",
        "x: a, b " + "1" * 500_000 + " to" + " " * 400_000 + "%",
    ],
)
def test_a_long_line_is_gone_through_once(line):
    """A page takes a message of 1 MB, and one thread reads for everybody."""
    started = time.process_time()
    with suppress(ValueError):
        read_lines(line)
    assert time.process_time() - started < 10.0


def test_blanks_are_gone_through_once():
    """A million of them in a level held the whole server for hours."""
    gap = " " * 1_000_000
    assert columns_of(f"city: a{gap}b, c")["city"]["levels"] == f"a{gap}b; c"
    assert columns_of(f"city: a{gap}80{gap}%, b 20 %")["city"]["shares"] == "80; 20"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("smoker: no 99,5 %, yes 0,4 %", "numbers have a decimal point"),
        ("smoker no 99,5%, yes 0,5%", "numbers have a decimal point"),
        ("dose: 0,125 to 0,500 mg", "numbers have a decimal point"),
        ("dose: 0 to 1, typical 0,125", "“typical 0,125” is not understood"),
        ("ill: no, yes 0,5 to 2 %", "numbers have a decimal point"),
        ("ill: no, yes 0.5-2,5 %", "numbers have a decimal point"),
        ("dose: 0 to 9, typical 2,5", "“5” is not understood"),
    ],
)
def test_a_decimal_comma_makes_no_other_number_and_no_other_value(line, words):
    """Four values were read in the first, and bounds of 125 and 500 in the third."""
    found, wrong = read_lines(line)
    assert not found
    assert words in str(wrong[line])


@pytest.mark.parametrize(
    ("line", "levels"),
    [
        ("therapy: none, step 1, step 2", "none; step 1; step 2"),
        ("dose: 5 % glucose 40 %, 0.9 % saline 60 %", "5 % glucose; 0.9 % saline"),
    ],
)
def test_values_may_look_like_what_is_said_of_numbers(line, levels):
    (cells,) = columns_of(line).values()
    assert cells["levels"] == levels


def test_shares_may_be_values():
    assert columns_of("dose: 1 %, 2.5 %, 10 %")["dose"]["levels"] == "1 %; 2.5 %; 10 %"


def test_a_header_line_gives_names_alone():
    assert columns_of("age,sex\n\nsmoker: no, yes") == {
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
        ("pay: 2000000 to 1e6", "the lowest, 2,000,000, is not below the highest, 1,000,000"),
        ("x: 0 to 1e999", "Line 1 .“x”.: a number is too large"),
        (f"x: -1{'0' * 400} to 0", "a number is too large"),
        ("x: 0 to 1, spread 1e999", "a number is too large"),
        ("age: 100 to 18", "Line 1 .“age”.: the lowest, 100, is not below the highest, 18"),
        ("age: 18 to 18", "not below the highest"),
        ("a: 1 to 2\nbmi: 15 to 60 kg, typcal 27", "Line 2 .“bmi”.: “typcal 27” is not under"),
        ("bmi: 15 to 60 kg typical 27", "“kg typical 27” is not understood"),
        ("bmi: 15 to 60, typical", "“typical” is not understood"),
        ("bmi: 15 to 60, missing 4", "“missing 4” is not understood.*if missing 0"),
        ("ill: no/yes, 40 % yes", "Line 1 .“ill”.: how often .* stands behind it, “yes 40 %”"),
        ("ill: no, 2.5% yes", "“yes 2.5%”"),
        ("bmi: abc to def, spread -3", "“spread -3” stands behind bounds"),
        ("ill: no, yes, missing 4", "“missing 4” stands behind bounds"),
        ("ill: no, 30-40 % yes", "“yes 30-40 %”"),
        ("ill: no, 30 to 40 % yes", "“yes 30 to 40 %”"),
        ("ill: no, 40 %yes", "“yes 40 %”"),
        ("ages: 18-29, 30-44", "“30-44” is not understood"),
        ("dose: 0,5 to 2,5", "decimal point"),
        (": 1 to 2", "Line 1: the name"),
        ("age years 30 to 90 y", "Line 1 .“age”.: “y” is not understood"),
        ("age 18 to 90, typical 20 to 30", "“typical 20 to 30” is not understood"),
        ("age 18 to 90, sex", "“sex” is not understood.* Another column has a line of its own"),
        ("sex male female", "Line 1 has no comma and no colon.*“sex: male, female”"),
        ("a " * 9, "“a: a, a, a, a, a, …”"),
        ("city: a 20 %, b, c", "said of all of them, or of none"),
        (
            "ill: no, yes 10 to",
            "Line 1 .“ill”.: “yes 10 to” ends like half a range: write “yes 10 to",
        ),
        ("ill: no, yes 10 to %", "half a range"),
        ("ill: no, yes 10 – ", "half a range"),
        ("ill: no, yes 10 to 20 to 30 %", "“yes 10 to” ends like half a range"),
        ("ill: no 80 %, yes 10 to 20 %", "what it leaves of 100, such as 80 to 90 beside 10 to 20"),
        ("ill: no 70 to 90 %, yes 10 to 20 %", "what it leaves of 100"),
        ("ill: no, yes 10 to 200 %", "what it leaves of 100"),
        ("ill: no, yes 10 to 2000 %", "half a range"),
        ("city: a 10 to 20 %, b, c", "said of all of them, or of none"),
        ("age: years,weight: kg", "Line 1 .“age”.: bounds such as"),
        ("a: b: c, d", "“b: c” has a colon"),
        ("a" * 200_000, "one is too long"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(text, said):
    _, wrong = read_lines(text)
    (why,) = wrong.values()
    assert re.search(said, str(why))


def test_too_many_columns_are_refused():
    with pytest.raises(ValueError, match="at most 500"):
        read_lines("\n".join(f"c{i}" for i in range(501)))


def test_a_line_that_cannot_be_read_keeps_no_other_from_being_read():
    found, wrong = read_lines("age: 18 to 100\nbmi: many\nsex,smoker")
    assert (list(found), list(wrong)) == (["age", "sex", "smoker"], ["bmi: many"])
    assert str(wrong["bmi: many"]).startswith("Line 2 (“bmi”)")


def test_a_colon_within_quotation_marks_is_part_of_a_name():
    assert columns_of('"age: years",sex') == {"age: years": {}, "sex": {}}
    assert list(columns_of('5" pipe: 1 to 2')) == ['5" pipe']


def test_a_percent_sign_alone_is_a_level():
    assert columns_of("a: yes, %")["a"]["levels"] == "yes; %"


def test_of_two_lines_about_one_column_neither_is_taken():
    found, wrong = read_lines(
        "age: 18 to 100\nsmoker\nage: 20 to 90, bmi: 15 to 60\nsmoker: no, yes"
    )
    assert found == {"smoker": {"kind": "levels", "levels": "no; yes"}}
    assert list(wrong) == ["age: 18 to 100", "age: 20 to 90, bmi: 15 to 60"]
    assert {str(why) for why in wrong.values()} == {"Lines 1 and 3 both describe “age”."}
    assert read_lines("age: 18 to 100\nage: 18 to 100") == read_lines("age: 18 to 100")
