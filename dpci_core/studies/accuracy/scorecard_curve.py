"""Error against epsilon for private scorecards, regression and the published methods on public
tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from dpci_core import datasets
from dpci_core.base.array import Array, Integers
from dpci_core.datasets import schema_of
from dpci_core.design import Design
from dpci_core.losses import Logistic
from dpci_core.privacy.budget import PureDP
from dpci_core.scorecards import (
    CardSpending,
    ScorecardClass,
    answers,
    cell_counts,
    choose_rule,
    mistakes_of_all,
    scorecard_forecast,
)
from dpci_core.scorecards.published import IntegerBall, PublishedMethod, perturbed_choice
from dpci_core.scorecards.questions import Bits
from dpci_core.studies.accuracy.scorecard_run import QUESTIONS, RUN_SIZES
from dpci_core.tuning.learners import Learner, train
from dpci_core.tuning.released import for_coefficients_alone

BALL = IntegerBall(6, 2, 7)
"""For the published methods: as in [NRVW]'s experiment, whole vectors of d = 7, D^2 = 7."""
CARDS = ScorecardClass(6)
DELTA = 1e-5
"""Of OPDisc as printed."""
ALL_COLUMNS = ("adult", "bank")
"""Tables for which logistic regression is fitted on all columns too."""
_SEED = 20_191_009


@dataclass(frozen=True, kw_only=True)
class BalancedTable:
    """All positives of a public table and as many of the others; or so many of these rows.

    answers: (n, k).
    labels: (n,), 0 or 1.
    rows: (n, p) records of all columns, or None.
    """

    answers: Bits
    labels: Integers
    rows: Array | None

    @property
    def cells(self) -> Integers:
        """Counts (2^k, 2)."""
        return cell_counts(self.answers, self.labels)


def balanced_table(run: str) -> BalancedTable:
    """Return the table of a run; balancing by label reads the data, so for public tables only."""
    key, size = RUN_SIZES[run]
    schema, questions = schema_of(key), QUESTIONS[key]
    needed = (*dict.fromkeys(q.column for q in questions), schema.target)
    frame = datasets._read(key, needed, None)
    labels = (frame[schema.target].astype(str) == schema.positive).to_numpy().astype(np.int64)
    rng = np.random.default_rng(_SEED)
    few = int(min(labels.sum(), len(labels) - labels.sum()))
    kept = np.concatenate(
        [rng.permutation(np.flatnonzero(labels == side))[:few] for side in (0, 1)]
    )
    kept = rng.permutation(kept)[:size]
    part = frame.iloc[kept]
    X = answers({c: part[c].tolist() for c in needed[:-1]}, questions, schema)
    rows = datasets.load(key, encoding="schema").unweighted[kept] if key in ALL_COLUMNS else None
    return BalancedTable(answers=X, labels=labels[kept], rows=rows)


@dataclass(frozen=True, kw_only=True)
class Point:
    """One method at one epsilon; fields as of `ScorecardRate`."""

    method: str
    epsilon: str
    error: float
    error_se: float = 0.0
    error_sd: float = 0.0
    within: float = 0.0
    card: str = ""
    draws: int = 1


def scorecard_points(
    table: BalancedTable,
    *,
    epsilons: tuple[str, ...],
    n_draws: int,
    n_fits: int,
    rng: np.random.Generator,
) -> Iterator[Point]:
    """Yield every method at every epsilon.

    Args:
        table: rows.
        epsilons: totals.
        n_draws: of the published methods.
        n_fits: of logistic regression.
        rng: of all noise; the scorecard needs none but for the card that is shown.
    """
    n, cells = len(table.labels), table.cells
    mistakes, of_vectors = mistakes_of_all(cells, CARDS), BALL.mistakes(cells)
    bits = 2.0 * table.answers - 1.0
    few = np.column_stack([bits / np.sqrt(2.0 * bits.shape[1]), np.full(n, np.sqrt(0.5))])
    rows = {"logistic": few} | ({} if table.rows is None else {"logistic_all": table.rows})
    sides = np.where(table.labels == 1, 1.0, -1.0)
    yield Point(method="best_card", epsilon="", error=float(mistakes.min()) / n)
    plain = Learner(loss=Logistic(), method="non_private", regularization=1e-6)
    theta = train(sides[:, None] * few, learner=plain, epsilon=None, rng=rng)
    yield Point(method="best_logistic", epsilon="", error=_error(few, sides, theta))
    for epsilon in epsilons:
        spending = CardSpending.of(epsilon=epsilon)
        found = scorecard_forecast(mistakes, n_records=n, epsilon=epsilon)
        card = CARDS.rule(choose_rule(mistakes, spending=spending, source=rng))
        yield Point(
            method="scorecard",
            epsilon=epsilon,
            error=found.expected_error,
            within=found.within_one_point,
            card=" ".join(map(str, (*card.points, card.threshold))),
        )
        yield from _published(of_vectors / n, of_vectors, epsilon, n_draws, rng)
        for method, X in rows.items():
            yield _logistic(method, X, sides, epsilon, n_fits, rng)


def _published(
    shares: Array, mistakes: Integers, epsilon: str, n_draws: int, rng: np.random.Generator
) -> Iterator[Point]:
    methods: tuple[PublishedMethod, ...] = ("one_hot", "opdisc", "rspm", "opdisc_published")
    for method in methods:
        chosen = perturbed_choice(
            mistakes,
            BALL,
            method=method,
            epsilon=float(epsilon),
            delta=DELTA if method == "opdisc_published" else None,
            n_draws=n_draws,
            rng=rng,
        )
        yield _averaged(method, epsilon, shares[chosen], best=float(shares.min()))


def _logistic(
    method: str, X: Array, sides: Array, epsilon: str, n_fits: int, rng: np.random.Generator
) -> Point:
    """Objective perturbation with the whole budget and the default penalty."""
    from dpci_core.estimators.defaults import default_regularization

    design = Design(
        loss=Logistic(),
        mechanism="objective",
        budget=for_coefficients_alone(PureDP, Decimal(epsilon)),
        regularization=1.0,
    )
    c = default_regularization(design, n_records=len(X), n_coefficients=X.shape[1])
    learner = Learner(loss=Logistic(), method="objective_tight", regularization=c)
    A = sides[:, None] * X
    errors = [
        _error(X, sides, train(A, learner=learner, epsilon=float(epsilon), rng=rng))
        for _ in range(n_fits)
    ]
    return _averaged(method, epsilon, np.array(errors), best=0.0)


def _averaged(method: str, epsilon: str, errors: Array, *, best: float) -> Point:
    sd = float(errors.std(ddof=1)) if len(errors) > 1 else 0.0
    return Point(
        method=method,
        epsilon=epsilon,
        error=float(errors.mean()),
        error_se=sd / float(np.sqrt(len(errors))),
        error_sd=sd,
        within=float((errors <= best + 0.01).mean()) if best else 0.0,
        draws=len(errors),
    )


def _error(X: Array, sides: Array, theta: Array) -> float:
    return float(np.mean(sides * (X @ theta) <= 0.0))
