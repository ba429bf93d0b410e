"""The learners of [CMS]: their constants by hand, exact audits of both branches, kernels and
private tuning.

Densities and constants are typed here from the paper: Lambda = 2c, beta = epsilon'/2, Delta of the
second branch.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpci_core import Logistic, SmoothedHinge
from dpci_core.estimators import RandomCosines
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk
from dpci_core.tuning import (
    Candidate,
    CosineFeatures,
    Learner,
    objective_run,
    selection_probabilities,
    train,
    tune_privately,
    utility_bound,
)
from dpci_core.tuning.learners import learner_noise
from tests.mechanisms.test_audit import (
    H_WIDTH,
    LOSSES,
    NEIGHBOUR,
    TABLE,
    aligned_pair,
    identity_distance,
    log_density_objective,
    make_pairs,
    make_theta_grid,
)
from tests.oracle import paper

N_SAMPLES = 1_500
EPSILON = 1.0
"""Claimed by every audited run."""


def printed(
    epsilon: float, n: int, Lambda: float, t: float, *, times: int = 2
) -> tuple[float, float]:
    """(beta, Lambda + Delta) as Algorithm 2 prints them; times = 1 puts WKL's single logarithm in
    their place.
    """
    slack = (1.0 + 2.0 * t / (n * Lambda) + t**2 / (n * Lambda) ** 2) ** (times / 2)
    epsilon_prime, Delta = epsilon - math.log(slack), 0.0
    if epsilon_prime <= 0.0:
        Delta = t / (n * (math.exp(epsilon / (2 * times)) - 1.0)) - Lambda
        epsilon_prime = epsilon / 2.0
    return epsilon_prime / 2.0, Lambda + Delta


@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_rates_and_penalties_are_the_printed_ones(loss: str, tight: bool) -> None:
    t = paper.largest_curvature(loss, H_WIDTH)
    raised = set()
    for n, c, epsilon in itertools.product(
        (1, 50, 40_000), (1e-6, 1e-3, 0.1), (0.01, 0.1, 1.0, 10.0)
    ):
        beta, penalty = printed(epsilon, n, 2.0 * c, t, times=1 if tight else 2)
        run = objective_run(
            epsilon=epsilon, n_records=n, regularization=c, loss=LOSSES[loss], tight=tight
        )
        assert run.rate <= beta * (1 + 1e-12)
        assert run.rate == pytest.approx(beta, rel=1e-6)
        assert 2.0 * run.regularization == pytest.approx(penalty, rel=1e-12)
        assert run.is_raised == (penalty > 2.0 * c)
        raised.add(run.is_raised)
    assert raised == {True, False}


def test_rates_by_hand() -> None:
    # n Lambda = 2 and t = 1/4: slack (1 + 1/8)^2. The second branch: e^(eps/4) = 2 at eps = 4
    # log 2.
    run = objective_run(epsilon=1.0, n_records=100, regularization=0.01, loss=Logistic())
    assert run.rate == pytest.approx((1 - 2 * math.log(1.125)) / 2, rel=1e-12)
    small = objective_run(
        epsilon=4 * math.log(2), n_records=10, regularization=1e-9, loss=Logistic()
    )
    assert (small.is_raised, small.rate) == (True, pytest.approx(math.log(2), rel=1e-12))
    assert small.regularization == pytest.approx(0.0125, rel=1e-12)
    tight = objective_run(
        epsilon=2 * math.log(2), n_records=10, regularization=1e-9, loss=Logistic(), tight=True
    )
    assert tight.regularization == pytest.approx(0.0125, rel=1e-12)
    output = Learner(loss=Logistic(), method="output", regularization=0.01)
    assert learner_noise(output, epsilon=0.5, n_records=100).rate == pytest.approx(
        0.5, rel=1e-12
    )  # n Lambda eps / 2


def test_what_the_second_branch_leaves_is_half_of_epsilon() -> None:
    for epsilon, tight in itertools.product((1e-3, 0.1, 1.0, 20.0), (False, True)):
        run = objective_run(
            epsilon=epsilon,
            n_records=7,
            regularization=1e-9,
            loss=SmoothedHinge(h=0.1),
            tight=tight,
        )
        spent = (1 if tight else 2) * math.log1p(7.5 / (2 * 7 * run.regularization)) + 2 * run.rate
        assert spent <= epsilon
        assert spent == pytest.approx(epsilon, rel=1e-9)


BRANCHES = {"first": 0.05, "second": 3.0}
"""kappa = t/(2nc): epsilon' is positive at the first, not at the second."""


