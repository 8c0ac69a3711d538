import { meanOf } from '../average.ts'
import { benchOf, type Context } from '../bench.ts'
import { byTurns } from '../by-turns.ts'
import { costOf, reasonOf, sumOf } from '../cost.ts'
import { JOURNEYS } from '../journeys.ts'
import type { PagesReport } from '../pages.ts'
import type { Company, Stage } from '../stage.ts'

const PAGES = 50

type Play = Context & { stage: Stage; company: Company }

/** The ingest of a company without and with open pages of its console, by turns. */
export const liveBench = benchOf<Play>(
  async (context) => {
    const stage = await context.setStage()
    const play = { ...context, stage, company: await stage.createCompany(8) }
    await JOURNEYS['events handled'](play, { seconds: 4 })
    return play
  },
  { ingest: measure },
)

async function measure(play: Play): Promise<void> {
  const load = { seconds: play.quick ? 2 : 4 }
  const run = () => costOf(play.stage, () => JOURNEYS['events handled'](play, load))
  const kinds = ['alone', 'pages'] as const
  const turns = await byTurns(kinds, (kind) => (kind === 'alone' ? run() : withPages(play, run)), play.quick ? 2 : 4)
  const rateOf = (kind: keyof typeof turns) => meanOf(turns[kind].map(([{ count }, { seconds }]) => count / seconds))
  const count = turns.pages.reduce((sum, [some]) => sum + some.count, 0)
  const reason = reasonOf(sumOf(turns.pages.map(([, cost]) => cost)), count)
  const than = { 'no pages': rateOf('alone') }
  play.report({
    name: `ingest with ${PAGES} open pages`,
    value: rateOf('pages'),
    unit: '/s',
    than,
    atLeast: 0.95,
    reason,
  })
}

/** Does the work while the pages are open, and prints what they received. */
async function withPages<T>({ say, stage, company }: Play, work: () => Promise<T>): Promise<T> {
  const token = company.headers.authorization?.replace('Bearer ', '') ?? ''
  const pages = await stage.start('bench/pages.ts', [stage.url, token, String(PAGES)])
  const done = await work()
  const report = (await (await fetch(pages.address)).json()) as PagesReport
  if (report.failed > 0 || report.events === 0) throw new Error(`The pages got ${JSON.stringify(report)}`)
  say(`${report.events} events (${report.resets} resets), ${report.reads} reads`)
  await pages.stop()
  return done
}
