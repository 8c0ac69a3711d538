import { meanOf } from '../average.ts'
import type { Bench, BenchContext } from '../bench.ts'
import { costOf, joinCosts, reasonOf } from '../cost.ts'
import { ratioFigure } from '../figure.ts'
import { type LoadOrder, requireCleanReport } from '../load.ts'
import type { PagesReport } from '../pages.ts'
import { type Company, onStage, type Stage } from '../stage.ts'
import { inboundOrder, waitForEnd } from './inbound.ts'

const PAGES = 50
const PER_SECOND = 200
const CONCURRENCY = 64
/** The least share of the ingest that is left while the pages are open. */
const LEAST = 0.95

/** The ingest of a company without and with open pages of its console, by turns: at full load, and at a steady rate. */
export const liveBench: Bench = (context) =>
  onStage(async (stage) => {
    const company = await stage.createCompany(8)
    const seconds = context.quick ? 2 : 5
    const full = { concurrency: CONCURRENCY, seconds }
    const steady = { concurrency: CONCURRENCY, perSecond: PER_SECOND, seconds }
    const measure = async (amount: Partial<LoadOrder>) => {
      const [answered, cost] = await costOf(stage, () => ingest(stage, company, amount))
      return { answered, cost }
    }
    type Turn = Awaited<ReturnType<typeof measure>>
    const turns = { alone: [] as Turn[], pages: [] as Turn[], steadyAlone: [] as Turn[], steadyPages: [] as Turn[] }
    await measure({ ...full, seconds: 2 * seconds })
    for (let round = 0; round < (context.quick ? 2 : 5); round += 1) {
      turns.steadyAlone.push(await measure(steady))
      turns.alone.push(await measure(full))
      await withPages(context, stage, company, async () => {
        turns.steadyPages.push(await measure(steady))
        turns.pages.push(await measure(full))
      })
    }
    const rateOf = (some: Turn[]) => meanOf(some.map(({ answered, cost }) => answered / cost.seconds))
    const joined = (some: Turn[]) => {
      const cost = joinCosts(some.map((turn) => turn.cost))
      const count = some.reduce((sum, { answered }) => sum + answered, 0)
      return { reason: reasonOf(cost, count), msEach: ((cost.service + cost.database) / count) * 1_000 }
    }
    const [steadyPages, steadyAlone] = [joined(turns.steadyPages), joined(turns.steadyAlone)]
    context.say(`at ${PER_SECOND}/s: ${steadyPages.reason}; without pages: ${steadyAlone.reason}`)
    const compared = (baselineValue: number) => ({ baseline: 'without pages', baselineValue })
    const goal = { atLeast: LEAST, limitedBy: joined(turns.pages).reason }
    const what = `with ${PAGES} open pages`
    const unit = 'messages/s'
    context.report(
      ratioFigure(`ingest at full load, ${what}`, rateOf(turns.pages), unit, compared(rateOf(turns.alone)), goal),
    )
    context.report(
      ratioFigure(
        `processor time of a message at ${PER_SECOND}/s, ${what}`,
        steadyPages.msEach,
        'ms',
        compared(steadyAlone.msEach),
      ),
    )
  })

/** Posts messages, and returns how many, when the last one is handled. */
async function ingest(stage: Stage, { senders }: Company, amount: Partial<LoadOrder>): Promise<number> {
  const order = { ...inboundOrder(stage, senders), concurrency: CONCURRENCY, ...amount }
  const { answered } = requireCleanReport('webhooks', await stage.load.run(order))
  await waitForEnd(stage)
  return answered
}

/** Does the work while the pages are open, and prints what they received. */
async function withPages({ say }: BenchContext, stage: Stage, { headers }: Company, work: () => Promise<void>) {
  const token = headers.authorization?.replace('Bearer ', '') ?? ''
  const pages = await stage.start('bench/pages.ts', [stage.url, token, String(PAGES)])
  await work()
  const report = (await (await fetch(pages.address)).json()) as PagesReport
  if (report.failed > 0 || report.events === 0) throw new Error(`The pages got ${JSON.stringify(report)}`)
  say(`${report.events} events (${report.resets} resets), ${report.reads} reads`)
  await pages.stop()
}
