/** Largest field of a row, in bytes. */
export const FIELD_MAX_BYTES = 64 * 1024

/** The fields of one row of CSV (RFC 4180), or what is wrong with it. */
export type CsvRow = { readonly fields: readonly string[]; readonly fault?: string }

/**
 * One row, without its line end, → its fields; the `'` that keeps a spreadsheet from taking a field for a formula is
 * removed. Quotes begin a quoted field only where the field begins; elsewhere they
 * are characters like any other. With a fault, the fields are those read so far.
 */
export function parseCsvRow(text: string): CsvRow {
  if (!text.includes('"')) return toRow(text.split(','))
  const fields: string[] = []
  for (let at = 0; ; ) {
    const field = text[at] === '"' ? readQuoted(text, at) : readPlain(text, at)
    if (typeof field === 'string') return { fields, fault: field }
    fields.push(field.value)
    if (field.end >= text.length) return toRow(fields)
    at = field.end + 1
  }
}

function readPlain(text: string, at: number): { value: string; end: number } {
  const comma = text.indexOf(',', at)
  const end = comma === -1 ? text.length : comma
  return { value: text.slice(at, end), end }
}

function readQuoted(text: string, at: number): { value: string; end: number } | string {
  const parts: string[] = []
  for (let from = at + 1; ; ) {
    const quote = text.indexOf('"', from)
    if (quote === -1) return 'a quoted field does not end'
    parts.push(text.slice(from, quote))
    const next = text[quote + 1]
    if (next === undefined || next === ',') return { value: parts.join(''), end: quote + 1 }
    if (next !== '"') return 'there is text after the end of a quoted field'
    parts.push('"')
    from = quote + 2
  }
}

function toRow(written: readonly string[]): CsvRow {
  const fields = written.map(withoutGuard)
  const isHuge = fields.some(
    (field) => field.length > FIELD_MAX_BYTES / 4 && Buffer.byteLength(field) > FIELD_MAX_BYTES,
  )
  return isHuge ? { fields, fault: `a field is larger than ${FIELD_MAX_BYTES} bytes` } : { fields }
}

/** Whether a row of CSV has no value: spreadsheets end their lists with such rows. */
export function isBlankRow(bytes: Buffer): boolean {
  if (![0x2c, 0x22, 0x20, 0x09].includes(bytes[0] ?? 0)) return false
  return /^(?:"")*$/.test(bytes.toString('latin1').replaceAll(/[\t ,]/g, ''))
}

export type CsvStyle = {
  /** Leaves fields as they are that a spreadsheet takes for formulas: for programs that read the list. */
  isRaw?: boolean
}

/**
 * Fields as a row of CSV, with its line end: quoted where they need to be, and with a leading `'` where a spreadsheet
 * would take them for a formula (decisions: CSV export).
 */
export function toCsvRow(fields: readonly string[], { isRaw = false }: CsvStyle = {}): string {
  // A row of one empty field would be an empty line, which is no row.
  if (fields.length === 1 && fields[0] === '') return '""\r\n'
  return `${fields.map((field) => quote(isRaw ? field : withGuard(field))).join(',')}\r\n`
}

const quote = (field: string): string => (/[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)

const FORMULA = /^'*[=+\-@\t\r\n]/
const NUMBER = /^'*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/

/** A field that already begins with `'` and a formula gets one more, so that the import finds what was exported. */
const isFormula = (field: string): boolean => FORMULA.test(field) && !NUMBER.test(field)

const withGuard = (field: string): string => (isFormula(field) ? `'${field}` : field)

const withoutGuard = (field: string): string => (field.startsWith("'") && isFormula(field) ? field.slice(1) : field)
