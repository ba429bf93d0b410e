"""Half-widths from released matrices: against loops, quadratures and brute force that know nothing
of the module.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, roots_genlaguerre

from dpci_core import ZCDP, Calibration, Design, Logistic, PureDP
from dpci_core.intervals import half_widths as room
from dpci_core.intervals._newton_step import correction
from dpci_core.intervals.half_widths import (
    COVARIANCE_DOMINATES,
    NOISE_DOMINATES,
    HalfWidths,
    noise_ratio,
    private_half_widths,
)
from dpci_core.intervals.spectra import shrink_eigenvalues
from dpci_core.mechanisms.matrices import MatrixNoise
from dpci_core.privacy.laws import NoiseLaw

C = 0.001
LEVEL = 0.95
SPECTRA = {
    3: ([0.004, 0.0057, 0.097], [0.0033, 0.0048, 0.091]),
    6: (
        [0.0004, 0.0006, 0.001, 0.0018, 0.0024, 0.127],
        [0.0004, 0.0007, 0.0009, 0.0014, 0.0019, 0.114],
    ),
}
"""Eigenvalues of H without its penalty and of S, about those of the simulated census with 2 and 5
features.
"""
SIZES = {(3, "pure"): 5_000, (3, "zcdp"): 5_000, (6, "pure"): 30_000, (6, "zcdp"): 5_000}
MODEL = {"pure": 0.8, "zcdp": 0.1}
AMOUNTS = {(3, "pure"): 0.15, (3, "zcdp"): 0.004, (6, "pure"): 0.1, (6, "zcdp"): 0.008}
"""Budget of the coefficients, and of each matrix."""
CASES = [
    pytest.param(*names, id="-".join(map(str, names)))
    for names in itertools.product((3, 6), ("pure", "zcdp"), ("objective", "output"))
]


# --- the oracle: numpy and the formulas of methods.md ---------------------------------------------


@dataclasses.dataclass(frozen=True)
class Problem:
    """True matrices and the public law of everything that is added to them, all in plain
    numbers.
    """

    p: int
    definition: str
    mechanism: str
    symmetric: bool = True
    amount: float | None = None
    times: float = 1.0
    model: float = 1.0

    @property
    def H(self) -> np.ndarray:
        return rotated(np.array(SPECTRA[self.p][0]) + 2.0 * C, seed=self.p)

    @property
    def S(self) -> np.ndarray:
        values = np.array(SPECTRA[self.p][1])
        return 0.98 * rotated(values, seed=self.p) + 0.02 * rotated(values, seed=10 + self.p)

    @property
    def n(self) -> int:
        return SIZES[self.p, self.definition]

    @property
    def theta(self) -> np.ndarray:
        return np.linspace(-1.0, 1.5, self.p)

    @property
    def dim(self) -> int:
        """Free entries of the noise on a matrix."""
        return self.p * (self.p + 1) // 2 if self.symmetric else self.p**2

    @property
    def sensitivities(self) -> tuple[float, float]:
        """sqrt 2 t/n and sqrt 2 sigmoid(|theta|)^2/n of the logistic loss."""
        radius = float(np.linalg.norm(self.theta))
        return np.sqrt(2.0) * 0.25 / self.n, np.sqrt(2.0) / (1.0 + np.exp(-radius)) ** 2 / self.n

    @property
    def amounts(self) -> tuple[float, float]:
        """For H and for S."""
        usual = AMOUNTS[self.p, self.definition] * self.times
        return self.amount or usual, usual

    @property
    def sds(self) -> tuple[float, float]:
        """Standard deviations of a diagonal entry of the noise on H and on S."""
        if self.definition == "pure":
            h, s = (
                s / a * np.sqrt(self.dim + 1.0)
                for s, a in zip(self.sensitivities, self.amounts, strict=True)
            )
        else:
            h, s = (
                s / np.sqrt(2.0 * a) for s, a in zip(self.sensitivities, self.amounts, strict=True)
            )
        return float(h), float(s)

    def noise(self, which: int, size: int, rng: np.random.Generator) -> np.ndarray:
        """Matrix noise as methods.md sections 4 and 7.3 draw it: norm, direction, then the
        matrix.
        """
        sensitivity, amount, p, m = self.sensitivities[which], self.amounts[which], self.p, self.dim
        flat = rng.standard_normal((size, m))
        if self.definition == "pure":
            flat /= np.linalg.norm(flat, axis=1, keepdims=True)
            flat *= rng.gamma(m, sensitivity / amount, size=(size, 1))
        else:
            flat *= sensitivity / np.sqrt(2.0 * amount)
        if not self.symmetric:
            full = flat.reshape(size, p, p)
            return (full + np.swapaxes(full, 1, 2)) / 2.0
        out = np.zeros((size, p, p))
        out[:, range(p), range(p)] = flat[:, :p]
        rows, columns = np.triu_indices(p, 1)
        out[:, rows, columns] = out[:, columns, rows] = flat[:, p:] / np.sqrt(2.0)
        return out

    @property
    def model_noise(self) -> tuple[float | None, float | None]:
        """Rate and standard deviation, on the scale of the mechanism."""
        amount = MODEL[self.definition] * self.model
        if self.definition == "pure":
            return (amount / 2.0 if self.mechanism == "objective" else self.n * C * amount), None
        return None, (2.0 if self.mechanism == "objective" else 1.0 / (self.n * C)) / np.sqrt(
            2.0 * amount
        )

    def variances(
        self, rows: np.ndarray, S: np.ndarray, L: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Normal part and the factor of W ~ Gamma((p+1)/2), for rows of L H^-1 [methods.md section
        5].
        """
        rate, sd = self.model_noise
        sampling = np.maximum((rows @ S * rows).sum(axis=-1), 0.0) / self.n
        square = (
            (rows**2).sum(axis=-1) / self.n**2
            if self.mechanism == "objective"
            else (L**2).sum(axis=-1)
        )
        square = square + np.zeros_like(sampling)
        if rate is None:
            return sampling + square * sd**2, np.zeros_like(sampling)
        return sampling, square * 2.0 / rate**2

    def coverage(self, q: np.ndarray, normal: np.ndarray, laplace: np.ndarray) -> np.ndarray:
        """P(|T| <= q) by generalised Gauss-Laguerre quadrature."""
        if not laplace.any():
            return 2.0 * ndtr(q / np.sqrt(normal)) - 1.0
        nodes, weights = laguerre((self.p + 1) / 2.0)
        sd = np.sqrt(normal[..., None] + laplace[..., None] * nodes)
        return (2.0 * ndtr(q[..., None] / sd) - 1.0) @ weights

    def half_width(
        self, normal: np.ndarray, laplace: np.ndarray, level: float = LEVEL
    ) -> np.ndarray:
        """The q whose coverage is the level, by bisection in log q, to 4 in 10 million."""
        if not laplace.any():
            return stats.norm.ppf(0.5 + level / 2.0) * np.sqrt(normal)
        shape = np.broadcast_shapes(normal.shape, laplace.shape)
        sd = np.sqrt(normal + laplace * (self.p + 1) / 2.0)
        low, high = np.full(shape, 0.01) * sd, np.full(shape, 20.0) * sd
        for _ in range(24):
            middle = np.sqrt(low * high)
            enough = self.coverage(middle, normal, laplace) >= level
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high

    def floored(self, H: np.ndarray, S: np.ndarray, floor_s: float) -> np.ndarray:
        """Plain half-widths of one pair of noisy matrices: floors, then the interval."""
        raised = []
        for matrix, floor in ((H, 2.0 * C), (S, floor_s)):
            values, vectors = np.linalg.eigh(matrix)
            raised.append(vectors @ np.diag([max(v, floor) for v in values]) @ vectors.T)
        return self.half_width(*self.variances(np.linalg.inv(raised[0]), raised[1], np.eye(self.p)))


