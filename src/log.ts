import { type Logger, pino } from 'pino'

const WAIT_MS = 200
const MOST_WAITING = 16_000

/**
 * The log of the process: lines of JSON on standard output, written together, up to a fifth of a second late; at once
 * when one is fatal or the process ends. They are gathered here, since the library would measure and copy each.
 */
export function createLog(level: string): Logger {
  const output = pino.destination({ fd: 1, sync: false })
  let waiting = ''
  const writeWaiting = (): void => {
    const text = waiting
    waiting = ''
    if (text !== '') output.write(text)
  }
  const gathering = {
    write(line: string): void {
      waiting += line
      if (waiting.length > MOST_WAITING) writeWaiting()
    },
    /** The library calls it after a fatal line. */
    flushSync(): void {
      writeWaiting()
      output.flushSync()
    },
  }
  setInterval(writeWaiting, WAIT_MS).unref()
  process.on('exit', gathering.flushSync)
  return pino({ level }, gathering)
}
