"""Noisy gradient descent and noisy Newton: what a record can change, what every release costs, and
that all methods see the same replicates.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from scipy.special import expit

from benchmarks import rivals
from benchmarks.rivals import (
    CELLS,
    OURS,
    RIVALS,
    Batch,
    Coded,
    Outcome,
    Population,
    TunedGradient,
    TunedNewton,
    append_measured,
    candidates,
    gradient_change,
    measure,
    read_measured,
    search,
)
from dpci_core.datasets import load
from dpci_core.simulation import run as simulation
from dpci_core.solvers.replicates import Table, draw_counts
from tests.test_docs import ROOT

RADII = (0.0, 0.3, 1.0, 2.5, 4.7, 8.0, 40.0)
TUNED = (
    TunedNewton(3, "0.2", 0.1, "0.06", "0.05"),
    TunedNewton(1, "0.2", 0.1, "0.06", "0.05"),
    TunedGradient(7, 4.0, 3, "0.03", "0.1"),
)
CODED = (Coded("newton", 3), Coded("gradient", 7))


def worst_pair(radius: float, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of that norm and the two records that attain the bound: mirror images, on the
    side where the margin is negative, at the height that an independent grid finds.
    """
    heights = np.linspace(0.0, 1.0, 200_001)
    s = heights[np.argmax(expit(radius * heights) * np.sqrt(1.0 - heights**2))]
    theta, u = np.zeros(p), np.zeros(p)
    theta[0], u[0], u[1] = radius, -s, np.sqrt(1.0 - s * s)
    return theta, u, u * np.where(np.arange(p) == 1, -1.0, 1.0)


