import {
  findConversations,
  findMessages,
  listWamids,
  type MessageKey,
} from '../conversations/conversation-erasure-store.ts'
import { findReactions, type ReactionBatch } from '../conversations/writer-erasure-store.ts'
import type { Db } from '../db/connect.ts'
import { findSuppression } from '../emails/suppression/suppression.ts'
import { readItems } from '../inbound/handling/unhandled/item-erasure-store.ts'
import { addressIdentity } from '../people/consent/consent.ts'
import { type Person, readPerson } from '../people/person-erasure-store.ts'
import { contactNotFound } from '../platform/errors.ts'
import { emailKey, storedKeys } from '../platform/text/email-address.ts'
import {
  type EnvelopePlace,
  FIRST_ENVELOPE,
  findEnvelopesOf,
  findMessageEnvelopes,
  findRecordEnvelopes,
  type NamingEnvelope,
} from '../webhooks/deliveries/erase-envelopes.ts'
import {
  readArchivedContact,
  readConsentRows,
  readConversationRows,
  readDailyLimitRows,
  readDeliveryRows,
  readEmailRows,
  readMessageRows,
  readReactionRows,
  readRefusalRows,
  readScheduledRows,
  readWaitingChanges,
  readWaitingStatuses,
} from './archive-store.ts'
import { listEnvelopePeople, textsOf, toContactSubject, toStatusSubject, toSubject, writersOf } from './subject.ts'

export type ArchiveDeps = {
  db: Db
  mediaAddress(companyId: number, messageId: number): string
}

const ROWS = 200
const READ = 5_000
/** Bodies have up to 4 MiB. */
const READ_BODIES = 100

/** Streams a contact, deleted or not, and all stored data as lines of JSON. Throws 404, also after an erasure. */
export async function archiveContact(
  deps: ArchiveDeps,
  companyId: number,
  id: number,
): Promise<AsyncGenerator<string>> {
  const person = await readPerson(deps.db, companyId, id)
  const contact = await readArchivedContact(deps.db, companyId, id)
  if (person === undefined || contact === undefined) throw contactNotFound()
  return writeArchive({ ...deps, companyId, contactId: id, person, shown: new Set() }, contact)
}

type Archive = ArchiveDeps & {
  companyId: number
  contactId: number
  person: Person
  /** Deliveries of events without a message; some may still belong to one. */
  shown: Set<number>
}
type Lines = AsyncGenerator<string>

const toLine = (type: string, data: string): string => `{"type":"${type}","data":${data}}\n`

async function* writeArchive(archive: Archive, contact: string): Lines {
  const { db, companyId, contactId } = archive
  yield toLine('contact', contact)
  yield* consents(archive)
  yield* envelopes(archive)
  yield* conversations(archive)
  yield* waiting(archive)
  yield* scheduled(archive)
  yield* emails(archive)
  yield* refusals(archive)
  yield* items(archive)
  for (const { row } of await readDailyLimitRows(db, companyId, contactId)) yield toLine('daily_limit', row)
}

/** Reads pages of rows in the order of their ids. */
async function* pagesById<Row extends { id: number }>(read: (after: number) => PromiseLike<Row[]>) {
  for (let after: number | undefined = 0; after !== undefined; ) {
    const rows: Row[] = await read(after)
    yield rows
    after = rows.at(-1)?.id
  }
}

async function* consents({ db, companyId, contactId, person }: Archive): Lines {
  const addresses = person.emailKey === null ? [] : storedKeys(emailKey(person.emailKey)).map(addressIdentity)
  const names = [...person.identities, ...addresses]
  for await (const rows of pagesById((after) => readConsentRows(db, companyId, contactId, names, after, ROWS))) {
    for (const { row } of rows) yield toLine('consent', row)
  }
}

async function* envelopes(archive: Archive): Lines {
  const { db, companyId, contactId, person, shown } = archive
  const people = await listEnvelopePeople(db, companyId, contactId, toSubject(person))
  for (let after: EnvelopePlace | undefined = FIRST_ENVELOPE; after !== undefined; ) {
    const found: NamingEnvelope[] = await findEnvelopesOf(db, companyId, people, after, ROWS)
    for (const { id, row } of await readDeliveryRows(db, companyId, found)) {
      shown.add(id)
      yield toLine('delivery', row)
    }
    after = found.at(-1)
  }
  yield* deliveries(archive, await findRecordEnvelopes(db, companyId, 'contact.changed', [toContactSubject(contactId)]))
}

