"""The Validate page through Streamlit's test runner, and its documents."""

from __future__ import annotations

import json
import math
import time

import pytest

from tests.ui.test_pages import charts_of, check, now, start
from ui.evidence.coverage import tab as validate
from ui.session import jobs


def open_validate(**query: str):
    return start("coverage", d="3", n="2000", **query)


def run_through(app):
    app.button(key="start").click().run()
    check(app)
    key = app.session_state["job"]
    end = time.monotonic() + 90.0
    while jobs.QUEUE.find(key).is_active:
        assert time.monotonic() < end
        time.sleep(0.05)
    app.run()
    check(app)
    return jobs.QUEUE.find(key)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("0,5", "Type a whole number, such as 20 or 8,000."),
        ("1.5", "Type a whole number, such as 20 or 8,000."),
        ("1e12", "Type a number from 0 to 2,147,483,647."),
    ],
)
def test_a_seed_that_is_no_whole_number_is_refused_and_nothing_starts(typed, words):
    """A field of numbers made 5 of "0,5" and 1 of "1e12"."""
    app = open_validate(seed="7")
    app.text_input(key="seed").set_value(typed).run()
    check(app)
    assert [one.value for one in app.warning] == [words]
    assert app.text_input(key="seed").value == typed
    assert app.button(key="start").disabled
    app.text_input(key="seed").set_value("1,000").run()
    assert app.text_input(key="seed").value == "1000"
    assert not app.warning
    assert not app.button(key="start").disabled


def test_a_seed_that_is_refused_with_a_click_on_start_starts_nothing():
    app = open_validate()
    app.text_input(key="seed").set_value("0,5")
    app.button(key="start").click().run()
    check(app)
    assert "job" not in app.session_state


def document_of(app) -> bytes:
    found = validate._Finished
    job = jobs.QUEUE.find(app.session_state["job"])
    made = found(job.settings, job.assumptions, job.digest, job.combinations, job.seed, job.result)
    return json.dumps(
        {
            "kind": "dpci simulation",
            "settings": made.settings.to_query(),
            "assumptions": made.assumptions,
            "data": "x",
            "digest": made.digest,
            "seed": made.seed,
            "combinations": [
                [c.definition, c.mechanism, c.loss, c.calibration] for c in made.combinations
            ],
            "result": made.result.to_record(),
        }
    ).encode()


def test_a_simulation_runs_and_is_drawn_over_the_forecast(subtests):
    app = open_validate()
    assert not charts_of(app)
    job = run_through(app)
    assert job.state == "done"
    coverage, sweep = charts_of(app)
    assert coverage["layout"]["meta"]["k"] == 200
    assert any("simulated ± 2 s.e." in t["name"] for t in coverage["data"])
    assert any("simulated interval" in t["name"] for t in sweep["data"])
    first, second = [h.value for h in app.header if h.value.startswith("Simulated")]
    assert first.startswith("Simulated 95 % intervals cover ")
    assert second.startswith("Simulated intervals are within ")
    with subtests.test("it goes stale when settings change, and not where it is shown otherwise"):
        check_stale(app)
    with subtests.test("another session finds a public job by its link but not a private one"):
        assert len(charts_of(open_validate(job=job.key))) == 2
        job.is_private_to_session = True
        assert not charts_of(open_validate(job=job.key))


def check_stale(app):
    app.selectbox(key="sweep").set_value("n").run()
    assert len(charts_of(app)) == 2
    app.text_input(key="total_number").set_value("3.0").run()
    check(app)
    assert any("other settings" in w.value for w in app.warning)
    assert not charts_of(app)
    app.button(key="restore").click().run()
    check(app)
    assert float(now(app).split.total) == 1.0
    assert len(charts_of(app)) == 2


def test_a_double_click_starts_one_job():
    app = open_validate()
    before = len(jobs.QUEUE._jobs)
    app.button(key="start").click().run()
    assert not any("No simulation yet" in c.value for c in app.caption)
    key = app.session_state["job"]
    assert app.button(key="start").disabled or not jobs.QUEUE.find(key).is_active
    assert len(jobs.QUEUE._jobs) == before + 1 or before >= jobs.KEPT_JOBS
    jobs.QUEUE.cancel(jobs.QUEUE.find(key))


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b"\xff\xfe", b"null", b'{"kind": "dpci simulation"}', b"1" * 100],
)
def test_anything_else_is_refused_in_a_sentence(content):
    with pytest.raises(ValueError, match=r"."):
        validate.read_document(content)


def test_a_file_that_is_no_document_is_one_sentence_on_the_page():
    app = start("coverage")
    app.file_uploader(key="open_result").upload("r.json", b"[]", "application/json").run()
    assert not app.exception
    assert len(app.error) == 1


@pytest.fixture(scope="module")
def document() -> str:
    """What a finished simulation is saved as."""
    app = open_validate()
    run_through(app)
    return document_of(app).decode()


def test_a_damaged_document_is_refused_in_a_sentence(document):
    breaks = [
        lambda d: d["result"]["designs"][0].update(budget=["9", "9", "9"]),
        lambda d: d["result"]["designs"][0].update(regularization=0.5),
        lambda d: d["result"]["designs"][0].update(confidence_level=0.9),
        lambda d: d["result"].update(n_records=99),
        lambda d: d["result"].update(n_covered=0),
        lambda d: d["result"].update(n_done=math.inf),
        lambda d: d["settings"].update(split="0.1~1E-50~0.1"),
        lambda d: d["settings"].update(d="4"),
        lambda d: d.update(seed=math.nan),
    ]
    for break_it in breaks:
        damaged = json.loads(document)
        break_it(damaged)
        with pytest.raises(ValueError, match=r"^its? "):
            validate.read_document(json.dumps(damaged).encode())
    other = json.loads(document)
    other["combinations"] = [["zcdp", "objective", "logistic"], ["zcdp", "output", "logistic"]]
    with pytest.raises(ValueError, match="belong together"):
        validate.read_document(json.dumps(other).encode())
    with pytest.raises(ValueError, match="not a document"):
        validate.read_document(b"[" * 100_000)


def test_a_document_without_spread_is_drawn(document):
    app, even = start("coverage"), json.loads(document)
    even["result"]["designs"][0]["vi_length_mean"] = 0
    app.file_uploader(key="open_result").upload(
        "r.json", json.dumps(even).encode(), "application/json"
    ).run()
    app.button(key="show_opened").click().run()
    check(app)
    assert len(charts_of(app)) == 2


def test_a_simulation_that_is_no_longer_kept_is_said():
    app = open_validate(job="gone")
    assert any("no longer kept" in i.value for i in app.info)


def test_what_cannot_run_is_said_and_not_started():
    app = start("coverage", c="1e-06", n="100", d="3", mechanisms="objective")
    assert app.button(key="start").disabled
    assert any("smallest c that works" in w.value for w in app.warning)


def test_a_table_too_large_to_resample_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(jobs, "LARGEST_TABLE", 1000)
    app = open_validate()
    assert app.button(key="start").disabled
    assert any("take fewer features" in w.value for w in app.warning)
