import type { FastifyInstance } from 'fastify'
import { NO_EVENTS } from '../../src/changes/record-change.ts'
import { contactRoutes } from '../../src/contacts/contact-routes.ts'
import { customFieldRoutes } from '../../src/custom-fields/custom-field-routes.ts'
import type { Pool } from '../../src/db/connect.ts'
import type { Permission } from '../../src/http/admission/caller.ts'
import { createTestApi, createTestCompany, createTestKey } from '../api.ts'
import { createTestDatabase } from '../database.ts'
import { testCipher } from '../webhook-fixture.ts'

/** Whose key a request comes with. */
export type TestCaller = { readonly companyId: number; readonly permissions: Permission[] }

export const caller = (companyId: number, permissions: Permission[] = ['WhatsApp']): TestCaller => ({
  companyId,
  permissions,
})

/** An erasure needs the whole service: test/contacts/erasure.test.ts has it. */
const notHere = async () => {
  throw new Error('There are no erasures here')
}

/** The contact and custom field routes on the real HTTP side, and the key of any caller, made when first asked for. */
export async function contactsApp(db: Pool): Promise<{ app: FastifyInstance; keyOf: KeyOf }> {
  const { app } = await createTestApi({
    db,
    routes: async (server) => {
      await server.register(
        contactRoutes({
          ...{ db, cipher: testCipher, erase: notHere, publish: () => {}, recordEvents: NO_EVENTS },
          // Only agents' sessions are counted.
          limiter: { countShownContacts: notHere },
        }),
      )
      await server.register(customFieldRoutes({ db }))
    },
  })
  const keys = new Map<string, ReturnType<KeyOf>>()
  const keyOf: KeyOf = (as) => {
    const name = JSON.stringify(as)
    const key = keys.get(name) ?? createTestKey(db, as)
    keys.set(name, key)
    return key
  }
  return { app, keyOf }
}

export type KeyOf = (as: TestCaller) => ReturnType<typeof createTestKey>

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The routes, a company, and requests with its key unless another caller is given. Call it at the top of a file. */
export async function startContacts({ mirrors = true } = {}) {
  const { db } = await createTestDatabase({ mirrors })
  const { app, keyOf } = await contactsApp(db)
  const newCompany = () => createTestCompany(db)
  const companyId = await newCompany()
  const own = caller(companyId)

  async function call(method: Method, url: string, body?: unknown, as: TestCaller = own) {
    const response = await app.inject({
      method,
      url: `/public/v1${url}`,
      headers: { ...(await keyOf(as)).headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return { status: response.statusCode, body: response.json(), text: response.body }
  }
  const upsert = async (body: unknown, as?: TestCaller) => (await call('POST', '/contacts', body, as)).body.data

  /** Posts a contact in a body of another type than JSON. */
  async function post(type: string, payload: string | Buffer) {
    const headers = { ...(await keyOf(own)).headers, 'content-type': type }
    const response = await app.inject({ method: 'POST', url: '/public/v1/contacts', headers, payload })
    return { status: response.statusCode, body: response.json() }
  }
  async function form(type: 'url' | 'multipart', entries: [string, string | Blob][]) {
    const data = type === 'url' ? new URLSearchParams() : new FormData()
    for (const [name, value] of entries) data.append(name, value as string)
    const request = new Request('http://test/', { method: 'POST', body: data })
    return post(request.headers.get('content-type')!, Buffer.from(await request.arrayBuffer()))
  }
  return { db, keyOf, companyId, newCompany, call, upsert, post, form }
}
