import { meanOf } from './average.ts'
import type { BenchContext } from './bench.ts'
import { ratioFigure } from './figure.ts'
import type { Company } from './stage.ts'

const TURNS = [false, true, true, false]

type Forwarding = {
  context: BenchContext
  company: Company
  /** Of the registration. */
  url: string
  /** Messages that were forwarded in a second. */
  forward(seconds: number): Promise<number>
}

/** The cost of `ordered`: the same load to one registration, with and without it by turns. */
export async function measureOrdered({ context, company, url, forward }: Forwarding): Promise<void> {
  const [ordered, unordered]: [number[], number[]] = [[], []]
  for (const isOrdered of TURNS) {
    const body = JSON.stringify({ ordered: isOrdered })
    const answer = await fetch(url, { method: 'PUT', headers: company.headers, body })
    if (!answer.ok) throw new Error(`Updating: ${answer.status} ${await answer.text()}`)
    ;(isOrdered ? ordered : unordered).push(await forward(context.quick ? 2 : 5))
  }
  const beside = { baseline: 'not ordered', baselineValue: meanOf(unordered) }
  context.report(ratioFigure('forwarded in order of conversations', meanOf(ordered), 'forwards/s', beside))
}
