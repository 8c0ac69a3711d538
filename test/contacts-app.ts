import type { FastifyInstance } from 'fastify'
import { contactRoutes } from '../src/contacts/contact-routes.ts'
import { customFieldRoutes } from '../src/custom-fields/custom-field-routes.ts'
import type { Pool } from '../src/db/connect.ts'
import type { Permission } from '../src/http/caller.ts'
import { createTestApi, createTestKey } from './api.ts'

/** Whose key a request comes with. */
export type TestCaller = { readonly companyId: number; readonly permissions: Permission[] }

export const caller = (companyId: number, permissions: Permission[] = ['WhatsApp']): TestCaller => ({
  companyId,
  permissions,
})

/** An erasure needs the whole service: test/erasure.test.ts has it. */
const notHere = async () => {
  throw new Error('There are no erasures here')
}

/** The contact and custom field routes on the real HTTP side, and the key of any caller, made when first asked for. */
export async function contactsApp(db: Pool): Promise<{ app: FastifyInstance; keyOf: KeyOf }> {
  const { app } = await createTestApi({
    db,
    routes: async (server) => {
      await server.register(contactRoutes({ db, erase: notHere, tell: () => {} }))
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
