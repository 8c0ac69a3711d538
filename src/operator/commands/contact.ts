import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { rowsRead } from '../../contacts/import/contact-import-reply.ts'
import type { ContactImport } from '../../contacts/import/contact-import-store.ts'
import { readImportRequest } from '../../contacts/import/upload-reader.ts'
import { badRequest } from '../../platform/errors.ts'
import { LIST_ENCODINGS } from '../../platform/text/lists/encoding.ts'
import { LIST_PROFILES } from '../../platform/text/lists/list-profiles.ts'
import type { ListFormat } from '../../platform/text/lists/list-scan.ts'
import type { OperatorDeps } from '../operator.ts'
import { type AddGroup, type Given, type Io, inCompany, type Row } from './command.ts'

const LOOK_EVERY_MS = 100
const BAR_WIDTH = 30

export function contactCommands(addGroup: AddGroup): void {
  const add = addGroup('contacts', 'contacts: import a list')
  add('import <company> <file>', 'import a .csv, .ndjson or .jsonl list of contacts', inCompany(importList))
    .option('--format <format>', 'csv or ndjson; by default from the file name')
    .option('--delimiter <separator>', 'comma, semicolon or tab; by default detected')
    .option('--encoding <encoding>', `CSV encoding, by default detected: ${LIST_ENCODINGS.join(', ')}`)
    .option('--profile <program>', `program that exported the CSV: ${LIST_PROFILES.join(', ')}`)
    .option('--consent-yes <words>', 'CSV words that opt in, besides yes and true; comma-separated')
    .option('--consent-no <words>', 'CSV words that opt out, besides no and false; comma-separated')
}

/** Imports the file in this process; if it exits early, a running service continues. */
async function importList(
  { imports }: OperatorDeps,
  companyId: number,
  { file: path, format = path, ...named }: Given,
  { isTerminal, write }: Io,
): Promise<Row> {
  const file = String(path)
  const request = readImportRequest(formatOf(String(format)), named)
  if (!(await stat(file)).isFile()) throw badRequest(`${file} is not a file`)
  const showBar = isTerminal ? write : () => {}
  const { started, ignored } = await imports.take(companyId, request, createReadStream(file))
  const worker = imports.work()
  try {
    for (;;) {
      const now = await imports.read(companyId, started.id)
      showBar(`\r${barOf(now)}`)
      if (now.endedAt !== null) return toRow(now, ignored)
      await sleep(LOOK_EVERY_MS)
    }
  } finally {
    showBar('\n')
    await worker.stop()
  }
}

function formatOf(text: string): ListFormat {
  if (/(^|\.)csv$/i.test(text)) return 'csv'
  if (/(^|\.)(ndjson|jsonl)$/i.test(text)) return 'ndjson'
  throw badRequest('--format must be csv or ndjson')
}

function barOf(now: ContactImport): string {
  const share = now.rows === 0 ? 1 : rowsRead(now) / now.rows
  const bar = '█'.repeat(Math.floor(share * BAR_WIDTH)).padEnd(BAR_WIDTH, '░')
  const percent = String(Math.floor(share * 100)).padStart(3)
  return `${bar} ${percent}%  ${rowsRead(now)} of ${now.rows} rows, ${now.refused} refused`
}

const toRow = (now: ContactImport, ignored: readonly string[]): Row => ({
  id: now.id,
  status: now.status,
  failure: now.failure,
  delimiter: now.delimiter,
  encoding: now.encoding,
  profile: now.profile,
  defaultCountry: now.defaultCountry,
  rows: now.rows,
  rowsRead: rowsRead(now),
  created: now.created,
  updated: now.updated,
  unchanged: now.unchanged,
  refused: now.refused,
  ignoredColumns: ignored,
})
