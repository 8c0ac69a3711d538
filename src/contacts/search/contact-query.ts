import { type Static, Type } from 'typebox'
import { type CursorPosition, decodeCursor, isMicroseconds } from '../../http/paging/cursor.ts'
import { type FieldFault, validationError } from '../../platform/errors.ts'
import { textFaults } from '../../platform/text/json-text.ts'
import { indexedText, trigramsOf } from '../../platform/text/search-text.ts'

export const SEARCH_MAX_LENGTH = 200

export type SearchTerm = { readonly text: string; readonly trigrams: readonly string[] }

/** A shorter formatted text may be a date within a name, such as 01.02.24. */
const PHONE_MIN_DIGITS = 7

/**
 * Expands a search text: a formatted phone number also matches by digits, or only by them if its groups have two
 * digits, since the trigram index cannot find those and names do not contain them.
 */
export function searchTerms(search: string): SearchTerm[] {
  const text = indexedText(search)
  if (text === '') return []
  const whole = toTerm(text)
  const digits = /^\+?[0-9\s().-]+$/.test(text) ? text.replace(/[^0-9]/g, '') : ''
  if (digits === '') return [whole]
  if (text.includes(digits)) return [toTerm(digits)]
  const isPhone = whole.trigrams.length === 0 && digits.length >= PHONE_MIN_DIGITS
  return isPhone ? [toTerm(digits)] : [whole, toTerm(digits)]
}

const toTerm = (text: string): SearchTerm => ({ text, trigrams: trigramsOf(text) })

/** Returns whether the trigram index can find all terms; each needs three letters or digits in a row. */
export const isIndexed = (terms: readonly SearchTerm[]): boolean => terms.every(({ trigrams }) => trigrams.length > 0)

export type ContactFilter = {
  readonly status?: string
  readonly tag?: string
  readonly emailConsent?: boolean | null
  readonly whatsappConsent?: boolean | null
  readonly field?: { readonly key: string; readonly value: string }
}

const CONSENTS = { yes: true, no: false, unknown: null } as const
type ConsentWord = keyof typeof CONSENTS

const consent = (channel: string) =>
  Type.Optional(
    // Validated in the handler, which reports all query faults at once.
    Type.Unsafe<string>({
      type: 'string',
      enum: Object.keys(CONSENTS),
      description: `Only contacts with this consent to marketing by ${channel}.`,
      'x-lenient': true,
    }),
  )

export const FILTER_QUERY = {
  status: Type.Optional(Type.String({ description: 'Only contacts with this status.' })),
  tag: Type.Optional(Type.String({ description: 'Only contacts with this tag.' })),
  emailConsent: consent('email'),
  whatsappConsent: consent('WhatsApp'),
  field: Type.Optional(
    Type.String({
      description:
        'Only contacts with this custom field value: key, colon and value, such as `LOYALTY_TIER:gold`. A number, `true` and `false` match as values and as text.',
    }),
  ),
}

const FilterQuery = Type.Object(FILTER_QUERY)

const FILTER_MAX_LENGTH = 200

export function readFilter(query: Static<typeof FilterQuery>): { filter: ContactFilter; faults: FieldFault[] } {
  const { status, tag, emailConsent, whatsappConsent, field } = query
  const texts = Object.entries({ status, tag, field })
  const choices = Object.entries({ emailConsent, whatsappConsent })
  const faults = [
    ...texts.flatMap(([path, text]) => textFaults(text, path)),
    ...texts.flatMap(([path, text]) =>
      text !== undefined && text.length > FILTER_MAX_LENGTH
        ? [{ path, message: `must not have more than ${FILTER_MAX_LENGTH} characters` }]
        : [],
    ),
    ...choices.flatMap(([path, choice]) =>
      choice === undefined || isConsent(choice) ? [] : [{ path, message: 'must be one of yes, no, unknown' }],
    ),
  ]
  const colon = field?.indexOf(':') ?? -1
  if (field !== undefined && colon < 1) faults.push({ path: 'field', message: 'must be a key, a colon and a value' })
  return {
    faults,
    filter: {
      ...(status !== undefined && { status }),
      ...(tag !== undefined && { tag }),
      ...(isConsent(emailConsent) && { emailConsent: CONSENTS[emailConsent] }),
      ...(isConsent(whatsappConsent) && { whatsappConsent: CONSENTS[whatsappConsent] }),
      ...(field !== undefined && { field: { key: field.slice(0, colon), value: field.slice(colon + 1) } }),
    },
  }
}

const isConsent = (word: string | undefined): word is ConsentWord => word !== undefined && word in CONSENTS

/** Returns whether the filter index applies; unknown consents are not indexed. */
export const isFilterIndexed = (filter: ContactFilter): boolean =>
  Object.values(filter).some((value) => value !== null && value !== undefined)

/** Returns the JSON values that match a filter text. */
export function fieldValues(value: string): (string | number | boolean)[] {
  if (value === 'true' || value === 'false') return [value, value === 'true']
  const isNumber = /^-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,10})?$/.test(value)
  return isNumber ? [value, Number(value)] : [value]
}

export type SortColumn = 'created_at' | 'updated_at' | 'email'

/** Microseconds since 1970 or an email sort key; the id breaks ties. */
export type ContactPosition = CursorPosition<number | string>

const VALUE_MAX_LENGTH = 400

/** Decodes a cursor. Throws 422 unless it fits the sort; `path` is the parameter. */
export function parseCursor(text: string, column: SortColumn, path: string): ContactPosition {
  const position = decodeCursor(text, column, column === 'email' ? isEmailPlace : isMicroseconds)
  if (position === undefined)
    throw validationError([{ path, message: `must be a cursor of a list sorted by ${column}` }])
  return position
}

const isEmailPlace = (value: unknown): value is number | string =>
  typeof value === 'string' && value.length <= VALUE_MAX_LENGTH && textFaults(value, '').length === 0
