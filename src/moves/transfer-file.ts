import { type Hmac, timingSafeEqual } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, link, open, rm } from 'node:fs/promises'
import type { MovedTable } from './moved-tables.ts'

export const FORMAT = 'parley-company'
export const FORMAT_VERSION = 2
/** Longer than any row or piece of a file. */
const MAX_LINE_BYTES = 64 * 1024 * 1024
const LINE_FEED = 10

export type Header = {
  format: string
  version: number
  /** A digest of the schema: both installations must have the same. */
  schema: string
  companyId: number
  name: string
  /** Of the key that is derived from the passphrase. */
  salt: string
  /** Encrypted with that key: the secret of media addresses, and the key of hashed opt-outs. */
  mediaSecret: string
  optOutKey: string
  hasHashedOptOuts: boolean
}

/** A line of the file after the header. */
export type Entry =
  /** The row as the text of a JSON object, whose numbers are kept exactly. */
  | { table: MovedTable; row: string }
  /** A piece of a stored file, in base64; the last piece of a file is empty. */
  | { blob: string; mimeType: string; piece: string }

export type TransferWriter = { write(entry: Header | Entry): Promise<void>; close(): Promise<{ lines: number }> }

/**
 * Writes lines of JSON and, at the end, their number and their HMAC. The file must not exist; its owner alone may read it. Until
 * it is complete, its name ends in `.partial`; a new export replaces the partial file of one that was killed.
 */
export async function createTransferFile(path: string, mac: Hmac): Promise<TransferWriter> {
  const exists = await access(path).then(
    () => true,
    () => false,
  )
  if (exists) throw new MoveRefused(`The file ${path} exists already`)
  const partial = `${path}.partial`
  await rm(partial, { force: true })
  const file = await open(partial, 'wx', 0o600)
  let lines = 0
  const put = async (text: string) => {
    await file.writeFile(text)
  }
  return {
    write: async (entry) => {
      const line = `${JSON.stringify(entry)}\n`
      mac.update(line)
      lines += 1
      await put(line)
    },
    close: async () => {
      await put(`${JSON.stringify({ end: { lines, hmac: mac.digest('hex') } })}\n`)
      await file.sync()
      await file.close()
      await link(partial, path)
      await rm(partial)
      return { lines }
    },
  }
}

/**
 * Reads the lines of a file one after another; the first is the header. Without `mac`, nothing of it is authentic.
 * @throws MoveRefused when the file is cut off, altered, made with another passphrase, or no file of this format
 */
export async function* readTransferFile(path: string, mac?: Hmac): AsyncGenerator<Header | Entry> {
  let lines = 0
  let isComplete = false
  for await (const line of linesOf(path)) {
    if (isComplete) throw damaged()
    const entry = parse(line)
    if ('end' in entry) {
      if (entry.end.lines !== lines || mac === undefined || !isMac(entry.end.hmac, mac.digest())) throw damaged()
      isComplete = true
    } else {
      mac?.update(`${line}\n`)
      lines += 1
      yield entry
    }
  }
  if (!isComplete) throw damaged()
}

/** The lines of a file. Unlike `readline`, it stops at a line without end before memory is full. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let pieces: Buffer[] = []
  let length = 0
  for await (const chunk of createReadStream(path)) {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      yield Buffer.concat([...pieces, chunk.subarray(start, end)]).toString()
      pieces = []
      length = 0
      start = end + 1
    }
    pieces.push(chunk.subarray(start))
    length += chunk.length - start
    if (length > MAX_LINE_BYTES) throw damaged()
  }
  if (length > 0) yield Buffer.concat(pieces).toString()
}

const isMac = (text: unknown, right: Buffer): boolean => {
  const sent = Buffer.from(String(text), 'hex')
  return sent.length === right.length && timingSafeEqual(sent, right)
}

type End = { end: { lines: number; hmac: string } }

function parse(line: string): Header | Entry | End {
  try {
    const entry = JSON.parse(line)
    if (typeof entry === 'object' && entry !== null) return entry
  } catch {
    // Not JSON: damaged like every other line that is no object.
  }
  throw damaged()
}

/** A move that cannot be made; the message says why. */
export class MoveRefused extends Error {}

const damaged = () => new MoveRefused('The file is damaged: it was altered, or its end is missing')
