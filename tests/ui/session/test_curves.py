"""Curves over the range of a control: kept for every place where the control may stand, and the
same as made there.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from dpci_core import Forecast, forecast
from dpci_core.report.cautions import COVERAGE_SLACK
from ui.kit import warm
from ui.kit.warm import settle
from ui.session import compute
from ui.session.budget import from_shares
from ui.session.results import NONE_REPORTED
from ui.session.settings import START, Settings

BASE = Settings(d=3, mechanisms=("objective",), losses=("huber_svm",))
MOVED = {
    "total": replace(BASE, split=from_shares(Decimal("2.345"))),
    "n": replace(BASE, n=12_345),
    "c": replace(BASE, c=0.02),
    "h": replace(BASE, h=2.5),
}


@pytest.mark.parametrize("name", MOVED)
def test_curves_do_not_depend_on_where_the_swept_control_stands(name):
    assert compute.free_of(MOVED[name], name) == compute.free_of(BASE, name)
    source = compute.TableSource(compute.PUBLIC)
    for kept, made in zip(
        compute.sweep(compute.free_of(MOVED[name], name), source, name, 36),
        compute.sweep(MOVED[name], source, name, 36),
        strict=True,
    ):
        np.testing.assert_allclose(kept.ci_length, made.ci_length, rtol=1e-12)
        assert kept.grades == made.grades


@pytest.mark.parametrize("name", [*MOVED, "model", "d"])
def test_curves_depend_on_every_other_setting(name):
    changed = {
        "n": {"n": 777},
        "c": {"c": 0.03},
        "h": {"h": 3.0},
        "level": {"level": 0.9},
        "target": {"target": "unpenalised"},
        "calibrations": {"calibrations": ("published",)},
        "shares": {
            "split": from_shares(Decimal(1), (Decimal("0.6"), Decimal("0.2"), Decimal("0.2")))
        },
    }
    for other, change in changed.items():
        if other != name:
            assert compute.free_of(replace(BASE, **change), name) != compute.free_of(BASE, name), (
                other
            )
    shown = {"units": "odds", "goal": "zero", "goal_length": 0.1}
    assert compute.free_of(replace(BASE, **shown), name) == compute.free_of(BASE, name)


def test_linear_algebra_stays_in_one_thread(monkeypatch):
    # a page of an earlier test may have seen them all
    monkeypatch.setattr(warm, "_modules_seen", 0)
    other = threading.Thread(target=threadpool_limits, args=(2, "blas"))  # a live one keeps the say
    other.start()
    other.join()
    settle()
    assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}


@pytest.mark.parametrize("asked", [START, replace(BASE, level=0.95)], ids=["effects", "penalised"])
@pytest.mark.parametrize("name", ["n", "c"])
def test_a_length_counts_only_where_intervals_keep_their_promise(monkeypatch, asked, name):
    """Else it may lie below the variability interval, than which none that does is shorter."""
    found: list[Forecast] = []

    def kept(*args, **more):
        found.append(forecast(*args, **more))
        return found[-1]

    monkeypatch.setattr(compute, "forecast", kept)
    (curve,) = compute.sweep(asked, compute.TableSource(compute.PUBLIC), name, 36)
    skipped = len(curve.x) - len(found)
    is_any_lost = False
    for at, made in enumerate(found, start=skipped):
        effects = slice(None) if asked.is_penalised else slice(-1)  # without the constant
        is_lost, level = made.is_not_reportable[effects], asked.level - COVERAGE_SLACK
        is_kept = not is_lost.any() and made.coverage[effects].mean() >= level
        assert curve.is_firm[at] == (is_kept and made.validity.grade == "valid")
        assert (curve.grades[at] == NONE_REPORTED) == is_lost.all()
        assert not (is_lost.all() and np.isfinite(curve.ci_length[at]))
        is_any_lost |= is_lost.all()
    assert is_any_lost == (asked is START)
    firm = curve.is_firm
    assert (curve.ci_length[firm] > 0.95 * curve.vi_length[firm]).all()  # one point of coverage
    assert firm.any()
    assert not firm.all()
