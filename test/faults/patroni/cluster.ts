import { globSync } from 'node:fs'
import { join } from 'node:path'
import { has, ROOT } from '../../deploy/deploy-files.ts'
import { commandsOf } from '../../deploy/docs-commands.ts'
import { until } from '../wait.ts'
import { canMakeMachines, type Machine, type Machines, startMachines } from './machines.ts'

const NODES = 3
/** Ends a run that hangs. */
const DEADLINE_MS = 1_800_000
const STATE_TIMEOUT_MS = 3_000
/** Patroni 3.0 leaves a standby `starting` that began while there was no leader; the page says what to do. */
const STUCK_MS = 60_000
const FILES = ['patroni.yml', 'fence.sh', 'configure.sh'].map((name) => `deploy/patroni/${name}`)

/** A server as Patroni shows it. */
type Member = { name: string; role: 'leader' | 'sync_standby' | 'replica'; state: string; timeline?: number }

export type Node = Machine & { name: string }

/** Three servers that were set up with the commands of docs/cluster.md. */
export type Cluster = {
  nodes: Node[]
  /** The passwords of the page, as its commands read them. */
  passwords: string
  /** An address as the page has it, of all servers or of one. */
  url(user: string, password: string, database: string, nodes?: Node[]): string
  superuserUrl(nodes?: Node[]): string
  leader(): Promise<Node>
  synchronousStandby(): Promise<Node>
  /** Waits until another than this one is the leader. */
  untilLedWithout(lost: Node): Promise<void>
  /** Waits until all three run, one of them as the synchronous standby. */
  untilWhole(): Promise<void>
  /** Commands of the page on one server. */
  run(node: Node, ...blocks: string[]): Promise<string>
  stop(): Promise<void>
}

/** The program that this machine lacks for a cluster; undefined when it has all. */
export function missingForCluster(): string | undefined {
  const missing = ['patroni', 'etcd', 'psql', 'ip', 'nsenter'].filter((program) => !has(program))
  if (missing.length > 0) return `Not installed: ${missing.join(', ')}`
  if (globSync('/usr/lib/postgresql/*/bin/initdb').length === 0) return 'Not installed: postgresql'
  return canMakeMachines() ? undefined : 'This user cannot make namespaces'
}

export async function startCluster(): Promise<Cluster> {
  const { machines, stop } = await startMachines(NODES)
  const nodes = machines.map((machine, index) => ({ ...machine, name: `db${index + 1}` }))
  try {
    const cluster = await setUp(nodes, stop)
    await cluster.untilWhole()
    return cluster
  } catch (error) {
    await stop()
    throw error
  }
}

async function setUp(nodes: Node[], stop: Machines['stop']): Promise<Cluster> {
  const page = (...blocks: string[]) => withAddresses(commandsOf('cluster.md', blocks), nodes)
  const [first] = nodes
  if (first === undefined) throw new Error('There are no servers')
  await Promise.all(nodes.map(({ run }) => run(`cp ${FILES.map((file) => join(ROOT, file)).join(' ')} .`)))
  await first.run(page('passwords'))
  const passwords = await first.run('cat passwords.env')
  for (const [index, { run }] of nodes.entries()) {
    await run(`cat > passwords.env <<'END'\n${passwords}END`)
    await run(page('configure').replace('NUMBER=1', `NUMBER=${index + 1}`))
  }
  const url: Cluster['url'] = (user, password, database, of = nodes) =>
    `postgres://${user}:${password}@${of.map(({ address }) => address)}/${database}?target_session_attrs=read-write`
  const password = /^PATRONI_SUPERUSER_PASSWORD=(.*)$/m.exec(passwords)?.[1] ?? ''
  const withRole = async (role: Member['role'], members = stateOf(nodes)) => {
    const member = (await members).find((one) => one.role === role && runs(one))
    const node = nodes.find(({ name }) => name === member?.name)
    if (node === undefined) throw new Error(`No server is ${role}`)
    return node
  }
  return {
    nodes,
    passwords,
    url,
    superuserUrl: (of) => url('postgres', password, 'postgres', of),
    leader: () => withRole('leader'),
    synchronousStandby: () => withRole('sync_standby'),
    untilLedWithout: (lost) => {
      const others = nodes.filter((node) => node !== lost)
      const isLed = async () => others.includes(await withRole('leader', stateOf(others)))
      return until(`another server than ${lost.name} leads`, isLed, DEADLINE_MS)
    },
    untilWhole: () => untilWhole(nodes),
    run: (node, ...blocks) => node.run(page(...blocks)),
    stop,
  }
}

/** The page with the addresses of these servers. */
export const withAddresses = (commands: string, nodes: Node[]): string =>
  nodes.reduce((text, { address }, index) => text.replaceAll(`10.0.0.${index + 1}`, address), commands)

/** The state of all servers, by the first one that answers. */
const stateOf = (nodes: Node[]): Promise<Member[]> => Promise.any(nodes.map(stateBy))

/** The state of all servers as one of them knows it: one that was split off does not know of a new leader at first. */
async function stateBy({ address }: Node): Promise<Member[]> {
  const answer = await fetch(`http://${address}:8008/cluster`, { signal: AbortSignal.timeout(STATE_TIMEOUT_MS) })
  const cluster = (await answer.json()) as { members: Member[] }
  return cluster.members
}

async function untilWhole(nodes: Node[]): Promise<void> {
  const startingSinceMs = new Map<string, number>()
  const look = async () => {
    const members = await stateOf(nodes)
    const nowMs = performance.now()
    for (const { name, state } of members) {
      const sinceMs = state === 'starting' ? (startingSinceMs.get(name) ?? nowMs) : nowMs
      startingSinceMs.set(name, sinceMs)
      if (nowMs - sinceMs < STUCK_MS) continue
      startingSinceMs.set(name, nowMs)
      await nodes.find((node) => node.name === name)?.run(commandsOf('cluster.md', ['restart']))
    }
    return isWhole(await Promise.all(nodes.map(stateBy)))
  }
  await until('all servers run', look, DEADLINE_MS)
}

/** Later versions of Patroni call a standby `streaming`. */
const runs = ({ state }: Member): boolean => ['running', 'streaming'].includes(state)

/** Every server runs, and all know the same leader and the same synchronous standby. */
const isWhole = (states: Member[][]): boolean =>
  states.every(isComplete) &&
  new Set(
    states.map((members) =>
      members
        .map(({ name, role }) => `${name} ${role}`)
        .sort()
        .join(),
    ),
  ).size === 1

const isComplete = (members: Member[]): boolean =>
  members.length === NODES &&
  members.every(runs) &&
  new Set(members.map(({ timeline }) => timeline)).size === 1 &&
  new Set(members.map(({ role }) => role)).size === NODES
