"""What the standard encoding needs, read off a public table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpci_core.base.errors import DataRejectedError
from dpci_core.datasets import schema_of
from dpci_core.schema import (
    CategoricalColumn,
    NumericColumn,
    Schema,
    StandardEncoding,
    propose_standard,
    told_steps,
)
from tests.refusals import refuses

STANDARD = StandardEncoding(shape=5.0, limit=3.0)


def test_medians_spreads_and_shares_have_two_digits() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.normal(61.234, 14.567, 4_000),
            "cost": np.exp(rng.normal(np.log(1234.0), 1.0, 4_000)),
            "same": np.ones(4_000),
            "city": ["a"] * 1_234 + ["b"] * 2_000 + ["elsewhere"] * 766,
        }
    )
    schema = Schema(
        (
            NumericColumn("age", 18, 98),
            NumericColumn("cost", 1, 1e6, transform="log"),
            NumericColumn("same", 0, 10),
            NumericColumn("known", 0, 10, typical=3, spread=2),
            CategoricalColumn("city", ("a", "b")),
        ),
        "ill",
        "yes",
    )
    found = propose_standard(frame.assign(known=1.0), schema, STANDARD)
    age, cost, same, known, city = found.features
    assert isinstance(age, NumericColumn)
    assert (age.typical, age.spread) == (62.0, 14.0)
    assert isinstance(cost, NumericColumn)
    assert (cost.typical, cost.spread) == (1200.0, 2.7)
    assert same == schema.features[2]  # nothing can be said of what does not vary
    assert known == schema.features[3]  # what is declared stays
    assert isinstance(city, CategoricalColumn)
    assert city.shares == (0.38, 0.62)  # of the rows that have one of them
    assert found.standard == STANDARD
    assert found.transformations.radius == 5.0
    assert schema.standard is None


def test_rounding_keeps_a_median_near_and_a_factor_above_1() -> None:
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(
        {"year": rng.normal(2013.0, 7.0, 4_000), "weight": np.exp(rng.normal(5.0, 0.04, 4_000))}
    )
    schema = Schema(
        (NumericColumn("year", 1980, 2050), NumericColumn("weight", 50, 500, transform="log")),
        "ill",
        "yes",
    )
    year, weight = propose_standard(frame, schema, STANDARD).features
    assert isinstance(year, NumericColumn)
    assert isinstance(weight, NumericColumn)
    assert (year.typical, year.spread) == (2013.0, 7.0)
    assert (weight.typical, weight.spread) == (148.0, 1.041)


def test_a_named_set_in_the_standard_encoding_is_the_same_table_whatever_the_radius() -> None:
    a, b = (schema_of("census", standard=StandardEncoding(shape=r)) for r in (3.0, 6.0))
    assert a.features == b.features
    numbers = [column for column in a.features if isinstance(column, NumericColumn)]
    assert all(column.typical is not None for column in numbers)
    assert schema_of("census").standard is None
    assert schema_of("census").features[0] != a.features[0]


def test_a_step_is_declared_or_fits_the_range() -> None:
    schema = Schema(
        (
            NumericColumn("pressure", 80, 240, step=10),
            NumericColumn("pay", 0, 100_000),
            NumericColumn("cost", 1, 1e6, transform="log"),
            NumericColumn("dose", 1, 1e6, transform="log", step=10),
            CategoricalColumn("sex", ("f", "m")),
        ),
        "ill",
        "yes",
    )
    steps = told_steps(schema, (*schema.feature_names, "constant"))
    assert steps == (10, 10_000.0, np.log(2), np.log(10), 1.0, 1.0)


def test_a_table_without_rows_proposes_nothing() -> None:
    schema = Schema((NumericColumn("age", 18, 98),), "ill", "yes")
    with refuses(DataRejectedError, match="at least one row"):
        propose_standard(pd.DataFrame({"age": []}), schema, STANDARD)
