"""Output perturbation: noise is added to the minimiser."""

from __future__ import annotations

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batches import Table
from dpci_core.base.metric import Metric
from dpci_core.design import Design
from dpci_core.mechanisms.mechanism import GRID_EXPONENT, Mechanism, PerturbedModel, Solver
from dpci_core.privacy.budget import to_float_down
from dpci_core.privacy.laws import Law, NoiseLaw
from dpci_core.privacy.randomness import NoiseSource
from dpci_core.privacy.sensitivity import Sensitivity, output_sensitivity
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.moments import HessianDrift
from dpci_core.solvers.risk import PenalisedRisk

_PENALTY_FACTOR = 2.0
"""Factor of s, for a small error of predictions; no guarantee depends on it."""


class Output(Mechanism):
    """Noise of the definition's law on the minimiser, whose L2 sensitivity is 1/(nc).

    Source: WKL Algorithm 4; CMS Algorithm 1, Corollary 8.
    """

    name = "output"
    title = "output perturbation"
    place = "noise on the fitted coefficients"
    perturbs_objective = False
    drift_limits = (0.4, 0.8)

    def law(self, design: Design) -> Law:
        return design.budget.law

    def noise(self, design: Design, *, solver_error: float = 0.0) -> NoiseLaw:
        moved = _moved(design, solver_error)
        amount = to_float_down(design.budget.model)
        return design.budget.noise(
            sensitivity=moved.size, amount=amount, divided_by=moved.divided_by
        )

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
        noise = self.noise(design, solver_error=solver_error)
        fit = solver(PenalisedRisk(A, design.loss, design.regularization))
        theta = design.budget.add_noise(
            fit.theta,
            noise,
            rng,
            sensitivity=_moved(design, solver_error).upper,
            amount=to_float_down(design.budget.model),
            exponent=GRID_EXPONENT,
        )
        return PerturbedModel(theta, noise, fit)

    def error_size(self, rows: Array, contrasts: Array, n_records: int) -> Array:
        """|L|^2: the error is b itself [WKL Algorithm 5]."""
        return np.asarray(np.einsum("...ij,...ij->...i", contrasts, contrasts))

    def shift(self, hessian: Array, noise: NoiseLaw, n_records: int) -> float:
        p = len(hessian)
        return float(np.sqrt(noise.variance(p) * p))

    def drift(self, tabulated: HessianDrift) -> Array:
        return tabulated.output

    def usual_regularization(self, design: Design, *, n_coefficients: int) -> float:
        """2 s."""
        return _PENALTY_FACTOR * self.noise_per_record(design, n_coefficients)


def _moved(design: Design, solver_error: float) -> Sensitivity:
    """How far one record moves the minimiser of a design."""
    return output_sensitivity(
        n_records=design.n_records,
        regularization=design.regularization,
        solver_error=solver_error,
    )
