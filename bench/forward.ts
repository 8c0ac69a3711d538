import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { meanOf } from './average.ts'
import type { Bench, BenchContext } from './bench.ts'
import { timeClaims } from './claim.ts'
import { figure, ratioFigure } from './figure.ts'
import { requireCleanReport } from './load.ts'
import { memoryFigure } from './memory.ts'
import { measureOrdered } from './ordered.ts'
import { residentMegabytes } from './process.ts'
import { perItem } from './processor-time.ts'
import type { ReceiverReport } from './receiver.ts'
import { type Company, onStage, type Stage } from './stage.ts'

const CUSTOMERS = 10_000
const NUMBERS = 8
const REGISTRATIONS = '/public/v1/webhooks/registrations'
/** As many as the service has in flight at a receiver that answers quickly. */
const BARE_CONCURRENCY = 64

const GOALS = {
  queue: {
    atLeast: 0.4,
    limitedBy:
      'Both processors are busy: a delivery takes 0.12 ms in the service and 0.10 ms in PostgreSQL, the bare post 0.04 ms.',
  },
  forwarded: {
    limitedBy:
      'Both processors are busy: a message takes 0.44 ms in the service and 0.38 ms in PostgreSQL, of which record_inbound 0.19, complete_attempts 0.06, enqueue_deliveries 0.06 and start_attempts 0.03 ms.',
  },
  rows: {
    atMost: 6,
    limitedBy:
      'Two are of the event, one each of the message, its conversation, its place in the order and the envelope, two to three of the delivery: enqueued, leased unless it is dispatched directly, completed.',
  },
  wal: {
    atMost: 3.5,
    limitedBy:
      'The envelope takes 1.3 kB, the versions of the delivery with their index entries 1.3, the event 0.7, the place in the order with five indexes 0.6, the message 0.5, the conversation 0.4 (pg_walinspect).',
  },
  halfLoad: {
    atMost: 100,
    limitedBy: 'A message waits for three commits: the event, its handling, the start of its attempt.',
  },
}

type Play = { context: BenchContext; stage: Stage; company: Company; receiverUrl: string }

/** Inbound webhook in to receiver out, signed, logged and durable, beside the bare client posting the same body. */
export const forwardBench: Bench = (context) =>
  onStage(async (stage) => {
    await stage.restart({ WEBHOOK_ALLOW_PRIVATE: 'true' })
    const { address: receiverUrl } = await stage.start('bench/receiver.ts', [])
    const company = await stage.createCompany(NUMBERS)
    const play = { context, stage, company, receiverUrl }

    const [first] = await register(play, 1)
    context.say('warming up')
    await forwardMany(play, 1, 2)
    const { lastBody: body } = await reportOf(play)
    await measureQueue(play, first ?? 0, body)
    const one = await measureEndToEnd(play, 1, body)
    await measureHalfLoad(play, 1, one / 2)
    const forward = async (seconds: number) => {
      const done = await forwardMany(play, 1, seconds)
      return done.messages / done.seconds
    }
    await measureOrdered({ context, company, url: `${stage.url}${REGISTRATIONS}/${first}`, forward })
    await register(play, 9)
    const ten = await measureEndToEnd(play, 10, body)
    await measureHalfLoad(play, 10, ten / 2)
    await measureMemory(play)
    await measureClaims(play)
  })

async function register({ company, receiverUrl, stage }: Play, count: number): Promise<number[]> {
  const ids: number[] = []
  for (let i = 0; i < count; i += 1) {
    const answer = await fetch(`${stage.url}${REGISTRATIONS}`, {
      method: 'POST',
      headers: company.headers,
      body: JSON.stringify({
        name: 'Bench',
        url: `${receiverUrl}/${i}`,
        events: ['whatsapp.message.received'],
        secret: 'a secret of the benchmark',
      }),
    })
    if (!answer.ok) throw new Error(`Registering: ${answer.status} ${await answer.text()}`)
    ids.push(((await answer.json()) as { id: number }).id)
  }
  return ids
}

const reportOf = async ({ receiverUrl }: Play): Promise<ReceiverReport> =>
  (await (await fetch(`${receiverUrl}/report`)).json()) as ReceiverReport
const reset = ({ receiverUrl }: Play) => fetch(`${receiverUrl}/reset`)

