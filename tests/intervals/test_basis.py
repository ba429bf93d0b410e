"""Coefficients of named columns where rows are measured by a map: one that is a radius gives what
the radius gives, and any what its contrasts give.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpci_core import (
    ZCDP,
    Design,
    Guesses,
    Logistic,
    NumericColumn,
    PureDP,
    Schema,
    fit_moments,
    forecast,
    private_intervals,
    run_experiment,
)
from dpci_core.base.rows import Meaning
from dpci_core.planner import geometry
from dpci_core.planner.geometry import best_geometry
from dpci_core.planner.regularization import moments_source
from dpci_core.schema import CategoricalColumn, Records, StandardEncoding, simulate_twin
from dpci_core.simulation.result import DesignResult
from dpci_core.solvers.moments import Moments

R = 2.0
SCHEMA = Schema(
    (
        NumericColumn("age", 18, 98, typical=60, spread=15),
        CategoricalColumn("sex", ("f", "m"), shares=(0.5, 0.5)),
    ),
    "ill",
    "yes",
)
GUESSES = Guesses(effects={"age": 0.03, "sex=m": 0.5}, base_rate=0.3, n_rows=4000)
DESIGN = Design(
    loss=Logistic(),
    mechanism="output",
    budget=PureDP(model="8", hessian="4", covariance="4"),
    regularization=0.004,
    n_records=4_000,
    calibration="sharp",
    target="unpenalised",
)
ROUND = ((1.0 / R, 0.0, 0.0), (1.0 / R, 0.0), (1.0 / R,))
MIXED = ((0.6, 0.2, 0.1), (0.5, -0.2), (0.4,))


def records(**standard: object) -> Records:
    schema = replace(SCHEMA, standard=StandardEncoding(limit=6.0, **standard))  # type: ignore[arg-type]
    return simulate_twin(schema, guesses=GUESSES)


def moments(of: Records) -> Moments:
    c = DESIGN.regularization
    return fit_moments(
        of.X, of.y, loss=Logistic(), regularization=c, target="unpenalised", meaning=of.meaning
    )


def experiment(of: Records, runs: int) -> DesignResult:
    return run_experiment(
        of.X,
        of.y,
        designs=[DESIGN],
        n_variability=runs,
        n_coverage=runs,
        rng=np.random.default_rng(2),
        meaning=of.meaning,
    ).designs[0]


def test_a_round_map_is_a_radius() -> None:
    one, other = records(shape=R), records(shape=ROUND)
    by_radius, by_map = (forecast(moments(of), design=DESIGN) for of in (one, other))
    for name in ("ci_length", "vi_length", "nonprivate_length", "bias", "estimate"):
        np.testing.assert_allclose(getattr(by_map, name), getattr(by_radius, name), rtol=1e-7)
    np.testing.assert_allclose(by_map.coverage, by_radius.coverage, rtol=1e-9)

    by_radius, by_map = (
        private_intervals(
            of.X,
            of.y,
            design=DESIGN,
            rng=np.random.default_rng(1),
            basis=of.meaning.basis,
            constant=of.meaning.constant,
        )
        for of in (one, other)
    )
    np.testing.assert_allclose(by_map.low, by_radius.low, rtol=1e-6)
    np.testing.assert_allclose(by_map.length, by_radius.length, rtol=1e-6)

    by_radius, by_map = (experiment(of, 20) for of in (one, other))
    np.testing.assert_allclose(by_map.ci_length, by_radius.ci_length, rtol=1e-5)
    np.testing.assert_allclose(by_map.vi_length, by_radius.vi_length, rtol=1e-5)
    np.testing.assert_array_equal(by_map.coverage, by_radius.coverage)


def test_contrasts_are_of_the_named_coefficients() -> None:
    of = records(shape=MIXED)
    fitted = moments(of)
    L = np.array([[1.0, -1.0, 0.0], [0.0, 2.0, 0.0]])
    assert of.meaning.basis is not None
    twice = forecast(fitted, design=DESIGN, contrasts=2.0 * np.eye(3)[[1]])
    assert twice.ci_length == pytest.approx(2.0 * forecast(fitted, design=DESIGN).ci_length[[1]])
    fitted = replace(
        fitted, variance_drift=None, unpenalised_variance_drift=None
    )  # of the named coefficients alone
    raw = replace(fitted, basis=None)
    np.testing.assert_allclose(
        forecast(fitted, design=DESIGN, contrasts=L).ci_length,
        forecast(raw, design=DESIGN, contrasts=L @ of.meaning.basis).ci_length,
    )
    names = forecast(fitted, design=DESIGN)
    np.testing.assert_allclose(names.estimate[:2], [0.03 * 15, 0.5 * 0.5], atol=0.08)


def test_the_forecast_is_what_experiments_give() -> None:
    """In a map that mixes columns: lengths within 5 %, and coverage."""
    of = records(shape=MIXED)
    expected = forecast(moments(of), design=DESIGN)
    found = experiment(of, 300)
    np.testing.assert_allclose(found.ci_length, expected.ci_length, rtol=0.05)
    assert (found.coverage > 0.91).all()


@pytest.mark.parametrize("c", [0.002, 0.03])
def test_what_no_penalty_moves_is_taken_over(c: float) -> None:
    of = records(shape=MIXED)
    known = moments(of).unpenalised_fit
    again, anew = (
        fit_moments(
            of.X,
            of.y,
            loss=Logistic(),
            regularization=c,
            target="unpenalised",
            meaning=of.meaning,
            known=given,
        ).unpenalised_fit
        for given in (known, None)
    )
    assert again is not None
    assert anew is not None
    for name in ("theta", "hessian", "covariance", "one_step_point", "unweighted"):
        np.testing.assert_allclose(getattr(again, name), getattr(anew, name), rtol=1e-6, atol=1e-9)


def test_a_release_is_forecast_for_the_named_coefficients() -> None:
    of = records(shape=MIXED)
    found = private_intervals(
        of.X, of.y, design=DESIGN, rng=np.random.default_rng(4), basis=of.meaning.basis
    )
    again = forecast(found.released_moments(), design=DESIGN)
    np.testing.assert_allclose(again.ci_length, found.length, rtol=0.15)


def test_planners_that_fit_anew_speak_about_the_named_coefficients() -> None:
    of = records(shape=MIXED)
    assert moments_source(of.X, of.y, DESIGN, of.meaning)(0.01).basis is of.meaning.basis
    objective = replace(
        DESIGN, mechanism="objective", budget=ZCDP(model="1", hessian="1", covariance="1")
    )
    shaped = best_geometry(of.X, of.y, design=objective, meaning=of.meaning)
    assert shaped.moments.basis is of.meaning.basis
    np.testing.assert_allclose(shaped.forecast.estimate[:2], [0.03 * 15, 0.5 * 0.5], atol=0.08)


def test_what_weights_move_is_told_in_half_widths_of_the_named_coefficients() -> None:
    fitted = moments(records(shape=MIXED))
    made = forecast(fitted, design=DESIGN)
    assert fitted.basis is not None
    moved = np.linalg.solve(fitted.basis, 0.3 * made.ci_length / 2.0)
    weighted = replace(fitted, theta_hat=fitted.theta_hat + moved)
    np.testing.assert_allclose(geometry._bias(weighted, fitted, made), 0.3)


def test_rows_in_full_need_their_labels() -> None:
    with pytest.raises(ValueError, match="no rows in full beside batches"):
        Meaning(in_full=np.ones((2, 2))).rows_in_full(None)
