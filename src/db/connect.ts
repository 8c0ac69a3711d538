import postgres from '#postgres'
import { parseJsonText } from '../text/json-text.ts'
import { answersProbe } from './probe.ts'
import { type Tls, takeTls } from './tls.ts'

/** A database: the pool, or a transaction on it. Every store takes one as its first argument. */
export type Db = postgres.Sql<{ bigint: number }> | postgres.TransactionSql<{ bigint: number }>

/** The pool itself, which can begin transactions and be closed. */
export type Pool = postgres.Sql<{ bigint: number }>

/** The values that `sql.json(...)` takes. */
export type Json = postgres.JSONValue

/** Many rows as one parameter of a statement, which reads them with `jsonb_to_recordset` (docs/decisions/0008-rows-as-json.md). */
export const jsonRows = (db: Db, rows: readonly object[]) => db.json(rows as unknown as Json)

/** An error of the database; its SQLSTATE is in `code`. */
export const { PostgresError } = postgres

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
/** How much of `answerTimeoutMs` is left for the question whether the server still answers others. */
const PROBE_SHARE = 0.4

const BIGINT = 20
const JSON_TEXT = 114
const JSONB = 3802

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
  /** The key of `keyed_hash` (src/contacts/sql): a setting of each session. Absent: opt-outs of erased persons match nothing. */
  optOutKey?: string
  /** Name shown in pg_stat_activity. */
  applicationName?: string
  onNotice?: (message: string) => void
}

/**
 * Opens a pool. Bigints become numbers (every id is a safe integer), columns become camelCase; values, JSON
 * included, are left as they are. Several hosts in the address are tried in turn: use `target_session_attrs=primary`.
 * `sslmode`, `sslrootcert`, `sslcert` and `sslkey` mean what they mean to libpq (tls.ts).
 *
 * A lost connection fails what runs on it, a whole transaction too, and nothing of it is repeated; the pool connects
 * anew by itself (docs/decisions/0005-a-driver-of-our-own.md).
 */
export function connect(url: string, options: ConnectOptions = {}): Pool {
  const { address, socket, tls } = readAddress(url)
  const { answerTimeoutMs, limits } = options
  return postgres(address, {
    ...(socket !== undefined && { host: socket }),
    ...(tls !== undefined && { ssl: tls }),
    max: options.max ?? 10,
    connect_timeout: 3,
    answer_timeout: answerTimeoutMs === undefined ? null : (answerTimeoutMs * (1 - PROBE_SHARE)) / 1000,
    is_alive: answerTimeoutMs === undefined ? null : (place) => answersProbe(place, answerTimeoutMs * PROBE_SHARE),
    // Seconds until an idle connection is probed, for whether its machine is still there.
    keep_alive: 5,
    // Seconds until a lost connection is tried again; the driver's own waits grow to 20 s.
    backoff: (retries) => Math.min(3 ** retries / 100, 1),
    idle_timeout: 0,
    max_lifetime: 60 * 60,
    connection: {
      application_name: options.applicationName ?? 'parley',
      ...VANISHED_CLIENT,
      ...PLANNER,
      ...(limits && settingsOf(limits)),
      ...(options.pinPlans && PINNED_PLANS),
      ...(options.optOutKey !== undefined && { 'parley.opt_out_key': options.optOutKey }),
    },
    onnotice: (notice) => options.onNotice?.(String(notice.message)),
    types: {
      bigint: {
        to: BIGINT,
        from: [BIGINT],
        serialize: (value: number) => String(value),
        parse: (text: string) => Number(text),
      },
      json: { to: JSON_TEXT, from: [JSON_TEXT, JSONB], serialize: JSON.stringify, parse: parseJsonText },
    },
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel } },
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

/**
 * Takes out of an address what libpq reads there and the driver does not: `host=/folder`, a Unix socket, and the parameters
 * of TLS. Addresses with several hosts are no URL to the platform's parser.
 */
function readAddress(url: string): { address: string; socket?: string; tls?: Tls } {
  const [place = '', query = ''] = url.split('?', 2)
  const parameters = new URLSearchParams(query)
  const socket = parameters.get('host')
  if (socket?.startsWith('/')) parameters.delete('host')
  const tls = takeTls(parameters)
  return {
    address: parameters.size > 0 ? `${place}?${parameters}` : place,
    ...(socket?.startsWith('/') && { socket }),
    ...(tls !== undefined && { tls }),
  }
}
