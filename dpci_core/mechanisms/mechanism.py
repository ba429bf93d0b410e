"""What a mechanism is: how noise protects the coefficients, and what that does to their error.

One file a mechanism, listed in `mechanisms/__init__.py`; a design names it. All of them train on A,
the rows y_i x_i of checked records, and are private for replace-one neighbours with n public.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batches import Table, as_table
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.base.metric import Metric
from dpci_core.design import MECHANISMS, Design, MechanismName
from dpci_core.privacy.budget import zcdp_to_pure_epsilon
from dpci_core.privacy.laws import Law, NoiseLaw
from dpci_core.privacy.randomness import NoiseSource
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.moments import HessianDrift
from dpci_core.solvers.risk import Fit, PenalisedRisk

Solver = Callable[[PenalisedRisk], Fit]
"""Finds the minimiser of a penalised risk, as `minimise` does."""
GRID_EXPONENT = -30
"""Released coefficients are multiples of 2 to this."""


@dataclass(frozen=True, slots=True)
class PerturbedModel:
    """Released coefficients theta_priv (p,), the public noise law, and what certifies the
    solver, where there is one.
    """

    theta_priv: Array
    noise: NoiseLaw
    fit: Fit | None = None


class Mechanism(ABC):
    """Noise on the coefficients: its law, how it is put in, and the error it leaves."""

    name: ClassVar[str]
    """In designs, files and links."""
    title: ClassVar[str]
    """What a reader calls it."""
    place: ClassVar[str]
    """Where its noise goes, in words."""
    perturbs_objective: ClassVar[bool]
    """Whether the noise is in the objective, before the fit, or added to the minimiser, after it.

    A release hides the error of the solver accordingly: by noise of its own, or in the sensitivity.
    """
    has_minimiser: ClassVar[bool] = True
    """Whether a minimiser is found, so that a release has to certify it."""
    turns_noise: ClassVar[bool] = False
    """Whether the error is H^-1 b / n, so that a metric shapes it, or b itself."""
    needs_metric: ClassVar[bool] = False
    """Whether it runs in a metric only."""
    clips: ClassVar[tuple[float, ...]] = (1.0,)
    """Lengths at which gradients may be cut, the planner's choices; 1 cuts none."""
    drift_limits: ClassVar[tuple[float, float]]
    """How far the noise may move the Hessian before a forecast is rough, and unusable."""

    @abstractmethod
    def law(self, design: Design) -> Law:
        """The law of the noise of a design."""

    @abstractmethod
    def noise(self, design: Design, *, solver_error: float = 0.0) -> NoiseLaw:
        """The noise of a design; arguments and errors as for `model_noise`."""

    @abstractmethod
    def perturb(
        self,
        A: Table,
        *,
        design: Design,
        rng: NoiseSource,
        solver: Solver = minimise,
        solver_error: float = 0.0,
        metric: Metric | None = None,
    ) -> PerturbedModel:
        """Train on the rows; arguments and privacy as for `train_private`. With a metric the solver
        takes a noise vector in its coordinates.
        """

    @abstractmethod
    def error_size(self, rows: Array, contrasts: Array, n_records: int) -> Array:
        """Variance of the error per unit variance of the noise.

        Args:
            rows: of L H^-1, (..., k, p).
            contrasts: L (..., k, p).
        """

    @abstractmethod
    def shift(self, hessian: Array, noise: NoiseLaw, n_records: int) -> float:
        """Root-mean-square length of the shift that the noise alone causes in theta."""

    @abstractmethod
    def drift(self, tabulated: HessianDrift) -> Array:
        """The tabulated drift of the Hessian for shifts that are shaped like this mechanism's."""

    @abstractmethod
    def usual_regularization(self, design: Design, *, n_coefficients: int) -> float:
        """A penalty near the least error of what is trained; `estimators.defaults` has the rule."""

    def unfit(self, design: Design) -> InfeasibleDesignError | None:
        """Why no metric would make a design of this kind run; None where one may."""
        return None

    def too_noisy(self, design: Design, hessian: Array) -> InfeasibleDesignError | None:
        """Why it cannot work with the Hessian (p, p) of planning rows, in the metric where there is
        one; None where it can.
        """
        return None

    def smallest_regularization(self, design: Design) -> float:
        """The c that a design has to exceed; 0 where every c will do."""
        return 0.0

    def noise_words(self, design: Design) -> str:
        """What is said of the noise behind the title; mostly nothing."""
        return ""

    def status(self, design: Design) -> str:
        """What a reader must be told about the results behind a design; empty if all are
        published.
        """
        return ""

    def noise_per_record(self, design: Design, n_coefficients: int) -> float:
        """sqrt(p + 1) / (n epsilon), or 1 / (n epsilon) if the noise is Gaussian."""
        budget = design.budget
        if self.law(design) == "gaussian":
            return 1.0 / (design.n_records * zcdp_to_pure_epsilon(budget.as_rho(budget.model)))
        return math.sqrt(n_coefficients + 1.0) / (
            design.n_records * budget.pure_epsilon_within(budget.model)
        )


