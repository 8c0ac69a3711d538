import { type Static, Type } from 'typebox'
import type { FieldFault } from '../../platform/errors.ts'

/** In code points; families and flags have many. */
const LONGEST_EMOJI = 32

export const messageId = (description: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

export const ReactionShape = Type.Object(
  {
    messageId: messageId('Id of the target message in the same conversation.'),
    emoji: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      maxLength: LONGEST_EMOJI,
      description: 'One emoji; null or an empty string removes the reaction.',
    }),
  },
  { title: 'Reaction', additionalProperties: false, description: 'A reaction to a message.' },
)
export type Reaction = Static<typeof ReactionShape>

export const REACTION_EXAMPLE = { messageId: 90217, emoji: '👍' } satisfies Reaction

export const reactionFaults = ({ emoji }: Partial<Reaction>): FieldFault[] =>
  emoji == null || emoji === '' || isEmoji(emoji) ? [] : [{ path: 'reaction.emoji', message: 'must be one emoji' }]

const graphemes = new Intl.Segmenter()

/** One grapheme with a pictograph, flag letters or keycap. */
const isEmoji = (text: string): boolean =>
  /\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3/u.test(text) && [...graphemes.segment(text)].length === 1
