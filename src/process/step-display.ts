/** Shows what a start is doing. */
export type StepDisplay = {
  /** Ends the previous step, and starts the one with this title, such as "Starting the database". */
  step(title: string): void
  /** Ends the last step. */
  end(): void
}

const PAINT_MS = 500
/** A step that took less leaves no line. */
const SHORT_MS = 1_000
const ERASE = '\r\u001b[2K'

/** At a terminal the step is a line that is painted again and again with its seconds; elsewhere there is none. */
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
