import { cp, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { connect } from '../src/db/connect.ts'
import { type EmbeddedServer, startEmbedded } from '../src/db/embedded/start.ts'
import { migrate } from '../src/db/migration/migrate.ts'
import { makeDeliveryDays } from '../src/webhooks/deliveries/delivery-day-store.ts'
import { browserPath } from './browser.ts'
import { installMirrors } from './mirrors.ts'
import { openRunFolder } from './run-folder.ts'
import { temporaryFolder } from './temporary-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the test server's database `parley`: migrated, never written, cloned by each test file. */
    databaseUrl: string
    /** A folder with a stopped cluster, `postgres`, whose database is migrated. Empty but in the project `process`. */
    clusterFolder: string
    /** The database that test files clone for mirrors: in the project `database` the copy with them, otherwise `parley`. */
    template: string
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
  await openRunFolder()
  const folder = await mkdtemp(join(temporaryFolder(), 'parley-test-'))
  let server = await startTemplate(folder)
  const cluster = join(folder, 'cluster')
  if (project.name === 'process') {
    await browserPath()
    await server.stop()
    await cp(join(folder, 'postgres'), join(cluster, 'postgres'), { recursive: true })
    server = await startEmbedded(folder, SETTINGS)
  }
  project.provide('databaseUrl', server.url)
  project.provide('clusterFolder', cluster)
  project.provide('template', project.name === 'database' ? await createMirrored(server.url) : 'parley')
  return async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** A server in the folder whose database `parley` is migrated. */
export async function startTemplate(folder: string): Promise<EmbeddedServer> {
  const server = await startEmbedded(folder, SETTINGS)
  const db = connect(server.url)
  await migrate(db)
  await makeDeliveryDays(db)
  await db.end()
  return server
}

/** A copy of the template in which every company has a mirror (mirrors.ts). */
async function createMirrored(templateUrl: string): Promise<string> {
  const name = 'parley_mirrored'
  const server = connect(templateUrl.replace('/parley?', '/postgres?'), { max: 1 })
  await server.unsafe(`create database ${name} template parley strategy file_copy`)
  await server.end()
  const db = connect(templateUrl.replace('/parley?', `/${name}?`), { max: 1 })
  await installMirrors(db)
  await db.end()
  return name
}
