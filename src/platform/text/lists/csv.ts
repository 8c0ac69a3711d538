export const DELIMITERS = [',', ';', '\t'] as const
export type Delimiter = (typeof DELIMITERS)[number]

const NAMES: ReadonlyMap<string, Delimiter> = new Map([
  ...DELIMITERS.map((delimiter) => [delimiter, delimiter] as const),
  ['comma', ','],
  ['semicolon', ';'],
  ['tab', '\t'],
])

export const DELIMITER_NAMES = [...NAMES.keys()]

export const toDelimiter = (name: string): Delimiter | undefined => NAMES.get(name)

const SEP_LINE = /^"?sep=(.*?)"?$/is

/** Reads a `sep=;` first line, written by spreadsheets; undefined for any other line. */
export function readSepLine(text: string): { delimiter: Delimiter | undefined } | undefined {
  const [, separator] = SEP_LINE.exec(text) ?? []
  return separator === undefined ? undefined : { delimiter: toDelimiter(separator) }
}

export const FIELD_MAX_BYTES = 64 * 1024

type CsvRow = { readonly fields: readonly string[]; readonly fault?: string }

/** Splits one row (RFC 4180), removing formula guards. Quotes only count at a field's start. */
export function parseCsvRow(text: string, delimiter: Delimiter = ','): CsvRow {
  if (!text.includes('"')) return toRow(text.split(delimiter))
  const fields: string[] = []
  for (let at = 0; ; ) {
    const field = text[at] === '"' ? readQuoted(text, at, delimiter) : readPlain(text, at, delimiter)
    if (typeof field === 'string') return { fields, fault: field }
    fields.push(field.value)
    if (field.end >= text.length) return toRow(fields)
    at = field.end + 1
  }
}

function readPlain(text: string, at: number, delimiter: Delimiter): { value: string; end: number } {
  const next = text.indexOf(delimiter, at)
  const end = next === -1 ? text.length : next
  return { value: text.slice(at, end), end }
}

function readQuoted(text: string, at: number, delimiter: Delimiter): { value: string; end: number } | string {
  const parts: string[] = []
  for (let from = at + 1; ; ) {
    const quote = text.indexOf('"', from)
    if (quote === -1) return 'a quoted field does not end'
    parts.push(text.slice(from, quote))
    const next = text[quote + 1]
    if (next === undefined || next === delimiter) return { value: parts.join(''), end: quote + 1 }
    if (next !== '"') return 'there is text after the end of a quoted field'
    parts.push('"')
    from = quote + 2
  }
}

function toRow(written: readonly string[]): CsvRow {
  const fields = written.map(withoutGuard)
  const isHuge = fields.some((field) => field.length > FIELD_MAX_BYTES / 4 && byteLength(field) > FIELD_MAX_BYTES)
  return isHuge ? { fields, fault: `a field is larger than ${FIELD_MAX_BYTES} bytes` } : { fields }
}

const byteLength = (text: string): number => new TextEncoder().encode(text).length

const latin1 = new TextDecoder('latin1')
const BLANKS = { ',': /[\t ,]/g, ';': /[\t ;]/g, '\t': /[\t ]/g }

/** Returns whether a row has no value: spreadsheets end their lists with such rows. */
export function isBlankRow(bytes: Uint8Array, delimiter: Delimiter): boolean {
  const first = bytes[0] ?? 0
  if (first > 0x22 && first !== delimiter.charCodeAt(0)) return false
  return /^(?:"")*$/.test(latin1.decode(bytes).replaceAll(BLANKS[delimiter], ''))
}

export type CsvStyle = {
  readonly delimiter?: Delimiter
  readonly hasMark?: boolean
  readonly isRaw?: boolean
}

export const BYTE_ORDER_MARK = '\uFEFF'

export const toCsvHeader = (columns: readonly string[], style: CsvStyle = {}): string =>
  `${style.hasMark ? BYTE_ORDER_MARK : ''}${toCsvRow(columns, style)}`

/** Writes one row with its line end, quoted as needed and guarded against formulas. */
export function toCsvRow(fields: readonly string[], { delimiter = ',', isRaw = false }: CsvStyle = {}): string {
  // One empty field would be an empty line, which is no row.
  if (fields.length === 1 && fields[0] === '') return '""\r\n'
  return `${fields.map((field) => quote(isRaw ? field : withGuard(field), delimiter)).join(delimiter)}\r\n`
}

const quote = (field: string, delimiter: Delimiter): string =>
  field.includes(delimiter) || /["\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field

// Spreadsheets run cells starting with these signs. With another separator, a cell may also start after a comma,
// semicolon, tab or line end inside a field, where quotes are dropped.
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/
const INNER = /([,;\t\r\n])(?=["']*[=+\-@＝＋－＠])/g
const INNER_GUARDED = /([,;\t\r\n])'(?=["']*[=+\-@＝＋－＠])/g
const MAY_SPLIT = /[,;\t\r\n]/
const NUMBER = /^'*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/

const isFormula = (field: string): boolean => FORMULA.test(field) && !NUMBER.test(field)

/** Guards existing guards too, so the import restores what was exported. Numbers need none at a field's start. */
function withGuard(field: string): string {
  const whole = isFormula(field) ? `'${field}` : field
  return MAY_SPLIT.test(whole) ? whole.replace(INNER, "$1'") : whole
}

function withoutGuard(field: string): string {
  if (!field.includes("'")) return field
  const whole = field.startsWith("'") && isFormula(field) ? field.slice(1) : field
  return MAY_SPLIT.test(whole) ? whole.replace(INNER_GUARDED, '$1') : whole
}
