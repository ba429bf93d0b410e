"""Noisy gradient descent and noisy Newton under zCDP [ABL] beside this project's intervals: length
and coverage of the penalised logistic coefficient, same table, same total, same replicates.

    python -m benchmarks.rivals [--write]

prints the table of `data/rivals.csv`; with --write it first measures what is missing there. A
Newton is searched and measured in a minute, a gradient descent in three.

[ABL] is Avella-Medina, Bradshaw, Loh, Differentially private inference via noisy optimization, read
in the R code beside the paper (NGD_logistic, Newton_logistic). Its weights min(1, (m/|x|)^2) are 1
for records of norm at most m = 1, the norm that every encoding here keeps to, so no record is
weighted. As coded, a method follows that code, for the penalised coefficient, with every release
priced for replace-one neighbours; tuned, it is the same method with all that this project knows.
docs/evidence.md says what the methods are; `gradient_change` has the proof of their sensitivity.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.special import expit, ndtri

from benchmarks import study
from benchmarks.compare import CONFIDENCE_LEVEL, REGULARIZATION, SETS
from benchmarks.study import append_rows, read_rows
from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import check_choice, check_count
from dpci_core.base.linalg import lift, symmetrise
from dpci_core.base.places import DATA
from dpci_core.base.rows import signed
from dpci_core.design import Calibration, Design
from dpci_core.intervals.half_widths import private_half_widths
from dpci_core.intervals.spectra import Spectrum, shrink_eigenvalues
from dpci_core.losses import Logistic
from dpci_core.mechanisms.matrices import covariance_noise, hessian_noise, unit_noise
from dpci_core.planner import best_geometry, best_split, shares_of
from dpci_core.privacy.budget import ZCDP
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.sensitivity import gaussian_sd, hessian_sensitivity
from dpci_core.schema import Records
from dpci_core.simulation.run import replicate_bits, run_experiment
from dpci_core.solvers.kernels import Counts
from dpci_core.solvers.moments import fit_moments
from dpci_core.solvers.replicates import (
    Table,
    draw_counts,
    replicate_gradients,
    replicate_moments,
)

LOSS = Logistic()
LARGEST_GRADIENT_CHANGE = 2.0
"""What one record can change in a sum of logistic gradients at most, whatever the coefficients."""
CODED_STEP = 3.999
"""The step of gradient descent in [ABL]'s code at m = 1, 4/m^2 - 0.001."""
_BISECTIONS = 60
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Coded:
    """A method as [ABL] code it: `iterations` is all there is to choose."""

    kind: Literal["gradient", "newton"]
    iterations: int

    def __str__(self) -> str:
        return f"T={self.iterations}"


@dataclass(frozen=True, slots=True)
class TunedGradient:
    """Gradient descent with the sensitivity of the released point, our matrices and half-widths.

    averaged: how many of the last iterates the estimate is the mean of.
    hessian, covariance: shares of the total; the steps have the rest in equal parts.
    """

    iterations: int
    step: float
    averaged: int
    hessian: str
    covariance: str

    def __str__(self) -> str:
        return (
            f"T={self.iterations} step={self.step:g} averaged={self.averaged} "
            f"H={self.hessian} S={self.covariance}"
        )


@dataclass(frozen=True, slots=True)
class TunedNewton:
    """Newton with the sensitivity of the released point, our matrices and half-widths.

    early: share of the total for all steps before the last, in equal parts.
    early_hessian: part of a step's budget there that its Hessian has.
    hessian, covariance: shares of the total; the last step uses the Hessian of the intervals, and
    its gradient has the rest.
    """

    iterations: int
    early: str
    early_hessian: float
    hessian: str
    covariance: str

    def __str__(self) -> str:
        return (
            f"T={self.iterations} early={self.early} early_H={self.early_hessian:g} "
            f"H={self.hessian} S={self.covariance}"
        )


Settings = Coded | TunedGradient | TunedNewton


