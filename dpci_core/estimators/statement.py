"""What a fit promises about privacy, and where its noise came from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import numpy as np

from dpci_core.base.errors import check_probability
from dpci_core.design import Definition, MechanismName
from dpci_core.ledger import Charge
from dpci_core.mechanisms.mechanism import mechanism_named
from dpci_core.privacy.budget import DEFINITIONS, to_float_down
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.report.words import SEEDED, UNBOOKED, booked

Noise = Literal["system", "seeded"]

RARELY_REFUSED = (
    "A noise vector too long for a certified fit ends the fit with an error, with a probability of "
    "at most 2^-200 for each model that is trained: the one delta, not counted above."
)
"""Stands with objective perturbation whose noise is the operating system's
(docs/proofs/release.md#coefficients).
"""
RECORD = "the value of one record"
LABELS_READ = (
    "The set of class labels was read from y, which the guarantee does not cover: a label that "
    "only one person has would show. Declare classes= to keep it out of the result."
)

READ_BEFORE = (
    "Not covered, and not known here, is what was read from the records before the fit: a scaler, "
    "an imputer or a choice of features that was fitted to them."
)
"""Stands with every fit whose noise is the operating system's."""


def noise_source(random_state: object) -> NoiseSource:
    """Return what a `random_state` names: the operating system's entropy for None, otherwise a
    generator.

    A generator makes a fit a simulation, and never gets where a release's noise is drawn; the types
    are told apart there (`randomness.check_system_source`).
    """
    if random_state is None:
        return SystemSource()
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):  # scikit-learn hands these around
        return np.random.default_rng(random_state.randint(0, 2**32, size=8, dtype=np.uint32))
    if (
        isinstance(random_state, int | np.integer)
        and not isinstance(random_state, bool)
        and random_state >= 0
    ):
        return np.random.default_rng(int(random_state))
    raise ValueError("Expected random_state to be None, a whole number >= 0 or a NumPy generator.")


class _Statement(ABC):
    """What every statement says of its noise and its price."""

    __slots__ = ()
    definition: Definition
    amount: Decimal
    noise: Noise
    charge: Charge | None

    @property
    @abstractmethod
    def sentences(self) -> tuple[str, ...]:
        """Everything a reader must know, the caution first."""

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    @property
    def is_simulation(self) -> bool:
        """Whether whoever knows the generator could subtract the noise, so that nothing drawn may
        be published.
        """
        return self.noise == "seeded"

    @property
    def guarantee(self) -> str:
        """The definition with its amount."""
        kind = DEFINITIONS[self.definition]
        return f"{kind.symbol} = {self.amount} ({kind.title})"

    @property
    def caution(self) -> str:
        """Whether it was paid for, and why it is no release."""
        if self.is_simulation:
            return SEEDED
        if self.charge is None:
            return UNBOOKED
        paid = self.charge
        return booked(paid.charge_id, paid.dataset, paid.person, is_noted=paid.state == "done")


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivacyStatement(_Statement):
    """The guarantee of one fit.

    amount: epsilon or rho of everything the fit drew, exact.
    mechanism: None for the steps of a linear regression.
    classes_declared: whether the labels came from `classes=`.
    status: what must be said about the results it rests on.
    noise: drawn from the operating system's entropy, or from a generator that can be run again.
    charge: of the ledger that was asked for it before it was drawn; None if none was.

    >>> made = PrivacyStatement(definition="pure", amount=Decimal("1.5"), mechanism="output",
    ...                         n_models=1, classes_declared=True, status="", noise="seeded")
    >>> made.guarantee, made.is_simulation
    ('epsilon = 1.5 (pure differential privacy)', True)
    """

    definition: Definition
    amount: Decimal
    mechanism: MechanismName | None
    n_models: int
    classes_declared: bool
    status: str
    noise: Noise
    unit: str = RECORD
    neighbours: str = (
        "tables that differ in one record, replaced by another; the number of records is public"
    )
    charge: Charge | None = None

    @property
    def kind(self) -> str:
        """What the fit is, in two words."""
        if self.is_simulation:
            return "SIMULATION"
        return "private, not booked" if self.charge is None else f"charge {self.charge.charge_id}"

    def epsilon(self, delta: float) -> float:
        """Return the epsilon of this guarantee at a delta, rounded up; a pure one is the same at
        every delta.
        """
        check_probability(delta=delta)
        kind, below = DEFINITIONS[self.definition], to_float_down(self.amount)
        if Decimal(below) == self.amount and not kind.has_delta:
            return kind.epsilon_of(below, delta)
        # Of the next float above: a conversion takes floats, and must not be handed less than was
        # spent.
        return kind.epsilon_of(float(np.nextafter(below, np.inf)), delta)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything a reader must know, the caution first."""
        several = (
            f"{self.n_models} models, one for each class against the rest, share the budget."
            if self.n_models > 1
            else ""
        )
        labels = "" if self.classes_declared else LABELS_READ
        protected = f"Protected is {self.unit}: neighbours are {self.neighbours}."
        perturbs = self.mechanism and mechanism_named(self.mechanism).perturbs_objective
        rare = RARELY_REFUSED if perturbs and not self.is_simulation else ""
        before = "" if self.is_simulation else READ_BEFORE
        found = (
            self.caution,
            f"Guarantee: {self.guarantee}.",
            protected,
            several,
            labels,
            before,
            rare,
            self.status,
        )
        return tuple(sentence for sentence in found if sentence)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChoiceStatement(_Statement):
    """The guarantee of a fit that chose privately.

    amount: epsilon or rho of everything, exact.
    classes_declared: whether the labels, if there are any, came from `classes=`.
    perturbs_objective: whether one of the candidates is trained so.
    charge: as for `PrivacyStatement`.
    """

    amount: Decimal
    noise: Noise
    classes_declared: bool = True
    perturbs_objective: bool = False
    definition: Definition = "pure"
    charge: Charge | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything a reader must know, the caution first."""
        found = (
            self.caution,
            f"Guarantee: {self.guarantee}, training and choice together.",
            "Scores are not released.",
            "" if self.classes_declared else LABELS_READ,
            "" if self.is_simulation else READ_BEFORE,
            RARELY_REFUSED if self.perturbs_objective and not self.is_simulation else "",
        )
        return tuple(sentence for sentence in found if sentence)
