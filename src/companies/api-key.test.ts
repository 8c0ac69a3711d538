import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { testCipher } from '../../test/webhook-fixture.ts'
import type { Pool } from '../db/connect.ts'
import { fixedClock } from '../platform/clock.ts'
import { AppError } from '../platform/errors.ts'
import {
  type ApiKeyDeps,
  createApiKey,
  listApiKeys,
  type NewApiKey,
  revokeAllApiKeys,
  revokeApiKey,
} from './api-key.ts'
import { createCompany } from './company.ts'
import { markCompanyRemoved } from './company-store.ts'

let db: Pool
let companyId: number
const changed: string[] = []
const deps = (): ApiKeyDeps & { db: Pool } => ({
  db,
  cipher: testCipher,
  clock: fixedClock('2026-03-01T12:00:00Z'),
  apiKeyPrefix: 'PARLEY',
  onKeyChanged: (clientId) => changed.push(clientId),
})
const create = (input: Partial<NewApiKey> = {}) =>
  createApiKey(deps(), companyId, { name: 'CRM', permissions: ['WhatsApp'], ...input })

/** Returns the faulty fields of a 422. */
const faultsOf = async (work: Promise<unknown>): Promise<string[]> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(AppError)
  const { status, body } = error as AppError
  expect(status).toBe(422)
  if (!('error' in body) || typeof body.error === 'string') return []
  const fields = body.error.details?.fields as { path: string }[]
  return fields.map((field) => field.path)
}

beforeAll(async () => {
  db = (await createTestDatabase({ mirrors: true })).db
  companyId = (await createCompany(db, { name: 'Acme' })).id
})

describe('a new key', () => {
  it('is a token of prefix, client id and secret', async () => {
    const { token, clientId } = await create()
    expect(token).toMatch(/^PARLEY-[a-z0-9]{16}-[A-Za-z0-9]{43}$/)
    expect(token.split('-')[1]).toBe(clientId)
    expect(changed).toContain(clientId)
  })

  it('is stored as a digest: the secret stands nowhere in the table', async () => {
    const { token, clientId } = await create()
    const secret = token.split('-')[2]!
    const [row] = await db<[{ digest: Buffer; everything: string }]>`
      select digest, api_keys::text as everything from api_keys where client_id = ${clientId}`
    expect(row.digest.equals(createHash('sha256').update(secret).digest())).toBe(true)
    expect(row.everything).not.toContain(secret)
  })

  it('takes permissions in any letter case, each once, in canonical words', async () => {
    const { permissions } = await create({ permissions: ['whatsapp', 'TRANSACTIONAL', 'contactsUPSERT', 'WhatsApp'] })
    expect(permissions).toEqual(['WhatsApp', 'Transactional', 'ContactsUpsert'])
  })

  it('keeps origins as browsers send them', async () => {
    const { allowedOrigins } = await create({
      allowedOrigins: ['HTTPS://App.Example.com:443/', 'http://localhost:5173', 'https://app.example.com'],
    })
    expect(allowedOrigins).toEqual(['https://app.example.com', 'http://localhost:5173'])
  })

  it.each([
    '*',
    'null',
    'https://a.com/path',
    'ftp://a.com',
    'https://*.a.com',
    'https://u:p@a.com',
    'a.com',
    'https://a.com?',
    '',
  ])('refuses the origin %j', async (origin) => {
    expect(await faultsOf(create({ allowedOrigins: ['https://fine.com', origin] }))).toEqual(['allowedOrigins[1]'])
  })

  it.each([
    ['2026-03-02', '2026-03-02T00:00:00.000Z'],
    ['2027-01-01T10:00:00+02:00', '2027-01-01T08:00:00.000Z'],
  ])('expires at %s', async (expiresAt, stored) => {
    const { clientId } = await create({ expiresAt })
    const listed = (await listApiKeys(db, companyId)).find((key) => key.clientId === clientId)
    expect(listed?.expiresAt?.toISOString()).toBe(stored)
  })

  it.each([
    '2026-03-01T12:00:00Z',
    '2025-01-01',
    'tomorrow',
    '2026-02-30',
    '2027-01-01T10:00:00',
    '',
  ])('refuses to expire at %j', async (expiresAt) => {
    expect(await faultsOf(create({ expiresAt }))).toEqual(['expiresAt'])
  })

  it('names every fault at once', async () => {
    const input = { name: '  ', permissions: ['Email'], allowedOrigins: ['x'], expiresAt: 'never' }
    expect(await faultsOf(create(input))).toEqual(['name', 'permissions[0]', 'allowedOrigins[0]', 'expiresAt'])
    expect(await faultsOf(create({ permissions: [] }))).toEqual(['permissions'])
  })
})

describe('the keys of a company', () => {
  it('are listed without those revoked, and a second revocation is 404', async () => {
    const { clientId } = await create()
    await revokeApiKey(deps(), companyId, clientId)
    expect((await listApiKeys(db, companyId)).map((key) => key.clientId)).not.toContain(clientId)
    await expect(revokeApiKey(deps(), companyId, clientId)).rejects.toMatchObject({ status: 404 })
  })

  it("are out of another company's reach", async () => {
    const other = await createCompany(db, { name: 'Other' })
    const { clientId } = await create()
    await expect(revokeApiKey(deps(), other.id, clientId)).rejects.toThrow('API key not found')
    expect(await listApiKeys(db, other.id)).toEqual([])
    expect((await listApiKeys(db, companyId)).map((key) => key.clientId)).toContain(clientId)
  })

  it('end all together, and a removed company gets no new one', async () => {
    const gone = await createCompany(db, { name: 'Gone' })
    const make = () => createApiKey(deps(), gone.id, { name: 'k', permissions: ['WhatsApp'] })
    const keys = [await make(), await make()]
    const ended = await revokeAllApiKeys(db, gone.id)
    expect(ended.toSorted()).toEqual(keys.map((key) => key.clientId).toSorted())
    await markCompanyRemoved(db, gone.id)
    await expect(make()).rejects.toThrow('Company not found')
  })
})
