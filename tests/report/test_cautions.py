"""Warnings and the words for what is covered: the same wherever a design is shown."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpci_core import Forecast, PureDP, fit_moments, forecast
from dpci_core.plan import shrinkage_of
from dpci_core.report.cautions import (
    LEAST_LEFT,
    Caution,
    cautions,
    gravest,
    not_reportable,
    reach,
    sentences,
    stopping,
)
from dpci_core.report.covered import covered, transformations
from dpci_core.schema import NumericColumn, Schema, StandardEncoding
from tests.plan_examples import PLANS, a_design, a_plan

NAMES = ("age", "home", "constant")


def foreseen(**changes: object) -> Forecast:
    """A forecast against which nothing speaks, but for the changes."""
    records = a_plan().records()
    design = a_design(budget=PureDP(model=50, hessian=25, covariance=25))
    moments = fit_moments(records.X, records.y, loss=design.loss, regularization=0.01)
    made = forecast(moments, design=replace(design, n_records=1_000_000))
    plain = {"coverage": np.full(3, 0.95), "is_not_reportable": np.zeros(3, dtype=np.bool_)}
    return replace(made, **(plain | changes))


def cautioned(found: Forecast, **others: object) -> tuple[Caution, ...]:
    return cautions(found, design=found.design, names=NAMES, **others)  # type: ignore[arg-type]


def said(found: Forecast, **others: object) -> tuple[str, ...]:
    return sentences(cautioned(found, **others))


def test_nothing_is_said_where_nothing_speaks_against_it() -> None:
    assert said(foreseen()) == ()
    assert said(foreseen(), shrinkage=LEAST_LEFT) == ()


def test_each_reason_has_its_sentence() -> None:
    lost = np.array([True, False, False])
    assert said(foreseen(is_not_reportable=lost)) == (not_reportable(["age"]),)
    short = np.array([0.91, 0.939, 0.941])
    assert said(foreseen(coverage=short)) == (
        "The intervals of age, home promise too much: they say 95 % and cover at worst 91.0 %.",
    )
    both = said(foreseen(coverage=short, is_not_reportable=lost))
    # the other is not spoken of at all
    assert both[1] == "The interval of home promises too much: it says 95 % and covers 93.9 %."
    promised = SimpleNamespace(worlds=("a", "b"), chance=np.ones(3), decided_by=("a",) * 3,
                               reportable=3, about=None)  # fmt: skip
    (words,) = said(foreseen(coverage=short), promised=promised)
    assert words.startswith("If the table is as described, the intervals of age, home promise")
    promised.worlds = ("a",)
    assert said(foreseen(coverage=short), promised=promised)[0].startswith("The intervals of age")
    (words,) = said(foreseen(), shrinkage=0.3)
    assert "penalised at c = 0.01, typically shrunk to about 30 %" in words


def test_a_useless_and_a_rough_forecast_speak_for_themselves() -> None:
    made = foreseen()
    useless = replace(made, usefulness=replace(made.usefulness, half_width=99.0, privacy_share=0.9))
    assert said(useless) == (useless.usefulness.sentence,)
    rough = replace(made, validity=replace(made.validity, exceeded=(("r1", 300.0),), r1=400.0))
    assert said(rough) == rough.validity.reasons


def test_the_gravest_come_first_and_only_they_are_asked_about() -> None:
    some, every = np.array([True, False, False]), np.ones(3, dtype=np.bool_)
    made = foreseen(is_not_reportable=some, coverage=np.array([0.95, 0.89, 0.95]))
    found = cautioned(made, shrinkage=0.7)
    assert [one.gravity for one in found] == ["stops", "weigh", "know"]
    assert stopping(found) == gravest(found)[0] == found[:1]
    assert "promises too much" in found[0].sentence  # twice as many misses as promised, and more
    assert gravest(found)[1] == found[1:]
    assert gravest(()) == ((), ())
    (lost,) = cautioned(foreseen(is_not_reportable=every))
    assert lost.gravity == "stops"
    promised = SimpleNamespace(worlds=("a",), chance=np.array([0.0, 1.0]), decided_by=("a", "a"),
                               reportable=1, about=0)  # fmt: skip
    (goal,) = cautioned(foreseen(is_not_reportable=some), promised=promised)
    assert goal.gravity == "stops"
    promised.about = 1
    (other,) = cautioned(foreseen(is_not_reportable=some), promised=promised)
    assert other.gravity == "weigh"
    (shrunk,) = cautioned(foreseen(), shrinkage=0.4)
    assert shrunk.gravity == "weigh"
    validity = replace(made.validity, exceeded=(("r1", 300.0),), r1=2000.0)
    for grade, gravity in (("rough", "weigh"), ("unusable", "stops")):
        (one,) = cautioned(foreseen(validity=replace(validity, grade=grade)))
        assert one.gravity == gravity


def test_a_target_without_penalty_is_not_shrunken() -> None:
    made = foreseen()
    design = replace(made.design, target="unpenalised")
    assert cautions(made, design=design, names=NAMES, shrinkage=0.1) == ()
    assert covered(design, 0.1) == "coefficient without penalty"
    assert covered(made.design) == "coefficient penalised at c = 0.01"


def test_shrinkage_is_what_the_penalty_leaves() -> None:
    found = [a_plan(design=a_design(regularization=c)).numbers().shrinkage for c in (1e-6, 0.01, 1)]
    assert found[0] == pytest.approx(1.0, abs=0.01)
    assert found[0] > found[1] > found[2] > 0.0  # type: ignore[operator]


def test_one_large_effect_does_not_decide_what_the_penalty_leaves() -> None:
    records = a_plan().records()
    design = a_design()
    fitted = fit_moments(
        records.X, records.y, loss=design.loss, regularization=0.01, target="unpenalised"
    )
    assert fitted.unpenalised_fit is not None
    full = np.array([1.0, -2.0, 100.0, 0.0, 3.0])
    made = replace(
        fitted,
        theta_hat=full * np.array([0.54, 0.28, 0.02, 1.0, 1.0]),
        unpenalised_fit=replace(fitted.unpenalised_fit, unweighted=full),
    )
    assert shrinkage_of(made) == pytest.approx(0.28)


def test_transformations_are_named() -> None:
    assert transformations(a_plan().schema.transformations) == (
        "Missing cells count as declared: owns home as 1. A record with another missing cell "
        "counts for nothing; the plan expects all of the records to be complete.",
    )
    schema = Schema(
        (
            NumericColumn("age", 18, 98, typical=60, spread=15),
            NumericColumn("income", 0, 1e6, typical=30_000, spread=20_000),
            NumericColumn("cost", 1, 1e6, typical=1000, spread=3, transform="log", limit=3),
        ),
        "ill",
        "yes",
        standard=StandardEncoding(shape=3.5),
        complete=0.9,
    )
    assert transformations(schema.transformations) == (
        "cost: the logarithm is taken.",
        "Values of cost beyond 3 spreads from the typical count as that far.",
        "Values of income beyond 4 spreads from the typical count as that far.",
        "Rows longer than 3.5 spreads count less.",
        "A record with a missing cell counts for nothing; the plan expects 90 % of the records to "
        "be complete.",
    )


def test_many_names_are_cut() -> None:
    assert not_reportable([f"x{j}" for j in range(9)]).endswith("x4, x5 and 3 more.")


@pytest.mark.parametrize("name", ["public standard", "twin standard"])
def test_numbers_and_forecast_say_the_same(name: str) -> None:
    plan = PLANS[name]
    found, moments = plan.numbers(), plan.moments()
    made = forecast(moments, design=replace(plan.design, n_records=plan.n_records))
    others = {"design": plan.design, "names": plan.names}
    made = replace(made, is_not_reportable=made.is_not_reportable | found.is_not_reportable)
    assert set(cautions(made, **others)) <= set(cautions(found, **others))
    assert set(found.not_reportable) == {
        name for name, lost in zip(plan.names, made.is_not_reportable, strict=True) if lost
    }


def test_one_coefficient_is_one() -> None:
    promised = SimpleNamespace(chance=(1.0,), worlds=("planned",), reportable=1)
    assert reach(promised, 900).startswith("1 of 1 coefficient can be reported, even if only 900")  # type: ignore[arg-type]
