import { cp, mkdtemp, rm } from 'node:fs/promises'
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
    /** A folder with a stopped cluster, `postgres`, whose database is migrated. Empty but in the project `process`. */
    clusterFolder: string
  }
}

/** Nothing on this server has to survive its crash. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_connections: '300',
}

/** One real PostgreSQL for the run of a project, without fsync, in a folder that goes with it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'))
  let server = await startEmbedded(folder, SETTINGS)
  const db = connect(server.url)
  await migrate(db)
  await makeDeliveryDays(db)
  await db.end()
  const cluster = join(folder, 'cluster')
  if (project.name === 'process') {
    await server.stop()
    await cp(join(folder, 'postgres'), join(cluster, 'postgres'), { recursive: true })
    server = await startEmbedded(folder, SETTINGS)
  }
  project.provide('databaseUrl', server.url)
  project.provide('clusterFolder', cluster)
  return async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
