"""`DPSelection` and `DPHistogram`: scikit-learn's checks, what they keep and what they refuse."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpci_core import DPHistogram, DPLinearSVC, DPLogisticRegression, DPSelection
from dpci_core.estimators.statement import LABELS_READ, RARELY_REFUSED
from dpci_core.privacy.randomness import NoiseError, SystemSource
from dpci_core.report.words import SEEDED, UNBOOKED
from dpci_core.tuning import SELECTION_METHODS, ScoreBounds, histograms
from dpci_core.tuning import selection as tuning_selection
from dpci_core.tuning.histograms import (
    bin_numbers,
    histogram_score,
    noisy_counts,
    select_histogram,
    spend_histogram,
)
from tests.tuning.test_selection import reachable

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
HISTOGRAM_FAILURES = {"check_fit1d": "a plain vector is one column, and is taken"}
SELECTION_FAILURES: dict[str, str] = {}


def selection(**given) -> DPSelection:
    estimator = DPLogisticRegression(feature_bounds=(-10, 10), regularization=0.01)
    candidates = [{"regularization": 1e-4}, {"regularization": 2e-4}]
    settings = {"candidates": candidates, "epsilon": "1e6", "random_state": 0}
    return DPSelection(estimator, **settings | given)


@parametrize_with_checks(
    [DPHistogram(bounds=(-10, 10), epsilon=1000, candidates=(4, 8), random_state=0)],
    expected_failed_checks=lambda _: HISTOGRAM_FAILURES,
)
def test_scikit_learn_agrees_on_the_histogram(estimator, check) -> None:
    check(estimator)


@parametrize_with_checks([selection()], expected_failed_checks=lambda _: SELECTION_FAILURES)
def test_scikit_learn_agrees_on_the_selection(estimator, check) -> None:
    check(estimator)


def test_a_selection_names_the_rare_refusal_where_noise_is_in_the_objective() -> None:
    X = np.random.default_rng(0).uniform(-9.0, 9.0, (400, 2))
    y = np.where(X[:, 0] > 0.0, 1, 0)
    for mechanism, source, is_named in (
        ("objective", None, True),
        ("output", None, False),
        ("objective", 0, False),
    ):
        candidates = [{"mechanism": mechanism, "regularization": c} for c in (1e-2, 2e-2)]
        estimator = DPLogisticRegression(feature_bounds=(-10, 10), classes=(0, 1))
        model = DPSelection(estimator, candidates, epsilon=50, random_state=source).fit(X, y)
        assert (RARELY_REFUSED in model.privacy_.sentences) is is_named


# --- the histogram --------------------------------------------------------------------------------


def column(n: int = 5_000, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).beta(2.0, 8.0, (n, 1)) * 128


def made(**given) -> DPHistogram:
    settings = {"bounds": (0, 128), "epsilon": 1, "candidates": (4, 8, 16), "random_state": 1}
    return DPHistogram(**settings | given)


def test_a_histogram_is_a_density_on_its_bounds() -> None:
    model = made().fit(column())
    width = 128 / model.n_bins_
    assert model.edges_ == pytest.approx(np.arange(model.n_bins_ + 1) * width)
    assert (model.density_ * width).sum() == pytest.approx(1.0, abs=1e-12)
    assert (model.density_ >= 0).all()
    middles = (model.edges_[:-1] + model.edges_[1:]) / 2
    with np.errstate(divide="ignore"):
        assert model.score_samples(middles[:, None]) == pytest.approx(np.log(model.density_))
    assert model.score_samples([[-0.1], [128.1]]).tolist() == [-np.inf, -np.inf]
    truth = np.histogram(column(200_000, 9), bins=model.edges_, density=True)[0]
    assert np.abs(model.density_ - truth).max() < 0.15 * truth.max()
    assert model.privacy_.sentences[0] == SEEDED
    assert model.privacy_.guarantee == "epsilon = 1 (pure differential privacy)"
    assert made(random_state=None).fit(column()).privacy_.sentences[0] == UNBOOKED


def test_a_given_number_of_bins_is_counted_on_every_row() -> None:
    spending = spend_histogram("stability", epsilon=1, candidates=(32,), n_records=700)
    assert (spending.n_train, spending.n_validation, spending.train) == (700, 0, 1)
    assert made(candidates=None, bins=32).fit(column()).n_bins_ == 32
    sure = made(candidates=None, bins=4, epsilon="1e6").fit(column())
    truth = np.histogram(column(), bins=4, range=(0, 128), density=True)[0]
    assert sure.density_ == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_counts_have_discrete_laplace_noise_of_the_right_scale(source) -> None:
    epsilon = Decimal("0.5")
    counts = np.full(20_000, 1_000)
    where = SystemSource() if source == "system" else np.random.default_rng(2)
    noise = noisy_counts(counts, epsilon=epsilon, source=where) - 1_000

    def law(scale: float) -> np.ndarray:
        z = np.arange(-12, 13)
        p = np.exp(-np.abs(z) / scale) * np.tanh(0.5 / scale)
        return np.append(p, 1 - p.sum())

    inside = np.abs(noise) <= 12
    seen = np.append(np.bincount(noise[inside] + 12, minlength=25), (~inside).sum())
    assert chisquare(seen, law(4.0) * len(counts)).pvalue > 1e-9
    for wrong in (3.6, 4.4):
        assert chisquare(seen, law(wrong) * len(counts)).pvalue < 1e-9
    assert noisy_counts(np.array([5, 0]), epsilon=Decimal("1e-6"), source=where).max() <= 5


def test_counts_move_by_two_and_the_sampler_refuses_less_noise() -> None:
    low_high = {"low": 0.0, "high": 1.0, "bins": 4}
    assert bin_numbers(np.array([-9, 0.0, 0.25, 0.999, 1.0, 1e308]), **low_high).tolist() == [
        0, 0, 1, 3, 3, 3,
    ]  # fmt: skip
    with pytest.raises(NoiseError, match="too small"):
        SystemSource().add_discrete_laplace(
            np.array([1, 2]), scale=1.9, sensitivity=2, epsilon=Decimal(1)
        )
    with pytest.raises(NoiseError, match="whole numbers"):
        SystemSource().add_discrete_laplace(
            np.array([1.5]), scale=4.0, sensitivity=2, epsilon=Decimal(1)
        )


def test_the_score_is_that_of_shares() -> None:
    counts, held = np.array([700, 100, 0, 300]), np.array([30, 5, 15, 50])
    p, v = counts / 1_000, held / 100
    score = histogram_score(counts, held, n_train=1_000)
    assert score == pytest.approx((2 * v @ p - p @ p) * 4, rel=1e-14)


def test_scores_of_drowned_counts_are_rounded_within_their_bound() -> None:
    """Where noise lifts all counts to n, a score is of the size of the squared number of bins, and
    so is what rounding it to a double adds to how far one record moves it."""
    n_train, n_validation, bins = 9_000_000, 1_000_000, 100_000
    held = np.zeros(bins, dtype=np.int64)
    held[1] = n_validation
    spending = spend_histogram(
        "stability", epsilon="1", candidates=(10, bins), n_records=n_train + n_validation
    )
    assert (spending.n_train, spending.n_validation) == (n_train, n_validation)
    moved = 0.0
    for less in range(0, 8_000, 1_000):
        one = np.full(bins, n_train)
        one[1], one[2] = 0, n_train - less
        other = one.copy()
        other[0], other[1] = n_train - 1, 1
        scores = [histogram_score(counts, held, n_train=n_train) for counts in (one, other)]
        assert abs(scores[0]) > 0.99 * bins**2
        moved = max(moved, abs(scores[0] - scores[1]))
    assert moved > 4.0 * bins / n_train  # more than in exact arithmetic
    assert spending.scale is not None
    assert spending.train + Decimal(moved) / Decimal(spending.scale) <= 1


@pytest.mark.parametrize("method", SELECTION_METHODS)
def test_every_method_releases_a_histogram(method) -> None:
    for source in (np.random.default_rng(0), SystemSource()):
        found = select_histogram(
            column()[:, 0], bounds=(0, 128), candidates=(2, 8), epsilon="1", method=method,
            source=source,
        )  # fmt: skip
        assert found.n_bins in (2, 8)
        assert found.shares.sum() == pytest.approx(1.0)
        assert found.is_simulation == (source.__class__ is not SystemSource)
    empty = replace(found, counts=np.zeros(4, dtype=np.int64))
    assert empty.density == pytest.approx(np.full(4, 1 / 128))


def test_the_price_of_a_chosen_histogram() -> None:
    spending = spend_histogram(
        "stability", epsilon=1, candidates=(2, 256), n_records=20_000, validation_share="0.2"
    )
    beta_T, beta_V = 4 * 256 / 16_000, 2 * 256 / 4_000
    share = beta_T / (2 * beta_V)
    assert float(spending.train) == pytest.approx(1 - share, rel=1e-5)
    assert spending.scale == pytest.approx(2 * beta_V, rel=1e-5)
    assert spending.plan.price(ScoreBounds(beta_T, beta_V)) <= 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bounds": None}, "declared"),
        ({"bounds": (5, 5)}, "low < high"),
        ({"bounds": (0, np.inf)}, "low < high"),
        ({"bounds": "ab"}, "low < high"),
        ({"epsilon": None}, "no default"),
        ({"epsilon": 0}, "epsilon"),
        ({"candidates": ()}, "at least one"),
        ({"candidates": (4, 4)}, "twice"),
        ({"candidates": (4, 0)}, "bins=0"),
        ({"candidates": (4, 2.5)}, "bins=2.5"),
        ({"candidates": (4, 10**9)}, "bins=1000000000"),
        ({"candidates": None, "bins": 0}, "bins=0"),
        ({"validation_share": "1"}, "validation_share"),
        ({"column": 3}, "column=3"),
        ({"column": "age"}, "column='age'"),
        ({"random_state": "x"}, "random_state"),
    ],
)
def test_what_a_histogram_refuses(given, words) -> None:
    with pytest.raises(ValueError, match=words):
        made(**given).fit(column(50))


def test_no_message_of_a_histogram_holds_a_value() -> None:
    for bad in (np.array([[7351946.25], [np.nan]]), np.array([["7351946x"]], dtype=object)):
        with pytest.raises(ValueError, match=r"finite|NaN|number") as caught:
            made().fit(bad)
        assert "7351946" not in str(caught.value)


# --- the selection --------------------------------------------------------------------------------


def rows(n: int = 3_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.uniform(-10, 10, (n, 2))
    return X, np.where(X[:, 0] + 4 * rng.normal(size=n) > 0, "yes", "no")


def test_a_selection_is_its_best_estimator() -> None:
    X, y = rows()
    model = selection(epsilon=2, candidates=GRID).fit(X, y)
    assert model.best_params_ == GRID[model.best_index_]
    assert model.best_estimator_.regularization == model.best_params_["regularization"]
    assert np.array_equal(model.predict(X), model.best_estimator_.predict(X))
    assert model.score(X, y) > 0.7
    assert model.best_estimator_.privacy_.amount == 2
    with pytest.raises(ValueError, match="whole budget"):
        model.best_estimator_.confidence_intervals()
    assert LABELS_READ in model.privacy_.sentences
    for name in ("cv_results_", "best_score_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="scores are not released"):
            getattr(model, name)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert clone(model).get_params()["epsilon"] == 2


GRID = [{"regularization": 0.01}, {"regularization": 0.1}, {"regularization": 1.0}]


@pytest.mark.parametrize("method", SELECTION_METHODS)
def test_every_method_fits_with_either_noise(method) -> None:
    X, y = rows(1_500)
    for seed in (None, 1):
        model = selection(epsilon=1, candidates=GRID, method=method, random_state=seed)
        assert model.fit(X, y).privacy_.is_simulation == (seed == 1)


def test_an_svm_chooses_its_width_and_mechanism() -> None:
    X, y = rows(1_500)
    settings = [
        {"regularization": 0.1, "h": 0.5},
        {"regularization": 0.1, "h": 0.1, "mechanism": "output"},
    ]
    svm = DPLinearSVC(feature_bounds=(-10, 10), classes=("no", "yes"))
    model = DPSelection(svm, settings, epsilon=1, random_state=0).fit(X, y)
    assert model.best_estimator_.h == model.best_params_["h"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"epsilon": None}, "no default"),
        ({"estimator": None}, "NoneType"),
        ({"estimator": DPLogisticRegression()}, "feature_bounds"),
        (
            {"estimator": DPLogisticRegression(feature_bounds=(0, 1), feature_typical=0)},
            "rows of weight 1",
        ),
        ({"candidates": []}, "at least one"),
        (
            {"candidates": [{"mechanism": "newton", "regularization": 0.01}]},
            "runs in a metric only",
        ),
        ({"candidates": [{"budget": 3}]}, "candidate 0"),
        ({"candidates": [{"regularization": None}]}, "set regularization"),
        ({"candidates": [{"regularization": 1}, {"regularization": 1.0}]}, "number 1 repeats"),
        ({"method": "control"}, "method"),
    ],
)
def test_what_a_selection_refuses(given, words) -> None:
    with pytest.raises(ValueError, match=words):
        selection().set_params(**given).fit(*rows(100))
    three = np.array(["a", "b", "c"] * 34)[:100]
    with pytest.raises(ValueError, match="two classes"):
        selection().fit(rows(100)[0], three)


def test_nothing_of_the_losers_is_in_a_fitted_selection() -> None:
    X, y = rows(600)
    model = selection(epsilon=1, candidates=GRID).fit(X, y)
    held = pickle.dumps(model)
    assert len(held) < 20_000
    names = [*vars(model), *vars(model.best_estimator_)]
    assert not any("score" in name for name in names)
    assert len(model.best_estimator_._models) == 1


@pytest.mark.parametrize("seed", [None, 1])
def test_no_score_hangs_on_a_fitted_estimator_its_clone_or_its_settings(seed, monkeypatch) -> None:
    planted = [-0.123456789, -0.987654321, -0.555555555]
    scores = itertools.cycle(planted)
    for module, name in ((tuning_selection, "mean_score"), (histograms, "histogram_score")):
        monkeypatch.setattr(module, name, lambda *_, **__: next(scores))
    fitted = (
        selection(epsilon=1, candidates=GRID, random_state=seed).fit(*rows(600)),
        made(random_state=seed).fit(column(600)),
    )
    for model in fitted:
        for shown in (model, clone(model), model.get_params(), pickle.loads(pickle.dumps(model))):
            found = reachable(shown)
            assert not {one for one in found if isinstance(one, float)} & set(planted)
            assert not np.isin(
                np.concatenate(
                    [np.ravel(a) for a in found if isinstance(a, np.ndarray) and a.dtype == float]
                    or [np.zeros(1)]
                ),
                planted,
            ).any()
        assert not any(f"{score}"[1:8] in repr(model) + str(vars(model)) for score in planted)
