import { type Static, Type } from 'typebox'
import { customerName } from '../../conversations/conversation-reply.ts'
import { nullableInteger, nullableText, nullableTime, Timestamp } from '../../http/shapes.ts'
import { MESSAGE_RECEIVED } from '../events/message-received.ts'
import { DELIVERY_STATUSES, type DeliveredMessage, type Delivery, MAX_EXCERPT } from './list/delivery-list-store.ts'

export const MAX_SHOWN_ATTEMPTS = 100

const DELIVERY_EXAMPLE = {
  id: 20779000002207,
  registrationId: 7,
  event: 'whatsapp.message.received',
  eventId: 'wamid.HBgM',
  wamid: 'wamid.HBgM',
  status: 'dead',
  attempts: 5,
  lastStatusCode: 500,
  createdAt: '2026-03-02T09:30:01.204Z',
  nextAttemptAt: null,
}

const DeliveryRecord = Type.Object(
  {
    id: Type.Integer(),
    registrationId: Type.Integer(),
    event: Type.String({ description: 'Event name.' }),
    eventId: Type.String({ description: 'Event id, sent to receivers in the `Delivery` header.' }),
    wamid: nullableText("The received message's id at the provider; null for other events."),
    status: Type.Enum([...DELIVERY_STATUSES], {
      description:
        '`dead`: the last attempt failed or the deadline passed. `skipped`: the registration became inactive.',
    }),
    attempts: Type.Integer({ description: 'Number of attempts, since the last redelivery if there was one.' }),
    lastStatusCode: nullableInteger('Status of the latest attempt; null without an answer.'),
    createdAt: Timestamp,
    nextAttemptAt: nullableTime('Time of the next attempt; null if there is none.'),
  },
  {
    title: 'Delivery',
    example: DELIVERY_EXAMPLE,
  },
)
type DeliveryRecord = Static<typeof DeliveryRecord>

const MESSAGE_EXAMPLE = {
  contact: { name: 'Ada Rossi', phone: '393331234567' },
  type: 'text',
  text: 'Is my order ready?',
}
export const LISTED_EXAMPLE = { ...DELIVERY_EXAMPLE, message: MESSAGE_EXAMPLE }

export const ListedDeliveryRecord = Type.Object(
  {
    ...DeliveryRecord.properties,
    message: Type.Union(
      [
        Type.Object({
          contact: Type.Object({
            name: nullableText('Contact name, else the WhatsApp profile name.'),
            phone: nullableText("The customer's phone number; null if hidden."),
          }),
          type: Type.String({ description: 'Message type.' }),
          text: nullableText(`Start of the text, at most ${MAX_EXCERPT} characters.`),
        }),
        Type.Null(),
      ],
      { description: 'Message of the delivery; null for other events, and if deleted.' },
    ),
  },
  { title: 'ListedDelivery', description: 'A listed delivery.', example: LISTED_EXAMPLE },
)

export const DeliveryDetailsRecord = Type.Object(
  {
    delivery: DeliveryRecord,
    payload: Type.String({ description: 'The body exactly as signed and sent.' }),
    requestHeaders: Type.Record(Type.String(), Type.String(), {
      description:
        "Headers of the latest attempt, or of the one in `headersOf`, with the registration's current settings; `…` replaces the value of a static header.",
    }),
    attempts: Type.Array(
      Type.Object({
        id: Type.Integer({ description: 'Attempt id, accepted by `redeliver`.' }),
        attempt: Type.Integer(),
        round: Type.Integer({ description: 'Counts from 1; each redelivery starts another round.' }),
        statusCode: nullableInteger('Status of the answer.'),
        response: nullableText('Body of the answer.'),
        errorMessage: nullableText('Why the attempt failed.'),
        durationMs: Type.Integer(),
        sentAt: Timestamp,
      }),
      { description: `Latest attempts, newest first, at most ${MAX_SHOWN_ATTEMPTS}.` },
    ),
  },
  {
    title: 'DeliveryDetails',
    example: {
      delivery: DELIVERY_EXAMPLE,
      payload: '{"version":"1","event":"whatsapp.message.received"}',
      requestHeaders: { 'Content-Type': 'application/json' },
      attempts: [
        {
          id: 5120,
          attempt: 5,
          round: 1,
          statusCode: 500,
          response: 'error',
          errorMessage: 'HTTP 500',
          durationMs: 210,
          sentAt: '2026-03-02T10:15:01.204Z',
        },
      ],
    },
  },
)

export const toDeliveryRecord = (row: Delivery): DeliveryRecord => ({
  id: row.id,
  registrationId: row.registrationId,
  event: row.event,
  eventId: row.eventId,
  wamid: row.event === MESSAGE_RECEIVED ? row.eventId : null,
  status: row.status,
  attempts: row.attempts,
  lastStatusCode: row.lastStatusCode,
  createdAt: row.createdAt.toISOString(),
  nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
})

export const toListedDelivery = (
  row: Delivery,
  message: DeliveredMessage | undefined,
): Static<typeof ListedDeliveryRecord> => ({
  ...toDeliveryRecord(row),
  message:
    message === undefined
      ? null
      : {
          contact: { name: customerName(message), phone: message.phone },
          type: message.type,
          text: message.text,
        },
})
