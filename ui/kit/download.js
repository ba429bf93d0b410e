// Saves a chart as it is drawn on the page, with title, footer and link. See download.py.
const SVG = "http://www.w3.org/2000/svg"
const MARGIN = 16, TITLE = 18, SMALL = 12
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity",
                "font-family", "font-size", "font-weight", "text-anchor", "visibility", "display"]

function make(parent, name, attributes, text) {
  const node = document.createElementNS(SVG, name)
  for (const key in attributes) node.setAttribute(key, attributes[key])
  if (text !== undefined) node.textContent = text
  parent.appendChild(node)
  return node
}

// Lines that fit, broken between words.
function broken(text, width, font) {
  const pen = document.createElement("canvas").getContext("2d")
  pen.font = font
  const lines = []
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word
    if (lines.length && pen.measureText(longer).width <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

// What style sheets say, written at every element; every word keeps the width that it has here, in whatever
// font the file is shown.
function fixed(original, copy) {
  const style = getComputedStyle(original)
  for (const name of STYLES) if (style.getPropertyValue(name)) copy.style.setProperty(name, style.getPropertyValue(name))
  if (original.tagName === "text" && !original.querySelector("tspan") && original.textContent.trim()) {
    copy.setAttribute("textLength", original.getComputedTextLength().toFixed(1))
    copy.setAttribute("lengthAdjust", "spacingAndGlyphs")
  }
  Array.from(original.children).forEach((child, i) => fixed(child, copy.children[i]))
}

// The family of the page, as data: the file has to look the same where it is not installed.
async function typeface(family) {
  for (const sheet of document.styleSheets) {
    for (const rule of sheet.cssRules) {
      if (!(rule instanceof CSSFontFaceRule) || rule.style.getPropertyValue("font-style") === "italic") continue
      const name = rule.style.getPropertyValue("font-family").replaceAll('"', "")
      const place = /url\("?([^")]+)"?\)/.exec(rule.style.getPropertyValue("src"))
      if (name !== family || !place) continue
      const bytes = new Uint8Array(await (await fetch(new URL(place[1], sheet.href || location.href))).arrayBuffer())
      const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")
      return `@font-face { font-family: "${name}"; font-weight: 200 900; src: url(data:font/woff2;base64,${btoa(letters)}) format("woff2"); }`
    }
  }
  return ""
}

async function drawn(data) {
  const plot = document.querySelector(`.st-key-${data.chart} .js-plotly-plot`)
  const box = plot.getBoundingClientRect(), width = Math.round(box.width), height = Math.round(box.height)
  const page = getComputedStyle(document.querySelector(".stApp"))
  const family = page.fontFamily, room = width
  const head = data.title ? broken(data.title, room, `600 ${TITLE}px ${family}`) : []
  const foot = [...broken(data.footer, room, `${SMALL}px ${family}`), ...broken(location.href, room, `${SMALL}px ${family}`)]
    .flatMap((line) => cut(line, room, `${SMALL}px ${family}`))
  const top = MARGIN + head.length * (TITLE + 6) + (head.length ? 6 : 0)
  const whole = { width: width + 2 * MARGIN, height: top + height + foot.length * (SMALL + 5) + MARGIN + 6 }
  const svg = make(document.createElementNS(SVG, "g"), "svg", { xmlns: SVG, viewBox: `0 0 ${whole.width} ${whole.height}`, ...whole, "font-family": family })
  make(svg, "title", {}, data.title)
  make(svg, "style", {}, await typeface(family.split(",")[0].replaceAll('"', "").trim()))
  make(svg, "rect", { ...whole, fill: page.backgroundColor })
  const write = (line, y, size, more) => make(svg, "text", { x: MARGIN, y, "font-size": size, fill: page.color, ...more, ...held(line, size, more["font-weight"] || 400, family) }, line)
  head.forEach((line, i) => write(line, MARGIN + TITLE + i * (TITLE + 6), TITLE, { "font-weight": 600 }))
  const inner = make(svg, "g", { transform: `translate(${MARGIN} ${top})` })
  for (const layer of plot.querySelectorAll(".main-svg")) {
    const copy = layer.cloneNode(true), at = layer.getBoundingClientRect()
    fixed(layer, copy)
    copy.querySelectorAll(".hoverlayer, .modebar-container").forEach((node) => node.remove())
    copy.removeAttribute("style")
    copy.setAttribute("x", at.left - box.left)
    copy.setAttribute("y", at.top - box.top)
    inner.appendChild(copy)
  }
  foot.forEach((line, i) => write(line, top + height + 6 + (i + 1) * (SMALL + 5), SMALL, { "fill-opacity": 0.8 }))
  return { text: new XMLSerializer().serializeToString(svg), ...whole }
}

// A word longer than a line, as an address may be, goes on in the next one.
function cut(line, width, font) {
  const pen = document.createElement("canvas").getContext("2d")
  pen.font = font
  if (pen.measureText(line).width <= width) return [line]
  const most = Math.floor(line.length * width / pen.measureText(line).width) - 1
  return [line.slice(0, most), ...cut(line.slice(most), width, font)]
}

function held(line, size, weight, family) {
  const pen = document.createElement("canvas").getContext("2d")
  pen.font = `${weight} ${size}px ${family}`
  return { textLength: pen.measureText(line).width.toFixed(1), lengthAdjust: "spacingAndGlyphs" }
}

function save(blob, name) {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

async function dots({ text, width, height }) {
  const image = new Image()
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }))
  await image.decode()
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height })
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height)
  URL.revokeObjectURL(image.src)
  return new Promise((done) => canvas.toBlob(done, "image/png"))
}

export default function ({ parentElement, data }) {
  const box = parentElement.querySelector(".files")
  box.replaceChildren()
  for (const kind of ["SVG", "PNG"]) {
    const button = document.createElement("button")
    button.type = "button"
    button.textContent = kind
    button.setAttribute("aria-label", `Download the chart as ${kind}`)
    button.onclick = async () => {
      const made = await drawn(data)
      const blob = kind === "SVG" ? new Blob([made.text], { type: "image/svg+xml" }) : await dots(made)
      save(blob, `${data.name}.${kind.toLowerCase()}`)
    }
    box.appendChild(button)
  }
}
