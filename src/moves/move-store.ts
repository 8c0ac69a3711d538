import { makeMessageMonth } from '../conversations/message-expiry-store.ts'
import { monthOfId } from '../conversations/message-store.ts'
import { type Db, type Fragment, type Pool, sql } from '../db/connect.ts'
import { NO_WORKER } from '../queue/job-table.ts'
import { MOVED_TABLES } from './moved-rows.ts'

const ROWS_AT_ONCE = 500

type MovingCompany = { id: number; name: string; isLocked: boolean }

export async function findMovingCompany(db: Db, companyId: number): Promise<MovingCompany | undefined> {
  const [company] = await db<MovingCompany[]>`
    select id, name, closed_at is not null as is_locked from companies where id = ${companyId} and deleted_at is null
  `
  return company
}

export async function setLocked(db: Db, companyId: number, isLocked: boolean): Promise<void> {
  await db`
    update companies
    set closed_at = case when ${isLocked} then coalesce(closed_at, now()) end
    where id = ${companyId}
  `
}

/** Whether a locked company still has leases, pending sends, keyed requests or earlier events. */
export async function isBusy(db: Db, companyId: number, cachedSeconds: number): Promise<boolean> {
  const [row] = await db<[{ isBusy: boolean }]>`
    select
      exists (select from jobs where company_id = ${companyId} and lease_until > now() and claim_id <> ${NO_WORKER})
      or exists (select from deliveries where company_id = ${companyId} and lease_until > now())
      or exists (select from messages where company_id = ${companyId} and status = 'pending')
      or exists (
        select from idempotency_keys
        where company_id = ${companyId} and answer_status is null and lease_until > now()
      )
      or exists (
        select from inbound_events where received_at < closed_at + make_interval(secs => ${cachedSeconds})
      ) as is_busy
    from companies
    where id = ${companyId}
  `
  return row.isBusy
}

