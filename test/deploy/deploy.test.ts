import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../../src/platform/settings/config.ts'
import { dockerEnv, has, ROOT, read, SETTINGS } from './deploy-files.ts'
import { startOwnServer } from './own-server.ts'

test.skipIf(!has('systemd-analyze'))('deploy/parley.service is valid and closed', () => {
  const unit = join(ROOT, 'deploy/parley.service')
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' })
  expect(verified.stderr.split('\n').filter((line) => line.includes('parley.service'))).toEqual([])
  const rated = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit], {
    encoding: 'utf8',
  })
  expect(rated.status, rated.stdout).toBe(0)
})

test('the settings of deploy/parley.service are those of Parley', () => {
  const names = /^Environment=(.*)$/m.exec(read('deploy/parley.service'))?.[1]?.match(/\w+(?==)/g) ?? []
  expect(names.filter((name) => !SETTINGS.has(name))).toEqual(['NODE_ENV', 'NODE_COMPILE_CACHE'])
})

describe('compose.yaml', () => {
  const file = parse(read('compose.yaml'), { merge: true })
  const variables: Record<string, string> = {
    HOST_NAME: 'api.example.com',
    POSTGRES_PASSWORD: 'secret',
    OWNER_PASSWORD: 'owner-secret',
    RUNTIME_PASSWORD: 'runtime-secret',
    METRICS_TOKEN: 'a-token-of-16-or-more',
    ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    ADMIN_TOKEN: 'a'.repeat(64),
  }
  const fill = (value: string) => value.replaceAll(/\$\{(\w+)(?::\?|:-)?\}/g, (_, name) => variables[name] ?? '')
  const envOf = (service: string) =>
    Object.fromEntries(
      Object.entries<string>(file.services[service].environment).map(([name, value]) => [name, fill(value)]),
    )

  test('gives Parley valid settings that let requests of the proxy in', () => {
    const env = envOf('parley')
    expect(Object.keys(env).filter((name) => !SETTINGS.has(name))).toEqual([])
    const config = readConfig({ ...env, ...dockerEnv() })
    expect(config).toMatchObject({
      host: '0.0.0.0',
      plainHttp: 'reject',
      baseUrl: 'https://api.example.com',
      sandbox: false,
    })
    expect(config.trustProxy).toEqual([file.networks.default.ipam.config[0].subnet])
  })

  test('runs the service as a role that cannot change the schema, once its owner has migrated', () => {
    const userOf = (service: string) => new URL(envOf(service).DATABASE_URL ?? '').username
    expect([userOf('migrate'), userOf('parley')]).toEqual(['parley_owner', 'parley_runtime'])
    expect(readConfig({ ...envOf('parley'), ...dockerEnv() }).migrate).toBe(false)
    expect(file.services.parley.depends_on).toEqual({ migrate: { condition: 'service_completed_successfully' } })
    expect(file.services.migrate.command).toEqual(['migrate'])
  })

  test('its roles are made by the script of the database', async (context) => {
    const server = await startOwnServer()
    if (server === undefined) return context.skip('this machine has no PostgreSQL server with pg_dump')
    const { hostname, port, username, password } = new URL(server.adminUrl)
    const run = () =>
      spawnSync('sh', [join(ROOT, 'deploy/create-roles.sh')], {
        encoding: 'utf8',
        env: {
          PATH: `${server.programs}:${process.env.PATH}`,
          ...{ PGHOST: hostname, PGPORT: port, PGPASSWORD: password, POSTGRES_USER: username },
          ...{ OWNER_PASSWORD: 'owner-secret', RUNTIME_PASSWORD: 'runtime-secret' },
          ROLES_FILE: join(ROOT, 'deploy/roles.sql'),
        },
      })
    try {
      for (const _ of ['first', 'again']) {
        const { status, stderr } = run()
        expect(status, stderr).toBe(0)
      }
    } finally {
      await server.stop()
    }
  })

  test('pins each image to a minor version', () => {
    const images = [
      ...Object.values<{ image: string }>(file.services).map(({ image }) => image),
      ...[...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image),
    ]
    for (const image of images) expect(image).toMatch(/:\d+\.\d+/)
  })

  test('closes its container and mounts files that are there', () => {
    expect(file.services.parley).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
    const mounts = Object.values<{ volumes?: string[] }>(file.services).flatMap(({ volumes }) =>
      (volumes ?? []).map((one) => one.split(':')[0] ?? ''),
    )
    for (const mount of mounts) {
      if (mount.startsWith('./')) expect(read(mount).length).toBeGreaterThan(0)
      else expect(Object.keys(file.volumes)).toContain(mount)
    }
    expect(envOf('proxy').UPSTREAM).toBe(`parley:${dockerEnv().PORT}`)
  })
})

test('deploy/ holds nothing that no test reads', () => {
  const tests = globSync(['{src,test}/**/*.test.ts', 'test/**/*.ts'], { cwd: ROOT }).map(read).join('\n')
  const files = globSync('deploy/*.*', { cwd: ROOT })
  expect(files.length).toBeGreaterThan(4)
  // A title or an error text that names the file reads nothing.
  const isRead = (file: string) =>
    new RegExp(`(?:read|file|join|URL)\\([^)\n]*${file.replaceAll('.', '\\.')}'`).test(tests)
  expect(files.filter((file) => !isRead(file))).toEqual([])
})
