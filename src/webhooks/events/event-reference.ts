import type { EventKind } from './event-kind.ts'
import { EVENT_KINDS } from './event-kinds.ts'
import { MESSAGE_RECEIVED } from './message-received.ts'

const REQUESTS =
  'The request goes to each active registration that names the event. Any 2xx within 10 seconds counts as received; everything else is retried, five attempts in all. A registration with the method `GET` gets the same body and headers with GET.'

/** Builds the OpenAPI webhooks; `serviceName` is part of header names. */
export const receiverEvents = (serviceName: string) =>
  Object.fromEntries(EVENT_KINDS.map((kind) => [kind.name, { post: describe(kind, serviceName) }]))

const describe = ({ name, label, operationId, summary, description, shape }: EventKind, serviceName: string) => {
  const id = name === MESSAGE_RECEIVED ? 'wamid of the message' : '`id` of the event'
  return {
    tags: ['Webhook registrations'],
    operationId,
    summary,
    'x-label': label,
    description: `${description} ${REQUESTS}`,
    security: [],
    parameters: [
      header(`X-${serviceName}-Event`, true, 'The name of the event.'),
      header(`X-${serviceName}-Delivery`, true, `The ${id}, by which receivers recognise repetitions.`),
      header(`X-${serviceName}-Webhook-Id`, true, 'The id of the registration.'),
      header(
        `X-${serviceName}-Signature`,
        false,
        'HMAC-SHA256 of the body in hex, keyed with the secret. Present when the registration has a secret.',
      ),
      header('webhook-id', false, `The ${id}, for receivers that verify Standard Webhooks.`),
      header('webhook-timestamp', false, 'The time of the attempt in epoch seconds, for Standard Webhooks.'),
      header('webhook-signature', false, 'The signature of Standard Webhooks, `v1,` and base64.'),
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
