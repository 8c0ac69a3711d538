// Shows what the set-up does. At a terminal a step is one line that is painted again each second, with its progress; elsewhere
// it is one line.
const PAINT_MS = 500

/** Runs a step under its title, such as "Building the console". `progress` returns how far it is, such as "12 of 600". */
export async function runStep(title, run, progress = () => '') {
  if (!process.stdout.isTTY) {
    console.log(`${title} …`)
    return await run()
  }
  const startedMs = performance.now()
  const seconds = () => Math.round((performance.now() - startedMs) / 1_000)
  const paint = () => {
    const line = [title, '…', progress(), `(${seconds()} s)`].filter((part) => part !== '').join(' ')
    process.stdout.write(`\r\x1b[2K${line}`)
  }
  paint()
  const painting = setInterval(paint, PAINT_MS)
  try {
    return await run()
  } finally {
    clearInterval(painting)
    paint()
    process.stdout.write('\n')
  }
}
