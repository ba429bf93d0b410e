"""Private tuning [CMS Algorithm 4]: candidates trained on disjoint parts, one chosen by the
exponential mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array, Integers
from dpci_core.base.errors import check_count, check_generator, check_positive, check_probability
from dpci_core.base.validation import check_unit_records
from dpci_core.privacy.budget import Amount, to_decimal, to_float_down
from dpci_core.privacy.choice import choose, noisy_max_probabilities
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.report.words import UNBOOKED_MARK, at_most, number_at_most
from dpci_core.tuning.features import CosineFeatures
from dpci_core.tuning.learners import Learner, train

Trainer = Callable[[Array, Learner], Array]
"""From rows y_i x_i (n, p) and a learner to private coefficients (p,)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """What is tuned: loss and h, method and c in the learner, the kernel and its width in the
    features.
    """

    learner: Learner
    features: CosineFeatures | None = None

    def map(self, X: Array) -> Array:
        """The records as this candidate sees them."""
        return X if self.features is None else self.features.transform(X)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChosenModel:
    """A privately chosen candidate with its coefficients (p,); scores, counts of mistakes and the
    other models are no part of it.

    n_features: of the records.
    is_simulation: whether the noise came from a generator, from which it can be taken off again.
    charge_id: of the ledger that was asked for it before it was drawn; None if none was.
    """

    candidates: tuple[Candidate, ...]
    index: int
    theta: Array
    n_features: int
    is_simulation: bool
    charge_id: int | None = None

    @property
    def chosen(self) -> Candidate:
        """The candidate that was chosen."""
        return self.candidates[self.index]

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return labels -1 or +1 for records (n, p) as they went in."""
        records = np.asarray(X, dtype=np.float64)
        if records.ndim != 2 or records.shape[1] != self.n_features:
            raise ValueError(f"Expected X of shape (n, {self.n_features}), got {records.shape}.")
        return np.where(self.chosen.map(records) @ self.theta > 0.0, 1.0, -1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class TuningResult(ChosenModel):
    """What [CMS] Algorithm 4 chose.

    epsilon: what all of it cost, exact.
    n_train: records behind each candidate.
    n_holdout: behind the choice.
    """

    epsilon: Decimal
    n_train: int
    n_holdout: int

    def sentence(self, delta: float = 0.05) -> str:
        """The utility bound and the price in words; printed beside every choice."""
        excess = utility_bound(
            n_candidates=len(self.candidates), epsilon=to_float_down(self.epsilon), delta=delta
        )
        share = excess / self.n_holdout
        mark = (
            " SIMULATION: its noise comes from a generator and protects nobody."
            if self.is_simulation
            else f" It is {UNBOOKED_MARK}."
            if self.charge_id is None
            else f" It is charge {self.charge_id} of the ledger."
        )
        return (
            f"With probability {1.0 - delta:g} the choice makes at most {number_at_most(excess)} "
            f"more mistakes on {self.n_holdout:,} held-out records ({at_most(share)}) than the "
            f"best of {len(self.candidates)} candidates, each trained on {self.n_train:,}. "
            f"Training and choice together cost epsilon = {self.epsilon}.{mark}"
        )


def utility_bound(*, n_candidates: int, epsilon: float, delta: float) -> float:
    """Return 2 log(m/delta)/epsilon: with probability 1 - delta the choice makes no more mistakes
    above the best.

    Args:
        n_candidates: m.
        epsilon: of the choice (> 0).
        delta: in (0, 1).

    Source:  CMS section 6 (McSherry and Talwar): a candidate that makes s more has weight at most
             e^(-epsilon s/2).

    >>> round(utility_bound(n_candidates=5, epsilon=0.1, delta=0.05), 1)
    92.1
    """
    check_count(n_candidates=n_candidates)
    check_positive(epsilon=epsilon)
    check_probability(delta=delta)
    return 2.0 * math.log(n_candidates / delta) / epsilon


def selection_probabilities(mistakes: Integers, *, epsilon: float) -> Array:
    """Return the exponential mechanism's probabilities, proportional to exp(-epsilon mistakes / 2).

    Args:
        mistakes: (m,) of the candidates, or (B, m), a choice in each row.
        epsilon: of one choice (> 0).

    Privacy: replacing one held-out record changes each count by at most 1, so one draw is
             epsilon-DP.
    """
    check_positive(epsilon=epsilon)
    scale = choice_scale(Decimal(repr(float(epsilon))))
    return noisy_max_probabilities(-np.asarray(mistakes), scale=scale, noise="gumbel")


def choice_scale(epsilon: Decimal, *, moves: float = 1.0) -> float:
    """Return 2 moves / epsilon, rounded up: the noise of an epsilon-DP choice among scores that one
    record moves by so much.
    """
    return 2.0 * moves / to_float_down(epsilon) * (1.0 + 2.0**-50)


def tune_privately(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    candidates: Sequence[Candidate],
    epsilon: Amount,
    rng: np.random.Generator,
) -> TuningResult:
    """Train candidate i on part i of m + 1 equal parts, count its mistakes on the last, choose one
    of the m.

    Args:
        X, y: as for `private_intervals`; norms are at most 1 after each candidate's map too.
        candidates: a list made without looking at the data.
        epsilon: for everything.
        rng: a seeded generator: a simulation (`estimators.tune_for_release` draws from the
            operating system). It draws the partition, which depends on n alone, too.

    Privacy: epsilon-DP in all. Replacing one record touches one part: if it trained candidate i,
             only that model changes, which is epsilon-DP, and the choice is made from it and from
             records it does not share; if it was held out, no model changes, and the choice is
             epsilon-DP.  The n of every bound is the part's.
    Raises:  ValueError for fewer than m + 1 records or a candidate without privacy;
             DataRejectedError.
    Source:  CMS Algorithm 4.  Differs: the remainder of n / (m + 1), at most m records, is held out
             too.
    """
    check_generator(rng)
    amount = to_decimal(epsilon, name="epsilon")
    listed = checked_candidates(candidates)
    features, labels = check_unit_records(X, y)
    at = to_float_down(amount)
    return tune_by(
        features,
        labels,
        candidates=listed,
        epsilon=amount,
        source=rng,
        trainer=lambda A, learner: train(A, learner=learner, epsilon=at, rng=rng),
    )


def rows_each(n_records: int, n_candidates: int) -> int:
    """Return how many records train each candidate.

    Raises:  ValueError where that is none.
    """
    size = n_records // (n_candidates + 1)
    if size < 1:
        raise ValueError(
            f"Expected at least {n_candidates + 1} records for {n_candidates} candidates."
        )
    return size


def tune_by(
    features: Array,
    labels: Array,
    *,
    candidates: tuple[Candidate, ...],
    epsilon: Decimal,
    source: NoiseSource,
    trainer: Trainer,
) -> TuningResult:
    """`tune_privately` with a trainer that is epsilon-DP and noise from a source; arguments are
    checked already.
    """
    size = rows_each(len(labels), len(candidates))
    is_simulation = not isinstance(source, SystemSource)
    order = source.permutation(len(labels))
    held_out = order[size * len(candidates) :]
    models, mistakes = [], []
    for i, candidate in enumerate(candidates):
        part = order[i * size : (i + 1) * size]
        model = trainer(labels[part, None] * candidate.map(features[part]), candidate.learner)
        predicted = np.where(candidate.map(features[held_out]) @ model > 0.0, 1.0, -1.0)
        models.append(model)
        mistakes.append(int((predicted != labels[held_out]).sum()))
    scores = -np.array(mistakes, dtype=np.float64)
    index = choose(scores, scale=choice_scale(epsilon), source=source, noise="gumbel")
    return TuningResult(
        candidates=candidates,
        index=index,
        theta=models[index],
        epsilon=epsilon,
        n_train=size,
        n_holdout=len(held_out),
        n_features=features.shape[1],
        is_simulation=is_simulation,
    )


def checked_candidates(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates, all of them private ones."""
    listed = tuple(candidates) if isinstance(candidates, list | tuple) else ()
    if not listed or not all(isinstance(candidate, Candidate) for candidate in listed):
        raise ValueError("Expected candidates to hold at least one Candidate.")
    if any(candidate.learner.method == "non_private" for candidate in listed):
        raise ValueError(
            "Expected every candidate to be private; one of them has method='non_private'."
        )
    return listed
