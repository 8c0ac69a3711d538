import { Type } from 'typebox'
import { nullableInteger, nullableText } from '../../http/shapes.ts'
import type { FailedJob } from '../../queue/job-store.ts'

export const JobReply = Type.Object(
  {
    id: Type.Integer(),
    kind: Type.String({ description: 'Such as `webhook.deliver`.' }),
    companyId: nullableInteger('Company id.'),
    subjectId: Type.Integer({ description: 'Id of the record processed by the job.' }),
    attempts: Type.Integer({ description: 'Number of attempts.' }),
    failedAt: Type.String({ format: 'date-time' }),
    lastError: nullableText('Error of the last attempt.'),
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

export const toJobReply = ({ failedAt, ...job }: FailedJob) => ({ ...job, failedAt: failedAt.toISOString() })
