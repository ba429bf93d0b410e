"""The one entry: every solver returns the same minimiser, and each certifies it as it says."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from dpci_core import HuberSVM, Logistic, SmoothedHinge, fit_moments
from dpci_core.base.errors import ConvergenceError
from dpci_core.solvers.guaranteed import Guaranteed
from dpci_core.solvers.minimise import CHECKED, QUICK, Quick, minimise
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.quasi_newton import QuasiNewton
from dpci_core.solvers.risk import Fit, PenalisedRisk
from tests.solvers.test_newton import assert_exact, margins_matrix, table

LOSSES = (Logistic(), HuberSVM(h=0.5), SmoothedHinge(h=0.5))
SMALL, LARGE = margins_matrix(300, 4, 0), margins_matrix(10_000, 4, 1)
SOLVERS = (QUICK, CHECKED, Newton(), Guaranteed())
WILD = (np.full(5, np.nan), np.full(5, np.inf), np.full(5, 1e100), np.full(5, 1e6))


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_solver_arrives(loss, solver) -> None:
    noise_vector = 30.0 * np.random.default_rng(2).normal(size=5)
    risk = PenalisedRisk(SMALL, loss, 1e-3, noise_vector)
    fit = minimise(risk, solver)
    assert_exact(SMALL, fit.theta, loss, 1e-3, noise_vector)
    assert fit.gradient_norm <= 1e-10
    near = minimise(risk, solver, start=fit.theta + 0.1)
    np.testing.assert_allclose(near.theta, fit.theta, atol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("A", [SMALL, LARGE], ids=len)
def test_a_start_that_is_the_answer_is_returned_as_it_is(A, solver) -> None:
    risk = PenalisedRisk(A, Logistic(), 1e-3)
    exact = Newton().minimise(risk).theta
    fit = minimise(risk, solver, start=exact)
    assert np.array_equal(fit.theta, exact)
    assert fit.n_iterations == 0


@pytest.mark.parametrize("start", WILD, ids=["nan", "inf", "1e100", "1e6"])
@pytest.mark.parametrize("A", [SMALL, LARGE], ids=len)
def test_no_start_keeps_the_guaranteed_solver_from_arriving(A, start) -> None:
    fit = minimise(
        PenalisedRisk(A, loss=Logistic(), regularization=0.05), Guaranteed(), start=start
    )
    np.testing.assert_allclose(
        fit.theta,
        Newton().minimise(PenalisedRisk(A, loss=Logistic(), regularization=0.05)).theta,
        atol=1e-8,
    )


@pytest.mark.parametrize("A", [SMALL, LARGE], ids=len)
def test_guaranteed_is_quick_steps_and_then_the_proved_solver(A) -> None:
    risk, solver = PenalisedRisk(A, Logistic(), 1e-3, np.arange(5.0)), Guaranteed(5e-11)
    expected = solver.continued(risk, QuasiNewton(5e-11).minimise(risk).theta)
    fit = minimise(risk, solver)
    assert np.array_equal(fit.theta, expected.theta)
    assert fit.gradient_norm == expected.gradient_norm


def test_checked_believes_no_norm_but_its_own_sum(monkeypatch) -> None:
    """A quasi-Newton method that claims to have arrived somewhere else changes nothing."""
    how = {"loss": Logistic(), "regularization": 1e-3}
    monkeypatch.setattr(QuasiNewton, "minimise", lambda *_: Fit(np.ones(5), 0.0, 1))
    fit = minimise(PenalisedRisk(LARGE, **how), CHECKED)
    assert np.linalg.norm(PenalisedRisk(LARGE, **how).gradient(fit.theta)) <= 1e-10
    assert np.array_equal(
        minimise(PenalisedRisk(LARGE, **how)).theta, np.ones(5)
    )  # which is why there are two


def test_checked_is_content_with_the_tolerance_where_its_aim_is_out_of_reach(monkeypatch) -> None:
    near = Newton(1e-4).minimise(PenalisedRisk(LARGE, loss=Logistic(), regularization=1e-3))
    norm = 1.001 * near.gradient_norm
    reached = Fit(near.theta, np.inf, 60)
    monkeypatch.setattr(QuasiNewton, "minimise", lambda *_: reached)
    monkeypatch.setattr(Newton, "minimise", None)  # would be called
    kept = minimise(
        PenalisedRisk(LARGE, loss=Logistic(), regularization=1e-3), Quick(norm, beyond=0.01)
    )
    assert kept.theta is near.theta


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("n", [300, 30_000])
def test_the_moments_are_those_of_newtons_method(loss, n) -> None:
    """To far below what any page shows, which is what the aim beyond the tolerance is for."""
    X, y = table(n, 6, 5)
    exact = (
        Newton(1e-14).minimise(PenalisedRisk(y[:, None] * X, loss=loss, regularization=1e-3)).theta
    )
    found = fit_moments(X, y, loss=loss, regularization=1e-3)
    np.testing.assert_allclose(found.theta_hat, exact, rtol=0, atol=1e-10)


def test_what_cannot_be_minimised_is_refused_by_name() -> None:
    for solver in SOLVERS:
        with pytest.raises(ValueError, match="regularization=0"):
            minimise(PenalisedRisk(SMALL, Logistic(), 0.0), solver)
    for solver in (Quick(1e-30), Quick(1e-30, beyond=0.01), Newton(1e-30)):
        with pytest.raises(ConvergenceError):
            minimise(PenalisedRisk(SMALL, Logistic(), 1e-3), solver)


def test_every_other_package_takes_the_one_entry() -> None:
    root = Path(__file__).resolve().parents[2]
    behind = {f"dpci_core.solvers.{name}" for name in ("newton", "quasi_newton", "guaranteed")}
    allowed = {
        "dpci_core/intervals/certified.py": {"Guaranteed", "gradient_rounding"}
    }  # the public bound that the certificate rests on
    for path in [*(root / "dpci_core").rglob("*.py"), *(root / "ui").rglob("*.py")]:
        if path.parent.name == "solvers":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in behind:
                names = {alias.name for alias in node.names}
                assert names <= allowed.get(str(path.relative_to(root)), set()), path
