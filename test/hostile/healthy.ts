import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Shares, Tally } from './tally.ts'
import type { World } from './world.ts'

export type HealthyTask = { url: string; token: string; localAddress: string }
export type HealthyReport = { ms: number[]; refused: string[] }

/** A call is due so often. */
export const INTERVAL_MS = 15
/** The address of the healthy company's server; no attack comes from it. */
const LOCAL_ADDRESS = '127.0.0.9'
const WARM_UP_MS = 1_500

/** A company that has nothing to do with the attacks, and calls the service during each of them. */
export type HealthyCompany = {
  /** Measures its calls before any attack. */
  measureQuiet(calls: number): Promise<void>
  /**
   * Measures its calls during an attack, which begins again until so many calls were due. A call that is refused is counted.
   * An attack that is repeated has a first round without measurement, like the quiet calls.
   */
  underAttack(name: string, calls: number, attack: (round: number) => Promise<void>): Promise<void>
  stop(): Promise<void>
}

export function createHealthyCompany({ stage, healthyToken }: World, tally: Tally): HealthyCompany {
  const workerData: HealthyTask = { url: stage.url, token: healthyToken, localAddress: LOCAL_ADDRESS }
  const worker = new Worker(new URL('./healthy-calls.ts', import.meta.url), { workerData })

  const whileCalling = async (work: () => Promise<unknown>): Promise<HealthyReport & { shares: Shares }> => {
    const sharesOf = await startShares(stage)
    worker.postMessage('start')
    const reported = once(worker, 'message')
    try {
      await work()
    } finally {
      worker.postMessage('stop')
    }
    const [report]: HealthyReport[] = await reported
    if (report === undefined) throw new Error('The worker of the healthy calls gave no report')
    return { ...report, shares: await sharesOf() }
  }
  return {
    measureQuiet: async (calls) => {
      // The first calls compile code, fill caches and open connections.
      await whileCalling(() => sleep(WARM_UP_MS))
      const { ms, shares } = await whileCalling(() => sleep(calls * INTERVAL_MS))
      tally.addLatency('no attack', ms, shares)
    },
    underAttack: async (name, calls, attack) => {
      let round = 0
      if (calls > 0) await attack(round++)
      const report = await whileCalling(async () => {
        const startedAt = performance.now()
        do await attack(round++)
        while (performance.now() - startedAt < calls * INTERVAL_MS)
      })
      tally.requests += report.ms.length + report.refused.length
      tally.addLatency(name, report.ms, report.shares)
      for (const refusal of report.refused) tally.add('healthy calls refused', `during ${name}: ${refusal}`)
    },
    stop: async () => void (await worker.terminate()),
  }
}

/** Begins to measure; the function that it returns ends it. */
async function startShares({ service: { pid }, cpu }: World['stage']): Promise<() => Promise<Shares>> {
  const read = async () => ({ ms: performance.now(), ...scheduledMs(pid), database: (await cpu()).database })
  const before = await read()
  return async () => {
    const after = await read()
    const ms = after.ms - before.ms
    return {
      ran: (after.ran - before.ran) / ms,
      waited: (after.waited - before.waited) / ms,
      database: ((after.database - before.database) * 1_000) / ms,
    }
  }
}

/** Milliseconds that the first thread of a process has run, and has waited for a processor; 0 where the system does not count it. */
function scheduledMs(pid: number): { ran: number; waited: number } {
  try {
    const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number)
    return { ran: ran / 1e6, waited: waited / 1e6 }
  } catch {
    return { ran: 0, waited: 0 }
  }
}
