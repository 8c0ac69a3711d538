import type { Dispatcher } from 'undici'
import { isRecord } from '../../platform/text/json-text.ts'
import { fetchMedia } from '../fetch-media.ts'
import { failed, failure, idOf, objectsIn, readGraphError, readValue, text } from '../graph-answer.ts'
import type {
  Fetched,
  MediaOutcome,
  PassedOn,
  Provider,
  ProviderError,
  ProviderNumber,
  ProviderTemplate,
  SenderAccess,
} from '../provider.ts'
import { createProviderApi, isMediaId, toGraphMessage, toGraphReceipt } from '../provider-api.ts'
import { readTemplate, toGraphTemplate } from '../template-shape.ts'

const PUBLIC_ADDRESS = 'https://waba-v2.360dialog.io'
/** Host in Meta's media addresses; 360dialog serves the same paths. */
const META_MEDIA_HOST = 'lookaside.fbsbx.com'
const SEND_PATHS = { messages: 'messages', marketing: 'marketing_messages' } as const
const NUMBER_FIELDS = 'health_status,display_phone_number,verified_name,is_on_biz_app'
const TEMPLATES_PATH = 'v1/configs/templates'
const PAGE_LIMIT = 1000
const MAX_PAGES = 100
/** More than five failed media requests per hour block media for an hour. */
const MEDIA_BLOCK_SECONDS = 3600

type Dialog360Options = { dispatcher: Dispatcher; timeoutMs: number }

/** Creates the 360dialog adapter: Meta's bodies under other paths, with the number implied by the API key. */
export function createDialog360Provider(options: Dialog360Options): Provider {
  const api = createProviderApi(options, { addressOf, credentialOf, reading: { readOwnError } })
  return {
    toWire: toGraphMessage,
    send: (access, body, address = 'messages') => api.send(access, SEND_PATHS[address], body),
    readMarketingTerms: async () => ({ kind: 'fetched', value: null }),
    markRead: (access, wamid, isTyping) => api.sendReceipt(access, 'messages', toGraphReceipt(wamid, isTyping)),
    listTemplates: (access) => listTemplates((path) => api.get(access, path)),
    createTemplate: async (access, template) => {
      const answer = await api.change(access, 'POST', TEMPLATES_PATH, toGraphTemplate(template))
      return readValue(answer, (body) => {
        const created = readTemplateRecord({ ...template, status: 'PENDING', ...body })
        return created && { externalId: created.externalId, status: created.status, category: created.category }
      })
    },
    editTemplate: async () => ({ kind: 'unsupported', part: 'components' }),
    uploadSample: async () => ({ kind: 'unsupported', part: 'sample' }),
    deleteTemplate: (access, name) => api.perform(access, 'DELETE', `${TEMPLATES_PATH}/${encodeURIComponent(name)}`),
    listNumbers: async (access) =>
      readValue(await api.get(access, `health_status?fields=${NUMBER_FIELDS}`), (body) => [readNumber(body)]),
    uploadMedia: async (access, file) =>
      readValue(
        await api.upload(access, 'media', file, { messaging_product: 'whatsapp' }),
        ({ id }) => idOf(id) ?? undefined,
      ),
    fetchMedia: async (access, mediaId, signal): Promise<MediaOutcome> => {
      if (!isMediaId(mediaId)) return { kind: 'gone' }
      const request = {
        ...options,
        address: addressOf(access, mediaId),
        headers: credentialOf(access),
        resolveDownload: (url: URL) => swapHost(url, access),
        waitSeconds: MEDIA_BLOCK_SECONDS,
      }
      return fetchMedia(request, signal)
    },
    webhookSteps: ({ url, hasSecret }) =>
      `Set the webhook of the number and of its WABA to ${url} (POST /v1/configs/webhook, or the 360dialog hub)` +
      (hasSecret ? ', with your webhookSecret as the header X-Webhook-Secret or as a last segment of the path.' : '.') +
      ' 360dialog does not sign: a webhookSecret keeps others from posting events. The host must have no underscore and no port.',
    makesHandshake: false,
    appIdOf: () => null,
  }
}

