// The first line of a file, read here in the browser: nothing else of it is sent anywhere.
const MOST = 65536

export default function ({ parentElement, setTriggerValue }) {
  const input = parentElement.querySelector('input')
  input.onchange = async () => {
    const file = input.files[0]
    if (!file) return
    const start = await file.slice(0, MOST).text()
    setTriggerValue('header', start.split(/\r?\n/)[0].slice(0, 20000))
  }
  input.onclick = () => { input.value = '' } // so that the same file can be chosen again
}
