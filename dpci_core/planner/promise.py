"""What a plan promises in every world that its declaration allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.design import Design
from dpci_core.intervals.forecast import forecast
from dpci_core.planner.targets import Target, outcome
from dpci_core.planner.worlds import Worlds, as_worlds
from dpci_core.report.cautions import SURE


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Promise:
    """The least favourable of what a design would give in several worlds.

    Arrays are (k,), one entry a coefficient or contrast.

    worlds: their assumptions, phrases that can stand after "if".
    chance: least chance over the worlds that a release reports the coefficient.
    decided_by: the assumption where it is least, of each.
    shortest, longest: expected lengths, in units of the contrast.
    coverage: least coverage.
    probability: least chance of meeting the target; None without one.
    probability_decided_by: where that is least.
    about: the place of the coefficient that the target is about; None for none, or the mean.
    """

    worlds: tuple[str, ...]
    chance: Array
    decided_by: tuple[str, ...]
    shortest: Array
    longest: Array
    coverage: Array
    probability: float | None
    probability_decided_by: str
    about: int | None = None

    @property
    def reportable(self) -> int:
        """How many coefficients are promised."""
        return int(np.count_nonzero(self.chance >= SURE))


def promise(
    worlds: Worlds,
    *,
    design: Design,
    contrasts: npt.ArrayLike | None = None,
    target: Target | None = None,
) -> Promise:
    """Return what a design promises whichever of the worlds is true; a forecast of each.

    Args:
        worlds: the moments of every world, or those of planning rows, at the c of the design.
        design: that is planned, with its n.
        contrasts: L (k, p), for combinations L theta.
        target: whose chance is told, scaled.

    Privacy:
        None of its own: it is as private as the moments, which must be public or simulated.

    Raises:
        ValueError: naming the argument.
        InfeasibleDesignError: the design cannot run at this n.
    """
    given = as_worlds(worlds)
    made = [forecast(one.moments, design=design, contrasts=contrasts) for one in given]
    chances = np.stack([one.chance_to_report for one in made])
    lengths = np.stack([one.ci_length for one in made])
    said = tuple(one.assumption for one in given)
    probability, decides = None, 0
    if target is not None:
        met = [outcome(one.moments, design=design, target=target).probability for one in given]
        decides = int(np.argmin(met))
        probability = met[decides]
    return Promise(
        worlds=said,
        chance=chances.min(axis=0),
        decided_by=tuple(said[place] for place in chances.argmin(axis=0)),
        shortest=lengths.min(axis=0),
        longest=lengths.max(axis=0),
        coverage=np.min([one.coverage for one in made], axis=0),
        probability=probability,
        probability_decided_by=said[decides],
        about=None if target is None else target.coefficient,
    )
