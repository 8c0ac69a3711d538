import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { sql } from '../../src/db/connect.ts'
import { freePort } from '../free-port.ts'
import { startReceiver } from '../receiver.ts'
import { eventually, startTestService, type TestService, uniquePhone } from '../service.ts'

const SECRET = 'a secret of the receiver'
const EVENTS = ['whatsapp.message.received']
const REGISTRATIONS = '/webhooks/registrations'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})

type Company = Awaited<ReturnType<TestService['createCompany']>>

/** A company with one receiver at the sandbox. */
async function createSubscriber(name: string, changes: object = {}) {
  const company = await service.createCompany()
  const url = `${service.sandbox.url}/sandbox/receivers/${name}`
  const { body } = await company.api('POST', REGISTRATIONS, { name, url, events: EVENTS, secret: SECRET, ...changes })
  const requests = async () => (await service.control('GET', `/receivers/${name}/requests`)).body
  return { ...company, registrationId: body.id as number, requests }
}

async function write({ phoneNumberId }: Pick<Company, 'phoneNumberId'>, text = 'Is it ready?'): Promise<string> {
  const message = { phoneNumberId, from: uniquePhone(), type: 'text', text: { body: text } }
  const { body } = await service.control('POST', '/inbound', message)
  return body.wamid
}

// biome-ignore lint/suspicious/noExplicitAny: what a test reads from an answer is what it asserts
type Rows = any[]
const some = (list: Rows, count: number): Rows | undefined => (list.length >= count ? list : undefined)
const logsOf = async ({ api, registrationId }: Awaited<ReturnType<typeof createSubscriber>>) =>
  (await api('GET', `${REGISTRATIONS}/${registrationId}/logs`)).body

/** Makes waiting deliveries due. */
const passTime = () =>
  service.db`update deliveries set due_at = now() where status = 'pending' and claim_id is null and company_id > 0`

