import { startPostgres } from './database/postgres.ts'
import type { Say } from './fault.ts'
import { startCalls } from './load/kept-alive-calls.ts'
import { createRandom } from './random.ts'
import { onStage } from './stage.ts'

const CLIENTS = 8

/** How often all four processes are restarted in turn, and how many calls are answered at least. */
export type RollingPlan = { seed: number; rolls: number; calls: number }

export const ROLLING: Omit<RollingPlan, 'seed'> = { rolls: 5, calls: 20_000 }

/** Restarts two api and two worker processes in turn under calls on kept-alive connections. Answers how many failed. */
export async function rollUnderCalls(plan: RollingPlan, say: Say): Promise<number> {
  const size = { startDatabase: startPostgres, processesOfRole: 2, keptMessages: 0 }
  return onStage(size, createRandom(plan.seed), async (stage, undo) => {
    const { processes, companies } = stage
    const [company] = companies
    if (company === undefined) throw new Error('There is no company')
    const calls = startCalls({ addresses: processes.addresses, company, clients: CLIENTS })
    undo.push(calls.stop)
    for (let roll = 1; roll <= plan.rolls || calls.answered() < plan.calls; roll += 1) {
      await processes.roll()
      say(`${4 * roll} restarts, ${calls.answered()} calls answered`)
    }
    const { answered, moved, failures } = await calls.stop()
    for (const failure of failures) say(failure)
    say(`${answered} calls answered, ${moved} connections refused and made elsewhere, ${failures.length} failed`)
    return failures.length + processes.crashes().length
  })
}
