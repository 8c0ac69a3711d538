import type { Db } from '../db/connect.ts'
import { done, retryAfter, type SingleKind } from '../queue/job.ts'
import { enqueueJobs } from '../queue/job-store.ts'
import type { Cipher } from '../secrets/secrets.ts'
import { type PassDeps, runPass } from './erasure-pass.ts'
import { completeErasure, findErasure, recordFirstPass } from './erasure-store.ts'
import type { Subject } from './subject.ts'

export type EraseJobDeps = PassDeps & {
  cipher: Pick<Cipher, 'decrypt'>
  onPass(companyId: number): void
}

const CONTACTS_ERASE = 'contacts.erase'
const AFTER_REQUEST_MS = 5_000
/** About two weeks of an unusable database. */
const MAX_ATTEMPTS = 1_000
const CONTINUE_MS = 1_000
/** Longer than any send, delivery or copy in flight can take to write its outcome. */
const SECOND_PASS_AFTER_MS = 150_000

/** Enqueues the erasure job, due only when the request must have ended. */
export async function enqueueErasure(tx: Db, companyId: number, contactId: number): Promise<void> {
  const lane = `company:${companyId}`
  const job = { kind: CONTACTS_ERASE, lane, companyId, subjectId: contactId, dueInMs: AFTER_REQUEST_MS }
  await enqueueJobs(tx, [job])
}

export const eraseKind = (deps: EraseJobDeps): SingleKind => ({
  kind: CONTACTS_ERASE,
  laneCap: 1,
  concurrency: 2,
  maxAttempts: MAX_ATTEMPTS,
  handle: async ({ companyId = 0, subjectId }, signal) => {
    const waitMs = await advanceErasure(deps, companyId, subjectId, signal)
    if (signal.aborted) return retryAfter(CONTINUE_MS, { counts: false })
    return waitMs === undefined ? done : retryAfter(waitMs, { counts: false })
  },
})

/** Can be repeated. Returns milliseconds until the second pass; undefined when complete or aborted. */
export async function advanceErasure(
  deps: EraseJobDeps,
  companyId: number,
  contactId: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  const erasure = await findErasure(deps.db, companyId, contactId)
  if (erasure === undefined || erasure.subject === null) return undefined
  const subject: Subject = JSON.parse(deps.cipher.decrypt(erasure.subject))
  const waitMs = SECOND_PASS_AFTER_MS - erasure.ageMs
  if (erasure.passes === 0 || waitMs <= 0) {
    const isComplete = await runPass(deps, companyId, contactId, subject, signal)
    deps.onPass(companyId)
    if (!isComplete) return undefined
    if (waitMs > 0) await recordFirstPass(deps.db, companyId, contactId)
    else await completeErasure(deps.db, companyId, contactId)
  }
  return waitMs > 0 ? waitMs : undefined
}
