"""The page Learn through Streamlit's test runner, and what it shares with other pages: sources,
switches, links.
"""

from __future__ import annotations

import json
import re
import socket
from urllib.parse import parse_qs

import pytest

from tests.ui.test_pages import PAPER_TERMS, ROOT, check, now, pictures_of, start, visit
from ui.controls import deployments
from ui.kit import again, share
from ui.learn import numbers as learn_numbers
from ui.learn import page as learn_page
from ui.learn import teach as learn_teach
from ui.learn.path import LESSON, SCREENS, address, find
from ui.session.settings import START, Settings, from_query


def opened(key: str, **query: str):
    """A screen with its picture."""
    app = visit("learn", screen=key, **query)
    if not pictures_of(app):
        app.button(key=f"learn_{key}_peek").click().run()
    check(app)
    return app


def link_of(app) -> dict[str, str]:
    return {
        name: value[0] if isinstance(value, list) else value
        for name, value in app.query_params.items()
    }


def words(app) -> str:
    kinds = (app.title, app.markdown, app.caption, app.warning, app.info, app.success, app.header)
    return "\n".join(element.value for kind in kinds for element in kind)


def switch_to(app, page: str):
    app.switch_page(str(ROOT / "pages" / f"{page}.py")).run()
    check(app)
    return app


def test_the_question_comes_before_the_picture():
    app = start("learn")
    assert not pictures_of(app)
    question = SCREENS[0].question
    wrong = next(i for i, choice in enumerate(question.choices) if not choice.is_right)
    app.radio(key="learn_promise_answer").set_value(wrong).run()
    check(app)
    assert len(pictures_of(app)) == 1
    assert any(i.value == f"Not quite. {question.choices[wrong].reply}" for i in app.info)
    right = next(i for i, choice in enumerate(question.choices) if choice.is_right)
    app.radio(key="learn_promise_answer").set_value(right).run()
    assert [s.value for s in app.success] == [question.choices[right].reply]


def test_frames_come_at_rest_and_once(monkeypatch):
    """No run that answers a move finds them or carries them; one that was cut short is made up
    for.
    """

    def frames(app) -> int:
        names = [element.proto.component_name for element in app.get("bidi_component")]
        return names.count("dpci_animation")

    told: list[dict[str, object]] = []
    monkeypatch.setattr(again, "_component", lambda *, data, **_: told.append(data))
    app = opened("noise")
    assert (frames(app), told[-1]["wait"]) == (0, 450)
    app.session_state["again_told"] = told[-1]["version"]
    app.run()
    check(app)
    assert (frames(app), told[-1]["wait"]) == (1, None)
    app.run()  # at once, so that what was sent may not have arrived
    assert (frames(app), told[-1]["wait"]) == (0, 450)
    monkeypatch.setattr(learn_page, "_ARRIVES", 0.0)
    app.run()
    assert (frames(app), told[-1]["wait"]) == (0, None)


@pytest.mark.parametrize("screen", SCREENS, ids=lambda s: s.key)
def test_moving_the_control_moves_picture_words_table_and_link(screen):
    app = opened(screen.key)
    before = pictures_of(app)[0]
    value = (
        screen.control.values[0]
        if screen.control.start != screen.control.values[0]
        else screen.control.values[-1]
    )
    app.select_slider(key=f"learn_{screen.key}_slider").set_value(value).run()
    check(app)
    after = pictures_of(app)[0]
    assert after["meta"] == {"screen": screen.key, "value": value}
    assert (before["here"], before["version"]) != (after["here"], after["version"])
    assert after["title"] == screen.sentence(screen.compute(value))
    assert app.dataframe[0].value.equals(screen.compute(value).table)
    assert link_of(app) == {"screen": address(screen), "value": f"{value:g}"}
    assert after["alt"].startswith(after["title"])


@pytest.mark.parametrize(
    ("key", "typed", "shown"),
    [
        ("odds", 2.5, 2.5),
        ("odds", 0.113, 0.11),
        ("n", 40_000, 50_000),
        ("promise", 0.9876, 0.99),
        ("split", 0.61, 0.6),
        ("odds", 1.01, 1.1),
        ("n", 19_999, 10_000),
    ],
)
def test_a_number_can_be_typed_and_goes_to_the_nearest_step(key, typed, shown):
    app = opened(key)
    app.text_input(key=f"learn_{key}_number").set_value(str(typed)).run()
    check(app)
    assert pictures_of(app)[0]["meta"] == {"screen": key, "value": shown}
    assert app.select_slider(key=f"learn_{key}_slider").value == shown
    assert float(app.text_input(key=f"learn_{key}_number").value) == shown


