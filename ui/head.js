// One entry of the browser's history for a page, on Learn for a screen, on Plan for a step. See head.py.
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
