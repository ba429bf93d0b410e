"""One card, drawn: the rows divided, a rule chosen on one part, its mistakes counted on the
other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Integers
from dpci_core.privacy.budget import Amount
from dpci_core.privacy.choice import choose
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.scorecards.cards import Card, ScorecardClass
from dpci_core.scorecards.interval import interval_of
from dpci_core.scorecards.mistakes import EQUAL, Cost, cell_counts, mistakes_of_all
from dpci_core.scorecards.spending import CardSpending, parts_of


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnCard:
    """A released card; everything depends on the rule, a noisy count and public numbers only.

    card: the rule.
    n_rules: how many it was drawn from.
    noisy_mistakes: on the held-out rows, with noise.
    n_train, n_holdout: rows that chose, and that counted.
    is_simulation: whether the noise came from a generator, from which it can be taken off again.
    """

    card: Card
    n_rules: int
    noisy_mistakes: int
    n_train: int
    n_holdout: int
    spending: CardSpending
    is_simulation: bool

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Return (low, high) for the card's error, from `error_interval`."""
        return interval_of(self.noisy_mistakes, self.n_holdout, self.spending, confidence_level)


def choose_rule(
    mistakes: Integers, *, spending: CardSpending, source: NoiseSource, largest_cost: int = 1
) -> int:
    """Return the number of a rule, chosen privately.

    Args:
        mistakes: (n_rules,) of all rules on the rows that choose.
        spending: all of it is for this choice.
        source: the operating system's entropy, or a generator.
        largest_cost: max(cost): how far one record moves a number.

    Privacy: `spending`, replace-one neighbours, n public (docs/proofs/selection.md#cards).
    """
    return choose(
        -np.asarray(mistakes),
        scale=spending.choice_scale(float(largest_cost)),
        source=source,
        noise=spending.noise,
    )


def draw_card(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    cards: ScorecardClass,
    spending: CardSpending,
    source: NoiseSource,
    holdout: Amount = "0.3",
    cost: Cost = EQUAL,
) -> DrawnCard:
    """Return a card for answers and labels, with the noisy count of its mistakes on held-out rows.

    Args:
        X: (n, k) answers, 0 or 1.
        y: (n,) labels, 0 or 1.
        cards: what is drawn from.
        spending: of everything: a record lies in one part only, and each part costs all of it.
        source: the operating system's entropy, or a generator.
        holdout: share of the rows that counts.
        cost: of a false positive and a false negative, in whole units; the choice minds it, the
            count does not.

    Privacy: `spending`, replace-one neighbours, n public (docs/proofs/selection.md#cards).
    """
    bits, labels = np.asarray(X), np.asarray(y)
    n_train, n_holdout = parts_of(len(labels), holdout)
    order = source.permutation(len(labels))
    train, held = order[:n_train], order[n_train:]
    mistakes = mistakes_of_all(cell_counts(bits[train], labels[train]), cards, cost=cost)
    card = cards.rule(
        choose_rule(mistakes, spending=spending, source=source, largest_cost=max(cost))
    )
    wrong = int((card.says_yes(bits[held]) != (labels[held] == 1)).sum())
    return DrawnCard(
        card=card,
        n_rules=cards.n_rules,
        noisy_mistakes=spending.add_to_count(wrong, source),
        n_train=n_train,
        n_holdout=n_holdout,
        spending=spending,
        is_simulation=not isinstance(source, SystemSource),
    )
