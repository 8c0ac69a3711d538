import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Tally } from './tally.ts'
import type { World } from './world.ts'

export type HealthyTask = { url: string; token: string; localAddress: string }
export type HealthyReport = { ms: number[]; refused: string[] }

/** The address of the healthy company's server; no attack comes from it. */
const LOCAL_ADDRESS = '127.0.0.9'
const QUIET_MS = 3_000
const WARM_UP_MS = 1_000

/** Measures a company's calls before any attack. */
export async function measureQuiet(world: World, tally: Tally): Promise<void> {
  // The first calls compile code and fill caches.
  await whileCalling(world, () => sleep(WARM_UP_MS))
  const report = await whileCalling(world, () => sleep(QUIET_MS))
  tally.addLatency('no attack', report.ms)
}

/** Runs an attack while a company that has nothing to do with it calls the service. A call that is refused is counted. */
export async function underAttack(
  world: World,
  tally: Tally,
  name: string,
  attack: () => Promise<void>,
): Promise<void> {
  const report = await whileCalling(world, attack)
  tally.requests += report.ms.length + report.refused.length
  tally.addLatency(name, report.ms)
  for (const refusal of report.refused) tally.add('healthy calls refused', `during ${name}: ${refusal}`)
}

async function whileCalling({ stage, healthyToken }: World, work: () => Promise<unknown>): Promise<HealthyReport> {
  const workerData: HealthyTask = { url: stage.url, token: healthyToken, localAddress: LOCAL_ADDRESS }
  const worker = new Worker(new URL('./healthy-calls.ts', import.meta.url), { workerData })
  const reported = once(worker, 'message')
  try {
    await work()
  } finally {
    worker.postMessage('stop')
  }
  const [report]: HealthyReport[] = await reported
  if (report === undefined) throw new Error('The worker of the healthy calls ended without a report')
  return report
}
