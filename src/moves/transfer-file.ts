import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, link, open, rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { MovedTable } from './moved-tables.ts'

export const FORMAT = 'parley-company'
export const FORMAT_VERSION = 1
/** Longer than any row or piece of a file. */
const MAX_LINE = 64 * 1024 * 1024

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
 * Writes lines of JSON and, at the end, their number and SHA-256. The file must not exist; its owner alone may read it. Until
 * it is complete, its name ends in `.partial`; a new export replaces the partial file of one that was killed.
 */
export async function createTransferFile(path: string): Promise<TransferWriter> {
  const exists = await access(path).then(
    () => true,
    () => false,
  )
  if (exists) throw new MoveRefused(`The file ${path} exists already`)
  const partial = `${path}.partial`
  await rm(partial, { force: true })
  const file = await open(partial, 'wx', 0o600)
  const hash = createHash('sha256')
  let lines = 0
  const put = async (text: string) => {
    await file.writeFile(text)
  }
  return {
    write: async (entry) => {
      const line = `${toLine(entry)}\n`
      hash.update(line)
      lines += 1
      await put(line)
    },
    close: async () => {
      await put(`${JSON.stringify({ end: { lines, sha256: hash.digest('hex') } })}\n`)
      await file.sync()
      await file.close()
      await link(partial, path)
      await rm(partial)
      return { lines }
    },
  }
}

/**
 * Reads the lines of a file one after another; the first is the header.
 * @throws MoveRefused when the file is cut off, altered or no file of this format
 */
export async function* readTransferFile(path: string): AsyncGenerator<Header | Entry> {
  const hash = createHash('sha256')
  let lines = 0
  let isComplete = false
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    if (isComplete || line.length > MAX_LINE) throw damaged()
    const entry = parse(line)
    if ('end' in entry) {
      if (entry.end.lines !== lines || entry.end.sha256 !== hash.digest('hex')) throw damaged()
      isComplete = true
    } else {
      hash.update(`${line}\n`)
      lines += 1
      yield entry
    }
  }
  if (!isComplete) throw damaged()
}

/** Readers of lines also end them at U+2028 and U+2029, which JSON leaves as they are. */
const toLine = (entry: Header | Entry): string =>
  JSON.stringify(entry).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')

type End = { end: { lines: number; sha256: string } }

function parse(line: string): Header | Entry | End {
  try {
    return JSON.parse(line)
  } catch {
    throw damaged()
  }
}

/** A move that cannot be made; the message says why. */
export class MoveRefused extends Error {}

const damaged = () => new MoveRefused('The file is damaged: its checksum does not match, or its end is missing')
