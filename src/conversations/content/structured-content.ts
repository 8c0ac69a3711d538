import { type Static, Type } from 'typebox'
import { nullableText } from '../../http/shapes.ts'
import { CallShape } from './call-shape.ts'
import { ReplyShape } from './reply-shape.ts'

const providersOwn = (description: string) => Type.Object({}, { additionalProperties: true, description })

const KINDS = {
  reply: ReplyShape,
  interactive: providersOwn('The interactive message, in the form of a send.'),
  location: providersOwn('The location: `latitude`, `longitude`, `name`, `address`, and what the provider adds.'),
  contacts: Type.Array(Type.Object({}, { additionalProperties: true }), {
    description: 'The contact cards, in the form of a send.',
  }),
  order: providersOwn('The order of the customer, as the provider describes it.'),
  call: CallShape,
  reaction: Type.Object(
    {
      messageId: Type.Integer({ description: 'The id of the message.' }),
      emoji: nullableText('The emoji; null: the reaction was removed.'),
    },
    { description: 'A reaction that was sent; the message that it is for has it as `reaction`.' },
  ),
}
type Kinds = { [Kind in keyof typeof KINDS]: Static<(typeof KINDS)[Kind]> }

/** `type` is the name of the only member present. */
export type StructuredContent = {
  [Kind in keyof Kinds]: { type: Kind } & { [Member in Kind]: Kinds[Kind] }
}[keyof Kinds]

export const StructuredContentShape = Type.Unsafe<StructuredContent>(
  Type.Object(
    {
      type: Type.Enum(Object.keys(KINDS) as (keyof Kinds)[], { description: 'The name of the other member.' }),
      ...Object.fromEntries(Object.entries(KINDS).map(([name, shape]) => [name, Type.Optional(shape)])),
    },
    {
      title: 'StructuredContent',
      description: 'The content of the message in addition to text and media.',
    },
  ),
)
