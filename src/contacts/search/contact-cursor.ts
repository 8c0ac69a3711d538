import { validationError } from '../../errors.ts'
import { textFaults } from '../../text/storable-text.ts'

export type SortColumn = 'created_at' | 'updated_at' | 'email'

/** A place in a sorted list: microseconds since 1970, or an email's place, and the id that decides among equal ones. */
export type CursorPosition = { readonly value: number | string; readonly id: number }

/** After the year 2200. */
const MICROSECONDS_MAX = 7_300_000_000_000_000
const VALUE_MAX_LENGTH = 400
const CURSOR_MAX_LENGTH = 2_000

/** A cursor for the outside: it holds the place itself, so it stays valid when its contact changes or goes. */
export const toCursor = (column: SortColumn, { value, id }: CursorPosition): string =>
  Buffer.from(JSON.stringify([column, value, id])).toString('base64url')

/** The place of a cursor of a list in this order; 422 for every other text. `path`: the parameter's name. */
export function parseCursor(text: string, column: SortColumn, path: string): CursorPosition {
  const parsed = text.length > CURSOR_MAX_LENGTH ? undefined : parseJson(Buffer.from(text, 'base64url').toString())
  const [of, value, id] = Array.isArray(parsed) ? parsed : []
  const isPlace = of === column && isValue(value, column) && Number.isSafeInteger(id) && id > 0
  if (!isPlace) throw validationError([{ path, message: `must be a cursor of a list sorted by ${column}` }])
  return { value, id }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isValue(value: unknown, column: SortColumn): value is number | string {
  if (column !== 'email') return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MICROSECONDS_MAX
  return typeof value === 'string' && value.length <= VALUE_MAX_LENGTH && textFaults(value, '').length === 0
}
