import { type Static, Type } from 'typebox'
import type { Db } from '../../db/connect.ts'
import { nullableText, nullableTime } from '../../http/shapes.ts'
import { parseJsonText } from '../../platform/text/json-text.ts'
import { type CsvStyle, DELIMITERS, toCsvHeader, toCsvRow } from '../../platform/text/lists/csv.ts'
import { LIST_ENCODINGS } from '../../platform/text/lists/encoding.ts'
import { LIST_PROFILES } from '../../platform/text/lists/list-profiles.ts'
import { type ContactImport, type ImportStatus, type Refusal, readRefusals } from './contact-import-store.ts'

const oneOrNone = <Value extends string>(values: readonly Value[], description: string) =>
  Type.Unsafe<Value | null>({ type: ['string', 'null'], enum: [...values, null], description })

const progress = {
  id: Type.Integer({ description: 'Import id.' }),
  status: Type.Unsafe<ImportStatus>({
    type: 'string',
    enum: ['queued', 'running', 'completed', 'failed', 'cancelled'],
    description: 'After `failed` and `cancelled`, rows already imported stay.',
  }),
  failure: nullableText('Why the import failed.'),
  format: Type.Unsafe<'csv' | 'ndjson'>({ type: 'string', enum: ['csv', 'ndjson'] }),
  delimiter: oneOrNone(DELIMITERS, 'CSV separator; null for JSON lines.'),
  encoding: oneOrNone(LIST_ENCODINGS, 'CSV encoding; null for JSON lines.'),
  profile: oneOrNone(LIST_PROFILES, 'Program whose column names were used; null if none was given.'),
  default_country: nullableText('Country of national numbers, for phones without `+` or `00`.'),
  rows: Type.Integer({ description: 'Row count.' }),
  rows_read: Type.Integer({ description: 'Number of rows created, updated, unchanged or refused.' }),
  created: Type.Integer({ description: 'Number of created contacts.' }),
  updated: Type.Integer({ description: 'Number of rows that changed a contact.' }),
  unchanged: Type.Integer({ description: 'Number of rows that changed nothing.' }),
  refused: Type.Integer({ description: 'Number of refused rows.' }),
  created_at: Type.String({ format: 'date-time' }),
  started_at: nullableTime('When the first row was read.'),
  ended_at: nullableTime('When the import ended.'),
}
const EXAMPLE = {
  id: 12,
  status: 'completed',
  failure: null,
  format: 'csv',
  delimiter: ';' as const,
  encoding: 'windows-1252' as const,
  profile: null,
  default_country: 'IT',
  rows: 250,
  rows_read: 250,
  created: 200,
  updated: 40,
  unchanged: 9,
  refused: 1,
  created_at: '2026-03-01T08:00:00.000Z',
  started_at: '2026-03-01T08:00:01.000Z',
  ended_at: '2026-03-01T08:00:03.000Z',
}

export const ListedImportShape = Type.Object(progress, { title: 'ListedImport', example: EXAMPLE })

export const ImportReplyShape = Type.Intersect(
  [
    ListedImportShape,
    Type.Object({
      refusals: Type.Array(Type.Object({ line: Type.Integer(), reason: Type.String() }), {
        description: 'The first 100 refused rows; `/public/v1/contacts/imports/{id}/refused` returns all.',
      }),
      ignored_columns: Type.Optional(
        Type.Array(Type.String(), {
          description: 'Unknown columns, only in the answer to the import request.',
        }),
      ),
    }),
  ],
  {
    title: 'ContactImport',
    example: { ...EXAMPLE, refusals: [{ line: 17, reason: 'email must be one address such as ada@example.com' }] },
  },
)

export const toImportReply = (
  list: ContactImport,
  refusals: readonly Refusal[],
  ignored?: readonly string[],
): Static<typeof ImportReplyShape> => ({
  id: list.id,
  status: list.status,
  failure: list.failure,
  format: list.format,
  ...toStyle(list),
  default_country: list.defaultCountry,
  rows: list.rows,
  rows_read: rowsRead(list),
  created: list.created,
  updated: list.updated,
  unchanged: list.unchanged,
  refused: list.refused,
  refusals: refusals.map(({ line, reason }) => ({ line, reason })),
  ...(ignored !== undefined && { ignored_columns: [...ignored] }),
  created_at: list.createdAt.toISOString(),
  started_at: list.startedAt?.toISOString() ?? null,
  ended_at: list.endedAt?.toISOString() ?? null,
})

/** Earlier versions stored neither delimiter nor encoding. */
const toStyle = ({ format, delimiter, encoding, profile }: ContactImport) => {
  if (format === 'ndjson') return { delimiter: null, encoding: null, profile }
  return { delimiter: delimiter ?? ',', encoding: encoding ?? 'utf-8', profile } as const
}

export function toListedImport(list: ContactImport): Static<typeof ListedImportShape> {
  const { refusals, ignored_columns, ...listed } = toImportReply(list, [])
  return listed
}

export const rowsRead = ({ created, updated, unchanged, refused }: ContactImport): number =>
  created + updated + unchanged + refused

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
