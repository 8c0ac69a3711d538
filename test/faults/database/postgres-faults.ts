import { setTimeout as sleep } from 'node:timers/promises'
import { type Fault, measureGap, type Site, times } from '../fault.ts'
import type { Plan } from '../plan.ts'
import { pauseWhileConnecting, slowHandshakes } from '../provider/provider-faults.ts'
import type { Postgres } from './postgres.ts'

const UNTIL_PROMOTED_MS = 1_500

/** The faults of a plan. Kills, restarts and promotions take two forms in turn. */
export const postgresFaults = (plan: Omit<Plan, 'seed'>): Fault<Postgres>[] => [
  ...times(plan.kills, 'kill', kill),
  ...times(plan.terminations, 'terminate', terminate),
  ...times(plan.databaseRestarts, 'restart', restart),
  ...times(plan.promotions, 'promote', promote),
  ...times(plan.rollingRestarts, 'roll', roll),
  ...times(plan.fullDisks, 'fill', fillDisk),
  ...times(plan.brokenFiles, 'break files', breakFiles),
  ...times(plan.clockSteps, 'step the clock', stepClock),
  ...times(plan.recoveryCrashes, 'crash in recovery', crashInRecovery),
  ...times(plan.slowHandshakes, 'slow handshakes', slowHandshakes),
  ...times(plan.pauses, 'pause while connecting', pauseWhileConnecting),
]

const kill = ({ stage, turn }: Site<Postgres>) => stage.processes.kill(turn % 2 === 0 ? 'api' : 'worker')

const terminate = ({ stage, random }: Site<Postgres>) => stage.database.terminate(1 + random.below(3))

const restart = ({ stage, turn }: Site<Postgres>) => stage.database.restart(turn % 2 === 0)

const roll = ({ stage }: Site<Postgres>) => stage.processes.roll()

async function fillDisk({ stage, say }: Site<Postgres>): Promise<void> {
  if (!(await stage.database.fillDisk())) say('left out: this user cannot mount a disk for the database')
}

const NO_COMPILER = 'left out: there is no C compiler for the library that tampers with the database'

async function breakFiles({ stage, say }: Site<Postgres>): Promise<void> {
  if (!(await stage.database.breakFiles())) say(NO_COMPILER)
}

const HOUR_MS = 3_600_000
/** The first one goes back across the start of a month. */
const STEPS_MS = [-24 * HOUR_MS, HOUR_MS, -HOUR_MS, 8 * 24 * HOUR_MS]
/** The processes follow the database's clock within 5 s. */
const UNTIL_FOLLOWED_MS = 6_000

/** As of a machine that sleeps: nothing runs meanwhile. What waits for a time would wait for as much longer or shorter. */
const stepClock = ({ stage, say, turn, quietly }: Site<Postgres>) =>
  quietly(async () => {
    const byMs = STEPS_MS[turn % STEPS_MS.length] ?? 0
    say(`the clock of the database goes ${byMs < 0 ? 'back' : 'ahead'} by ${Math.abs(byMs) / HOUR_MS} h`)
    if (!(await stage.database.stepClock(byMs))) return say(NO_COMPILER)
    await sleep(UNTIL_FOLLOWED_MS)
  })

const crashInRecovery = ({ stage }: Site<Postgres>) => stage.database.crashInRecovery()

async function promote(site: Site<Postgres>): Promise<void> {
  const { database } = site.stage
  const loss = site.turn % 2 === 0 ? 'freeze' : 'kill'
  await database.addStandby()
  await sleep(UNTIL_PROMOTED_MS)
  await measureGap(site, `promoted after a ${loss}`, database.promote(loss))
}
