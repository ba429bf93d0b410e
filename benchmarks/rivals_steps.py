"""Noisy gradient descent and noisy Newton under zCDP, with intervals [ABL], on bootstrap
replicates.

[ABL] is Avella-Medina, Bradshaw, Loh, Differentially private inference via noisy optimization, read
in the R code beside the paper (NGD_logistic, Newton_logistic). Its weights min(1, (m/|x|)^2) are 1
for records of norm at most m = 1, the norm that every encoding here keeps to, so no record is
weighted. As coded, a method follows that code, for the penalised coefficient, with every release
priced for replace-one neighbours; tuned, it is the same method with all that this project knows.
docs/rivals.md derives the sensitivities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import numpy as np
from scipy.special import expit, ndtri

from dpci_core.base.array import Array
from dpci_core.base.linalg import lift, symmetrise
from dpci_core.design import Design
from dpci_core.intervals.half_widths import private_half_widths
from dpci_core.intervals.spectra import Spectrum, shrink_eigenvalues
from dpci_core.losses import Logistic
from dpci_core.mechanisms.matrices import covariance_noise, hessian_noise, unit_noise
from dpci_core.privacy.budget import ZCDP
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.sensitivity import gaussian_sd, hessian_sensitivity
from dpci_core.solvers.kernels import Counts
from dpci_core.solvers.replicates import Table, replicate_gradients, replicate_moments

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

    Privacy: exact for records of norm at most 1 in two dimensions and more; docs/rivals.md, Theorem
             1.  Source: own.
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
