import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../../platform/clock.ts'
import { StartError } from '../../platform/start-error.ts'
import { VERSION } from '../../platform/version.ts'
import type { Db } from '../connect.ts'

/** The server notices a killed process, and a pooler a closed one, a moment later. */
const PATIENCE_MS = 10_000
const LOOK_MS = 250

/**
 * Waits a moment for other versions. Throws StartError listing them: a breaking migration would fail their requests.
 */
export async function waitUntilAlone(db: Db, name: string): Promise<void> {
  const startedAtMs = monotonicMs()
  for (;;) {
    const others = await listOtherVersions(db)
    if (others.length === 0) return
    if (monotonicMs() - startedAtMs > PATIENCE_MS) throw notAlone(name, others)
    await sleep(LOOK_MS)
  }
}

/** Must run in the migration's transaction: a process that starts afterwards finds the migration. */
export async function checkAlone(tx: Db, name: string): Promise<void> {
  const others = await listOtherVersions(tx)
  if (others.length > 0) throw notAlone(name, others)
}

const notAlone = (name: string, others: OtherProcess[]): StartError =>
  new StartError(
    `The migration ${name} breaks processes of other versions, and these are connected to the database: ` +
      `${describeProcesses(others)}. Nothing was changed. Stop them and run it again, or run parley migrate --force`,
  )

type OtherProcess = {
  /** Undefined: from before sessions had names. */
  version: string | undefined
  place: string
}

export async function listOtherVersions(db: Db): Promise<OtherProcess[]> {
  const rows = await db<{ version: string | null; process: string | null; address: string | null; sessions: number }[]>`
    with named as (
      select regexp_match(application_name, '^[^ ]+ ([0-9]+[.][0-9]+[.][0-9]+[^ ]*) ([^ ]+:[0-9]+)$') as parts,
        application_name as name, host(client_addr) as address
      from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()
    )
    select parts[1] as version, parts[2] as process, address, count(*)::int as sessions
    from named
    where parts[1] <> ${VERSION} or name = 'parley'
    group by 1, 2, 3
    order by 1 nulls first, 2, 3
  `
  return rows.map(({ version, process, address, sessions }) => ({
    version: version ?? undefined,
    place:
      process ?? `${sessions} ${sessions === 1 ? 'session' : 'sessions'}${address === null ? '' : ` from ${address}`}`,
  }))
}

/** Formats `0.1.0 or earlier (7 sessions from 10.0.0.7), 0.2.0+1a2b3c4d (web-1:4711)`. */
const describeProcesses = (processes: OtherProcess[]): string =>
  processes.map(({ version = '0.1.0 or earlier', place }) => `${version} (${place})`).join(', ')
