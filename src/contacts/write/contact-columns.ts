import { isDeepStrictEqual } from 'node:util'
import {
  BODY_NAMES,
  CONTACT_MEMBERS,
  type Contact,
  LIST_COLUMNS,
  type Texts,
  textsOfRecord,
} from '../../people/contact-record.ts'
import { parseId } from '../../platform/ids.ts'
import { hasRoundedInteger, parseJsonText } from '../../platform/text/json-text.ts'
import {
  CONSENT_COLUMNS,
  type ConsentCell,
  createConsentReader,
  mayRepeat,
  NO_WORDS,
  type ReadConsent,
  type RowConsent,
  readRowConsent,
} from '../../platform/text/lists/consent-columns.ts'

/** Cells are text; `json:` marks any other value, or a text starting with `json:`, for lossless round trips. */
const CUSTOM_FIELD = 'custom_fields.'
const JSON_MARK = 'json:'
const TAG_SEPARATOR = ';'

const headOf = (name: string): string => name.split('.')[0] ?? ''

/** Normalizes a header column; a custom field key keeps trailing spaces. */
export function toColumn(text: string): string {
  const name = text.trimStart()
  return /^custom_?fields\./i.test(name) ? name : name.trimEnd()
}

/** `first_name`, `firstName` and `First_Name` are one column; custom field keys stay unchanged. */
function formName(column: string): string {
  const [head = '', ...rest] = column.split('.')
  const name = FORM_HEADS.get(head.toLowerCase()) ?? head
  return [name, ...(name === 'customFields' ? rest : rest.map((part) => part.toLowerCase()))].join('.')
}

const FORM_HEADS = new Map(
  [...LIST_COLUMNS, CUSTOM_FIELD].flatMap((column) => {
    const head = headOf(column)
    const name = BODY_NAMES.get(head) ?? head
    return [
      [head, name],
      [name.toLowerCase(), name],
    ]
  }),
)

const FORM_NAMES = new Set<string>([...LIST_COLUMNS, ...CONSENT_COLUMNS].map(formName))
const CONSENT_FORM_NAMES = new Map(CONSENT_COLUMNS.map((column) => [formName(column), column]))
const isKnown = (name: string): boolean => FORM_NAMES.has(name) || /^customFields\../s.test(name)

export const isKnownColumn = (column: string): boolean => isKnown(formName(column))

export function readHeader(columns: readonly string[]): { ignored: string[]; fault?: string } {
  const names = columns.map((column) => formName(column))
  const ignored = columns.filter((_, place) => !isKnown(names[place] ?? ''))
  const twice = columns.find((_, place) => {
    const name = names[place] ?? ''
    return isKnown(name) && names.indexOf(name) !== place && !mayRepeat(CONSENT_FORM_NAMES.get(name) ?? '')
  })
  if (twice !== undefined) return { ignored, fault: `the column ${twice} is there twice` }
  if (!names.includes('email') && !names.includes('phone')) {
    return { ignored, fault: 'email or phone must be among them' }
  }
  return { ignored }
}

export type RowBody = { readonly body: unknown; readonly id: number | undefined; readonly consent?: RowConsent }

/** Creates a row reader; it returns a reason for invalid JSON cells or unknown consents. */
export function createRowReader(
  columns: readonly string[],
  readConsent: ReadConsent = createConsentReader(NO_WORDS),
): (fields: readonly string[]) => RowBody | { reason: string } {
  const names = columns.map(formName)
  const consentColumns = names.map((name) => CONSENT_FORM_NAMES.get(name))
  const mayBeJson = names.map((name) => name === 'tags' || name.startsWith('customFields.'))
  return (fields) => {
    if (fields.length !== columns.length) {
      return { reason: `has ${fields.length} fields where the header has ${columns.length}` }
    }
    const entries: [string, unknown][] = []
    const consentCells: ConsentCell[] = []
    let id: number | undefined
    for (const [place, name] of names.entries()) {
      const cell = fields[place] ?? ''
      if (cell === '' || !isKnown(name)) continue
      const consentColumn = consentColumns[place]
      const value = mayBeJson[place] ? readCell(cell) : { value: cell }
      if ('fault' in value) return { reason: `${columns[place]} ${value.fault}` }
      if (consentColumn !== undefined) consentCells.push({ column: consentColumn, cell })
      else if (name === 'id') id = parseId(cell)
      else if (name === 'tags') for (const tag of readTags(value.value)) entries.push([name, tag])
      else entries.push([name, value.value])
    }
    if (consentCells.length === 0) return { body: formToWriteBody(entries), id }
    const said = readRowConsent(consentCells, readConsent)
    if ('fault' in said) return { reason: `${said.column} ${said.fault}` }
    for (const [channel, { value }] of Object.entries(said.consent))
      entries.push([`marketingConsent.${channel}`, value])
    return { body: formToWriteBody(entries), id, consent: said.consent }
  }
}

const ROUNDED = 'has an integer beyond ±9007199254740991: write it as a text, so that its digits stay'

