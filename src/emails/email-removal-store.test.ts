import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany } from '../../test/world.ts'
import { deleteEmails, findEmailsTo } from './email-removal-store.ts'
import { newSecret } from './tracking/tracking-token.ts'

const { db } = await createTestDatabase({ mirrors: true })

test('a batch of mails to an address is of the company, though another company has older ones', async () => {
  const create = async () => {
    const companyId = await createCompany(db)
    const [email] = await db<{ id: number }[]>`
      insert into emails (company_id, uid, recipient, subject, message_id, secret, is_marketing, status)
      values (${companyId}, 'eml_1', 'ada@example.com', 'Hi', '<1@a>', ${newSecret()}, false, 'sent')
      returning id
    `
    return { companyId, id: email!.id }
  }
  const [other, mine] = [await create(), await create()]
  expect(await findEmailsTo(db, mine.companyId, 'ada@example.com', 1)).toEqual([{ id: mine.id, uid: 'eml_1' }])
  await deleteEmails(db, mine.companyId, [other.id, mine.id])
  expect(await db`select id from emails where company_id = ${other.companyId}`).toHaveLength(1)
})
