// Draws one chart with its title, its numbers and its footer, and saves it as a file. See picture.py; files.js stands
// in front.
const FONT = '"Source Sans", "Source Sans Pro", Arial, Helvetica, sans-serif'
const PLAIN = "Arial, Helvetica, 'Liberation Sans', sans-serif" // in files: what every reader of them has
const LOWEST = 300
const LEAST = 200 // of a chart with a slider of its own, where a window is low
const mounted = new WeakMap()
const animations = (window[Symbol.for("dpci animations")] ??= new Map())

// The beginning and the end of a name that is too long: names of one table often begin alike.
function cut(text, room, size, font) {
  if (wide(text, size, font) <= room) return text
  for (let keep = text.length - 1; keep > 2; keep--) {
    const short = `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`
    if (wide(short, size, font) <= room) return short
  }
  return "…"
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
  x: (r) => `M${-r} ${-r}L${r} ${r}M${-r} ${r}L${r} ${-r}`,
}

function marker(parent, x, y, style, radius) {
  const shape = Object.keys(SHAPES).find((name) => style.marker.startsWith(name))
  const isOpen = style.marker.includes("-open")
  const [fill, stroke, width] = isOpen ? ["var(--paper)", style.colour, 2] : shape === "x" ? ["none", style.colour, 2.5] : [style.colour, "var(--paper)", 1]
  make(parent, "path", { d: SHAPES[shape](radius), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, fill, stroke, "stroke-width": width })
  if (style.marker.endsWith("-dot")) make(parent, "circle", { cx: x, cy: y, r: 1.6, fill: isOpen ? style.colour : "var(--paper)" })
}

// The key in one row above the chart, with the head of the numbers at its right end; where that is too narrow in short
// words from the left edge, in as many rows as it takes.
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
  if (isTight && data.rightTitle && x + wide(data.rightTitle, SMALL, font) > width) row += 1
  return { items, isTight, tall: 18 * row }
}

// Where everything goes on a canvas of this size.
function stage(data, width, height, font) {
  const isNarrow = width < 560
  const aside = isNarrow ? 0 : Math.max(0, ...data.labels.map(([, , note]) => (note ? wide(note, 11, font) + 14 : 0)))
  const names = data.labels.map(([, text, , level]) => wide(text, 13, font, level < 0 ? 600 : 400) + 14 * Math.max(0, level) + aside)
  const ups = data.panels.map((panel) => panel.up).filter(Boolean)
  const numbers = ups.flatMap((up) => up.ticks.map(([, label]) => wide(label, SMALL, font) + 10))
  const most = width * (isNarrow ? 0.36 : 0.34)
  const room = Math.max(ups.length ? 40 : 0, ...numbers, names.length ? Math.min(Math.max(60, ...names) + 12, most) : 0)
  const beside = data.right.length ? 52 : data.notes.length ? Math.min(width * 0.28, 14 + Math.max(...data.notes.map(([, , text]) => wide(text, SMALL, font)))) : 14
  const key = keyed(data, room, width, font)
  const top = (data.key.length ? 24 + key.tall : 8) + (data.panels[0].up?.title ? 18 : 0) + (data.uprights.some(([, text]) => text) ? 16 : 0)
  const below = 22
  const axis = data.panels.some((panel) => panel.title) ? below + 18 : below
  const gap = (panel) => below + (panel.title ? 30 : 12)
  const inside = height - top - axis - data.panels.slice(0, -1).reduce((sum, panel) => sum + gap(panel), 0)
  const rows = data.panels.reduce((sum, panel) => sum + (panel.to - panel.from), 0)
  let at = top
  const panels = data.panels.map((panel) => {
    const tall = inside * ((panel.to - panel.from) / rows)
    const made = { ...panel, top: at, bottom: at + tall }
    const [low, high] = data.isSquare && panel.up ? squared(panel, width - beside - room, tall) : [panel.low, panel.high]
    made.x = scale(low, high, panel.isLog, room, width - beside)
    made.y = scale(panel.from, panel.to, panel.up?.isLog, made.bottom, made.top)
    at += tall + gap(panel)
    return made
  })
  const unit = ups.length ? Infinity : inside / rows
  return { left: room, right: width - beside, top, panels, width, height, font, isNarrow, unit, aside, key }
}

