import { writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import { codeOf } from '../start-error.ts'

const STANDARD_OUTPUT = 1
const WAIT_MS = 200
const MOST_WAITING = 16_000
const MOST_HELD_MS = 300_000

type LogOptions = {
  isTerminal?: boolean
  /** Buffers lines until `release`, for at most 5 minutes and 16,000 characters. */
  isHeld?: boolean
}

type HeldLog = { log: Logger; release: () => void }

/**
 * Batches JSON lines for up to 200 ms; writes at once for a fatal line or at exit. The library would measure and copy
 * each line.
 */
export function createLog(level: string, { isTerminal = false, isHeld = false }: LogOptions = {}): HeldLog {
  const output = pino.destination({ fd: STANDARD_OUTPUT, sync: false })
  let waiting = ''
  /** The terminal or pipe reader is gone: drop lines, since the library would retry for ever. */
  let isGone = false
  const giveUp = (): void => {
    isGone = true
    waiting = ''
    output.destroy()
  }
  output.on('error', giveUp)
  let waits = isHeld
  const writeWaiting = (): void => {
    const text = waiting
    waiting = ''
    if (text !== '') output.write(text)
  }
  const gathering = {
    write(line: string): void {
      if (isGone) return
      waiting += isTerminal ? toTerminalLine(line) : line
      if (waiting.length > MOST_WAITING) writeWaiting()
    },
    /** Called by the library after a fatal line. */
    flushSync(): void {
      if (isGone) return
      const rest = writeNow(waiting)
      if (rest === undefined) giveUp()
      else {
        waiting = rest
        writeWaiting()
        output.flushSync()
      }
    },
  }
  setInterval(() => waits || writeWaiting(), WAIT_MS).unref()
  process.on('exit', gathering.flushSync)
  const release = (): void => {
    waits = false
  }
  if (isHeld) setTimeout(release, MOST_HELD_MS).unref()
  return { log: pino({ level }, gathering), release }
}

/** Returns the unwritten rest; undefined when the reader is gone. */
function writeNow(text: string): string | undefined {
  const bytes = Buffer.from(text)
  try {
    return bytes.subarray(writeSync(STANDARD_OUTPUT, bytes)).toString()
  } catch (error) {
    return codeOf(error) === 'EAGAIN' ? text : undefined
  }
}

export function toTerminalLine(line: string): string {
  const { level, time, pid: _pid, hostname: _hostname, msg = '', ...members } = JSON.parse(line)
  const label = level === pino.levels.values.info ? '' : `${pino.levels.labels[level]?.toUpperCase()} `
  const values = Object.entries(members).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`)
  return `${new Date(time).toTimeString().slice(0, 8)} ${label}${printable(msg)}${printable(values.join(''))}\n`
}

/** A terminal would execute control characters. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, ' ')
