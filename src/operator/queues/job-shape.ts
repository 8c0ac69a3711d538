import { Type } from 'typebox'
import { nullableInteger, nullableText } from '../../http/shapes.ts'
import type { FailedJob } from '../../queue/job-store.ts'

export const JobReply = Type.Object(
  {
    id: Type.Integer(),
    kind: Type.String({ description: 'Such as `webhook.deliver`.' }),
    companyId: nullableInteger('The id of the company.'),
    subjectId: Type.Integer({ description: 'The id of the record that the job is about.' }),
    attempts: Type.Integer({ description: 'The number of attempts.' }),
    failedAt: Type.String({ format: 'date-time' }),
    lastError: nullableText('The error of the last attempt.'),
  },
  {
    title: 'FailedJob',
    example: {
      id: 301,
      kind: 'media',
      companyId: 1,
      subjectId: 90217,
      attempts: 8,
      failedAt: '2026-03-02T09:30:00.000Z',
      lastError: 'The provider answered 500',
    },
  },
)

export const toJobReply = ({ id, kind, companyId, subjectId, attempts, failedAt, lastError }: FailedJob) => ({
  id,
  kind,
  companyId,
  subjectId,
  attempts,
  failedAt: failedAt.toISOString(),
  lastError,
})
