import type { Db } from '../db/connect.ts'

export type ImportStatus = 'queued' | 'running' | 'completed' | 'failed'

export type ContactImport = {
  readonly id: number
  readonly format: 'csv' | 'ndjson'
  readonly columns: readonly string[]
  readonly storageKey: string
  readonly sizeBytes: number
  readonly rows: number
  readonly clientId: string | null
  readonly status: ImportStatus
  readonly failure: string | null
  /** How far its rows are written: where the next one begins. */
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

export type NewImport = Pick<
  ContactImport,
  'format' | 'columns' | 'storageKey' | 'sizeBytes' | 'rows' | 'clientId' | 'readBytes' | 'readLines'
>

const columns = (db: Db) => db`
  id, format, columns, storage_key, size_bytes, rows, client_id, status, failure, read_bytes, read_lines,
  created, updated, unchanged, refused, created_at, started_at, ended_at
`

export async function insertImport(db: Db, companyId: number, given: NewImport): Promise<ContactImport | undefined> {
  const [created] = await db<ContactImport[]>`
    insert into contact_imports (
      company_id, format, columns, storage_key, size_bytes, rows, client_id, read_bytes, read_lines
    )
    values (
      ${companyId}, ${given.format}, ${[...given.columns]}, ${given.storageKey}, ${given.sizeBytes}, ${given.rows},
      ${given.clientId}, ${given.readBytes}, ${given.readLines}
    )
    returning ${columns(db)}
  `
  return created
}

export async function findImport(db: Db, companyId: number, id: number): Promise<ContactImport | undefined> {
  const [found] = await db<ContactImport[]>`
    select ${columns(db)}
    from contact_imports
    where (company_id, id) = (${companyId}, ${id})
  `
  return found
}

/** Marks an import that is not over as running and answers how far it is. */
export async function beginImport(db: Db, companyId: number, id: number): Promise<ContactImport | undefined> {
  const [begun] = await db<ContactImport[]>`
    update contact_imports
    set status = 'running', started_at = coalesce(started_at, now())
    where (company_id, id) = (${companyId}, ${id}) and status in ('queued', 'running')
    returning ${columns(db)}
  `
  return begun
}

/** A row that was not written, and why. */
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

/** Counts rows in the transaction that writes them. False when another has gone on from the same place already. */
export async function recordProgress(tx: Db, companyId: number, id: number, progress: Progress): Promise<boolean> {
  const refusals = progress.refusals.map(({ line, reason, fields }) => ({ line, reason, fields: [...fields] }))
  const moved = await tx`
    with refused as (
      insert into contact_import_refusals (company_id, import_id, line, reason, fields)
      select ${companyId}, ${id}, refusal.line, refusal.reason, refusal.fields
      from jsonb_to_recordset(${tx.json(refusals)}) as refusal (line integer, reason text, fields text[])
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
    returning id
  `
  return moved.length > 0
}

/** Ends an import, with a failure when it could not be read to its end. */
export async function endImport(db: Db, companyId: number, id: number, failure: string | null): Promise<void> {
  await db`
    update contact_imports
    set status = ${failure === null ? 'completed' : 'failed'}, failure = ${failure}, ended_at = now()
    where (company_id, id) = (${companyId}, ${id}) and status in ('queued', 'running')
  `
}

/** Refused rows after a line, in order. */
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
