"""`select_privately` and what it spends: who sees which rows, which law chooses, what leaves, and
what is refused.
"""

from __future__ import annotations

import gc
import io
import itertools
import logging
import math
import pickle
import types
from dataclasses import asdict, replace
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from dpci_core import ZCDP, HuberSVM, InfeasibleDesignError, Logistic
from dpci_core.estimators import select_for_release
from dpci_core.mechanisms.mechanism import model_noise
from dpci_core.privacy.choice import noisy_max_probabilities
from dpci_core.privacy.randomness import SystemSource
from dpci_core.solvers.guaranteed import Guaranteed
from dpci_core.solvers.risk import PenalisedRisk
from dpci_core.tuning import (
    SELECTION_METHODS,
    Candidate,
    CosineFeatures,
    Learner,
    Ramp,
    select_privately,
    selection,
    spend,
)
from dpci_core.tuning.learners import learner_noise
from dpci_core.tuning.released import design_of, spending_of_release
from dpci_core.tuning.selection import mean_score
from dpci_core.tuning.stability import linear_score_bounds

N = 200


def candidate(c: float, method="objective_tight", **more) -> Candidate:
    return Candidate(learner=Learner(loss=Logistic(), method=method, regularization=c), **more)


CANDIDATES = (candidate(0.01), candidate(0.1), candidate(0.5, "output"))


