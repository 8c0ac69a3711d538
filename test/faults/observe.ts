import { setTimeout as sleep } from 'node:timers/promises'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import type { Database } from './database/database.ts'
import type { Acknowledged, Arrived, Delivered, Evidence, Keyed, Stored } from './evidence.ts'
import type { Company } from './load/company.ts'
import type { Processes } from './processes.ts'

/** Three refusals in a row wait for 10 s, 30 s and more. */
const QUIET_DEADLINE_MS = 300_000
const EVERY_MS = 500
const LIMIT = 1_000_000
const HASTENED = 20

/**
 * Waits until nothing is left to do: events, deliveries, mails. Work that is left at the deadline is counted as lost.
 */
export async function untilQuiet(database: Database): Promise<void> {
  const deadline = performance.now() + QUIET_DEADLINE_MS
  while (performance.now() < deadline) {
    const [row] = await database.ask(
      (db) => db<[{ left: number }]>`
        select
          (select count(*) from inbound_events)
          + (select count(*) from deliveries where status = 'pending')
          + (select count(*) from emails where status = 'pending')
          + (select count(*) from scheduled_messages where status = 'scheduled') as left
      `,
    )
    if (row.left === 0) return
    await sleep(EVERY_MS)
  }
}

/** Lets the time of scheduled messages come, some at each turn, until the run is over. While a server is away, the next turn does. */
export async function makeScheduledDue(database: Database, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const hastened = database.ask(
      (db) => db`
        update jobs
        set due_at = now()
        where id in (
          select id from jobs
          where kind = 'message.send' and claim_id is null and due_at > now() + interval '1 hour'
          order by id
          limit ${HASTENED}
          for update skip locked
        )
      `,
    )
    await hastened.catch(() => undefined)
    await sleep(EVERY_MS)
  }
}

type Seen = Pick<Evidence, 'posted' | 'gapsMs' | 'bounds'> & {
  acknowledged: Acknowledged[]
  sends: Keyed[]
  scheduled: Keyed[]
  mails: Keyed[]
  delivered: Delivered[]
  companies: Company[]
  database: Database
  sandbox: Sandbox
  processes: Processes
}

/** Puts together what the callers, the receivers, the phones, the mailboxes and the database saw. */
export async function gather(seen: Seen): Promise<Evidence> {
  const { database, sandbox, companies, processes } = seen
  const stored = await database.ask(
    (db) => db<Stored[]>`
      select message.wamid, message.text, identity.identity as customer, sender.phone_number_id, message.conversation_id, message.seq
      from messages message
      join conversations conversation
        on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
      join customer_identities identity
        on (identity.company_id, identity.customer_id) = (conversation.company_id, conversation.customer_id)
      join senders sender on (sender.company_id, sender.id) = (conversation.company_id, conversation.sender_id)
      where message.direction = 'inbound'
    `,
  )
  const dead = await database.ask(
    (db) => db<{ registrationId: string; wamid: string }[]>`
      select registration.name as registration_id, delivery.event_id as wamid
      from deliveries delivery
      join registrations registration
        on (registration.company_id, registration.id) = (delivery.company_id, delivery.registration_id)
      where delivery.status = 'dead'
    `,
  )
  const unknown = await database.ask(
    (db) => db<{ subject: string }[]>`select subject from emails where status = 'failed'`,
  )
  // A process that was killed while it asked the provider leaves its message pending for a minute, then unknown.
  const unknownScheduled = await database.ask(
    (db) => db<{ text: string }[]>`
      select message.text
      from scheduled_messages scheduled
      join messages message on (message.company_id, message.id) = (scheduled.company_id, scheduled.message_id)
      where message.status in ('pending', 'unknown')
    `,
  )
  const failed = await database.ask(
    (db) => db<{ body: Buffer }[]>`select body from inbound_items where state = 'failed'`,
  )
  const { acknowledged, posted, sends, scheduled, mails, gapsMs, bounds } = seen
  return {
    acknowledged,
    posted,
    gapsMs,
    bounds,
    sends,
    scheduled,
    unknownScheduled: new Set(unknownScheduled.map(({ text }) => text)),
    mails,
    stored: [...stored],
    failed: new Set(
      failed.flatMap(({ body }) => [...String(body).matchAll(/"id":"([^"]+)"/g)].map(([, id = '']) => id)),
    ),
    registrations: new Map(companies.map(({ phoneNumberId, registrationIds }) => [phoneNumberId, registrationIds])),
    delivered: [...seen.delivered, ...dead.map((one) => ({ ...one, body: null }))],
    phones: await phonesOf(sandbox),
    mailboxes: await mailboxesOf(sandbox),
    unknownMails: new Set(unknown.map(({ subject }) => subject)),
    lostWrites: await database.lostWrites(),
    crashes: processes.crashes(),
  }
}

async function phonesOf(sandbox: Sandbox): Promise<Arrived[]> {
  const messages = await list(sandbox, 'messages')
  return messages.map(({ to, body }) => ({ text: body?.text?.body ?? '', recipient: to }))
}

async function mailboxesOf(sandbox: Sandbox): Promise<Arrived[]> {
  const mails = await list(sandbox, 'emails')
  return mails.map(({ to, subject }) => ({ text: subject, recipient: to }))
}

// biome-ignore lint/suspicious/noExplicitAny: answers of another program, of which a few members are read
async function list({ url }: Sandbox, name: string): Promise<any[]> {
  const response = await fetch(`${url}/sandbox/${name}?limit=${LIMIT}`)
  const answer: unknown = await response.json()
  if (!Array.isArray(answer)) throw new Error(`The sandbox answers no list of ${name}: ${JSON.stringify(answer)}`)
  return answer
}
