import type { ReadMailReport } from '../mailers/mail-reports.ts'
import type { Mailer } from '../mailers/mailer.ts'
import { createPostmarkMailer } from '../mailers/postmark/postmark-mailer.ts'
import { readPostmarkReport } from '../mailers/postmark/postmark-report.ts'
import { createSmtpMailer } from '../mailers/smtp/smtp-mailer.ts'
import { verifyServer } from '../mailers/smtp/verify-server.ts'
import { createProviderAgent } from '../platform/outgoing/exchange.ts'
import type { Config } from '../platform/settings/config.ts'
import { createDialog360Provider } from '../providers/dialog360/dialog360.ts'
import { createGupshupProvider } from '../providers/gupshup/gupshup.ts'
import { createMetaProvider } from '../providers/meta/meta.ts'
import type { Providers } from '../providers/provider.ts'

/** Every adapter to the outside, one line each; only the start of the service imports them. */
export function createProviders(
  config: Pick<Config, 'graphVersion' | 'providerTimeoutMs' | 'proxies'>,
): Required<Providers> {
  const dispatcher = createProviderAgent(config.proxies)
  const options = { dispatcher, graphVersion: config.graphVersion, timeoutMs: config.providerTimeoutMs }
  return {
    meta: createMetaProvider(options),
    dialog360: createDialog360Provider(options),
    gupshup: createGupshupProvider(options),
  }
}

/** Reads the reports of each provider of mail, by its name in the address that it posts to. */
export const mailReportReaders: ReadonlyMap<string, ReadMailReport> = new Map([['postmark', readPostmarkReport]])

/** Sends each mail by the adapter that the scheme of its server's address names. */
export function createMailer({ proxies }: Pick<Config, 'proxies'>): Mailer {
  const smtp = createSmtpMailer()
  const postmark = createPostmarkMailer({ proxies })
  return {
    send: (serverUrl, mail, confirmSubmission) =>
      (serverUrl.startsWith('postmark') ? postmark : smtp).send(serverUrl, mail, confirmSubmission),
    close: () => {
      smtp.close()
      postmark.close()
    },
  }
}

/** Connects to a mail server and sends nothing, see `verifyServer`. */
export const verifyMailServer = verifyServer
