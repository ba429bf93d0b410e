"""Private coefficients: objective perturbation and output perturbation.

Both train on A, the rows y_i x_i of checked records, and are private for replace-one neighbours with n public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

import numpy as np
import numpy.typing as npt

from dpci_core.base.decimals import UP, UP_3
from dpci_core.base.errors import Change, InfeasibleDesignError
from dpci_core.base.rows import Rows
from dpci_core.design import Definition, Design
from dpci_core.privacy.budget import PureDP, to_float_down
from dpci_core.privacy.noise import sample_gaussian, sample_spherical_laplace
from dpci_core.privacy.randomness import Source, SystemSource
from dpci_core.privacy.sensitivity import (
    gaussian_objective_sd,
    objective_noise_rate,
    output_noise_rate,
    output_noise_sd,
    output_sensitivity,
    smallest_gaussian_regularization,
    smallest_regularization,
)
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.objective import Fit

Array = npt.NDArray[np.float64]
Solver = Callable[..., Fit]
"""`minimise` by one of its methods, or another function of its arguments that returns a minimiser."""
_NEWTON: Solver = partial(minimise, method="newton")
GRID_EXPONENT = -30
"""Released coefficients are multiples of 2 to this."""


@dataclass(frozen=True, slots=True)
class ModelNoise:
    """The public law of the noise that protects the coefficients; exactly one of the first two is set.

    rate: of spherical Laplace noise in R^p.  sd: of Gaussian noise per coordinate.  The noise is the tilt b of the
    objective (scale of the sum over records) or the vector added to the minimiser, depending on the mechanism.
    added_var: variance of a coordinate of what a release adds to the minimiser besides, to hide the solver's error.
    """

    rate: float | None = None
    sd: float | None = None
    added_var: float = 0.0

    def variance(self, dim: int) -> float:
        """Variance of one coordinate."""
        if self.rate is not None:
            return (dim + 1) / self.rate**2
        assert self.sd is not None
        return self.sd**2

    @property
    def kind(self) -> Definition:
        """ "pure" for spherical Laplace, "zcdp" for Gaussian noise."""
        return "pure" if self.rate is not None else "zcdp"

    @property
    def scale(self) -> float:
        """What noise of rate 1 or standard deviation 1 is multiplied by."""
        if self.rate is not None:
            return 1.0 / self.rate
        assert self.sd is not None
        return self.sd

    def sample(self, dim: int, rng: Source) -> Array:
        """One draw, shape (dim,); of a release the doubles nearest to an exact one."""
        if isinstance(rng, SystemSource):
            if self.rate is not None:
                return rng.spherical_laplace(dim, rate=self.rate)
            return rng.gaussian(dim, sd=self.scale)
        if self.rate is not None:
            return sample_spherical_laplace(dim, rate=self.rate, rng=rng)
        return sample_gaussian(dim, sd=self.scale, rng=rng)

    def add_to(self, values: Array, rng: Source, *, sensitivity: float, amount: float, exponent: int) -> Array:
        """values (dim,) plus one draw: amount-DP or amount-zCDP for this L2 sensitivity if the scale is right.

        Noise of a release is exact, its scale is checked against both numbers, and the sum is rounded to
        multiples of 2^exponent.
        """
        if not isinstance(rng, SystemSource):
            return values + self.sample(len(values), rng)
        if self.rate is not None:
            return rng.add_spherical_laplace(
                values, rate=self.rate, sensitivity=sensitivity, epsilon=amount, exponent=exponent
            )
        assert self.sd is not None
        return rng.add_gaussian(values, sd=self.sd, sensitivity=sensitivity, rho=amount, exponent=exponent)


@dataclass(frozen=True, slots=True)
class PerturbedModel:
    """Released coefficients theta_priv (p,) with the public noise law, and what certifies the solver."""

    theta_priv: Array
    noise: ModelNoise
    fit: Fit


def model_noise(design: Design, n_records: int, *, solver_error: float = 0.0) -> ModelNoise:
    """Return the law of the noise of a design on n records.

    Args:    solver_error: for output perturbation, what inexact solutions add to its sensitivity.
    Raises:  InfeasibleDesignError if c is too small for objective perturbation, with the smallest c, n, budget of the
             coefficients, and total at these shares, that would do.
    Source:  WKL Algorithm 1 (objective; a rho budget runs it at epsilon = sqrt(2 rho)) and Algorithm 4 (output);
             own for a Gaussian tilt.
    """
    try:
        return _model_noise(design, n_records, solver_error)
    except InfeasibleDesignError as error:
        changes = _in_design(error.changes, design)
        raise InfeasibleDesignError(error.message, error.suggestion, changes) from None


def _in_design(changes: tuple[Change, ...], design: Design) -> tuple[Change, ...]:
    """The bounds' changes with the amount of the coefficients in the currency of the design, and the total it takes."""
    found = []
    for change in changes:
        if change.what != "model":
            found.append(change)
            continue
        amount = Decimal(change.value)
        if design.definition == "zcdp" and not design.is_gaussian_objective:
            amount = UP.multiply(amount, UP.divide(amount, Decimal(2)))
        total = UP.divide(UP.multiply(amount, design.budget.total), design.budget.model)
        found += [Change("model", UP_3.plus(amount)), Change("total", UP_3.plus(total))]
    return tuple(found)


