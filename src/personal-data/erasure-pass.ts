import type { RecordEventName } from '../changes/record-change.ts'
import { eraseRefusals, type RefusalPlace } from '../contacts/import/import-expiry-store.ts'
import {
  eraseMessages,
  findConversations,
  findMessages,
  listWamids,
  type MessageKey,
} from '../conversations/conversation-erasure-store.ts'
import {
  deleteChanges,
  deleteReactions,
  eraseWaitingStatuses,
  findChanges,
  findReactions,
} from '../conversations/writer-erasure-store.ts'
import type { Pool } from '../db/connect.ts'
import { deleteEmails, findEmailsTo } from '../emails/email-removal-store.ts'
import { eraseSuppression } from '../emails/suppression/suppression.ts'
import { eraseAnswers } from '../http/idempotency/idempotency-store.ts'
import { eraseBodies, eraseItems } from '../inbound/handling/unhandled/item-erasure-store.ts'
import { type RemoveDeps, removeDiscarded } from '../media/discarded/discarded-file-store.ts'
import { markErased } from '../media/media-store.ts'
import { expireUploads } from '../media/uploads/upload-store.ts'
import { addressIdentity } from '../people/consent/consent.ts'
import { keepErasedKeys } from '../people/customer-store.ts'
import { detachCustomerOf, eraseConsents } from '../people/person-erasure-store.ts'
import { eraseDailyLimitEntries } from '../sends/batch/daily-limit-store.ts'
import { eraseScheduled } from '../sends/scheduled/scheduled-store.ts'
import {
  eraseEnvelopes,
  FIRST_ENVELOPE,
  findEnvelopesOf,
  findMessageEnvelopes,
  findRecordEnvelopes,
} from '../webhooks/deliveries/erase-envelopes.ts'
import { MESSAGE_RECEIVED } from '../webhooks/events/message-received.ts'
import { listEnvelopePeople, type Subject, textsOf, toContactSubject, toStatusSubject, writersOf } from './subject.ts'

export type PassDeps = Pick<RemoveDeps, 'blobStore'> & {
  db: Pool
  onFailure(error: unknown): void
  endEmailJobs(companyId: number, emailIds: readonly number[]): Promise<void>
}

type Pass = PassDeps & { companyId: number; contactId: number; subject: Subject }

const WRITE = 200
const READ = 5_000
/** Bodies have up to 4 MiB. */
const READ_BODIES = 100

/** Answers a repeated request whose first answer was erased. The key stays in use. */
const ERASED_ANSWER = {
  status: 422,
  text: JSON.stringify({
    error: {
      code: 'idempotency_key_reused',
      message: 'The answer under this Idempotency-Key was erased with its contact',
    },
  }),
}

/** Erases data outside the contact. Can be killed and repeated. Returns false when aborted. */
export async function runPass(
  deps: PassDeps,
  companyId: number,
  contactId: number,
  subject: Subject,
  signal: AbortSignal,
): Promise<boolean> {
  const pass: Pass = { ...deps, companyId, contactId, subject }
  for (const erase of [
    scheduled,
    envelopes,
    conversations,
    contactEvents,
    emails,
    consents,
    changes,
    reactions,
    statuses,
    refusals,
    items,
    bodies,
    answers,
  ]) {
    for await (const _ of erase(pass)) if (signal.aborted) return false
  }
  await eraseDailyLimitEntries(deps.db, companyId, contactId)
  // Unreferenced files: the queue keeps what can't be deleted now.
  await removeDiscarded(deps, signal, companyId).catch(deps.onFailure)
  return !signal.aborted
}

type Step = AsyncGenerator<void>

/** Repeats while `erase` finds a whole batch. */
async function* inFullBatches(erase: () => Promise<number>): Step {
  for (let count = WRITE; count === WRITE; yield) count = await erase()
}

/** Repeats until there is no place to continue. */
async function* walk<Place>(first: Place, erase: (after: Place) => Promise<Place | null | undefined>): Step {
  for (let after: Place | null | undefined = first; after != null; yield) after = await erase(after)
}

/** Must run first, so that no scheduled message is sent during erasure. */
const scheduled = ({ db, companyId, subject }: Pass): Step =>
  inFullBatches(() => eraseScheduled(db, companyId, subject.identities, WRITE))

async function* envelopes({ db, companyId, contactId, subject }: Pass): Step {
  const people = await listEnvelopePeople(db, companyId, contactId, subject)
  yield* inFullBatches(async () => {
    const found = await findEnvelopesOf(db, companyId, people, FIRST_ENVELOPE, WRITE)
    const wamids = found.filter(({ event }) => event === MESSAGE_RECEIVED).map(({ eventId }) => eventId)
    await keepErasedKeys(db, companyId, wamids)
    await eraseEnvelopes(db, companyId, found)
    return found.length
  })
}

