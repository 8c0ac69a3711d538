import { Type } from 'typebox'
import { parseJsonText } from '../platform/text/json-text.ts'

export const Warning = Type.Object(
  {
    message: Type.String({ description: 'An explanation.' }),
    deprecationDate: Type.String({ description: 'Removal date of this endpoint.' }),
    migrateTo: Type.String({ description: 'Endpoint to use instead.' }),
    docsUrl: Type.String({ description: 'URL of the API reference.' }),
  },
  {
    title: 'DeprecationWarning',
    example: {
      message: 'This address is deprecated and ends on 2026-06-01: use /public/v1/templates/email/send',
      deprecationDate: '2026-06-01',
      migrateTo: '/public/v1/templates/email/send',
      docsUrl: 'https://parley.example.com/docs',
    },
  },
)

type Ending = { removalDate: Date; migrateTo: string; docsUrl: string }

/** Only objects get a `warning`. */
export function withWarning(payload: unknown, { removalDate, migrateTo, docsUrl }: Ending): unknown {
  if (typeof payload !== 'string' || !payload.startsWith('{')) return payload
  const deprecationDate = removalDate.toISOString().slice(0, 10)
  const message = `This address is deprecated and ends on ${deprecationDate}: use ${migrateTo}`
  return JSON.stringify({
    ...Object(parseJsonText(payload)),
    warning: { message, deprecationDate, migrateTo, docsUrl },
  })
}
