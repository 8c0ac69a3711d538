import { createHash } from 'node:crypto'
import { Transform } from 'node:stream'
import { type FieldFault, validationError } from '../../platform/errors.ts'
import { type ConsentWords, NO_WORDS } from '../../platform/text/lists/consent-columns.ts'
import {
  findProfile,
  PROFILES,
  type ProfileName,
  profileTargets,
  profileWords,
} from '../../platform/text/lists/list-profiles.ts'
import { createListScan, type ListFormat, type ListHead, type NamedStyle } from '../../platform/text/lists/list-scan.ts'
import { isKnownColumn, readHeader, toColumn } from '../write/contact-columns.ts'
import type { TakenList } from './contact-import-store.ts'

export const IMPORT_MAX_ROWS = 1_000_000

export type ListOptions = NamedStyle & {
  readonly profile?: ProfileName | undefined
  readonly consentWords?: ConsentWords | undefined
}

/** A recorded list; `ignored` are unknown columns, `digest` is the SHA-256 of the raw bytes. */
export type UploadSummary = Omit<TakenList, 'sizeBytes'> & {
  readonly ignored: readonly string[]
  readonly digest: Buffer
}

type UploadReader = {
  readonly stream: Transform
  /** Must be called after the stream's end. */
  readonly result: () => UploadSummary
}

/** Reads a list's header and counts rows in `stream`. Stream and `result` fail with 422 `validation_error`. */
export function createUploadReader(format: ListFormat, options: ListOptions = {}): UploadReader {
  const scan = createListScan(format, options)
  const hash = createHash('sha256')
  let isChecked = false
  const check = (): void => {
    const { head, rows } = scan.facts()
    if (rows > IMPORT_MAX_ROWS) throw refusedList(`must have at most ${IMPORT_MAX_ROWS} rows`)
    if (head === undefined || isChecked) return
    isChecked = true
    if (!head.mayChange) readColumns(format, head, options)
  }
  const pass = (act: () => Uint8Array, done: (error: Error | null, bytes?: Uint8Array) => void): void => {
    try {
      const bytes = act()
      check()
      done(null, bytes)
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)))
    }
  }
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      pass(() => scan.push(chunk), done)
    },
    flush(done) {
      pass(() => scan.end(), done)
    },
  })
  const result = (): UploadSummary => {
    const { head = NO_HEAD, encoding, rows } = scan.facts()
    if (rows < 1) throw refusedList('must have at least one row')
    const isCsv = format === 'csv'
    return {
      ...readColumns(format, head, options),
      delimiter: isCsv ? head.delimiter : null,
      encoding: isCsv ? encoding : null,
      profile: options.profile ?? null,
      consentWords: joinWords(options),
      readBytes: head.readBytes,
      readLines: head.readLines,
      rows,
      digest: hash.digest(),
    }
  }
  return { stream, result }
}

const NO_HEAD: ListHead = { columns: [], delimiter: ',', readBytes: 0, readLines: 0 }

function joinWords({ profile, consentWords = NO_WORDS }: ListOptions): ConsentWords | null {
  const own = profileWords(profile ?? null)
  const words = { yes: [...own.yes, ...consentWords.yes], no: [...own.no, ...consentWords.no] }
  return words.yes.length + words.no.length === 0 ? null : words
}

/** Maps the columns and returns unknown ones. Throws 422 if rows cannot be read. */
function readColumns(
  format: ListFormat,
  head: ListHead,
  { profile }: ListOptions,
): Pick<UploadSummary, 'columns' | 'ignored'> {
  if (format === 'ndjson') return { columns: [], ignored: [] }
  const written = head.columns.map(toColumn)
  const columns = profile === undefined ? written : toTargets(profile, written)
  const unstorable = written.some((column) => column.includes('\0')) ? 'a column has NUL in its name' : undefined
  const { ignored, fault } = readHeader(columns)
  const wrong = head.fault ?? unstorable ?? (fault && `${fault}${hintOf(written, profile)}`)
  if (wrong !== undefined) throw refusedList(`must begin with a line that names its columns: ${wrong}`)
  return { columns, ignored: ignored.map((column) => written[columns.indexOf(column)] ?? column) }
}

/** A profile's own column may match ours by chance, and must then be ignored. */
const toTargets = (profile: ProfileName, written: readonly string[]): string[] =>
  profileTargets(profile, written).map((target, place) => {
    const column = written[place] ?? ''
    return target ?? (isKnownColumn(column) ? `${profile}: ${column}` : column)
  })

function hintOf(columns: readonly string[], profile: ProfileName | undefined): string {
  const found = profile === undefined ? findProfile(columns) : undefined
  return found === undefined ? '' : `; name profile=${found} to read an export of ${PROFILES[found].title}`
}

/** Returns a 422 error; the message continues `The list `. */
export const refusedList = (message: string) =>
  validationError([{ path: '', message } satisfies FieldFault], `The list ${message}`)
