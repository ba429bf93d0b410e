"""One of several private models, chosen privately: stability-based validation and its rivals at
equal privacy.

`spend` says from public numbers alone what a method spends on what, `select_privately` does it.
docs/proofs/selection.md has the argument. Scores and the models that lost stay inside: no result,
message or log holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeVar, assert_never

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array, Integers
from dpci_core.base.decimals import DOWN
from dpci_core.base.errors import check_choice, check_generator, check_positive
from dpci_core.base.validation import check_unit_records
from dpci_core.privacy.budget import Amount, to_decimal, to_float_down
from dpci_core.privacy.choice import ChoiceNoise, choose
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.tuning.choose import Candidate, ChosenModel, checked_candidates, choice_scale
from dpci_core.tuning.learners import Learner, learner_noise, train
from dpci_core.tuning.repeated import repeated_run
from dpci_core.tuning.stability import (
    ConcentratedPlan,
    ScoreBounds,
    SelectionPlan,
    linear_score_bounds,
    plan_concentrated_selection,
    plan_selection,
)

SelectionMethod = Literal[
    "stability", "stability_published", "alpha_split", "data_split", "random_stopping", "random"
]
SELECTION_METHODS: tuple[SelectionMethod, ...] = (
    "stability",
    "stability_published",
    "alpha_split",
    "data_split",
    "random_stopping",
    "random",
)
"""Ours and the published split of stability-based validation; epsilon / k or n / k for each
candidate; the best of a random number of runs; a candidate by lot.
"""
RUNS_PER_CANDIDATE = 5
"""Of random stopping, on average: more cost time only, fewer miss the good candidate too often."""
MOST_WORK = 1e11
"""Rows times coefficients times expected trainings; more is refused before anything is drawn."""
LONGEST_MODEL = 2.0**20
"""Norm to which a model is shortened before it is scored, so that a score is exact to
`rounding_error`.
"""
_UNITS = 2.0**30
"""A row's loss is a multiple of 1 / this, so that their sum is exact."""
WIDER = 1.0 + 2.0**-20
"""What bounds are multiplied by, for a score that is rounded to a double."""


@dataclass(frozen=True, slots=True)
class Ramp:
    """The loss min(1, max(0, slope (1 - z))) of the margin z = y theta.x: bounded, and it moves by
    at most `slope` times what theta moves by.

    slope: in (0, 1]; 1/2 makes the choice half as noisy as 1 where one training record rules.
    """

    slope: float = 0.5

    def __post_init__(self) -> None:
        check_positive(slope=self.slope)
        if self.slope > 1.0:
            raise ValueError(f"Expected slope={self.slope!r} <= 1.")

    def __call__(self, margins: Array) -> Array:
        return np.clip(self.slope * (1.0 - margins), 0.0, 1.0)


Score = Ramp | Literal["mistakes"]


def rounding_error(dim: int, ramp: Ramp) -> float:
    """Return by how much |theta| may seem to move more than it does, since scores are computed in
    floating-point numbers and rounded to a grid.
    """
    return (dim + 1) * 2.0**-28 / ramp.slope


@dataclass(frozen=True, kw_only=True, slots=True)
class Spending:
    """What a method spends, from public numbers alone.

    train: of one training, exact, in the currency.
    n_train: rows behind one model.
    n_validation: rows behind a score; 0 where none is taken.
    scale: of the noise on a score in [-1, 0]; None where nothing is chosen by scores.
    runs: trainings; expected ones for random stopping.
    plan: of stability-based validation.
    currency: of `train`.
    """

    method: SelectionMethod
    train: Decimal
    n_train: int
    n_validation: int
    scale: float | None
    noise: ChoiceNoise
    runs: int
    plan: SelectionPlan | ConcentratedPlan | None
    currency: Literal["epsilon", "rho"] = "epsilon"