@functools.cache
def laguerre(shape: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for a mean over Gamma(shape)."""
    nodes, weights = roots_genlaguerre(30, shape - 1.0)
    return nodes, weights / weights.sum()


def projected(S: np.ndarray) -> np.ndarray:
    """Negative eigenvalues raised to 0."""
    values, vectors = np.linalg.eigh(S)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def covariance_ratios(
    problem: Problem, rows: np.ndarray, S: np.ndarray, sd: float, L: np.ndarray
) -> np.ndarray:
    """Noise on v'Sv against the variance of each coefficient, row by row."""
    normal, laplace = problem.variances(rows, projected(S), L)
    variance = normal + laplace * (problem.p + 1) / 2.0
    return np.array(
        [sd * float(v @ v) / (problem.n * total) for v, total in zip(rows, variance, strict=True)]
    )


def rotated(values: np.ndarray, *, seed: int) -> np.ndarray:
    """A symmetric matrix with these eigenvalues."""
    p = len(values)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((p, p)))[0]
    return (Q * values) @ Q.T


def shrunken(matrix: np.ndarray, sd: float) -> np.ndarray:
    """The estimator of `shrink_eigenvalues` as a double loop."""
    values = np.linalg.eigvalsh(matrix)
    p, out = len(values), []
    for i in range(p):
        pull = 0.0
        for j in range(p):
            gap = values[i] - values[j]
            if j != i:
                pull += gap / (gap**2 + p * sd**2 / 2.0)
        out.append(values[i] - sd**2 * pull)
    return np.array(out)


def shrunken_hessian(matrix: np.ndarray, sd: float, floor: float = 2.0 * C) -> np.ndarray:
    """The matrix with shrunken eigenvalues, at least the floor."""
    vectors = np.linalg.eigh(matrix)[1]
    return vectors @ np.diag(np.maximum(shrunken(matrix, sd), floor)) @ vectors.T


def nested_factor(
    problem: Problem,
    H: np.ndarray,
    S: np.ndarray,
    L: np.ndarray,
    *,
    level: float = LEVEL,
    size: int = 4000,
) -> np.ndarray:
    """The factor by brute force: H and S count as the truth, both matrices are redrawn, the error
    has its exact law.
    """
    rng = np.random.default_rng(5)
    sd = problem.sds[0]
    values, vectors = np.linalg.eigh(H + problem.noise(0, size, rng))
    gap = values[:, :, None] - values[:, None, :]
    values = values - sd**2 * (gap / (gap**2 + problem.p * sd**2 / 2.0)).sum(axis=2)
    inverse = np.einsum("bij,bj,bkj->bik", vectors, 1.0 / np.maximum(values, 2.0 * C), vectors)
    redrawn = S + problem.noise(1, size, rng)
    q = problem.half_width(*problem.variances(L @ inverse, redrawn, L), level)
    normal, laplace = problem.variances(L @ np.linalg.inv(H), S, L)
    low, high = np.full(len(L), 0.3), np.full(len(L), 3.0)
    for _ in range(16):  # to 4 in 100,000
        middle = np.sqrt(low * high)
        enough = problem.coverage(middle * q, normal[None], laplace[None]).mean(axis=0) >= level
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


# --- the code under test --------------------------------------------------------------------------


def design_of(problem: Problem, **changes: object) -> Design:
    kind = PureDP if problem.definition == "pure" else ZCDP
    budget = kind(model=1, hessian=problem.amounts[0], covariance=problem.amounts[1])
    switches = {"covariance_floor": "zero", "tight_sensitivity": True, "noise_aware": True}
    switches |= {"symmetric_noise": problem.symmetric}
    chosen = {key: changes.pop(key) for key in list(changes) if key in switches}
    return Design(
        loss=Logistic(),
        mechanism=problem.mechanism,
        budget=budget,
        regularization=C,
        n_records=problem.n,
        calibration=Calibration.published(**(switches | chosen)),
        **changes,
    )


def widths_of(
    problem: Problem, H: np.ndarray, S: np.ndarray, *, design: Design | None = None, **more: object
) -> HalfWidths:
    design = design or design_of(problem)
    floor = 2.0 * C if design.switches.covariance_floor == "2c" else 0.0
    law = MatrixNoise(
        problem.sensitivities[1], problem.amounts[1], problem.definition, problem.symmetric, floor
    )
    rate, sd = problem.model_noise
    given = {"theta_priv": problem.theta} | more
    noise = NoiseLaw(rate=rate, sd=sd)
    return private_half_widths(
        H,
        S,
        design=design,
        noise=noise,
        covariance_noise=law,
        **given,
    )


