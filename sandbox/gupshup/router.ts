import { type Answer, jsonAnswer, type Received } from '../answer.ts'
import { deleteTemplate, editTemplate, submitTemplate } from '../graph/create-template.ts'
import { refuse, titleOf } from '../graph/graph-error.ts'
import { readForm, refusalOf } from '../graph/media.ts'
import { readBody } from '../graph/read-body.ts'
import { type GraphDeps, REFUSED_CREDENTIAL } from '../graph/router.ts'
import { keepSample } from '../graph/sample.ts'
import { answerSend, keepReceipt } from '../graph/send.ts'
import { isReadReceipt } from '../graph/send-shape.ts'
import { digitsOf } from '../phone.ts'
import { readSubscription } from '../webhook/number-webhook.ts'
import type { PhoneNumber } from '../world/account.ts'
import { sha256Of } from '../world/sample-media.ts'
import type { World } from '../world/world.ts'
import { readNewTemplate } from './new-template.ts'
import { ownIdOf, templateOf } from './template-list.ts'

const BASE = '/gupshup/partner/app/'
const PATH = /^\/gupshup\/partner\/app\/([^/?]+)\/([^?]*)/

export const isGupshupPath = (url: string): boolean => url.startsWith(BASE)

/** Plays Gupshup's partner API: the number is the one of that app, else the first one. The token comes bare. */
export function answerGupshup(deps: GraphDeps, request: Received): Answer | Promise<Answer> {
  const { ownRefusal } = deps.world.behaviour
  if (ownRefusal) return ownError(ownRefusal.message, ownRefusal.status)
  const token = request.authorization
  if (!token || token === REFUSED_CREDENTIAL || /^bearer /i.test(token)) return ownError('Unauthorised access', 401)
  const [, appId = '', path = ''] = PATH.exec(request.url) ?? []
  const number = numberOf(deps.world, appId)
  if (number === undefined) return ownError('App not found', 400)
  return answerApp(deps, number, appId, `${request.method} ${path}`, request)
}

const ownError = (message: string, status: number): Answer => jsonAnswer({ status: 'error', message }, status)

const numberOf = ({ numbers }: World, appId: string): PhoneNumber | undefined =>
  [...numbers.values()].find(({ app }) => app?.id === appId) ?? numbers.values().next().value

function answerApp(
  deps: GraphDeps,
  number: PhoneNumber,
  appId: string,
  call: string,
  request: Received,
): Answer | Promise<Answer> {
  switch (call) {
    case 'POST v3/message':
      return answerSend(deps, number.id, request, { gupshupAppId: appId })
    case 'POST onboarding/marketing/msg':
      return answerSend(deps, number.id, request, { gupshupAppId: appId, isMarketing: true })
    case 'POST v1/event':
      return markRead(deps, number.id, request)
    case 'POST media':
      return uploadMedia(deps, number.id, request)
    case 'POST upload/media':
      return uploadSample(deps, request)
    case 'GET templates':
      return jsonAnswer({
        status: 'success',
        templates: deps.world.templates.list(number.wabaAccountId).map((template) => templateOf(template, appId)),
      })
    case 'POST templates':
      return createTemplate(deps, number, appId, request)
    case 'POST subscription':
      return subscribe(number, request.body)
    case 'GET waba/info':
      return jsonAnswer({ status: 'success', wabaInfo: infoOf(number) })
    default:
      return answerTemplate(deps, number, call, request) ?? answerMedia(deps.world, call)
  }
}

const accountOf = ({ wabaAccountId }: PhoneNumber) => ({ id: wabaAccountId, name: '' })

/** Changes a template by Gupshup's id, or deletes one by its name. */
function answerTemplate(deps: GraphDeps, number: PhoneNumber, call: string, { body }: Received): Answer | undefined {
  const [, edited] = /^PUT templates\/([^/]+)$/.exec(call) ?? []
  const [, deleted] = /^DELETE template\/([^/]+)$/.exec(call) ?? []
  if (deleted !== undefined) return passOn(deleteTemplate(deps, accountOf(number), decodeURIComponent(deleted)))
  if (edited === undefined) return undefined
  const template = deps.world.templates.list(number.wabaAccountId).find(({ record }) => ownIdOf(record.id) === edited)
  if (template === undefined) return ownError('Template not found', 400)
  return passOn(editTemplate(deps, template, readNewTemplate(body)))
}

