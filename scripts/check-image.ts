// Checks that the steps of the Dockerfile make a service that runs unprivileged on a read-only file system: runs them without a
// container runtime (scripts/run-dockerfile.mjs), starts the result on a database of its own, asks it, and stops it.
//   npm run image-check
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../bench/free-port.ts'
import { connect } from '../src/db/connect.ts'
import { startEmbedded } from '../src/db/embedded.ts'
import { VERSION } from '../src/version.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'parley-image-'))
const database = await startEmbedded(join(folder, 'database'), {
  listen_addresses: '127.0.0.1',
  port: String(await freePort()),
})
try {
  chmodSync(folder, 0o755)
  const started = performance.now()
  await check(await openToLoopback(), String(await freePort()))
  console.log(`The image is right; it took ${Math.round((performance.now() - started) / 1000)} s`)
} finally {
  await database.stop()
  spawnSync('chmod', ['-R', 'u+w', folder])
  rmSync(folder, { recursive: true, force: true })
}

/** The user of the image may not read the folder of the database's socket. */
async function openToLoopback(): Promise<string> {
  const rules = join(folder, 'database/postgres/pg_hba.conf')
  writeFileSync(rules, `host all all 127.0.0.1/32 trust\n${readFileSync(rules, 'utf8')}`)
  const db = connect(database.url, { max: 1 })
  await db`select pg_reload_conf()`
  await db.end()
  const { port } = new URL(database.url)
  return `postgres://parley@127.0.0.1:${port}/parley`
}

async function check(databaseUrl: string, port: string): Promise<void> {
  const image = spawn(process.execPath, [
    join(ROOT, 'scripts/run-dockerfile.mjs'),
    join(folder, 'image'),
    `DATABASE_URL=${databaseUrl}`,
    `ENCRYPTION_KEY=${Buffer.alloc(32).toString('base64')}`,
    'ADMIN_TOKEN=operator-token-for-tests-0123456789',
    `PORT=${port}`,
    'HOST=127.0.0.1',
  ])
  const exited = once(image, 'exit')
  try {
    await listening(image.stdout, image.stderr, exited)
    const health = await (await fetch(`http://127.0.0.1:${port}/healthz`)).json()
    assert.deepEqual(health, { status: 'ok', version: VERSION })
    assert.equal(healthcheck(port), 0, 'HEALTHCHECK fails on a service that is ready')
    assert.equal(healthcheck(String(await freePort())), 1, 'HEALTHCHECK passes without a service')
    image.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null], 'SIGTERM does not end the service in order')
  } finally {
    image.kill('SIGKILL')
  }
}

/** Resolves when the service of the image listens. The output of the steps is shown meanwhile. */
async function listening(
  stdout: NodeJS.ReadableStream,
  stderr: NodeJS.ReadableStream,
  exited: Promise<unknown>,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let output = ''
  for (const stream of [stdout, stderr]) {
    stream.on('data', (chunk) => {
      process.stderr.write(chunk)
      output += String(chunk)
      if (output.includes('Parley listens on')) resolve()
    })
  }
  await Promise.race([promise, exited.then(() => assert.fail('The image ended before it listened'))])
}

/** The exit code of the Dockerfile's HEALTHCHECK for a service on this port. */
function healthcheck(port: string): number | null {
  const command = /HEALTHCHECK [\s\S]*?CMD (.*)/.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))?.[1] ?? ''
  return spawnSync('sh', ['-c', command], { env: { PATH: process.env.PATH, PORT: port } }).status
}
