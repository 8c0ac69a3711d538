import { type Static, type TOptional, type TUnsafe, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { badRequest, type FieldFault, invalidPhoneNumber, validationError } from '../../errors.ts'
import { EMAIL_MAX_LENGTH, isEmail } from '../../text/email-address.ts'
import { memberOf } from '../../text/own-member.ts'
import { isBlankPhone, readPhone } from '../../text/phone-reading.ts'
import { textFaults } from '../../text/storable-text.ts'
import type { ContactWrite } from '../members/contact-record.ts'
import { type NamedAs, TEXT_MEMBERS, TEXT_NAMES, type Texts } from '../members/text-members.ts'
import { CUSTOM_FIELDS_MAX_BYTES, CUSTOM_FIELDS_MAX_KEYS, customFieldsFault } from './contact-change.ts'
import { UPSERT_MAX_CONTACTS } from './contact-upsert.ts'
import type { PhoneRules } from './phone-rules.ts'

const nullable = (maxLength: number, description: string) =>
  Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength, description }))

const TEXT_SHAPES = Object.fromEntries(
  Object.values(TEXT_MEMBERS).map(({ body, initial, rule }) => [
    body,
    Type.Optional(
      Type.Unsafe({
        type: initial === null ? ['string', 'null'] : 'string',
        ...rule,
        description: initial === null ? 'Null and the empty text remove it.' : `A new contact has \`${initial}\`.`,
      }),
    ),
  ]),
) as NamedAs<'body', { [Name in keyof Texts]: TOptional<TUnsafe<Texts[Name]>> }>

/** The contact write body (spec: Contact write body), alike in every encoding. Members it does not name are ignored. */
export const ContactWriteShape = Type.Object(
  {
    email: nullable(EMAIL_MAX_LENGTH, 'One address, compared without regard to case. In an update, null removes it.'),
    phone: nullable(
      64,
      'The number with country code, with or without +; spaces, dashes, dots, slashes and parentheses are dropped. Without + and 00 it is first read as a national number of `defaultCountry` of the company. Its length must exist in its country. In an update, null removes it.',
    ),
    ...TEXT_SHAPES,
    tags: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
        maxItems: 100,
        description: 'The tags, which replace all that the contact has.',
      }),
    ),
    customFields: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        propertyNames: { minLength: 1, maxLength: 100 },
        description: `Any JSON values by key, merged into those of the contact; null removes a key. A contact has at most ${CUSTOM_FIELDS_MAX_KEYS} keys and ${CUSTOM_FIELDS_MAX_BYTES} bytes.`,
      }),
    ),
    marketingConsent: Type.Optional(
      Type.Object(
        { email: Type.Optional(Type.Boolean()), whatsapp: Type.Optional(Type.Boolean()) },
        { description: 'True opts in and false opts out; a channel that is left out keeps its consent.' },
      ),
    ),
    identityProof: Type.Optional(
      Type.String({
        pattern: '^[0-9a-fA-F]{64}$',
        description:
          'For keys that hold `ContactsUpsert` alone: the HMAC-SHA256 in hex of the email in lower case, or of the digits of the phone, with the identity secret of the key. It lets the write change email and phone of this contact and end its opt-outs.',
      }),
    ),
  },
  {
    title: 'ContactWrite',
    description: 'A contact to write. Members that are left out keep their values.',
    example: {
      email: 'ada.rossi@example.com',
      phone: '+393331234567',
      firstName: 'Ada',
      lastName: 'Rossi',
      tags: ['newsletter'],
      customFields: { LOYALTY_TIER: 'gold' },
      marketingConsent: { email: true },
    },
  },
)

type WriteBody = Static<typeof ContactWriteShape>

const MISSING = 'must have an email or a phone'

const shape = Compile(ContactWriteShape)

/**
 * The operation of a body: `upsert` needs an email or a phone and takes no null there, nor does the `row` of a list that names
 * its contact by id; `update` removes them by null.
 */
export type WriteKind = 'upsert' | 'row' | 'update'

type Faults = { missing: FieldFault[]; shape: FieldFault[]; email: FieldFault[]; phone: FieldFault[] }

/**
 * Untrusted body → what is to be written: one contact, or an array of 1 to `most`. All faults at once, an item's named
 * by its index. 400 when the body is no object or has neither email nor phone, 422 `validation_error` or
 * `invalid_phone_number` when a value is not allowed.
 */
export function parseContactUpserts(body: unknown, phones: PhoneRules, most = UPSERT_MAX_CONTACTS): ContactWrite[] {
  if (!Array.isArray(body)) return [parseContactWrite(body, 'upsert', phones)]
  if (body.length < 1 || body.length > most) {
    const message = `must hold 1 to ${most} contacts`
    throw validationError([{ path: '', message }], `The array ${message}`)
  }
  const faults: Faults = { missing: [], shape: [], email: [], phone: [] }
  const writes = body.map((item, index) => parseItem(item, 'upsert', phones, `${index}`, faults))
  throwFaults(faults)
  return writes.filter((write) => write !== undefined)
}

/** Reads the body of a write of one contact, with the errors of `parseContactUpserts`. An `update` may be empty. */
export function parseContactWrite(body: unknown, kind: WriteKind, phones: PhoneRules): ContactWrite {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw badRequest('The body must be an object')
  }
  const faults: Faults = { missing: [], shape: [], email: [], phone: [] }
  const write = parseItem(body, kind, phones, '', faults)
  throwFaults(faults)
  return write ?? {}
}

/**
 * A row of a list, as `parseContactUpserts`, but refused with its reason instead of an error. A row that names its contact by
 * id may have neither email nor phone: the contact has neither then.
 */
