import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { buildApp } from '../../src/app.ts'
import { connect } from '../../src/db/connect.ts'
import { startEmbedded } from '../../src/db/embedded/start.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { openFolderBlobStore } from '../../src/media/blobs/folder-blob-store.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { NO_PROXIES } from '../../src/platform/outgoing/proxies.ts'
import { readConfig } from '../../src/platform/settings/config.ts'
import { createCipher } from '../../src/secrets/secrets.ts'
import { createMailer } from '../../src/wiring/adapters.ts'
import { createDeps } from '../../src/wiring/deps.ts'
import { clientSources } from './client-operations.ts'
import { consoleLists } from './console-lists.ts'
import { describeSchema } from './schema.ts'

/** The files that are made of the running service and its database. */
export async function contractFiles(): Promise<Record<string, string>> {
  const key = randomBytes(32).toString('base64')
  const folder = await mkdtemp(join(tmpdir(), 'parley-generate-'))
  const server = await startEmbedded(folder, { fsync: 'off' })
  const db = connect(server.url)
  try {
    await migrate(db)
    const app = await buildApp(
      createDeps({
        config: readConfig({ ENCRYPTION_KEY: key }),
        db,
        workerDb: db,
        log: pino({ level: 'silent' }),
        clock: systemClock,
        cipher: createCipher([key]),
        providers: {},
        mailer: createMailer({ proxies: NO_PROXIES }),
        blobStore: await openFolderBlobStore(join(folder, 'media')),
      }),
    )
    await app.ready()
    const openapi = await app.inject({ url: '/openapi.json' })
    await app.close()
    if (openapi.statusCode !== 200) throw new Error(`The API reference cannot be built: ${openapi.body}`)
    const client = clientSources(openapi.json())
    return {
      'openapi.json': `${layOut(openapi.json(), 3)}\n`,
      'client/src/generated/operations.ts': client.operations,
      'client/src/generated/schemas.ts': client.schemas,
      'console/generated/lists.ts': consoleLists(openapi.json()),
      'schema.sql': await describeSchema(db),
    }
  } finally {
    await db.end()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** JSON with a line for each member down to `depth`, so that changes can be read and the file stays small. */
function layOut(value: unknown, depth: number): string {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, member]) => `\n${JSON.stringify(name)}:${layOut(member, depth - 1)}`,
  )
  return `{${members.join(',')}\n}`
}
