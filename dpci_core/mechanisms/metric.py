"""The second moment of the records, released before everything else, and the metric made of it."""

from __future__ import annotations

from dpci_core.base.batches import Table
from dpci_core.base.metric import Metric
from dpci_core.design import Design
from dpci_core.mechanisms.matrices import MatrixNoise, private_matrix
from dpci_core.mechanisms.mean import rounding_of_means
from dpci_core.mechanisms.mechanism import check_n_records
from dpci_core.privacy.budget import to_float_down
from dpci_core.privacy.randomness import NoiseSource
from dpci_core.privacy.sensitivity import second_moment_sensitivity
from dpci_core.solvers.metric import metric_of, second_moment_of


def metric_noise(design: Design) -> MatrixNoise:
    """Return the law of the noise on the second moment; docs/proofs/map.md, Theorem 8.

    Args:
        design: with a geometry; its n counts.
    """
    return MatrixNoise(
        second_moment_sensitivity(n_records=design.n_records),
        to_float_down(design.budget.metric),
        design.definition,
        symmetric=True,
        floor=0.0,
    )


def release_metric(A: Table, *, design: Design, rng: NoiseSource) -> Metric | None:
    """Return the metric of a design; None if it has no geometry.

    Args:
        A: rows y_i x_i, (n, p), n that of the design; their signs do not matter.
        design: whose geometry is meant.
        rng: as for `matrices.private_matrix`.

    Privacy: `budget.metric`.
    Raises:  ValueError for another number of rows than the design says.
    """
    geometry = design.geometry
    if geometry is None:
        return None
    check_n_records(A, design)
    law = metric_noise(design)
    released = private_matrix(
        second_moment_of(A),
        sensitivity=law.sensitivity + rounding_of_means(design.n_records, rng),
        amount=law.amount,
        kind=law.kind,
        floor=0.0,
        rng=rng,
        symmetric=True,
    )
    return metric_of(geometry, released.noisy)
