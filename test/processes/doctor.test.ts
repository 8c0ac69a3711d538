import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createCipher } from '../../src/secrets/secrets.ts'
import { createTestCompany } from '../api.ts'
import { createTestDatabase } from '../database.ts'
import { freePort } from '../free-port.ts'
import { dataFolder, runParley } from '../parley-process.ts'

const TIMEOUT = 300_000
const { db, url } = await createTestDatabase()

async function doctor(env: Record<string, string>) {
  const run = await runParley(env, { args: ['doctor', '--json'] })
  const code = await run.exited
  const findings: { name: string; status: string; message: string }[] = JSON.parse(run.output())
  const of = (name: string) => findings.find((one) => one.name === name)
  return { code, findings, of }
}

test(
  'parley doctor finds nothing wrong with the embedded default and ends with code 0',
  async () => {
    const DATA_DIR = dataFolder()
    const before = await doctor({ DATA_DIR })
    expect(before.code).toBe(1)
    expect(before.of('schema')).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('run parley migrate'),
    })
    for (const name of ['secrets', 'numbers']) {
      expect(before.of(name), name).toMatchObject({ status: 'skip', message: 'not checked: a check before it failed' })
    }
    const migrate = await runParley({ DATA_DIR }, { args: ['migrate'] })
    expect(await migrate.exited).toBe(0)
    const { code, findings } = await doctor({ DATA_DIR })
    expect(findings.filter(({ status }) => status !== 'ok' && status !== 'skip')).toEqual([])
    const skipped = findings.filter(({ status }) => status === 'skip')
    expect(skipped.map(({ name }) => name)).toEqual(['numbers', 'redis', 'bucket', 'mail server', 'dns', 'webhook'])
    for (const { message } of skipped) expect(message).toMatch(/^not checked: ./)
    expect(code).toBe(0)
  },
  TIMEOUT,
)

test(
  'parley doctor names each thing that is wrong, what to do, and ends with code 1',
  async () => {
    const key = randomBytes(32).toString('base64')
    const dead = await freePort()
    const companyId = await createTestCompany(db)
    const [token, place] = [createCipher([key]).encrypt('EAA-secret'), `http://127.0.0.1:${dead}`]
    await db`
    insert into senders (company_id, provider, phone_number, phone, phone_name, phone_number_id, waba_account_id, access_token, api_base_url)
    values (${companyId}, 'meta', '+44 7700 900200', '447700900200', 'Acme', '1', '2', ${token}, ${place})
  `
    const { code, findings, of } = await doctor({
      DATABASE_URL: url,
      ENCRYPTION_KEY: key,
      ADMIN_TOKEN: 'operator-token-for-tests-0123456789',
      HOST: '0.0.0.0',
      BASE_URL: 'https://nowhere.invalid',
      REDIS_URL: `redis://127.0.0.1:${dead}`,
      SMTP_URL: `smtp://127.0.0.1:${dead}`,
      MEDIA_BUCKET_URL: `http://key:secret-of-the-bucket@127.0.0.1:${dead}/media?region=eu`,
      WHATSAPP_VERIFY_TOKEN: 'verify-token',
    })
    expect(code).toBe(1)
    expect(of('https')).toMatchObject({ status: 'warn', message: expect.stringContaining('HOST=0.0.0.0') })
    expect(of('durability')).toMatchObject({ status: 'fail', message: expect.stringContaining('turn fsync') })
    expect(of('replication')).toMatchObject({ status: 'warn' })
    for (const name of ['schema', 'secrets', 'clock', 'database', 'connections', 'numbers'])
      expect(of(name)?.status, name).toBe('ok')
    const remedies = {
      redis: 'REDIS_URL',
      bucket: 'MEDIA_BUCKET_URL',
      'mail server': 'SMTP_URL',
      dns: 'BASE_URL',
      webhook: 'BASE_URL',
    }
    for (const [name, setting] of Object.entries(remedies)) {
      expect(of(name), name).toMatchObject({ status: 'fail', message: expect.stringContaining(setting) })
    }
    expect(of('number +44 7700 900200')).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('meta cannot be reached'),
    })
    expect(JSON.stringify(findings)).not.toMatch(/EAA-secret|secret-of-the-bucket|operator-token|verify-token/)
  },
  TIMEOUT,
)

test(
  'parley doctor names what it could not check of a database that does not answer',
  async () => {
    const { code, of } = await doctor({
      DATABASE_URL: `postgres://parley@127.0.0.1:${await freePort()}/parley`,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      ADMIN_TOKEN: 'operator-token-for-tests-0123456789',
      MEDIA_BUCKET_URL: `http://key:secret@127.0.0.1:${await freePort()}/media?region=eu`,
    })
    expect(code).toBe(1)
    expect(of('database')).toMatchObject({ status: 'fail' })
    for (const name of ['schema', 'secrets', 'numbers', 'disk']) expect(of(name)?.status, name).toBe('skip')
  },
  TIMEOUT,
)

test('parley doctor names every fault of the settings', async () => {
  const { code, findings } = await doctor({ PORT: '99999', ROLE: 'boss' })
  expect(code).toBe(1)
  expect(findings.map(({ name, status }) => `${name} ${status}`)).toEqual(['settings fail', 'settings fail'])
  expect(findings[0]?.message).toContain('PORT must be a whole number')
})