function readCell(cell: string): { value: unknown } | { fault: string } {
  if (!cell.startsWith(JSON_MARK)) return { value: cell }
  const text = cell.slice(JSON_MARK.length)
  try {
    const value = parseJsonText(text)
    return hasRoundedInteger(text, value) ? { fault: ROUNDED } : { value }
  } catch {
    return { fault: `begins with ${JSON_MARK} and is not JSON` }
  }
}

/** Mailchimp exports quoted tags with commas. */
const QUOTED_TAGS = /^\s*"[^"]*"(?:\s*,\s*"[^"]*")*\s*$/

function readTags(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  if (typeof value !== 'string') return [value]
  const tags = QUOTED_TAGS.test(value) ? [...value.matchAll(/"([^"]*)"/g)].map(([, tag = '']) => tag) : undefined
  return (tags ?? value.split(TAG_SEPARATOR)).map((tag) => tag.trim()).filter((tag) => tag !== '')
}

export function lineToBody(line: string): RowBody | { reason: string } {
  let value: unknown
  try {
    value = parseJsonText(line)
  } catch {
    return { reason: 'is not JSON' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { reason: 'is not an object' }
  if (hasRoundedInteger(line, value)) return { reason: ROUNDED }
  // Refused-row files contain line and reason.
  const {
    id,
    line: _line,
    reason: _reason,
    ...members
  } = Object.fromEntries(Object.entries(value).map(([name, member]) => [BODY_NAMES.get(name) ?? name, member]))
  return { body: members, id: parseId(String(id)) }
}

export const exportColumns = (customKeys: readonly string[]): string[] => [
  ...LIST_COLUMNS,
  ...customKeys.map((key) => `${CUSTOM_FIELD}${key}`),
]

export function toCells(contact: Contact, customKeys: readonly string[]): string[] {
  const own = new Map(Object.entries(contact.customFields))
  const cells = new Map<string, string>(
    Object.entries(CONTACT_MEMBERS).flatMap(([name, { wire }]) =>
      wire === null ? [] : [[wire, writeMember(name, Reflect.get(contact, name))]],
    ),
  )
  return [
    ...LIST_COLUMNS.map((column) => cells.get(column) ?? ''),
    ...customKeys.map((key) => (own.has(key) ? writeCell(own.get(key)) : '')),
  ]
}

function writeMember(name: string, value: unknown): string {
  if (value === null) return ''
  if (name === 'phone') return `+${value}`
  return Array.isArray(value) ? writeTags(value) : String(value)
}

const writeJson = (value: unknown): string => `${JSON_MARK}${JSON.stringify(value)}`

const writeCell = (value: unknown): string =>
  typeof value === 'string' && value !== '' && !value.startsWith(JSON_MARK) ? value : writeJson(value)

function writeTags(tags: readonly string[]): string {
  const text = tags.join(TAG_SEPARATOR)
  return !text.startsWith(JSON_MARK) && isDeepStrictEqual(readTags(text), [...tags]) ? text : writeJson(tags)
}

/** Builds a JSON line with record names, without absent values. */
export function toLine(contact: Contact): string {
  const { email, phone, emailConsent, whatsappConsent } = contact
  return JSON.stringify({
    id: contact.id,
    ...present({ email, phone: phone === null ? null : `+${phone}`, ...textsOfRecord<Texts>(contact) }),
    tags: contact.tags,
    marketing_consent: present({ email: emailConsent, whatsapp: whatsappConsent }),
    custom_fields: contact.customFields,
  })
}

const present = (members: object) => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))

const OBJECTS = ['customFields', 'marketingConsent'].flatMap((name) => [
  name,
  ...[...BODY_NAMES].flatMap(([recorded, body]) => (body === name ? [recorded] : [])),
])
const isConsent = (name: string): boolean => (BODY_NAMES.get(name) ?? name) === 'marketingConsent'
const FLAGS = new Map<unknown, boolean>([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

/**
 * Converts form fields to a JSON body (decisions: Contacts, form bodies): `customFields.<key>` (everything after the
 * first dot), `marketingConsent.<channel>` as `true`, `false`, `1` or `0`, and repeated `tags`. The last value of other
 * repeated fields counts; an empty email or phone is dropped. The result must still be validated.
 */
export function formToWriteBody(entries: Iterable<readonly [name: string, value: unknown]>): Record<string, unknown> {
  const texts = new Map<string, unknown>()
  const tags: unknown[] = []
  const objects = new Map<string, Map<string, unknown>>()
  for (const [name, value] of entries) {
    const [field, rest] = splitName(name)
    if (name === 'tags') tags.push(value)
    else if (rest === undefined || !OBJECTS.includes(field)) texts.set(name, value)
    else {
      const members = objects.get(field) ?? new Map<string, unknown>()
      objects.set(field, members.set(rest, isConsent(field) ? (FLAGS.get(value) ?? value) : value))
    }
  }
  for (const name of ['email', 'phone']) if (texts.get(name) === '') texts.delete(name)
  return {
    ...Object.fromEntries(texts),
    ...(tags.length > 0 && { tags }),
    ...Object.fromEntries([...objects].map(([name, members]) => [name, Object.fromEntries(members)])),
  }
}

function splitName(name: string): [field: string, rest: string | undefined] {
  const dot = name.indexOf('.')
  return dot === -1 ? [name, undefined] : [name.slice(0, dot), name.slice(dot + 1)]
}