async function* deliveries({ db, companyId, shown }: Archive, found: readonly NamingEnvelope[]): Lines {
  for (const { id, row } of await readDeliveryRows(db, companyId, found)) {
    if (!shown.has(id)) yield toLine('delivery', row)
  }
}

async function* waiting({ db, companyId, person }: Archive): Lines {
  const { identities } = toSubject(person)
  for (let after: string | null = ''; after !== null; ) {
    const step: ReactionBatch = await findReactions(db, companyId, identities, after, READ)
    for (const { row } of await readReactionRows(db, companyId, step.wamids)) yield toLine('reaction', row)
    after = step.last
  }
  for (const { row } of await readWaitingChanges(db, companyId, identities)) yield toLine('message_change', row)
  for (const { row } of await readWaitingStatuses(db, companyId, identities)) yield toLine('status', row)
}

async function* conversations(archive: Archive): Lines {
  const { db, companyId, contactId, person } = archive
  const writers = writersOf(toSubject(person))
  for (let after: number | null = 0; after !== null; ) {
    const step = await findConversations(db, companyId, contactId, after, READ)
    for (const { id, row } of await readConversationRows(db, companyId, step.own)) {
      yield toLine('conversation', row)
      yield* messages(archive, id)
    }
    for (const id of writers.length > 0 ? step.groups : []) yield* messages(archive, id, writers)
    after = step.last
  }
}

async function* messages(archive: Archive, conversationId: number, writers?: readonly string[]): Lines {
  const { db, companyId } = archive
  for (let after: number | null = 0; after !== null; ) {
    const step = await findMessages(db, companyId, conversationId, writers, after, writers === undefined ? ROWS : READ)
    for (let from = 0; from < step.messages.length; from += ROWS) {
      yield* messageLines(archive, step.messages.slice(from, from + ROWS))
    }
    after = step.last
  }
}

async function* messageLines(archive: Archive, keys: readonly MessageKey[]): Lines {
  const { db, companyId, mediaAddress } = archive
  const ids = keys.map(({ id }) => id)
  for (const { id, row } of await readMessageRows(db, companyId, ids)) {
    yield toLine('message', withMediaUrl(row, mediaAddress(companyId, id)))
  }
  const wamids = await listWamids(db, companyId, keys)
  yield* deliveries(archive, await findMessageEnvelopes(db, companyId, wamids))
  const statuses = ids.map(toStatusSubject)
  yield* deliveries(archive, await findRecordEnvelopes(db, companyId, 'whatsapp.message.status', statuses))
}

function withMediaUrl(row: string, url: string): string {
  const message: { media: object | null } = JSON.parse(row)
  return JSON.stringify({ ...message, media: message.media && { ...message.media, url } })
}

async function* scheduled({ db, companyId, person }: Archive): Lines {
  const { identities } = toSubject(person)
  for await (const rows of pagesById((after) => readScheduledRows(db, companyId, identities, after, ROWS))) {
    for (const { row } of rows) yield toLine('scheduled_message', row)
  }
}

async function* emails(archive: Archive): Lines {
  const { db, companyId, person } = archive
  if (person.emailKey === null) return
  const address = emailKey(person.emailKey)
  for await (const rows of pagesById((after) => readEmailRows(db, companyId, address, after, ROWS))) {
    for (const { row } of rows) yield toLine('email', row)
    const uids = rows.map(({ uid }) => uid)
    yield* deliveries(archive, await findRecordEnvelopes(db, companyId, 'email.status', uids))
  }
  const suppression = await findSuppression(db, companyId, address)
  if (suppression !== undefined) {
    const { reason, detail, createdAt } = suppression
    yield toLine(
      'email_suppression',
      JSON.stringify({ address: person.emailKey, reason, detail, created_at: createdAt }),
    )
  }
}

async function* refusals({ db, companyId, person }: Archive): Lines {
  const texts = textsOf(toSubject(person))
  for (let after = { importId: 0, line: 0 }; ; ) {
    const step = await readRefusalRows(db, companyId, texts, after, READ)
    for (const row of step?.rows ?? []) yield toLine('import_refusal', row)
    if (step === undefined || step.importId === null || step.line === null) return
    after = { importId: step.importId, line: step.line }
  }
}

async function* items({ db, companyId, person }: Archive): Lines {
  const texts = textsOf(toSubject(person))
  for (let after: number | undefined = 0; after !== undefined; ) {
    const step: { rows: string[]; last: number | undefined } = await readItems(db, companyId, texts, after, READ_BODIES)
    for (const row of step.rows) yield toLine('failed_event', row)
    after = step.last
  }
}
