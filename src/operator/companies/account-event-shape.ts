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
    wabaAccountId: Type.String({ description: 'The id of the business account.' }),
    channelId: nullableInteger('The id of the number that the event names; null when it is about the whole account.'),
    field: Type.String({
      description: 'The name that the provider gives the kind of event, such as `account_update`.',
    }),
    event: nullableText('The event as the provider names it, such as `ACCOUNT_RESTRICTION`.'),
    severity: Type.Enum(['info', 'warning', 'critical'], {
      description: '`critical`: the account cannot send, or soon will not be able to.',
    }),
    details: Type.Unknown({
      description: 'The value that the provider sent, at most 4 KiB; null for kinds that may name a customer.',
    }),
    occurredAt: nullableTime('The time by the clock of the provider.'),
    receivedAt: Timestamp,
  },
  {
    title: 'AccountEvent',
    description: 'An event about an account, a number or a template.',
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
