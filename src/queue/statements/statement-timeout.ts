/** An unanswered statement must not stop a worker loop. */
const STATEMENT_MS = 10_000

/** Rejects after `deadlineMs`; drops a later result. */
export async function withStatementTimeout<T>(work: Promise<T>, deadlineMs: number = STATEMENT_MS): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`The database gave no answer in ${deadlineMs} ms`)), deadlineMs)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
