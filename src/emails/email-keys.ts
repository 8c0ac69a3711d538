import { type Db, sql } from '../db/connect.ts'
import { inputRows } from '../db/input-rows.ts'
import { emailKey, storedMailbox, wireAddress } from '../platform/text/email-address.ts'

const WINDOW = 20_000

function toRecipient(written: string) {
  const recipient = wireAddress(written)
  return { recipient, recipientKey: storedMailbox(recipient) }
}

/** Converts a company's mail and suppression domains to ASCII, and fills the mailbox column. */
export async function rekeyEmails(db: Db, companyId: number, pause: () => Promise<void>): Promise<void> {
  for (let after = 0; ; ) {
    const { last, rows } = await readEmailRecipients(db, companyId, after, WINDOW)
    const changed = rows
      .map((before) => ({ before, after: { id: before.id, ...toRecipient(before.recipient) } }))
      .filter(({ before, after }) => before.recipient !== after.recipient || before.recipientKey !== after.recipientKey)
      .map(({ after }) => after)
    if (changed.length > 0) await writeRecipients(db, companyId, changed)
    if (last === null) break
    after = last
    await pause()
  }
  for (const address of await listWrittenSuppressions(db, companyId)) {
    const key = emailKey(address)
    if (key !== address) await moveSuppression(db, companyId, address, key)
  }
}

export const recipientMailbox = sql`coalesce(recipient_key, lower(recipient collate "C"))`

type Recipient = { readonly id: number; readonly recipient: string; readonly recipientKey: string | null }

/** Reads non-ASCII recipients within the next `limit` mails, and the last id read; null at the end. */
export async function readEmailRecipients(
  db: Db,
  companyId: number,
  after: number,
  limit: number,
): Promise<{ last: number | null; rows: Recipient[] }> {
  const [part] = await db<{ last: number | null; rows: Recipient[] }[]>`
    select
      max(id) as last,
      coalesce(
        json_agg(json_build_object('id', id, 'recipient', recipient, 'recipientKey', recipient_key))
          filter (where recipient ~ '[^\\x01-\\x7f]'),
        '[]'
      ) as rows
    from (
      select id, recipient, recipient_key
      from emails
      where company_id = ${companyId} and id > ${after}
      order by id
      limit ${limit}
    ) as part
  `
  return part ?? { last: null, rows: [] }
}

export async function writeRecipients(db: Db, companyId: number, rows: readonly Recipient[]): Promise<void> {
  await db`
    update emails
    set recipient = input.recipient, recipient_key = input.key
    from ${inputRows(
      rows.map(({ recipientKey: key, ...row }) => ({ ...row, key })),
      { bigint: ['id'], text: ['recipient', 'key'] },
    )}
    where (emails.company_id, emails.id) = (${companyId}, input.id)
  `
}

/** Lists non-ASCII suppressed addresses. */
export async function listWrittenSuppressions(db: Db, companyId: number): Promise<string[]> {
  const rows = await db<{ address: string }[]>`
    select address from email_suppressions where company_id = ${companyId} and address ~ '[^\\x01-\\x7f]'
  `
  return rows.map(({ address }) => address)
}

/** Moves a suppression to another spelling; a complaint wins over a bounce. */
export async function moveSuppression(db: Db, companyId: number, from: string, to: string): Promise<void> {
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
