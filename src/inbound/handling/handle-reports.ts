import { createHash } from 'node:crypto'
import type { LiveChange } from '../../changes/live-change.ts'
import type { RecordChange } from '../../changes/record-change.ts'
import { applyHandovers, type Handover } from '../../conversations/recording/handover-store.ts'
import type { Db } from '../../db/connect.ts'
import { areOfErased, recordPreferences } from '../../people/consent/preference.ts'
import type { InboundItem, TemplateComponentsItem } from '../../providers/events/event-item.ts'
import {
  type AccountEvent,
  applyMarketingTerms,
  applyNumberLimits,
  type MarketingTerms,
  type NumberLimit,
  recordAccountEvents,
} from '../../senders/account-event-store.ts'
import {
  applyTemplateEvents,
  type ChangedComponents,
  type TemplateEvent,
} from '../../templates/template-event-store.ts'
import type { IdentityEvent } from './batch/decide-inbound.ts'
import { ofItem, reportedTimeOf, timeOf, toDate, writerIdentities } from './batch/item-records.ts'
import type { Consequences } from './handle-statuses.ts'
import type { Routed } from './route-items.ts'

export type ReportDeps = {
  afterwards: (() => void)[]
  /** Called after the commit. Excludes templates and limits read before. */
  onAccountEvents: (events: readonly AccountEvent[]) => void
}

/** Writes what the provider reports besides messages and statuses: control, templates, limits, consent, the account. */
export async function handleReports(
  deps: ReportDeps,
  tx: Db,
  reports: readonly Routed<InboundItem>[],
  at: Date,
): Promise<Consequences> {
  const controlled = await applyHandovers(tx, reports.flatMap(ofItem(toHandover)), at)
  const templateEvents = reports.flatMap(ofItem(toTemplateEvent))
  const templates = await applyTemplateEvents(tx, templateEvents)
  await applyNumberLimits(tx, reports.flatMap(ofItem(toNumberLimit)))
  await applyMarketingTerms(tx, reports.flatMap(ofItem(toMarketingTerms)))
  const accountEvents = await recordAccountEvents(tx, reports.flatMap(ofItem(toAccountEvent)))
  if (accountEvents.length > 0) deps.afterwards.push(() => deps.onAccountEvents(accountEvents))
  const contacts = await recordPreferences(tx, reports.flatMap(ofItem(toPreference)))
  return {
    recordChanges: [
      ...templates.map((template): RecordChange => ({ event: 'whatsapp.template.status', ...template })),
      ...contacts.map((contact): RecordChange => ({ event: 'contact.changed', change: 'consent', ...contact })),
    ],
    liveChanges: [
      ...controlled.map((conversation): LiveChange => ({ topic: 'conversation', ...conversation })),
      ...templateEvents.map(({ companyId }): LiveChange => ({ topic: 'all', companyId })),
      ...contacts.map((contact): LiveChange => ({ topic: 'contact', ...contact })),
    ],
  }
}

/** Returns the identities that preferences link, except for people erased since. */
export async function readIntroductions(tx: Db, preferences: readonly Routed<InboundItem>[]): Promise<IdentityEvent[]> {
  const introducing = preferences.filter((one) => toIntroduction(one).length > 0)
  const areErased = await areOfErased(tx, introducing.flatMap(ofItem(toPreference)))
  return introducing.filter((_, place) => !areErased[place]).flatMap(toIntroduction)
}

/** Links a preference's customer identities, if more than one. */
function toIntroduction({ item, sender, receivedAt }: Routed<InboundItem>): IdentityEvent[] {
  if (item.kind !== 'preference') return []
  const { phone, userId } = item.customer
  if (phone === null || userId === null) return []
  const at = timeOf({ item, receivedAt }).getTime()
  const customer = { phone, userId, account: sender.wabaAccountId, at }
  return [{ kind: 'introduction', companyId: sender.companyId, wamid: null, customer }]
}

/** Builds the handover in an item. */
export function toHandover({ item, sender, receivedAt }: Routed<InboundItem>): Handover[] {
  if (item.kind !== 'handover') return []
  const { phoneNumberId, phone, userId, controlledBy } = item
  const identities = writerIdentities({ phone, userId })
  const occurredAt = timeOf({ item, receivedAt })
  const { companyId, wabaAccountId: account } = sender
  const named = phoneNumberId ?? (item.route.by === 'sender' ? item.route.phoneNumberId : null)
  return [{ companyId, account, phoneNumberId: named, identities, controlledBy, occurredAt }]
}

