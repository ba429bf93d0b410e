"""The error of the clipped steps against what the intervals say of it, and the parts they are made
of.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpci_core import GDP
from dpci_core.base.batches import MemoryTable
from dpci_core.base.rows import PersonRows, WeightedRows
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.fit import length_at, linear_fit
from dpci_core.regression.forecast import forecast_linear
from dpci_core.regression.intervals import linear_half_widths
from dpci_core.regression.noise import gradient_sd
from dpci_core.regression.sums import LADDER

BETA = np.array([0.4, -0.6, 0.2, 0.1])


def table(n: int, seed: int, scale: float = 0.2) -> MemoryTable:
    rng = np.random.default_rng(seed)
    x = np.c_[rng.uniform(-1.7, 1.7, (n, 3)), np.ones(n)]
    rows = np.c_[x @ BETA + scale * rng.standard_normal(n), x]
    return MemoryTable(WeightedRows(rows, WeightedRows.of(x).weights))


def made(n: int, mu: str, **settings) -> LinearDesign:
    return LinearDesign(budget=GDP.of(mu, shares=("0.7", "0.2", "0.1")), n_records=n, **settings)


@pytest.mark.parametrize(("n", "mu"), [(2000, "0.5"), (2000, "2"), (6000, "0.4")])
def test_the_privacy_part_is_the_spread_of_runs_on_one_table(n: int, mu: str) -> None:
    A, design, runs = table(n, 1, scale=0.06), made(n, mu), 300
    found, claimed, last = [], [], []
    for seed in range(runs):
        fit = linear_fit(A, design=design, source=np.random.default_rng(seed))
        found.append(fit.theta)
        claimed.append(fit.half_widths().privacy)
        step = fit.clips[-1] * gradient_sd(design, 2)
        last.append(step**2 * (fit.metric**2).sum(axis=0))
    spread = np.var(found, axis=0)
    error = 4 * np.sqrt(2 / runs)
    ratio = spread.mean() / np.mean(claimed)
    assert 0.75 - error < ratio < 1.1 + error
    if mu == "0.5":  # where the last step alone would say too little
        assert spread.mean() > 1.1 * np.mean(last)


def test_intervals_hold_what_they_say_where_noise_is_most_of_them() -> None:
    design, inside = made(1500, "0.4"), []
    for seed in range(300):
        fit = linear_fit(table(1500, seed), design=design, source=np.random.default_rng(seed))
        inside.append(np.abs(fit.theta - BETA) <= fit.half_widths().half_width)
    assert np.mean(inside) == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 300))
    assert np.mean(inside, axis=0).min() > 0.9


def test_a_forecast_says_how_long_they_are_and_how_far_estimates_spread() -> None:
    design, found, halves = made(2000, "0.8"), [], []
    for seed in range(300):
        fit = linear_fit(table(2000, seed), design=design, source=np.random.default_rng(seed))
        halves.append(fit.half_widths().half_width)
        found.append(fit.theta)
    expected = forecast_linear(table(2000, 1000), design=design)
    assert expected.length == pytest.approx(2 * np.mean(halves, axis=0), rel=0.05)
    spread = 2 * 1.96 * np.std(found, axis=0)
    assert expected.vi_length == pytest.approx(spread, rel=0.15)
    assert (expected.vi_length < expected.length).all()
    assert expected.estimate == pytest.approx(BETA, abs=0.1)


@pytest.mark.parametrize(("share_of_left", "is_marked"), [(0.49, False), (0.51, True)])
def test_what_the_steps_leave_is_in_the_variance_and_marks_by_hand(
    share_of_left, is_marked
) -> None:
    """One coefficient and hardly any noise: D is 1 - (1 - 3 * 0.1) = 0.3 where a tenth is cut."""
    n, S, D = 500, 0.8, 0.3
    sampling = (1 + D) ** 2 * S / n
    left = share_of_left / (1 - share_of_left) * sampling
    phi = np.sqrt(left / 4) / D**2
    found = linear_half_widths(
        np.eye(1),
        design=made(n, "1e4", steps=2),
        phi=np.array([phi]),
        second_moment=np.eye(1),
        whiten=np.eye(1),
        covariance=np.array([[S]]),
        clips=(1.0, 1.0),
        share_clipped=0.1,
    )
    assert found.sampling == pytest.approx([sampling], rel=1e-6)
    assert found.privacy == pytest.approx([left], rel=1e-3)
    assert found.margins[1] == pytest.approx([0.5 * (sampling + left) / left], rel=1e-3)
    assert found.is_not_estimable.tolist() == [is_marked]


def test_a_forecast_is_the_same_twice_and_marks_what_noise_hides() -> None:
    A = table(3000, 2)
    first, second = (forecast_linear(A, design=made(3000, "1"), n_draws=8) for _ in range(2))
    assert (first.length == second.length).all()
    assert not first.is_not_reportable.any()
    assert (first.nonprivate_length < first.vi_length).all()
    assert (first.vi_length < first.length).all()  # by Student's quantile
    assert forecast_linear(A, design=made(60, "0.1"), n_draws=8).is_not_reportable.all()


def test_a_length_is_read_off_noisy_shares() -> None:
    rng = np.random.default_rng(3)
    lengths = np.abs(rng.standard_normal(200_000))
    shares = np.bincount(np.searchsorted(LADDER, lengths), minlength=len(LADDER) + 1) / 200_000
    assert length_at(shares, LADDER) == pytest.approx(np.quantile(lengths, 0.9), rel=0.05)
    noisy = [
        length_at(shares + 0.01 * rng.standard_normal(len(shares)), LADDER) for _ in range(200)
    ]
    assert np.median(noisy) == pytest.approx(np.quantile(lengths, 0.9), rel=0.1)
    everything = np.zeros(len(LADDER) + 1)
    for place, length in ((0, LADDER[0]), (-1, LADDER[-1])):
        everything[:] = 0.0
        everything[place] = 1.0
        assert length_at(everything, LADDER) == length


def test_rows_of_another_number_or_without_weights_are_refused() -> None:
    A = table(50, 4)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="n_records=60 rows, got 50"):
        linear_fit(A, design=made(60, "1"), source=rng)
    with pytest.raises(ValueError, match="rows with weights"):
        linear_fit(MemoryTable(A.rows.rows), design=made(50, "1"), source=rng)
    persons = PersonRows.of(A.rows, np.arange(50) // 2, most=2)
    wide = MemoryTable(WeightedRows(np.zeros((60, 4_001)), np.ones(60)))
    with pytest.raises(ValueError, match="fewer than 4,000 coefficients, got 4,000"):
        linear_fit(wide, design=made(60, "1"), source=rng)
    with pytest.raises(ValueError, match="at most rows_per_person=1 rows of each person"):
        linear_fit(MemoryTable(persons), design=made(25, "1"), source=rng)
    with pytest.raises(ValueError, match="rows of persons beside rows_per_person=2"):
        linear_fit(A, design=made(50, "1", rows_per_person=2), source=rng)
    for settings, name in (
        ({"steps": 9}, "steps"),
        ({"clip": 0.0}, "clip"),
        ({"row_clip": 200}, "row"),
    ):
        with pytest.raises(ValueError, match=name):
            made(50, "1", **settings)
    with pytest.raises(ValueError, match="ZCDP, GDP or ApproxDP"):
        LinearDesign(budget=3, n_records=5)  # type: ignore[arg-type]
