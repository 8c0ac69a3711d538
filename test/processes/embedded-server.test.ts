import { renameSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { processesOn, queryEmbedded, readyFolder, startParley, untilGone, untilReady } from '../parley-process.ts'

const TIMEOUT = 300_000

/** A running Parley on a folder that an earlier run has written its log in, with a table in its database. */
async function startWithTable() {
  const folder = await readyFolder()
  writeFileSync(join(folder, 'postgres.log'), 'x'.repeat(100_000))
  const parley = await startParley({ DATA_DIR: folder })
  await queryEmbedded(folder, 'create table kept as select 42 as answer')
  return { folder, parley }
}

async function expectTable(folder: string): Promise<void> {
  expect(await queryEmbedded(folder, 'select answer from kept')).toEqual([{ answer: 42 }])
}

/** Ends the processes on the folder that the pattern names, as kill -9 does. */
function killOn(folder: string, pattern: RegExp): void {
  for (const { pid, command } of processesOn(folder)) if (pattern.test(command)) process.kill(pid, 'SIGKILL')
}

test(
  'after kill -9 the server goes by itself, and a start at once has the data',
  async () => {
    const { folder, parley } = await startWithTable()
    await parley.signal('SIGKILL')
    const second = await startParley({ DATA_DIR: folder })
    await expectTable(folder)
    await second.signal('SIGKILL')
    await untilGone(folder)
  },
  TIMEOUT,
)

test(
  'a server whose process and keeper were killed is replaced by the next start',
  async () => {
    const { folder, parley } = await startWithTable()
    killOn(folder, /parley-keeper/)
    await parley.signal('SIGKILL')
    const second = await startParley({ DATA_DIR: folder })
    await expectTable(folder)
    expect(await second.signal('SIGTERM')).toBe(0)
    expect(processesOn(folder)).toEqual([])
  },
  TIMEOUT,
)

test(
  'a server that is killed under us ends the process with code 1, and the next start recovers',
  async () => {
    const { folder, parley } = await startWithTable()
    killOn(folder, /^\S*bin\/postgres -D/)
    expect(await parley.exited).toBe(1)
    expect(parley.output()).toContain('PostgreSQL ended')
    const second = await startParley({ DATA_DIR: folder })
    await expectTable(folder)
    expect(await second.signal('SIGTERM')).toBe(0)
  },
  TIMEOUT,
)

test.each([
  ['', () => {}],
  [', also when its log was cut', (folder: string) => truncateSync(join(folder, 'postgres.log'))],
])(
  'a server of which one process crashes is started again%s',
  async (_when, cutLog) => {
    const { folder, parley } = await startWithTable()
    cutLog(folder)
    const statement = "select pid from pg_stat_activity where backend_type = 'client backend' limit 1"
    const [backend] = await queryEmbedded(folder, statement)
    process.kill(Number(backend?.pid), 'SIGSEGV')
    await parley.says('database.restarted')
    expect(parley.output()).toContain('database.crashed')
    await untilReady(parley.address)
    await expectTable(folder)
    expect(await parley.signal('SIGTERM')).toBe(0)
  },
  TIMEOUT,
)

test(
  'a server that cannot recover is started again and again, while Parley answers 503',
  async () => {
    const { folder, parley } = await startWithTable()
    const control = join(folder, 'postgres/global/pg_control')
    const statement = "select pid from pg_stat_activity where backend_type = 'client backend' limit 1"
    const [backend] = await queryEmbedded(folder, statement)
    renameSync(control, `${control}.away`)
    process.kill(Number(backend?.pid), 'SIGSEGV')
    await parley.says('database.not_restarted')
    expect((await fetch(`${parley.address}/readyz`)).status).toBe(503)
    // Two further attempts, a second and two later.
    await new Promise((done) => setTimeout(done, 5_000))
    renameSync(`${control}.away`, control)
    await parley.says('database.restarted')
    expect(parley.output().match(/database\.(crashed|not_restarted)/g)).toEqual([
      'database.crashed',
      'database.not_restarted',
    ])
    await untilReady(parley.address)
    await expectTable(folder)
    expect(await parley.signal('SIGTERM')).toBe(0)
  },
  TIMEOUT,
)
