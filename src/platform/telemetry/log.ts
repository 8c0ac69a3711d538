import { writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import { codeOf } from '../start-error.ts'

const STANDARD_OUTPUT = 1
const WAIT_MS = 200
const MOST_WAITING = 16_000
/** A start that takes longer, such as one that waits for a lock, says why. */
const MOST_HELD_MS = 300_000

type LogOptions = {
  /** Lines are for a person: text instead of JSON. */
  isTerminal?: boolean
  /** Lines wait until `release` is called, for 5 minutes and up to 16,000 characters of them at most. */
  isHeld?: boolean
}

type HeldLog = { log: Logger; release: () => void }

/**
 * The log of the process: lines of JSON on standard output, written together, up to a fifth of a second late; at once
 * when one is fatal or the process ends. They are gathered here, since the library would measure and copy each.
 */
export function createLog(level: string, { isTerminal = false, isHeld = false }: LogOptions = {}): HeldLog {
  const output = pino.destination({ fd: STANDARD_OUTPUT, sync: false })
  let waiting = ''
  /** The terminal was closed, or the reader of the pipe ended: lines are dropped. The library would try again without end. */
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
    /** The library calls it after a fatal line. */
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

/** Writes as much as standard output takes at once. Returns the rest; undefined when its reader is gone. */
function writeNow(text: string): string | undefined {
  const bytes = Buffer.from(text)
  try {
    return bytes.subarray(writeSync(STANDARD_OUTPUT, bytes)).toString()
  } catch (error) {
    return codeOf(error) === 'EAGAIN' ? text : undefined
  }
}

/** The time, the level unless it is `info`, the message, and the members as name=value. */
export function toTerminalLine(line: string): string {
  const { level, time, pid: _pid, hostname: _hostname, msg = '', ...members } = JSON.parse(line)
  const label = level === pino.levels.values.info ? '' : `${pino.levels.labels[level]?.toUpperCase()} `
  const values = Object.entries(members).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`)
  return `${new Date(time).toTimeString().slice(0, 8)} ${label}${printable(msg)}${printable(values.join(''))}\n`
}

/** Without control characters, which a terminal would execute. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, ' ')
