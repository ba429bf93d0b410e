"""Exact audit of the clipped steps: what a whole run tells between neighbours.

Every release is a mean plus Gaussian noise, given the releases before it. So on one record of a run
on D, replayed on D' with the same released values, the privacy spent is the sum over releases of
|mean - mean'|^2 / sd^2, which mu-GDP bounds by mu^2 and rho-zCDP by 2 rho. Means, clips, metrics
and standard deviations are those of the package; what they may cost is typed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpci_core import GDP, ZCDP
from dpci_core.base.batches import MemoryTable
from dpci_core.base.rows import WeightedRows
from dpci_core.mechanisms import matrices
from dpci_core.privacy.budget import Budget
from dpci_core.privacy.randomness import SystemSource, grid_under
from dpci_core.regression import design as design_room
from dpci_core.regression import fit as fit_room
from dpci_core.regression import noise as noise_room
from dpci_core.regression import sums as sums_room
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.fit import linear_fit

Array = np.ndarray
MU_SQUARED = 0.8
"""The whole of what an audited run claims."""
BUDGETS = {
    "gdp": GDP(model="0.56", hessian="0.16", covariance="0.08"),
    "zcdp": ZCDP(model="0.28", hessian="0.08", covariance="0.04"),
}
ROUNDING = 1e-6
LINES = ("rough", "rows", "moment", "look", "step", "look", "step", "look", "step", "share", "S")
"""Releases of a run with three steps, in order."""


@dataclass
class Spy:
    """Records means and standard deviations of a run, and gives a second run the same values."""

    means: list[Array] = field(default_factory=list)
    sds: list[float] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    replay: Iterator[Array] | None = None

    def released(self, mean: Array, sd: float, draw: Callable[[], Array]) -> Array:
        self.means.append(np.array(mean))
        self.sds.append(sd)
        value = draw() if self.replay is None else next(self.replay)
        self.values.append(value)
        return value


def spy_on(monkeypatch: pytest.MonkeyPatch, room=noise_room) -> list[Spy]:
    """The last of these spies sees every release of a run from here on."""
    spies: list[Spy] = []
    originals = {kind: kind.add_noise.__func__ for kind in (GDP, ZCDP)}

    for kind, original in originals.items():

        def vector(cls, values, noise, rng, *, _original=original, **given):
            return spies[-1].released(
                values, noise.scale, lambda: _original(cls, values, noise, rng, **given)
            )

        monkeypatch.setattr(kind, "add_noise", classmethod(vector))

    def matrix(mean, *, sensitivity, amount, kind, floor, rng, symmetric):
        sd = matrices.noise_scale(sensitivity=sensitivity, amount=amount, kind=kind)

        def draw() -> Array:
            noise = matrices.unit_noise(len(mean), law="gaussian", rng=rng, symmetric=symmetric)
            return mean + sd * noise

        noisy = spies[-1].released(mean, sd, draw)
        return matrices.PrivateMatrix(noisy, noisy, 0, 0.0)

    monkeypatch.setattr(room, "private_matrix", matrix)
    return spies


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Spy]:
    """Runs the package with every release recorded."""
    spies = spy_on(monkeypatch)

    def run(rows: WeightedRows, budget: Budget, seed: int, like: Spy | None = None) -> Spy:
        spies[:] = [Spy(replay=None if like is None else iter(like.values))]
        design = LinearDesign(budget=budget, n_records=len(rows))
        linear_fit(MemoryTable(rows), design=design, source=np.random.default_rng(seed))
        return spies[-1]

    return run


def spent(here: Spy, there: Spy) -> Array:
    """mu^2 of every release."""
    assert here.sds == pytest.approx(there.sds, rel=1e-12)
    pairs = zip(here.means, there.means, here.sds, strict=True)
    return np.array([float(((a - b) ** 2).sum()) / sd**2 for a, b, sd in pairs])


def weighted(rows: Array) -> WeightedRows:
    """Rows [t, x] with the weights of x."""
    return WeightedRows(rows, WeightedRows.of(rows[:, 1:]).weights)


def tables(rng: np.random.Generator, count: int) -> Iterator[tuple[Array, list[Array]]]:
    """Tables (n, 1 + p) of a few records, each with neighbours whose first record is another: the
    opposite, an orthogonal one, one at the edge of a clip, zeros, and hostile sizes.
    """
    for _ in range(count):
        n, p = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        D = rng.normal(size=(n, 1 + p)) * rng.choice([1e-3, 1.0, 30.0], (n, 1))
        D[:, -1] = 1.0
        D[0, 0] *= rng.choice([1.0, 1e6])
        others = []
        for k in range(10):
            new = D[0].copy()
            if k % 5 == 0:
                new[0] = -new[0]
            elif k % 5 == 1:
                new[1:] = rng.permutation(new[1:]) * rng.choice([-1.0, 1.0], p)
            elif k % 5 == 2:
                new[:] = 0.0
            elif k % 5 == 3:
                new[0] *= 10.0 ** rng.uniform(-8, 3)
            else:
                new = rng.normal(size=1 + p) * 10.0 ** rng.uniform(-6, 6)
            others.append(np.vstack([new, D[1:]]))
        yield D, others


def claimed(design: LinearDesign) -> Array:
    """What every release of a run may cost, in the definition of its budget."""
    amounts = design.amounts()
    return np.array(
        [amounts.rough, amounts.look, amounts.moment]
        + [x for step in amounts.steps for x in (amounts.look, step)]
        + [amounts.check, amounts.covariance]
    )


def audit(run: Callable[..., Spy], budget: Budget, count: int) -> tuple[Array, float]:
    """The largest mu^2 of every release, as a share of what it was given, and that of whole runs as
    a share of the total; over 10 count pairs.
    """
    given = claimed(LinearDesign(budget=budget, n_records=1))
    given *= MU_SQUARED / float(budget.total)
    largest, whole = np.zeros(len(given)), 0.0
    rng = np.random.default_rng(1)
    for seed, (D, others) in enumerate(tables(rng, count)):
        here = run(weighted(D), budget, seed)
        for other in others:
            cost = spent(here, run(weighted(other), budget, seed, like=here))
            largest = np.maximum(largest, cost / given)
            whole = max(whole, float(cost.sum()) / MU_SQUARED)
    return largest, whole


@pytest.mark.parametrize("definition", BUDGETS)
def test_no_pair_costs_more_than_was_booked(definition: str, watched) -> None:
    count = 520 if definition == "gdp" else 60
    largest, whole = audit(watched, BUDGETS[definition], count)
    assert len(largest) == len(LINES)
    assert largest.max() <= 1.0 + ROUNDING
    assert whole <= 1.0 + ROUNDING
    # Every bound but that of S is nearly reached, so that one that is too small would show.
    for name, reached in zip(LINES, largest, strict=True):
        assert reached > (0.4 if name == "S" else 0.9), name


MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a clip forgotten": lambda m: m.setattr(sums_room.Clipped, "__call__", _without_clip),
    "C for 2C": lambda m: m.setattr(
        noise_room, "gradient_sensitivity", lambda *, n_records: 1.0 / n_records
    ),
    "the square root of 2": lambda m: m.setattr(
        noise_room, "second_moment_sensitivity", lambda *, n_records: 1.0 / n_records
    ),
    "weights forgotten": lambda m: m.setattr(
        fit_room, "Whitened", lambda whiten, is_new: sums_room.Whitened(whiten, is_new=False)
    ),
    "mu for mu^2": lambda m: m.setattr(
        GDP, "noise_parameter", classmethod(lambda cls, amount: math.sqrt(amount) / 2.0)
    ),
    "rho for mu^2": lambda m: m.setattr(
        GDP, "noise_parameter", classmethod(lambda cls, amount: amount)
    ),
    "the total for each step": lambda m: m.setattr(
        LinearDesign, "amounts", lambda self: _all_of_it(self)
    ),
}


def _without_clip(self, place):
    gradients, lengths = (
        np.concatenate(x)
        for x in zip(
            *(sums_room._gradients(block, self.at) for block in place.chunks()), strict=True
        )
    )
    terms = gradients / self.clip
    return terms.sum(axis=0), terms.T @ terms, np.array([float((lengths > self.clip).sum())])


def _all_of_it(design: LinearDesign) -> design_room.Amounts:
    total = float(design.budget.total)
    return design_room.Amounts(total, total, total, (total,) * design.steps, total, total)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_audit_sees_a_mistake(mutant: str, watched, monkeypatch: pytest.MonkeyPatch) -> None:
    claimed = LinearDesign.amounts
    MUTANTS[mutant](monkeypatch)
    mutated = LinearDesign.amounts
    monkeypatch.setattr(LinearDesign, "amounts", claimed)

    def run(*given, **named):
        with monkeypatch.context() as inside:
            inside.setattr(LinearDesign, "amounts", mutated)
            return watched(*given, **named)

    largest, whole = audit(run, BUDGETS["gdp"], 25)
    assert max(float(largest.max()), whole) > 1.3


def test_no_noise_is_used_twice(watched) -> None:
    D = np.random.default_rng(0).normal(size=(50, 4))
    D[:, -1] = 1.0
    seen = watched(weighted(D), BUDGETS["gdp"], 3)
    drawn = []
    for mean, sd, value in zip(seen.means, seen.sds, seen.values, strict=True):
        free = np.tril_indices(len(mean)) if mean.ndim == 2 else ...
        noise = np.abs((value - mean)[free] / sd).ravel()
        drawn += noise.round(9).tolist()
    assert len(drawn) > 150
    assert len(set(drawn)) == len(drawn)


def test_a_program_that_uses_noise_twice_is_seen(watched, monkeypatch) -> None:
    plain = linear_fit

    class Stuck(np.random.Generator):
        """Gives the same numbers again and again."""

        def standard_normal(self, size=None, **_):
            return np.random.default_rng(5).standard_normal(size)

    monkeypatch.setitem(
        globals(),
        "linear_fit",
        lambda A, *, design, source: plain(A, design=design, source=Stuck(np.random.PCG64(1))),
    )
    with pytest.raises(AssertionError):
        test_no_noise_is_used_twice(watched)


# --- bits -----------------------------------------------------------------------------------------


def hostile_blocks(
    rng: np.random.Generator, count: int, most: int = 6
) -> Iterator[tuple[WeightedRows, Array]]:
    for _ in range(count):
        p = int(rng.integers(1, most))
        rows = rng.normal(size=(64, 1 + p)) * 10.0 ** rng.uniform(-8, 6, (64, 1))
        rows[:, -1] = 1.0
        rows[0] = 0.0
        yield weighted(rows), rng.normal(size=p) * 10.0 ** rng.uniform(-6, 6)


def test_terms_have_norm_at_most_1_in_exact_arithmetic(monkeypatch) -> None:
    rng = np.random.default_rng(4)
    seen: list[Array] = []

    class Place:
        def __init__(self, block: WeightedRows) -> None:
            self.block = block

        def chunks(self) -> Iterator[WeightedRows]:
            yield self.block

        def laid_out(self, values: Array) -> Array:
            seen.append(values)
            return values

    largest = Fraction(0)
    for block, at in hostile_blocks(rng, 40):
        _, lengths = sums_room._gradients(block, at)
        for clip in (*rng.choice(lengths[1:], 3), 1e-9, 1e9):
            sums_room.Clipped(at, float(clip))(Place(block))
            whiten = np.tril(rng.normal(size=(len(at),) * 2))
            sums_room.moment(Place(sums_room.Whitened(whiten, is_new=True)(block)))
            for terms in seen:
                for row in terms:
                    largest = max(largest, sum(Fraction(float(x)) ** 2 for x in row))
            seen.clear()
    assert Fraction(999_999, 1_000_000) < largest <= 1


def test_a_record_adds_the_same_bits_wherever_it_stands() -> None:
    rng = np.random.default_rng(5)
    for block, at in hostile_blocks(rng, 60, most=40):
        whiten = np.tril(rng.normal(size=(len(at),) * 2))
        whole = sums_room.Whitened(whiten, is_new=True)(block)
        gradients, lengths = sums_room._gradients(whole, at)
        for start in range(1, 60, 7):
            part = WeightedRows(block.rows[start:].copy(), block.weights[start:].copy())
            alone = sums_room.Whitened(whiten, is_new=True)(part)
            others = sums_room._gradients(alone, at)
            for a, b in zip((gradients, lengths), others, strict=True):
                assert (a[start:] == b).all()
            assert (alone.weights == whole.weights[start:]).all()


def test_the_first_metric_is_of_weights_that_know_no_place(watched) -> None:
    """Those that come with the rows may differ in a last bit from place to place."""
    rng = np.random.default_rng(7)
    D = rng.normal(size=(30, 4)) * 3.0
    D[:, -1] = 1.0
    plain = weighted(D)
    moved = WeightedRows(plain.rows, plain.weights * (1.0 - 1e-9))
    first, other = (watched(rows, BUDGETS["gdp"], 0) for rows in (plain, moved))
    for a, b in zip(first.means, other.means, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("definition", BUDGETS)
def test_what_leaves_lies_on_the_grid_of_its_noise(definition: str) -> None:
    rng = np.random.default_rng(6)
    D = rng.normal(size=(40, 3))
    D[:, -1] = 1.0
    design = LinearDesign(budget=BUDGETS[definition], n_records=40)
    fit = linear_fit(MemoryTable(weighted(D)), design=design, source=SystemSource())
    amounts = design.amounts()
    given = [amounts.rough, amounts.look, amounts.moment]
    given += [x for step in amounts.steps for x in (amounts.look, step)]
    given += [amounts.check, amounts.covariance]
    sizes = [2.0 if name == "step" else 1.0 if name == "share" else math.sqrt(2) for name in LINES]
    assert len(fit.numbers) == len(LINES)
    for values, amount, size in zip(fit.numbers, given, sizes, strict=True):
        scale = design.budget.noise(sensitivity=size / 40 * (1 + 1e-9), amount=amount).scale
        plain = np.diagonal(values) if values.ndim == 2 else values
        grid = math.ldexp(1.0, grid_under(scale))
        assert (plain / grid == np.round(plain / grid)).all()


@pytest.mark.parametrize("part", ["0.7", "1e-9", "0.123456789012345678901234567", "3"])
@pytest.mark.parametrize("steps", [2, 3, 8])
def test_the_parts_of_a_run_add_up_to_no_more_than_the_total(part: str, steps: int) -> None:
    budget = GDP(model=part, hessian=part, covariance="0.1")
    amounts = LinearDesign(budget=budget, n_records=9, steps=steps).amounts()
    parts = [amounts.rough, amounts.moment, amounts.check, amounts.covariance, *amounts.steps]
    exact = sum(map(Fraction, parts), Fraction(amounts.look) * (steps + 1))
    total = Fraction(Decimal(budget.total))
    assert total * Fraction(999_999_999, 1_000_000_000) < exact <= total
