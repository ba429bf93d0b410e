"""The joint law of the errors of one linear regression
(docs/proofs/gaussian.md#estimate-and-interval): normal, with the Student law that the noise on the
released covariance makes of it.

The degrees of freedom differ from contrast to contrast; together the errors take the fewest, so
what holds at once is a little longer than it would have to be.

Privacy: post-processing; released and public numbers are all it sees, and nothing is charged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import fdtr, fdtrc, stdtr

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import check_count, check_generator
from dpci_core.intervals.joint import JointErrors, directions, root_of, whitener
from dpci_core.regression.fit import LinearFit
from dpci_core.regression.intervals import LinearWidths


@dataclass(frozen=True, slots=True, eq=False)
class LinearLaw:
    """The law of the errors of every combination of the coefficients of a linear regression.

    theta: coefficients of the rows x, with the outcome in its own units, (p,).
    unit: spread of the outcome.
    """

    fit: LinearFit
    theta: Array
    unit: float

    def errors(self, contrasts: Array) -> LinearErrors:
        """Return the errors of the combinations L theta, L (k, p)."""
        return LinearErrors(self.fit, self.unit * contrasts, np.asarray(contrasts @ self.theta))


@dataclass(frozen=True, eq=False)
class LinearErrors(JointErrors):
    """The errors of k combinations of theta together.

    contrasts: L (k, p), for the outcome in its spreads.
    at: what the intervals are around, (k,).
    """

    fit: LinearFit
    contrasts: Array
    at: Array

    @property
    def level(self) -> float:  # type: ignore[override]
        """That of the design."""
        return self.fit.design.confidence_level

    @cached_property
    def _widths(self) -> LinearWidths:
        return self.fit.half_widths(self.contrasts)

    @property
    def estimate(self) -> Array:
        """What the intervals are around, (k,)."""
        return self.at

    @property
    def privacy_share(self) -> Array:
        """Part of each error variance (k,) that is noise, or what the steps left."""
        found = self._widths
        return np.asarray(found.privacy / (found.sampling + found.privacy))

    @property
    def is_not_estimable(self) -> Flags:
        """Which combinations (k,) are not estimable."""
        return self._widths.is_not_estimable

    def half_width(self, level: float) -> Array:
        """Return half-widths (k,) of any level."""
        return self.fit.half_widths(self.contrasts, level).half_width

    def p_value(self, distance: Array) -> Array:
        """Return the probability (k,) of an error larger than `distance` (k,)."""
        found = self._widths
        sd = np.sqrt(found.sampling + found.privacy)
        return np.asarray(2.0 * stdtr(found.degrees, -np.abs(distance) / sd))

    @property
    def variance(self) -> Array:
        """Covariance (k, k) of the errors, that of the gradients taken as released."""
        return self._widths.covariance

    @cached_property
    def furthest(self) -> tuple[Array, int]:
        """g (directions,), the largest error against its half-width, and m."""
        root = root_of(self.variance)
        m = root.shape[1]
        return np.max(np.abs(directions(m) @ root.T) / self.half_width(self.level), axis=1), m

    @cached_property
    def distances(self) -> tuple[Array, int]:
        """1: the `distance` is that of z itself; and m."""
        m = len(whitener(self.variance))
        return np.ones(1), m

    @property
    def _fewest(self) -> float:
        return float(self._widths.degrees.min())

    def ball(self, m: int, squared: Array) -> Array:
        """The probability of |z|^2 at most `squared`, by Student's law."""
        return np.asarray(fdtr(m, self._fewest, squared / m))

    def outside(self, m: int, squared: Array) -> Array:
        """That of more."""
        return np.asarray(fdtrc(m, self._fewest, squared / m))

    def draws(self, size: int, rng: np.random.Generator) -> Array:
        """Return errors (size, k) drawn from their normal law."""
        check_count(size=size)
        check_generator(rng)
        root = root_of(self.variance)
        return np.asarray(rng.standard_normal((size, root.shape[1])) @ root.T)