def gradient_change(radius: Array | float) -> Array:
    """Return the largest change of a sum of logistic gradients at theta when one record is
    replaced, 2 max_s sigmoid(s |theta|) sqrt(1 - s^2): 1 at theta = 0, towards 2 far out.

    Args:
        radius: |theta|, released (>= 0), any shape.

    Privacy: exact for records of norm at most 1 in two dimensions and more; the matrices and the
             composition of all releases are those of `dpci_core.privacy`.
    Source:  own, proved here. Let |theta| = R > 0, e = -theta/R, G(s) = sigmoid(R s) and
             a(u) = -f'(u.theta) u = G(e.u) u. (For R = 0 both slopes are -1/2, and |u - v|/2 <= 1.)

             Norm 1 is enough. For a direction d and a height s = e.u, a(u).d = G(s) (s e.d + w.d),
             w the rest of u, |w|^2 <= 1 - s^2: largest with |w|^2 = 1 - s^2. So all a(u) and those
             with |u| = 1 have one convex hull.

             A ball around all of them. Let s* maximise G(s) sqrt(1 - s^2); G* = G(s*), q = s*^2,
             x* = s* G*. As G' = R G (1 - G), s* solves R (1 - G(s)) = s / (1 - s^2), whose left
             side falls and whose right side rises from 0; at s = 1/sqrt(2) the right side is
             sqrt(2), the left one sqrt(2) t sigmoid(-t), t = R/sqrt(2), and t sigmoid(-t) < .28, so
             q < 1/2. For |u| = 1 of height s, |a(u) - x* e|^2 = F(s) + x*^2 with
             F(s) = G(s)^2 - 2 x* s G(s) and F(s*) = G*^2 (1 - 2q). F(s) <= F(s*) remains to show:
             then all lie in a ball of radius G* sqrt(1 - q), and two are at most twice that apart.

             s >= 0: G is concave here, so G(s) <= G* (1 + t) with s* s = q + t (1 - q). F is convex
             in G, so at most the larger of 0 (G = 0) and
             G*^2 (1 + t) (1 + t - 2q - 2t (1 - q)) = G*^2 (1 - 2q) (1 - t^2).

             s = -m < 0: x* = R G* (1 - G*) (1 - q) <= R/4. With t = R m and g = sigmoid(-t),
             F <= psi(t) = g^2 + t g/2, psi(0) = 1/4, psi' = g (1/2 - k),
             k = 2 S (1 - S) + t S/2, S = 1 - g; k(0) = 1/2 and
             k' = S (2 (1 - S) (1 - 2S) + 1/2 + t (1 - S)/2) > 0, as 2 (1 - S) (1 - 2S) >= -1/4. So
             psi falls, and F(s) <= 1/4 = F(0) <= F(s*) by the first case.

             Attained by u, v = s* e +- sqrt(1 - q) w with a unit vector w orthogonal to e.
    """
    R = np.asarray(radius, dtype=np.float64)
    low, high = np.zeros_like(R), np.full_like(R, math.sqrt(0.5))
    for _ in range(_BISECTIONS):
        s = 0.5 * (low + high)
        is_before = R * expit(-R * s) > s / (1.0 - s * s)
        low, high = np.where(is_before, s, low), np.where(is_before, high, s)
    return np.asarray(2.0 * expit(R * low) * np.sqrt(1.0 - low * low) * (1.0 + _ROUNDING))


@dataclass(frozen=True)
class Batch:
    """Replicates of one table, each with the stream of its own noise."""

    table: Table
    counts: Counts
    n_records: int
    streams: tuple[np.random.Generator, ...]

    @property
    def p(self) -> int:
        """Number of coefficients."""
        return len(self.table.theta_hat)

    def vectors(self) -> Array:
        """Standard normal vectors (B, p)."""
        return np.array([rng.standard_normal(self.p) for rng in self.streams])

    def matrices(self) -> Array:
        """Symmetric Gaussian noise (B, p, p) of diagonal standard deviation 1."""
        return np.array(
            [unit_noise(self.p, law="gaussian", rng=rng, symmetric=True) for rng in self.streams]
        )

    def wide_matrices(self) -> Array:
        """The same as [ABL] draw it: standard deviation 1 above the diagonal too."""
        noise = self.matrices()
        return noise * (math.sqrt(2.0) - (math.sqrt(2.0) - 1.0) * np.eye(self.p))

    def gradient(self, theta: Array, sd: Array | float) -> Array:
        """Noisy gradients (B, p) of the penalised objective."""
        exact = replicate_gradients(self.table, self.counts, theta, n_records=self.n_records)
        return exact + np.reshape(sd, (-1, 1)) * self.vectors()

    def moments(self, theta: Array) -> tuple[Array, Array]:
        """H and S of the penalised objective, (B, p, p)."""
        return replicate_moments(self.table, self.counts, theta, n_records=self.n_records)


