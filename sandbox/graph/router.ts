import { type Answer, jsonAnswer, type Received } from '../answer.ts'
import type { Account, PhoneNumber } from '../world/account.ts'
import { listNumbers, listTemplates, readAccount, readNumber } from './account.ts'
import { deleteTemplate, editTemplate, submitTemplate } from './create-template.ts'
import { objectMissing, refuse, tokenInvalid, tokenMissing } from './graph-error.ts'
import { downloadMedia, MEDIA_PATH, type MediaDeps, readMedia, uploadMedia } from './media.ts'
import { changeBlocked, changeProfile, listBlocked, readProfile } from './number-settings.ts'
import type { PageQuery } from './page.ts'
import { readBody } from './read-body.ts'
import { openSession, SESSION_PATH, takeSample } from './sample.ts'
import { answerSend, type SendDeps } from './send.ts'

export type GraphDeps = SendDeps & MediaDeps

/** The one credential that every provider refuses; any other is taken. */
export const REFUSED_CREDENTIAL = 'refused'

/** `/{object}` and `/{object}/{edge}`, with or without a version before and a query behind: path, object, edge, query. */
const GRAPH_PATH = /^((?:\/v\d+\.\d+)?\/([^/?]+)(?:\/([^/?]+))?)\/?(?:\?(.*))?$/

export const isGraphPath = (url: string): boolean => /^\/(v\d|\d)/.test(url) || url.startsWith(MEDIA_PATH)

/** Answers a request to the Graph API, or to the host of the media files; every request needs a bearer token. */
export function answerGraph(deps: GraphDeps, request: Received): Answer | Promise<Answer> {
  const [, path = '', id = '', edge = '', query = ''] = GRAPH_PATH.exec(request.url) ?? []
  const token = tokenOf(request, new URLSearchParams(query))
  if (token === undefined) return tokenMissing(deps.ids.trace())
  if (token === REFUSED_CREDENTIAL) return tokenInvalid(deps.ids.trace())
  if (edge === 'messages' && request.method === 'POST') return answerSend(deps, id, request)
  if (edge === 'marketing_messages' && request.method === 'POST')
    return answerSend(deps, id, request, { isMarketing: true })
  if (request.url.startsWith(MEDIA_PATH) && request.method === 'GET') {
    return downloadMedia(deps, new URLSearchParams(request.url.slice(MEDIA_PATH.length)))
  }
  const session = request.method === 'POST' ? SESSION_PATH.exec(request.url)?.[1] : undefined
  if (session !== undefined) return takeSample(deps.world, session, request, deps.ids.trace())
  if (edge === 'uploads' && request.method === 'POST')
    return openSession(deps.world, new URLSearchParams(query), deps.ids.trace())
  if (path === '') return refuse({ code: 2500, details: request.url }, deps.ids.trace())
  return answerObject(deps, request, path, id, edge, new URLSearchParams(query))
}

/** The bearer token, or `access_token` of the query. */
const tokenOf = ({ authorization = '' }: Received, query: URLSearchParams): string | undefined =>
  /^(?:Bearer|OAuth)\s+(\S+)/i.exec(authorization)?.[1] ?? (query.get('access_token') || undefined)

function answerObject(
  deps: GraphDeps,
  request: Received,
  path: string,
  id: string,
  edge: string,
  query: URLSearchParams,
): Answer | Promise<Answer> {
  const { world, ids } = deps
  const account = world.accounts.get(id)
  if (account !== undefined)
    return answerAccount(deps, account, `${request.method} ${edge}`, { query, base: request.base, path }, request)
  const number = world.numbers.get(id)
  if (number !== undefined) return answerNumber(deps, number, `${request.method} ${edge}`, query, request)
  const template = world.templates.get(id)
  if (template !== undefined && request.method === 'POST' && edge === '')
    return editTemplate(deps, template, bodyOf(request))
  const media = world.media.find(id)
  if (media !== undefined && request.method === 'GET' && edge === '') return readMedia(deps, media, query, request.base)
  return objectMissing(request.method, id, ids.trace())
}

const SANDBOX_APP = {
  whatsapp_business_api_data: { id: '300000000000001', name: 'Sandbox', link: 'https://example.com' },
}

/** A JSON body or a form; an unreadable one is empty. */
export const bodyOf = ({ contentType = '', body }: Received) => readBody(contentType, body.toString()) ?? {}

function answerAccount(deps: GraphDeps, account: Account, call: string, page: PageQuery, request: Received): Answer {
  const { world, ids } = deps
  switch (call) {
    case 'GET ':
      return readAccount(account, page.query)
    case 'GET message_templates':
      return listTemplates(world, account, page, ids.trace())
    case 'GET phone_numbers':
      return listNumbers(world, account, page, ids.trace())
    case 'POST message_templates':
      return submitTemplate(deps, account, bodyOf(request))
    case 'DELETE message_templates':
      return deleteTemplate(deps, account, page.query.get('name') ?? '')
    case 'POST subscribed_apps':
      account.isSubscribed = true
      return jsonAnswer({ success: true })
    case 'DELETE subscribed_apps':
      account.isSubscribed = false
      return jsonAnswer({ success: true })
    case 'GET subscribed_apps':
      return jsonAnswer({ data: account.isSubscribed ? [SANDBOX_APP] : [] })
    default:
      return objectMissing(call.split(' ')[0] ?? '', account.id, ids.trace())
  }
}

function answerNumber(
  deps: GraphDeps,
  number: PhoneNumber,
  call: string,
  query: URLSearchParams,
  request: Received,
): Answer | Promise<Answer> {
  switch (call) {
    case 'GET ':
      return readNumber(number, query)
    case 'GET whatsapp_business_profile':
      return readProfile(number)
    case 'POST whatsapp_business_profile':
      return changeProfile(number, bodyOf(request), deps.ids.trace())
    case 'GET block_users':
      return listBlocked(number)
    case 'POST block_users':
    case 'DELETE block_users':
      return changeBlocked(number, request.method, bodyOf(request), deps.ids.trace())
    case 'POST media':
      return uploadMedia(deps, number.id, request)
    case 'POST ':
      return jsonAnswer({ success: true })
    default:
      return objectMissing(request.method, number.id, deps.ids.trace())
  }
}
