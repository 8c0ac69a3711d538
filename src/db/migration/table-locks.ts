import { ExponentialBackoff, handleWhen, retry } from 'cockatiel'
import { monotonicMs } from '../../platform/clock.ts'
import { StartError } from '../../platform/start-error.ts'
import { MIGRATE_LOCK } from '../advisory-locks.ts'
import type { Pool, Transaction } from '../connect.ts'
import { isContention, sqlState } from '../pool/failure.ts'

/** How long other sessions can delay a schema change. */
const LONGEST_MS = 10 * 60_000
const PAUSES = new ExponentialBackoff({ initialDelay: 100, maxDelay: 2_000 })

/** Only `takeLocks` sets these timeouts. */
const isInTheWay = (error: unknown): boolean =>
  isContention(error) || ['55P03', '57014'].includes(sqlState(error) ?? '')

/**
 * Runs a schema change under the migration lock, retrying for ten minutes while other sessions block it. Throws
 * StartError listing the sessions with the longest transactions.
 */
export async function changeSchema<T>(db: Pool, what: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const endsAtMs = monotonicMs() + LONGEST_MS
  const locking = retry(
    handleWhen((error) => isInTheWay(error) && monotonicMs() < endsAtMs),
    { maxAttempts: Number.POSITIVE_INFINITY, backoff: PAUSES },
  )
  const change = () =>
    db.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${MIGRATE_LOCK})`
      return await work(tx)
    })
  try {
    return await locking.execute(change)
  } catch (error) {
    throw isInTheWay(error) ? await stillLocked(db, what, error) : error
  }
}

async function stillLocked(db: Pool, what: string, cause: unknown): Promise<StartError> {
  const rows = await db<{ pid: number; name: string; minutes: number }[]>`
    select pid, application_name as name, round(extract(epoch from now() - xact_start) / 60)::int as minutes
    from pg_stat_activity
    where datname = current_database() and xact_start < now() - interval '10 seconds' and pid <> pg_backend_pid()
    order by xact_start
    limit 5
  `
  const sessions = rows.map(({ pid, name, minutes }) => `session ${pid} (${name}, ${minutes} min)`).join(', ')
  return new StartError(
    `${what} got no lock for ten minutes, and nothing was changed: wait for the longest transactions, or end them` +
      `${sessions && `: ${sessions}`}`,
    cause,
  )
}

type NeededLocks = {
  /** Rebuilt, changed or dropped: blocks readers. */
  exclusive: string[]
  /** Dropped: a foreign key belongs to the referenced table too. */
  constraints: string[]
  /** Written or indexed: still readable. */
  written: string[]
  from: number
}

const EXCLUSIVE = [
  /\balter table (?:if exists )?(?:only )?(\w+)/g,
  /\bdrop (?:table|index) (?:if exists )?(\w+(?:, ?\w+)*)/g,
  /\btruncate (?:table )?(\w+)/g,
]
const CONSTRAINTS = [/\bdrop constraint (?:if exists )?(\w+)/g]
const WRITTEN = [
  /\bcreate (?:unique )?index (?:if not exists )?\w+\s+on (?:only )?(\w+)/g,
  /\breferences (\w+)/g,
  /\bupdate (?:only )?(\w+)(?:\s+(?:as )?\w+)?\s+set\b/g,
  /\binsert into (\w+)/g,
  /\bdelete from (?:only )?(\w+)/g,
]
/** Upper bound for lock waits while other statements queue behind them. */
const MAX_PATIENCE_MS = 400
/** Longer than `deadlock_timeout`, after which autovacuum gives way. */
const VACUUM_PATIENCE_MS = 3_000

/** Parses which relations a migration locks, including some that do not exist yet. */
export function locksOf(text: string): NeededLocks {
  const code = text.replaceAll(/--[^\n]*/g, (comment) => ' '.repeat(comment.length))
  const found = (patterns: RegExp[]) => patterns.flatMap((pattern) => [...code.matchAll(pattern)])
  const [exclusive, written] = [found(EXCLUSIVE), found(WRITTEN)]
  const names = (matches: RegExpMatchArray[]) =>
    [...new Set(matches.flatMap(([, list = '']) => list.split(/, ?/)))].sort()
  const first = Math.min(code.length, ...[...exclusive, ...written].map(({ index = 0 }) => index))
  return {
    exclusive: names(exclusive),
    constraints: names(found(CONSTRAINTS)),
    written: names(written),
    from: startOfStatement(code, first),
  }
}

/** Function bodies contain semicolons. */
const startOfStatement = (code: string, place: number): number =>
  code.includes('$$') ? 0 : code.lastIndexOf(';', place - 1) + 1

/**
 * Takes all migration locks first, in a fixed order, within less than `deadlock_timeout`: otherwise Postgres could
 * cancel a waiting statement as a deadlock. Throws 55P03 or 57014; then the transaction can begin again.
 */
export async function takeLocks(
  tx: Transaction,
  { exclusive, constraints, written }: Omit<NeededLocks, 'from'>,
): Promise<void> {
  const [tables, writtenTables] = [
    await existing(tx, [...exclusive, ...(await targetsOf(tx, constraints))]),
    await existing(tx, written),
  ]
  const readable = writtenTables.filter((name) => !tables.includes(name))
  const all = [...tables, ...readable].sort()
  const patienceMs = await patienceOf(tx)
  if (all.length > 0) {
    // Blocks no readers or writers, and vacuums holding it give way.
    await tx.unsafe(
      `set local lock_timeout = ${VACUUM_PATIENCE_MS}; lock table ${all.join(', ')} in share update exclusive mode`,
    )
    await tx.unsafe(`set local lock_timeout = ${patienceMs}; set local statement_timeout = ${patienceMs}`)
    await tx.unsafe(lockAll(tables, readable))
  }
  await tx.unsafe(`set local statement_timeout = 0; set local lock_timeout = ${patienceMs}`)
}

/** One statement, so that its timeout covers all locks. */
const lockAll = (exclusive: string[], written: string[]): string => {
  const locks = [
    ...exclusive.map((name) => ({ name, mode: 'access exclusive' })),
    ...written.map((name) => ({ name, mode: 'exclusive' })),
  ].sort((one, other) => (one.name < other.name ? -1 : 1))
  const statements = locks.map(({ name, mode }) => `lock table ${name} in ${mode} mode;`)
  return `do $$ begin ${statements.join(' ')} end $$`
}

async function existing(tx: Transaction, names: string[]): Promise<string[]> {
  const rows = await tx<{ name: string }[]>`
    select distinct relation.relname as name
    from unnest(${names}::text[]) as requested (name)
    join pg_class found on found.relname = requested.name and found.relnamespace = 'public'::regnamespace
    left join pg_index index on index.indexrelid = found.oid
    join pg_class relation on relation.oid = coalesce(index.indrelid, found.oid)
    where relation.relkind in ('r', 'p')
    order by 1
  `
  return rows.map(({ name }) => name)
}

async function targetsOf(tx: Transaction, constraints: string[]): Promise<string[]> {
  const rows = await tx<{ name: string }[]>`
    select target.relname as name
    from pg_constraint rule
    join pg_class target on target.oid = rule.confrelid
    where rule.contype = 'f' and rule.conname = any (${constraints}::text[])
  `
  return rows.map(({ name }) => name)
}

async function patienceOf(tx: Transaction): Promise<number> {
  const [row] = await tx<[{ deadlockMs: number }]>`
    select extract(epoch from current_setting('deadlock_timeout')::interval)::float8 * 1000 as deadlock_ms
  `
  return Math.max(1, Math.min(MAX_PATIENCE_MS, Math.floor(row.deadlockMs * 0.4)))
}
