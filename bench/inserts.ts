import type { BenchContext } from './bench.ts'
import { costOf, reasonOf } from './cost.ts'
import { ratioFigure } from './figure.ts'
import { joinReports, type LoadOrder, type LoadReport, requireCleanReport } from './load.ts'
import type { Stage } from './stage.ts'

export const INSERTS = 'one insert per request'

/**
 * Requests to the service by turns with those to a server that inserts each by itself and durably (bench/baseline.ts): the
 * least that any durable answer costs. Goals are shares of its rate and of its p99. Returns how many the service answered.
 */
export async function compareWithInserts(
  { context, stage }: { context: BenchContext; stage: Stage },
  { name, unit, service, insert }: { name: string; unit: string; service: LoadOrder; insert: LoadOrder },
  goals: { atLeast: number; p99AtMost?: number },
): Promise<number> {
  const reports = { service: [] as LoadReport[], insert: [] as LoadReport[] }
  const seconds = context.quick ? 1 : 3
  let limitedBy = ''
  for (let round = 0; round < 4; round += 1) {
    reports.insert.push(requireCleanReport(INSERTS, await stage.load.run({ ...insert, seconds })))
    const [report, cost] = await costOf(stage, () => stage.load.run({ ...service, seconds }))
    reports.service.push(requireCleanReport(name, report))
    limitedBy = reasonOf(cost, report.answered)
  }
  // The first round warms up.
  const [own, other] = [joinReports(reports.service.slice(1)), joinReports(reports.insert.slice(1))]
  const rate = { baseline: INSERTS, baselineValue: other.perSecond }
  context.report(ratioFigure(name, own.perSecond, unit, rate, { atLeast: goals.atLeast, limitedBy }))
  const p99 = { baseline: INSERTS, baselineValue: other.p99Ms }
  const goal = goals.p99AtMost === undefined ? undefined : { atMost: goals.p99AtMost, limitedBy }
  context.report(ratioFigure(`${name}, p99`, own.p99Ms, 'ms', p99, goal))
  return joinReports(reports.service).answered
}