async function* conversations(pass: Pass): Step {
  const { db, companyId, contactId, subject } = pass
  for (let after: number | null = 0; after !== null; ) {
    const step = await findConversations(db, companyId, contactId, after, READ)
    for (const id of step.own) {
      await db.begin((tx) => detachCustomerOf(tx, companyId, contactId, id))
      yield* messages(pass, id)
    }
    const writers = writersOf(subject)
    for (const id of writers.length > 0 ? step.groups : []) yield* messages(pass, id, writers)
    after = step.last
    yield
  }
}

async function* messages(pass: Pass, conversationId: number, writers?: readonly string[]): Step {
  const limit = writers === undefined ? WRITE : READ
  for (let after: number | null = 0; after !== null; ) {
    const step = await findMessages(pass.db, pass.companyId, conversationId, writers, after, limit)
    for (let from = 0; from < step.messages.length; from += WRITE) {
      await eraseBatch(pass, step.messages.slice(from, from + WRITE))
      yield
    }
    after = step.last
    yield
  }
}

/** Messages last: their wamids find everything attached. */
async function eraseBatch({ db, companyId }: Pass, batch: readonly MessageKey[]): Promise<void> {
  const wamids = await listWamids(db, companyId, batch)
  const unerased = wamids.filter(({ wamid, erased }) => wamid !== erased).map(({ wamid }) => wamid)
  // Must precede the erasure: provider repeats must not restore anything.
  if (unerased.length > 0) await keepErasedKeys(db, companyId, unerased)
  await eraseEnvelopes(db, companyId, await findMessageEnvelopes(db, companyId, wamids))
  const ids = batch.map(({ id }) => id)
  await eraseRecordEvents(db, companyId, 'whatsapp.message.status', ids.map(toStatusSubject))
  await markErased(db, companyId, ids)
  await expireUploads(db, { limit: WRITE, skip: 0 }, companyId)
  await eraseMessages(db, companyId, batch)
}

async function eraseRecordEvents(db: Pool, companyId: number, event: RecordEventName, subjects: readonly string[]) {
  await eraseEnvelopes(db, companyId, await findRecordEnvelopes(db, companyId, event, subjects))
}

async function* contactEvents({ db, companyId, contactId }: Pass): Step {
  await eraseRecordEvents(db, companyId, 'contact.changed', [toContactSubject(contactId)])
  yield
}

async function* emails({ db, companyId, subject, endEmailJobs }: Pass): Step {
  if (subject.email === null) return
  const { email } = subject
  yield* inFullBatches(async () => {
    const found = await findEmailsTo(db, companyId, email, WRITE)
    const [ids, uids] = [found.map(({ id }) => id), found.map(({ uid }) => uid)]
    await eraseRecordEvents(db, companyId, 'email.status', uids)
    if (ids.length > 0) {
      await deleteEmails(db, companyId, ids)
      await endEmailJobs(companyId, ids)
    }
    return ids.length
  })
  await eraseSuppression(db, companyId, email)
}

async function* consents({ db, companyId, contactId, subject }: Pass): Step {
  const addresses = subject.email === null ? [] : [addressIdentity(subject.email)]
  const identities = [...subject.identities, ...addresses]
  const { lastConsentId = 0 } = subject
  for (let count = WRITE; count > 0; yield) {
    count = await eraseConsents(db, companyId, contactId, identities, lastConsentId, WRITE)
  }
}

const changes = ({ db, companyId, subject }: Pass): Step =>
  inFullBatches(async () => {
    const wamids = await findChanges(db, companyId, subject.identities, WRITE)
    await keepErasedKeys(db, companyId, wamids)
    await deleteChanges(db, companyId, wamids)
    return wamids.length
  })

const reactions = ({ db, companyId, subject }: Pass): Step =>
  walk('', async (after) => {
    const { wamids, last } = await findReactions(db, companyId, subject.identities, after, READ)
    await keepErasedKeys(db, companyId, wamids)
    await deleteReactions(db, companyId, wamids)
    return last
  })

const statuses = ({ db, companyId, subject }: Pass): Step =>
  inFullBatches(() => eraseWaitingStatuses(db, companyId, subject.identities, WRITE))

async function* refusals({ db, companyId, subject }: Pass): Step {
  const texts = textsOf(subject)
  let after: RefusalPlace | undefined
  do {
    after = await eraseRefusals(db, companyId, texts, after, READ)
    yield
  } while (after !== undefined)
}

const items = ({ db, companyId, subject }: Pass): Step =>
  walk(0, (after) => eraseItems(db, companyId, textsOf(subject), after, READ_BODIES))

const bodies = ({ db, companyId, subject }: Pass): Step =>
  walk(0, (after) => eraseBodies(db, companyId, textsOf(subject), after, READ_BODIES))

const answers = ({ db, companyId, contactId, subject }: Pass): Step =>
  walk(0, (after) => eraseAnswers(db, companyId, { contactId, texts: textsOf(subject) }, ERASED_ANSWER, after, READ))
