import type { EventKind } from './event-kind.ts'
import { EVENT_KINDS } from './event-kinds.ts'
import { MESSAGE_RECEIVED } from './message-received.ts'

const REQUESTS =
  'Sent to each active registration with this event. Any 2xx within 10 seconds counts as received; anything else is retried, up to five attempts in all. A registration with the method `GET` gets the same body and headers by GET.'

/** Builds the OpenAPI webhooks; `serviceName` is part of header names. */
export const receiverEvents = (serviceName: string) =>
  Object.fromEntries(EVENT_KINDS.map((kind) => [kind.name, { post: describe(kind, serviceName) }]))

const describe = ({ name, label, operationId, summary, description, shape }: EventKind, serviceName: string) => {
  const id = name === MESSAGE_RECEIVED ? "message's wamid" : 'event `id`'
  return {
    tags: ['Webhook registrations'],
    operationId,
    summary,
    'x-label': label,
    description: `${description} ${REQUESTS}`,
    security: [],
    parameters: [
      header(`X-${serviceName}-Event`, true, 'Event name.'),
      header(`X-${serviceName}-Delivery`, true, `The ${id}. Use it to detect repeats.`),
      header(`X-${serviceName}-Webhook-Id`, true, 'Registration id.'),
      header(
        `X-${serviceName}-Signature`,
        false,
        'Hex HMAC-SHA256 of the body, keyed with the secret. Present if the registration has a secret.',
      ),
      header('webhook-id', false, `The ${id}, for Standard Webhooks.`),
      header('webhook-timestamp', false, 'Attempt time in epoch seconds, for Standard Webhooks.'),
      header('webhook-signature', false, 'Standard Webhooks signature, `v1,` and base64.'),
    ],
    requestBody: {
      required: true,
      description: 'The envelope.',
      content: { 'application/json': { schema: shape } },
    },
    responses: {
      '200': { description: 'The receiver has the event.' },
      '4XX': { description: 'The attempt failed.' },
      '5XX': { description: 'The attempt failed.' },
    },
  }
}

const header = (name: string, required: boolean, description: string) => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string' },
})
