import type { Dispatcher } from 'undici'
import { isRecord } from '../../platform/text/json-text.ts'
import { openMedia } from '../fetch-media.ts'
import { failure, idOf, objectsIn, readValue, text } from '../graph-answer.ts'
import type {
  MediaOutcome,
  NewTemplate,
  Provider,
  ProviderError,
  ProviderNumber,
  ReceiptOutcome,
  SenderAccess,
  Unsupported,
} from '../provider.ts'
import { createProviderApi, isMediaId, toGraphMessage, toGraphReceipt } from '../provider-api.ts'
import { findOwnId, readGupshupReceipt, readGupshupTemplate, toGupshupTemplate } from './gupshup-template.ts'

const PUBLIC_ADDRESS = 'https://partner.gupshup.io/partner/app'
const SEND_PATHS = { messages: 'v3/message', marketing: 'onboarding/marketing/msg' } as const

type GupshupOptions = { dispatcher: Dispatcher; timeoutMs: number }

/** Creates the Gupshup adapter (partner API v3): Meta's bodies, own ids and lists. An app holds one number. */
export function createGupshupProvider(options: GupshupOptions): Provider {
  const api = createProviderApi(options, { addressOf, credentialOf, reading: { readOwnError, readMessageId } })
  return {
    toWire: toGraphMessage,
    send: (access, body, address = 'messages') => api.send(access, SEND_PATHS[address], body),
    readMarketingTerms: async () => ({ kind: 'fetched', value: null }),
    markRead: async (access, wamid, isTyping) => {
      const event = { type: 'message-event', message: toGraphReceipt(wamid, isTyping) }
      return readUnsupported(await api.sendReceipt(access, 'v1/event', event))
    },
    listTemplates: async (access) =>
      readValue(await api.get(access, 'templates'), ({ templates }) =>
        Array.isArray(templates)
          ? objectsIn(templates).flatMap((item) => readGupshupTemplate(item, appIdOf(access)) ?? [])
          : undefined,
      ),
    createTemplate: async (access, template) => {
      const unsupported = unsupportedIn(template)
      if (unsupported !== undefined) return unsupported
      const answer = await api.change(access, 'POST', 'templates', toGupshupTemplate(template))
      return readValue(answer, ({ template: created }) =>
        isRecord(created) ? readGupshupReceipt(created, template) : undefined,
      )
    },
    editTemplate: async (access, _, template) => {
      const unsupported = unsupportedIn(template)
      if (unsupported !== undefined) return unsupported
      const ownId = readValue(await api.get(access, 'templates'), ({ templates }) => findOwnId(templates, template))
      if (ownId.kind === 'failed') return ownId
      const path = `templates/${encodeURIComponent(ownId.value)}`
      return api.perform(access, 'PUT', path, toGupshupTemplate(template))
    },
    uploadSample: async (access, file) =>
      readValue(
        await api.upload(access, 'upload/media', file, { file_type: file.mimeType }),
        ({ handleId }) => text(isRecord(handleId) ? handleId.message : handleId) ?? undefined,
      ),
    deleteTemplate: (access, name) => api.perform(access, 'DELETE', `template/${encodeURIComponent(name)}`),
    listNumbers: async (access) =>
      readValue(await api.get(access, 'waba/info'), ({ wabaInfo }) =>
        isRecord(wabaInfo) ? [readNumber(wabaInfo, access)] : undefined,
      ),
    uploadMedia: async (access, file) =>
      readValue(
        await api.upload(access, 'media', file, { file_type: file.mimeType }),
        ({ mediaId }) => idOf(mediaId) ?? undefined,
      ),
    fetchMedia: async (access, mediaId, signal): Promise<MediaOutcome> => {
      if (!isMediaId(mediaId)) return { kind: 'gone' }
      const request = { ...options, headers: credentialOf(access) }
      return openMedia(request, new URL(addressOf(access, `media/${mediaId}`)), signal)
    },
    webhookSteps: ({ url, hasSecret }) =>
      `Add a subscription of version 3 to the app with the address ${url} and the modes MESSAGE, SENT, DELIVERED, READ, ` +
      'FAILED, ENQUEUED and OTHERS' +
      (hasSecret ? '; in its meta give your webhookSecret as the header X-Webhook-Secret' : '') +
      '. For template events add one of version 2 with the mode TEMPLATE; without it the hourly sync brings them. ' +
      'Gupshup does not sign: a webhookSecret keeps others from posting events.',
    makesHandshake: false,
    appIdOf,
  }
}

/** Authentication templates have other members than Meta's; lifetimes are unsupported. */
function unsupportedIn({ category, ttlSeconds }: NewTemplate): Unsupported | undefined {
  if (category === 'AUTHENTICATION') return { kind: 'unsupported', part: 'category' }
  return ttlSeconds === undefined ? undefined : { kind: 'unsupported', part: 'ttlSeconds' }
}

const appIdOf = (access: SenderAccess): string => access.appId ?? appInAddress(access) ?? access.wabaAccountId

const appInAddress = ({ apiBaseUrl }: SenderAccess): string | null =>
  /\/app\/([^/?#]+)$/.exec(apiBaseUrl ?? '')?.[1] ?? null

const addressOf = (access: SenderAccess, path: string): string =>
  `${access.apiBaseUrl ?? `${PUBLIC_ADDRESS}/${encodeURIComponent(appIdOf(access))}`}/${path}`

/** Must be bare, without a scheme. */
const credentialOf = (access: SenderAccess) => ({ authorization: access.accessToken })

/** `{status: "error", message}`; forwarded Meta errors start with `(#code)`. */
function readOwnError(body: Record<string, unknown>): ProviderError | undefined {
  if (body.status !== 'error') return undefined
  const title = text(body.message) ?? 'The provider refused without a reason'
  const code = /^\(#([0-9]{1,9})\)/.exec(title)?.[1]
  return { ...failure(title), code: code === undefined ? null : Number(code) }
}

/** Apps without customer events refuse in words, without a code. */
const readUnsupported = (outcome: ReceiptOutcome): ReceiptOutcome =>
  outcome.kind === 'refused' && /not supported/i.test(outcome.error.title)
    ? { ...outcome, reason: 'unsupported' }
    : outcome

/** Gupshup returns its own id; the wamid follows in an event. */
const readMessageId = (id: string) =>
  id.startsWith('wamid.') ? { wamid: id, providerMessageId: null } : { wamid: null, providerMessageId: id }

const readNumber = (info: Record<string, unknown>, access: SenderAccess): ProviderNumber => ({
  phoneNumberId: idOf(info.phoneNumberId) ?? access.phoneNumberId,
  wabaAccountId: idOf(info.wabaId),
  appId: idOf(info.appId) ?? appInAddress(access),
  phoneNumber: idOf(info.phone),
  phoneName: text(info.verifiedName),
  isSharedWithApp: info.isOnBizApp === true,
})
