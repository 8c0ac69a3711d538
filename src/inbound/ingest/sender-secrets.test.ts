import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany, createSender } from '../../../test/world.ts'
import { findSecrets, hasSecret } from './admission.ts'

const { db } = await createTestDatabase({ mirrors: true })

test('secrets are demanded of events until the sender that carries them is removed', async () => {
  const companyId = await createCompany(db)
  const id = await createSender(db, companyId, 'WABA1')
  const set = (secret: 'app_secret' | 'webhook_secret', value: string | null) =>
    db`update senders set ${db(secret)} = ${value} where (company_id, id) = (${companyId}, ${id})`
  const remove = (at: Date | null) =>
    db`update senders set deleted_at = ${at} where (company_id, id) = (${companyId}, ${id})`
  for (const secret of ['app_secret', 'webhook_secret'] as const) {
    await set(secret, 'sealed')
    expect([await hasSecret(db), (await findSecrets(db, ['WABA1'])).length > 0]).toEqual([true, true])
    await remove(new Date())
    expect([await hasSecret(db), await findSecrets(db, ['WABA1'])]).toEqual([false, []])
    await remove(null)
    await set(secret, null)
    expect([await hasSecret(db), await findSecrets(db, ['WABA1'])]).toEqual([false, []])
  }
})
