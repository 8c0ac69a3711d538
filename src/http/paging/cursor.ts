export type CursorPosition<Value = unknown> = {
  readonly value: Value
  readonly id: number
  /** Ranked lists only: whether a word starts with the search. */
  readonly starts?: boolean
}

const CURSOR_MAX_LENGTH = 2_000
/** After the year 2200. */
const MICROSECONDS_MAX = 7_300_000_000_000_000

/** Encodes a position in `order`; valid even after its record changes or disappears. */
export const encodeCursor = (order: string, { value, id, starts }: CursorPosition): string =>
  Buffer.from(JSON.stringify([rankedOrder(order, starts), value, id])).toString('base64url')

/** Returns undefined for an invalid cursor or another order. */
export function decodeCursor<Value>(
  text: string,
  order: string,
  isValue: (value: unknown) => value is Value,
): CursorPosition<Value> | undefined {
  const parsed = text.length > CURSOR_MAX_LENGTH ? undefined : parseJson(Buffer.from(text, 'base64url').toString())
  const [of, value, id]: unknown[] = Array.isArray(parsed) ? parsed : []
  if (!isValue(value) || !isWithin(id, Number.MAX_SAFE_INTEGER) || id === 0) return undefined
  if (of === order) return { value, id }
  const starts = [true, false].find((one) => of === rankedOrder(order, one))
  return starts === undefined ? undefined : { value, id, starts }
}

const rankedOrder = (order: string, starts: boolean | undefined): string =>
  starts === undefined ? order : `${order} ${starts ? 'starts' : 'inside'}`

export const isMicroseconds = (value: unknown): value is number => isWithin(value, MICROSECONDS_MAX)

const isWithin = (value: unknown, max: number): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= max

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