@pytest.mark.parametrize(
    "query",
    [
        {"screen": "nothing"},
        {"screen": "<script>"},
        {"screen": "odds", "value": "77"},
        {"screen": "odds", "value": "<script>"},
        {"screen": "n", "value": "nan"},
    ],
    ids=str,
)
def test_an_unknown_link_falls_back_with_a_sentence(query):
    app = visit("learn", **query)
    assert len(app.warning) == 1
    assert "This link" in app.warning[0].value
    assert "script" not in words(app)
    app.button(key="learn_next").click().run()
    check(app)
    assert not app.warning


def test_the_path_goes_forward_and_back_and_keeps_answers_and_values():
    app = opened("promise", value="0.8")
    app.button(key="learn_next").click().run()
    check(app)
    assert not pictures_of(app)
    assert any("Screen 2 of 15" in p.proto.text for p in app.get("progress"))
    app.button(key="learn_previous").click().run()
    assert pictures_of(app)[0]["meta"]["value"] == 0.8
    app.selectbox(key="learn_contents").set_value("peeking").run()
    check(app)
    assert link_of(app)["screen"] == "peeking"
    switch_to(app, "explore")
    assert "screen" not in link_of(app)
    switch_to(app, "learn")
    assert link_of(app)["screen"] == "peeking"


def test_pictures_first_and_large_type():
    app = start("learn")
    app.toggle(key="learn_open_toggle").set_value(True).run()
    assert len(pictures_of(app)) == 1
    assert not is_large(app)
    app.toggle(key="learn_large_toggle").set_value(True).run()
    check(app)
    assert is_large(app)


def is_large(app) -> bool:
    """Whether everything is written larger; pictures follow the size of the page."""
    return any("font-size: 128%" in e.proto.body for e in app.get("html"))


def test_learning_leaves_the_settings_alone_and_opens_no_file():
    app = opened("noise")
    app.select_slider(key="learn_noise_slider").set_value(10.0).run()
    assert now(app) == START
    assert not app.get("file_uploader")


# --- teachers -------------------------------------------------------------------------------------


def test_the_page_for_teachers_has_lesson_exercises_and_links():
    app = start("learn", learn="teachers")
    said = words(app)
    assert link_of(app) == {"learn": "teachers"}
    assert 6 <= len(learn_teach.EXERCISES) <= 8
    for exercise in learn_teach.EXERCISES:
        assert exercise.title in said
        assert exercise.solve() not in said
    app.toggle(key="solutions").set_value(True).run()
    check(app)
    assert all(exercise.solve() in words(app) for exercise in learn_teach.EXERCISES)
    app.segmented_control(key="learn_tab").set_value("path").run()
    check(app)
    assert link_of(app)["screen"] == "promise"


def test_a_class_gets_an_address_that_others_reach_and_nothing_of_the_projector():
    app = start("learn", learn="teachers", type="large")
    assert not app.get("image")
    app.text_input(key="class_address").set_value("http://localhost:8501").run()
    assert not app.get("image")
    assert "this machine's own name" in app.error[0].value
    app.text_input(key="class_address").set_value("http://192.168.1.20:8501/").run()
    check(app)
    assert len(app.get("image")) == 1
    assert [c.value for c in app.code] == [
        "http://192.168.1.20:8501/learn?screen=promise&path=lesson"
    ]


class Probe(socket.socket):
    """Of a machine that its network knows as 192.168.7.5."""

    def connect(self, _: object) -> None:
        pass

    def getsockname(self) -> tuple[str, int]:
        return ("192.168.7.5", 40_000)


@pytest.mark.parametrize(
    ("url", "listens", "found"),
    [
        ("http://localhost:8601/learn", "0.0.0.0", "http://192.168.7.5:8601"),
        ("http://127.0.0.1:8601/x/learn", None, "http://192.168.7.5:8601/x"),
        ("http://localhost:8601/learn", "127.0.0.1", ""),
        ("http://stats.example.org/learn", "0.0.0.0", "http://stats.example.org"),
        ("", "0.0.0.0", ""),
    ],
)
def test_a_server_that_listens_for_a_class_knows_its_address(url, listens, found, monkeypatch):
    """And tells nobody who comes from elsewhere the address of the machine behind a name."""
    monkeypatch.setattr(learn_teach.socket, "socket", Probe)
    monkeypatch.setattr(type(learn_teach.st.context), "url", property(lambda _: url))
    monkeypatch.setattr(learn_teach.st, "get_option", lambda _: listens)
    monkeypatch.setattr(learn_teach.st, "session_state", {})
    assert learn_teach._class_address() == found


def test_without_an_address_a_teacher_reads_what_can_be_done():
    app = start("learn", learn="teachers")
    said = words(app)
    assert learn_teach.ALONE in said
    assert "class:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    app.text_input(key="class_address").set_value("http://192.168.1.20:8501").run()
    said = words(app)
    assert learn_teach.JOINING in said
    assert learn_teach.ALONE not in said
    assert [w.value for w in app.warning] == [learn_teach.ELSEWHERE]  # nothing else listens there


