"""The private computation of a release: encoded records in, released numbers out, noise from the
operating system. The argument is in docs/proofs/release.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.base.batches import RecordBatches, Table, as_table
from dpci_core.base.errors import check_generator
from dpci_core.base.persons import Numbers, check_numbers, check_persons
from dpci_core.base.rows import PersonRows, Rows, WeightedRows, signed
from dpci_core.base.validation import check_rows
from dpci_core.design import Design, check_design
from dpci_core.intervals.inflation import Usefulness, judge_usefulness
from dpci_core.intervals.private_fit import private_fit
from dpci_core.mechanisms.shares import ReleaseParts, share_out
from dpci_core.privacy.randomness import NoiseSource, SystemSource


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ReleasedIntervals:
    """What was drawn, as intervals of the p coefficients, the constant last, and after them of the
    k combinations of them that were asked for as well: arrays (p + k,).

    released: of the model itself, (p,); the intervals lie around it, or around its step to the
    coefficient without penalty.
    """

    released: Array
    estimate: Array
    low: Array
    high: Array
    sampling_se: Array
    privacy_se: Array
    noise_factor: Array
    is_noise_aware: Flags
    is_not_estimable: Flags


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Drawn(ReleasedIntervals):
    """What one release publishes: its intervals, and matrices (p, p).

    Everything here is a function of released quantities and public constants; nothing says how the
    fit went.
    """

    shares: ReleaseParts
    theta_priv: Array
    hessian: Array
    covariance: Array
    hessian_at: Array
    second_moment: Array | None
    usefulness: Usefulness

    @property
    def n_records(self) -> int:
        """n of the rows, or of their persons; public."""
        return self.shares.planned.n_records


def draw_release(
    X: Array | WeightedRows | RecordBatches,
    y: Array | None = None,
    *,
    design: Design,
    to_original: Array | None = None,
    basis: Array | None = None,
    constant: float | None = None,
    persons: Numbers | None = None,
) -> Drawn:
    """Draw coefficients, matrices and intervals once, with noise from the operating system.

    Args:
        X, y: encoded records (`schema.RecordMapper`), or batches of them and None, whose readers
            check every row as `check_rows` does.
        design: what is released, at which budget; its n becomes that of the rows, or persons.
        to_original: L (k, p), intervals for L times the coefficients as well.
        basis: B (p, p), public, of `Meaning`: the coefficients are B theta; None for theta.
        constant: public, of `Meaning`.
        persons: the number of each row's person (n,), below 0 for a row that is left out
            (`persons.PersonNumbers`); None where a row is a record.

    Privacy: `design.budget.total` in its own definition, replace-one neighbours, n public; with
             persons a neighbour differs in all rows of one, and their number is public. It books
             nothing: `release` and `LedgerAccount.draw` do, before they call it.
    Raises:  InfeasibleDesignError from public numbers only; UnfitRecordsError for records of
             another encoding; ValueError for batches that have a cache, or with persons.
    Source:  WKL Algorithms 1-5; docs/proofs/release.md.
    """
    check_design(design)
    if isinstance(X, RecordBatches):
        if any(batch.writes_records for batch in X.batches):
            raise ValueError(
                "Expected batches without a cache: a release writes no record to a file."
            )
        check_persons(X, persons, rows_per_person=design.rows_per_person)
        A = X.in_memory()
    else:
        assert y is not None
        check_rows(X, y)
        check_persons(X, persons, rows_per_person=design.rows_per_person)
        rows = signed(X, y)
        if persons is not None:
            check_numbers(persons, n_rows=len(rows))
            rows = PersonRows.of(rows, persons, most=design.rows_per_person)
        A = as_table(rows)
    design = replace(design, n_records=len(A))
    return _drawn(A, design, to_original, basis, constant, SystemSource())


def rehearse_draw(
    A: Array | WeightedRows,
    *,
    design: Design,
    rng: np.random.Generator,
    to_original: Array | None = None,
    basis: Array | None = None,
    constant: float | None = None,
) -> Drawn:
    """Draw from rows y x (n, p) what `draw_release` would, with noise of a seeded generator.

    For made-up rows: whoever knows the seed can subtract the noise, so nothing is promised of them.
    """
    check_design(design)
    check_generator(rng)
    design = replace(design, n_records=len(A))
    return _drawn(A, design, to_original, basis, constant, rng)


def _drawn(
    A: Rows | Table,
    design: Design,
    to_original: Array | None,
    basis: Array | None,
    constant: float | None,
    source: NoiseSource,
) -> Drawn:
    fit = private_fit(A, design=design, source=source)
    assert fit.moments is not None
    p = A.shape[1]
    B = np.eye(p) if basis is None else basis
    asked = B if to_original is None else np.concatenate([B, to_original @ B])
    widths = fit.half_widths(asked, constant=constant)
    q, law, estimate = widths.half_width, widths.law, widths.estimate(fit.theta_priv)
    return Drawn(
        shares=share_out(design),
        theta_priv=fit.theta_priv,
        hessian=widths.hessian,
        covariance=widths.covariance,
        hessian_at=fit.moments.hessian_at,
        second_moment=fit.second_moment,
        released=fit.theta_priv if basis is None else basis @ fit.theta_priv,
        estimate=estimate,
        low=estimate - q,
        high=estimate + q,
        sampling_se=np.sqrt(law.sampling),
        privacy_se=np.sqrt(law.privacy(p)),
        noise_factor=widths.factor,
        is_noise_aware=widths.is_noise_aware,
        is_not_estimable=widths.is_not_estimable,
        usefulness=judge_usefulness(
            q[:p], estimate[:p] ** 2, type(law)(*(part[:p] for part in law)), dim=p
        ),
    )