def spend(
    method: SelectionMethod,
    *,
    epsilon: Amount | None = None,
    rho: Amount | None = None,
    learners: Sequence[Learner],
    n_records: int,
    validation_share: Amount = "0.1",
    score: Score | None = None,
    solver_error: Callable[[float], float] | None = None,
) -> Spending:
    """Return what a method spends on training and choice.

    Args:
        method: one of `SELECTION_METHODS`.
        epsilon, rho: of everything (> 0), one of them; a rho for "stability" only.
        learners: of the candidates.
        n_records: of both parts together, public.
        validation_share: of the rows that score, in (0, 1).
        score: `Ramp`, or "mistakes" (default: mistakes for the two splits, as published).
        solver_error: from c to how far the errors of two solutions can be apart (default: 0).

    Raises:  ValueError naming the argument.
    """
    check_method(method)
    total, currency = total_of(method, epsilon=epsilon, rho=rho)
    n_train, n_validation = divided(n_records, validation_share)
    ramp = checked_score(method, score)

    def bounds(most: Decimal) -> ScoreBounds:
        """At the smallest c in use: raised ones fall as epsilon grows."""
        assert isinstance(ramp, Ramp)
        at: dict[str, Any] = {currency: to_float_down(most)}
        c = min(learner_noise(one, n_records=n_train, **at).regularization for one in learners)
        return linear_score_bounds(
            n_train=n_train,
            n_validation=n_validation,
            regularization=c,
            slope=ramp.slope,
            solver_error=0.0 if solver_error is None else solver_error(c),
        )

    if currency == "rho":
        return _share_out_rho(total, len(learners), n_train, n_validation, bounds)
    return share_out_selection(
        method,
        epsilon=total,
        n_candidates=len(learners),
        n_train=n_train,
        n_validation=n_validation,
        bounds=bounds,
        moves=1.0 / n_validation,
        split_noise="gumbel",
    )


def total_of(
    method: SelectionMethod, *, epsilon: Amount | None, rho: Amount | None
) -> tuple[Decimal, Literal["epsilon", "rho"]]:
    """Return the amount for everything and its currency.

    Raises:  ValueError unless there is one, and for a rho with a method that has no price in it.
    """
    if (epsilon is None) == (rho is None):
        raise ValueError("Expected epsilon or rho, one of them.")
    if rho is None:
        assert epsilon is not None
        return to_decimal(epsilon, name="epsilon"), "epsilon"
    if method != "stability":
        raise ValueError(f'Expected method="stability" with rho, got {method!r}; give epsilon.')
    return to_decimal(rho, name="rho"), "rho"


def _share_out_rho(
    rho: Decimal,
    n_candidates: int,
    n_train: int,
    n_validation: int,
    bounds: Callable[[Decimal], ScoreBounds],
) -> Spending:
    """Stability-based validation under zCDP; a single candidate trains with everything."""
    plan = None
    if n_candidates > 1:
        found = bounds(rho)
        wider = ScoreBounds(found.training * WIDER, found.validation * WIDER)
        plan = plan_concentrated_selection(rho=rho, bounds=wider)
    return Spending(
        method="stability",
        train=rho if plan is None else plan.train,
        n_train=n_train,
        n_validation=n_validation if plan else 0,
        scale=None if plan is None else plan.scale,
        noise="gumbel",
        runs=n_candidates,
        plan=plan,
        currency="rho",
    )


def share_out_selection(
    method: SelectionMethod,
    *,
    epsilon: Decimal,
    n_candidates: int,
    n_train: int,
    n_validation: int,
    bounds: Callable[[Decimal], ScoreBounds],
    moves: float,
    split_noise: ChoiceNoise,
) -> Spending:
    """`spend` for anything that is trained and scored.

    bounds: of the scores, from the most that one training can get.
    moves: how far one record of V moves a score.
    split_noise: of the choice of the two splits.
    """
    k = n_candidates

    def made(train: Decimal, scale: float | None, noise: ChoiceNoise, **more: Any) -> Spending:
        given = {"n_train": n_train, "n_validation": n_validation, "runs": k, "plan": None} | more
        return Spending(method=method, train=train, scale=scale, noise=noise, **given)

    scale = choice_scale(epsilon, moves=moves * WIDER)
    if method == "random" or k == 1:
        return made(epsilon, None, "exponential", n_validation=0, runs=1)
    match method:
        case "stability" | "stability_published":
            is_sharp = method == "stability"
            found = bounds(epsilon if is_sharp else DOWN.divide(epsilon, Decimal(2)))
            plan = plan_selection(
                epsilon=epsilon,
                bounds=ScoreBounds(found.training * WIDER, found.validation * WIDER),
                accounting="sharp" if is_sharp else "published",
            )
            return made(plan.train, plan.scale, "exponential", plan=plan)
        case "alpha_split":
            return made(DOWN.divide(epsilon, Decimal(k)), scale, split_noise)
        case "data_split":
            return made(epsilon, scale, split_noise, n_train=_each(n_train, k))
        case "random_stopping":
            runs = RUNS_PER_CANDIDATE * k
            run = repeated_run(to_float_down(epsilon), shape=1.0, stop=1.0 / runs)
            return made(DOWN.plus(Decimal(run)), scale, "exponential", runs=runs)
        case _:
            assert_never(method)