/** Builds the template change in an item. */
export function toTemplateEvent({ item, sender, receivedAt }: Routed<InboundItem>): TemplateEvent[] {
  if (!isTemplateItem(item)) return []
  const { companyId, wabaAccountId } = sender
  const { templateId, name, language } = item
  // App events use their own template ids, so only the name counts.
  const externalId = item.route.by === 'app' ? null : templateId
  const place = { companyId, wabaAccountId, externalId, name, language, at: timeOf({ item, receivedAt }) }
  switch (item.kind) {
    case 'template-quality':
      return [{ ...place, qualityScore: item.score }]
    case 'template-category':
      return [{ ...place, category: item.category }]
    case 'template-components':
      return [{ ...place, components: toComponents(item) }]
    case 'template-status':
      return [{ ...place, status: item.status, providerStatus: item.event, rejectedReason: item.reason }]
  }
}

type TemplateItem = Extract<InboundItem, { kind: `template-${string}` }>
const isTemplateItem = (item: InboundItem): item is TemplateItem => item.kind.startsWith('template-')

const toComponents = ({ header, body, footer, buttons }: TemplateComponentsItem): ChangedComponents => ({
  header,
  body,
  footer,
  buttons: buttons.map(({ type, text, url, phoneNumber }) => ({
    type,
    text,
    ...(url !== null && { url }),
    ...(phoneNumber !== null && { phone_number: phoneNumber }),
  })),
})

/** Builds the new daily limit for a number or account; null means unlimited. */
export function toNumberLimit({ item, sender, receivedAt }: Routed<InboundItem>): NumberLimit[] {
  if ((item.kind !== 'number-quality' && item.kind !== 'account-event') || item.dailyLimit === null) return []
  return [
    {
      companyId: sender.companyId,
      wabaAccountId: sender.wabaAccountId,
      phone: item.kind === 'number-quality' ? item.displayPhone : null,
      dailyLimit: item.dailyLimit === 'unlimited' ? null : item.dailyLimit,
      at: timeOf({ item, receivedAt }),
    },
  ]
}

/** Builds the signed marketing terms in an item. */
export function toMarketingTerms({ item, sender, receivedAt }: Routed<InboundItem>): MarketingTerms[] {
  if (item.kind !== 'account-event' || !item.signsMarketingTerms) return []
  const { companyId, wabaAccountId } = sender
  return [{ companyId, wabaAccountId, isSigned: true, at: timeOf({ item, receivedAt }) }]
}

/** Builds the marketing preference in an item. */
export function toPreference({ item, sender, receivedAt }: Routed<InboundItem>) {
  if (item.kind !== 'preference') return []
  const identities = writerIdentities(item.customer)
  const saidAt = timeOf({ item, receivedAt })
  // The provider sends no id for these events.
  const eventId = `${item.marketing} ${(toDate(item.timestamp) ?? receivedAt).getTime()}`
  return [
    {
      companyId: sender.companyId,
      identities,
      value: item.marketing === 'resume',
      saidAt,
      eventId,
      arrivedAt: receivedAt,
    },
  ]
}

/** Longer details are cut: people read the journal. */
const DETAILS_MAX_BYTES = 4 * 1024

/** Builds the journal row for an account item. */
export function toAccountEvent({ item, sender, receivedAt }: Routed<InboundItem>): AccountEvent[] {
  const described = describe(item)
  if (described === undefined) return []
  return [
    {
      companyId: sender.companyId,
      wabaAccountId: sender.wabaAccountId,
      senderId: item.route.by === 'sender' ? sender.id : null,
      field: item.field ?? item.kind,
      ...described,
      digest: createHash('sha256').update(item.raw()).digest(),
      occurredAt: reportedTimeOf({ item, receivedAt }),
    },
  ]
}

function describe(item: InboundItem): Pick<AccountEvent, 'event' | 'severity' | 'details'> | undefined {
  switch (item.kind) {
    case 'account-event':
      return { event: item.event, severity: item.severity, details: bounded(item.details) }
    case 'number-quality': {
      const isWorse = item.event === 'FLAGGED' || item.event === 'DOWNGRADE'
      const details = { phone: item.displayPhone, limit: item.limit }
      return { event: item.event, severity: isWorse ? 'warning' : 'info', details }
    }
    case 'template-status': {
      const isUsable = item.status === 'APPROVED' || item.status === 'PENDING' || item.status === null
      const details = { ...templateOf(item), reason: item.reason, explanation: item.explanation }
      return { event: item.event, severity: isUsable ? 'info' : 'warning', details: bounded(details) }
    }
    case 'template-quality': {
      const severity = item.score === 'RED' ? 'warning' : 'info'
      return { event: item.score, severity, details: { ...templateOf(item), previous: item.previousScore } }
    }
    case 'template-category': {
      const details = { ...templateOf(item), previous: item.previousCategory }
      return { event: item.category, severity: 'info', details }
    }
    case 'template-components':
      return { event: null, severity: 'info', details: templateOf(item) }
    default:
      return undefined
  }
}

const templateOf = ({ name: template, language, templateId }: TemplateItem) => ({ template, language, templateId })

function bounded(details: object | null): AccountEvent['details'] {
  const text = JSON.stringify(details)
  return text.length <= DETAILS_MAX_BYTES ? JSON.parse(text) : { cut: text.slice(0, DETAILS_MAX_BYTES) }
}
