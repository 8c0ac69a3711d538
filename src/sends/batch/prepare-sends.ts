import { NO_EVENTS, type RecordEvents } from '../../changes/record-change.ts'
import { writeConversations } from '../../conversations/recording/conversation-write-store.ts'
import type { Db, Pool } from '../../db/connect.ts'
import { pinPlans } from '../../db/pin-plans.ts'
import { ContentionError, isViolated } from '../../db/pool/failure.ts'
import { requestKeyOf } from '../../http/idempotency/idempotency-store.ts'
import { carryUploads } from '../../media/uploads/upload-store.ts'
import { latestConsents, refreshContacts } from '../../people/consent/shown-consent.ts'
import { insertCustomerContacts } from '../../people/customer-contact-store.ts'
import { type LockedIdentity, tryLockCustomers } from '../../people/customer-lock-store.ts'
import { insertCustomers, insertIdentities } from '../../people/customer-store.ts'
import { takePlaces } from './daily-limit-store.ts'
import { decideSends, type Send, type SendDecision, type SendFacts } from './decide-sends.ts'
import { type AcceptedSend, personOf, planSends, type SendPlan } from './plan-sends.ts'
import { lockScheduled, recordScheduled } from './scheduled-send-store.ts'
import { identityKeysOf, lockLimits, readSendRows, type SendRow } from './send-fact-store.ts'
import { attachContacts, insertPendingMessages, writeSlots } from './send-write-store.ts'
import { LIMITS } from './throttle.ts'

export type PreparedSend =
  | Exclude<SendDecision, { refusal: null }>
  | ({ refusal: null; waitSeconds: number } & WrittenSend)

export type WrittenSend = { conversationId: number; messageId: number; idempotencyId: number | null }

/** A row locked elsewhere must not stop all companies' sends. */
const LOCK_TIMEOUT_MS = 1_000

/** Decides on sends and writes pending messages for the permitted ones, in one transaction. Answers in input order. */
export async function prepareSends(
  db: Pool,
  sends: readonly Send[],
  at: Date,
  events: RecordEvents = NO_EVENTS,
): Promise<PreparedSend[]> {
  const run = async (tx: Db, commit: () => Promise<unknown>): Promise<PreparedSend[]> => {
    const { rows, facts } = await readSendFacts(tx, sends, at)
    const now = { at, slotsMs: rows[0]?.nowMs ?? 0 }
    const decisions = decideSends(sends, facts, LIMITS, now)
    const accepted = sends.flatMap((send, index): AcceptedSend[] => {
      const [decision, row] = [decisions[index], rows[index]]
      return decision?.refusal === null && row !== undefined ? [{ send, row, decision }] : []
    })
    const plan = planSends(accepted, at)
    const reservations = await writePlan(tx, plan, at, events, commit)
    const written = new Map(
      plan.messages.map(({ send, id, conversationId }): [Send, WrittenSend] => [
        send,
        { conversationId, messageId: id, idempotencyId: reservations.get(id) ?? null },
      ]),
    )
    return sends.map((send, index) => toPrepared(decisions[index], written.get(send)))
  }
  try {
    return await db.begin('isolation level read committed', (tx) => run(tx, tx.commit), { pipelined: true })
  } catch (error) {
    // Reserved by another process after our read: the batch retries and finds the key taken.
    throw isViolated(error, 'idempotency_keys_by_request') ? new ContentionError() : error
  }
}

/** One round trip. Must read in a separate statement after taking the locks. */
async function readSendFacts(tx: Db, sends: readonly Send[], at: Date) {
  const marketing = sends.filter(({ needsConsent }) => needsConsent)
  const [, waiting, locked, , consents, rows] = await Promise.all([
    pinPlans(tx, LOCK_TIMEOUT_MS),
    lockScheduled(tx, sends),
    tryLockCustomers(tx, identityKeysOf(sends)),
    lockLimits(tx, sends, at),
    marketing.length > 0 ? latestConsents(tx, 'whatsapp', identityKeysOf(marketing)) : [],
    readSendRows(tx, sends, at),
  ])
  const consentOf = new Map(marketing.map((send, index) => [send, consents[index] ?? null]))
  const customerOf = new Map(locked.map((one) => [keyOf(one), one]))
  const facts = sends.map((send, index): SendFacts => {
    const row = rows[index]
    if (row === undefined) throw new Error('A send has no facts')
    const isTaken = row.isKeyTaken || hasEnded(send, waiting)
    return toFacts(send, row, isTaken, customerOf.get(keyOf(send)), consentOf.get(send) ?? null)
  })
  return { rows, facts }
}

