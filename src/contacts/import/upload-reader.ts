import { createHash } from 'node:crypto'
import { Transform } from 'node:stream'
import { type TSchema, Type } from 'typebox'
import { type FieldFault, validationError } from '../../platform/errors.ts'
import {
  CONSENT_WORD_MAX_LENGTH,
  CONSENT_WORDS_MAX,
  type ConsentWords,
  contradictingWord,
  NO_WORDS,
  splitWords,
} from '../../platform/text/lists/consent-columns.ts'
import { DELIMITER_NAMES, type Delimiter, toDelimiter } from '../../platform/text/lists/csv.ts'
import { LIST_ENCODINGS } from '../../platform/text/lists/encoding.ts'
import {
  findProfile,
  LIST_PROFILES,
  PROFILES,
  type ProfileName,
  profileTargets,
  profileWords,
} from '../../platform/text/lists/list-profiles.ts'
import { createListScan, type ListFormat, type ListHead, type NamedStyle } from '../../platform/text/lists/list-scan.ts'
import { isKnownColumn, readHeader, toColumn } from '../write/contact-columns.ts'
import type { TakenList } from './contact-import-store.ts'

const named = (values: readonly string[], description: string) =>
  Type.Optional(Type.Unsafe<string>({ type: 'string', enum: [...values], description }))

export const delimiterQuery = (description: string) => named(DELIMITER_NAMES, description)

const words = (description: string) =>
  Type.Optional(
    Type.String({
      maxLength: (CONSENT_WORD_MAX_LENGTH + 1) * CONSENT_WORDS_MAX,
      description: `${description} Comma-separated, at most ${CONSENT_WORDS_MAX}.`,
    }),
  )

export const LIST_QUERY = {
  delimiter: delimiterQuery('CSV separator; by default detected from a `sep=` line or the first line.'),
  encoding: named(
    LIST_ENCODINGS,
    'CSV encoding; by default detected from a byte order mark or the bytes. A byte order mark decides between the two UTF-16 encodings.',
  ),
  profile: named(LIST_PROFILES, 'Program that exported the CSV: columns are read by its names.'),
  consentYes: words('Words that opt in, besides `yes`, `true`, `1`, `opted in` and `subscribed`.'),
  consentNo: words('Words that opt out, besides `no`, `false`, `0`, `opted out` and `unsubscribed`.'),
} satisfies Record<string, TSchema>

type Named = { readonly [name in keyof typeof LIST_QUERY]?: unknown }

/** Reads the list options. Throws 422 `validation_error`. */
export function readImportRequest(format: ListRequest['format'], query: Named): ListRequest {
  const faults: FieldFault[] = []
  const fail = (path: string, message: string): undefined => {
    faults.push({ path, message })
  }
  const oneOf = <Value extends string>(path: keyof Named, values: readonly Value[]): Value | undefined => {
    const value = query[path]
    if (value === undefined) return undefined
    return values.find((one) => one === value) ?? fail(path, `must be one of ${values.join(', ')}`)
  }
  const request = {
    format,
    delimiter: readDelimiter(query.delimiter, fail),
    encoding: oneOf('encoding', LIST_ENCODINGS),
    profile: oneOf('profile', LIST_PROFILES),
    consentWords: readWords(query, fail),
  }
  const used = (Object.keys(LIST_QUERY) as (keyof Named)[]).filter((name) => query[name] !== undefined)
  if (format === 'ndjson') for (const name of used) fail(name, 'is for CSV only')
  if (faults.length > 0) throw validationError(faults)
  return request
}

type Fail = (path: string, message: string) => undefined

function readDelimiter(value: unknown, fail: Fail): Delimiter | undefined {
  if (value === undefined) return undefined
  const delimiter = typeof value === 'string' ? toDelimiter(value) : undefined
  return delimiter ?? fail('delimiter', 'must be a comma, a semicolon or a tab, by itself or by its word')
}

function readWords({ consentYes, consentNo }: Named, fail: Fail): ConsentWords | undefined {
  const read = (path: string, value: unknown): string[] => {
    if (value === undefined) return []
    const found = typeof value === 'string' ? splitWords(value) : undefined
    const isRight =
      found !== undefined &&
      found.length <= CONSENT_WORDS_MAX &&
      found.every((word) => word.length <= CONSENT_WORD_MAX_LENGTH && word.isWellFormed() && !word.includes('\0'))
    const form = `must be at most ${CONSENT_WORDS_MAX} words of ${CONSENT_WORD_MAX_LENGTH} characters, separated by commas`
    if (!isRight) fail(path, form)
    return isRight ? found : []
  }
  const found = { yes: read('consentYes', consentYes), no: read('consentNo', consentNo) }
  const twice = contradictingWord(found)
  if (twice !== undefined) fail('consentNo', `must not have ${twice}, which opts in`)
  return found.yes.length + found.no.length === 0 ? undefined : found
}

export const IMPORT_MAX_ROWS = 1_000_000

export type ListOptions = NamedStyle & {
  readonly profile?: ProfileName | undefined
  readonly consentWords?: ConsentWords | undefined
}

export type ListRequest = ListOptions & { readonly format: ListFormat }

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
