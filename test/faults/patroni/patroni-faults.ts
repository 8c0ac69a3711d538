import { setTimeout as sleep } from 'node:timers/promises'
import { type Fault, measureGap, type Site, times } from '../fault.ts'
import type { LoadPlan } from '../plan.ts'
import { until } from '../wait.ts'
import type { Node } from './cluster.ts'
import type { PatroniDatabase } from './patroni-database.ts'

/** How often each fault is made to a cluster. */
export type PatroniPlan = LoadPlan & {
  /** Of the leader, in the forms of LOSSES by turns. */
  losses: number
  switchovers: number
  standbysAway: number
  etcdAway: number
  /** How long a standby, and etcd, are away. */
  awayMs: number
}

/** `ttl` in deploy/patroni/patroni.yml, and what the promotion and reconnecting may take. */
const LONGEST_GAP_MS = 20_000 + 6_000

const COMMON = { processesOfRole: 2, switchovers: 1, standbysAway: 1, etcdAway: 1, answersEarly: false }
export const PATRONI: Omit<PatroniPlan, 'seed'> = {
  ...COMMON,
  losses: 10,
  awayMs: 60_000,
  ...{ inbound: 5_000, sends: 500, scheduled: 200, mails: 200, longestGapMs: LONGEST_GAP_MS },
}
/** Each fault once. */
export const PATRONI_QUICK: Omit<PatroniPlan, 'seed'> = {
  ...COMMON,
  losses: 4,
  awayMs: 30_000,
  ...{ inbound: 400, sends: 60, scheduled: 30, mails: 30, longestGapMs: LONGEST_GAP_MS },
}

export const patroniFaults = (plan: Omit<PatroniPlan, 'seed'>): Fault<PatroniDatabase>[] => [
  ...times(plan.losses, 'lose the leader', loseLeader),
  ...times(plan.switchovers, 'switch over', switchOver),
  ...times(plan.standbysAway, 'standby away', (site: Site<PatroniDatabase>) => loseStandby(site, plan.awayMs)),
  ...times(plan.etcdAway, 'etcd away', (site: Site<PatroniDatabase>) => stopEtcd(site, plan.awayMs)),
]

const startServices = ({ run }: Node) => run('systemctl start etcd; systemctl start patroni')

/** How a leader is lost, and comes back after another one leads. */
const LOSSES = [
  { form: 'kill', lose: ({ signal }: Node) => signal('KILL'), restore: startServices },
  { form: 'freeze', lose: ({ signal }: Node) => signal('STOP'), restore: ({ signal }: Node) => signal('CONT') },
  {
    form: 'split of the network',
    lose: ({ connect }: Node) => connect(false),
    restore: ({ connect }: Node) => connect(true),
  },
  {
    form: 'kill of its Patroni alone',
    lose: ({ run }: Node) => run('pkill -KILL -x patroni'),
    restore: async ({ run, name }: Node) => {
      await until(`the PostgreSQL of ${name} is shut down`, () => run('! pgrep -x postgres').then(() => true))
      await run('systemctl start patroni')
    },
  },
] as const

async function loseLeader(site: Site<PatroniDatabase>): Promise<void> {
  const { cluster } = site.stage.database
  const leader = await cluster.leader()
  const { form, lose, restore } = LOSSES[site.turn % LOSSES.length] ?? LOSSES[0]
  const lost = lose(leader).then(() => cluster.untilLedWithout(leader))
  await measureGap(site, `leader lost by a ${form}`, lost)
  await restore(leader)
  await cluster.untilWhole()
}

async function switchOver(site: Site<PatroniDatabase>): Promise<void> {
  const { cluster } = site.stage.database
  const leader = await cluster.leader()
  const switched = cluster.run(leader, 'state', 'switchover').then(() => cluster.untilLedWithout(leader))
  await measureGap(site, 'switchover', switched)
  await cluster.untilWhole()
}

async function loseStandby(site: Site<PatroniDatabase>, awayMs: number): Promise<void> {
  const { cluster } = site.stage.database
  const standby = await cluster.synchronousStandby()
  const away = standby.signal('KILL').then(() => sleep(awayMs))
  await measureGap(site, `synchronous standby away for ${awayMs / 1_000} s`, away)
  await startServices(standby)
  await cluster.untilWhole()
}

async function stopEtcd(site: Site<PatroniDatabase>, awayMs: number): Promise<void> {
  const { cluster } = site.stage.database
  const stopped = Promise.all(cluster.nodes.map(({ run }) => run('systemctl stop etcd'))).then(() => sleep(awayMs))
  await measureGap(site, `etcd away for ${awayMs / 1_000} s`, stopped)
  await Promise.all(cluster.nodes.map(startServices))
  await cluster.untilWhole()
}