def release(batch: Batch, settings: Settings, *, rho: Decimal, level: float) -> tuple[Array, Array]:
    """Return estimates and half-widths (B, p), each replicate's release rho-zCDP together.

    Args:
        batch: replicates with the logistic loss.
        settings: the method.
        rho: total.
        level: confidence level.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(settings, Coded):
            coded = _coded_gradient if settings.kind == "gradient" else _coded_newton
            return coded(batch, settings.iterations, float(rho), level)
        if isinstance(settings, TunedGradient):
            return _tuned_gradient(batch, settings, rho, level)
        return _tuned_newton(batch, settings, rho, level)


# --- as [ABL] code it -----------------------------------------------------------------------------


def coded_deviations(rho_of_one: float, n: int) -> tuple[float, float, float]:
    """Return the standard deviations of the noise on a gradient, on H and on S, each at this rho.

    [ABL] take 2/n, 1/(4n) and 1/n for the sensitivities. Theirs of the matrices are too small by
    sqrt 2 for replace-one neighbours, which theirs of the gradient is for; here they are right.
    """
    return (
        gaussian_sd(sensitivity=LARGEST_GRADIENT_CHANGE, rho=rho_of_one, divided_by=n),
        gaussian_sd(sensitivity=math.sqrt(2.0) / 4.0, rho=rho_of_one, divided_by=n),
        gaussian_sd(sensitivity=math.sqrt(2.0), rho=rho_of_one, divided_by=n),
    )


def _coded_gradient(batch: Batch, iterations: int, rho: float, level: float) -> tuple[Array, Array]:
    sds = coded_deviations(rho / (iterations + 2), batch.n_records)
    theta = np.zeros((len(batch.counts), batch.p))
    for _ in range(iterations):
        theta = theta - CODED_STEP * batch.gradient(theta, sds[0])
    sampling, _ = _coded_sandwich(batch, theta, *sds[1:])
    variance = sampling + (CODED_STEP * sds[0]) ** 2
    return theta, _normal(variance, level)


def _coded_newton(batch: Batch, iterations: int, rho: float, level: float) -> tuple[Array, Array]:
    sds = coded_deviations(rho / (2 * iterations + 2), batch.n_records)
    theta = np.zeros((len(batch.counts), batch.p))
    for _ in range(iterations):
        H = batch.moments(theta)[0] + sds[1] * batch.wide_matrices()
        g = batch.gradient(theta, sds[0])
        theta = theta - np.linalg.solve(H, g[..., None])[..., 0]
    sampling, inverse = _coded_sandwich(batch, theta, *sds[1:])
    privacy = sds[0] ** 2 * np.sum(inverse**2, axis=-1)
    return theta, _normal(sampling + privacy, level)


def _coded_sandwich(batch: Batch, theta: Array, sd_h: float, sd_s: float) -> tuple[Array, Array]:
    """Sampling variances (B, p) and the inverse of the noisy Hessian, which has no floor."""
    H, S = batch.moments(theta)
    values, vectors = np.linalg.eigh(S + sd_s * batch.wide_matrices())
    values = np.where(values < 0.0, min(1.0 / batch.n_records, 1e-4), values)
    inverse = np.asarray(np.linalg.inv(H + sd_h * batch.wide_matrices()), dtype=np.float64)
    sampling = np.sum((inverse @ vectors) ** 2 * values[:, None, :], axis=-1) / batch.n_records
    return np.asarray(sampling), inverse


def _normal(variance: Array, level: float) -> Array:
    return np.asarray(float(ndtri(0.5 + level / 2.0)) * np.sqrt(variance))


# --- tuned ----------------------------------------------------------------------------------------


def design_of(
    settings: TunedGradient | TunedNewton, *, rho: Decimal, c: float, n: int, level: float
) -> Design:
    """Return the design whose Hessian and covariance these intervals have; all else is its model's
    part.
    """
    hessian, covariance = rho * Decimal(settings.hessian), rho * Decimal(settings.covariance)
    return Design(
        loss=LOSS,
        mechanism="objective",
        budget=ZCDP(model=rho - hessian - covariance, hessian=hessian, covariance=covariance),
        regularization=c,
        n_records=n,
        confidence_level=level,
        calibration="sharp",
    )


def _tuned_gradient(
    batch: Batch, settings: TunedGradient, rho: Decimal, level: float
) -> tuple[Array, Array]:
    n, T, eta = batch.n_records, settings.iterations, settings.step
    design = design_of(settings, rho=rho, c=batch.table.regularization, n=n, level=level)
    unit = gaussian_sd(sensitivity=1.0, rho=float(design.budget.model) / T, divided_by=n)
    theta = np.zeros((len(batch.counts), batch.p))
    total, sds = np.zeros_like(theta), np.empty((T, len(theta)))
    for t in range(T):
        sds[t] = unit * gradient_change(np.linalg.norm(theta, axis=1))
        theta = theta - eta * batch.gradient(theta, sds[t])
        if t >= T - settings.averaged:
            total += theta
    estimate = total / settings.averaged
    H = batch.moments(estimate)[0]
    H = H + hessian_noise(design).scale * batch.matrices()
    spectrum = Spectrum.of(H).shrunken(hessian_noise(design))
    weights = _gradient_weights(spectrum.values, T, eta, settings.averaged)
    carried = np.einsum("tb,tbk->bk", sds**2, weights**2)
    privacy = np.einsum("bjk,bk->bj", spectrum.vectors**2, carried)
    return estimate, _half_widths(batch, design, estimate, H, spectrum, privacy)


def _gradient_weights(h: Array, T: int, eta: float, averaged: int) -> Array:
    """How much of the noise of step t is in the estimate, along eigenvectors of the Hessian of
    eigenvalues h (B, p): (T, B, p).

    Noise of step t is in iterate s > t times eta r^(s-1-t), r = 1 - eta h; the estimate is the mean
    of the last `averaged` iterates, and the geometric sum has a closed form.
    """
    t = np.arange(T)[:, None, None]
    r = 1.0 - eta * h
    return np.asarray((r ** np.maximum(T - averaged - t, 0) - r ** (T - t)) / (averaged * h))


def _tuned_newton(
    batch: Batch, settings: TunedNewton, rho: Decimal, level: float
) -> tuple[Array, Array]:
    n, T = batch.n_records, settings.iterations
    design = design_of(settings, rho=rho, c=batch.table.regularization, n=n, level=level)
    early = rho * Decimal(settings.early) if T > 1 else Decimal(0)
    theta = np.zeros((len(batch.counts), batch.p))
    for _ in range(T - 1):
        of_one = float(early) / (T - 1)
        on_h, on_g = settings.early_hessian * of_one, (1.0 - settings.early_hessian) * of_one
        bound = hessian_sensitivity(loss=LOSS, n_records=n, tight=True)
        sd = gaussian_sd(sensitivity=bound, rho=on_h)
        H = batch.moments(theta)[0] + sd * batch.matrices()
        values, vectors = np.linalg.eigh(symmetrise(H))
        values = lift(shrink_eigenvalues(values, sd), 2.0 * batch.table.regularization)
        theta = _step(batch, theta, Spectrum(values, vectors), on_g)[0]
    law = hessian_noise(design)
    H = batch.moments(theta)[0] + law.scale * batch.matrices()
    spectrum = Spectrum.of(H).shrunken(law)
    theta, sds = _step(batch, theta, spectrum, float(design.budget.model - early))
    squared = np.sum(spectrum.rows(np.eye(batch.p)) ** 2, axis=-1)
    return theta, _half_widths(batch, design, theta, H, spectrum, sds[:, None] ** 2 * squared)


def _step(batch: Batch, theta: Array, spectrum: Spectrum, rho: float) -> tuple[Array, Array]:
    """The next iterates (B, p), and the standard deviations (B,) of the noise on their
    gradients.
    """
    unit = gaussian_sd(sensitivity=1.0, rho=rho, divided_by=batch.n_records)
    sds = unit * gradient_change(np.linalg.norm(theta, axis=1))
    rows = spectrum.rows(np.eye(batch.p))
    return theta - np.einsum("bij,bj->bi", rows, batch.gradient(theta, sds)), sds


def _half_widths(
    batch: Batch, design: Design, theta: Array, H: Array, spectrum: Spectrum, privacy: Array
) -> Array:
    """Half-widths (B, p) of this project around estimates whose privacy noise has these variances.

    Their correction for the noise on the matrices takes privacy noise as that of an objective; it
    is told the deviation with the same mean variance, and the length is put right afterwards.
    """
    n, p = batch.n_records, batch.p
    S = batch.moments(theta)[1]
    squared = np.sum(spectrum.rows(np.eye(p)) ** 2, axis=-1)
    sds = n * np.sqrt(privacy.mean(axis=1) / squared.mean(axis=1))
    found = np.empty_like(theta)
    for b, noise in enumerate(batch.matrices()):
        law = covariance_noise(design, float(np.linalg.norm(theta[b])))
        widths = private_half_widths(
            H[b],
            symmetrise(S[b] + law.scale * noise),
            design=design,
            noise=NoiseLaw(sd=float(sds[b])),
            covariance_noise=law,
            theta_priv=theta[b],
        )
        told = widths.law.sampling + widths.law.gaussian
        found[b] = widths.half_width * np.sqrt(1.0 + (privacy[b] - widths.law.gaussian) / told)
    return found


# --- measured -------------------------------------------------------------------------------------

RIVALS_FILE = DATA / "rivals.csv"
"""The run of this project."""
Cell = tuple[str, str]
"""A table of data by its name in `compare.SETS`, and the total rho as a decimal."""
CELLS: tuple[Cell, ...] = (
    ("adult-10", "0.1875"),
    ("adult-10", "0.5"),
    ("adult-10", "0.02436"),
    ("bank-10", "0.1875"),
    ("bank-10", "0.02436"),
    ("census-10", "0.1875"),
    ("census-10", "0.02436"),
)
"""0.1875 is the total of the published split, 0.02436 is (1, 1e-6)."""
OURS = ("published", "sharp", "best_split", "shaped", "steps")
"""The published method and the sharp one at the published split, the sharp one at the best split,
with noise shaped like the records, and by clipped Newton steps instead.
"""
RIVALS = ("newton_coded", "newton_tuned", "gradient_coded", "gradient_tuned")
METHODS = (*OURS, *RIVALS)
"""In the order of a table."""


@dataclass(frozen=True)
class Measured:
    """One method on one table at one total, for the penalised logistic coefficient.

    table, rho: the cell.
    settings: of a rival, or the shares of model, Hessian and covariance.
    coverage, coverage_smallest: mean over coefficients and the smallest; a release that is no
        number is a miss.
    ci_length: mean over releases and coefficients.
    n_failed: releases that were no numbers.
    """

    table: str
    rho: str
    method: str
    settings: str
    coverage: float
    coverage_se: float
    coverage_smallest: float
    ci_length: float
    ci_length_se: float
    n_failed: int
    k: int
    seed: int
    date: str
    versions: str

    @property
    def cell(self) -> Cell:
        """Where it was measured."""
        return self.table, self.rho


def read_measured(path: Path = RIVALS_FILE) -> dict[tuple[Cell, str], Measured]:
    """Results on file by cell and method, the latest of each; no file is none.

    Raises:  ValueError naming the file or the line that is no row.
    """
    return {(row.cell, row.method): row for row in read_rows(Measured, path)}


def append_measured(rows: Iterable[Measured], path: Path = RIVALS_FILE) -> None:
    """Add rows to a file of results."""
    append_rows(rows, path, Measured)


WANTED_MEAN, WANTED_SMALLEST = 0.944, 0.91
"""The mean coverage, and that of the worst coefficient, that settings have to reach in the
search.
"""
Looks = tuple[tuple[int, int], ...]
"""Replicates of each look at the settings, and how many settings are left after it."""
LOOKS: Looks = ((32, 5), (160, 1))
LOOKS_AT_MANY: Looks = ((32, 12), (240, 1))
"""For a method with more candidates than `_FEW`."""
_FEW = 10
_BATCH = 64
_ALLOWED = 0.015
"""How much less coverage a look other than the last forgives, for its few replicates."""


@dataclass(frozen=True)
class Outcome:
    """Releases of one method: whether each interval holds its coefficient, and its length, arrays
    (k, p).
    """

    inside: Flags
    length: Array

    @property
    def coverage(self) -> float:
        """Mean over coefficients; a release that is no number is a miss."""
        return float(self.inside.mean())

    @property
    def smallest(self) -> float:
        """The smallest coverage of a coefficient."""
        return float(self.inside.mean(axis=0).min())

    @property
    def mean_length(self) -> float:
        """Of the releases that are numbers; infinite without any."""
        return float(np.mean(self.length[self.is_number])) if self.is_number.any() else np.inf

    @property
    def is_number(self) -> Flags:
        """Which releases (k,) are numbers throughout."""
        return np.asarray(np.isfinite(self.length).all(axis=1))


def candidates(method: str) -> tuple[Settings, ...]:
    """Return the settings among which a rival is searched."""
    check_choice(method, RIVALS, name="method")
    if method == "newton_coded":
        return tuple(Coded("newton", T) for T in (2, 3, 4, 5, 8))
    if method == "gradient_coded":
        return tuple(Coded("gradient", T) for T in (100, 200, 400))
    if method == "newton_tuned":
        early, shares = (
            ("0.06", "0.12", "0.24", "0.36"),
            (("0.03", "0.06", "0.12"), ("0.05", "0.1")),
        )
        return tuple(TunedNewton(*s) for s in product((3, 4), early, (0.1, 0.3), *shares))
    return tuple(
        TunedGradient(T, step, averaged, "0.04", "0.08")
        for T, step in product((200, 400), (4.0, 7.5))
        for averaged in (1, T // 3)
    )


@dataclass(frozen=True)
class Population:
    """A table to draw replicates of, at one total; the fitted table is what is covered."""

    records: Records
    fitted: Table
    rho: Decimal

    @classmethod
    def of(cls, records: Records, rho: str) -> Population:
        """Fit the records (n, p), dense."""
        rows = signed(records.X, records.y)
        fitted = Table.of(rows, loss=LOSS, regularization=REGULARIZATION)
        return cls(records, fitted, Decimal(rho))

    def designs(self) -> dict[str, Design]:
        """This project's methods, by label."""
        small = (self.rho / 6).quantize(Decimal("1e-12"), rounding=ROUND_DOWN)
        published = Design(
            loss=LOSS,
            mechanism="objective",
            budget=ZCDP(model=self.rho - 2 * small, hessian=small, covariance=small),
            regularization=REGULARIZATION,
            n_records=len(self.records.X),
            confidence_level=CONFIDENCE_LEVEL,
            calibration="published",
        )
        sharp = replace(published, calibration=Calibration.sharp())
        moments = fit_moments(
            self.records.X, self.records.y, loss=LOSS, regularization=REGULARIZATION
        )
        best = best_split(moments, design=sharp).design
        shaped = best_geometry(self.records.X, self.records.y, design=sharp).design
        newton = replace(sharp, mechanism="newton")
        steps = best_geometry(self.records.X, self.records.y, design=newton).design
        return dict(zip(OURS, (published, sharp, best, shaped, steps), strict=True))

    def outcome(self, settings: Settings, *, k: int, seed: int) -> Outcome:
        """Releases of a rival on the replicates of an experiment with this seed."""
        n = self.fitted.columns.shape[1]
        inside, length = [], []
        for first in range(0, k, _BATCH):
            which = range(first, min(first + _BATCH, k))
            counts = np.empty((len(which), n), dtype=np.float32)
            for row, i in zip(counts, which, strict=True):
                draw_counts(row, n, replicate_bits(seed, i))
            noise = tuple(
                np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(i, 1))) for i in which
            )
            theta, half = release(
                Batch(self.fitted, counts, n, noise),
                settings,
                rho=self.rho,
                level=CONFIDENCE_LEVEL,
            )
            inside.append(np.abs(theta - self.fitted.theta_hat) <= half)
            length.append(2.0 * half)
        return Outcome(np.concatenate(inside), np.concatenate(length))


