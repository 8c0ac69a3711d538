import { type Db, sql } from '../../db/connect.ts'
import { sqlState } from '../../db/pool/failure.ts'
import { duplicateResource, type FieldFault, quickReplyNotFound, validationError } from '../../platform/errors.ts'

export const MAX_QUICK_REPLIES = 200
const UNIQUE_VIOLATION = '23505'

type QuickReplyChange = Partial<QuickReplyValues>

export const listQuickReplies = (db: Db, companyId: number): Promise<QuickReply[]> =>
  selectQuickReplies(db, companyId, MAX_QUICK_REPLIES)

/** @throws AppError 409 for an existing title, ignoring case; 422 beyond 200 quick replies */
export async function createQuickReply(db: Db, companyId: number, input: QuickReplyValues): Promise<QuickReply> {
  const values = trimmed(input)
  if ((await countQuickReplies(db, companyId)) >= MAX_QUICK_REPLIES) throw tooMany()
  const created = await insertQuickReply(db, companyId, values)
  if (created === undefined) throw titleExists(values.title)
  return created
}

/** @throws AppError 404; 409 for another quick reply's title */
export async function updateQuickReply(
  db: Db,
  companyId: number,
  id: number | undefined,
  change: QuickReplyChange,
): Promise<QuickReply> {
  if (id === undefined) throw quickReplyNotFound()
  const { title = null, text = null } = trimmed(change)
  const updated = await updateQuickReplyRow(db, companyId, id, { title, text }).catch((error) => {
    throw sqlState(error) === UNIQUE_VIOLATION ? titleExists(title ?? '') : error
  })
  if (updated === undefined) throw quickReplyNotFound()
  return updated
}

export async function removeQuickReply(db: Db, companyId: number, id: number | undefined): Promise<void> {
  if (id === undefined || !(await deleteQuickReply(db, companyId, id))) throw quickReplyNotFound()
}

export const quickReplyFaults = (values: QuickReplyChange): FieldFault[] =>
  (['title', 'text'] as const).flatMap((path) =>
    values[path]?.trim() === '' ? [{ path, message: 'must not be blank' }] : [],
  )

function trimmed<Values extends QuickReplyChange>(values: Values): Values {
  const faults = quickReplyFaults(values)
  if (faults.length > 0) throw validationError(faults)
  const trim = ([name, value]: [string, unknown]) => [name, typeof value === 'string' ? value.trim() : value]
  return { ...values, ...Object.fromEntries(Object.entries(values).map(trim)) }
}

const titleExists = (title: string) => duplicateResource(`A quick reply with the title ${title} exists already`)
const tooMany = () =>
  validationError([
    { path: 'body', message: `cannot be kept: a company has at most ${MAX_QUICK_REPLIES} quick replies` },
  ])

export type QuickReply = {
  readonly id: number
  readonly title: string
  readonly text: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

type QuickReplyValues = { title: string; text: string }

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
