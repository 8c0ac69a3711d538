import { type CursorPosition, decodeCursor, encodeCursor, isMicroseconds } from '../../http/paging/cursor.ts'
import { validationError } from '../../platform/errors.ts'
import { textFaults } from '../../platform/text/json-text.ts'

export type SortColumn = 'created_at' | 'updated_at' | 'email'

/** List position: microseconds since 1970 or an email sort key, with the id as tie-breaker. */
export type ContactPosition = CursorPosition<number | string> & {
  readonly starts?: boolean
}

const VALUE_MAX_LENGTH = 400

export const toContactCursor = (column: SortColumn, { value, id, starts }: ContactPosition): string =>
  starts === undefined
    ? encodeCursor(column, { value, id })
    : encodeCursor(`${column} ${starts ? 'starts' : 'inside'}`, { value, id })

/** Decodes a cursor. Throws 422 unless it fits the sort; `path` is the parameter. */
export function parseCursor(text: string, column: SortColumn, path: string): ContactPosition {
  const isValue = column === 'email' ? isEmailPlace : isMicroseconds
  const position = decodeCursor(text, column, isValue) ?? (column === 'created_at' ? decodeRanked(text) : undefined)
  if (position === undefined)
    throw validationError([{ path, message: `must be a cursor of a list sorted by ${column}` }])
  return position
}

/** Ranked lists always have the default sort. */
function decodeRanked(text: string): ContactPosition | undefined {
  for (const starts of [true, false]) {
    const position = decodeCursor(text, `created_at ${starts ? 'starts' : 'inside'}`, isMicroseconds)
    if (position !== undefined) return { ...position, starts }
  }
  return undefined
}

const isEmailPlace = (value: unknown): value is number | string =>
  typeof value === 'string' && value.length <= VALUE_MAX_LENGTH && textFaults(value, '').length === 0
