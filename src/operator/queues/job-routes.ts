import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { answerOnce } from '../../http/idempotency/idempotency.ts'
import { pathId, Success } from '../../http/shapes.ts'
import { failedJobs, MOST_JOBS_LISTED, type OperatorDeps, retryFailedJob, succeed } from '../operator.ts'
import { JobReply, toJobReply } from './job-shape.ts'

/** Discarded jobs: too many failures, or several processes died running them. */
export function jobRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/admin/v1/failed-jobs',
      {
        schema: {
          operationId: 'listFailedJobs',
          summary: 'List failed jobs',
          description: `Returns the newest ${MOST_JOBS_LISTED} jobs, each with its last error.`,
          response: { 200: Type.Array(JobReply, { description: 'All of them.' }) },
        },
      },
      async () => (await failedJobs(deps.db)).map(toJobReply),
    )

    app.post(
      '/admin/v1/failed-jobs/:id/retry',
      {
        schema: {
          operationId: 'retryFailedJob',
          summary: 'Retry a failed job',
          description: 'Starts again with all its attempts.',
          params: Type.Object({ id: pathId('JobId', 'Job id.') }),
          querystring: Type.Object({ companyId: Type.Optional(Type.String()) }),
          response: { 200: Success },
        },
      },
      (request, reply) =>
        answerOnce(deps.db, request, reply, 200, (tx) =>
          succeed(retryFailedJob({ db: tx }, request.params.id, request.query.companyId)),
        ),
    )
  }
}
