"""The record of a released linear regression, and what was drawn for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from dpci_core.base.array import Array
from dpci_core.intervals.draw import ReleasedIntervals
from dpci_core.plan import LinearPlan
from dpci_core.plan.codec import plain
from dpci_core.plan.linear import plain_design
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.fit import LinearFit
from dpci_core.regression.joint import LinearLaw
from dpci_core.release.record import AnyRelease
from dpci_core.schema import NumericColumn

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Steps:
    """What was drawn, as a record has it; the names are those of `LinearFit`."""

    phi: tuple[float, ...]
    metric: Matrix
    second_moment: Matrix
    whiten: Matrix
    covariance: Matrix
    clips: tuple[float, ...]
    share_clipped: float

    @classmethod
    def of(cls, fit: LinearFit) -> Steps:
        """Those of a fit."""
        return cls(
            phi=tuple(fit.phi.tolist()),
            clips=tuple(map(float, fit.clips)),
            share_clipped=fit.share_clipped,
            **{name: _plain(getattr(fit, name)) for name in _MATRICES},
        )

    def fit(self, design: LinearDesign) -> LinearFit:
        """Return the fit, without what its matrices were made of."""
        return LinearFit(
            design=design,
            phi=np.array(self.phi),
            clips=self.clips,
            share_clipped=self.share_clipped,
            numbers=(),
            **{name: np.array(getattr(self, name)) for name in _MATRICES},
        )


_MATRICES = ("metric", "second_moment", "whiten", "covariance")


def _plain(matrix: Array) -> Matrix:
    return tuple(map(tuple, matrix.tolist()))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LinearRelease(AnyRelease):
    """One release of a linear regression: the record that release.json holds.

    drawn: what the intervals are made of.
    """

    design: LinearDesign
    drawn: Steps

    def _arrays(self, p: int) -> Iterator[tuple[str, Sequence[Any], tuple[int, ...]]]:
        yield "phi", self.drawn.phi, (p,)
        yield "clips", self.drawn.clips, (self.design.steps,)
        for name in _MATRICES:
            yield name, getattr(self.drawn, name), (p, p)

    @property
    def outcome(self) -> NumericColumn:
        """The outcome as declared."""
        assert self.schema.outcome is not None
        return self.schema.outcome

    @property
    def how(self) -> str:
        """How the model was trained and the noise put in."""
        return (
            f"Linear regression by {self.design.steps} Newton steps, each with every "
            f"{self.counted[:-1]}'s influence cut to a released length, with Gaussian noise on "
            "each."
        )

    @property
    def theta(self) -> Array:
        """The coefficients (p,) of rows x, for the outcome in its own units."""
        return theta_of(self.drawn.fit(self.design), self.outcome, self.mapper.constant)

    def law(self) -> LinearLaw:
        """Return the law that the intervals are made of."""
        return LinearLaw(self.drawn.fit(self.design), self.theta, self.outcome.unit)

    def predict(self, frame: pd.DataFrame) -> Array:
        """Return the mean outcome of every row (n,), in its units; NaN for one with a missing
        cell.
        """
        return self.decision(frame)

    def predictions(self, frame: pd.DataFrame) -> dict[str, list[str]]:
        """Return the mean outcome of every row."""
        return {"prediction": list(map(repr, self.decision(frame).tolist()))}

    def _drawn(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"design": plain_design(self.design)}, {"matrices": plain(self.drawn)}


def theta_of(fit: LinearFit, outcome: NumericColumn, constant: float) -> Array:
    """Return the coefficients (p,) of rows x for the outcome in its own units: its typical value
    goes to the last, which multiplies the constant.
    """
    theta = outcome.unit * fit.theta
    theta[-1] += outcome.centre / constant
    return np.asarray(theta)


def linear_intervals(plan: LinearPlan, fit: LinearFit) -> ReleasedIntervals:
    """Return the intervals of a fit, per spread and per unit of each column."""
    p, level = len(plan.names), plan.design.confidence_level
    widths = fit.half_widths(plan.contrasts)
    estimate = plan.contrasts @ fit.theta
    estimate[[p - 1, 2 * p - 1]] += plan.outcome.centre
    sd = np.sqrt(widths.sampling + widths.privacy)
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    return ReleasedIntervals(
        released=estimate[:p],
        estimate=estimate,
        low=estimate - widths.half_width,
        high=estimate + widths.half_width,
        sampling_se=np.sqrt(widths.sampling),
        privacy_se=np.sqrt(widths.privacy),
        noise_factor=widths.half_width / (z * sd),
        is_noise_aware=np.ones(2 * p, dtype=np.bool_),
        is_not_estimable=widths.is_not_estimable,
    )
