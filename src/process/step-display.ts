export type StepDisplay = {
  step(title: string): void
  end(): void
}

const PAINT_MS = 500
const SHORT_MS = 1_000
const ERASE = '\r\u001b[2K'

/** Repaints the step's line with its seconds at a terminal; prints nothing elsewhere. */
export function createStepDisplay({ isTTY, write }: { isTTY: boolean; write(text: string): void }): StepDisplay {
  let end = (): void => {}
  const start = (title: string): (() => void) => {
    const startedMs = performance.now()
    const tookMs = () => performance.now() - startedMs
    const line = () => `${ERASE}${title} … (${Math.round(tookMs() / 1_000)} s)`
    write(line())
    const painting = setInterval(() => write(line()), PAINT_MS).unref()
    return () => {
      clearInterval(painting)
      write(tookMs() < SHORT_MS ? ERASE : `${line()}\n`)
    }
  }
  return {
    step: (title) => {
      end()
      if (isTTY) end = start(title)
    },
    end: () => {
      end()
      end = () => {}
    },
  }
}
