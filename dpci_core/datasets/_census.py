"""The simulated census: made-up people with Adult's 36 features, Adult's marginals and known
coefficients.

Ten columns share a Gaussian copula; hours, marital status and occupation use tables by sex; the
target follows a logistic model whose coefficients are stated in `census_tables`. Nobody's record is
in it, and none can be.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, ndtr

from dpci_core.base.array import Array
from dpci_core.base.errors import check_count, expect
from dpci_core.datasets._census_tables import (
    COEFFICIENTS,
    CORRELATIONS,
    CUMULATIVE,
    HOURS,
    INTERCEPT,
    LATENT,
    LEVELS,
    MALE_SHARE,
    SHARES,
    Table,
)
from dpci_core.datasets._declared import ADULT

_Draws = npt.NDArray[np.int32]
Block = dict[str, _Draws]

MAX_ROWS = 1_000_000
DEFAULT_ROWS = 30_000
SEED = 1994
"""Seed of the census that everybody sees; the year of the survey behind the public figures."""
BLOCK_ROWS = 10_000
"""Rows drawn from one seed child, so that the first n rows are the same whatever n is."""


def simulate_census(n_rows: int = DEFAULT_ROWS, *, seed: int = SEED) -> pd.DataFrame:
    """Return the first n_rows people of the census with this seed, columns as Adult's schema names
    them.
    """
    check_count(n_rows=n_rows)
    expect(n_rows <= MAX_ROWS, f"Expected n_rows={n_rows!r} <= {MAX_ROWS}.")
    return census_part(0, n_rows, seed=seed)


def census_part(first: int, last: int, *, seed: int = SEED) -> pd.DataFrame:
    """Return people first .. last - 1 of the census with this seed; first is a multiple of
    `BLOCK_ROWS`.
    """
    blocks = [_block(seed, index) for index in range(first // BLOCK_ROWS, -(-last // BLOCK_ROWS))]
    columns: dict[str, object] = {}
    for name in tuple(blocks[0]):
        # Each column is joined and then forgotten by the blocks, so that a million rows are not
        # held twice.
        values = np.concatenate([block.pop(name) for block in blocks])[: last - first].copy()
        levels = _level_order(name)
        columns[name] = (
            pd.Categorical.from_codes(values, dtype=pd.CategoricalDtype(list(levels)))
            if levels
            else values
        )
    return pd.DataFrame(columns)


def _level_order(name: str) -> tuple[str, ...]:
    """Levels behind the codes of a column; empty for a number."""
    texts = {column.name: column.texts for column in ADULT.features}
    return (texts | {ADULT.target: ("<=50K", ">50K")})[name]


def _block(seed: int, index: int) -> Block:
    """One block of people: numbers as integers, levels as codes in the order of the schema."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
    sex = (rng.random(BLOCK_ROWS) < MALE_SHARE).astype(np.int32)
    normals = rng.standard_normal((BLOCK_ROWS, len(LATENT))) @ _copula_factor().T
    outcome = rng.random(BLOCK_ROWS)
    ranks = {name: ndtr(normals[:, j]) for j, name in enumerate(LATENT)}
    drawn: Block = {"sex": sex}
    for name, table in CUMULATIVE.items():
        drawn[name] = _integers(ranks[name], table)
    women, men = (_integers(ranks["hours_per_week"], table) for table in HOURS)
    drawn["hours_per_week"] = np.where(sex == 1, men, women)
    for name in LEVELS:
        drawn[name] = _codes(name, ranks[name], sex)
    drawn[ADULT.target] = (outcome < expit(_log_odds(drawn))).astype(np.int32)
    return {name: drawn[name] for name in (*(c.name for c in ADULT.features), ADULT.target)}


@lru_cache(maxsize=1)
def _copula_factor() -> Array:
    """Cholesky factor of the correlations in `CORRELATIONS`."""
    correlation = np.eye(len(LATENT))
    for (a, b), value in CORRELATIONS.items():
        i, j = LATENT.index(a), LATENT.index(b)
        correlation[i, j] = correlation[j, i] = value
    return np.asarray(np.linalg.cholesky(correlation))


def _integers(rank: Array, table: Table) -> _Draws:
    """Inverse of a cumulative table at the ranks, rounded up: uniform integers between neighbouring
    entries.
    """
    values, shares = np.array(table, dtype=np.float64).T
    drawn: _Draws = np.ceil(np.interp(rank, shares, values)).clip(values[0] + 1.0).astype(np.int32)
    return drawn


def _codes(name: str, rank: Array, sex: _Draws) -> _Draws:
    """Codes of a column's levels (in the schema's order) at the ranks, by the table of the person's
    sex.
    """
    order = _level_order(name)
    to_schema = np.array([order.index(level) for level in LEVELS[name]], dtype=np.int32)
    women, men = (
        to_schema[np.searchsorted(np.cumsum(shares)[:-1], rank, side="right")]
        for shares in SHARES[name]
    )
    return np.where(sex == 1, men, women)


def _log_odds(drawn: Block) -> Array:
    """Log odds of the positive class under the stated coefficients."""
    total = np.full(BLOCK_ROWS, INTERCEPT)
    for column in ADULT.features:
        effects = np.array([COEFFICIENTS[name] for name in column.feature_names])
        total += column.encoded(drawn[column.name].astype(np.float64), "original") @ effects
    return total
