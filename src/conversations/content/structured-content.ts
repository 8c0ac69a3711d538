import { type Static, Type } from 'typebox'
import { nullableText } from '../../http/shapes.ts'
import { CallShape } from './call-shape.ts'
import { ReplyShape } from './reply-shape.ts'

const providersOwn = (description: string) => Type.Object({}, { additionalProperties: true, description })

const KINDS = {
  reply: ReplyShape,
  interactive: providersOwn('The interactive message, as in a send.'),
  location: providersOwn("The location: `latitude`, `longitude`, `name`, `address`, and the provider's additions."),
  contacts: Type.Array(Type.Object({}, { additionalProperties: true }), {
    description: 'The contact cards, as in a send.',
  }),
  order: providersOwn("The customer's order in the provider's format."),
  call: CallShape,
  reaction: Type.Object(
    {
      messageId: Type.Integer({ description: 'Message id.' }),
      emoji: nullableText('The emoji; null if the reaction was removed.'),
    },
    { description: 'A sent reaction; its target shows it as `reaction`.' },
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
      type: Type.Enum(Object.keys(KINDS) as (keyof Kinds)[], { description: 'Name of the other member.' }),
      ...Object.fromEntries(Object.entries(KINDS).map(([name, shape]) => [name, Type.Optional(shape)])),
    },
    {
      title: 'StructuredContent',
      description: 'Message content in addition to text and media.',
    },
  ),
)
