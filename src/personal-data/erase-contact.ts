import { setTimeout as sleep } from 'node:timers/promises'
import { handleWhenResult, retry } from 'cockatiel'
import type { RecordEvents } from '../changes/record-change.ts'
import type { Db, Pool } from '../db/connect.ts'
import { keptOptOuts } from '../people/consent/consent-ledger.ts'
import { keepOptOuts } from '../people/consent/consent-store.ts'
import { readLedgers } from '../people/consent/shown-consent.ts'
import { endContact } from '../people/contact-store.ts'
import { keepErasedKeys } from '../people/customer-store.ts'
import { attachCustomersOf, lockAlso, withMatchesLocked } from '../people/matching/identity-lock.ts'
import { listHolders, rekeyMailboxes } from '../people/matching/mailbox.ts'
import {
  blankContact,
  detachCustomers,
  lastConsentId,
  type Person,
  readPerson,
} from '../people/person-erasure-store.ts'
import { contactNotFound, serviceUnavailable } from '../platform/errors.ts'
import { emailKey, storedKeys } from '../platform/text/email-address.ts'
import { done, retryAfter, type SingleKind } from '../queue/job.ts'
import { enqueueJobs } from '../queue/job-store.ts'
import type { Cipher } from '../secrets/secrets.ts'
import { type PassDeps, runPass } from './erasure-pass.ts'
import { completeErasure, findErasure, insertErasure, recordFirstPass } from './erasure-store.ts'
import { type Subject, toSubject } from './subject.ts'

export type EraseJobDeps = PassDeps & {
  cipher: Pick<Cipher, 'decrypt'>
  onPass(companyId: number): void
}

export type EraseDeps = EraseJobDeps & {
  db: Pool
  cipher: Pick<Cipher, 'encrypt'>
  recordEvents: RecordEvents
}

const CONTACTS_ERASE = 'contacts.erase'
const AFTER_REQUEST_MS = 5_000
/** About two weeks of an unusable database. */
const MAX_ATTEMPTS = 1_000
const CONTINUE_MS = 1_000
/** Longer than any send, delivery or copy in flight can take to write its outcome. */
const SECOND_PASS_AFTER_MS = 150_000
const WITHIN_REQUEST_MS = 3_000
const starting = retry(
  handleWhenResult((hasStarted) => hasStarted === false),
  { maxAttempts: 4 },
)

/**
 * Erases a person, deleted or not (decisions: Erasure and access). The contact is gone when this resolves; other data
 * follows within 3 s or by the job. Throws 404 `Contact not found`.
 */
export async function eraseContact(deps: EraseDeps, companyId: number, id: number): Promise<void> {
  await startErasure(deps, companyId, id)
  await Promise.race([
    advanceErasure(deps, companyId, id, AbortSignal.timeout(WITHIN_REQUEST_MS)).catch(deps.onFailure),
    sleep(WITHIN_REQUEST_MS, undefined, { ref: false }),
  ])
}

async function startErasure(deps: EraseDeps, companyId: number, id: number): Promise<void> {
  const hasStarted = await starting.execute(async () => {
    const person = await readOwn(deps.db, companyId, id)
    if (person === undefined) throw contactNotFound()
    // Also finds ledger entries under other spellings of the address.
    if (person.emailKey !== null) await rekeyMailboxes(deps.db, companyId, [person.emailKey])
    return tryStart(deps, companyId, id, person)
  })
  if (!hasStarted) throw serviceUnavailable('This contact is being changed by too many requests at once: try again')
}

/** Unless another living contact shares the mailbox under another spelling. */
async function readOwn(db: Db, companyId: number, id: number): Promise<Person | undefined> {
  const person = await readPerson(db, companyId, id)
  if (person?.emailKey == null) return person
  const key = emailKey(person.emailKey)
  const keys = [...new Set([...storedKeys(key), person.emailKey])]
  if (keys.length === 1) return person
  const holders = await listHolders(db, companyId, keys)
  return { ...person, emailKey: holders.some((holder) => holder !== id) ? null : key }
}

