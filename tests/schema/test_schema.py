"""The `schema` encoding, its map to original units, declarations and proposals."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpci_core.base.errors import DataRejectedError
from dpci_core.plan.codec import plain, read
from dpci_core.release import schema_hash
from dpci_core.schema import (
    CategoricalColumn,
    NumericColumn,
    Records,
    Schema,
    encode,
    propose_schema,
    round_outward,
)
from tests.refusals import refuses

SCHEMA = Schema(
    features=(
        NumericColumn("age", 20, 60),
        CategoricalColumn("color", ("red", "green", "blue"), other="blue"),
        NumericColumn("pay", -1.0, 3.0),
    ),
    target="bought",
    positive="yes",
)


def table(**changes: object) -> pd.DataFrame:
    columns: dict[str, object] = {
        "age": [20.0, 60.0, 30.0, 40.0],
        "color": ["red", "green", "blue", "green"],
        "pay": [3.0, -1.0, 0.0, 2.0],
        "bought": ["yes", "no", "no", "yes"],
    }
    return pd.DataFrame({**columns, **changes})


def coded(
    frame: pd.DataFrame, schema: Schema = SCHEMA, features: int | tuple[str, ...] | None = None
) -> Records:
    return encode(frame, schema, features=features, source="simulated", title="made up")


def test_rows_by_hand() -> None:
    records = coded(table())
    s = 1 / math.sqrt(6)  # B = sqrt(3 source columns); x / (B sqrt 2)
    expected = np.array(
        [
            [-s, 0, 0, s, math.sqrt(0.5)],
            [s, s, 0, -s, math.sqrt(0.5)],
            [-s / 2, 0, s, -s / 2, math.sqrt(0.5)],
            [0, s, 0, s / 2, math.sqrt(0.5)],
        ]
    )
    np.testing.assert_allclose(records.X, expected, rtol=2e-12, atol=0)
    assert records.y.tolist() == [1, -1, -1, 1]
    assert records.feature_names == ("age", "color=green", "color=blue", "pay", "constant")
    assert (records.encoding, records.source, records.title, records.notes) == (
        "schema",
        "simulated",
        "made up",
        (),
    )


def test_structural_bound_counts_the_selected_source_columns_only() -> None:
    by_name = coded(table(), features=("pay", "color=blue"))
    np.testing.assert_allclose(by_name.X[0], [0.5, 0, math.sqrt(0.5)], rtol=2e-12)
    assert by_name.feature_names == ("pay", "color=blue", "constant")
    first = coded(table(), features=1)
    np.testing.assert_allclose(first.X[1], [math.sqrt(0.5)] * 2, rtol=2e-12)


def test_norms_stay_below_one_in_floating_point() -> None:
    rng = np.random.default_rng(5)
    for d in range(1, 40):
        schema = Schema(tuple(NumericColumn(f"x{i}", -3, 7) for i in range(d)), "bought", "yes")
        corners = pd.DataFrame(
            rng.choice([-3.0, 7.0, 1e300, -np.inf], size=(50, d)),
            columns=[f"x{i}" for i in range(d)],
        )
        norms = np.linalg.norm(coded(corners.assign(bought="no"), schema).X, axis=1)
        assert norms.max() <= 1.0 - 0.99e-12
        assert norms.min() > 1.0 - 1e-11  # and nothing is given away: corners reach the bound


@settings(derandomize=True, max_examples=50, deadline=None)
@given(
    st.lists(st.floats(-5, 5), min_size=5, max_size=5),
    st.floats(-100, 100),
    st.floats(0.01, 1000),
)
def test_original_units_are_exact(theta: list[float], low: float, width: float) -> None:
    schema = Schema(
        (
            NumericColumn("age", low, low + width),
            CategoricalColumn("color", ("a", "b", "c")),
            NumericColumn("pay", 0, 7),
        ),
        "t",
        "1",
    )
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(low, low + width, 20),
            "color": rng.choice(["a", "b", "c"], 20),
            "pay": rng.uniform(0, 7, 20),
            "t": 1,
        }
    )
    records = coded(frame, schema)
    assert records.to_original is not None
    raw = np.column_stack(
        [frame["age"], frame["color"] == "b", frame["color"] == "c", frame["pay"], np.ones(20)]
    )
    margins = raw.astype(float) @ (records.to_original @ np.array(theta))
    scale = 1.0 + (abs(low) + width) / width
    np.testing.assert_allclose(records.X @ theta, margins, rtol=0, atol=1e-10 * scale)


def test_mapped_values_are_counted() -> None:
    frame = table(age=[10.0, 61.0, np.nan, 40.0], color=["red", "pink", None, "green"])
    records = coded(frame)
    s = 1 / math.sqrt(6)
    np.testing.assert_allclose(records.X[:, 0], [-s, s, 0, 0], rtol=2e-12)
    np.testing.assert_allclose(records.X[:, 2], [0, s, 0, 0], rtol=2e-12)
    assert not records.X[2].any()
    assert [note.split(" ")[0] for note in records.notes] == ["1", "2", "2", "1"]
    assert "outside its bounds" in records.notes[1]
    assert "count as blue" in records.notes[2]


def test_full_one_hot_has_a_feature_for_every_level() -> None:
    schema = Schema(
        (CategoricalColumn("color", ("red", "green", "blue"), has_reference=False),),
        "bought",
        "yes",
    )
    records = coded(table(), schema)
    assert records.feature_names[0] == "color=red"
    np.testing.assert_array_equal(records.X[:, :3] > 0, np.eye(3, dtype=bool)[[0, 1, 2, 1]])


def test_whole_numbers_are_levels_without_a_point() -> None:
    schema = Schema((CategoricalColumn("grade", ("1", "2")),), "t", "1")
    records = coded(pd.DataFrame({"grade": [1.0, 2.0], "t": [1.0, 0.0]}), schema)
    assert records.X[:, 0].tolist() == [0.0, pytest.approx(math.sqrt(0.5))]
    assert records.y.tolist() == [1, -1]


def test_one_class_is_accepted_with_a_note() -> None:
    records = coded(table(bought=["no"] * 4))
    assert (records.y == -1).all()
    assert "same class" in records.notes[0]


@pytest.mark.parametrize(
    ("changes", "row", "column", "words"),
    [
        (
            {"age": ["20", "secret", "30", "40"]},
            1,
            "age",
            "Expected numbers in column 'age'; row 1",
        ),
    ],
)
def test_rejections_name_row_and_column_but_no_value(
    changes: dict[str, object], row: int, column: str, words: str
) -> None:
    with refuses(DataRejectedError, match=words) as caught:
        coded(table(**changes))
    assert (caught.value.row, caught.value.column) == (row, column)
    assert "secret" not in str(caught.value)


def test_absent_column_and_empty_table() -> None:
    with refuses(DataRejectedError, match="column 'pay'"):
        coded(table().drop(columns="pay"))
    with refuses(DataRejectedError, match="at least one row"):
        coded(table().head(0))


def test_digest_depends_on_values_labels_and_names() -> None:
    base = coded(table())
    assert base.digest == coded(table()).digest
    others = [
        coded(table(age=[20.0, 60.0, 30.0, 40.1])),
        coded(table(bought=["no", "no", "no", "yes"])),
        coded(table(), features=3),
        coded(
            table().rename(columns={"pay": "wage"}),
            Schema((*SCHEMA.features[:2], NumericColumn("wage", -1, 3)), "bought", "yes"),
        ),
    ]
    assert len({base.digest, *(other.digest for other in others)}) == 5


def test_records_are_read_only() -> None:
    records = coded(table())
    with pytest.raises(ValueError, match="read-only"):
        records.X[0, 0] = 2.0


@pytest.mark.parametrize("features", [0, 5, True, (), ("age", "age"), ("color=red",)])
def test_bad_selection(features: int | tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="features"):
        coded(table(), features=features)


def test_schema_round_trip_through_json() -> None:
    schema = Schema(
        (*SCHEMA.features, CategoricalColumn("k", ("a", "b"), has_reference=False)),
        "t",
        "1",
        notes=("left out: x",),
        suggested=("k",),
    )
    assert read(Schema, json.loads(json.dumps(plain(schema))), "schema") == schema


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("target",), None, "schema.target"),
        (("features",), "x", "schema.features"),
        (("features", 0, "kind"), "date", r"features\[0\].kind"),
        (("features", 0, "low"), "1", r"features\[0\].low"),
        (("features", 0, "low"), True, r"features\[0\].low"),
        (("features", 0, "low"), 60, "low=60"),
        (("features", 0, "high"), math.inf, r"features\[0\].high: Expected a finite number"),
        (("features", 1, "levels"), ["red", 3.5], r"features\[1\].levels"),
        (("features", 1, "levels"), ["red"], "two levels"),
        (("features", 1, "other"), "pink", "other='pink'"),
        (("features", 1, "has_reference"), 1, r"features\[1\].has_reference"),
        (("features", 2, "name"), "age", "'age' twice"),
        (("features", 2), 7, r"features\[2\]"),
    ],
)
def test_reading_names_the_field(path: tuple[str | int, ...], value: object, words: str) -> None:
    record = json.loads(json.dumps(plain(SCHEMA)))
    place = record
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ValueError, match=words):
        read(Schema, record, "schema")


def test_what_was_suggested_names_columns_once_and_goes_with_them() -> None:
    first, *others = (column.name for column in SCHEMA.features)
    schema = replace(SCHEMA, suggested=(first, others[-1]))
    assert schema.used(schema.features[0].feature_names).suggested == (first,)
    assert schema_hash(schema) == schema_hash(SCHEMA)
    with pytest.raises(ValueError, match="Expected suggested to name columns, got 'nobody'"):
        replace(SCHEMA, suggested=("nobody",))
    with pytest.raises(ValueError, match="once"):
        replace(SCHEMA, suggested=(first, first))


@pytest.mark.parametrize(
    ("units", "step", "per", "more"),
    [
        ("years", None, "per year", "1 year more of x"),
        ("years", 1.0, "per year", "1 year more of x"),
        ("years", 10.0, "per 10 years", "10 years more of x"),
        ("mmHg", 1.0, "per mmHg", "1 mmHg more of x"),
        ("degrees Celsius", 1.0, "per degree Celsius", "1 degree Celsius more of x"),
    ],
)
def test_an_effect_is_told_per_year_or_per_10_years(
    units: str, step: float | None, per: str, more: str
) -> None:
    """It was told per 1 years."""
    column = NumericColumn("x", 18.0, 100.0, step=step, units=units)
    assert column.per == per
    assert column.contrast("x") == f"x, {per}"
    assert column.change("x", ("x",))[:2] == (more, f"{per} of x")


@pytest.mark.parametrize("high", [1, 99, 100_000, 1e9])
def test_the_step_that_is_told_is_the_one_that_is_meant(high: float) -> None:
    """A goal was told per unit of a cost, and computed per 10,000."""
    column = NumericColumn("cost", 0.0, high)
    told = column.per.removeprefix("per ").replace(",", "").replace("unit", "1")
    assert float(told) == column.told_step


def test_feature_names_must_be_unique() -> None:
    with pytest.raises(ValueError, match="column 'a' and 'a=b' make the same"):
        Schema(
            (CategoricalColumn("a", ("x", "b=c")), CategoricalColumn("a=b", ("x", "c"))), "t", "1"
        )
    with pytest.raises(ValueError, match="column 'constant' and the last coefficient"):
        Schema((NumericColumn("constant", 0, 1),), "t", "1")


def test_proposal() -> None:
    n = 120
    frame = pd.DataFrame(
        {
            "age": np.linspace(17.2, 89.9, n),
            "color": ["red"] * 70 + ["blue"] * 30 + ["green"] * 20,
            "flag": [True, False] * 60,
            "id": [f"id{i}" for i in range(n)],
            "same": 3,
            "when": pd.date_range("2020-01-01", periods=n),
            "one": "x",
            "t": ["y", "n"] * 60,
        }
    )
    schema = propose_schema(frame, "t", "y")
    assert schema.features == (
        NumericColumn("age", 17, 90),
        CategoricalColumn("color", ("red", "blue", "green")),
        NumericColumn("flag", 0, 1),
    )
    assert [note.split("'")[1] for note in schema.notes] == ["id", "same", "when", "one"]
    assert "120 different texts" in schema.notes[0]
    assert coded(frame, schema).notes == ()
    with pytest.raises(ValueError, match="positive='z'"):
        propose_schema(frame, "t", "z")
    with pytest.raises(ValueError, match="target='u'"):
        propose_schema(frame, "u", "y")
    with refuses(DataRejectedError, match="at least one column"):
        propose_schema(frame[["id", "t"]], "t", "y")


@pytest.mark.parametrize("ends", [(-1e308, 1e308), (0.0, 5e-324), (-1e30, 1e30)])
def test_numbers_too_far_apart_or_too_close_are_left_out(ends: tuple[float, float]) -> None:
    schema = propose_schema(pd.DataFrame({"x": ends, "k": [1, 2], "t": ["y", "n"]}), "t", "y")
    assert schema.feature_names == ("k",)
    assert "'x' is left out" in schema.notes[0]
    with pytest.raises(ValueError, match="column 'x'"):
        NumericColumn("x", *ends)


def test_levels_up_to_fifty_are_proposed() -> None:
    def proposal(n: int) -> Schema:
        return propose_schema(
            pd.DataFrame({"x": range(n), "k": [f"k{i}" for i in range(n)], "t": [1] * n}), "t", "1"
        )

    assert len(proposal(50).features) == 2
    assert len(proposal(51).features) == 1


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_rounded_bounds_lie_outside_and_close(low: float, width: float) -> None:
    high = low + width
    below, above = round_outward(low, high)
    assert below <= low
    assert high <= above
    assert above - below <= 1.21 * (high - low)
