/**
 * Compares PROCESSES=1 with other numbers, alternately: `node bench/processes.ts [--processes 1,2] [--seconds 5] [--turns 2]`.
 * Prints, for each turn, WhatsApp sends, accepted provider events, and the same events up to the end of the queue, all a
 * second with 64 in flight. Load, sandbox and database share the machine.
 */
import { Command } from 'commander'
import { inboundOrders, waitForEnd } from './inbound.ts'
import { requireCleanReport } from './load.ts'
import { sendOrder } from './send.ts'
import { setStage } from './stage.ts'

const CONCURRENCY = 64
const NUMBERS = 8

const program = new Command()
  .option('--processes <list>', 'numbers of processes', '1,2')
  .option('--seconds <n>', 'of each load', '5')
  .option('--turns <n>', 'how often each is measured', '2')
const options = program.parse().opts<{ processes: string; seconds: string; turns: string }>()
const seconds = Number(options.seconds)

for (let turn = 1; turn <= Number(options.turns); turn += 1) {
  for (const processes of options.processes.split(',')) {
    const figures = await measure(processes)
    console.log(`turn ${turn}, PROCESSES=${processes}: ${figures}`)
  }
}
process.exit()

async function measure(processes: string): Promise<string> {
  const stage = await setStage({ env: { PROCESSES: processes } })
  try {
    const company = await stage.createCompany(NUMBERS)
    await stage.operator('POST', `/companies/${company.companyId}/templates/sync`)
    const sends = sendOrder(stage, company)
    const events = inboundOrders(stage, company, '', '').service
    for (const order of [sends, events]) await stage.load.run({ ...order, concurrency: CONCURRENCY, seconds: 2 })
    await waitForEnd(stage)

    const sent = await stage.load.run({ ...sends, concurrency: CONCURRENCY, seconds })
    const startedAt = performance.now()
    const accepted = await stage.load.run({ ...events, concurrency: CONCURRENCY, seconds })
    await waitForEnd(stage)
    const elapsed = (performance.now() - startedAt) / 1_000
    requireCleanReport('sends', sent)
    requireCleanReport('events', accepted)
    const processed = accepted.answered / elapsed
    return `${whole(sent.perSecond)} sends, ${whole(accepted.perSecond)} accepted, ${whole(processed)} processed`
  } finally {
    await stage.stop()
  }
}

function whole(figure: number): string {
  return String(Math.round(figure))
}
