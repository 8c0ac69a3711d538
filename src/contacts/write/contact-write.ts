import { Compile } from 'typebox/compile'
import type { Db, Pool } from '../../db/connect.ts'
import type { Caller } from '../../http/admission/caller.ts'
import {
  type ContactWrite,
  type RecordClaim,
  TEXT_MEMBERS,
  TEXT_NAMES,
  type Texts,
} from '../../people/contact-record.ts'
import { SMALL_BATCH } from '../../people/matching/identity-lock.ts'
import { findKnownPhones } from '../../people/matching/identity-store.ts'
import { mapInStretches } from '../../platform/clock.ts'
import { badRequest, type FieldFault, validationError } from '../../platform/errors.ts'
import { unknownName } from '../../platform/text/closest-name.ts'
import { isEmail } from '../../platform/text/email-address.ts'
import { memberOf, textFaults } from '../../platform/text/json-text.ts'
import { isBlankPhone, type PhoneCountry, readPhone } from '../../platform/text/phone.ts'
import type { Cipher } from '../../secrets/secrets.ts'
import { ContactWriteShape, RECORD_ONLY } from '../contact-shape.ts'
import { type BrowserRights, readProofs } from './browser-write.ts'
import { customFieldsFault, waitForRows } from './contact-change.ts'
import { UPSERT_MAX_CONTACTS } from './contact-upsert.ts'
import {
  enumClaims,
  type ContactFaults as Faults,
  noFaults,
  readRecord,
  refuseClaims,
  repeatedFaults,
  throwFaults,
  type WriteBody,
} from './record-claims.ts'

export const BROWSER_MAX_CONTACTS = 10

/** Reads contacts and a browser key's rights. Throws like `parseContactUpserts`, `readProofs`, `waitForRows`. */
export async function readUpserts(
  { db, cipher }: { db: Pool; cipher: Pick<Cipher, 'decrypt'> },
  caller: Caller,
  body: unknown,
): Promise<{ writes: ContactWrite[]; browser: BrowserRights[] | undefined }> {
  const { browser } = caller
  const most = browser === undefined ? UPSERT_MAX_CONTACTS : BROWSER_MAX_CONTACTS
  const bodies = Array.isArray(body) ? body.slice(0, most) : [body]
  // Oversized arrays must not wait before the refusal.
  if (bodies.length > SMALL_BATCH && Object(body).length <= most) await waitForRows(db, caller.companyId, bodies.length)
  const writes = await parseContactUpserts(body, await readPhoneRules(db, caller, bodies), most)
  if (browser === undefined) return { writes, browser: undefined }
  // Checking claims would reveal stored values to visitors.
  refuseClaims(writes.flatMap(({ claims = [] }) => claims))
  const { writableFields, identitySecret } = browser
  const secret = identitySecret === null ? null : cipher.decrypt(identitySecret)
  const proofs = readProofs(writes, secret, Array.isArray(body))
  return { writes, browser: proofs.map((proven) => ({ writableFields, proven })) }
}

const FIELDS = ['customFields', 'custom_fields'] as const
const CONSENTS = ContactWriteShape.properties.marketingConsent.properties
const MISSING = 'must have an email or a phone'

const shape = Compile(ContactWriteShape)

/** `upsert` needs an email or phone; a `row` with an id does not; only `update` can remove them with null. */
type WriteKind = 'upsert' | 'row' | 'update'

/**
 * Parses a contact or an array of 1 to `most`, and reports all faults, in arrays by index. Throws 400 if not an object
 * or without email and phone; 422 `validation_error` or `invalid_phone_number` for invalid values.
 */
export async function parseContactUpserts(
  body: unknown,
  phones: PhoneRules,
  most = UPSERT_MAX_CONTACTS,
): Promise<ContactWrite[]> {
  if (!Array.isArray(body)) return [parseContactWrite(body, 'upsert', phones)]
  if (body.length < 1 || body.length > most) {
    const message = `must hold 1 to ${most} contacts`
    throw validationError([{ path: '', message }], `The array ${message}`)
  }
  const faults = noFaults()
  const writes = await mapInStretches(body, (item, index) => parseItem(item, 'upsert', phones, `${index}`, faults))
  throwFaults(faults)
  return writes.filter((write) => write !== undefined)
}

/** Parses one contact, with the errors of `parseContactUpserts`. An `update` may be empty. */
export function parseContactWrite(body: unknown, kind: WriteKind, phones: PhoneRules): ContactWrite {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw badRequest('The body must be an object')
  }
  const faults = noFaults()
  const write = parseItem(body, kind, phones, '', faults)
  throwFaults(faults)
  return write ?? {}
}

/**
 * Parses a list row; returns a reason instead of an error. Read-only members are ignored. A row with an id may lack
 * email and phone, but then matches only a contact without both.
 */
export function readContactRow(
  body: unknown,
  phones: PhoneRules,
  id?: number,
): { write: ContactWrite } | { reason: string } {
  const faults = noFaults()
  const write = parseItem(body, id === undefined ? 'upsert' : 'row', phones, '', faults)
  const { claims = [], ...checked } = write ?? {}
  const wrong = claims.filter(({ member }) => !RECORD_ONLY.some((name) => name === member)).map(({ fault }) => fault)
  const found = [...faults.missing, ...faults.shape, ...faults.email, ...faults.phone, ...wrong]
  if (write !== undefined && found.length === 0) return { write: checked }
  return { reason: found.map(({ path, message }) => `${path} ${message}`.trim()).join('; ') }
}

