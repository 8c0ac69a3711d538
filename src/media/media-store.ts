import { type Db, type Fragment, sql } from '../db/connect.ts'
import { inputRows } from '../db/input-rows.ts'
import type { ExpiryBatch } from '../db/lifetime-store.ts'

type MediaState = 'pending' | 'stored' | 'gone' | 'failed'

export type MediaRow = {
  companyId: number
  messageId: number
  senderId: number
  providerMediaId: string
  state: MediaState
  storageKey: string
  mimeType: string | null
  filename: string | null
  sizeBytes: number | null
  sha256: string | null
  attempts: number
  createdAt: Date
}

type NewMedia = { companyId: number; messageId: number; storageKey: string }
type MediaPlace = { companyId: number; senderId: number; messageId: number }

const LONGEST_ERROR = 500

/** Records media to copy and returns the new rows. Skips messages without provider media and those already recorded. */
export async function insertMedia(tx: Db, media: readonly NewMedia[]): Promise<MediaPlace[]> {
  if (media.length === 0) return []
  return tx<MediaPlace[]>`
    insert into media (company_id, message_id, sender_id, provider_media_id, storage_key, mime_type, filename)
    select
      item.company_id, item.message_id, conversation.sender_id, message.media ->> 'providerMediaId',
      item.storage_key, message.media ->> 'mimeType', message.media ->> 'filename'
    from ${inputRows(media, { bigint: ['companyId', 'messageId'], text: ['storageKey'] }, 'item')}
    join messages message on (message.company_id, message.id) = (item.company_id, item.message_id)
    join conversations conversation
      on (conversation.company_id, conversation.id) = (message.company_id, message.conversation_id)
    where message.media ->> 'providerMediaId' <> ''
    on conflict do nothing
    returning company_id, sender_id, message_id
  `
}

/** Returns the media in any copy state. */
export async function findMedia(db: Db, companyId: number, messageId: number): Promise<MediaRow | undefined> {
  const [row] = await db<MediaRow[]>`
    select
      media.company_id, media.message_id, media.sender_id, media.provider_media_id, media.state,
      coalesce(upload.storage_key, media.storage_key) as storage_key, media.mime_type, media.filename, media.size_bytes,
      media.sha256, media.attempts, media.created_at
    from media
    left join uploads upload on (upload.company_id, upload.id) = (media.company_id, media.upload_id)
    where (media.company_id, media.message_id) = (${companyId}, ${messageId})
  `
  return row
}

/** Marks a copy as stored; false if no longer pending. The downloaded MIME type overrides the message's. */
export async function markStored(
  db: Db,
  companyId: number,
  messageId: number,
  copy: { mimeType: string | null; sizeBytes: number; sha256: string },
): Promise<boolean> {
  const stored = await db`
    update media
    set
      state = 'stored',
      mime_type = coalesce(${copy.mimeType}, mime_type),
      size_bytes = ${copy.sizeBytes},
      sha256 = ${copy.sha256},
      last_error = null,
      updated_at = now()
    where (company_id, message_id) = (${companyId}, ${messageId}) and state = 'pending'
  `
  return stored.count > 0
}

/** Queues a copy for deletion if its message was erased, revoked or deleted during the copy. */
export async function discardUnwanted(db: Db, { companyId, messageId, storageKey }: MediaRow): Promise<void> {
  await db`
    insert into discarded_files (company_id, storage_key)
    select ${companyId}, ${storageKey}
    where not exists (
      select from media
      where (company_id, message_id) = (${companyId}, ${messageId}) and state in ('pending', 'stored')
    )
    on conflict do nothing
  `
}

/** Marks a copy as lost; no retry follows. */
export async function markLost(
  db: Db,
  companyId: number,
  messageId: number,
  state: 'gone' | 'failed',
  error: string,
): Promise<void> {
  await db`
    update media
    set state = ${state}, attempts = attempts + 1, last_error = ${error.slice(0, LONGEST_ERROR)}, updated_at = now()
    where (company_id, message_id) = (${companyId}, ${messageId}) and state = 'pending'
  `
}

/** Counts a failed attempt if the copy is still pending. */
export async function recordFailedCopy(db: Db, companyId: number, messageId: number, error: string): Promise<void> {
  await db`
    update media
    set attempts = attempts + 1, last_error = ${error.slice(0, LONGEST_ERROR)}, updated_at = now()
    where (company_id, message_id) = (${companyId}, ${messageId}) and state = 'pending'
  `
}

/** Queues the files of a `target` CTE's media rows and makes their uploads due. */
const releasingFiles = (companyId: number) => sql`
  discarded as (
    insert into discarded_files (company_id, storage_key)
    select ${companyId}::bigint, storage_key from target
    on conflict do nothing
  ),
  released as (
    update uploads upload
    set due_at = statement_timestamp()
    from target
    where (upload.company_id, upload.id) = (${companyId}, target.upload_id)
  )
`

/** Marks media as gone. Must be called again to catch copies made meanwhile. */
export async function markErased(db: Db, companyId: number, messageIds: readonly number[]): Promise<void> {
  await db`
    with target as materialized (
      select message_id, storage_key, upload_id
      from media
      where company_id = ${companyId} and message_id = any(${[...messageIds]}::bigint[])
    ),
    ${releasingFiles(companyId)}
    update media
    set
      state = 'gone', upload_id = null, provider_media_id = '', mime_type = null, filename = null, size_bytes = null, sha256 = null,
      last_error = null, updated_at = statement_timestamp()
    from target
    where (media.company_id, media.message_id) = (${companyId}, target.message_id)
      and (media.state <> 'gone' or media.provider_media_id <> '' or media.upload_id is not null)
  `
}

/** Deletes a company's media rows matching `where`, with their files; returns how many. */
export async function deleteMedia(db: Db, companyId: number, where: Fragment): Promise<number> {
  const [row] = await db<[{ count: number }]>`
    with target as (
      delete from media where company_id = ${companyId} and ${where} returning storage_key, upload_id
    ),
    ${releasingFiles(companyId)}
    select count(*)::integer as count from target
  `
  return row.count
}

/** Deletes the oldest media rows whose messages match; returns how many. */
export const expireMedia = (
  db: Db,
  companyId: number,
  areExpired: Fragment,
  { limit, skip }: ExpiryBatch,
): Promise<number> =>
  deleteMedia(
    db,
    companyId,
    sql`message_id in (
      select message_id
      from media
      where company_id = ${companyId} and ${areExpired}
      order by message_id
      limit ${limit}
      offset ${skip}
    )`,
  )
