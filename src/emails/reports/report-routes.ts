import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { createTokenCheck } from '../../http/admission/authenticate.ts'
import { Success } from '../../http/shapes.ts'
import type { MailReport, ReadMailReport } from '../../mailers/mailer.ts'
import { notFound, unauthorized } from '../../platform/errors.ts'
import { parseReportToken, type ReportToken } from '../tracking/tracking-token.ts'

const BODY_LIMIT = 1024 * 1024
const USER = 'parley'

export type ReportRoutesDeps = {
  /** Password of user `parley`; undefined refuses all reports. */
  secret: string | undefined
  readers: ReadonlyMap<string, ReadMailReport>
  /** Must resolve only after the commit. */
  record(token: ReportToken, report: MailReport): Promise<void>
  onIgnored(): void
}

/** Registers the provider webhooks for bounces and complaints. Replies 200 once the report is on disk. */
export function reportRoutes({ secret, readers, record, onIgnored }: ReportRoutesDeps): FastifyPluginAsyncTypebox {
  const isAllowed = createTokenCheck(secret && Buffer.from(`${USER}:${secret}`).toString('base64'), 'Basic')
  return async (app) => {
    app.post(
      '/public/v1/webhooks/email/:provider',
      {
        config: { surface: 'provider' },
        bodyLimit: BODY_LIMIT,
        onRequest: async ({ headers }) => {
          if (!isAllowed(headers.authorization)) throw unauthorized()
        },
        schema: { hide: true, params: Type.Object({ provider: Type.String() }), response: { 200: Success } },
      },
      async (request) => {
        const read = readers.get(request.params.provider)
        if (read === undefined) throw notFound()
        const posted = read(request.body)
        const token = posted && parseReportToken(posted.token)
        if (posted === undefined || token === undefined) onIgnored()
        else await record(token, posted.report)
        return { success: true as const }
      },
    )
  }
}
