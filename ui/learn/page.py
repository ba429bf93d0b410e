"""The page Learn, in tabs: the path, one screen at a time with a question before each picture, and
a lesson for teachers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial

import streamlit as st

from dpci_core import StoppedError, watched
from ui.controls.hints import link_problem
from ui.controls.paired import both_ends, compact
from ui.kit import again, linked, turns
from ui.kit.bound import among, bound
from ui.kit.exports import download_csv
from ui.kit.palette import SOURCE_MARKS
from ui.kit.picture import Picture, draw, keep_animation, whole_frames
from ui.kit.streamlit_internals import is_back, is_over
from ui.kit.style import themed
from ui.kit.top import begin_at_top, bring
from ui.learn import teach
from ui.learn.model import Screen
from ui.learn.numbers import Numbers
from ui.learn.path import LESSON, SCREENS, address, find
from ui.session import state
from ui.session.text import unbroken
from ui.session.typed import Number

TABS = {"path": "The path", "teachers": "For teachers"}
_TAB = linked.one_of("learn", TABS, default="path", widget="learn_tab")
EXERCISES = "exercises"
"""The screen for students: tasks without solutions."""
_PLACE, _PROBLEM = "learn_place", "learn_problem"
_ANSWERED = "learn_answered"
"""Whether the last thing that happened was an answer."""
_VALUES, _ANSWERS, _SENT = "learn_values", "learn_answers", "learn_frames_sent"
_ARRIVES = 1.0
"""Seconds within which frames reach the browser; a run that comes sooner may discard them."""
_TYPE = linked.one_of("type", ("usual", "large"), default="usual", widget="learn_large_toggle")
_PICTURES = linked.one_of(
    "pictures", ("after", "first"), default="after", widget="learn_open_toggle"
)
_PATH = linked.one_of("path", ("all", "lesson"), default="all", widget="learn_path_toggle")
_CSS = """<style>
/* Next is in reach, and what an answer brings is not behind it. */
[data-testid=stLayoutWrapper]:has(> .st-key-learn_steps) { position: sticky; bottom: 0; z-index: 50;
  padding: 0.5rem 0; background: light-dark(LIGHT_PAGE, DARK_PAGE);
  border-top: 1px solid light-dark(LIGHT_LINE, DARK_LINE) }
.st-key-learn_seen { scroll-margin: 4rem 0 }
.st-key-learn_head .stProgress { max-width: 20rem }
.st-key-learn_title h1 { line-height: 1.2; padding: 0 0 0.5rem }
@media (max-width: 640px) {
  .st-key-learn_steps { flex-wrap: nowrap !important }
  .st-key-learn_steps > * { min-width: 0 }
  .st-key-learn_steps .stButton p { white-space: nowrap }
  .st-key-learn_seen, .st-key-learn_seen [data-testid=stColumn] { gap: 0.5rem; min-width: 0 }
  .st-key-learn_seen [data-testid=stHorizontalBlock] { flex-wrap: nowrap; gap: 0.75rem }
  .st-key-learn_seen [data-testid=stAlertContainer] { padding: 0.375rem 0.75rem }
  .st-key-learn_seen :is([data-testid=stAlertContainer] p, .finding) { font-size: 0.875rem;
    line-height: 1.1875rem }
  .st-key-learn_seen .foot button { display: none }
}
@media (max-width: 640px) and (max-height: 700px) {
  .st-key-learn_seen [data-testid=stLayoutWrapper]:has(> [class*=st-key-ends_]) { display: none }
}
/* On a low screen, as a projector's, answer, slider and chart stand between the head and Next. */
@media (min-width: 641px) and (max-height: 52em) {
  .st-key-learn_seen, .st-key-learn_seen [data-testid=stColumn] { gap: 0.375rem }
  .st-key-learn_seen [data-testid=stHorizontalBlock] { gap: 1rem }
  .st-key-learn_seen [data-testid=stAlertContainer] { padding: 0.25rem 0.75rem }
  .st-key-learn_seen .finding { margin-bottom: 0.25rem }
  .st-key-learn_seen .foot { font-size: 0.75rem; line-height: 1.0625rem; padding: 0 }
  .st-key-learn_seen [class*=st-key-compact_] { margin-bottom: -0.5rem }
  .st-key-learn_title h1 { font-size: 1.5rem }
  .st-key-learn_seen .canvas { min-height: 0 }
  .st-key-learn_seen [data-testid=stLayoutWrapper]:has(> [class*=st-key-ends_]) { display: none }
}
</style>"""
_LARGE_CSS = """<style>
html { font-size: 128% }
@media (min-width: 641px) and (max-height: 52em) {
  .st-key-learn_seen :is([data-testid=stAlertContainer] p, .finding) { font-size: 0.875rem;
    line-height: 1.125rem }
  .st-key-learn_seen .foot button { display: none }
}
</style>"""


def page() -> None:
    """Draw the page."""
    if st.query_params.get("screen") == EXERCISES:
        state.mirror_to_link({"screen": EXERCISES})
        teach.exercises()
        return
    _follow_link()
    screen = _here()
    with st.container(key="learn_head", horizontal=True, vertical_alignment="bottom", gap="medium"):
        tab = linked.tabs(_TAB, TABS)
        if tab == "path":
            path = _path(screen)
            number = path.index(screen) + 1
            st.progress(number / len(path), text=f"Screen {number} of {len(path)}")
    if tab == "teachers":
        state.mirror_to_link()
        teach.lesson()
        return
    begin_at_top(screen.key)
    _mirror(screen)
    st.html(themed(_CSS))
    if _TYPE.value == "large":
        st.html(_LARGE_CSS)
    _screen(screen)
    _steps(screen)
    _tools(screen)


def _path(screen: Screen) -> tuple[Screen, ...]:
    """The screens that Previous and Next go along."""
    return LESSON if _PATH.value == "lesson" and screen in LESSON else SCREENS


# --- where the reader is --------------------------------------------------------------------------


def _here() -> Screen:
    screen = find(st.session_state.setdefault(_PLACE, SCREENS[0].key))
    assert screen is not None  # `_follow_link` and the callbacks only go to screens that exist
    return screen


def _value(screen: Screen) -> float:
    return float(_values().get(screen.key, screen.control.start))


def _values() -> dict[str, float]:
    """The value of each screen's control, as the reader left it."""
    return st.session_state.setdefault(_VALUES, {})  # type: ignore[no-any-return]