/** Lists open transactions of all roles. Must use pg_locks: pg_stat_activity hides other roles' start times. */
export async function listTransactions(db: Db): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select lock.virtualtransaction as id
    from pg_locks lock
    join pg_stat_activity activity on activity.pid = lock.pid
    where lock.locktype = 'virtualxid'
      and activity.datname = current_database()
      and activity.usesysid is not null -- a worker of autovacuum has none
      and lock.pid <> pg_backend_pid()
  `
  return rows.map(({ id }) => id)
}

/** Returns a digest of migrations and SQL objects; must match between installations. */
export async function schemaDigest(db: Db): Promise<string> {
  const [row] = await db<[{ digest: string }]>`
    select md5(string_agg(entry.name || ':' || coalesce(entry.checksum, ''), ',' order by entry.name)) as digest
    from (select name, checksum from migrations union all select name, checksum from sql_objects) as entry
  `
  return row.digest
}

export async function* movedRowsOf(tx: Db, table: string, companyId: number): AsyncGenerator<string[]> {
  const key = tx(table === 'companies' ? 'id' : 'company_id')
  const all = sql`select to_jsonb(moved)::text as row from ${tx(table)} as moved where moved.${key} = ${companyId}`
  for await (const rows of readInBatches<{ row: string }>(tx, all)) yield rows.map(({ row }) => row)
}

type MovedBlob = { key: string; mimeType: string }

export async function* movedBlobsOf(db: Db, companyId: number): AsyncGenerator<MovedBlob[]> {
  yield* pagesOf(
    0,
    (after) => db<(MovedBlob & { id: number })[]>`
      select message_id as id, storage_key as key, coalesce(mime_type, 'application/octet-stream') as mime_type
      from media
      where company_id = ${companyId} and message_id > ${after} and state = 'stored' and upload_id is null
      order by message_id
      limit ${ROWS_AT_ONCE}
    `,
  )
  yield* pagesOf(
    '',
    (after) => db<(MovedBlob & { id: string })[]>`
      select id, storage_key as key, mime_type
      from uploads
      where company_id = ${companyId} and id > ${after} and size_bytes is not null
      order by id
      limit ${ROWS_AT_ONCE}
    `,
  )
  yield* pagesOf(
    0,
    (after) => db<(MovedBlob & { id: number })[]>`
      select id, storage_key as key, 'application/octet-stream' as mime_type
      from contact_imports
      where company_id = ${companyId} and id > ${after} and storage_key is not null
      order by id
      limit ${ROWS_AT_ONCE}
    `,
  )
}

async function* pagesOf<Id, Row extends { id: Id }>(
  first: Id,
  read: (after: Id) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  for (let after = first; ; ) {
    const rows = await read(after)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = last.id
  }
}

async function* readInBatches<T>(tx: Db, query: Fragment): AsyncGenerator<T[]> {
  await tx`declare moved_rows no scroll cursor for ${query}`
  for (;;) {
    const rows = await tx.unsafe<T[]>(`fetch ${ROWS_AT_ONCE} from moved_rows`)
    if (rows.length === 0) break
    yield [...rows]
  }
  await tx`close moved_rows`
}

/** Inserts rows unchanged except for the company; jobs get new ids. */
export async function insertRows(tx: Db, table: string, companyId: number, rows: readonly string[]): Promise<void> {
  const key = table === 'companies' ? 'id' : 'company_id'
  const columns = await columnsOf(tx, table)
  const list = columns.filter((column) => table !== 'jobs' || column !== 'id').map((column) => `"${column}"`)
  await tx.unsafe(
    `insert into ${table} (${list.join(', ')}) overriding system value
     select ${list.join(', ')}
     from jsonb_array_elements($1::text::jsonb) as moved,
       jsonb_populate_record(null::${table}, moved || jsonb_build_object('${key}', $2::bigint))`,
    [`[${rows.join(',')}]`, companyId],
  )
}

async function columnsOf(tx: Db, table: string): Promise<string[]> {
  const rows = await tx<{ name: string }[]>`
    select attname as name
    from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = ''
    order by attnum
  `
  return rows.map(({ name }) => name)
}

/** Creates the month partitions for these messages; returns false for an id above `most`. */
export async function makeMonthsOf(tx: Db, messages: readonly string[], most: number): Promise<boolean> {
  const ids = messages.map((row) => Number(JSON.parse(row).id))
  if (ids.some((id) => id > most)) return false
  for (const month of new Set(ids.map(monthOfId))) if (month > 0) await makeMessageMonth(tx, month)
  return true
}

export async function advanceSequences(tx: Db, companyId: number): Promise<void> {
  for (const { table, column, sequence } of await listSequences(tx)) {
    await advance(tx, sequence, sql`select max(${tx(column)}) from ${tx(table)} where company_id = ${companyId}`)
  }
  const isOfThisMonth = sql`id < 1000000000000 or id >= message_id_floor(now())`
  await advance(
    tx,
    'messages_id_seq',
    sql`select max(id % 1000000000000) from messages where company_id = ${companyId} and (${isOfThisMonth})`,
  )
  for (const table of ['deliveries', 'delivery_attempts']) {
    await advance(
      tx,
      'delivery_ids',
      sql`select max(id % 1000000000) from ${tx(table)} where company_id = ${companyId} and id / 1000000000 >= (now() at time zone 'UTC')::date - date '1970-01-01'`,
    )
  }
}

export async function hasIdAbove(tx: Db, companyId: number, most: number): Promise<boolean> {
  for (const { table, column } of await listSequences(tx)) {
    const [row] = await tx<[{ isAbove: boolean | null }]>`
      select max(${tx(column)}) > ${most}::bigint as is_above from ${tx(table)} where company_id = ${companyId}
    `
    if (row.isAbove) return true
  }
  return false
}

type Sequence = { table: string; column: string; sequence: string }

const listSequences = (tx: Db): Promise<Sequence[]> => tx<Sequence[]>`
  select relation.relname as table, attribute.attname as column,
    pg_get_serial_sequence(relation.relname, attribute.attname) as sequence
  from pg_attribute attribute
  join pg_class relation on relation.oid = attribute.attrelid
  where attribute.attidentity <> '' and relation.relname = any (${MOVED_TABLES.filter(isWithinCompany)}::text[])
`

const isWithinCompany = (table: string): boolean => table !== 'companies' && table !== 'jobs'

async function advance(tx: Db, sequence: string, highest: Fragment): Promise<void> {
  await tx`
    select setval(${sequence}, highest.id)
    from (select (${highest}) as id) as highest
    where highest.id > coalesce(pg_sequence_last_value(${sequence}::regclass), 0)
  `
}

export async function makePastDays(tx: Db, days: number): Promise<void> {
  await tx`select make_delivery_days(0, ${days}::integer)`
}

export async function deleteRows(db: Pool, table: string, companyId: number): Promise<void> {
  const key = db(table === 'companies' ? 'id' : 'company_id')
  for (let deleted = -1; deleted !== 0; ) {
    const { count } = await db`
      delete from ${db(table)}
      where (tableoid, ctid) in (
        select tableoid, ctid from ${db(table)} where ${key} = ${companyId} limit 1000
      )
    `
    deleted = count
  }
}

export async function setMediaSecret(tx: Db, companyId: number, sealed: string): Promise<void> {
  await tx`update companies set media_secret = ${sealed}, closed_at = null where id = ${companyId}`
}

/** Opt-outs of erased persons need the exporter's hash key. Hashes of erased messages expire within 30 days. */
export async function hasHashedOptOuts(tx: Db, companyId: number): Promise<boolean> {
  const rows = await tx`select from consents where company_id = ${companyId} and identity like 'hash:%' limit 1`
  return rows.length > 0
}

/** Returns the encrypted secret of media addresses from before a move. */
export async function findMediaSecret(db: Db, companyId: number): Promise<string | undefined> {
  const [row] = await db<{ mediaSecret: string }[]>`
    select media_secret from companies where id = ${companyId} and deleted_at is null and media_secret is not null
  `
  return row?.mediaSecret
}
