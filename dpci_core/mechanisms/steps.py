"""Clipped Newton steps: coefficients without a minimiser, by Gaussian noise and composition alone
(docs/proofs/gaussian.md#logistic-regression).
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import ClassVar, NamedTuple

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batches import Table
from dpci_core.base.decimals import DOWN, EXACT
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.base.linalg import floor_eigenvalues
from dpci_core.base.metric import Metric
from dpci_core.design import ESTIMANDS, Design
from dpci_core.mechanisms.matrices import private_matrix, rounding_allowance
from dpci_core.mechanisms.mean import release_mean
from dpci_core.mechanisms.mechanism import GRID_EXPONENT, PerturbedModel, Solver, Turned
from dpci_core.mechanisms.metric import metric_noise
from dpci_core.privacy.budget import pure_refused, to_float_down
from dpci_core.privacy.laws import Law, NoiseLaw
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.privacy.sensitivity import gradient_sensitivity, hessian_sensitivity
from dpci_core.solvers.batch_sums import CutGradients
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.risk import PenalisedRisk

_GROWTH = Decimal(6)
"""A step has so many times the budget of the step before it."""
_CURVATURES = (Decimal("0.01"), Decimal("0.01"), Decimal("0.05"))
"""Shares of `budget.model` for the curvature of every step but the first, whose is that of the
metric."""
LEFT = 0.1
"""Share by which the variance of the last step's noise is raised, for what earlier steps and the
noise on the curvature leave; a design that leaves more of its planning rows is refused."""
_FLOOR = 0.5
"""Eigenvalues of a released curvature are raised to so many times root p deviations of its noise.
"""
_GRID = 2.0**GRID_EXPONENT


class Amounts(NamedTuple):
    """What each release costs: a gradient for every step, a curvature for every step but the
    first.
    """

    gradients: tuple[float, ...]
    curvatures: tuple[float, ...]


def amounts(design: Design) -> Amounts:
    """Return what each release costs; together at most `budget.model`, every rounding down."""
    model = design.budget.model
    curvatures = [DOWN.multiply(model, share) for share in _CURVATURES]
    left = model
    for one in curvatures:
        left = EXACT.subtract(left, one)
    weights = [_GROWTH**k for k in range(len(_CURVATURES) + 1)]
    steps = [DOWN.divide(DOWN.multiply(left, w), sum(weights)) for w in weights]
    return Amounts(tuple(map(to_float_down, steps)), tuple(map(to_float_down, curvatures)))


class Steps(Turned):
    """Noisy Newton steps in the metric of the design, each record's gradient cut at `Design.clip`.

    Privacy: `budget.model`: Gaussian mechanisms, composed adaptively, replace-one neighbours
        (docs/proofs/gaussian.md#logistic-regression). No penalty is needed for it, and no theorem
        that is not published.
    """

    name = "newton"
    title = "clipped Newton steps"
    place = "noise on the gradients and curvatures of a few Newton steps"
    perturbs_objective = False
    has_minimiser = False
    needs_metric = True
    clips: ClassVar[tuple[float, ...]] = (
        0.3,
        0.35,
        0.4,
        0.45,
        0.5,
        0.55,
        0.6,
        0.65,
        0.7,
        0.8,
        0.9,
        1.0,
    )

    def law(self, design: Design) -> Law:
        return design.budget.law

    def noise(self, design: Design, *, solver_error: float = 0.0) -> NoiseLaw:
        """As for `model_noise`, of the last step, raised by `LEFT`; nothing is solved.

        Raises:  InfeasibleDesignError for a pure epsilon, without a geometry, for another loss than
                 the logistic one, without penalty, and for persons with several rows.
        """
        if unfit := self.unfit(design):
            raise unfit
        if design.geometry is None:
            raise InfeasibleDesignError(
                "Clipped Newton steps need a metric, in which gradients are cut.",
                "Plan one with best_geometry, from public or simulated rows.",
            )
        s = gradient_sensitivity(n_records=design.n_records)
        law = design.budget.noise(sensitivity=s, amount=amounts(design).gradients[-1])
        return NoiseLaw(sd=design.clip * design.n_records * law.scale * math.sqrt(1.0 + LEFT))

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
        """As for `train_private`, in the coordinates of the metric; nothing is solved."""
        noise = self.noise(design)
        assert metric is not None  # a design without geometry was refused
        costs, n = amounts(design), design.n_records
        whiten, penalty = metric.whiten, metric.penalty(design.regularization)
        bare, sd = _first(metric, design)
        theta = np.zeros(A.shape[1])
        with np.errstate(all="ignore"):  # arithmetic that raises would tell of records
            for k, amount in enumerate(costs.gradients):
                if k > 0:
                    bare, sd = _curvature(A, theta, metric, design, costs.curvatures[k - 1], rng)
                sums = A.total(CutGradients(theta, design.loss, whiten, design.clip))
                released = release_mean(
                    sums / n,
                    budget=design.budget,
                    sensitivity=gradient_sensitivity(n_records=n),
                    amount=amount,
                    n_terms=n,
                    source=rng,
                )
                pull = 2.0 * design.regularization * (whiten @ theta)
                floor = _FLOOR * math.sqrt(len(theta)) * sd
                J = floor_eigenvalues(bare, floor).matrix + penalty
                theta = theta - whiten @ np.linalg.solve(J, design.clip * released + pull)
        return PerturbedModel(np.rint(theta / _GRID) * _GRID, noise)

    def unfit(self, design: Design) -> InfeasibleDesignError | None:
        instead = "mechanism='objective'"
        if design.budget.law != "gaussian":
            return pure_refused(design.budget, "Clipped Newton steps release", f"; or {instead}")
        if design.rows_per_person > 1:
            return InfeasibleDesignError(
                f"Expected rows_per_person={design.rows_per_person} to be 1 for clipped Newton "
                "steps: they cut the gradient of a row, not the sum of a person's.",
                "Take mechanism='output'.",
            )
        if not (design.loss.is_log_odds and design.loss.allows_weights):
            return InfeasibleDesignError(
                f"Clipped Newton steps are for logistic regression, not for a {design.loss.title}.",
                f"Take {instead}.",
            )
        if ESTIMANDS[design.target].needs_unpenalised_fit:
            return InfeasibleDesignError(
                "Clipped Newton steps are for the penalised coefficient: what clipping moves is "
                "not known of the one without penalty.",
                f"Take target='penalised', or {instead}.",
            )
        return None

    def too_noisy(self, design: Design, hessian: Array) -> InfeasibleDesignError | None:
        """The curvature of the last step would be so noisy that more than `LEFT` is left of earlier
        ones.
        """
        left = left_of(design, hessian)
        if left <= LEFT:
            return None
        return InfeasibleDesignError(
            "With this budget the curvature of a Newton step would be too noisy: it leaves "
            f"{left:.0%} of the variance of the last step's noise, more than {LEFT:.0%}.",
            "Use more records, a larger budget or a larger ridge, or mechanism='objective'.",
        )

    def usual_regularization(self, design: Design, *, n_coefficients: int) -> float:
        """2 s, as for noise on a minimiser; no guarantee depends on it."""
        return 2.0 * self.noise_per_record(design, n_coefficients)


def left_of(design: Design, hessian: Array) -> float:
    """Return what earlier steps and noise on the last curvature leave, as a share of the variance
    of the last step's noise.

    With H the Hessian in the metric and N the noise on it, of diagonal deviation tau, an error e
    becomes H^-1 N e, and E N A N = tau^2 (A + tr(A) I) / 2.

    Args:
        design: whose budget counts.
        hessian: H (p, p).
    """
    tau = _curvature_sd(design, amounts(design).curvatures[-1])
    inverse = np.linalg.inv(hessian)
    return float(tau**2 / 2.0 * np.sum(inverse**2) * (1.0 + float(_GROWTH)))


def _first(metric: Metric, design: Design) -> tuple[Array, float]:
    """The curvature at 0 without the penalty's, from the released second moment, and the deviation
    of its noise.
    """
    t = design.loss.max_curvature
    sd = metric_noise(design).diagonal_sd(len(metric.whiten))
    return t * metric.matrix(metric.second_moment), t * sd * float(
        np.linalg.norm(metric.whiten, 2) ** 2
    )


def _curvature_sd(design: Design, amount: float) -> float:
    """Standard deviation of the noise on a diagonal entry of a curvature."""
    s = hessian_sensitivity(loss=design.loss, n_records=design.n_records, tight=True)
    return design.budget.noise(sensitivity=s, amount=amount).scale


def _curvature(
    A: Table, theta: Array, metric: Metric, design: Design, amount: float, rng: NoiseSource
) -> tuple[Array, float]:
    """Release the Hessian of the records at theta in the metric, without the penalty's, and return
    the deviation of its noise.
    """
    H = PenalisedRisk(A, design.loss, design.regularization).hessian(theta, metric.whiten)
    s = hessian_sensitivity(loss=design.loss, n_records=design.n_records, tight=True)
    if isinstance(rng, SystemSource):
        s += rounding_allowance(design, theta, metric.whiten)
    released = private_matrix(
        H, sensitivity=s, amount=amount, kind=design.definition, floor=0.0, rng=rng, symmetric=True
    )
    return released.noisy - metric.penalty(design.regularization), _curvature_sd(design, amount)
