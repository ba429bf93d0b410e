"""What a plan promises in every world that is checked (`schema.worlds`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.planner.targets import Target, outcome
from dpci_core.planner.worlds import AnyDesign, Worlds, as_worlds, foreseen
from dpci_core.report.cautions import REPORTABLE_CHANCE

MORE_INCOMPLETE = 0.05
"""Share of the records by which more may be incomplete than a plan declares, unasked."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Promise:
    """The least favourable of what a design would give in several worlds.

    Arrays are (k,), one entry a coefficient or contrast.

    worlds: their assumptions, phrases that can stand after "if".
    chance: least chance over the worlds that a release reports the coefficient.
    decided_by: the assumption where it is least, of each.
    shortest, longest: expected lengths, in units of the contrast.
    longest_decided_by: the assumption where it is longest, of each.
    coverage: least coverage.
    probability: least chance of meeting the target; None without one.
    probability_decided_by: where that is least.
    within_reach: the shortest length that the target could ask for and be met; None of a power.
    about: the place of the coefficient that the target is about; None for none, or the mean.
    fewest: the number of records that everything but `shortest` is for.
    """

    worlds: tuple[str, ...]
    chance: Array
    decided_by: tuple[str, ...]
    shortest: Array
    longest: Array
    longest_decided_by: tuple[str, ...]
    coverage: Array
    probability: float | None
    probability_decided_by: str
    within_reach: float | None = None
    about: int | None = None
    fewest: int

    @property
    def reportable(self) -> int:
        """How many coefficients are promised."""
        return int(np.count_nonzero(self.chance >= REPORTABLE_CHANCE))

    def to_record(self, names: Sequence[str]) -> dict[str, Any]:
        """Return it as plain values for JSON; `names` of its coefficients."""
        return {
            "worlds": list(self.worlds),
            "reportable": self.reportable,
            "probability": self.probability,
            "effects": [
                {
                    "name": name,
                    "chance": float(self.chance[j]),
                    "decided_by": self.decided_by[j],
                    "shortest": float(self.shortest[j]),
                    "longest": float(self.longest[j]),
                    "longest_decided_by": self.longest_decided_by[j],
                    "coverage": float(self.coverage[j]),
                }
                for j, name in enumerate(names)
            ],
        }


def promise(
    worlds: Worlds,
    *,
    design: AnyDesign,
    contrasts: npt.ArrayLike | None = None,
    target: Target | None = None,
    fewest: int | None = None,
) -> Promise:
    """Return what a design promises whichever of the worlds is true; a forecast of each.

    It is for the fewest records that a release takes without a question. Shortest is what as many
    as planned for give in the first world, where no world with the fewest has shorter ones.

    Args:
        worlds: the moments of every world, or those of planning rows, at the c of the design.
        design: that is planned, with its n.
        contrasts: L (k, p), for combinations L theta.
        target: whose chance is told, scaled.
        fewest: records that have to be enough (`fewest_records`); default as many as planned for.

    Privacy:
        None of its own: it is as private as the moments, which must be public or simulated.

    Raises:
        ValueError: naming the argument.
        InfeasibleDesignError: the design cannot run at this n.
    """
    given = as_worlds(worlds)
    fewer = design if fewest is None else replace(design, n_records=fewest)
    made = [foreseen(one.moments, design=fewer, contrasts=contrasts) for one in given]
    chances = np.stack([one.chance_to_report for one in made])
    lengths = np.stack([one.ci_length for one in made])
    shortest = lengths.min(axis=0)
    if fewer != design:
        planned = foreseen(given[0].moments, design=design, contrasts=contrasts)
        shortest = np.minimum(shortest, planned.ci_length)
    said = tuple(one.assumption for one in given)
    probability, within_reach, decides = None, None, 0
    if target is not None:
        found = [outcome(one.moments, design=fewer, target=target) for one in given]
        met = [one.probability for one in found]
        decides = int(np.argmin(met))
        probability = met[decides]
        if not target.is_power:
            within_reach = max(one.within_reach for one in found)
    return Promise(
        worlds=said,
        chance=chances.min(axis=0),
        decided_by=tuple(said[place] for place in chances.argmin(axis=0)),
        shortest=shortest,
        longest=lengths.max(axis=0),
        longest_decided_by=tuple(said[place] for place in lengths.argmax(axis=0)),
        coverage=np.min([one.coverage for one in made], axis=0),
        probability=probability,
        probability_decided_by=said[decides],
        within_reach=within_reach,
        about=None if target is None else target.coefficient,
        fewest=fewer.n_records,
    )


def fewest_records(least: int, complete: float = 1.0) -> int:
    """Return how many records a release counts on at least, where no question is asked.

    Args:
        least: the smallest number of records that it takes.
        complete: the share of them that is declared to be complete; by `MORE_INCOMPLETE` fewer may
            be.

    >>> fewest_records(7_200), fewest_records(7_200, 0.5)
    (6840, 6480)
    """
    kept = max(complete - MORE_INCOMPLETE, 0.0) / complete
    return max(1, math.floor(least * kept + 1e-9))


def usable_records(n_records: int, complete: float = 1.0) -> int:
    """Return how many of these records can be used, where that share of them is complete.

    >>> usable_records(fewest_records(7_200, 0.5), 0.5)
    3240
    """
    return max(1, math.floor(n_records * complete + 1e-9))