export function readContactRow(
  body: unknown,
  phones: PhoneRules,
  id?: number,
): { write: ContactWrite } | { reason: string } {
  const faults: Faults = { missing: [], shape: [], email: [], phone: [] }
  const write = parseItem(body, id === undefined ? 'upsert' : 'row', phones, '', faults)
  const found = [...faults.missing, ...faults.shape, ...faults.email, ...faults.phone]
  if (write !== undefined && found.length === 0) return { write }
  return { reason: found.map(({ path, message }) => `${path} ${message}`.trim()).join('; ') }
}

function throwFaults(faults: Faults): void {
  const values = [...faults.shape, ...faults.email, ...faults.phone]
  if (faults.missing.length > 0) {
    throw badRequest('A contact needs an email or a phone', [...faults.missing, ...values])
  }
  if (faults.email.length > 0) throw validationError(values, 'Invalid email format')
  if (faults.shape.length > 0) throw validationError(values)
  if (faults.phone.length > 0) throw invalidPhoneNumber(...faults.phone)
}

function parseItem(
  item: unknown,
  kind: WriteKind,
  phones: PhoneRules,
  at: string,
  faults: Faults,
): ContactWrite | undefined {
  const path = (member: string) => [at, member].filter((part) => part !== '').join('.')
  const found = shapeFaults(item, path)
  faults.shape.push(...found)
  if (found.length > 0 || !shape.Check(item)) {
    if (kind === 'upsert' && hasNoIdentity(item)) faults.missing.push({ path: at, message: MISSING })
    readIdentities(toWrite(fittingIdentities(item, path, found), kind), phones, path, faults)
    return undefined
  }
  const write = toWrite(item, kind)
  if (kind === 'upsert' && write.email === undefined && write.phone === undefined) {
    faults.missing.push({ path: at, message: MISSING })
  }
  return readIdentities(write, phones, path, faults)
}

const hasNoIdentity = (item: unknown): boolean =>
  typeof item === 'object' &&
  item !== null &&
  ['email', 'phone'].every((member) => [undefined, null, ''].includes(Reflect.get(item, member)))

/** Email and phone of an item whose other members are at fault, as far as they are texts. */
function fittingIdentities(item: unknown, path: (member: string) => string, found: readonly FieldFault[]): WriteBody {
  const textOf = (member: 'email' | 'phone') => {
    const value: unknown = typeof item === 'object' && item !== null ? Reflect.get(item, member) : undefined
    return typeof value === 'string' && !found.some((fault) => fault.path === path(member)) ? value : undefined
  }
  return { ...named('email', textOf('email')), ...named('phone', textOf('phone')) }
}

function readIdentities(
  write: ContactWrite,
  phones: PhoneRules,
  path: (member: string) => string,
  faults: Faults,
): ContactWrite {
  if (typeof write.email === 'string' && !isEmail(write.email)) {
    faults.email.push({ path: path('email'), message: 'must be one address such as ada@example.com' })
  }
  if (typeof write.phone !== 'string') return write
  const phone = readPhone(write.phone, phones.country)
  if ('digits' in phone) return { ...write, phone: phone.digits }
  if (phone.impossible !== null && phones.known.has(phone.impossible)) return { ...write, phone: phone.impossible }
  faults.phone.push({ path: path('phone'), message: phone.fault })
  return write
}

function shapeFaults(item: unknown, path: (member: string) => string): FieldFault[] {
  // Looking for all faults costs many times what finding that there is none does.
  const faults = (shape.Check(item) ? [] : [...shape.Errors(item)])
    .filter((fault) => fault.keyword !== 'propertyNames')
    .map((fault) => ({ path: path(toDotted(fault.instancePath)), message: fault.message }))
  if (faults.length > 0 || !shape.Check(item)) return faults
  const texts = Object.keys(ContactWriteShape.properties).flatMap((name) => textFaults(memberOf(item, name), name))
  if (texts.length > 0) return texts.map((fault) => ({ ...fault, path: path(fault.path) }))
  const whole = item.customFields && customFieldsFault(item.customFields)
  return whole === undefined ? [] : [{ path: path('customFields'), message: whole }]
}

/** A JSON pointer as a path with dots. */
const toDotted = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')

function toWrite(body: WriteBody, kind: WriteKind): ContactWrite {
  const { marketingConsent: consent } = body
  return {
    ...named('email', identityOrNone(body.email, kind)),
    ...named('phone', identityOrNone(body.phone && isBlankPhone(body.phone) ? '' : body.phone, kind)),
    ...readTexts(body),
    ...named('customFields', body.customFields),
    ...named('tags', body.tags),
    ...named('emailConsent', consent?.email),
    ...named('whatsappConsent', consent?.whatsapp),
    ...named('identityProof', body.identityProof),
  }
}

/** The empty text removes a text that a contact need not have. */
const readTexts = (body: WriteBody): Partial<Texts> =>
  Object.fromEntries(
    TEXT_NAMES.flatMap((name) => {
      const value = body[TEXT_MEMBERS[name].body]
      if (value === undefined) return []
      return [[name, value === '' && TEXT_MEMBERS[name].initial === null ? null : value]]
    }),
  )

/** The email and phone that an upsert matches by. Null and the empty text match no contact. */
const identityOrNone = (value: string | null | undefined, kind: WriteKind) =>
  kind !== 'update' && (value === null || value === '') ? undefined : value

const named = <K extends string, T>(name: K, value: T | undefined) =>
  (value === undefined ? {} : { [name]: value }) as { [name in K]?: T }
