import { beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany, createSender } from '../../test/world.ts'
import type { Pool } from '../db/connect.ts'
import { newTemplateId } from '../platform/ids.ts'
import {
  hasSender,
  listTemplates,
  noteMissedEvent,
  readListTime,
  replaceTemplates,
  type SyncedTemplate,
} from './template-store.ts'
import { findVersions } from './template-version-store.ts'

let db: Pool
beforeAll(async () => {
  ;({ db } = await createTestDatabase({ mirrors: true }))
})

const template = (name: string, language: string, changes: Partial<SyncedTemplate> = {}): SyncedTemplate => ({
  newFamilyId: newTemplateId(),
  externalId: `${name}-${language}`,
  name,
  language,
  status: 'APPROVED',
  ownStatus: 'APPROVED',
  category: 'UTILITY',
  parameterFormat: 'POSITIONAL',
  components: [{ type: 'BODY', text: 'Hello' }],
  qualityScore: null,
  rejectedReason: '',
  namespace: null,
  partnerId: null,
  createdBy: null,
  modifiedBy: null,
  ttlSeconds: null,
  passedOn: null,
  ...changes,
})

const sync = async (companyId: number, ...templates: SyncedTemplate[]) => {
  const listedAt = await readListTime(db)
  await db.begin((tx) => replaceTemplates(tx, companyId, 'WABA1', { templates, listedAt }))
}

test('templates that are gone at the provider are deleted, and a family that comes back has its old id', async () => {
  const companyId = await createCompany(db)
  await createSender(db, companyId)
  await sync(companyId, template('a', 'en'), template('a', 'it'), template('b', 'en'))
  const [first] = await findVersions(db, companyId, 'WABA1', { name: 'a' })
  await sync(companyId, template('b', 'en'))
  expect((await listTemplates(db, companyId)).map(({ name }) => name)).toEqual(['b'])
  expect(await findVersions(db, companyId, 'WABA1', { name: 'a' })).toEqual([])
  await sync(companyId, template('a', 'de'), template('b', 'en'))
  expect((await findVersions(db, companyId, 'WABA1', { id: first!.familyId })).map(({ language }) => language)).toEqual(
    ['de'],
  )
})

test('a change at the provider is stored with its time; unchanged templates keep theirs', async () => {
  const companyId = await createCompany(db)
  await createSender(db, companyId)
  await sync(companyId, template('a', 'en'), template('b', 'en'))
  const before = await listTemplates(db, companyId)
  await sync(companyId, template('a', 'en', { status: 'PAUSED', ownStatus: 'DISABLED' }), template('b', 'en'))
  const after = await listTemplates(db, companyId)
  expect(after[0]).toMatchObject({ status: 'DISABLED', updatedExternal: true })
  expect(after[1]).toEqual(before[1])
})

test('a list that was asked for a microsecond after an event wins over the event', async () => {
  const companyId = await createCompany(db)
  await createSender(db, companyId)
  await sync(companyId, template('a', 'en'), template('b', 'en'))
  await db`update templates set event_at = '2026-01-01 00:00:00.000001+00' where company_id = ${companyId}`
  const templates = [template('a', 'en', { status: 'PAUSED', ownStatus: 'DISABLED' })]
  const listedAt = '2026-01-01 00:00:00.000002+00'
  await db.begin((tx) => replaceTemplates(tx, companyId, 'WABA1', { templates, listedAt }))
  expect((await listTemplates(db, companyId)).map(({ name, status }) => [name, status])).toEqual([['a', 'DISABLED']])
})

test('ten syncs at once leave what one would', async () => {
  const companyId = await createCompany(db)
  await createSender(db, companyId)
  await Promise.all(Array.from({ length: 10 }, () => sync(companyId, template('a', 'en'), template('a', 'it'))))
  const rows = await listTemplates(db, companyId)
  expect(rows.map(({ language }) => language)).toEqual(['en', 'it'])
  expect(new Set(rows.map(({ familyId }) => familyId)).size).toBe(1)
})

test('another company’s templates are not seen, nor those of an account that is connected no more', async () => {
  const [one, two] = [await createCompany(db), await createCompany(db)]
  await createSender(db, one)
  await sync(one, template('a', 'en'))
  expect(await listTemplates(db, two)).toEqual([])
  expect([await hasSender(db, one), await hasSender(db, two)]).toEqual([true, false])
  await db`update senders set deleted_at = now() where company_id = ${one}`
  expect([await listTemplates(db, one), await hasSender(db, one)]).toEqual([[], false])
})

test('a list is older than an event of its own company alone', async () => {
  const [companyId, otherId] = [await createCompany(db), await createCompany(db)]
  const listedAt = await readListTime(db)
  await noteMissedEvent(db, otherId, 'WABA1')
  const replace = (id: number) =>
    db.begin(async (tx) => ({ isOlder: await replaceTemplates(tx, id, 'WABA1', { templates: [], listedAt }) }))
  expect([await replace(companyId), await replace(otherId)]).toEqual([{ isOlder: false }, { isOlder: true }])
})