def search(
    population: Population,
    settings: Sequence[Settings],
    *,
    seed: int,
    looks: Looks | None = None,
) -> Settings:
    """Return the settings with the shortest mean length among those that cover as asked for, or,
    where none does, with the largest mean coverage.

    Args:
        population: the table and the total.
        settings: candidates.
        seed: of the replicates of the search.
        looks: `LOOKS` or `LOOKS_AT_MANY` if None; the last leaves one.
    """
    left = list(settings)
    looks = looks or (LOOKS if len(left) <= _FEW else LOOKS_AT_MANY)
    for look, (k, kept) in enumerate(looks):
        allowed = _ALLOWED if look < len(looks) - 1 else 0.0
        scored = []
        for one in left:
            found = population.outcome(one, k=k, seed=seed)
            is_enough = (
                found.coverage >= WANTED_MEAN - allowed
                and found.smallest >= WANTED_SMALLEST - 4.0 * allowed
            )
            score = (False, found.mean_length) if is_enough else (True, -found.coverage)
            scored.append((score, one))
        scored.sort(key=lambda pair: pair[0])
        left = [one for _, one in scored[:kept]]
    return left[0]


def measure(
    cell: Cell,
    population: Population,
    methods: Sequence[str],
    *,
    k: int,
    seed: int,
    looks: Looks | None = None,
) -> list[Measured]:
    """Return one row for each method, all on the same k replicates.

    Args:
        cell: the name of the table and the total, for the rows.
        population: the same.
        methods: labels of `OURS` and `RIVALS`.
        k: replicates.
        seed: of the run; methods measured later are on the same replicates.
        looks: of the search for settings.
    """
    check_count(k=k)
    for method in methods:
        check_choice(method, (*OURS, *RIVALS), name="method")
    seeds = np.random.default_rng(seed)
    run_seed, search_seed = (int(seeds.integers(2**63)) for _ in range(2))
    rows = []
    mine = [method for method in methods if method in OURS]
    if mine:
        designs = population.designs()
        result = run_experiment(
            population.records.X,
            population.records.y,
            designs=[designs[method] for method in mine],
            n_variability=max(k, 2),
            n_coverage=k,
            rng=np.random.default_rng(seed),
        )
        assert result.seed == run_seed
        for method, found in zip(mine, result.designs, strict=True):
            rows.append(
                _row(
                    cell,
                    method,
                    " ".join(f"{share:.4f}" for share in shares_of(found.design.budget)),
                    coverage=(found.coverage_mean, found.coverage_se, float(found.coverage.min())),
                    length=(found.ci_length_mean, found.ci_length_mean_se),
                    n_failed=found.n_failed,
                    k=k,
                    seed=seed,
                )
            )
    for method in methods:
        if method in RIVALS:
            chosen = search(population, candidates(method), seed=search_seed, looks=looks)
            got = population.outcome(chosen, k=k, seed=run_seed)
            of_each, lengths = got.inside.mean(axis=1), got.length[got.is_number].mean(axis=1)
            rows.append(
                _row(
                    cell,
                    method,
                    str(chosen),
                    coverage=(got.coverage, _se(of_each), got.smallest),
                    length=(got.mean_length, _se(lengths)),
                    n_failed=int(k - got.is_number.sum()),
                    k=k,
                    seed=seed,
                )
            )
    return rows


