import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { operatorErrorResponses } from '../http/shapes.ts'
import { JobReply, toJobReply } from './job-shape.ts'
import { failedJobs, MOST_JOBS_LISTED, type OperatorDeps, retryJob } from './operator.ts'
import { Success } from './shape.ts'

const config = { surface: 'operator' } as const
const tags = ['Operator']

/** Background work that was given up: what failed again and again, or outlived every process that took it. */
export function jobRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/admin/v1/failed-jobs',
      {
        config,
        schema: {
          tags,
          operationId: 'listFailedJobs',
          summary: 'List failed jobs',
          description: `Newest first, at most ${MOST_JOBS_LISTED}, each with its last error.`,
          response: { ...operatorErrorResponses(), 200: Type.Array(JobReply) },
        },
      },
      async () => (await failedJobs(deps.db)).map(toJobReply),
    )

    app.post(
      '/admin/v1/failed-jobs/:id/retry',
      {
        config,
        schema: {
          tags,
          operationId: 'retryFailedJob',
          summary: 'Retry a failed job',
          description: 'It leaves the list at once and begins afresh, with all its attempts.',
          params: Type.Object({ id: Type.String({ description: 'Id of the job' }) }),
          response: { ...operatorErrorResponses({ 404: 'message' }), 200: Success },
        },
      },
      async (request) => {
        await retryJob(deps, request.params.id)
        return { success: true as const }
      },
    )
  }
}
