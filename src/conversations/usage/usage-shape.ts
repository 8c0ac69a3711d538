import { Type } from 'typebox'
import { nullableText } from '../../http/shapes.ts'

export const MessagePrice = Type.Union(
  [
    Type.Object(
      {
        category: nullableText('The category, such as `marketing`, `utility`, `authentication` or `service`.'),
        type: nullableText('The type, such as `regular`, `free_customer_service` or `free_entry_point`.'),
        billable: Type.Unsafe<boolean | null>({
          type: ['boolean', 'null'],
          description:
            'Whether the provider charges for the message: a `regular` one is charged, a free one is not. Without a type the value that the provider reports.',
        }),
      },
      { title: 'MessagePricing', description: 'The price of a message, as the provider reports it.' },
    ),
    Type.Null(),
  ],
  { description: 'Null until a status of the message has it; of several the one that was reported last.' },
)

const count = (description: string) => Type.Integer({ description })

export const UsageRecord = Type.Object(
  {
    day: Type.Optional(Type.String({ format: 'date', description: 'With `groupBy=day`: the day in UTC.' })),
    channelId: Type.Optional(Type.Integer({ description: 'With `groupBy=number`: the id of the connected number.' })),
    category: Type.Optional(
      Type.String({
        description:
          'With `groupBy=category`: of the pricing; until a status has one, of the template, or `service` without a template.',
      }),
    ),
    template: Type.Optional(nullableText('With `groupBy=template`: the name; null for messages without a template.')),
    sent: count('Messages that the provider reported as sent, delivered or read.'),
    delivered: count('Messages that it reported as delivered or read.'),
    read: count('Messages that it reported as read.'),
    failed: count('Messages that it reported as failed after it had accepted them.'),
    billable: count('Messages whose pricing is billable.'),
  },
  {
    title: 'Usage',
    example: { day: '2026-11-02', sent: 120, delivered: 117, read: 80, failed: 3, billable: 96 },
  },
)
