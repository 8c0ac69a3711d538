import type { Db } from '../src/db/connect.ts'
import type { DeliveryRef, NewEnvelope } from '../src/webhooks/delivery-store.ts'
import type { SecretCipher } from '../src/webhooks/registration.ts'
import { insertRegistration, type NewRegistration, type Registration } from '../src/webhooks/registration-store.ts'

export const EVENT = 'whatsapp.message.received'

/** Reversible and visibly not clear text; the real cipher has tests of its own. */
export const testCipher: SecretCipher = {
  encrypt: (clear) => `sealed:${Buffer.from(clear).toString('base64')}`,
  decrypt: (stored) => Buffer.from(stored.slice('sealed:'.length), 'base64').toString(),
}

export async function createCompany(db: Db, name = 'Acme'): Promise<number> {
  const [row] = await db<[{ id: number }]>`insert into companies (name) values (${name}) returning id`
  return row.id
}

export const register = (db: Db, companyId: number, changes: Partial<NewRegistration> = {}): Promise<Registration> =>
  insertRegistration(db, companyId, {
    name: 'Receiver',
    url: 'https://receiver.example/',
    events: [EVENT],
    method: 'POST',
    headers: [],
    secret: null,
    ...changes,
  })

export const envelope = (companyId: number, wamid: string, body = `{"wamid":"${wamid}"}`): NewEnvelope => ({
  companyId,
  wamid,
  event: EVENT,
  messageId: null,
  body,
})

export const statusOf = async (db: Db, { companyId, deliveryId }: DeliveryRef) => {
  const [row] = await db<[{ status: string; attempts: number; round: number; nextAttemptAt: Date | null }]>`
    select status, attempts, round, next_attempt_at
    from deliveries
    where company_id = ${companyId} and id = ${deliveryId}
  `
  return row
}
