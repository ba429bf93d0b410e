// Saves a chart of Plotly as it is drawn on the page, with title, footer and link. See download.py.
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity",
                "font-family", "font-size", "font-weight", "text-anchor", "visibility", "display"]

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

async function drawn({ chart, title, footer }) {
  const plot = document.querySelector(`.st-key-${chart} .js-plotly-plot`)
  const box = plot.getBoundingClientRect()
  const { fontFamily: font, color: ink, backgroundColor: paper } = getComputedStyle(document.querySelector(".stApp"))
  const face = await typeface(font.split(",")[0].replaceAll('"', "").trim())
  const about = { title, footer, width: Math.round(box.width) + 2 * SHEET.margin, tall: Math.round(box.height), font, ink, paper }
  const held = (line, size, weight) => ({ textLength: wide(line, size, font, weight).toFixed(1), lengthAdjust: "spacingAndGlyphs" })
  const draw = (inner, svg) => {
    make(svg, "style", {}, face)
    for (const layer of plot.querySelectorAll(".main-svg")) {
      const copy = layer.cloneNode(true), at = layer.getBoundingClientRect()
      fixed(layer, copy)
      copy.querySelectorAll(".hoverlayer, .modebar-container").forEach((node) => node.remove())
      copy.removeAttribute("style")
      copy.setAttribute("x", at.left - box.left)
      copy.setAttribute("y", at.top - box.top)
      inner.appendChild(copy)
    }
  }
  return sheet(about, draw, held)
}

export default function ({ parentElement, data }) {
  const box = parentElement.querySelector(".files")
  box.replaceChildren()
  for (const kind of ["svg", "png"]) {
    const label = `Download the chart as ${kind.toUpperCase()}`
    const button = element(box, "button", { type: "button", "aria-label": label }, kind.toUpperCase())
    button.onclick = async () => save(await drawn(data), kind, data.name)
  }
}
