import { Type } from 'typebox'
import type { FailedJob } from '../jobs/job-store.ts'

/** Background work that was given up, as the operator sees it. */
export const JobReply = Type.Object({
  id: Type.Integer(),
  kind: Type.String({ description: 'What was to be done, such as `delivery` or `media`' }),
  companyId: Type.Union([Type.Integer(), Type.Null()]),
  subjectId: Type.Integer({ description: 'Id of the record that it is about' }),
  attempts: Type.Integer(),
  failedAt: Type.String({ format: 'date-time' }),
  lastError: Type.Union([Type.String(), Type.Null()]),
})

export const toJobReply = ({ id, kind, companyId, subjectId, attempts, failedAt, lastError }: FailedJob) => ({
  id,
  kind,
  companyId,
  subjectId,
  attempts,
  failedAt: failedAt.toISOString(),
  lastError,
})
