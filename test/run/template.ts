import { execFileSync } from 'node:child_process'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeMessageMonths } from '../../src/conversations/message-expiry-store.ts'
import { connect } from '../../src/db/connect.ts'
import { type EmbeddedServer, startEmbedded } from '../../src/db/embedded/start.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { makeDeliveryDays } from '../../src/webhooks/deliveries/delivery-days.ts'
import { checksumOf } from './checksum.ts'
import { installMirrors } from './mirrors.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CACHE = join(ROOT, 'node_modules/.cache/parley-test')
/** The template that the databases are made from. */
const SOURCES = [
  'package-lock.json',
  'migrations/*',
  'src/**/sql/*',
  'src/db/**/*',
  'src/webhooks/deliveries/*',
  'src/conversations/*month*',
  'test/run/{template,mirrors}.ts',
]

/** Nothing on a server of the tests has to survive its crash. */
const SETTINGS = {
  fsync: 'off',
  // It would look at every test file's database again and again: 13 % of the processor time of the tests.
  autovacuum: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_connections: '300',
}

/** The database that is a copy of `parley` in which every company has a mirror (mirrors.ts). */
export const MIRRORED = 'parley_mirrored'

/** A server in the folder whose databases `parley` and, with `mirrors`, `parley_mirrored` are migrated. */
export async function startTemplate(folder: string, mirrors = false): Promise<EmbeddedServer> {
  await unpackCluster(folder, mirrors)
  return startEmbedded(folder, SETTINGS)
}

/**
 * Puts such a stopped cluster into the folder. Creating a cluster and migrating it takes 1.8 s of processor time; unpacking the
 * archive of an earlier run 0.1 s. The archive's name has the day, since the migrated database has partitions of days.
 */
export async function unpackCluster(folder: string, mirrors = false): Promise<void> {
  const day = new Date().toISOString().slice(0, 10)
  const prefix = mirrors ? 'mirrored' : 'plain'
  const name = `${prefix}-${process.getuid?.() ?? 0}-${day}-${checksumOf(SOURCES)}.tar`
  try {
    tar('-x', join(CACHE, name), '-C', folder)
  } catch {
    await rm(join(folder, 'postgres'), { recursive: true, force: true })
    await createCluster(folder, mirrors)
    await keepArchive(folder, prefix, name)
  }
}

async function createCluster(folder: string, mirrors: boolean): Promise<void> {
  const server = await startEmbedded(folder, SETTINGS)
  const db = connect(server.url)
  await migrate(db)
  await makeDeliveryDays(db)
  await makeMessageMonths(db)
  await db.end()
  if (mirrors) await createMirrored(server.url)
  await server.stop()
}

async function createMirrored(templateUrl: string): Promise<void> {
  const server = connect(templateUrl.replace('/parley?', '/postgres?'), { max: 1 })
  await server.unsafe(`create database ${MIRRORED} template parley strategy file_copy`)
  await server.end()
  const db = connect(templateUrl.replace('/parley?', `/${MIRRORED}?`), { max: 1 })
  await installMirrors(db)
  await db.end()
}

/** Replaces the archives of other sources. Another run may read one of them: an open file outlives its name. */
async function keepArchive(folder: string, prefix: string, name: string): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  const unfinished = join(CACHE, `${process.pid}-${name}`)
  tar('-c', unfinished, '-C', folder, 'postgres')
  const old = (await readdir(CACHE)).filter((other) => other.startsWith(prefix) && other !== name)
  await rename(unfinished, join(CACHE, name))
  for (const other of old) await rm(join(CACHE, other), { force: true })
}

const tar = (mode: '-c' | '-x', archive: string, ...args: string[]): Buffer =>
  execFileSync('tar', [mode, '-f', archive, ...args], { stdio: 'ignore' })
