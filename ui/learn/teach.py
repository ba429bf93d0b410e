"""The tab for teachers: a plan of 45 minutes, exercises whose solutions are computed, and settings
by link.
"""

from __future__ import annotations

import ipaddress
import math
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from urllib.parse import urlencode, urlsplit

import streamlit as st

from dpci_core import Forecast, as_if_records
from dpci_core.privacy.budget import pure_risk
from ui.kit import share
from ui.kit.bound import bound
from ui.learn import numbers, path
from ui.learn.path import SCREENS, address, find
from ui.session import quota, state
from ui.session.budget import from_shares
from ui.session.compute import PUBLIC, TableSource, compute
from ui.session.settings import Settings
from ui.session.text import at_most, number, number_at_most, percent

BASE = Settings(d=6, mechanisms=("objective",))
"""What most links start from: six features of the simulated census, one mechanism."""
_TYPED = "address_for_class"
_EVERYWHERE = ("0.0.0.0", "::")
"""What a server listens at for others, and no address of its own."""
_SOMEWHERE = ("192.0.2.1", 9)
"""An address that belongs to nobody (RFC 5737)."""
_NAME = re.compile(r"(?!-)[\w-]{1,63}(?:\.(?!-)[\w-]{1,63})*\.?")
_NUMBERS = re.compile(r"[\d.]+")
SMALL = Settings(dataset="breast_cancer", n=569, d=10, mechanisms=("objective",))


def with_total(settings: Settings, total: str) -> Settings:
    """The settings with another pure budget, split as published."""
    return replace(settings, split=from_shares(Decimal(total)))


def link(page: str, settings: Settings, **more: str) -> str:
    """The address of a page with these settings, relative to this page; more: what else it says."""
    query = urlencode(settings.to_query() | more)
    return f"{page}?{query}" if query else page


def screen_link(key: str, value: float | None = None, **more: str) -> str:
    """The address of a screen of Learn, at a value if one is named; more: what else it says."""
    screen = find(key)
    assert screen is not None
    query = {"screen": address(screen)} | ({} if value is None else {"value": f"{value:g}"})
    return f"learn?{urlencode(query | more)}"


@dataclass(frozen=True, kw_only=True)
class Step:
    """A part of the lesson: minutes, what happens, and the screens it uses."""

    minutes: str
    words: str
    screens: tuple[str, ...]


LESSON = (
    Step(
        minutes="0-4",
        words="Everybody opens the first screen (see “For your class”) and answers its question.",
        screens=(),
    ),
    Step(
        minutes="4-11",
        words="What does 95 % promise? Drag the level; count hits and misses together.",
        screens=("promise",),
    ),
    Step(
        minutes="11-15",
        words="Privacy costs certainty: the same estimate, published many times with noise.",
        screens=("noise",),
    ),
    Step(
        minutes="15-22",
        words="Replace one person. Then: what does ε = 1 let a nosy neighbour conclude?",
        screens=("neighbours", "odds"),
    ),
    Step(
        minutes="22-26",
        words="Two ways to add noise, and which of them a small penalty hurts more.",
        screens=("mechanisms",),
    ),
    Step(
        minutes="26-33",
        words="Three groups, two minutes: records, features or penalty. Each reports one sentence.",
        screens=("n", "d", "c"),
    ),
    Step(
        minutes="33-37",
        words="The yardstick of private intervals, and what a better method gains from the same "
        "budget.",
        screens=("variability", "sharp"),
    ),
    Step(
        minutes="37-41",
        words="Noise in the shape of the crowd: who counts less?",
        screens=("crowd",),
    ),
    Step(
        minutes="41-45",
        words="Why nobody may look before choosing ε. Close with the first question again.",
        screens=("peeking",),
    ),
)
"""Its screens are those of `path.LESSON`, in the order that Next goes through them."""
GOALS = (
    "**Needed beforehand:** odds, a standard error, what a logistic regression estimates.\n\n"
    "**Afterwards students can say:**\n"
    "- what “95 %” promises, and about what: the procedure, over many studies\n"
    "- how far ε lets anyone's odds about one person move\n"
    "- why privacy noise falls like 1/n while sampling error falls like 1/√n\n"
    "- what a penalty buys, and what it costs\n"
    "- why the budget is chosen before anybody looks at the table"
)
JOINING = (
    "Students need a browser and the same network. Nobody logs in, and no answer is kept. Let the "
    "class open it once beforehand: how quickly a screen comes depends on the machine it runs on."
)
ALONE = (
    "**This page is open on this machine alone.** Three ways to a class:\n"
    "- Show it: **Large type** and **Pictures before questions** stand below every screen.\n"
    "- Start it with `make class` in place of `make run`: phones on the same network can then open "
    "it, and it has no tables, no Release and no Ledger, so nobody can spend anything.\n"
    "- If it runs somewhere else for others, type that address here."
)
ELSEWHERE = (
    "This page is open on this machine alone: the code leads to a server only if one was started "
    "for others at that address."
)


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """A task with where to work on it, and a solution that asks the core."""

    title: str
    task: str
    where: str
    address: str
    solve: Callable[[], str]