const addressOf = (access: SenderAccess, path: string): string => `${access.apiBaseUrl ?? PUBLIC_ADDRESS}/${path}`

const credentialOf = (access: SenderAccess) => ({ 'd360-api-key': access.accessToken })

/** Covers plain text, the older API's format, and Meta errors wrapped by the marketing endpoint. */
function readOwnError(body: Record<string, unknown>): ProviderError | undefined {
  if (isRecord(body.detail)) return readGraphError(body.detail)
  const message = text(body.error)
  if (message !== null) return failure(message)
  const { meta } = body
  if (!isRecord(meta) || meta.success !== false) return undefined
  return failure(text(meta.developer_message) ?? 'The provider refused without a reason')
}

/** Pages by offset. An empty page must end the loop, because `total` can be too high. */
async function listTemplates(
  get: (path: string) => Promise<Fetched<Record<string, unknown>>>,
): Promise<Fetched<ProviderTemplate[]>> {
  const items: Record<string, unknown>[] = []
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await get(`${TEMPLATES_PATH}?limit=${PAGE_LIMIT}&offset=${items.length}`)
    if (answer.kind === 'failed') return answer
    const found = objectsIn(answer.value.waba_templates)
    items.push(...found)
    const total = typeof answer.value.total === 'number' ? answer.value.total : items.length
    if (found.length === 0 || items.length >= total) {
      return { kind: 'fetched', value: items.flatMap((item) => readTemplateRecord(item) ?? []) }
    }
  }
  return failed(`the template list has more than ${MAX_PAGES} pages`)
}

/** The credential must not be sent to any other host. */
const swapHost = (url: URL, access: SenderAccess): URL | undefined =>
  url.hostname === META_MEDIA_HOST ? new URL(addressOf(access, url.pathname.slice(1) + url.search)) : undefined

/** Reads an entry in `waba_templates[]`. The external id is Meta's, used in events. */
export function readTemplateRecord(item: Record<string, unknown>): ProviderTemplate | undefined {
  const template = readTemplate(item)
  return (
    template && {
      ...template,
      externalId: idOf(item.external_id) ?? template.externalId,
      partnerId: text(item.partner_id),
      createdBy: isRecord(item.created_by) ? item.created_by : null,
      modifiedBy: isRecord(item.modified_by) ? item.modified_by : null,
      passedOn: readPassedOn(item),
    }
  )
}

function readPassedOn(item: Record<string, unknown>): PassedOn {
  const { waba_account_id: account, created_at: created, modified_at: modified, updated_external: isExternal } = item
  return {
    ...(typeof account === 'string' && account !== '' && { waba_account_id: account }),
    ...(isDate(created) && { created_at: created }),
    ...(isDate(modified) && { modified_at: modified }),
    ...(typeof isExternal === 'boolean' && { updated_external: isExternal }),
  }
}

const isDate = (value: unknown): value is string => typeof value === 'string' && !Number.isNaN(Date.parse(value))

/** Reads the number for an API key. Its id may appear only among the health entities. */
export function readNumber(body: Record<string, unknown>): ProviderNumber {
  const health = isRecord(body.health_status) ? body.health_status : {}
  const entities = objectsIn(health.entities)
  const idOfEntity = (type: string) => idOf(entities.find((one) => one.entity_type === type)?.id)
  return {
    phoneNumberId: idOf(body.id) ?? idOfEntity('PHONE_NUMBER'),
    wabaAccountId: idOfEntity('WABA'),
    appId: null,
    phoneNumber: text(body.display_phone_number),
    phoneName: text(body.verified_name),
    isSharedWithApp: body.is_on_biz_app === true,
  }
}