const hasEnded = ({ companyId, scheduledId }: Send, waiting: ReadonlySet<string>): boolean =>
  scheduledId !== null && !waiting.has(`${companyId} ${scheduledId}`)

const keyOf = ({ companyId, identity }: { companyId: number; identity: string }) => `${companyId} ${identity}`

function toFacts(
  send: Send,
  row: SendRow,
  isTaken: boolean,
  locked: LockedIdentity | undefined,
  consent: boolean | null,
): SendFacts {
  const person = personOf(send, row)
  return {
    isTaken,
    requestKey: send.key === null ? null : requestKeyOf(send.key),
    // Moved meanwhile if the identity leads to another customer.
    isLocked: locked !== undefined && locked.customerId === row.customerId,
    isElsewhere: send.conversationId !== null && send.conversationId !== row.conversationId,
    conversationKey: `${person} ${send.senderId}`,
    personKey: person,
    senderKey: `${send.companyId} ${send.senderId}`,
    limitKey: `${send.companyId} ${send.limitScope}`,
    consent,
    lastInboundAt: row.lastInboundAt,
    nextMessageMs: row.nextMessageMs,
    nextSlotMs: row.nextSlotMs,
    limit: { used: row.used, isCounted: row.isCounted, freeAt: row.freeAt },
  }
}

/** Writes referenced rows first, with the commit in one round trip unless new contacts need follow-up. */
async function writePlan(
  tx: Db,
  plan: SendPlan,
  at: Date,
  events: RecordEvents,
  commit: () => Promise<unknown>,
): Promise<Map<number, number>> {
  const identities = plan.identities.map((identity) => ({ ...identity, reportedAt: at }))
  const created = plan.contacts.map(({ id, ...contact }) => ({ ...contact, contactId: id }))
  const inLedger = new Map(
    [...created, ...plan.attached]
      .filter(({ isInLedger }) => isInLedger)
      .map(({ companyId, contactId }) => [contactId, { companyId, contactId }]),
  )
  const isReported = events.isSubscribed(
    'contact.changed',
    plan.contacts.map(({ companyId }) => companyId),
  )
  const carried = plan.messages.flatMap(({ send, id }) => uploadOf(send, id) ?? [])
  const hasFollowUp = inLedger.size > 0 || isReported
  const [, , , , , reservations] = await Promise.all([
    plan.contacts.length > 0 && insertCustomerContacts(tx, plan.contacts),
    plan.customers.length > 0 && insertCustomers(tx, plan.customers),
    identities.length > 0 && insertIdentities(tx, identities),
    plan.attached.length > 0 && attachContacts(tx, plan.attached),
    plan.conversations.length > 0 && writeConversations(tx, plan.conversations, at),
    plan.messages.length > 0 ? insertPendingMessages(tx, plan.messages, at) : new Map<number, number>(),
    carried.length > 0 && carryUploads(tx, carried),
    plan.slots.length > 0 && writeSlots(tx, plan.slots),
    recordScheduled(tx, plan.messages),
    plan.places.length > 0 && takePlaces(tx, plan.places, at),
    !hasFollowUp && commit(),
  ])
  if (!hasFollowUp) return reservations
  if (inLedger.size > 0) await refreshContacts(tx, [...inLedger.values()])
  await events.publish(
    tx,
    plan.contacts.map(({ companyId, id }) => ({ event: 'contact.changed', companyId, id, change: 'created' })),
  )
  await commit()
  return reservations
}

const uploadOf = ({ companyId, senderId, media }: Send, messageId: number) =>
  media?.uploadId === undefined ? undefined : { companyId, senderId, messageId, uploadId: media.uploadId }

function toPrepared(decision: SendDecision | undefined, written: WrittenSend | undefined): PreparedSend {
  if (decision === undefined) throw new Error('A send was not decided')
  if (decision.refusal !== null) return decision
  if (written === undefined) throw new Error('An accepted send was not written')
  return { refusal: null, waitSeconds: decision.waitSeconds, ...written }
}