def change(theta: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """|f'(u.theta) u - f'(v.theta) v| by hand, pairs in rows."""
    of_u, of_v = (-expit(-(w @ theta))[..., None] * w for w in (u, v))
    return np.linalg.norm(of_u - of_v, axis=-1)


def ball(rng: np.random.Generator, size: int, p: int) -> np.ndarray:
    """Records of norm at most 1, most of them near 1."""
    x = rng.standard_normal((size, p))
    return x / np.linalg.norm(x, axis=1, keepdims=True) * rng.random((size, 1)) ** 0.2


@pytest.mark.parametrize("p", [2, 3, 6])
@pytest.mark.parametrize("radius", RADII)
def test_no_record_changes_a_gradient_by_more_and_one_changes_it_by_as_much(radius, p):
    rng = np.random.default_rng([7, p])
    theta, u, v = worst_pair(radius, p)
    bound = float(gradient_change(radius))
    pairs = [(ball(rng, 20_000, p), ball(rng, 20_000, p))]
    for size in (0.3, 0.03):  # around the worst pair, and around its reflection
        for one, other in ((u, v), (v, u), (u, -u), (-theta, u)):
            near = [w + size * rng.standard_normal((20_000, p)) for w in (one, other)]
            pairs.append(tuple(w / np.maximum(np.linalg.norm(w, axis=1)[:, None], 1) for w in near))
    assert max(change(theta, a, b).max() for a, b in pairs) <= bound
    assert change(theta, u, v) == pytest.approx(bound, rel=1e-8)


def test_the_change_grows_from_1_towards_2_and_the_attack_catches_a_smaller_one():
    found = gradient_change(np.linspace(0.0, 60.0, 301))
    assert found[0] == pytest.approx(1.0)
    assert gradient_change(4.727) == pytest.approx(1.60, abs=0.005)  # on Adult
    assert np.all(np.diff(found) > 0.0)
    assert found.max() < rivals.LARGEST_GRADIENT_CHANGE
    for radius in RADII[2:]:
        theta, u, v = worst_pair(radius, 3)
        assert change(theta, u, v) > gradient_change(
            radius / 1.1
        )  # a norm that is not the one used
        assert change(theta, u, v) > 2.0 * expit(-radius) + 1e-3  # the slope of a positive margin
        assert change(theta, u, v) > 1.0 + 1e-3  # the sensitivity of theta = 0 everywhere


@pytest.fixture(scope="module")
def population():
    return Population.of(load("census", encoding="paper", features=4, n_rows=3_000), "2")


def batch_of(population: Population, k: int, seed: int = 3) -> Batch:
    n = population.fitted.columns.shape[1]
    counts = np.empty((k, n), dtype=np.float32)
    for i, row in enumerate(counts):
        draw_counts(row, n, simulation.replicate_bits(seed, i))
    return Batch(
        population.fitted, counts, n, tuple(np.random.default_rng([seed, i]) for i in range(k))
    )


def test_neighbouring_tables_move_an_update_by_at_most_the_sensitivity():
    """Whole tables through the code that runs: one row is one record, its replacement another."""
    radius, p = 4.7, 3
    theta, u, v = worst_pair(radius, p)
    rng = np.random.default_rng(5)
    rows = np.r_[ball(rng, 200, p), [u, v, np.eye(p)[1], np.eye(p)[2]]]
    table = Table.of(rows, loss=rivals.LOSS, regularization=0.01)
    n = 201
    counts = np.ones((4, len(rows)), dtype=np.float32)
    for row, replaced in zip(
        counts, ([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]), strict=True
    ):
        row[200:] = replaced
    quiet = Batch(table, counts, n, tuple(np.random.default_rng(i) for i in range(4)))
    at = np.tile(theta, (4, 1))
    gradients = quiet.gradient(at, 0.0)
    apart = np.linalg.norm(gradients[:, None] - gradients[None], axis=-1)
    assert apart.max() <= gradient_change(radius) / n * (1.0 + 1e-9)
    assert apart[0, 1] == pytest.approx(gradient_change(radius) / n, rel=1e-8)
    # Matrices in the coordinates that their noise is independent in: diagonal and above, once.
    H = quiet.moments(0.0 * at)[0]
    upper = np.triu(H[2] - H[3])
    assert np.linalg.norm(upper) == pytest.approx(np.sqrt(2.0) / 4.0 / n)
    assert np.linalg.norm(upper) > 1.3 * 0.25 / n  # what the authors' code takes


@pytest.mark.parametrize("settings", [*TUNED, *CODED], ids=str)
def test_what_a_release_draws_costs_its_total(settings, population, monkeypatch):
    """Every noise with its deviation, against sensitivities written down here."""
    rho, batch = Decimal("0.3"), batch_of(population, 3)
    n, spent = batch.n_records, np.zeros(3)
    noisy_gradient = Batch.gradient
    gaussian_sd = rivals.gaussian_sd
    on_early_hessians = []

    def gradient(self, theta, sd):
        nonlocal spent
        norm = np.linalg.norm(theta, axis=1)
        largest = gradient_change(norm) if settings in TUNED else np.full(3, 2.0)
        spent = spent + (largest / n) ** 2 / (2.0 * np.broadcast_to(sd, 3) ** 2)
        return noisy_gradient(self, theta, sd)

    def recorded(*, sensitivity, rho, divided_by=1.0):
        sd = gaussian_sd(sensitivity=sensitivity, rho=rho, divided_by=divided_by)
        if sensitivity / divided_by == pytest.approx(np.sqrt(2.0) / (4.0 * n)):
            on_early_hessians.append((np.sqrt(2.0) / (4.0 * n)) ** 2 / (2.0 * sd**2))
        return sd

    monkeypatch.setattr(Batch, "gradient", gradient)
    monkeypatch.setattr(rivals, "gaussian_sd", recorded)
    theta, half = rivals.release(batch, settings, rho=rho, level=0.95)
    assert np.isfinite(theta).all()
    assert (half > 0.0).all()
    if settings in TUNED:
        budget = rivals.design_of(settings, rho=rho, c=0.001, n=batch.n_records, level=0.95).budget
        spent = spent + sum(on_early_hessians) + float(budget.hessian + budget.covariance)
    else:
        T = settings.iterations
        per_release = float(rho) / (2 * T + 2 if settings.kind == "newton" else T + 2)
        assert on_early_hessians == pytest.approx([per_release])
        times = T + 1 if settings.kind == "newton" else 1
        spent = spent + per_release * (times + 1)  # Hessians, and S at the same amount
    assert spent == pytest.approx(float(rho), rel=1e-9)


def test_a_coded_release_has_the_deviations_of_its_price():
    """Replace-one sensitivities of the mean gradient, H and S against the drawn deviations."""
    n, rho = 500, 0.01
    for sensitivity, sd in zip(
        (2.0, np.sqrt(2.0) / 4.0, np.sqrt(2.0)), rivals.coded_deviations(rho, n), strict=True
    ):
        assert (sensitivity / n) ** 2 / (2.0 * sd**2) == pytest.approx(rho)


def test_the_noise_of_every_gradient_step_is_carried_to_the_estimate():
    T, eta, h = 9, 3.0, np.array([[0.01, 0.2, 0.55]])
    for averaged in (1, 4, 9):
        weights = rivals._gradient_weights(h, T, eta, averaged)
        for t in range(T):
            error, total = np.zeros(3), np.zeros(3)
            for s in range(T):
                error = (1.0 - eta * h[0]) * error + eta * (s == t)
                total += error * (s >= T - averaged)
            assert weights[t, 0] == pytest.approx(total / averaged, rel=1e-9)


@pytest.mark.parametrize("settings", [TUNED[0], TunedGradient(500, 7.5, 1, "0.03", "0.1")], ids=str)
def test_intervals_cover_where_the_budget_is_ample(settings, population):
    found = population.outcome(settings, k=150, seed=11)
    assert found.coverage == pytest.approx(0.95, abs=0.035)
    assert found.is_number.all()


def test_replicates_are_those_of_the_experiment_and_batches_change_nothing(population, monkeypatch):
    seen = []
    release = rivals.release
    monkeypatch.setattr(
        rivals, "release", lambda b, *a, **k: (seen.append(b.counts), release(b, *a, **k))[1]
    )
    whole = population.outcome(TUNED[0], k=5, seed=77)
    monkeypatch.setattr(rivals, "_BATCH", 2)
    parts = population.outcome(TUNED[0], k=5, seed=77)
    assert whole.length == pytest.approx(parts.length, rel=1e-9)
    assert np.array_equal(seen[0], np.concatenate(seen[1:]))
    drawn, replicate_draws = [], simulation.replicate_draws

    def kept(plan, first, last):
        drawn.append(replicate_draws(plan, first, last))
        return drawn[-1]

    monkeypatch.setattr(simulation, "replicate_draws", kept)
    measure(("census", "2"), population, ["sharp"], k=5, seed=4)
    seed = int(np.random.default_rng(4).integers(2**63))
    assert np.array_equal(drawn[0].counts, batch_of(population, 5, seed).counts)


def test_the_search_takes_the_shortest_that_covers_and_else_the_one_that_covers_most():
    lengths = {"short": (0.80, 1.0), "fair": (0.95, 2.0), "long": (0.97, 3.0)}

    class Told:
        def outcome(self, settings, *, k, seed):
            coverage, length = lengths[settings]
            inside = np.arange(100)[:, None] < 100 * coverage
            return Outcome(np.tile(inside, (1, 2)), np.full((100, 2), length))

    assert search(Told(), list(lengths), seed=1) == "fair"
    lengths |= {"fair": (0.90, 2.0), "long": (0.85, 3.0)}
    assert search(Told(), list(lengths), seed=1) == "fair"


def test_a_release_that_is_no_number_is_a_miss():
    length = np.array([[1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0]])
    found = Outcome(np.array([[True, True], [False, True], [False, True]]), length)
    assert found.mean_length == 1.5
    assert found.is_number.tolist() == [True, False, False]
    assert found.smallest == pytest.approx(1 / 3)


def test_measuring_gives_one_row_a_method_and_the_file_gives_them_back(population, tmp_path):
    methods = ["sharp", "newton_coded", "newton_tuned"]
    rows = measure(("census-4", "2"), population, methods, k=6, seed=9, looks=((2, 1),))
    assert [row.method for row in rows] == methods
    assert len({(row.k, row.seed, row.date) for row in rows}) == 1
    assert all(0.0 <= row.coverage_smallest <= row.coverage <= 1.0 for row in rows)
    path = tmp_path / "rivals.csv"
    append_measured(rows, path)
    append_measured([replace(rows[0], coverage=0.5)], path)
    found = read_measured(path)
    assert found[("census-4", "2"), "sharp"].coverage == 0.5
    assert found[("census-4", "2"), "newton_tuned"] == rows[2]
    with pytest.raises(ValueError, match="method"):
        measure(("census-4", "2"), population, ["whichever"], k=6, seed=9)


def test_candidates_can_be_paid():
    for method in RIVALS:
        for settings in candidates(method):
            if isinstance(settings, TunedNewton):
                shares = (settings.early, settings.hessian, settings.covariance)
                assert sum(map(Decimal, shares)) < Decimal("0.6")
            elif isinstance(settings, TunedGradient):
                assert 1 <= settings.averaged <= settings.iterations
    with pytest.raises(ValueError, match="method"):
        candidates("sharp")


def test_the_document_has_the_table_on_file_and_tells_it_rightly():
    text = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    with redirect_stdout(io.StringIO()) as printed:
        exec(text.split("```python\n")[1].split("```")[0], {})
    assert all(f"| {cell[0]}, {cell[1]} | " in printed.getvalue() for cell in CELLS)
    assert printed.getvalue() in text
    rows = read_measured()
    assert {(cell, m) for cell in CELLS for m in (*OURS, *RIVALS)} <= set(rows)
    assert all(row.k >= 500 for row in rows.values())

    def shorter(rival: str) -> list[int]:
        """Per cent by which sharp at its best split is longer than the rival, where it covers."""
        return sorted(
            round(100 * (1.0 - rows[cell, rival].ci_length / rows[cell, "best_split"].ci_length))
            for cell in CELLS
        )

    tuned, coded = shorter("newton_tuned"), shorter("newton_coded")
    assert f"{tuned[0]} to {tuned[-1]} % shorter than sharp at its best split" in text
    assert f"{-coded[-1]} to {-coded[0]} % longer" in text
    assert all(rows[c, "gradient_tuned"].ci_length > rows[c, "best_split"].ci_length for c in CELLS)
    assert "longer than sharp at its best split in every cell" in text
    worst = min(CELLS, key=lambda c: rows[c, "gradient_tuned"].coverage_smallest)
    assert worst == ("bank-10", "0.02436")
    assert (
        f"{rows[worst, 'gradient_tuned'].coverage_smallest:.3f} for the worst coefficient" in text
    )
    shaped = sorted(
        round(100 * (1.0 - rows[cell, "shaped"].ci_length / rows[cell, "newton_tuned"].ci_length))
        for cell in CELLS
    )
    assert f"is {shaped[0]} to {shaped[-1]} % shorter than noisy Newton tuned" in text
    steps = sorted(
        round(100 * (1.0 - rows[cell, "steps"].ci_length / rows[cell, "shaped"].ci_length))
        for cell in CELLS
    )
    assert f"are {steps[0]} to {steps[-1]} % shorter than noise shaped like the records" in text
    assert all(0.94 <= rows[cell, "steps"].coverage <= 0.96 for cell in CELLS)
    for row in (rows[cell, "newton_tuned"] for cell in CELLS):
        if row.coverage < rivals.WANTED_MEAN or row.coverage_smallest < rivals.WANTED_SMALLEST:
            assert (
                f"({row.coverage:.3f} on average, {row.coverage_smallest:.3f} for the worst" in text
            )
