"""How long the intervals of a linear regression will be, from planning rows, and which design makes
them shortest. Nothing is drawn: noise for the planned number of records comes from constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.base.batches import Table
from dpci_core.base.decimals import DOWN, EXACT
from dpci_core.base.errors import check_count
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.fit import Run, run_steps
from dpci_core.regression.sums import Clipped, Moves, plain_sums

_SEED = 35
_LARGEST_BIAS = 0.25
"""Half-widths that clips and weights may move a coefficient by."""
_SURE = 2.0
"""Standard errors by which a bias of planning rows has to exceed that."""
_MOST_MARKED = 0.05
"""Share of the draws that may mark a contrast."""
_LARGEST_SPREAD = 0.5
"""Of the length from release to release, over its mean: beyond it no length can be promised."""
_MORE_STEPS = 20
_SHARES = (("0.7", "0.2", "0.1"), ("0.55", "0.35", "0.1"), ("0.8", "0.1", "0.1"))
_STEPS = (2, 3, 4)
_CLIPS = ((1.5, 1.2), (1.5, 2.0), (2.0, 2.0), (3.0, 2.0), (4.0, 3.0))
"""Of gradients and of rows."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LinearForecast:
    """What a design will give for each contrast, arrays (k,).

    length: of the intervals, on average.
    sampling_length: the same of the part that sampling causes.
    bias: how far clips and weights move a contrast from plain least squares, of the planning rows.
    bias_se: its standard error, from the planning rows being a sample.
    is_not_reportable: contrasts out of reach: marked by more than 5 % of the draws, of a length
        that differs from release to release by more than half of it, or with a bias above a quarter
        of a half-width by more than two standard errors.
    share_clipped: of gradients that the last clip cuts.
    """

    length: Array
    sampling_length: Array
    bias: Array
    bias_se: Array
    is_not_reportable: Flags
    share_clipped: float


def forecast_linear(
    A: Table, *, design: LinearDesign, contrasts: Array | None = None, n_draws: int = 64
) -> LinearForecast:
    """Forecast the intervals of a design from planning rows, which are public or simulated.

    Args:
        A: rows [t, x], (m, 1 + p), as for `linear_fit`; m need not be n.
        design: whose n counts.
        contrasts: L (k, p); None for the coefficients themselves.
        n_draws: of the noise, from constants: the same rows and design have the same forecast.

    Privacy: the rows are taken for public.
    """
    check_count(n_draws=n_draws)
    L = np.eye(A.shape[1] - 1) if contrasts is None else contrasts
    runs = [
        run_steps(A, design=design, source=np.random.default_rng([_SEED, k]))
        for k in range(n_draws)
    ]
    widths = [run.fit.half_widths(L) for run in runs]
    halves = np.array([w.half_width for w in widths])
    half, spread = halves.mean(axis=0), halves.std(axis=0)
    share = np.mean([w.sampling / (w.sampling + w.privacy) for w in widths], axis=0)
    marked = np.mean([w.is_not_estimable for w in widths], axis=0)
    bias, bias_se = _bias(runs, L)
    is_biased = np.abs(bias) > _LARGEST_BIAS * half + _SURE * bias_se
    return LinearForecast(
        length=2.0 * half,
        sampling_length=2.0 * half * np.sqrt(share),
        bias=bias,
        bias_se=bias_se,
        is_not_reportable=np.asarray(
            (marked > _MOST_MARKED) | (spread > _LARGEST_SPREAD * half) | is_biased
        ),
        share_clipped=float(np.mean([run.fit.share_clipped for run in runs])),
    )


def _bias(runs: Sequence[Run], contrasts: Array) -> tuple[Array, Array]:
    """The clipped coefficient less that of plain least squares, and its standard error, with the
    usual clip in the metric of one of the runs.
    """
    clip = float(np.median([run.fit.clips[-1] for run in runs]))
    fit, rows = runs[0]
    phi, n = fit.phi, len(rows)
    for _ in range(_MORE_STEPS):
        phi = phi - clip * rows.total(Clipped(phi, clip))[0] / n
    moments, products = rows.total(plain_sums)
    inverse = np.linalg.pinv(moments / n, hermitian=True)
    plain = inverse @ products / n
    moves = rows.total(Moves(phi, clip, plain, inverse)) / n
    L = contrasts @ fit.metric.T
    return L @ (phi - plain), np.sqrt(np.einsum("ki,ij,kj->k", L, moves, L) / n)


def best_linear_design(
    A: Table, *, design: LinearDesign, contrasts: Array | None = None, n_draws: int = 8
) -> LinearDesign:
    """Return the design with the clips, and then the steps and the split of its total, that a few
    forecasts prefer: the most contrasts in reach, then the shortest intervals, each against its own
    shortest.

    Args:
        A, contrasts, n_draws: as for `forecast_linear`.
        design: whose total, n and level are kept.

    Privacy: the rows are taken for public, and the total is spent whatever the split.
    """

    def best(tried: list[LinearDesign]) -> LinearDesign:
        found = [
            forecast_linear(A, design=one, contrasts=contrasts, n_draws=n_draws) for one in tried
        ]
        lengths = np.array([one.length for one in found])
        worth = np.log(lengths / lengths.min(axis=0)).mean(axis=1)
        lost = [int(one.is_not_reportable.sum()) for one in found]
        return tried[min(range(len(tried)), key=lambda k: (lost[k], worth[k]))]

    design = best([replace(design, clip=clip, row_clip=rows) for clip, rows in _CLIPS])
    total, tried = design.budget.total, []
    for shares in _SHARES:
        model, hessian = (DOWN.multiply(total, Decimal(share)) for share in shares[:2])
        rest = EXACT.subtract(total, EXACT.add(model, hessian))
        budget = type(design.budget)(model=model, hessian=hessian, covariance=rest)
        tried += [replace(design, budget=budget, steps=steps) for steps in _STEPS]
    return best(tried)
