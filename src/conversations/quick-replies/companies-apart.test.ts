import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { keepsRows } from '../../../test/twins.ts'
import { createCompany } from '../../../test/world.ts'
import { keepAssignee, keepSignedIn, listAssignees, MAX_ASSIGNEES } from '../assignees/assignee-store.ts'
import {
  countQuickReplies,
  deleteQuickReply,
  insertQuickReply,
  selectQuickReplies,
  updateQuickReplyRow,
} from './quick-reply.ts'

// Companies whose quick replies have the same ids and titles.
const { db } = await createTestDatabase()

async function createTwins() {
  const [companyId, twinId] = [await createCompany(db, 'one'), await createCompany(db, 'twin')]
  for (const id of [companyId, twinId])
    await db`
      insert into quick_replies (company_id, id, title, text) overriding system value
      values (${id}, 900, 'thanks', ${`text of ${id}`})`
  return { companyId, twinId }
}

test('quick replies are read and written in their company', async () => {
  const { companyId, twinId } = await createTwins()
  await keepsRows(db, twinId, () => updateQuickReplyRow(db, companyId, 900, { title: null, text: 'changed' }))
  await keepsRows(db, twinId, () => insertQuickReply(db, companyId, { title: 'hours', text: 'x' }))
  expect(await insertQuickReply(db, companyId, { title: 'Thanks', text: 'x' })).toBeUndefined()
  expect(await selectQuickReplies(db, companyId, 10)).toMatchObject([{ title: 'hours' }, { id: 900, text: 'changed' }])
  expect(await selectQuickReplies(db, twinId, 10)).toMatchObject([{ id: 900, text: `text of ${twinId}` }])
  expect([await countQuickReplies(db, companyId), await countQuickReplies(db, twinId)]).toEqual([2, 1])
  await keepsRows(db, twinId, () => deleteQuickReply(db, companyId, 900))
  expect(await countQuickReplies(db, companyId)).toBe(1)
})

test('names are kept, and left out beyond the limit, in their company', async () => {
  const [companyId, twinId] = [await createCompany(db, 'one'), await createCompany(db, 'twin')]
  for (const id of [companyId, twinId])
    await db`
      insert into assignees (company_id, name, signed_in_at)
      select ${id}, 'person ' || number, '2026-01-01' from generate_series(1, ${MAX_ASSIGNEES}::int) as number`
  await keepsRows(db, twinId, () => keepSignedIn(db, companyId, 'Mara'))
  await keepsRows(db, twinId, () => keepAssignee(db, companyId, 'Night shift'))
  const [first] = await listAssignees(db, companyId)
  expect(first?.name).toBe('Mara')
  expect((await listAssignees(db, twinId)).map(({ name }) => name)).not.toContain('Mara')
})
