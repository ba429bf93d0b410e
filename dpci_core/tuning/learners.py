"""Algorithms 1 and 2 of [CMS] to the letter, beside the tighter constant of [WKL].

Their penalty is (Lambda/2)|theta|^2, ours c |theta|^2, so Lambda = 2c. Records have norm at most 1;
neighbours differ in the value of one record, n is public. Guarantees are pure epsilon-DP, or zCDP
where a rho is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batches import as_table
from dpci_core.base.errors import check_choice, check_count, check_positive
from dpci_core.base.limits import regularization_in_range
from dpci_core.losses import Loss, check_loss
from dpci_core.privacy.budget import ZCDP
from dpci_core.privacy.noise import sample_spherical_laplace
from dpci_core.privacy.sensitivity import (
    curvature_epsilon,
    output_noise_rate,
    output_sensitivity,
    smallest_regularization,
)
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.risk import PenalisedRisk

Method = Literal["non_private", "output", "objective", "objective_tight"]
METHODS: tuple[Method, ...] = ("non_private", "output", "objective", "objective_tight")
"""No noise; [CMS] Algorithm 1; [CMS] Algorithm 2; Algorithm 2 with the constant of [WKL] Theorem
1.
"""

_ROUNDING = 1e-14
"""Relative margin for the rounding of a rate, far above it; taken off epsilon, the largest term of
the difference.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Learner:
    """A loss with its penalty c and a way to be trained.

    Raises:  ValueError naming the argument.
    """

    loss: Loss
    method: Method
    regularization: float

    def __post_init__(self) -> None:
        check_loss(self.loss)
        check_choice(self.method, METHODS, name="method")
        object.__setattr__(self, "regularization", regularization_in_range(self.regularization))


@dataclass(frozen=True, slots=True)
class ObjectiveRun:
    """What Algorithm 2 runs at: the rate of its noise vector, the penalty c it uses, and whether it
    had to raise c.
    """

    rate: float
    regularization: float
    is_raised: bool


def objective_run(
    *, epsilon: float, n_records: int, regularization: float, loss: Loss, tight: bool = False
) -> ObjectiveRun:
    """Return the rate of the noise vector and the penalty of objective perturbation at any epsilon
    and c.

    With k = 1 for `tight`, 2 as published, and t the largest f'':
    epsilon' = epsilon - k log(1 + t/(2nc)); published, log(1 + 2t/(n Lambda) + t^2/(n Lambda)^2) is
    the same with k = 2.  Where that is not positive, c is raised to t/(2n (e^(epsilon/(2k)) - 1)),
    which makes it epsilon/2. The noise vector is spherical Laplace of rate epsilon'/2.

    Args:
        epsilon: of one training (> 0).
        n_records: number of records, public (>= 1).
        regularization: c > 0, in c |theta|^2 of the mean objective.
        loss: its largest curvature t counts.
        tight: [WKL]'s constant.

    Privacy: the minimiser of the perturbed objective at the returned c is epsilon-DP.  A raised c
             is a function of public numbers; it changes what is estimated.
    Source:  CMS Algorithm 2, Theorem 9; tight: WKL Algorithm 1, Theorem 1, the raised c by the same
             rule (own).

    >>> from dpci_core.losses import Logistic
    >>> run = objective_run(epsilon=1.0, n_records=1000, regularization=0.01, loss=Logistic())
    >>> round(2 * run.rate, 6), run.is_raised  # 1 - 2 log(1 + 0.25 / 20)
    (0.975155, False)
    """
    check_positive(epsilon=epsilon)
    check_count(n_records=n_records)
    c = regularization_in_range(regularization)
    times = 1.0 if tight else 2.0
    bent = curvature_epsilon(n_records=n_records, regularization=c, loss=loss)
    left = epsilon * (1.0 - _ROUNDING) - times * bent
    if left > 0.0:
        return ObjectiveRun(left / 2.0 * (1.0 - _ROUNDING), c, False)
    # Rounded up: a larger c only adds to what is left of epsilon.
    half = epsilon / (2.0 * times)
    raised = smallest_regularization(epsilon=half, n_records=n_records, loss=loss)
    return ObjectiveRun(epsilon / 4.0 * (1.0 - _ROUNDING), raised * (1.0 + 16.0 * _ROUNDING), True)


def train(
    A: Array,
    *,
    learner: Learner,
    epsilon: float | None = None,
    rho: float | None = None,
    rng: np.random.Generator,
) -> Array:
    """Return the coefficients (p,) of a learner on the rows y_i x_i of checked records; a
    simulation.

    Args:
        A: rows y_i x_i, (n, p).
        learner: method, loss and c.
        epsilon, rho: of the training, one of them; neither without privacy.

    Privacy: epsilon-DP or rho-zCDP for noise that cannot be predicted; none for "non_private",
             where neither plays a part.
    Raises:  ValueError, ConvergenceError.
    """
    noise = learner_noise(learner, epsilon=epsilon, rho=rho, n_records=len(A))
    noise_vector: Array | None = None
    offset: Array | None = None
    if noise.rate is not None:
        drawn = sample_spherical_laplace(A.shape[1], rate=noise.rate, rng=rng)
        noise_vector, offset = (drawn, None) if noise.perturbs_objective else (None, drawn)
    elif noise.sd is not None:
        offset = np.asarray(rng.normal(0.0, noise.sd, A.shape[1]))
    theta = minimise(
        PenalisedRisk(as_table(A), learner.loss, noise.regularization, noise_vector)
    ).theta
    return theta if offset is None else theta + offset


@dataclass(frozen=True, slots=True)
class LearnerNoise:
    """The penalty a learner trains at, and the rate of its noise, which perturbs the objective or
    is added at the end; Gaussian noise, which is only added, has an sd instead.
    """

    regularization: float
    rate: float | None
    perturbs_objective: bool
    is_raised: bool = False
    sd: float | None = None


def learner_noise(
    learner: Learner, *, epsilon: float | None = None, rho: float | None = None, n_records: int
) -> LearnerNoise:
    """Return how a learner trains on n records at an epsilon or a rho.

    For a rho a minimiser has Gaussian noise; an objective runs at the pure epsilon that costs it.

    Source:  CMS Algorithm 1 (output; rate n Lambda epsilon / 2 = n c epsilon) and Algorithm 2
             (`objective_run`).
    """
    c = learner.regularization
    if learner.method == "non_private":
        return LearnerNoise(c, None, False)
    if rho is not None:
        check_positive(rho=rho)
        if learner.method == "output":
            moved = output_sensitivity(n_records=n_records, regularization=c)
            law = ZCDP.noise(sensitivity=moved.size, amount=rho, divided_by=moved.divided_by)
            return LearnerNoise(c, None, False, sd=law.sd)
        epsilon = ZCDP.pure_epsilon_within(Decimal(rho))
    check_positive(epsilon=epsilon)
    assert epsilon is not None
    if learner.method == "output":
        return LearnerNoise(
            c, output_noise_rate(epsilon=epsilon, n_records=n_records, regularization=c), False
        )
    tight = learner.method == "objective_tight"
    run = objective_run(
        epsilon=epsilon, n_records=n_records, regularization=c, loss=learner.loss, tight=tight
    )
    return LearnerNoise(run.regularization, run.rate, True, run.is_raised)
