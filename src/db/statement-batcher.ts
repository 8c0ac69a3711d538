import { type Batcher, type BatcherOptions, createBatcher, type FailureScope } from '../fair/batch.ts'
import { isContention, isDataError, isLockTimeout } from './pool/failure.ts'

/**
 * Creates a batcher whose runs are statements or transactions. Data that PostgreSQL refuses concern one item, a lock that is not
 * granted in time one company; after a deadlock or a serialisation failure, the run is repeated.
 */
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
