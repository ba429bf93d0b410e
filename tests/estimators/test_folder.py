"""Classifiers fitted on a folder of Parquet files are those fitted on its table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpci_core import DPLinearSVC, DPLogisticRegression, PureDP
from dpci_core.base.errors import DataRejectedError
from dpci_core.release.table import read_header

N = 600
BUDGET = PureDP(model=2, hessian=1, covariance=1)
BOUNDS = (0.0, [100.0, 5.0])


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age, score = rng.uniform(0.0, 100.0, N), rng.integers(0, 6, N)
    sick = np.where(rng.random(N) < age / 100.0, "yes", "no")
    return pd.DataFrame({"age": age, "sick": sick, "score": score})


def written(frame: pd.DataFrame, folder: Path, parts: int = 3) -> Path:
    folder.mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        frame.iloc[rows].to_parquet(folder / f"{k}.parquet")
    return folder


def fitted(X: object, y: object, kind: type = DPLogisticRegression, **given: object) -> object:
    options = {"feature_bounds": BOUNDS, "classes": ["no", "yes"], "random_state": 3} | given
    return kind(budget=BUDGET, **options).fit(X, y)


@pytest.mark.parametrize("kind", [DPLogisticRegression, DPLinearSVC])
def test_a_folder_is_its_table(kind: type, frame: pd.DataFrame, tmp_path: Path) -> None:
    whole = fitted(frame[["age", "score"]], frame["sick"], kind)
    found = fitted(written(frame, tmp_path / "t"), "sick", kind)
    assert found.coef_ == pytest.approx(whole.coef_, rel=1e-4)
    assert list(found.feature_names_in_) == ["age", "score"]
    one, other = (model.confidence_intervals() for model in (found, whole))
    assert one.low == pytest.approx(other.low, rel=1e-3)
    assert (found.predict(frame[["age", "score"]]) == whole.predict(frame[["age", "score"]])).all()


def test_what_else_a_fit_may_ask(frame: pd.DataFrame, tmp_path: Path) -> None:
    """Several classes, the encoding by typical values, and the noise of the system."""
    letters = frame.assign(sick=np.array(["a", "b", "c"])[np.arange(N) % 3])
    folder = written(letters, tmp_path / "three")
    given = {"classes": ["a", "b", "c"], "feature_bounds": None, "regularization": 0.05}
    typical = {"feature_typical": [50.0, 2.5], "feature_spread": [30.0, 2.0]}
    whole = fitted(letters[["age", "score"]], letters["sick"], **given, **typical)
    found = fitted(str(folder), "sick", **given, **typical)
    assert found.coef_ == pytest.approx(whole.coef_, rel=1e-3, abs=1e-6)
    private = fitted(written(frame, tmp_path / "two"), "sick", random_state=None)
    assert not private.privacy_.is_simulation
    assert np.isfinite(private.coef_).all()


@pytest.mark.parametrize(
    ("label", "change", "given", "words"),
    [
        ("sick", {}, {"classes": None}, "classes, declared"),
        (None, {}, {}, "name of the column"),
        ("ill", {}, {}, "has no column"),
        ("sick", {"score": "many"}, {}, "Expected numbers in the column"),
        ("sick", {"age": np.nan}, {}, "Expected a finite number in every feature"),
        ("sick", {"sick": "31337"}, {}, "Expected a finite number in every feature"),
    ],
)
def test_what_is_refused_says_no_value(
    label: object,
    change: dict[str, object],
    given: dict[str, object],
    words: str,
    frame: pd.DataFrame,
    tmp_path: Path,
) -> None:
    folder = written(frame.assign(**change), tmp_path / "t")
    with pytest.raises(ValueError, match=words) as refused:
        fitted(folder, label, **given)
    assert "31337" not in str(refused.value)
    with pytest.raises(DataRejectedError):
        fitted(tmp_path / "nowhere", "sick")
    assert read_header(folder).kind == "folder"
