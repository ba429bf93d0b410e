"""Every closed-form bound of the mechanisms, from public quantities only.

Neighbours differ in the value of one record, records have norm at most 1, n is public. Rates are
rounded down and standard deviations up, by more than the rounding error of their formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from dpci_core.base.errors import Change, PenaltyTooSmallError, check_count, check_positive
from dpci_core.losses import Loss

_ROUNDING = 16.0 * 2.0**-52
"""Relative margin for the few floating-point operations of a formula."""

CURVATURE_COST = 1.53
"""What curvature adds to the rho of Gaussian objective perturbation, in units of kappa^2; its
theorem has the proof.
"""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """An L2 sensitivity as the quotient size / divided_by: dividing would lose a bit, and noise is
    made of the two.
    """

    size: float
    divided_by: float

    @property
    def upper(self) -> float:
        """A float that is not below it, for a check of noise that was made of the quotient."""
        return self.size / self.divided_by * (1.0 + 2.0**-50)


def _down(x: float) -> float:
    return x * (1.0 - _ROUNDING)


def _up(x: float) -> float:
    return x * (1.0 + _ROUNDING)


def smallest_regularization(
    *, epsilon: float, n_records: int, loss: Loss, rows_per_person: int = 1
) -> float:
    """Return t / (2nk (e^(epsilon/k) - 1)): objective perturbation needs c above it [WKL Algorithm
    1, input, where k = 1].

    Args:
        epsilon: of the coefficients alone (> 0).
        n_records: number of records, or of persons, public (>= 1).
        loss: its largest curvature t counts.
        rows_per_person: k, as for `objective_noise_rate`.

    >>> from dpci_core.losses import Logistic
    >>> smallest_regularization(epsilon=math.log(2), n_records=1000, loss=Logistic())
    0.000125
    """
    check_positive(epsilon=epsilon)
    check_count(n_records=n_records, rows_per_person=rows_per_person)
    each = epsilon / rows_per_person
    # Written with e^-each: e^each overflows for an epsilon that protects nobody but is allowed.
    below = 2.0 * n_records * rows_per_person * -math.expm1(-each)
    return loss.max_curvature * math.exp(-each) / below


def curvature_epsilon(
    *, n_records: int, regularization: float, loss: Loss, rows_per_person: int = 1
) -> float:
    """Return k log(1 + t/(2nck)), what of an epsilon the determinant of the Hessian takes in
    objective perturbation; arguments and source as for `objective_noise_rate`.
    """
    bent = 2.0 * n_records * regularization * rows_per_person
    return rows_per_person * math.log1p(loss.max_curvature / bent)


def objective_noise_rate(
    *, epsilon: float, n_records: int, regularization: float, loss: Loss, rows_per_person: int = 1
) -> float:
    """Return the rate (epsilon - k log(1 + t/(2nck)))/2 of the spherical Laplace noise vector of
    objective perturbation.

    Args:
        epsilon: of the coefficients alone (> 0).
        n_records: number of records, or of persons, public (>= 1).
        regularization: c > 0, in c |theta|^2 of the mean objective.
        loss: its largest curvature t counts.
        rows_per_person: k, rows of weights that add up to 1 at most, whose Hessian has rank k.

    Privacy: the minimiser of the objective plus b.theta/n is epsilon-DP, replace-one
             neighbours: one record, or all rows of one person.
    Raises:  PenaltyTooSmallError if c <= t/(2nk(e^(epsilon/k) - 1)), with the smallest c, n and
             epsilon that work.
    Source:  WKL Algorithm 1, lines 1-4, Theorem 1; for k > 1 own, docs/proofs/release.md#persons.
    """
    check_positive(regularization=regularization)
    smallest = smallest_regularization(
        epsilon=epsilon, n_records=n_records, loss=loss, rows_per_person=rows_per_person
    )
    curvature_cost = curvature_epsilon(
        n_records=n_records,
        regularization=regularization,
        loss=loss,
        rows_per_person=rows_per_person,
    )
    # The difference loses digits near the boundary: allow for the rounding of its larger term.
    epsilon_left = epsilon - curvature_cost - _ROUNDING * epsilon
    if regularization <= smallest or epsilon_left <= 0.0:
        raise _too_small("objective", regularization, smallest, n_records, curvature_cost)
    return _down(epsilon_left / 2.0)


def _too_small(
    method: str, regularization: float, smallest: float, n_records: int, needed: float
) -> PenaltyTooSmallError:
    """The refusal of a c: with the smallest c and n that work, and a budget above `needed`."""
    changes = (
        Change("regularization", float(f"{_round_up_3_digits(smallest):.3g}")),
        Change("n_records", _next_count(n_records * smallest / regularization)),
        Change("model", _amount_up(needed)),
    )
    return PenaltyTooSmallError(method, regularization, smallest, n_records, changes)


def _next_count(x: float) -> int:
    """The first whole number above x by more than rounding."""
    return math.floor(x * (1.0 + 1e-9)) + 1


def _amount_up(x: float) -> Decimal:
    """A budget above x by more than rounding."""
    return Decimal(repr(x * (1.0 + 1e-9)))


def _round_up_3_digits(x: float) -> float:
    """A number above x with three significant digits, the next or the one after it."""
    unit = 10.0 ** (math.floor(math.log10(x)) - 2)
    return (math.floor(x / unit * (1.0 + 1e-9)) + 1) * unit


def smallest_gaussian_regularization(*, rho: float, n_records: int, loss: Loss) -> float:
    """Return t/(2n) sqrt(1.53/rho): Gaussian objective perturbation needs c above it.

    Args:
        rho: of the coefficients (> 0).
        n_records: number of records, public (>= 1).
        loss: its largest curvature t counts.
    """
    check_positive(rho=rho)
    check_count(n_records=n_records)
    return loss.max_curvature / (2.0 * n_records) * math.sqrt(CURVATURE_COST / rho)


def gaussian_objective_sd(
    *, rho: float, n_records: int, regularization: float, loss: Loss
) -> float:
    """Return the standard deviation 2/sqrt(2 (rho - 1.53 kappa^2)), kappa = t/(2nc), of the
    Gaussian noise vector of objective perturbation.

    Args:
        rho: of the coefficients alone (> 0).
        n_records: number of records, public (>= 1).
        regularization: c > 0, in c |theta|^2 of the mean objective.
        loss: its largest curvature t counts.

    Privacy: the minimiser of the objective plus b.theta/n, b ~ N(0, sd^2 I), is rho-zCDP,
             replace-one neighbours, for a loss whose slope keeps one sign. New result, not
             peer-reviewed (`objective.NOT_REVIEWED`).
    Raises:  PenaltyTooSmallError if rho <= 1.53 kappa^2, with the smallest c, n and rho that work;
             ValueError for a loss that is not known to be nonincreasing, for which the proof does
             not hold.
    Source:  own; docs/proofs/gaussian.md, Theorem 2.

    >>> from dpci_core.losses import Logistic
    >>> round(gaussian_objective_sd(
    ...     rho=0.125, n_records=30_000, regularization=0.001, loss=Logistic()), 3)
    4.0
    """
    check_positive(rho=rho, regularization=regularization)
    check_count(n_records=n_records)
    if not loss.is_nonincreasing:
        raise ValueError(
            f"Expected a nonincreasing loss for Gaussian objective perturbation, got {loss!r}."
        )
    kappa = loss.max_curvature / (2.0 * n_records * regularization)
    # The difference loses digits near the boundary: allow for the rounding of its larger term.
    rho_left = rho - CURVATURE_COST * kappa * kappa - _ROUNDING * rho
    if rho_left <= 0.0:
        smallest = smallest_gaussian_regularization(rho=rho, n_records=n_records, loss=loss)
        needed = CURVATURE_COST * kappa * kappa
        raise _too_small("Gaussian objective", regularization, smallest, n_records, needed)
    return _up(2.0 / math.sqrt(2.0 * rho_left))


def output_sensitivity(
    *, n_records: int, regularization: float, solver_error: float = 0.0
) -> Sensitivity:
    """Return 1/(nc), the L2 sensitivity of the minimiser [CMS Corollary 8], plus that of the
    solver's error. Every noise of output perturbation is made of it, and no other place has it.

    Args:
        n_records: number of records, public (>= 1).
        regularization: c > 0, in c |theta|^2 of the mean objective.
        solver_error: bound on the distance that solver error adds between the minimisers of
            neighbouring tables.
    """
    check_positive(regularization=regularization)
    check_count(n_records=n_records)
    nc = n_records * regularization
    return Sensitivity(1.0 + nc * solver_error, nc)


def output_noise_rate(*, epsilon: float, n_records: int, regularization: float) -> float:
    """Return the rate n c epsilon of the spherical Laplace noise for output perturbation.

    Args:
        epsilon: of the coefficients alone (> 0).
        n_records: number of records, public (>= 1).
        regularization: c > 0, in c |theta|^2 of the mean objective.

    Privacy: epsilon-DP, replace-one neighbours; the L2 sensitivity of the minimiser is 1/(n c).
    Source:  WKL Algorithm 4, line 3; CMS Corollary 8.

    >>> round(output_noise_rate(epsilon=0.5, n_records=1000, regularization=0.01), 12)
    5.0
    """
    moved = output_sensitivity(n_records=n_records, regularization=regularization)
    return laplace_rate(sensitivity=moved.size, epsilon=epsilon, divided_by=moved.divided_by)


def hessian_sensitivity(*, loss: Loss, n_records: int, tight: bool = False) -> float:
    """Return the Frobenius sensitivity of the Hessian at a released theta: 2t/n published, sqrt(2)
    t/n if `tight`.

    1/(2n) for the logistic loss, 1/(nh) for the Huber SVM [WKL Lemmas 3 and 5], which add the two
    norms.

    Args:
        loss: its largest curvature t counts.
        n_records: number of records, public (>= 1).
        tight: the exact one.

    Tight:   one record's part of H is a u u' with 0 <= a <= t and |u| <= 1, and so is its
             replacement's, b v v'. Then |a u u' - b v v'|^2 = a^2 |u|^4 + b^2 |v|^4 - 2 a b (u.v)^2
             <= a^2 + b^2 <= 2 t^2: the cross term only subtracts, because both parts are positive
             semidefinite. Attained by orthogonal u, v of norm 1 with a = b = t.  Source: own.
    """
    check_count(n_records=n_records)
    factor = math.sqrt(2.0) if tight else 2.0
    return _up(factor * loss.max_curvature / n_records)


def covariance_sensitivity(
    *, loss: Loss, n_records: int, radius: float, tight: bool = False, exact_slope: bool = False
) -> float:
    """Return the Frobenius sensitivity of the gradient covariance: 2 M/n published, sqrt(2) M/n if
    `tight`.

    M bounds f'^2 over |z| <= radius: sigmoid(radius)^2 for the logistic loss, 1 for the Huber SVM
    [WKL Lemmas 2 and 4]. The term -4 c^2 theta theta' is public once theta is, and costs nothing.

    Args:
        loss: its slopes count.
        n_records: number of records, public (>= 1).
        radius: norm of theta_priv, released (>= 0).
        tight: the exact one for this M.
        exact_slope: take M itself.

    Tight:   as for `hessian_sensitivity`, with f'^2 in the place of f''.
    Exact:   `exact_slope` takes M itself (`Loss.exact_squared_slope`): a margin is at most
             |theta_priv| in size, and the Huber SVM with h > 1 does not reach slope 1 before z =
             1 - h.  Source: own.
    """
    check_count(n_records=n_records)
    if not radius >= 0.0:
        raise ValueError(f"Expected radius={radius!r} >= 0.")
    largest = loss.exact_squared_slope(radius) if exact_slope else loss.max_squared_slope(radius)
    factor = math.sqrt(2.0) if tight else 2.0
    return _up(factor * largest / n_records)


def second_moment_sensitivity(*, n_records: int) -> float:
    """Return sqrt(2)/n, the Frobenius sensitivity of X'X/n for rows of norm at most 1.

    |xx' - zz'|^2 = |x|^4 + |z|^4 - 2 (x.z)^2 <= 2, attained by orthonormal rows.

    Args:
        n_records: number of records, public (>= 1).

    Source:  own; docs/proofs/map.md, Theorem 8.
    """
    check_count(n_records=n_records)
    return _up(math.sqrt(2.0) / n_records)


def gradient_sensitivity(*, n_records: int) -> float:
    """Return 2/n, the L2 sensitivity of a mean of vectors of norm at most 1; attained by opposite
    ones.

    Args:
        n_records: number of records, public (>= 1).
    """
    check_count(n_records=n_records)
    return _up(2.0 / n_records)


def count_sensitivity(*, n_records: int) -> float:
    """Return 1/n, the sensitivity of a share of the records.

    Args:
        n_records: number of records, public (>= 1).
    """
    check_count(n_records=n_records)
    return _up(1.0 / n_records)


def gaussian_sd(*, sensitivity: float, rho: float, divided_by: float = 1.0) -> float:
    """Return sensitivity / sqrt(2 rho), the standard deviation of rho-zCDP Gaussian noise [BS16
    Prop. 1.6].

    Args:
        sensitivity, divided_by: > 0; the sensitivity is their quotient, which loses a bit to
            rounding.
        rho: > 0.
    """
    check_positive(sensitivity=sensitivity, rho=rho)
    return _up(sensitivity / (divided_by * math.sqrt(2.0 * rho)))


def laplace_rate(*, sensitivity: float, epsilon: float, divided_by: float = 1.0) -> float:
    """Return epsilon / sensitivity, the rate of epsilon-DP spherical Laplace noise [WKL Algorithm
    2, line 3].

    Args:
        sensitivity, divided_by: as for `gaussian_sd`.
        epsilon: > 0.
    """
    check_positive(sensitivity=sensitivity, epsilon=epsilon)
    return _down(divided_by * epsilon / sensitivity)