def _se(values: Array) -> float:
    """Monte Carlo standard error of a mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf


def _row(
    cell: Cell,
    method: str,
    settings: str,
    *,
    coverage: tuple[float, float, float],
    length: tuple[float, float],
    n_failed: int,
    k: int,
    seed: int,
) -> Measured:
    return Measured(
        *cell,
        method=method,
        settings=settings,
        coverage=round(coverage[0], 6),
        coverage_se=round(coverage[1], 6),
        coverage_smallest=round(coverage[2], 6),
        ci_length=round(length[0], 6),
        ci_length_se=round(length[1], 6),
        n_failed=n_failed,
        k=k,
        **study.how_made(seed),
    )


RUNS, SEED = 500, 20_261_122
"""Replicates of a cell, and the seed of all."""


def table(methods: Sequence[str] = METHODS) -> list[str]:
    """What is on file, in Markdown: mean length / mean coverage / smallest coverage."""
    rows = read_measured()
    lines = [f"| table, ρ | {' | '.join(methods)} |", "|---|" + "---|" * len(methods)]
    for cell in CELLS:
        found = [rows.get((cell, method)) for method in methods]
        told = (
            f"{row.ci_length:.4f} / {row.coverage:.3f} / {row.coverage_smallest:.3f}" if row else ""
            for row in found
        )
        lines.append(f"| {cell[0]}, {cell[1]} | {' | '.join(told)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description=__doc__)
    parser.add_argument("--write", action="store_true", help="measure what is missing")
    for cell in CELLS if parser.parse_args().write else ():
        missing = [method for method in METHODS if (cell, method) not in read_measured()]
        if missing:
            population = Population.of(SETS[cell[0]].records(), cell[1])
            for method in missing:
                began = time.monotonic()
                append_measured(measure(cell, population, [method], k=RUNS, seed=SEED))
                print(f"{cell} {method}: {time.monotonic() - began:.0f} s", flush=True)
    print("\n".join(table()))


if __name__ == "__main__":
    main()
