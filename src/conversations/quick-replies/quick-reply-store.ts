import { type Db, sql } from '../../db/connect.ts'

export type QuickReply = {
  readonly id: number
  readonly title: string
  readonly text: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

export type QuickReplyValues = { title: string; text: string }

const columns = sql`id, title, text, created_at, updated_at`

export const selectQuickReplies = (db: Db, companyId: number, limit: number): Promise<QuickReply[]> => db<QuickReply[]>`
  select ${columns}
  from quick_replies
  where company_id = ${companyId}
  order by lower(title)
  limit ${limit}`

export async function countQuickReplies(db: Db, companyId: number): Promise<number> {
  const [row] = await db<[{ count: number }]>`
    select count(*)::integer as count from quick_replies where company_id = ${companyId}`
  return row.count
}

/** Returns undefined if the title exists, ignoring case. */
export async function insertQuickReply(
  db: Db,
  companyId: number,
  { title, text }: QuickReplyValues,
): Promise<QuickReply | undefined> {
  const [created] = await db<QuickReply[]>`
    insert into quick_replies (company_id, title, text)
    values (${companyId}, ${title}, ${text})
    on conflict (company_id, lower(title)) do nothing
    returning ${columns}`
  return created
}

export async function updateQuickReplyRow(
  db: Db,
  companyId: number,
  id: number,
  { title, text }: { [Member in keyof QuickReplyValues]: QuickReplyValues[Member] | null },
): Promise<QuickReply | undefined> {
  const [updated] = await db<QuickReply[]>`
    update quick_replies
    set title = coalesce(${title}, title), text = coalesce(${text}, text), updated_at = now()
    where company_id = ${companyId} and id = ${id}
    returning ${columns}`
  return updated
}

export async function deleteQuickReply(db: Db, companyId: number, id: number): Promise<boolean> {
  const deleted = await db`delete from quick_replies where company_id = ${companyId} and id = ${id}`
  return deleted.count > 0
}
