import type { Dispatcher } from 'undici'
import { isRecord } from '../../platform/text/json-text.ts'
import { fetchMedia } from '../fetch-media.ts'
import { failed, idOf, objectsIn, readValue, text } from '../graph-answer.ts'
import type {
  Fetched,
  MediaFile,
  MediaOutcome,
  NewTemplate,
  Provider,
  ProviderNumber,
  ProviderTemplate,
  SenderAccess,
  TemplateReceipt,
} from '../provider.ts'
import { createProviderApi, isMediaId, type ProviderApi, toGraphMessage, toGraphReceipt } from '../provider-api.ts'
import { readTemplate, toGraphChange, toGraphTemplate } from '../template-shape.ts'

const OWN_APP = 'app'
const SESSION = /^upload:[!-~]{1,4000}$/

/** Meta's media hosts; the credential must not be sent anywhere else. */
const HOSTS = new Set(['graph.facebook.com', 'lookaside.fbsbx.com'])
const HOST_ENDINGS = ['.fbcdn.net']

const PUBLIC_ADDRESS = 'https://graph.facebook.com'
const SEND_EDGES = { messages: 'messages', marketing: 'marketing_messages' } as const
/** Whether the account uses, could use, or can't use the marketing address. */
const TERMS_FIELD = 'marketing_messages_onboarding_status'

/** Webhook fields the Meta app must subscribe to. */
export const WEBHOOK_FIELDS = [
  'messages',
  'message_template_status_update',
  'message_template_quality_update',
  'template_category_update',
  'phone_number_quality_update',
  'account_update',
]

type MetaOptions = { dispatcher: Dispatcher; graphVersion: string; timeoutMs: number }

/** Creates the adapter for Meta's Cloud API. Meta signs events and makes a handshake. */
export function createMetaProvider(options: MetaOptions): Provider {
  const addressOf = (access: SenderAccess, path: string): string =>
    `${access.apiBaseUrl ?? PUBLIC_ADDRESS}/${options.graphVersion}/${path}`
  const api = createProviderApi(options, { addressOf, credentialOf })

  return {
    toWire: toGraphMessage,
    send: (access, body, address = 'messages') =>
      api.send(access, `${access.phoneNumberId}/${SEND_EDGES[address]}`, body),
    readMarketingTerms: async (access) => {
      const answer = await api.get(access, `${access.wabaAccountId}?fields=${TERMS_FIELD}`)
      return answer.kind === 'failed' ? answer : { kind: 'fetched', value: readTerms(answer.value[TERMS_FIELD]) }
    },
    markRead: (access, wamid, isTyping) =>
      api.sendReceipt(access, `${access.phoneNumberId}/messages`, toGraphReceipt(wamid, isTyping)),
    listTemplates: (access) => fetchTemplates((path) => api.get(access, path), access.wabaAccountId),
    createTemplate: async (access, template) => {
      const path = `${access.wabaAccountId}/message_templates`
      const answer = await api.change(access, 'POST', path, toGraphTemplate(template))
      return readValue(answer, (body) => readReceipt(body, template))
    },
    editTemplate: async (access, externalId, template) =>
      externalId === null
        ? failed('the template has no id at the provider')
        : api.perform(access, 'POST', externalId, toGraphChange(template)),
    uploadSample: (access, file) => uploadSample(api, access, file),
    deleteTemplate: (access, name) =>
      api.perform(access, 'DELETE', `${access.wabaAccountId}/message_templates?${new URLSearchParams({ name })}`),
    listNumbers: (access) => listNumbers((path) => api.get(access, path), access.wabaAccountId),
    uploadMedia: async (access, file) => {
      const fields = { messaging_product: 'whatsapp', type: file.mimeType }
      const answer = await api.upload(access, `${access.phoneNumberId}/media`, file, fields)
      return readValue(answer, ({ id }) => idOf(id) ?? undefined)
    },
    fetchMedia: async (access, mediaId, signal): Promise<MediaOutcome> => {
      const path = mediaPath(access, mediaId)
      if (path === undefined) return { kind: 'gone' }
      const request = {
        ...options,
        address: addressOf(access, path),
        headers: credentialOf(access),
        resolveDownload: (url: URL) => ownAddress(url, access),
      }
      return fetchMedia(request, signal)
    },
    webhookSteps: ({ url, verifyToken }) =>
      `In the app dashboard, under WhatsApp > Configuration, enter the callback address ${url} and the verify token ` +
      `${verifyToken ?? '(first set WHATSAPP_VERIFY_TOKEN)'}, and subscribe to the fields ` +
      `${WEBHOOK_FIELDS.join(', ')}. With the app secret given as appSecret, only signed events are taken.`,
    makesHandshake: true,
    appIdOf: () => null,
  }
}

const credentialOf = (access: SenderAccess) => ({ authorization: `Bearer ${access.accessToken}` })

