import type { Dispatcher } from 'undici'
import { isObject } from '../events/json-member.ts'
import { type Call, exchange } from '../exchange.ts'
import { openMedia } from '../fetch-media.ts'
import { idOf, objectsIn, type Reading, readAnswer, readSendAnswer, readValue } from '../graph-answer.ts'
import { failure, text } from '../graph-error.ts'
import { toGraphMessage } from '../graph-message.ts'
import { toMediaForm, UPLOAD_TIMEOUT_MS } from '../media-form.ts'
import type { MediaOutcome, Provider, ProviderError, ProviderNumber, SenderAccess } from '../provider.ts'
import { readGupshupTemplate } from './gupshup-template.ts'

const PUBLIC_ADDRESS = 'https://partner.gupshup.io/partner/app'

export type GupshupOptions = { dispatcher: Dispatcher; timeoutMs: number }

/** Gupshup's partner API, version 3: Meta's bodies, ids and lists of its own. An app holds one number. */
export function createGupshupProvider({ dispatcher, timeoutMs }: GupshupOptions): Provider {
  const get = async (access: SenderAccess, path: string) =>
    readAnswer(
      await exchange(dispatcher, {
        method: 'GET',
        url: addressOf(access, path),
        headers: credential(access),
        timeoutMs,
      }),
      READING,
    )

  const post = (access: SenderAccess, path: string, contentType: string, call: Pick<Call, 'body' | 'timeoutMs'>) =>
    exchange(dispatcher, {
      method: 'POST',
      url: addressOf(access, path),
      headers: { ...credential(access), 'content-type': contentType },
      ...call,
    })

  return {
    toWire: toGraphMessage,
    send: async (access, body) =>
      readSendAnswer(await post(access, 'v3/message', 'application/json', { body, timeoutMs }), READING),
    listTemplates: async (access) =>
      readValue(await get(access, 'templates'), ({ templates }) =>
        Array.isArray(templates)
          ? objectsIn(templates).flatMap((item) => readGupshupTemplate(item, appIdOf(access)) ?? [])
          : undefined,
      ),
    listNumbers: async (access) =>
      readValue(await get(access, 'waba/info'), ({ wabaInfo }) =>
        isObject(wabaInfo) ? [readNumber(wabaInfo, access)] : undefined,
      ),
    uploadMedia: async (access, file) => {
      const { contentType, body } = await toMediaForm({ file_type: file.mimeType }, file)
      const answer = await post(access, 'media', contentType, { body, timeoutMs: UPLOAD_TIMEOUT_MS })
      return readValue(readAnswer(answer, READING), ({ mediaId }) => idOf(mediaId) ?? undefined)
    },
    fetchMedia: async (access, mediaId, signal): Promise<MediaOutcome> =>
      /^[A-Za-z0-9_-]{1,256}$/.test(mediaId)
        ? openMedia({ dispatcher, headers: credential(access) }, new URL(addressOf(access, `media/${mediaId}`)), signal)
        : { kind: 'gone' },
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

/** The app as the operator named it, or as the address names it; else the account's id stands for it. */
const appIdOf = (access: SenderAccess): string =>
  access.appId ?? /\/app\/([^/?#]+)$/.exec(access.apiBaseUrl ?? '')?.[1] ?? access.wabaAccountId

const addressOf = (access: SenderAccess, path: string): string =>
  `${access.apiBaseUrl ?? `${PUBLIC_ADDRESS}/${encodeURIComponent(appIdOf(access))}`}/${path}`

/** The bare token, without a scheme before it. */
const credential = (access: SenderAccess) => ({ authorization: access.accessToken })

/** `{status: "error", message}`; where the message passes on one of Meta's refusals, its code stands in it. */
function readOwnError(body: Record<string, unknown>): ProviderError | undefined {
  if (body.status !== 'error') return undefined
  const title = text(body.message) ?? 'The provider refused without a reason'
  const code = /^\(#([0-9]{1,9})\)/.exec(title)?.[1]
  return { ...failure(title), code: code === undefined ? null : Number(code) }
}

/** The answer holds an id of Gupshup's own; the wamid comes later with an event. */
const readMessageId = (id: string) =>
  id.startsWith('wamid.') ? { wamid: id, providerMessageId: null } : { wamid: null, providerMessageId: id }

const READING: Reading = { readOwnError, readMessageId }

/** It tells of the app's only number, but not Meta's id of it. */
const readNumber = (info: Record<string, unknown>, access: SenderAccess): ProviderNumber => ({
  phoneNumberId: idOf(info.phoneNumberId) ?? access.phoneNumberId,
  phoneNumber: idOf(info.phone),
  phoneName: text(info.verifiedName),
  isSharedWithApp: info.isOnBizApp === true,
})
