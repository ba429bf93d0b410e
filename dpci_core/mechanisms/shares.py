"""What a release pays for, line by line, and the designs that its parts run at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from dpci_core.base.decimals import EXACT, UP
from dpci_core.design import Design
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.privacy.budget import to_float_down
from dpci_core.privacy.laws import NoiseLaw

TAU = 1e-10
"""Bound on the gradient norm of every fit of a release; a public constant, never loosened."""
INEXACT_SHARE = Decimal("0.001")
"""Share of `budget.model` that pays for hiding how inexact the minimiser is (a perturbed
objective).
"""
_LARGEST_SENSITIVITY_FACTOR = 1.0 + 2.0**-50


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseParts:
    """The price of a design in exact parts: `lines` add up to `design.budget.total`.

    planned: the design as it was planned.
    design_after_solver_share: the same with what is left for the minimiser in `budget.model`.
    minimiser: what hides the solver's error; None for noise on the minimiser, where it is part of
        the sensitivity.
    """

    planned: Design
    design_after_solver_share: Design
    minimiser: Decimal | None

    @property
    def lines(self) -> tuple[tuple[str, Decimal], ...]:
        """(name, amount) of every part, in the order of the draws."""
        budget = self.design_after_solver_share.budget
        first = (("metric", budget.metric),) if budget.metric else ()
        rest = (("hessian", budget.hessian), ("covariance", budget.covariance))
        if self.minimiser is None:
            return (*first, ("model", budget.model), *rest)
        return (*first, ("model", budget.model), ("inexact minimiser", self.minimiser), *rest)

    @property
    def solver_error(self) -> float:
        """tau/c, which bounds the distance that solver error adds between the minimisers of
        neighbouring tables.
        """
        return TAU / self.planned.regularization * _LARGEST_SENSITIVITY_FACTOR

    def minimiser_noise(self) -> NoiseLaw:
        """The law of what is added to the minimiser of a perturbed objective."""
        assert self.minimiser is not None
        amount = to_float_down(self.minimiser)
        return self.planned.budget.noise(sensitivity=self.solver_error, amount=amount)


def share_out(design: Design) -> ReleaseParts:
    """Return the parts that a release of this design pays for.

    Privacy: the share is rounded up, what is left is exact, so price and total are those of the
             design.

    >>> from dpci_core.losses import Logistic
    >>> from dpci_core.privacy.budget import ZCDP
    >>> budget = ZCDP(model="0.125", hessian="0.03", covariance="0.03")
    >>> shares = share_out(
    ...     Design(loss=Logistic(), mechanism="objective", budget=budget, regularization=0.001,
    ...            n_records=10_000)
    ... )
    >>> [f"{name} {amount}" for name, amount in shares.lines]
    ['model 0.124875', 'inexact minimiser 0.000125', 'hessian 0.03', 'covariance 0.03']
    """
    if not mechanism_of(design).perturbs_objective:
        return ReleaseParts(planned=design, design_after_solver_share=design, minimiser=None)
    budget = design.budget
    share = UP.multiply(budget.model, INEXACT_SHARE)
    left = replace(budget, model=EXACT.subtract(budget.model, share))
    return ReleaseParts(
        planned=design, design_after_solver_share=replace(design, budget=left), minimiser=share
    )
