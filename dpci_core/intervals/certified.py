"""The coefficients of a release: what real arithmetic asks for beyond the formulas of `mechanisms`.

The argument is in docs/proofs/release.md#coefficients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from scipy.special import gammainccinv

from dpci_core.base.array import Array
from dpci_core.base.batches import Table, as_table
from dpci_core.base.decimals import smallest_amount
from dpci_core.base.errors import Change, InfeasibleDesignError
from dpci_core.base.limits import MOST_COEFFICIENTS, REGULARIZATION
from dpci_core.base.metric import Metric
from dpci_core.base.rows import Rows
from dpci_core.design import Design
from dpci_core.mechanisms.mechanism import GRID_EXPONENT, mechanism_of, model_noise, train_private
from dpci_core.mechanisms.shares import TAU, ReleaseParts, share_out
from dpci_core.privacy.budget import to_float_down
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.randomness import SystemSource, check_system_source
from dpci_core.solvers.guaranteed import Guaranteed, gradient_rounding
from dpci_core.solvers.metric import longest_stretch, most_coefficients
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.risk import Fit, PenalisedRisk

GRID = 2.0**GRID_EXPONENT
"""Released coefficients are multiples of this."""
REFUSED_NOISE = 2.0**-200
"""Probability with which the noise vector of an objective is longer than the one that feasibility
was checked for.

