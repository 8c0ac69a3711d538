import { TABLES } from '../db/tables.ts'
import type { Cipher } from '../secrets/secrets.ts'
import { MoveRefused } from './transfer-file.ts'

/** Limits per statement: its rows are in memory several times over. */
const ROWS_AT_ONCE = 200
const CHARACTERS_AT_ONCE = 8 * 1024 * 1024

const MOVED = TABLES.filter(({ stays }) => stays === undefined)
export const MOVED_TABLES: readonly string[] = MOVED.map(({ name }) => name)

export function createInserts(insert: (table: string, rows: string[]) => Promise<void>) {
  let table: string | undefined
  let rows: string[] = []
  let characters = 0
  const flush = async () => {
    if (table !== undefined && rows.length > 0) await insert(table, rows)
    rows = []
    characters = 0
  }
  return {
    add: async (next: string, row: string) => {
      if (!MOVED_TABLES.includes(next)) throw new MoveRefused(`The file names the table ${next}`)
      const isFull = rows.length >= ROWS_AT_ONCE || characters + row.length > CHARACTERS_AT_ONCE
      if (next !== table || isFull) await flush()
      table = next
      characters += row.length
      rows.push(row)
    },
    flush,
  }
}

export function recode(table: string, text: string, from: Cipher, to: Cipher): string {
  const columns = MOVED.find(({ name }) => name === table)?.sealed
  if (columns === undefined) return text
  const row: Record<string, unknown> = JSON.parse(text)
  for (const column of columns) {
    const value = row[column]
    if (typeof value === 'string') row[column] = to.encrypt(from.decrypt(value))
  }
  return JSON.stringify(row)
}
