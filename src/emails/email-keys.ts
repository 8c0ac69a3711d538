import { type Db, sql } from '../db/connect.ts'
import { inputRows } from '../db/input-rows.ts'
import { walkRows } from '../db/row-walk.ts'
import { emailKey, storedMailbox, wireAddress } from '../platform/text/email-address.ts'

type Recipient = { readonly id: number; readonly recipient: string; readonly recipientKey: string | null }

const RECIPIENTS = {
  table: 'emails',
  members: ['id', 'recipient', 'recipientKey'],
  where: sql`recipient ~ '[^\\x01-\\x7f]'`,
  window: 20_000,
} as const

/** Converts a company's mail and suppression domains to ASCII, and fills the mailbox column. */
export async function rekeyEmails(db: Db, companyId: number, pause: () => Promise<void>): Promise<void> {
  await walkRows<Recipient>(db, companyId, RECIPIENTS, pause, async (rows) => {
    const changed = rows.flatMap(({ id, recipient: written, recipientKey: former }) => {
      const recipient = wireAddress(written)
      const key = storedMailbox(recipient)
      return recipient === written && key === former ? [] : [{ id, recipient, key }]
    })
    if (changed.length > 0) await writeRecipients(db, companyId, changed)
  })
  for (const address of await listWrittenSuppressions(db, companyId)) {
    const key = emailKey(address)
    if (key !== address) await moveSuppression(db, companyId, address, key)
  }
}

export const recipientMailbox = sql`coalesce(recipient_key, lower(recipient collate "C"))`

async function writeRecipients(
  db: Db,
  companyId: number,
  rows: readonly { id: number; recipient: string; key: string | null }[],
): Promise<void> {
  await db`
    update emails
    set recipient = input.recipient, recipient_key = input.key
    from ${inputRows(rows, { bigint: ['id'], text: ['recipient', 'key'] })}
    where (emails.company_id, emails.id) = (${companyId}, input.id)
  `
}

/** Lists non-ASCII suppressed addresses. */
async function listWrittenSuppressions(db: Db, companyId: number): Promise<string[]> {
  const rows = await db<{ address: string }[]>`
    select address from email_suppressions where company_id = ${companyId} and address ~ '[^\\x01-\\x7f]'
  `
  return rows.map(({ address }) => address)
}

/** Moves a suppression to another spelling; a complaint wins over a bounce. */
async function moveSuppression(db: Db, companyId: number, from: string, to: string): Promise<void> {
  await db`
    with moved as (
      delete from email_suppressions
      where (company_id, address) = (${companyId}, ${from})
      returning reason, detail, created_at
    )
    insert into email_suppressions (company_id, address, reason, detail, created_at)
    select ${companyId}, ${to}, reason, detail, created_at from moved
    on conflict (company_id, address) do update set reason = excluded.reason, detail = excluded.detail
    where email_suppressions.reason <> 'complaint'
  `
}