def _answers() -> dict[str, int]:
    """The choice of each question that was answered."""
    return st.session_state.setdefault(_ANSWERS, {})  # type: ignore[no-any-return]


def _follow_link() -> None:
    """Go where the link says, if somebody came by it: a shared link, Back or Forward. Otherwise it
    says where the page was when the browser sent it, which may be some moves ago.
    """
    state.settings()  # reads its own part of the link before this page writes to it
    key, text = st.query_params.get("screen", ""), st.query_params.get("value", "")
    if not key or (_PLACE in st.session_state and not is_back()):
        return
    st.session_state[_PROBLEM] = ""
    _TAB.take("path")
    screen = find(key)
    if screen is None:
        st.session_state[_PROBLEM] = (
            "This link names a screen that does not exist; the path begins here instead."
        )
        st.session_state[_PLACE] = SCREENS[0].key
        return
    st.session_state[_PLACE] = screen.key
    value = screen.control.read(text) if text else screen.control.start
    if value is None:
        st.session_state[_PROBLEM] = (
            f"This link holds a value that “{screen.control.label}” does not have; "
            f"{screen.control.show(screen.control.start)} stands in for it."
        )
        value = screen.control.start
    _values()[screen.key] = value


def _mirror(screen: Screen) -> None:
    """Write the place into the address bar."""
    state.mirror_to_link(_place(screen))


def _place(screen: Screen) -> dict[str, str]:
    return {"screen": address(screen), "value": f"{_value(screen):g}"}


def _go(key: str) -> None:
    st.session_state[_PROBLEM] = ""
    st.session_state[_PLACE] = key


# --- one screen -----------------------------------------------------------------------------------


