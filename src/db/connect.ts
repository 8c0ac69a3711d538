import { hostname } from 'node:os'
import { VERSION } from '../platform/version.ts'
import { readAddress } from './driver/address.ts'
import { type Result, type Rows, type SqlTemplate, sql } from './driver/sql.ts'
import { openSqlPool, type Pool } from './driver/sql-pool.ts'
import type { Transaction } from './driver/transaction.ts'
import type { JsonValue } from './driver/values.ts'

/** Every store takes one as its first argument. */
export type Db = Pool | Transaction

export type { Pool, Result, Rows, Transaction }

export { sql }
export type Fragment = SqlTemplate

export type Json = JsonValue

/** Passes many rows as one `jsonb_to_recordset` parameter (docs/decisions/0008-rows-as-json.md). */
export const jsonRows = (db: Db, rows: readonly object[]) => db.json(rows as unknown as Json)

/** The server ends a vanished machine's sessions after 11 s of unanswered probes or 10 s of unacknowledged data. */
const VANISHED_CLIENT = {
  tcp_keepalives_idle: 5,
  tcp_keepalives_interval: 2,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 10_000,
}
/** Every statement must find its rows by an index (docs/decisions/0011-planner-settings.md). */
const PLANNER = {
  // A plan made on an empty table would scan all of it until the next analyze, up to a minute later.
  enable_seqscan: 'off',
  // Costs tens of milliseconds, longer than any statement runs.
  jit: 'off',
}
/** Session timeouts enforced by the server, in milliseconds. */
export type SessionLimits = {
  statementMs: number
  lockMs: number
  /** Between two statements of a transaction: a frozen client must not keep its locks. */
  idleInTransactionMs: number
}

export type ConnectOptions = {
  max?: number
  /** Maximum wait for a silent server. */
  answerTimeoutMs?: number
  limits?: SessionLimits
  /**
   * For tables that grow from empty to a million rows in a minute: an old plan would scan all of `jobs` in every claim.
   */
  pinPlans?: boolean
  /** Key for `keyed_hash` (src/people/sql). Absent: opt-outs of erased persons match nothing. */
  optOutKey?: string
  applicationName?: string
  onNotice?: (message: string, detail: string) => void
}

/**
 * Opens a pool. Every id is a safe integer, so bigints become numbers. Use `target_session_attrs=primary` with several
 * hosts. `sslmode`, `sslrootcert`, `sslcert`, `sslkey` and `channel_binding` work as in libpq; other parameters are
 * settings, sent after the login because poolers refuse them earlier: per session or, with `pgbouncer=true`, per
 * transaction. A lost connection fails its statements and transactions without repeating any, and the pool reconnects
 * (docs/decisions/0014-pg-below-a-pool-of-our-own.md).
 */
export function connect(url: string, options: ConnectOptions = {}): Pool {
  const address = readAddress(url)
  const { answerTimeoutMs, limits, optOutKey, onNotice = () => {} } = options
  const { application_name: word, ...own } = address.settings
  const application_name = options.applicationName ?? sessionName(word)
  const settings = {
    ...VANISHED_CLIENT,
    ...PLANNER,
    ...(limits && settingsOf(limits)),
    ...(options.pinPlans && PINNED_PLANS),
    ...(optOutKey !== undefined && { 'parley.opt_out_key': optOutKey }),
    ...own,
  }
  return openSqlPool({
    address,
    startup: { ...address.startup, application_name },
    settings: Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)])),
    max: options.max ?? 10,
    answerTimeoutMs,
    onNotice,
  })
}

/** Jobs must be read in index order per state, whatever size the planner assumes. */
const PINNED_PLANS = {
  plan_cache_mode: 'force_generic_plan',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
}

const settingsOf = ({ statementMs, lockMs, idleInTransactionMs }: SessionLimits) => ({
  statement_timeout: statementMs,
  lock_timeout: lockMs,
  idle_in_transaction_session_timeout: idleInTransactionMs,
})

/** PostgreSQL truncates longer names. */
const MAX_BYTES = 63
const MAX_PREFIX = 12

/** Returns this process's session name, by which a breaking migration finds other versions. */
export function sessionName(prefix = 'parley'): string {
  const [start, end] = [`${wordOf(prefix, MAX_PREFIX)} ${VERSION} `, `:${process.pid}`]
  return `${start}${wordOf(hostname(), MAX_BYTES - start.length - end.length)}${end}`
}

const wordOf = (text: string, length: number): string => text.replaceAll(/[^!-~]/g, '_').slice(0, length)

/**
 * Plans each statement once and joins by key for the rest of the transaction: planning takes longer than running, and a
 * plan made on an empty table would later scan a whole index. Limits lock waits to `lockMs`.
 */
export async function pinPlans(tx: Db, lockMs: number): Promise<void> {
  await tx`
    select
      set_config('plan_cache_mode', 'force_generic_plan', true),
      set_config('enable_hashjoin', 'off', true),
      set_config('enable_mergejoin', 'off', true),
      set_config('lock_timeout', ${String(lockMs)}, true)
  `
}
