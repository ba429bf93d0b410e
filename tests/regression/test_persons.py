"""Persons with several rows in the clipped steps: against a slow loop, exact audit of whole runs on
neighbours that differ in all rows of one person, bits, and coverage
(docs/proofs/gaussian.md#persons).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

from dpci_core.base.batches import MemoryPlace, MemoryTable
from dpci_core.base.limits import MOST_ROWS_PER_PERSON
from dpci_core.base.rows import PersonRows, WeightedRows
from dpci_core.mechanisms import matrices
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.regression import noise as noise_room
from dpci_core.regression import sums as sums_room
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.fit import _whitening, length_at, linear_fit
from dpci_core.regression.forecast import forecast_linear
from dpci_core.regression.noise import Drawn
from tests.regression.test_audit import (
    BUDGETS,
    LINES,
    MU_SQUARED,
    ROUNDING,
    Spy,
    claimed,
    spent,
    spy_on,
    weighted,
)
from tests.regression.test_intervals import BETA, made

Array = np.ndarray
MOST = 4


def persons_of(people: list[Array], most: int = MOST) -> PersonRows:
    """The rows [t, x] of each person, one below the other."""
    whose = np.repeat(np.arange(len(people)), [len(rows) for rows in people])
    return PersonRows.of(weighted(np.concatenate(people)), whose, most=most)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Spy]:
    """Runs the package on persons with every release recorded."""
    spies = spy_on(monkeypatch)

    def run(rows: WeightedRows, seed: int, like: Spy | None = None, most: int = MOST) -> Spy:
        spies[:] = [Spy(replay=None if like is None else iter(like.values))]
        design = LinearDesign(budget=BUDGETS["gdp"], n_records=len(rows), rows_per_person=most)
        linear_fit(MemoryTable(rows), design=design, source=np.random.default_rng(seed))
        return spies[-1]

    return run


# --- what is computed -----------------------------------------------------------------------------


def test_every_release_is_that_of_a_loop_over_persons(watched) -> None:
    """Rows longer than a record's count less one by one, and a person's mean gradient is cut."""
    rng = np.random.default_rng(2)
    people = [rng.normal(size=(int(rng.integers(1, 7)), 4)) * 2.0 for _ in range(40)]
    for rows in people:
        rows[:, -1] = 1.0
    seen = watched(persons_of(people), 3)
    kept, n, (rough, counts, moment) = [rows[:MOST] for rows in people], 40, seen.values[:3]
    p, given = 3, LinearDesign(budget=BUDGETS["gdp"], n_records=n)

    def weight(z: Array) -> float:
        return min(1.0, 1.0 / float(z @ z))

    def mean(of: Callable[[Array], Array]) -> Array:
        """Over persons, of the mean over the rows of each."""
        return np.mean([np.mean([of(row) for row in rows], axis=0) for rows in kept], axis=0)

    def root(matrix: Array, amount: float) -> Array:
        values, vectors = np.linalg.eigh(matrix)
        floor = 2.0 * np.sqrt(p) * noise_room.matrix_sd(given, amount)
        raised = (vectors * np.maximum(values, floor)) @ vectors.T
        return np.linalg.inv(np.linalg.cholesky(raised))

    def class_of(length: float) -> Array:
        edges = sums_room.LADDER * np.sqrt(p)
        return np.eye(len(edges) + 1)[np.searchsorted(edges, length)]

    def close(found: Array, wanted: Array) -> None:
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)

    amounts, edges = given.amounts(), sums_room.LADDER * np.sqrt(p)
    close(seen.means[0], mean(lambda row: weight(row[1:]) * np.outer(row[1:], row[1:])))
    Q = root(rough, amounts.rough) / np.sqrt(p)
    close(seen.means[1], mean(lambda row: class_of(float(np.linalg.norm(Q @ row[1:])))))
    Q = Q / (given.row_clip * length_at(counts, edges))
    close(
        seen.means[2],
        mean(lambda row: weight(Q @ row[1:]) * np.outer(Q @ row[1:], Q @ row[1:])),
    )
    whole, phi, clip = root(moment, amounts.moment) @ Q, np.zeros(p), 0.0

    def gradient(rows: Array) -> Array:
        return np.mean(
            [weight(Q @ r[1:]) * float(whole @ r[1:] @ phi - r[0]) * (whole @ r[1:]) for r in rows],
            axis=0,
        )

    def cut() -> list[Array]:
        found = [gradient(rows) for rows in kept]
        return [g / max(float(np.linalg.norm(g)), clip) for g in found]

    for step in range(3):
        lengths = [float(np.linalg.norm(gradient(rows))) for rows in kept]
        close(seen.means[3 + 2 * step], np.mean([class_of(one) for one in lengths], axis=0))
        clip = given.clip * length_at(seen.values[3 + 2 * step], edges)
        close(seen.means[4 + 2 * step], np.mean(cut(), axis=0))
        phi = phi - clip * seen.values[4 + 2 * step]
    close(seen.means[9], [np.mean([np.linalg.norm(gradient(rows)) > clip for rows in kept])])
    close(seen.means[10], np.mean([np.outer(g, g) for g in cut()], axis=0))


def test_persons_with_one_row_are_records() -> None:
    rng = np.random.default_rng(3)
    D = rng.normal(size=(60, 4))
    D[:, -1] = 1.0
    design = LinearDesign(budget=BUDGETS["gdp"], n_records=60)
    one, other = (
        linear_fit(MemoryTable(rows), design=design, source=np.random.default_rng(0))
        for rows in (weighted(D), persons_of(list(D[:, None])))
    )
    for a, b in zip(one.numbers, other.numbers, strict=True):
        np.testing.assert_array_equal(a, b)


# --- attacks --------------------------------------------------------------------------------------


def tables(
    rng: np.random.Generator, count: int, most: int = MOST
) -> Iterator[tuple[list[Array], list[list[Array]]]]:
    """Tables of a few persons, each with neighbours whose first person has other rows: as many
    opposite ones, all rows alike, more or fewer, none that is complete, and hostile sizes.
    """
    for _ in range(count):
        n, p = int(rng.integers(1, 4)), int(rng.integers(1, 4))

        def rows(p: int = p) -> Array:
            found = rng.normal(size=(int(rng.integers(1, most + 3)), 1 + p))
            found *= 10.0 ** rng.uniform(-3, 3, (len(found), 1))
            found[:, -1] = 1.0
            return found

        people, others = [rows() for _ in range(n)], []
        for k in range(10):
            new = people[0].copy()
            if k % 5 == 0:
                new[:, 0] = -new[:, 0]
            elif k % 5 == 1:
                new = np.repeat(new[:1] * rng.choice([-1.0, 1.0], (1, 1 + p)), most, axis=0)
            elif k % 5 == 2:
                new[:] = 0.0
            elif k % 5 == 3:
                new = rows() * 10.0 ** rng.uniform(-6, 6)
            else:
                new = np.concatenate([new, rows()])
                new[:, 0] *= 10.0 ** rng.uniform(-8, 3)
            others.append([new, *people[1:]])
        yield people, others


def audit(run: Callable[..., Spy], count: int) -> tuple[Array, float]:
    """As the one of single rows."""
    given = claimed(LinearDesign(budget=BUDGETS["gdp"], n_records=1))
    largest, whole = np.zeros(len(given)), 0.0
    for seed, (people, others) in enumerate(tables(np.random.default_rng(1), count)):
        here = run(persons_of(people), seed)
        for other in others:
            cost = spent(here, run(persons_of(other), seed, like=here))
            largest = np.maximum(largest, cost / given)
            whole = max(whole, float(cost.sum()) / MU_SQUARED)
    return largest, whole


def test_no_person_costs_more_than_was_booked(watched) -> None:
    largest, whole = audit(watched, 200)
    assert largest.max() <= 1.0 + ROUNDING
    assert whole <= 1.0 + ROUNDING
    for name, reached in zip(LINES, largest, strict=True):
        assert reached > (0.3 if name == "S" else 0.8), name


MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "every row in full": lambda m: m.setattr(
        PersonRows, "shares", property(lambda self: np.ones(len(self.rows)))
    ),
    "rows cut one by one and added": lambda m: m.setattr(sums_room, "_gradients", _by_row),
    "a person cut at most rows": lambda m: m.setattr(
        sums_room.Clipped, "__call__", _cut_before_the_sum
    ),
}


def _by_row(block: WeightedRows, at: Array) -> tuple[Array, Array]:
    z = block.rows[:, 1:]
    gradients = z * (block.weights * (z @ at - block.rows[:, 0]))[:, None]
    return gradients, np.linalg.norm(gradients, axis=1)


def _cut_before_the_sum(self, place):
    p = len(self.at)
    first, second, n_cut = np.zeros(p), np.zeros((p, p)), np.zeros(1)
    for block in place.chunks():
        gradients, lengths = _by_row(block, self.at)
        terms = block.sums(gradients / np.maximum(lengths, self.clip)[:, None])
        first, second = first + terms.sum(axis=0), second + terms.T @ terms
        n_cut += min(np.count_nonzero(lengths > self.clip), len(block))
    return first, second, n_cut


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_audit_sees_a_person_who_counts_for_several(
    mutant: str, watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    MUTANTS[mutant](monkeypatch)
    largest, whole = audit(watched, 20)
    assert max(float(largest.max()), whole) > 1.3


def test_orthogonal_persons_reach_the_bound_of_the_covariance(watched) -> None:
    """Two persons of many rows each, whose gradients stand at right angles in the metric that was
    released: the whole amount of S, and not more.
    """
    rng = np.random.default_rng(8)
    here = [rng.normal(size=(MOST, 4)) for _ in range(30)]
    for rows in here:
        rows[:, -1] = 1.0
    here[0] = np.repeat(here[0][:1], MOST, axis=0)
    here[0][:, 0] = 1e4
    first = watched(persons_of(here), 5)
    design = LinearDesign(budget=BUDGETS["gdp"], n_records=30, rows_per_person=MOST)
    metric = metric_of(first, design)
    z = metric @ here[0][0, 1:]
    across = rng.normal(size=3)
    across -= z * (across @ z) / (z @ z)
    there = list(here)
    there[0] = np.repeat([[1e4, *np.linalg.solve(metric, across)]], MOST, axis=0)
    other = watched(persons_of(there), 5, like=first)
    reached = spent(first, other)[-1] / claimed(design)[-1]
    assert 1.0 - 1e-3 < reached <= 1.0 + ROUNDING


def metric_of(seen: Spy, design: LinearDesign) -> Array:
    """Q, of what was released."""
    rough, counts, moment = seen.values[:3]
    edges, amounts = sums_room.LADDER * np.sqrt(len(rough)), design.amounts()
    Q = _whitening(rough, design, amounts.rough) / np.sqrt(len(rough))
    Q = Q / (design.row_clip * length_at(counts, edges))
    return np.asarray(_whitening(moment, design, amounts.moment) @ Q)


# --- bits -----------------------------------------------------------------------------------------


def hostile(rng: np.random.Generator, p: int, most: int) -> PersonRows:
    people = []
    for _ in range(12):
        rows = rng.normal(size=(int(rng.integers(1, most + 1)), 1 + p))
        rows *= 10.0 ** rng.uniform(-8, 6, (len(rows), 1))
        rows[:, -1] = 1.0
        people.append(rows)
    return persons_of(people, most)


@pytest.mark.parametrize("most", [3, MOST_ROWS_PER_PERSON])
def test_what_a_person_adds_has_norm_at_most_1_in_exact_arithmetic(most: int, monkeypatch) -> None:
    rng = np.random.default_rng(4)
    seen: list[Array] = []

    class Place(MemoryPlace):
        def chunks(self) -> Iterator[PersonRows]:
            yield self.rows

        def laid_out(self, values: Array) -> Array:
            seen.append(values)
            return values

    def exact(values: Array) -> Fraction:
        return sum((Fraction(float(x)) ** 2 for x in values.ravel()), Fraction(0))

    largest = Fraction(0)
    for p in (1, 2, 5):
        block = hostile(rng, p, most)
        whitened = sums_room.Whitened(np.tril(rng.normal(size=(p, p))), is_new=True)(block)
        at = rng.normal(size=p) * 10.0 ** rng.uniform(-6, 6)
        _, lengths = sums_room._gradients(whitened, at)
        for clip in (float(lengths[3]), 1e-9):
            sums_room.Clipped(at, clip)(Place(whitened))
            largest = max(largest, *map(exact, seen.pop()))
        sums_room.moment(Place(whitened))
        ends = np.append(whitened.first, len(whitened.rows))
        unit = seen.pop()
        for i, start in enumerate(ends[:-1]):  # the trace of a person's part
            largest = max(largest, exact(unit[start : ends[i + 1]]))
            assert sum(map(Fraction, whitened.shares[start : ends[i + 1]].tolist())) <= 1
    assert Fraction(999_999, 1_000_000) < largest <= 1


@pytest.mark.parametrize("p", [1, 2, 13])
def test_how_many_rows_a_person_has_moves_no_bit_of_what_others_add(p: int) -> None:
    """The class and the gradient of everybody else, wherever their rows come to stand."""
    rng = np.random.default_rng(p)
    rows = rng.normal(size=(1400, 1 + p)) * 10.0 ** rng.uniform(-8, 6, (1400, 1))
    rows[:, -1] = 1.0
    people = np.split(rows, np.sort(rng.choice(np.arange(1, 1400), 300, replace=False)))
    people = [part[:9] for part in people]
    whiten, at = np.tril(rng.normal(size=(p, p))), rng.normal(size=p) * 30.0
    found = []
    for first in (people[0], np.concatenate([people[0], people[3]]), people[0][:1]):
        block = sums_room.Whitened(whiten, is_new=True)(persons_of([first, *people[1:]], 9))
        gradients, lengths = sums_room._gradients(block, at)
        own = int(block.first[1])
        found.append((gradients[1:], lengths[1:], block.weights[own:], block.shares[own:]))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_noise_of_a_release_pays_for_the_rounding_of_every_row(monkeypatch) -> None:
    told: list[float] = []

    def law(cls, *, sensitivity, amount, divided_by=1.0):
        told.append(sensitivity)
        return original(sensitivity=sensitivity, amount=amount, divided_by=divided_by)

    def matrix(mean, *, sensitivity, **_):
        told.append(sensitivity)
        return matrices.PrivateMatrix(mean, mean, 0, 0.0)

    def run(most: int, source: NoiseSource) -> np.ndarray:
        design = LinearDesign(budget=BUDGETS["gdp"], n_records=100_000, rows_per_person=most)
        drawn = Drawn(design, source, [])
        told.clear()
        drawn.gradient(np.zeros(3), 0)
        drawn.counts(np.zeros(4))
        drawn.count(np.zeros(1))
        drawn.matrix(np.eye(3), 0.1)
        return np.array(told)

    original = type(BUDGETS["gdp"]).noise
    monkeypatch.setattr(type(BUDGETS["gdp"]), "noise", classmethod(law))
    monkeypatch.setattr(noise_room, "private_matrix", matrix)
    simulated = run(50, np.random.default_rng(0))
    assert len(simulated) == 4
    np.testing.assert_array_equal(simulated, run(1, np.random.default_rng(0)))
    one, many = (run(most, SystemSource()) - simulated for most in (1, 50))
    assert (one > 0.0).all()
    assert many - one == pytest.approx(2 * 49 * 100_000 / 8192 * 2.0**-52, rel=1e-3, abs=0.0)


# --- statistics -----------------------------------------------------------------------------------


def visits(n: int, seed: int, most: int = 6) -> list[Array]:
    """Persons with 1 to `most` rows, who share a column and most of their error."""
    rng = np.random.default_rng(seed)
    n_rows = rng.integers(1, most + 1, n)
    shared, errors = rng.uniform(-1.7, 1.7, n), 0.25 * rng.standard_normal(n)
    total = int(n_rows.sum())
    own = rng.uniform(-1.7, 1.7, (total, 2))
    x = np.c_[np.repeat(shared, n_rows), own, np.ones(total)]
    error = np.repeat(errors, n_rows) + 0.12 * rng.standard_normal(total)
    return np.split(np.c_[x @ BETA + error, x], np.cumsum(n_rows)[:-1])


@pytest.mark.parametrize(("mu", "n"), [("0.5", 1500), ("4", 600)])
def test_intervals_cover_where_rows_of_a_person_are_alike(mu: str, n: int) -> None:
    """As often as they say for every coefficient, the one of the shared column among them, which
    intervals for single rows would cover far less often.
    """
    inside, naive, halves, runs = [], [], [], 120
    design = made(n, mu, rows_per_person=6)
    for seed in range(runs):
        people = visits(n, seed)
        A = MemoryTable(persons_of(people, 6))
        fit = linear_fit(A, design=design, source=np.random.default_rng(seed))
        halves.append(fit.half_widths().half_width)
        inside.append(np.abs(fit.theta - BETA) <= halves[-1])
        if mu != "4":
            continue
        rows = weighted(np.concatenate(people))
        single = made(len(rows), mu)
        fit = linear_fit(MemoryTable(rows), design=single, source=np.random.default_rng(seed))
        naive.append(np.abs(fit.theta - BETA) <= fit.half_widths().half_width)
    error = np.sqrt(0.95 * 0.05 / runs)
    assert np.mean(inside, axis=0).min() > 0.95 - 3.5 * error
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)
    if mu == "4":
        assert np.mean(naive, axis=0)[0] < 0.9
    alone = [rows[:1] for seed in range(1000, 1002) for rows in visits(n, seed)]
    planned = forecast_linear(MemoryTable(weighted(np.concatenate(alone))), design=design)
    assert not planned.is_not_reportable.any()
    assert (np.mean(halves, axis=0) < 1.03 * planned.length / 2.0).all()


def test_planning_rows_of_persons_are_counted_by_person() -> None:
    """Bias and plain least squares are those of the mean over persons."""
    people = visits(3000, 7)
    A = persons_of(people, 6)
    found = forecast_linear(MemoryTable(A), design=made(3000, "2", rows_per_person=6), n_draws=4)
    rows = np.concatenate([r * np.sqrt(1.0 / len(r)) for r in people])
    plain = np.linalg.lstsq(rows[:, 1:], rows[:, 0], rcond=None)[0]
    np.testing.assert_allclose(found.estimate, plain, rtol=1e-6)
    assert (np.abs(found.bias) < 4.0 * found.bias_se).all()
