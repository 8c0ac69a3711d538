import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../free-port.ts'
import { dataFolder, startParley } from '../parley-process.ts'
import { has, ROOT } from './deploy-files.ts'
import { blocksOf, runCommands } from './docs-commands.ts'
import { startOwnServer } from './own-server.ts'

const TIMEOUT = 300_000
const blocks = blocksOf('deploy.md')
const block = (name: string): string => blocks.get(name) ?? expect.fail(`docs/deploy.md has no block ${name}`)
/**
 * These need the network beyond packages, the package (test/deploy/package.test.ts installs it with this block), a cluster of the
 * operating system, in place of which the block `place` is run, or one of Kubernetes.
 */
const ELSEWHERE = ['root-node', 'root-install', 'root-place', 'kubernetes']
const IN_ORDER = ['files', 'place', 'database', 'settings', 'migrate', 'ready', 'backup', 'alerts']

/** Where the page installs the package. */
const INSTALLED = '/usr/local/lib/parley/node_modules'

/** A folder with the package as the page installs it. */
function machine() {
  const folder = dataFolder()
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  symlinkSync(ROOT, join(modules, 'parley'))
  return { folder, modules, env: { HOME: folder } }
}

test(
  'the commands of docs/deploy.md lead to a running service with backups and alerts',
  async (context) => {
    const server = await startOwnServer()
    if (server === undefined) return context.skip('this machine has no PostgreSQL server with pg_dump')
    onTestFinished(() => server.stop())
    const { folder, modules, env } = machine()
    const [port, data] = [String(await freePort()), join(folder, 'data')]
    const host = new URL(server.adminUrl).host
    const own = {
      ...env,
      PATH: `${server.programs}:${process.env.PATH}`,
      ADMIN_URL: server.adminUrl,
    }
    const run = (name: string, more: Record<string, string> = {}) =>
      runCommands(
        `${block('files')}\n${block('place')}\n${block(name)}`
          .replaceAll('db.example.com', host)
          .replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)
          .replaceAll(INSTALLED, modules)
          .replaceAll('/var/lib/parley', data)
          .replaceAll('@localhost/', `@${host}/`)
          .replaceAll(/\/(etc\/(parley|cron.daily)|var\/backups)\//g, `${folder}/$1/`),
        folder,
        { ...own, ...more },
      )
    run('database')
    run('settings')
    expect(run('migrate')).toContain('The schema is up to date')
    const lines = readFileSync(join(folder, 'parley.env'), 'utf8').trim().split('\n')
    const settings = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s))) as Record<string, string>
    const parley = await startParley({ ...settings, PORT: port })
    expect(run('ready')).toContain('{"status":"ok"}')
    for (const path of ['etc/parley', 'etc/cron.daily', 'var/backups'])
      mkdirSync(join(folder, path), { recursive: true })
    run('backup')
    expect(readdirSync(join(folder, 'var/backups/parley')).map((name) => name.replace(/^[0-9-]+/, ''))).toEqual([
      'media.tar.gz',
      '.dump',
    ])
    const token = { METRICS_TOKEN: settings.METRICS_TOKEN ?? '' }
    if (has('promtool')) expect(run('alerts', token)).toContain('parley_build_info{version=')
    expect(await parley.signal('SIGTERM')).toBe(0)
    expect([...blocks.keys()].filter((name) => !name.startsWith('root-') && !ELSEWHERE.includes(name))).toEqual(
      IN_ORDER,
    )
  },
  TIMEOUT,
)

const isRoot = process.getuid?.() === 0
const canOverlay =
  isRoot &&
  spawnSync('unshare', ['--mount', 'sh', '-c', 'mount -t tmpfs none /mnt']).status === 0 &&
  has('nginx') &&
  has('systemd-analyze')

/** Changes to these folders are seen by the commands alone and are gone afterwards. */
const PRIVATE = ['etc', 'usr/local', 'var']

test.skipIf(!canOverlay)('the commands of docs/deploy.md that need root set up the unit and the proxy', () => {
  const { folder, modules, env } = machine()
  const shims = join(folder, 'shims')
  mkdirSync(shims)
  const certificate = '/etc/letsencrypt/live/api.example.com'
  const programs = {
    // There is no systemd to talk to, and no network for a certificate.
    systemctl: 'echo "systemctl $*" >> "$HOME/called"',
    certbot: `mkdir -p ${certificate}; openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=api.example.com -keyout ${certificate}/privkey.pem -out ${certificate}/fullchain.pem 2>/dev/null`,
  }
  for (const [name, text] of Object.entries(programs))
    writeFileSync(join(shims, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  writeFileSync(join(folder, 'parley.env'), 'MIGRATE=off\n')
  const mounts = PRIVATE.map((path) => {
    const upper = join(folder, path.replace('/', '-'))
    return `mkdir -p ${upper} ${upper}.work; mount -t overlay overlay -o lowerdir=/${path},upperdir=${upper},workdir=${upper}.work /${path}`
  })
  const checks = [
    'stat -c "%a %U:%G" /etc/parley/parley.env',
    'systemd-analyze verify --man=no /etc/systemd/system/parley.service 2>&1 | grep parley.service || true',
    'ls /etc/nginx/conf.d/parley.conf',
  ]
  const commands = [
    ...mounts,
    `export PATH=${shims}:$PATH`,
    block('files').replaceAll(INSTALLED, modules),
    block('root-unit'),
    block('root-certificate'),
    ...checks,
  ]
  const script = join(folder, 'commands.sh')
  writeFileSync(script, commands.join('\n'))
  const output = runCommands(`unshare --mount bash -eu ${script}`, folder, env)
  expect(output).toContain('640 root:parley\n/etc/nginx/conf.d/parley.conf')
  expect(readFileSync(join(folder, 'called'), 'utf8')).toBe(
    'systemctl daemon-reload\nsystemctl enable --now parley\nsystemctl reload nginx\n',
  )
  const covered = ['root-packages', 'root-unit', 'root-certificate', ...ELSEWHERE]
  expect([...blocks.keys()].filter((name) => name.startsWith('root-') && !covered.includes(name))).toEqual([])
})

test.skipIf(!isRoot || !has('apt-get')).each(['deploy.md', 'cluster.md'])(
  'the packages of docs/%s are Debian’s',
  (page) => {
    const commands = blocksOf(page).get('root-packages') ?? ''
    const [, packages = ''] = / install --yes (.*)/.exec(commands) ?? []
    const names = packages.split(' ')
    expect(names.length).toBeGreaterThan(3)
    const { stdout } = spawnSync('apt-cache', ['policy', ...names], { encoding: 'utf8' })
    for (const name of names) expect(stdout).toContain(`${name}:\n`)
  },
)

test('the kustomizations that the page applies exist', () => {
  const folders = [...block('kubernetes').matchAll(/apply -k (\S+)/g)].map(([, folder = '']) => folder)
  expect(folders).toHaveLength(3)
  for (const folder of folders) expect(readdirSync(join(ROOT, folder))).toContain('kustomization.yaml')
})
