const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Parses seconds or an HTTP date; returns null if absent, unreadable or past. */
export function parseRetryAfter(value: string | null, now: Date): number | null {
  const text = value?.trim() ?? ''
  if (/^[0-9]{1,10}$/.test(text)) return Number(text)
  if (!HTTP_DATE.test(text)) return null
  const seconds = Math.ceil((Date.parse(text) - now.getTime()) / 1000)
  return seconds > 0 ? seconds : null
}
