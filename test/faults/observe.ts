import { setTimeout as sleep } from 'node:timers/promises'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import type { Company } from './company.ts'
import type { Database } from './database.ts'
import type { Acknowledged, Arrived, Delivered, Evidence, Keyed, Stored } from './evidence.ts'
import type { Processes } from './processes.ts'

/** Three refusals in a row wait for 10 s, 30 s and more. */
const QUIET_DEADLINE_MS = 300_000
const EVERY_MS = 500
const LIMIT = 1_000_000

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
          + (select count(*) from emails where status = 'pending') as left
      `,
    )
    if (row.left === 0) return
    await sleep(EVERY_MS)
  }
}

type Seen = Pick<Evidence, 'posted' | 'gapsMs' | 'bounds'> & {
  acknowledged: Acknowledged[]
  sends: Keyed[]
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
  const { acknowledged, posted, sends, mails, gapsMs, bounds } = seen
  return {
    acknowledged,
    posted,
    gapsMs,
    bounds,
    sends,
    mails,
    stored: [...stored],
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
