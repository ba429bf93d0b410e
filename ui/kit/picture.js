// Draws one chart with its title, its numbers and its footer, and saves it as a file. See picture.py.
const SVG = "http://www.w3.org/2000/svg"
const FONT = '"Source Sans", "Source Sans Pro", Arial, Helvetica, sans-serif'
const PLAIN = "Arial, Helvetica, 'Liberation Sans', sans-serif" // in files: what every reader of them has
const SMALL = 12
const LOWEST = 300
const mounted = new WeakMap()
const animations = (window[Symbol.for("dpci animations")] ??= new Map())
const pen = document.createElement("canvas").getContext("2d")

function make(parent, name, attributes = {}, text) {
  const node = document.createElementNS(SVG, name)
  for (const key in attributes) if (attributes[key] !== undefined) node.setAttribute(key, attributes[key])
  if (text !== undefined) node.textContent = text
  parent.appendChild(node)
  return node
}

function element(parent, name, dress = {}, text) {
  const node = document.createElement(name)
  for (const key in dress) node.setAttribute(key, dress[key])
  if (text !== undefined) node.textContent = text
  parent.appendChild(node)
  return node
}

function wide(text, size, font, weight = 400) {
  pen.font = `${weight} ${size}px ${font}`
  return pen.measureText(text).width
}

// The beginning and the end of a name that is too long: names of one table often begin alike.
function cut(text, room, size, font) {
  if (wide(text, size, font) <= room) return text
  for (let keep = text.length - 1; keep > 2; keep--) {
    const short = `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`
    if (wide(short, size, font) <= room) return short
  }
  return "…"
}

function wrapped(text, room, size, font, weight = 400) {
  const lines = [""]
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word
    if (lines.at(-1) && wide(longer, size, font, weight) > room) lines.push(word)
    else lines[lines.length - 1] = longer
  }
  return lines
}

const scale = (low, high, isLog, from, to) => {
  const f = isLog ? (v) => Math.log(Math.max(v, 1e-300)) : (v) => v
  return (v) => from + ((f(v) - f(low)) / (f(high) - f(low))) * (to - from)
}