// The ends of an axis whose units are as long as those upwards.
function squared(panel, across, tall) {
  const half = (across * (panel.to - panel.from)) / tall / 2
  const middle = (panel.low + panel.high) / 2
  return [middle - half, middle + half]
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
  for (const { title, bottom } of at.panels) if (title) make(svg, "text", { x: (at.left + at.right) / 2, y: bottom + 34, "text-anchor": "middle", "font-size": SMALL }, title)
  const first = at.panels[0]
  if (first.up?.title) make(svg, "text", { x: 2, y: data.key.length ? 38 + at.key.tall : 14, "font-size": SMALL }, first.up.title)
  for (const panel of at.panels) {
    let above = Infinity
    for (const [value, label] of panel.up?.ticks ?? []) {
      const y = panel.y(value)
      make(svg, "line", { x1: at.left, x2: at.right, y1: y, y2: y, stroke: data.quiet, "stroke-opacity": 0.22 })
      if (y > above - 14) continue
      above = y
      make(svg, "text", { x: at.left - 8, y: y + 4, "text-anchor": "end", "font-size": SMALL }, label)
    }
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
    else marker(svg, x + 12, y, style, 4.5)
    make(svg, "text", { x: x + 30, y: y + 4, "font-size": SMALL }, text)
  }
  if (data.rightTitle && at.unit > 11) make(svg, "text", { x: at.width, y: 14 + at.key.tall, "text-anchor": "end", "font-size": SMALL }, data.rightTitle)
  data.notes.forEach(([x0, y0, text, index]) => {
    const panel = panelOf(at, y0)
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
    make(svg, "line", { x1: x, x2: x, y1: panel.top - 4, y2: (panel.up ? panel : at.panels.at(-1)).bottom, stroke: "currentColor", "stroke-width": 1.5, "stroke-dasharray": "4 3" })
    if (text) make(svg, "text", { x: x + (anchor === "end" ? -4 : 4), y: panel.top - 8, "font-size": SMALL, "text-anchor": anchor || (x > at.right - 90 ? "end" : "start") }, text)
  }
}

function marks(layer, data, at) {
  const inside = (x) => Math.max(at.left, Math.min(at.right, x))
  const strokes = data.styles.map(() => "")
  const arrows = data.styles.map(() => "")
  const ends = data.styles.map(() => "")
  for (const [y, low, high, kind] of data.bars) {
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
  for (const [x, y, kind] of data.dots) {
    const panel = panelOf(at, y)
    const place = panel.x(x)
    if (place >= at.left - 1 && place <= at.right + 1) marker(layer, place, panel.y(y), data.styles[kind], Math.min(data.styles[kind].size, at.unit / 3))
  }
  if (at.unit > 11) for (const [y, text] of data.right) make(layer, "text", { x: at.width, y: panelOf(at, y).y(y) + 4, "text-anchor": "end", "font-size": SMALL }, text)
}

// zoom: how much larger than usual the page is written.
function paint(parent, data, width, height, font, zoom = 1) {
  const at = stage(data, width / zoom, height / zoom, font)
  const svg = make(parent, "svg", { viewBox: `0 0 ${at.width} ${at.height}`, width, height, role: "img", "aria-label": data.alt, "font-family": font })
  axes(svg, data, at)
  lines(svg, data, at)
  marks(svg, data, at)
  words(svg, data, at)
  return { svg, at, zoom }
}

// The chart as a file, with the numbers beside it below.
function file(data, ink, paper, isDark) {
  const width = 1000
  const room = width - 2 * SHEET.margin
  const tall = Math.max(360, Math.min(1400, data.tall))
  const rows = data.tables.flatMap((table) => [table.head, ...table.rows])
  const about = { ...data, width, tall: tall + (rows.length ? 16 + rows.length * 18 : 0), font: PLAIN, ink, paper }
  const svg = sheet(about, (inner) => {
    paint(inner, data, room, tall, PLAIN).svg.removeAttribute("role")
    rows.forEach((row, k) => row.forEach((cell, i) => {
      const x = i ? ((i + 1) * room) / (row.length + 1) : 0
      make(inner, "text", { x, y: tall + 28 + 18 * k, "font-size": SMALL, "font-weight": data.tables.some(({ head }) => head === row) ? 600 : undefined }, said(cell))
    }))
  })
  for (const name of ["fill", "stroke"]) { // a file has no theme to follow
    for (const node of svg.querySelectorAll(`[${name}="var(--paper)"]`)) node.setAttribute(name, paper)
    for (const node of svg.querySelectorAll(`[${name}^=light-dark]`)) node.setAttribute(name, node.getAttribute(name).match(/#\w+/g)[Number(isDark)])
  }
  return svg
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
  element(root, data.isHeading ? "h2" : "p", { class: `finding ${data.isLoud ? "loud" : ""}` }, data.title)
  const main = element(root, "div", { class: "main" })
  if (data.sub) element(main, "p", { class: "sub" }, data.sub)
  const canvas = element(main, "div", { class: "canvas" })
  const side = element(root, "div", { class: "side" })
  for (const each of data.tables) table(side, each)
  for (const remark of data.remarks) element(side, "p", { class: "remark" }, remark)
  const foot = element(root, "div", { class: "foot" })
  element(foot, "span", {}, data.footer)
  for (const kind of ["svg", "png"]) {
    const button = element(foot, "button", { type: "button", title: `Save this chart as ${kind.toUpperCase()}` }, `⤓ ${kind.toUpperCase()}`)
    button.addEventListener("click", () => {
      const style = getComputedStyle(root)
      const paper = style.getPropertyValue("--st-background-color").trim()
      save(file(data, style.color, paper, style.colorScheme === "dark"), kind, `dpci_${data.name}`)
    })
  }
  element(root, "div", { class: "tip", hidden: "" })
  return canvas
}

function tip(root, canvas, data, picture, event) {
  const node = root.querySelector(".tip")
  const box = picture.svg.getBoundingClientRect()
  const [x, y] = [(event.clientX - box.left) / picture.zoom, (event.clientY - box.top) / picture.zoom]
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

// What is drawn at a position of the slider: what the animation has of it, in the place of the page's own.
function frameOf(data, { frames, places, still }, position) {
  const own = data.isAnimated && frames?.[position]
  if (!own) return data
  if (!own.ends) return { ...data, ...own }
  const moved = places.map(([y, kind], i) => [y, own.ends[2 * i], own.ends[2 * i + 1], kind])
  return { ...data, ...own, bars: [...still, ...moved], right: data.right.map(([y], i) => [y, own.right[i]]) }
}

export default function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector(".picture")
  if (!root || !data) return
  mounted.get(parentElement)?.()
  const canvas = skeleton(root, data)
  const page = document.documentElement
  const holder = root.closest("[data-testid=stMainBlockContainer]")
  const block = root.closest(".st-key-learn_seen")
  let picture = null
  let shown = data

  // Where the page is to be on one screen as tall as the window leaves room for.
  const size = () => {
    const width = Math.max(240, Math.floor(canvas.clientWidth))
    const usual = Math.min(data.tall, data.isSquare ? Math.floor(0.95 * width) : 560)
    if (!data.isFilling) { // between the head of the page and what leads on, with all that stands around it
      const { scrollMarginTop, scrollMarginBottom } = getComputedStyle(block)
      const around = block.offsetHeight - canvas.offsetHeight + parseFloat(scrollMarginTop) + parseFloat(scrollMarginBottom)
      return [width, Math.max(LEAST, Math.min(usual, Math.floor(window.innerHeight - around)))]
    }
    const top = canvas.getBoundingClientRect().top + (document.querySelector("[data-testid=stMain]")?.scrollTop ?? 0)
    if (width < 560) { // below the page a bar may stand still
      const bar = holder ? parseFloat(getComputedStyle(holder).paddingBottom) : 0
      const least = data.least + keyed(data, 0, width, FONT).tall
      return [width, Math.max(least, Math.min(usual, Math.floor(window.innerHeight - top - bar)))]
    }
    const below = holder ? holder.getBoundingClientRect().bottom - root.getBoundingClientRect().bottom : 16
    const left = window.innerHeight - top - root.querySelector(".foot").offsetHeight - below
    return [width, Math.max(data.least, LOWEST, Math.floor(left))]
  }
  let place = []
  const redraw = () => {
    canvas.replaceChildren()
    picture = paint(canvas, shown, ...place)
  }
  const fit = () => {
    if (!canvas.isConnected) return
    const [width, height] = size()
    // Where that is too low for rows, its letters give way: words on words could not be read in any size.
    const zoom = Math.min(parseFloat(getComputedStyle(page).fontSize) / 16, height / (0.7 * data.least))
    const fitting = [width, height, FONT, zoom]
    if (String(fitting) === String(place)) return
    place = fitting
    redraw()
  }
  fit()
  root.dataset.drawn = data.version
  root.drawing = data // as tests read it
  const watcher = new ResizeObserver(fit)
  for (const node of [canvas, page, holder, block]) if (node) watcher.observe(node)

  const hover = (event) => data.hover && tip(root, canvas, data, picture, event)
  const leave = () => (root.querySelector(".tip").hidden = true)
  canvas.addEventListener("pointermove", hover)
  canvas.addEventListener("pointerdown", hover)
  canvas.addEventListener("pointerleave", leave)

  // --- while the slider is dragged: the frame of its position, and its words
  const put = (node, text, isMoved = false) => {
    if (!node) return
    node.dataset.was ??= node.textContent
    node.textContent = text ?? node.dataset.was
    node.style.visibility = isMoved && text === undefined ? "hidden" : "" // it is true of another place
  }
  const say = (words) => {
    const isMoved = words !== data
    put(root.querySelector(".finding"), words.title, isMoved)
    put(root.querySelector(".foot span"), words.footer, isMoved)
    put(document.querySelector(".odds"), words.odds, isMoved)
    for (const node of root.querySelectorAll("[data-live]")) put(node, isMoved ? words.cells?.[node.dataset.live] ?? "…" : undefined)
  }
  let last = null
  let next = 0
  const follow = () => {
    next = 0
    const kept = animations.get(data.slider)
    const animation = kept?.version === data.animation ? kept : { words: [] } // not there yet: nothing is known of a place
    const input = document.querySelector(`.st-key-${data.slider} input[type=range]`)
    if (!input) return
    const position = Number(input.value)
    if (position === last) return
    last = position
    const isBack = position === data.here
    const words = isBack ? data : animation.words[position] ?? {}
    if (isBack && page.dataset.dpciLive !== data.slider) return
    if (isBack) delete page.dataset.dpciLive
    else page.dataset.dpciLive = data.slider
    say(words)
    shown = isBack ? data : frameOf(data, animation, position)
    redraw()
    root.dataset.strokes = shown.bars.filter(([, low]) => low !== null).length + shown.dots.length
    root.dataset.position = position
  }
  delete page.dataset.dpciLive
  put(document.querySelector(".odds")) // a slider that the server moved has passed other places, with their words
  const moves = new MutationObserver(() => (next ||= requestAnimationFrame(follow))) // no more than the screen shows
  // The slider may be drawn anew at any time, so the page is watched, for this one attribute only.
  if (data.slider) moves.observe(document.body, { subtree: true, attributes: true, attributeFilter: ["value"] })

  const stop = () => {
    put(document.querySelector(".odds"))
    moves.disconnect()
    cancelAnimationFrame(next)
    watcher.disconnect()
    canvas.removeEventListener("pointermove", hover)
  }
  mounted.set(parentElement, stop)
  // Streamlit mounts twice where a run comes while this file is read, and then cleans up what it mounted last.
  return () => setTimeout(() => parentElement.isConnected || stop())
}
