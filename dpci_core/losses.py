"""Pointwise losses of the margin z = y x.theta, with the bounds that privacy proofs need.

A further smooth loss is one more subclass of `Loss`, three pointwise functions and two bounds, and
its line in `LOSSES`. The compiled passes of an experiment know those of this module
(`solvers.replicates`); another one goes through its own methods there, which is slower.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from scipy.special import expit

from dpci_core.base.array import Array
from dpci_core.base.errors import check_choice
from dpci_core.base.limits import width_in_range


class Loss(ABC):
    """A convex loss f of the margin, differentiable, with |f'| <= 1 and f'' <= `max_curvature`.

    Subclasses are frozen dataclasses, so that a loss can be compared and be part of a key.
    """

    name: str
    title: str
    """What a reader calls the model."""
    effect = "margin"
    """What a coefficient changes."""
    is_log_odds = False
    """Whether a margin is the log-odds of a label, so that the model gives probabilities."""
    is_nonincreasing = False
    """Whether f' <= 0 everywhere; Gaussian objective perturbation needs it
    (`sensitivity.gaussian_objective_sd`).
    """
    allows_weights = False
    """Whether the roots of `max_squared_slope` and `exact_squared_slope` are concave in the radius,
    as for the losses here. Then what bounds a row of norm 1 bounds w f and a row of norm 1/sqrt(w)
    as well (docs/proofs/map.md); rows with weights are refused elsewhere."""
    newton_remainder = 1.0
    """What a Newton step leaves of the way to a minimiser, in units of |step| times the longest
    step of a coefficient (`_newton_step`). A rule of thumb, no bound: on a grid of tables about
    half of the steps leave less (tests/test_losses.py); smaller for a loss whose curvature changes
    slowly with the margin."""

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """Names of the numbers it is made of, in files too."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    @property
    def parameters(self) -> dict[str, float]:
        """These numbers by name."""
        return {name: getattr(self, name) for name in self.parameter_names()}

    @property
    def opening(self) -> str:
        """The title at the start of a sentence."""
        return f"A {self.title}"

    @abstractmethod
    def value(self, z: Array) -> Array:
        """f(z), elementwise."""

    @abstractmethod
    def slope(self, z: Array) -> Array:
        """f'(z), elementwise."""

    @abstractmethod
    def curvature(self, z: Array) -> Array:
        """f''(z), elementwise; where f' has a kink, the value of the closed middle branch."""

    def derivatives(self, z: Array) -> tuple[Array, Array, Array]:
        """f(z), f'(z) and f''(z), the same numbers at once."""
        return self.value(z), self.slope(z), self.curvature(z)

    @property
    @abstractmethod
    def max_curvature(self) -> float:
        """The paper's t: the largest f''(z) over all z."""

    @abstractmethod
    def max_squared_slope(self, radius: float) -> float:
        """A bound on f'(z)^2 over |z| <= radius, as the published sensitivities use it."""

    def exact_squared_slope(self, radius: float) -> float:
        """The maximum of f'(z)^2 over |z| <= radius, where it is smaller than the published
        bound.
        """
        return self.max_squared_slope(radius)


@dataclass(frozen=True)
class Logistic(Loss):
    """f(z) = log(1 + exp(-z)).

    >>> float(Logistic().slope(np.array([0.0]))[0]), Logistic().max_curvature
    (-0.5, 0.25)
    """

    name = "logistic"
    title = "logistic regression"
    opening = "Logistic regression"
    effect = "log odds"
    is_log_odds = True
    is_nonincreasing = True
    allows_weights = True
    newton_remainder = 0.01

    def value(self, z: Array) -> Array:
        return np.logaddexp(0.0, -z)

    def slope(self, z: Array) -> Array:
        return np.asarray(-expit(-z))

    def curvature(self, z: Array) -> Array:
        small = np.exp(-np.abs(z))  # half the time of two sigmoids, to the same digits
        return np.asarray(small / (1.0 + small) ** 2)

    def derivatives(self, z: Array) -> tuple[Array, Array, Array]:
        small = np.exp(-np.abs(z))
        both = 1.0 + small
        value = np.log1p(small) + np.maximum(-z, 0.0)
        return value, np.where(z < 0.0, -1.0, -small) / both, small / (both * both)

    @property
    def max_curvature(self) -> float:
        return 0.25

    def max_squared_slope(self, radius: float) -> float:
        """sigmoid(radius)^2, attained at z = -radius [WKL Lemma 2]."""
        return float(expit(radius)) ** 2


