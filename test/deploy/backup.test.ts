import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { dataFolder, startParley } from '../parley-process.ts'
import { blocksOf, runCommands } from './docs-commands.ts'
import { type OwnServer, startOwnServer } from './own-server.ts'

const TIMEOUT = 300_000
const blocks = blocksOf('backup.md')
const used = new Set<string>()

function run(name: string, folder: string, env: Record<string, string>): string {
  used.add(name)
  const commands = blocks.get(name) ?? expect.fail(`docs/backup.md has no block ${name}`)
  return runCommands(commands.replaceAll('/etc/', join(folder, 'etc/')), folder, env)
}

/** The operator's API of a running service. */
async function admin(address: string, token: string, path: string, body?: object) {
  const response = await fetch(`${address}/admin/v1${path}`, {
    method: body === undefined ? 'GET' : 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  expect(response.status).toBe(200)
  return response.json()
}

/** A working folder as the page assumes: the data folder and `deploy`. */
function workFolder() {
  const folder = dataFolder()
  symlinkSync(fileURLToPath(new URL('../../deploy', import.meta.url)), join(folder, 'deploy'))
  return { folder, data: join(folder, 'data'), backup: join(folder, 'backup') }
}

function urlsOf({ adminUrl, programs }: OwnServer) {
  const as = (role: string) => adminUrl.replace(/\/\/.*@(.*)\/postgres$/, `//parley_${role}:${role}-secret@$1/parley`)
  const passwords = { OWNER_PASSWORD: 'owner-secret', RUNTIME_PASSWORD: 'runtime-secret' }
  const path = `${programs}:${process.env.PATH}`
  return { ADMIN_URL: adminUrl, OWNER_URL: as('owner'), RUNTIME_URL: as('runtime'), PATH: path, ...passwords }
}

const ROLES =
  'psql -q -v ON_ERROR_STOP=1 -v owner_password="$OWNER_PASSWORD" -v runtime_password="$RUNTIME_PASSWORD" -f deploy/roles.sql "$ADMIN_URL"'

test(
  'the steps of docs/backup.md keep data and secrets: embedded, moved to a server, backed up and restored there',
  async (context) => {
    const { folder, data, backup } = workFolder()
    const first = await startParley({ DATA_DIR: data, SANDBOX: 'off' })
    const token = readFileSync(join(data, 'admin-token'), 'utf8').trim()
    const company = await fetch(`${first.address}/admin/v1/companies`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"name":"Acme"}',
    })
    const { id } = (await company.json()) as { id: number }
    const settings = { from: 'shop@example.com', smtpUrl: 'smtp://user:word@mail.example.com' }
    await admin(first.address, token, `/companies/${id}/email-settings`, settings)
    await first.signal('SIGTERM')

    const env = { DATA_DIR: data, BACKUP: backup, HOME: folder }
    run('embedded-backup', folder, env)
    rmSync(join(data, 'postgres'), { recursive: true })
    run('embedded-restore', folder, env)

    const server = await startOwnServer()
    if (server === undefined) {
      const again = await startParley({ DATA_DIR: data, SANDBOX: 'off' })
      expect(await admin(again.address, token, '/companies')).toMatchObject([{ id, name: 'Acme' }])
      return context.skip('this machine has no PostgreSQL server with pg_dump')
    }
    onTestFinished(() => server.stop())
    const urls = urlsOf(server)
    runCommands(ROLES, folder, urls)
    const output = run('export', folder, { ...env, ...urls })
    expect(output).toMatch(/^Copied [1-9][0-9]* rows of [0-9]+ tables\.$/m)

    const moved = (blocks.get('after-export') ?? '').replace('parley start', 'env -0')
    used.add('after-export')
    const lines = runCommands(moved, folder, { ...env, ...urls }).split('\0')
    const started = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s))) as Record<string, string>
    expect(started.DATABASE_URL).toBe(urls.RUNTIME_URL)
    const second = await startParley({ ...pick(started), DATA_DIR: data })
    expect(await admin(second.address, token, '/companies')).toMatchObject([{ id, name: 'Acme' }])

    mkdirSync(join(data, 'media'), { recursive: true })
    run('own-backup', folder, { ...env, ...urls })
    await second.signal('SIGTERM')
    const db = connect(server.adminUrl, { max: 1 })
    for (const statement of ['database parley', 'role parley_owner', 'role parley_runtime'])
      await db.unsafe(`drop ${statement}`)
    await db.end()
    const keys = { ENCRYPTION_KEY: started.ENCRYPTION_KEY ?? '', ADMIN_TOKEN: token }
    mkdirSync(join(folder, 'etc/parley'), { recursive: true })
    const file = Object.entries(keys).map(([key, value]) => `${key}=${value}\n`)
    writeFileSync(join(folder, 'etc/parley/parley.env'), file.join(''))
    run('own-restore', folder, { ...env, ...urls })
    const third = await startParley({ ...pick(started), DATA_DIR: data })
    expect(await admin(third.address, token, '/companies')).toMatchObject([{ id, name: 'Acme' }])
    expect(await third.signal('SIGTERM')).toBe(0)
    // test/deploy/package.test.ts runs the others, with packages.
    const others = ['install', 'upgrade', 'upgrade-stopped', 'roll-back', 'roll-back-restart', 'roll-back-restore']
    expect([...blocks.keys()].filter((name) => !used.has(name))).toEqual(others)
  },
  TIMEOUT,
)

const SETTINGS = ['DATABASE_URL', 'MIGRATE', 'SANDBOX', 'ENCRYPTION_KEY', 'ADMIN_TOKEN']
const pick = (env: Record<string, string>): Record<string, string> =>
  Object.fromEntries(SETTINGS.map((name) => [name, env[name] ?? '']))
