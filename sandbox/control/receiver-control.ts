import { Type } from 'typebox'
import { calmReceiver } from '../receivers/receiver.ts'
import { BadInput, parserOf } from './bad-input.ts'
import type { ControlCall, ControlDeps } from './control-deps.ts'

const DEFAULT_LIMIT = 100

const parseBehaviour = parserOf(
  Type.Object(
    {
      statusCode: Type.Optional(Type.Integer({ minimum: 200, maximum: 599 })),
      delayMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 600_000 })),
      body: Type.Optional(Type.String()),
      hang: Type.Optional(Type.Boolean()),
      drip: Type.Optional(Type.Boolean()),
      reset: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
)

/**
 * `PUT /sandbox/receivers/:name/behaviour`: how it answers from now on; members that are left out have their initial
 * value.
 */
export function changeReceiver({ world }: ControlDeps, { params, body }: ControlCall) {
  const receiver = world.receivers.get(params.name ?? '')
  receiver.behaviour = { ...calmReceiver(), ...parseBehaviour(body) }
  world.feed.publish({ type: 'request', receiver: params.name ?? '' })
  return receiver.behaviour
}

/** `GET /sandbox/receivers/:name/requests?limit`: what it got, newest first, bodies as they came. */
export function listReceiverRequests({ world }: ControlDeps, { params, query }: ControlCall) {
  const limit = query.has('limit') ? Number(query.get('limit')) : DEFAULT_LIMIT
  if (!Number.isInteger(limit) || limit < 1) throw new BadInput('limit', 'must be a positive integer')
  const { requests } = world.receivers.get(params.name ?? '')
  return requests.newest(limit).map((request) => ({ ...request, at: request.at.toISOString() }))
}