function createTemplate(deps: GraphDeps, number: PhoneNumber, appId: string, { body }: Received): Answer {
  const answer = submitTemplate(deps, accountOf(number), readNewTemplate(body))
  const { id } = JSON.parse(String(answer.body)) as { id?: string }
  const template = id === undefined ? undefined : deps.world.templates.get(id)
  return template === undefined
    ? passOn(answer)
    : jsonAnswer({ status: 'success', template: templateOf(template, appId) })
}

/** Meta's answer in Gupshup's words. */
function passOn({ status, body }: Answer): Answer {
  if (status < 300) return jsonAnswer({ status: 'success' })
  const { error } = JSON.parse(String(body)) as { error: { message: string; error_data?: { details: string } } }
  return ownError(`${error.message}: ${error.error_data?.details ?? ''}`, 400)
}

/** An event of the business for a customer: the only one is a read receipt. */
function markRead(deps: GraphDeps, phoneNumberId: string, { body }: Received): Answer {
  const { type, message } = readBody('application/json', body.toString()) ?? {}
  if (type !== 'message-event' || !isReadReceipt(message)) return ownError('Outbound event not supported', 400)
  const { refuseWithCode } = deps.world.behaviour
  if (refuseWithCode !== null) return refuse({ code: refuseWithCode, details: 'Refused as ordered' }, deps.ids.trace())
  keepReceipt(deps, phoneNumberId, message)
  return jsonAnswer({ status: 'success' })
}

/** A subscription of version 2 brings the events of templates, which the sandbox posts to its own address. */
function subscribe(number: PhoneNumber, body: Buffer): Answer {
  const webhook = readSubscription(body.toString())
  if (webhook === undefined) return ownError('url is required', 400)
  if (new URLSearchParams(body.toString()).get('version') === '3') number.webhook = webhook
  return jsonAnswer({ status: 'success', subscription: webhook })
}

/** Bytes at once, without a description before them. */
function answerMedia(world: World, call: string): Answer {
  const id = /^GET media\/([0-9]+)$/.exec(call)?.[1]
  const media = id === undefined ? undefined : world.media.find(id)
  if (media === undefined) return ownError('Not found', 404)
  return { status: 200, contentType: media.mimeType, body: media.bytes }
}

async function uploadMedia({ world, ids }: GraphDeps, phoneNumberId: string, request: Received): Promise<Answer> {
  const form = await readForm(request.contentType ?? '', request.body)
  const file = form?.get('file')
  const type = form?.get('file_type')
  if (!(file instanceof File) || typeof type !== 'string') return ownError('file and file_type are required', 400)
  const bytes = Buffer.from(await file.arrayBuffer())
  const refusal = refusalOf(world, { mimeType: type, bytes })
  if (refusal) return ownError(`(#${refusal.code}) ${titleOf(refusal.code)}: ${refusal.details}`, 400)
  const id = ids.number()
  world.media.add({ id, phoneNumberId, sha256: sha256Of(bytes), mimeType: type, bytes })
  return jsonAnswer({ mediaId: id, status: 'success' })
}

/** A sample of a template's header. */
async function uploadSample({ world }: GraphDeps, request: Received): Promise<Answer> {
  const form = await readForm(request.contentType ?? '', request.body)
  if (!(form?.get('file') instanceof File) || typeof form.get('file_type') !== 'string')
    return ownError('file and file_type are required', 400)
  return jsonAnswer({ handleId: { message: keepSample(world.samples) }, status: 'success' })
}

const infoOf = (number: PhoneNumber) => ({
  accountStatus: 'ACTIVE',
  canSendMessage: 'AVAILABLE',
  messagingLimit: 'TIER_1K',
  phone: digitsOf(number.displayPhoneNumber),
  phoneQuality: 'GREEN',
  verifiedName: number.verifiedName,
  wabaId: number.wabaAccountId,
})
