import { Type } from 'typebox'
import { parseJsonText } from '../json-text.ts'

export const Warning = Type.Object(
  {
    message: Type.String(),
    deprecationDate: Type.String({ description: 'When this address ends' }),
    migrateTo: Type.String({ description: 'What to use instead' }),
    docsUrl: Type.String(),
  },
  { description: 'This address ends' },
)

type Ending = { removalDate: Date; migrateTo: string; docsUrl: string }

/** The answer with its `warning`, where it is an object; every other stays as it is. */
export function withWarning(payload: unknown, { removalDate, migrateTo, docsUrl }: Ending): unknown {
  if (typeof payload !== 'string' || !payload.startsWith('{')) return payload
  const deprecationDate = removalDate.toISOString().slice(0, 10)
  const message = `This address is deprecated and ends on ${deprecationDate}: use ${migrateTo}`
  return JSON.stringify({
    ...Object(parseJsonText(payload)),
    warning: { message, deprecationDate, migrateTo, docsUrl },
  })
}
