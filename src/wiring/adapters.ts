import type { Mailer, ReadMailReport } from '../mailers/mailer.ts'
import { createPostmarkMailer, readPostmarkReport } from '../mailers/postmark/postmark-mailer.ts'
import { createSmtpMailer } from '../mailers/smtp/smtp-mailer.ts'
import { verifyServer } from '../mailers/smtp/verify-server.ts'
import { createProviderAgent } from '../platform/outgoing/exchange.ts'
import type { Config } from '../platform/settings/config.ts'
import { createDialog360Provider } from '../providers/dialog360/dialog360.ts'
import { createGupshupProvider } from '../providers/gupshup/gupshup.ts'
import { createMetaProvider } from '../providers/meta/meta.ts'
import type { Providers } from '../providers/provider.ts'

/** Builds all outside adapters. Imported only when the service starts. */
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

/** Mail report readers by the provider name in the posted address. */
export const mailReportReaders: ReadonlyMap<string, ReadMailReport> = new Map([['postmark', readPostmarkReport]])

/** Selects the adapter by the URL scheme of the mail server. */
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

/** Connects to a mail server without sending; see `verifyServer`. */
export const verifyMailServer = verifyServer
