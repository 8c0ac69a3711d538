import { isDeepStrictEqual } from 'node:util'
import { NO_EVENTS, type RecordChange, type RecordEvents } from '../../changes/record-change.ts'
import type { Db, Pool } from '../../db/connect.ts'
import { isAlone, runWithPauses } from '../../db/pool/fair-pool.ts'
import { createFairPace, type FairPace, waitForTurn } from '../../fair/fair-pace.ts'
import type { ConsentStatement } from '../../people/consent/consent-ledger.ts'
import { appendConsents, type NewConsent } from '../../people/consent/consent-store.ts'
import { refreshContacts } from '../../people/consent/shown-consent.ts'
import {
  type ChangedBy,
  type Contact,
  type ContactWrite,
  type CustomFields,
  INITIAL_TEXTS,
  STATE_MEMBERS,
  type TextName,
  type Texts,
  textsIn,
} from '../../people/contact-record.ts'
import {
  type ContactRow,
  type ContactState,
  insertContacts,
  releaseEmails,
  toContactRow,
  updateContacts,
} from '../../people/contact-store.ts'
import { emailKeyOf } from '../../people/person-contact.ts'
import { overloaded } from '../../platform/errors.ts'
import { phoneIdentity } from '../../platform/text/phone.ts'

export const CUSTOM_FIELDS_MAX_KEYS = 200
export const CUSTOM_FIELDS_MAX_BYTES = 64 * 1024

const BLANK = {
  email: null,
  phone: null,
  phoneIdentity: null,
  customFields: {},
  tags: [],
  emailConsent: null,
  whatsappConsent: null,
} satisfies Omit<ContactState, 'id' | TextName>

export function applyWrite(id: number, existing: ContactState | undefined, write: ContactWrite): ContactState {
  const before = existing ?? BLANK
  const phone = carried(write.phone, before.phone)
  return {
    id,
    email: carried(write.email, before.email),
    phone,
    phoneIdentity: phone === before.phone ? before.phoneIdentity : phone === null ? null : phoneIdentity(phone),
    ...textsIn<Texts>(existing ?? INITIAL_TEXTS),
    ...textsIn(write),
    customFields: mergeCustomFields(before.customFields, write.customFields),
    tags: write.tags ?? before.tags,
    emailConsent: write.emailConsent ?? before.emailConsent,
    whatsappConsent: write.whatsappConsent ?? before.whatsappConsent,
  }
}

const carried = <T>(value: T | undefined, existing: T): T => (value === undefined ? existing : value)

/** Null removes a key. A Map is safe for keys like `__proto__`. */
function mergeCustomFields(existing: CustomFields, changes: CustomFields | undefined): CustomFields {
  if (changes === undefined) return existing
  const merged = new Map([...Object.entries(existing), ...Object.entries(changes)])
  return Object.fromEntries([...merged].filter(([, value]) => value !== null))
}

export function customFieldsFault(fields: CustomFields): string | undefined {
  if (Object.keys(fields).length > CUSTOM_FIELDS_MAX_KEYS) {
    return `must not have more than ${CUSTOM_FIELDS_MAX_KEYS} keys in all`
  }
  const bytes = Buffer.byteLength(JSON.stringify(fields))
  if (bytes > CUSTOM_FIELDS_MAX_BYTES) return `must not be larger than ${CUSTOM_FIELDS_MAX_BYTES} bytes in all`
  return undefined
}

type Change = { readonly existing: Contact | undefined; readonly state: ContactState }

export type ContactChanges = {
  readonly contacts: readonly Change[]
  readonly consentStatements: readonly ConsentStatement[]
  /** Other contacts sharing a number or customer, whose consent may change. */
  readonly others: readonly number[]
}

export const isSame = (
  before: ContactState,
  after: ContactState,
  members: readonly Member[] = STATE_MEMBERS,
): boolean => members.every((member) => isDeepStrictEqual(before[member], after[member]))