@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.parametrize("loss", LOSSES)
def test_no_pair_loses_more_than_epsilon(loss: str, branch: str, tight: bool) -> None:
    t, kappa, rng = (
        paper.largest_curvature(loss, H_WIDTH),
        BRANCHES[branch],
        np.random.default_rng(5),
    )
    largest = 0.0
    for A, B in [
        aligned_pair(1),
        aligned_pair(2),
        *make_pairs(1, rng, 30),
        *make_pairs(2, rng, 15),
    ]:
        n = len(A)
        beta, penalty = printed(EPSILON, n, t / (n * kappa), t, times=1 if tight else 2)
        c = penalty / 2.0
        theta = make_theta_grid(A, B, loss=loss, c=c, rng=rng)
        here, there = (log_density_objective(T, theta, loss=loss, c=c, rate=beta) for T in (A, B))
        largest = max(largest, float(np.abs(here - there).max()))
    assert largest <= EPSILON + 1e-9
    if (
        loss == "huber_svm"
    ):  # slope and curvature at their bounds together: only WKL's constant is attained
        assert largest >= (0.99 if tight else 0.7) * EPSILON


@pytest.mark.parametrize("method", ["objective", "objective_tight"])
@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.parametrize("loss", LOSSES)
def test_density_identity(loss: str, branch: str, method: str) -> None:
    n, t = len(TABLE), paper.largest_curvature(loss, H_WIDTH)
    c = t / (2.0 * n * BRANCHES[branch])
    beta, penalty = printed(EPSILON, n, 2.0 * c, t, times=1 if method == "objective_tight" else 2)
    assert (penalty > 2.0 * c) == (branch == "second")

    def log_density(A: np.ndarray, theta: np.ndarray) -> np.ndarray:
        return log_density_objective(A, theta, loss=loss, c=penalty / 2.0, rate=beta)

    learner = Learner(loss=LOSSES[loss], method=method, regularization=c)
    rng = np.random.default_rng([len(loss), len(branch), len(method)])
    theta = np.array(
        [train(TABLE, learner=learner, epsilon=EPSILON, rng=rng) for _ in range(N_SAMPLES)]
    )
    assert abs(identity_distance(theta, log_density, (TABLE, NEIGHBOUR))) <= 4.0


@pytest.mark.parametrize("mistake", ["whole epsilon in the second branch", "doubled rate"])
def test_density_identity_catches_wrong_samplers(mistake: str) -> None:
    n, t, loss = len(TABLE), 0.25, "logistic"
    kappa = BRANCHES["first" if mistake == "doubled rate" else "second"]
    c = t / (2.0 * n * kappa)
    beta, penalty = printed(2.0, n, 2.0 * c, t)
    rate = {"whole epsilon in the second branch": 1.0, "doubled rate": 2 * beta}.get(mistake, beta)
    noise_vectors = paper.spherical_laplace(2, rate, np.random.default_rng(8), 2_000)
    theta = np.array(
        [
            Newton()
            .minimise(
                PenalisedRisk(TABLE, loss=Logistic(), regularization=penalty / 2.0, noise_vector=b)
            )
            .theta
            for b in noise_vectors
        ]
    )

    def log_density(A: np.ndarray, at: np.ndarray) -> np.ndarray:
        return log_density_objective(A, at, loss=loss, c=penalty / 2.0, rate=beta)

    assert abs(identity_distance(theta, log_density, (TABLE, NEIGHBOUR))) > 5.0


def test_output_learner_adds_noise_of_its_rate() -> None:
    learner = Learner(loss=Logistic(), method="output", regularization=0.1)
    exact = Newton().minimise(PenalisedRisk(TABLE, loss=Logistic(), regularization=0.1)).theta
    rng = np.random.default_rng(3)
    sizes = [
        np.linalg.norm(train(TABLE, learner=learner, epsilon=2.0, rng=rng) - exact)
        for _ in range(4_000)
    ]
    rate = 3 * 0.1 * 2.0
    assert stats.kstest(sizes, stats.gamma(2, scale=1 / rate).cdf).pvalue > 1e-3
    assert stats.kstest(sizes, stats.gamma(2, scale=1 / (1.1 * rate)).cdf).pvalue < 1e-6


def test_training_without_noise_is_the_minimiser_and_learners_are_checked() -> None:
    learner = Learner(loss=Logistic(), method="non_private", regularization=0.1)
    exact = Newton().minimise(PenalisedRisk(TABLE, loss=Logistic(), regularization=0.1)).theta
    found = train(TABLE, learner=learner, epsilon=None, rng=np.random.default_rng(0))
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="method='private'"):
        Learner(loss=Logistic(), method="private", regularization=0.1)
    with pytest.raises(ValueError, match="regularization=0"):
        Learner(loss=Logistic(), method="output", regularization=0)
    with pytest.raises(ValueError, match="epsilon=None"):
        train(
            TABLE,
            learner=Learner(loss=Logistic(), method="output", regularization=1),
            epsilon=None,
            rng=None,
        )


