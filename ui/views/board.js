// A page for other people in a frame of its own height; its own policy lets it load and run nothing.
export default function ({ data, parentElement }) {
  const frame = parentElement.querySelector('iframe')
  const paint = () => {
    const root = frame.contentDocument.documentElement
    root.dataset.theme = getComputedStyle(parentElement).colorScheme === 'dark' ? 'dark' : 'light'
  }
  if (frame.srcdoc === data.html) return paint()
  frame.title = data.title
  frame.sandbox = 'allow-same-origin allow-modals'
  frame.onload = () => {
    paint()
    const body = frame.contentDocument.body
    new ResizeObserver(() => { frame.style.height = `${body.offsetHeight + 4}px` }).observe(body)
  }
  frame.srcdoc = data.html
  parentElement.querySelector('button').onclick = () => frame.contentWindow.print()
}