/** Waits until the receiver has got so many, and the service has written so. */
async function waitFor(play: Play, count: number): Promise<ReceiverReport> {
  const endsAt = performance.now() + 120_000
  for (;;) {
    const report = await reportOf(play)
    const [row] = await play.stage.db<{ isWaiting: boolean }[]>`
      select exists (select from deliveries where status = 'pending') as is_waiting
    `
    if (report.count >= count && row?.isWaiting === false) return report
    if (performance.now() > endsAt) throw new Error(`${report.count} of ${count} deliveries came`)
    await sleep(50)
  }
}

const bareRate = async ({ stage, receiverUrl, context }: Play, body: string): Promise<number> => {
  const headers = { 'content-type': 'application/json' }
  const order = { url: receiverUrl, method: 'POST', path: '/', headers, body, fits: 'ok' } as const
  const seconds = context.quick ? 1 : 3
  const report = await stage.load.run({ ...order, concurrency: BARE_CONCURRENCY, seconds })
  requireCleanReport('bare client', report)
  return report.perSecond
}

/** Deliveries that wait already, with nothing else to do. */
async function measureQueue(play: Play, registrationId: number, body: string): Promise<void> {
  const { context, company, stage } = play
  const count = context.quick ? 10_000 : 40_000
  const bare = [await bareRate(play, body)]
  await reset(play)
  const cpu = await stage.cpu()
  await fillQueue(play, registrationId, body, count)
  const { seconds } = await waitFor(play, count)
  context.say(`processor time per delivery: ${perItem(cpu, await stage.cpu(), count)}`)
  bare.push(await bareRate(play, body))
  const beside = { baseline: 'bare client', baselineValue: meanOf(bare) }
  context.report(ratioFigure('delivered from a full queue', count / seconds, 'deliveries/s', beside, GOALS.queue))
  const [row] = await stage.db<{ rows: number }[]>`
    select count(*)::int as rows
    from deliveries
    where company_id = ${company.companyId} and registration_id = ${registrationId} and status_code = 200
  `
  context.say(`${row?.rows} attempts are logged`)
}

async function fillQueue({ stage, company: { companyId } }: Play, id: number, body: string, count: number) {
  await stage.db.begin(async (tx) => {
    await tx`
      insert into envelopes (company_id, event_id, event, body)
      select ${companyId}, 'wamid.Q' || n, 'whatsapp.message.received', ${body} from generate_series(1, ${count}::int) as n
    `
    await tx`
      insert into deliveries (company_id, registration_id, event, event_id)
      select ${companyId}, ${id}, 'whatsapp.message.received', 'wamid.Q' || n from generate_series(1, ${count}::int) as n
    `
  })
}

/** As many events as the service accepts, until the last of them has been delivered; answers messages per second. */
async function measureEndToEnd(play: Play, registrations: number, body: string): Promise<number> {
  const { report, quick } = play.context
  const bare = [await bareRate(play, body)]
  const before = await writesOf(play)
  const { messages, seconds } = await forwardMany(play, registrations, quick ? 3 : 10)
  const after = await writesOf(play)
  bare.push(await bareRate(play, body))
  const isOne = registrations === 1
  const beside = { baseline: 'bare client', baselineValue: meanOf(bare) }
  const rate = (messages * registrations) / seconds
  report(
    ratioFigure(
      `forwarded, ${registrations} registration(s)`,
      rate,
      'forwards/s',
      beside,
      isOne ? { atLeast: 0.12, ...GOALS.forwarded } : undefined,
    ),
  )
  if (isOne)
    report(figure('forwarded, 1 registration, by itself', rate, 'forwards/s', { atLeast: 3_000, ...GOALS.forwarded }))
  const perMessage = (now: number, then: number) => (now - then) / messages
  const [rows, kilobytes] = [perMessage(after.rows, before.rows), perMessage(after.walBytes, before.walBytes) / 1_000]
  report(
    figure(`row operations per message, ${registrations} registration(s)`, rows, '', isOne ? GOALS.rows : undefined),
  )
  report(figure(`WAL per message, ${registrations} registration(s)`, kilobytes, 'kB', isOne ? GOALS.wal : undefined))
  return messages / seconds
}

/** The writes of the database so far: rows inserted, updated and deleted, and bytes of WAL. */
async function writesOf({ stage }: Play): Promise<{ rows: number; walBytes: number }> {
  // Sessions report what they did once a second, and when they are idle.
  await sleep(1_500)
  const [row] = await stage.db<[{ rows: number; walBytes: number }]>`
    select
      (select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables)::float as rows,
      (pg_current_wal_insert_lsn() - '0/0')::float as wal_bytes
  `
  return row
}

