import { type Static, Type } from 'typebox'
import { envelopeOf } from '../webhook/envelope.ts'
import { echoChange, type Item, inboundChanges, type Written } from '../webhook/inbound.ts'
import type { NumberWebhook } from '../world/account.ts'
import { DEMO_NUMBERS } from '../world/demo.ts'
import { BadInput, parserOf } from './bad-input.ts'
import { type ControlCall, type ControlDeps, getNumber } from './control-deps.ts'

/** The provider puts at most this many updates into one body. */
const BATCH_LIMIT = 1_000

const written = {
  phoneNumberId: Type.String({ minLength: 1 }),
  type: Type.String({ minLength: 1 }),
  userId: Type.Optional(Type.String({ minLength: 1 })),
  id: Type.Optional(Type.String({ minLength: 1 })),
  timestamp: Type.Optional(Type.Union([Type.String(), Type.Number()])),
  from: Type.Optional(Type.String({ minLength: 1 })),
}

const parseInbound = parserOf(
  Type.Object({
    ...written,
    name: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    username: Type.Optional(Type.String()),
  }),
)

const parseEcho = parserOf(Type.Object({ ...written, to: Type.Optional(Type.String({ minLength: 1 })) }))

const Generated = Type.Object(
  {
    count: Type.Integer({ minimum: 1, maximum: BATCH_LIMIT }),
    conversations: Type.Optional(Type.Integer({ minimum: 1 })),
    duplicates: Type.Optional(Type.Integer({ minimum: 0 })),
    phoneNumberId: Type.Optional(Type.String()),
    text: Type.Optional(Type.String({ minLength: 1 })),
  },
  { additionalProperties: false },
)
const parseGenerated = parserOf(Generated)

/** `POST /sandbox/inbound`: a customer writes. */
export async function sendInbound(deps: ControlDeps, { body }: ControlCall) {
  const item = readInbound(deps, body, '')
  const { wamids, ...posted } = await post(deps, [item], item.number.webhook)
  keepLine(deps, item, wamids[0] ?? '')
  return { wamid: wamids[0], ...posted }
}

/** Shows the line on the phone page. */
function keepLine(
  { world, clock }: ControlDeps,
  { number, written: { from = '', type, context, ...content } }: Item,
  wamid: string,
): void {
  const { id: quotedWamid } = Object(context)
  const text = textOf(content[type]) ?? `[${type}]`
  const message = { wamid, phoneNumberId: number.id, from, text, quotedWamid, at: clock.now() }
  world.written.add(message)
  world.feed.publish({ type: 'written', message })
}

/** The text of a message, of a button that was tapped, or the name of a place. */
function textOf(content: unknown): string | undefined {
  const { body, text, name, button_reply: button, list_reply: row, nfm_reply: flow } = Object(content)
  const shown: unknown = body ?? text ?? name ?? Object(button ?? row).title ?? Object(flow).body
  return typeof shown === 'string' ? shown : undefined
}

/** `POST /sandbox/inbound/batch`: many customers write, all in one body: an array of messages, or how many to make up. */
export function sendInboundBatch(deps: ControlDeps, { body }: ControlCall) {
  if (!Array.isArray(body)) return post(deps, makeUp(deps, parseGenerated(body)))
  if (body.length === 0 || body.length > BATCH_LIMIT)
    throw new BadInput('body', `must hold 1 to ${BATCH_LIMIT} messages`)
  return post(
    deps,
    body.map((one: unknown, index) => readInbound(deps, one, `${index}.`)),
  )
}

/** `POST /sandbox/echo`: the business writes from its own phone app. */
export async function sendEcho(deps: ControlDeps, { body }: ControlCall) {
  const { phoneNumberId, ...echo } = parseEcho(body)
  if (echo.to === undefined && echo.userId === undefined) throw new BadInput('to', 'is required (or userId)')
  const at = deps.clock.now()
  const number = getNumber(deps.world, phoneNumberId)
  const { change, wamid } = echoChange(deps, { number, written: echo }, at)
  return { wamid, ...(await deps.webhook.post(envelopeOf([change], at), number.webhook)) }
}

function readInbound({ world }: ControlDeps, value: unknown, prefix: string): Item {
  const { phoneNumberId, ...message } = parseInbound(value, prefix)
  const number = getNumber(world, phoneNumberId, `${prefix}phoneNumberId`)
  if (message.from === undefined && message.userId === undefined && message.type !== 'system') {
    throw new BadInput(`${prefix}from`, 'is required (or userId)')
  }
  return { number, written: message }
}

async function post(deps: ControlDeps, items: Item[], own?: NumberWebhook) {
  const at = deps.clock.now()
  const { changes, wamids } = inboundChanges(deps, items, at)
  return { wamids, ...(await deps.webhook.post(envelopeOf(changes, at), own)) }
}

/** `count` text messages of `conversations` customers, round robin; the first `duplicates` of them are sent twice. */
function makeUp({ world, ids }: ControlDeps, asked: Static<typeof Generated>): Item[] {
  const { count, conversations = count, duplicates = 0, text = 'Message' } = asked
  if (duplicates > count) throw new BadInput('duplicates', 'must not be more than count')
  const number = getNumber(world, asked.phoneNumberId ?? DEMO_NUMBERS[0]?.id ?? '')
  const messages = Array.from({ length: count }, (_, index): Item => {
    const customer = index % conversations
    const message: Written = {
      type: 'text',
      from: customerPhone(customer),
      name: `Customer ${customer + 1}`,
      id: ids.wamid(),
      text: { body: `${text} ${index + 1}` },
    }
    return { number, written: message }
  })
  return [...messages, ...messages.slice(0, duplicates)]
}

/** American numbers with the area code 555, which was never assigned. */
const customerPhone = (customer: number): string => `1555${String(customer + 1).padStart(7, '0')}`
