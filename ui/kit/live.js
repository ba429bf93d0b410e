// Follows one of the page's sliders and draws the frame of its position over a chart. See live.py.
const SVG = "http://www.w3.org/2000/svg"
const PATIENCE = 6000 // ms after letting go until the cover leaves even if the page said nothing new
const mounted = new WeakMap()

function make(parent, name, attributes, text) {
  const node = document.createElementNS(SVG, name)
  for (const key in attributes) node.setAttribute(key, attributes[key])
  if (text !== undefined) node.textContent = text
  parent.appendChild(node)
  return node
}

// Round numbers between two ends: 1, 2 or 5 times a power of ten apart.
function ticks(low, high) {
  const found = []
  const rough = (high - low) / 5
  const power = Math.pow(10, Math.floor(Math.log10(rough)))
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough)
  for (let x = Math.ceil(low / step) * step; x <= high + step * 1e-9; x += step) found.push(x)
  return found
}

function stage(data, width, height) {
  const [low, high] = data.span
  const box = { left: 12, right: width - 16, top: 56, bottom: height - 84 }
  const wide = box.right - box.left
  const tall = box.bottom - box.top
  const [under, over] = data.rows
  return {
    ...box,
    low,
    high,
    x: (v) => box.left + ((v - low) / (high - low)) * wide,
    y: (v) => box.bottom - ((v - under) / (over - under)) * tall,
  }
}

function scenery(svg, data, at) {
  for (const value of ticks(at.low, at.high)) {
    const x = at.x(value)
    make(svg, "line", { x1: x, x2: x, y1: at.top, y2: at.bottom, stroke: data.quiet, "stroke-opacity": 0.25 })
    make(svg, "text", { x, y: at.bottom + 16, "text-anchor": "middle" }, Number(value.toPrecision(6)))
  }
  for (const v of data.lines) {
    const x = at.x(v)
    const dress = { stroke: data.quiet, "stroke-width": 1.5, "stroke-dasharray": "3 3" }
    make(svg, "line", { x1: x, x2: x, y1: at.top, y2: at.bottom, ...dress })
  }
  const middle = (at.left + at.right) / 2
  make(svg, "text", { x: middle, y: at.bottom + 38, "text-anchor": "middle" }, data.xTitle)
}

// What stays the same in every frame, and an empty path for each kind of stroke.
function build(root, data) {
  root.replaceChildren()
  const { width, height } = root.getBoundingClientRect()
  const svg = make(root, "svg", { viewBox: `0 0 ${width} ${height}` })
  const at = stage(data, width, height)
  const words = make(svg, "text", { x: 12, y: 22, "font-size": 15, "font-weight": 600 })
  make(svg, "text", { x: 12, y: 42 }, "Let go to set it; everything else on the page follows then.")
  scenery(svg, data, at)
  const dotted = [data.stillDots, ...data.frames.map((f) => f?.dots ?? [])].flat()
  const paths = data.strokes.map(({ colour, width: thick, opacity }, kind) => {
    const cap = dotted.some((dot) => dot[2] === kind) ? "round" : "butt"
    const dress = { stroke: colour, "stroke-width": thick, "stroke-opacity": opacity, "stroke-linecap": cap }
    return { bars: make(svg, "path", { ...dress, "stroke-linecap": "butt" }), dots: make(svg, "path", dress) }
  })
  return { svg, at, words, paths }
}

function draw(picture, data, index) {
  const { svg, at, words, paths } = picture
  const frame = data.frames[index]
  words.textContent = frame ? frame.words : "Not possible here: let go to read why."
  const bars = paths.map(() => "")
  const dots = paths.map(() => "")
  const inside = (x) => Math.max(at.left, Math.min(at.right, x))
  const moved = frame ? data.places.map(([y, kind], i) => [y, frame.ends[2 * i], frame.ends[2 * i + 1], kind]) : []
  for (const [y, low, high, kind] of frame ? [...data.still, ...moved, ...frame.bars] : []) {
    const from = inside(at.x(low)).toFixed(1)
    bars[kind] += `M${from} ${at.y(y).toFixed(1)}H${inside(at.x(high)).toFixed(1)}`
  }
  for (const [v, y, kind] of frame ? [...data.stillDots, ...frame.dots] : []) {
    const x = at.x(v)
    if (x >= at.left && x <= at.right) dots[kind] += `M${x.toFixed(1)} ${at.y(y).toFixed(1)}h0`
  }
  paths.forEach((path, kind) => {
    path.bars.setAttribute("d", bars[kind])
    path.dots.setAttribute("d", dots[kind])
  })
  svg.setAttribute("data-position", index)
}

export default function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector(".live")
  const host = parentElement.host || parentElement
  const cover = host.closest('[class*="st-key-live_over_"]')
  if (!root || !cover || !data) return
  const page = document.documentElement
  const before = mounted.get(parentElement)
  if (before) before.stop()

  const box = () => document.querySelector(`.st-key-${data.slider}`)
  const thumb = () => box()?.querySelector("input[type=range]")
  let picture = null
  const show = (position) => {
    if (!picture) {
      cover.style.visibility = "visible"
      page.setAttribute("data-dpci-live", data.slider)
      picture = build(root, data)
    }
    draw(picture, data, position)
  }
  const hide = () => {
    cover.style.visibility = ""
    if (page.getAttribute("data-dpci-live") === data.slider) page.removeAttribute("data-dpci-live")
    root.replaceChildren()
    picture = null
  }

  let shown = data.here
  let timer = 0
  const leave = () => {
    if (!box()?.querySelector("[data-dragging]")) return hide()
    timer = setTimeout(leave, PATIENCE)
  }
  const follow = () => {
    const input = thumb()
    if (!input) return
    const position = Number(input.value)
    if (position === shown || !(position in data.frames)) return
    shown = position
    clearTimeout(timer)
    if (position === data.here) return hide()
    timer = setTimeout(leave, PATIENCE)
    show(position)
  }
  hide()
  const watcher = new MutationObserver(follow)
  // The slider may be drawn anew at any time, so the page is watched, for this one attribute only.
  watcher.observe(document.body, { subtree: true, attributes: true, attributeFilter: ["value"] })
  const stop = () => {
    watcher.disconnect()
    clearTimeout(timer)
    hide()
  }
  mounted.set(parentElement, { stop })
  return stop
}
