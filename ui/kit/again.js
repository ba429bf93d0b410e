// Asks for the page once more when nobody has moved anything for a while, and when it is empty. See again.py.
const EMPTY = 2000 // ms without anything between menu and foot
const ANSWER = 10000 // ms within which what was sent is answered by a run, if by any
const UNKNOWN = 1500 // ms within which what was sent before anybody listened is answered, if anything was
const HELD = 200 // ms that a click waits at most for a message of ours that is on its way
const TICK = 50
const sent = Symbol.for("dpci message sent")
const mounted = new WeakMap()

// When this page has sent its last message: what somebody did comes first, and may lead to another page.
let firstLook = 0
if (!(sent in window)) {
  window[sent] = 0 // a click before this was there is not seen, so the first wait is longer
  firstLook = performance.now() + UNKNOWN
  const { send } = WebSocket.prototype
  WebSocket.prototype.send = function (message) {
    window[sent] = performance.now()
    return send.call(this, message)
  }
}

const MOVES = ["pointerdown", "pointerup", "pointercancel", "keydown", "keyup", "wheel", "popstate"]
const OURS = ".st-key-foot, .st-key-again" // what stands on every page
const isPressed = (event) => (event.type.startsWith("pointer") ? event.type === "pointerdown" : null)
const isIdle = () =>
  document.querySelector("[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state=notRunning]")
const isEmpty = () => {
  const main = document.querySelector("[data-testid=stMainBlockContainer]")
  const parts = main?.querySelectorAll("[data-testid=stElementContainer]") ?? []
  return !!main && ![...parts].some((part) => part.offsetHeight > 0 && !part.closest(OURS))
}

export default function ({ data, parentElement, setTriggerValue }) {
  mounted.get(parentElement)?.()
  const come = performance.now()
  let known = window[sent]
  const isAnswered = known <= come - data.took // else it was sent while this run was made, and another one answers
  // since when nothing moves, and something is there
  let [still, full] = Array(2).fill(Math.max(firstLook, isAnswered ? come : come + ANSWER))
  let pressed = false
  const move = (event) => {
    still = Math.max(still, performance.now())
    pressed = isPressed(event) ?? pressed
  }
  // The message leaves in a later task, and a link's at once: a click in between waits, or ours would follow it and
  // bring the page back that was left.
  const ask = () => {
    stop()
    const [begun, before, held] = [performance.now(), window[sent], []]
    const hold = (event) => {
      event.stopImmediatePropagation()
      event.preventDefault()
      held.push(event.target)
    }
    window.addEventListener("click", hold, true)
    const waiting = setInterval(() => {
      if (window[sent] === before && performance.now() - begun < HELD) return
      clearInterval(waiting)
      window.removeEventListener("click", hold, true)
      for (const target of held) target.click()
    }, 1)
    setTriggerValue("asked", data.version)
  }
  const look = () => {
    const now = performance.now()
    if (window[sent] !== known) still = full = now + ANSWER // the run that answers begins this anew
    known = window[sent]
    const isFree = isIdle() && !pressed
    if (!isFree || !isEmpty()) full = Math.max(full, now)
    const isRested = data.wait !== null && now - still >= data.wait
    if (isFree && (isRested || now - full >= EMPTY)) ask()
  }
  const timer = setInterval(look, TICK)
  const stop = () => {
    clearInterval(timer)
    for (const name of MOVES) window.removeEventListener(name, move, true)
  }
  for (const name of MOVES) window.addEventListener(name, move, true)
  mounted.set(parentElement, stop)
  // Streamlit mounts twice where a run comes while this file is read, and then cleans up what it mounted last.
  return () => setTimeout(() => parentElement.isConnected || stop())
}