def check_method(method: object) -> None:
    """Raise ValueError unless this is a private method."""
    check_choice(method, SELECTION_METHODS, name="method")


def checked_score(method: SelectionMethod, score: object) -> Score:
    """Return the score of a method, or raise ValueError for one whose differences have no bound."""
    if score is None:
        return "mistakes" if method in ("alpha_split", "data_split") else Ramp()
    if score == "mistakes":
        if method in ("stability", "stability_published"):
            raise ValueError(
                "Expected a Ramp: counting mistakes is not stable. Use Ramp(), or "
                'method="random_stopping".'
            )
        return "mistakes"
    if not isinstance(score, Ramp):
        raise ValueError(
            f"Expected score={score!r} to be a Ramp or 'mistakes': the differences of another one "
            "have no bound; clip it."
        )
    return score


def divided(n_records: int, validation_share: Amount) -> tuple[int, int]:
    """Rows of T and of V."""
    share = to_decimal(validation_share, name="validation_share")
    n_validation = int(share * n_records) if share < 1 else n_records
    if not 0 < n_validation < n_records:
        raise ValueError(
            f"Expected 0 < validation_share={validation_share} < 1 to leave rows on both sides of "
            f"n={n_records}."
        )
    return n_records - n_validation, n_validation


def _each(n_train: int, n_candidates: int) -> int:
    if n_train < n_candidates:
        raise ValueError(f"Expected at least {n_candidates} rows to train on, got {n_train}.")
    return n_train // n_candidates


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionResult(ChosenModel):
    """What a method of `SELECTION_METHODS` chose, and what was spent.

    total: of everything, exact, in the currency of `spending`.
    """

    total: Decimal
    spending: Spending

    @property
    def epsilon(self) -> Decimal | None:
        """The epsilon of all training and choice together; None where a rho was spent."""
        return self.total if self.spending.currency == "epsilon" else None

    @property
    def rho(self) -> Decimal | None:
        """The rho of all training and choice together; None where an epsilon was spent."""
        return self.total if self.spending.currency == "rho" else None

    @property
    def plan(self) -> SelectionPlan | ConcentratedPlan | None:
        """The plan of stability-based validation; None for another way to choose."""
        return self.spending.plan

    @property
    def n_train(self) -> int:
        """Rows behind one model."""
        return self.spending.n_train

    @property
    def n_validation(self) -> int:
        """Rows behind a score."""
        return self.spending.n_validation


Trainer = Callable[[Array, Learner, Decimal], Array]
"""From rows y_i x_i (n, p), a learner and an amount to private coefficients (p,)."""


def select_privately(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    candidates: Sequence[Candidate],
    epsilon: Amount | None = None,
    rho: Amount | None = None,
    method: SelectionMethod = "stability",
    validation_share: Amount = "0.1",
    score: Score | None = None,
    rng: np.random.Generator,
) -> SelectionResult:
    """Return one of the candidates, trained and chosen under one epsilon or rho; a simulation
    (`estimators.select_for_release` draws from the operating system).

    Args:
        X, y: as for `private_intervals`; norms are at most 1 after each candidate's map too.
        candidates: a list made without looking at the data.
        epsilon, rho: of everything, one of them. For a rho scores have Gumbel noise and the chosen
            candidate is trained again.
        method: one of `SELECTION_METHODS`; "stability" for a rho.
        validation_share, score: as for `spend`.
        rng: a seeded generator; it draws the division, which depends on n alone, too.

    Privacy: epsilon-DP or rho-zCDP, replace-one neighbours: a record trains or scores, never both.
    Raises:  ValueError naming the argument; DataRejectedError.
    Source:  docs/proofs/selection.md; Chaudhuri and Vinterbo 2013, Algorithms 1 and 2; Liu and
             Talwar 2019.
    """
    check_generator(rng)
    listed = distinct_candidates(candidates)
    features, labels = check_unit_records(X, y)
    spending = spend(
        method,
        epsilon=epsilon,
        rho=rho,
        learners=[one.learner for one in listed],
        n_records=len(labels),
        validation_share=validation_share,
        score=score,
    )
    return select_by(
        features,
        labels,
        candidates=listed,
        total=total_of(method, epsilon=epsilon, rho=rho)[0],
        spending=spending,
        score=checked_score(method, score),
        source=rng,
        trainer=lambda A, learner, amount: train(
            A, learner=learner, rng=rng, **{spending.currency: to_float_down(amount)}
        ),
    )


