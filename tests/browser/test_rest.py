"""What a page asks for by itself, when it rests: never after somebody left it; and a page that has
come to be empty is drawn again.
"""

from __future__ import annotations

import base64
import re
from itertools import product
from pathlib import Path

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

import ui.kit.again
from tests.browser.driver import APP, chart, go, press, wait_chart, wait_idle

pytestmark = pytest.mark.browser

HELD = """(() => {
  const held = []
  window.asked = 0
  window.isHeld = false
  const { send, addEventListener } = WebSocket.prototype
  WebSocket.prototype.send = function (message) {
    window.asked += 1
    return send.call(this, message)
  }
  WebSocket.prototype.addEventListener = function (kind, hear, ...more) {
    const late = (event) => window.isHeld ? held.push(() => hear.call(this, event)) : hear.call(this, event)
    return addEventListener.call(this, kind, kind === 'message' ? late : hear, ...more)
  }
  window.letGo = () => {
    window.isHeld = false
    for (const hear of held.splice(0)) hear()
  }
})()"""
"""Counts what a page sends, and can hold back what it is sent: as a busy server does."""
LEAVE = """([app, drawn, door]) => new Promise(done => {
  const look = () => {
    const isRested = document.querySelector(`${app}[data-test-script-state=notRunning]`)
    const way = document.querySelector(door)
    if (!isRested || !way || !document.querySelector(drawn)) return requestAnimationFrame(look)
    setTimeout(() => {
      window.isHeld = true
      window.asked = 0
      way.click()
      done()
    }, 50)
  }
  look()
})"""
"""Click on a door as soon as the page has come to rest, and hold back every answer."""
CLICKED = """async ([script, takes]) => {
  const told = []
  WebSocket.prototype.send = (message) => told.push(message)
  const { default: mount } = await import(`data:text/javascript;base64,${script}`)
  const door = document.querySelector('button')
  door.addEventListener('click', () => WebSocket.prototype.send('left'))
  const ask = () => {
    if (takes !== null) setTimeout(() => WebSocket.prototype.send('asked'), takes)
    setTimeout(() => door.click(), 10)
  }
  mount({ data: { took: 0, wait: 1, version: 'a' }, parentElement: document.body, setTriggerValue: ask })
  await new Promise(done => setTimeout(done, 3000))
  return told
}"""
"""What a page sends where somebody clicks on a door after it began to ask and before it has asked."""
MOVED = """async (script) => {
  WebSocket.prototype.send = () => {}
  const { default: mount } = await import(`data:text/javascript;base64,${script}`)
  const pause = (time) => new Promise(done => setTimeout(done, time))
  const send = () => WebSocket.prototype.send('moved')
  await pause(2000) // what was sent before this was there is not known, and is waited for
  const isAskedFor = async (took, act = () => {}) => {
    let asked = false
    const data = { took, wait: 300, version: 'a' }
    const parentElement = document.body.appendChild(document.createElement('div'))
    const stop = mount({ data, parentElement, setTriggerValue: () => { asked = true } })
    setTimeout(() => act(parentElement, stop), 100)
    await pause(1200)
    parentElement.remove()
    stop()
    return asked
  }
  const told = { untouched: await isAskedFor(0), later: await isAskedFor(0, send) }
  told.kept = await isAskedFor(0, (_, stop) => stop())
  told.gone = await isAskedFor(0, (element, stop) => { element.remove(); stop() })
  send()
  told.meanwhile = await isAskedFor(500)
  send()
  await pause(50)
  told.before = await isAskedFor(0)
  return told
}"""
"""Whether a page asks for itself: where nothing is sent, and where a message is sent after its run,
during its run, or before it.
"""
FADES = """() => {
  window.fades = { stale: 0, texts: [] }
  const look = () => {
    window.fades.stale += document.querySelectorAll('[data-stale=true]').length
    const faded = [...document.querySelectorAll('summary, [data-stale=true]')].filter(e => getComputedStyle(e).opacity < 1)
    window.fades.texts.push(...faded.map(e => e.innerText.slice(0, 60)))
  }
  new MutationObserver(look).observe(document.body, {subtree: true, attributes: true})
}"""
"""Notes what is stale while a page is drawn anew, and what of it is paler than before."""
LONGER = 1500
"""Milliseconds: longer than any page waits before it asks for itself."""
DOORS = {
    "a button to Plan": (
        "/?n={n}",
        ".picture svg",
        ".st-key-door_private button",
        "h1:has-text('Describe')",
    ),
    "a link to Learn": (
        "/?n={n}",
        ".picture svg",
        ".st-key-door_learn button",
        ".st-key-learn_promise_peek",
    ),
    "a button away from work": (
        "/plan?d=36&level=0.9{n}",
        ".st-key-plan_stop button",
        ".st-key-step_release button",
        "h1:has-text('Release')",
    ),
}
"""A page, what stands on it when it has something to ask for, the way out, and where that leads."""
_NEW = iter(range(31_000, 99_000, 137))
"""Of records, or digits of a level, that nobody has asked for: the page does not know the answers."""


def fresh(open_page, server, path, *scripts):
    """A page with numbers that are new to the server, its messages under control."""
    page = open_page("/_stcore/health")
    for script in scripts:
        page.add_init_script(script)
    page.goto(server + path.format(n=next(_NEW)))
    return page


SCRIPT = base64.b64encode(Path(ui.kit.again.__file__).with_suffix(".js").read_bytes()).decode()


def idle_page(browser):
    """A page at rest that has nothing but a door."""
    page = browser.new_page()
    page.set_content(
        "<div data-testid=stApp data-test-connection-state=CONNECTED "
        "data-test-script-state=notRunning><button>Door</button></div>"
    )
    return page


