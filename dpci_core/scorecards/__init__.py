"""Private scorecards: whole points for yes/no answers, one card drawn from all, with an interval
for its error.

docs/proofs/selection.md#cards has the argument. `published` and `opsamp` hold methods of others for
comparison, which never release.
"""

from dpci_core.scorecards.cards import WORK_LIMIT, Card, ScorecardClass, TooManyCardsError
from dpci_core.scorecards.draw import DrawnCard, choose_rule, draw_card
from dpci_core.scorecards.interval import error_interval
from dpci_core.scorecards.mistakes import cell_counts, checked_cost, mistakes_of_all
from dpci_core.scorecards.spending import CardSpending

__all__ = [
    "WORK_LIMIT",
    "Card",
    "CardSpending",
    "DrawnCard",
    "ScorecardClass",
    "TooManyCardsError",
    "cell_counts",
    "checked_cost",
    "choose_rule",
    "draw_card",
    "error_interval",
    "mistakes_of_all",
]
