"""The slow answers of the page Plan: drawn when known, stopped on request, and only those of the
newest settings.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace

import pytest

from dpci_core import forecast, needed_budget
from dpci_core.planner.needed import OutOfReachError
from tests.base.test_watch import same
from tests.ui.plan.test_linear import LINK as A_NUMBER
from tests.ui.plan.test_page import SMALL, case_of, least_total, shown
from tests.ui.session.test_jobs import wait_for
from tests.ui.test_pages import charts_of, check, now, start, upload_rich, visit
from ui.plan import numbers as planning
from ui.plan import pictures
from ui.plan import work as plan_work
from ui.plan.job import PlanJob, parts_of
from ui.plan.linear import LinearDesigns
from ui.session import compute, jobs
from ui.session.case import Case, make_case
from ui.session.compute import LRU, PUBLIC, TableSource
from ui.session.settings import Settings

pytestmark = pytest.mark.usefixtures("patient")


_HOOKS = ("gives_way", "holds_up", "is_there")
"""What a queue and a page say of a job."""


def plan_jobs(queue: jobs.JobQueue) -> list[PlanJob]:
    return [job for job in queue._jobs.values() if isinstance(job, PlanJob)]


def job_of(app) -> PlanJob:
    job = jobs.find(app.session_state["plan_job"])
    assert isinstance(job, PlanJob)
    return job


def endless(case: Case, *_: object) -> object:
    """A search that ends only when it is stopped, and leaves the processor to others."""
    while True:
        forecast(case.moments, design=case.design, n_draws=2)
        time.sleep(0.02)


@pytest.fixture
def slow(monkeypatch):
    """The map never comes, and pages wait just long enough for the answer above."""
    monkeypatch.setattr(planning, "iso_map", endless)
    monkeypatch.setattr(plan_work, "PATIENCE", 0.02)


def open_slow(**query: str):
    """The page whose map does not come; the answer above it has come."""
    app = start("plan", **(SMALL | query))
    wait_for(lambda: job_of(app).now == "the map")
    app.run()
    check(app)
    return app


def keys_of(app) -> list[str]:
    own = app.session_state["memo"]._values if "memo" in app.session_state else ()
    return [key[0] for key in (*own, *compute.ANSWERS._values)]


def buttons(app) -> set[str]:
    return {button.key for button in app.button}


# --- the page -------------------------------------------------------------------------------------


def test_the_page_draws_at_once_with_what_is_known_and_says_what_is_missing(slow):
    app = open_slow()
    assert least_total(app) > 0.0
    assert job_of(app).is_active
    assert {"use_design", "plan_stop"} <= buttons(app)
    assert "plan_again" not in buttons(app)
    assert not charts_of(app)
    assert not app.get("progress")  # no share of a search, whose end nobody knows
    (said,) = (info.value for info in app.info if "Computing" in info.value)
    assert said.startswith("Computing the map")


def test_without_an_answer_there_is_nothing_to_use(monkeypatch):
    app = start("plan", **SMALL)
    monkeypatch.setattr("ui.plan.options.needed_budget", lambda moments, **_: endless(case_of(app)))
    monkeypatch.setattr(plan_work, "PATIENCE", 0.02)
    app.text_input(key="precision_number").set_value("0.4").run()
    check(app)
    assert shown(app) == "…"
    assert app.button(key="use_design").disabled
    assert app.button(key="keep_design").disabled


def test_stopped_work_says_so_gives_no_answer_and_is_done_after_all_on_request(slow, monkeypatch):
    app = open_slow()
    job = job_of(app)
    app.button(key="plan_stop").click().run()
    wait_for(lambda: not job.is_active)
    app.run()
    check(app)
    assert job.state == "cancelled"
    said = "The computation was stopped. What it had found by then is shown."
    assert said in [info.value for info in app.info]
    assert "map" not in keys_of(app)
    assert "budget" in keys_of(app)
    assert not charts_of(app)
    app.run()
    assert job_of(app) is job  # not begun again by itself
    monkeypatch.undo()
    monkeypatch.setattr(plan_work, "PATIENCE", 60.0)
    app.button(key="plan_again").click().run()
    check(app)
    assert len(charts_of(app)) == 1
    assert "map" in keys_of(app)


def test_another_question_is_asked_though_the_last_was_stopped(monkeypatch):
    """The page said that it was stopped, of a question that had never begun."""
    app = start("plan", **SMALL)
    monkeypatch.setattr("ui.plan.options.needed_budget", lambda moments, **_: endless(case_of(app)))
    monkeypatch.setattr(plan_work, "PATIENCE", 0.02)
    app.text_input(key="precision_number").set_value("0.4").run()
    job = job_of(app)
    app.button(key="plan_stop").click().run()
    wait_for(lambda: not job.is_active)
    app.run()
    (said,) = (info.value for info in app.info if "topped" in info.value)
    assert said == "Stopped without an answer."
    told = [one.value for one in app.markdown]
    assert "## –" in told
    assert "## …" not in told
    monkeypatch.setattr(plan_work, "PATIENCE", 60.0)
    app.segmented_control(key="find").set_value("precision").run()
    check(app)
    assert shown(app) not in ("…", "–")
    assert not any("topped" in info.value for info in app.info)


def test_another_move_computes_again_after_a_stop(slow, monkeypatch):
    app = open_slow()
    job = job_of(app)
    app.button(key="plan_stop").click().run()
    wait_for(lambda: not job.is_active)
    app.text_input(key="n_number").set_value("30000").run()
    assert job_of(app) is not job
    assert job_of(app).is_active
    assert not any("topped" in info.value for info in app.info)


def test_of_many_moves_only_the_last_is_worked_on_and_answered(monkeypatch):
    app = start("plan", **SMALL)
    search = needed_budget
    monkeypatch.setattr("ui.plan.options.needed_budget", lambda moments, **_: endless(case_of(app)))
    monkeypatch.setattr(plan_work, "PATIENCE", 0.0)
    before = set(plan_jobs(jobs.QUICK))
    asked = []
    for n in range(21_000, 31_000, 1_000):
        app.text_input(key="n_number").set_value(str(n)).run()
        asked.append(job_of(app))
    assert len({job.key for job in asked}) == 10
    assert set(plan_jobs(jobs.QUICK)) - before == set(asked)
    wait_for(lambda: [job.is_active for job in asked] == [False] * 9 + [True])
    assert all(job.state == "cancelled" and not job.parts for job in asked[:-1])
    monkeypatch.setattr("ui.plan.options.needed_budget", search)
    monkeypatch.setattr(plan_work, "PATIENCE", 60.0)
    app.text_input(key="n_number").set_value("31000").run()
    check(app)
    case = case_of(app)
    budget = needed_budget(
        case.moments, design=replace(case.design, n_records=31_000), target=case.target
    )
    assert least_total(app) == pytest.approx(float(budget.total), rel=1e-4)


def test_moving_back_to_known_answers_stops_the_work(monkeypatch):
    app = start("plan", **SMALL)
    first = charts_of(app)[0]
    monkeypatch.setattr(planning, "iso_map", endless)
    monkeypatch.setattr(plan_work, "PATIENCE", 0.02)
    here = now(app)
    app.session_state["settings"] = replace(here, level=0.8)
    app.run()
    job = job_of(app)
    assert job.is_active
    assert not charts_of(app)
    app.session_state["settings"] = here
    app.run()
    assert charts_of(app)[0]["data"] == first["data"]
    wait_for(lambda: not job.is_active)
    assert job.state == "cancelled"


def test_a_rerun_goes_on_with_the_work_that_runs(slow):
    app = open_slow()
    job = job_of(app)
    app.select_slider(key="n_slider").set_value(20_000).run()
    check(app)
    assert job_of(app) is job
    assert job.is_active


def test_too_many_people_are_told_so_and_may_try_again(monkeypatch):
    monkeypatch.setattr(jobs.QUICK, "_most_waiting", 0)
    app = start("plan", **(SMALL | {"n": "21000"}))  # no job of another test is about the same
    assert any("are waiting already" in warning.value for warning in app.warning)
    assert shown(app) == "–"
    monkeypatch.setattr(jobs.QUICK, "_most_waiting", 10)
    app.button(key="plan_again").click().run()
    check(app)
    assert least_total(app) > 0.0


def test_a_design_by_hand_waits_behind_nobody_s_search(monkeypatch):
    any_case = case_of(start("plan", **SMALL))
    monkeypatch.setattr(compute, "ANSWERS", LRU(64))  # nothing is known
    answer = LinearDesigns.answer

    def searched(designs, *of):
        return answer(designs, *of) if designs.is_first else endless(any_case)

    monkeypatch.setattr(LinearDesigns, "answer", searched)
    monkeypatch.setattr(plan_work, "PATIENCE", 0.02)
    searching = start("plan", **A_NUMBER | {"step": "choose", "find": "precision"})
    wait_for(lambda: job_of(searching.run()) in plan_jobs(jobs.SEARCHES))
    wait_for(lambda: job_of(searching).state == "running")
    monkeypatch.setattr(plan_work, "PATIENCE", 60.0)
    app = start("plan", **SMALL)
    check(app)
    assert least_total(app) > 0.0
    monkeypatch.setattr(plan_work, "PATIENCE", 0.02)
    other = start("plan", **A_NUMBER | {"step": "choose", "find": "records"})  # a first look too
    wait_for(lambda: job_of(other.run()) in plan_jobs(jobs.SEARCHES))
    assert any("Less favourable tables are being looked at" in c.value for c in other.caption)
    jobs.queue_of(job_of(other)).cancel(job_of(other))
    assert job_of(searching).is_active
    jobs.queue_of(job_of(searching)).cancel(job_of(searching))


def test_a_search_of_minutes_waits_with_the_simulations(monkeypatch):
    monkeypatch.setattr(planning, "MANY", 3)
    app = start("plan", **SMALL)
    assert not [m for m in app.markdown if m.value.startswith("## ")]
    app.toggle(key="many_coefficients").set_value(True).run()
    check(app)
    assert least_total(app) > 0.0
    assert job_of(app) in plan_jobs(jobs.QUEUE)


def test_nothing_of_an_uploaded_table_stays_with_the_job():
    app = start("plan", step="describe")
    upload_rich(app)
    check(app)
    assert app.text_input(key="describe_n").value == "400"
    app.button(key="describe_continue").click().run()
    app.session_state["linked"]["method"] = "own"
    app.button(key="step_choose").click().run()
    check(app)
    job = job_of(app)
    wait_for(lambda: not job.is_active)
    assert job.held > 0
    assert (job.parts, job.memo) == ((), None)
    held = [
        value
        for name, value in vars(job).items()
        if name not in ("key", "state", "about", "looked_at", "stop", *_HOOKS)
    ]
    assert job.question == frozenset()  # nobody else may share it
    assert not compute.ANSWERS._values
    assert all(isinstance(value, str | int | float | tuple | frozenset | None) for value in held)
    assert "map" in keys_of(app)
    assert "plan_job" not in app.query_params


def test_what_two_sessions_ask_of_a_public_table_is_computed_once(monkeypatch):
    """Thirty who opened one link had it computed thirty times, one after the other."""
    asked, search = [], needed_budget

    def counting(*args: object, **named: object) -> object:
        asked.append(args)
        return search(*args, **named)

    monkeypatch.setattr("ui.plan.options.needed_budget", counting)
    first = start("plan", **SMALL)
    n_asked = len(asked)
    second = start("plan", **SMALL)
    check(second)
    assert n_asked == len(asked) > 0
    assert "plan_job" not in second.session_state
    assert shown(second) == shown(first)
    second.text_input(key="precision_number").set_value("0.41").run()
    assert len(asked) > n_asked
    assert shown(second) != shown(first)


def test_what_is_asked_of_an_upload_is_kept_by_its_session_alone(monkeypatch):
    """The same bytes in two sessions are two tables."""
    asked: list[object] = []
    search = planning.iso_map
    monkeypatch.setattr(planning, "iso_map", lambda *a: asked.append(a) or search(*a))
    for _ in range(2):
        app = start("plan", step="describe")
        upload_rich(app)
        app.button(key="describe_continue").click().run()
        app.session_state["linked"]["method"] = "own"
        app.button(key="step_choose").click().run()
        check(app)
        assert job_of(app).question == frozenset()
    assert len(asked) == 2
    assert not compute.ANSWERS._values


def test_a_kept_design_comes_with_its_numbers(monkeypatch):
    """It was searched for once more, in the queue."""
    app = start("plan", **SMALL)
    before = set(plan_jobs(jobs.QUICK))
    app.button(key="keep_design").click().run()
    check(app)
    assert set(plan_jobs(jobs.QUICK)) == before
    here, kept = (m.value for m in app.markdown if m.value.startswith("- ε = "))
    assert here == kept
    monkeypatch.setattr(compute, "ANSWERS", LRU(64))
    link = {k: v if isinstance(v, str) else v[0] for k, v in app.query_params.items()}
    again = visit("plan", **link)
    lines = [m.value for m in again.markdown if m.value.startswith("- ε = ")]
    assert lines == [kept, kept]  # as they are where nobody knows them
    app.text_input(key="precision_number").set_value("0.41").run()
    check(app)
    assert set(plan_jobs(jobs.QUICK)) != before  # of another goal they are computed


def test_the_design_beside_comes_before_a_search_and_how_that_stands_is_told_at_the_answer(
    monkeypatch,
):
    """It waited behind the search for another goal, which takes minutes."""
    app = start("plan", **SMALL)
    app.button(key="keep_design").click().run()
    link = {k: v if isinstance(v, str) else v[0] for k, v in app.query_params.items()}
    case, search, beside = case_of(app), needed_budget, plan_work.beside
    monkeypatch.setattr(compute, "ANSWERS", LRU(64))
    monkeypatch.setattr("ui.plan.options.needed_budget", lambda moments, **_: endless(case))
    monkeypatch.setattr(plan_work, "PATIENCE", 0.02)
    again = visit("plan", **link)
    wait_for(lambda: job_of(again).now == "the least budget that works")
    check(again.run())
    (kept,) = (m.value for m in again.markdown if m.value.startswith("- ε = "))
    assert "coefficients can be reported" in kept
    assert stands(again)["plan_stop"] < stands(again)["use_design"] < stands(again)["remove_kept"]
    jobs.QUICK.cancel(job_of(again))
    monkeypatch.setattr("ui.plan.options.needed_budget", search)
    monkeypatch.setattr(compute, "ANSWERS", LRU(64))
    monkeypatch.setattr(
        plan_work, "beside", lambda *a: replace(beside(*a), find=lambda: endless(case))
    )
    again = visit("plan", **link)
    wait_for(lambda: job_of(again).now == "the design beside it")
    check(again.run())
    assert stands(again)["plan_stop"] < stands(again)["use_design"]


def stands(app) -> dict[str, int]:
    """The buttons from top to bottom."""
    return {button.key: place for place, button in enumerate(app.button)}


def test_work_that_stopped_because_its_page_was_gone_begins_anew(slow, monkeypatch):
    app = open_slow()
    job = job_of(app)
    job.is_there = lambda: False
    monkeypatch.setattr(jobs, "LEFT_SECONDS", -1.0)
    wait_for(lambda: not job.is_active, seconds=5)
    app.run()
    check(app)
    assert job_of(app) is not job
    assert job_of(app).is_active


def test_work_that_gave_way_to_who_waits_begins_anew_when_its_page_is_back(slow):
    app = open_slow()
    first = job_of(app)
    other, _, _ = make_job()
    other.parts = other.parts[:1]  # its map would never come either
    jobs.QUICK.submit(other)
    first.looked_at -= jobs.UNSEEN_SECONDS
    wait_for(lambda: other.state == "done")
    assert first.state == "cancelled"
    app.run()
    check(app)
    assert job_of(app) is not first
    assert job_of(app).is_active


# --- the job --------------------------------------------------------------------------------------


def make_job(**changes: object) -> tuple[PlanJob, LRU, dict]:
    settings = replace(Settings(d=3, n=20_000, calibrations=("published",)), **changes)
    case, memo = make_case(settings, TableSource(PUBLIC)), LRU(64)
    parts = parts_of(case, TableSource(PUBLIC))
    return PlanJob(about=case.settings, parts=tuple(parts.values()), memo=memo), memo, parts


def test_a_job_gives_the_answers_of_the_core_and_its_share_grows_to_about_one():
    job, memo, parts = make_job()
    shares = []
    job._should_stop = lambda: bool(shares.append(job.share))
    job.run()
    assert job.state == "done"
    assert shares == sorted(shares)
    assert 0.8 < shares[-1] < 1.0
    case = make_case(job.about, TableSource(PUBLIC))
    least, why = memo.peek(parts["answer"].key)
    assert why is None
    core = needed_budget(case.moments, design=case.design, target=case.target)
    assert (least.typed, least.works) == (float(core.total), True)
    assert least.length == pytest.approx(core.length, rel=1e-4)  # shares have four digits
    found, why = memo.peek(parts["map"].key)
    assert why is None
    same(found, parts_of(case, TableSource(PUBLIC))["map"].find())


def test_a_job_stopped_in_the_middle_of_a_part_keeps_whole_answers_only():
    whole, _, parts = make_job()
    steps = []
    whole._should_stop = lambda: bool(steps.append(whole.now))
    whole.run()
    for part in parts.values():
        first, last = steps.index(part.name), len(steps) - 1 - steps[::-1].index(part.name)
        job, memo, again = make_job()
        asked = []
        job._should_stop = lambda job=job, asked=asked, at=(first + last) // 2: (
            bool(asked.append(job.now)) or len(asked) > at
        )
        job.run()
        assert job.state == "cancelled"
        assert len(asked) == (first + last) // 2 + 1
        known = [name for name, each in again.items() if memo.peek(each.key) is not None]
        assert known == list(parts)[: [each.name for each in parts.values()].index(part.name)]
        assert (job.parts, job.memo) == ((), None)


def test_how_long_it_took_is_told_once_that_is_worth_it_and_never_how_long_it_will(monkeypatch):
    """“Usually about 4 min” became 2, then “longer than usual”, of a search of 20 s."""
    job, now = PlanJob(about=Settings(), parts=(), memo=None, now="the map"), job_time(monkeypatch)
    for share, passed, so_far in (
        (0.25, 4.0, ""),
        (0.25, 8.9, " 8 s so far."),
        (0.1, 26.0, " 26 s so far."),
        (1.0, 125.0, " 2 min 5 s so far."),
    ):
        job.share, job.begun_at = share, now - passed
        assert plan_work._progress_words(job) == f"Computing the map …{so_far}"


def job_time(monkeypatch) -> float:
    """A clock that stands still."""
    monkeypatch.setattr(plan_work.time, "monotonic", lambda: 1_000.0)
    return 1_000.0


def test_what_is_done_is_told_and_no_share_of_a_search(monkeypatch):
    monkeypatch.setattr(plan_work, "_BRIEF", math.inf)
    job, _, parts = make_job()
    seen = []
    job._should_stop = lambda: bool(seen.append((job.share, plan_work._progress_words(job))))
    assert plan_work._progress_words(job) == "Computing …"
    job.run()
    told = {said for _, said in seen}
    assert {f"Computing the map (line {k} of 13) …" for k in range(1, 14)} <= told
    assert "Computing the least budget that works (try 1) …" in told
    names = tuple(f"Computing {one.name} " for one in parts.values())
    assert all(said.startswith(names) for said in told - {"Computing …"})  # before it begins
    assert [share for share, _ in seen] == sorted(share for share, _ in seen)


@pytest.mark.parametrize(
    ("passed", "share", "is_waited_for"),
    [
        (0.04, 0.0, True),
        (0.06, 0.0, False),
        (0.1, 0.3, True),
        (0.1, 0.2, False),
        (0.24, 0.7, True),
        (0.26, 0.9, False),
    ],
)
def test_only_an_end_that_is_near_is_waited_for(passed, share, is_waited_for, monkeypatch):
    monkeypatch.setattr(plan_work, "PATIENCE", 0.25)
    job, _, _ = make_job()
    job.share = share
    assert plan_work._may_come(job, passed) is is_waited_for


def test_a_refusal_is_an_answer_in_words():
    job, memo, parts = make_job(goal_length=0.001)
    job.run()
    assert job.state == "done"
    answer, why = memo.peek(parts["answer"].key)
    assert answer is None
    assert isinstance(why, OutOfReachError)
    assert why.__traceback__ is why.__context__ is None  # or it would keep the table


def test_an_answer_that_comes_while_the_page_is_drawn_is_shown(monkeypatch):
    waiting, draw, search = threading.Event(), pictures.panel, planning.iso_map

    def draw_late(case: Case, work: plan_work.Work) -> None:
        waiting.set()
        wait_for(lambda: work.job is None or not work.job.is_active)
        draw(case, work)

    monkeypatch.setattr(plan_work, "PATIENCE", 0.02)
    monkeypatch.setattr(planning, "iso_map", lambda *a: waiting.wait(60.0) and search(*a))
    monkeypatch.setattr(pictures, "panel", draw_late)
    app = start("plan", **SMALL)
    assert waiting.is_set()
    assert app.session_state["again_wanted"]  # the browser asks once more by itself
    check(app.run())
    assert len(charts_of(app)) == 1