Such a release may be refused after it was booked, which is the one way in which the law of a
release is cut: a delta of at most this.
"""
_NEIGHBOURS_APART = 2.0
"""How far the noise vectors that give one minimiser on two neighbouring tables are apart at most:
two slopes.
"""


class UncertainFitError(InfeasibleDesignError):
    """A fit that floating-point numbers cannot certify to the tolerance of a release.

    regularization: the c that was given, None where no c helps.
    n_records, dim: of the encoded records.
    tolerance: on the gradient norm of the fit.
    """

    def __init__(
        self,
        regularization: float | None,
        n_records: int,
        dim: int,
        changes: tuple[Change, ...] = (),
    ) -> None:
        self.regularization, self.n_records, self.dim = regularization, n_records, dim
        self.tolerance = TAU
        if regularization is None:
            super().__init__(
                f"With n_records={n_records}, {dim} coefficients and this budget a fit with noise "
                "from the operating system cannot be certified at any penalty.",
                "Spend more on the coefficients, or use more records.",
            )
            return
        super().__init__(
            f"With regularization={regularization!r}, n_records={n_records} and {dim} coefficients "
            f"the fit cannot be certified to {self.tolerance:.0e} in floating-point numbers.",
            "Choose a larger c, a larger budget of the coefficients or, for a Huber SVM, a larger "
            "h.",
            changes,
        )


def check_feasible(design: Design, *, dim: int) -> None:
    """Raise InfeasibleDesignError unless a release of this design can run; only public numbers
    matter.

    Besides what the mechanism asks for, the tolerance of the fit must be within reach of
    floating-point numbers.

    Args:
        design: as it is planned.
        dim: p.
    """
    shares = share_out(design)
    noise = model_noise(shares.design_after_solver_share, solver_error=_solver_error(shares))
    longest = 0.0
    if mechanism_of(design).perturbs_objective:
        longest = _longest_noise_vector(noise, dim) * _stretch(design, dim)
    if mechanism_of(design).has_minimiser:
        _check_certificate(design, dim=dim, noise_norm=longest)
    else:
        _check_dim(design, dim)


def _solver_error(shares: ReleaseParts) -> float:
    return shares.solver_error if shares.minimiser is None else 0.0


def noise_of_release(design: Design, *, dim: int) -> NoiseLaw:
    """Return the law of the noise on the coefficients (dim,) of a release of this design."""
    shares = share_out(design)
    noise = model_noise(shares.design_after_solver_share, solver_error=_solver_error(shares))
    if shares.minimiser is None:
        return noise
    return replace(noise, added_var=shares.minimiser_noise().variance(dim))


def _longest_noise_vector(noise: NoiseLaw, dim: int) -> float:
    """A length that the noise vector exceeds with probability `REFUSED_NOISE`, and the step to a
    neighbour's.
    """
    if noise.rate is not None:
        return float(gammainccinv(dim, REFUSED_NOISE)) / noise.rate + _NEIGHBOURS_APART
    assert noise.sd is not None
    return (
        noise.sd * math.sqrt(2.0 * float(gammainccinv(dim / 2.0, REFUSED_NOISE)))
        + _NEIGHBOURS_APART
    )


def _stretch(design: Design, dim: int) -> float:
    """What a metric multiplies the noise vector by at most, and its rounding, in units of that of
    the noise vector itself.
    """
    if design.geometry is None:
        return 1.0
    return longest_stretch(design.geometry) * (1.0 + (dim + 2.0) / 4.0)


def _check_dim(design: Design, dim: int) -> None:
    """Raise unless rounding leaves the rows within norm 1, in the metric where there is one."""
    most, where = MOST_COEFFICIENTS, ""
    if design.geometry is not None:
        most = most_coefficients(design.geometry)
        where = f" with geometry.ridge={design.geometry.ridge!r}"
    if dim >= most:
        raise InfeasibleDesignError(
            f"Expected fewer than {most:,} coefficients{where}, got {dim:,}: rounding could lift a "
            "row above the norm that the noise is made for.",
            "Use fewer features." if not where else "Use fewer features or a larger ridge.",
        )


def _check_certificate(design: Design, *, dim: int, noise_norm: float) -> None:
    """Raise unless a computed gradient of norm tau/2 certifies a true one of norm tau."""
    _check_dim(design, dim)

    def is_certain(c: float | Decimal) -> bool:
        two_c = 2.0 * float(c)
        condition = (design.loss.max_curvature + two_c) / two_c
        return (
            gradient_rounding(
                n_records=design.n_records,
                dim=dim,
                condition=condition,
                noise_norm=noise_norm,
                rows_per_person=design.rows_per_person,
            )
            <= TAU / 2.0
        )

    if not is_certain(design.regularization):
        start, largest = (Decimal(repr(c)) for c in (design.regularization, REGULARIZATION[1]))
        c = smallest_amount(is_certain, start=start, largest=largest)
        # A larger c may also shorten the noise vector, so that a little less could do.
        changes = () if c is None else (Change("regularization", float(c), is_smallest=False),)
        raise UncertainFitError(design.regularization, design.n_records, dim, changes)


@dataclass(frozen=True, slots=True)
class _CertifiedSolver:
    """The guaranteed solver at the tolerance of a release, after checking that rounding keeps its
    certificate.
    """

    design: Design

    def __call__(self, risk: PenalisedRisk) -> Fit:
        p = risk.rows.shape[1]
        norm = 0.0 if risk.noise_vector is None else float(np.linalg.norm(risk.noise_vector))
        if self.design.geometry is not None:  # its rounding, as in `_stretch`
            norm *= 1.0 + (p + 2.0) / 4.0
        _check_certificate(self.design, dim=p, noise_norm=norm)
        return minimise(risk, Guaranteed(TAU / 2.0))


def draw_coefficients(
    A: Rows | Table, *, shares: ReleaseParts, source: SystemSource, metric: Metric | None = None
) -> tuple[Array, NoiseLaw]:
    """Return the released coefficients (p,), multiples of `GRID`, and the law of their noise.

    Args:
        A: rows y_i x_i, (n, p).
        shares: what the minimiser and its noise may cost.
        source: the operating system's entropy.
        metric: as for `train_private`.

    Privacy: `planned.budget.model` in its definition, the error of the solver included
             (docs/proofs/release.md#coefficients).
    """
    check_system_source(source)
    solver = _CertifiedSolver(shares.planned)
    model = train_private(
        as_table(A),
        design=shares.design_after_solver_share,
        rng=source,
        solver=solver,
        solver_error=_solver_error(shares),
        metric=metric,
    )
    if shares.minimiser is None:
        return model.theta_priv, model.noise
    hiding = shares.minimiser_noise()
    theta = shares.planned.budget.add_noise(
        model.theta_priv,
        hiding,
        source,
        sensitivity=shares.solver_error,
        amount=to_float_down(shares.minimiser),
        exponent=GRID_EXPONENT,
    )
    return theta, replace(model.noise, added_var=hiding.variance(A.shape[1]))
