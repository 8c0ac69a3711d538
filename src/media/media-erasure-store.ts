import type { Db } from '../db/connect.ts'

/** Where the copies of the media of messages are kept. */
export async function listStorageKeys(db: Db, companyId: number, messageIds: readonly number[]): Promise<string[]> {
  const rows = await db<{ storageKey: string }[]>`
    select storage_key
    from media
    where company_id = ${companyId} and message_id = any(${[...messageIds]}::bigint[])
  `
  return rows.map(({ storageKey }) => storageKey)
}

/** Marks media as gone and erases what describes them. Uploaded files that they carried are due. */
export async function markErased(db: Db, companyId: number, messageIds: readonly number[]): Promise<void> {
  await db`
    with released as (
      update uploads upload
      set due_at = statement_timestamp()
      from media
      where media.company_id = ${companyId}
        and media.message_id = any(${[...messageIds]}::bigint[])
        and (upload.company_id, upload.id) = (media.company_id, media.upload_id)
    )
    update media
    set
      state = 'gone', upload_id = null, provider_media_id = '', mime_type = null, filename = null, size_bytes = null, sha256 = null,
      last_error = null, updated_at = statement_timestamp()
    where company_id = ${companyId}
      and message_id = any(${[...messageIds]}::bigint[])
      and (state <> 'gone' or provider_media_id <> '' or upload_id is not null)
  `
}
