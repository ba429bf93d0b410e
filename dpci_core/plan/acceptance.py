"""The rule by which a plan says beforehand when its release is to be published: of released numbers
only, and therefore free (docs/proofs/release.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpci_core.base.errors import check_count, check_range, expect
from dpci_core.design import Measures
from dpci_core.report.effect_table import EffectTable
from dpci_core.report.words import joined, many, number_at_most

WITHIN = (1.0001, 1e6)


@dataclass(frozen=True, kw_only=True, slots=True)
class Acceptance:
    """A release is to be published only if all of this holds.

    Args:
        within: a factor that every reported odds ratio has to be known to within, that is the root
            of the upper end of its interval over the lower one; None for any length.
        reported: how many effects have to be reported at least.

    Privacy: post-processing of what was released and paid for.
    Raises:  ValueError naming the argument.

    >>> Acceptance(within=1.2, reported=5).sentence
    'Published only if at least 5 effects are reported, each to within a factor of 1.2.'
    """

    within: float | None = None
    reported: int = 1

    def __post_init__(self) -> None:
        check_count(reported=self.reported)
        if self.within is not None:
            check_range(WITHIN, within=self.within)
            object.__setattr__(self, "within", float(self.within))

    def check_against(self, n_effects: int, *, measures: Measures) -> None:
        """Raise ValueError for a rule that no release of a model could meet, or has no meaning."""
        expect(
            self.reported <= n_effects,
            f"Expected reported={self.reported} to be at most the {many(n_effects, 'effect')} of "
            "the plan.",
        )
        expect(
            self.within is None or measures == "odds",
            "Expected no `within` for a model without odds ratios.",
        )

    @property
    def sentence(self) -> str:
        """The rule in words, its factor to the last digit."""
        told = "1 effect is" if self.reported == 1 else f"{self.reported} effects are"
        factor = repr(self.within).removesuffix(".0")
        length = "" if self.within is None else f", each to within a factor of {factor}"
        return f"Published only if at least {told} reported{length}."

    def broken_by(self, table: EffectTable) -> tuple[str, ...]:
        """Return what of the rule the effects of a release break; none for one to be published."""
        told, found = table.told, []
        if len(told) < self.reported:
            of = many(len(table.rows), "effect")
            found.append(f"{len(told)} of {of} {'is' if len(told) == 1 else 'are'} reported")
        if self.within is not None:
            long = [row for row in told if row.half > math.log(self.within)]
            if long:
                worst = math.exp(min(700.0, max(row.half for row in long)))
                found.append(
                    f"{joined([row.name for row in long])} "
                    f"{'is' if len(long) == 1 else 'are'} known to within a factor of "
                    f"{'' if len(long) == 1 else 'up to '}{number_at_most(worst, 4)}"
                )
        return tuple(found)

    def verdict(self, table: EffectTable) -> str:
        """Whether the effects of a release are to be published, in words."""
        broken = self.broken_by(table)
        if not broken:
            return f"Accepted by the plan's own rule. {self.sentence}"
        return (
            f"Not accepted by the plan's own rule: {'; '.join(broken)}. {self.sentence} The charge "
            "stays spent."
        )


STAYS_SPENT = (
    "What does not meet it is not to be published, and its charge stays spent; another draw costs "
    "the price again."
)
"""Stands beside a rule before a release."""
