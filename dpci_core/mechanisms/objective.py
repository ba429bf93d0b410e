"""Objective perturbation: b.theta/n joins the objective before it is minimised."""

from __future__ import annotations

import math
from decimal import Decimal

from dpci_core.base.batches import Table
from dpci_core.base.decimals import UP, UP_3
from dpci_core.base.errors import Change, InfeasibleDesignError, PersonsNotShownError
from dpci_core.base.metric import Metric
from dpci_core.design import Design
from dpci_core.mechanisms.mechanism import PerturbedModel, Solver, Turned
from dpci_core.privacy.budget import to_float_down
from dpci_core.privacy.laws import Law, NoiseLaw
from dpci_core.privacy.randomness import NoiseSource
from dpci_core.privacy.sensitivity import (
    gaussian_objective_sd,
    objective_noise_rate,
    smallest_gaussian_regularization,
    smallest_regularization,
)
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.risk import PenalisedRisk

NOT_REVIEWED = "New result, not peer-reviewed: the proof is in docs/proofs/gaussian.md."
"""Stands wherever Gaussian objective perturbation is used."""
SHAPED_NOT_REVIEWED = "New result, not peer-reviewed: the proofs are in docs/proofs/map.md#metric."
"""Stands wherever noise is shaped like the records; it rests on the other where that is Gaussian.
"""
_PENALTY_FACTOR = 1.5
"""Factor of sqrt(p + 1) s^1.5, for a small error of predictions; no guarantee depends on it."""


class Objective(Turned):
    """b spherical Laplace [WKL Algorithm 1], or Gaussian where the definition's noise is (own).

    Privacy: the pure epsilon at which Algorithm 1 runs (Theorem 1) costs what the definition says
        of it, so epsilon^2/2 of a rho; a Gaussian noise vector its rho
        (`sensitivity.gaussian_objective_sd`).
    """

    name = "objective"
    title = "objective perturbation"
    place = "noise in the objective before the fit"
    perturbs_objective = True

    def law(self, design: Design) -> Law:
        return design.budget.law if design.switches.gaussian_objective else "laplace"

    def noise(self, design: Design, *, solver_error: float = 0.0) -> NoiseLaw:
        """As for `model_noise`; the solver's error is nothing to the noise vector."""
        given = {
            "n_records": design.n_records,
            "regularization": design.regularization,
            "loss": design.loss,
        }
        try:
            if self.law(design) == "gaussian":
                return NoiseLaw(sd=gaussian_objective_sd(rho=_rho(design), **given))  # type: ignore[arg-type]
            epsilon = design.budget.pure_epsilon_within(design.budget.model)
            k = design.rows_per_person
            return NoiseLaw(rate=objective_noise_rate(epsilon=epsilon, rows_per_person=k, **given))  # type: ignore[arg-type]
        except InfeasibleDesignError as error:
            error.changes = self._in_design(error.changes, design)
            raise

    def _in_design(self, changes: tuple[Change, ...], design: Design) -> tuple[Change, ...]:
        """The bounds' changes, amounts in the currency of the design and with the total they
        take.
        """
        budget, found = design.budget, []
        price = (
            budget.cost_of_noise_parameter
            if self.law(design) == "gaussian"
            else budget.cost_of_pure_epsilon
        )
        for change in changes:
            if change.what != "model":
                found.append(change)
                continue
            amount = price(Decimal(change.value))
            total = UP.divide(UP.multiply(amount, budget.total), budget.model)
            found += [Change("model", UP_3.plus(amount)), Change("total", UP_3.plus(total))]
        return tuple(found)

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
        noise = self.noise(design)
        noise_vector = noise.sample(A.shape[1], rng)
        fit = solver(PenalisedRisk(A, design.loss, design.regularization, noise_vector))
        return PerturbedModel(fit.theta, noise, fit)

    def usual_regularization(self, design: Design, *, n_coefficients: int) -> float:
        """1.5 sqrt(p + 1) s^1.5, at least t / (n epsilon)."""
        noise = self.noise_per_record(design, n_coefficients)
        epsilon = design.budget.pure_epsilon_within(design.budget.model)
        least = design.loss.max_curvature / (design.n_records * epsilon)
        return max(
            _PENALTY_FACTOR * math.sqrt(n_coefficients + 1.0) * noise * math.sqrt(noise), least
        )

    def smallest_regularization(self, design: Design) -> float:
        if self.law(design) == "gaussian":
            return smallest_gaussian_regularization(
                rho=_rho(design), n_records=design.n_records, loss=design.loss
            )
        epsilon = design.budget.pure_epsilon_within(design.budget.model)
        return smallest_regularization(
            epsilon=epsilon,
            n_records=design.n_records,
            loss=design.loss,
            rows_per_person=design.rows_per_person,
        )

    def noise_words(self, design: Design) -> str:
        return " with Gaussian noise" if self.law(design) == "gaussian" else ""

    def status(self, design: Design) -> str:
        if design.geometry is not None:
            return SHAPED_NOT_REVIEWED
        return NOT_REVIEWED if self.law(design) == "gaussian" else ""


def _rho(design: Design) -> float:
    """The rho of a Gaussian noise vector; PersonsNotShownError where a person has several rows."""
    if design.rows_per_person > 1:
        raise PersonsNotShownError(design.rows_per_person)
    return design.budget.noise_parameter(to_float_down(design.budget.model))
