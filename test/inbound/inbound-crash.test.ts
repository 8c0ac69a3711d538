import { randomBytes, randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, inject, test } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { freePort } from '../free-port.ts'
import { type ParleyProcess, startParley, until } from '../parley-process.ts'
import { bodyOf, changeOf, newWamid, WEBHOOK } from '../provider-webhook.ts'
import { createCompany, createSender } from '../world.ts'

/** `npm run faults` kills more often. */
const KILLS = Number(process.env.KILLS ?? 9)
const PROCESSES = 3
const POSTERS = 6
const PER_BODY = 5

/** A database of its own on the test server, which outlives every process that works on it. */
async function ownDatabase() {
  const server = connect(inject('databaseUrl').replace('/parley?', '/postgres?'), { max: 1 })
  const name = `crash_${randomBytes(6).toString('hex')}`
  await server.unsafe(`create database ${name} template parley`)
  const url = inject('databaseUrl').replace('/parley?', `/${name}?`)
  const db = connect(url, { max: 3 })
  const drop = async () => {
    await db.end()
    await server.unsafe(`drop database ${name} with (force)`)
    await server.end()
  }
  return { db, url, drop }
}

const environment = (url: string, port: number) => ({
  DATABASE_URL: url,
  PORT: String(port),
  SANDBOX: 'off',
  ADMIN_TOKEN: 'operator-token-for-tests-0123456789',
  ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
  LOG_LEVEL: 'fatal',
})

test('killed many times under load, every event that was answered 200 is processed once and in order', async () => {
  const { db, url, drop } = await ownDatabase()
  const companyId = await createCompany(db)
  const senderId = await createSender(db, companyId)
  const phoneNumberId = `6${Date.now()}`
  await db`update senders set phone_number_id = ${phoneNumberId} where id = ${senderId}`
  await db`
      insert into sender_routes (phone_number_id, company_id, sender_id)
      values (${phoneNumberId}, ${companyId}, ${senderId})
    `
  const living = new Set<ParleyProcess>()
  let kills = 0
  const interrupted = { posts: 0 }
  const shouldContinue = () => kills < KILLS || interrupted.posts === 0
  const crash = async () => {
    while (shouldContinue()) {
      const parley = await startParley(environment(url, await freePort()))
      living.add(parley)
      await sleep(randomInt(50, 600))
      living.delete(parley)
      kills += 1
      await parley.signal('SIGKILL')
    }
  }

  /** A provider that posts one customer's messages in order, each body again until it is answered 200. */
  const acknowledged: string[][] = []
  const post = async (customer: string) => {
    const wamids: string[] = []
    acknowledged.push(wamids)
    while (shouldContinue()) {
      const messages = Array.from({ length: PER_BODY }, (_, n) => ({
        from: customer,
        id: newWamid(),
        timestamp: '1760000000',
        type: 'text',
        text: { body: `${wamids.length + n}` },
      }))
      const body = JSON.stringify(bodyOf(changeOf(phoneNumberId, { messages })))
      while (!(await isTaken(living, body, interrupted))) await sleep(5)
      wamids.push(...messages.map(({ id }) => id))
      await sleep(5)
    }
  }
  const customers = Array.from({ length: POSTERS }, (_, n) => `39333000000${n}`)
  const crashing = Promise.all(Array.from({ length: PROCESSES }, crash))
  // The last bodies need someone who takes them.
  const last = crashing.then(async () => startParley(environment(url, await freePort())))
  const posting = Promise.all(customers.map(post))
  const survivor = await last
  living.add(survivor)
  await posting
  await until('all events are handled', async () => (await db`select 1 from inbound_events limit 1`).length === 0)

  expect(kills).toBeGreaterThanOrEqual(KILLS)
  for (const [place, customer] of customers.entries()) {
    const rows = await db<{ wamid: string; seq: number }[]>`
        select message.wamid, message.seq
        from messages message
        join conversations conversation
          on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
        join customer_identities identity
          on (identity.company_id, identity.customer_id) = (conversation.company_id, conversation.customer_id)
        where identity.identity = ${customer}
        order by message.seq
      `
    expect(rows.map(({ wamid }) => wamid)).toEqual(acknowledged[place])
    expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, n) => n + 1))
    const [conversation] = await db`
        select message_count, unread_messages
        from conversations
        join customer_identities identity using (company_id, customer_id)
        where identity.identity = ${customer}
      `
    expect(conversation).toEqual({ messageCount: rows.length, unreadMessages: rows.length })
  }
  expect(await db`select 1 from inbound_items`).toHaveLength(0)
  expect(acknowledged.flat().length).toBeGreaterThan(KILLS)
  console.log(`${kills} kills interrupted ${interrupted.posts} posts`)
  await survivor.signal('SIGKILL')
  await drop()
}, 300_000)

async function isTaken(
  living: ReadonlySet<ParleyProcess>,
  body: string,
  interrupted: { posts: number },
): Promise<boolean> {
  const all = [...living]
  const parley = all[randomInt(Math.max(1, all.length))]
  if (parley === undefined) return false
  try {
    const response = await fetch(`${parley.address}${WEBHOOK}`, { method: 'POST', body })
    return response.status === 200
  } catch {
    // The process was there when the post began.
    interrupted.posts += 1
    return false
  }
}
