// A page for other people in a frame of its own height; its own policy lets it load and run nothing.
export default function ({ data, parentElement }) {
  const frame = parentElement.querySelector('iframe')
  const fit = () => {
    const page = frame.contentDocument
    if (!page?.body) return
    const isDark = getComputedStyle(frame).colorScheme === 'dark'
    page.documentElement.dataset.theme = isDark ? 'dark' : 'light'
    frame.style.height = `${page.body.offsetHeight + 4}px`
  }
  if (frame.srcdoc === data.html) return fit()
  frame.title = data.title
  frame.sandbox = 'allow-same-origin allow-modals'
  frame.onload = () => {
    frame.contentDocument.addEventListener('toggle', fit, true)
    new ResizeObserver(fit).observe(frame)
  }
  frame.srcdoc = data.html
  parentElement.querySelector('button').onclick = () => frame.contentWindow.print()
}
