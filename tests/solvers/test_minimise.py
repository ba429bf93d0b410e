"""The one entry: every method returns the same minimiser, and each certifies it as it says."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from dpci_core import HuberSVM, Logistic, SmoothedHinge, fit_moments
from dpci_core.base.errors import ConvergenceError
from dpci_core.solvers import minimise as entry
from dpci_core.solvers.certain import solve_surely
from dpci_core.solvers.minimise import METHODS, minimise
from dpci_core.solvers.newton import solve
from dpci_core.solvers.objective import Fit, gradient_at
from dpci_core.solvers.quasi_newton import approach
from tests.solvers.test_newton import assert_exact, margins_matrix, table

LOSSES = (Logistic(), HuberSVM(h=0.5), SmoothedHinge(h=0.5))
SMALL, LARGE = margins_matrix(300, 4, 0), margins_matrix(10_000, 4, 1)
WILD = (np.full(5, np.nan), np.full(5, np.inf), np.full(5, 1e100), np.full(5, 1e6))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_method_arrives(loss, method) -> None:
    noise_vector = 30.0 * np.random.default_rng(2).normal(size=5)
    fit = minimise(SMALL, loss=loss, regularization=1e-3, noise_vector=noise_vector, method=method)
    assert_exact(SMALL, fit.theta, loss, 1e-3, noise_vector)
    assert fit.gradient_norm <= 1e-10
    near = minimise(
        SMALL,
        loss=loss,
        regularization=1e-3,
        noise_vector=noise_vector,
        start=fit.theta + 0.1,
        method=method,
    )
    np.testing.assert_allclose(near.theta, fit.theta, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("A", [SMALL, LARGE], ids=len)
def test_a_start_that_is_the_answer_is_returned_as_it_is(A, method) -> None:
    exact = solve(A, loss=Logistic(), regularization=1e-3).theta
    fit = minimise(A, loss=Logistic(), regularization=1e-3, start=exact, method=method)
    assert np.array_equal(fit.theta, exact)
    assert fit.n_iterations == 0


@pytest.mark.parametrize("start", WILD, ids=["nan", "inf", "1e100", "1e6"])
@pytest.mark.parametrize("A", [SMALL, LARGE], ids=len)
def test_no_start_keeps_the_certain_method_from_arriving(A, start) -> None:
    fit = minimise(A, loss=Logistic(), regularization=0.05, start=start, method="certain")
    np.testing.assert_allclose(
        fit.theta, solve(A, loss=Logistic(), regularization=0.05).theta, atol=1e-8
    )


@pytest.mark.parametrize("A", [SMALL, LARGE], ids=len)
def test_certain_is_quick_steps_and_then_the_proved_solver(A) -> None:
    how = {
        "loss": Logistic(),
        "regularization": 1e-3,
        "noise_vector": np.arange(5.0),
        "tolerance": 5e-11,
    }
    expected = solve_surely(A, start=approach(A, **how).theta, **how)
    fit = minimise(A, method="certain", **how)
    assert np.array_equal(fit.theta, expected.theta)
    assert fit.gradient_norm == expected.gradient_norm


def test_checked_believes_no_norm_but_its_own_sum(monkeypatch) -> None:
    """A quasi-Newton method that claims to have arrived somewhere else changes nothing."""
    how = {"loss": Logistic(), "regularization": 1e-3}
    monkeypatch.setattr(entry, "approach", lambda *_, **__: Fit(np.ones(5), 0.0, 0.0, 1))
    fit = minimise(LARGE, method="checked", **how)
    assert np.linalg.norm(gradient_at(LARGE, fit.theta, noise_vector=None, **how)) <= 1e-10
    assert np.array_equal(
        minimise(LARGE, method="quick", **how).theta, np.ones(5)
    )  # which is why there are two


def test_checked_is_content_with_the_tolerance_where_its_aim_is_out_of_reach(monkeypatch) -> None:
    near = solve(LARGE, loss=Logistic(), regularization=1e-3, tolerance=1e-4)
    norm = 1.001 * near.gradient_norm
    monkeypatch.setattr(entry, "approach", lambda *_, **__: Fit(near.theta, np.inf, np.inf, 60))
    monkeypatch.setattr(entry, "solve", None)  # would be called
    kept = minimise(LARGE, loss=Logistic(), regularization=1e-3, tolerance=norm, method="checked")
    assert kept.theta is near.theta


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("n", [300, 30_000])
def test_the_moments_are_those_of_newtons_method(loss, n) -> None:
    """To far below what any page shows, which is what the aim beyond the tolerance is for."""
    X, y = table(n, 6, 5)
    exact = solve(y[:, None] * X, loss=loss, regularization=1e-3, tolerance=1e-14).theta
    found = fit_moments(X, y, loss=loss, regularization=1e-3)
    np.testing.assert_allclose(found.theta_hat, exact, rtol=0, atol=1e-10)


def test_what_cannot_be_minimised_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"method='fast' to be one of 'quick', 'checked'"):
        minimise(SMALL, loss=Logistic(), regularization=1e-3, method="fast")  # type: ignore[arg-type]
    for method in METHODS:
        with pytest.raises(ValueError, match="regularization=0"):
            minimise(SMALL, loss=Logistic(), regularization=0, method=method)
    for method in ("quick", "checked", "newton"):
        with pytest.raises(ConvergenceError):
            minimise(SMALL, loss=Logistic(), regularization=1e-3, tolerance=1e-30, method=method)


def test_every_other_room_takes_the_one_entry() -> None:
    root = Path(__file__).resolve().parents[2]
    behind = {f"dpci_core.solvers.{name}" for name in ("newton", "quasi_newton", "certain")}
    allowed = {
        "dpci_core/intervals/draw.py": {"gradient_rounding"}
    }  # the public bound that the certificate rests on
    for path in [*(root / "dpci_core").rglob("*.py"), *(root / "ui").rglob("*.py")]:
        if path.parent.name == "solvers":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in behind:
                names = {alias.name for alias in node.names}
                assert names <= allowed.get(str(path.relative_to(root)), set()), path
