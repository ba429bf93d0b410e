// Tells the page when nothing has moved for a while, and when a pointer comes to a slider. See quiet.py.
const films = (window[Symbol.for("dpci films")] ??= new Map())
const mounted = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  mounted.get(parentElement)?.()
  if (data.film) films.set(data.slider, data.film)
  const timer = data.isQuiet ? 0 : setTimeout(() => setTriggerValue("quiet", data.version), data.wait)
  let asked = false
  const reach = ({ target }) => {
    if (asked || films.get(data.slider)?.version === data.filmVersion) return
    if (!target.closest?.(`.st-key-${data.slider}`)) return
    asked = true
    setTriggerValue("reached", data.filmVersion)
  }
  document.addEventListener("pointerover", reach)
  document.addEventListener("pointerdown", reach)
  const stop = () => {
    clearTimeout(timer)
    document.removeEventListener("pointerover", reach)
    document.removeEventListener("pointerdown", reach)
  }
  mounted.set(parentElement, stop)
  return stop
}
