"""What is public about a private linear regression, decided before the data are touched."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import ClassVar, NamedTuple

from dpci_core.base.decimals import DOWN, EXACT
from dpci_core.base.errors import check_count, check_range
from dpci_core.base.limits import (
    BUDGET_PART,
    confidence_level_in_range,
    records_in_range,
    rows_per_person_in_range,
)
from dpci_core.design import Measures
from dpci_core.privacy.budget import (
    PARTS,
    ApproxDP,
    Budget,
    check_amount,
    pure_refused,
    to_float_down,
)

COVERS = (
    "least-squares coefficient of the declared columns, long rows and large residuals counted less"
)
STEPS = (2, 8)
CLIP = (0.1, 100.0)
_ROUGH = Decimal("0.3")
"""Share of `budget.hessian` for the rough metric."""
_LOOK = Decimal("0.03")
"""Share of `budget.model` for each look at lengths: one at rows, one before each step."""
_CHECK = Decimal("0.02")
"""Share of `budget.model` for the number of gradients that were cut."""
_GROWTH = Decimal("2.5")
"""A step has so many times the budget of the step before it."""


class Amounts(NamedTuple):
    """What each release costs, in the order of the draws but for the looks."""

    rough: float
    moment: float
    look: float
    steps: tuple[float, ...]
    check: float
    covariance: float


@dataclass(frozen=True, kw_only=True, slots=True)
class LinearDesign:
    """Budget, number of records, steps and clip of one private linear regression with intervals.

    Args:
        budget: `ZCDP` or `GDP`; an `ApproxDP` is stored as the `GDP` it becomes, since all noise is
            Gaussian. Its parts pay for the steps (model), the second moment of the rows (hessian)
            and that of the gradients (covariance); 0.7, 0.2 and 0.1 do everywhere.
        n_records: n >= 1, public, of records, or of persons where they may have several rows.
        steps: Newton steps; each has 2.5 times the budget of the one before it.
        clip: where gradients are cut, in lengths that nine of ten do not exceed.
        row_clip: from where rows count less, in lengths of rows in their metric that nine of ten
            do not exceed.
        confidence_level: of each interval, in (0, 1).
        rows_per_person: k, rows of one person that count at most. Above 1 a person is what is
            protected, and what `n_records` counts (docs/proofs/gaussian.md#persons).

    Privacy: says what is spent and promises nothing by itself; `budget.total` is the price.
    Raises:  ValueError naming the argument, the rule and the value; InfeasibleDesignError for a
             pure epsilon.

    >>> LinearDesign(budget=ApproxDP("1", "1e-6", ("0.7", "0.2", "0.1")), n_records=2000).definition
    'gdp'
    """

    budget: Budget
    n_records: int
    steps: int = 3
    clip: float = 1.5
    row_clip: float = 1.2
    confidence_level: float = 0.95
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        given: object = self.budget
        if isinstance(given, ApproxDP):
            object.__setattr__(self, "budget", given.to_gdp())
        if not isinstance(self.budget, Budget):
            raise ValueError(
                f"Expected budget to be ZCDP, GDP or ApproxDP, got {type(given).__name__}."
            )
        if self.budget.law != "gaussian":
            raise pure_refused(self.budget, "A linear regression releases")
        if self.budget.metric:
            raise ValueError(
                "Expected no budget.metric: budget.hessian pays for the metric of a linear "
                "regression."
            )
        for name in PARTS:
            check_amount(BUDGET_PART, **{f"budget.{name}": getattr(self.budget, name)})
        object.__setattr__(self, "n_records", records_in_range(self.n_records))
        object.__setattr__(self, "rows_per_person", rows_per_person_in_range(self.rows_per_person))
        check_count(steps=self.steps)
        check_range(STEPS, steps=self.steps)
        check_range(CLIP, clip=self.clip)
        check_range(CLIP, row_clip=self.row_clip)
        object.__setattr__(
            self, "confidence_level", confidence_level_in_range(self.confidence_level)
        )

    measures: ClassVar[Measures] = "outcome"
    status: ClassVar[str] = ""
    """Empty: Gaussian noise and adaptive composition are published."""

    @property
    def definition(self) -> str:
        """ "zcdp" or "gdp"."""
        return self.budget.definition

    @property
    def lines(self) -> tuple[tuple[str, Decimal], ...]:
        """(what it pays for, amount) of every part of the total."""
        budget = self.budget
        return (
            ("second moment", budget.hessian),
            ("steps", budget.model),
            ("covariance", budget.covariance),
        )

    def amounts(self) -> Amounts:
        """Return what each release costs; together at most `budget.total`, every rounding down."""
        return _amounts(self.budget, self.steps)


@lru_cache(maxsize=8)
def _amounts(budget: Budget, steps: int) -> Amounts:
    """The same, which every draw of a forecast asks for."""
    look, check = DOWN.multiply(budget.model, _LOOK), DOWN.multiply(budget.model, _CHECK)
    looks = EXACT.multiply(look, Decimal(steps + 1))
    left = EXACT.subtract(EXACT.subtract(budget.model, looks), check)
    weights = [_GROWTH**k for k in range(steps)]
    rough = DOWN.multiply(budget.hessian, _ROUGH)
    return Amounts(
        rough=to_float_down(rough),
        moment=to_float_down(EXACT.subtract(budget.hessian, rough)),
        look=to_float_down(look),
        steps=tuple(
            to_float_down(DOWN.divide(DOWN.multiply(left, weight), sum(weights)))
            for weight in weights
        ),
        check=to_float_down(check),
        covariance=to_float_down(budget.covariance),
    )
