import { type Answer, jsonAnswer, type Received } from '../answer.ts'
import type { Account, PhoneNumber } from '../world/account.ts'
import { listNumbers, listTemplates, readAccount, readNumber } from './account.ts'
import { objectMissing, refuse, tokenInvalid, tokenMissing } from './graph-error.ts'
import { downloadMedia, MEDIA_PATH, type MediaDeps, readMedia, uploadMedia } from './media.ts'
import type { PageQuery } from './page.ts'
import { answerSend, type SendDeps } from './send.ts'

export type GraphDeps = SendDeps & MediaDeps

/** The one credential that every provider refuses; any other is taken. */
export const REFUSED_CREDENTIAL = 'refused'

/** `/v25.0/{object}` and `/v25.0/{object}/{edge}`, with or without a query: version, object, edge, query. */
const GRAPH_PATH = /^(\/v\d+\.\d+\/([^/?]+)(?:\/([^/?]+))?)\/?(?:\?(.*))?$/

export const isGraphPath = (url: string): boolean => url.startsWith('/v') || url.startsWith(MEDIA_PATH)

/** Answers a request to the Graph API, or to the host of the media files; every request needs a bearer token. */
export function answerGraph(deps: GraphDeps, request: Received): Answer | Promise<Answer> {
  if (!hasBearer(request.authorization)) return tokenMissing(deps.ids.trace())
  if (request.authorization === `Bearer ${REFUSED_CREDENTIAL}`) return tokenInvalid(deps.ids.trace())
  const [, path = '', id = '', edge = '', query = ''] = GRAPH_PATH.exec(request.url) ?? []
  if (edge === 'messages' && request.method === 'POST') return answerSend(deps, id, request.body.toString())
  if (request.url.startsWith(MEDIA_PATH) && request.method === 'GET') {
    return downloadMedia(deps, new URLSearchParams(request.url.slice(MEDIA_PATH.length)))
  }
  if (path === '') return refuse({ code: 2500, details: request.url }, deps.ids.trace())
  return answerObject(deps, request, path, id, edge, new URLSearchParams(query))
}

const hasBearer = (authorization = ''): boolean => /^Bearer\s+\S/i.test(authorization)

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
    return answerAccount(deps, account, `${request.method} ${edge}`, { query, base: request.base, path })
  const number = world.numbers.get(id)
  if (number !== undefined) return answerNumber(deps, number, `${request.method} ${edge}`, query, request)
  const media = world.media.find(id)
  if (media !== undefined && request.method === 'GET' && edge === '') return readMedia(deps, media, query, request.base)
  return objectMissing(request.method, id, ids.trace())
}

function answerAccount({ world, ids }: GraphDeps, account: Account, call: string, page: PageQuery): Answer {
  switch (call) {
    case 'GET ':
      return readAccount(account, page.query)
    case 'GET message_templates':
      return listTemplates(world, account, page, ids.trace())
    case 'GET phone_numbers':
      return listNumbers(world, account, page, ids.trace())
    case 'POST subscribed_apps':
      return jsonAnswer({ success: true })
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
    case 'POST media':
      return uploadMedia(deps, number.id, request)
    case 'POST ':
      return jsonAnswer({ success: true })
    default:
      return objectMissing(request.method, number.id, deps.ids.trace())
  }
}
