import { type Static, Type } from 'typebox'
import type { FieldFault } from '../../platform/errors.ts'
import type { DirectSend } from '../../providers/provider.ts'

/** Provider limits: characters and seconds. */
const LONGEST_TEXT = 1_024
const SHORTEST_TTL = 30
const LONGEST_TTL = { utility: 43_200, authentication: 900 } as const
/** Allowed without template. */
const INTERACTIVE = ['button', 'cta_url']

export const directSendMembers = {
  category: Type.Optional(
    Type.Enum(['utility', 'authentication'], {
      description:
        'Sends a text, reply buttons or a call to action without a template and without an open window, where the provider has allowed it to the account (`directSend` of the number).',
    }),
  ),
  ttlSeconds: Type.Optional(
    Type.Integer({
      minimum: SHORTEST_TTL,
      maximum: LONGEST_TTL.utility,
      description:
        'With `category`: for how many seconds the provider tries to deliver the message; at most 900 with `authentication`.',
    }),
  ),
}

const Members = Type.Object(directSendMembers)
type Members = Static<typeof Members>

type Body = Partial<Members> & {
  type?: string
  text?: string
  interactive?: { type?: string; body?: { text?: string } }
}

export function directSendFaults({ category, ttlSeconds = 0, text, interactive }: Body): FieldFault[] {
  if (category === undefined) return []
  const long = (path: string, value = '') =>
    value.length > LONGEST_TEXT
      ? [{ path, message: `must have at most ${LONGEST_TEXT} characters with a category` }]
      : []
  const kind = interactive?.type
  const isOther = kind !== undefined && !INTERACTIVE.includes(kind)
  const limit = LONGEST_TTL[category]
  return [
    ...long('text', text),
    ...(isOther ? [{ path: 'category', message: `does not go with an interactive message of the type ${kind}` }] : []),
    ...(ttlSeconds > limit ? [{ path: 'ttlSeconds', message: `must be at most ${limit} with ${category}` }] : []),
  ]
}

/** Returns null if the message needs a template and window. */
export const directSendOf = ({ category, ttlSeconds }: Members): DirectSend | null =>
  category === undefined ? null : { category, ttlSeconds }
