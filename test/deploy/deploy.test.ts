import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../../src/settings/config.ts'
import { dockerEnv, has, ROOT, read, SETTINGS } from './deploy-files.ts'

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
  const file = parse(read('compose.yaml'))
  const variables: Record<string, string> = {
    HOST_NAME: 'api.example.com',
    POSTGRES_PASSWORD: 'secret',
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

  test('closes its container and mounts files that are there', () => {
    expect(file.services.parley).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
    const mounts = Object.values<{ volumes: string[] }>(file.services).flatMap(({ volumes }) =>
      volumes.map((one) => one.split(':')[0] ?? ''),
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
