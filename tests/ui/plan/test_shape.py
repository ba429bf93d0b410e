"""Noise shaped like the data on the page Plan: what the switch does to the plan, to its file, to
links, and back again.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from dpci_core import Plan, PublicTable, fit_moments, forecast, read_plan
from dpci_core.design import Geometry
from dpci_core.mechanisms.shares import share_out
from dpci_core.plan import as_yaml
from dpci_core.plan.link import pack
from tests.ui.plan.test_page import words
from tests.ui.test_pages import check, now, start
from ui.plan import options
from ui.release.words import PRICED, plan_words
from ui.session import text
from ui.session.budget import Split
from ui.session.case import make_case
from ui.session.compute import PUBLIC, TableSource
from ui.session.plan_settings import plan_of, settings_of
from ui.session.settings import Settings, from_query

SOURCE = TableSource(PUBLIC)
EVEN = Settings(
    d=5,
    n=8_000,
    definitions=("zcdp",),
    mechanisms=("objective",),
    currency="zcdp",
    split=Split(Decimal("0.2"), (Decimal("0.12"), Decimal("0.04"), Decimal("0.04"))),
)
SHAPED = replace(EVEN, shape="released")
LINK = {"d": "5", "n": "8000", "currency": "zcdp", "mechanisms": "objective", "definitions": "zcdp"}


pytestmark = pytest.mark.usefixtures("patient")


def test_a_shaped_plan_is_shorter_at_the_same_total_and_its_file_comes_back():
    case, even = make_case(SHAPED, SOURCE), make_case(EVEN, SOURCE)
    design = case.design
    assert design.geometry is not None
    assert design.budget.metric > 0
    assert design.budget.total == even.design.budget.total == Decimal("0.2")
    length = options.described(case).length
    assert length < 0.95 * options.described(even).length
    plan = read_plan(as_yaml(plan_of(case, "Shaped")))
    assert plan.design == design
    assert plan.numbers(case.moments).ci_length_mean == pytest.approx(length, rel=1e-9)
    opened = settings_of(plan)
    assert opened.shape == "released"
    again = make_case(opened, SOURCE)
    assert again.is_opened
    assert again.design == design
    assert options.described(again).length == length
    assert plan_of(again, "Shaped").digest == plan.digest


def test_the_switch_and_an_opened_shape_are_in_the_link():
    for settings in (SHAPED, settings_of(plan_of(make_case(SHAPED, SOURCE), "A"))):
        assert from_query(settings.to_query()) == (settings, ())
    assert "opened" not in SHAPED.to_query()
    assert not {"shape", "opened"} & set(EVEN.to_query())
    for bad in ("x", "1.AAAA", pack({"of": "a"}), pack({"of": "a", "parts": ["1e-99999999"] * 4})):
        settings, refused = from_query({**LINK, "shape": "released", "opened": bad})
        assert refused == ("opened",)
        assert settings.opened == ""


def test_a_double_change_and_back_restores_every_number():
    def seen(settings):
        case = make_case(settings, SOURCE)
        found = options.described(case)
        return repr(case.design), found.length, found.probability, found.as_if

    before = seen(EVEN)
    first = seen(SHAPED)
    moved = replace(SHAPED, c=0.004).swept("total", 0.5)
    other = seen(moved)
    assert other != first
    assert seen(replace(moved.swept("total", 0.2), c=0.001, split=EVEN.split)) == first
    assert seen(replace(SHAPED, shape="declared")) == before


def test_an_opened_shape_stays_through_changes_of_the_design_and_no_further():
    geometry = Geometry(ridge=0.03, leverage=9.0)
    budget = replace(EVEN.budget("zcdp"), model="0.11", metric="0.01")
    design = replace(EVEN.design(EVEN.combinations[0]), budget=budget, geometry=geometry)
    plan = Plan(
        title="By hand",
        source=PublicTable(key="census"),
        features=5,
        design=replace(design, n_records=8_000),
        delta=Decimal("1e-6"),
    )
    opened = settings_of(plan)
    assert make_case(opened, SOURCE).design == design
    moved = make_case(opened.swept("total", 0.4), SOURCE).design
    assert moved.geometry == geometry
    assert moved.budget.total == Decimal("0.4")
    assert float(moved.budget.metric) == pytest.approx(0.02, rel=1e-12)
    back = opened.swept("total", 0.4).swept("total", 0.2)
    assert make_case(back, SOURCE).design == design
    assert make_case(replace(opened, d=4), SOURCE).design.geometry != geometry
    assert make_case(replace(opened, shape="declared"), SOURCE).design.geometry is None
    assert make_case(replace(opened, mechanisms=("output",)), SOURCE).design.geometry is None


def test_what_the_page_cannot_show_is_refused_in_words():
    plan = plan_of(make_case(SHAPED, SOURCE), "Shaped")
    reviewed = replace(EVEN, results="reviewed").design(EVEN.combinations[0])
    mixed = replace(plan, design=replace(plan.design, calibration=reviewed.calibration))
    with pytest.raises(ValueError, match="peer-reviewed results only"):
        settings_of(mixed)


def test_the_metric_is_planned_anew_at_every_point_of_the_map():
    case = make_case(SHAPED, SOURCE)
    design, moments = case.at(Decimal("2"), 200_000)
    there = make_case(replace(SHAPED.swept("total", 2.0), n=200_000), SOURCE)
    assert design.geometry == there.design.geometry
    for name in ("model", "hessian", "covariance", "metric"):
        mine, other = (float(getattr(d.budget, name)) for d in (design, there.design))
        assert mine == pytest.approx(other, rel=1e-3)
    assert moments is case.plain
    assert case.at(Decimal("0.001"), 300)[0].geometry is None


def test_the_least_budget_is_less_and_meets_the_goal_where_it_is_used():
    settings = replace(SHAPED, goal_length=0.6)
    least = options.Designs(make_case(settings, SOURCE), SOURCE).answer("budget")
    even = make_case(replace(settings, shape="declared"), SOURCE)
    assert least.works
    assert least.typed < options.Designs(even, SOURCE).answer("budget").typed
    used = options.adopted(settings, least)
    case = make_case(used, SOURCE)
    assert options.described(case).length == least.length
    assert case.design.geometry is not None


def test_a_small_level_widens_the_leverage_or_leaves_noise_even():
    case = make_case(SHAPED, SOURCE)
    plain = fit_moments(case.records.X, case.records.y, loss=case.design.loss, regularization=0.001)
    gap = np.abs(case.moments.theta_hat - plain.theta_hat)
    made = forecast(case.moments, design=replace(case.design, n_records=8_000))
    assert (2.0 * gap / made.ci_length).max() <= 0.05


def test_the_switch_on_the_page_shows_the_shape_and_takes_it_back():
    app = start("plan", step="choose", **LINK)
    before = words(app)
    app.radio(key="shape").set_value("released").run()
    check(app)
    case = make_case(now(app), SOURCE)
    assert case.design.geometry is not None
    assert text.noise_sentence(case.design) in words(app)
    assert text.HOW_SHAPED in words(app)
    app.radio(key="shape").set_value("declared").run()
    check(app)
    assert words(app) == before


def test_approve_tells_the_shape_in_a_sentence():
    app = start("plan", step="approve", shape="released", **LINK)
    case = make_case(now(app), SOURCE)
    assert case.design.geometry is not None
    assert text.unbroken(text.noise_sentence(case.design)) in text.unbroken(words(app))
    assert text.unbroken(text.covers_of(case.design)) in text.unbroken(words(app))


def test_the_release_tells_the_shape_and_names_what_it_pays_for_it():
    case = make_case(SHAPED, SOURCE)
    plan = plan_of(case, "Shaped")
    assert text.noise_sentence(plan.design) in plan_words(plan)
    assert set(dict(share_out(plan.design).lines)) <= set(PRICED)
    assert "shaped" not in plan_words(plan_of(make_case(EVEN, SOURCE), "Even"))


def test_output_perturbation_has_no_switch_and_no_shape(hasty):
    app = start("plan", step="choose", shape="released", **{**LINK, "mechanisms": "output"})
    assert not [r for r in app.radio if r.key == "shape"]
    assert make_case(now(app), SOURCE).design.geometry is None
    assert "weighted down" not in words(app)


def test_where_no_shape_is_shorter_the_page_says_so(hasty):
    poor = replace(SHAPED, n=300).swept("total", 0.001)
    assert make_case(poor, SOURCE).design.geometry is None
    app = start("plan", step="choose", **poor.to_query())
    assert text.NO_SHAPE in words(app)


def test_a_shape_that_was_opened_can_be_planned_anew(hasty):
    opened = settings_of(plan_of(make_case(SHAPED, SOURCE), "A"))
    app = start("plan", step="choose", **opened.to_query())
    assert text.OPENED_SHAPE in words(app)
    app.button(key="shape_anew").click().run()
    check(app)
    assert now(app).opened == ""
    assert text.HOW_SHAPED in words(app)