async function forwardMany(play: Play, registrations: number, seconds: number) {
  const { stage, company } = play
  await reset(play)
  const startedAtMs = performance.timeOrigin + performance.now()
  const events = await stage.load.run({
    url: stage.url,
    method: 'POST',
    path: '/public/v1/webhooks/whatsapp',
    headers: { 'content-type': 'application/json' },
    body: eventOf('{choice}', '{phone}', 'wamid.HBgL{n}'),
    phones: CUSTOMERS,
    choices: company.senders.map(({ phoneNumberId }) => phoneNumberId),
    concurrency: 32,
    seconds,
  })
  requireCleanReport('webhooks', events)
  const { lastAtMs, count } = await waitFor(play, events.answered * registrations)
  if (count !== events.answered * registrations) throw new Error(`${count} deliveries of ${events.answered} messages`)
  return { messages: events.answered, seconds: (lastAtMs - startedAtMs) / 1_000 }
}

/**
 * Posts events at a constant rate, independent of their outcome. Measures from before the post until the receiver has the
 * body.
 */
async function measureHalfLoad(play: Play, registrations: number, perSecond: number): Promise<void> {
  const { context, stage, company } = play
  await reset(play)
  const pool = new Pool(stage.url, { connections: 64 })
  const total = Math.ceil(perSecond * (context.quick ? 3 : 10))
  const posts: Promise<unknown>[] = []
  const startedAt = performance.now()
  while (posts.length < total) {
    const due = Math.min(total, ((performance.now() - startedAt) / 1_000) * perSecond)
    while (posts.length < due) {
      const n = posts.length
      const number = company.senders[n % company.senders.length]?.phoneNumberId ?? ''
      const postedAt = (performance.timeOrigin + performance.now()).toFixed(3)
      const body = eventOf(number, String(393_300_000_000 + (n % CUSTOMERS)), `wamid.T${postedAt}-${n}`)
      const headers = { 'content-type': 'application/json' }
      const answer = pool.request({ method: 'POST', path: '/public/v1/webhooks/whatsapp', headers, body })
      posts.push(answer.then(({ body }) => body.dump()))
    }
    await sleep(1)
  }
  await Promise.all(posts)
  const { p50Ms, p99Ms, maxMs } = await waitFor(play, total * registrations)
  await pool.close()
  const what = `end to end at half load, ${registrations} registration(s)`
  context.say(`${what}: ${Math.round(perSecond)} messages/s, longest ${Math.round(maxMs)} ms`)
  context.report(figure(`${what}, p50`, p50Ms, 'ms'))
  context.report(figure(`${what}, p99`, p99Ms, 'ms', GOALS.halfLoad))
}

/** Rounds of the same load: what the last leaves is compared with what the first left. */
async function measureMemory(play: Play): Promise<void> {
  const { report, quick } = play.context
  const resident: number[] = []
  for (let round = 0; round < (quick ? 4 : 10); round += 1) {
    await forwardMany(play, 10, quick ? 2 : 10)
    resident.push(residentMegabytes(play.stage.service.pid).now)
  }
  const beside = { baseline: 'after the first', baselineValue: resident[0] ?? 0 }
  const what = `resident memory after ${resident.length} rounds of load`
  report(ratioFigure(what, resident.at(-1) ?? 0, 'MB', beside, { atMost: 1.1 }))
  report(memoryFigure(play.stage.service.pid))
}

async function measureClaims({ context, stage }: Play): Promise<void> {
  const many = context.quick ? 100_000 : 1_000_000
  const few = await timeClaims(stage.db, 1_000, 1_000)
  const lots = await timeClaims(stage.db, many, 1_000)
  const beside = { baseline: '1,000 due', baselineValue: few }
  const what = `claim of 100 of ${many.toLocaleString('en-US')} due jobs over 1,000 lanes`
  context.report(ratioFigure(what, lots, 'ms', beside, { atMost: 1.5 }))
}

/** The body of a provider's webhook with one text message. */
export function eventOf(phoneNumberId: string, from: string, wamid: string): string {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const value = {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '390000000000', phone_number_id: phoneNumberId },
    contacts: [{ profile: { name: 'Ada Lovelace' }, wa_id: from }],
    messages: [{ from, id: wamid, timestamp, type: 'text', text: { body: 'Is my order ready?' } }],
  }
  const changes = [{ value, field: 'messages' }]
  return JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '200000000000001', changes }] })
}
