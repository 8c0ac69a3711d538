// Writes test/fixtures/baselines/<version>.sql: a filled database of this version, from which later ones test their migrations.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '../src/db/connect.ts'
import { startEmbedded } from '../src/db/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { VERSION } from '../src/version.ts'
import { BASELINES, dumpBaseline, fillTables } from '../test/baseline.ts'

const folder = await mkdtemp(join(tmpdir(), 'parley-baseline-'))
const server = await startEmbedded(folder, { fsync: 'off' })
const db = connect(server.url)
try {
  await migrate(db)
  await fillTables(db)
  await mkdir(BASELINES, { recursive: true })
  await writeFile(join(BASELINES, `${VERSION}.sql`), await dumpBaseline(db), { flag: 'wx' })
} finally {
  await db.end()
  await server.stop()
  await rm(folder, { recursive: true, force: true })
}
