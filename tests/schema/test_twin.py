"""The simulated twin: it is what was declared and guessed, the same every time, and nothing
else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpci_core.losses import Logistic
from dpci_core.schema import (
    CategoricalColumn,
    Guesses,
    NumberGuess,
    NumericColumn,
    Schema,
    encode,
    simulate_twin,
    to_original,
    twin_table,
)
from dpci_core.solvers.moments import unpenalised_minimiser

SCHEMA = Schema(
    (
        NumericColumn("age", 18, 98),
        CategoricalColumn("home", ("none", "rented", "owned")),
        NumericColumn("income", 0, 1e5),
        CategoricalColumn("region", ("n", "s"), has_reference=False),
    ),
    "ill",
    "yes",
)
EFFECTS = {"age": 0.04, "home=owned": -0.8, "income": -2e-5, "region=s": 0.5}
GUESSES = Guesses(
    numbers={"age": NumberGuess(45, 15)},
    shares={"home": (0.2, 0.5, 0.3)},
    effects=EFFECTS,
    base_rate=0.3,
    n_rows=60_000,
)
SMALLEST_P = 1e-4
"""A right draw fails a test with a fixed seed once and for all, or never."""


def test_columns_follow_the_guesses() -> None:
    table = twin_table(SCHEMA, GUESSES)
    a, b = (18 - 45) / 15, (98 - 45) / 15
    assert stats.kstest(table["age"], stats.truncnorm(a, b, 45, 15).cdf).pvalue > SMALLEST_P
    assert stats.kstest(table["age"], stats.truncnorm(a, b, 45, 16.5).cdf).pvalue < SMALLEST_P
    assert stats.kstest(table["income"] / 1e5, "uniform").pvalue > SMALLEST_P
    counts = table["home"].value_counts()[["none", "rented", "owned"]]
    assert stats.chisquare(counts, 60_000 * np.array([0.2, 0.5, 0.3])).pvalue > SMALLEST_P
    assert stats.binomtest(int((table["region"] == "s").sum()), 60_000).pvalue > SMALLEST_P


def test_the_expected_rate_is_the_guessed_one_exactly() -> None:
    table = twin_table(SCHEMA, GUESSES)
    assert stats.binomtest(int((table["ill"] == "yes").sum()), 60_000, 0.3).pvalue > SMALLEST_P
    for rate in (0.001, 0.5, 0.97):
        other = twin_table(SCHEMA, Guesses(effects=EFFECTS, base_rate=rate, n_rows=60_000))
        assert stats.binomtest(int((other["ill"] == "yes").sum()), 60_000, rate).pvalue > SMALLEST_P


def test_a_fit_finds_the_guessed_effects_in_original_units() -> None:
    schema = Schema(SCHEMA.features[:3], "ill", "yes")
    effects = {name: EFFECTS.get(name, 0.0) for name in schema.feature_names}
    twin = simulate_twin(schema, guesses=Guesses(effects=effects, base_rate=0.3, n_rows=100_000))
    A = twin.y[:, None] * twin.X
    theta = unpenalised_minimiser(A, loss=Logistic())
    assert twin.to_original is not None
    found = twin.to_original @ theta
    curvature = (A * Logistic().curvature(A @ theta)[:, None]).T @ A
    se = np.sqrt(np.diag(twin.to_original @ np.linalg.inv(curvature) @ twin.to_original.T))
    gap = np.abs(found[:-1] - np.array(list(effects.values()))) / se[:-1]
    assert gap.max() < 4.0  # standard errors
    assert (np.abs(found[[0, 2, 3]]) / se[[0, 2, 3]]).min() > 20.0


def test_a_common_correlation_is_that_of_the_normal_variables() -> None:
    numbers = Schema(tuple(NumericColumn(name, 0, 1) for name in "abc"), "y", "1")
    table = twin_table(numbers, Guesses(correlation=0.4, n_rows=60_000))
    spearman = stats.spearmanr(table[["a", "b", "c"]]).statistic
    expected = 6 / np.pi * np.arcsin(0.4 / 2)
    assert np.abs(spearman[np.triu_indices(3, 1)] - expected).max() < 4 * 1.2 / np.sqrt(60_000)
    alone = stats.spearmanr(twin_table(numbers, Guesses(n_rows=60_000))[["a", "b", "c"]]).statistic
    assert np.abs(alone[np.triu_indices(3, 1)]).max() < 4 / np.sqrt(60_000)
    for name in "abc":
        assert stats.kstest(table[name], "uniform").pvalue > SMALLEST_P


def test_the_same_settings_give_the_same_table() -> None:
    first, second = simulate_twin(SCHEMA, guesses=GUESSES), simulate_twin(SCHEMA, guesses=GUESSES)
    assert first.digest == second.digest
    assert (first.source, first.encoding, first.notes) == ("simulated", "schema", ())
    fewer = Schema(SCHEMA.features[:2], "ill", "yes")
    ages = [twin_table(s, Guesses(n_rows=100))["age"] for s in (SCHEMA, fewer)]
    pd.testing.assert_series_equal(*ages)  # another column moves no other


def test_columns_that_are_not_encoded_still_move_the_target() -> None:
    part = simulate_twin(SCHEMA, guesses=GUESSES, features=("home=owned", "age"))
    whole = simulate_twin(SCHEMA, guesses=GUESSES)
    assert part.feature_names == ("home=owned", "age", "constant")
    assert np.array_equal(part.y, whole.y)
    assert part.to_original is not None
    assert np.array_equal(part.to_original, to_original(SCHEMA, ("home=owned", "age")))
    frame = twin_table(SCHEMA, GUESSES)
    same = encode(
        frame, SCHEMA, features=("home=owned", "age"), source="simulated", title=part.title
    )
    assert same.digest == part.digest


def test_extremes_stay_in_bounds() -> None:
    narrow = Guesses(
        numbers={"age": NumberGuess(18, 1e-6), "income": NumberGuess(1e5, 1e9)}, n_rows=1_000
    )
    table = twin_table(SCHEMA, narrow)
    assert table["age"].between(18, 18.001).all()
    assert table["income"].between(0, 1e5).all()
    steep = Guesses(effects={"age": 100 / 80, "home=owned": -100.0}, base_rate=1e-6, n_rows=1_000)
    assert simulate_twin(SCHEMA, guesses=steep).y.shape == (1_000,)
    zero = Guesses(shares={"home": (0.0, 1.0, 0.0)}, n_rows=1_000)
    assert set(twin_table(SCHEMA, zero)["home"]) == {"rented"}


def test_a_feature_named_like_a_reference_moves_no_level() -> None:
    odd = Schema((CategoricalColumn("a", ("x", "y")), NumericColumn("a=x", 0, 1)), "t", "1")
    table = twin_table(odd, Guesses(effects={"a=x": 50.0}, n_rows=2_000))
    by_level = (table["t"] == "1").groupby(table["a"], observed=True).mean()
    assert abs(by_level["x"] - by_level["y"]) < 0.1


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"base_rate": 0.0}, "base_rate"),
        ({"base_rate": "x"}, "base_rate"),
        ({"correlation": 1.0}, "correlation"),
        ({"correlation": -0.1}, "correlation"),
        ({"n_rows": 99}, "n_rows"),
        ({"n_rows": 10**6}, "n_rows"),
        ({"n_rows": True}, "n_rows"),
        ({"shares": {"home": (0.5, 0.6, 0.1)}}, "home"),
        ({"shares": {"home": (1.5, -0.5, 0.0)}}, "home"),
        ({"shares": {"home": (0.5, 0.5)}}, "3 shares"),
        ({"shares": {"home": 1.0}}, "home"),
        ({"shares": {"age": (0.5, 0.5)}}, "age"),
        ({"shares": [0.5]}, "shares"),
        ({"numbers": {"home": NumberGuess(1, 1)}}, "home"),
        ({"numbers": {"age": NumberGuess(17, 1)}}, "centre=17"),
        ({"numbers": {"age": NumberGuess(40, 0)}}, "spread=0"),
        ({"numbers": {"age": NumberGuess(float("nan"), 1)}}, "centre=nan"),
        ({"numbers": {"age": (40, 1)}}, "NumberGuess"),
        ({"effects": {"home": 1.0}}, "home"),
        ({"effects": {"home=none": 1.0}}, "home=none"),
        ({"effects": {"age": float("inf")}}, "age"),
        ({"effects": {"age": 1.26}}, "1.25 here"),
    ],
)
def test_a_guess_that_cannot_be_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        simulate_twin(SCHEMA, guesses=Guesses(**({"n_rows": 100} | changes)))


def test_levels_with_spaces_around_them_are_refused() -> None:
    for schema in (
        Schema((CategoricalColumn("a", ("x", " y")),), "t", "1"),
        Schema((CategoricalColumn("a", ("x", "y")),), "t", " 1"),
    ):
        with pytest.raises(ValueError, match="without spaces"):
            simulate_twin(schema)
