"""A design: everything that is public about a private release, decided before the data are
touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Literal, Protocol

from dpci_core.base.errors import RangeError, check_choice, check_range
from dpci_core.base.limits import (
    BUDGET_PART,
    LEVERAGE,
    RIDGE,
    confidence_level_in_range,
    records_in_range,
    regularization_in_range,
    rows_per_person_in_range,
)
from dpci_core.losses import Loss, check_loss
from dpci_core.privacy.budget import DEFINITIONS, PARTS, ApproxDP, Budget, check_amount

MechanismName = str
"""A key of `MECHANISMS`: "objective", "output" or "newton"."""
Definition = str
"""A key of `budget.DEFINITIONS`: "pure", "zcdp" or "gdp"."""
CalibrationName = Literal["published", "sharp"]
TargetName = str
"""A key of `ESTIMANDS`: "penalised" or "unpenalised"."""
CovarianceFloor = Literal["2c", "zero"]
Measures = Literal["odds", "score", "outcome"]
"""What effects are told in: factors on the odds, scores, or units of a number."""


class _Mechanism(Protocol):
    """What a design asks of its mechanism; `mechanisms.mechanism.Mechanism` is the whole of it."""

    perturbs_objective: ClassVar[bool]
    turns_noise: ClassVar[bool]
    clips: ClassVar[tuple[float, ...]]

    def status(self, design: Design) -> str:
        """What a reader must be told about the results a design rests on."""


MECHANISMS: dict[MechanismName, _Mechanism] = {}
"""Every mechanism by name, in the order in which they are listed; `mechanisms` fills it."""


class _Estimand(Protocol):
    """What is asked of a target below `intervals.estimands.Estimand`, which is the whole of it."""

    is_shrunk: ClassVar[bool]
    needs_unpenalised_fit: ClassVar[bool]

    def covers(self, c: float) -> str:
        """What stands in titles after "for the"."""

    def has_one_step_point(self, loss: Loss) -> bool:
        """Whether the Hessian is released at the one-step point."""


ESTIMANDS: dict[TargetName, _Estimand] = {}
"""Every target by name; `intervals.estimands` fills it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """Switches that shorten the intervals, all on; every combination has the same guarantee at the
    same budget.

    Args:
        covariance_floor: smallest eigenvalue the released gradient covariance is raised to; "2c" as
            published, or "zero", which only asks that it is a covariance. Post-processing
            (`matrices.covariance_noise`).
        tight_sensitivity: use the exact sensitivities, sqrt 2 below the published ones
            (`sensitivity`).
        symmetric_noise: draw noise for the p(p+1)/2 free entries instead of p^2
            (`matrices.unit_noise`).
        gaussian_objective: under zCDP, add Gaussian instead of spherical Laplace noise to the
            objective (`sensitivity.gaussian_objective_sd`); it acts only there. A new result, not
            peer-reviewed.
        noise_aware: take the known law of the matrix noise into account in the half-widths
            (`half_widths`). Post-processing.
        exact_slope_bound: bound the Huber slope by its true maximum over the released norm
            (`losses`).

    The split of the budget is not a switch: `best_split` moves it.

    >>> Calibration() == Calibration.sharp()
    True
    >>> Calibration(gaussian_objective=False).noise_aware
    True
    >>> Calibration.published(tight_sensitivity=True).noise_aware
    False
    """

    covariance_floor: CovarianceFloor = "zero"
    tight_sensitivity: bool = True
    symmetric_noise: bool = True
    gaussian_objective: bool = True
    noise_aware: bool = True
    exact_slope_bound: bool = True

    def __post_init__(self) -> None:
        check_choice(self.covariance_floor, ("2c", "zero"), name="covariance_floor")
        for name in _FLAGS:
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise ValueError(f"Expected {name}={value!r} to be True or False.")

    @property
    def name(self) -> str | None:
        """ "published" or "sharp", and None where some switches are on."""
        return next((name for name, known in CALIBRATIONS.items() if known == self), None)

    @classmethod
    def published(
        cls, *, covariance_floor: CovarianceFloor = "2c", **switches: bool
    ) -> Calibration:
        """The paper to the letter, every switch off, or all but those that are given."""
        return cls(covariance_floor=covariance_floor, **(dict.fromkeys(_FLAGS, False) | switches))

    @classmethod
    def sharp(cls) -> Calibration:
        """Every switch on."""
        return cls()


