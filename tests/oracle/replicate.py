"""One bootstrap replicate from given counts and noise: the formulas of `paper`, general-purpose
solvers.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, root
from scipy.stats import gamma, norm

from tests.oracle import paper


def exact_minimiser(X, y, setting, b):
    """Root of the gradient of L_n + b.theta/n, to the last digits."""
    n = len(X)

    def gradient(theta):
        weights = y * paper.loss_slope(y * (X @ theta), setting.loss, setting.h)
        return X.T @ weights / n + 2.0 * setting.c * theta + b / n

    def jacobian(theta):
        return paper.hessian_matrix(X, y, theta, setting)

    found = root(
        gradient,
        paper.minimise(X, y, setting, b),
        jac=jacobian,
        method="hybr",
        options={"xtol": 1e-14},
    )
    assert np.linalg.norm(gradient(found.x)) < 1e-12
    return found.x


def half_width(normal, laplace, p, level):
    """q with P(|T| <= q) = level for T normal of variance normal + laplace W, W ~ Gamma((p +
    1)/2).
    """
    if laplace == 0:
        return norm.ppf(0.5 + level / 2) * np.sqrt(normal)
    law = gamma((p + 1) / 2)

    def gap(q):
        inside = quad(
            lambda w: law.pdf(w) * (2 * norm.cdf(q / np.sqrt(normal + laplace * w)) - 1), 0, np.inf
        )[0]
        return inside - level

    size = np.sqrt(normal + laplace * (p + 1) / 2)
    return brentq(gap, 0.1 * size, 10 * size, xtol=1e-12 * size)


def replicate(X, y, counts, theta_hat, setting, *, unit_model, unit_hessian, unit_covariance):
    """theta_priv, whether each interval holds theta_hat, and its length; unit noise has rate or
    deviation 1.
    """
    rows = np.repeat(np.arange(len(X)), counts)
    X, y = X[rows], y[rows]
    n, p = X.shape
    pure = setting.definition == "pure"
    if setting.mechanism == "objective":
        rate = paper.algorithm_1_rate(n, setting)
        theta = exact_minimiser(X, y, setting, unit_model / rate)
    else:
        rate = n * setting.c * setting.amounts[0]
        scale = 1 / rate if pure else 1 / (n * setting.c * np.sqrt(2 * setting.amounts[0]))
        theta = exact_minimiser(X, y, setting, np.zeros(p)) + scale * unit_model
    matrices = []
    for matrix, sensitivity, amount, unit in (
        (
            paper.hessian_matrix(X, y, theta, setting),
            paper.sensitivity_of_hessian(n, setting),
            1,
            unit_hessian,
        ),
        (
            paper.gradient_covariance(X, y, theta, setting),
            paper.sensitivity_of_covariance(n, theta, setting),
            2,
            unit_covariance,
        ),
    ):
        spent = setting.amounts[amount]
        noisy = matrix + unit * (sensitivity / spent if pure else sensitivity / np.sqrt(2 * spent))
        values, vectors = np.linalg.eigh((noisy + noisy.T) / 2)
        matrices.append(vectors @ np.diag(np.maximum(values, 2 * setting.c)) @ vectors.T)
    inverse = np.linalg.inv(matrices[0])
    sampling = np.diag(inverse @ matrices[1] @ inverse) / n
    q = np.empty(p)
    for j in range(p):
        if setting.mechanism == "objective":
            law = (sampling[j], 2 * inverse[j] @ inverse[j] / (rate * n) ** 2)
        elif pure:
            law = (sampling[j], 2 / rate**2)
        else:
            law = (sampling[j] + scale**2, 0)
        q[j] = half_width(*law, p, setting.confidence_level)
    return theta, np.abs(theta - theta_hat) <= q, 2 * q
