"""A record with a missing cell counts for nothing, whatever its other cells hold and however it is
read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpci_core import Design, Logistic, PureDP, fit_moments, forecast
from dpci_core.base.packed import written_out
from dpci_core.base.rows import WeightedRows, plain, signed
from dpci_core.base.validation import check_records
from dpci_core.datasets._paper import encode_paper
from dpci_core.schema import (
    CategoricalColumn,
    Guesses,
    NumericColumn,
    RecordMapper,
    Schema,
    StandardEncoding,
    encode,
    simulate_twin,
    twin_table,
)
from dpci_core.schema.mapping import Coded
from dpci_core.schema.spelling import level_of, spellings

SCHEMA = Schema(
    (
        NumericColumn("age", 0, 100, typical=60, spread=15),
        NumericColumn("pay", 1, 1e6, transform="log", typical=3e4, spread=2.5),
        CategoricalColumn("home", ("none", "rented", "owned")),
    ),
    target="ill",
    positive="yes",
    negative=("no",),
)
STANDARD = replace(SCHEMA, standard=StandardEncoding(shape=2.0))
BOTH = pytest.mark.parametrize("schema", [SCHEMA, STANDARD], ids=["bounds", "standard"])
WHOLE: dict[str, object] = {"age": 50.0, "pay": 2e4, "home": "owned", "ill": "no"}
MISSING: list[dict[str, object]] = [
    {"age": None},
    {"age": "old"},
    {"pay": float("nan")},
    {"home": ""},
    {"home": "tent"},
    {"ill": None},
    {"ill": "perhaps"},
    {"ill": "0"},
    {"age": 0.0, "pay": 1e6, "ill": None},  # a long row, of a weight below 1 if it were complete
    {"age": None, "pay": None, "home": None, "ill": None},
]


def cells(*records: dict[str, object]) -> dict[str, Any]:
    return {name: [(WHOLE | record)[name] for record in records] for name in WHOLE}


def coded(values: dict[str, Any]) -> dict[str, Any]:
    """Each cell by its place in a list of the cells, a missing one as code -1."""
    places = {
        name: np.array([-1 if cell is None else i for i, cell in enumerate(column)])
        for name, column in values.items()
    }
    return {name: Coded(column, places[name]) for name, column in values.items()}


@BOTH
@pytest.mark.parametrize("missing", MISSING, ids=str)
def test_it_is_the_row_of_zeros(schema: Schema, missing: dict[str, object]) -> None:
    mapper = RecordMapper(schema)
    X, y = mapper.records_of(cells({}, missing, {"age": 20.0, "ill": "yes"}))
    rows = plain(X)
    assert not rows[1].any()
    assert rows[[0, 2], -1].all()
    assert y.tolist() == [-1.0, 1.0, 1.0]
    if isinstance(X, WeightedRows):
        assert X.weights[1] == 1.0
    assert (mapper.note.n_records, mapper.note.n_incomplete) == (3, 1)
    assert mapper.note.sentences()[-1] == (
        "1 of 3 records has a missing cell and counts for nothing."
    )
    check_records(X, y)


@BOTH
def test_an_undeclared_outcome_is_told_of(schema: Schema) -> None:
    mapper = RecordMapper(schema)
    mapper.records_of(cells({"ill": "0"}, {"ill": "1"}, {}))
    assert mapper.note.sentences()[0] == (
        "2 of 3 cells of ill: missing or none of its declared codes."
    )


@BOTH
def test_every_reader_finds_the_same_rows(schema: Schema) -> None:
    values = cells({}, *MISSING, {"age": 99.0, "ill": "yes"})
    mapper = RecordMapper(schema)
    X, y = mapper.records_of(values)
    (block,) = written_out([mapper.packed(values)])
    (by_code,) = written_out([mapper.packed(coded(values))])
    numbers = ("age", "pay")
    as_numbers = {n: [None if c == "old" else c for c in values[n]] for n in numbers}
    public = encode(pd.DataFrame(values | as_numbers), schema, source="simulated", title="made up")
    np.testing.assert_array_equal(plain(public.X), plain(X))
    np.testing.assert_array_equal(public.y, y)
    for found in (block, by_code):
        np.testing.assert_array_equal(plain(found), plain(signed(X, y)))
    if isinstance(X, WeightedRows):
        for other in (block, by_code, public.X):
            assert isinstance(other, WeightedRows)
            np.testing.assert_array_equal(other.weights, X.weights)
    kept = public.complete()
    assert kept.y.tolist() == [-1.0, 1.0]
    assert len(kept.X) == 2
    assert kept.complete() is kept
    assert kept.digest != public.digest
    assert f"{len(MISSING)} of {len(y)} rows have a missing cell and count for nothing." in (
        public.notes
    )


def test_a_declared_value_fills_a_cell_and_leaves_the_record() -> None:
    age, pay, home = SCHEMA.features
    filled = replace(
        SCHEMA,
        features=(replace(age, missing=40.0), pay, replace(home, other="rented")),
    )
    mapper = RecordMapper(filled)
    X, _ = mapper.records_of(
        cells({"age": "", "home": "tent"}, {"age": 40, "home": "rented"}, {"pay": ""})
    )
    np.testing.assert_array_equal(plain(X)[0], plain(X)[1])
    assert plain(X)[0].any()
    assert not plain(X)[2].any()
    assert mapper.note.sentences() == (
        "1 of 3 cells of age: missing or no number, counted as 40.",
        "1 of 3 cells of home: missing or not declared, counted as rented.",
        "1 of 3 cells of pay: missing or no number.",
        "1 of 3 records has a missing cell and counts for nothing.",
    )


def test_a_column_that_is_not_used_may_be_empty() -> None:
    X, _ = RecordMapper(SCHEMA, ("age",)).records_of(cells({"pay": None, "home": "?"}))
    assert plain(X).any()


def test_the_encoding_of_the_paper_has_zeros_too() -> None:
    frame = pd.DataFrame(cells({}, {"age": None}, {"ill": "yes", "age": 20.0}))
    found = encode_paper(frame, SCHEMA, source="simulated", title="made up")
    alone = encode_paper(frame.iloc[[0, 2]], SCHEMA, source="simulated", title="made up")
    assert not found.unweighted[1].any()
    np.testing.assert_array_equal(found.unweighted[[0, 2]], alone.unweighted)
    np.testing.assert_array_equal(found.y, [-1.0, 1.0, 1.0])


def test_without_negative_codes_every_other_value_counts_as_no() -> None:
    mapper = RecordMapper(replace(SCHEMA, negative=()))
    X, y = mapper.records_of(cells({"ill": "0"}, {"ill": " YES "}, {"ill": ""}))
    assert plain(X).any(axis=1).tolist() == [True, True, False]
    assert y.tolist() == [-1.0, 1.0, 1.0]


# --- one public rule for spellings ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "cell", "place"),
    [
        (("0", "1"), 1, 1),
        (("0", "1"), "1.0", 1),
        (("0", "1"), 0.0, 0),
        (("0", "1"), " 1 ", 1),
        (("0", "1"), True, -1),
        (("0", "1"), "yes", -1),
        (("0.0", "1.0"), 1, 1),
        (("no", "yes"), "Yes", 1),
        (("No", "YES"), "no", 0),
        (("false", "true"), True, 1),
        (("False", "True"), "TRUE", 1),
        (("a", "A"), " A", 1),
        (("a", "A"), "a", 0),
        (("1", "1.0", "2"), "1.0", 1),
        (("1", "1.0", "2"), 2.0, 2),
        (("1", "01"), "1.0", -1),
        (("yes", "YES", "no"), "Yes", -1),
        (("yes", "YES", "no"), "NO", 2),
        (("é",), "É", 0),
        (("a",), None, -1),
    ],
)
def test_a_level_is_met_by_the_spellings_of_its_value(
    levels: tuple[str, ...], cell: object, place: int
) -> None:
    assert level_of(cell, spellings(levels)) == place


def test_codes_of_the_outcome_follow_the_same_rule() -> None:
    schema = replace(SCHEMA, positive="1", negative=("0",))
    given = cells({"ill": "1.0"}, {"ill": 0}, {"ill": " 0 "}, {"ill": "yes"})
    X, y = RecordMapper(schema).records_of(given)
    assert y.tolist() == [1.0, -1.0, -1.0, 1.0]
    assert plain(X).any(axis=1).tolist() == [True, True, True, False]
    with pytest.raises(ValueError, match="every code of 'ill' once, got 'yes' twice"):
        replace(SCHEMA, negative=("no", "yes"))


# --- planning -------------------------------------------------------------------------------------


def test_a_twin_has_incomplete_records_in_the_declared_share() -> None:
    guesses = Guesses(n_rows=900, effects={"age": 0.02})
    whole, part = (
        simulate_twin(replace(STANDARD, complete=q), guesses=guesses) for q in (1.0, 0.9)
    )
    assert len(part.y) == 1000
    np.testing.assert_array_equal(plain(part.X)[:900], plain(whole.X))
    np.testing.assert_array_equal(part.y[:900], whole.y)
    assert not plain(part.X)[900:].any()
    assert len(twin_table(replace(SCHEMA, complete=0.5), guesses)) == 1800
    for share in (0.0, 0.04, 1.01, float("nan")):
        with pytest.raises(ValueError, match="complete="):
            replace(SCHEMA, complete=share)


@BOTH
def test_what_is_planned_is_that_of_the_complete_records_alone(schema: Schema) -> None:
    """docs/proofs/map.md#what-is-estimated: penalised at c/q among them, and without privacy as
    from nq."""
    q, c, guesses = 0.8, 0.004, Guesses(n_rows=4_000, effects={"age": 0.03})
    part = simulate_twin(replace(schema, complete=q), guesses=guesses)
    whole = simulate_twin(schema, guesses=guesses)
    diluted, alone = (
        fit_moments(r.X, r.y, loss=Logistic(), regularization=at, target="unpenalised")
        for r, at in ((part, c), (whole, c / q))
    )
    close = {"rtol": 1e-6, "atol": 1e-9}
    np.testing.assert_allclose(diluted.theta_hat, alone.theta_hat, **close)
    np.testing.assert_allclose(diluted.hessian, q * alone.hessian, **close)
    bare, without = diluted.unpenalised_fit, alone.unpenalised_fit
    assert bare is not None
    assert without is not None
    np.testing.assert_allclose(bare.theta, without.theta, **close)
    budget = PureDP(model="1e9", hessian="1e9", covariance="1e9")
    lengths = [
        forecast(
            moments,
            design=Design(
                loss=Logistic(),
                mechanism="output",
                budget=budget,
                regularization=at,
                target="unpenalised",
                n_records=n,
                calibration="published",
            ),
        ).nonprivate_length
        for moments, at, n in ((diluted, c, 50_000), (alone, c / q, 40_000))
    ]
    np.testing.assert_allclose(lengths[0], lengths[1], rtol=1e-5)