# --- Algorithm 3: kernels -------------------------------------------------------------------------


@parametrize_with_checks([RandomCosines(n_components=3)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_agrees_with_the_transformer(estimator, check) -> None:
    check(estimator)


def test_features_estimate_half_the_kernel() -> None:
    X = np.random.default_rng(1).normal(size=(6, 3))
    v = CosineFeatures(gamma=0.3, n_components=200_000).transform(X)
    kernel = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(
        2 * v @ v.T, kernel, atol=5 * math.sqrt(1.5 / 200_000)
    )  # 5 standard errors


@pytest.mark.parametrize("n_components", [1, 2, 7])
def test_no_row_exceeds_norm_1_where_the_printed_factor_does(n_components: int) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(scale=3.0, size=(20_000, 2))
    v = CosineFeatures(gamma=1.0, n_components=n_components).transform(X)
    norms = np.linalg.norm(v, axis=1)
    assert norms.max() <= 1.0
    assert norms.max() * math.sqrt(2) > 1.2  # sqrt(2/D) breaks the bound of the proof
    assert math.sqrt(n_components) * np.abs(v).max() <= 1.0


def test_the_map_is_public_and_fixed() -> None:
    X = np.random.default_rng(3).normal(size=(5, 2))
    one, two = RandomCosines(gamma=0.5, n_components=4), RandomCosines(gamma=0.5, n_components=4)
    np.testing.assert_array_equal(one.fit(X).transform(X), two.fit(X[:1] + 9).transform(X))
    assert not np.allclose(
        one.transform(X), RandomCosines(gamma=0.5, n_components=4, seed=5).fit(X).transform(X)
    )
    low, high = RandomCosines.bounds(4)
    assert (low, high) == (-0.5, 0.5)
    assert list(one.get_feature_names_out()) == [f"randomcosines{j}" for j in range(4)]
    with pytest.raises(ValueError, match="gamma=0"):
        RandomCosines(gamma=0).fit(X)


# --- Algorithm 4: tuning --------------------------------------------------------------------------


def test_selection_probabilities_by_hand() -> None:
    # epsilon = 2 log 2 halves the weight with each mistake: 4 : 2 : 1.
    found = selection_probabilities(np.array([3, 4, 5]), epsilon=2 * math.log(2))
    assert found == pytest.approx(np.array([4, 2, 1]) / 7, rel=1e-14)
    assert selection_probabilities(np.array([10**6, 10**6 + 10**4]), epsilon=1.0) == pytest.approx(
        [1, 0]
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_replaced_record_moves_a_choice_by_more_than_epsilon(epsilon: float) -> None:
    # Every pair of counts that one held-out record can make, three candidates.
    largest = 0.0
    for change in itertools.product((-1, 0, 1), repeat=3):
        z = np.array([5, 6, 9])
        here, there = (
            selection_probabilities(counts, epsilon=epsilon) for counts in (z, z + change)
        )
        largest = max(largest, float(np.abs(np.log(here / there)).max()))
    assert largest <= epsilon + 1e-12
    far = [selection_probabilities(np.array(z), epsilon=epsilon) for z in ([0, 100], [1, 99])]
    assert math.log(far[0][0] / far[1][0]) <= epsilon
    assert math.log(far[1][1] / far[0][1]) == pytest.approx(
        epsilon, rel=0.01
    )  # attained: the factor 1/2 is needed


def test_utility_bound_holds_for_the_worst_counts() -> None:
    assert utility_bound(n_candidates=4, epsilon=0.5, delta=0.1) == pytest.approx(
        4 * math.log(40), rel=1e-14
    )
    bound = utility_bound(n_candidates=5, epsilon=1.0, delta=0.1)
    for excess, holds in (
        (bound, True),
        (0.9 * bound, False),
    ):  # all others just that much worse than the best
        chances = selection_probabilities(np.array([0] + [excess] * 4), epsilon=1.0)
        assert (chances[1:].sum() <= 0.1) == holds


def tuning_table(n: int = 900) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = np.c_[rng.uniform(-0.7, 0.7, n), np.full(n, 0.7)]
    return X, np.where(rng.random(n) < 0.5 + 0.6 * X[:, 0], 1.0, -1.0)


CANDIDATES = (
    Candidate(learner=Learner(loss=Logistic(), method="objective", regularization=0.01)),
    Candidate(learner=Learner(loss=SmoothedHinge(h=0.5), method="output", regularization=1e-5)),
)


def test_each_candidate_trains_on_a_part_of_its_own_and_none_on_the_held_out(monkeypatch) -> None:
    from dpci_core.tuning import choose as tuning

    X = np.c_[np.linspace(0.001, 0.7, 100), np.full(100, 0.7)]  # tells the rows apart
    seen = []

    def spy(A, *, learner, epsilon, rng):
        seen.append(set(A[:, 0]))
        assert epsilon == 0.5
        return np.array([1.0, 0.0])

    monkeypatch.setattr(tuning, "train", spy)
    result = tune_privately(
        X, np.ones(100), candidates=CANDIDATES, epsilon="0.5", rng=np.random.default_rng(0)
    )
    assert (result.n_train, result.n_holdout, result.epsilon) == (33, 34, Decimal("0.5"))
    assert [len(part) for part in seen] == [33, 33]
    assert not seen[0] & seen[1]


def test_the_partition_depends_on_n_alone() -> None:
    X, y = tuning_table(300)
    other = np.random.default_rng(9).uniform(-0.6, 0.6, X.shape)
    first = tune_privately(X, y, candidates=CANDIDATES[:1], epsilon=1, rng=np.random.default_rng(1))
    rng = np.random.default_rng(1)
    order = rng.permutation(300)
    A = y[order[:150], None] * X[order[:150]]
    np.testing.assert_array_equal(
        first.theta, train(A, learner=CANDIDATES[0].learner, epsilon=1.0, rng=rng)
    )
    assert (
        tune_privately(
            other, y, candidates=CANDIDATES, epsilon=1, rng=np.random.default_rng(1)
        ).n_train
        == 100
    )


def test_the_choice_follows_the_probabilities() -> None:
    # Two candidates whose models are fixed: the share of the better one is the exponential
    # mechanism's.
    X, y = tuning_table(60)
    picks = []
    for seed in range(400):
        result = tune_privately(
            X, y, candidates=CANDIDATES, epsilon="0.4", rng=np.random.default_rng(seed)
        )
        rng = np.random.default_rng(seed)
        order = rng.permutation(60)
        mistakes = []
        for i, candidate in enumerate(CANDIDATES):
            part = order[20 * i : 20 * (i + 1)]
            model = train(y[part, None] * X[part], learner=candidate.learner, epsilon=0.4, rng=rng)
            mistakes.append(np.sum(np.where(X[order[40:]] @ model > 0, 1, -1) != y[order[40:]]))
        weight = np.exp(-0.2 * np.array(mistakes))
        picks.append((result.index == 0, weight[0] / weight.sum()))
    chosen, chance = np.array(picks).T
    assert abs(chosen.mean() - chance.mean()) <= 4 * 0.5 / math.sqrt(len(picks))
    assert chance.std() > 0.05
    # The choice leans on the counts: it is likelier where it should be.
    assert chosen[chance > 0.6].mean() > chosen[chance < 0.4].mean() + 0.1


def test_tuning_says_its_bound_and_price_and_keeps_no_counts() -> None:
    X, y = tuning_table()
    kernel = Candidate(
        learner=CANDIDATES[0].learner, features=CosineFeatures(gamma=1.0, n_components=5)
    )
    result = tune_privately(
        X, y, candidates=[*CANDIDATES, kernel], epsilon="2", rng=np.random.default_rng(2)
    )
    text = result.sentence(delta=0.05)
    for words in (
        "at most 4.1 more mistakes",
        "225 held-out",
        "(1.9 %)",
        "3 candidates",
        "trained on 225",
    ):
        assert words in text
    assert set(result.predict(X)) <= {-1.0, 1.0}
    assert not any("mistake" in name for name in type(result).__dataclass_fields__)
    assert result.chosen in (*CANDIDATES, kernel)


def test_tuning_refuses() -> None:
    X, y = tuning_table(60)
    settings = {"epsilon": 1, "rng": np.random.default_rng(0)}
    public = Candidate(learner=Learner(loss=Logistic(), method="non_private", regularization=0.1))
    for words, candidates in {
        "non_private": [public],
        "at least one": [],
        "at least 101": CANDIDATES[:1] * 100,
    }.items():
        with pytest.raises(ValueError, match=words):
            tune_privately(X, y, candidates=candidates, **settings)
    with pytest.raises(ValueError, match="epsilon=0"):
        tune_privately(X, y, candidates=CANDIDATES, epsilon=0, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="Generator"):
        tune_privately(X, y, candidates=CANDIDATES, epsilon=1, rng=7)
