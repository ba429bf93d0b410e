"""A mean over records that leaves as a vector: its noise, its grid, its rounding."""

from __future__ import annotations

from dpci_core.base.array import Array
from dpci_core.privacy.budget import Budget
from dpci_core.privacy.randomness import NoiseSource, SystemSource, grid_under
from dpci_core.solvers.risk import rounding_of_sums


def release_mean(
    mean: Array,
    *,
    budget: Budget,
    sensitivity: float,
    amount: float,
    n_records: int,
    source: NoiseSource,
) -> Array:
    """Release a mean (k,) over records of terms of norm at most 1.

    Args:
        mean: as it was summed in floating point.
        budget: whose definition counts.
        sensitivity: of the exact mean; what rounding adds for a release is added here.
        amount: of this mean.
        n_records: n.
        source: the operating system's entropy, exact and on a grid, or a generator.

    Privacy: `amount` in the definition of the budget
             (docs/proofs/gaussian.md#floating-point-and-grid).
    """
    is_exact = isinstance(source, SystemSource)
    s = sensitivity + (2.0 * rounding_of_sums(n_records) if is_exact else 0.0)
    noise = budget.noise(sensitivity=s, amount=amount)
    return budget.add_noise(
        mean, noise, source, sensitivity=s, amount=amount, exponent=grid_under(noise.scale)
    )