@dataclass(frozen=True)
class RoundedHinge(Loss):
    """Hinge loss with its kink at z = 1 rounded over a band of half-width h: 0 above 1+h, 1-z below
    1-h.
    """

    h: float
    rounding: ClassVar[str]
    """What the hinge is rounded by, in the title."""
    is_nonincreasing = True
    allows_weights = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "h", width_in_range(self.h))

    @property
    def title(self) -> str:  # type: ignore[override]
        """The name of the loss with its smoothing h, as pages and reports show it."""
        return f"{self.rounding} SVM with h = {self.h:g}"

    def _ramp(self, z: Array) -> Array:
        """From 0 at the upper end of the band to 1 at the lower."""
        return np.clip((1.0 + self.h - z) / (2.0 * self.h), 0.0, 1.0)

    @property
    def newton_remainder(self) -> float:  # type: ignore[override]
        """Margins enter and leave the band as they move, and with them their curvature.

        1/(2t) is the half-width of a band of even curvature t: h for the Huber SVM, 2h/3 for the
        smoothed hinge.
        """
        return 0.3 / min(0.5 / self.max_curvature, 1.0)

    def max_squared_slope(self, radius: float) -> float:
        """1 whatever the radius [WKL Lemma 4]."""
        return 1.0

    def exact_squared_slope(self, radius: float) -> float:
        """The maximum itself, at z = -radius: the slope reaches 1 only at z = 1 - h (only h >
        1).
        """
        return float(self.slope(np.array(-radius))) ** 2


@dataclass(frozen=True)
class HuberSVM(RoundedHinge):
    """Hinge loss with its kink at z = 1 rounded by a parabola of half-width h [CMS eq. 7; WKL
    section 3].

    f(z) = 0 above 1+h, (1+h-z)^2/(4h) within h of 1, 1-z below.

    >>> HuberSVM(h=0.5).max_curvature
    1.0
    """

    name = "huber_svm"
    rounding = "Huber"

    def value(self, z: Array) -> Array:
        gap = np.clip(1.0 + self.h - z, 0.0, 2.0 * self.h)
        return gap * gap / (4.0 * self.h) + np.maximum(1.0 - self.h - z, 0.0)

    def slope(self, z: Array) -> Array:
        return -self._ramp(z)

    def curvature(self, z: Array) -> Array:
        return np.where(np.abs(1.0 - z) <= self.h, 1.0 / (2.0 * self.h), 0.0)

    @property
    def max_curvature(self) -> float:
        return 1.0 / (2.0 * self.h)


@dataclass(frozen=True)
class SmoothedHinge(RoundedHinge):
    """Hinge loss with its kink at z = 1 rounded by a quartic, twice differentiable [CMS eq. 38].

    With s = (1+h-z)/(2h) clipped to [0, 1]: f(z) = h s^3 (2-s), plus 1-h-z below 1-h; f' = -s^2
    (3-2s). The printed polynomial -u^4/(16h^3) + 3u^2/(8h) + u/2 + 3h/16 in u = 1-z is the same,
    less exact where it is small.

    >>> SmoothedHinge(h=0.5).max_curvature
    1.5
    """

    name = "smoothed_hinge"
    rounding = "smoothed-hinge"

    def value(self, z: Array) -> Array:
        s = self._ramp(z)
        return self.h * s**3 * (2.0 - s) + np.maximum(1.0 - self.h - z, 0.0)

    def slope(self, z: Array) -> Array:
        s = self._ramp(z)
        return -s * s * (3.0 - 2.0 * s)

    def curvature(self, z: Array) -> Array:
        s = self._ramp(z)
        return 3.0 * s * (1.0 - s) / self.h

    @property
    def max_curvature(self) -> float:
        """3/(4h), at z = 1."""
        return 3.0 / (4.0 * self.h)


LOSSES: dict[str, type[Loss]] = {kind.name: kind for kind in (Logistic, HuberSVM, SmoothedHinge)}
"""Every loss by name, in the order in which they are listed; a further one is added here."""


def make_loss(name: str, h: object = None, **others: object) -> Loss:
    """Return the loss of a name, with those of the parameters that it has; the others are left out.

    Args:
        name: a key of `LOSSES`.
        h: the width of the band of a rounded hinge.
        others: parameters of other losses.

    Raises:
        ValueError: no loss has this name, or a parameter is missing or out of range.

    >>> make_loss("huber_svm", 0.5)
    HuberSVM(h=0.5)
    """
    check_choice(name, tuple(LOSSES), name="loss")
    given = {"h": h, **others}
    return LOSSES[name](
        **{parameter: given.get(parameter) for parameter in LOSSES[name].parameter_names()}
    )


def check_loss(loss: object) -> None:
    """Raise ValueError unless this is a loss."""
    if not isinstance(loss, Loss):
        raise ValueError(
            f"Expected loss to be a Loss such as Logistic(), got {type(loss).__name__}."
        )