def _model_noise(design: Design, n_records: int, solver_error: float) -> ModelNoise:
    c = design.regularization
    if design.is_gaussian_objective:
        rho = to_float_down(design.budget.model)
        sd = gaussian_objective_sd(rho=rho, n_records=n_records, regularization=c, loss=design.loss)
        return ModelNoise(sd=sd)
    if design.mechanism == "objective":
        epsilon = design.objective_epsilon
        rate = objective_noise_rate(epsilon=epsilon, n_records=n_records, regularization=c, loss=design.loss)
        return ModelNoise(rate=rate)
    amount = to_float_down(design.budget.model)
    if isinstance(design.budget, PureDP):
        rate = output_noise_rate(epsilon=amount, n_records=n_records, regularization=c, solver_error=solver_error)
        return ModelNoise(rate=rate)
    return ModelNoise(sd=output_noise_sd(rho=amount, n_records=n_records, regularization=c, solver_error=solver_error))


def smallest_regularization_of(design: Design, n_records: int) -> float:
    """Return the c that objective perturbation at the budget of this design has to exceed."""
    if design.is_gaussian_objective:
        rho = to_float_down(design.budget.model)
        return smallest_gaussian_regularization(rho=rho, n_records=n_records, loss=design.loss)
    return smallest_regularization(epsilon=design.objective_epsilon, n_records=n_records, loss=design.loss)


def perturb_objective(A: Rows, *, design: Design, rng: Source, solver: Solver = _NEWTON) -> PerturbedModel:
    """Minimise the objective tilted by b.theta/n, b spherical Laplace [WKL Algorithm 1] or Gaussian (own).

    Privacy: `budget.model` in the definition of the design: epsilon-DP (Theorem 1), hence epsilon^2/2-zCDP; rho-zCDP
             with a Gaussian tilt (`sensitivity.gaussian_objective_sd`).
    """
    noise = model_noise(design, len(A))
    tilt = noise.sample(A.shape[1], rng)
    fit = solver(A, loss=design.loss, regularization=design.regularization, tilt=tilt)
    return PerturbedModel(fit.theta, noise, fit)


def perturb_output(
    A: Rows, *, design: Design, rng: Source, solver: Solver = _NEWTON, solver_error: float = 0.0
) -> PerturbedModel:
    """Add noise to the minimiser, whose L2 sensitivity is 1/(nc) [WKL Algorithm 4; CMS Algorithm 1].

    Args:    solver_error: how far apart the errors of two solutions can be; it adds to the sensitivity.

    Privacy: `budget.model` in the definition of the design.
    """
    n, c = len(A), design.regularization
    noise = model_noise(design, n, solver_error=solver_error)
    fit = solver(A, loss=design.loss, regularization=c)
    sensitivity = output_sensitivity(n_records=n, regularization=c, solver_error=solver_error)
    amount = to_float_down(design.budget.model)
    theta = noise.add_to(fit.theta, rng, sensitivity=sensitivity, amount=amount, exponent=GRID_EXPONENT)
    return PerturbedModel(theta, noise, fit)


def train_private(A: Rows, *, design: Design, rng: np.random.Generator) -> PerturbedModel:
    """Run the mechanism that the design names."""
    perturb = perturb_objective if design.mechanism == "objective" else perturb_output
    return perturb(A, design=design, rng=rng)
