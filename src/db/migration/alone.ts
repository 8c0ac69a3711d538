import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../../platform/clock.ts'
import { StartError } from '../../platform/start-error.ts'
import type { Db } from '../connect.ts'
import { describeProcesses, listOtherVersions, type OtherProcess } from './other-versions.ts'

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
