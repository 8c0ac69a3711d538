const TIME =
  /^(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(?: ?(Z|UTC|GMT|[+-]\d{2}:?\d{2}))?)?$/i

export const TIME_FORM = 'must be a time such as 2026-03-01 08:00:00, in UTC unless it has an offset'

export function parseListTime(text: string): Date | undefined {
  const found = TIME.exec(text.trim())
  if (found === null) return undefined
  const [, year, month, day, hour = '00', minute = '00', second = '00', zone = 'Z'] = found
  const offset = /^[+-]/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(-2)}` : 'Z'
  const at = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`)
  if (Number.isNaN(at.getTime()) || at.getTime() < 0) return undefined
  // A nonexistent date would become another.
  const local = new Date(`${year}-${month}-${day}T00:00:00Z`)
  return local.getUTCDate() === Number(day) ? at : undefined
}
