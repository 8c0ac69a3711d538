import { Type } from 'typebox'
import { enqueuedEvent, failedEvent } from '../gupshup/platform-event.ts'
import { envelopeOf, numberChange } from '../webhook/envelope.ts'
import { statusOf, strangeStatus } from '../webhook/status.ts'
import type { Accepted } from '../world/world.ts'
import { BadInput, parserOf } from './bad-input.ts'
import { type ControlCall, type ControlDeps, getNumber } from './control-deps.ts'

const DEFAULT_LIMIT = 100

/** `GET /sandbox/messages?limit`: what we accepted, newest first. */
export function listMessages({ world }: ControlDeps, { query }: ControlCall) {
  return world.messages.newest(limitOf(query)).map(({ body, ...message }) => ({
    ...message,
    body: JSON.parse(body),
    at: message.at.toISOString(),
  }))
}

/** `GET /sandbox/receipts?limit`: the messages of customers that were marked as read, newest first. */
export const listReceipts = ({ world }: ControlDeps, { query }: ControlCall) =>
  world.receipts.newest(limitOf(query)).map((receipt) => ({ ...receipt, at: receipt.at.toISOString() }))

function limitOf(query: URLSearchParams): number {
  const limit = query.has('limit') ? Number(query.get('limit')) : DEFAULT_LIMIT
  if (!Number.isInteger(limit) || limit < 1) throw new BadInput('limit', 'must be a positive integer')
  return limit
}

const parseStatus = parserOf(
  Type.Object(
    {
      wamid: Type.String({ minLength: 1 }),
      status: Type.String({ minLength: 1 }),
      errors: Type.Optional(Type.Array(Type.Unknown())),
      timestamp: Type.Optional(Type.Union([Type.String(), Type.Number()])),
      phoneNumberId: Type.Optional(Type.String()),
      platform: Type.Optional(Type.Object({ code: Type.Integer(), reason: Type.String() })),
    },
    { additionalProperties: false },
  ),
)

/** `POST /sandbox/status`: a status event; for a wamid that is none of ours, `phoneNumberId` says about which number. */
export async function sendStatus({ world, clock, webhook }: ControlDeps, { body }: ControlCall) {
  const { wamid, status, errors, timestamp, phoneNumberId, platform } = parseStatus(body)
  const message = world.messages.find((kept) => kept.wamid === wamid)
  const own = platformEventOf(message, { status, platform }, clock.now())
  if (own !== undefined) return { wamid, ...(await webhook.post(own)) }
  const about = phoneNumberId ?? message?.phoneNumberId
  if (about === undefined) throw new BadInput('wamid', 'is none of ours; give phoneNumberId to send it all the same')
  const at = clock.now()
  const details = { errors, timestamp: timestamp?.toString() }
  const item = message ? statusOf(world, message, status, at, details) : strangeStatus(wamid, status, at, details)
  const change = numberChange(getNumber(world, about), 'messages', { statuses: [item] })
  return { wamid, ...(await webhook.post(envelopeOf([change], at))) }
}

/** Gupshup's own events about a message: that it was enqueued, and with `platform` that its own platform failed it. */
function platformEventOf(
  message: Accepted | undefined,
  { status, platform }: { status: string; platform?: { code: number; reason: string } | undefined },
  at: Date,
): object | undefined {
  if (status !== 'enqueued' && platform === undefined) return undefined
  if (message?.gupshup === undefined) throw new BadInput('wamid', 'was not sent through Gupshup')
  return platform === undefined ? enqueuedEvent(message, at) : failedEvent(message, platform, at)
}
