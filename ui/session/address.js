// One entry of the browser's history for a page, on Learn for a screen, on Plan for a step. See address.py.
const calm = Symbol.for("dpci calm history")

function isSamePlace(url) {
  const [here, there] = [window.location.href, new URL(url ?? "", window.location.href)].map((each) => new URL(each))
  return here.pathname === there.pathname && ["screen", "step"].every((name) => {
    const [before, after] = [here, there].map((each) => each.searchParams.get(name))
    return !before || !after || before === after
  })
}

export default function () {
  if (window.history[calm]) return
  const { pushState, replaceState } = window.History.prototype
  window.history.pushState = function (state, title, url) {
    return (isSamePlace(url) ? replaceState : pushState).call(this, state, title, url)
  }
  window.history[calm] = true
}