BOTH = replace(BASE, n=200_000, calibrations=("sharp", "published"))


def _made(settings: Settings) -> Forecast:
    """The forecast that Explore shows under these settings."""
    made = compute(settings, TableSource(PUBLIC)).outcomes[0].forecast
    assert made is not None  # the settings of the exercises are feasible; a test opens them all
    return made


def _halved() -> str:
    two, one = (_made(with_total(BASE, total)) for total in ("2", "1"))
    ratio = one.ci_length_mean / two.ci_length_mean
    return (
        f"From {number(two.ci_length_mean)} to {number(one.ci_length_mean)}: {number(ratio)} times "
        "as long, less than twice. Half the budget doubles the privacy noise, but the sampling "
        f"error, {number(one.nonprivate_length_mean)} long by itself, stays what it was."
    )


def _price() -> str:
    view = compute(BASE, TableSource(PUBLIC)).outcomes[0]
    assert view.moments is not None
    assert view.forecast is not None
    records = as_if_records(view.moments, design=view.forecast.design)
    return (
        f"As long as from {records:,} records without privacy, so "
        f"{percent(1.0 - records / BASE.n)} of the information in {BASE.n:,} records is the price. "
        "It is smaller for more records and for a larger ε."
    )


def _level() -> str:
    hits = int(numbers.promise(0.8).facts["hits"])
    return (
        f"Here {hits} hold the truth. The count is binomial with mean 80 and standard deviation "
        "√(100 · 0.8 · 0.2) = 4, so anything from 72 to 88 is no surprise. Coverage of a method is "
        "measured with thousands of studies, not a hundred: the page Evidence does "
        "that, with its Monte Carlo error."
    )


def _tiny() -> str:
    made = _made(with_total(SMALL, "1"))
    private, plain = number(made.ci_length_mean), number(made.nonprivate_length_mean)
    return (
        f"These intervals promise too much: they cover {100 * made.coverage.mean():.1f} % where "
        f"{percent(SMALL.level)} is promised. The mean private interval is {private} long, against "
        f"{plain} without privacy. {made.usefulness.sentence} The page draws the "
        "picture all the same, says this loudly, and names from where on they begin to be of use."
    )


def _shares() -> str:
    found = numbers.split(0.5)
    loss = found.facts["private"] / found.facts["shortest"] - 1.0
    return (
        f"On the screen about the split the best share drawn is {100 * found.facts['best']:g} %, "
        f"and one half is {percent(loss)} longer. The optimum is not exact to a percent: near it "
        "the curve is flat."
    )


def _sharper() -> str:
    sharp, published = (_made(replace(BOTH, calibrations=(name,))) for name in BOTH.calibrations)
    times, least = (made.ci_length_mean / made.vi_length_mean for made in (published, sharp))
    return (
        f"At n = {BOTH.n:,} published intervals are {times:.2f} times the variability interval, "
        f"sharp ones {least:.2f} times. No promise got weaker: same budget, same coverage asked "
        "for; only the bounds are tighter."
    )


