import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as everyTest, expect, onTestFinished } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { ADMIN_TOKEN } from '../api.ts'
import { type Cluster, missingForCluster, startCluster, withAddresses } from '../faults/patroni/cluster.ts'
import { startWriters } from '../faults/patroni/writers.ts'
import { until } from '../faults/wait.ts'
import { dataFolder, startParley } from '../parley-process.ts'
import { ROOT } from './deploy-files.ts'
import { blocksOf, commandsOf, runCommands } from './docs-commands.ts'
import { startOwnServer } from './own-server.ts'

const TIMEOUT = 3_600_000
/** Ends a run that hangs. */
const DEADLINE_MS = 1_800_000
const missing = missingForCluster()
if (missing !== undefined) console.warn(`The tests of docs/cluster.md are skipped. ${missing}`)
const test = everyTest.skipIf(missing !== undefined)

test(
  'the commands of docs/cluster.md lead from one server to a cluster, on which a switchover and a lost Patroni lose nothing',
  async () => {
    const old = await startOwnServer()
    if (old === undefined) return expect.fail('there is no PostgreSQL')
    onTestFinished(() => old.stop())
    const cluster = await startCluster()
    onTestFinished(() => cluster.stop())
    const { settings, move } = machine(old, cluster)
    move()
    const parley = await startParley(settings())
    await expectCompany(parley.address, 'before the move')

    const leader = connect(cluster.superuserUrl(), { max: 1 })
    const writers = await startWriters(
      leader,
      cluster.nodes.map((node) => cluster.superuserUrl([node])),
    )
    onTestFinished(async () => {
      await writers.stop()
      await leader.end({ timeout: 0 })
    })
    const first = await cluster.leader()
    expect(await cluster.run(first, 'state')).toMatch(/Sync Standby/)
    await cluster.run(first, 'state', 'switchover')
    await cluster.untilLedWithout(first)
    await cluster.untilWhole()
    await createCompany(parley.address, 'after the switchover')

    // Its PostgreSQL goes on, and is the one to which Parley is connected.
    const second = await cluster.leader()
    await second.run('pkill -KILL -x patroni')
    await cluster.untilLedWithout(second)
    await until(
      'the old PostgreSQL is shut down',
      () => second.run('! pgrep -x postgres').then(() => true),
      DEADLINE_MS,
    )
    await createCompany(parley.address, 'after the loss')
    await second.run('systemctl start patroni')
    await cluster.untilWhole()
    for (const name of ['before the move', 'after the switchover', 'after the loss'])
      await expectCompany(parley.address, name)
    const present = connect(cluster.superuserUrl(), { max: 1 })
    expect(await writers.countLost(present).finally(() => present.end({ timeout: 0 }))).toBe(0)
    expect(await parley.signal('SIGTERM')).toBe(0)
    const blocks = ['root-packages', 'passwords', 'configure', 'state', 'move', 'settings', 'switchover', 'restart']
    expect([...blocksOf('cluster.md').keys()]).toEqual(blocks)
  },
  TIMEOUT,
)

/** A machine of Parley with its database on one server, as docs/deploy.md leaves it. */
function machine(old: { programs: string; adminUrl: string }, cluster: Cluster) {
  const folder = dataFolder()
  const host = new URL(old.adminUrl).host
  const etc = join(folder, 'etc')
  for (const path of ['etc/parley', 'etc/cron.daily', 'path']) mkdirSync(join(folder, path), { recursive: true })
  const env = { HOME: folder, PATH: `${join(folder, 'path')}:${old.programs}:${process.env.PATH}` }
  const write = (file: string, text: string, mode = 0o600) => writeFileSync(join(folder, file), text, { mode })
  write('etc/parley/owner-password', 'old-owner')
  write('etc/cron.daily/parley-backup', `pg_dump postgres://parley_owner:x@localhost/parley\n`)
  write('passwords.env', cluster.passwords)
  write('path/systemctl', `#!/bin/sh\necho "$*" >> ${folder}/called\n`, 0o755)
  const own = {
    DATABASE_URL: `postgres://parley_runtime:old-runtime@${host}/parley`,
    MIGRATE: 'off',
    ADMIN_TOKEN,
    ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    DATA_DIR: join(folder, 'data'),
  }
  write(
    'etc/parley/parley.env',
    Object.entries(own)
      .map((entry) => `${entry.join('=')}\n`)
      .join(''),
  )
  const roles = ['-v', 'owner_password=old-owner', '-v', 'runtime_password=old-runtime']
  execFileSync(join(old.programs, 'psql'), ['-f', join(ROOT, 'deploy/roles.sql'), ...roles, old.adminUrl], {
    stdio: 'ignore',
  })
  const run = (commands: string) => runCommands(commands, folder, env)
  run(`export ENCRYPTION_KEY=${own.ENCRYPTION_KEY} ADMIN_TOKEN=${ADMIN_TOKEN} DATA_DIR=${own.DATA_DIR}
    export DATABASE_URL=postgres://parley_owner:old-owner@${host}/parley
    parley migrate; parley company create 'before the move'`)
  return {
    settings: (): Record<string, string> =>
      Object.fromEntries(
        readFileSync(join(etc, 'parley/parley.env'), 'utf8')
          .trim()
          .replaceAll("'", '')
          .split('\n')
          .map((line) => line.split(/=(.*)/s)),
      ),
    move: () => {
      const commands = withAddresses(commandsOf('cluster.md', ['move', 'settings']), cluster.nodes)
      run(
        commands
          .replaceAll('/etc/', `${etc}/`)
          .replace('@localhost/parley"\n', `@${host}/parley"\n`)
          .replaceAll('/usr/local/lib/parley/node_modules/parley', ROOT),
      )
      expect(readFileSync(join(folder, 'called'), 'utf8')).toBe('stop parley\nstart parley\n')
      const [, backup] = /@(.*)\/parley/.exec(readFileSync(join(etc, 'cron.daily/parley-backup'), 'utf8')) ?? []
      expect(backup).toBe(String(cluster.nodes.map(({ address }) => address)))
    },
  }
}

const ask = async (address: string, body?: object) => {
  const answer = await fetch(`${address}/admin/v1/companies`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  return { status: answer.status, text: await answer.text() }
}

/** Repeats it until the service reaches the new leader. */
const createCompany = (address: string, name: string) =>
  until(`a company is created ${name}`, async () => (await ask(address, { name })).status === 201, DEADLINE_MS)

async function expectCompany(address: string, name: string): Promise<void> {
  expect((await ask(address)).text).toContain(name)
}
