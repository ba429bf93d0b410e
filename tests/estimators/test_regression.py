"""`DPLinearRegression`: scikit-learn's checks, units, refusals, and where its rows may lie."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpci_core import (
    GDP,
    ZCDP,
    ApproxDP,
    Cap,
    DataRejectedError,
    DPLinearRegression,
    InfeasibleDesignError,
    Ledger,
    LedgerAccount,
    NumericColumn,
    PureDP,
)
from dpci_core.report.words import SEEDED
from tests.refusals import refuses

NO_PRIVACY = ZCDP(model="1e8", hessian="1e8", covariance="1e8")
BUDGET = ApproxDP("1", "1e-6", ("0.7", "0.2", "0.1"))
OUTCOME = NumericColumn("pressure", 60, 250, typical=120, spread=20, units="mmHg")
SLOPES, INTERCEPT, SD = np.array([0.5, -3.0]), 100.0, 8.0
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")


@parametrize_with_checks(
    [
        DPLinearRegression(
            budget=NO_PRIVACY,
            random_state=0,
            feature_typical=0,
            feature_spread=3,
            outcome=NumericColumn("y", -1e4, 1e4, typical=0, spread=30),
        )
    ]
)
def test_scikit_learn_agrees(estimator, check) -> None:
    check(estimator)


def table(n: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.c_[rng.uniform(20, 70, n), rng.integers(0, 2, n)]
    return X, INTERCEPT + X @ SLOPES + rng.normal(0, SD, n)


def made(**settings) -> DPLinearRegression:
    declared = {
        "budget": BUDGET,
        "outcome": OUTCOME,
        "feature_typical": [45, 0.5],
        "feature_spread": [15, 0.5],
        "random_state": 3,
    }
    return DPLinearRegression(**(declared | settings))


def test_intervals_are_in_the_units_of_the_table_and_hold_the_truth() -> None:
    truth, held = np.append(SLOPES, INTERCEPT), []
    for seed in range(40):
        X, y = table(seed=seed)
        model = made(random_state=seed).fit(X, y)
        found = model.confidence_intervals()
        held.append((found.low[0] <= truth) & (truth <= found.high[0]))
    assert np.mean(held) == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 120))
    plain = 2 * 1.96 * SD / np.sqrt(len(y)) / X.std(axis=0)
    length = (found.high - found.low)[0, :2]
    assert (length > 0.97 * plain).all()
    assert (length < 1.7 * plain).all()
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, rtol=1e-9)
    wider = model.confidence_intervals(0.99)
    assert (wider.high - wider.low > found.high - found.low).all()


def test_a_spread_that_is_wrong_by_four_costs_little() -> None:
    X, y = table()
    lengths = []
    for factor in (0.5, 1.0, 4.0):
        outcome = NumericColumn("pressure", 60, 250, typical=120, spread=20 * factor)
        spread = [15 * factor, 0.5 * factor]
        model = made(outcome=outcome, feature_spread=spread, column_limit=10.0).fit(X, y)
        found = model.confidence_intervals()
        lengths.append((found.high - found.low)[0, :2])
    np.testing.assert_allclose(lengths, [lengths[1]] * 3, rtol=0.15)


def test_rows_in_batches_give_the_numbers_of_rows_in_memory(tmp_path: Path) -> None:
    array = pytest.importorskip("dask.array", reason="the extra dpci[dask] is not installed")
    X, y = table(900)
    plain = made().fit(X, y)
    chunks = made().fit(array.from_array(X, (250, 2)), array.from_array(y, (250,)))
    frame = pd.DataFrame(X, columns=["age", "sex"]).assign(pressure=y)
    frame.iloc[:500].to_parquet(tmp_path / "a.parquet")
    frame.iloc[500:].to_parquet(tmp_path / "b.parquet")
    folder = made().fit(tmp_path, "pressure")
    for other in (chunks, folder):
        np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-9)
        np.testing.assert_allclose(other.share_clipped_, plain.share_clipped_, rtol=1e-9)


def test_what_is_refused_says_why_and_no_value() -> None:
    X, y = table(50)
    with pytest.raises(InfeasibleDesignError, match=r"ApproxDP\('2', '1e-6', \('0.5', '0.25'"):
        made(budget=PureDP(model="1", hessian="0.5", covariance="0.5")).fit(X, y)
    metric = GDP(model="1", hessian="1", covariance="1", metric="1")
    with pytest.raises(ValueError, match=r"no budget\.metric"):
        made(budget=metric).fit(X, y)
    with pytest.raises(ValueError, match="NumericColumn"):
        made(outcome=None).fit(X, y)
    with pytest.raises(ValueError, match="logarithm"):
        made(outcome=NumericColumn("y", 1, 9, transform="log")).fit(X, y)
    for given in ({"missing": 5}, {"limit": 1, "typical": 5, "spread": 2}, {"step": 2}):
        with pytest.raises(ValueError, match=f"Expected no {next(iter(given))} of the outcome"):
            made(outcome=NumericColumn("y", 1, 9, **given)).fit(X, y)
    for wrong in (5.0, y + 1j, y[:-1]):
        with pytest.raises(ValueError, match=r"one value for|real numbers|values like X"):
            made().fit(X, wrong)
    with pytest.raises(ValueError, match="no default for how private"):
        made(budget=None).fit(X, y)
    with pytest.raises(ValueError, match="2 <= steps"):
        made(steps=1).fit(X, y)
    for name in ("sample_weight", "persons"):
        with pytest.raises(ValueError, match=f"{name} is not supported: .* of each person"):
            made().fit(X, y, **{name: np.ones(50)})
    with pytest.raises(ValueError, match="fewer than 4,000 coefficients, got 4,000"):
        made(feature_typical=0, feature_spread=1).fit(np.zeros((2, 3999)), [70, 80])
    y[7] = np.nan
    with pytest.raises(ValueError, match="NaN") as caught:
        made().fit(X, y)
    assert "7" not in str(caught.value).replace("7.", "")
    array = pytest.importorskip("dask.array", reason="the extra dpci[dask] is not installed")
    with refuses(DataRejectedError, match="rows"):
        made().fit(array.from_array(X, (25, 2)), y)


def test_settings_that_change_after_a_fit_change_nothing_that_it_says() -> None:
    X, y = table(900)
    model = made().fit(X, y)
    before, told = model.predict(X), model.confidence_intervals()
    model.set_params(outcome=NumericColumn("weight", 0, 9, typical=1, spread=1, units="kg"))
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.confidence_intervals().models == ("pressure",)
    assert "kg" not in str(model.summary())
    model.set_params(outcome=None, confidence_level=0.5)
    np.testing.assert_array_equal(model.predict(X), before)
    short = model.confidence_intervals()
    assert short.confidence_level == 0.5
    assert ((short.high - short.low) < 0.4 * (told.high - told.low)).all()


def test_a_simulation_says_so_and_the_summary_shows_what_was_cut() -> None:
    X, y = table()
    model = made().fit(X, y)
    text = str(model.summary())
    assert model.privacy_.is_simulation
    for part in (SEEDED[:40], "mmHg", "Influence cut", "outcome pressure", "intercept", "mu^2"):
        assert part in text
    assert model.share_clipped_ == pytest.approx(0.02, abs=0.03)
    assert list(model.confidence_intervals().to_frame().index.names) == ["outcome", "coefficient"]


def test_a_plan_brings_a_curved_effect_into_reach_at_the_same_total() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(45, 15, (5_000, 1))
    y = 100 + 0.02 * (X[:, 0] - 45) ** 2 + rng.gamma(1.0, 12.0, 5_000)
    usual = made(feature_typical=45, feature_spread=15)
    best = usual.planned(X, y, n_records=20_000)
    assert best.budget.total == usual.budget.to_gdp().total
    before, after = (m.forecast(X, y, n_records=20_000) for m in (usual, best))
    assert after.is_not_reportable.sum() <= before.is_not_reportable.sum()
    assert before.is_not_reportable.any()
    assert abs(after.bias[1]) < abs(before.bias[1])


# --- what is paid for -----------------------------------------------------------------------------


N = 60
CELLS = np.random.default_rng(1).uniform(0, 1, (N, 2))
VALUES = 1 + CELLS.sum(axis=1)


def at(cell: float, value: float) -> tuple[np.ndarray, np.ndarray]:
    X, y = CELLS.copy(), VALUES.copy()
    X[-1, 0], y[-1] = cell, value
    return X, y


HOSTILE = {
    "missing": at(np.nan, 2),
    "no outcome": at(0.5, np.nan),
    "infinite": at(0.5, np.inf),
    "largest": at(np.finfo(float).max, -np.finfo(float).max),
    "subnormal": at(5e-324, 5e-324),
    "one value": (np.full((N, 2), 1e300), np.full(N, -31337.0)),
    "exact": (CELLS, np.full(N, 2.0)),
    "collinear": (CELLS[:, [0, 0]], VALUES),
}


@pytest.fixture
def account(tmp_path: Path) -> LedgerAccount:
    given = {"schema_hash": "h", "unit": "one row is one person"}
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.create_dataset("People", **given, cap=Cap.zcdp(100), person="Ada")
    return LedgerAccount(ledger=ledger, dataset="People", person="Kim", **given)


@pytest.mark.parametrize("kind", ["memory", "folder", "chunks"])
def test_no_fit_fails_after_its_draw_began(kind: str, account, tmp_path: Path) -> None:
    model = made(
        budget=GDP(model="0.7", hessian="0.2", covariance="0.1"),
        outcome=NumericColumn("y", 0, 4),
        feature_typical=0.5,
        feature_spread=0.3,
        random_state=None,
        ledger=account,
    )
    drawn = []
    for k, (what, (X, y)) in enumerate(HOSTILE.items()):
        before = len(account.ledger.history())
        words = refusal_of(model, *rows_of(kind, X, y, tmp_path / f"t{k}"))
        assert not any(part in words for part in ("31337", "59"))
        found = [(one.state, one.draw) for one in account.ledger.history()[before:]]
        assert found in ([], [("done", "begun")]), what
        drawn += [what] * len(found)
    assert drawn == ["largest", "subnormal", "one value", "exact", "collinear"]
    (charge,) = {one.spent for one in account.ledger.history()}
    assert charge == Decimal("0.5")
    assert model.privacy_.charge is not None
    assert np.isfinite(model.confidence_intervals().low).all()


def refusal_of(model: DPLinearRegression, X: object, y: object) -> str:
    """What a fit refuses with, under the strictest arithmetic; nothing where it fits."""
    try:
        with np.errstate(all="raise"):
            model.fit(X, y)
    except ValueError as refusal:
        return str(refusal)
    return ""


def rows_of(kind: str, X: np.ndarray, y: np.ndarray, folder: Path) -> tuple[object, object]:
    if kind == "memory":
        return X, y
    if kind == "chunks":
        array = pytest.importorskip("dask.array", reason="the extra dpci[dask] is not installed")
        return array.from_array(X, (N // 4, 1)), y
    folder.mkdir()
    pd.DataFrame(X, columns=["a", "b"]).assign(t=y).to_parquet(folder / "p.parquet")
    return folder, "t"


def test_the_forecast_knows_the_length_before() -> None:
    planned = made().forecast(*table(seed=99), n_records=4000)
    lengths = []
    for seed in range(30):
        found = made(random_state=seed).fit(*table(seed=seed)).confidence_intervals()
        lengths.append((found.high - found.low)[0])
    se = np.std(lengths, axis=0) / np.sqrt(30)
    np.testing.assert_array_less(
        np.abs(np.mean(lengths, axis=0) - planned.length), 0.03 * planned.length + 2 * se
    )
    assert not planned.is_not_reportable.any()
