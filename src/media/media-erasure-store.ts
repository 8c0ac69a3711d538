import type { Db } from '../db/connect.ts'

/** Marks media as gone. Must be called again to catch copies made meanwhile. */
export async function markErased(db: Db, companyId: number, messageIds: readonly number[]): Promise<void> {
  await db`
    with released as (
      update uploads upload
      set due_at = statement_timestamp()
      from media
      where media.company_id = ${companyId}
        and media.message_id = any(${[...messageIds]}::bigint[])
        and (upload.company_id, upload.id) = (media.company_id, media.upload_id)
    ),
    discarded as (
      insert into discarded_files (company_id, storage_key)
      select company_id, storage_key
      from media
      where company_id = ${companyId} and message_id = any(${[...messageIds]}::bigint[])
      on conflict do nothing
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
