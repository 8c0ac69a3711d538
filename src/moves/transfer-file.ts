import { createHmac, type Hmac, scryptSync, timingSafeEqual } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, link, open, rm } from 'node:fs/promises'
import { type Cipher, createCipher } from '../secrets/secrets.ts'

export const FORMAT = 'parley-company'
export const FORMAT_VERSION = 2
const MAX_LINE_BYTES = 64 * 1024 * 1024
const LINE_FEED = 10

export type Header = {
  format: string
  version: number
  /** Must match the target installation. */
  schema: string
  companyId: number
  name: string
  /** For the key derived from the passphrase. */
  salt: string
  /** Both encrypted with that key. */
  mediaSecret: string
  optOutKey: string
  hasHashedOptOuts: boolean
}

export type Entry =
  /** JSON text, to keep numbers exact. */
  | { table: string; row: string }
  /** Base64; an empty piece ends the file. */
  | { blob: string; mimeType: string; piece: string }

export type TransferWriter = { write(entry: Header | Entry): Promise<void>; close(): Promise<{ lines: number }> }

/**
 * Writes JSON lines, then their count and HMAC, readable only by the owner. Named `.partial` until complete; a new
 * export replaces a leftover partial file. The file must not exist.
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

/** Without `mac`, nothing can be trusted. @throws {MoveRefused} for a damaged file, wrong passphrase or format */
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

/** Unlike `readline`, stops at an endless line before memory is full. */
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
    // Not JSON.
  }
  throw damaged()
}

export class MoveRefused extends Error {}

const damaged = () => new MoveRefused('The file is damaged: it was altered, or its end is missing')

const MIN_PASSPHRASE = 12

export type Authenticator = () => Hmac

/** The header is not yet authenticated, so must only be used for its salt and one secret to check the passphrase. */
export async function readKeys(
  file: string,
  passphrase: string,
): Promise<{ transfer: Cipher; authenticator: Authenticator }> {
  const entries = readTransferFile(file)
  const header = await readArchiveHeader(entries).finally(() => entries.return(undefined))
  const keys = transferKeys(passphrase, header.salt)
  decryptWith(keys.transfer, header.mediaSecret)
  return keys
}

export function transferKeys(passphrase: string, salt: string): { transfer: Cipher; authenticator: Authenticator } {
  if (passphrase.length < MIN_PASSPHRASE)
    throw new MoveRefused(`The passphrase needs at least ${MIN_PASSPHRASE} characters`)
  const keys = scryptSync(passphrase, Buffer.from(salt, 'base64'), 64)
  return {
    transfer: createCipher([keys.subarray(0, 32).toString('base64')]),
    authenticator: () => createHmac('sha256', keys.subarray(32)),
  }
}

/** @throws {MoveRefused} if the file has another format */
export async function readArchiveHeader(entries: AsyncGenerator<Header | Entry>): Promise<Header> {
  const first = (await entries.next()).value
  if (first === undefined || !('format' in first) || first.format !== FORMAT || typeof first.salt !== 'string') {
    throw new MoveRefused('The file is no export of a company')
  }
  if (first.version !== FORMAT_VERSION)
    throw new MoveRefused(`The file has version ${first.version} of the format, not ${FORMAT_VERSION}`)
  return first
}

/** @throws {MoveRefused} for a wrong passphrase */
export function decryptWith(transfer: Cipher, sealed: string): string {
  try {
    return transfer.decrypt(sealed)
  } catch {
    throw new MoveRefused('The passphrase is wrong')
  }
}