_FLAGS = (
    "tight_sensitivity",
    "symmetric_noise",
    "gaussian_objective",
    "noise_aware",
    "exact_slope_bound",
)
CALIBRATIONS = {"published": Calibration.published(), "sharp": Calibration.sharp()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Geometry:
    """Noise shaped like the records: its metric is Q = (M + ridge I)^(-1/2), M their second moment,
    which is released first, for `budget.metric`. What is public goes into the map of the encoding
    (`schema.StandardEncoding`) and costs nothing.

    A record of leverage |Q x|^2 above `leverage` counts less: its loss has the weight leverage /
    |Q x|^2. The target is then the coefficient with such rows weighted down
    (docs/proofs/map.md#metric).

    Args:
        ridge: lambda > 0, added to the eigenvalues of M; records have norm at most 1.
        leverage: C^2 > 0, the largest leverage that counts in full; ridge * leverage <= 1.

    Privacy: public itself. A metric that does not fit the records costs length or bias, never
             privacy.
    Raises:  ValueError naming the argument, the rule and the value.

    >>> Geometry(ridge=0.03, leverage=20).leverage
    20.0
    """

    ridge: float
    leverage: float

    def __post_init__(self) -> None:
        check_range(RIDGE, ridge=self.ridge)
        check_range(LEVERAGE, leverage=self.leverage)
        for name in ("ridge", "leverage"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.ridge * self.leverage > 1.0 + _ROUNDING:
            raise RangeError("leverage", self.leverage, 0.0, 1.0 / self.ridge)


_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """Loss, mechanism, budget, penalty and number of records of one private release with intervals.

    Args:
        loss: a `Loss`, with its smoothing h where it has one.
        mechanism: "objective" or "output" perturbation, or clipped "newton" steps.
        budget: `PureDP`, `ZCDP` or `GDP` for the three parts; an `ApproxDP` is stored as the `GDP`
            it becomes where noise is added to the minimiser, else as the `ZCDP`.
        regularization: c > 0 in c |theta|^2 of the mean objective; range `limits.REGULARIZATION`.
        n_records: n >= 1, the public number of records, or of persons where they may have several
            rows. Every noise scale depends on it. A release, and whatever else trains on rows, runs
            with the number of its rows (`private_fit`); a forecast is for any n.
        confidence_level: of each interval, in (0, 1).
        calibration: "published", the paper to the letter; "sharp", this project's shorter intervals
            at the same guarantee; or a `Calibration`.
        target: "penalised", the population coefficient at this c, which every published interval
            covers; or "unpenalised", the coefficient without penalty, by one Newton step from the
            release (`intervals._newton_step`).
        geometry: noise shaped like the records; None for noise of equal size in every direction.
            It goes with objective perturbation and with Newton steps, which need one.
        clip: length at which Newton steps cut the gradient of a record in that metric, where none
            is longer than 1; what is cut moves the coefficients (docs/proofs/gaussian.md).
        rows_per_person: k, rows of one person that count at most. Above 1 a person is what is
            protected, and what `n_records` counts (docs/proofs/release.md#persons).

    Privacy: says what is spent and promises nothing by itself; `budget.total` is the price.
    Raises:  ValueError naming the argument, the rule and the value.

    >>> from dpci_core.losses import Logistic
    >>> from dpci_core.privacy.budget import PureDP
    >>> budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    >>> Design(loss=Logistic(), mechanism="output", budget=budget, regularization=0.001,
    ...        n_records=100_000).definition
    'pure'
    """

    loss: Loss
    mechanism: MechanismName
    budget: Budget
    regularization: float
    n_records: int
    confidence_level: float = 0.95
    calibration: Calibration | CalibrationName = "sharp"
    target: TargetName = "penalised"
    geometry: Geometry | None = None
    rows_per_person: int = 1
    clip: float = 1.0

    def __post_init__(self) -> None:
        check_loss(self.loss)
        check_choice(self.mechanism, tuple(MECHANISMS), name="mechanism")
        if not isinstance(self.calibration, Calibration):
            check_choice(self.calibration, tuple(CALIBRATIONS), name="calibration")
            object.__setattr__(self, "calibration", CALIBRATIONS[self.calibration])
        check_choice(self.target, tuple(ESTIMANDS), name="target")
        object.__setattr__(self, "regularization", regularization_in_range(self.regularization))
        object.__setattr__(self, "n_records", records_in_range(self.n_records))
        object.__setattr__(
            self, "confidence_level", confidence_level_in_range(self.confidence_level)
        )
        given: object = self.budget  # what callers pass; the field holds what it becomes
        if isinstance(given, ApproxDP):
            object.__setattr__(self, "budget", spent_by(given, self.mechanism))
        elif type(given) not in DEFINITIONS.values():
            raise ValueError(
                f"Expected budget to be PureDP, ZCDP, GDP or ApproxDP, got {type(given).__name__}."
            )
        if self.budget.additive_only and MECHANISMS[self.mechanism].perturbs_objective:
            raise ValueError(
                f"Expected no budget of {self.budget.title} with noise in the objective: its "
                "theorem is one of zCDP. Take mechanism='output', or PureDP, ZCDP or ApproxDP."
            )
        for name in PARTS:
            check_amount(BUDGET_PART, **{f"budget.{name}": getattr(self.budget, name)})
        if self.budget.metric:
            check_amount(BUDGET_PART, **{"budget.metric": self.budget.metric})
        object.__setattr__(self, "rows_per_person", rows_per_person_in_range(self.rows_per_person))
        if self.rows_per_person > 1 and not self.loss.allows_weights:
            raise ValueError(
                f"Expected rows_per_person=1: loss {self.loss.name!r} allows no weights."
            )
        check_range((min(MECHANISMS[self.mechanism].clips), 1.0), clip=self.clip)
        object.__setattr__(self, "clip", float(self.clip))
        self._check_geometry()

    def _check_geometry(self) -> None:
        """Raise ValueError unless metric, mechanism, loss and budget go together."""
        geometry, metric = self.geometry, self.budget.metric
        if geometry is None:
            if metric:
                raise ValueError("Expected no budget.metric without a geometry.")
            return
        if not isinstance(geometry, Geometry):
            raise ValueError(f"Expected a Geometry or None, got {type(geometry).__name__}.")
        if not MECHANISMS[self.mechanism].turns_noise:
            raise ValueError(
                "Expected no geometry: it shapes noise in the objective, not on its minimiser."
            )
        if self.rows_per_person > 1:
            raise ValueError(
                "Expected no geometry with rows_per_person > 1: its theorem is one of single rows."
            )
        if not self.loss.allows_weights:
            raise ValueError(f"Expected no geometry: loss {self.loss.name!r} allows no weights.")
        if not metric:
            raise ValueError("Expected a budget.metric for the second moment that is released.")

    @property
    def switches(self) -> Calibration:
        """The calibration as its switches."""
        assert isinstance(self.calibration, Calibration)
        return self.calibration

    @property
    def measures(self) -> Measures:
        """What effects are told in: odds, or the score of an SVM."""
        return "odds" if self.loss.is_log_odds else "score"

    @property
    def definition(self) -> Definition:
        """ "pure", "zcdp" or "gdp"."""
        return self.budget.definition

    @property
    def status(self) -> str:
        """What a reader must be told about the results this design rests on; empty if all are
        published.
        """
        return MECHANISMS[self.mechanism].status(self)


def spent_by(budget: ApproxDP, mechanism: MechanismName) -> Budget:
    """Return an (epsilon, delta) budget in the definition that grants a mechanism the most: mu^2
    where it adds all noise to what is released, which is Gaussian then, else a rho.
    """
    check_choice(mechanism, tuple(MECHANISMS), name="mechanism")
    return budget.to_zcdp() if MECHANISMS[mechanism].perturbs_objective else budget.to_gdp()


def check_design(design: object) -> None:
    """Raise ValueError unless this is a design."""
    if not isinstance(design, Design):
        raise ValueError(f"Expected a Design, got {type(design).__name__}.")


def guarantee_at(design: Design, delta: float | Decimal) -> tuple[float, float]:
    """Return what the whole budget means as (epsilon, delta): a pure one has delta 0, another is
    converted.

    Args:
        design: whose total is meant.
        delta: at which a total in rho or mu^2 is read, in (0, 1).

    Source:  `zcdp_to_epsilon` and `gdp_to_epsilon`, the conversions that are shown everywhere.

    >>> from dpci_core.losses import Logistic
    >>> from dpci_core.privacy.budget import ZCDP
    >>> budget = ZCDP(model="0.1", hessian="0.0125", covariance="0.0125")
    >>> design = Design(loss=Logistic(), mechanism="output", budget=budget, regularization=0.01,
    ...                 n_records=1000)
    >>> epsilon, delta = guarantee_at(design, 1e-6)
    >>> round(epsilon, 3), delta
    (2.419, 1e-06)
    """
    return design.budget.guarantee(delta)
