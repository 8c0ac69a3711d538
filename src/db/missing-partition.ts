import { errorMember, sqlState } from './pool/failure.ts'

/** A partitioned table, and the value of its key for which it has no partition. */
export type MissingPartition = { table: string; key: number }

/** Which partition a row needed; undefined for every other error. */
export function missingPartition(error: unknown): MissingPartition | undefined {
  if (sqlState(error) !== '23514' || errorMember(error, 'constraint') !== undefined) return undefined
  const table = errorMember(error, 'table')
  const key = /= \((\d+)\)/.exec(errorMember(error, 'detail') ?? '')?.[1]
  return table === undefined || key === undefined ? undefined : { table, key: Number(key) }
}
