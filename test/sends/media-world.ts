import type { Pool } from '../../src/db/connect.ts'
import { createCompany, createSender } from '../world.ts'

export type TestMessage = { companyId: number; senderId: number; messageId: number }

/** A message with media, of a company of its own unless one is named. */
export async function createMediaMessage(
  db: Pool,
  media: object | null,
  owner?: { companyId: number; senderId: number },
): Promise<TestMessage> {
  const companyId = owner?.companyId ?? (await createCompany(db))
  const senderId = owner?.senderId ?? (await createSender(db, companyId))
  const [row] = await db<{ id: number }[]>`
    with contact as (
      insert into contacts (company_id, source, source_type) values (${companyId}, 'whatsapp', 'PARLEY') returning id
    ),
    customer as (
      insert into customers (company_id, contact_id) select ${companyId}, id from contact returning id
    ),
    conversation as (
      insert into conversations (company_id, sender_id, customer_id)
      select ${companyId}, ${senderId}, id from customer
      returning id
    )
    select id from conversation
  `
  const [message] = await db<{ id: number }[]>`
    insert into messages (company_id, conversation_id, seq, direction, type, media, status)
    values (${companyId}, ${row!.id}, 1, 'inbound', 'image', ${db.json(media as never)}, 'received')
    returning id
  `
  return { companyId, senderId, messageId: message!.id }
}
