import { isDeepStrictEqual } from 'node:util'
import { changedMembers } from '../../http/as-read.ts'
import { withTimeout } from '../../http/server/answers/answers.ts'
import {
  type AppError,
  serviceUnavailable,
  templateNotFound,
  unsupportedByTransport,
  validationError,
} from '../../platform/errors.ts'
import { newTemplateId } from '../../platform/ids.ts'
import { providerMessage, unanswered } from '../../providers/graph-answer.ts'
import type {
  Fetched,
  NewTemplate,
  Provider,
  SenderAccess,
  TemplateReceipt,
  Unsupported,
} from '../../providers/provider.ts'
import type { ProviderName } from '../../providers/provider-name.ts'
import { templateStatusOf } from '../template.ts'
import { toTemplateRecord } from '../template-record.ts'
import { readListTime, type TemplateRow, watchTemplates } from '../template-store.ts'
import { type SyncDeps, syncTemplates } from '../template-sync.ts'
import { type OpenUpload, provideSample, withoutSamples } from './header-sample.ts'
import { deleteVersions, findTemplate, markChanged, writeTemplate } from './manage-store.ts'
import { TEMPLATE_SERVICE_MEMBERS } from './template-body.ts'
import { templateFaults } from './template-rules.ts'

type Sender = SenderAccess & { readonly provider: ProviderName }

export type ManageDeps = SyncDeps & {
  findSender(companyId: number, name: string | undefined): Promise<Sender>
  openUpload: OpenUpload
}

/** Without `parameterFormat`, the current one stays. `recorded` must be unchanged. */
type TemplateRequest = Omit<NewTemplate, 'parameterFormat'> & {
  readonly parameterFormat?: NewTemplate['parameterFormat'] | undefined
  readonly recorded: object
}

type SavedTemplate = { template: TemplateRow; isNew: boolean }

/** Creates or changes a template; pending until the provider decides. Throws 422 if refused; 429; 503. */
export async function saveTemplate(
  deps: ManageDeps,
  companyId: number,
  senderName: string | undefined,
  { recorded, ...contents }: TemplateRequest,
): Promise<SavedTemplate> {
  const sender = await withTimeout(deps.findSender(companyId, senderName))
  const find = () => withTimeout(findTemplate(deps.db, companyId, sender.wabaAccountId, contents))
  const existing = await find()
  const requested = {
    ...contents,
    parameterFormat: contents.parameterFormat ?? existing?.parameterFormat ?? 'POSITIONAL',
  }
  const known = existing === undefined ? contents : toTemplateRecord(existing)
  const { faults } = changedMembers(recorded, known, TEMPLATE_SERVICE_MEMBERS)
  if (faults.length > 0) throw validationError(faults)
  if (existing !== undefined && isSame(existing, requested)) return { template: existing, isNew: false }
  const contentFaults = templateFaults(requested)
  if (contentFaults.length > 0) throw validationError(contentFaults)
  const submitted = await provideSample(deps.openUpload, adapterOf(deps, sender), companyId, sender, requested)
  const listedAt = await withTimeout(readListTime(deps.db))
  const saved = await submit(deps, sender, existing, submitted)
  if (saved.kind === 'failed') {
    // An earlier request may have created it but failed to record that.
    const created = existing === undefined && saved.isRefused ? await findAfterSync(deps, companyId, find) : undefined
    if (created !== undefined && isSame(created, requested)) return { template: created, isNew: true }
    throw refusal(saved)
  }
  await record(deps, companyId, sender, submitted, { ...saved.value, listedAt, existing })
  const template = await find()
  if (template === undefined) throw serviceUnavailable('The provider has deleted the template again', 1)
  return { template, isNew: existing === undefined }
}

/** Deletes all languages. @throws {AppError} 404 `template_not_found`; 422 if the provider refuses; 429; 503 */
export async function deleteTemplate(
  deps: ManageDeps,
  companyId: number,
  senderName: string | undefined,
  name: string,
): Promise<void> {
  const sender = await withTimeout(deps.findSender(companyId, senderName))
  const existing = await withTimeout(findTemplate(deps.db, companyId, sender.wabaAccountId, { name }))
  if (existing === undefined) throw templateNotFound()
  const deleted = await adapterOf(deps, sender).deleteTemplate(sender, name)
  if (deleted.kind === 'failed') throw refusal(deleted)
  await withTimeout(deps.db.begin((tx) => deleteVersions(tx, companyId, sender.wabaAccountId, name)))
  deps.templates.drop()
  deps.publish([{ topic: 'all', companyId }])
}

