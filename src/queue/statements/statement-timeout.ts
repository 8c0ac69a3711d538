/** No statement of a worker may take longer: one that is never answered must not stop a loop. */
const STATEMENT_MS = 10_000

/** The result of `work`, or a rejection after `deadlineMs`. A later result is dropped. */
export async function withStatementTimeout<T>(work: Promise<T>, deadlineMs: number = STATEMENT_MS): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`The database gave no answer in ${deadlineMs} ms`)), deadlineMs)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
