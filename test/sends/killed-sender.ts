import { randomBytes } from 'node:crypto'
import { afterAll } from 'vitest'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { ADMIN_TOKEN } from '../api.ts'
import { createTestDatabase } from '../database.ts'
import { dataFolder, startParley } from '../parley-process.ts'

/**
 * A process that a test may kill while it sends, with a company, its key and a number at a sandbox. `start` starts the next one on
 * the same data.
 */
export async function startKilledSender() {
  const { db, url } = await createTestDatabase()
  const sandbox = await startSandbox()
  afterAll(() => sandbox.stop())
  const env = {
    DATABASE_URL: url,
    DATA_DIR: dataFolder(),
    ADMIN_TOKEN,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    PROVIDER_TIMEOUT_MS: '30000',
  }
  const first = await startParley(env)
  const post = async (address: string, path: string, token: string, body: object, headers = {}) => {
    const response = await fetch(`${address}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
      body: JSON.stringify(body),
    })
    // biome-ignore lint/suspicious/noExplicitAny: what the test asserts
    return { status: response.status, headers: response.headers, body: (await response.json()) as any }
  }
  const operator = async (path: string, body: object) => (await post(first.address, path, ADMIN_TOKEN, body)).body
  const { id } = await operator('/admin/v1/companies', { name: 'Acme', rateLimitPerMinute: 1_000_000 })
  const { token } = await operator(`/admin/v1/companies/${id}/api-keys`, { name: 'Key', permissions: ['WhatsApp'] })
  await operator(`/admin/v1/companies/${id}/senders`, {
    provider: 'meta',
    phoneNumber: '+44 7700 900100',
    phoneName: 'Acme',
    phoneNumberId: '100000000000001',
    wabaAccountId: '200000000000001',
    accessToken: 'token',
    apiBaseUrl: sandbox.url,
  })
  return {
    db,
    first,
    start: () => startParley(env),
    send: (address: string, body: object, headers = {}) =>
      post(address, '/public/v1/templates/whatsapp/send', token, body, headers),
    /** The messages that the sandbox has received. */
    received: async () => {
      const response = await fetch(`${sandbox.url}/sandbox/messages`)
      return (await response.json()) as { to: string }[]
    },
    behave: (behaviour: object) =>
      fetch(`${sandbox.url}/sandbox/behaviour`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(behaviour),
      }),
  }
}
