import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../client.ts'
import type { Tally } from '../tally.ts'
import { untilNone } from '../until-found.ts'
import { BACKLOG, connectCompany, type World } from '../world.ts'

const REGISTRATIONS = '/public/v1/webhooks/registrations'
const EVENT = 'contact.changed'
const MOST_REGISTRATIONS = 50
const CONTACTS = 1_000
const BRIEF_CONTACTS = 400
/** Attempts until the service knows of each receiver that it fails, with those that start meanwhile. */
const FIRST_ATTEMPTS = 16 * MOST_REGISTRATIONS
const FIRST_WITHIN_MS = 60_000
/** Attempts a second of one company at receivers that fail, over a window, and what it may have saved up before. */
const MOST_PER_SECOND = 100
const SAVED = 50
const WINDOW_MS = 3_000
/** A service that pauses does so about a second after the array. */
const PAUSED_WITHIN_MS = 20_000
/** The range of the redeliveries. */
const DELIVERIES = 3_202
const REDELIVERIES = 25

type Caller = {
  companyId: number
  call: (method: string, path: string, body?: object) => Promise<{ status: number; json: unknown }>
}

async function createCaller({ stage }: World, client: Client, tally: Tally): Promise<Caller> {
  const { companyId, headers } = await connectCompany(stage)
  return {
    companyId,
    call: async (method, path, body) => {
      tally.requests++
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      const { status, text } = await client.send({ method, path, headers, ...sent })
      return { status, json: text === '' ? undefined : JSON.parse(text) }
    },
  }
}

/**
 * A company registers as many receivers as it may, all of which fail at once, and writes arrays of contacts: each contact is an event
 * for each of them.
 */
export async function attackReceivers(
  world: World,
  client: Client,
  tally: Tally,
  kind: { isBrief: boolean },
): Promise<void> {
  const { stage } = world
  const { companyId, call } = await createCaller(world, client, tally)
  await registerMany(call, tally)
  // As receivers were registered before the rules of addresses: attempts end at once, without a connection.
  await stage.db`update registrations set url = 'https://127.0.0.1:9/' where company_id = ${companyId}`
  const contacts = kind.isBrief ? BRIEF_CONTACTS : CONTACTS
  await writeContacts(call, contacts, 0)
  await countAttempts(world, companyId, tally)
  await untilPaused(world, companyId)
  for (const round of [1, 2]) await writeContacts(call, contacts, round)
  const [row] = await stage.db<[{ waiting: number }]>`
    select count(*)::int as waiting from deliveries where company_id = ${companyId} and status = 'pending'
  `
  const most = 2 * BACKLOG + MOST_REGISTRATIONS * contacts
  if (row.waiting > most) tally.add('backlogs beyond the bound', `${row.waiting} deliveries wait, at most ${most}`)
}

async function registerMany(call: Caller['call'], tally: Tally): Promise<void> {
  const receiver = { name: 'Refusing', url: 'https://example.com/hook', events: [EVENT] }
  for (const port of [22, 25, 1_023]) {
    const { status } = await call('POST', REGISTRATIONS, { ...receiver, url: `https://example.com:${port}/` })
    if (status !== 422) tally.add('registrations beyond the bound', `a receiver at port ${port}: ${status}`)
  }
  for (let n = 0; n < MOST_REGISTRATIONS + 5; n++) {
    const { status } = await call('POST', REGISTRATIONS, receiver)
    const expected = n < MOST_REGISTRATIONS ? 201 : 422
    if (status !== expected) tally.add('registrations beyond the bound', `registration ${n + 1}: ${status}`)
  }
}

const writeContacts = (call: Caller['call'], count: number, round: number) =>
  call(
    'POST',
    '/public/v1/contacts',
    Array.from({ length: count }, (_, n) => ({
      email: `receiver${round}x${n}@example.com`,
      firstName: `Round ${round}`,
    })),
  )

