import { randomUUID } from 'node:crypto'
import { type Answer, type Fate, jsonAnswer, type Received } from '../answer.ts'
import type { Clock } from '../clock.ts'
import { digitsOf, waIdOf } from '../phone.ts'
import type { PhoneNumber } from '../world/account.ts'
import type { IdMaker } from '../world/id-maker.ts'
import type { Accepted, World } from '../world/world.ts'
import { directSendRefusal, marketingRefusal } from './checks/account-check.ts'
import { contentRefusal } from './checks/content-check.ts'
import { checkTemplate } from './checks/template-check.ts'
import { htmlError, objectMissing, type Refusal, refuse } from './graph-error.ts'
import { magicOf } from './magic-recipient.ts'
import { readBody } from './read-body.ts'
import { parseSend, type ReadReceipt, type SendRequest } from './send-shape.ts'

type Sent = Pick<Received, 'body' | 'contentType'>

export type SendDeps = {
  world: World
  clock: Clock
  ids: IdMaker
  random: () => number
  /** Called with each accepted message, so that its statuses can follow. */
  announce: (message: Accepted) => void
}

/** How a message came: through an app of Gupshup, and to the address for marketing. */
export type Via = { gupshupAppId?: string; isMarketing?: boolean }

/**
 * `POST /{phone-number-id}/messages`, or `…/marketing_messages`: configured faults come first, then the checks of the shape, the template and the
 * recipient. An accepted message is stored even when its answer is held back.
 */
export function answerSend(deps: SendDeps, phoneNumberId: string, sent: Sent, via: Via = {}): Answer {
  const { world, ids } = deps
  const number = world.numbers.get(phoneNumberId)
  if (number === undefined) return objectMissing('post', phoneNumberId, ids.trace())
  const outage = outageNow(deps)
  if (outage !== undefined) return outage

  const value = withType(readBody(sent.contentType ?? '', sent.body.toString()))
  const parsed = parseSend(value)
  if ('fault' in parsed) return refuse({ code: 100, details: parsed.fault }, ids.trace())
  if ('receipt' in parsed) {
    keepReceipt(deps, phoneNumberId, parsed.receipt)
    return jsonAnswer({ success: true })
  }

  const { request } = parsed
  const to = request.to ?? request.recipient ?? ''
  const magic = magicOf(to)
  const refusal =
    recipientRefusal(number, request) ??
    contentRefusal(world, phoneNumberId, request) ??
    accountRefusal(world, number, request, via) ??
    templateRefusal(world, number.wabaAccountId, request) ??
    (magic !== 'silent' && magic?.refusal)
  if (refusal) return refuse(refusal, ids.trace())

  const message = accept(deps, phoneNumberId, to, JSON.stringify(value), via)
  const fate = magic === 'silent' ? 'hang' : fateNow(world)
  return { ...success(request, message, number), ...(fate && { fate }) }
}

/** Keeps a read receipt, so that the control address can show it. */
export function keepReceipt(
  { world, clock }: Pick<SendDeps, 'world' | 'clock'>,
  phoneNumberId: string,
  receipt: ReadReceipt,
) {
  const isTyping = receipt.typing_indicator !== undefined
  world.receipts.add({ wamid: receipt.message_id, phoneNumberId, isTyping, at: clock.now() })
}

/** A message without a type is a text. */
const withType = (body: Record<string, unknown> | undefined) =>
  body !== undefined && body.type === undefined && body.status === undefined ? { ...body, type: 'text' } : body

/** `to` is a phone number, and not the sender's own. */
function recipientRefusal(number: PhoneNumber, { to }: SendRequest): Refusal | undefined {
  if (to === undefined) return undefined
  const digits = digitsOf(to)
  if (!/^\+?[0-9 ().-]+$/.test(to) || digits.length < 5 || digits.length > 15) {
    return { code: 131009, details: 'The parameter to is not a valid phone number' }
  }
  if (digits === digitsOf(number.displayPhoneNumber)) return { code: 131021, details: 'Recipient and sender are equal' }
  return undefined
}

function outageNow({ world, ids, random }: SendDeps): Answer | undefined {
  const { htmlErrors, refuseWithCode, errorRate, ownRefusal } = world.behaviour
  if (htmlErrors) return htmlError()
  if (ownRefusal) return jsonAnswer({ error: { message: ownRefusal.message } }, ownRefusal.status)
  if (refuseWithCode !== null) return refuse({ code: refuseWithCode, details: 'Refused as ordered' }, ids.trace())
  if (errorRate > 0 && random() < errorRate) return refuse({ code: 2, status: 500 }, ids.trace())
  return undefined
}

/** Refuses sends that the account of the number is not allowed. */
function accountRefusal(world: World, number: PhoneNumber, request: SendRequest, via: Via): Refusal | undefined {
  const account = world.accounts.get(number.wabaAccountId)
  const { name = '', language } = request.template ?? {}
  const template = world.templates.find(number.wabaAccountId, name, language?.code ?? '')?.record
  return via.isMarketing ? marketingRefusal(account, request, template) : directSendRefusal(account, request)
}

function templateRefusal(world: World, wabaAccountId: string, request: SendRequest): Refusal | undefined {
  if (request.template === undefined) return undefined
  const { name, language, components = [] } = request.template
  const template = world.templates.find(wabaAccountId, name, language.code)
  if (template === undefined) {
    return { code: 132001, details: `template name (${name}) does not exist in ${language.code}` }
  }
  if (request.to === undefined && template.record.category === 'AUTHENTICATION') {
    return { code: 131062, details: 'Authentication templates need a phone number' }
  }
  return checkTemplate(template, components)
}

function accept(
  { world, clock, ids, announce }: SendDeps,
  phoneNumberId: string,
  to: string,
  body: string,
  { gupshupAppId, isMarketing = false }: Via,
): Accepted {
  const gupshup = gupshupAppId === undefined ? undefined : { id: randomUUID(), appId: gupshupAppId }
  const place = { ...(gupshup && { gupshup }), ...(isMarketing && { isMarketing }) }
  const message = { wamid: ids.wamid(), phoneNumberId, to, body, at: clock.now(), ...place }
  world.messages.add(message)
  world.feed.publish({ type: 'message', wamid: message.wamid })
  if (world.behaviour.autoStatus) announce(message)
  return message
}

function fateNow({ behaviour }: World): Fate | undefined {
  if (behaviour.hang) return 'hang'
  if (behaviour.resetBeforeAnswer) return 'reset'
  return behaviour.truncate ? 'truncate' : undefined
}

function success(request: SendRequest, { wamid, to, gupshup }: Accepted, { customers }: PhoneNumber): Answer {
  const id = gupshup?.id ?? wamid
  const { waId = waIdOf(to), userId } = customers?.get(digitsOf(to)) ?? {}
  const ids = request.to === undefined ? { user_id: to } : { wa_id: waId, ...(userId && { user_id: userId }) }
  const contact = { input: to, ...ids }
  const message = request.type === 'template' ? { id, message_status: 'accepted' } : { id }
  return jsonAnswer({ messaging_product: 'whatsapp', contacts: [contact], messages: [message] })
}
