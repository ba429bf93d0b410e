"""A mean over records: what its floating-point sum adds, and how it leaves as a vector."""

from __future__ import annotations

from dpci_core.base.array import Array
from dpci_core.privacy.budget import Budget
from dpci_core.privacy.randomness import NoiseSource, SystemSource, grid_under
from dpci_core.solvers.risk import rounding_of_sums


def rounding_of_means(n_terms: int, source: NoiseSource) -> float:
    """Return what floating point adds to how far means of so many terms of norm at most 1 can be
    apart; 0 for a generator, whose draws protect nobody.
    """
    return 2.0 * rounding_of_sums(n_terms) if isinstance(source, SystemSource) else 0.0


def release_mean(
    mean: Array,
    *,
    budget: Budget,
    sensitivity: float,
    amount: float,
    n_terms: int,
    source: NoiseSource,
) -> Array:
    """Release a mean (k,) over records of terms of norm at most 1.

    Args:
        mean: as it was summed in floating point.
        budget: whose definition counts.
        sensitivity: of the exact mean; what rounding adds for a release is added here.
        amount: of this mean.
        n_terms: n, of persons times the rows that one may have.
        source: the operating system's entropy, exact and on a grid, or a generator.

    Privacy: `amount` in the definition of the budget
             (docs/proofs/gaussian.md#floating-point-and-grid).
    """
    s = sensitivity + rounding_of_means(n_terms, source)
    noise = budget.noise(sensitivity=s, amount=amount)
    return budget.add_noise(
        mean, noise, source, sensitivity=s, amount=amount, exponent=grid_under(noise.scale)
    )
