import { setTimeout as pause } from 'node:timers/promises'
import { ConstantBackoff, handleAll, retry } from 'cockatiel'
import { NO_EVENTS, type RecordEvents } from '../../changes/record-change.ts'
import { writeConversations } from '../../conversations/recording/conversation-write-store.ts'
import { listRecipients } from '../../conversations/recording/recipient-store.ts'
import { watchStatuses } from '../../conversations/recording/status-store.ts'
import { type Db, type Pool, pinPlans, type Transaction } from '../../db/connect.ts'
import { ContentionError, isViolated } from '../../db/pool/failure.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import { carryUploads } from '../../media/uploads/upload-store.ts'
import { recordPreferences } from '../../people/consent/preference.ts'
import { latestConsents, refreshContacts } from '../../people/consent/shown-consent.ts'
import { insertCustomerContacts } from '../../people/contact-store.ts'
import { attachContacts, insertCustomers, insertIdentities, tryLockCustomers } from '../../people/customer-store.ts'
import { type Clock, monotonicMs } from '../../platform/clock.ts'
import { isOptOut } from '../../providers/graph-answer.ts'
import type { Send } from '../compose-message.ts'
import { takePlaces } from './daily-limit-store.ts'
import {
  type AcceptedSend,
  decideSends,
  LIMITS,
  planSends,
  type SendDecision,
  type SendFacts,
  type SendPlan,
  toSendFacts,
} from './decide-sends.ts'
import { identityKeysOf, lockLimits, lockScheduled, readSendRows } from './send-fact-store.ts'
import {
  type CompletedSend,
  completeSends,
  insertPendingMessages,
  type Recipient,
  recordScheduled,
  writeSlots,
} from './send-write-store.ts'

const MAX_ITEMS = 200
/** At most ten batches; more sends are refused at once. */
const MAX_WAITING = 2_000
/** Must be less than callers wait; a refused send never started. */
const MAX_WAIT_MS = 2_000
/** Later sends share the next run, so cost falls under load. */
const MAX_RUNNING = 1
/** Total wait for the customer lock. */
const MAX_BUSY_MS = 2_500
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 200
/** A row locked elsewhere must not stop all companies' sends. */
const PREPARE_LOCK_TIMEOUT_MS = 1_000
const COMPLETE_LOCK_TIMEOUT_MS = 10_000
/** The provider was called: an outcome must survive a short outage. */
const completing = retry(handleAll, { maxAttempts: 4, backoff: new ConstantBackoff(500) })

export type SendConsequences = {
  copyMedia: (tx: Db, messages: readonly { companyId: number; messageId: number }[]) => Promise<void>
  /** Called after outcomes are written. */
  learnRecipients: (recipients: readonly Recipient[]) => Promise<void>
  recordEvents?: RecordEvents
  /** Called after the commit. */
  onConsents?: (contacts: readonly { companyId: number; id: number }[]) => void
}

export type SendBatches = {
  prepareSend: (send: Send) => Promise<PreparedSend>
  completeSend: (send: CompletedSend) => Promise<unknown>
}

/** Batches concurrent sends. Completion follows the provider call, so must repeat during outages; idempotent. */
export function createSendBatches(
  db: Pool,
  clock: Clock,
  { copyMedia, learnRecipients, recordEvents = NO_EVENTS, onConsents = () => {} }: SendConsequences,
): SendBatches {
  const complete = async (sends: readonly CompletedSend[]): Promise<undefined[]> => {
    const withMedia = sends.filter(({ hasProviderMedia }) => hasProviderMedia)
    const companyIds = sends.map(({ companyId }) => companyId)
    const isReported = recordEvents.isSubscribed('whatsapp.message.status', companyIds)
    const optOuts = sends.filter(({ error }) => isOptOut(error))
    const hasFollowUp = withMedia.length > 0 || isReported || optOuts.length > 0
    const write = async (tx: Transaction) => {
      const [, , changesSince] = await Promise.all([
        pinPlans(tx, COMPLETE_LOCK_TIMEOUT_MS),
        withMedia.length > 0 && copyMedia(tx, withMedia),
        isReported && watchStatuses(tx, sends),
        completeSends(tx, sends, clock.now()),
        !hasFollowUp && tx.commit(),
      ])
      if (changesSince) await recordEvents.publish(tx, await changesSince())
      if (optOuts.length === 0) return []
      const contacts = await recordOptOuts(tx, optOuts, clock.now())
      await recordEvents.publish(
        tx,
        contacts.map((contact) => ({ event: 'contact.changed', change: 'consent', ...contact })),
      )
      return contacts
    }
    // One round trip, unless followed up. After a failed begin, statements run without transaction; safe to repeat.
    onConsents(await db.begin('isolation level read committed', write, { pipelined: !hasFollowUp }))
    const recipients = sends.flatMap(({ recipient }) => recipient ?? [])
    if (recipients.length > 0) await learnRecipients(recipients)
    return sends.map(() => undefined)
  }
  const prepare = createStatementBatcher<Send, PreparedSend>({
    run: (sends) => prepareSends(db, sends, clock.now(), recordEvents),
    maxItems: MAX_ITEMS,
    maxRunning: MAX_RUNNING,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    companyOf: ({ companyId }) => companyId,
  })
  return {
    prepareSend: (send) => untilFree(() => prepare(send)),
    completeSend: createStatementBatcher({
      run: (sends) => completing.execute(() => complete(sends)),
      maxItems: MAX_ITEMS,
      maxRunning: MAX_RUNNING,
      companyOf: ({ companyId }) => companyId,
    }),
  }
}

/** Retries while another transaction holds the customer lock, without delaying the batch. */
async function untilFree(prepare: () => Promise<PreparedSend>): Promise<PreparedSend> {
  const endsAtMs = monotonicMs() + MAX_BUSY_MS
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const prepared = await prepare()
    if (prepared.refusal !== 'busy' || monotonicMs() + pauseMs > endsAtMs) return prepared
    await pause(pauseMs)
  }
}

async function recordOptOuts(
  tx: Db,
  refused: readonly { companyId: number; messageId: number }[],
  at: Date,
): Promise<{ companyId: number; id: number }[]> {
  const recipients = await listRecipients(
    tx,
    refused.map(({ companyId, messageId: id }) => ({ companyId, id })),
  )
  const byMessage = Map.groupBy(recipients, ({ companyId, messageId }) => `${companyId} ${messageId}`)
  const preferences = [...byMessage.values()].flatMap((own) => {
    const [first] = own
    if (first === undefined) return []
    const { companyId, messageId } = first
    const identities = own.map(({ identity }) => identity)
    return [{ companyId, identities, value: false, saidAt: at, eventId: `refused ${messageId}`, arrivedAt: at }]
  })
  return recordPreferences(tx, preferences)
}

export type PreparedSend =
  | Exclude<SendDecision, { refusal: null }>
  | ({ refusal: null; waitSeconds: number } & WrittenSend)

export type WrittenSend = { conversationId: number; messageId: number; idempotencyId: number | null }

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
    pinPlans(tx, PREPARE_LOCK_TIMEOUT_MS),
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
    return toSendFacts(send, row, isTaken, customerOf.get(keyOf(send)), consentOf.get(send) ?? null)
  })
  return { rows, facts }
}

const hasEnded = ({ companyId, scheduledId }: Send, waiting: ReadonlySet<string>): boolean =>
  scheduledId !== null && !waiting.has(`${companyId} ${scheduledId}`)

const keyOf = ({ companyId, identity }: { companyId: number; identity: string }) => `${companyId} ${identity}`

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
