import type { Dispatcher } from 'undici'
import { type Exchange, exchange, isObject, readJsonObject } from '../exchange.ts'
import { fetchMedia } from '../fetch-media.ts'
import { failure, readGraphError, retryAfter, text } from '../graph-error.ts'
import type { Fetched, MediaOutcome, Provider, ProviderTemplate, SenderAccess, SendOutcome } from '../provider.ts'
import { refusalOf } from '../refusal.ts'
import { mediaPath, ownAddress } from './meta-media.ts'
import { readTemplate } from './meta-template.ts'

const PUBLIC_ADDRESS = 'https://graph.facebook.com'
const TEMPLATE_FIELDS =
  'id,name,language,status,category,components,parameter_format,rejected_reason,quality_score,previous_category'
const PAGE_LIMIT = 100
const MAX_PAGES = 200

export type MetaOptions = { dispatcher: Dispatcher; graphVersion: string; timeoutMs: number }

/** Meta's Cloud API. */
export function createMetaProvider(options: MetaOptions): Provider {
  return {
    send: async (access, body) => readSendAnswer(await post(options, access, `${access.phoneNumberId}/messages`, body)),
    listTemplates: (access) => listTemplates(options, access),
    fetchMedia: (access, mediaId, signal) => fetchMetaMedia(options, access, mediaId, signal),
  }
}

const address = ({ graphVersion }: MetaOptions, access: SenderAccess, path: string): string =>
  `${access.apiBaseUrl ?? PUBLIC_ADDRESS}/${graphVersion}/${path}`

const credential = (access: SenderAccess) => ({ authorization: `Bearer ${access.accessToken}` })

const post = (options: MetaOptions, access: SenderAccess, path: string, body: string): Promise<Exchange> =>
  exchange(options.dispatcher, {
    method: 'POST',
    url: address(options, access, path),
    headers: { ...credential(access), 'content-type': 'application/json' },
    body,
    timeoutMs: options.timeoutMs,
  })

const get = (options: MetaOptions, access: SenderAccess, url: string): Promise<Exchange> =>
  exchange(options.dispatcher, { method: 'GET', url, headers: credential(access), timeoutMs: options.timeoutMs })

function readSendAnswer(answer: Exchange): SendOutcome {
  if (answer.kind === 'not-sent') return { kind: 'unreachable', error: failure(answer.detail) }
  if (answer.kind === 'no-answer') return { kind: 'unknown', error: failure(answer.detail) }
  const body = readJsonObject(answer.body)
  const error = body && readGraphError(body)
  if (error) return refusalOf(error, retryAfter(answer.headers['retry-after']))
  const accepted = answer.status < 300 ? body && readAcceptance(body) : undefined
  if (accepted) return accepted
  // A gateway's page or a torn answer: behind it the message may have been taken. Only a plain 4xx was certainly not.
  const detail = failure(`HTTP ${answer.status} without a readable answer`)
  return answer.status >= 400 && answer.status < 500 ? refusalOf(detail) : { kind: 'unknown', error: detail }
}

function readAcceptance(body: Record<string, unknown>): SendOutcome | undefined {
  const message = first(body.messages)
  const contact = first(body.contacts)
  if (typeof message?.id !== 'string' || message.id === '') return undefined
  return {
    kind: 'accepted',
    wamid: message.id,
    providerMessageId: null,
    waId: text(contact?.wa_id),
    userId: text(contact?.user_id),
  }
}

async function fetchMetaMedia(
  options: MetaOptions,
  access: SenderAccess,
  mediaId: string,
  signal: AbortSignal,
): Promise<MediaOutcome> {
  const path = mediaPath(access, mediaId)
  if (path === undefined) return { kind: 'gone' }
  const request = {
    ...options,
    address: address(options, access, path),
    headers: credential(access),
    resolveDownload: (url: URL) => ownAddress(url, access),
  }
  return fetchMedia(request, signal)
}

async function listTemplates(options: MetaOptions, access: SenderAccess): Promise<Fetched<ProviderTemplate[]>> {
  const namespace = await readNamespace(options, access)
  const templates: ProviderTemplate[] = []
  const query = new URLSearchParams({ fields: TEMPLATE_FIELDS, limit: String(PAGE_LIMIT) })
  for (let page = 0; page < MAX_PAGES; page++) {
    const url = address(options, access, `${access.wabaAccountId}/message_templates?${query}`)
    const body = await readPage(await get(options, access, url))
    if (body.kind === 'failed') return body
    const { data, paging } = body.value
    for (const item of Array.isArray(data) ? data : []) {
      const template = isObject(item) ? readTemplate(item, namespace) : undefined
      if (template) templates.push(template)
    }
    const after = nextCursor(paging)
    if (after === undefined) return { kind: 'fetched', value: templates }
    query.set('after', after)
  }
  return { kind: 'failed', error: failure(`the template list has more than ${MAX_PAGES} pages`) }
}

/** The cursor is taken, not the address beside it: the next page comes from the same host with the same credential. */
function nextCursor(paging: unknown): string | undefined {
  if (!isObject(paging) || typeof paging.next !== 'string' || !isObject(paging.cursors)) return undefined
  return text(paging.cursors.after) ?? undefined
}

async function readNamespace(options: MetaOptions, access: SenderAccess): Promise<string | null> {
  const url = address(options, access, `${access.wabaAccountId}?fields=message_template_namespace`)
  const body = await readPage(await get(options, access, url))
  return body.kind === 'fetched' ? text(body.value.message_template_namespace) : null
}

async function readPage(answer: Exchange): Promise<Fetched<Record<string, unknown>>> {
  if (answer.kind !== 'answered') return { kind: 'failed', error: failure(answer.detail) }
  const body = readJsonObject(answer.body)
  const error = body && readGraphError(body)
  if (error) return { kind: 'failed', error }
  if (!body || answer.status >= 300) return { kind: 'failed', error: failure(`HTTP ${answer.status}`) }
  return { kind: 'fetched', value: body }
}

const first = (list: unknown): Record<string, unknown> | undefined =>
  Array.isArray(list) && isObject(list[0]) ? list[0] : undefined