describe('a message that a customer writes', () => {
  test('reaches the receiver once, signed over the bytes that it got, and is logged', async () => {
    const subscriber = await createSubscriber('signed', { headers: [{ key: 'X-Shop', value: '7' }] })
    const wamid = await write(subscriber, 'Grüße 👋')
    const [got] = await eventually(async () => some(await subscriber.requests(), 1))
    expect(got.method).toBe('POST')
    expect(got.headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-event': 'whatsapp.message.received',
      'x-service-delivery': wamid,
      'x-service-webhook-id': String(subscriber.registrationId),
      'x-service-signature': createHmac('sha256', SECRET).update(got.body).digest('hex'),
      'webhook-id': wamid,
      'x-shop': '7',
    })
    const payload = JSON.parse(got.body)
    expect(payload).toMatchObject({
      version: '1',
      event: 'whatsapp.message.received',
      companyId: subscriber.companyId,
      channel: { provider: 'meta', channelId: subscriber.sender.channelId },
      message: { wamid, type: 'text', text: 'Grüße 👋', isEcho: false },
    })
    const [log] = await eventually(async () => some(await logsOf(subscriber), 1))
    expect(log).toMatchObject({ attempt: 1, statusCode: 200, response: 'ok', errorMessage: null, deadLettered: false })
    expect(log.payload).toEqual(payload)
    expect(await subscriber.requests()).toHaveLength(1)
  })

  test('is delivered without a claim', async () => {
    const subscriber = await createSubscriber('unclaimed')
    const held = Promise.withResolvers<void>()
    const mayEnd = Promise.withResolvers<void>()
    // Claims of deliveries wait for this lock (src/queue/claim/run-claim.ts).
    const holding = service.db.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(hashtextextended('webhook.deliver', 7237455202))`
      held.resolve()
      await mayEnd.promise
    })
    await held.promise
    await write(subscriber)
    await eventually(async () => some(await subscriber.requests(), 1)).finally(mayEnd.resolve)
    await holding
  })

  test('makes one delivery per active registration, none for an inactive or deleted one, also when it comes again', async () => {
    const subscriber = await createSubscriber('first')
    const ids: number[] = []
    for (const name of ['second', 'inactive', 'deleted']) {
      const url = `${service.sandbox.url}/sandbox/receivers/${name}`
      ids.push((await subscriber.api('POST', REGISTRATIONS, { name, url, events: EVENTS })).body.id)
    }
    await subscriber.api('PUT', `${REGISTRATIONS}/${ids[1]}`, { status: 'inactive' })
    await subscriber.api('DELETE', `${REGISTRATIONS}/${ids[2]}`)
    const from = uniquePhone()
    const message = {
      phoneNumberId: subscriber.phoneNumberId,
      from,
      type: 'text',
      id: 'wamid.TWICE',
      text: { body: 'Hi' },
    }
    await service.control('POST', '/inbound', message)
    await service.control('POST', '/inbound', message)
    await service.control('POST', '/inbound', { ...message, id: 'wamid.AFTER' })
    const got = async (name: string) => (await service.control('GET', `/receivers/${name}/requests`)).body
    await eventually(async () => some(await got('first'), 2))
    await eventually(async () => some(await got('second'), 2))
    for (const name of ['first', 'second']) {
      const wamids = (await got(name)).map(
        (one: { headers: Record<string, string> }) => one.headers['x-service-delivery'],
      )
      expect(wamids.toSorted()).toEqual(['wamid.AFTER', 'wamid.TWICE'])
    }
    expect([...(await got('inactive')), ...(await got('deleted'))]).toEqual([])
  })

  test('is tried five times with the same bytes, then logged as a dead letter; redelivery has five more', async () => {
    const subscriber = await createSubscriber('failing')
    await service.control('PUT', '/receivers/failing/behaviour', { statusCode: 500, body: 'no' })
    const wamid = await write(subscriber)
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const logs = await eventually(async () => some(await logsOf(subscriber), attempt))
      expect(logs[0]).toMatchObject({ attempt, statusCode: 500, response: 'no', deadLettered: attempt === 5 })
      await passTime()
    }
    const logs = await logsOf(subscriber)
    expect(logs[0].errorMessage).toBe('dead-lettered after 5 attempts: the receiver answered 500')
    const failures = await subscriber.requests()
    expect(failures).toHaveLength(5)
    expect(new Set(failures.map((one: { body: string }) => one.body)).size).toBe(1)

    await service.control('PUT', '/receivers/failing/behaviour', {})
    const path = `${REGISTRATIONS}/${subscriber.registrationId}/logs/${logs[0].id}/redeliver`
    expect((await subscriber.api('POST', path)).body).toEqual({ success: true })
    const [last] = await eventually(async () => some(await subscriber.requests(), 6))
    expect(last.body).toBe(failures[0].body)
    expect(last.headers['x-service-delivery']).toBe(wamid)

    const range = { since: new Date(Date.now() - 60_000).toISOString() }
    await eventually(async () => (await logsOf(subscriber))[0].statusCode === 200)
    const again = await subscriber.api('POST', `${REGISTRATIONS}/${subscriber.registrationId}/redeliver`, range)
    expect(again.body).toEqual({ success: true, count: 1 })
    await eventually(async () => some(await subscriber.requests(), 7))
  })

  test('waits 5 s after a failure', async () => {
    const subscriber = await createSubscriber('waiting')
    await service.control('PUT', '/receivers/waiting/behaviour', { statusCode: 503 })
    await write(subscriber)
    await eventually(async () => some(await logsOf(subscriber), 1))
    const [job] = await service.db`
      select
        extract(epoch from delivery.due_at - attempt.sent_at)::float as since_start,
        extract(epoch from delivery.due_at - attempt.created_at)::float as since_end
      from deliveries delivery
      join delivery_attempts attempt on (attempt.company_id, attempt.delivery_id) = (delivery.company_id, delivery.id)
      where delivery.company_id = ${subscriber.companyId}
    `
    expect(job?.sinceStart).toBeGreaterThanOrEqual(4.5)
    expect(job?.sinceEnd).toBeLessThanOrEqual(5.5)
  })

  test('is dropped without attempt or row when its registration goes before it is due', async () => {
    const subscriber = await createSubscriber('leaving')
    await service.control('PUT', '/receivers/leaving/behaviour', { statusCode: 500 })
    await write(subscriber)
    await eventually(async () => some(await logsOf(subscriber), 1))
    await subscriber.api('PUT', `${REGISTRATIONS}/${subscriber.registrationId}`, { status: 'inactive' })
    await passTime()
    const gone = async () =>
      (await service.db`select from deliveries where company_id = ${subscriber.companyId} and status = 'pending'`)
        .length === 0
    await eventually(gone)
    expect(await subscriber.requests()).toHaveLength(1)
    expect(await logsOf(subscriber)).toHaveLength(1)
  })
})

test('a secret that cannot be read is our fault: no attempt is spent, and it goes on when it can be', async () => {
  const subscriber = await createSubscriber('sealed')
  const place = sql`company_id = ${subscriber.companyId} and id = ${subscriber.registrationId}`
  const [row] = await service.db`select secret from registrations where ${place}`
  await service.db`update registrations set secret = 'v1.00000000.none.none' where ${place}`
  await write(subscriber)
  await eventually(async () => {
    const jobs = await service.db`select from deliveries where company_id = ${subscriber.companyId} and faults > 0`
    return jobs.length > 0
  })
  expect(await logsOf(subscriber)).toEqual([])
  await service.db`update registrations set secret = ${row?.secret} where ${place}`
  await passTime()
  await eventually(async () => some(await subscriber.requests(), 1))
  expect(await eventually(async () => some(await logsOf(subscriber), 1))).toMatchObject([
    { attempt: 1, statusCode: 200 },
  ])
})

test('the test endpoint answers what the receiver answered', async () => {
  const subscriber = await createSubscriber('tried')
  await service.control('PUT', '/receivers/tried/behaviour', { statusCode: 418, body: 'teapot' })
  const { status, body } = await subscriber.api('POST', `${REGISTRATIONS}/${subscriber.registrationId}/test`)
  expect([status, body.data]).toMatchObject([200, { statusCode: 418, response: 'teapot' }])
})

describe('the receiver of the documentation', () => {
  test('is the one that the README shows', () => {
    const [readme, program] = ['../../README.md', '../../docs/examples/receiver.mjs'].map((path) =>
      readFileSync(new URL(path, import.meta.url), 'utf8'),
    )
    const [, ...lines] = program?.split('\n') ?? []
    expect(readme).toContain(lines.join('\n'))
  })

  test('accepts what is delivered and refuses what is forged', async () => {
    const port = await freePort()
    const program = fileURLToPath(new URL('../../docs/examples/receiver.mjs', import.meta.url))
    const child = spawn(process.execPath, [program], {
      env: { SECRET, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill())
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    const url = `http://127.0.0.1:${port}/`
    await eventually(() =>
      fetch(url).then(
        ({ status }) => status === 401,
        () => undefined,
      ),
    )

    const company = await service.createCompany()
    const { body } = await company.api('POST', REGISTRATIONS, { name: 'Docs', url, events: EVENTS, secret: SECRET })
    const wamid = await write(company, 'From the documentation')
    await eventually(async () => output.includes(`${wamid} From the documentation`))
    const subscriber = { ...company, registrationId: body.id as number, requests: async () => [] }
    const [log] = await eventually(async () => some(await logsOf(subscriber), 1))
    expect(log).toMatchObject({ statusCode: 200, response: 'ok' })

    const headers = { 'x-service-delivery': wamid, 'x-service-signature': '00'.repeat(32) }
    expect((await fetch(url, { method: 'POST', headers, body: '{}' })).status).toBe(401)
    await company.api('PUT', `${REGISTRATIONS}/${body.id}`, { secret: 'another secret of 16' })
    await write(company)
    const logs = await eventually(async () => some(await logsOf(subscriber), 2))
    expect(logs[0]).toMatchObject({ statusCode: 401, errorMessage: 'the receiver answered 401' })
    child.kill()
    await once(child, 'exit')
  })
})

test('stopping waits for an attempt that has started', async () => {
  const own = await startTestService()
  const company = await own.createCompany()
  const peer = await startReceiver((_, response) => setTimeout(() => response.end(), 1_000))
  const { body } = await company.api('POST', REGISTRATIONS, { name: 'Slow', url: peer.url, events: EVENTS })
  const message = { phoneNumberId: company.phoneNumberId, from: uniquePhone(), type: 'text', text: { body: 'Hi' } }
  await own.control('POST', '/inbound', message)
  await eventually(async () => peer.received.length > 0)
  await own.workers.stop()
  const rows = await own.db`select status, claim_id from deliveries where registration_id = ${body.id}`
  expect(rows).toEqual([{ status: 'delivered', claimId: null }])
})
