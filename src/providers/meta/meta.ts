import type { Dispatcher } from 'undici'
import { type Call, exchange } from '../exchange.ts'
import { fetchMedia } from '../fetch-media.ts'
import { idOf, readAnswer, readSendAnswer, readValue } from '../graph-answer.ts'
import { toGraphMessage } from '../graph-message.ts'
import { toMediaForm, UPLOAD_TIMEOUT_MS } from '../media-form.ts'
import type { MediaOutcome, Provider, SenderAccess } from '../provider.ts'
import { fetchTemplates, listNumbers } from './meta-list.ts'
import { mediaPath, ownAddress } from './meta-media.ts'

const PUBLIC_ADDRESS = 'https://graph.facebook.com'

export type MetaOptions = { dispatcher: Dispatcher; graphVersion: string; timeoutMs: number }

/** The adapter to Meta's Cloud API. Meta signs its events and makes a handshake; requests name `graphVersion`. */
export function createMetaProvider(options: MetaOptions): Provider {
  const { dispatcher, graphVersion, timeoutMs } = options
  const address = (access: SenderAccess, path: string): string =>
    `${access.apiBaseUrl ?? PUBLIC_ADDRESS}/${graphVersion}/${path}`

  const get = (access: SenderAccess) => async (path: string) =>
    readAnswer(
      await exchange(dispatcher, {
        method: 'GET',
        url: address(access, path),
        headers: credential(access),
        timeoutMs,
      }),
    )

  const post = (access: SenderAccess, edge: string, contentType: string, call: Pick<Call, 'body' | 'timeoutMs'>) =>
    exchange(dispatcher, {
      method: 'POST',
      url: address(access, `${access.phoneNumberId}/${edge}`),
      headers: { ...credential(access), 'content-type': contentType },
      ...call,
    })

  return {
    toWire: toGraphMessage,
    send: async (access, body) =>
      readSendAnswer(await post(access, 'messages', 'application/json', { body, timeoutMs })),
    listTemplates: (access) => fetchTemplates(get(access), access.wabaAccountId),
    listNumbers: (access) => listNumbers(get(access), access.wabaAccountId),
    uploadMedia: async (access, file) => {
      const fields = { messaging_product: 'whatsapp', type: file.mimeType }
      const { contentType, body } = await toMediaForm(fields, file)
      const answer = await post(access, 'media', contentType, { body, timeoutMs: UPLOAD_TIMEOUT_MS })
      return readValue(readAnswer(answer), ({ id }) => idOf(id) ?? undefined)
    },
    fetchMedia: async (access, mediaId, signal): Promise<MediaOutcome> => {
      const path = mediaPath(access, mediaId)
      if (path === undefined) return { kind: 'gone' }
      const request = {
        ...options,
        address: address(access, path),
        headers: credential(access),
        resolveDownload: (url: URL) => ownAddress(url, access),
      }
      return fetchMedia(request, signal)
    },
    webhookSteps: ({ url, verifyToken }) =>
      `In the app dashboard, under WhatsApp > Configuration, enter the callback address ${url} and the verify token ` +
      `${verifyToken ?? '(first set WHATSAPP_VERIFY_TOKEN)'}, and subscribe to the field messages and to the ` +
      'message_template_* fields. With the app secret given as appSecret, only signed events are taken.',
    makesHandshake: true,
    appIdOf: () => null,
  }
}

const credential = (access: SenderAccess) => ({ authorization: `Bearer ${access.accessToken}` })
