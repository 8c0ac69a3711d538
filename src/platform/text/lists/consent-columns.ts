export type ConsentWords = { readonly yes: readonly string[]; readonly no: readonly string[] }

export const NO_WORDS: ConsentWords = { yes: [], no: [] }
export const CONSENT_WORDS_MAX = 20
export const CONSENT_WORD_MAX_LENGTH = 40

const YES = ['true', '1', 'yes', 'opted in', 'opt in', 'subscribed', 'subscribe']
const NO = ['false', '0', 'no', 'opted out', 'opt out', 'unsubscribed', 'unsubscribe']
const NOTHING = ['', 'never subscribed', 'not specified', 'unknown']

const plain = (word: string): string =>
  word
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[\s_-]+/gu, ' ')
    .trim()

/** True opts in, false opts out, null says nothing; undefined: unknown word. */
export type ReadConsent = (word: string) => boolean | null | undefined

/** Creates a consent reader; the list's own words take precedence. */
export function createConsentReader({ yes, no }: ConsentWords): ReadConsent {
  const values = new Map<string, boolean | null>([
    ...NOTHING.map((word) => [word, null] as const),
    ...[...YES, ...yes].map((word) => [plain(word), true] as const),
    ...[...NO, ...no].map((word) => [plain(word), false] as const),
    ...yes.map((word) => [plain(word), true] as const),
  ])
  return (word) => values.get(word) ?? values.get(plain(word))
}

export const splitWords = (text: string): string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')

/** Returns a word that both opts in and opts out. */
export const contradictingWord = ({ yes, no }: ConsentWords): string | undefined =>
  yes.find((word) => no.some((other) => plain(other) === plain(word)))

const LIST_CHANNELS = ['email', 'whatsapp'] as const
type ListChannel = (typeof LIST_CHANNELS)[number]

/** `opted` columns only count a yes. */
const CONSENT_SUFFIXES = ['', '_at', '_ip', '_opted_in', '_opted_out', '_opted_in_at', '_opted_out_at'] as const
type Suffix = (typeof CONSENT_SUFFIXES)[number]

const HEAD = 'marketing_consent.'

export const CONSENT_COLUMNS: readonly string[] = LIST_CHANNELS.flatMap((channel) =>
  CONSENT_SUFFIXES.map((suffix) => `${HEAD}${channel}${suffix}`),
)
const KNOWN = new Map<string, { channel: ListChannel; suffix: Suffix }>(
  LIST_CHANNELS.flatMap((channel) =>
    CONSENT_SUFFIXES.map((suffix) => [`${HEAD}${channel}${suffix}`, { channel, suffix }] as const),
  ),
)

/** Returns whether a list may repeat the column: a yes in any counts. */
export const mayRepeat = (column: string): boolean => /_opted_(?:in|out)$/.test(column) && KNOWN.has(column)

/** `saidAt` null means the import time. */
type SaidConsent = { readonly value: boolean; readonly saidAt: Date | null; readonly ip: string | null }
export type RowConsent = { readonly [channel in ListChannel]?: SaidConsent }

type Cells = { readonly [suffix in Suffix]?: readonly string[] }
export type ConsentCell = { readonly column: string; readonly cell: string }

export function readRowConsent(
  cells: readonly ConsentCell[],
  readWord: ReadConsent,
): { consent: RowConsent } | { column: string; fault: string } {
  const byChannel = new Map<ListChannel, Map<Suffix, string[]>>()
  for (const { column, cell } of cells) {
    const known = KNOWN.get(column)
    if (known === undefined || cell.trim() === '') continue
    const fault = cellFault(known.suffix, cell, readWord)
    if (fault !== undefined) return { column, fault }
    const own = byChannel.get(known.channel) ?? new Map<Suffix, string[]>()
    byChannel.set(known.channel, own.set(known.suffix, [...(own.get(known.suffix) ?? []), cell]))
  }
  const said = [...byChannel].flatMap(([channel, own]) => {
    const one = saidOn(Object.fromEntries(own), readWord)
    return one === undefined ? [] : [[channel, one] as const]
  })
  return { consent: Object.fromEntries(said) }
}

const IP = /^(?:(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}|[0-9a-f:]*:[0-9a-f:.]*)$/i
const IP_MAX_LENGTH = 45

function cellFault(suffix: Suffix, cell: string, readWord: ReadConsent): string | undefined {
  const text = cell.trim()
  if (suffix.endsWith('_at')) return parseListTime(text) === undefined ? TIME_FORM : undefined
  if (suffix === '_ip') return IP.test(text) && text.length <= IP_MAX_LENGTH ? undefined : 'must be an IP address'
  return readWord(text) === undefined ? CONSENT_FAULT : undefined
}

const CONSENT_FAULT = 'must be a word of consent such as yes or no'

/** An opt-out counts unless it precedes an opt-in. */
function saidOn(cells: Cells, readWord: ReadConsent): SaidConsent | undefined {
  const timeOf = (suffix: Suffix) => parseListTime(cells[suffix]?.[0] ?? '') ?? null
  const wordsOf = (suffix: Suffix) => (cells[suffix] ?? []).map(readWord)
  const own = wordsOf('')[0] ?? null
  const [at, inAt, outAt] = [timeOf('_at'), timeOf('_opted_in_at'), timeOf('_opted_out_at')]
  const isIn = own === true || inAt !== null || wordsOf('_opted_in').includes(true)
  const isOut = own === false || outAt !== null || wordsOf('_opted_out').includes(true)
  if (!isIn && !isOut) return undefined
  const times = { in: inAt ?? (own !== false ? at : null), out: outAt ?? (own === false || !isIn ? at : null) }
  const value = isIn && (!isOut || (times.in !== null && times.out !== null && times.in > times.out))
  const ip = cells._ip?.[0]?.trim().toLowerCase() ?? null
  return { value, saidAt: value ? times.in : times.out, ip: value || !isIn ? ip : null }
}

const TIME =
  /^(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(?: ?(Z|UTC|GMT|[+-]\d{2}:?\d{2}))?)?$/i

const TIME_FORM = 'must be a time such as 2026-03-01 08:00:00, in UTC unless it has an offset'

/** Parses times as exports write them, from 1970 to 9999. */
function parseListTime(text: string): Date | undefined {
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