@pytest.mark.parametrize(
    ("typed", "root"),
    [
        ("http://192.168.1.20:8501/learn", "http://192.168.1.20:8501"),
        ("https://stats.example.org/learn?x=1#y", "https://stats.example.org"),
        ("192.168.1.20:8501", "http://192.168.1.20:8501"),
        ("http://0.0.0.0:8501", ""),
        ("http://192.168.1.20:99999", ""),
        ("localhost:8501", ""),
        ("school laptop", ""),
        ("http://school laptop:8501", ""),
        ("192.168.1:8501", ""),
        ("laptop-3:8501", "http://laptop-3:8501"),
        ("http://[fd00::7]:8501", "http://[fd00::7]:8501"),
    ],
)
def test_an_address_for_a_class_is_scheme_host_and_port_and_goes_into_share(typed, root):
    app = start("learn", learn="teachers")
    app.text_input(key="class_address").set_value(typed).run()
    assert bool(app.error) == (root == "")
    link = "?screen=promise&path=lesson"
    assert [c.value for c in app.code] == ([f"{root}/learn{link}"] if root else [])
    assert any(c.value == f"Taken as {root}." for c in app.caption) == (
        "//" not in typed and root > ""
    )
    app.segmented_control(key="learn_tab").set_value("path").run()
    check(app)
    assert app.code[0].value.startswith(f"{root}/learn?screen=promise" if root else "?screen=")
    assert any("Others cannot reach" in c.value for c in app.caption) == (root == "")
    app.segmented_control(key="learn_tab").set_value("teachers").run()
    assert app.text_input(key="class_address").value == typed


@pytest.mark.parametrize(
    ("typed", "root"),
    [
        ("192.168.1.20", "http://192.168.1.20:8601"),
        ("lab-3:80", "http://lab-3:80"),
        ("https://stats.example.org", "https://stats.example.org"),
    ],
)
def test_an_address_without_a_scheme_has_the_port_of_this_page(typed, root, monkeypatch):
    monkeypatch.setattr(
        type(learn_teach.st.context), "url", property(lambda _: "http://localhost:8601/learn")
    )
    app = start("learn", learn="teachers")
    app.text_input(key="class_address").set_value(typed).run()
    assert app.code[0].value.startswith(f"{root}/learn?")


def test_the_lesson_names_its_goals_and_every_minute_of_45():
    said = words(start("learn", learn="teachers"))
    assert learn_teach.GOALS in said
    ends = [tuple(map(int, step.minutes.split("-"))) for step in learn_teach.LESSON]
    assert [start for start, _ in ends] == [0, *(end for _, end in ends[:-1])]
    assert ends[-1][1] == 45
    assert {"mechanisms", "crowd"} <= {key for step in learn_teach.LESSON for key in step.screens}


def test_a_link_to_a_screen_opens_the_path_whichever_tab_was_open():
    app = start("learn", learn="teachers", screen="odds")
    assert link_of(app)["screen"] == address(find("odds"))
    assert "learn" not in link_of(app)


def test_the_page_for_students_has_tasks_and_no_solutions():
    app = visit("learn", screen="exercises")
    said = words(app)
    for exercise in learn_teach.EXERCISES:
        assert exercise.task in said
        assert exercise.solve() not in said
    assert "solutions" not in [toggle.key for toggle in app.toggle]


def test_the_lesson_goes_in_the_order_of_next():
    lesson = [key for step in learn_teach.LESSON for key in step.screens]
    assert lesson == [screen.key for screen in LESSON]
    assert lesson == [screen.key for screen in SCREENS if screen.key in lesson]
    app = start("learn", path="lesson")
    assert app.selectbox(key="learn_contents").options == [
        f"{number}. {screen.title}" for number, screen in enumerate(LESSON, 1)
    ]
    for number, key in enumerate(lesson[1:], 2):
        app.button(key="learn_next").click().run()
        check(app)
        assert link_of(app)["screen"] == address(find(key))
        assert any(f"Screen {number} of {len(LESSON)}" in p.proto.text for p in app.get("progress"))


def test_how_the_path_is_shown_is_in_the_link():
    app = start("learn", type="large", pictures="first")
    assert len(pictures_of(app)) == 1
    assert is_large(app)
    shown = {"screen": "promise", "value": "0.95", "type": "large", "pictures": "first"}
    assert link_of(app) == shown
    app.toggle(key="learn_large_toggle").set_value(False).run()
    assert link_of(app) == {key: value for key, value in shown.items() if key != "type"}


