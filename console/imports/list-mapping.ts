import type { CustomField } from '../../client/src/generated/schemas.ts'
import type { ReadConsent } from '../../src/platform/text/lists/consent-columns.ts'
import { CONSENT_COLUMNS, mayRepeat, readRowConsent } from '../../src/platform/text/lists/consent-columns.ts'
import { findProfile, profileTargets } from '../../src/platform/text/lists/list-profiles.ts'
import type { ListFormat } from '../../src/platform/text/lists/list-scan.ts'
import { CONTACT_TEXTS } from '../generated/lists.ts'
import { labelOf } from '../texts/format.ts'
import { importText } from '../texts/imports.ts'
import type { ListRow } from './list-lines.ts'
import type { Phones } from './phone-reading.ts'

export const CUSTOM = 'custom_fields.'

/** Other names by which files call texts of a contact. */
const OTHER_NAMES = new Map<string, readonly string[]>([
  ['email', ['mail', 'emailaddress', 'address']],
  ['phone', ['phonenumber', 'mobile', 'mobilephone', 'telephone', 'tel', 'whatsapp', 'number', 'cell']],
  ['first_name', ['first', 'givenname', 'name', 'nome']],
  ['last_name', ['last', 'surname', 'familyname', 'cognome']],
  ['status', ['state']],
  ['source', ['origin']],
])

/** The columns that the service knows, with their other names. */
const KNOWN: Record<string, readonly string[]> = {
  id: ['contactid'],
  ...Object.fromEntries(CONTACT_TEXTS.map(({ name }) => [name, OTHER_NAMES.get(name) ?? []])),
  tags: ['tag', 'labels', 'label', 'groups'],
}
/** Columns of a CSV. */
const CONSENT: Record<string, readonly string[]> = {
  ...Object.fromEntries(CONSENT_COLUMNS.map((name) => [name, []])),
  'marketing_consent.email': ['marketingconsentemail', 'emailconsent', 'newsletter'],
  'marketing_consent.whatsapp': ['marketingconsentwhatsapp', 'whatsappconsent'],
}
/** Members of lines that hold others. */
const WHOLE: Record<string, readonly string[]> = {
  custom_fields: ['customfields'],
  marketing_consent: ['marketingconsent'],
}

const plain = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

/** Where a column can go: null leaves it out. */
export function choicesOf(format: ListFormat, column: string, fields: readonly CustomField[]) {
  const names = Object.keys({ ...KNOWN, ...(format === 'ndjson' ? WHOLE : CONSENT) })
  const own = `${CUSTOM}${column}`
  const defined = fields.map(({ key, displayName }) => ({
    value: `${CUSTOM}${key}`,
    label: importText.field(displayName),
  }))
  const isDefined = defined.some(({ value }) => value === own)
  return [
    { value: '', label: importText.leaveOut },
    ...names.map((name) => ({ value: name, label: importText.targets.get(name) ?? labelOf(name) })),
    ...defined,
    ...(isDefined || column === '' ? [] : [{ value: own, label: importText.newField(column) }]),
  ]
}

/** The targets that the names of the columns suggest, each at most once. */
export function guessTargets(
  format: ListFormat,
  columns: readonly string[],
  fields: readonly CustomField[],
): (string | null)[] {
  const profile = format === 'csv' ? findProfile(columns) : undefined
  if (profile !== undefined) return profileTargets(profile, columns)
  const targets = Object.entries({ ...KNOWN, ...(format === 'ndjson' ? WHOLE : CONSENT) })
  const taken = new Set<string>()
  return columns.map((column) => {
    const name = plain(column)
    const own = targets.find(([target, names]) => plain(target) === name || names.includes(name))?.[0]
    const field = fields.find(({ key, displayName }) =>
      [plain(key), plain(displayName), plain(CUSTOM + key)].includes(name),
    )
    const isNamed = column.startsWith(CUSTOM) && column.length > CUSTOM.length
    const target = own ?? (field ? `${CUSTOM}${field.key}` : isNamed ? column : null)
    if (target === null || taken.has(target)) return null
    taken.add(target)
    return target
  })
}

/** Why a mapping cannot be imported; undefined: it can. */
export function mappingFault(targets: readonly (string | null)[]): string | undefined {
  const chosen = targets.filter((target) => target !== null)
  if (!chosen.includes('email') && !chosen.includes('phone') && !chosen.includes('id'))
    return importText.faults.noIdentity
  const twice = chosen.find((target, place) => chosen.indexOf(target) !== place && !mayRepeat(target))
  return twice === undefined ? undefined : importText.faults.twice(importText.targets.get(twice) ?? labelOf(twice))
}

const EMAIL = /^[^\s@,;<>"]+@[^\s@,;<>"]+\.[^\s@.,;<>"]+$/

/** The reason for which the service would refuse a row, as far as the page knows; undefined: none. */
export function rowFault(
  { cells, fault }: ListRow,
  targets: readonly (string | null)[],
  phones: Phones,
  readConsent: ReadConsent,
): string | undefined {
  const { faults } = importText
  if (fault !== undefined) return faults[fault]
  const textOf = (target: string) => {
    const value = cells[targets.indexOf(target)]
    return value === undefined || value === null ? '' : String(value).trim()
  }
  const email = targets.includes('email') ? textOf('email') : ''
  const phone = targets.includes('phone') ? textOf('phone') : ''
  const id = targets.includes('id') ? textOf('id') : ''
  if (email === '' && phones.isBlank(phone) && id === '') return faults.noAddress
  if (email !== '' && !EMAIL.test(email)) return faults.email
  if (!phones.isBlank(phone) && 'fault' in phones.read(phone, phones.country)) return faults.phone
  const consents = targets.flatMap((column, place) =>
    column !== null && column in CONSENT ? [{ column, cell: String(cells[place] ?? '') }] : [],
  )
  return 'fault' in readRowConsent(consents, readConsent) ? faults.consent : undefined
}
