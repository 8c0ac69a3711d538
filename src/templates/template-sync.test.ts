import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany, createSender } from '../../test/world.ts'
import { NO_EVENTS } from '../changes/record-change.ts'
import type { Pool } from '../db/connect.ts'
import { createProviderAgent } from '../platform/outgoing/exchange.ts'
import { createMetaProvider } from '../providers/meta/meta.ts'
import { applyTemplateEvents } from './template-event-store.ts'
import { listTemplates, lockTemplates, readListTime, replaceTemplates } from './template-store.ts'
import { type SyncDeps, syncTemplates } from './template-sync.ts'
import { createTemplateCache } from './template-version-store.ts'

const dispatcher = createProviderAgent()
let db: Pool
let deps: SyncDeps
let companyId: number
/** The provider's list, and what happens between its reading and the end of its answer. */
let list: { id: string; name: string; status: string }[]
let duringAnswer: () => Promise<unknown>
/** The provider's refusal, instead of its list. */
let refusal: object | undefined

const provider = createServer(async (request, response) => {
  const data = list.map((one) => ({ ...one, language: 'en_US', category: 'UTILITY', components: [] }))
  if (request.url?.includes('message_templates')) await duringAnswer()
  response.statusCode = refusal === undefined ? 200 : 400
  response.setHeader('content-type', 'application/json').end(JSON.stringify(refusal ?? { data }))
})

beforeAll(async () => {
  ;({ db } = await createTestDatabase({ mirrors: true }))
  provider.listen(0, '127.0.0.1')
  await once(provider, 'listening')
  const access = { phoneNumberId: 'PN1', wabaAccountId: 'WABA1', accessToken: 'token', appId: null }
  const apiBaseUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  deps = {
    db,
    providers: { meta: createMetaProvider({ dispatcher, graphVersion: 'v25.0', timeoutMs: 60_000 }) },
    senders: { listFor: async () => [{ ...access, provider: 'meta', apiBaseUrl }] },
    templates: createTemplateCache(db),
    publish: () => {},
    recordEvents: NO_EVENTS,
  }
})
beforeEach(async () => {
  companyId = await createCompany(db)
  await createSender(db, companyId)
  duringAnswer = async () => {}
  refusal = undefined
  list = ['one', 'two'].map((name) => ({ id: `id-${name}`, name, status: 'PENDING' }))
})
afterAll(async () => {
  provider.close()
  await dispatcher.destroy()
})

const statuses = async () => (await listTemplates(db, companyId)).map(({ name, status }) => `${name} ${status}`)
const publish = (name: string, status: 'APPROVED' | 'REJECTED') =>
  db.begin((tx) =>
    applyTemplateEvents(tx, [
      {
        companyId,
        wabaAccountId: 'WABA1',
        externalId: `id-${name}`,
        name,
        language: 'en_US',
        status,
        providerStatus: status,
        at: new Date(),
      },
    ]),
  )

it('does not overwrite a status event that arrived while the list was read, and changes the other templates', async () => {
  await syncTemplates(deps, companyId)
  duringAnswer = () => publish('one', 'APPROVED')
  list = list.map((one) => (one.name === 'two' ? { ...one, status: 'REJECTED' } : one))
  await syncTemplates(deps, companyId)
  expect(await statuses()).toEqual(['one APPROVED', 'two REJECTED'])
})

it('keeps a template that an event changed while a list without it was read', async () => {
  await syncTemplates(deps, companyId)
  duringAnswer = () => publish('one', 'APPROVED')
  list = list.filter(({ name }) => name === 'two')
  await syncTemplates(deps, companyId)
  expect(await statuses()).toEqual(['one APPROVED', 'two PENDING'])
})

it('brings what the provider has when the event came before the sync', async () => {
  await syncTemplates(deps, companyId)
  await publish('one', 'APPROVED')
  list = [{ id: 'id-one', name: 'one', status: 'REJECTED' }]
  await syncTemplates(deps, companyId)
  expect(await statuses()).toEqual(['one REJECTED'])
})

it('reads the list again when an event about an unknown template arrived while it was read', async () => {
  let reads = 0
  duringAnswer = async () => {
    reads += 1
    if (reads > 1) return
    await publish('one', 'APPROVED')
    list = list.map((one) => (one.name === 'one' ? { ...one, status: 'APPROVED' } : one))
  }
  await syncTemplates(deps, companyId)
  expect([reads, await statuses()]).toEqual([2, ['one APPROVED', 'two PENDING']])
  await syncTemplates(deps, companyId)
  expect(reads).toBe(3)
})

it('reads the list three times at most when each time an unknown template is named', async () => {
  let reads = 0
  duringAnswer = async () => {
    reads += 1
    await publish(`unknown${reads}`, 'APPROVED')
  }
  await syncTemplates(deps, companyId)
  expect([reads, await statuses()]).toEqual([3, ['one PENDING', 'two PENDING']])
})

it('applies an event about a template that a sync is adding in the same moment', async () => {
  let published: Promise<unknown> | undefined
  await db.begin(async (tx) => {
    await lockTemplates(tx, companyId, 'WABA1')
    published = publish('one', 'APPROVED')
    // Not in the transaction, which sees the activity of its first look for ever.
    const waiting = () => db`
      select from pg_stat_activity where wait_event = 'advisory' and datname = current_database()
    `
    while ((await waiting()).length === 0) await sleep(5)
    await replaceTemplates(tx, companyId, 'WABA1', {
      templates: [
        {
          ...{ externalId: 'id-one', name: 'one', language: 'en_US', status: 'PENDING', ownStatus: 'PENDING' },
          ...{ category: 'UTILITY', parameterFormat: 'POSITIONAL', components: [], qualityScore: null },
          ...{
            rejectedReason: '',
            namespace: null,
            partnerId: null,
            createdBy: null,
            modifiedBy: null,
            ttlSeconds: null,
            passedOn: null,
          },
          newFamilyId: `tmpl_${companyId}`,
        },
      ],
      listedAt: await readListTime(tx),
    })
  })
  await published
  expect(await statuses()).toEqual(['one APPROVED'])
})

it('a refusal is reported with the provider’s message and details', async () => {
  refusal = { error: { code: 100, message: '(#100) Invalid parameter', error_data: { details: 'Unknown account' } } }
  await expect(syncTemplates(deps, companyId)).rejects.toThrow(
    'The templates of account WABA1 could not be read: 100: (#100) Invalid parameter: Unknown account',
  )
})
