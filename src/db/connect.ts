import { readAddress } from './driver/session/address.ts'
import { sql, type Transaction } from './driver/sql.ts'
import { openSqlPool, type Pool } from './driver/sql-pool.ts'
import type { SqlTemplate } from './driver/sql-template.ts'
import type { Result, Rows } from './driver/statement.ts'
import type { JsonValue } from './driver/values.ts'
import { sessionName } from './session-name.ts'

/** A database: the pool, or a transaction on it. Every store takes one as its first argument. */
export type Db = Pool | Transaction

/** The pool itself can begin transactions and be closed. */
export type { Pool, Result, Rows, Transaction }

/** A statement runs where it is written, on a `Db`. A fragment of one is written with `sql`. */
export { sql }
export type Fragment = SqlTemplate

/** The values that `sql.json(...)` takes. */
export type Json = JsonValue

/**
 * Many rows as one parameter of a statement, which reads them with `jsonb_to_recordset`
 * (docs/decisions/0008-rows-as-json.md).
 */
export const jsonRows = (db: Db, rows: readonly object[]) => db.json(rows as unknown as Json)

/**
 * The server ends sessions of a vanished machine: after 11 s without an answer to its probes, or 10 s without an
 * acknowledgement of what it sent. Both are ignored on Unix sockets and where the server's system has no such option.
 */
const VANISHED_CLIENT = {
  tcp_keepalives_idle: 5,
  tcp_keepalives_interval: 2,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 10_000,
}
/**
 * How every statement of the service is planned: each finds its rows by an index, whatever the tables hold
 * (docs/decisions/0011-planner-settings.md has the measurements).
 */
const PLANNER = {
  // A plan that was made while a table was empty reads all of it until the next analyze, which may be a minute later.
  enable_seqscan: 'off',
  // Compiling costs tens of milliseconds; no statement runs for as long.
  jit: 'off',
}
/** How long things may last in a session, in milliseconds: the server ends what lasts longer. */
export type SessionLimits = {
  statementMs: number
  /** For one lock. */
  lockMs: number
  /** Between two statements of a transaction: a frozen client must not keep its locks. */
  idleInTransactionMs: number
}

export type ConnectOptions = {
  /** Connections held at most. */
  max?: number
  /** How long a silent server is waited for. Absent: without a limit. */
  answerTimeoutMs?: number
  /** The timeouts that the server enforces. Absent: none. */
  limits?: SessionLimits
  /**
   * Plan each statement once, by its indexes: for statements on tables that are empty in one minute and have a million rows
   * in the next. A plan that was made while `jobs` was empty reads all of it in each claim.
   */
  pinPlans?: boolean
  /**
   * The key of `keyed_hash` (src/people/sql): a setting of each session. Absent: opt-outs of erased persons match
   * nothing.
   */
  optOutKey?: string
  /** Name shown in pg_stat_activity. Absent: that of a process of the service. */
  applicationName?: string
  onNotice?: (message: string, detail: string) => void
}

/**
 * Opens a pool. Bigints become numbers (every id is a safe integer), columns become camelCase; values, JSON included,
 * are left as they are. Several hosts in the address are tried in turn: use `target_session_attrs=primary`. `sslmode`,
 * `sslrootcert`, `sslcert`, `sslkey` and `channel_binding` mean what they mean to libpq (tls.ts, session/channel-binding.ts).
 * Further parameters are settings. They and ours are set after the login, which a pooler would refuse with them: for the
 * session or, with `pgbouncer=true`, for each transaction.
 *
 * A lost connection fails what runs on it, a whole transaction too, and nothing of it is repeated; the pool reconnects
 * by itself (docs/decisions/0014-pg-below-a-pool-of-our-own.md).
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

/** On top of PLANNER: the index of each state of a job is read in its order, whatever the plan believes of the table's size. */
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
