type Place = 'start of field' | 'field' | 'quotes' | 'quote in quotes'

/** A row of CSV, and the place behind its line end in the text so far. */
export type CsvRow = { cells: string[]; end: number }

/**
 * Reads CSV (RFC 4180) from parts of a text, as the service does: quotes begin a quoted cell only where the cell begins, and rows
 * without a value are none.
 */
export function createCsvReader(): { push: (text: string, isLast?: boolean) => CsvRow[] } {
  let place: Place = 'start of field'
  let cell = ''
  let cells: string[] = []
  let read = 0
  const push = (text: string, isLast = false): CsvRow[] => {
    const rows: CsvRow[] = []
    const endRow = (end: number) => {
      cells.push(cell.endsWith('\r') && place === 'field' ? cell.slice(0, -1) : cell)
      if (cells.some((one) => one.trim() !== '')) rows.push({ cells, end })
      cells = []
      cell = ''
      place = 'start of field'
    }
    for (let at = 0; at < text.length; at += 1) {
      const character = text[at] ?? ''
      if (place === 'quotes') {
        if (character === '"') place = 'quote in quotes'
        else cell += character
      } else if (character === '\n') endRow(read + at + 1)
      else if (character === ',') {
        cells.push(cell)
        cell = ''
        place = 'start of field'
      } else if (character === '"' && place === 'start of field') place = 'quotes'
      else if (character === '"' && place === 'quote in quotes') {
        cell += character
        place = 'quotes'
      } else if (!(character === '\r' && place === 'quote in quotes')) {
        cell += character
        place = 'field'
      }
    }
    read += text.length
    if (isLast && (cell !== '' || cells.length > 0)) endRow(read)
    return rows
  }
  return { push }
}

/** A row of CSV with its line end. */
export const toCsvLine = (cells: readonly string[]): string =>
  `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`
