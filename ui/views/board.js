// The page for the board in a frame of its own height; its own policy lets it load and run nothing.
export default function ({ data, parentElement }) {
  const frame = parentElement.querySelector('iframe')
  if (frame.srcdoc === data.html) return
  frame.sandbox = 'allow-same-origin allow-modals'
  frame.onload = () => {
    frame.style.height = `${frame.contentDocument.documentElement.scrollHeight + 4}px`
  }
  frame.srcdoc = data.html
  parentElement.querySelector('button').onclick = () => frame.contentWindow.print()
}
