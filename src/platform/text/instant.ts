import Format from 'typebox/format'

const FIRST = new Date('1970-01-01T00:00:00Z')
/** What PostgreSQL, JSON and every client can show. */
const LAST = new Date('9999-12-31T23:59:59.999Z')

/** The description of what `isInstant` admits, in faults. */
export const NO_INSTANT = 'must be a date and time from 1970 to 9999, with Z or an offset'

/** Reads a date (its midnight in UTC) or an instant that a caller gives; undefined for every other text. */
export function parseInstant(text: string): Date | undefined {
  if (!Format.IsDateTime(text) && !Format.IsDate(text)) return undefined
  const at = new Date(text)
  return at >= FIRST && at <= LAST ? at : undefined
}

/** Whether a text is an instant that a caller may give: the format `date-time` of every body and query. */
export const isInstant = (text: string): boolean => Format.IsDateTime(text) && parseInstant(text) !== undefined
