"""A design: everything that is public about a private release, decided before the data are touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dpci_core.errors import check_choice, check_positive, check_probability
from dpci_core.losses import Loss, check_loss
from dpci_core.privacy import ZCDP, ApproxDP, Budget, PureDP, to_float_down, zcdp_to_pure_run

Mechanism = Literal["objective", "output"]
Definition = Literal["pure", "zcdp"]
CalibrationName = Literal["published"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """Loss, mechanism, budget and penalty of one private release with intervals.

    Args:    loss: a `Loss`.  mechanism: "objective" or "output" perturbation.  budget: PureDP, ZCDP, or ApproxDP,
             which is stored as the ZCDP it becomes.  regularization: c > 0 in c |theta|^2.
             confidence_level: in (0, 1).  calibration: "published", the paper to the letter.
    Raises:  ValueError naming the argument, the rule and the value.

    The intervals cover the *penalised* population coefficient at this c, not the unpenalised one.

    >>> from dpci_core.losses import Logistic
    >>> budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    >>> Design(loss=Logistic(), mechanism="output", budget=budget, regularization=0.001).definition
    'pure'
    """

    loss: Loss
    mechanism: Mechanism
    budget: Budget
    regularization: float
    confidence_level: float = 0.95
    calibration: CalibrationName = "published"

    def __post_init__(self) -> None:
        check_loss(self.loss)
        check_choice(self.mechanism, ("objective", "output"), name="mechanism")
        check_choice(self.calibration, ("published",), name="calibration")
        check_positive(regularization=self.regularization)
        check_probability(confidence_level=self.confidence_level)
        given: object = self.budget  # what callers pass; the field holds what it becomes
        if isinstance(given, ApproxDP):
            object.__setattr__(self, "budget", given.to_zcdp())
        elif not isinstance(given, PureDP | ZCDP):
            raise ValueError(f"Expected budget to be PureDP, ZCDP or ApproxDP, got {type(given).__name__}.")

    @property
    def definition(self) -> Definition:
        """ "pure" or "zcdp"."""
        return "pure" if isinstance(self.budget, PureDP) else "zcdp"

    @property
    def objective_epsilon(self) -> float:
        """The pure epsilon at which objective perturbation runs: its share, or sqrt(2 rho) of it, rounded down."""
        if isinstance(self.budget, PureDP):
            return to_float_down(self.budget.model)
        return zcdp_to_pure_run(self.budget.model)


def check_design(design: object) -> None:
    """Raise ValueError unless this is a design."""
    if not isinstance(design, Design):
        raise ValueError(f"Expected a Design, got {type(design).__name__}.")