def _tools(screen: Screen) -> None:
    """How to show the path, and a link to what is shown."""
    switches = (
        (_PICTURES, "first", "after", "Pictures before questions"),
        (_TYPE, "large", "usual", "Large type, for a projector"),
        (_PATH, "lesson", "all", "45-minute version"),
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        teach.share_button(_place(screen) | linked.to_query())
        for choice, on, off, label in switches:
            st.toggle(
                label,
                **bound(choice.widget, choice.value == on, partial(_switch, choice, on, off)),
            )


def _switch(choice: linked.Choice, on: str, off: str, is_on: bool) -> None:
    choice.take(on if is_on else off)


def _screen(screen: Screen) -> None:
    link_problem()
    if problem := st.session_state.get(_PROBLEM):
        st.warning(problem)
    left, right = st.columns([2, 3], gap="large")
    with left:
        with st.container(key="learn_title"):
            st.title(screen.title)
        st.markdown(unbroken(screen.text))
        is_open = _question(screen)
        if is_open:
            with st.expander("The mechanism behind it"):
                st.markdown(screen.mechanism)
    with right:
        if is_open:
            with st.container(key="learn_seen"):
                _reply(screen)
                alt = _picture(screen)
            if st.session_state.pop(_ANSWERED, False):
                bring("learn_seen")
            _numbers(screen, alt)
        else:
            st.info(
                "The picture appears when you have answered. A guess is fine: nothing is counted "
                "or kept."
            )
            st.button(
                "Show it without answering",
                key=f"learn_{screen.key}_peek",
                on_click=_answer,
                args=(screen, -1),
            )


def _reply(screen: Screen) -> None:
    """What is said to the answer, over the picture that shows it."""
    given = _answers().get(screen.key, -1)
    if given < 0:
        return
    choice = screen.question.choices[given]
    if choice.is_right:
        st.success(choice.reply)
    else:
        st.info(f"Not quite. {choice.reply}")


def _question(screen: Screen) -> bool:
    """The question; whether the picture may be seen."""
    question, given = screen.question, _answers().get(screen.key)
    shown = given if given is not None and given >= 0 else None
    with st.container(border=True):
        st.radio(
            f"**{question.ask}**",
            list(range(len(question.choices))),
            format_func=lambda index: question.choices[index].text,
            index=None,
            **bound(f"learn_{screen.key}_answer", shown, lambda index: _answer(screen, index)),
        )
    return given is not None or _PICTURES.value == "first"


def _answer(screen: Screen, index: int) -> None:
    _answers()[screen.key] = index
    st.session_state[_ANSWERED] = True


def slider_key(screen: Screen) -> str:
    """The key of a screen's slider."""
    return f"learn_{screen.key}_slider"


def _control(screen: Screen) -> None:
    control = screen.control
    whole = all(value.is_integer() for value in control.values)
    kind: Callable[[float], Number] = int if whole else float
    key = f"learn_{screen.key}"
    compact(
        key,
        control.label,
        kind(_value(screen)),
        [kind(value) for value in control.values],
        lambda typed: _move(screen, typed),
        help="The slider goes in steps; a typed number moves it to the nearest one.",
        show=control.show,
    )
    both_ends(key, control.low_end, control.high_end)


def _move(screen: Screen, to: float) -> None:
    st.session_state[_PROBLEM] = ""
    _values()[screen.key] = screen.control.towards(to, _value(screen))


def _picture(screen: Screen) -> str:
    """Draw it; what it shows in words."""
    value = _value(screen)
    numbers, slider = screen.compute(value), slider_key(screen)
    picture = drawn(screen, numbers)
    here = screen.control.values.index(value)
    live = {"slider": slider, "here": here, "animation": screen.key, "isAnimated": True}
    _control(screen)  # above, as on Explore: no hand hides what it moves
    draw(f"learn_{screen.key}", picture, **live)
    _frames_when_quiet(screen.key, slider)
    return picture.alt


def _numbers(screen: Screen, alt: str) -> None:
    """The numbers of the picture as a table."""
    numbers = screen.compute(_value(screen))
    with st.container(key="learn_table"), st.expander("The numbers as a table"):
        st.dataframe(
            numbers.table,
            hide_index=True,
            alt=alt,
            key=f"{slider_key(screen)}_table",
        )
        download_csv("CSV", numbers.table, name=f"learn_{screen.key}")


def _frames_when_quiet(key: str, slider: str) -> None:
    """What the picture shows while its slider is dragged: found and sent when nothing moves, once,
    for the browser keeps it. A press of a key waits for none of it.
    """
    sent: dict[str, float] = st.session_state.setdefault(_SENT, {})
    if key in sent and time.monotonic() - sent[key] >= _ARRIVES:
        return
    if not again.is_asked(key):
        again.want(again.QUIET, key)
        return
    turns.give_way()
    with suppress(StoppedError), watched(should_stop=is_over):
        keep_animation(slider, frames_of(key))
        sent[key] = time.monotonic()


@lru_cache(maxsize=len(SCREENS))
def frames_of(key: str) -> dict[str, object]:
    """The picture of a screen at every position of its slider; public numbers, kept for all."""
    screen = find(key)
    assert screen is not None
    pictures = [drawn(screen, screen.compute(value)) for value in screen.control.values]
    return whole_frames(key, pictures)


def drawn(screen: Screen, numbers: Numbers) -> Picture:
    """The picture of a screen, with what it shows in a sentence, its source and what is assumed."""
    sentence = screen.sentence(numbers)
    control = screen.control
    badge, _ = SOURCE_MARKS[screen.source]
    picture = screen.figure(numbers)
    return replace(
        picture,
        title=sentence,
        is_heading=False,
        alt=f"{sentence} {picture.alt}".strip(),
        footer=unbroken(
            f"{badge} · {screen.assumptions}; {control.label.lower()}: "
            f"{control.show(numbers.value)}"
        ),
        meta={"screen": screen.key, "value": numbers.value},
        least=screen.height,
    )


def _steps(screen: Screen) -> None:
    """Back, forward, or anywhere."""
    path = _path(screen)
    number = path.index(screen)
    titles = {s.key: f"{place}. {s.title}" for place, s in enumerate(path, 1)}
    with st.container(key="learn_steps", horizontal=True, vertical_alignment="center"):
        if number > 0:
            before = path[number - 1].key
            st.button("← Previous", key="learn_previous", on_click=_go, args=(before,))
        st.selectbox(
            "Screens",
            **among(titles),
            **bound("learn_contents", screen.key, _go),
            label_visibility="collapsed",
        )
        if number + 1 < len(path):
            after = path[number + 1].key
            st.button("Next →", key="learn_next", on_click=_go, args=(after,), type="primary")
        else:
            st.page_link("../pages/explore.py", label="**Your own settings →**")
