// See head.py.
// One entry of the browser's history for a page, on Learn for a screen, on Plan for a step.
{
  const PLACES = ["screen", "step"]
  const isSamePlace = (url) => {
    const [here, there] = [window.location.href, new URL(url ?? "", window.location.href)].map((each) => new URL(each))
    return here.pathname === there.pathname && PLACES.every((name) => {
      const [before, after] = [here, there].map((each) => each.searchParams.get(name))
      return !before || !after || before === after
    })
  }
  const { pushState, replaceState } = window.History.prototype
  window.history.pushState = function (state, title, url) {
    return (isSamePlace(url) ? replaceState : pushState).call(this, state, title, url)
  }
}

// Past the navigation, by keys; what the foot of every page holds is not what somebody came for.
document.addEventListener("click", ({ target }) => {
  if (target.id !== "skip") return
  const main = document.querySelector("[data-testid=stMain]")
  const controls = [...main.querySelectorAll("input, textarea, button, summary")].filter(
    (one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0 && !one.closest(".st-key-foot")
  )
  const tab = controls[0]?.closest("[role=radiogroup]")?.querySelector("button[aria-checked=true]")
  const heading = main.querySelector("h1")
  heading?.setAttribute("tabindex", "-1")
  ;(tab ?? controls.find((one) => one.type === "range") ?? controls[0] ?? heading)?.focus()
})

// What a visitor of the front page reads until the page is there.
{
  const FRONT = ["", "explore", "front", "start"]
  const ANYTHING = "[data-testid=stMainBlockContainer] :is(h1, [data-testid=stAlert], [data-testid=stException])"
  if (FRONT.includes(window.location.pathname.split("/").at(-1))) {
    const page = document.documentElement
    page.dataset.dpciFirst = ""
    const watcher = new MutationObserver(() => {
      if (!document.querySelector(ANYTHING)) return
      watcher.disconnect()
      delete page.dataset.dpciFirst
    })
    watcher.observe(document, { subtree: true, childList: true })
  }
}
