import { UNHANDLED_REASONS } from '../inbound/handling/unhandled/keep-unhandled.ts'
import { type MailOutcome, type MailReport, SERVER_FAULTS } from '../mailers/mailer.ts'
import type { Metrics } from '../platform/telemetry/metrics.ts'
import type { SendOutcome } from '../providers/provider.ts'
import type { AccountEvent } from '../senders/account-event-store.ts'

/** A record instead of a list: the compiler finds missing outcomes. */
const SENDS: Record<SendOutcome['kind'], 0> = { accepted: 0, refused: 0, throttled: 0, unreachable: 0, unknown: 0 }
const MAILS: Record<Exclude<MailOutcome['kind'], 'unavailable'>, 0> = {
  accepted: 0,
  refused: 0,
  unknown: 0,
  withheld: 0,
}
const REPORTS: Record<MailReport['kind'] | 'ignored', 0> = { bounce: 0, complaint: 0, ignored: 0 }
const DELIVERIES = ['delivered', 'failed', 'dead', 'expired']
const IMPORTS = ['completed', 'failed']
const SEVERITIES: readonly AccountEvent['severity'][] = ['info', 'warning', 'critical']

/** Starts every label set at 0; alerts can't see an increase in a counter that starts at 1. */
export function startAtZero(metrics: Metrics, providers: readonly string[]): void {
  for (const provider of providers) {
    for (const outcome of Object.keys(SENDS)) metrics.sends.inc({ provider, outcome }, 0)
    metrics.providerSeconds.zero({ provider, operation: 'send' })
  }
  for (const outcome of [...Object.keys(MAILS), ...SERVER_FAULTS]) metrics.emails.inc({ outcome }, 0)
  for (const kind of Object.keys(REPORTS)) metrics.mailReports.inc({ kind }, 0)
  for (const outcome of DELIVERIES) metrics.deliveries.inc({ outcome }, 0)
  for (const outcome of IMPORTS) metrics.imports.inc({ outcome }, 0)
  for (const reason of UNHANDLED_REASONS) metrics.unhandledEvents.inc({ reason }, 0)
  for (const severity of SEVERITIES) metrics.accountEvents.inc({ severity }, 0)
}