def noisy(problem: Problem, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return problem.H + problem.noise(0, size, rng), problem.S + problem.noise(1, size, rng)


def with_allowance(
    problem: Problem, plain: HalfWidths, sd: float, level: float = LEVEL
) -> tuple[np.ndarray, np.ndarray]:
    """Sampling variance and half-widths from one plain result and its matrices, v'Sv + 0.5 sd |v|^2
    for v'Sv.
    """
    rows = plain.contrasts @ np.linalg.inv(plain.hessian)
    sampling = np.array([v @ plain.covariance @ v + 0.5 * sd * (v @ v) for v in rows]) / problem.n
    return sampling, problem.half_width(sampling + plain.law.gaussian, plain.law.laplace, level)


# --- step 1: eigenvalues --------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "sd"), [(2, 0.3), (3, 0.01), (6, 1.0), (11, 0.2)])
def test_shrinking_is_the_double_loop(p: int, sd: float) -> None:
    matrix = rotated(np.random.default_rng(p).normal(size=p), seed=p)
    values = shrink_eigenvalues(np.linalg.eigvalsh(matrix), sd)
    np.testing.assert_allclose(values, shrunken(matrix, sd), rtol=1e-12, atol=1e-13)
    assert values.sum() == pytest.approx(np.trace(matrix), rel=1e-12), "pulls cancel in the trace"


def test_shrinking_by_hand() -> None:
    # Gap 1, sd^2 = 0.1: pull = 1/(1 + 2 * 0.1/2) = 10/11, times 0.1.
    values = shrink_eigenvalues(np.array([1.0, 2.0]), np.sqrt(0.1))
    np.testing.assert_allclose(values, [1.0 + 1.0 / 11.0, 2.0 - 1.0 / 11.0], rtol=1e-14)


@pytest.mark.parametrize("definition", ["pure", "zcdp"])
@pytest.mark.parametrize("size", [0.5, 2.0])
@pytest.mark.parametrize(
    "truth", [SPECTRA[3][0], SPECTRA[6][0], np.geomspace(0.01, 0.1, 11)], ids=["3", "6", "11"]
)
def test_shrunken_eigenvalues_are_closer_to_the_truth(
    truth: list[float], size: float, definition: str
) -> None:
    """The matrix always is; the eigenvalues themselves are where they lie within the noise, and
    repel each other.
    """
    p, n_draws = len(truth), 4000
    sd = size * truth[p // 2]
    rng = np.random.default_rng(p)
    G = rng.standard_normal((n_draws, p, p))
    noise = sd * (G + np.swapaxes(G, 1, 2)) / 2.0
    if definition == "pure":
        shape = (p * (p + 1) / 2 + 1) / 2
        noise *= np.sqrt(rng.gamma(shape, 1.0 / shape, size=(n_draws, 1, 1)))
    matrices = np.diag(truth) + noise
    raw, vectors = np.linalg.eigh(matrices)
    values = shrink_eigenvalues(raw, sd)
    back = np.einsum("bij,bj,bkj->bik", vectors, values, vectors)
    errors = [((M - np.diag(truth)) ** 2).sum(axis=(1, 2)) for M in (matrices, back)]
    if size > 1.0:
        errors += [((x - np.sort(truth)) ** 2).sum(axis=1) for x in (raw, values)]
    for before, after in zip(errors[::2], errors[1::2], strict=True):
        assert after.mean() < before.mean() - 4.0 * (before - after).std() / np.sqrt(n_draws)


def test_shrinking_leaves_alone_what_has_no_noise() -> None:
    raw = np.array([0.1, 0.2, 0.2, 0.7])
    np.testing.assert_array_equal(shrink_eigenvalues(raw, 0.0), raw)
    assert shrink_eigenvalues(np.array([0.3]), 5.0).item() == 0.3, (
        "one eigenvalue has nothing to repel it"
    )


# --- privacy --------------------------------------------------------------------------------------


def test_no_record_can_come_in() -> None:
    names = set(inspect.signature(private_half_widths).parameters)
    released = {"H_noisy", "S_noisy", "theta_priv"}
    public = {
        "design",
        "noise",
        "covariance_noise",
        "covariance_sd",
        "contrasts",
        "n_factors",
        "constant",
    }
    public |= {"n_redraws", "spectra", "metric"}  # spectra: of what is handed in, kept
    assert names == released | public
    for name, function in inspect.getmembers(room, inspect.isfunction):
        if function.__module__ == room.__name__:
            assert not set(inspect.signature(function).parameters) & {
                "X",
                "A",
                "y",
                "records",
                "moments",
            }, name


def test_the_room_imports_nothing_that_reads_records() -> None:
    tree = ast.parse(Path(room.__file__).read_text())
    rooms = {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    readers = ("dpci_core.solvers", "dpci_core.datasets", "dpci_core.base.validation")
    assert [name for name in rooms if name.startswith(readers)] == []


@pytest.mark.parametrize("problem", [Problem(3, "pure", "objective"), Problem(6, "zcdp", "output")])
def test_same_release_same_half_widths(problem: Problem) -> None:
    """Bit by bit, whatever global random state and whatever else was computed before."""
    H, S = noisy(problem, 1, 3)
    np.random.seed(1)  # noqa: NPY002
    first = widths_of(problem, H, S)
    np.random.seed(2)  # noqa: NPY002
    widths_of(problem, *noisy(problem, 5, 8))
    second = widths_of(problem, H.copy(), S.copy())
    for field in dataclasses.fields(first):
        np.testing.assert_array_equal(
            getattr(first, field.name), getattr(second, field.name), err_msg=field.name
        )


# --- plain half-widths ----------------------------------------------------------------------------


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("floor", ["2c", "zero"])
@pytest.mark.parametrize(("p", "definition", "mechanism"), CASES)
def test_plain_half_widths_are_floors_then_interval(
    p: int, definition: str, mechanism: str, floor: str, symmetric: bool
) -> None:
    problem = Problem(p, definition, mechanism, symmetric)
    H, S = noisy(problem, 4, 1)
    found = widths_of(
        problem, H, S, design=design_of(problem, noise_aware=False, covariance_floor=floor)
    )
    expected = [
        problem.floored(h, s, 2.0 * C if floor == "2c" else 0.0) for h, s in zip(H, S, strict=True)
    ]
    np.testing.assert_allclose(found.half_width, expected, rtol=1e-5)
    assert not found.is_noise_aware.any()
    assert not found.is_not_estimable.any()
    np.testing.assert_array_equal(found.factor, np.ones((4, p)))
    assert np.linalg.eigvalsh(found.hessian).min() >= 2.0 * C * (1.0 - 1e-9)
    smallest = np.linalg.eigvalsh(found.covariance).min()
    assert smallest >= (2.0 * C * (1.0 - 1e-9) if floor == "2c" else -1e-12)


def test_plain_half_widths_by_hand() -> None:
    """p = 1, Gaussian, output: variance S/(n H^2) + sd^2 with the floor 2c = 0.002 under both."""
    problem = Problem(3, "zcdp", "output")
    sd = 1.0 / (5000 * 0.001 * np.sqrt(0.2))
    design = design_of(problem, noise_aware=False, covariance_floor="2c")
    found = widths_of(
        problem, np.array([[0.001]]), np.array([[-4.0]]), design=design, theta_priv=np.array([0.3])
    )
    assert found.half_width.item() == pytest.approx(
        1.959964 * np.sqrt(0.002 / 0.002**2 / 5000 + sd**2), rel=1e-6
    )


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hardly any fading, at 12 and 0.75, so that every half-width is noise-aware or plain."""
    monkeypatch.setattr(room, "NOISE_DOMINATES", (12.0, 12.0 * (1.0 + 1e-9)))
    monkeypatch.setattr(room, "COVARIANCE_DOMINATES", (0.75, 0.75 * (1.0 + 1e-9)))


# --- noise-aware half-widths ----------------------------------------------------------------------


@pytest.mark.parametrize("times", [1.0, 3.0])
@pytest.mark.parametrize(("p", "definition", "mechanism"), CASES)
def test_coverage_under_the_law_of_the_noise(
    p: int, definition: str, mechanism: str, times: float
) -> None:
    """Mean coverage near the level, and each coefficient closer to it than with the projection
    alone.

    Where coefficients fall back to the plain half-widths with their allowance, coverage is at least
    the level. Standard errors are below 0.003 at p = 3 and 0.0015 at p = 6; both share their draws,
    so less in the comparison.
    """
    problem = Problem(p, definition, mechanism, times=times)
    H, S = noisy(problem, 700, 1)
    normal, laplace = problem.variances(np.linalg.inv(problem.H), problem.S, np.eye(p))
    coverages, shares = [], []
    for switch in (True, False):
        found = widths_of(problem, H, S, design=design_of(problem, noise_aware=switch))
        assert found.is_noise_aware.shape == (700, p)
        assert np.all(found.is_noise_aware.mean(axis=0) > 0.7 if switch else ~found.is_noise_aware)
        shares.append(found.is_noise_aware.mean(axis=0))
        coverages.append(
            problem.coverage(found.half_width, normal[None], laplace[None]).mean(axis=0)
        )
    aware, plain = coverages
    falls_back = shares[0].min() < 0.98
    assert falls_back == (times == 1.0 and (p, definition, mechanism) == (6, "pure", "objective"))
    if falls_back:
        assert LEVEL <= aware.mean() <= 0.97
        assert np.all(aware >= LEVEL)
        return
    assert abs(aware.mean() - LEVEL) < 0.005
    assert np.all(aware > 0.938)
    assert np.all(np.abs(aware - LEVEL) < np.abs(plain - LEVEL) + 0.0025)
    assert np.abs(aware - LEVEL).mean() < np.abs(plain - LEVEL).mean() + 1e-4


def coverage_of(problem: Problem, q: np.ndarray) -> np.ndarray:
    """Mean over the draws, under the true law."""
    normal, laplace = problem.variances(np.linalg.inv(problem.H), problem.S, np.eye(problem.p))
    return problem.coverage(q, normal[None], laplace[None]).mean(axis=0)


MUCH_NOISE = [
    pytest.param(*names, id="-".join(map(str, names)))
    for names in itertools.product(
        ("pure", "zcdp"), ("objective", "output"), (1.0, 0.3), (10.0, 100.0)
    )
    if sum(name in ("pure", "output", 1.0, 10.0) for name in names) % 2
]
"""Definition, mechanism, matrix budgets and model budget against the usual ones: little model
noise, so that the noise on S is most of the variance of a coefficient. Half of all, with every
three values together."""


@pytest.mark.parametrize(("definition", "mechanism", "times", "model"), MUCH_NOISE)
def test_coverage_where_the_noise_on_s_dominates(
    definition: str, mechanism: str, times: float, model: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over all draws, whichever half-width each uses; without the cut it falls to 0.57."""
    problem = Problem(6, definition, mechanism, times=times, model=model)
    H, S = noisy(problem, 800, 1)
    found = widths_of(problem, H, S)
    share = found.is_noise_aware.mean(axis=0)
    assert np.all((share > 0.1) & (share < 0.99))
    assert np.any(found.is_noise_aware.any(axis=1) & ~found.is_noise_aware.all(axis=1)), (
        "some releases use both"
    )
    coverage = coverage_of(problem, found.half_width)
    assert coverage.min() >= 0.93
    monkeypatch.setattr(room, "COVARIANCE_DOMINATES", (1e9, 1e10))
    uncut = widths_of(problem, H, S)
    assert uncut.is_noise_aware.all()
    without = coverage_of(problem, uncut.half_width)
    assert np.all(without < coverage)
    if model == 100.0:
        assert without.min() < (0.72 if definition == "pure" else 0.9)


@pytest.mark.parametrize(("definition", "mechanism", "times", "model"), MUCH_NOISE)
def test_coverage_of_three_coefficients_where_the_noise_on_s_dominates(
    definition: str, mechanism: str, times: float, model: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plain half-widths with floor 0 fall short of the level here, and so would a fallback to
    them.
    """
    problem = Problem(3, definition, mechanism, times=times, model=model)
    H, S = noisy(problem, 800, 1)
    found = widths_of(problem, H, S)
    aware = coverage_of(problem, found.half_width)
    plain = coverage_of(
        problem, widths_of(problem, H, S, design=design_of(problem, noise_aware=False)).half_width
    )
    assert aware.min() >= 0.93
    assert np.all(aware >= np.minimum(plain, 0.945) - 0.002)
    monkeypatch.setattr(room, "_ALLOWANCE", 0.0)
    without = widths_of(problem, H, S)
    np.testing.assert_array_equal(without.is_noise_aware, found.is_noise_aware)
    lower = coverage_of(problem, without.half_width)
    assert np.all(aware >= lower)
    assert np.all((aware > lower)[~found.is_noise_aware.all(axis=0)])
    if model == 100.0:
        assert lower.min() < (0.89 if definition == "pure" else 0.935)


def compare_with_nested_bootstrap(
    problem: Problem, S: np.ndarray, *, rtol: float, level: float = LEVEL
) -> np.ndarray:
    """A released H with this S: where the flag is set, the factor by brute force and the half-width
    it multiplies; elsewhere the plain half-width with its allowance."""
    H = noisy(problem, 1, 4)[0][0]
    found = widths_of(problem, H, S, design=design_of(problem, confidence_level=level))
    used, plain = (
        found.is_noise_aware,
        design_of(problem, confidence_level=level, noise_aware=False),
    )
    expected_H = shrunken_hessian(H, problem.sds[0])
    np.testing.assert_allclose(found.hessian, expected_H, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.covariance, S)
    ratios = covariance_ratios(
        problem, np.linalg.inv(expected_H), S, problem.sds[1], np.eye(problem.p)
    )
    np.testing.assert_array_equal(used, ratios <= 0.75)
    brute = nested_factor(problem, expected_H, projected(S), np.eye(problem.p), level=level)
    np.testing.assert_allclose(found.factor[used], brute[used], rtol=rtol)
    plugged = problem.half_width(
        *problem.variances(np.linalg.inv(expected_H), S, np.eye(problem.p)), level
    )
    np.testing.assert_allclose(found.half_width[used], (found.factor * plugged)[used], rtol=1e-5)
    np.testing.assert_array_equal(found.factor[~used], 1.0)
    _, allowed = with_allowance(
        problem, widths_of(problem, H, S, design=plain), problem.sds[1], level
    )
    np.testing.assert_allclose(found.half_width[~used], allowed[~used], rtol=1e-5)
    return used


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("p", "definition", "mechanism"), CASES)
def test_the_factor_is_that_of_a_nested_bootstrap(
    p: int, definition: str, mechanism: str, symmetric: bool
) -> None:
    problem = Problem(
        p, definition, mechanism, symmetric, times=3.0 if definition == "pure" else 5.0
    )
    assert compare_with_nested_bootstrap(problem, problem.S, rtol=0.015).all()


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(("p", "definition", "mechanism"), CASES)
def test_the_factor_where_the_noise_on_s_is_large(p: int, definition: str, mechanism: str) -> None:
    """The quadratic forms are about as large as their noise, or below 0: three nodes are good to 5
    %.
    """
    problem = Problem(p, definition, mechanism)
    assert compare_with_nested_bootstrap(problem, noisy(problem, 1, 4)[1][0], rtol=0.05).any()


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("level", [0.8, 0.99])
def test_the_factor_belongs_to_the_level(level: float) -> None:
    problem = Problem(3, "zcdp", "objective", times=5.0)
    assert compare_with_nested_bootstrap(problem, problem.S, rtol=0.015, level=level).all()


@pytest.mark.parametrize("dim", [None, 6, 21, 36])
def test_the_rule_for_the_noise_on_s_has_its_law(dim: int | None) -> None:
    """v'Nv is normal, times sqrt(W / E W) with W ~ Gamma((dim + 1)/2) for spherical Laplace
    noise.
    """
    nodes, weights = room._covariance_rule(dim, room.N_REDRAWS)
    assert weights.sum() == pytest.approx(1.0)
    scale = nodes[:, -1] / np.sqrt(3.0)
    np.testing.assert_allclose(
        nodes, scale[:, None] * np.array([-1.0, 0.0, 1.0]) * np.sqrt(3.0), atol=1e-12
    )
    np.testing.assert_allclose(weights, [1 / 6, 2 / 3, 1 / 6])
    levels = (np.arange(len(scale)) + 0.5) / len(scale)
    shape = np.inf if dim is None else (dim + 1) / 2
    expected = (
        np.ones(len(scale)) if dim is None else np.sqrt(stats.gamma.ppf(levels, shape) / shape)
    )
    np.testing.assert_allclose(np.sort(scale), expected, rtol=1e-9)
    assert np.mean(scale**2) == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.4])
def test_the_factor_solves_its_equation(spread: float) -> None:
    ratio = np.exp(spread * np.random.default_rng(0).standard_normal((2, 48, 3, 4)))
    weights = np.array([1 / 6, 2 / 3, 1 / 6])
    m = room._solve_factor(ratio, weights, 0.9)
    reached = (
        np.einsum("kbgj,g->kj", ndtr(stats.norm.ppf(0.95) * m[:, None, None] * ratio), weights) / 48
    )
    np.testing.assert_allclose(reached, 0.95, atol=1e-6)


def test_the_factor_has_a_bound() -> None:
    ratio = np.full((1, 48, 3, 2), 0.01)
    np.testing.assert_array_equal(
        room._solve_factor(ratio, np.array([1 / 6, 2 / 3, 1 / 6]), 0.95), [[3.0, 3.0]]
    )


def dominated(problem: Problem, ratio: float) -> tuple[Problem, np.ndarray, np.ndarray]:
    """A release where the noise on H is `ratio` times the smallest eigenvalue, the floor 2c, and S
    far above its own noise."""
    per_amount = dataclasses.replace(problem, amount=1.0).sds[0]
    wanted = ratio * 2.0 * C / np.sqrt(2.0 * problem.p)
    amount = per_amount / wanted if problem.definition == "pure" else (per_amount / wanted) ** 2
    there = dataclasses.replace(problem, amount=amount)
    assert there.sds[0] == pytest.approx(wanted)
    H = rotated(np.linspace(-0.05, 0.1, problem.p), seed=2)
    S = noisy(problem, 1, 5)[1][0] + 10.0 * problem.sds[1] * np.eye(problem.p)
    return there, H, S


def switched(problem: Problem, ratio: float) -> tuple[HalfWidths, HalfWidths]:
    """Noise-aware and plain half-widths there."""
    there, H, S = dominated(problem, ratio)
    return widths_of(there, H, S), widths_of(
        there, H, S, design=design_of(there, noise_aware=False)
    )


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("p", "definition", "mechanism"), CASES)
def test_plain_half_widths_where_the_noise_dominates(
    p: int, definition: str, mechanism: str, symmetric: bool
) -> None:
    problem = Problem(p, definition, mechanism, symmetric)
    above, plain = switched(problem, 12.1)
    assert above.is_noise_aware.shape == (p,)
    assert not above.is_noise_aware.any()
    for field in dataclasses.fields(above):
        np.testing.assert_array_equal(
            getattr(above, field.name), getattr(plain, field.name), err_msg=field.name
        )
    below, plain = switched(problem, 11.9)
    assert below.is_noise_aware.all()
    assert np.all(below.factor != 1.0)
    assert np.all(below.half_width != plain.half_width)


@pytest.mark.parametrize("floor", ["2c", "zero"])
def test_plain_half_widths_there_keep_the_floor_of_the_design(floor: str) -> None:
    problem, H, _ = dominated(Problem(3, "pure", "objective"), 30.0)
    S = rotated([0.1 * C, 0.5 * C, 8.0 * C], seed=4)
    found, plain = (
        widths_of(
            problem,
            H,
            S,
            design=design_of(problem, covariance_floor=floor, noise_aware=aware),
            covariance_sd=0.0,
        )
        for aware in (True, False)
    )
    np.testing.assert_array_equal(found.half_width, plain.half_width)
    smallest = 2.0 * C if floor == "2c" else 0.1 * C
    assert np.linalg.eigvalsh(found.covariance)[0] == pytest.approx(smallest)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("target", ["penalised", "unpenalised"])
@pytest.mark.parametrize(("p", "definition", "mechanism"), CASES)
def test_plain_half_widths_where_the_noise_on_s_dominates(
    p: int, definition: str, mechanism: str, target: str
) -> None:
    """Both sides of the cut of each coefficient, and the others on their own side; S has negative
    eigenvalues.
    """
    problem = Problem(p, definition, mechanism)
    H, S = (
        noisy(problem, 1, 4)[0][0],
        problem.S - np.linalg.eigvalsh(problem.S)[:2].mean() * np.eye(p),
    )
    assert np.linalg.eigvalsh(S)[0] < 0.0
    L = np.vstack([np.eye(p), np.linspace(-2.0, 1.0, p)])
    base = design_of(problem, target=target)
    plain = widths_of(
        problem, H, S, design=design_of(problem, target=target, noise_aware=False), contrasts=L
    )
    aware = widths_of(problem, H, S, design=base, contrasts=L, covariance_sd=1e-12)
    assert aware.is_noise_aware.all()
    rows = aware.contrasts @ np.linalg.inv(shrunken_hessian(H, problem.sds[0]))
    cuts = 0.75 / covariance_ratios(problem, rows, S, 1.0, aware.contrasts)
    assert len(set(np.round(cuts, 12))) == p + 1

    def falls_short(half_width: np.ndarray) -> np.ndarray:
        """The marks, which know the half-width with its allowance."""
        if target == "penalised":
            return np.zeros(p + 1, dtype=bool)
        given = {
            "loss": Logistic(),
            "regularization": C,
            "hessian_sd": problem.sds[0],
            "contrasts": L,
        }
        return correction(*np.linalg.eigh(plain.hessian), problem.theta, **given).marked(half_width)

    np.testing.assert_array_equal(plain.is_not_estimable, falls_short(plain.half_width))
    for cut, factor in itertools.product(cuts, (1.0 - 1e-6, 1.0 + 1e-6)):
        sd = factor * cut
        mixed = widths_of(problem, H, S, design=base, contrasts=L, covariance_sd=sd)
        used = mixed.is_noise_aware
        np.testing.assert_array_equal(used, sd <= cuts)
        sampling, allowed = with_allowance(problem, plain, sd)
        assert np.all(allowed > plain.half_width)
        np.testing.assert_allclose(mixed.half_width[~used], allowed[~used], rtol=1e-5)
        for name in ("contrasts", "factor"):
            np.testing.assert_array_equal(
                getattr(mixed, name)[~used], getattr(plain, name)[~used], err_msg=name
            )
        np.testing.assert_array_equal(mixed.is_not_estimable[~used], falls_short(allowed)[~used])
        for name in ("contrasts", "is_not_estimable"):
            np.testing.assert_array_equal(
                getattr(mixed, name)[used], getattr(aware, name)[used], err_msg=name
            )
        np.testing.assert_array_equal(mixed.law.sampling[used], aware.law.sampling[used])
        np.testing.assert_allclose(mixed.law.sampling[~used], sampling[~used], rtol=1e-9)
        for name in ("gaussian", "laplace"):
            parts = (getattr(found.law, name) for found in (aware, plain))
            np.testing.assert_array_equal(
                getattr(mixed.law, name), np.where(used, *parts), err_msg=name
            )
        source = aware if used.any() else plain
        np.testing.assert_array_equal(mixed.hessian, source.hessian)
        np.testing.assert_array_equal(mixed.covariance, source.covariance)
        at_one = aware.half_width / aware.factor
        np.testing.assert_allclose(
            mixed.half_width[used], (mixed.factor * at_one)[used], rtol=1e-12
        )
        assert np.all(mixed.factor[used] != 1.0)
        assert np.all(mixed.half_width[used] != plain.half_width[used])


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(("p", "definition", "mechanism"), CASES)
def test_the_allowance_is_for_the_noise_on_s_alone(p: int, definition: str, mechanism: str) -> None:
    """Where the noise on H dominates every coefficient, those that the noise on S dominates too
    have the allowance.
    """
    problem, H, S = dominated(Problem(p, definition, mechanism), 12.1)
    plain = widths_of(problem, H, S, design=design_of(problem, noise_aware=False))
    ratios = covariance_ratios(
        problem, np.linalg.inv(shrunken_hessian(H, problem.sds[0])), S, 1.0, np.eye(p)
    )
    cuts = np.sort(0.75 / ratios)
    for sd in (cuts[:-1] + cuts[1:]) / 2.0:
        found = widths_of(problem, H, S, covariance_sd=sd)
        assert not found.is_noise_aware.any()
        has = sd * ratios > 0.75
        assert 0 < has.sum() < p
        np.testing.assert_array_equal(found.half_width[~has], plain.half_width[~has])
        np.testing.assert_allclose(
            found.half_width[has], with_allowance(problem, plain, sd)[1][has], rtol=1e-5
        )


def faded(
    problem: Problem, H: np.ndarray, S: np.ndarray, monkeypatch: pytest.MonkeyPatch, **given: object
) -> list:
    """Half-widths as they are, and those with all weight on the noise-aware and on the plain
    ones.
    """
    found = [widths_of(problem, H, S, **given)]
    for start in (1e9, 1e-9):
        with monkeypatch.context() as patch:
            patch.setattr(room, "NOISE_DOMINATES", (start, 2.0 * start))
            patch.setattr(room, "COVARIANCE_DOMINATES", (1e9, 1e10) if start > 1.0 else (0.5, 1.0))
            found.append(widths_of(problem, H, S, **given))
    return found


@pytest.mark.parametrize("target", ["penalised", "unpenalised"])
@pytest.mark.parametrize(
    ("ratio", "weight"),
    [(5.9, 1.0), (8.485281374, 0.75), (11.99, 0.500601), (18.0, 0.2075), (24.1, 0.0)],
)
@pytest.mark.parametrize(("p", "definition", "mechanism"), CASES)
def test_half_widths_fade(
    p: int,
    definition: str,
    mechanism: str,
    ratio: float,
    weight: float,
    target: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """12 lies halfway between 6 and 24 in logarithms; laws and contrasts are mixed as they are."""
    problem, H, S = dominated(Problem(p, definition, mechanism), ratio)
    mixed, aware, plain = faded(
        problem, H, S, monkeypatch, design=design_of(problem, target=target)
    )
    np.testing.assert_allclose(
        mixed.half_width, aware.half_width**weight * plain.half_width ** (1.0 - weight), rtol=1e-4
    )
    np.testing.assert_allclose(mixed.factor, aware.factor**weight, rtol=1e-4)
    for a, b, c in zip(mixed.law, aware.law, plain.law, strict=True):
        np.testing.assert_allclose(a, weight * b + (1.0 - weight) * c, rtol=1e-4)
    np.testing.assert_allclose(
        mixed.contrasts, weight * aware.contrasts + (1.0 - weight) * plain.contrasts, rtol=1e-4
    )
    source = aware if weight >= 0.5 else plain
    np.testing.assert_array_equal(mixed.hessian, source.hessian)
    np.testing.assert_array_equal(mixed.covariance, source.covariance)
    assert np.all(mixed.is_noise_aware == (weight > 0.0))
    flat = [
        found.is_not_estimable
        for found, used in ((aware, weight > 0.0), (plain, weight < 1.0))
        if used
    ]
    np.testing.assert_array_equal(mixed.is_not_estimable, np.any(flat, axis=0))


@pytest.mark.parametrize(("p", "definition", "mechanism"), CASES)
def test_half_widths_fade_with_the_noise_on_s_too(
    p: int, definition: str, mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each coefficient by its own ratio, times the weight of the Hessian; from 0.5 on there is an
    allowance.
    """
    problem, H, S = dominated(Problem(p, definition, mechanism), 12.0)
    ratios = covariance_ratios(
        problem, np.linalg.inv(shrunken_hessian(H, problem.sds[0])), S, 1.0, np.eye(p)
    )
    for j, (ratio, weight) in itertools.product(
        range(p), ((0.49, 0.5), (0.70710678, 0.25), (0.99, 0.00725), (1.01, 0.0))
    ):
        sd = ratio / ratios[j]
        mixed, aware, plain = faded(problem, H, S, monkeypatch, covariance_sd=sd)
        expected = aware.half_width[j] ** weight * plain.half_width[j] ** (1.0 - weight)
        assert mixed.half_width[j] == pytest.approx(expected, rel=1e-4)
        floors = widths_of(problem, H, S, design=design_of(problem, noise_aware=False))
        base = with_allowance(problem, floors, sd)[1][j] if ratio > 0.5 else floors.half_width[j]
        assert plain.half_width[j] == pytest.approx(base, rel=1e-5)


def test_the_ratio_is_noise_over_smallest_eigenvalue() -> None:
    assert (NOISE_DOMINATES, COVARIANCE_DOMINATES) == ((6.0, 24.0), (0.5, 1.0))
    np.testing.assert_allclose(noise_ratio(0.3, 8, np.array([0.1, 0.4])), [12.0, 3.0])


def test_a_negative_quadratic_form_counts_as_zero() -> None:
    for definition, mechanism in itertools.product(("pure", "zcdp"), ("objective", "output")):
        problem = Problem(3, definition, mechanism)
        H = shrunken_hessian(problem.H, problem.sds[0])
        negative = covariance_ratios(problem, np.linalg.inv(H), -0.05 * np.eye(3), 1.0, np.eye(3))
        sd = (0.5 - 1e-9) / negative.max()
        found = widths_of(problem, problem.H, -0.05 * np.eye(3), covariance_sd=sd)
        assert found.is_noise_aware.all()
        np.testing.assert_array_equal(found.law.sampling, np.zeros(3))
        assert np.all(np.isfinite(found.half_width))
        assert np.all(found.half_width > 0.0)
        S = np.diag([0.05, -0.05, 0.05])
        rows = np.linalg.inv(found.hessian)
        expected = problem.half_width(*problem.variances(rows, S, np.eye(3)))
        mixed = widths_of(problem, problem.H, S, covariance_sd=sd)
        assert mixed.is_noise_aware.all()
        np.testing.assert_allclose(mixed.half_width, mixed.factor * expected, rtol=1e-5)


# --- stacks, contrasts, factors -------------------------------------------------------------------


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("target", ["penalised", "unpenalised"])
@pytest.mark.parametrize(("p", "definition", "mechanism"), CASES)
def test_a_stack_is_its_members(p: int, definition: str, mechanism: str, target: str) -> None:
    """Also where some are dominated by noise, and with a noise on S and a theta of their own."""
    problem = Problem(p, definition, mechanism)
    H, S = noisy(problem, 6, 9)
    factor = 0.98 * 12.0 * 2.0 * C / problem.sds[0] / np.sqrt(2.0 * p)
    assert factor > 1.0
    weak = dataclasses.replace(
        problem, amount=problem.amounts[0] / factor ** (1 if definition == "pure" else 2) / 1.1
    )
    H[[1, 4]] = rotated(np.linspace(-0.05, 0.1, p), seed=2)
    H[[0, 2, 3, 5]] += 10.0 * 2.0 * C * np.eye(p)
    rng = np.random.default_rng(0)
    theta, sd = rng.normal(size=(6, p)), rng.uniform(0.5, 2.0, 6) * problem.sds[1]
    design = design_of(weak, target=target)
    lead = {"theta_priv": theta.reshape(2, 3, p), "covariance_sd": sd.reshape(2, 3)}
    stack = widths_of(weak, H.reshape(2, 3, p, p), S.reshape(2, 3, p, p), design=design, **lead)
    assert stack.is_noise_aware.shape == (2, 3, p)
    assert stack.is_noise_aware.any(axis=2).tolist() == [[True, False, True], [True, False, True]]
    for i in range(6):
        one = widths_of(weak, H[i], S[i], design=design, theta_priv=theta[i], covariance_sd=sd[i])
        for field in dataclasses.fields(one):
            if field.name == "law":
                for a, b in zip(stack.law, one.law, strict=True):
                    np.testing.assert_allclose(a.reshape(6, p)[i], b, rtol=1e-10)
                continue
            value = getattr(stack, field.name)
            np.testing.assert_allclose(
                value.reshape(6, *value.shape[2:])[i],
                getattr(one, field.name),
                rtol=1e-9,
                atol=1e-12,
            )
        np.testing.assert_allclose(
            stack.estimate(lead["theta_priv"]).reshape(6, p)[i], one.estimate(theta[i])
        )


def test_the_noise_on_s_of_each_member_counts() -> None:
    problem = Problem(3, "zcdp", "objective")
    H, S = (x[0] for x in noisy(problem, 1, 4))
    given = widths_of(problem, H, S, covariance_sd=problem.sds[1])
    np.testing.assert_allclose(given.factor, widths_of(problem, H, S).factor, rtol=1e-12)
    more = widths_of(problem, H, S, covariance_sd=2.0 * problem.sds[1])
    assert np.all(np.abs(more.factor / given.factor - 1.0).max() > 0.03)


def carry_by_hand(each, some: list[int]) -> np.ndarray:
    """Factors from those of `some`: a line in log half-width, its own level for each coefficient,
    one slope for all.
    """
    used, bare = each.is_noise_aware, each.half_width / each.factor
    level, top, bottom = [], 0.0, 0.0
    for j in range(bare.shape[1]):
        rows = [i for i in some if used[i, j]]
        x, y = np.log(bare[rows, j]), np.log(each.factor[rows, j])
        level.append((x.mean(), y.mean()) if rows else (0.0, 0.0))
        top += float(((x - level[-1][0]) * (y - level[-1][1])).sum())
        bottom += float(((x - level[-1][0]) ** 2).sum())
    middle, height = np.array(level).T
    return np.where(used, np.exp(height + top / bottom * (np.log(bare) - middle)), 1.0)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(
    ("size", "n_factors", "used"),
    [(10, 4, [0, 3, 6, 9]), (10, 5, [0, 2, 4, 6, 8]), (3, 8, [0, 1, 2])],
)
def test_fewer_factors_are_carried_from_an_even_choice(
    size: int, n_factors: int, used: list[int]
) -> None:
    problem = Problem(3, "pure", "objective")
    H, S = noisy(problem, size, 2)
    each = widths_of(problem, H, S)
    some = widths_of(problem, H, S, n_factors=n_factors)
    expected = carry_by_hand(each, used)
    np.testing.assert_allclose(some.factor, expected, rtol=1e-9)
    np.testing.assert_allclose(some.half_width, each.half_width / each.factor * expected, rtol=1e-9)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("n_factors", [3, 12])
def test_a_factor_counts_where_it_is_used(n_factors: int) -> None:
    """Releases that no coefficient uses are not chosen; of the chosen, each coefficient counts
    those that use it.
    """
    problem = Problem(6, "pure", "output", times=0.1)
    H, S = noisy(problem, 12, 2)
    each = widths_of(problem, H, S)
    used = each.is_noise_aware
    assert not used.any(axis=1).all()
    assert np.any(used.any(axis=1) & ~used.all(axis=1))
    chosen = [i for i in range(12) if used[i].any()]
    some = chosen[:: int(np.ceil(len(chosen) / n_factors))] if n_factors < len(chosen) else chosen
    found = widths_of(problem, H, S, n_factors=n_factors)
    np.testing.assert_array_equal(found.is_noise_aware, used)
    counted = used[some].any(axis=0)
    expected = np.clip(carry_by_hand(each, some), 0.5, 3.0)
    np.testing.assert_allclose(found.factor[:, counted], expected[:, counted], rtol=1e-9)
    assert np.all(found.factor[:, ~counted] == 1.0)


def test_carried_factors_are_close_to_the_true_ones() -> None:
    problem = Problem(6, "pure", "objective")
    H, S = noisy(problem, 64, 2)
    each, some = widths_of(problem, H, S), widths_of(problem, H, S, n_factors=8)
    assert some.half_width.mean() == pytest.approx(each.half_width.mean(), rel=0.01)
    truth = coverage_of(problem, each.half_width)
    np.testing.assert_allclose(coverage_of(problem, some.half_width), truth, atol=0.006)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("noise_aware", [True, False])
@pytest.mark.parametrize(("p", "definition", "mechanism"), CASES)
def test_contrasts(p: int, definition: str, mechanism: str, noise_aware: bool) -> None:
    problem = Problem(p, definition, mechanism)
    H, S = noisy(problem, 3, 7)
    design = design_of(problem, noise_aware=noise_aware)
    base = np.vstack([np.eye(p)[0], np.linspace(-1.0, 1.0, p)])
    scale = np.array([-7.0, 0.01])
    plain, identity = (
        widths_of(problem, H, S, design=design),
        widths_of(problem, H, S, design=design, contrasts=base),
    )
    scaled = widths_of(problem, H, S, design=design, contrasts=scale[:, None] * base)
    np.testing.assert_allclose(identity.half_width[:, 0], plain.half_width[:, 0], rtol=1e-9)
    np.testing.assert_allclose(scaled.half_width, np.abs(scale) * identity.half_width, rtol=1e-9)
    np.testing.assert_allclose(scaled.factor, identity.factor, rtol=1e-9)
    np.testing.assert_array_equal(identity.contrasts, np.broadcast_to(base, (3, 2, p)))
    np.testing.assert_allclose(
        identity.estimate(problem.theta), np.tile(base @ problem.theta, (3, 1))
    )
    np.testing.assert_array_equal(scaled.is_noise_aware, identity.is_noise_aware)
    np.testing.assert_array_equal(identity.is_noise_aware[:, 0], plain.is_noise_aware[:, 0])
    assert identity.is_noise_aware.any() == noise_aware
    without = design_of(problem, noise_aware=False)
    for i in range(3):
        law = problem.variances(
            base @ np.linalg.inv(identity.hessian[i]), identity.covariance[i], base
        )
        expected = identity.factor[i] * problem.half_width(*law)
        if noise_aware:
            floors = widths_of(problem, H[i], S[i], design=without, contrasts=base)
            allowed = with_allowance(problem, floors, problem.sds[1])[1]
            expected = np.where(identity.is_noise_aware[i], expected, allowed)
        np.testing.assert_allclose(identity.half_width[i], expected, rtol=1e-5)
