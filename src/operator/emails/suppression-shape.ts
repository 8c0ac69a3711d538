import { type Static, Type } from 'typebox'
import type { Suppression } from '../../emails/suppression/suppression.ts'
import { nullableText } from '../../http/shapes.ts'

export const MOST_SUPPRESSIONS = 100

export const SuppressionReply = Type.Object(
  {
    address: Type.String({ description: 'Lower-case address; for an erased person `hash:` and a keyed hash.' }),
    reason: Type.Enum(['bounce', 'complaint'], {
      description: 'A permanent bounce or a spam complaint.',
    }),
    detail: nullableText('Report text; null after an erasure.'),
    createdAt: Type.String({ format: 'date-time' }),
  },
  {
    title: 'EmailSuppression',
    description: 'An address that gets no marketing email.',
    example: {
      address: 'ada.rossi@example.com',
      reason: 'bounce',
      detail: '550 5.1.1 No such user',
      createdAt: '2026-03-02T09:31:10.000Z',
    },
  },
)

export const toSuppressionReply = ({ createdAt, ...shown }: Suppression): Static<typeof SuppressionReply> => ({
  ...shown,
  createdAt: createdAt.toISOString(),
})