EXERCISES = (
    Exercise(
        title="Odds by hand",
        task="Someone thinks your record says “yes” with 20 %. A study with ε = 0.5 appears. How "
        "sure can they become?",
        where="Learn: odds",
        address=screen_link("odds", 0.5),
        solve=lambda: (
            f"Odds 0.2 : 0.8 = 0.25 become 0.25 · e^0.5, at most "
            f"{number_at_most(0.25 * math.exp(0.5))}: at most {at_most(pure_risk(0.5, 0.2))} sure. "
            f"From an even guess it would be at most {at_most(pure_risk(0.5))}."
        ),
    ),
    Exercise(
        title="Luck in the count",
        task="At level 80 %, how many of the hundred intervals hold the truth? Which counts would "
        "surprise you?",
        where="Learn: what an interval promises",
        address=screen_link("promise", 0.8),
        solve=_level,
    ),
    Exercise(
        title="Half the budget",
        task="Go from ε = 2 to ε = 1. Does the mean interval become twice as long? Explain.",
        where="Explore with ε = 2",
        address=link("explore", with_total(BASE, "2")),
        solve=_halved,
    ),
    Exercise(
        title="The price in records",
        task=f"With ε = 1 and {BASE.n:,} records: how few records without privacy would do as "
        "well?",
        where="Plan with these settings",
        address=link("plan", BASE, find="precision"),
        solve=_price,
    ),
    Exercise(
        title="Too small a table",
        task="569 tumours, 10 features, ε = 1. What does the page say, and what would you do?",
        where="Explore, breast cancer",
        address=link("explore", with_total(SMALL, "1")),
        solve=_tiny,
    ),
    Exercise(
        title="Dividing a budget",
        task="Which share for the coefficients makes the mean interval shortest? How flat is the "
        "optimum?",
        where="Learn: the split",
        address=screen_link("split", 0.5),
        solve=_shares,
    ),
    Exercise(
        title="Who pays for short intervals",
        task="Compare published and sharp intervals at 200,000 records. Which promise got weaker?",
        where="Explore with both",
        address=link("explore", BOTH),
        solve=_sharper,
    ),
    Exercise(
        title="A helpful colleague",
        task="A colleague runs the release on the private table with ever larger ε until the "
        "interval excludes zero, and publishes only the last one. List what was given away.",
        where="Learn: peeking",
        address=screen_link("peeking"),
        solve=lambda: (
            "Every run spent its own budget, not only the last: the sum counts. The stopping rule "
            "is an output about the table as well. And the level is gone: an interval chosen "
            "because it excludes zero misses more often than 5 %. Planned on a stand-in, one "
            "release would have been enough."
        ),
    ),
)

PRESETS = {
    "Strict, ε = 0.3": link("explore", with_total(BASE, "0.3")),
    "Typical, ε = 1": link("explore", BASE),
    "Weak protection, ε = 8 (shows a warning)": link("explore", with_total(BASE, "8")),
    "Objective and output perturbation side by side": link(
        "explore", replace(BASE, mechanisms=("objective", "output"))
    ),
    "Pure ε and zCDP at the same (ε, δ)": link(
        "explore", replace(BASE, definitions=("pure", "zcdp"))
    ),
    "A million records": link("explore", replace(BASE, n=1_000_000)),
    "How many records for a length of 0.2?": link(
        "plan", replace(BASE, goal_length=0.2), find="records"
    ),
}


def lesson() -> None:
    """Draw the tab."""
    st.title("For teachers")
    st.markdown(
        f"Everything here is made up or public. The path has {len(SCREENS)} screens, the lesson "
        f"{len(path.LESSON)}; Next leads through them. Below every screen: **Large type**, for a "
        "projector; **Pictures before questions**, to ask the class yourself; **Share**, its link."
    )
    st.header("A lesson of 45 minutes")
    st.markdown(GOALS)
    for step in LESSON:
        places = " · ".join(
            f"[{_short_title(key)}]({screen_link(key, path='lesson')})" for key in step.screens
        )
        st.markdown(f"**Minutes {step.minutes}:** {step.words}  \n{places}")
    _joining()
    st.header("Exercises")
    st.markdown("[The same tasks without solutions, for students](learn?screen=exercises)")
    is_solved = st.toggle("Show the solutions", key="solutions")
    _tasks(is_solved=is_solved)
    st.header("Settings by link")
    st.markdown("\n".join(f"- [{words}]({address})" for words, address in PRESETS.items()))
    st.caption("Links open in a new tab; your own settings stay.")


