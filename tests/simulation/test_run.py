"""The experiment: against the slow oracle, against the forecast, invariant to batches and workers,
stoppable.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import os
import threading
import time

import numpy as np
import pytest

from dpci_core import (
    ZCDP,
    Design,
    HuberSVM,
    InfeasibleDesignError,
    Logistic,
    PureDP,
    SmoothedHinge,
    datasets,
    fit_moments,
    forecast,
)
from dpci_core.base.batches import as_table
from dpci_core.simulation import run as engine
from dpci_core.simulation.result import ExperimentResult, summarise
from dpci_core.simulation.run import run_experiment
from tests.oracle import paper
from tests.oracle.replicate import replicate
from tests.refusals import refuses
from tests.test_against_oracle import COMBINATIONS, make_pair, simulated_table

ALL = [
    (definition, mechanism, loss)
    for definition in ("pure", "zcdp")
    for mechanism in ("objective", "output")
    for loss in ("logistic", "huber_svm", "smoothed_hinge")
]


def run(designs, *, m=60, k=40, seed=5, **options):
    X, y = simulated_table()
    return run_experiment(
        X,
        y,
        designs=designs,
        n_variability=m,
        n_coverage=k,
        rng=np.random.default_rng(seed),
        **options,
    )


def arrays(result: ExperimentResult) -> np.ndarray:
    return np.concatenate(
        [
            np.r_[d.coverage, d.ci_length, d.ci_length_sd, d.vi_low, d.vi_high, d.coverage_se]
            for d in result.designs
        ]
    )


# --- the slow oracle ------------------------------------------------------------------------------


@pytest.mark.parametrize(("definition", "mechanism", "loss"), COMBINATIONS)
def test_same_counts_and_noise_give_the_oracles_answer(definition, mechanism, loss, monkeypatch):
    design, setting = make_pair(definition, mechanism, loss, n=1_200)
    X, y = simulated_table()
    plans = []
    original = engine.run_batch

    def spy(plan, first, last):
        plans.append(plan)
        return original(plan, first, last)

    monkeypatch.setattr(engine, "run_batch", spy)
    result = run([design], m=3, k=3, tolerance=1e-12)
    draws = engine.replicate_draws(plans[0], 0, 3)
    outcomes = original(plans[0], 0, 3)[0]
    law = "gaussian" if definition == "zcdp" else "laplace"
    of_model = law if mechanism == "output" else "laplace"
    for i in range(3):
        theta, inside, length = replicate(
            X,
            y,
            draws.counts[i].astype(int),
            result.designs[0].theta_hat,
            setting,
            unit_model=draws.model[of_model][i],
            unit_hessian=draws.hessian[law, False][i],
            unit_covariance=draws.covariance[law, False][i],
        )
        np.testing.assert_allclose(outcomes.theta[i], theta, atol=1e-8)
        np.testing.assert_allclose(outcomes.length[i], length, atol=1e-8, rtol=1e-7)
        np.testing.assert_array_equal(outcomes.inside[i], inside)
    np.testing.assert_allclose(
        result.designs[0].theta_hat, paper.minimise(X, y, setting), atol=1e-4
    )


def test_the_noise_of_a_replicate_has_the_laws_of_the_mechanisms():
    plan = engine._Plan((_job(),), seed=3, n_coverage=400, tolerance=1e-8)
    draws = engine.replicate_draws(plan, 0, 400)
    p = draws.model["laplace"].shape[1]
    norms = np.linalg.norm(draws.model["laplace"], axis=1)
    assert abs(norms.mean() - p) < 4 * np.sqrt(p / 400)
    assert abs(draws.model["gaussian"].std() - 1) < 0.08
    for part in (draws.hessian, draws.covariance):
        for symmetric, dim in ((False, p * p), (True, p * (p + 1) // 2)):
            norms = np.linalg.norm(part["laplace", symmetric], axis=(1, 2))
            assert abs(norms.mean() - dim) < 4 * np.sqrt(dim / 400)
            assert abs(
                (part["gaussian", symmetric] ** 2).sum(axis=(1, 2)).mean() - dim
            ) < 4 * np.sqrt(2 * dim / 400)
    hessian, covariance = (
        part["gaussian", False].ravel() for part in (draws.hessian, draws.covariance)
    )
    assert abs(np.corrcoef(hessian, covariance)[0, 1]) < 0.07


def _job():
    X, y = simulated_table()
    design, _ = make_pair("pure", "objective", "logistic", n=50)
    table = engine._tables(as_table(y[:, None] * X), (design,))[design.loss, design.regularization]
    return engine._job(design, table, engine.model_noise(design), lambda loss: np.empty(0))


# --- invariance -----------------------------------------------------------------------------------


def everything() -> list[Design]:
    return [make_pair(*combination)[0] for combination in ALL]


def test_batches_and_workers_change_nothing(monkeypatch):
    base = arrays(run(everything()))
    np.testing.assert_array_equal(arrays(run(everything(), n_jobs=2)), base)
    monkeypatch.setattr(engine, "_BATCH_NUMBERS", 7 * 1500)
    np.testing.assert_array_equal(arrays(run(everything())), base)
    assert not np.array_equal(arrays(run(everything(), seed=6)), base)


def test_designs_do_not_disturb_each_other():
    together = run(everything())
    for design, found in zip(everything(), together.designs, strict=True):
        alone = run([design]).designs[0]
        np.testing.assert_array_equal(alone.coverage, found.coverage)
        np.testing.assert_array_equal(alone.vi_high, found.vi_high)


def test_other_backends_of_joblib_serve():
    from joblib import parallel_config

    base = arrays(run(everything()[:2]))
    with parallel_config(backend="loky"):
        np.testing.assert_array_equal(arrays(run(everything()[:2], n_jobs=2)), base)


def test_more_replicates_than_covered_ones_and_the_other_way_round():
    many, few = run(everything()[:1], m=80, k=20), run(everything()[:1], m=20, k=80)
    assert (many.n_done, many.n_covered) == (80, 20)
    assert (few.n_done, few.n_covered) == (20, 80)
    assert np.isfinite(arrays(many)).all()
    assert np.isfinite(arrays(few)).all()


# --- against the forecast -------------------------------------------------------------------------

K = 400


def tables():
    sets = [pytest.param("census", id="census")]
    for key in ("adult", "bank"):
        missing = not os.environ.get("DPCI_SHARED_DATA")
        sets.append(
            pytest.param(
                key, marks=pytest.mark.skipif(missing, reason="DPCI_SHARED_DATA is not set"), id=key
            )
        )
    return sets


@pytest.mark.parametrize("key", tables())
def test_the_forecast_holds_where_it_says_it_holds(key):
    encoding = "schema" if key == "census" else "paper"
    records = datasets.load(key, encoding=encoding, features=6, n_rows=20_000)
    budgets = {
        "pure": PureDP(model="0.5", hessian="0.25", covariance="0.25"),
        "zcdp": ZCDP(model="0.125", hessian="0.03125", covariance="0.03125"),
    }
    losses = {
        "logistic": Logistic(),
        "huber_svm": HuberSVM(h=1.0),
        "smoothed_hinge": SmoothedHinge(h=1.0),
    }
    designs = [
        Design(
            loss=losses[loss],
            mechanism=mechanism,
            budget=budgets[definition],
            regularization=1e-3,
            n_records=20_000,
            calibration="published",
        )
        for definition, mechanism, loss in ALL
    ]
    result = run_experiment(
        records.X,
        records.y,
        designs=designs,
        n_variability=2000,
        n_coverage=K,
        rng=np.random.default_rng(8),
        n_jobs=2,
    )
    for design, found in zip(designs, result.designs, strict=True):
        moments = fit_moments(
            records.X, records.y, loss=design.loss, regularization=design.regularization
        )
        expected = forecast(moments, design=design)
        assert expected.validity.grade == "valid"
        assert found.n_failed == 0
        slack = 3 * found.ci_length_mean_se
        assert (
            abs(found.ci_length_mean - expected.ci_length_mean)
            <= 0.02 * expected.ci_length_mean + slack
        )
        assert abs(found.vi_length_mean - expected.vi_length_mean) <= 0.05 * expected.vi_length_mean
        assert abs(found.coverage_mean - expected.coverage_mean) <= 3 * found.coverage_se + 0.007


@pytest.mark.parametrize("factor", [1 / np.sqrt(2), np.sqrt(2)])
def test_a_wrong_factor_root_two_is_seen(factor, monkeypatch):
    design, _ = make_pair("zcdp", "output", "logistic")
    moments = fit_moments(
        *simulated_table(), loss=design.loss, regularization=design.regularization
    )
    expected = forecast(moments, design=design)

    def agrees():
        found = run([design], m=K, k=K).designs[0]
        return abs(found.coverage_mean - expected.coverage_mean) <= 3 * found.coverage_se + 0.007

    assert agrees()
    original = engine._intervals

    def stretched(plan, job, draws, theta, moments, metric):
        _, _, length = original(plan, job, draws, theta, moments, metric)
        return theta, np.abs(theta - job.table.theta_hat) <= factor * length / 2, factor * length

    monkeypatch.setattr(engine, "_intervals", stretched)
    assert not agrees()


# --- errors, progress, cancel, files --------------------------------------------------------------


def test_standard_errors_describe_the_spread_over_seeds():
    design, _ = make_pair("pure", "output", "logistic")
    results = [run([design], m=200, k=100, seed=s).designs[0] for s in range(40)]
    for value, error in (
        ("coverage_mean", "coverage_se"),
        ("ci_length_mean", "ci_length_mean_se"),
        ("vi_length_mean", "vi_length_mean_se"),
    ):
        spread = np.std([getattr(r, value) for r in results], ddof=1)
        claimed = np.mean([getattr(r, error) for r in results])
        # The error of the mean VI length takes coefficients as moving together, so it may be up to
        # sqrt(p) too large.
        assert (
            0.6 * claimed / (np.sqrt(3) if value == "vi_length_mean" else 1)
            < spread
            < 1.5 * claimed
        )


def test_the_error_of_a_variability_length_is_that_of_normal_quantiles():
    design, _ = make_pair("pure", "output", "logistic")
    rng, m = np.random.default_rng(0), 800
    nothing = np.zeros((1, 1), dtype=bool)
    found = [
        summarise(
            design,
            theta_hat=np.zeros(1),
            theta=rng.normal(size=(m, 1)),
            inside=nothing,
            length=np.ones((1, 1)),
            n_failed=0,
        )
        for _ in range(400)
    ]
    spread = np.std([f.vi_length_mean for f in found], ddof=1)
    assert spread == pytest.approx(np.mean([f.vi_length_mean_se for f in found]), rel=0.15)


def test_a_failed_fit_is_a_miss(monkeypatch):
    design, _ = make_pair("pure", "objective", "logistic")
    original = engine.fit_replicates

    def lame(*args, **options):
        fits = original(*args, **options)
        broken = fits.converged.copy()
        broken[0] = False
        return dataclasses.replace(fits, converged=broken)

    monkeypatch.setattr(engine, "fit_replicates", lame)
    monkeypatch.setattr(engine, "_BATCH_NUMBERS", 10 * 1500)
    found = run([design], m=40, k=20).designs[0]
    assert found.n_failed == 4
    assert (found.coverage <= 0.9).all()
    assert np.isfinite(found.ci_length).all()
    assert np.isfinite(found.vi_high).all()


def test_progress_is_monotone_and_ends_at_the_total(monkeypatch):
    monkeypatch.setattr(engine, "_BATCH_NUMBERS", 8 * 1500)
    seen, threads = [], set()

    def progress(p):
        seen.append(p)
        threads.add(threading.get_ident())

    result = run(everything()[:2], progress=progress, n_jobs=2)
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert seen[-1].done == seen[-1].total == 60
    assert seen[-1].seconds_left == 0
    assert len(seen[0].coverage_so_far) == len(seen[0].se) == 2
    assert seen[-1].coverage_so_far[0] == pytest.approx(result.designs[0].coverage_mean)
    assert seen[-1].se[0] == pytest.approx(result.designs[0].coverage_se)
    assert len(threads) == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cancel_from_another_thread_is_prompt_and_keeps_what_is_done(n_jobs):
    stop, done = threading.Event(), []

    def progress(p):
        done.append(p.done)
        if len(done) == 2:
            stop.set()

    started = time.monotonic()
    result = run(
        everything()[:1],
        m=50_000_000,
        k=200,
        progress=progress,
        should_stop=stop.is_set,
        n_jobs=n_jobs,
    )
    assert time.monotonic() - started < 60
    assert 0 < result.n_done < 10_000
    assert np.isfinite(result.designs[0].vi_high).all()


def test_stopped_before_anything_was_done():
    result = run(everything()[:1], should_stop=lambda: True)
    assert result.n_done == result.n_covered == 0
    assert np.isnan(result.designs[0].coverage).all()
    json.dumps(result.to_record(), allow_nan=False)


def test_a_result_survives_a_file():
    result = run(everything())
    text = json.dumps(result.to_record(), allow_nan=False)
    again = ExperimentResult.from_record(json.loads(text))
    np.testing.assert_array_equal(arrays(again), arrays(result))
    assert [d.design for d in again.designs] == everything()
    assert again.seed == result.seed
    assert json.dumps(again.to_record()) == text


@pytest.fixture(scope="module")
def whole():
    return run(everything()[:1], m=4, k=4).to_record()


@pytest.mark.parametrize(
    "break_it",
    [
        lambda r: r.pop("designs"),
        lambda r: r.update(format=99),
        lambda r: r["designs"][0].pop("budget"),
        lambda r: r.update(n_done=math.inf),
        lambda r: r.update(n_covered=-5),
        lambda r: r.update(seconds="nan"),
        lambda r: r["designs"][0].update(coverage=[0.9]),
        lambda r: r["designs"][0].update(coverage="0"),
        lambda r: r["designs"][0].update(coverage=[7] * len(r["designs"][0]["coverage"])),
        lambda r: r["designs"][0].update(ci_length=[10**400] * len(r["designs"][0]["coverage"])),
        lambda r: r["designs"][0].update(ci_length=[0.1] * 500),
        lambda r: r["designs"][0].update(coverage_mean=7),
        lambda r: r["designs"][0].update(vi_length_mean=-1),
    ],
)
def test_a_broken_file_is_refused(break_it, whole):
    record = copy.deepcopy(whole)
    break_it(record)
    with pytest.raises(ValueError, match="Expected"):
        ExperimentResult.from_record(record)


def test_wrong_input_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(engine, "_tables", lambda *_: pytest.fail("work began"))
    good = everything()[0]
    few = dataclasses.replace(good, n_records=3)
    for change in ({"designs": []}, {"m": 0}, {"k": -1}, {"designs": [good, few]}):
        with pytest.raises(ValueError, match="Expected"):
            run(**{"designs": [good], **change})
    with pytest.raises(InfeasibleDesignError, match="n_records=3"):
        run([few])
    with refuses(ValueError, match="norm at most 1"):
        run_experiment(np.ones((3, 2)), np.ones(3), designs=[good], rng=np.random.default_rng(0))


def test_memory_does_not_grow_with_the_replicates():
    import tracemalloc

    def peak(m):
        tracemalloc.start()
        run(everything()[:2], m=m, k=10)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(100)
    # What is kept of a replicate is p numbers per design.
    assert peak(3000) - peak(1000) < 2000 * 2 * 3 * 8 * 4
