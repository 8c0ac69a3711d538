/** The meaning of a failed statement, read from the `code` that the driver puts on its errors. */

/** The SQLSTATE of an error of the database, such as `23505`; undefined for every other error. */
export function sqlState(error: unknown): string | undefined {
  const code = codeOf(error)
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/**
 * One item of a statement may be the cause: its siblings may still go through. Classes 22 (data), 23 (constraints) and
 * 54 (limits of the database, such as the size of a row in an index).
 */
export const isDataError = (error: unknown): boolean => /^(2[23]|54)/.test(sqlState(error) ?? '')

const REFUSED_VALUES = new Set([
  '22001', // string_data_right_truncation
  '22003', // numeric_value_out_of_range
  '22007', // invalid_datetime_format
  '22008', // datetime_field_overflow
  '22021', // character_not_in_repertoire
  '22P02', // invalid_text_representation
  '22P05', // untranslatable_character
  '22032', // invalid_json_text
  '23502', // not_null_violation
  '54000', // program_limit_exceeded: a value is too long for its index
  '54001', // statement_too_complex: a value is nested too deeply
])

/**
 * The values themselves were refused, whatever other rows, the server and its disk hold: no later try can succeed. Only such
 * an error may give an item up. A check names its constraint; a missing partition has the same SQLSTATE without one.
 */
export function areValuesRefused(error: unknown): boolean {
  const state = sqlState(error)
  if (state === '23514') return errorMember(error, 'constraint') !== undefined
  return state !== undefined && REFUSED_VALUES.has(state)
}

/** A deadlock or a serialisation failure: nothing was written, and the same statement may be tried again. */
export const isContention = (error: unknown): boolean => ['40P01', '40001'].includes(sqlState(error) ?? '')

/** Another transaction was in the way, as PostgreSQL's serialization_failure says: the transaction may begin again. */
export class ContentionError extends Error {
  readonly code = '40001'
}

/** The statement would have written a second row with a key of this constraint. */
export const isViolated = (error: unknown, constraint: string): boolean =>
  sqlState(error) === '23505' && errorMember(error, 'constraint') === constraint

/** A lock was not granted within `lock_timeout`: nothing was written. */
export const isLockTimeout = (error: unknown): boolean => sqlState(error) === '55P03'

const LOST_CONNECTION = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
])
// Connection exceptions, insufficient resources, operator intervention, errors of the file system, a standby that cannot be
// written, and what took longer than a session allows: statement, lock, pause within a transaction, transaction.
const UNAVAILABLE_STATE = /^(08|53|57P0|58|25006|57014|55P03|25P03|25P04)/

/**
 * The database cannot be reached or cannot work now: by its SQLSTATE, the driver's own names, or the network errors
 * of its sockets.
 */
export function isDatabaseDown(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined && UNAVAILABLE_STATE.test(state)) return true
  const code = codeOf(error)
  if (code !== undefined && LOST_CONNECTION.has(code)) return true
  if (code === 'ENOENT' && isOfSocket(error)) return true
  return error instanceof AggregateError && error.errors.some(isDatabaseDown)
}

/** A Unix socket that is not there; other files that are not there are no matter of the database. */
const isOfSocket = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && error.syscall === 'connect'

/** The same transaction may succeed next time: the database is away, or another transaction was in the way. */
export const isTemporary = (error: unknown): boolean => isDatabaseDown(error) || isContention(error)

/**
 * Errors that may concern one transaction alone: a lock, another transaction, its own timeout, or a file that only its rows
 * are in.
 */
export const isOwnWait = (error: unknown): boolean =>
  isContention(error) || isLockTimeout(error) || /^(57014|58)/.test(sqlState(error) ?? '')

const codeOf = (error: unknown): string | undefined => errorMember(error, 'code')

/** Cached plans, columns, tables, functions and types that are no longer there or have another shape. */
const OUTDATED_STATE = ['0A000', '42703', '42883', '42P01', '42704', '42804']

/** A statement meets a schema that has just been changed: of a later version, which replaces this process soon. */
export const isSchemaChanged = (error: unknown): boolean =>
  OUTDATED_STATE.includes(sqlState(error) ?? '') ||
  (sqlState(error) === 'XX000' && /^(cache lookup failed|could not open relation)/.test(messageOf(error)))

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : '')

/** A member of an error, such as the fields of PostgreSQL's. */
export function errorMember(error: unknown, name: 'code' | 'constraint' | 'table' | 'detail'): string | undefined {
  if (typeof error !== 'object' || error === null || !(name in error)) return undefined
  const value: unknown = Reflect.get(error, name)
  return typeof value === 'string' ? value : undefined
}
