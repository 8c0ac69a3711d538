import { Type } from 'typebox'
import { ReplyShape } from './reply-shape.ts'

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(shape: T) => Type.Union([shape, Type.Null()])
const providersOwn = (description: string) => orNull(Type.Object({}, { additionalProperties: true, description }))

/** Members that envelopes and records share. Each is null for messages of other kinds. */
export const MESSAGE_MEMBERS = {
  reply: orNull(ReplyShape),
  location: providersOwn('The location as the provider describes it.'),
  contacts: orNull(
    Type.Array(Type.Object({}, { additionalProperties: true }), {
      description: 'The shared contact cards as the provider describes them.',
    }),
  ),
  order: providersOwn('The order as the provider describes it.'),
}
