import { type Db, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import type { ConsentWords } from '../../platform/text/lists/consent-columns.ts'
import type { Delimiter } from '../../platform/text/lists/csv.ts'
import type { ListEncoding } from '../../platform/text/lists/encoding.ts'
import type { ProfileName } from '../../platform/text/lists/list-profiles.ts'
import type { PhoneCountry } from '../../platform/text/phone.ts'

/** Public states; a list still being uploaded is `receiving`. */
export type ImportStatus = 'queued' | 'running' | 'completed' | 'failed' | 'cancelled'

export type ContactImport = {
  readonly id: number
  readonly format: 'csv' | 'ndjson'
  readonly columns: readonly string[]
  /** Null for NDJSON, and for lists from earlier versions (comma, UTF-8). */
  readonly delimiter: Delimiter | null
  readonly encoding: ListEncoding | null
  readonly profile: ProfileName | null
  readonly consentWords: ConsentWords | null
  readonly storageKey: string | null
  readonly sizeBytes: number
  readonly rows: number
  readonly clientId: string | null
  readonly defaultCountry: PhoneCountry | null
  readonly status: ImportStatus
  readonly failure: string | null
  readonly readBytes: number
  readonly readLines: number
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly refused: number
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly endedAt: Date | null
}

export type StartedImport = ContactImport & { readonly storageKey: string }

export type TakenList = Pick<
  ContactImport,
  'columns' | 'delimiter' | 'encoding' | 'profile' | 'consentWords' | 'sizeBytes' | 'rows' | 'readBytes' | 'readLines'
>

const columns = sql`
  id, format, columns, delimiter, encoding, profile, consent_words, storage_key, size_bytes, rows, client_id, default_country, status, failure, read_bytes,
  read_lines,
  created, updated, unchanged, refused, created_at, started_at, ended_at
`

/** Records the storage key before the upload, so that an interrupted upload can be removed. */
export async function insertImport(
  db: Db,
  companyId: number,
  input: { format: ContactImport['format']; storageKey: string; clientId: string | null },
): Promise<number> {
  const [created] = await db<{ id: number }[]>`
    insert into contact_imports (
      company_id, format, storage_key, client_id, status, columns, size_bytes, rows, read_bytes, read_lines
    )
    values (${companyId}, ${input.format}, ${input.storageKey}, ${input.clientId}, 'receiving', '{}', 0, 0, 0, 0)
    returning id
  `
  if (created === undefined) throw new Error('The import was not recorded')
  return created.id
}

/** Serializes a company's queue limit checks until the transaction ends. */
export async function lockWaiting(tx: Db, companyId: number): Promise<void> {
  await tx`select pg_advisory_xact_lock(advisory_key('waiting import', ${String(companyId)}))`
}

/** Uploads take a minute at most; older ones belong to a dead process. */
const RECEIVING_MINUTES = 2

/** Returns the number and size of a company's unfinished lists, except one. */
export async function readWaiting(
  db: Db,
  companyId: number,
  exceptId: number = 0,
): Promise<{ lists: number; bytes: number }> {
  const [row] = await db<{ lists: number; bytes: number }[]>`
    select count(*) as lists, coalesce(sum(size_bytes), 0)::bigint as bytes
    from contact_imports
    where company_id = ${companyId}
      and id <> ${exceptId}
      and storage_key is not null
      and (
        status in ('queued', 'running')
        or (status = 'receiving' and created_at > now() - make_interval(mins => ${RECEIVING_MINUTES}))
      )
  `
  return row ?? { lists: 0, bytes: 0 }
}

export async function readImports(db: Db, companyId: number, before: number, limit: number): Promise<ContactImport[]> {
  return db<ContactImport[]>`
    select ${columns}
    from contact_imports
    where company_id = ${companyId} and id < ${before} and status <> 'receiving'
    order by id desc
    limit ${limit}
  `
}

/** Cancels an active import, if any. The worker notices before its next rows. */
export async function endCancelled(db: Db, companyId: number, id: number): Promise<boolean> {
  const ended = await db`
    update contact_imports
    set status = 'cancelled', ended_at = now()
    where (company_id, id) = (${companyId}, ${id}) and status in ('queued', 'running')
    returning id
  `
  return ended.length > 0
}

export async function queueImport(tx: Db, companyId: number, id: number, list: TakenList): Promise<ContactImport> {
  const [queued] = await tx<ContactImport[]>`
    update contact_imports
    set
      status = 'queued',
      default_country = (select companies.default_country from companies where companies.id = ${companyId}),
      columns = ${[...list.columns]},
      delimiter = ${list.delimiter},
      encoding = ${list.encoding},
      profile = ${list.profile},
      consent_words = ${list.consentWords === null ? null : tx.json(list.consentWords)},
      size_bytes = ${list.sizeBytes},
      rows = ${list.rows},
      read_bytes = ${list.readBytes},
      read_lines = ${list.readLines}
    where (company_id, id) = (${companyId}, ${id}) and status = 'receiving'
    returning ${columns}
  `
  if (queued === undefined) throw new Error('The import was discarded before it was queued')
  return queued
}

/** Locks an import; returns whether its list is still being received. */
export async function lockReceiving(tx: Db, companyId: number, id: number): Promise<boolean> {
  const rows = await tx`
    select from contact_imports
    where (company_id, id) = (${companyId}, ${id}) and status = 'receiving'
    for update`
  return rows.count === 1
}

/** Deletes an unqueued import, and queues its list for deletion. */
export async function removeImport(db: Db, companyId: number, id: number): Promise<void> {
  await db`
    with removed as (
      delete from contact_imports where (company_id, id) = (${companyId}, ${id}) and status = 'receiving' returning storage_key
    )
    insert into discarded_files (company_id, storage_key)
    select ${companyId}, storage_key from removed where storage_key is not null
    on conflict do nothing
  `
}

/** Detaches an import's list and queues the list for deletion. */
export async function discardListOf(db: Db, companyId: number, id: number): Promise<void> {
  await db`
    with list as materialized (
      select storage_key
      from contact_imports
      where (company_id, id) = (${companyId}, ${id}) and storage_key is not null
      for update
    ),
    detached as (
      update contact_imports set storage_key = null
      where (company_id, id) = (${companyId}, ${id}) and exists (select from list)
    )
    insert into discarded_files (company_id, storage_key)
    select ${companyId}, storage_key from list
    on conflict do nothing
  `
}

export async function readLeftovers(
  db: Db,
  limit: number,
): Promise<{ companyId: number; id: number; isReceiving: boolean }[]> {
  return db`
    select company_id, id, status = 'receiving' as is_receiving
    from contact_imports
    where storage_key is not null
      and (
        (status = 'receiving' and created_at < now() - interval '1 day')
        or ended_at < now() - interval '1 minute'
      )
    limit ${limit}
  `
}

export async function findImport(db: Db, companyId: number, id: number): Promise<ContactImport | undefined> {
  const [found] = await db<ContactImport[]>`
    select ${columns}
    from contact_imports
    where (company_id, id) = (${companyId}, ${id}) and status <> 'receiving'
  `
  return found
}

export async function startImport(db: Db, companyId: number, id: number): Promise<StartedImport | undefined> {
  const [started] = await db<StartedImport[]>`
    update contact_imports
    set status = 'running', started_at = coalesce(started_at, now())
    where (company_id, id) = (${companyId}, ${id}) and status in ('queued', 'running')
    returning ${columns}
  `
  return started
}

export type Refusal = { readonly line: number; readonly reason: string; readonly fields: readonly string[] }

export type Progress = {
  readonly from: number
  readonly readBytes: number
  readonly readLines: number
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly refusals: readonly Refusal[]
}

/**
 * Records progress in the transaction writing the rows, without waiting for the disk: a power failure loses rows and
 * progress together, and the import resumes there. Returns false if another process has continued.
 */
export async function recordImportProgress(
  tx: Db,
  companyId: number,
  id: number,
  progress: Progress,
): Promise<boolean> {
  const moved = await tx`
    with at_ease as materialized (
      select set_config('synchronous_commit', 'off', true)
    ),
    refused as (
      insert into contact_import_refusals (company_id, import_id, line, reason, fields)
      select ${companyId}, ${id}, refusal.line, refusal.reason, refusal.fields
      from ${inputRows(progress.refusals, { integer: ['line'], text: ['reason'], 'text[]': ['fields'] }, 'refusal')}
      on conflict do nothing
    )
    update contact_imports
    set
      read_bytes = ${progress.readBytes},
      read_lines = ${progress.readLines},
      created = created + ${progress.created},
      updated = updated + ${progress.updated},
      unchanged = unchanged + ${progress.unchanged},
      refused = refused + ${progress.refusals.length}
    where (company_id, id) = (${companyId}, ${id}) and read_bytes = ${progress.from} and status = 'running'
      and exists (select from at_ease)
    returning id
  `
  return moved.length > 0
}

export async function endImport(db: Db, companyId: number, id: number, failure: string | null): Promise<void> {
  await db`
    update contact_imports
    set status = ${failure === null ? 'completed' : 'failed'}, failure = ${failure}, ended_at = now()
    where (company_id, id) = (${companyId}, ${id}) and status in ('queued', 'running')
  `
}

export async function readRefusals(
  db: Db,
  companyId: number,
  id: number,
  afterLine: number,
  limit: number,
): Promise<Refusal[]> {
  return db<Refusal[]>`
    select line, reason, fields
    from contact_import_refusals
    where (company_id, import_id) = (${companyId}, ${id}) and line > ${afterLine}
    order by line
    limit ${limit}
  `
}