def test_the_shared_link_has_what_is_shown_and_nothing_else():
    link = share.address("http://localhost:8501/learn?old=1", {"screen": "odds", "value": "2"})
    assert link == "http://localhost:8501/learn?screen=odds&value=2"


def test_every_link_for_a_class_opens_without_a_complaint():
    said = words(start("learn", learn="teachers"))
    addresses = sorted(set(re.findall(r"\]\(((?:learn|explore|plan)[^)]*)\)", said)))
    assert len(addresses) > 20
    for link in addresses:
        page, _, query = link.partition("?")
        fields = {name: values[0] for name, values in parse_qs(query).items()}
        app = visit(page, **fields)
        assert not any("link" in w.value for w in app.warning), link
        if page != "learn":
            assert from_query(fields)[1] == ()
            asked = {k: v for k, v in fields.items() if v}
            assert link_of(app).get("find") == asked.pop("find", None)
            assert now(app).to_query() == asked


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("title", "number", "words"),
    [
        ("The price in records", r"from (\S+) records", "as from {} records without privacy"),
        ("Too small a table", r"cover (\S+) %", "cover {}\N{NARROW NO-BREAK SPACE}% where"),
        ("Who pays for short intervals", r"are (\S+) times", "{} times the spread"),
        ("Who pays for short intervals", r"ones (\S+) times", "{} times the spread"),
    ],
)
def test_the_page_that_a_task_opens_shows_the_number_of_its_solution(title, number, words):
    task = next(e for e in learn_teach.EXERCISES if e.title == title)
    page, _, query = task.address.partition("?")
    app = visit(page, **{name: values[0] for name, values in parse_qs(query).items()})
    found = re.search(number, task.solve())
    shown = [m.value for m in app.markdown]
    shown += [json.dumps(picture, ensure_ascii=False) for picture in pictures_of(app)]
    assert words.format(found[1]) in "\n".join(shown)


def test_solutions_follow_the_core(monkeypatch):
    solution = next(e for e in learn_teach.EXERCISES if e.title == "Luck in the count").solve
    hits = learn_numbers.promise(0.8).facts["hits"]
    assert f"Here {hits:.0f} hold" in solution()


# --- how others chose -----------------------------------------------------------------------------


def test_every_published_budget_has_a_source_and_a_plausible_number():
    rows = deployments.deployments()
    assert len(rows) >= 6
    assert [row.epsilon for row in rows] == sorted(row.epsilon for row in rows)
    for row in rows:
        assert row.url.startswith("https://")
        assert row.source
        assert row.unit
        assert row.what
        assert f"{row.epsilon:g}" in row.stated
        assert row.where in ("central", "on the device")


@pytest.mark.parametrize(("epsilon", "place"), [("0.3", 0), ("3", -5), ("10", -3)])
def test_the_own_budget_stands_in_its_place_among_them(epsilon, place):
    settings = learn_teach.with_total(Settings(), epsilon)
    lines = deployments.lines(settings)
    mine = next(i for i, line in enumerate(lines) if "this page now" in line)
    assert mine == place % len(lines)
    assert len(lines) == len(deployments.deployments()) + 1


@pytest.mark.parametrize("page", ["explore", "coverage"])
def test_others_stand_beside_the_budget_with_the_caveat(page):
    app = start(page)
    titles = {e.label for e in app.expander} | {m.value.strip("*") for m in app.markdown}
    assert "How others chose" in titles
    assert any(c.value == deployments.CAVEAT for c in app.caption)


# --- explanations off -----------------------------------------------------------------------------


def labels(app) -> set[str]:
    return {e.label for e in app.expander}


NOTE = "For the coefficients themselves: more here"
"""An explanation under a control of Explore."""


def test_explanations_can_be_switched_off_and_stay_off():
    app = start()
    assert NOTE in words(app)
    app.toggle(key="help_switch").set_value(False).run()
    check(app)
    assert NOTE not in words(app)
    assert link_of(app) == {**PAPER_TERMS, "help": "off"}
    switch_to(app, "evidence")
    assert "What coverage means" not in labels(app)
    switch_to(app, "explore")
    assert NOTE not in words(app)
    fresh = start(help="off")
    assert NOTE not in words(fresh)
    assert fresh.toggle(key="help_switch").value is False
    app.toggle(key="help_switch").set_value(True).run()
    assert NOTE in words(app)
    assert "help" not in link_of(app)


def test_warnings_guarantees_and_units_stay_without_explanations():
    query = {"dataset": "breast_cancer", "n": "600"}
    full, bare = start(**query), start(help="off", **query)
    assert [w.value for w in full.warning] == [w.value for w in bare.warning]
    said = words(bare)
    assert "can become at most" in " ".join(part.proto.body for part in bare.get("html"))
    assert "What is protected: the record of any one person" in said
    assert NOTE not in said
    assert NOTE in words(full)
