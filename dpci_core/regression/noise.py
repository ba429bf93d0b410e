"""How a mean over records leaves: its sensitivity, its noise, its grid. Every term of it has norm
at most 1, so the sensitivities are the same for every table, clip and metric.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpci_core.base.array import Array
from dpci_core.mechanisms.matrices import private_matrix
from dpci_core.mechanisms.mean import release_mean, rounding_of_means
from dpci_core.privacy.randomness import NoiseSource
from dpci_core.privacy.sensitivity import (
    count_sensitivity,
    gradient_sensitivity,
    second_moment_sensitivity,
)
from dpci_core.regression.design import LinearDesign


def gradient_sd(design: LinearDesign, step: int) -> float:
    """Standard deviation of the noise on the mean gradient of a step, in units of its clip."""
    s = gradient_sensitivity(n_records=design.n_records)
    return design.budget.noise(sensitivity=s, amount=design.amounts().steps[step]).scale


def matrix_sd(design: LinearDesign, amount: float) -> float:
    """Standard deviation of the noise on a diagonal entry of a mean of matrices of norm 1."""
    s = second_moment_sensitivity(n_records=design.n_records)
    return design.budget.noise(sensitivity=s, amount=amount).scale


def share_sd(design: LinearDesign) -> float:
    """Standard deviation of the noise on the share of records that were cut."""
    s = count_sensitivity(n_records=design.n_records)
    return design.budget.noise(sensitivity=s, amount=design.amounts().check).scale


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Noise of a fit: from the operating system, exact and on a grid, or from a generator.

    numbers: everything that was released so far, in order.
    """

    design: LinearDesign
    source: NoiseSource
    numbers: list[Array]

    def gradient(self, mean: Array, step: int) -> Array:
        """Release a mean (p,) of vectors."""
        s = gradient_sensitivity(n_records=self.design.n_records)
        return self._vector(mean, s, self.design.amounts().steps[step])

    def counts(self, share: Array) -> Array:
        """Release the shares (k,) of records in classes of which each is in one."""
        s = second_moment_sensitivity(n_records=self.design.n_records)
        return self._vector(share, s, self.design.amounts().look)

    def count(self, share: Array) -> Array:
        """Release the share (1,) of records that something is true of."""
        s = count_sensitivity(n_records=self.design.n_records)
        return self._vector(share, s, self.design.amounts().check)

    def matrix(self, mean: Array, amount: float) -> Array:
        """Release a mean (p, p) of positive semidefinite matrices."""
        s = second_moment_sensitivity(n_records=self.design.n_records)
        released = private_matrix(
            mean,
            sensitivity=s + rounding_of_means(self._n_terms, self.source),
            amount=amount,
            kind=self.design.definition,
            floor=0.0,
            rng=self.source,
            symmetric=True,
        )
        self.numbers.append(released.noisy)
        return released.noisy

    def _vector(self, mean: Array, sensitivity: float, amount: float) -> Array:
        found = release_mean(
            mean,
            budget=self.design.budget,
            sensitivity=sensitivity,
            amount=amount,
            n_terms=self._n_terms,
            source=self.source,
        )
        self.numbers.append(found)
        return found

    @property
    def _n_terms(self) -> int:
        """Terms of a sum: a person has up to `rows_per_person`."""
        return self.design.n_records * self.design.rows_per_person
