import { type Static, Type } from 'typebox'
import type { ContactImport, ImportStatus, Refusal } from './contact-import-store.ts'

const At = Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' })

/** How far an import is. */
export const ImportReplyShape = Type.Object({
  id: Type.Integer(),
  status: Type.Unsafe<ImportStatus>({
    type: 'string',
    enum: ['queued', 'running', 'completed', 'failed', 'cancelled'],
    description: '`failed`: given up, `failure` says why; `cancelled`: by request. What was read of it stays.',
  }),
  failure: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  format: Type.Unsafe<'csv' | 'ndjson'>({ type: 'string', enum: ['csv', 'ndjson'] }),
  rows: Type.Integer({ description: 'In all.' }),
  rows_read: Type.Integer({ description: 'Created, updated, unchanged and refused together.' }),
  created: Type.Integer(),
  updated: Type.Integer(),
  unchanged: Type.Integer({ description: 'Rows that said nothing new; their contacts were not touched.' }),
  refused: Type.Integer(),
  refusals: Type.Array(Type.Object({ line: Type.Integer(), reason: Type.String() }), {
    description: 'The first 100 refused rows; all of them are at `/public/v1/contacts/imports/{id}/refused`.',
  }),
  ignored_columns: Type.Optional(
    Type.Array(Type.String(), { description: 'With the answer to the import: columns that mean nothing here.' }),
  ),
  created_at: Type.String({ format: 'date-time' }),
  started_at: At,
  ended_at: At,
})

export const toImportReply = (
  given: ContactImport,
  refusals: readonly Refusal[],
  ignored?: readonly string[],
): Static<typeof ImportReplyShape> => ({
  id: given.id,
  status: given.status,
  failure: given.failure,
  format: given.format,
  rows: given.rows,
  rows_read: rowsRead(given),
  created: given.created,
  updated: given.updated,
  unchanged: given.unchanged,
  refused: given.refused,
  refusals: refusals.map(({ line, reason }) => ({ line, reason })),
  ...(ignored !== undefined && { ignored_columns: [...ignored] }),
  created_at: given.createdAt.toISOString(),
  started_at: given.startedAt?.toISOString() ?? null,
  ended_at: given.endedAt?.toISOString() ?? null,
})

/** An import as the list shows it: without its refusals. */
export const ListedImportShape = Type.Omit(ImportReplyShape, ['refusals', 'ignored_columns'])

export function toListedImport(given: ContactImport): Static<typeof ListedImportShape> {
  const { refusals, ignored_columns, ...listed } = toImportReply(given, [])
  return listed
}

export const rowsRead = ({ created, updated, unchanged, refused }: ContactImport): number =>
  created + updated + unchanged + refused
