import { setTimeout as sleep } from 'node:timers/promises'
import { type Fault, measureGap, type Site, times } from '../fault.ts'
import type { Plan } from '../plan.ts'
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
]

const kill = ({ stage, turn }: Site<Postgres>) => stage.processes.kill(turn % 2 === 0 ? 'api' : 'worker')

const terminate = ({ stage, random }: Site<Postgres>) => stage.database.terminate(1 + random.below(3))

const restart = ({ stage, turn }: Site<Postgres>) => stage.database.restart(turn % 2 === 0)

const roll = ({ stage }: Site<Postgres>) => stage.processes.roll()

async function fillDisk({ stage, say }: Site<Postgres>): Promise<void> {
  if (!(await stage.database.fillDisk())) say('left out: this user cannot mount a disk for the database')
}

async function promote(site: Site<Postgres>): Promise<void> {
  const { database } = site.stage
  const loss = site.turn % 2 === 0 ? 'freeze' : 'kill'
  await database.addStandby()
  await sleep(UNTIL_PROMOTED_MS)
  await measureGap(site, `promoted after a ${loss}`, database.promote(loss))
}
