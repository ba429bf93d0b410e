"""Algorithms 1-5 of the paper, line by line: a general-purpose minimiser, Monte Carlo quantiles.

Wang, Kifer, Lee, "Differentially Private Confidence Intervals for Empirical Risk Minimization"
(WKL). Slow on purpose.
Conventions: L_n(theta) = (1/n) sum f(y_i x_i.theta) + c |theta|^2, rows of norm at most 1, constant
column last. A loss is "logistic", "huber_svm" or "smoothed_hinge" (CMS) with the half-width h; a
definition is "pure" or "zcdp".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm


@dataclass(frozen=True)
class Setting:
    """Everything public about a run: loss, mechanism, three amounts phi_1, phi_2, phi_3, penalty c,
    level 1 - alpha.
    """

    loss: str
    h: float
    mechanism: str
    definition: str
    amounts: tuple[float, float, float]
    c: float
    confidence_level: float = 0.95


def sigmoid(z):
    return 0.5 * (1.0 + np.tanh(z / 2.0))


# --- the losses of section 3 ----------------------------------------------------------------------


def loss_value(z, loss, h):
    if loss == "logistic":
        return np.logaddexp(0.0, -z)
    middle = (1.0 + h - z) ** 2 / (4.0 * h)
    if loss == "smoothed_hinge":  # CMS eq. 38
        u = 1.0 - z
        middle = -(u**4) / (16.0 * h**3) + 3.0 * u**2 / (8.0 * h) + u / 2.0 + 3.0 * h / 16.0
    return np.where(z > 1.0 + h, 0.0, np.where(np.abs(1.0 - z) <= h, middle, 1.0 - z))


def loss_slope(z, loss, h):
    if loss == "logistic":
        return -sigmoid(-z)
    middle = (z - 1.0 - h) / (2.0 * h)
    if loss == "smoothed_hinge":
        middle = (1.0 - z) ** 3 / (4.0 * h**3) - 3.0 * (1.0 - z) / (4.0 * h) - 0.5
    return np.where(z > 1.0 + h, 0.0, np.where(np.abs(1.0 - z) <= h, middle, -1.0))


def loss_curvature(z, loss, h):
    if loss == "logistic":
        return sigmoid(z) * sigmoid(-z)
    middle = 1.0 / (2.0 * h)
    if loss == "smoothed_hinge":
        middle = 3.0 / (4.0 * h) - 3.0 * (1.0 - z) ** 2 / (4.0 * h**3)
    return np.where(np.abs(1.0 - z) <= h, middle, 0.0)


def largest_curvature(loss, h):
    """t of Algorithm 1."""
    return {"logistic": 0.25, "huber_svm": 1.0 / (2.0 * h), "smoothed_hinge": 3.0 / (4.0 * h)}[loss]


# --- equations 5-7 --------------------------------------------------------------------------------


def minimise(X, y, setting, b=None):
    """Argmin of L_n(theta) + b.theta/n by a quasi-Newton method that knows nothing of the loss."""
    n, p = X.shape
    b = np.zeros(p) if b is None else b

    def objective(theta):
        z = y * (X @ theta)
        return (
            np.mean(loss_value(z, setting.loss, setting.h))
            + setting.c * theta @ theta
            + b @ theta / n
        )

    def gradient(theta):
        z = y * (X @ theta)
        weights = y * loss_slope(z, setting.loss, setting.h)
        return X.T @ weights / n + 2.0 * setting.c * theta + b / n

    found = minimize(
        objective, np.zeros(p), jac=gradient, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000}
    )
    size = np.linalg.norm(gradient(found.x))
    assert size < 1e-5, f"The oracle's minimiser stopped at a gradient norm of {size:.1e}."
    return found.x


def hessian_matrix(X, y, theta, setting):
    """Equation 5."""
    n, p = X.shape
    weights = loss_curvature(y * (X @ theta), setting.loss, setting.h)
    return np.einsum("i,ij,ik->jk", weights, X, X) / n + 2.0 * setting.c * np.eye(p)


def gradient_covariance(X, y, theta, setting):
    """Equation 6."""
    n = len(X)
    weights = loss_slope(y * (X @ theta), setting.loss, setting.h) ** 2
    return np.einsum("i,ij,ik->jk", weights, X, X) / n - 4.0 * setting.c**2 * np.outer(theta, theta)


# --- noise ----------------------------------------------------------------------------------------


def spherical_laplace(k, rate, rng, m):
    """m draws from the density proportional to exp(-rate |b|) in R^k: a uniform direction times a
    Gamma(k) norm.
    """
    direction = rng.normal(size=(m, k))
    direction = direction / np.sqrt((direction**2).sum(axis=1, keepdims=True))
    return rng.gamma(k, 1.0 / rate, size=(m, 1)) * direction


# --- Algorithms 1 and 4: coefficients -------------------------------------------------------------


def algorithm_1_rate(n, setting):
    """Lines 1-4: the rate of b."""
    epsilon = (
        setting.amounts[0] if setting.definition == "pure" else np.sqrt(2.0 * setting.amounts[0])
    )
    epsilon_prime = epsilon - np.log(
        1.0 + largest_curvature(setting.loss, setting.h) / (2.0 * n * setting.c)
    )
    assert epsilon_prime > 0.0
    return epsilon_prime / 2.0


def algorithm_1(X, y, setting, rng):
    """Objective perturbation."""
    n, p = X.shape
    b = spherical_laplace(p, algorithm_1_rate(n, setting), rng, 1)[0]
    return minimise(X, y, setting, b)


def algorithm_4_noise(n, p, setting, rng, m):
    """Lines 2-7: m draws of the vector added to the minimiser."""
    if setting.definition == "pure":
        return spherical_laplace(p, n * setting.c * setting.amounts[0], rng, m)
    return rng.normal(scale=1.0 / (n * setting.c * np.sqrt(2.0 * setting.amounts[0])), size=(m, p))


def algorithm_4(X, y, setting, rng):
    """Output perturbation."""
    n, p = X.shape
    return minimise(X, y, setting) + algorithm_4_noise(n, p, setting, rng, 1)[0]


# --- Algorithm 2: matrices ------------------------------------------------------------------------


def algorithm_2(M, sensitivity, amount, setting, rng):
    """Noise on all p^2 entries, the symmetric part, eigenvalues at least 2c."""
    p = len(M)
    if setting.definition == "pure":
        noise = spherical_laplace(p * p, amount / sensitivity, rng, 1)[0]
    else:
        noise = rng.normal(scale=sensitivity / np.sqrt(2.0 * amount), size=p * p)
    noisy = M + noise.reshape(p, p)
    values, vectors = np.linalg.eigh((noisy + noisy.T) / 2.0)
    return vectors @ np.diag(np.maximum(values, 2.0 * setting.c)) @ vectors.T


def sensitivity_of_hessian(n, setting):
    """Lemmas 3 and 5; the smoothed hinge by the same argument."""
    by_loss = {"logistic": 0.5, "huber_svm": 1.0 / setting.h, "smoothed_hinge": 1.5 / setting.h}
    return by_loss[setting.loss] / n


def sensitivity_of_covariance(n, theta, setting):
    """Lemmas 2 and 4."""
    return 2.0 * sigmoid(np.linalg.norm(theta)) ** 2 / n if setting.loss == "logistic" else 2.0 / n


# --- Algorithms 3 and 5: intervals ----------------------------------------------------------------


def error_draws(H, S, n, setting, rng, m):
    """m draws of theta_0 - theta_priv as the intervals see it, shape (m, p)."""
    p = len(H)
    G = rng.normal(size=(m, p)) @ np.linalg.cholesky(S).T
    if setting.mechanism == "objective":
        b = spherical_laplace(p, algorithm_1_rate(n, setting), rng, m)
        return np.linalg.solve(H, (G + b / np.sqrt(n)).T).T / np.sqrt(n)
    b = algorithm_4_noise(n, p, setting, rng, m)
    return np.linalg.solve(H, G.T).T / np.sqrt(n) - b


def half_widths(H, S, n, setting, rng, m=10_000):
    """Algorithm 3, lines 5-10, and Algorithm 5, lines 5-17: quantiles of |error| over m draws, or
    the normal law.
    """
    if setting.mechanism == "output" and setting.definition == "zcdp":
        inverse = np.linalg.inv(H)
        U = (
            np.eye(len(H)) / (2.0 * setting.amounts[0] * (n * setting.c) ** 2)
            + inverse @ S @ inverse / n
        )
        return norm.ppf(0.5 + setting.confidence_level / 2.0) * np.sqrt(np.diag(U))
    draws = error_draws(H, S, n, setting, rng, m)
    return np.quantile(np.abs(draws), setting.confidence_level, axis=0)


def intervals(X, y, setting, rng, m=10_000):
    """A whole run: returns theta_priv (p,) and the half-widths (p,)."""
    n = len(X)
    train = algorithm_1 if setting.mechanism == "objective" else algorithm_4
    theta = train(X, y, setting, rng)
    H = hessian_matrix(X, y, theta, setting)
    S = gradient_covariance(X, y, theta, setting)
    H_priv = algorithm_2(H, sensitivity_of_hessian(n, setting), setting.amounts[1], setting, rng)
    S_priv = algorithm_2(
        S, sensitivity_of_covariance(n, theta, setting), setting.amounts[2], setting, rng
    )
    return theta, half_widths(H_priv, S_priv, n, setting, rng, m)
