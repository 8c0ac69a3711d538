import type { Db } from '../../db/connect.ts'
import { parseJsonText } from '../../platform/text/json-text.ts'
import { type CsvStyle, toCsvHeader, toCsvRow } from '../../platform/text/lists/csv.ts'
import { type ContactImport, type Refusal, readRefusals } from './contact-import-store.ts'

const REFUSALS_AT_ONCE = 1_000

/** Streams refused rows in the list's format, as UTF-8, with line and reason, which imports ignore. */
export async function* writeRefused(db: Db, companyId: number, list: ContactImport): AsyncGenerator<string> {
  const isCsv = list.format === 'csv'
  const style = { delimiter: list.delimiter ?? ',', hasMark: (list.encoding ?? 'utf-8') !== 'utf-8' }
  const toText = isCsv ? (refusal: Refusal) => toRefusedRow(refusal, style) : toRefusedLine
  if (isCsv) yield toCsvHeader(['line', 'reason', ...list.columns], style)
  for (let after = 0; ; ) {
    const refusals = await readRefusals(db, companyId, list.id, after, REFUSALS_AT_ONCE)
    if (refusals.length > 0) yield refusals.map(toText).join('')
    const last = refusals.at(-1)
    if (last === undefined || refusals.length < REFUSALS_AT_ONCE) return
    after = last.line
  }
}

const toRefusedRow = ({ line, reason, fields }: Refusal, style: CsvStyle): string =>
  toCsvRow([String(line), reason, ...fields], style)

function toRefusedLine({ line, reason, fields: [text = ''] }: Refusal): string {
  const members = membersOf(text) ?? [['row', text]]
  const others = members.filter(([name]) => name !== 'line' && name !== 'reason')
  return `${JSON.stringify(Object.fromEntries([...others, ['line', line], ['reason', reason]]))}\n`
}

function membersOf(text: string): [string, unknown][] | undefined {
  try {
    const value = parseJsonText(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : undefined
  } catch {
    return undefined
  }
}
