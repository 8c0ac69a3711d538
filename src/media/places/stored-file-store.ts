import type { Db, Pool } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { listCompanyIds } from '../../queue/company-pass.ts'

type StoredFileKind = 'media' | 'uploads' | 'imports'

export type StoredFile = { kind: StoredFileKind; companyId: number; id: string; storageKey: string; mimeType: string }

const FILE_KINDS: readonly StoredFileKind[] = ['media', 'uploads', 'imports']

/** Returns up to `limit` stored files with ids after `afterId`, by id. */
function listStoredFiles(
  db: Db,
  companyId: number,
  kind: StoredFileKind,
  afterId: string | undefined,
  limit: number,
): Promise<StoredFile[]> {
  if (kind === 'uploads')
    return db<StoredFile[]>`
      select 'uploads' as kind, company_id, id, storage_key, mime_type
      from uploads
      where company_id = ${companyId} and id > ${afterId ?? ''} and size_bytes is not null
      order by id
      limit ${limit}
    `
  const after = afterId ?? '0'
  if (kind === 'imports')
    return db<StoredFile[]>`
      select 'imports' as kind, company_id, id::text, storage_key, 'application/octet-stream' as mime_type
      from contact_imports
      where company_id = ${companyId} and id > ${after}::bigint and storage_key is not null
      order by contact_imports.id
      limit ${limit}
    `
  return db<StoredFile[]>`
    select
      'media' as kind, company_id, message_id::text as id, storage_key,
      coalesce(mime_type, 'application/octet-stream') as mime_type
    from media
    where company_id = ${companyId} and message_id > ${after}::bigint and state = 'stored' and upload_id is null
    order by message_id
    limit ${limit}
  `
}

/** Returns the storage keys still in use. */
export async function findStoredKeys(db: Db, files: readonly StoredFile[]): Promise<Set<string>> {
  const items = files.map((file) => ({ ...file, number: file.kind === 'uploads' ? null : file.id }))
  const rows = await db<{ storageKey: string }[]>`
    select item.storage_key
    from ${inputRows(items, { text: ['kind', 'id', 'storageKey'], bigint: ['companyId', 'number'] }, 'item')}
    left join media
      on item.kind = 'media' and (media.company_id, media.message_id) = (item.company_id, item.number)
    left join uploads
      on item.kind = 'uploads' and (uploads.company_id, uploads.id) = (item.company_id, item.id)
    left join contact_imports import
      on item.kind = 'imports' and (import.company_id, import.id) = (item.company_id, item.number)
    where item.storage_key in (media.storage_key, uploads.storage_key, import.storage_key)
  `
  return new Set(rows.map(({ storageKey }) => storageKey))
}

const PAGE = 500
const CONCURRENT = 8

export async function* storedFiles(db: Pool): AsyncGenerator<StoredFile[]> {
  for (const id of await listCompanyIds(db)) for (const kind of FILE_KINDS) yield* pagesOf(db, id, kind)
}

async function* pagesOf(db: Pool, companyId: number, kind: StoredFileKind): AsyncGenerator<StoredFile[]> {
  let last: string | undefined
  do {
    const page = await listStoredFiles(db, companyId, kind, last, PAGE)
    if (page.length > 0) yield page
    last = page.at(-1)?.id
  } while (last !== undefined)
}

/** Runs `work` on all items, eight at a time. */
export async function atOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values()
  const worker = async () => {
    for (const item of queue) await work(item)
  }
  await Promise.all(Array.from({ length: CONCURRENT }, worker))
}
