import { type TSchema, Type } from 'typebox'
import { type FieldFault, validationError } from '../../platform/errors.ts'
import {
  CONSENT_WORD_MAX_LENGTH,
  CONSENT_WORDS_MAX,
  type ConsentWords,
  contradictingWord,
  splitWords,
} from '../../platform/text/lists/consent-columns.ts'
import { DELIMITER_NAMES, type Delimiter, toDelimiter } from '../../platform/text/lists/csv.ts'
import { LIST_ENCODINGS } from '../../platform/text/lists/encoding.ts'
import { LIST_PROFILES } from '../../platform/text/lists/list-profiles.ts'
import type { ListRequest } from './contact-import.ts'

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