const SHAPES = {
  circle: (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
  square: (r) => `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  diamond: (r) => `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0z`,
  "triangle-up": (r) => `M0 ${-1.3 * r}L${1.2 * r} ${r}H${-1.2 * r}z`,
}

function marker(parent, x, y, style, radius = 4.5) {
  const [shape] = Object.keys(SHAPES).filter((name) => (style.marker ?? "circle").startsWith(name))
  const isOpen = (style.marker ?? "").includes("-open")
  const ink = isOpen ? { fill: "var(--paper)", stroke: style.colour, "stroke-width": 2 } : { fill: style.colour, stroke: "var(--paper)", "stroke-width": 1 }
  make(parent, "path", { d: SHAPES[shape](radius), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, ...ink })
  if ((style.marker ?? "").endsWith("-dot")) make(parent, "circle", { cx: x, cy: y, r: 1.6, fill: isOpen ? style.colour : "var(--paper)" })
}

// The key in one row above the chart; where that is too narrow in short words from the left edge, in as many rows as it takes.
function keyed(data, left, width, font) {
  const long = data.key.reduce((sum, [, , text]) => sum + 50 + wide(text, SMALL, font), 0)
  const isTight = left + long + 70 > width
  let [x, row] = [isTight ? 0 : left, 0]
  const items = data.key.map(([kind, index, full]) => {
    const text = isTight ? full.split(" (")[0] : full
    const end = 30 + wide(text, SMALL, font)
    if (isTight && x > 0 && x + end > width) [x, row] = [0, row + 1]
    const item = { kind, index, text, x, y: 10 + 18 * row }
    x += end + (isTight ? 8 : 20)
    return item
  })
  return { items, isTight, tall: 18 * row }
}

// Where everything goes on a canvas of this size.
function stage(data, width, height, font) {
  const isNarrow = width < 560
  const aside = isNarrow ? 0 : Math.max(0, ...data.labels.map(([, , note]) => (note ? wide(note, 11, font) + 14 : 0)))
  const names = data.labels.map(([, text, , level]) => wide(text, 13, font, level < 0 ? 600 : 400) + 14 * Math.max(0, level) + aside)
  const numbers = data.y ? data.y.ticks.map(([, label]) => wide(label, SMALL, font)) : []
  const room = data.y ? Math.max(30, ...numbers) + 10 : Math.min(Math.max(60, ...names) + 12, width * (isNarrow ? 0.36 : 0.34))
  const beside = data.right.length ? 52 : data.notes.length ? Math.min(width * 0.28, 14 + Math.max(...data.notes.map(([, , text]) => wide(text, SMALL, font)))) : 14
  const key = keyed(data, room, width, font)
  const top = (data.key.length ? 24 + key.tall : 8) + (data.y?.title ? 18 : 0) + (data.uprights.some(([, text]) => text) ? 16 : 0)
  const below = 22
  const axis = data.panels.some((panel) => panel.title) ? below + 18 : below
  const inside = height - top - axis - (data.panels.length - 1) * (below + 12)
  const rows = data.panels.reduce((sum, panel) => sum + (panel.to - panel.from), 0)
  let at = top
  const panels = data.panels.map((panel) => {
    const tall = inside * ((panel.to - panel.from) / rows)
    const made = { ...panel, top: at, bottom: at + tall }
    made.x = scale(panel.low, panel.high, panel.isLog, room, width - beside)
    made.y = data.y ? scale(data.y.low, data.y.high, data.y.isLog, made.bottom, made.top) : scale(panel.from, panel.to, false, made.bottom, made.top)
    at += tall + below + 12
    return made
  })
  const unit = data.y ? Infinity : inside / rows
  return { left: room, right: width - beside, top, panels, width, height, font, isNarrow, unit, aside, key }
}

const panelOf = (at, y) => at.panels.length < 2 ? at.panels[0] : at.panels.find((panel) => y >= panel.from && y <= panel.to) ?? at.panels[0]

function axes(svg, data, at) {
  for (const panel of at.panels) {
    let last = -Infinity
    for (const [value, label] of panel.ticks) {
      const x = panel.x(value)
      if (x < at.left - 1 || x > at.right + 1) continue
      make(svg, "line", { x1: x, x2: x, y1: panel.top, y2: panel.bottom, stroke: data.quiet, "stroke-opacity": 0.22 })
      const half = wide(label, SMALL, at.font) / 2
      if (x - half < last + 6) continue
      last = x + half
      make(svg, "text", { x, y: panel.bottom + 16, "text-anchor": "middle", "font-size": SMALL }, label)
    }
    for (const value of panel.zeros) {
      const x = panel.x(value)
      if (x >= at.left && x <= at.right) make(svg, "line", { x1: x, x2: x, y1: panel.top, y2: panel.bottom, stroke: data.quiet, "stroke-width": 1.5, "stroke-dasharray": "3 3" })
    }
  }
  const last = at.panels.at(-1)
  if (last.title) make(svg, "text", { x: (at.left + at.right) / 2, y: last.bottom + 34, "text-anchor": "middle", "font-size": SMALL }, last.title)
  if (!data.y) return
  if (data.y.title) make(svg, "text", { x: 2, y: data.key.length ? 38 + at.key.tall : 14, "font-size": SMALL }, data.y.title)
  let above = Infinity
  for (const [value, label] of data.y.ticks) {
    const y = last.y(value)
    make(svg, "line", { x1: at.left, x2: at.right, y1: y, y2: y, stroke: data.quiet, "stroke-opacity": 0.22 })
    if (y > above - 14) continue
    above = y
    make(svg, "text", { x: at.left - 8, y: y + 4, "text-anchor": "end", "font-size": SMALL }, label)
  }
}

function words(svg, data, at) {
  for (const [y, text, note, level] of data.labels) {
    const place = panelOf(at, y).y(y)
    const indent = 14 * Math.max(0, level)
    const short = cut(text, at.left - 12 - indent - at.aside, 13, at.font)
    const isBelow = note && at.isNarrow
    const node = make(svg, "text", { x: indent, y: place + (isBelow ? -1 : 4), "font-size": 13, "font-weight": level < 0 ? 600 : undefined }, short)
    if (short !== text) make(node, "title", {}, text)
    const kind = note === "not reportable" ? "lost" : undefined
    if (isBelow) make(svg, "text", { x: indent, y: place + 11, "font-size": 11, class: kind }, cut(note, at.left - 12 - indent, 11, at.font))
    else if (note) make(svg, "text", { x: at.left - 10, y: place + 4, "font-size": 11, "text-anchor": "end", class: kind }, note)
  }
  for (const { kind, index, text, x, y } of at.key.items) {
    const style = data.styles[index]
    if (kind === "bar") make(svg, "line", { x1: x, x2: x + 24, y1: y, y2: y, stroke: style.colour, "stroke-width": style.width, "stroke-opacity": style.opacity, "stroke-dasharray": style.dash || undefined })
    else marker(svg, x + 12, y, style)
    make(svg, "text", { x: x + 30, y: y + 4, "font-size": SMALL }, text)
  }
  if (data.rightTitle && at.unit > 11 && !at.key.isTight) make(svg, "text", { x: at.width, y: 14, "text-anchor": "end", "font-size": SMALL }, data.rightTitle)
  data.notes.forEach(([x0, y0, text, index]) => {
    const panel = at.panels[0]
    make(svg, "text", { x: panel.x(x0) + 6, y: panel.y(y0) + 4, "font-size": SMALL, "font-weight": 600, class: "note", "data-y": panel.y(y0), fill: data.styles[index].colour }, text)
  })
  apart([...svg.querySelectorAll("text.note")])
}

// Words at the ends of lines move apart until none covers another.
function apart(nodes) {
  nodes.sort((a, b) => a.dataset.y - b.dataset.y)
  let above = -Infinity
  for (const node of nodes) {
    const y = Math.max(Number(node.dataset.y), above + 14)
    node.setAttribute("y", y + 4)
    above = y
  }
}

function lines(svg, data, at) {
  const panel = at.panels[0]
  const path = (points) => {
    let isDown = false
    return points.map((point) => {
      if (!point) { isDown = false; return "" }
      const step = `${isDown ? "L" : "M"}${panel.x(point[0]).toFixed(1)} ${panel.y(point[1]).toFixed(1)}`
      isDown = true
      return step
    }).join("")
  }
  for (const [from, to, text] of data.shades) {
    const [a, b] = [panel.x(from), panel.x(to)]
    make(svg, "rect", { x: a, width: Math.max(0, b - a), y: panel.top, height: panel.bottom - panel.top, fill: data.quiet, "fill-opacity": 0.12 })
    make(svg, "text", { x: b - 4, y: panel.bottom - 6, "text-anchor": "end", "font-size": SMALL }, text)
  }
  for (const { style, points } of data.areas) make(svg, "path", { d: `${path(points)}z`, fill: data.styles[style].colour, "fill-opacity": 0.16 })
  for (const { style, points } of data.lines) {
    const { colour, width, opacity, dash } = data.styles[style]
    make(svg, "path", { d: path(points), fill: "none", stroke: colour, "stroke-width": width, "stroke-opacity": opacity, "stroke-dasharray": dash || undefined, "stroke-linejoin": "round" })
  }
  for (const [value, text, anchor] of data.uprights) {
    const x = panel.x(value)
    make(svg, "line", { x1: x, x2: x, y1: panel.top - 4, y2: at.panels.at(-1).bottom, stroke: "currentColor", "stroke-width": 1.5, "stroke-dasharray": "4 3" })
    if (text) make(svg, "text", { x: x + (anchor === "end" ? -4 : 4), y: panel.top - 8, "font-size": SMALL, "text-anchor": anchor || (x > at.right - 90 ? "end" : "start") }, text)
  }
}

// Bars and dots of the present setting, or of a frame of the animation.
function marks(layer, data, at, frame) {
  layer.replaceChildren()
  const bars = frame ? [...frame.still, ...frame.bars] : data.bars
  const inside = (x) => Math.max(at.left, Math.min(at.right, x))
  const strokes = data.styles.map(() => "")
  const arrows = data.styles.map(() => "")
  const ends = data.styles.map(() => "")
  for (const [y, low, high, kind] of bars) {
    if (low === null) continue
    const panel = panelOf(at, y)
    const [a, b, level] = [panel.x(low), panel.x(high), panel.y(y)]
    const [from, to] = [inside(a), inside(b)]
    strokes[kind] += `M${from.toFixed(1)} ${level.toFixed(1)}H${to.toFixed(1)}`
    const tall = Math.min(data.styles[kind].ends, data.styles[kind].ends * at.unit / 14)
    if (tall && a >= at.left) ends[kind] += `M${a.toFixed(1)} ${(level - tall).toFixed(1)}v${2 * tall}`
    if (tall && b <= at.right) ends[kind] += `M${b.toFixed(1)} ${(level - tall).toFixed(1)}v${2 * tall}`
    if (tall && a < at.left) arrows[kind] += `M${at.left} ${level}l7 -5v10z`
    if (tall && b > at.right) arrows[kind] += `M${at.right} ${level}l-7 -5v10z`
  }
  data.styles.forEach(({ colour, width, opacity, dash }, kind) => {
    const thick = Math.min(width, Math.max(1.5, width * at.unit / 14))
    if (strokes[kind]) make(layer, "path", { d: strokes[kind], stroke: colour, "stroke-width": thick, "stroke-opacity": opacity, "stroke-dasharray": dash || undefined, fill: "none", class: "bars", "data-kind": kind })
    if (ends[kind]) make(layer, "path", { d: ends[kind], stroke: colour, "stroke-width": 1.6, fill: "none" })
    if (arrows[kind]) make(layer, "path", { d: arrows[kind], fill: colour })
  })
  for (const [x, y, kind] of frame?.dots ?? data.dots) {
    const panel = panelOf(at, y)
    const place = panel.x(x)
    if (place >= at.left - 1 && place <= at.right + 1) marker(layer, place, panel.y(y), data.styles[kind], Math.min(4.5, at.unit / 3))
  }
  const ratios = frame?.right ?? data.right.map(([, text]) => text)
  if (at.unit > 11) data.right.forEach(([y], i) => make(layer, "text", { x: at.width, y: panelOf(at, y).y(y) + 4, "text-anchor": "end", "font-size": SMALL }, ratios[i]))
}

function paint(parent, data, width, height, font, frame) {
  const svg = make(parent, "svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": data.alt, "font-family": font })
  const at = stage(data, width, height, font)
  axes(svg, data, at)
  lines(svg, data, at)
  const layer = make(svg, "g")
  marks(layer, data, at, frame)
  words(svg, data, at)
  return { svg, at, layer }
}

// --- as a file --------------------------------------------------------------------------------------

const FILE = { width: 1000, title: 22, margin: 28 }

function file(data, colours) {
  const { width, title, margin } = FILE
  const room = width - 2 * margin
  const head = wrapped(data.title, room, title, PLAIN, 600)
  const foot = [...wrapped(data.footer, room, SMALL, PLAIN)]
  const link = window.location.href
  const top = margin + head.length * (title + 6) + (data.sub ? 22 : 0) + 10
  const tall = Math.max(360, Math.min(1400, data.tall ?? 420))
  const rows = data.tables.flatMap((table) => [table.head, ...table.rows])
  const height = top + tall + 16 + rows.length * 18 + 14 + foot.length * 17 + 24 + margin
  const svg = make(document.createElementNS(SVG, "g"), "svg", { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, width, height, "font-family": PLAIN, fill: colours.ink, color: colours.ink, style: `--paper:${colours.paper}` })
  make(svg, "title", {}, data.title)
  make(svg, "rect", { width, height, fill: colours.paper })
  head.forEach((line, i) => make(svg, "text", { x: margin, y: margin + title * 0.8 + i * (title + 6), "font-size": title, "font-weight": 600 }, line))
  if (data.sub) make(svg, "text", { x: margin, y: top - 16, "font-size": 13 }, data.sub)
  const inner = make(svg, "g", { transform: `translate(${margin} ${top})` })
  const { svg: chart } = paint(inner, data, room, tall, PLAIN)
  chart.removeAttribute("role")
  let y = top + tall + 28
  for (const table of data.tables) {
    const step = room / (table.head.length + 1)
    for (const row of [table.head, ...table.rows]) {
      row.forEach((cell, i) => make(svg, "text", { x: margin + (i ? (i + 1) * step : 0), y, "font-size": SMALL, "font-weight": row === table.head ? 600 : undefined }, said(cell)))
      y += 18
    }
  }
  y += 10
  foot.forEach((line) => { make(svg, "text", { x: margin, y, "font-size": SMALL }, line); y += 17 })
  const anchor = make(svg, "a", { href: link })
  make(anchor, "text", { x: margin, y, "font-size": SMALL }, cut(link, room, SMALL, PLAIN))
  return new XMLSerializer().serializeToString(svg).replaceAll("var(--paper)", colours.paper).replaceAll("currentColor", colours.ink)
}

function hand(name, blob) {
  const anchor = element(document.body, "a", { download: name, href: URL.createObjectURL(blob) })
  anchor.click()
  anchor.remove()
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000)
}

function save(root, data, kind) {
  const style = getComputedStyle(root)
  const colours = { ink: style.color, paper: style.getPropertyValue("--st-background-color").trim() }
  const text = file(data, colours)
  const blob = new Blob([text], { type: "image/svg+xml" })
  if (kind === "svg") return hand(`dpci_${data.name}.svg`, blob)
  const image = new Image()
  image.onload = () => {
    const canvas = document.createElement("canvas")
    canvas.width = 2 * image.width
    canvas.height = 2 * image.height
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height)
    URL.revokeObjectURL(image.src)
    canvas.toBlob((made) => hand(`dpci_${data.name}.png`, made))
  }
  image.src = URL.createObjectURL(blob)
}

// --- on the page ------------------------------------------------------------------------------------

const said = (cell) => (typeof cell === "string" ? cell : cell.text)

function table(parent, { head, rows, caption }) {
  const node = element(parent, "table")
  if (caption) element(node, "caption", {}, caption)
  const first = element(element(node, "thead"), "tr")
  for (const cell of head) element(first, cell ? "th" : "td", cell ? { scope: "col" } : {}, cell)
  const body = element(node, "tbody")
  for (const row of rows) {
    const line = element(body, "tr")
    row.forEach((cell, i) => {
      const node = element(line, i ? "td" : "th", i ? {} : { scope: "row" })
      if (cell.style) {
        const swatch = make(node, "svg", { width: 22, height: 12, "aria-hidden": true })
        make(swatch, "line", { x1: 0, x2: 22, y1: 6, y2: 6, stroke: cell.style.colour, "stroke-width": 9, "stroke-opacity": cell.style.opacity })
        marker(swatch, 11, 6, cell.style, 3.5)
      }
      const words = element(node, cell.isBold ? "b" : "span", {}, said(cell))
      if (cell.live) words.dataset.live = cell.live
      if (cell.isLoud) node.className = "loud"
    })
  }
}

function skeleton(root, data) {
  root.replaceChildren()
  const main = element(root, "div", { class: "main" })
  element(main, "h2", { class: data.isLoud ? "loud" : "" }, data.title)
  if (data.sub) element(main, "p", { class: "sub" }, data.sub)
  const canvas = element(main, "div", { class: "canvas" })
  const side = element(root, "div", { class: "side" })
  for (const each of data.tables) table(side, each)
  for (const remark of data.remarks) element(side, "p", { class: "remark" }, remark)
  const foot = element(root, "div", { class: "foot" })
  element(foot, "span", {}, data.footer)
  for (const kind of ["svg", "png"]) {
    const button = element(foot, "button", { type: "button", title: `Save this chart as ${kind.toUpperCase()}` }, `⤓ ${kind.toUpperCase()}`)
    button.addEventListener("click", () => save(root, data, kind))
  }
  element(root, "div", { class: "tip", hidden: "" })
  return canvas
}

function tip(root, canvas, data, picture, event) {
  const node = root.querySelector(".tip")
  const box = picture.svg.getBoundingClientRect()
  const [x, y] = [event.clientX - box.left, event.clientY - box.top]
  const far = (value) => data.hover.along === "y"
    ? Math.abs(panelOf(picture.at, value).y(value) - y)
    : Math.abs(picture.at.panels[0].x(value) - x)
  const best = data.hover.items.reduce((a, b) => (far(b[0]) < far(a[0]) ? b : a), data.hover.items[0])
  const isInside = x > (data.hover.along === "y" ? 0 : picture.at.left) && y > picture.at.top - 4 && y < picture.at.height - 20
  if (!best || !isInside) return (node.hidden = true)
  node.replaceChildren()
  for (const line of best[1]) element(node, "div", {}, line)
  node.hidden = false
  const outer = root.getBoundingClientRect()
  const left = Math.min(event.clientX - outer.left + 14, outer.width - node.offsetWidth - 4)
  const top = event.clientY - outer.top + 14
  node.style.left = `${Math.max(0, left)}px`
  node.style.top = `${Math.min(top, outer.height - node.offsetHeight)}px`
}

export default function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector(".picture")
  if (!root || !data) return
  mounted.get(parentElement)?.stop()
  const canvas = skeleton(root, data)
  let picture = null
  let frame = null
  const holder = root.closest("[data-testid=stMainBlockContainer]")

  // As tall as the window leaves room for, so that controls and chart are on one screen.
  const size = () => {
    const width = Math.max(240, Math.floor(canvas.clientWidth))
    if (width < 560) return [width, Math.max(LOWEST, Math.min(data.tall, 560))]
    const top = canvas.getBoundingClientRect().top + (document.querySelector("[data-testid=stMain]")?.scrollTop ?? 0)
    const below = holder ? holder.getBoundingClientRect().bottom - root.getBoundingClientRect().bottom : 16
    const left = window.innerHeight - top - root.querySelector(".foot").offsetHeight - below
    return [width, Math.max(data.least, LOWEST, Math.floor(left))]
  }
  let drawn = ""
  const redraw = () => {
    const [width, height] = size()
    drawn = `${width}x${height}`
    canvas.replaceChildren()
    picture = paint(canvas, data, width, height, FONT, frame)
    root.dataset.drawn = data.version
    root.drawing = data // as tests read it
  }
  redraw()
  const watcher = new ResizeObserver(() => {
    const [width, height] = size()
    if (drawn !== `${width}x${height}`) redraw()
  })
  watcher.observe(canvas)
  watcher.observe(document.documentElement)
  if (holder) watcher.observe(holder)

  const hover = (event) => data.hover && tip(root, canvas, data, picture, event)
  const leave = () => (root.querySelector(".tip").hidden = true)
  canvas.addEventListener("pointermove", hover)
  canvas.addEventListener("pointerdown", hover)
  canvas.addEventListener("pointerleave", leave)

  // --- while the slider is dragged: the frame of its position, and its words
  const slider = () => document.querySelector(`.st-key-${data.slider} input[type=range]`)
  const odds = () => document.querySelector(".odds")
  const kept = { title: data.title, odds: null }
  const say = (words) => {
    const heading = root.querySelector("h2")
    if (heading && words.title !== undefined) heading.textContent = words.title
    for (const node of root.querySelectorAll("[data-live]")) {
      node.dataset.was ??= node.textContent
      node.textContent = words.cells?.[node.dataset.live] ?? (words.isBack ? node.dataset.was : "…")
    }
    const about = odds()
    if (about && words.odds) {
      kept.odds ??= about.textContent
      about.textContent = words.odds
    }
  }
  const back = () => {
    if (document.documentElement.dataset.dpciLive !== data.slider) return
    delete document.documentElement.dataset.dpciLive
    frame = null
    if (kept.odds !== null && odds()) odds().textContent = kept.odds
    kept.odds = null
    say({ title: data.title, isBack: true })
    marks(picture.layer, data, picture.at, null)
  }
  let last = null
  const follow = () => {
    const animation = animations.get(data.slider)
    const input = slider()
    if (!animation || !input || animation.version !== data.animation) return
    const position = Number(input.value)
    if (position === last) return
    last = position
    if (position === data.here) return back()
    const words = animation.words[position]
    if (!words) return
    document.documentElement.dataset.dpciLive = data.slider
    say(words)
    const raw = data.isAnimated && animation.frames ? animation.frames[position] : null
    frame = raw && { ...raw, still: animation.still, bars: animation.places.map(([y, kind], i) => [y, raw.ends[2 * i], raw.ends[2 * i + 1], kind]) }
    if (frame) marks(picture.layer, data, picture.at, frame)
    root.dataset.position = position
    root.dataset.strokes = frame ? frame.still.length + frame.bars.filter(([, low]) => low !== null).length + (frame.dots ?? data.dots).length : 0
  }
  delete document.documentElement.dataset.dpciLive
  const moves = new MutationObserver(follow)
  if (data.slider) moves.observe(document.body, { subtree: true, attributes: true, attributeFilter: ["value"] })

  const stop = () => {
    moves.disconnect()
    watcher.disconnect()
    canvas.removeEventListener("pointermove", hover)
  }
  mounted.set(parentElement, { stop })
  return stop
}
