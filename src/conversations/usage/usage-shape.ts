import { Type } from 'typebox'
import { nullableText } from '../../http/shapes.ts'

export const MessagePrice = Type.Union(
  [
    Type.Object(
      {
        category: nullableText('Category, such as `marketing`, `utility`, `authentication` or `service`.'),
        type: nullableText('Type, such as `regular`, `free_customer_service` or `free_entry_point`.'),
        billable: Type.Unsafe<boolean | null>({
          type: ['boolean', 'null'],
          description:
            "Whether the provider charges for the message: `regular` ones are charged, free ones are not. Without a type, the provider's value.",
        }),
      },
      { title: 'MessagePricing', description: 'Message price, as reported by the provider.' },
    ),
    Type.Null(),
  ],
  { description: 'From the latest status that reported it; null until then.' },
)

const count = (description: string) => Type.Integer({ description })

export const UsageRecord = Type.Object(
  {
    day: Type.Optional(Type.String({ format: 'date', description: 'With `groupBy=day`: the day in UTC.' })),
    channelId: Type.Optional(Type.Integer({ description: 'With `groupBy=number`: id of the connected number.' })),
    category: Type.Optional(
      Type.String({
        description:
          'With `groupBy=category`: from the pricing; until a status has one, from the template, or `service` without a template.',
      }),
    ),
    template: Type.Optional(nullableText('With `groupBy=template`: the name; null for messages without a template.')),
    sent: count('Messages reported as sent, delivered or read.'),
    delivered: count('Messages reported as delivered or read.'),
    read: count('Messages reported as read.'),
    failed: count('Messages reported as failed after the provider had accepted them.'),
    billable: count('Messages with billable pricing.'),
  },
  {
    title: 'Usage',
    example: { day: '2026-11-02', sent: 120, delivered: 117, read: 80, failed: 3, billable: 96 },
  },
)
