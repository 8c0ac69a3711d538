import { expect, test } from 'vitest'
import { createTestDatabase } from '../database.ts'
import { createCompany, createSender } from '../world.ts'

const { db } = await createTestDatabase({ mirrors: true })
const companyId = await createCompany(db)
const senderId = await createSender(db, companyId)

test('a company and its mirror have rows with the same ids and other contents', async () => {
  const rows = await db`select company_id, id, phone_name, is_preferred from senders order by company_id`
  expect([...rows]).toEqual([
    { companyId: -companyId, id: senderId, phoneName: 'mirror Acme', isPreferred: true },
    { companyId, id: senderId, phoneName: 'Acme', isPreferred: true },
  ])
})

test('a statement that does not compare the company is refused', async () => {
  const refusal = 'A statement writes a row of another company in senders'
  await expect(db`update senders set phone_name = 'New' where id = ${senderId}`).rejects.toThrow(refusal)
  await expect(db`delete from sender_limits where sender_id = ${senderId}`).rejects.toThrow('in sender_limits')
})

test('an update or removal is repeated', async () => {
  await db`update senders set phone_name = 'New' where (company_id, id) = (${companyId}, ${senderId})`
  const names = await db<{ phoneName: string }[]>`select phone_name from senders order by company_id`
  expect(names.map(({ phoneName }) => phoneName)).toEqual(['mirror New', 'New'])
  await db`delete from sender_limits where company_id = ${companyId}`
  expect(await db`select from sender_limits`).toHaveLength(0)
})

test('every table whose key has the company in it has a mirror, but counts', async () => {
  const rows = await db<{ name: string }[]>`
    select c.relname as name
    from pg_class c
    join pg_constraint p on p.conrelid = c.oid and p.contype = 'p'
    join pg_attribute k on k.attrelid = c.oid and k.attnum = any (p.conkey) and k.attname = 'company_id'
    where c.relkind in ('r', 'p') and not c.relispartition
      and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'mirror')
    order by c.relname
  `
  expect(rows.map(({ name }) => name)).toEqual([
    'contact_changes',
    'contact_counts',
    'conversation_counts',
    // Its keys are those of files, which a mirror does not have.
    'discarded_files',
    'message_usage',
  ])
})