const CONSENTS = ['emailConsent', 'whatsappConsent'] as const
const OWN_MEMBERS = STATE_MEMBERS.filter((member) => !CONSENTS.some((consent) => consent === member))
type Member = (typeof STATE_MEMBERS)[number]

function toRecordChanges(companyId: number, { existing, state }: Change, hasStatement: boolean): RecordChange[] {
  const event = { event: 'contact.changed', companyId, id: state.id } as const
  if (existing === undefined) return [{ ...event, change: 'created' }]
  return [
    ...(isSame(existing, state, OWN_MEMBERS) ? [] : [{ ...event, change: 'updated' } as const]),
    ...(hasStatement || !isSame(existing, state, CONSENTS) ? [{ ...event, change: 'consent' } as const] : []),
  ]
}

export const rowsOf = (changes: readonly Change[]): ContactRow[] => changes.map(({ state }) => toContactRow(state))

type WriteOptions = {
  addedRows?: readonly ContactRow[] | undefined
  commit?: (() => Promise<unknown>) | undefined
  events?: RecordEvents | undefined
}

/** Writes changes of distinct contacts. The caller must hold the locks. */
export async function writeChanges(
  tx: Db,
  companyId: number,
  { contacts, consentStatements, others }: ContactChanges,
  by: ChangedBy,
  { addedRows, commit, events = NO_EVENTS }: WriteOptions = {},
): Promise<Contact[]> {
  const [added, updated] = [contacts.filter(({ existing }) => !existing), contacts.filter(({ existing }) => existing)]
  // Events read the written rows, in the same transaction.
  const isReported = events.isSubscribed('contact.changed', [companyId])
  const isLast = others.length === 0 && !isReported
  const most = rowsAtOnce(companyId)
  const { writes, writtenAt } = writesOf(tx, companyId, { updated, added, addedRows, most })
  const isLarge = contacts.length > most
  if (isLarge) await runWithPauses(companyId, writes)
  // Pipelined; the server runs them in this order.
  await Promise.all([
    ...(isLarge ? [] : writes.map((write) => write())),
    consentStatements.length > 0 &&
      appendConsents(
        tx,
        consentStatements.map((one) => toEntry(companyId, one, by)),
      ),
    isLast && commit?.(),
  ])
  if (!isLast) {
    const refreshed =
      others.length === 0
        ? []
        : await refreshContacts(
            tx,
            others.map((contactId) => ({ companyId, contactId })),
            { waits: false },
          )
    const withStatement = new Set(
      consentStatements.flatMap(({ contactId, repeats }) => (repeats === null ? [contactId] : [])),
    )
    const changes = [
      ...contacts.flatMap((change) => toRecordChanges(companyId, change, withStatement.has(change.state.id))),
      ...refreshed.map(
        ({ contactId: id }) => ({ event: 'contact.changed', companyId, id, change: 'consent' }) as const,
      ),
    ]
    await events.publish(tx, changes, isLarge ? runWithPauses : undefined)
    await commit?.()
  }
  return contacts.flatMap(({ existing, state }) => {
    const at = writtenAt.get(state.id)
    if (at === undefined) return []
    const { externalConnectionId, createdAt = at } = existing ?? NEW_CONTACT
    return [{ ...state, externalConnectionId, createdAt, updatedAt: at }]
  })
}

type RowWrites = {
  readonly updated: readonly Change[]
  readonly added: readonly Change[]
  readonly addedRows: readonly ContactRow[] | undefined
  readonly most: number
}

