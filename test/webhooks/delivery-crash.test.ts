import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { forwardMessages } from '../../src/webhooks/events/message-received.ts'
import { createTestDatabase } from '../database.ts'
import { type Receiver, startReceiver } from '../receiver.ts'
import { eventually } from '../service.ts'
import { createCompany, register } from '../webhook-fixture.ts'

const FIXTURE = fileURLToPath(new URL('../fixtures/delivery-worker.ts', import.meta.url))
/** `npm run faults` kills more often. */
const KILLS = Number(process.env.KILLS ?? 15)
const WORKERS = 3
const LONGEST_LIFE_MS = 1_000
const COMPANIES = 8
const REGISTRATIONS = 3
const MESSAGES = 24 * KILLS

const { db, url } = await createTestDatabase()
const children = new Set<ChildProcess>()
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
})

/** A worker process that has started to look for work. */
async function spawnWorker(): Promise<ChildProcess> {
  const child = spawn(process.execPath, [FIXTURE, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.add(child)
  await once(child.stdout, 'data')
  return child
}

/** Workers one after the other, each killed at a random moment, as long as there are kills left. */
async function killInTurn(kills: { left: number }): Promise<void> {
  while (kills.left > 0) {
    kills.left -= 1
    const worker = await spawnWorker()
    await sleep(Math.random() * LONGEST_LIFE_MS)
    worker.kill('SIGKILL')
    await endLeases()
  }
}

/**
 * The leases of the dead end in a second instead of fifteen, or most kills would meet idle workers. The row locks of several of
 * these updates can meet in different orders; one that is refused is made up for by the next.
 */
const endLeases = () =>
  db`update deliveries set lease_until = now() + interval '1 s' where lease_until > now() + interval '1 s'`.catch(
    (error) => expect(error.code).toBe('40P01'),
  )

/** While the receiver is held, posts get no answer. */
type Hold = { isOn: boolean; hasPost: PromiseWithResolvers<void> }

/** Kills a worker that works alone while the receiver has its post: the attempt is neither answered nor logged. */
async function killInAttempt(hold: Hold): Promise<void> {
  hold.isOn = true
  const worker = await spawnWorker()
  await hold.hasPost.promise
  worker.kill('SIGKILL')
  await once(worker, 'exit')
  hold.isOn = false
}

/** One message in ten is refused for ever, one in ten the first two times; some answers take a while. */
function startUnevenReceiver(hold?: Hold): Promise<Receiver> {
  const tries = new Map<string, number>()
  return startReceiver((request, response) => {
    if (hold?.isOn) return hold.hasPost.resolve()
    const key = `${request.headers['x-service-webhook-id']} ${request.headers['x-service-delivery']}`
    const tried = (tries.get(key) ?? 0) + 1
    tries.set(key, tried)
    const kind = Number(/[0-9]$/.exec(key)?.[0])
    response.statusCode = kind === 0 || (kind === 1 && tried <= 2) ? 500 : 200
    if (kind >= 2 && kind <= 5) setTimeout(() => response.end(`${response.statusCode}`), 100)
    else response.end(`${response.statusCode}`)
  })
}

const bodyOf = (companyId: number, n: number) => `{"companyId":${companyId},"n":${n},"price":1.10,"text":"Grüße ${n}"}`

async function subscribeAll(receiverUrl: string): Promise<number[]> {
  const companyIds: number[] = []
  for (let company = 0; company < COMPANIES; company += 1) {
    const companyId = await createCompany(db)
    companyIds.push(companyId)
    for (let i = 0; i < REGISTRATIONS; i += 1) await register(db, companyId, { url: receiverUrl })
  }
  return companyIds
}

async function forwardAll(companyIds: number[], messages: number, from = 0): Promise<void> {
  for (let n = from; n < from + messages; n += 1) {
    const companyId = companyIds[n % companyIds.length] ?? 0
    const message = {
      companyId,
      wamid: `wamid.${n}`,
      messageId: null,
      senderId: 1,
      conversationId: null,
      body: bodyOf(companyId, n),
    }
    await db.begin((tx) => forwardMessages(tx, [message]))
    if (n % 10 === 9) await sleep(100)
  }
}

/** Makes waiting deliveries due, again and again. */
function startPassingTime(): () => Promise<void> {
  let isOver = false
  const running = (async () => {
    while (!isOver) {
      await db`update deliveries set due_at = now() where status = 'pending' and claim_id is null and due_at > now()`.catch(
        () => undefined,
      )
      await sleep(200)
    }
  })()
  return async () => {
    isOver = true
    await running
  }
}

const noneLeft = () =>
  eventually(async () => (await db`select from deliveries where status = 'pending'`).length === 0, 90_000)

/** Posts by registration and wamid: the bodies, and the statuses that were answered are in the log. */
function postsOf({ received }: Receiver): Map<string, string[]> {
  const posts = new Map<string, string[]>()
  for (const { headers, body } of received) {
    const key = `${headers['x-service-webhook-id']} ${headers['x-service-delivery']}`
    posts.set(key, [...(posts.get(key) ?? []), body.toString()])
  }
  return posts
}

/** Every delivery has ended as its receiver wanted, with one row per attempt and the same bytes in every post. */
async function expectAllEnded(
  receiver: Receiver,
  count: number,
): Promise<{ posts: number; rows: number; answered: number }> {
  const deliveries = await db`
    select
      delivery.company_id, delivery.registration_id, delivery.event_id as wamid, delivery.status,
      array_agg(attempt.attempt order by attempt.id) as numbers,
      count(attempt.status_code)::int as answered,
      (array_agg(attempt.status_code order by attempt.id desc))[1] as last_status,
      bool_or(attempt.dead_lettered) as is_dead_lettered
    from deliveries delivery
    join (
      select company_id, delivery_id, id, attempt, status_code, dead_lettered from delivery_attempts
      union all
      select company_id, id, id, 1, status_code, false from deliveries where sent_at is not null
    ) as attempt on (attempt.company_id, attempt.delivery_id) = (delivery.company_id, delivery.id)
    group by delivery.company_id, delivery.id, delivery.registration_id, delivery.event_id, delivery.status
  `
  expect(deliveries).toHaveLength(count)
  const posts = postsOf(receiver)
  for (const {
    companyId,
    registrationId,
    wamid,
    status,
    numbers,
    answered,
    lastStatus,
    isDeadLettered,
  } of deliveries) {
    const n = Number(wamid.slice('wamid.'.length))
    const isDead = n % 10 === 0
    expect([wamid, status, lastStatus, isDeadLettered]).toEqual(
      isDead ? [wamid, 'dead', 500, true] : [wamid, 'delivered', 200, false],
    )
    expect(numbers).toEqual(numbers.map((_: number, index: number) => index + 1))
    if (isDead) expect(numbers).toHaveLength(5)
    const bodies = posts.get(`${registrationId} ${wamid}`) ?? []
    // On a busy machine an attempt may time out before it reaches the receiver.
    expect(bodies.length).toBeGreaterThanOrEqual(answered)
    expect(new Set(bodies)).toEqual(new Set([bodyOf(companyId, n)]))
  }
  return {
    posts: receiver.received.length,
    rows: deliveries.flatMap(({ numbers }) => numbers).length,
    answered: deliveries.reduce((sum, { answered }) => sum + answered, 0),
  }
}

const clear = () => db`truncate delivery_attempts, deliveries, envelopes, registrations`

test('without kills nothing is sent that is not logged, and nothing twice after a success', {
  timeout: 300_000,
}, async () => {
  const receiver = await startUnevenReceiver()
  const companyIds = await subscribeAll(receiver.url)
  await Promise.all([spawnWorker(), spawnWorker()])
  const stopTime = startPassingTime()
  await forwardAll(companyIds, 200)
  await noneLeft()
  await stopTime()
  const { posts, rows, answered } = await expectAllEnded(receiver, 200 * REGISTRATIONS)
  expect(posts).toBeGreaterThanOrEqual(answered)
  expect(posts).toBeLessThanOrEqual(rows)
  for (const child of children) child.kill()
  children.clear()
  await clear()
})

test('workers killed many times at random lose no delivery and change no byte', { timeout: 300_000 }, async () => {
  const hold: Hold = { isOn: false, hasPost: Promise.withResolvers() }
  const receiver = await startUnevenReceiver(hold)
  const companyIds = await subscribeAll(receiver.url)
  const stopTime = startPassingTime()
  const forwarding = forwardAll(companyIds, MESSAGES)
  const kills = { left: KILLS }
  await Promise.all(Array.from({ length: WORKERS }, () => killInTurn(kills)))
  await forwarding
  // The random kills may have met idle workers only, which may have sent everything.
  await forwardAll(companyIds, 10, MESSAGES)
  await killInAttempt(hold)
  await endLeases()
  await spawnWorker()
  await noneLeft()
  await stopTime()
  const { posts, answered } = await expectAllEnded(receiver, (MESSAGES + 10) * REGISTRATIONS)
  // Attempts that died with their worker were made again: the same number, one row.
  expect(posts).toBeGreaterThan(answered)
  console.log(`${KILLS + 1} kills interrupted ${posts - answered} attempts`)
})