function adapterOf({ providers }: ManageDeps, sender: Sender): Provider {
  const provider = providers[sender.provider]
  if (provider === undefined) throw serviceUnavailable(`No adapter for the provider ${sender.provider}`)
  return provider
}

async function submit(
  deps: ManageDeps,
  sender: Sender,
  existing: TemplateRow | undefined,
  requested: NewTemplate,
): Promise<Fetched<TemplateReceipt>> {
  const provider = adapterOf(deps, sender)
  if (existing === undefined) {
    const created = await provider.createTemplate(sender, requested)
    if (created.kind === 'unsupported') throw unsupported(created, requested, sender)
    return created
  }
  const edited = await provider.editTemplate(sender, existing.externalId, requested)
  if (edited.kind === 'unsupported') throw unsupported(edited, requested, sender)
  if (edited.kind === 'failed') return edited
  const { externalId } = existing
  return { kind: 'fetched', value: { externalId, status: 'PENDING', category: requested.category } }
}

function unsupported({ part }: Unsupported, { category }: NewTemplate, { provider }: Sender): AppError {
  const what = { category: `a template of the category ${category}`, ttlSeconds: 'a time to live', sample: 'a sample' }
  return unsupportedByTransport(part, part === 'components' ? 'a change of a template' : what[part], provider)
}

const refusal = (failed: Extract<Fetched<unknown>, { kind: 'failed' }>) =>
  failed.isRefused
    ? validationError([{ path: 'template', message: `is refused by the provider: ${providerMessage(failed.error)}` }])
    : unanswered(failed, 'The provider did not confirm the request')

async function findAfterSync(
  deps: ManageDeps,
  companyId: number,
  find: () => Promise<TemplateRow | undefined>,
): Promise<TemplateRow | undefined> {
  await syncTemplates(deps, companyId).catch(() => undefined)
  return find()
}

/** An event since `listedAt` is newer than the response, so read the provider's list. */
async function record(
  deps: ManageDeps,
  companyId: number,
  { wabaAccountId }: Sender,
  requested: NewTemplate,
  saved: TemplateReceipt & { listedAt: string; existing: TemplateRow | undefined },
): Promise<void> {
  const { listedAt, existing, externalId, status, category } = saved
  const template = {
    ...requested,
    externalId,
    status,
    category,
    newFamilyId: newTemplateId(),
    ownStatus: templateStatusOf(status) ?? ('PENDING' as const),
    rejectedReason: '',
    qualityScore: existing?.qualityScore ?? null,
    namespace: existing?.namespace ?? null,
    partnerId: existing?.partnerId ?? null,
    createdBy: existing?.createdBy ?? null,
    modifiedBy: existing?.modifiedBy ?? null,
    ttlSeconds: requested.ttlSeconds ?? existing?.ttlSeconds ?? null,
    passedOn: existing?.passedOn ?? null,
  }
  const isOutdated = await withTimeout(
    deps.db.begin(async (tx) => {
      const isReported = deps.recordEvents.isSubscribed('whatsapp.template.status', [companyId])
      const changesSince = isReported ? await watchTemplates(tx, companyId, wabaAccountId) : async () => []
      const isMissed = await writeTemplate(tx, companyId, wabaAccountId, { template, listedAt })
      if (!isMissed) await markChanged(tx, companyId, wabaAccountId, requested)
      await deps.recordEvents.publish(tx, await changesSince())
      return isMissed
    }),
  )
  if (isOutdated) await syncTemplates(deps, companyId)
  deps.templates.drop()
  deps.publish([{ topic: 'all', companyId }])
}

const isSame = (existing: TemplateRow, requested: NewTemplate): boolean =>
  existing.category === requested.category &&
  existing.parameterFormat === requested.parameterFormat &&
  (requested.ttlSeconds === undefined || existing.ttlSeconds === requested.ttlSeconds) &&
  isDeepStrictEqual(withoutSamples(existing.components), withoutSamples(requested.components))
