"""Raised eigenvalues, also where rounding would lose them."""

from __future__ import annotations

import numpy as np
import pytest

from dpci_core.base.linalg import floor_eigenvalues, lift


@pytest.mark.parametrize("floor", [-1e9, -0.5, 0.0, 0.3])
def test_a_floor_is_a_floor_whatever_its_sign(floor: float) -> None:
    values = np.array([-1.0, -0.2, 0.1, 5.0])
    np.testing.assert_array_equal(lift(values, floor), np.maximum(values, floor))


@pytest.mark.parametrize("p", [2, 5, 30])
@pytest.mark.parametrize("noise", [1.0, 1e14, 1e30])
def test_a_floored_matrix_is_positive_definite_under_any_noise(p: int, noise: float) -> None:
    draws = np.random.default_rng(0).normal(size=(20, p, p)) * noise
    made = floor_eigenvalues(draws + np.swapaxes(draws, -1, -2), 2e-10)
    assert (np.linalg.eigvalsh(made.matrix) > 0).all()
    assert np.isfinite(
        np.linalg.solve(made.matrix, np.broadcast_to(np.eye(p), made.matrix.shape))
    ).all()