const readTerms = (status: unknown): boolean | null => (typeof status === 'string' ? status === 'ONBOARDED' : null)

const readReceipt = ({ id, status, category }: Record<string, unknown>, asked: NewTemplate): TemplateReceipt => ({
  externalId: idOf(id),
  status: text(status)?.toUpperCase() ?? 'PENDING',
  category: text(category)?.toUpperCase() ?? asked.category,
})

/** Returns the address if Meta's own or on the sender's API origin; else undefined. */
export function ownAddress(url: URL, access: SenderAccess): URL | undefined {
  const isConfigured = access.apiBaseUrl !== null && URL.parse(access.apiBaseUrl)?.origin === url.origin
  const isMeta = url.protocol === 'https:' && url.port === '' && isMetaHost(url.hostname)
  return isConfigured || isMeta ? url : undefined
}

const isMetaHost = (host: string): boolean => HOSTS.has(host) || HOST_ENDINGS.some((ending) => host.endsWith(ending))

/** Undefined for an id that could escape the path. */
const mediaPath = (access: SenderAccess, mediaId: string): string | undefined =>
  isMediaId(mediaId) ? `${mediaId}?${new URLSearchParams({ phone_number_id: access.phoneNumberId })}` : undefined

/** Uploads a sample in one resumable-upload session; returns its handle. */
async function uploadSample(
  api: Pick<ProviderApi, 'change' | 'uploadBytes'>,
  access: SenderAccess,
  file: MediaFile,
): Promise<Fetched<string>> {
  const described = new URLSearchParams({ file_length: String(file.sizeBytes), file_type: file.mimeType })
  const opened = await api.change(access, 'POST', `${access.appId ?? OWN_APP}/uploads?${described}`)
  const session = readValue(opened, ({ id }) => (SESSION.test(String(id)) ? String(id) : undefined))
  if (session.kind === 'failed') return session
  const headers = { authorization: `OAuth ${access.accessToken}`, file_offset: '0' }
  return readValue(await api.uploadBytes(access, session.value, file, headers), ({ h }) => text(h) ?? undefined)
}

const TEMPLATE_FIELDS =
  'id,name,language,status,category,components,parameter_format,rejected_reason,quality_score,previous_category,' +
  'message_send_ttl_seconds'
const NUMBER_FIELDS = 'id,display_phone_number,verified_name,is_on_biz_app'
const PAGE_LIMIT = 100
const MAX_PAGES = 200

export type Ask = (path: string) => Promise<Fetched<Record<string, unknown>>>

/** Fetches an account's templates and the namespace, which only the account has. */
async function fetchTemplates(ask: Ask, wabaAccountId: string): Promise<Fetched<ProviderTemplate[]>> {
  const [items, account] = await Promise.all([
    readPages(ask, `${wabaAccountId}/message_templates`, TEMPLATE_FIELDS),
    ask(`${wabaAccountId}?fields=message_template_namespace`),
  ])
  if (items.kind === 'failed') return items
  const namespace = account.kind === 'fetched' ? account.value.message_template_namespace : null
  const templates = items.value.flatMap((item) => readTemplate({ ...item, namespace }) ?? [])
  return { kind: 'fetched', value: templates }
}

/** Lists an account's numbers, at most 200 pages with 100 each. Fails if any page fails. */
export async function listNumbers(ask: Ask, wabaAccountId: string): Promise<Fetched<ProviderNumber[]>> {
  const items = await readPages(ask, `${wabaAccountId}/phone_numbers`, NUMBER_FIELDS)
  return items.kind === 'failed' ? items : { kind: 'fetched', value: items.value.map(toProviderNumber) }
}

const toProviderNumber = (item: Record<string, unknown>): ProviderNumber => ({
  phoneNumberId: idOf(item.id),
  wabaAccountId: null,
  appId: null,
  phoneNumber: text(item.display_phone_number),
  phoneName: text(item.verified_name),
  isSharedWithApp: item.is_on_biz_app === true,
})

async function readPages(ask: Ask, path: string, fields: string): Promise<Fetched<Record<string, unknown>[]>> {
  const items: Record<string, unknown>[] = []
  const query = new URLSearchParams({ fields, limit: String(PAGE_LIMIT) })
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await ask(`${path}?${query}`)
    if (answer.kind === 'failed') return answer
    items.push(...objectsIn(answer.value.data))
    const after = nextCursor(answer.value.paging)
    if (after === undefined) return { kind: 'fetched', value: items }
    query.set('after', after)
  }
  return failed(`the list has more than ${MAX_PAGES} pages`)
}

/** Uses the cursor rather than the `next` address, so that the credential stays on the same host. */
function nextCursor(paging: unknown): string | undefined {
  if (!isRecord(paging) || typeof paging.next !== 'string' || !isRecord(paging.cursors)) return undefined
  return text(paging.cursors.after) ?? undefined
}
