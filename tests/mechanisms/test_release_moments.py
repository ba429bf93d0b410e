"""The two released matrices: in which order, at which points, on which grids, and what a record can
change of the second.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from dpci_core import ZCDP, Design, HuberSVM, Logistic, PureDP
from dpci_core.base.linalg import symmetrise
from dpci_core.base.rows import WeightedRows
from dpci_core.mechanisms.matrices import (
    covariance_noise,
    hessian_noise,
    release_moments,
    rounding_allowance,
    unit_noise,
)
from dpci_core.privacy.randomness import SystemSource, grid_under
from dpci_core.privacy.sensitivity import hessian_sensitivity

Array = np.ndarray

N, C = 800, 0.003
THETA = np.array([1.2, -0.7, 0.9])
BUDGETS = {
    "pure": PureDP(model="1", hessian="2", covariance="3"),
    "zcdp": ZCDP(model="0.5", hessian="0.5", covariance="0.75"),
}


def rows_of(kind: str) -> Array | WeightedRows:
    rng = np.random.default_rng(6)
    X = np.c_[rng.normal(size=(N, 2)), np.ones(N)] / 1.8
    X *= np.where(rng.random(N) < expit(X @ THETA), 1.0, -1.0)[:, None]
    if kind == "weighted":
        return WeightedRows(X, np.minimum(1.0, (1.0 - 1e-12) / np.einsum("ij,ij->i", X, X)))
    return X / np.linalg.norm(X, axis=1).max()


def design_of(target: str, definition: str = "pure", **changes: Any) -> Design:
    given = {
        "loss": Logistic(),
        "mechanism": "objective",
        "budget": BUDGETS[definition],
        "regularization": C,
        "n_records": N,
        "calibration": "sharp",
    }
    return Design(target=target, **(given | changes))


def exact(rows: Array | WeightedRows, theta: Array) -> tuple[Array, Array]:
    """Hessian and covariance of the gradients, written out."""
    X, w = (rows.rows, rows.weights) if isinstance(rows, WeightedRows) else (rows, np.ones(N))
    s = expit(-(X @ theta))
    H = (X.T * (w * s * (1.0 - s))) @ X / N + 2.0 * C * np.eye(3)
    return H, (X.T * (w * s) ** 2) @ X / N - 4.0 * C**2 * np.outer(theta, theta)


def middle(S: Array, sd: float) -> Array:
    """Half a step of S, its eigenvalues raised to max(2c, 2 sd sqrt(p/2)), written out."""
    values, vectors = np.linalg.eigh(S)
    steep = np.maximum(values, max(2.0 * C, 2.0 * sd * math.sqrt(1.5)))
    return THETA + C * (vectors @ ((vectors.T @ THETA) / steep))


@pytest.mark.parametrize("kind", ["plain", "weighted"])
@pytest.mark.parametrize("definition", BUDGETS)
@pytest.mark.parametrize("calibration", ["published", "sharp"])
def test_a_penalised_target_draws_what_it_drew(
    kind: str, definition: str, calibration: str
) -> None:
    """The Hessian first, at theta, and then the covariance: one stream of numbers."""
    rows, design = rows_of(kind), design_of("penalised", definition, calibration=calibration)
    found = release_moments(rows, THETA, design=design, rng=np.random.default_rng(3))
    rng = np.random.default_rng(3)
    laws = (
        hessian_noise(design),
        covariance_noise(design, float(np.linalg.norm(THETA))),
    )
    for law, matrix, released in zip(
        laws, exact(rows, THETA), (found.hessian, found.covariance), strict=True
    ):
        drawn = law.scale * unit_noise(3, law=law.law, rng=rng, symmetric=law.symmetric)
        np.testing.assert_allclose(released.noisy, symmetrise(matrix + drawn), rtol=1e-12)
    np.testing.assert_array_equal(found.hessian_at, THETA)


@pytest.mark.parametrize("kind", ["plain", "weighted"])
@pytest.mark.parametrize("definition", BUDGETS)
def test_without_penalty_the_covariance_comes_first(kind: str, definition: str) -> None:
    """At theta, then the Hessian half way, a point of what was released and nothing else."""
    rows, design = rows_of(kind), design_of("unpenalised", definition)
    found = release_moments(rows, THETA, design=design, rng=np.random.default_rng(3))
    rng = np.random.default_rng(3)
    on_s = covariance_noise(design, float(np.linalg.norm(THETA)))
    drawn = on_s.scale * unit_noise(3, law=on_s.law, rng=rng, symmetric=on_s.symmetric)
    S = symmetrise(exact(rows, THETA)[1] + drawn)
    np.testing.assert_allclose(found.covariance.noisy, S, rtol=1e-12)
    at = middle(found.covariance.noisy, on_s.diagonal_sd(3))
    np.testing.assert_allclose(found.hessian_at, at, rtol=1e-10)
    assert np.linalg.norm(at - THETA) > 0.02, "or the point would not be seen"
    on_h = hessian_noise(design)
    drawn = on_h.scale * unit_noise(3, law=on_h.law, rng=rng, symmetric=on_h.symmetric)
    np.testing.assert_allclose(found.hessian.noisy, exact(rows, at)[0] + drawn, rtol=1e-10)


def test_other_losses_keep_the_order_and_the_point() -> None:
    """No likelihood, no half step: the same numbers for both targets."""
    rows = rows_of("plain")
    one, other = (
        release_moments(
            rows, THETA, design=design_of(target, loss=HuberSVM(h=0.5)),
            rng=np.random.default_rng(3),
        )
        for target in ("penalised", "unpenalised")
    )  # fmt: skip
    np.testing.assert_array_equal(one.hessian.noisy, other.hessian.noisy)
    np.testing.assert_array_equal(one.covariance.noisy, other.covariance.noisy)
    np.testing.assert_array_equal(other.hessian_at, THETA)


# --- releases -------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["penalised", "unpenalised"])
@pytest.mark.parametrize("definition", BUDGETS)
def test_a_release_keeps_to_its_grids(target: str, definition: str) -> None:
    """Both matrices are multiples of the grid of their noise, which allows for rounding at the
    point that each is at; the Hessian is near the true one there.
    """
    rows, design = rows_of("weighted"), design_of(target, definition)
    found = release_moments(rows, THETA, design=design, rng=SystemSource())
    laws = (
        hessian_noise(design),
        covariance_noise(design, float(np.linalg.norm(THETA))),
    )
    points = found.hessian_at, THETA
    true = exact(rows, found.hessian_at)[0], exact(rows, THETA)[1]
    parts = found.hessian, found.covariance
    for law, at, matrix, released in zip(laws, points, true, parts, strict=True):
        bound = law.sensitivity + rounding_allowance(design, at)
        k = grid_under(law.scale * bound / law.sensitivity)
        diagonal = np.ldexp(np.diag(released.noisy), -k)
        np.testing.assert_array_equal(diagonal, np.round(diagonal))
        above = np.ldexp(math.sqrt(2.0) * released.noisy[np.triu_indices(3, 1)], -k)
        np.testing.assert_allclose(above, np.round(above), rtol=1e-12)
        assert np.abs(released.noisy - matrix).max() < 25.0 * law.diagonal_sd(3)
    if target == "unpenalised":
        at = middle(found.covariance.noisy, laws[1].diagonal_sd(3))
        np.testing.assert_allclose(found.hessian_at, at, rtol=1e-10)


def test_one_record_moves_the_hessian_by_its_bound_at_any_point() -> None:
    """Searched pairs at points of every length, those half way among them: never above, and
    within 1 % of the bound.
    """
    rng = np.random.default_rng(8)
    bound = N * hessian_sensitivity(loss=Logistic(), n_records=N, tight=True)
    assert bound == pytest.approx(math.sqrt(2.0) / 4.0)
    released = release_moments(
        rows_of("weighted"), THETA, design=design_of("unpenalised"), rng=np.random.default_rng(1)
    )
    largest = 0.0
    points = [
        released.hessian_at,
        *(rng.normal(size=(30, 3)) * 10.0 ** rng.uniform(-2, 3, (30, 1))),
    ]
    for at in points:
        x = rng.normal(size=(4000, 3)) * 10.0 ** rng.uniform(-1.0, 2.0, (4000, 1))
        x[::2] -= np.outer(x[::2] @ at, at) / (at @ at)
        x[1::4] = np.cross(at, x[::4])
        w = np.minimum(1.0, 1.0 / np.einsum("ij,ij->i", x, x))
        s = expit(-(x @ at))
        part = (w * s * (1.0 - s))[:, None, None] * (x[:, :, None] * x[:, None, :])
        gap = np.linalg.norm(part[::2] - part[1::2], axis=(1, 2))
        largest = max(largest, float(gap.max()))
        assert gap.max() <= bound * (1.0 + 1e-12)
    assert largest > 0.99 * bound
