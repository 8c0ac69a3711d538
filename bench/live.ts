import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { medianOf } from './average.ts'
import type { Bench, BenchContext } from './bench.ts'
import { figure, ratioFigure } from './figure.ts'
import { inboundOrders, waitForEnd } from './inbound.ts'
import { type LoadOrder, requireCleanReport } from './load.ts'
import type { PagesReport } from './pages.ts'
import type { ProcessorTime } from './processor-time.ts'
import { type Company, onStage, type Stage } from './stage.ts'

const PAGES = 100
const NUMBERS = 8
const CONCURRENCY = 64
const STEADY_PER_SECOND = 200
/** The least share of the ingest with the pages open. */
const GOAL = 0.95

type Order = Omit<LoadOrder, 'concurrency'>
type Turn = { perSecond: number; serviceMs: number; databaseMs: number }

/** The ingest of a company without and with 100 open pages, alternately, at full load and at a steady rate. */
export const liveBench: Bench = (context) =>
  onStage(async (stage) => {
    const { quick, report } = context
    const company = await stage.createCompany(NUMBERS)
    const order = inboundOrders(stage, company, '', '').service
    context.say('warming up')
    await stage.load.run({ ...order, concurrency: CONCURRENCY, seconds: quick ? 2 : 4 })
    await waitForEnd(stage)
    const turns = { none: [] as Turn[], pages: [] as Turn[] }
    const steady = { none: [] as Turn[], pages: [] as Turn[] }
    for (let round = 0; round < (quick ? 2 : 5); round += 1) {
      steady.none.push(await ingestSteadily(stage, order, quick ? 2 : 4))
      turns.none.push(await ingest(stage, order, quick ? 2 : 5))
      await withPages(context, stage, company, async () => {
        steady.pages.push(await ingestSteadily(stage, order, quick ? 2 : 4))
        turns.pages.push(await ingest(stage, order, quick ? 2 : 5))
      })
    }
    const beside = (of: (turn: Turn) => number, some: Turn[]) => ({
      baseline: 'with none',
      baselineValue: medianOf(some.map(of)),
    })
    const rate = ({ perSecond }: Turn) => perSecond
    const ms = ({ serviceMs, databaseMs }: Turn) => serviceMs + databaseMs
    const what = `with ${PAGES} open pages`
    const baseline = beside(rate, turns.none)
    report(
      ratioFigure(`ingest at full load, ${what}`, medianOf(turns.pages.map(rate)), 'messages/s', baseline, {
        atLeast: GOAL,
      }),
    )
    report(
      ratioFigure(
        `processor time per message at ${STEADY_PER_SECOND}/s, ${what}`,
        medianOf(steady.pages.map(ms)),
        'ms',
        beside(ms, steady.none),
      ),
    )
    report(figure('the same, of the service alone', medianOf(steady.pages.map(({ serviceMs }) => serviceMs)), 'ms'))
  })

/** As fast as the service takes and handles them, to the end of the queue. */
async function ingest(stage: Stage, order: Order, seconds: number): Promise<Turn> {
  const startedAt = performance.now()
  const cpu = await stage.cpu()
  const accepted = await stage.load.run({ ...order, concurrency: CONCURRENCY, seconds })
  requireCleanReport('webhooks', accepted)
  await waitForEnd(stage)
  return turnOf(stage, accepted.answered, startedAt, cpu)
}

async function ingestSteadily(stage: Stage, order: Order, seconds: number): Promise<Turn> {
  const startedAt = performance.now()
  const cpu = await stage.cpu()
  const perTick = STEADY_PER_SECOND / 20
  let answered = 0
  for (let tick = 0; tick < seconds * 20; tick += 1) {
    const next = sleep(50)
    const accepted = await stage.load.run({ ...order, concurrency: perTick, requests: perTick })
    requireCleanReport('webhooks', accepted)
    answered += accepted.answered
    await next
  }
  await waitForEnd(stage)
  return turnOf(stage, answered, startedAt, cpu)
}

async function turnOf(stage: Stage, answered: number, startedAt: number, cpu: ProcessorTime) {
  const seconds = (performance.now() - startedAt) / 1_000
  const used = await stage.cpu()
  const each = (now: number, then: number) => ((now - then) / answered) * 1_000
  return {
    perSecond: answered / seconds,
    serviceMs: each(used.service, cpu.service),
    databaseMs: each(used.database, cpu.database),
  }
}

/** Does the work while the pages are open, and prints how much they received. */
async function withPages({ say }: BenchContext, stage: Stage, { headers }: Company, work: () => Promise<void>) {
  const token = headers.authorization?.replace('Bearer ', '') ?? ''
  const pages = await stage.start('bench/pages.ts', [stage.url, token, String(PAGES)])
  const read = async (): Promise<PagesReport> =>
    JSON.parse(await request(pages.address).then(({ body }) => body.text()))
  const before = await read()
  await work()
  const after = await read()
  if (after.failed > 0 || after.events === before.events) throw new Error(`The pages got ${JSON.stringify(after)}`)
  const { events, resets, megabytes, reads, refused } = after
  say(
    `${events} events (${resets} resets), ${megabytes.toFixed(0)} MB, ${reads - before.reads} reads, ${refused} refused`,
  )
  await pages.stop()
}
