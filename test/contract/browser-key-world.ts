import { expect } from 'vitest'
import { startTestService, type TestService, uniquePhone } from '../service.ts'

type Answer = Awaited<ReturnType<TestService['call']>>

/** A service, and companies with a key for browsers. */
export async function startShops() {
  const service = await startTestService({
    mirrors: true,
    config: { legacyRemovalDate: new Date('2100-01-01T00:00:00Z') },
  })
  const { operator, call, url, db } = service
  /** A company with a key of a server and a key for browsers. */
  async function createShop(settings: object = {}, rateLimitPerMinute = 1_000_000) {
    const company = (await operator('POST', '/companies', { name: 'Shop', rateLimitPerMinute })).body
    const path = `/companies/${company.id}/api-keys`
    const [server, page] = [
      (await operator('POST', path, { name: 'Server', permissions: ['WhatsApp', 'Transactional'] })).body,
      (await operator('POST', path, { name: 'Page', permissions: ['ContactsUpsert'], ...settings })).body,
    ]
    const as =
      ({ token }: { token: string }) =>
      (method: string, path: string, body?: unknown, headers = {}) =>
        call(url, method, path.startsWith('/api') ? path : `/public/v1${path}`, body, {
          authorization: `Bearer ${token}`,
          ...headers,
        })
    const write = (body: unknown): Promise<Answer> => as(page)('POST', '/contacts', body)
    const find = async (email: string) =>
      (await as(server)('GET', `/contacts/by-email/${encodeURIComponent(email)}`)).body.data
    return { companyId: company.id as number, page, asServer: as(server), asPage: as(page), write, find }
  }
  let numbers = 0
  const uniqueEmail = () => `victim${numbers++}@example.com`
  /** A contact that the server knows, and the shop. */
  async function createVictim(shop: Awaited<ReturnType<typeof createShop>>, members: object = {}) {
    const victim = { email: uniqueEmail(), phone: uniquePhone(), firstName: 'Ada', ...members }
    expect((await shop.asServer('POST', '/contacts', victim)).status).toBe(200)
    return victim
  }
  return { service, operator, url, db, createShop, uniqueEmail, createVictim }
}
