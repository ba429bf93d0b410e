"""The best c by fits and forecasts made here, and what c does to the target."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from dpci_core import (
    ZCDP,
    Design,
    InfeasibleDesignError,
    Logistic,
    Moments,
    PureDP,
    best_regularization,
    best_split,
    datasets,
    fit_moments,
    forecast,
    needed_budget,
    needed_records,
)
from dpci_core.__main__ import main
from dpci_core.planner import Target
from dpci_core.privacy.budget import zcdp_to_epsilon

TABLE = datasets.load("census", encoding="schema", features=4, n_rows=5_000)
PURE = PureDP(model="0.7", hessian="0.1", covariance="0.2")


def make_design(
    mechanism: str = "objective", calibration: str = "published", **changes: object
) -> Design:
    given = {
        "loss": Logistic(),
        "budget": PURE,
        "regularization": 0.001,
        "n_records": 5_000,
    } | changes
    return Design(mechanism=mechanism, calibration=calibration, **given)


def fitted(c: float, target: str = "penalised") -> Moments:
    return fit_moments(TABLE.X, TABLE.y, loss=Logistic(), regularization=c, target=target)


@pytest.mark.parametrize("target", ["penalised", "unpenalised"])
def test_the_curve_is_what_fits_and_forecasts_say(target: str) -> None:
    design = make_design(target=target)
    answer = best_regularization(
        TABLE.X, TABLE.y, design=dataclasses.replace(design, n_records=50_000), share=20.0
    )
    curve = answer.curve
    assert np.all(np.diff(curve.regularization) > 0)
    plain = fitted(1e-7).theta_hat
    for i in np.flatnonzero(curve.is_feasible)[::4]:
        c = float(curve.regularization[i])
        moments = fitted(c, target)
        found = forecast(
            moments, design=dataclasses.replace(design, regularization=c, n_records=50_000)
        )
        assert curve.length[i] == pytest.approx(found.ci_length_mean, rel=1e-6)
        assert curve.grade[i] == found.validity.grade
        shift = found.bias if target == "unpenalised" else moments.theta_hat - plain
        np.testing.assert_allclose(curve.shift[i], shift, rtol=1e-5, atol=1e-5)
        in_half_widths = shift / (found.ci_length / 2.0)
        np.testing.assert_allclose(
            curve.shift_in_half_widths[i], in_half_widths, rtol=1e-4, atol=1e-4
        )
        assert curve.largest_shift[i] == pytest.approx(
            np.abs(in_half_widths).max(), rel=1e-4, abs=1e-4
        )
        assert curve.shift_norm[i] == pytest.approx(np.linalg.norm(shift), rel=1e-4, abs=1e-5)


def test_answers_are_the_shortest_usable_ones() -> None:
    answer = best_regularization(
        TABLE.X, TABLE.y, design=dataclasses.replace(make_design(), n_records=50_000), share=5.0
    )
    curve, usable = (
        answer.curve,
        np.array([grade in ("valid", "rough") for grade in answer.curve.grade]),
    )
    assert answer.low_bias is not None
    for found, allowed in (
        (answer.shortest, usable),
        (answer.low_bias, usable & (curve.largest_shift <= 5.0)),
    ):
        assert found.forecast.ci_length_mean == pytest.approx(curve.length[allowed].min(), rel=1e-9)
        assert (
            found.regularization
            == found.design.regularization
            == curve.regularization[allowed][curve.length[allowed].argmin()]
        )
        low, high = found.near_best
        assert low <= found.regularization <= high
        inside = (curve.regularization >= low) & (curve.regularization <= high)
        assert np.abs(curve.length[inside] / found.forecast.ci_length_mean - 1.0).max() <= 0.05
    assert answer.shortest.regularization > answer.low_bias.regularization
    assert f"c = {answer.low_bias.regularization:g}" in answer.reason
    strict = best_regularization(
        TABLE.X, TABLE.y, design=dataclasses.replace(make_design(), n_records=50_000), share=1e-9
    )
    assert strict.low_bias is None
    assert "No c that was tried keeps the target within 1e-09 half-widths." in strict.reason


def test_a_function_gives_the_same_and_each_c_may_have_its_split() -> None:
    design = make_design("output")
    by_records = best_regularization(TABLE.X, TABLE.y, design=design)
    by_function = best_regularization(fitted, design=design)
    np.testing.assert_allclose(by_records.curve.length, by_function.curve.length, rtol=1e-6)
    split = best_regularization(fitted, design=design, split_each=True)
    shared = np.isin(split.curve.regularization, by_function.curve.regularization)
    own = dict(zip(by_function.curve.regularization, by_function.curve.length, strict=True))
    for c, length in zip(
        split.curve.regularization[shared], split.curve.length[shared], strict=True
    ):
        assert length <= 1.1 * own[c]
    assert split.shortest.design.budget.total == design.budget.total


def test_what_cannot_run_is_marked_and_raised_only_if_nothing_can() -> None:
    answer = best_regularization(
        TABLE.X, TABLE.y, design=dataclasses.replace(make_design(), n_records=50_000)
    )
    curve = answer.curve
    # Objective perturbation needs c > t / (2 n (e^epsilon - 1)) with t = 1/4: monotone, so
    # infeasible c come first.
    smallest = 0.25 / (2 * 50_000 * np.expm1(0.7))
    np.testing.assert_array_equal(curve.is_feasible, curve.regularization > smallest)
    assert not curve.is_feasible.all()
    assert np.isinf(curve.length[~curve.is_feasible]).all()
    assert {
        grade for grade, runs in zip(curve.grade, curve.is_feasible, strict=True) if not runs
    } == {"infeasible"}
    tiny = PureDP(model="1e-6", hessian="1", covariance="1")
    with pytest.raises(InfeasibleDesignError, match="The smallest c that works is") as caught:
        best_regularization(
            TABLE.X, TABLE.y, design=dataclasses.replace(make_design(budget=tiny), n_records=10)
        )
    c = float(caught.value.suggestion.split("is ")[1].rstrip("."))
    moments = fitted(c)
    forecast(
        moments,
        design=dataclasses.replace(make_design(budget=tiny, regularization=c), n_records=10),
    )


def test_arguments_are_refused_by_name() -> None:
    for given, words in (((TABLE.X,), "Expected labels y"), ((fitted, TABLE.y), "Expected no y")):
        with pytest.raises(ValueError, match=words):
            best_regularization(*given, design=make_design())
    with pytest.raises(ValueError, match=r"share=0"):
        best_regularization(fitted, design=make_design(), share=0)


def test_the_command_prints_the_curve(capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--data",
        "census",
        "--rows",
        "5000",
        "--features",
        "4",
        "--loss",
        "logistic",
        "--regularization",
        "0.001",
    ]
    options += [
        "--mechanism",
        "output",
        "--epsilon",
        "1",
        "--calibration",
        "published",
        "--share",
        "3",
        "--json",
    ]
    assert main(["plan", "c", *options]) == 0
    said = json.loads(capsys.readouterr().out)
    budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    answer = best_regularization(
        TABLE.X, TABLE.y, design=make_design("output", budget=budget), share=3.0
    )
    assert said["reason"] == answer.reason
    assert said["shortest"]["regularization"] == answer.shortest.regularization
    assert [row["regularization"] for row in said["curve"]] == answer.curve.regularization.tolist()
    assert said["curve"][3]["shift"]["constant"] == pytest.approx(answer.curve.shift[3][-1])


def test_where_the_low_bias_c_is_useless_the_unpenalised_target_is_offered() -> None:
    """Its c by a search made here: the shortest usable forecast among the c tried that keeps the
    share.
    """
    design, share = make_design(), 0.25
    answer = best_regularization(
        TABLE.X, TABLE.y, design=dataclasses.replace(design, n_records=30_000), share=share
    )
    assert answer.low_bias is None or answer.low_bias.forecast.usefulness.is_useless
    assert answer.is_at_end
    assert answer.shortest.regularization == answer.curve.regularization[-1]
    assert "By length alone there is no best c" in answer.reason
    found = answer.unpenalised
    assert found is not None
    assert (found.design.target, found.design.regularization) == (
        "unpenalised",
        found.regularization,
    )
    assert found.largest_shift <= share
    assert 'target="unpenalised"' in answer.reason
    assert f"{found.forecast.ci_length_mean:.3g} long" in answer.reason
    lengths = []
    for c in answer.curve.regularization[answer.curve.is_feasible]:
        other = dataclasses.replace(design, target="unpenalised", regularization=float(c))
        made = forecast(
            fitted(float(c), "unpenalised"), design=dataclasses.replace(other, n_records=30_000)
        )
        shift = np.max(np.abs(2.0 * made.bias / made.ci_length))
        if shift <= share and made.validity.grade != "unusable":
            lengths.append(made.ci_length_mean)
    assert found.forecast.ci_length_mean <= 1.05 * min(lengths), (
        "16 draws choose, all draws confirm"
    )


def test_nothing_more_is_offered_where_it_is_not_needed() -> None:
    answer = best_regularization(
        fitted, design=dataclasses.replace(make_design(target="unpenalised"), n_records=30_000)
    )
    assert answer.unpenalised is None
    useful = best_regularization(
        fitted, design=dataclasses.replace(make_design("output"), n_records=10**8), share=500.0
    )
    assert useful.low_bias is not None
    assert not useful.low_bias.forecast.usefulness.is_useless
    assert useful.unpenalised is None


def test_every_answer_is_stated_at_the_delta_asked_for() -> None:
    moments = fitted(0.001)
    design = make_design("output", budget=ZCDP(model="0.1", hessian="0.05", covariance="0.05"))
    for ask in (
        lambda **delta: best_split(moments, design=design, **delta),
        lambda **delta: needed_records(moments, design=design, target=Target(1.0), **delta),
        lambda **delta: needed_budget(moments, design=design, target=Target(1.0), **delta),
    ):
        usual, other = ask(), ask(delta="1e-9")
        total = float(other.design.budget.total)
        assert usual.delta == 1e-6
        assert other.epsilon_delta == pytest.approx((zcdp_to_epsilon(total, 1e-9), 1e-9), rel=1e-9)
        assert usual.epsilon_delta == pytest.approx((zcdp_to_epsilon(total, 1e-6), 1e-6), rel=1e-9)
        with pytest.raises(ValueError, match="delta"):
            ask(delta="1")
    pure = best_split(moments, design=make_design("output"), delta="1e-9")
    assert pure.epsilon_delta == (1.0, 0.0)


@pytest.mark.parametrize("action", ["budget", "c"])
def test_the_command_states_the_delta_shown(
    action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [
        "plan",
        action,
        "--data",
        "census",
        "--rows",
        "2000",
        "--features",
        "3",
        "--loss",
        "logistic",
    ]
    options += [
        "--regularization",
        "0.01",
        "--mechanism",
        "output",
        "--calibration",
        "published",
        "--rho",
        "1",
        "--json",
    ]
    options += ["--length", "1"] if action == "budget" else []
    assert main([*options, "--delta-shown", "1e-9"]) == 0
    said = json.loads(capsys.readouterr().out)
    if action == "c":
        said = said["shortest"]
    rho = float(said["design"]["total"])
    assert said["epsilon_delta"] == pytest.approx([zcdp_to_epsilon(rho, 1e-9), 1e-9], rel=1e-9)
