import type { BounceServer } from '../emails/reports/bounce-server.ts'
import { isReportToken } from '../emails/reports/mail-report.ts'
import { recordReport } from '../emails/reports/record-report.ts'
import type { ReportRoutesDeps } from '../emails/reports/report-routes.ts'
import type { MailReport } from '../mailers/mailer.ts'
import { messageOf, StartError } from '../platform/start-error.ts'
import { mailReportReaders } from './adapters.ts'
import type { Deps } from './deps.ts'

export function createReportDeps(deps: Deps): ReportRoutesDeps {
  const { db, recordEvents, log, metrics } = deps
  return {
    secret: deps.config.mailReportsSecret,
    readers: mailReportReaders,
    record: (token, report: MailReport) =>
      recordReport(
        {
          db,
          recordEvents,
          onReport: ({ companyId, emailId, kind, contactId }) => {
            metrics.mailReports.inc({ kind })
            log.info({ companyId, emailId, kind, message: report.message }, 'email.reported')
            if (contactId !== undefined) deps.publish([{ topic: 'contact', companyId, id: contactId }])
          },
        },
        token,
        report,
      ),
    onIgnored: () => metrics.mailReports.inc({ kind: 'ignored' }),
  }
}

export type ListeningServer = { listen(): Promise<void>; close: BounceServer['close'] }

/** Builds the bounce mail server; undefined when not configured. */
export async function openBounceServer(deps: Deps, reports: ReportRoutesDeps): Promise<ListeningServer | undefined> {
  const { bounceDomain, bounceSmtpPort, bounceSmtpHost } = deps.config
  if (bounceDomain === undefined || bounceSmtpPort === undefined) return undefined
  // Loaded on demand: the library takes 4 MB.
  const { createBounceServer } = await import('../emails/reports/bounce-server.ts')
  const server = createBounceServer({
    ...reports,
    domain: bounceDomain,
    isReportToken: (token) => isReportToken(deps.pool, token),
    onFailure: (error) => deps.log.error({ reason: messageOf(error) }, 'email.report_failed'),
  })
  return {
    listen: async () => {
      const port = await server.listen(bounceSmtpPort, bounceSmtpHost).catch((error) => {
        throw new StartError(`BOUNCE_SMTP_PORT: ${messageOf(error)}`)
      })
      deps.log.info({ host: bounceSmtpHost, port }, 'bounces.listening')
    },
    close: server.close,
  }
}
