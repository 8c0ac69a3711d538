import { Type } from 'typebox'
import { nullableInteger, nullableText } from '../../http/shapes.ts'
import { CallShape } from './call-shape.ts'
import { ReplyShape } from './reply-shape.ts'

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(shape: T) => Type.Union([shape, Type.Null()])
const providersOwn = (description: string) => orNull(Type.Object({}, { additionalProperties: true, description }))

export const REFERRAL = providersOwn('The ad or post that the customer came from, as the provider describes it.')

const ReportedErrorShape = Type.Object(
  {
    code: nullableInteger('The error code of the provider.'),
    title: nullableText('The error title of the provider.'),
    details: nullableText('The details that the provider gave.'),
  },
  { title: 'MessageFailure', description: 'What went wrong, as the provider reports it.' },
)

export const ERROR = orNull(ReportedErrorShape)

/** Null for other message kinds. */
export const MESSAGE_MEMBERS = {
  reply: orNull(ReplyShape),
  location: providersOwn('The location as the provider describes it.'),
  contacts: orNull(
    Type.Array(Type.Object({}, { additionalProperties: true }), {
      description: 'The shared contact cards as the provider describes them.',
    }),
  ),
  order: providersOwn('The order as the provider describes it.'),
  referral: REFERRAL,
  forwarded: Type.Boolean({ description: 'Whether the customer forwarded the message from another chat.' }),
  frequentlyForwarded: Type.Boolean({ description: 'Whether it has been forwarded many times.' }),
  referredProduct: providersOwn('The product that the customer asks about, as the provider describes it.'),
  call: orNull(CallShape),
}
