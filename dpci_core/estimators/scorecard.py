"""`DPScorecard`: whole points for yes/no answers, drawn privately, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dpci_core.base.array import Array
from dpci_core.base.errors import check_probability
from dpci_core.estimators.account import (
    LedgerAccount,
    Payable,
    check_labels_declared,
    drawn_by,
    payer,
)
from dpci_core.estimators.input import check_features, check_labels, names_of
from dpci_core.estimators.scaling import one_each
from dpci_core.estimators.settings import settings_of, table_of
from dpci_core.estimators.statement import ChoiceStatement, noise_source
from dpci_core.estimators.unpaid import warn_if_unpaid
from dpci_core.ledger import Cost
from dpci_core.privacy.budget import Amount
from dpci_core.privacy.randomness import SystemSource
from dpci_core.scorecards import (
    Card,
    CardSpending,
    ScorecardClass,
    checked_cost,
    draw_card,
)
from dpci_core.scorecards.spending import parts_of


class DPScorecard(Payable, ClassifierMixin, BaseEstimator):
    """A card of whole points, drawn privately from all cards of a class, with an interval for its
    error from rows that did not choose it.

    Args:
        epsilon, rho: of everything, one of them; `fit` refuses without.
        weights: smallest and largest points for a yes.
        thresholds: smallest and largest threshold, halves; None is -5.5 to 5.5.
        at_least: cut points of the columns of X, one number or one a column, in their order or by
            name (a dictionary or a Series), chosen without looking at X; a yes is a value that is
            at least as large. None: X holds 0 and 1.
        holdout: share of the rows that count the card's mistakes.
        cost: of a false positive and a false negative, in (0, 1]; only their ratio matters.
        classes: the two labels, the second is yes; by default those that occur.
        confidence_level: of the interval.
        random_state: None draws from the operating system's entropy. A seed or a generator makes
            the fit a SIMULATION.
        ledger: as for `DPLogisticRegression`.

    Shapes:  `points_` (k,); `threshold_`; `error_interval_` (low, high); `n_rules_`, how many cards
             that differ were drawn from; `classes_`; `privacy_`.
    Privacy: epsilon-DP or rho-zCDP, replace-one neighbours, n public, no delta
             (docs/proofs/selection.md#cards).
    Raises:  ValueError from `fit`; TooManyCardsError before a row is looked at. No message holds a
             value.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (5000, 3))
    >>> y = X[:, 0] + X[:, 1] > rng.random(5000)
    >>> model = DPScorecard(epsilon=1, classes=(False, True), random_state=1).fit(X, y)
    >>> print(model.to_card(["married", "degree", "lucky"]))
    married  1
    degree   1
    lucky    0
    yes if the sum is above 0.5
    >>> model.n_rules_, [round(end, 3) for end in model.error_interval_]
    (104, [0.0, 0.005])
    """

    def __init__(
        self,
        *,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        weights: tuple[int, int] = (-2, 2),
        thresholds: tuple[float, float] | None = None,
        at_least: Any = None,
        holdout: Amount = "0.3",
        cost: tuple[Amount, Amount] = ("1", "1"),
        classes: Any = None,
        confidence_level: float = 0.95,
        random_state: Any = None,
        ledger: LedgerAccount | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.rho = rho
        self.weights = weights
        self.thresholds = thresholds
        self.at_least = at_least
        self.holdout = holdout
        self.cost = cost
        self.classes = classes
        self.confidence_level = confidence_level
        self.random_state = random_state
        self.ledger = ledger

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Divide the rows, draw a card on one part, count its mistakes on the other.

        Args:
            X: (n, k) of 0 and 1, or numbers where `at_least` is given.
            y: (n,) of two labels.

        Privacy: `privacy_`.
        """
        spending = CardSpending.of(epsilon=self.epsilon, rho=self.rho)
        cost = checked_cost(self.cost)
        check_probability(confidence_level=self.confidence_level)
        shape = tuple(getattr(X, "shape", ()))
        if len(shape) == 2 and shape[1]:
            self._cards(shape[1])  # too many are refused before a row is looked at
        features = check_features(self, X, reset=True)
        cards = self._cards(features.shape[1])
        bits = self._answers(features)
        classes, codes = check_labels(y, self.classes, n_records=len(features))
        if len(classes) != 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"Expected two classes, got {len(classes)} classes."
            )
        source = noise_source(self.random_state)
        account = payer(self.ledger, source)
        check_labels_declared(account, self.classes)
        parts_of(len(codes), self.holdout)  # refuses before it is booked
        amount = spending.amount
        warn_if_unpaid(account, source)
        drawn, charge = drawn_by(
            account,
            lambda: draw_card(
                bits,
                codes,
                cards=cards,
                spending=spending,
                source=source,
                holdout=self.holdout,
                cost=cost,
            ),
            cost=lambda: Cost(
                definition=spending.definition, amount=amount, lines=[("card and count", amount)]
            ),
            name="DPScorecard.fit",
            settings=table_of(X, y, bits.shape) | settings_of(self),
            released=lambda made: (made.card.points, made.card.threshold, made.noisy_mistakes),
        )
        self.classes_ = classes
        self.points_ = np.array(drawn.card.points, dtype=np.int64)
        self.threshold_ = drawn.card.threshold
        self.error_interval_ = drawn.interval(self.confidence_level)
        self.n_rules_ = drawn.n_rules
        self.privacy_ = ChoiceStatement(
            amount=spending.amount,
            definition=spending.definition,
            noise="system" if isinstance(source, SystemSource) else "seeded",
            classes_declared=self.classes is not None,
            charge=charge,
        )
        return self

    def predict(self, X: Any) -> Any:
        """Return the label of each row: the second class where the points exceed the threshold."""
        is_second = self.decision_function(X) > 0.0
        return self.classes_[is_second.astype(np.intp)]

    def decision_function(self, X: Any) -> Array:
        """Return points minus threshold (n,)."""
        check_is_fitted(self)
        return self._card.scores(self._answers(check_features(self, X, reset=False)))

    def to_card(self, names: Sequence[str] | None = None) -> str:
        """Return the card as text: a line for each question, and the threshold.

        Args:
            names: of the questions, (k,); by default those of the columns.
        """
        check_is_fitted(self)
        found = getattr(self, "feature_names_in_", None) if names is None else names
        if found is None:
            found = [f"x{j}" for j in range(len(self.points_))]
        if len(found) != len(self.points_):
            raise ValueError(f"Expected {len(self.points_)} names, got {len(found)}.")
        wide = max(len(name) for name in found)
        lines = [
            f"{name:{wide}}  {points}"
            for name, points in zip(found, self.points_.tolist(), strict=True)
        ]
        return "\n".join([*lines, f"yes if the sum is above {self.threshold_:g}"])

    @property
    def _card(self) -> Card:
        return Card(tuple(self.points_.tolist()), self.threshold_)

    def _cards(self, n_questions: int) -> ScorecardClass:
        settings = {} if self.thresholds is None else {"thresholds": self.thresholds}
        return ScorecardClass(n_questions, self.weights, **settings)

    def _answers(self, features: Array) -> npt.NDArray[np.uint8]:
        if self.at_least is None:
            is_other = ~np.isin(features, (0.0, 1.0)).all(axis=0)
            if is_other.any():
                j, names = int(is_other.argmax()), names_of(self)
                column = j if names is None else repr(names[j])
                raise ValueError(
                    f"Expected column {column} of X to hold 0 and 1 only, or give at_least."
                )
            return features.astype(np.uint8)
        cuts = one_each(self.at_least, features.shape[1], "at_least", names_of(self))
        return (features >= cuts).astype(np.uint8)
