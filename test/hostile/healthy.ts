import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { busySeconds, cpuSeconds } from '../../bench/process.ts'
import { type Measured, PROCESSOR_SHARES, QUIET, type Shares, type Tally } from './tally.ts'
import { connectCompany, type World } from './world.ts'

export type HealthyTask = {
  url: string
  /** The key of its server. */
  authorization: string
  /** Its number, and the secret with which the provider signs events for it. */
  phoneNumberId: string
  secret: string
  /** Where its server and its provider call from. */
  serverAddress: string
  providerAddress: string
  /** Repeats what an overloaded service refuses; see `patient`. */
  isPatient: boolean
  probeFile: string
}
export type HealthyReport = { ms: number[]; refused: string[]; disk: number }

/** A call is due so often. */
export const INTERVAL_MS = 25
/** The addresses of the healthy company's server and of its provider; no attack comes from them. */
const SERVER_ADDRESS = '127.0.0.9'
const PROVIDER_ADDRESS = '127.0.0.13'
const SECRET = 'the-app-secret-of-the-healthy'
/** Calls before those that are measured: the first compile code, fill caches and open connections; later ones end what an attack left. */
const WARM_UP_MS = 1_500

/** A company that has nothing to do with the attacks, and calls the service during each of them. */
export type HealthyCompany = {
  /** Measures its calls without an attack. */
  measureQuiet(calls: number): Promise<Measured>
  /** Measures its calls during an attack, which begins again until so many calls were due. A call that is refused is counted. */
  underAttack(name: string, calls: number, attack: () => Promise<void>): Promise<Measured>
  stop(): Promise<void>
}

export async function createHealthyCompany(
  { stage }: World,
  tally: Tally,
  { isPatient }: Pick<HealthyTask, 'isPatient'>,
): Promise<HealthyCompany> {
  const { companyId, headers, sender } = await connectCompany(stage)
  await stage.operator('PATCH', `/companies/${companyId}/senders/${sender.id}`, { appSecret: SECRET })
  const task: HealthyTask = {
    url: stage.url,
    authorization: headers.authorization ?? '',
    phoneNumberId: sender.phoneNumberId,
    secret: SECRET,
    serverAddress: SERVER_ADDRESS,
    providerAddress: PROVIDER_ADDRESS,
    isPatient,
    probeFile: join(stage.folder, 'disk-probe'),
  }
  // A process of its own keeps its priority, and shares no garbage collector with the attackers.
  const caller = fork(fileURLToPath(new URL('./healthy-calls.ts', import.meta.url)), [JSON.stringify(task)], {
    execArgv: [],
  })

  const whileCalling = async (
    work: () => Promise<unknown>,
  ): Promise<{ ms: number[]; refused: string[]; shares: Shares }> => {
    const sharesOf = await startShares(stage, caller.pid ?? 0)
    caller.send('start')
    const reported = once(caller, 'message')
    try {
      await work()
    } finally {
      caller.send('stop')
    }
    const [report]: HealthyReport[] = await reported
    if (report === undefined) throw new Error('The process of the healthy calls gave no report')
    const { disk, ...calls } = report
    return { ...calls, shares: { ...(await sharesOf()), disk } }
  }
  return {
    measureQuiet: async (calls) => {
      await whileCalling(() => sleep(WARM_UP_MS))
      const { ms, shares } = await whileCalling(() => sleep(calls * INTERVAL_MS))
      return { name: QUIET, ms, ...shares }
    },
    underAttack: async (name, calls, attack) => {
      const report = await whileCalling(async () => {
        const startedAt = performance.now()
        do await attack()
        while (performance.now() - startedAt < calls * INTERVAL_MS)
      })
      tally.requests += report.ms.length + report.refused.length
      for (const refusal of report.refused) tally.add('healthy calls refused', `during ${name}: ${refusal}`)
      return { name, ms: report.ms, ...report.shares }
    },
    stop: async () => {
      const ended = once(caller, 'exit')
      caller.disconnect()
      await ended
    },
  }
}

/** Begins to measure; the function that it returns ends it. */
async function startShares(
  { service: { pid }, sandboxPid, cpu }: World['stage'],
  caller: number,
): Promise<() => Promise<Omit<Shares, 'disk'>>> {
  const read = async () => {
    const { service, database } = await cpu()
    const own = service + database + cpuSeconds(process.pid, caller, sandboxPid)
    return {
      measured: performance.now(),
      ...scheduledMs(pid),
      database: database * 1_000,
      others: (busySeconds() - own) * 1_000,
    }
  }
  const before = await read()
  return async () => {
    const after = await read()
    for (const share of PROCESSOR_SHARES) after[share] -= before[share]
    return after
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
