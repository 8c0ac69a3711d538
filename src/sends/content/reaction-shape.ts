import { type Static, Type } from 'typebox'
import type { FieldFault } from '../../platform/errors.ts'

/** Code points of the longest emoji, with room: a family or a flag is made of many. */
const LONGEST_EMOJI = 32

/** The id of a message, as answers to sends and lists have it. */
export const messageId = (description: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

export const ReactionShape = Type.Object(
  {
    messageId: messageId('The id of the message to react to, of the same conversation.'),
    emoji: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      maxLength: LONGEST_EMOJI,
      description: 'One emoji; null or an empty text removes the reaction.',
    }),
  },
  { title: 'Reaction', additionalProperties: false, description: 'A reaction to a message.' },
)
export type Reaction = Static<typeof ReactionShape>

export const REACTION_EXAMPLE = { messageId: 90217, emoji: '👍' } satisfies Reaction

/** The fault of a reaction beyond its shape: a text that is not one emoji. */
export const reactionFaults = ({ emoji }: Partial<Reaction>): FieldFault[] =>
  emoji == null || emoji === '' || isEmoji(emoji) ? [] : [{ path: 'reaction.emoji', message: 'must be one emoji' }]

const graphemes = new Intl.Segmenter()

/** One character as a reader sees it, made of pictographs, of a flag's letters, or of a key. */
const isEmoji = (text: string): boolean =>
  /\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3/u.test(text) && [...graphemes.segment(text)].length === 1
