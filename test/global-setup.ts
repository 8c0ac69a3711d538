import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { connect } from '../src/db/connect.ts'
import { startEmbedded } from '../src/db/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { makeDeliveryDays } from '../src/webhooks/delivery-day-store.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the test server's database `parley`: migrated, never written, cloned by each test file. */
    databaseUrl: string
  }
}

/** One real PostgreSQL for the whole run, without fsync, in a folder that goes with it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'))
  const server = await startEmbedded(folder, { fsync: 'off', synchronous_commit: 'off', max_connections: '300' })
  const db = connect(server.url)
  await migrate(db)
  await makeDeliveryDays(db)
  await db.end()
  project.provide('databaseUrl', server.url)
  return async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