class Turned(Mechanism):
    """A mechanism whose error is H^-1 b / n, b its noise vector [WKL Algorithm 3]."""

    turns_noise = True
    drift_limits = (0.1, 0.2)

    def error_size(self, rows: Array, contrasts: Array, n_records: int) -> Array:
        """|L H^-1|^2 / n^2."""
        return np.asarray(np.einsum("...ij,...ij->...i", rows, rows) / n_records**2)

    def shift(self, hessian: Array, noise: NoiseLaw, n_records: int) -> float:
        size = np.linalg.norm(np.linalg.inv(hessian))
        return float(np.sqrt(noise.variance(len(hessian))) * size / n_records)

    def drift(self, tabulated: HessianDrift) -> Array:
        return tabulated.objective


def mechanism_named(name: MechanismName) -> Mechanism:
    """Return the mechanism of a name."""
    found = MECHANISMS[name]
    assert isinstance(found, Mechanism)
    return found


def mechanism_of(design: Design) -> Mechanism:
    """Return the mechanism that a design names."""
    return mechanism_named(design.mechanism)


def model_noise(design: Design, *, solver_error: float = 0.0) -> NoiseLaw:
    """Return the law of the noise of a design: the noise vector of its objective, or what is added
    to its minimiser.

    Args:
        design: its budget of the coefficients and n count.
        solver_error: what inexact solutions add to the sensitivity of a minimiser.

    Raises:
        InfeasibleDesignError: c is too small for the mechanism; with the smallest c, n, budget of
            the coefficients, and total at these shares, that would do.
    """
    return mechanism_of(design).noise(design, solver_error=solver_error)


def check_n_records(A: Table, design: Design) -> None:
    """Raise ValueError unless the rows are as many as the noise of the design is for; their number
    is public.
    """
    if len(A) != design.n_records:
        raise ValueError(f"Expected design.n_records={design.n_records} rows, got {len(A)}.")


def check_metric(A: Table, design: Design, *, has_metric: bool) -> None:
    """Raise ValueError unless design, metric and rows with weights go together."""
    if has_metric != (design.geometry is not None):
        raise ValueError("Expected a metric where the design has a geometry, and only there.")
    if has_metric and not as_table(A).has_weights:
        raise ValueError("Expected the rows to have the weights of the metric.")


def train_private(
    A: Table,
    *,
    design: Design,
    rng: NoiseSource,
    solver: Solver = minimise,
    solver_error: float = 0.0,
    metric: Metric | None = None,
) -> PerturbedModel:
    """Return the coefficients that the mechanism of the design releases, with the law of their
    noise.

    Args:
        A: rows y_i x_i, (n, p), n that of the design.
        design: which mechanism, at which budget.
        rng: as for `matrices.private_matrix`.
        solver: how the minimiser is found.
        solver_error: bound on the distance that solver error adds between the minimisers of
            neighbouring tables; it adds to the sensitivity of a minimiser, and a perturbed one is
            hidden by its caller (`intervals.draw`).
        metric: of the design's geometry, released before (`metric.release_metric`); the rows have
            its weights (`solvers.metric.weighted`).

    Privacy: `budget.model` in the definition of the design.
    Raises:  ValueError for another number of rows than the design says, a design with a geometry
             and no metric, or the other way round, and a metric with rows that have no weights.
    """
    check_n_records(A, design)
    check_metric(A, design, has_metric=metric is not None)
    if metric is not None:
        solver = partial(_solve_in, metric, solver)
    return mechanism_of(design).perturb(
        A, design=design, rng=rng, solver=solver, solver_error=solver_error, metric=metric
    )


def _solve_in(metric: Metric, solver: Solver, risk: PenalisedRisk) -> Fit:
    """The minimiser with a noise vector that was drawn in the coordinates of a metric."""
    assert risk.noise_vector is not None
    return solver(replace(risk, noise_vector=metric.vector(risk.noise_vector)))
