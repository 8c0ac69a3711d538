import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connect, type Pool } from '../../../src/db/connect.ts'
import { migrate } from '../../../src/db/migration/migrate.ts'
import { has } from '../../deploy/deploy-files.ts'
import { BEHIND_NGINX, startNginx } from '../../deploy/nginx.ts'
import { bundledMain } from '../../run/bundled-programs.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { total } from '../counters.ts'
import type { Fault, Say, Site } from '../fault.ts'
import { patience, strangeAnswers } from '../load/client.ts'
import { type LoadPlan, QUICK } from '../plan.ts'
import { type Ran, run } from '../run.ts'
import { ADMIN_TOKEN, type Start } from '../stage.ts'
import type { PreviousRelease } from './previous-release.ts'
import { type Reads, startReads } from './reads.ts'
import { startTwoRoles, type TwoRoles } from './two-roles.ts'

const MIGRATIONS = fileURLToPath(new URL('../../../migrations/', import.meta.url))

/** Nobody but the upgrade is in the way. */
const PATIENCE_MS = 60_000

export type UpgradePlan = LoadPlan & {
  /** How many reads are answered before and after each migration, at least. */
  readsEach: number
}
export const UPGRADE: Omit<UpgradePlan, 'seed'> = {
  ...QUICK,
  ...{ inbound: 4_000, sends: 1_000, scheduled: 200, mails: 200, readsEach: 200 },
}
export const UPGRADE_QUICK: Omit<UpgradePlan, 'seed'> = {
  ...QUICK,
  ...{ inbound: 200, sends: 40, scheduled: 10, mails: 10, readsEach: 30 },
}

export type Upgraded = Ran & { reads: Reads; strange: string[]; migrations: number; failures: number }

/**
 * Upgrades processes of the previous release under load: each migration on its own, then the functions, then the processes in
 * turn. Nothing may be lost, and nothing but the usual answers and 503 with `Retry-After` be given.
 */
export async function upgradeUnderLoad(plan: UpgradePlan, previous: PreviousRelease, say: Say): Promise<Upgraded> {
  strangeAnswers.length = 0
  patience.answerMs = PATIENCE_MS
  const reads: Reads = { answered: 0, unavailable: 0, strange: [] }
  let migrations = 0
  const upgrade: Fault<TwoRoles> = {
    name: 'upgrade',
    make: async (site) => {
      migrations = await upgradeProcesses(site, plan, previous, reads)
    },
  }
  const env = { MIGRATE: 'off', STOP_DELAY_MS: '1000', PROVIDER_TIMEOUT_MS: '30000' }
  const start: Start = has('nginx')
    ? { program: previous.main, roles: ['all'], env: { ...env, ...BEHIND_NGINX }, startProxy: startNginx }
    : { program: previous.main, roles: ['all'], env }
  const { counts, errors } = await run(plan, () => startTwoRoles(previous), [upgrade], say, start)
  const strange = [...strangeAnswers, ...reads.strange]
  return { counts, errors, reads, strange, migrations, failures: total(counts) + strange.length }
}

async function upgradeProcesses(
  { stage, say }: Site<TwoRoles>,
  { readsEach }: UpgradePlan,
  previous: PreviousRelease,
  total: Reads,
): Promise<number> {
  const { processes, companies, database } = stage
  const [company] = companies
  if (company === undefined) throw new Error('There is no company')
  const { reads, stop } = await startReads({
    folder: previous.folder,
    addresses: processes.addresses,
    company,
    adminToken: ADMIN_TOKEN,
  })
  const someReads = async () => {
    for (const until = reads.answered + readsEach; reads.answered < until; ) await sleep(20)
  }
  const owner = connect(database.ownerUrl, { max: 1 })
  try {
    await someReads()
    const names = await migrateOneByOne(owner, previous, async (name) => {
      say(`${name}: ${reads.answered} reads answered, ${reads.unavailable} times 503`)
      await someReads()
    })
    await migrate(owner)
    say('the functions are those of this version')
    await someReads()
    await processes.roll(await bundledMain())
    say('all processes are of this version')
    await someReads()
    return names
  } finally {
    await owner.end()
    Object.assign(total, await stop())
  }
}

/** Applies the pending migrations, each with the functions of the previous release. Answers how many there were. */
async function migrateOneByOne(
  owner: Pool,
  previous: PreviousRelease,
  applied: (name: string) => Promise<void>,
): Promise<number> {
  const folder = mkdtempSync(join(temporaryFolder(), 'parley-upgrade-'))
  try {
    cpSync(join(previous.folder, 'migrations'), folder, { recursive: true })
    const pending = pendingAfter(previous)
    for (const name of pending) {
      cpSync(join(MIGRATIONS, name), join(folder, name))
      await migrate(owner, { source: { migrations: folder, objects: join(previous.folder, 'src') } })
      await applied(name)
    }
    return pending.length
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * The migrations that the previous release does not have.
 *
 * @throws Error when one is breaking: then this upgrade begins with a stop
 */
export function pendingAfter(previous: PreviousRelease): string[] {
  const known = new Set(readdirSync(join(previous.folder, 'migrations')))
  const pending = readdirSync(MIGRATIONS)
    .filter((name) => name.endsWith('.sql') && !known.has(name))
    .sort()
  const breaking = pending.filter((name) => readFileSync(join(MIGRATIONS, name), 'utf8').startsWith('--! breaking'))
  if (breaking.length > 0) throw new Error(`${breaking.join(', ')} is breaking: the upgrade begins with a stop`)
  return pending
}
