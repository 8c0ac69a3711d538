import { Type } from 'typebox'
import { nullableInteger, nullableText } from '../../http/shapes.ts'
import { CallShape } from './call-shape.ts'
import { ReplyShape } from './reply-shape.ts'

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(shape: T) => Type.Union([shape, Type.Null()])
const providersOwn = (description: string) => orNull(Type.Object({}, { additionalProperties: true, description }))

export const REFERRAL = providersOwn("The ad or post that led the customer here, in the provider's format.")

const ReportedErrorShape = Type.Object(
  {
    code: nullableInteger('Provider error code.'),
    title: nullableText('Provider error title.'),
    details: nullableText('Provider error details.'),
  },
  { title: 'MessageFailure', description: 'What went wrong, as reported by the provider.' },
)

export const ERROR = orNull(ReportedErrorShape)

/** Null for other message kinds. */
export const MESSAGE_MEMBERS = {
  reply: orNull(ReplyShape),
  location: providersOwn("The location in the provider's format."),
  contacts: orNull(
    Type.Array(Type.Object({}, { additionalProperties: true }), {
      description: "The shared contact cards in the provider's format.",
    }),
  ),
  order: providersOwn("The order in the provider's format."),
  referral: REFERRAL,
  forwarded: Type.Boolean({ description: 'Whether the customer forwarded the message from another chat.' }),
  frequentlyForwarded: Type.Boolean({ description: 'Whether the message was forwarded many times.' }),
  referredProduct: providersOwn("The product in question, in the provider's format."),
  call: orNull(CallShape),
}
