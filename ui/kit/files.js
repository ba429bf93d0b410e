// What charts and their files are made of: elements, words that fit, and a sheet with title, footer and link.
// Stands in front of picture.js and of download.js.
const SVG = "http://www.w3.org/2000/svg"
const SHEET = { margin: 24, title: 20, line: 17 }
const SMALL = 12
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

// Lines that fit, broken between words; a word longer than a line, as an address may be, goes on in the next one.
function wrapped(text, room, size, font, weight = 400) {
  const lines = []
  for (let word of text.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word
    if (lines.length && wide(longer, size, font, weight) <= room) {
      lines[lines.length - 1] = longer
      continue
    }
    while (wide(word, size, font, weight) > room) {
      const most = Math.floor(word.length * room / wide(word, size, font, weight)) - 1
      lines.push(word.slice(0, most))
      word = word.slice(most)
    }
    lines.push(word)
  }
  return lines
}

// A chart of some height between its title and its footer. dress: more attributes of a line of words.
function sheet({ title, sub, footer, width, tall, font, ink, paper }, draw, dress = () => ({})) {
  const room = width - 2 * SHEET.margin
  const head = title ? wrapped(title, room, SHEET.title, font, 600) : []
  const under = sub ? wrapped(sub, room, SMALL, font) : []
  const foot = [footer, window.location.href].map((text) => wrapped(text, room, SMALL, font))
  const top = SHEET.margin + head.length * (SHEET.title + 6) + under.length * SHEET.line + 8
  const height = top + tall + foot.flat().length * SHEET.line + 6 + SHEET.margin
  const root = document.createElementNS(SVG, "g")
  const svg = make(root, "svg", { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, width, height, "font-family": font, fill: ink, color: ink })
  make(svg, "title", {}, title)
  make(svg, "rect", { width, height, fill: paper })
  let y = SHEET.margin
  const write = (parent, line, size, weight, step) => {
    y += step
    make(parent, "text", { x: SHEET.margin, y: y - step * 0.25, "font-size": size, "font-weight": weight, ...dress(line, size, weight) }, line)
  }
  for (const line of head) write(svg, line, SHEET.title, 600, SHEET.title + 6)
  for (const line of under) write(svg, line, SMALL, 400, SHEET.line)
  draw(make(svg, "g", { transform: `translate(${SHEET.margin} ${top})` }), svg)
  y = top + tall + 6
  for (const line of foot[0]) write(svg, line, SMALL, 400, SHEET.line)
  const link = make(svg, "a", { href: window.location.href })
  for (const line of foot[1]) write(link, line, SMALL, 400, SHEET.line)
  return svg
}

async function save(svg, kind, name) {
  const text = new XMLSerializer().serializeToString(svg)
  let blob = new Blob([text], { type: "image/svg+xml" })
  if (kind === "png") {
    const image = new Image()
    image.src = URL.createObjectURL(blob)
    await image.decode()
    const canvas = element(document.createElement("p"), "canvas", { width: 2 * image.width, height: 2 * image.height })
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height)
    URL.revokeObjectURL(image.src)
    blob = await new Promise((done) => canvas.toBlob(done, "image/png"))
  }
  const link = element(document.createElement("p"), "a", { download: `${name}.${kind}`, href: URL.createObjectURL(blob) })
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