/** Counts attempts in a window after the first ones, by which the service has learned that the receivers fail. */
async function countAttempts({ stage }: World, companyId: number, tally: Tally): Promise<void> {
  const count = async () => {
    const [row] = await stage.db<[{ count: number }]>`
      select count(*)::int as count from delivery_attempts where company_id = ${companyId}
    `
    return row.count
  }
  const endsAt = performance.now() + FIRST_WITHIN_MS
  while (performance.now() < endsAt && (await count()) < FIRST_ATTEMPTS) await sleep(100)
  const [before, startedAt] = [await count(), performance.now()]
  await sleep(WINDOW_MS)
  const made = (await count()) - before
  const most = ((performance.now() - startedAt) / 1_000) * MOST_PER_SECOND * 1.5 + SAVED
  tally.figures.push(`${made} attempts at receivers that fail, at most ${Math.round(most)}`)
  if (made > most) tally.add('attempts beyond the share of a company', `${made} in 3 s, at most ${Math.round(most)}`)
}

async function untilPaused({ stage }: World, companyId: number): Promise<void> {
  const endsAt = performance.now() + PAUSED_WITHIN_MS
  const isPaused = async () =>
    (await stage.db`select from registrations where company_id = ${companyId} and paused_reason = 'backlog' limit 1`)
      .length > 0
  while (performance.now() < endsAt && !(await isPaused())) await sleep(100)
}

/** Removes the receivers of these attacks with their deliveries, which the measure would count as work of the service. */
export async function removeReceivers({ stage }: World): Promise<void> {
  const ids = (
    await stage.db<{ companyId: number }[]>`
      update registrations set deleted_at = now() where name in ('Refusing', 'Redelivered') and deleted_at is null
      returning company_id
    `
  ).map(({ companyId }) => companyId)
  await stage.db`delete from deliveries where company_id = any (${ids}::bigint[]) and claim_id is null`
  await untilNone(
    () => stage.db`select from deliveries where company_id = any (${ids}::bigint[]) and status = 'pending' limit 1`,
  )
}

/** Asks for the redelivery of one range again and again: each delivery of it is renewed once. */
export async function attackRedeliveries(world: World, client: Client, tally: Tally): Promise<void> {
  const { stage } = world
  const { companyId, call } = await createCaller(world, client, tally)
  const receiver = { name: 'Redelivered', url: 'https://example.com/hook', events: ['whatsapp.message.received'] }
  const id = Number(Object((await call('POST', REGISTRATIONS, receiver)).json).id)
  await stage.db`
    insert into envelopes (company_id, event, event_id, body)
    select ${companyId}, 'whatsapp.message.received', 'w' || n, '{}' from generate_series(1, ${DELIVERIES}::int) as n
  `
  await stage.db`
    insert into deliveries (company_id, registration_id, event, event_id, status)
    select ${companyId}, ${id}, 'whatsapp.message.received', 'w' || n, 'delivered'
    from generate_series(1, ${DELIVERIES}::int) as n
  `
  const since = new Date(Date.now() - 86_400_000).toISOString()
  const answers = await Promise.all(
    Array.from({ length: REDELIVERIES }, () => call('POST', `${REGISTRATIONS}/${id}/redeliver`, { since })),
  )
  const ranges = await stage.db`select from redeliveries where company_id = ${companyId}`
  const add = (evidence: string) => tally.add('redeliveries beyond the first', evidence)
  if (ranges.length > 1) add(`${ranges.length} ranges wait`)
  for (const { status, json } of answers) {
    if (status !== 200 || Object(json).count > DELIVERIES) add(`${status} ${JSON.stringify(json)}`)
  }
  await untilNone(() => stage.db`select from redeliveries where company_id = ${companyId}`)
  const wrong = await stage.db`select from deliveries where company_id = ${companyId} and round <> 2`
  if (wrong.length > 0) add(`${wrong.length} deliveries were not renewed once`)
}