def distinct_candidates(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates, all private and none twice."""
    listed = checked_candidates(candidates)
    for i, one in enumerate(listed):
        if one in listed[:i]:
            raise ValueError(f"Expected candidates to differ: number {i} repeats {one!r}.")
    return listed


def select_by(
    X: Array,
    y: Array,
    *,
    candidates: tuple[Candidate, ...],
    total: Decimal,
    spending: Spending,
    score: Score,
    source: NoiseSource,
    trainer: Trainer,
) -> SelectionResult:
    """`select_privately` with a trainer that is as private as it is told and noise from a source;
    arguments are checked already.
    """
    check_work(spending, X.size, candidates)

    def trained(i: int, rows: Integers) -> Array:
        A = y[rows, None] * candidates[i].map(X[rows])
        return trainer(A, candidates[i].learner, spending.train)

    index, theta = choose_model(
        spending,
        n_records=len(y),
        n_candidates=len(candidates),
        source=source,
        trained=trained,
        scored=lambda i, model, rows: mean_score(model, candidates[i].map(X[rows]), y[rows], score),
    )
    return SelectionResult(
        candidates=candidates,
        index=index,
        theta=theta,
        total=total,
        spending=spending,
        n_features=X.shape[1],
        is_simulation=not isinstance(source, SystemSource),
    )


Model = TypeVar("Model")


def choose_model(
    spending: Spending,
    *,
    n_records: int,
    n_candidates: int,
    source: NoiseSource,
    trained: Callable[[int, Integers], Model],
    scored: Callable[[int, Model, Integers], float],
) -> tuple[int, Model]:
    """Return the candidate that a method chooses, with its model.

    Args:
        trained: from a candidate and rows to a model that costs `spending.train`.
        scored: from a candidate, its model and other rows to its score.
    """
    order = source.permutation(n_records)
    n_rest = n_records - spending.n_validation
    T, V = order[:n_rest], order[n_rest:]
    runs, size = _runs(spending, n_candidates, source), spending.n_train
    parts = (
        [T[i * size : (i + 1) * size] for i in runs]
        if spending.method == "data_split" and len(runs) > 1
        else [T[:size]] * len(runs)
    )
    models = [trained(i, rows) for i, rows in zip(runs, parts, strict=True)]
    place = 0
    if spending.scale is not None:
        scores = [scored(i, model, V) for i, model in zip(runs, models, strict=True)]
        place = choose(scores, scale=spending.scale, noise=spending.noise, source=source)
    if spending.plan is not None and spending.plan.releases == "retrained":
        return runs[place], trained(runs[place], T)
    return runs[place], models[place]


def check_work(spending: Spending, n_cells: int, candidates: Sequence[Candidate]) -> None:
    """Raise ValueError for more expected work than a session should do; public numbers only."""
    widest = max([1, *(one.features.n_components for one in candidates if one.features)])
    if (work := float(spending.runs) * n_cells * widest) > MOST_WORK:
        raise ValueError(
            f"Expected rows x coefficients x trainings, {work:.2g}, to be at most {MOST_WORK:.0e}: "
            "take fewer candidates or another method."
        )


def _runs(spending: Spending, n_candidates: int, source: NoiseSource) -> list[int]:
    """The candidates that are trained, in order; drawn beforehand where they are drawn."""
    if spending.method == "random":
        return [_lot(n_candidates, source)]
    if spending.method == "random_stopping" and n_candidates > 1:
        times = 1
        while _lot(spending.runs, source):  # geometric: each is the last with chance 1 / runs
            times += 1
        return [_lot(n_candidates, source) for _ in range(times)]
    return list(range(n_candidates))


def _lot(size: int, source: NoiseSource) -> int:
    """One of 0, ..., size - 1, each with the same chance."""
    if isinstance(source, SystemSource):
        return source.below(size)
    return int(source.integers(size))


def mean_score(theta: Array, X: Array, y: Array, score: Score) -> float:
    """Return minus the mean loss of a model on records, in [-1, 0], to the nearest double; a model
    that is no number has -1.
    """
    if not np.isfinite(theta).all():
        return -1.0
    if score == "mistakes":
        wrong = np.where(X @ theta > 0.0, 1.0, -1.0) != y
        return -float(np.count_nonzero(wrong)) / len(y)
    assert isinstance(score, Ramp)
    norm = float(np.linalg.norm(theta))
    shortened = theta if norm <= LONGEST_MODEL else theta * (LONGEST_MODEL / norm)
    losses = score(y * (X @ shortened))
    return -int(np.rint(losses * _UNITS).astype(np.int64).sum()) / (len(y) * int(_UNITS))
