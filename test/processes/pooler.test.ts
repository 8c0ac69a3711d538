import { randomInt } from 'node:crypto'
import { describe, test as everyTest, expect, onTestFinished } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { markPooler } from '../../src/db/pooler.ts'
import { ADMIN_TOKEN } from '../api.ts'
import { openKeyStream } from '../conversations/live-stream.ts'
import { createTestDatabase } from '../database.ts'
import { freePort } from '../free-port.ts'
import { dataFolder, runParley, startParley } from '../parley-process.ts'
import { eventually } from '../service.ts'
import { poolerVersion, startPooler } from './pooler.ts'

const TIMEOUT = 300_000
const version = poolerVersion()
if (version === undefined) console.warn('The tests of poolers are skipped: there is no pgbouncer here')
const test = everyTest.skipIf(version === undefined)
const { db, url } = await createTestDatabase()

const MODES = ['session', 'transaction'] as const
const WARNING = 'DATABASE_URL leads to a pooler in transaction mode'
const SECRETS = { ADMIN_TOKEN, ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') }

describe.each(MODES)('behind PgBouncer in %s mode', (mode) => {
  test(
    'a service starts without settings of the pooler, works, and says what it does without',
    async () => {
      const sandboxPort = String(await freePort())
      const parley = await startParley({
        ...SECRETS,
        DATABASE_URL: await startPooler(url, mode),
        DATA_DIR: dataFolder(),
        PROCESSES: '2',
        SANDBOX: 'on',
        SANDBOX_PORT: sandboxPort,
      })
      if (mode === 'transaction') await parley.says(WARNING)
      const { token, say, call } = await connectCompany(parley.address, `http://127.0.0.1:${sandboxPort}`)
      const stream = await openKeyStream(parley.address, token)
      const customer = `39333${randomInt(1e6, 1e7)}`
      await say(customer, 'Hello')
      await (mode === 'session'
        ? stream.next('message', ({ message }) => message.text === 'Hello', 60_000)
        : stream.next('reset', () => true, 60_000))

      const sent = await call('POST', '/templates/whatsapp/send', {
        recipient: customer,
        type: 'text',
        text: 'Welcome',
      })
      expect([sent.status, sent.body]).toMatchObject([200, {}])
      const rows = Array.from({ length: 300 }, (_, n) => `a${n}@example.com,Ada\n`).join('')
      const list = await call('POST', '/contacts/import', `email,first_name\n${rows}`, 'text/csv')
      expect(list.status).toBe(202)
      await eventually(async () => {
        const { body } = await call('GET', `/contacts/imports/${list.body.data.id}`)
        return body.data.status === 'completed' && body.data.created === 300
      }, 60_000)
      // Many at once, more than the pooler has sessions.
      const upserts = Array.from({ length: 60 }, (_, n) => call('POST', '/contacts', { email: `b${n}@example.com` }))
      expect(new Set((await Promise.all(upserts)).map(({ status }) => status))).toEqual(new Set([200]))
      expect((await fetch(`${parley.address}/readyz`)).status).toBe(200)
      expect(await parley.signal('SIGTERM')).toBe(0)
      expect(parley.output()).not.toMatch(/"level":[56]0/)
      // Once, however many processes there are.
      expect(parley.output().split(WARNING)).toHaveLength(mode === 'transaction' ? 2 : 1)
    },
    TIMEOUT,
  )

  test(
    'parley doctor says what the pooler takes away',
    async () => {
      const env = { ...SECRETS, DATABASE_URL: await startPooler(url, mode), DATA_DIR: dataFolder() }
      const doctor = await runParley(env, { args: ['doctor', '--json'] })
      await doctor.exited
      const findings: { name: string; status: string; message: string }[] = JSON.parse(doctor.output())
      const pooler = findings.find(({ name }) => name === 'pooler')
      expect(pooler?.status).toBe(mode === 'transaction' ? 'warn' : 'ok')
      expect(pooler?.message.includes(WARNING)).toBe(mode === 'transaction')
    },
    TIMEOUT,
  )

  // With and without prepared statements: Debian's PgBouncer 1.18 has none in transaction mode.
  test.each([
    ...(mode === 'session' ? [''] : []),
    '?pgbouncer=true',
    '?pgbouncer=true&connect_timeout=10&options=-c%20work_mem%3D9MB',
  ])(
    'statements and transactions of an address with "%s" have their settings, and leave none behind',
    async (query) => {
      const address = `${await startPooler(url, mode)}${query}`
      const limits = { statementMs: 4_321, lockMs: 1_000, idleInTransactionMs: 1_000 }
      const sql = connect(address, { max: 3, limits })
      const other = connect(address, { max: 3 })
      onTestFinished(() => Promise.all([sql.end(), other.end()]).then(() => {}))
      if (query.includes('work_mem')) expect(await sql`show work_mem`).toEqual([{ workMem: '9MB' }])
      const timeoutOf = async (one: Pick<typeof sql, 'unsafe'>) =>
        (await one.unsafe(`select current_setting('statement_timeout') as timeout`))[0]?.timeout
      for (let round = 0; round < 10; round += 1) {
        const all = [timeoutOf(sql), sql.begin(timeoutOf), timeoutOf(other), other.begin(timeoutOf)]
        expect(await Promise.all(all)).toEqual(['4321ms', '4321ms', '0', '0'])
      }
    },
    TIMEOUT,
  )

  test('the pooler is distinguished from the server itself', async () => {
    const address = await startPooler(url, mode)
    expect(await markPooler(address)).toBe(mode === 'transaction' ? `${address}?pgbouncer=true` : address)
    expect(await markPooler(url)).toBe(url)
    expect(await db`select 1 as one`).toEqual([{ one: 1 }])
  })
})

type Answer = {
  status: number
  body: { [member: string]: unknown; data: { id: number; status: string; created: number } }
}

/** A company with a number at the sandbox, and its key. */
async function connectCompany(address: string, sandbox: string) {
  const post = async (place: string, body: unknown, authorization = '', type = 'application/json', method = 'POST') => {
    const answer = await fetch(place, {
      method,
      headers: { authorization, ...(body !== undefined && { 'content-type': type }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  const admin = (path: string, body: object) => post(`${address}/admin/v1${path}`, body, `Bearer ${ADMIN_TOKEN}`)
  const { id } = (await admin('/companies', { name: 'Acme' })).body
  const { token } = (
    await admin(`/companies/${id}/api-keys`, { name: 'Key', permissions: ['WhatsApp', 'Transactional'] })
  ).body
  const phoneNumberId = `1${randomInt(1e9, 1e10)}`
  const displayPhoneNumber = `+39 ${randomInt(1e9, 1e10)}`
  const account = '102290129340398'
  await post(`${sandbox}/sandbox/numbers`, {
    phoneNumberId,
    displayPhoneNumber,
    verifiedName: 'Acme',
    wabaAccountId: account,
  })
  const connected = await admin(`/companies/${id}/senders`, {
    provider: 'meta',
    phoneNumber: displayPhoneNumber,
    phoneName: 'Acme',
    phoneNumberId,
    wabaAccountId: account,
    accessToken: 'token-of-the-number',
    apiBaseUrl: sandbox,
  })
  expect(connected.status).toBe(201)
  return {
    token,
    say: (from: string, body: string) =>
      post(`${sandbox}/sandbox/inbound`, { phoneNumberId, from, type: 'text', text: { body } }),
    call: (method: string, path: string, body?: unknown, type?: string): Promise<Answer> =>
      post(`${address}/public/v1${path}`, body, `Bearer ${token}`, type, method),
  }
}