/** Returns false if the person changed since the read: then the locks are on other identities. */
function tryStart(deps: EraseDeps, companyId: number, id: number, person: Person): Promise<boolean> {
  const named = { emailKey: person.emailKey, phoneIdentity: person.phoneIdentity, id }
  return withMatchesLocked(deps.db, companyId, [named], async (tx) => {
    await lockAlso(tx, companyId, person.identities)
    await attachCustomersOf(tx, companyId, id, [person.phoneIdentity])
    const now = await readOwn(tx, companyId, id)
    if (now === undefined) throw contactNotFound()
    if (JSON.stringify(now) !== JSON.stringify(person)) return false

    await keepOptOutsOf(tx, companyId, id, person)
    // Events that arrived earlier must not be recorded any more.
    await keepErasedKeys(tx, companyId, person.identities)
    if (person.isLiving) await endContact(tx, companyId, id)
    await detachCustomers(tx, companyId, id)
    await blankContact(tx, companyId, id)
    await deps.recordEvents.publish(tx, [{ event: 'contact.changed', companyId, id, change: 'deleted' }])
    const subject = { ...toSubject(person), lastConsentId: await lastConsentId(tx, companyId) }
    await insertErasure(tx, companyId, id, deps.cipher.encrypt(JSON.stringify(subject)))
    await enqueueErasure(tx, companyId, id)
    return true
  })
}

async function keepOptOutsOf(tx: Db, companyId: number, id: number, person: Person): Promise<void> {
  const { phoneIdentity: identity, identities } = person
  const ledger = (await readLedgers(tx, [{ companyId, contactId: id, identity }]))(companyId)
  const contact = ledger.contacts.get(id)
  const optOuts = contact === undefined ? [] : keptOptOuts(ledger, contact, identities)
  if (optOuts.length > 0) await keepOptOuts(tx, companyId, optOuts)
}

/** Enqueues the erasure job, due only when the request must have ended. */
async function enqueueErasure(tx: Db, companyId: number, contactId: number): Promise<void> {
  const lane = `company:${companyId}`
  const job = { kind: CONTACTS_ERASE, lane, companyId, subjectId: contactId, dueInMs: AFTER_REQUEST_MS }
  await enqueueJobs(tx, [job])
}

export const eraseKind = (deps: EraseJobDeps): SingleKind => ({
  kind: CONTACTS_ERASE,
  laneCap: 1,
  concurrency: 2,
  maxAttempts: MAX_ATTEMPTS,
  handle: async ({ companyId = 0, subjectId }, signal) => {
    const waitMs = await advanceErasure(deps, companyId, subjectId, signal)
    if (signal.aborted) return retryAfter(CONTINUE_MS, { counts: false })
    return waitMs === undefined ? done : retryAfter(waitMs, { counts: false })
  },
})

/** Can be repeated. Returns milliseconds until the second pass; undefined when complete or aborted. */
export async function advanceErasure(
  deps: EraseJobDeps,
  companyId: number,
  contactId: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  const erasure = await findErasure(deps.db, companyId, contactId)
  if (erasure === undefined || erasure.subject === null) return undefined
  const subject: Subject = JSON.parse(deps.cipher.decrypt(erasure.subject))
  const waitMs = SECOND_PASS_AFTER_MS - erasure.ageMs
  if (erasure.passes === 0 || waitMs <= 0) {
    const isComplete = await runPass(deps, companyId, contactId, subject, signal)
    deps.onPass(companyId)
    if (!isComplete) return undefined
    if (waitMs > 0) await recordFirstPass(deps.db, companyId, contactId)
    else await completeErasure(deps.db, companyId, contactId)
  }
  return waitMs > 0 ? waitMs : undefined
}
