import Format from 'typebox/format'

const FIRST = new Date('1970-01-01T00:00:00Z')
/** What PostgreSQL, JSON and every client can show. */
const LAST = new Date('9999-12-31T23:59:59.999Z')

export const NO_INSTANT = 'must be a date and time from 1970 to 9999, with Z or an offset'

/** Parses an instant or a date (midnight UTC); undefined otherwise. */
export function parseInstant(text: string): Date | undefined {
  if (!Format.IsDateTime(text) && !Format.IsDate(text)) return undefined
  const at = new Date(text)
  return at >= FIRST && at <= LAST ? at : undefined
}

export const isInstant = (text: string): boolean => Format.IsDateTime(text) && parseInstant(text) !== undefined
