import { type Db, jsonRows } from '../db/connect.ts'

/** Mails whose recipient is beyond ASCII, among the next ones after an id, and the last of these; null: there are none. */
export async function readEmailRecipients(
  db: Db,
  companyId: number,
  after: number,
  limit: number,
): Promise<{ last: number | null; rows: { id: number; recipient: string }[] }> {
  const [part] = await db<{ last: number | null; rows: { id: number; recipient: string }[] }[]>`
    select
      max(id) as last,
      coalesce(
        json_agg(json_build_object('id', id, 'recipient', recipient)) filter (where recipient ~ '[^\\x01-\\x7f]'), '[]'
      ) as rows
    from (
      select id, recipient
      from emails
      where company_id = ${companyId} and id > ${after}
      order by id
      limit ${limit}
    ) as part
  `
  return part ?? { last: null, rows: [] }
}

/** Writes the recipients of mails. */
export async function writeRecipients(
  db: Db,
  companyId: number,
  rows: readonly { id: number; recipient: string }[],
): Promise<void> {
  await db`
    update emails
    set recipient = input.recipient
    from jsonb_to_recordset(${jsonRows(db, rows)}) as input (id bigint, recipient text)
    where (emails.company_id, emails.id) = (${companyId}, input.id)
  `
}

/** Suppressed addresses beyond ASCII. */
export async function listWrittenSuppressions(db: Db, companyId: number): Promise<string[]> {
  const rows = await db<{ address: string }[]>`
    select address from email_suppressions where company_id = ${companyId} and address ~ '[^\\x01-\\x7f]'
  `
  return rows.map(({ address }) => address)
}

/** Moves the suppression of an address to another text. A complaint wins over a bounce. */
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
