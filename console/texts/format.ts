/** How dates, numbers and spans are written, in the language of the browser. */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const timeFormat = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const secondFormat = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const dateFormat = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const yearFormat = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' })
const dayFormat = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' })
const fullFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const minuteFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const relativeFormat = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const numberFormat = new Intl.NumberFormat()
const plurals = new Intl.PluralRules('en')

export const number = (value: number): string => numberFormat.format(value)

/** `7`, `99`, `99+`. */
export const atMost99 = (value: number): string => (value > 99 ? '99+' : String(value))

/** `1 delivery`, `12 deliveries`. */
export const count = (value: number, one: string, other: string): string =>
  `${number(value)} ${plurals.select(value) === 'one' ? one : other}`

/** `€9.50`; without a currency that is known, the number. */
export function money(amount: number, currency: string): string {
  const isCode = /^[A-Za-z]{3}$/.test(currency)
  return isCode
    ? new Intl.NumberFormat(undefined, { style: 'currency', currency }).format(amount)
    : `${number(amount)} ${currency}`.trim()
}

export const time = (iso: string): string => timeFormat.format(new Date(iso))
export const timeWithSeconds = (iso: string): string => secondFormat.format(new Date(iso))
export const date = (iso: string): string => yearFormat.format(new Date(iso))
export const dateAndTime = (iso: string): string => minuteFormat.format(new Date(iso))
export const full = (iso: string): string => fullFormat.format(new Date(iso))

/** The title of a time: UTC, for comparing with logs. */
export const utc = (iso: string): string =>
  `${new Date(iso)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, '')} UTC`

/** Today the time, this year the date, else the date with its year. */
export function moment(iso: string, now: number = Date.now()): string {
  const date = new Date(iso)
  const today = new Date(now)
  if (isSameDay(date, today)) return timeFormat.format(date)
  return (date.getFullYear() === today.getFullYear() ? dateFormat : yearFormat).format(date)
}

/** The same with the seconds of today. */
export const momentWithSeconds = (iso: string): string =>
  isSameDay(new Date(iso), new Date()) ? timeWithSeconds(iso) : moment(iso)

/** `Today`, `Yesterday`, else weekday and date. */
export function day(iso: string, now: number = Date.now()): string {
  const date = new Date(iso)
  if (isSameDay(date, new Date(now))) return capital(relativeFormat.format(0, 'day'))
  if (isSameDay(date, new Date(now - DAY))) return capital(relativeFormat.format(-1, 'day'))
  return dayFormat.format(date)
}

export const isSameDay = (one: Date, other: Date): boolean => one.toDateString() === other.toDateString()

/** A span in its two largest units: `23 h 58 min`, `45 min`, `less than a minute`. */
export function span(ms: number): string {
  if (ms < MINUTE) return 'less than a minute'
  const days = Math.floor(ms / DAY)
  const hours = Math.floor((ms % DAY) / HOUR)
  const minutes = Math.floor((ms % HOUR) / MINUTE)
  if (days > 0) return `${days} d ${hours} h`
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min`
}

/** The duration of an attempt: `84 ms`, `1.2 s`. */
export const duration = (ms: number): string => (ms < SECOND ? `${ms} ms` : `${(ms / SECOND).toFixed(1)} s`)

/** `just now`, `2 min ago`, `3 h ago`, `5 d ago`. */
export function ago(iso: string, now: number = Date.now()): string {
  const ms = now - Date.parse(iso)
  if (ms < MINUTE) return 'just now'
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ago`
  return ms < DAY ? `${Math.floor(ms / HOUR)} h ago` : `${Math.floor(ms / DAY)} d ago`
}

/** A phone number in groups for reading; `phone` has digits with or without a plus. */
export function phone(digits: string): string {
  const plain = digits.replace(/^\+/, '')
  const country = /^(1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})/.exec(plain)?.[0] ?? ''
  const rest = plain.slice(country.length)
  // Groups of three, the last of three or four.
  const groups = rest.match(/\d{3}(?=\d{3})|\d+$/g) ?? [rest]
  return `+${country} ${groups.join(' ')}`.trim()
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** The name of a member of a contact as it is read: `first_name` as `First name`. */
export const labelOf = (name: string): string => (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll('_', ' ')