def table(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows that can be told apart by their first number."""
    X = np.c_[np.linspace(0.001, 0.7, n), np.full(n, 0.7)]
    return X, np.where(np.random.default_rng(seed).random(n) < 0.5 + X[:, 0] / 2, 1.0, -1.0)


def chosen(method="stability", X=None, y=None, seed=0, **given):
    rows = table() if X is None else (X, y)
    made = {"candidates": CANDIDATES, "epsilon": "1", "rng": np.random.default_rng(seed)} | given
    return select_privately(*rows, method=method, **made)


@pytest.fixture
def seen(monkeypatch):
    """Rows that trained each model, with its epsilon, and rows that scored; models are fixed."""
    trained: list[tuple[frozenset, Decimal]] = []
    scored: list[frozenset] = []

    def train(A, *, learner, epsilon, rng):
        trained.append((frozenset(np.abs(A[:, 0])), epsilon))
        return np.array([1.0, 0.0])

    def score(theta, X, y, how):
        scored.append(frozenset(X[:, 0]))
        return -0.1 * len(scored)

    monkeypatch.setattr(selection, "train", train)
    monkeypatch.setattr(selection, "mean_score", score)
    return trained, scored


@pytest.mark.parametrize("method", SELECTION_METHODS)
def test_no_row_trains_and_scores(method, seen) -> None:
    trained, scored = seen
    result = chosen(method, validation_share="0.25")
    T = frozenset().union(*(rows for rows, _ in trained))
    V = frozenset().union(*scored) if scored else frozenset()
    assert not T & V
    assert {len(rows) for rows, _ in trained} == {result.n_train}
    assert {len(rows) for rows in scored} <= {50}
    assert result.n_train == (50 if method == "data_split" else 150)
    assert len(scored) == (0 if method == "random" else len(trained) - ("published" in method))
    if method == "data_split":
        assert sum(len(rows) for rows, _ in trained) == len(T) == 150
    # Other labels and values in the same places: the same rows train.
    before, n_before = [rows for rows, _ in trained], len(trained)
    X, _ = table()
    chosen(method, X=X, y=-np.ones(N), validation_share="0.25")
    assert [rows for rows, _ in trained[n_before:]][:1] == before[:1]


def test_epsilon_of_every_training(seen) -> None:
    trained, _ = seen
    wanted = {
        "stability_published": Decimal("0.5"),
        "alpha_split": Decimal(1) / 3,
        "data_split": Decimal(1),
        "random": Decimal(1),
    }
    for method, epsilon in wanted.items():
        trained.clear()
        chosen(method)
        assert all(float(epsilon) * (1 - 1e-12) <= e <= epsilon for _, e in trained)
    trained.clear()
    result = chosen("stability")
    assert {e for _, e in trained} == {0.5}
    assert result.spending.train == Decimal("0.5")
    trained.clear()
    result = chosen("random_stopping")
    run = trained[0][1]
    price = run + 2 * math.log((math.exp(run) + 1 / 15) / (1 + math.exp(run) / 15))
    assert price == pytest.approx(1.0, rel=1e-9)
    assert result.spending.scale == pytest.approx(2 / 20, rel=1e-5)


def test_the_published_split_by_hand() -> None:
    found = spend(
        "stability_published",
        epsilon=1,
        learners=[one.learner for one in CANDIDATES],
        n_records=27_146,
        validation_share="0.1111",
        score=Ramp(1.0),
    )
    n, m = found.n_train, found.n_validation
    assert (n, m) == (24_131, 3_015)
    assert found.scale == pytest.approx(4 * max(1 / (n * 0.01), 1 / m), rel=1e-5)
    assert found.train == Decimal("0.5")


def test_a_raised_penalty_counts_as_raised() -> None:
    learner = Learner(loss=Logistic(), method="objective", regularization=1e-6)
    raised = learner_noise(learner, epsilon=0.1, n_records=900)
    assert raised.is_raised
    other = replace(learner, regularization=0.9)
    found = spend("stability", epsilon="0.1", learners=[learner, other], n_records=1_000)
    share = 0.5 / (900 * raised.regularization) / (0.1 * 0.5)
    assert found.scale == pytest.approx(max(share, 2 / 100 / 0.1), rel=1e-5)


def test_models_have_noise_of_their_own() -> None:
    # Rows of nothing but 0: a model is its noise. Two candidates nearly alike must not share it.
    X, y = np.zeros((100, 1)), np.ones(100)
    pair = (candidate(0.1, "output"), candidate(0.1000001, "output"))
    models = []
    original = selection.train
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            selection, "train", lambda *a, **k: models.append(original(*a, **k)) or models[-1]
        )
        for seed in range(200):
            chosen("stability", X, y, seed, candidates=pair)
    noise = np.array(models)[:, 0].reshape(-1, 2)
    assert abs(np.corrcoef(noise.T)[0, 1]) < 0.3


def test_the_choice_has_the_law_of_its_scores(monkeypatch) -> None:
    scores = [-0.4, -0.3, -0.6]
    monkeypatch.setattr(selection, "train", lambda A, **_: np.array([1.0, 0.0]))
    for method in ("stability", "stability_published", "alpha_split", "data_split"):
        given = iter(scores * 1_500)
        monkeypatch.setattr(selection, "mean_score", lambda *_, given=given: next(given))
        results = [chosen(method, seed=i) for i in range(1_500)]
        spending = results[0].spending
        law = noisy_max_probabilities(scores, scale=spending.scale, noise=spending.noise)
        counts = np.bincount([one.index for one in results], minlength=3)
        assert stats.chisquare(counts, law * 1_500).pvalue > 1e-5, method
    lots = np.bincount([chosen("random", seed=i).index for i in range(3_000)], minlength=3)
    assert stats.chisquare(lots).pvalue > 1e-5


def test_scores() -> None:
    X, y = np.array([[0.5], [1.0], [-1.0], [0.0]]), np.array([1.0, -1.0, 1.0, 1.0])
    theta = np.array([0.8])
    half = np.clip(0.5 * (1 - np.array([0.4, -0.8, -0.8, 0.0])), 0, 1).mean()
    assert mean_score(theta, X, y, Ramp()) == pytest.approx(-half, abs=2e-9)
    assert mean_score(theta, X, y, "mistakes") == -0.75
    assert mean_score(np.array([math.nan]), X, y, Ramp()) == -1.0
    far = mean_score(np.array([1e12]), X, y, Ramp())
    assert far == mean_score(np.array([2.0**20]), X, y, Ramp())
    for slope in (0.0, 1.5, math.nan):
        with pytest.raises(ValueError, match="slope"):
            Ramp(slope)


def test_one_record_moves_a_score_as_bounded() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        X, y = rng.normal(size=(7, 3)), rng.choice([-1.0, 1.0], 7)
        X /= np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
        theta = rng.normal(size=3) * rng.choice([0.1, 10, 1e9])
        moved = X.copy()
        moved[0] = -X[0]
        for score in (Ramp(), Ramp(1.0), "mistakes"):
            pair = [mean_score(theta, rows, y, score) for rows in (X, moved)]
            assert abs(pair[0] - pair[1]) <= 1 / 7 * (1 + 2.0**-20)
        step = rng.normal(size=3) * 1e-3
        pair = [mean_score(theta + d, X, y, Ramp()) for d in (0.0, step)]
        off = selection.rounding_error(3, Ramp())
        assert abs(pair[0] - pair[1]) <= 0.5 * (np.linalg.norm(step) + off)


def test_a_single_candidate_trains_with_everything() -> None:
    for method in SELECTION_METHODS:
        result = chosen(method, candidates=CANDIDATES[:1])
        assert (result.index, result.spending.scale) == (0, None)
        assert result.spending.train == Decimal(1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": "best"}, "method"),
        ({"candidates": []}, "at least one"),
        ({"candidates": (CANDIDATES[0], CANDIDATES[1], CANDIDATES[0])}, "number 2 repeats"),
        ({"candidates": (candidate(0.1, "non_private"),)}, "non_private"),
        ({"score": "mistakes"}, "not stable"),
        ({"score": "log_loss"}, "no bound; clip it"),
        ({"score": lambda z: z}, "no bound; clip it"),
        ({"validation_share": "0"}, "validation_share"),
        ({"validation_share": "1"}, "n=200"),
        ({"validation_share": "0.001"}, "n=200"),
        ({"rho": 1}, "one of them"),
        ({"epsilon": None}, "one of them"),
        ({"epsilon": None, "rho": 1, "method": "random"}, "with rho"),
        ({"epsilon": None, "rho": "-1"}, "rho"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "nan"}, "epsilon"),
    ],
)
def test_refusals(given, words) -> None:
    with pytest.raises(ValueError, match=words):
        chosen(**given)


def test_too_much_work_is_refused_before_anything_is_drawn(monkeypatch) -> None:
    monkeypatch.setattr(selection, "MOST_WORK", 200 * 2 * 14)
    drawn = []
    monkeypatch.setattr(selection, "_lot", lambda *_: drawn.append(1) or 0)
    with pytest.raises(ValueError, match="fewer candidates"):
        chosen("random_stopping")
    assert not drawn


@pytest.mark.parametrize("method", SELECTION_METHODS)
def test_a_release_by_every_method(method) -> None:
    X, y = table(2_000)
    result = select_for_release(X, y, candidates=CANDIDATES, epsilon="1", method=method)
    assert not result.is_simulation
    assert result.theta.shape == (2,)
    assert np.array_equal(result.theta, np.round(result.theta * 2.0**30) / 2.0**30)


def test_a_release_counts_what_its_minimisers_are_off_by() -> None:
    small = (candidate(0.01), candidate(0.02))
    given = {"candidates": small, "epsilon": 1, "n_records": 10_000}
    found = spending_of_release("stability", n_features=4, **given)
    plain = spend("stability", epsilon=1, learners=[one.learner for one in small], n_records=10_000)
    error = 1e-10 / 0.01 + 2.0**-30 * 2 + 5 * 2.0**-28 / 0.5
    wanted = 0.5 * (1 / (9_000 * 0.01) + error) / 0.5
    assert found.scale > plain.scale
    assert found.scale == pytest.approx(wanted, rel=2e-6)
    with pytest.raises(InfeasibleDesignError):
        spending_of_release(
            "stability",
            candidates=(candidate(1e-10, "output"), candidate(1.0)),
            epsilon=1,
            n_records=10_000,
            n_features=4,
        )
    with pytest.raises(ValueError, match="comparisons"):
        select_for_release(*table(), candidates=(candidate(0.1, "objective"),), epsilon=1)


# --- a rho in the place of an epsilon -------------------------------------------------------------


def test_a_rho_trains_all_and_the_chosen_one_again(monkeypatch) -> None:
    trained, scored = [], []

    def train(A, *, learner, rho, rng):
        trained.append((learner, frozenset(A[:, 0]), rho, rng.random()))
        return np.array([float(len(trained)), 0.0])

    monkeypatch.setattr(selection, "train", train)
    monkeypatch.setattr(
        selection, "mean_score", lambda theta, X, *_: scored.append(frozenset(X[:, 0])) or -0.5
    )
    result = chosen(epsilon=None, rho="0.5", validation_share="0.25")
    assert len(trained) == 4
    assert len(scored) == 3
    assert trained[3][0] == result.chosen.learner
    assert {rows for _, rows, *_ in trained} == {trained[0][1]}
    assert {rho for *_, rho, _ in trained} == {0.25}
    assert result.theta[0] == 4.0  # the fresh one, not one that was scored
    # beta_T = 0.5 / (150 c), c = 0.01: scale beta_T / sqrt(rho).
    assert result.spending.scale == pytest.approx((0.5 / 1.5) / math.sqrt(0.5), rel=1e-5)
    assert (result.rho, result.epsilon) == (Decimal("0.5"), None)
    monkeypatch.undo()
    assert chosen().rho is None


def test_a_rho_is_chosen_by_gumbel_noise(monkeypatch) -> None:
    scores = [-0.9, -0.3, -0.6]
    given = iter(scores * 3_000)
    monkeypatch.setattr(selection, "train", lambda A, **_: np.array([1.0, 0.0]))
    monkeypatch.setattr(selection, "mean_score", lambda *_: next(given))
    results = [chosen(epsilon=None, rho=8, seed=i) for i in range(3_000)]
    counts = np.bincount([one.index for one in results], minlength=3)
    scale = results[0].spending.scale
    law, other = (noisy_max_probabilities(scores, scale=scale, noise=n) for n in NOISES)
    assert stats.chisquare(counts, law * 3_000).pvalue > 1e-5
    assert stats.chisquare(counts, other * 3_000).pvalue < 1e-5


NOISES = ("gumbel", "exponential")


def test_noise_of_a_training_at_a_rho() -> None:
    rows, n, c, rho = np.zeros((100, 100)), 100, 0.1, 0.02
    out = candidate(c, "output").learner
    rng = np.random.default_rng(4)
    trained = [selection.train(rows, learner=out, rho=rho, rng=rng) for _ in range(200)]
    noise = np.concatenate(trained)
    sd = 1 / (n * c * math.sqrt(2 * rho))
    assert stats.kstest(noise, stats.norm(0, sd).cdf).pvalue > 1e-4
    assert stats.kstest(noise, stats.norm(0, 1.1 * sd).cdf).pvalue < 1e-4
    tilted = candidate(c).learner  # the pure epsilon whose half square is rho
    assert learner_noise(tilted, rho=rho, n_records=n).rate == pytest.approx(
        learner_noise(tilted, epsilon=0.2, n_records=n).rate, rel=1e-9
    )


@pytest.mark.parametrize("method", ["output", "objective_tight"])
def test_a_release_at_a_rho(method) -> None:
    X, y = table(2_000)
    listed = (candidate(0.05, method), candidate(0.5, method))
    result = select_for_release(X, y, candidates=listed, rho="0.5")
    assert not result.is_simulation
    assert np.array_equal(result.theta, np.round(result.theta * 2.0**30) / 2.0**30)
    spending = spending_of_release(
        "stability", candidates=listed, rho="0.5", n_records=2_000, n_features=2
    )
    assert spending == result.spending
    assert spending.plan.price(
        linear_score_bounds(n_train=1_800, n_validation=200, regularization=0.05)
    ) <= Decimal("0.5")
    design = design_of(listed[0].learner, spending.train, spending.n_train, ZCDP)
    assert design.definition == "zcdp"
    assert design.status == ""  # a peer-reviewed result
    law = model_noise(replace(design, n_records=1_800))
    drawn = learner_noise(listed[0].learner, rho=float(spending.train), n_records=1_800)
    assert (law.sd is None, law.rate is None) == (drawn.sd is None, drawn.rate is None)
    assert (law.sd or law.rate) == pytest.approx(drawn.sd or drawn.rate, rel=1e-9)


def test_a_single_candidate_trains_with_the_whole_rho() -> None:
    result = chosen(epsilon=None, rho=2, candidates=CANDIDATES[:1])
    assert result.spending.train == 2
    assert (result.n_validation, result.plan, result.spending.scale) == (0, None, None)


def test_kernel_widths_are_candidates_too() -> None:
    X, y = table(600)
    widths = tuple(
        Candidate(
            learner=Learner(loss=HuberSVM(h=0.5), method="output", regularization=0.05),
            features=CosineFeatures(gamma=gamma, n_components=8),
        )
        for gamma in (0.5, 2.0)
    )
    result = chosen("stability", X, y, candidates=widths)
    assert result.theta.shape == (8,)
    assert set(result.predict(X)) <= {-1.0, 1.0}
    with pytest.raises(ValueError, match="shape"):
        result.predict(X[:, :1])


# --- nothing leaves but the index and the model ---------------------------------------------------


def test_no_score_and_no_loser_leaves(monkeypatch, capfd) -> None:
    planted = iter([-0.123456789, -0.987654321, -0.555555555] * 40)
    losers = iter(np.array([[0.77, i / 1000.0] for i in range(1, 200)]))
    monkeypatch.setattr(selection, "mean_score", lambda *_: next(planted))
    monkeypatch.setattr(selection, "train", lambda A, **_: next(losers))
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    level = logging.getLogger().level
    logging.getLogger().setLevel(1)
    try:
        results = [chosen(method) for method in SELECTION_METHODS[:4]]
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(level)
    shown = "".join(f"{one!r} {one} {asdict(one)}" for one in results)
    shown += log.getvalue() + "".join(capfd.readouterr())
    for result in results:
        held = pickle.dumps(result)
        for score in (-0.123456789, -0.987654321, -0.555555555):
            assert f"{score}"[1:9] not in shown
            assert np.float64(score).tobytes() not in held
            assert np.float64(score).byteswap().tobytes() not in held
        numbers = [v for v in asdict(result).values() if isinstance(v, np.ndarray)]
        assert len(numbers) == 1
        assert numbers[0].shape == (2,)  # one model, not those of the others
        assert not any(word in name for name in dir(result) for word in ("score", "cv_"))


def reachable(root: object) -> list[object]:
    """Everything that hangs on an object, the memory behind arrays too."""
    seen: dict[int, object] = {}
    todo = [root]
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, types.ModuleType | type | types.FunctionType):
            continue
        seen[id(one)] = one
        todo += gc.get_referents(one)
        if isinstance(one, np.ndarray) and one.base is not None:
            todo.append(one.base)
    return list(seen.values())


@pytest.mark.parametrize(
    "given",
    [{"epsilon": 1, "method": method} for method in SELECTION_METHODS] + [{"rho": "0.5"}],
    ids=str,
)
def test_nothing_that_hangs_on_a_release_is_a_score_or_a_loser(given, monkeypatch) -> None:
    from dpci_core.estimators import tuning as released

    planted = [-0.123456789, -0.987654321, -0.555555555]
    scores, models = itertools.cycle(planted), []
    certified = released.certified
    monkeypatch.setattr(selection, "mean_score", lambda *_: next(scores))
    monkeypatch.setattr(
        released, "certified", lambda *a, **k: models.append(certified(*a, **k)) or models[-1]
    )
    X, y = table(1_000)
    pair = []
    for _ in range(2):  # the same seed: a release draws nothing from it
        np.random.seed(0)  # noqa: NPY002
        pair.append(select_for_release(X, y, candidates=CANDIDATES, **given))
    assert not np.array_equal(pair[0].theta, pair[1].theta)
    for result in pair:
        found = reachable(result)
        assert not {one for one in found if isinstance(one, float)} & set(planted)
        arrays = [one for one in found if isinstance(one, np.ndarray)]
        assert len(arrays) == 1  # one model
        assert any(np.array_equal(arrays[0], model) for model in models)


def test_a_release_draws_its_lots_and_its_runs_from_the_system(monkeypatch) -> None:
    runs = [
        len(
            selection._runs(
                spend(
                    "random_stopping",
                    epsilon=1,
                    learners=[one.learner for one in CANDIDATES],
                    n_records=N,
                ),
                3,
                SystemSource(),
            )
        )
        for _ in range(4_000)
    ]
    law = [stats.geom(1 / 15).cdf(x) for x in (5, 15, 30)]
    edges = np.array([np.mean(np.array(runs) <= x) for x in (5, 15, 30)])
    assert edges == pytest.approx(law, abs=0.06)


def test_the_bound_of_a_release_holds_for_its_solver_and_grid() -> None:
    # At equal noise, with the solver, tolerance and grid of a release, on the worst pair of tables.
    from dpci_core.mechanisms.shares import TAU
    from dpci_core.solvers.minimise import minimise

    rng = np.random.default_rng(5)
    n, c, worst = 41, 0.05, 0.0
    found = spending_of_release(
        "stability", candidates=(candidate(c), candidate(1.0)), epsilon=1, n_records=46,
        n_features=1, validation_share="0.11",
    )  # fmt: skip
    bound = found.scale * 0.5  # the scale is the bound over half of epsilon
    rest = np.append(np.tile([1.0, -1.0], 20), 0.0)[:, None] * 0.01
    for _ in range(40):
        b, xi = rng.normal(size=1), rng.normal(size=1) * 1e-6
        scores = []
        for u in (1.0, -1.0):
            A = rest.copy()
            A[-1] = u
            fit = minimise(PenalisedRisk(A, HuberSVM(h=0.5), c, b), Guaranteed(TAU / 2))
            theta = np.round((fit.theta + xi) * 2.0**30) / 2.0**30
            scores.append(mean_score(theta, np.ones((5, 1)), np.ones(5), Ramp()))
        worst = max(worst, abs(scores[0] - scores[1]))
    assert found.n_train == n
    assert 0.9 * bound < worst <= bound
