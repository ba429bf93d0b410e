"""Settings and plans are two forms of one thing."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from dpci_core import ZCDP, ApproxDP, Calibration, PublicTable, datasets, read_plan
from dpci_core.plan import as_json, as_yaml
from tests.ui.test_pages import check, now, start
from ui.controls import declare, plan_file
from ui.session.budget import from_shares
from ui.session.case import Case, make_case
from ui.session.compute import DECLARED, PUBLIC, TableSource, packed_table, standard_of
from ui.session.plan_settings import plan_of, settings_of
from ui.session.settings import Settings

SOME = [
    Settings(d=3),
    Settings(
        names=("age", "sex=Male"),
        losses=("huber_svm",),
        h=0.5,
        mechanisms=("output",),
        level=0.9,
        n=12_345,
    ),
    Settings(
        d=4,
        currency="zcdp",
        definitions=("zcdp",),
        delta="1e-8",
        split=from_shares(Decimal("0.123")),
    ),
    Settings(d=4, calibrations=("published",), target="unpenalised", c=0.0123),
    Settings(
        d=4,
        currency="zcdp",
        definitions=("zcdp",),
        results="reviewed",
        split=from_shares(Decimal("0.1")),
    ),
    Settings(dataset=DECLARED, declared=packed_table(declare.example()), d=5, goal="all"),
    Settings(d=3, goal="all", goal_length=0.3, goal_chance=0.8, losses=("huber_svm",)),
    Settings(d=3, goal="zero", goal_on="age", goal_value=-0.01, goal_chance=0.9),
    Settings(d=3, goal_on="constant", goal_length=0.7, goal_chance=0.8),
    Settings(
        dataset=DECLARED,
        declared=packed_table(declare.example()),
        d=5,
        goal_on="smoker=yes",
        goal_length=0.3,
    ),
]


def case_of(settings: Settings) -> Case:
    return make_case(settings, TableSource(PUBLIC))


@pytest.mark.parametrize("settings", SOME, ids=range(len(SOME)))
def test_settings_come_back_from_their_plan_and_its_file(settings):
    case = case_of(settings)
    plan = plan_of(case, "Title", "Notes")
    for text in (as_yaml(plan), as_json(plan)):
        again = settings_of(read_plan(text))
        target = replace(
            again,
            goal_length=settings.goal_length,
            goal_value=settings.goal_value,
        )
        expected = case.settings
        if expected.goal != "length" and expected.losses == ("logistic",):
            assert again.goal_value == pytest.approx(expected.goal_value, rel=1e-12)
        h = expected.h if expected.losses == ("huber_svm",) else Settings().h
        assert target == replace(expected, h=h, d=len(expected.names) or expected.d)
        assert case_of(again).target.length == pytest.approx(case.target.length)
        assert case_of(again).target.limits == pytest.approx(case.target.limits)
        if expected.goal == "all":
            assert again.goal_length == pytest.approx(expected.goal_length, rel=1e-11)
        assert case_of(again).design == case.design


def test_the_plan_gives_the_numbers_of_the_page():
    case = case_of(Settings(d=3))
    plan = plan_of(case, "Title")
    again = plan.numbers(case.moments)
    assert plan.numbers().ci_length_mean == pytest.approx(again.ci_length_mean, rel=1e-9)
    assert plan.goal == case.target


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": PublicTable(key="census", n_rows=5_000)}, "all rows of census"),
        ({"calibration": Calibration(exact_slope_bound=False)}, "single switches"),
        ({"n_records": 50}, "control for n goes from 100"),
        ({"regularization": 2.0}, "control for c"),
        ({"budget": ZCDP(model="20", hessian="20", covariance="20")}, "total ρ"),
    ],
)
def test_what_the_page_has_no_control_for_is_named(changes, message):
    plan = plan_of(case_of(Settings(d=3)), "Title")
    design = {
        k: v
        for k, v in changes.items()
        if k in ("calibration", "regularization", "budget", "n_records")
    }
    rest = {k: v for k, v in changes.items() if k not in design}
    changed = replace(plan, design=replace(plan.design, **design), **rest)
    with pytest.raises(ValueError, match=message):
        settings_of(changed)


def test_an_upload_is_no_plan():
    case = replace(case_of(Settings(d=3)), settings=Settings(dataset="upload"))
    with pytest.raises(ValueError, match="cannot start from your file"):
        plan_of(case, "Title")


def opening():
    """The step where a plan file is opened."""
    return start("plan", step="describe", how="plan")


def upload(app, text: str | bytes, name: str = "plan.yaml"):
    raw = text.encode() if isinstance(text, str) else text
    app.file_uploader(key="plan_open").upload(name, raw, "application/yaml")
    app.run()
    assert not app.exception
    return app


def test_every_download_holds_the_plan():
    case = case_of(SOME[-1])
    plan = plan_of(case, "Smokers", "Notes")
    made = {ending: make(plan, case) for _, ending, make in plan_file.KINDS}
    assert read_plan(made["yaml"]) == read_plan(made["json"]) == plan
    assert plan.digest in made["html"]
    compile(made["py"], "plan.py", "exec")
    assert json.loads(made["ipynb"])["nbformat"] == 4


def test_all_downloads_are_on_the_page():
    app = start("plan", d="3", step="approve")
    labels = {button.proto.label for button in app.get("download_button")}
    assert {label for label, *_ in plan_file.KINDS} <= labels


def test_an_upload_is_told_what_a_plan_needs(monkeypatch):
    monkeypatch.setattr(plan_file, "plan_of", lambda *_: plan_of(upload_case, "T"))
    upload_case = replace(case_of(Settings(d=3)), settings=Settings(dataset="upload"))
    app = start("plan", d="3", step="approve")
    assert any("cannot start from your file" in w.value for w in app.warning)


def test_a_saved_plan_opens_on_the_page():
    wanted = SOME[-1]
    plan = plan_of(case_of(wanted), "A study of smokers", "with <b>notes</b>")
    app = upload(opening(), as_yaml(plan))
    check(app)
    assert now(app).declared == wanted.declared
    assert now(app).goal_on == "smoker=yes"
    assert any("Opened" in e.value for e in app.success)
    app.button(key="step_approve").click().run()
    assert app.text_input(key="plan_title").value == "A study of smokers"


def test_the_link_of_a_plan_opens_on_any_page():
    plan = plan_of(case_of(SOME[1]), "Title")
    app = start("plan", **plan.to_query())
    assert now(app).n == 12_345
    assert now(app).losses == ("huber_svm",)
    app = start("explore", plan="1.damaged")
    assert any("plan" in w.value for w in app.warning)


BAD_FILES = [
    ("version: 2\n", "version"),
    ("version: 1\ntitle: x\n", "source"),
    (b"\xff\xfe\x00", "UTF-8"),
    ("", "fields"),
    ("a: *b\n", "cannot be opened"),
    ("x" * 1_100_000, "larger"),
]


def test_a_bad_file_is_refused_in_words_and_changes_nothing():
    app = opening()
    before = now(app)
    for text, message in BAD_FILES:
        upload(app, text)
        assert any(
            "cannot be opened" in e.value and message in e.value.replace("\\", "")
            for e in app.error
        ), message
        assert now(app) == before


def test_a_plan_of_an_absent_set_says_so(monkeypatch):
    plan = plan_of(case_of(Settings(d=3)), "Title")
    text = as_yaml(plan).replace("key: census", "key: bank")
    monkeypatch.setenv("DPCI_SHARED_DATA", "/nonexistent")
    if next(i for i in datasets.list_datasets() if i.key == "bank").available:
        pytest.skip("Bank Marketing is on this machine")
    app = upload(opening(), text)
    assert any("is not on this machine" in e.value for e in app.error)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("0.05", "1e-10"), ("1", "1e-4"), ("0.8621", "1e-10"), ("10", "1e-4")]
)
def test_a_plan_in_epsilon_and_delta_opens_as_it_was_typed(epsilon, delta):
    settings = replace(Settings(d=2, currency="approx", definitions=("zcdp",), c=0.1), delta=delta)
    settings = settings.with_epsilon(float(epsilon))
    again = settings_of(read_plan(as_yaml(plan_of(case_of(settings), "Title"))))
    assert (again.currency, again.epsilon, again.delta) == ("approx", epsilon, delta)
    assert again.split.parts == settings.split.parts


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.8621", "1e-10")])
def test_a_plan_counted_exactly_opens_as_it_was_typed(epsilon, delta):
    settings = replace(
        Settings(d=2, currency="approx", definitions=("zcdp",), mechanisms=("output",)), delta=delta
    ).with_epsilon(float(epsilon))
    plan = plan_of(case_of(settings), "Title")
    assert plan.design.definition == "gdp"
    assert "# What would be released. Parts of the budget are in mu^2" in as_yaml(plan)
    again = settings_of(read_plan(as_yaml(plan)))
    assert (again.currency, again.epsilon, again.delta) == ("approx", epsilon, delta)
    design = again.design(again.combinations[0])
    for one, other in zip(design.budget.parts, plan.design.budget.parts, strict=True):
        assert float(one) == pytest.approx(float(other), rel=1e-3)
    assert float(design.budget.total) == pytest.approx(float(plan.design.budget.total), rel=1e-9)


def test_an_older_plan_in_rho_keeps_its_rho_though_a_promise_would_buy_more():
    budget = ApproxDP("1", "1e-6", ("0.5", "0.25", "0.25")).to_zcdp()
    plan = plan_of(case_of(Settings(d=2, mechanisms=("output",))), "Title")
    plan = replace(plan, design=replace(plan.design, budget=budget))
    again = settings_of(plan)
    assert again.currency == "zcdp"
    assert again.design(again.combinations[0]).budget == budget


def test_the_link_of_a_plan_brings_its_words_and_a_bad_one_says_why():
    plan = plan_of(case_of(Settings(d=2)), "Élan: 5 %", "Notes")
    app = start("plan", **plan.to_query(), step="approve")
    assert (app.text_input(key="plan_title").value, app.text_area(key="plan_notes").value) == (
        plan.title,
        "Notes",
    )
    app = start("plan", **replace(plan, design=replace(plan.design, n_records=10**9)).to_query())
    assert "The control for n goes from 100 to 1,000,000" in app.warning[0].value


def test_a_plan_of_the_first_features_keeps_those_of_its_table():
    """The page offers them in another order in plain terms."""
    case = make_case(Settings(d=4).in_plain_terms(), TableSource(PUBLIC))
    made = plan_of(case, title="Of four", notes="")
    assert settings_of(made).features == made.names[:-1]
    counted = replace(made.source, standard=standard_of(case.settings, 4))
    assert (
        settings_of(replace(made, source=counted, features=4)).features
        == (datasets.feature_names("census")[:4])
    )
