import { ConstantBackoff, handleWhen, retry } from 'cockatiel'

/** Returns a database error's SQLSTATE, such as `23505`; undefined for other errors. */
export function sqlState(error: unknown): string | undefined {
  const code = codeOf(error)
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** One item may be the cause: classes 22 (data), 23 (constraints) and 54 (limits, such as index row size). */
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
 * Returns whether retrying can't succeed, so an item may be discarded. A failed check names its constraint; a missing
 * partition has the same SQLSTATE without one.
 */
export function areValuesRefused(error: unknown): boolean {
  const state = sqlState(error)
  if (state === '23514') return errorMember(error, 'constraint') !== undefined
  return state !== undefined && REFUSED_VALUES.has(state)
}

/** Deadlock or serialization failure: nothing was written, and the statement can be retried. */
export const isContention = (error: unknown): boolean => ['40P01', '40001'].includes(sqlState(error) ?? '')

/** Another transaction was in the way, like PostgreSQL's serialization_failure: the transaction can begin again. */
export class ContentionError extends Error {
  readonly code = '40001'
}

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
// Also covers a read-only standby and session timeouts: statement, lock, idle in transaction, transaction.
const UNAVAILABLE_STATE = /^(08|53|57P0|58|25006|57014|55P03|25P03|25P04)/

/** Returns whether the database is unreachable or can't work now. */
export function isDatabaseDown(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined && UNAVAILABLE_STATE.test(state)) return true
  const code = codeOf(error)
  if (code !== undefined && LOST_CONNECTION.has(code)) return true
  if (code === 'ENOENT' && isOfSocket(error)) return true
  return error instanceof AggregateError && error.errors.some(isDatabaseDown)
}

/** A missing Unix socket; other missing files are unrelated. */
const isOfSocket = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && error.syscall === 'connect'

/** Returns whether the same transaction can succeed next time. */
export const isTemporary = (error: unknown): boolean => isDatabaseDown(error) || isContention(error)

/** Errors that may affect one transaction alone: class 58 if only its rows are in a broken file. */
export const isOwnWait = (error: unknown): boolean =>
  isContention(error) || isLockTimeout(error) || /^(57014|58)/.test(sqlState(error) ?? '')

const codeOf = (error: unknown): string | undefined => errorMember(error, 'code')

const OUTDATED_STATE = ['0A000', '42703', '42883', '42P01', '42704', '42804']

/** The schema has just changed for a later version, which will soon replace this process. */
export const isSchemaChanged = (error: unknown): boolean =>
  OUTDATED_STATE.includes(sqlState(error) ?? '') ||
  (sqlState(error) === 'XX000' && /^(cache lookup failed|could not open relation)/.test(messageOf(error)))

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : '')

export function errorMember(error: unknown, name: 'code' | 'constraint' | 'table' | 'detail'): string | undefined {
  if (typeof error !== 'object' || error === null || !(name in error)) return undefined
  const value: unknown = Reflect.get(error, name)
  return typeof value === 'string' ? value : undefined
}

const EVERY_SECOND = { maxAttempts: 3_600, backoff: new ConstantBackoff(1_000) }

/**
 * Repeats an idempotent write every second while the database is away, for an hour. Throws when the database refuses
 * the values, or once `isStopping` returns true.
 */
export const retryUntilAvailable = <T>(write: () => Promise<T>, isStopping = (): boolean => false): Promise<T> =>
  retry(
    handleWhen((error) => !areValuesRefused(error) && !isStopping()),
    EVERY_SECOND,
  )
    .dangerouslyUnref()
    .execute(write)
