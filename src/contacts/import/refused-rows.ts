import type { Db } from '../../db/connect.ts'
import { parseJsonText } from '../../text/json-text.ts'
import { type ContactImport, type Refusal, readRefusals } from './contact-import-store.ts'
import { toCsvRow } from './csv.ts'

/** Rows that one statement reads. */
const REFUSALS_AT_ONCE = 1_000

/**
 * The refused rows in the format of the list, in parts: CSV with line and reason before the row as it came, or its object
 * with `line` and `reason` at its end. The import passes both over.
 */
export async function* writeRefused(db: Db, companyId: number, list: ContactImport): AsyncGenerator<string> {
  const isCsv = list.format === 'csv'
  if (isCsv) yield toCsvRow(['line', 'reason', ...list.columns])
  for (let after = 0; ; ) {
    const refusals = await readRefusals(db, companyId, list.id, after, REFUSALS_AT_ONCE)
    if (refusals.length > 0) yield refusals.map(isCsv ? toRefusedRow : toRefusedLine).join('')
    const last = refusals.at(-1)
    if (last === undefined || refusals.length < REFUSALS_AT_ONCE) return
    after = last.line
  }
}

const toRefusedRow = ({ line, reason, fields }: Refusal): string => toCsvRow([String(line), reason, ...fields])

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
