"""Findings above the charts of a simulation."""

from __future__ import annotations

import numpy as np
import pytest

from ui.evidence.coverage.charts import Comparison, comparison_title, lengths_title
from ui.session.choices import Combination

WAYS = (
    Combination("pure", "objective", "logistic"),
    Combination("pure", "output", "logistic"),
)


def made(way: Combination, covered: float, forecast: float, length: float) -> Comparison:
    """Two coefficients alike, the simulated share known to a tenth of a point."""
    many = np.ones(2)
    return Comparison(
        combination=way,
        names=("age", "constant"),
        forecast_coverage=forecast * many,
        coverage=covered * many,
        coverage_se=0.002 * many,
        forecast_ci=many,
        ci=length * many,
        ci_sd=0.1 * many,
        forecast_vi=many,
        vi=many,
        vi_se=0.01 * many,
        coverage_mean_se=0.001,
        n_failed=0,
    )


@pytest.mark.parametrize(
    ("covered", "forecast", "said"),
    [
        (0.956, 0.957, "cover 95.1 to 95.6 % on average over coefficients, as forecast"),
        (0.956, 0.961, "over coefficients, other than forecast for output"),
        (0.940, 0.940, "cover 94.0 to 95.1 % on average over coefficients: too little for output"),
    ],
)
def test_the_title_says_what_was_covered_and_whether_it_was_foreseen(covered, forecast, said):
    rows = [made(WAYS[0], 0.951, 0.951, 1.0), made(WAYS[1], covered, forecast, 1.0)]
    told = comparison_title(rows, level=0.95).lower()
    assert told.startswith("simulated 95 % intervals ")
    assert told.endswith(said)


def test_one_design_is_not_called_by_its_name():
    rows = [made(WAYS[0], 0.94, 0.95, 1.0)]
    assert comparison_title(rows, level=0.95).endswith(
        "cover 94.0 % on average over coefficients: too little for this design"
    )


def test_lengths_are_told_by_the_one_that_is_furthest_off():
    rows = [made(WAYS[0], 0.95, 0.95, 0.96), made(WAYS[1], 0.95, 0.95, 1.01)]
    assert "within 4.0 %" in lengths_title(rows)
