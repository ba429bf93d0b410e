"""Moments that were computed elsewhere open with their plan, and forecasts rest on them while the
settings are those they are for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dpci_core.plan import as_json
from dpci_core.plan.moments_file import moments_record
from tests.ui.plan.test_standard import SCHEMA, TABLE
from tests.ui.test_pages import now, start
from ui.controls import plan_file
from ui.plan.job import Choice, parts_of
from ui.session.case import make_case
from ui.session.compute import (
    DECLARED,
    LRU,
    PUBLIC,
    ImportedFit,
    Store,
    TableSource,
    packed_table,
)
from ui.session.plan_settings import plan_of
from ui.session.settings import Settings

N = 10**8


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """Moments of a hundred million records, with their plan."""
    case = make_case(Settings(d=3), TableSource(PUBLIC))
    moments = replace(case.moments, n_records=N, covariance=case.moments.covariance * 0.25)
    plan = json.loads(as_json(plan_of(case, "People")))
    return moments_record(moments, names=case.records.feature_names, plan=plan)


def opened(content: bytes) -> Any:
    app = start("plan", step="describe", how="plan")
    app.file_uploader(key="plan_open").upload("m.json", content, "application/json").run()
    assert not app.exception
    return app


def captions(app: Any) -> str:
    return "\n".join(caption.value for caption in app.caption)


def test_forecasts_rest_on_them_until_the_settings_are_others(record: dict[str, Any]) -> None:
    app = opened(json.dumps(record).encode())
    assert "Forecasts rest on the moments of 100,000,000 records" in captions(app)
    store = app.session_state["given"]
    here, there = (make_case(now(app), TableSource(s)).moments.covariance for s in (PUBLIC, store))
    assert there == pytest.approx(0.25 * here, rel=1e-9)
    app.session_state["settings"] = replace(now(app), c=0.02)
    app.run()
    assert "Here a sample stands in" in captions(app)
    app.button(key="moments_forget").click().run()
    assert "computed elsewhere" not in captions(app)
    assert app.session_state["given"] is None


def test_they_stand_in_for_the_fit_that_they_are_and_for_no_other() -> None:
    case = make_case(Settings(d=3), TableSource(PUBLIC))
    given = ImportedFit(
        replace(case.moments, n_records=N), case.records.feature_names, "census", "", "x"
    )
    store, loss = Store(given=given), case.design.loss
    c = case.moments.regularization
    assert store.moments(case.records, loss, c, "unpenalised").n_records == N
    for other in ({"c": 2 * c}, {"with_spread": True}):
        asked = {"loss": loss, "c": c} | other
        assert store.moments(case.records, **asked).n_records < N
    assert not given.is_of(Settings(dataset="adult"))


def test_a_search_looks_at_other_tables_and_does_without_them() -> None:
    """They were taken for every table and encoding at their penalty."""
    settings = Settings(
        dataset=DECLARED, declared=packed_table(TABLE), d=3, n=20_000, target="unpenalised"
    )
    about = {"goal": "all", "goal_length": 1.0, "goal_chance": 0.8}
    case = make_case(replace(settings, **about), TableSource(PUBLIC))
    choice = Choice(SCHEMA, "objective", False, LRU(8))
    found = parts_of(case, TableSource(PUBLIC), "precision", choice=choice)["answer"].find()
    better = replace(
        case.moments, covariance=case.moments.covariance / 9, regularization=found.settings.c
    )
    table = (settings.dataset, settings.declared, settings.encoding)
    given = Store(given=ImportedFit(better, case.names, *table))
    choice = replace(choice, memo=LRU(8))
    again = parts_of(case, TableSource(given), "precision", choice=choice)["answer"].find()
    assert again.precision == found.precision


def test_they_open_where_a_public_table_is_brought(record: dict[str, Any]) -> None:
    app = start("explore")
    app.selectbox(key="dataset").set_value("upload").run()
    app.radio(key="upload_kind").set_value("declared public").run()
    uploader = app.file_uploader(key="upload_file")
    uploader.upload("m.json", b"{}", "application/json").run()
    assert any("cannot be opened" in error.value for error in app.error)
    uploader = app.file_uploader(key="upload_file")
    uploader.upload("m.json", json.dumps(record).encode(), "application/json").run()
    assert not app.exception
    assert now(app).dataset == "census"
    assert "Forecasts rest on" in captions(app)


HARM: dict[str, Callable[[dict[str, Any]], object]] = {
    "no plan": lambda r: r | {"plan": None},
    "another plan": lambda r: r | {"plan": r["plan"] | {"features": 2}},
    "no plan at all": lambda r: r | {"plan": {"a": [[[]]] * 9}},
    "other names": lambda r: r | {"names": ["<b>a</b>", *r["names"][1:]]},
    "too large": lambda r: r | {"theta_hat": [1e300] * len(r["theta_hat"])},
    "indefinite": lambda r: r | {"hessian": [[-x for x in row] for row in r["hessian"]]},
    "no covariance": lambda r: r | {"covariance": [[1e9 * x for x in row] for row in r["hessian"]]},
    "more": lambda r: r | {"more": "x" * 10**6},
    "nested": lambda r: json.loads('{"theta_hat":' + "[" * 900 + "]" * 900 + "}"),
    "a list": lambda r: ["theta_hat"],
}


@pytest.mark.parametrize("harm", HARM)
def test_hostile_files_are_refused_in_words(harm: str, record: dict[str, Any]) -> None:
    content = json.dumps(HARM[harm](record)).encode()
    with pytest.raises(ValueError, match=r"\w"):
        plan_file._read(content)


def test_a_refused_file_leaves_the_page_as_it_was(record: dict[str, Any]) -> None:
    for content in (b'{"theta_hat": NaN', b'"theta_hat"' * 10**6, b'"theta_hat"\xff\x00'):
        app = opened(content)
        assert any("cannot be opened" in error.value for error in app.error)
        assert "given" not in app.session_state or app.session_state["given"] is None
