import { validationError } from '../../errors.ts'
import { type CursorPosition, decodeCursor, isMicroseconds } from '../../http/paging/cursor.ts'
import { textFaults } from '../../text/storable-text.ts'

export type SortColumn = 'created_at' | 'updated_at' | 'email'

/** A place in a sorted list: microseconds since 1970, or an email's place, and the id that decides among equal ones. */
export type ContactPosition = CursorPosition<number | string>

const VALUE_MAX_LENGTH = 400

/** The place of a cursor of a list in this order; 422 for every other text. `path`: the parameter's name. */
export function parseCursor(text: string, column: SortColumn, path: string): ContactPosition {
  const position = decodeCursor(text, column, column === 'email' ? isEmailPlace : isMicroseconds)
  if (position === undefined)
    throw validationError([{ path, message: `must be a cursor of a list sorted by ${column}` }])
  return position
}

const isEmailPlace = (value: unknown): value is number | string =>
  typeof value === 'string' && value.length <= VALUE_MAX_LENGTH && textFaults(value, '').length === 0
