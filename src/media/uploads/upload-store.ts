import { type Db, type Pool, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import type { ExpiryBatch } from '../../db/lifetime-store.ts'
import { newStorageKey } from '../blobs/blob-store.ts'

export type Upload = {
  id: string
  storageKey: string
  mimeType: string
  filename: string | null
  sizeBytes: number
  sha256: string
}

/** Uploads still incomplete after this time are abandoned. */
const ARRIVAL_MINUTES = 60

/** Records an upload before its bytes arrive. */
export async function insertUpload(db: Db, companyId: number, id: string, storageKey: string): Promise<void> {
  await db`
    insert into uploads (company_id, id, storage_key, due_at)
    values (${companyId}, ${id}, ${storageKey}, now() + make_interval(mins => ${ARRIVAL_MINUTES}))
  `
}

/** Completes an upload; returns the deletion time for unsent files, or undefined if already deleted. */
export async function completeUpload(
  tx: Db,
  companyId: number,
  upload: Omit<Upload, 'storageKey'>,
  unsentDays: number,
): Promise<Date | undefined> {
  const [row] = await tx<{ dueAt: Date }[]>`
    update uploads
    set
      mime_type = ${upload.mimeType},
      filename = ${upload.filename},
      size_bytes = ${upload.sizeBytes},
      sha256 = ${upload.sha256},
      due_at = created_at + make_interval(days => ${unsentDays})
    where (company_id, id) = (${companyId}, ${upload.id}) and size_bytes is null
    returning due_at
  `
  return row?.dueAt
}

/** Counts the company's files without a message, including unfinished uploads. */
export async function readUnsent(db: Db, companyId: number): Promise<{ files: number; bytes: number }> {
  const [row] = await db<[{ files: number; bytes: number }]>`
    select count(*)::integer as files, coalesce(sum(size_bytes), 0)::bigint as bytes
    from uploads
    where company_id = ${companyId} and due_at is not null
  `
  return { files: row.files, bytes: Number(row.bytes) }
}

/** Deletes an untaken upload and queues its bytes for deletion; returns false if none was found. */
export async function deleteUpload(db: Db, companyId: number, id: string): Promise<boolean> {
  const discarded = await db`
    with deleted as (
      delete from uploads where (company_id, id) = (${companyId}, ${id}) and size_bytes is null returning storage_key
    )
    insert into discarded_files (company_id, storage_key)
    select ${companyId}, storage_key from deleted
    on conflict do nothing
  `
  return discarded.count > 0
}

export async function findStoredUpload(db: Db, companyId: number, id: string): Promise<Upload | undefined> {
  const [row] = await db<Upload[]>`
    select id, storage_key, mime_type, filename, size_bytes, sha256
    from uploads
    where (company_id, id) = (${companyId}, ${id}) and size_bytes is not null
  `
  return row
}

type UploadWithCopy = Upload & { providerMediaId: string | null }

/** Returns a complete upload with its provider id for the sender, unless that copy is older than `copyDays`. */
export async function findUpload(
  db: Db,
  companyId: number,
  senderId: number,
  id: string,
  copyDays: number,
): Promise<UploadWithCopy | undefined> {
  const [row] = await db<UploadWithCopy[]>`
    select
      upload.id, upload.storage_key, upload.mime_type, upload.filename, upload.size_bytes, upload.sha256,
      copy.provider_media_id
    from uploads upload
    left join upload_copies copy
      on (copy.company_id, copy.upload_id, copy.sender_id) = (upload.company_id, upload.id, ${senderId}::bigint)
      and copy.created_at > now() - make_interval(days => ${copyDays})
    where (upload.company_id, upload.id) = (${companyId}, ${id}) and upload.size_bytes is not null
  `
  return row
}

/** Records the provider's id for a file. */
export async function saveUploadCopy(
  db: Db,
  companyId: number,
  copy: { uploadId: string; senderId: number; providerMediaId: string },
): Promise<void> {
  await db`
    insert into upload_copies (company_id, upload_id, sender_id, provider_media_id)
    select ${companyId}, upload.id, ${copy.senderId}, ${copy.providerMediaId}
    from uploads upload
    where (upload.company_id, upload.id) = (${companyId}, ${copy.uploadId})
    for key share
    on conflict (company_id, upload_id, sender_id)
      do update set provider_media_id = excluded.provider_media_id, created_at = excluded.created_at
  `
}

type CarriedUpload = { companyId: number; messageId: number; senderId: number; uploadId: string }

/** Links uploads to messages written earlier in this transaction. Skips files deleted meanwhile. */
export async function carryUploads(tx: Db, carried: readonly CarriedUpload[]): Promise<void> {
  const rows = carried.map((one) => ({ ...one, storageKey: newStorageKey(one.companyId) }))
  await tx`
    with input as materialized (
      select input.*, upload.mime_type, upload.filename, upload.size_bytes, upload.sha256
      from ${inputRows(rows, {
        bigint: ['companyId', 'messageId', 'senderId'],
        text: ['uploadId', 'storageKey'],
      })}
      join uploads upload on (upload.company_id, upload.id) = (input.company_id, input.upload_id)
      for key share of upload
    ),
    carried as (
      insert into media (
        company_id, message_id, sender_id, upload_id, provider_media_id, state, storage_key, mime_type, filename, size_bytes,
        sha256
      )
      select
        company_id, message_id, sender_id, upload_id, '', 'stored', storage_key, mime_type, filename, size_bytes, sha256
      from input
      on conflict do nothing
    )
    update uploads upload
    set due_at = null
    from (select distinct company_id, upload_id from input) as used
    where (upload.company_id, upload.id) = (used.company_id, used.upload_id) and upload.due_at is not null
  `
}

type DueUpload = { companyId: number; id: string; storageKey: string }

/** Locks due uploads, for one company or all. */
export function lockDueUploads(tx: Db, { limit, skip }: ExpiryBatch, companyId?: number): Promise<DueUpload[]> {
  return tx<DueUpload[]>`
    select company_id, id, storage_key
    from uploads
    where due_at <= now() ${companyId === undefined ? sql`` : sql`and company_id = ${companyId}`}
    order by due_at
    limit ${limit}
    offset ${skip}
    for update skip locked
  `
}

/** Keeps locked uploads used by messages; returns the others. */
export async function keepCarried(tx: Db, locked: readonly DueUpload[]): Promise<DueUpload[]> {
  const kept = await tx<{ companyId: number; id: string }[]>`
    update uploads upload
    set due_at = null
    from ${keysOf(locked)}
    where (upload.company_id, upload.id) = (input.company_id, input.id)
      and exists (
        select from media where (media.company_id, media.upload_id) = (upload.company_id, upload.id)
      )
    returning upload.company_id, upload.id
  `
  const keptKeys = new Set(kept.map((one) => `${one.companyId} ${one.id}`))
  return locked.filter((one) => !keptKeys.has(`${one.companyId} ${one.id}`))
}

/** Deletes locked uploads and queues their bytes for deletion. */
export async function deleteUploads(tx: Db, locked: readonly DueUpload[]): Promise<void> {
  await tx`
    with deleted as (
      delete from uploads upload
      using ${keysOf(locked)}
      where (upload.company_id, upload.id) = (input.company_id, input.id)
      returning upload.company_id, upload.storage_key
    )
    insert into discarded_files (company_id, storage_key)
    select company_id, storage_key from deleted
    on conflict do nothing
  `
}

const keysOf = (uploads: readonly DueUpload[]) => inputRows(uploads, { bigint: ['companyId'], text: ['id'] })

/** Discards due uploads without a message, for one company or all; returns how many were due. */
export const expireUploads = (db: Pool, batch: ExpiryBatch, companyId?: number): Promise<number> =>
  db.begin(async (tx) => {
    const due = await lockDueUploads(tx, batch, companyId)
    if (due.length === 0) return 0
    // Must run after the locks: a message being written keeps its file.
    const unused = await keepCarried(tx, due)
    if (unused.length > 0) await deleteUploads(tx, unused)
    return due.length
  })
