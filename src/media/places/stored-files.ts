import type { Pool } from '../../db/connect.ts'
import { listCompanyIds } from '../../queue/company-pass.ts'
import { FILE_KINDS, listStoredFiles, type StoredFile, type StoredFileKind } from './stored-file-store.ts'

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