def _joining() -> None:
    """How to host, and the code that a class scans: an address that others can reach, and none of
    the projector's choices.
    """
    st.header("For your class")
    typed = _class_address()
    st.markdown(JOINING if typed else ALONE)
    st.text_input(
        "Address for the class",
        placeholder="http://192.168.1.20:8501",
        max_chars=200,
        **bound("class_address", typed, _take_class_address),
    )
    if not typed:
        return
    if not (root := _for_others(typed)):
        st.error(
            "Others need an address like http://192.168.1.20:8501, without blanks: not this "
            "machine's own name, and not 0.0.0.0."
        )
    else:
        if "://" not in typed:
            st.caption(f"Taken as {root}.")
        if not _own_address():
            st.warning(ELSEWHERE)
        share.show(f"{root}/{screen_link(path.LESSON[0].key, path='lesson')}")


def _class_address() -> str:
    """What was typed as the address of this machine; at first that of this page, if others reach
    it, else that at which the network knows this machine, if the server listens there.
    """
    return str(st.session_state.setdefault(_TYPED, _own_address()))


def _own_address() -> str:
    return _for_others(st.context.url or "") or _in_network()


def _in_network() -> str:
    """Where others reach a server that listens for them, told only to who sits at its machine."""
    own, listens = urlsplit(st.context.url or ""), st.get_option("server.address")
    if not quota.is_loopback(own.hostname or "") or listens not in (None, "", *_EVERYWHERE):
        return ""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_SOMEWHERE)  # finds the way there and sends nothing
        except OSError:
            return ""
        return _for_others(f"{own.scheme}://{probe.getsockname()[0]}:{own.port}")


def _take_class_address(typed: str) -> None:
    st.session_state[_TYPED] = typed.strip()


def _for_others(typed: str) -> str:
    """Scheme, host and port of an address, with the base path of this server; where it has no
    scheme, http and the port of this page. Empty if no other machine reaches it, or it can be no
    address.
    """
    own = urlsplit(st.context.url or "")
    try:
        found = urlsplit(typed if "://" in typed else f"http://{typed}")
        host, port = found.hostname or "localhost", found.port  # a port that is none raises
    except ValueError:
        return ""
    is_ours = host in _EVERYWHERE or quota.is_loopback(host)
    if found.scheme not in ("http", "https") or is_ours or not _can_be_host(host):
        return ""
    place = found.netloc.rpartition("@")[2]
    if "://" not in typed and port is None and own.port is not None:
        place = f"{place}:{own.port}"
    return f"{found.scheme}://{place}{own.path.rpartition('/')[0]}"


def _can_be_host(host: str) -> bool:
    """Whether a text is an address of a machine, or can be its name: no numbers alone with points
    between, and no blank.

    >>> [_can_be_host(one) for one in ("fe80::1", "lab-3.example", "a b", "192.168.1", "300.1.1.1")]
    [True, True, False, False, False]
    """
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return bool(_NAME.fullmatch(host)) and not _NUMBERS.fullmatch(host)


def share_button(query: Mapping[str, str]) -> None:
    """Share, with the address for a class."""
    if root := _for_others(_class_address()):
        share.button(query, page=f"{root}/learn")
    else:
        share.button(
            query,
            note="Others cannot reach this address: “For teachers” takes one that works for them.",
        )


def exercises() -> None:
    """The page for students: tasks, and where to work on them."""
    st.title("Exercises")
    _tasks(is_solved=False)
    st.caption("Links open in a new tab; your own settings stay.")
    share_button({"screen": "exercises"})


def _tasks(*, is_solved: bool) -> None:
    for count, exercise in enumerate(EXERCISES, start=1):
        st.markdown(
            f"**{count}. {exercise.title}.** {exercise.task} [{exercise.where}]({exercise.address})"
        )
        if is_solved:
            with st.container(border=True):
                st.markdown(state.memo().get(("exercise", exercise.title), exercise.solve))


def _short_title(key: str) -> str:
    screen = find(key)
    assert screen is not None
    return f"{path.LESSON.index(screen) + 1}. {screen.name}"
