import { Type } from 'typebox'
import { beforeQuery } from '../../http/paging/paging.ts'
import { nullableInteger, nullableText, nullableTime, Timestamp } from '../../http/shapes.ts'
import type { AccountEventRow } from '../../senders/account-event-store.ts'

export const ACCOUNT_EVENT_PAGE = { defaultSize: 25, maxSize: 100 }
export const AccountEventQuery = Type.Object(beforeQuery(ACCOUNT_EVENT_PAGE))

export const AccountEventReply = Type.Object(
  {
    id: Type.Integer(),
    companyId: Type.Integer(),
    wabaAccountId: Type.String({ description: 'Business account id.' }),
    channelId: nullableInteger('Id of the number; null if the event is about the whole account.'),
    field: Type.String({
      description: 'Provider name for the kind of event, such as `account_update`.',
    }),
    event: nullableText('Provider name for the event, such as `ACCOUNT_RESTRICTION`.'),
    severity: Type.Enum(['info', 'warning', 'critical'], {
      description: "`critical`: the account can't send, or soon won't be able to.",
    }),
    details: Type.Unknown({
      description: 'Value sent by the provider, at most 4 KiB; null for kinds that may name a customer.',
    }),
    occurredAt: nullableTime("Time by the provider's clock."),
    receivedAt: Timestamp,
  },
  {
    title: 'AccountEvent',
    description: 'An account, number or template event.',
    example: {
      id: 12,
      companyId: 1,
      wabaAccountId: '102290129340398',
      channelId: null,
      field: 'account_update',
      event: 'ACCOUNT_RESTRICTION',
      severity: 'critical',
      details: { event: 'ACCOUNT_RESTRICTION' },
      occurredAt: '2026-03-02T09:30:00.000Z',
      receivedAt: '2026-03-02T09:30:01.000Z',
    },
  },
)

export const toAccountEventReply = ({ senderId, occurredAt, receivedAt, ...row }: AccountEventRow) => ({
  ...row,
  channelId: senderId,
  occurredAt: occurredAt?.toISOString() ?? null,
  receivedAt: receivedAt.toISOString(),
})
