"""Every page and every control through Streamlit's own test runner: no exception, and the state
that must follow.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dpci_core.base.errors import DataRejectedError
from dpci_core.base.rows import WeightedRows
from dpci_core.datasets import upload_rules
from dpci_core.plan import LINK_KEY
from dpci_core.privacy.budget import zcdp_to_epsilon
from dpci_core.schema import NumericColumn
from tests.refusals import refuses
from ui.kit import streamlit_internals
from ui.session import compute, evidence, jobs
from ui.session.compute import Store, TableSource
from ui.session.settings import START, Settings

ROOT = Path(__file__).resolve().parents[2]


PAPER_TERMS = Settings().to_query()


def start(page: str = "explore", **query: str) -> AppTest:
    """A page by a link, in the paper's terms but for what that says; the path to a release without
    any settings as a first visit finds it.
    """
    is_of_settings = bool({*query} & {field.name for field in fields(Settings)})
    is_in_terms = is_of_settings or page in ("explore", "evidence", *evidence.TABS)
    if LINK_KEY in query or not is_in_terms:
        return visit(page, **query)
    own = ("split", "shares") if {"currency", "epsilon"} & {*query} else ()
    return visit(page, **({k: v for k, v in PAPER_TERMS.items() if k not in own} | query))


def visit(page: str = "explore", **query: str) -> AppTest:
    """A page by a link that says everything; without one as a first visit finds it."""
    app = visit_unchecked(page, **query)
    check(app)
    return app


def visit_unchecked(page: str, **query: str) -> AppTest:
    """The same where something may be refused there."""
    app = AppTest.from_file(str(ROOT / "ui" / "shell.py"), default_timeout=240)
    if page in evidence.TABS:
        page, query = "evidence", {"evidence": page} | query
    for name, value in query.items():
        app.query_params[name] = value
    if page != "front":
        app.switch_page(str(ROOT / "pages" / f"{page}.py"))
    return app.run()


def check(app: AppTest) -> None:
    assert not app.exception
    assert not app.error


def now(app: AppTest) -> Settings:
    return app.session_state["settings"]


def stop_jobs() -> None:
    """Leave nothing to compute behind for the next test."""
    for queue in (jobs.QUICK, jobs.SEARCHES, jobs.QUEUE):
        for job in list(queue._jobs.values()):
            queue.cancel(job)


def position(app: AppTest, kind: str, what: str) -> int:
    """Where on the page an element stands."""
    every = [*app.main]
    return next(
        place
        for place, one in enumerate(every)
        if one.type == kind and what in (getattr(one, "key", None), getattr(one, "value", None))
    )


def told_focus(app: AppTest) -> bool:
    """Whether the page asks the browser to bring an error into view."""
    return any(e.proto.component_name == "dpci_bring" for e in app.get("bidi_component"))


def charts_of(app: AppTest) -> list[dict]:
    return [json.loads(element.proto.spec) for element in app.get("plotly_chart")]


def pictures_of(app: AppTest) -> list[dict]:
    """What Explore and Learn draw."""
    return [
        json.loads(e.proto.json)
        for e in app.get("bidi_component")
        if e.proto.component_name == "dpci_picture"
    ]


def picture_of(app: AppTest) -> dict:
    """The one picture of Explore."""
    (drawn,) = pictures_of(app)
    return drawn


def mean_lengths(app: AppTest) -> list[float]:
    """Of every combination, in the table beside the picture."""
    return [float(row[1]["text"]) for row in picture_of(app)["tables"][0]["rows"]]


@pytest.mark.parametrize("problem", [ValueError("a shape"), DataRejectedError("no_rows")])
def test_an_error_of_ours_is_no_sentence_about_a_table(problem, monkeypatch):
    """Every ValueError was told as if the table had no forecast."""

    def fails(*_: object) -> None:
        raise problem

    app = start("explore")
    monkeypatch.setattr(compute, "compute", fails)
    app.run()
    is_ours = type(problem) is ValueError
    assert bool(app.exception) is is_ours
    assert bool(app.error) is not is_ours


def test_the_front_page_is_explore_with_no_decision_to_make():
    app = visit("front")
    assert [title.value for title in app.title] == ["What privacy costs a confidence interval"]
    assert now(app) == START
    picture = picture_of(app)
    assert picture["title"].startswith("Privacy makes intervals 1.")
    assert picture["rightTitle"] == "÷ without privacy"
    assert len(picture["labels"]) == 7
    assert "not reportable" not in str(picture)


@pytest.mark.parametrize("tab", ["intervals", "total", "n", "more", "coverage"])
def test_every_tab_of_explore_draws_one_picture_with_sentence_finding_and_assumptions(tab):
    drawn = picture_of(start(tab=tab))
    assert len(drawn["alt"]) > 40
    assert len(drawn["title"]) > 20
    assert "c = 0.001" in drawn["footer"]
    assert "forecast" in drawn["footer"]


def test_the_numbers_and_the_code_are_tabs():
    app = start(tab="table")
    assert [len(frame.value) for frame in app.dataframe] == [22, 50]
    assert {"private length", "forecast coverage"} <= set(app.dataframe[0].value.columns)
    app = start(tab="code", mechanisms="output", c="0.01")
    assert 'mechanism="output"' in app.code[0].value


NUMBERS = [
    ("total", 2.0, lambda s: float(s.split.total)),
    ("n", 12_345, lambda s: s.n),
    ("c", 0.005, lambda s: s.c),
    ("level", 0.9, lambda s: s.level),
    ("d", 7, lambda s: s.d),
    ("model", 0.6, lambda s: float(s.split.parts[0])),
    ("hessian", 0.1, lambda s: float(s.split.parts[1])),
    ("covariance", 0.3, lambda s: float(s.split.parts[2])),
]


def test_a_typed_number_moves_the_slider_the_state_and_the_charts():
    app = start()
    for key, value, read in NUMBERS:
        before = picture_of(app)["version"]
        app.text_input(key=f"{key}_number").set_value(str(value)).run()
        check(app)
        assert read(now(app)) == value, key
        assert sum(now(app).split.parts) == now(app).split.total
        slider = next(s for s in (*app.slider, *app.select_slider) if s.key == f"{key}_slider")
        parts = ["model", "hessian", "covariance"]
        assert slider.value == (
            round(now(app).split.share(parts.index(key))) if key in parts else value
        )
        assert picture_of(app)["version"] != before, key


def test_sliders_move_the_state():
    app = start()
    app.select_slider(key="total_slider").set_value(0.5).run()
    app.slider(key="hessian_slider").set_value(10.0).run()
    check(app)
    assert float(now(app).split.total) == 0.5
    assert now(app).split.share(1) == pytest.approx(10.0)


def test_no_position_of_the_budget_s_slider_stands_there_twice():
    """A right-arrow press from each of them reaches the next total."""
    app = start()
    options = app.select_slider(key="total_slider").options
    assert len(options) == 47
    for before, after in pairwise(options[19:33]):
        app.select_slider(key="total_slider").set_value(float(after)).run()
        assert app.select_slider(key="total_slider").options == options
        assert float(before) < float(now(app).split.total) == float(after)


@pytest.mark.parametrize(
    ("moved", "shares"),
    [
        ((60, 75), (60, 15, 25)),
        ((50, 90), (50, 40, 10)),
        ((80, 75), (74.5, 0.5, 25)),
        ((0, 75), (0.5, 74.5, 25)),
    ],
)
def test_two_handles_cut_the_budget_into_three_parts(moved, shares):
    app = start()
    app.slider(key="split_slider").set_value(tuple(sorted(moved))).run()
    check(app)
    if moved == (80, 75):  # a browser hands both over in order: the second handle moved
        shares = (50 + 25, 5, 20)
    assert [now(app).split.share(i) for i in range(3)] == pytest.approx(shares)


def test_a_handle_leaves_the_part_beside_the_other_handle_exactly_as_it_is():
    app = start(split="0.7999~0.0085~0.1916")
    assert app.slider(key="split_slider").value == (80, 81)
    app.slider(key="split_slider").set_value((80, 84)).run()
    check(app)
    assert str(now(app).split.parts[0]) == "0.7999"
    assert now(app).split.share(2) == pytest.approx(16)
    app.checkbox(key="hessian_lock").check().run()
    app.slider(key="split_slider").set_value((60, 84)).run()
    assert any("is locked" in w.value for w in app.warning)
    assert str(now(app).split.parts[0]) == "0.7999"


def test_undo_takes_back_one_change_after_the_other():
    app = start()
    assert app.button(key="undo").disabled
    app.text_input(key="total_number").set_value("2.0").run()
    app.button_group(key="losses").set_value(["huber_svm"]).run()
    app.button(key="undo").click().run()
    assert now(app).losses == ("logistic",)
    assert float(now(app).split.total) == 2.0
    app.button(key="undo").click().run()
    check(app)
    assert now(app) == Settings()
    assert app.button(key="undo").disabled


def test_all_eight_combinations_at_once():
    app = start(definitions="pure~zcdp", mechanisms="objective~output", losses="logistic~huber_svm")
    assert len(now(app).combinations) == 8
    rows = picture_of(app)["tables"][0]["rows"]
    assert len(rows) == 8
    assert all("…" not in cell["text"] for row in rows for cell in row)
    app.text_input(key="h_number").set_value("0.5").run()
    check(app)
    assert now(app).h == 0.5


def test_every_sweep_draws():
    app = start(losses="huber_svm", n="60000", d="3", tab="more")
    for name in ("model", "hessian", "covariance", "d", "c", "h"):
        app.selectbox(key="sweep").set_value(name).run()
        check(app)
        assert picture_of(app)["meta"]["sweep"] == name
    app.selectbox(key="further_tab").set_value("n").run()
    check(app)
    assert picture_of(app)["meta"]["sweep"] == "n"
    app.segmented_control(key="tab").set_value("total").run()
    check(app)
    assert picture_of(app)["meta"]["sweep"] == "total"
    assert not [box for box in app.selectbox if box.key == "further_tab"]
    app.segmented_control(key="tab").set_value("rest").run()
    check(app)
    assert picture_of(app)["meta"]["sweep"] == "n"


def test_a_split_that_wastes_budget_is_called_so():
    query = {"mechanisms": "objective", "losses": "huber_svm", "h": "0.1", "n": "60000"}
    app = start(epsilon="9", split="7.38~0.135~1.485", tab="total", **query)
    told = [one for one in picture_of(app)["remarks"] if "spending less is better" in one]
    assert len(told) == 1
    assert not app.info  # it would push the chart down where the slider comes there
    less, there, here = map(
        float, re.search(r"ε = ([\d.]+) .* of (\d\.\d+); now it is (\d\.\d+)", told[0]).groups()
    )
    assert less < 9
    assert there < here
    assert mean_lengths(app)[0] == pytest.approx(here, abs=5e-4)
    with_less = start(
        epsilon=f"{less}",
        split=f"{0.82 * less}~{0.015 * less}~{0.165 * less}",
        tab="total",
        **query,
    )
    assert mean_lengths(with_less)[0] == pytest.approx(there, abs=5e-4)
    assert "spending less" not in remarks_of(with_less)
    app.segmented_control(key="tab").set_value("rest").run()
    assert "spending less" not in remarks_of(app)
    assert "spending less" not in remarks_of(start(tab="total"))


def test_pairing_is_named_on_the_chart():
    app = start(definitions="pure~zcdp")
    app.radio(key="pairing").set_value("paper").run()
    check(app)
    assert "ρ_k = ε_k²/2" in picture_of(app)["footer"].replace("\u00a0", " ")


def test_currencies_and_delta():
    app = start()
    for currency in ("zcdp", "approx", "pure"):
        app.segmented_control(key="currency").set_value(currency).run()
        check(app)
        assert now(app).currency == currency
        assert picture_of(app)["bars"]
    app.segmented_control(key="currency").set_value("approx").run()
    before = now(app).split.total
    app.selectbox(key="delta").set_value("1e-9").run()
    check(app)
    assert now(app).split.total < before
    assert now(app).epsilon == "1"


def test_a_lock_holds_and_a_refusal_stands_at_its_control():
    app = start()
    app.checkbox(key="model_lock").check().run()
    app.text_input(key="total_number").set_value("0.3").run()
    check(app)
    assert float(now(app).split.total) == 1.0
    assert any("locked parts already take" in w.value for w in app.warning)
    app.text_input(key="total_number").set_value("2.0").run()
    assert str(now(app).split.parts[0]) == "0.5"


def test_units_and_odds_ratios_stand_on_axes_of_their_size_and_leave_the_intercept_out():
    app = start()
    scaled = picture_of(app)
    assert len(scaled["panels"]) == 1
    for units in ("original", "odds"):
        app.selectbox(key="units").set_value(units).run()
        check(app)
        drawn = picture_of(app)
        assert drawn["meta"]["units"] == units
        assert "intercept" not in [words for _, words, _, _ in drawn["labels"]]
        assert 2 <= len(drawn["panels"]) <= 6
        for panel in drawn["panels"]:
            on = [b for b in drawn["bars"] if panel["from"] < b[0] < panel["to"] and b[3] == 1]
            width = panel["high"] - panel["low"]
            assert min(high - low for _, low, high, _ in on) > 0.004 * width  # no dots
            assert all(panel["low"] <= low and high <= panel["high"] for _, low, high, _ in on)


def test_three_settings_are_kept_as_lines_and_columns_and_gone_back_to():
    app = start()
    app.button(key="pin").click().run()
    app.text_input(key="total_number").set_value("3.0").run()
    app.button(key="pin").click().run()
    app.text_input(key="total_number").set_value("5.0").run()
    app.button(key="pin").click().run()
    check(app)
    assert app.button(key="pin").disabled
    assert "at most 3" in app.button(key="pin").help
    drawn = picture_of(app)
    assert drawn["tables"][1]["head"] == ["", "now", "A", "B", "C"]
    budget = drawn["tables"][1]["rows"][0]
    assert [cell if isinstance(cell, str) else cell["text"] for cell in budget] == [
        "budget", "ε = 5", "ε = 1", "ε = 3", "ε = 5",
    ]  # fmt: skip
    assert [cell["isBold"] for cell in budget[2:]] == [True, True, False]
    thin = [bar for bar in drawn["bars"] if bar[3] >= 5]
    assert len(thin) == 3 * 2 * 11
    assert [word for _, _, word in drawn["key"]][-3:] == ["A", "B", "C"]
    app.button(key="pin_use_0").click().run()
    check(app)
    assert float(now(app).split.total) == 1.0
    app.button(key="pin_drop_1").click().run()
    check(app)
    assert len(app.session_state["pinned"]) == 2


def test_the_yardstick_is_called_what_it_is_in_both_terms_and_nothing_is_called_shortest():
    app = visit("front")
    for terms in ("plain", "paper"):
        app.segmented_control(key="terms").set_value(terms).run()
        for tab in ("intervals", "total"):
            app.segmented_control(key="tab").set_value(tab).run()
            check(app)
            drawn = picture_of(app)
            assert "variability (spread of the private estimates)" in [k[2] for k in drawn["key"]]
            assert not re.search("÷.shortest|shortest possible", str(drawn))


def test_where_there_is_nothing_to_compare_or_to_undo_the_button_says_so():
    app = start("explore", epsilon="0.05", n="100")
    assert app.button(key="pin").disabled
    assert "no effect can be reported" in app.button(key="pin").help
    assert app.button(key="undo").disabled
    assert app.button(key="undo").help == "Nothing has been changed yet."


def test_presets_and_reset():
    app = start()
    app.button(key="preset_paper").click().run()
    check(app)
    assert now(app).pairing == "paper"
    assert [str(p) for p in now(app).split.parts] == ["0.5", "0.25", "0.25"]
    app.button(key="reset").click().run()
    check(app)
    assert now(app) == START


def test_one_switch_goes_to_the_terms_of_the_paper_and_back():
    app = visit("front")
    app.segmented_control(key="terms").set_value("paper").run()
    check(app)
    assert now(app) == START.in_paper_terms()
    assert picture_of(app)["rightTitle"] == "÷ variability"
    assert "penalised at c = 0.001" in picture_of(app)["footer"]
    app.segmented_control(key="terms").set_value("plain").run()
    check(app)
    assert now(app) == START
    app.text_input(key="c_number").set_value("0.0003").run()
    for terms in ("paper", "plain"):
        app.segmented_control(key="terms").set_value(terms).run()
        check(app)
    assert now(app) == replace(START, c=0.0003, penalty="typed")


def test_a_penalty_is_chosen_until_one_is_typed_and_again_when_asked_for():
    app = visit("front")
    app.text_input(key="n_number").set_value("2000").run()
    chosen = now(app).c
    assert chosen > START.c
    assert not [button for button in app.button if button.key == "choose_penalty"]
    app.text_input(key="c_number").set_value("0.02").run()
    check(app)
    assert (now(app).c, now(app).penalty) == (0.02, "typed")
    app.button(key="choose_penalty").click().run()
    check(app)
    assert (now(app).c, now(app).penalty) == (chosen, "chosen")


def test_features_by_name():
    app = start()
    names = app.multiselect(key="names").options[2:4]
    app.multiselect(key="names").set_value(list(names)).run()
    check(app)
    assert len(now(app).names) == 2
    app.text_input(key="d_number").set_value("4").run()
    check(app)
    assert now(app).names == ()


def test_a_small_real_set_is_shown_honestly():
    app = start(dataset="breast_cancer", n="569")
    said = remarks_of(app)
    assert said.count(": these intervals are too long to be of use") == 2
    assert said.count("They begin to be of use with ") == 1
    assert not app.warning  # it would push the chart down where the slider comes there
    assert picture_of(app)["isLoud"]


def test_sharp_stands_alone_at_first_and_published_beside_it_after_one_click():
    app = start(d="3", n="20000")
    assert names_of(app) == ["objective", "output"]
    app.button_group(key="calibrations").set_value(["sharp", "published"]).run()
    check(app)
    assert now(app).calibrations == ("sharp", "published")
    assert names_of(app) == [
        "objective · sharp", "objective · published", "output · sharp", "output · published",
    ]  # fmt: skip
    app.button_group(key="calibrations").set_value(["published"]).run()
    check(app)
    assert names_of(app) == ["objective", "output"]
    assert "published calibration" in picture_of(app)["footer"]


def test_what_is_not_reviewed_is_labelled_and_can_be_switched_off():
    app = start(
        d="3", n="20000", currency="zcdp", definitions="zcdp", split="0.125~0.03125~0.03125"
    )
    assert "not peer-reviewed" in remarks_of(app)
    before = lengths_of(app)
    app.toggle(key="reviewed").set_value(True).run()
    check(app)
    assert now(app).results == "reviewed"
    assert "not peer-reviewed" not in remarks_of(app)
    assert lengths_of(app)["objective"] > 1.3 * before["objective"]
    assert lengths_of(app)["output"] == before["output"]
    assert "not peer-reviewed" not in remarks_of(start(d="3", n="20000"))


def test_the_target_can_be_the_coefficient_without_penalty():
    app = start(d="2", n="200000", c="0.0001")  # of fewer, one mechanism's are too wide to be told
    leverage_correction = lengths_of(app)
    app.radio(key="target").set_value("unpenalised").run()
    check(app)
    assert now(app).target == "unpenalised"
    assert "without penalty" in picture_of(app)["footer"]
    assert lengths_of(app)["objective"] > leverage_correction["objective"]
    assert "Not reportable with this release" not in remarks_of(app)
    flat = start(d="4", n="30000", c="0.01", target="unpenalised")
    assert "Not reportable with this release" in remarks_of(flat)


def names_of(app) -> list[str]:
    """Of the combinations, beside the picture."""
    return [row[0]["text"] for row in picture_of(app)["tables"][0]["rows"]]


def remarks_of(app) -> str:
    """What is said beside the picture."""
    return " ".join(picture_of(app)["remarks"])


def lengths_of(app) -> dict[str, float]:
    """Mean private length by mechanism."""
    return dict(zip(names_of(app), mean_lengths(app), strict=True))


def test_the_same_link_gives_the_same_picture():
    assert picture_of(start(n="5000")) == picture_of(start(n="5000"))


@pytest.mark.parametrize(
    "query",
    [
        {"names": "<script>alert(1)</script>"},
        {"names": "age~age"},
        {"d": "1000"},
        {"dataset": "breast_cancer", "d": "36"},
        {"dataset": "nope", "names": "age"},
        {"dataset": "upload"},
        {"split": "NaN~1~1"},
        {"n": "9" * 400},
    ],
    ids=str,
)
def test_no_link_breaks_a_page(query):
    app = start(**query)
    assert now(app).d <= 36
    assert any("cannot be used" in w.value for w in app.warning)
    assert "script" not in " ".join(w.value for w in app.warning)
    app.text_input(key="total_number").set_value("2.0").run()
    check(app)
    assert not any("cannot be used" in w.value for w in app.warning)


@pytest.mark.parametrize(
    ("currency", "epsilon"), [("approx", "0.1"), ("approx", "1"), ("pure", "1")]
)
@pytest.mark.parametrize("page", ["explore"])
def test_a_link_never_shows_one_budget_and_spends_another(page, currency, epsilon):
    app = start(page, currency=currency, epsilon=epsilon)
    shown = float(app.text_input(key="total_number").value)
    spent = picture_of(app)["meta"]["total"]
    assert shown == float(epsilon)
    assert (spent if currency == "pure" else zcdp_to_epsilon(spent, 1e-6)) == pytest.approx(shown)
    assert not any("cannot be used" in w.value for w in app.warning)


@pytest.mark.parametrize(("key", "amount"), [("hessian", 1e-30), ("model", 1e-320)])
def test_a_tiny_part_is_refused_at_its_control(key, amount):
    app = start()
    before = now(app)
    app.text_input(key=f"{key}_number").set_value(str(amount)).run()
    check(app)
    assert now(app) == before
    assert any("must be at least" in w.value for w in app.warning)


def test_an_emptied_field_keeps_its_value():
    app = start()
    before = now(app)
    for key, _, _ in NUMBERS[::3]:
        app.text_input(key=f"{key}_number").set_value("").run()
        check(app)
        assert now(app) == before, key
        assert app.text_input(key=f"{key}_number").value
        assert not app.warning


CSV = "age,income,city,rich\n" + "\n".join(
    f"{20 + i % 50},{1000 + 37 * (i % 80)},{'abc'[i % 3]},{'yes' if i % 4 else 'no'}"
    for i in range(400)
)


def upload(app: AppTest, content: bytes = CSV.encode(), name: str = "mine.csv") -> None:
    if any(control.key == "describe_how" for control in app.segmented_control):
        app.segmented_control(key="describe_how").set_value("file").run()
    else:
        app.selectbox(key="dataset").set_value("upload").run()
    app.radio(key="upload_kind").set_value("declared public").run()
    app.file_uploader(key="upload_file").upload(name, content, "text/csv").run()


def upload_rich(app: AppTest) -> None:
    """The file, of which “rich” is the outcome and “yes” what it is about."""
    upload(app)
    app.selectbox(key="upload_target").set_value("rich").run()
    app.selectbox(key="upload_positive_rich").set_value("yes").run()


@pytest.fixture
def let_go(monkeypatch):
    """What Streamlit is told to let go of: the number of a file, or all of a session."""
    told = []
    monkeypatch.setattr(streamlit_internals, "forget_file", told.append)
    monkeypatch.setattr(streamlit_internals, "forget_files", lambda: told.append("all"))
    return told


@pytest.mark.parametrize("kind", ["declared synthetic", "private", None])
def test_of_a_file_that_is_no_longer_in_the_uploader_nothing_is_kept(kind, let_go):
    app = start("plan")
    upload(app)
    number, frame = app.session_state["upload_frame"]
    assert len(frame) == 400
    assert let_go == []
    if kind == "declared synthetic":
        app.file_uploader(key="upload_file").upload("n.csv", b"x,y\n1,2\n", "text/csv").run()
        assert len(app.session_state["upload_frame"][1]) == 1
    else:
        app.radio(key="upload_kind").set_value(kind).run()
        assert "upload_frame" not in app.session_state
    assert let_go == [number]
    check(app)


def test_the_bytes_of_a_file_go_when_its_page_is_left(let_go):
    app = start("plan")
    upload(app)
    app.run()
    assert let_go == []
    state_of = app.session_state["page_of_files"]
    assert state_of == "plan"
    app.session_state["page_of_files"] = "release"  # as after a move
    app.run()
    assert let_go == ["all"]


def test_an_uploaded_table_proposes_what_is_usual_and_may_be_encoded_by_it():
    app = start("plan")
    upload_rich(app)
    check(app)
    schema = app.session_state["upload"].schema
    numbers = [c for c in schema.features if isinstance(c, NumericColumn)]
    assert numbers
    assert all(c.low <= c.typical <= c.high and c.spread > 0 for c in numbers)
    assert schema.standard is not None, "in plain terms"
    app.button(key="describe_continue").click().run()
    app.session_state["linked"]["method"] = "own"
    app.button(key="step_choose").click().run()
    app.radio(key="is_standard").set_value(False).run()
    assert app.session_state["upload"].schema.standard is None
    app.radio(key="is_standard").set_value(True).run()
    check(app)
    kept = app.session_state["upload"]
    assert kept.schema.standard is not None
    source = TableSource(Store(), kept)
    assert isinstance(source.load(now(app), features=1).X, WeightedRows)


def test_a_yes_that_a_file_has_more_often_is_no_reference():
    app = start("plan")
    rows = [f"{i % 9},{'no' if i % 5 == 0 else 'yes'},{'b' if i % 3 else 'a'}" for i in range(300)]
    upload(app, "\n".join(["age,smoker,rich", *rows]).encode())
    app.selectbox(key="upload_target").set_value("rich").run()
    app.selectbox(key="upload_positive_rich").set_value("b").run()
    check(app)
    smoker = app.session_state["upload"].schema.features[1]
    assert (smoker.levels, smoker.shares) == (("no", "yes"), (0.2, 0.8))


def test_a_declared_file_is_explored_and_stays_in_its_session():
    app, other = start(), start()
    upload_rich(app)
    check(app)
    assert "age" in json.dumps(picture_of(app)["labels"])
    assert "upload" not in json.dumps(dict(app.query_params))
    other.run()
    assert "upload" not in other.session_state
    assert now(other).dataset == "census"


def test_a_target_of_numbers_with_a_point_can_be_chosen():
    app = start()
    upload(
        app,
        ("a,t\n" + "\n".join(f"{i % 7},{'1.0' if i % 3 else '0.5'}" for i in range(200))).encode(),
    )
    app.selectbox(key="upload_target").set_value("t").run()
    assert app.selectbox(key="upload_positive_t").options == ["0.5", "1"]
    app.selectbox(key="upload_positive_t").set_value("1").run()
    check(app)
    assert app.session_state["upload"].schema.positive == "1"


def test_a_file_whose_numbers_overflow_ends_in_a_sentence():
    app = start()
    upload(
        app,
        (
            "a,b,ill\n"
            + "\n".join(f"{'-' * (i % 2)}1e308,{i % 5},{'yn'[i % 3 > 0]}" for i in range(50))
        ).encode(),
    )
    app.selectbox(key="upload_target").set_value("ill").run()
    app.selectbox(key="upload_positive_ill").set_value("y").run()
    check(app)
    assert now(app).dataset == "upload"
    assert len(app.session_state["upload"].schema.features) == 1


def test_a_table_with_too_many_features_for_its_rows_starts_with_fewer_and_says_how_many(
    monkeypatch,
):
    monkeypatch.setattr(upload_rules, "MAX_RECORD_CELLS", 800)
    app = start()
    upload(
        app,
        (
            "a,b,c,d,e,t\n"
            + "\n".join(",".join(map(str, (i % 7,) * 5)) + f",{i % 2}" for i in range(200))
        ).encode(),
    )
    app.selectbox(key="upload_target").set_value("t").run()
    app.selectbox(key="upload_positive_t").set_value("1").run()
    check(app)
    assert now(app).d == 3
    with refuses(DataRejectedError, match="at most 3 features with 200 rows, got 4"):
        TableSource(Store(), app.session_state["upload"]).load(now(app), features=4)
