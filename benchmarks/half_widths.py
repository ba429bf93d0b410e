"""Which noise-aware half-widths to keep: candidates on the law of the matrix noise around real and
simulated moments.

    python -m benchmarks.half_widths [--draws 200]

For every table, loss and combination at the paper's budgets, matrices are drawn from their known
noise law around the true moments, every candidate turns each draw into half-widths, and coverage is
that under the true law of the
estimate: mean and smallest over coefficients, with the mean length against the variability
interval.

    projected    floor 0 under S, floor 2c under H, nothing else
    unprojected  v'Sv of the noisy S, clipped at 0
    shrunken     eigenvalues of H moved back first (rotationally invariant estimator), v'Sv
                 unprojected
    predictive   own idea: the half-width of the average law over noise redrawn around the release
    calibrated   unprojected, scaled by a parametric bootstrap around the floored release
    kept         `dpci_core.intervals.half_widths`: shrunken, scaled by a parametric bootstrap,
                 plain where noise dominates, fading from one to the other
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from dpci_core import ZCDP, Design, HuberSVM, Logistic, Moments, PureDP, datasets, fit_moments
from dpci_core.base.array import Array
from dpci_core.base.linalg import floor_eigenvalues
from dpci_core.intervals.forecast import typical_norm
from dpci_core.intervals.half_widths import private_half_widths
from dpci_core.intervals.inflation import ErrorVariance, error_variance
from dpci_core.intervals.spectra import Spectrum
from dpci_core.mechanisms.matrices import MatrixNoise, covariance_noise, fixed_draws, hessian_noise
from dpci_core.mechanisms.mechanism import model_noise
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.noise import coverage_probability

BUDGETS = (
    PureDP(model="0.5", hessian="0.25", covariance="0.25"),
    ZCDP(model="0.125", hessian="0.03125", covariance="0.03125"),
)
TABLES = (
    ("census", 10, 30_000),
    ("adult", 10, 30_162),
    ("adult", 36, 30_162),
    ("bank", 33, 45_211),
    ("kdd99", 10, 50_000),
    ("adult", 10, 4_000),
)
REGULARIZATION = 0.001
INNER = 48
LEVEL = 0.95


@dataclass(frozen=True)
class World:
    """The truth that noise is drawn around."""

    moments: Moments
    design: Design
    n: int
    noise: NoiseLaw
    on_h: MatrixNoise
    on_s: MatrixNoise

    @classmethod
    def of(cls, moments: Moments, design: Design, n: int) -> World:
        noise = model_noise(design, n)
        norm = typical_norm(moments, noise, design, n)
        return cls(
            moments, design, n, noise, hessian_noise(design, n), covariance_noise(design, n, norm)
        )

    def draws(self, size: int, seed: int) -> tuple[Array, Array]:
        """Noise on H and on S, (size, p, p)."""
        p = len(self.moments.hessian)
        parts = []
        for law, at in ((self.on_h, seed), (self.on_s, seed + 1)):
            unit = fixed_draws(p, n_draws=size, law=law.law, symmetric=law.symmetric, seed=at)
            parts.append(law.diagonal_sd(p) * unit)
        return parts[0], parts[1]

    def law(self, H: Array, S: Array) -> ErrorVariance:
        return error_variance(
            H, S, mechanism=self.design.mechanism, noise=self.noise, n_records=self.n
        )

    def half_width(self, H: Array, S: Array) -> Array:
        return self.law(H, S).half_width(dim=H.shape[-1], confidence_level=LEVEL)

    def floored(self, H: Array) -> Array:
        return floor_eigenvalues(H, self.on_h.floor).matrix

    def shrunken(self, H: Array) -> Array:
        return Spectrum.of(H).shrunken(self.on_h).matrix


def solve(ratio: Array) -> Array:
    """m with mean over the first axis of P(|Z| <= z m ratio) = level."""
    z = float(ndtri(0.5 + LEVEL / 2.0))
    m = np.ones(ratio.shape[1:])
    for _ in range(8):
        u = z * m * ratio
        gap = (2.0 * ndtr(u) - 1.0).mean(axis=0) - LEVEL
        slope = (2.0 * np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi) * z * ratio).mean(axis=0)
        m = np.clip(m - gap / np.maximum(slope, 1e-3), m / 2.0, 3.0)
    return np.asarray(m)


def projected(world: World, H: Array, S: Array) -> Array:
    return world.half_width(world.floored(H), floor_eigenvalues(S, 0.0).matrix)


def unprojected(world: World, H: Array, S: Array) -> Array:
    return world.half_width(world.floored(H), S)


def shrunken(world: World, H: Array, S: Array) -> Array:
    return world.half_width(world.shrunken(H), S)


def predictive(world: World, H: Array, S: Array) -> Array:
    on_h, on_s = world.draws(INNER, seed=77)
    found = []
    for one_h, one_s in zip(world.shrunken(H), floor_eigenvalues(S, 0.0).matrix, strict=True):
        q = world.half_width(
            world.floored(one_h + on_h), floor_eigenvalues(one_s + on_s, 0.0).matrix
        )
        middle = np.median(q, axis=0)
        found.append(solve(middle / q) * middle)
    return np.array(found)


def calibrated(world: World, H: Array, S: Array) -> Array:
    on_h, on_s = world.draws(INNER, seed=77)
    found = []
    for one_h, one_s in zip(world.floored(H), floor_eigenvalues(S, 0.0).matrix, strict=True):
        redrawn = world.half_width(world.floored(one_h + on_h), one_s + on_s)
        found.append(solve(redrawn / world.half_width(one_h, one_s)))
    return np.array(found) * unprojected(world, H, S)


def kept(world: World, H: Array, S: Array) -> Array:
    return private_half_widths(
        H,
        S,
        design=world.design,
        noise=world.noise,
        n_records=world.n,
        covariance_noise=world.on_s,
        theta_priv=world.moments.theta_hat,
    ).half_width


CANDIDATES: dict[str, Callable[[World, Array, Array], Array]] = {
    f.__name__: f for f in (projected, unprojected, shrunken, predictive, calibrated, kept)
}


def row(world: World, n_draws: int) -> str:
    """One line: every candidate's length ratio, mean and smallest coverage."""
    noise_h, noise_s = world.draws(n_draws, seed=5)
    H, S = world.moments.hessian + noise_h, world.moments.covariance + noise_s
    truth = world.law(world.moments.hessian, world.moments.covariance)
    vi = truth.half_width(dim=H.shape[-1], confidence_level=LEVEL).mean()
    cells = []
    for make in CANDIDATES.values():
        q = make(world, H, S)
        coverage = coverage_probability(q, truth.normal, truth.laplace, dim=H.shape[-1]).mean(
            axis=0
        )
        cells.append(f"{q.mean() / vi:6.3f} {coverage.mean():.3f} {coverage.min():.3f}")
    return "  ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    n_draws = parser.parse_args().draws
    available = {info.key for info in datasets.list_datasets() if info.available}
    print(
        f"{'length / variability interval, mean and smallest coverage':>44}: "
        f"{', '.join(CANDIDATES)}"
    )
    for key, d, n in TABLES:
        if key not in available:
            print(f"{key}: not on this machine")
            continue
        rows = n if key == "census" else None
        records = datasets.load(
            key, encoding="paper", features=d, n_rows=50_000 if key == "kdd99" else rows
        )
        for loss in (Logistic(), HuberSVM(h=1.0)):
            moments = fit_moments(records.X, records.y, loss=loss, regularization=REGULARIZATION)
            for budget in BUDGETS:
                for mechanism in ("objective", "output"):
                    design = Design(
                        loss=loss,
                        mechanism="objective" if mechanism == "objective" else "output",
                        budget=budget,
                        regularization=REGULARIZATION,
                        calibration="sharp",
                    )
                    name = f"{key} d={d} n={n} {loss.name[:8]} {design.definition} {mechanism}"
                    print(f"{name:44} {row(World.of(moments, design, n), n_draws)}", flush=True)


if __name__ == "__main__":
    main()
