import { type Static, Type } from 'typebox'
import { nullableText, nullableTime } from '../../http/shapes.ts'
import { DELIMITERS } from '../../platform/text/lists/csv.ts'
import { LIST_ENCODINGS } from '../../platform/text/lists/encoding.ts'
import { LIST_PROFILES } from '../../platform/text/lists/list-profiles.ts'
import type { ContactImport, ImportStatus, Refusal } from './contact-import-store.ts'

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
