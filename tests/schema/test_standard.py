"""The standard encoding: its declarations, against a slow loop, and one record at a time."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpci_core.base.rows import WeightedRows
from dpci_core.base.validation import check_records
from dpci_core.schema import (
    CategoricalColumn,
    Guesses,
    NumberGuess,
    NumericColumn,
    RecordMapper,
    Records,
    Schema,
    StandardEncoding,
    design_matrix,
    encode,
    make_records,
    simulate_twin,
    to_original,
    twin_table,
)

AGE = NumericColumn("age", 18, 98, missing=60, typical=60, spread=15, step=10)
PAY = NumericColumn(
    "pay", 1e2, 1e6, missing=3e4, typical=3e4, spread=2.5, transform="log", limit=2.0
)
HOURS = NumericColumn("hours", 0, 100, missing=40)
HOME = CategoricalColumn("home", ("none", "rented", "owned"), "none", shares=(0.2, 0.5, 0.3))
SEX = CategoricalColumn("sex", ("f", "m", "x"), other="x", has_reference=False)
COLUMNS = (AGE, HOME, PAY, HOURS, SEX)
STANDARD = StandardEncoding(shape=2.5, limit=2.5)
SCHEMA = Schema(COLUMNS, "ill", "yes", standard=STANDARD)


def make_table(n: int = 300, seed: int = 0) -> pd.DataFrame:
    """Cells of every kind: inside, at and beyond limits and bounds, missing, unknown."""
    rng = np.random.default_rng(seed)
    ages = rng.choice([18.0, 22.4, 22.5, 60.0, 97.5, 98.0, -3.0, 1e300, np.inf, np.nan], n)
    pay = rng.choice([1e2, 1e6, 3e4, 4800.0, 187500.0, 0.0, -7.0, np.inf, 99.9, np.nan], n)
    free = rng.random(n) < 0.5
    return pd.DataFrame(
        {
            "age": np.where(free, rng.normal(60, 15, n), ages),
            "home": rng.choice(["none", "rented", "owned", "tent", None], n),
            "pay": np.where(free, np.exp(rng.normal(10, 1, n)), pay),
            "hours": rng.choice([0.0, 37.5, 100.0, 168.0, np.nan], n),
            "sex": rng.choice(["f", "m", "x", "?"], n),
            "ill": rng.choice(["yes", "no"], n),
        }
    )


def coded(frame: pd.DataFrame, schema: Schema = SCHEMA, **rest: Any) -> Records:
    return encode(frame, schema, source="simulated", title="made up", **rest)


def weighted(records: Records) -> WeightedRows:
    assert isinstance(records.X, WeightedRows)
    return records.X


def slow_number(
    cell: float, bounds: tuple[float, float], missing: float, is_log: bool, centre: float,
    unit: float, limit: float,
) -> tuple[float, float]:  # fmt: skip
    """One number by hand: on the scale of its effects as it counts, and as it is encoded."""
    value = missing if math.isnan(cell) else min(max(cell, bounds[0]), bounds[1])
    g = math.log(value) if is_log else value
    g = min(max(g, centre - limit * unit), centre + limit * unit)
    return g, (g - centre) / unit


def slow_row(row: pd.Series, radius: float) -> tuple[list[float], list[float], float]:
    """One record by hand, every number typed here: values that count, x, and its weight."""
    age = slow_number(row["age"], (18, 98), 60, False, 60, 15, 2.5)
    pay = slow_number(row["pay"], (1e2, 1e6), 3e4, True, math.log(3e4), math.log(2.5), 2.0)
    hours = slow_number(row["hours"], (0, 100), 40, False, 50, 100 / math.sqrt(12), 2.5)
    home = [float(row["home"] == level) for level in ("rented", "owned")]
    sex = [float(row["sex"] == level) for level in ("f", "m")]
    sex.append(1.0 - sum(sex))
    counted = [age[0], *home, pay[0], hours[0], *sex, 1.0]
    v = [
        age[1],
        (home[0] - 0.5) / 0.5,
        (home[1] - 0.3) / 0.5,
        pay[1],
        hours[1],
        *((level - 1 / 3) / 0.5 for level in sex),
        1.0,
    ]
    x = [entry / radius for entry in v]
    return counted, x, min(1.0, 1.0 / sum(entry**2 for entry in x))


# --- declarations ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"typical": 17.9}, "typical=17.9 of column 'age' to lie within"),
        ({"typical": 98.1}, "typical=98.1 of column 'age' to lie within"),
        ({"typical": math.nan}, "typical=nan of column 'age' to lie within"),
        ({"missing": math.nan}, "missing=nan of column 'age' to lie within"),
        ({"spread": None}, "typical and spread of column 'age' both or neither"),
        ({"typical": None}, "typical and spread of column 'age' both or neither"),
        ({"spread": 0.0}, "spread=0.0 of column 'age' to be finite and > 0"),
        ({"spread": -1.0}, "spread=-1.0 of column 'age' to be finite and > 0"),
        ({"spread": math.inf}, "spread=inf of column 'age' to be finite and > 0"),
        ({"spread": math.nan}, "spread=nan of column 'age' to be finite and > 0"),
        ({"spread": 801.0}, "spread=801.0 of column 'age' to be at most ten times"),
        ({"spread": 7.9e-8}, "spread=7.9e-08 of column 'age' to be at most ten times"),
        ({"step": 0.0}, "step=0.0 of column 'age' to be finite and > 0"),
        ({"step": math.nan}, "step=nan of column 'age' to be finite and > 0"),
        ({"step": 801.0}, "step=801.0 of column 'age' to be at most ten times"),
        ({"step": 7.9e-8}, "step=7.9e-08 of column 'age' to be at most ten times"),
        (
            {"transform": "log", "spread": 2.0, "step": 1e8},
            r"step=100000000.0 of column 'age' to be at most",
        ),
        ({"limit": 0.99}, "<= limit of column 'age'=0.99 <="),
        ({"limit": 1.1e6}, "<= limit of column 'age'=1100000.0 <="),
        ({"limit": math.nan}, "limit of column 'age'=nan"),
        ({"transform": "root"}, "transform='root' of column 'age' to be None or 'log'"),
        ({"transform": "log", "low": 0.0}, "low=0.0 > 0 for column 'age', whose logarithm"),
        ({"transform": "log", "low": -2.0}, "low=-2.0 > 0 for column 'age', whose logarithm"),
        ({"transform": "log", "spread": 1.0}, "spread=1.0 of column 'age' to be finite and > 1"),
        (
            {"transform": "log", "spread": 2.0, "step": 1.0},
            "step=1.0 of column 'age' to be finite and > 1",
        ),
        ({"transform": "log", "spread": 1e8}, r"spread=100000000.0 of column 'age' to be at most"),
        (
            {"transform": "log", "low": 1e20, "high": math.nextafter(1e20, 1e21), "typical": None,
             "spread": None, "step": None, "missing": None},
            "of column 'age' to have different logarithms",
        ),
    ],
)  # fmt: skip
def test_a_bad_number_is_named_with_its_rule(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(AGE, **change)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ((0.5, 0.5), "shares of column 'home' to hold 3 numbers, got 2"),
        ((0.5, 0.6, -0.1), "shares of column 'home' to be at least 0 and to add up to 1"),
        ((0.5, 0.3, 0.18), "shares of column 'home' to be at least 0 and to add up to 1"),
        ((0.5, 0.3, 0.22), "shares of column 'home' to be at least 0 and to add up to 1"),
        ((0.5, 0.5, math.nan), "shares of column 'home' to be at least 0 and to add up to 1"),
        ((math.nan, 0.5, 0.5), "shares of column 'home' to be at least 0 and to add up to 1"),
        ((math.inf, 0.0, 0.0), "shares of column 'home' to be at least 0 and to add up to 1"),
    ],
)
def test_bad_shares_are_named(shares: tuple[float, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(HOME, shares=shares)


@pytest.mark.parametrize("bad", [0.999, 1.1e6, math.nan, math.inf, "2"])
@pytest.mark.parametrize("name", ["shape", "limit"])
def test_bad_numbers_of_the_encoding_are_named(name: str, bad: object) -> None:
    with pytest.raises(ValueError, match=f"{name}="):
        StandardEncoding(**{"shape": 2.0, name: bad})  # type: ignore[arg-type]


def test_what_follows_from_a_declaration() -> None:
    assert (AGE.centre, AGE.unit, AGE.step_size, AGE.middling) == (60, 15, 10, 60)
    assert AGE.standard_range(2.0) == (30.0, 90.0)
    assert AGE.standard_range(2.6) == (21.0, 98)
    assert PAY.feature_names == ("log(pay)",)
    assert (PAY.centre, PAY.unit) == (math.log(3e4), math.log(2.5))
    assert PAY.step_size == math.log(2.0)  # a doubling
    assert replace(PAY, step=10.0).step_size == math.log(10.0)
    assert PAY.standard_range(99.0) == pytest.approx(  # its own limit
        (math.log(3e4 / 2.5**2), math.log(3e4 * 2.5**2)), rel=1e-14
    )
    assert (HOURS.centre, HOURS.step_size, HOURS.middling) == (50, 1, 50)
    assert HOURS.unit == pytest.approx(np.std(np.linspace(0, 100, 100_001)), rel=1e-4)
    assert NumericColumn("a", 1, 100, transform="log").centre == pytest.approx(math.log(10))
    assert NumericColumn("a", 1, 100, transform="log").middling == 50.5
    assert SEX.expected_shares == (1 / 3, 1 / 3, 1 / 3)
    rounded = replace(HOME, shares=(0.333, 0.333, 0.333)).expected_shares
    assert rounded == pytest.approx((1 / 3,) * 3, rel=1e-14)


# --- against a slow loop --------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [1.0, 2.5, 50.0])
def test_rows_and_weights_are_those_of_a_slow_loop(radius: float) -> None:
    frame = make_table()
    records = coded(frame, replace(SCHEMA, standard=replace(STANDARD, shape=radius)))
    X = weighted(records)
    for i in range(len(frame)):
        _, x, weight = slow_row(frame.iloc[i], radius)
        np.testing.assert_allclose(X.rows[i], x, rtol=1e-13, atol=1e-15)
        assert X.weights[i] == pytest.approx(weight, rel=2e-12)
        assert records.y[i] == (1.0 if frame["ill"][i] == "yes" else -1.0)
    share = float((X.weights < 1.0).mean())
    assert {1.0: share == 1.0, 2.5: 0.5 < share < 0.99, 50.0: share == 0.0}[radius]
    assert records.encoding == "standard"
    assert records.feature_names == (
        *("age", "home=rented", "home=owned", "log(pay)", "hours", "sex=f", "sex=m", "sex=x"),
        "constant",
    )


def test_a_weighted_row_has_norm_at_most_one_exactly() -> None:
    for radius in (1.0, 1.7, 2.5, 3.3):
        X = weighted(coded(make_table(), replace(SCHEMA, standard=replace(STANDARD, shape=radius))))
        for row, weight in zip(X.rows, X.weights, strict=True):
            size = Fraction(float(weight)) * sum(Fraction(float(x)) ** 2 for x in row)
            assert size <= 1
            assert weight == 1.0 or size > 1 - Fraction(1, 10**11)  # and gives nothing away
        check_records(X, np.ones(len(X)))


def test_margins_are_those_of_original_units() -> None:
    frame = make_table()
    for features in (None, 4, ("sex=x", "log(pay)", "age"), ("home=owned",)):
        records = coded(frame, features=features)
        assert records.to_original is not None
        np.testing.assert_array_equal(records.to_original, to_original(SCHEMA, features))
        names = coded(frame).feature_names
        used = [names.index(name) for name in records.feature_names]
        original = np.array([slow_row(frame.iloc[i], 2.5)[0] for i in range(len(frame))])[:, used]
        for seed in range(5):
            theta = np.random.default_rng(seed).normal(size=len(used))
            beta = records.to_original @ records.meaning.basis @ theta
            np.testing.assert_allclose(records.X @ theta, original @ beta, rtol=0, atol=1e-12)


def test_the_limit_of_the_encoding_is_for_columns_without_one() -> None:
    frame = pd.DataFrame({"age": [98.0], "pay": [1e6], "hours": [100.0], "ill": ["no"]})
    schema = Schema((AGE, PAY, HOURS), "ill", "yes", standard=StandardEncoding(shape=1, limit=1.5))
    np.testing.assert_allclose(weighted(coded(frame, schema)).rows[0], [1.5, 2.0, 1.5, 1.0])
    loose = replace(schema, standard=StandardEncoding(shape=1))
    expected = [38 / 15, 2.0, math.sqrt(3), 1.0]  # bounds, its own limit, bounds
    np.testing.assert_allclose(weighted(coded(frame, loose)).rows[0], expected)


def test_a_logarithm_reads_no_impossible_number() -> None:
    frame = pd.DataFrame(
        {"pay": [0.0, -5.0, -np.inf, 100.0, 1e6, np.inf, np.nan, 3e4], "ill": "no"}
    )
    schema = Schema((PAY,), "ill", "yes", standard=STANDARD)
    with np.errstate(all="raise"):
        x = weighted(coded(frame, schema)).rows[:, 0]
    np.testing.assert_allclose(x[:4], -2 / 2.5)
    np.testing.assert_allclose(x[4:6], 2 / 2.5)
    np.testing.assert_allclose(x[6:], 0.0, atol=1e-15)


# --- notes ----------------------------------------------------------------------------------------


def test_mapped_values_are_counted_in_words_that_are_true() -> None:
    frame = pd.DataFrame(
        {
            "age": [np.nan, 17.0, 19.0, 98.0, 60.0],
            "pay": [np.nan, 99.0, 2e6, 100.0, 3e4],
            "hours": [np.nan, 50.0, 50.0, 50.0, 50.0],
            "home": ["tent", "none", "none", "owned", "owned"],
            "ill": ["yes", "no", "no", "yes", "no"],
        }
    )
    schema = Schema(
        (AGE, PAY, HOURS, HOME), "ill", "yes", standard=StandardEncoding(shape=2, limit=2)
    )
    assert coded(frame, schema).notes == (
        "1 missing value of age counts as 60.",
        "1 value of age outside its bounds was clipped.",
        "2 of 5 values of age beyond the limit count as it.",
        "1 missing value of pay counts as 30000.",
        "2 values of pay outside its bounds were clipped.",
        "3 of 5 values of pay beyond the limit count as it.",
        "1 missing value of hours counts as 40.",
        "1 value of home that is missing or not declared counts as none.",
    )
    untold = Schema((NumericColumn("age", 18, 98),), "ill", "yes")
    assert coded(frame, untold).notes == (
        "1 missing value of age: its row counts for nothing.",
        "1 value of age outside its bounds was clipped.",
        "1 of 5 rows has a missing cell and counts for nothing.",
    )


@pytest.mark.parametrize("standard", [None, STANDARD])
def test_the_bounds_of_a_logarithm_are_inside_them(standard: StandardEncoding | None) -> None:
    """Also where the logarithm of an array and that of a number differ in the last bit."""
    draws = np.exp(np.random.default_rng(0).uniform(0, 9, 40_000))
    gap = np.log(draws) - np.array([math.log(x) for x in draws])
    order = np.argsort(gap)
    for low, high in [(draws[i], 1e6) for i in order[:5]] + [(0.5, draws[i]) for i in order[-5:]]:
        column = NumericColumn("pay", float(low), float(high), transform="log")
        frame = pd.DataFrame({"pay": [low, high] * 20, "ill": ["yes", "no"] * 20})
        assert coded(frame, Schema((column,), "ill", "yes", standard=standard)).notes == ()


# --- one record at a time -------------------------------------------------------------------------


def test_a_row_and_its_weight_do_not_change_when_other_records_do() -> None:
    frame, others = make_table(), make_table(seed=1)
    X = weighted(coded(frame))
    assert (X.weights < 1.0).any()
    for i in (0, 57, 299):
        mixed = others.copy()
        mixed.iloc[i] = frame.iloc[i]
        changed = weighted(coded(mixed))
        np.testing.assert_array_equal(changed.rows[i], X.rows[i])
        assert changed.weights[i] == X.weights[i]
        alone = weighted(coded(frame.iloc[[i]]))
        np.testing.assert_array_equal(alone.rows[0], X.rows[i])
        assert alone.weights[0] == X.weights[i]


def cells_of(frame: pd.DataFrame) -> dict[str, list[object]]:
    return {name: frame[name].tolist() for name in frame.columns}


def test_the_mapper_gives_what_encode_gives() -> None:
    frame = make_table()
    X, y = RecordMapper(SCHEMA).records_of(cells_of(frame))
    records = coded(frame)
    assert isinstance(X, WeightedRows)
    np.testing.assert_array_equal(X.rows, weighted(records).rows)
    np.testing.assert_array_equal(X.weights, weighted(records).weights)
    np.testing.assert_array_equal(y, records.y)
    np.testing.assert_array_equal(RecordMapper(SCHEMA).to_original, records.to_original)


HOSTILE = ["", "abc", None, "1e999", "-1e999", "nan", "0", "-0.0", "1_000", 10**400, -(10**400),
           True, b"\xff", object, "6" * 5000, float("inf"), "\u0000", [], {}]  # fmt: skip


def test_the_mapper_refuses_nothing_and_keeps_the_rule() -> None:
    cells = {name: list(HOSTILE) for name in RecordMapper(SCHEMA).needed}
    X, y = RecordMapper(SCHEMA).records_of(cells)
    assert isinstance(X, WeightedRows)
    assert len(X) == len(HOSTILE)
    kept, _ = check_records(X, y)
    assert isinstance(kept, WeightedRows)
    typical = weighted(coded(pd.DataFrame({
        "age": [60.0], "home": ["none"], "pay": [3e4], "hours": [40.0], "sex": ["x"], "ill": ["no"],
    })))  # fmt: skip
    X, _ = RecordMapper(SCHEMA).records_of(cells | {"ill": ["no"] * len(HOSTILE)})
    assert isinstance(X, WeightedRows)
    for i, cell in enumerate(HOSTILE):
        if cell in ("", "abc", "nan", "\u0000") or cell is None:
            np.testing.assert_array_equal(X.rows[i], typical.rows[0])
            assert X.weights[i] == typical.weights[0]


def test_a_digest_covers_the_weights() -> None:
    records = coded(make_table())
    X = weighted(records)

    def digest(rows: np.ndarray, weights: np.ndarray) -> str:
        return make_records(
            WeightedRows(rows.copy(), weights.copy()), records.y.copy(),
            names=records.feature_names[:-1], encoding="standard", source="simulated", title="t",
            to_original=None, meaning=records.meaning,
        ).digest  # fmt: skip

    assert digest(X.rows, X.weights) == records.digest
    lighter = X.weights.copy()
    lighter[7] *= 1.0 - 1e-15
    moved = X.rows.copy()
    moved[7, 0] += 1e-15
    assert len({records.digest, digest(X.rows, lighter), digest(moved, X.weights)}) == 3
    with pytest.raises(ValueError, match="read-only"):
        X.weights[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        X.rows[0] = 1.0
    with pytest.raises(ValueError, match="standard encoding has them"):
        _ = records.unweighted


# --- the encoding by bounds is what it was --------------------------------------------------------


def test_the_encoding_by_bounds_has_kept_every_bit() -> None:
    frame = make_table()
    schema = Schema((AGE, HOME, HOURS, SEX), "ill", "yes")
    records = coded(frame, schema)
    scale = (1.0 - 1e-12) / math.sqrt(2.0 * 4)
    expected = np.zeros((300, 8))
    for j, (column, missing) in {0: (AGE, 60.0), 3: (HOURS, 40.0)}.items():
        values = frame[column.name].fillna(missing).to_numpy()
        middle, half = (column.low + column.high) / 2.0, (column.high - column.low) / 2.0
        expected[:, j] = np.clip((values - middle) / half, -1.0, 1.0)
    home, sex = frame["home"].to_numpy(), frame["sex"].to_numpy()
    expected[:, 1], expected[:, 2] = home == "rented", home == "owned"
    expected[:, 4], expected[:, 5] = sex == "f", sex == "m"
    expected[:, 6] = ~np.isin(sex, ["f", "m"])
    expected *= scale
    expected[:, -1] = (1.0 - 1e-12) / math.sqrt(2.0)
    np.testing.assert_array_equal(records.unweighted, expected)
    L = np.diag([scale] * 7 + [(1.0 - 1e-12) / math.sqrt(2.0)])
    for j, column in {0: AGE, 3: HOURS}.items():
        L[j, j] = scale * 2.0 / (column.high - column.low)
        L[-1, j] = -L[j, j] * (column.low + column.high) / 2.0
    np.testing.assert_array_equal(records.to_original, L)
    assert records.encoding == "schema"


def test_original_units_take_the_logarithm_and_no_limit() -> None:
    frame = pd.DataFrame({"age": [200.0, 20.0], "pay": [1e5, 1e2]})
    found, _, _ = design_matrix(frame, (AGE, PAY), ("age", "log(pay)"), scale="original")
    np.testing.assert_allclose(found[:, :2], [[200, math.log(1e5)], [20, math.log(1e2)]])


def test_a_missing_cell_is_not_beyond_the_limit() -> None:
    column = NumericColumn("age", 0, 100, typical=50, spread=10)
    schema = Schema((column,), "ill", "yes", standard=StandardEncoding(shape=2.0, limit=2.0))
    frame = pd.DataFrame({"age": [50.0, None, 75.0, 200.0], "ill": ["yes", "no", "yes", "no"]})
    assert "1 of 4 values of age beyond the limit counts as it." in coded(frame, schema).notes


# --- twins ----------------------------------------------------------------------------------------


def test_a_twin_follows_what_is_declared() -> None:
    table = twin_table(SCHEMA, Guesses(n_rows=60_000))
    logs = np.log(table["pay"])
    assert np.median(table["age"]) == pytest.approx(60, abs=0.3)
    assert np.std(logs) == pytest.approx(math.log(2.5), rel=0.02)
    assert np.median(logs) == pytest.approx(math.log(3e4), abs=0.02)
    assert table["pay"].between(1e2, 1e6).all()
    shares = table["home"].value_counts(normalize=True)[list(HOME.levels)]
    np.testing.assert_allclose(shares, HOME.expected_shares, atol=0.01)
    twin = simulate_twin(SCHEMA)
    assert twin.encoding == "standard"
    assert not any("outside" in note or "missing" in note for note in twin.notes)
    guessed = twin_table(SCHEMA, Guesses(numbers={"pay": NumberGuess(1e4, 1.5)}, n_rows=60_000))[
        "pay"
    ]
    assert np.median(np.log(guessed)) == pytest.approx(math.log(1e4), abs=0.02)
    assert np.std(np.log(guessed)) == pytest.approx(math.log(1.5), rel=0.02)
    with pytest.raises(ValueError, match=r"numbers\['pay'\].spread=0.9 > 1"):
        simulate_twin(SCHEMA, guesses=Guesses(numbers={"pay": NumberGuess(1e4, 0.9)}))
