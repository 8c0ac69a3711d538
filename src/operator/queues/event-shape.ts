import { Type } from 'typebox'
import { beforeQuery } from '../../http/paging/paging.ts'
import { instant, nullableText } from '../../http/shapes.ts'
import type { DeadLetterRow } from '../../inbound/handling/unhandled/dead-letter-store.ts'

export const EVENT_PAGE = { defaultSize: 25, maxSize: 100 }

const MOST_RETRIED = 10_000

const FilterMembers = {
  reason: Type.Optional(
    Type.String({ minLength: 1, maxLength: 500, description: 'Text in the reason, in any letter case.' }),
  ),
  phoneNumberId: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: "The number's id at the provider." }),
  ),
}
export const EventQuery = Type.Object({ ...beforeQuery(EVENT_PAGE), ...FilterMembers })

const RetryMembers = {
  ...FilterMembers,
  wabaAccountId: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Business account id.' })),
  app: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Provider app.' })),
  since: Type.Optional(instant('Only events that arrived at this time or later.')),
  until: Type.Optional(instant('Only events that arrived before this time.')),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MOST_RETRIED,
      description: 'Number of events to try, oldest first; by default 1,000.',
    }),
  ),
}
export const FailedRetryBody = Type.Object(
  { state: Type.Optional(Type.Enum(['failed', 'unreadable'])), ...RetryMembers },
  { title: 'FailedEventsRetry', example: { reason: 'statement timeout', since: '2026-03-01T00:00:00Z' } },
)
export const UnroutableRetryBody = Type.Object(
  { state: Type.Optional(Type.Enum(['unroutable', 'unverified'])), ...RetryMembers },
  { title: 'UnroutableEventsRetry', example: { phoneNumberId: '106540352242922' } },
)
export const Retried = Type.Object(
  {
    success: Type.Literal(true),
    count: Type.Integer({ description: 'Number of events to be processed again.' }),
  },
  { description: 'The events have left the list.', example: { success: true, count: 12 } },
)

export const EventReply = Type.Object(
  {
    id: Type.Integer(),
    state: Type.String({
      description: "`unroutable`, `unverified` (doesn't prove its number's secret), `failed` or `unreadable`.",
    }),
    reason: Type.String({ description: 'Why the event is listed.' }),
    phoneNumberId: nullableText("The number's id at the provider."),
    wabaAccountId: nullableText('Business account id.'),
    app: nullableText('Provider app.'),
    receivedAt: Type.String({ format: 'date-time' }),
    body: Type.String({ description: "The provider's text for this item; lists return the first 4 KiB." }),
    bodyBytes: Type.Integer({ description: 'Length of the whole text in bytes.' }),
  },
  {
    title: 'FailedEvent',
    description: 'An unprocessed inbound event.',
    example: {
      id: 77,
      state: 'unroutable',
      reason: 'No connected number has this phone_number_id',
      phoneNumberId: '106540352242922',
      wabaAccountId: '102290129340398',
      app: null,
      receivedAt: '2026-03-02T09:30:00.000Z',
      body: '{"object":"whatsapp_business_account","entry":[]}',
      bodyBytes: 49,
    },
  },
)

export const toEventReply = (row: DeadLetterRow) => ({
  id: row.id,
  state: row.state,
  reason: row.reason,
  phoneNumberId: row.phoneNumberId,
  wabaAccountId: row.wabaAccountId,
  app: row.app,
  receivedAt: row.receivedAt.toISOString(),
  // Streaming mode drops a character cut at the end.
  body: new TextDecoder('utf-8', { ignoreBOM: true }).decode(row.body, { stream: row.body.length < row.bodyBytes }),
  bodyBytes: row.bodyBytes,
})
