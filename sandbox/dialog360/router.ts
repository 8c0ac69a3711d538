import { createHash } from 'node:crypto'
import { type Answer, jsonAnswer, type Received } from '../answer.ts'
import { namespaceOf } from '../graph/account.ts'
import { deleteTemplate, submitTemplate } from '../graph/create-template.ts'
import { downloadMedia, readMedia, uploadMedia } from '../graph/media.ts'
import { bodyOf, type GraphDeps, REFUSED_CREDENTIAL } from '../graph/router.ts'
import { answerSend } from '../graph/send.ts'
import { readConfiguration } from '../webhook/number-webhook.ts'
import type { PhoneNumber } from '../world/account.ts'
import type { TemplateRecord } from '../world/template.ts'
import type { World } from '../world/world.ts'

const BASE = '/dialog360/'
const MEDIA_PATH = 'whatsapp_business/attachments/'
/** Media addresses are Meta's: clients have to swap the host. */
const META_MEDIA_BASE = 'https://lookaside.fbsbx.com'
const PATH = /^\/dialog360\/([^?]*)\??(.*)$/

export const isDialog360Path = (url: string): boolean => url.startsWith(BASE)

/** Plays 360dialog: the number is the one whose id stands in the key, else the first one. */
export function answerDialog360(deps: GraphDeps, request: Received): Answer | Promise<Answer> {
  const { ownRefusal } = deps.world.behaviour
  if (ownRefusal) return ownError(ownRefusal.message, ownRefusal.status)
  if (!request.apiKey || request.apiKey === REFUSED_CREDENTIAL) return ownError('Invalid api_key', 401)
  const number = numberOf(deps.world, request.apiKey)
  const [, path = '', query = ''] = PATH.exec(request.url) ?? []
  if (number === undefined) return ownError('No channel has this api_key', 401)
  return answerNumber(deps, number, `${request.method} ${path}`, request, new URLSearchParams(query))
}

/** Its own layer writes errors as text. */
const ownError = (message: string, status: number): Answer => jsonAnswer({ error: message }, status)

function numberOf({ numbers }: World, key: string): PhoneNumber | undefined {
  const named = (key.match(/[0-9]{5,20}/g) ?? []).map((id) => numbers.get(id)).find((number) => number !== undefined)
  return named ?? numbers.values().next().value
}

function answerNumber(
  deps: GraphDeps,
  number: PhoneNumber,
  call: string,
  request: Received,
  query: URLSearchParams,
): Answer | Promise<Answer> {
  switch (call) {
    case 'POST messages':
      return answerSend(deps, number.id, request)
    case 'POST marketing_messages':
      return wrapped(answerSend(deps, number.id, request, { isMarketing: true }))
    case 'POST media':
      return uploadMedia(deps, number.id, request)
    case 'GET v1/configs/templates':
      return listTemplates(deps.world, number, query)
    case 'POST v1/configs/templates':
      return createTemplate(deps, number, request)
    case 'POST v1/configs/webhook':
      return setWebhook(number, request.body)
    case 'GET health_status':
      return jsonAnswer(healthOf(number))
    case `GET ${MEDIA_PATH}`:
      return downloadMedia(deps, query)
    default:
      return call.startsWith('DELETE v1/configs/templates/')
        ? deleteTemplate(deps, accountOf(number), decodeURIComponent(call.slice(call.lastIndexOf('/') + 1)))
        : answerMedia(deps, call)
  }
}

const accountOf = ({ wabaAccountId }: PhoneNumber) => ({ id: wabaAccountId, name: '' })

/** Refusals of the address for marketing stand in `detail`. */
const wrapped = (answer: Answer): Answer =>
  answer.status < 400 || !answer.contentType.includes('json')
    ? answer
    : { ...answer, body: JSON.stringify({ detail: JSON.parse(String(answer.body)) }) }

/** Answers the record; a refusal of Meta is passed on. */
function createTemplate(deps: GraphDeps, number: PhoneNumber, request: Received): Answer {
  const answer = submitTemplate(deps, accountOf(number), bodyOf(request))
  const { id } = JSON.parse(String(answer.body)) as { id?: string }
  const template = id === undefined ? undefined : deps.world.templates.get(id)
  return template === undefined ? answer : jsonAnswer(recordOf(template.record, number.wabaAccountId), 201)
}

function setWebhook(number: PhoneNumber, body: Buffer): Answer {
  const webhook = readConfiguration(body.toString())
  if (webhook === undefined) return ownError('url is required', 400)
  number.webhook = webhook
  return jsonAnswer(webhook)
}

function answerMedia(deps: GraphDeps, call: string): Answer {
  const media = /^GET ([0-9]+)$/.exec(call)?.[1]
  const found = media === undefined ? undefined : deps.world.media.find(media)
  return found === undefined
    ? ownError('Not found', 404)
    : readMedia(deps, found, new URLSearchParams(), META_MEDIA_BASE)
}

function listTemplates(world: World, number: PhoneNumber, query: URLSearchParams): Answer {
  const all = world.templates.list(number.wabaAccountId).map(({ record }) => recordOf(record, number.wabaAccountId))
  const limit = Number(query.get('limit') ?? 50)
  const offset = Number(query.get('offset') ?? 0)
  const shown = all.slice(offset, offset + limit)
  return jsonAnswer({
    count: shown.length,
    total: all.length,
    limit,
    offset,
    sort: ['business_templates.name'],
    filters: {},
    waba_templates: shown,
  })
}

/** Ids of its own, Meta's beside them, states in lower case. */
const recordOf = ({ id, ...record }: TemplateRecord, wabaAccountId: string) => ({
  ...record,
  id: ownId(id, 'WT'),
  external_id: id,
  status: record.status.toLowerCase(),
  rejected_reason: record.rejected_reason === 'NONE' ? '' : record.rejected_reason,
  quality_score: { score: record.quality_score.score, reasons: null },
  namespace: namespaceOf(wabaAccountId),
  waba_account_id: ownId(wabaAccountId, 'WA'),
  partner_id: 'sandboxPA',
  updated_external: false,
  created_at: '2026-01-01T09:00:00Z',
  modified_at: '2026-01-01T09:00:00Z',
  created_by: { user_id: 'system', user_name: 'system' },
  modified_by: { user_id: 'system', user_name: 'system' },
})

const ownId = (id: string, kind: string): string =>
  createHash('sha256').update(id).digest('base64url').slice(0, 20) + kind

const healthOf = (number: PhoneNumber) => ({
  id: number.id,
  display_phone_number: number.displayPhoneNumber,
  verified_name: number.verifiedName,
  is_on_biz_app: number.isOnBizApp ?? false,
  health_status: {
    can_send_message: 'AVAILABLE',
    entities: [
      { entity_type: 'PHONE_NUMBER', id: number.id, can_send_message: 'AVAILABLE' },
      { entity_type: 'WABA', id: number.wabaAccountId, can_send_message: 'AVAILABLE' },
    ],
  },
})
