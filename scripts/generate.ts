// Writes what is generated from the code and the migrations: openapi.json, the types and methods of the client, the
// lists of the console, and schema.sql. With --check, says whether they are up to date.

import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { buildApp } from '../src/app.ts'
import { systemClock } from '../src/clock.ts'
import { readConfig } from '../src/config.ts'
import { connect } from '../src/db/connect.ts'
import { startEmbedded } from '../src/db/embedded/start.ts'
import { migrate } from '../src/db/migration/migrate.ts'
import { describeSchema } from '../src/db/migration/schema-store.ts'
import { openFolderBlobStore } from '../src/media/blobs/folder-blob-store.ts'
import { createCipher } from '../src/secrets/secrets.ts'
import { createMailer } from '../src/wiring/adapters.ts'
import { createDeps } from '../src/wiring/deps.ts'
import { clientSources } from './generate/client-operations.ts'
import { consoleLists } from './generate/console-lists.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
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
      mailer: createMailer(),
      blobStore: await openFolderBlobStore(join(folder, 'media'), systemClock.now()),
    }),
  )
  await app.ready()
  const openapi = await app.inject({ url: '/openapi.json' })
  await app.close()
  if (openapi.statusCode !== 200) throw new Error(`The API reference cannot be built: ${openapi.body}`)
  const client = clientSources(openapi.json())
  const files = {
    'openapi.json': `${layOut(openapi.json(), 3)}\n`,
    'client/src/generated/operations.ts': client.operations,
    'client/src/generated/schemas.ts': client.schemas,
    'console/generated/lists.ts': consoleLists(openapi.json()),
    'schema.sql': await describeSchema(db),
  }
  for (const [name, text] of Object.entries(files)) await write(name, text)
} finally {
  await db.end()
  await server.stop()
  await rm(folder, { recursive: true, force: true })
}

/** JSON with a line for each member down to `depth`, so that changes can be read and the file stays small. */
function layOut(value: unknown, depth: number): string {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, member]) => `\n${JSON.stringify(name)}:${layOut(member, depth - 1)}`,
  )
  return `{${members.join(',')}\n}`
}

async function write(name: string, text: string): Promise<void> {
  const path = join(ROOT, name)
  if (!process.argv.includes('--check')) return writeFile(path, text)
  const kept = await readFile(path, 'utf8').catch(() => '')
  if (kept === text) return
  console.error(`${name} is not what the code says: run npm run generate`)
  process.exitCode = 1
}