function writesOf(tx: Db, companyId: number, { updated, added, addedRows, most }: RowWrites) {
  const writtenAt = new Map<number, Date | undefined>()
  const changed = changedEmails(updated)
  const toWrites = (changes: readonly Change[], write: typeof insertContacts, rows?: readonly ContactRow[]) =>
    partsOf(changes, most).map((part, place) => async () => {
      const at = await write(tx, companyId, rows?.slice(place * most, (place + 1) * most) ?? rowsOf(part))
      for (const { state } of part) writtenAt.set(state.id, at)
    })
  const writes = [
    ...(changed.length > 0 ? [() => releaseEmails(tx, companyId, changed)] : []),
    ...toWrites(updated, updateContacts),
    ...toWrites(added, insertContacts, addedRows),
  ]
  return { writes, writtenAt }
}

const partsOf = (changes: readonly Change[], most: number): Change[][] =>
  Array.from({ length: Math.ceil(changes.length / most) }, (_, part) => changes.slice(part * most, (part + 1) * most))

const toEntry = (
  companyId: number,
  { channel, identity, contactId, value, repeats, evidence: { saidAt, ip } }: ConsentStatement,
  by: ChangedBy,
): NewConsent => ({
  ...{ companyId, channel, identity, contactId, value, repeats, saidAt, ip, ...by },
  // Makes repeated imports idempotent, even after later entries.
  eventId: saidAt === null ? null : `${by.source}:${contactId}:${value}:${saidAt.toISOString()}`,
})

const idsOf = (changes: readonly Change[]): number[] => changes.map(({ state }) => state.id)

/** Emails to release first, since the unique index checks row by row; inserts follow all updates. */
function changedEmails(updated: readonly Change[]): number[] {
  const takers = new Map(updated.map(({ state }) => [emailKeyOf(state), state.id]))
  return idsOf(
    updated.filter(({ existing, state }) => {
      const key = existing === undefined ? null : emailKeyOf(existing)
      return key !== null && (takers.get(key) ?? state.id) !== state.id
    }),
  )
}

const NEW_CONTACT = { createdAt: undefined, externalConnectionId: null }

/**
 * Rows per turn, statement and import transaction while several companies are active. With turns of 250, eight imports
 * raised the 99th percentile of others' requests to 30 ms instead of 16.
 */
export const ROWS_PER_TURN = 50
/** The same, for a company working alone. */
export const ROWS_ALONE = 250
/** Rows per second in a process, while several companies are active. */
export const ROWS_PER_SECOND = 1_500
export const ARRAYS_WAITING_MAX = 100
export const ARRAY_WAIT_MS = 20_000
const RETRY_AFTER_SECONDS = 5

const paces = new WeakMap<Pool, FairPace<number>>()

type Wait = {
  /** Without a signal, waits 20 s, then throws 503. */
  signal?: AbortSignal
}

/**
 * Waits for a turn at a pace shared by all companies' arrays and imports; a company working alone never waits. Throws
 * 503 with `Retry-After` after too long a wait or with too many waiting arrays.
 */
export async function waitForRows(pool: Pool, companyId: number, rows: number, { signal }: Wait = {}): Promise<void> {
  const until = signal ?? AbortSignal.timeout(ARRAY_WAIT_MS)
  const pace = paceOf(pool)
  if (signal === undefined && pace.waitingOf(companyId) >= ARRAYS_WAITING_MAX) throw overloaded(RETRY_AFTER_SECONDS)
  for (let left = rows; left > 0; left -= ROWS_PER_TURN) {
    if (isAlone(companyId)) return
    const isInTime = await waitForTurn(pace, { owner: companyId, cost: Math.min(left, ROWS_PER_TURN) }, until)
    signal?.throwIfAborted()
    if (!isInTime) throw overloaded(RETRY_AFTER_SECONDS)
  }
}

export const rowsAtOnce = (companyId: number): number => (isAlone(companyId) ? ROWS_ALONE : ROWS_PER_TURN)

function paceOf(pool: Pool): FairPace<number> {
  const pace = paces.get(pool) ?? createFairPace<number>({ perSecond: ROWS_PER_SECOND, burst: ROWS_PER_TURN })
  paces.set(pool, pace)
  return pace
}
