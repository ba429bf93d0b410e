"""The simulated census: reproducible, like Adult where it must be, with the coefficients it
claims.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpci_core.datasets import COEFFICIENTS, INTERCEPT, feature_names, load, simulate_census
from dpci_core.losses import Logistic
from dpci_core.solvers.moments import fit_moments

DATA = Path(__file__).parents[2] / "data"
FIGURES: dict[str, Any] = json.loads((DATA / "adult_public_figures.json").read_text())


@pytest.fixture(scope="module")
def census() -> pd.DataFrame:
    return simulate_census(100_000)


def test_first_rows_do_not_depend_on_n(census: pd.DataFrame) -> None:
    for n in (1, 10_001, 20_000):
        pd.testing.assert_frame_equal(simulate_census(n), census.head(n))


def test_seed_decides_and_blocks_differ(census: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(simulate_census(500, seed=7), simulate_census(500, seed=7))
    assert not simulate_census(500, seed=7).equals(simulate_census(500))
    ages = census["age"].to_numpy()
    assert not np.array_equal(ages[:10_000], ages[10_000:20_000])


def test_the_census_everybody_sees() -> None:
    """Golden sums: another seed, block size or order of draws is another census, and the committed
    numbers go stale.
    """
    census = simulate_census(25_000)
    sums = [int(census[name].sum()) for name in ("age", "hours_per_week", "education_num")]
    assert sums == pytest.approx(
        [964616, 1022790, 252782], abs=20
    )  # libraries may round a draw differently
    assert int((census["income"] == ">50K").sum()) == pytest.approx(6208, abs=5)


@pytest.mark.parametrize("n", [0, -1, 1_000_001, True, 2.5])
def test_bad_sizes(n: Any) -> None:
    with pytest.raises(ValueError, match="n_rows"):
        simulate_census(n)


def test_level_shares_within_one_point_of_the_public_figures(census: pd.DataFrame) -> None:
    for column, shares in FIGURES["level_shares"].items():
        mine = census[column].value_counts(normalize=True)
        assert set(mine.index) == set(shares)
        for level, share in shares.items():
            assert mine[level] == pytest.approx(share, abs=0.01), (column, level)
        assert mine.min() > 0


def test_number_shares_within_one_point_of_the_public_figures(census: pd.DataFrame) -> None:
    for column, shares in FIGURES["share_at_or_below"].items():
        for cut, share in shares.items():
            assert (census[column] <= int(cut)).mean() == pytest.approx(share, abs=0.01), (
                column,
                cut,
            )


def test_some_levels_are_rare_and_columns_are_correlated(census: pd.DataFrame) -> None:
    rare = [
        level
        for column in FIGURES["level_shares"]
        for level, share in census[column].value_counts(normalize=True).items()
        if 0 < share < 0.01
    ]
    assert len(rare) >= 5
    numbers = census.select_dtypes("number").assign(
        married=census["marital_status"] == "Married-civ-spouse"
    )
    rank = numbers.astype(float).rank().corr()
    assert rank.loc["education_num", "hours_per_week"] == pytest.approx(0.15, abs=0.03)
    assert rank.loc["age", "married"] > 0.15
    ages = census.groupby("marital_status", observed=True)["age"].mean()
    assert ages["Never-married"] < ages["Married-civ-spouse"] - 8 < ages["Widowed"] - 20
    schooling = census.groupby("occupation", observed=True)["education_num"].mean()
    assert schooling["Prof-specialty"] - schooling["Handlers-cleaners"] > 3
    men = census[census["sex"] == "Male"]
    assert (men["marital_status"] == "Married-civ-spouse").mean() == pytest.approx(0.6176, abs=0.01)


def test_a_fit_recovers_the_stated_coefficients() -> None:
    records = load("census", n_rows=200_000)
    moments = fit_moments(records.X, records.y, loss=Logistic(), regularization=1e-9)
    assert records.to_original is not None
    beta = records.to_original @ moments.theta_hat
    inverse = np.linalg.inv(moments.hessian)
    spread = records.to_original @ inverse @ moments.covariance @ inverse @ records.to_original.T
    z = (
        beta - np.array([*(COEFFICIENTS[name] for name in feature_names("census")), INTERCEPT])
    ) / np.sqrt(np.diag(spread) / moments.n_records)
    # 37 normal scores: the largest exceeds 4.5 with probability 2.5e-4; the fixed seed makes it a
    # constant anyway. Very rare levels whose cell has almost no positives are not normal: left out
    # by name.
    rare = {"workclass=Without-pay", "occupation=Priv-house-serv"}
    keep = [i for i, name in enumerate(records.feature_names) if name not in rare]
    assert np.abs(z[keep]).max() < 4.5
    assert 0.5 < np.square(z[keep]).mean() < 2.0


def test_speed_of_the_default_size() -> None:
    best = min(_seconds() for _ in range(3))
    assert best < 1.0


def _seconds() -> float:
    """Of the processor: what else the machine does takes none of them."""
    start = time.process_time()
    load("census", features=10)
    return time.process_time() - start


@pytest.mark.soak
def test_a_million_rows() -> None:
    records = load("census", n_rows=1_000_000)
    assert records.X.shape == (1_000_000, 37)
