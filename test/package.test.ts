import { execFileSync, spawn } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, realpathSync, statSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../bench/free-port.ts'
import { VERSION } from '../src/version.ts'
import { dataFolder, until } from './parley-process.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MEGABYTE = 1024 * 1024

/** A cache of its own that knows the packages of the machine's, so that the test hardly downloads. */
function npmCache(folder: string): string {
  const cache = join(folder, 'npm')
  mkdirSync(cache)
  const known = join(process.env.npm_config_cache ?? join(homedir(), '.npm'), '_cacache')
  if (existsSync(known)) symlinkSync(known, join(cache, '_cacache'))
  return cache
}

/** Bytes of what a server needs of an installation: its packages but the optional ones. */
function serverBytes(modules: string): number {
  const { packages } = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8'))
  const optional = Object.keys(packages).filter((name) => packages[name].optional)
  const isOptional = (path: string) => optional.some((name) => `node_modules/${path}`.startsWith(`${name}/`))
  return globSync('**', { cwd: modules })
    .filter((path) => !isOptional(path))
    .reduce((sum, path) => sum + sizeOf(join(modules, path)), 0)
}

function sizeOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  return found?.isFile() ? found.size : 0
}

test('npx runs the packed service on a machine with nothing but Node 24', async () => {
  const folder = dataFolder()
  const cache = npmCache(folder)
  execFileSync('npm', ['pack', '--pack-destination', folder, '--loglevel=error'], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [port, sandboxPort] = [await freePort(), await freePort()]
  const npx = spawn('npx', ['--yes', '--prefer-offline', '--no-audit', `./parley-${VERSION}.tgz`, 'start'], {
    cwd: folder,
    detached: true,
    env: {
      PATH: `${dirname(realpathSync(process.execPath))}:${process.env.PATH}`,
      HOME: folder,
      npm_config_cache: cache,
      PORT: String(port),
      SANDBOX_PORT: String(sandboxPort),
    },
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
    150_000,
  )

  const address = `http://127.0.0.1:${port}`
  expect(await (await fetch(`${address}/healthz`)).json()).toEqual({ status: 'ok', version: VERSION })
  expect((await fetch(`${address}/readyz`)).status).toBe(200)
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

  const [modules = ''] = globSync(join(cache, '_npx/*/node_modules'))
  expect(existsSync(join(modules, 'patch-package'))).toBe(false)
  expect(globSync('parley/**/*.ts', { cwd: modules })).toEqual([])
  expect(serverBytes(modules) / MEGABYTE).toBeLessThan(120)
}, 240_000)
