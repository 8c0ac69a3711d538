import type { Logger } from 'pino'
import type { Publish } from '../changes/live-change.ts'
import type { RecordEvents } from '../changes/record-change.ts'
import type { Db, Pool } from '../db/connect.ts'
import { serviceUnavailable } from '../platform/errors.ts'
import { newTemplateId } from '../platform/ids.ts'
import { unanswered } from '../providers/graph-answer.ts'
import type { Providers, SenderAccess } from '../providers/provider.ts'
import type { ProviderName } from '../providers/provider-name.ts'
import { done, retryAfter, type SingleKind } from '../queue/job.ts'
import { enqueueJobs } from '../queue/job-store.ts'
import { templateStatusOf } from './template.ts'
import { readListTime, replaceTemplates, watchTemplates } from './template-store.ts'

const MAX_READS = 3

export type SyncDeps = {
  db: Pool
  providers: Providers
  senders: { listFor(companyId: number): Promise<readonly (SenderAccess & { provider: ProviderName })[]> }
  templates: { drop(): void }
  publish: Publish
  recordEvents: RecordEvents
}

/**
 * Syncs the templates of all accounts; returns their number. Unreadable accounts keep their templates, as do templates
 * changed by events meanwhile. Events about unknown templates trigger another read, up to three in total.
 * @throws {AppError} 429 if the provider asks to wait; 503 `service_unavailable` with its message
 */
export async function syncTemplates(deps: SyncDeps, companyId: number): Promise<number> {
  const senders = await deps.senders.listFor(companyId)
  const accounts = new Map(senders.map((sender) => [sender.wabaAccountId, sender]))
  const counts = await Promise.all([...accounts.values()].map((sender) => syncAccount(deps, companyId, sender)))
  deps.templates.drop()
  deps.publish([{ topic: 'all', companyId }])
  return counts.reduce((sum, count) => sum + count, 0)
}

async function syncAccount(
  deps: SyncDeps,
  companyId: number,
  sender: SenderAccess & { provider: ProviderName },
): Promise<number> {
  for (let read = 1; ; read += 1) {
    const { count, isOutdated } = await readAccount(deps, companyId, sender)
    if (!isOutdated || read === MAX_READS) return count
  }
}

async function readAccount(
  deps: SyncDeps,
  companyId: number,
  sender: SenderAccess & { provider: ProviderName },
): Promise<{ count: number; isOutdated: boolean }> {
  const provider = deps.providers[sender.provider]
  if (provider === undefined) throw serviceUnavailable(`No adapter for the provider ${sender.provider}`)
  const listedAt = await readListTime(deps.db)
  const list = await provider.listTemplates(sender)
  if (list.kind === 'failed') {
    throw unanswered(list, `The templates of account ${sender.wabaAccountId} could not be read`)
  }
  const templates = list.value.map((template) => ({
    ...template,
    newFamilyId: newTemplateId(),
    // Must not become sendable through an unknown status.
    ownStatus: templateStatusOf(template.status) ?? ('PENDING' as const),
  }))
  const isOutdated = await deps.db.begin(async (tx) => {
    const isReported = deps.recordEvents.isSubscribed('whatsapp.template.status', [companyId])
    const changesSince = isReported ? await watchTemplates(tx, companyId, sender.wabaAccountId) : async () => []
    const isOutdated = await replaceTemplates(tx, companyId, sender.wabaAccountId, { templates, listedAt })
    await deps.recordEvents.publish(tx, await changesSince())
    return isOutdated
  })
  return { count: templates.length, isOutdated }
}

const TEMPLATES_REFRESH = 'templates.refresh'

const HOUR_MS = 60 * 60 * 1000

type RefreshDeps = {
  log: Logger
  senders: { listFor(companyId: number): Promise<readonly unknown[]> }
  readAccounts(companyId: number): Promise<number>
}

/** Starts the hourly refresh of a company: one job that reschedules itself. */
export async function enqueueRefresh(tx: Db, companyId: number): Promise<void> {
  const lane = `company:${companyId}`
  const job = { kind: TEMPLATES_REFRESH, lane, companyId, subjectId: companyId, once: true, dueInMs: HOUR_MS }
  await enqueueJobs(tx, [job])
}

/** Ends when the company has no number left. */
export const refreshKind = (deps: RefreshDeps): SingleKind => ({
  kind: TEMPLATES_REFRESH,
  laneCap: 1,
  concurrency: 4,
  handle: async ({ subjectId: companyId }) => {
    const senders = await deps.senders.listFor(companyId)
    if (senders.length === 0) return done
    await deps
      .readAccounts(companyId)
      .catch((error) => deps.log.warn({ companyId, reason: String(error) }, 'templates.not_synced'))
    return retryAfter(HOUR_MS, { counts: false })
  },
})
