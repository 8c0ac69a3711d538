import { type Batcher, type BatcherOptions, createBatcher, type FailureScope } from '../fair/fair-line.ts'
import { isContention, isDataError, isLockTimeout } from './pool/failure.ts'

/** Refused data fails one item, a lock timeout one company; a deadlock or serialization failure repeats the run. */
export function createStatementBatcher<Item, Result>(
  options: Omit<BatcherOptions<Item, Result>, 'scopeOf'>,
): Batcher<Item, Result> {
  return createBatcher({ ...options, scopeOf })
}

function scopeOf(error: unknown): FailureScope | undefined {
  if (isDataError(error)) return 'item'
  if (isLockTimeout(error)) return 'company'
  return isContention(error) ? 'moment' : undefined
}
