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

/** Marks media as gone and erases what describes them. */
export async function markErased(db: Db, companyId: number, messageIds: readonly number[]): Promise<void> {
  await db`
    update media
    set
      state = 'gone', provider_media_id = '', mime_type = null, filename = null, size_bytes = null, sha256 = null,
      last_error = null, updated_at = statement_timestamp()
    where company_id = ${companyId}
      and message_id = any(${[...messageIds]}::bigint[])
      and (state <> 'gone' or provider_media_id <> '')
  `
}