function parseItem(
  item: unknown,
  kind: WriteKind,
  phones: PhoneRules,
  at: string,
  faults: Faults,
): ContactWrite | undefined {
  const path = (member: string) => pathOf(at, member)
  const found = [...shapeFaults(item, path), ...repeatedFaults(item, path)]
  faults.shape.push(...found)
  if (found.length > 0 || !shape.Check(item)) {
    if (kind === 'upsert' && hasNoIdentity(item)) faults.missing.push({ path: at, message: MISSING })
    readIdentities(toWrite(fittingIdentities(item, path, found), kind), phones, path, faults)
    faults.shape.push(...enumClaims(item, path).map(({ fault: { kind: _, ...fault } }) => fault))
    return undefined
  }
  const { body, claims } = readRecord(item, path)
  const areConsentsRead = kind === 'update' && item.marketing_consent !== undefined
  const write: ContactWrite = { ...toWrite(body, kind), ...(areConsentsRead && { areConsentsRead }) }
  if (kind === 'upsert' && write.email === undefined && write.phone === undefined) {
    faults.missing.push({ path: at, message: MISSING })
  }
  const own: Faults = { ...faults, email: [], phone: [] }
  const read = readIdentities(write, phones, path, own)
  if (kind === 'update') return withClaims(read, [...claims, ...identityClaims(item, own)])
  faults.email.push(...own.email)
  faults.phone.push(...own.phone)
  return withClaims(read, claims)
}

/** A stored email or phone may be invalid by today's rules. */
const identityClaims = (item: unknown, { email, phone }: Faults): RecordClaim[] =>
  [
    ...email.map((fault) => ({ ...fault, kind: 'email' as const })),
    ...phone.map((fault) => ({ ...fault, kind: 'phone' as const })),
  ].map((fault) => ({ member: fault.kind, value: memberOf(item, fault.kind), fault }))

function withClaims({ phone, ...write }: ContactWrite, claims: readonly RecordClaim[]): ContactWrite {
  const isClaimed = (member: string) => claims.some((claim) => claim.member === member)
  const { email, ...others } = write
  return {
    ...(isClaimed('email') ? {} : named('email', email)),
    ...(isClaimed('phone') ? {} : named('phone', phone)),
    ...others,
    ...(claims.length > 0 && { claims }),
  }
}

const pathOf = (at: string, member: string): string => [at, member].filter((part) => part !== '').join('.')

const hasNoIdentity = (item: unknown): boolean =>
  typeof item === 'object' &&
  item !== null &&
  ['email', 'phone'].every((member) => [undefined, null, ''].includes(Reflect.get(item, member)))

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
  // Collecting faults costs many times a plain check.
  const faults = (shape.Check(item) ? [] : [...shape.Errors(item)])
    .filter((fault) => fault.keyword !== 'propertyNames' && fault.keyword !== 'boolean')
    .flatMap((fault) => {
      const at = toDotted(fault.instancePath)
      if (fault.keyword !== 'additionalProperties') return [{ path: path(at), message: fault.message }]
      const known = Object.keys(at === '' ? ContactWriteShape.properties : CONSENTS)
      return fault.params.additionalProperties.map((name) => ({
        path: path(pathOf(at, name)),
        message: unknownName(name, known),
      }))
    })
  if (faults.length > 0 || !shape.Check(item)) return faults
  const texts = Object.keys(ContactWriteShape.properties).flatMap((name) => textFaults(memberOf(item, name), name))
  if (texts.length > 0) return texts.map((fault) => ({ ...fault, path: path(fault.path) }))
  return FIELDS.flatMap((name) => {
    const fields = item[name]
    const message = fields && customFieldsFault(fields)
    return message === undefined ? [] : [{ path: path(name), message }]
  })
}

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
    ...named('emailConsent', consent?.email ?? undefined),
    ...named('whatsappConsent', consent?.whatsapp ?? undefined),
    ...named('identityProof', body.identityProof),
  }
}

/** An empty text removes an optional one. */
const readTexts = (body: WriteBody): Partial<Texts> =>
  Object.fromEntries(
    TEXT_NAMES.flatMap((name) => {
      const value = body[TEXT_MEMBERS[name].body]
      if (value === undefined) return []
      return [[name, value === '' && TEXT_MEMBERS[name].initial === null ? null : value]]
    }),
  )

/** In upserts, null and empty texts match no contact. */
const identityOrNone = (value: string | null | undefined, kind: WriteKind) =>
  kind !== 'update' && (value === null || value === '') ? undefined : value

const named = <K extends string, T>(name: K, value: T | undefined) =>
  (value === undefined ? {} : { [name]: value }) as { [name in K]?: T }

type PhoneRules = {
  readonly country: PhoneCountry | null
  /** Accepted at any length: stored by the provider, or before lengths were checked. */
  readonly known: ReadonlySet<string>
}

type Company = { readonly companyId: number; readonly defaultCountry: PhoneCountry | null }

/** Reads the phone rules for unvalidated bodies. */
export async function readPhoneRules(
  db: Db,
  { companyId, defaultCountry: country }: Company,
  bodies: readonly unknown[],
): Promise<PhoneRules> {
  const impossible = bodies.flatMap((body) => {
    const text = memberOf(body, 'phone')
    const phone = typeof text === 'string' ? readPhone(text, country) : undefined
    return phone === undefined || 'digits' in phone || phone.impossible === null ? [] : [phone.impossible]
  })
  return { country, known: await findKnownPhones(db, companyId, impossible) }
}
