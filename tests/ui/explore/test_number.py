"""Explore where the outcome is a number: what it draws is the forecast of the plan's regression."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpci_core.plan import LinearPlan
from dpci_core.planner.worlds import foreseen
from dpci_core.regression.forecast import LinearForecast
from dpci_core.schema import to_original
from tests.ui.test_pages import check, now, picture_of, start, visit
from ui.controls import currency, declare
from ui.controls.sidebar import dataset_words
from ui.explore import finding, number
from ui.session import text
from ui.session.case import plan_of_number
from ui.session.compute import declared_table, packed_table
from ui.session.settings import START, for_outcome


def opened(**query: str):
    """The front page after one click."""
    app = visit("front", **query)
    app.segmented_control(key="outcome").set_value("number").run()
    check(app)
    return app


def forecast_of(settings) -> LinearForecast:
    """Made here, from the plan that a link to these settings is."""
    plan = LinearPlan(
        title="Pressure",
        source=declared_table(settings.declared),
        design=settings.linear_design,
        delta=settings.delta,
    )
    L = to_original(plan.schema, plan.features)
    steps = [10.0, 1.0, 1.0, 5.0, 1.0, 1.0]
    made = foreseen(plan.worlds()[0].moments, design=plan.design, contrasts=np.diag(steps) @ L)
    assert isinstance(made, LinearForecast)
    return made


def declared_forecast(settings) -> LinearForecast:
    """The same, columns on one scale."""
    plan, records = plan_of_number(settings)
    made = foreseen(plan.moments_of(records), design=plan.design, n_draws=16)
    assert isinstance(made, LinearForecast)
    return made


def test_one_click_draws_differences_in_units_of_the_outcome():
    app = opened()
    settings = now(app)
    assert settings.outcome is not None
    assert settings == for_outcome(settings)
    drawn, made = picture_of(app), forecast_of(settings)
    cost = np.exp(np.log(made.ci_length / made.nonprivate_length)[:-1].mean())
    assert drawn["title"] == f"Privacy makes intervals {cost:.2f} times as long on average"
    assert "differences in mmHg" in drawn["sub"]
    assert drawn["rightTitle"] == "÷ without privacy"
    ends = [(low, high) for _, low, high, style in drawn["bars"] if style == 1]
    lengths = [high - low for low, high in ends]
    np.testing.assert_allclose(lengths, made.ci_length[:-1], rtol=1e-6)
    middles = [(low + high) / 2 for low, high in ends]
    np.testing.assert_allclose(middles, made.estimate[:-1], rtol=1e-6)
    np.testing.assert_allclose(middles, [4.0, 3.0, 2.0, 4.0, -5.0], atol=1.0)


@pytest.mark.parametrize("tab", ["total", "n"])
def test_lengths_along_budget_and_records_fall(tab):
    app = opened()
    app.segmented_control(key="number_tab").set_value(tab).run()
    check(app)
    drawn = picture_of(app)
    assert "would make intervals" in drawn["title"]
    shortest, plain = ([y for _, y in _points(drawn, style)] for style in (3, 0))
    assert len(shortest) == len(plain) == 25
    told = [y for x, y in _points(drawn, 3) if x in dict(_points(drawn, 1))]
    assert told == sorted(told, reverse=True)
    assert all(without <= length for without, length in zip(plain, shortest, strict=True))
    if tab == "total":  # no noise is in it
        assert len(set(plain)) == 1
    else:
        x = [at for at, _ in _points(drawn, 0)]
        assert plain == pytest.approx([plain[0] * np.sqrt(x[0] / n) for n in x])
        made = declared_forecast(now(app)).nonprivate_length[:-1].mean()
        assert np.interp(np.log(now(app).n), np.log(x), np.log(plain)) == pytest.approx(
            np.log(made), abs=1e-3
        )
    private = dict(_points(drawn, 1))
    spread = dict(_points(drawn, 3))
    assert len(private) > 15
    assert all(0.97 * spread[x] < length < 1.5 * spread[x] for x, length in private.items())


def _points(drawn: dict, style: int) -> list[list[float]]:
    (found,) = (line["points"] for line in drawn["lines"] if line["style"] == style)
    return [point for point in found if point]


def test_the_table_has_the_same_numbers():
    app = opened()
    app.segmented_control(key="number_tab").set_value("table").run()
    check(app)
    (frame,) = app.dataframe
    shown = frame.value
    made = forecast_of(now(app))
    np.testing.assert_allclose(shown["private length"], made.ci_length)
    np.testing.assert_allclose(shown["forecast coverage"], made.coverage)


def test_sliders_move_it_and_there_is_no_penalty_to_set():
    app = opened()
    before = picture_of(app)["title"]
    app.text_input(key="total_number").set_value("0.2").run()
    check(app)
    assert picture_of(app)["title"] != before
    assert "c_number" not in [widget.key for widget in app.text_input]
    app.text_input(key="linear_steps").set_value("4").run()
    check(app)
    assert now(app).linear_design.steps == 4


def test_where_nothing_can_be_reported_it_says_so():
    app = opened()
    app.text_input(key="n_number").set_value("100").run()
    app.text_input(key="total_number").set_value("0.05").run()
    check(app)
    drawn = picture_of(app)
    assert drawn["title"] == "At these settings no effect can be reported"
    assert "Not reportable" in str(drawn["remarks"])


def test_a_link_opens_it_and_a_pure_epsilon_is_refused_with_a_way_out():
    query = now(opened()).to_query()
    assert picture_of(visit("front", **query))["title"].startswith("Privacy makes intervals 1.")
    kept = {k: v for k, v in query.items() if k not in ("currency", "epsilon", "delta", "split")}
    with pytest.raises(AssertionError):  # an error stands on the page
        start("explore", **kept, currency="pure")


def test_a_link_to_a_number_goes_back_to_the_census_and_undo_takes_it_back():
    query = now(opened()).to_query()
    app = visit("front", **query)
    app.segmented_control(key="outcome").set_value("codes").run()
    check(app)
    settings = now(app)
    assert (settings.dataset, settings.names, settings.target) == (
        START.dataset,
        START.names,
        START.target,
    )
    shares = [settings.split.share(k) for k in range(3)]
    assert shares == pytest.approx([START.split.share(k) for k in range(3)], abs=1e-3)
    app.button(key="undo").click().run()
    check(app)
    assert now(app).outcome is not None


def test_a_table_of_one_s_own_is_taken_over():
    table = declare.example_of_a_number()
    outcome = replace(table.schema.outcome, name="stay", units="days")
    own = replace(table, schema=replace(table.schema, outcome=outcome, target="", positive=""))
    query = now(opened()).to_query()
    drawn = picture_of(visit("front", **(query | {"declared": packed_table(own)})))
    assert "differences in days" in drawn["sub"]


def test_both_examples_are_said_to_be_examples():
    for table in (declare.example(), declare.example_of_a_number()):
        assert declare.is_example(table)
    assert number.TABS.keys() <= {"intervals", "total", "n", "table"}


def test_what_moves_with_the_slider_is_the_forecast_of_every_total():
    view = number._view(now(opened()))
    moving = number._moving(view)
    grid = currency.total_grid(view.settings)
    assert len(moving["words"]) == len(moving["frames"]) == len(grid)
    place = grid.index(view.settings.typed_total)
    assert moving["words"][place]["title"].startswith("Privacy makes intervals 1.1")
    is_private = [kind == 1 for _, kind in moving["places"]]
    ends = np.array(moving["frames"][place]["ends"], dtype=float).reshape(-1, 2)
    lengths = (ends[:, 1] - ends[:, 0])[is_private]
    np.testing.assert_allclose(lengths, view.made.length[:-1], rtol=0.05)
    plain = [frame["ends"] for frame in moving["frames"]]
    at = [k for k, (_, kind) in enumerate(moving["places"]) if kind == 0]
    first, last = ([one[2 * k] for k in at] for one in (plain[place], plain[-1]))
    assert first == pytest.approx(last, rel=1e-3)  # without privacy nothing moves


def test_both_kinds_of_outcome_are_gone_back_to_as_they_were_left():
    app = opened()
    assert "differences in mmHg" in picture_of(app)["sub"]
    app.text_input(key="total_number").set_value("2.0").run()
    left = now(app)
    app.segmented_control(key="outcome").set_value("codes").run()
    check(app)
    assert now(app) == START
    app.segmented_control(key="outcome").set_value("number").run()
    check(app)
    assert now(app) == left


def test_units_stand_on_the_chart_as_they_were_typed():
    table = declare.example_of_a_number()
    outcome = replace(table.schema.outcome, units="$/day^2 (m*s_1)")
    own = replace(table, schema=replace(table.schema, outcome=outcome, target="", positive=""))
    query = now(opened()).to_query() | {"declared": packed_table(own)}
    assert picture_of(visit("front", **query))["sub"].endswith("differences in $/day^2 (m*s_1)")


def test_its_budget_is_told_in_plain_terms_and_counted_behind_a_click():
    """Until a table is described nobody has described one."""
    app = opened()
    settings = now(app)
    said = finding.odds(settings)
    assert said.startswith("Differential privacy: of 100 people whose record is in the table")
    assert "ρ" not in said
    assert any("of 100 people" in one.proto.body for one in app.get("html"))
    counted = " ".join(one.value for one in app.markdown)
    assert "ρ = 0.0244 means (ε = 1, δ = 1e-6)" in counted
    assert "The noise of a linear regression is exactly Gaussian" in counted
    assert "output perturbation is exactly" not in text.budget_sentence(settings)
    spent = settings.linear_design.budget
    assert f"buys it ρ = {float(spent.as_rho(spent.total)):.3g}." in counted
    assert dataset_words(settings) == "Made-up patients"
    table = declare.example_of_a_number()
    own = declare.with_table(settings, replace(table, unit="one visit"))
    assert dataset_words(own) == "A table you describe"


def test_the_split_is_told_in_plain_words_with_the_field_s_names_behind_them():
    for app, names in (
        (opened(), ("steps", "second moment", "gradient covariance")),
        (visit("front"), ("coefficients", "Hessian", "gradient covariance")),
    ):
        (line,) = (one for one in app.markdown if one.value.startswith("**Budget split**"))
        assert "standard errors" in line.value
        assert not [name for name in names if name in line.value]
        assert all(name in line.help for name in names)
    app.segmented_control(key="terms").set_value("paper").run()
    (line,) = (one for one in app.markdown if one.value.startswith("**Budget split**"))
    assert all(name in line.value for name in names)