RACES = list(product(DOORS, (50, 250)))
"""Doors, and milliseconds after which they are used."""
LATE_RACES = list(product(list(DOORS)[:2], (415, 445)))
"""As the page begins to ask."""
SHORT = {*RACES[::2], *LATE_RACES[::3]}
"""Each door once, at both late moments; `make soak` runs every race."""


def raced(races):
    return pytest.mark.parametrize(
        ("door", "pause"),
        [pytest.param(*one, marks=() if one in SHORT else pytest.mark.soak) for one in races],
    )


@raced(RACES)
def test_a_page_that_is_left_asks_for_nothing(open_page, server, door, pause):
    """Answers are held back until the page would have asked, as on a busy machine."""
    path, drawn, way, there = DOORS[door]
    page = fresh(open_page, server, path, HELD)
    page.evaluate(LEAVE.replace("}, 50)", f"}}, {pause})"), [APP, drawn, way])
    page.wait_for_timeout(LONGER)
    assert page.evaluate("() => window.asked") == 1
    page.evaluate("() => window.letGo()")
    page.locator(f"[data-testid=stMain] {there}").first.wait_for()
    wait_idle(page)
    assert page.locator(f"[data-testid=stMain] {there}").count()


@raced(LATE_RACES)
def test_a_door_leads_to_its_page_whenever_it_is_used(open_page, server, door, pause):
    path, drawn, way, there = DOORS[door]
    page = fresh(open_page, server, path)
    page.evaluate(LEAVE.replace("}, 50)", f"}}, {pause})"), [APP, drawn, way])
    page.locator(f"[data-testid=stMain] {there}").first.wait_for()
    wait_idle(page)
    assert page.locator(f"[data-testid=stMain] {there}").count()


def test_a_page_does_not_fade_while_it_is_drawn_again(open_page):
    page = open_page("/learn?screen=split&pictures=first")
    page.emulate_media(reduced_motion="reduce")  # else it takes a second to fade
    wait_chart(page, "chart_learn_split")
    page.wait_for_timeout(2 * LONGER)
    wait_idle(page)
    page.evaluate(FADES)
    press(page, "learn_split_slider")
    page.wait_for_timeout(LONGER)
    wait_idle(page)
    fades = page.evaluate("() => window.fades")
    assert fades["stale"] > 0
    assert fades["texts"] == []


@pytest.mark.parametrize(
    ("takes", "told"), [(60, ["asked", "left"]), (None, ["left"])], ids=["sent", "never sent"]
)
def test_a_click_waits_for_the_message_that_is_on_its_way(browser, takes, told):
    """Else the page would ask after it was left; where nothing is sent, the click is not lost."""
    page = idle_page(browser)
    assert page.evaluate(CLICKED, [SCRIPT, takes]) == told
    page.close()


def test_a_page_asks_for_nothing_while_a_message_is_not_answered(browser):
    page = idle_page(browser)
    told = page.evaluate(MOVED, SCRIPT)
    page.close()
    assert told["kept"], "what is cleaned up while it stands there was mounted twice"
    assert told == {
        "untouched": True,
        "later": False,
        "meanwhile": False,
        "before": True,
        "kept": True,
        "gone": False,
    }


def test_a_page_that_has_come_to_be_empty_is_drawn_again(open_page, server):
    """A run of a fragment that names another page empties the one that is shown."""
    page = open_page("/_stcore/health")
    told: dict[str, ForwardMsg] = {}
    routes = []

    def pass_on(message) -> None:
        one = ForwardMsg.FromString(message)
        told.setdefault(one.WhichOneof("type") or "", one)
        routes[0].send(message)

    def listen(route) -> None:
        routes.append(route)
        route.connect_to_server().on_message(pass_on)

    page.route_web_socket(re.compile("/_stcore/stream"), listen)
    page.goto(server + "/ledger")
    page.get_by_role("heading", name="Ledger", exact=True).wait_for()
    wait_idle(page)
    go(page, "Plan")
    heading = page.get_by_role("heading", name="Describe the table")
    heading.wait_for()
    wait_idle(page)
    begun, ended = told["new_session"], told["script_finished"]
    for one in (begun, ended):
        one.metadata.run.fragment_ids.append("gone")
        one.metadata.run.script_run_id += "x"
    ended.script_finished = ended.FINISHED_FRAGMENT_RUN_SUCCESSFULLY
    for one in (begun, ended):
        routes[0].send(one.SerializeToString())
    heading.wait_for(state="detached")
    heading.wait_for()


def test_no_press_of_a_key_on_a_slider_is_lost(open_page, server):
    """Three of them while the answers are late, seven as fast as somebody presses."""
    page = open_page("/_stcore/health")
    page.add_init_script(HELD)
    page.goto(server + "/learn?screen=promise&value=0.95&pictures=first")
    wait_chart(page, "chart_learn_promise")
    slider = page.locator(".st-key-learn_promise_slider input[type=range]").first
    at = int(slider.input_value())
    slider.focus()
    page.evaluate("() => { window.isHeld = true }")
    for pause in 3 * [400] + 7 * [150]:
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(pause)
        if pause == 400 and int(slider.input_value()) == at - 3:
            page.evaluate("() => window.letGo()")
    wait_idle(page)
    page.wait_for_timeout(1_000)
    wait_idle(page)
    assert int(slider.input_value()) == at - 10
    shown = chart(page, "chart_learn_promise")["meta"]["value"]
    assert slider.get_attribute("aria-valuetext") == f"{100 * shown:g} %"
    assert f"value={shown:g}" in page.url
