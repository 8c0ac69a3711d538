import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Publish } from '../../changes/live-change.ts'
import { charsetOf, compileExceptBody, requireUtf8Charset } from '../../http/body/input.ts'
import { completeKey } from '../../http/idempotency/idempotency.ts'
import { beforeQuery, parseBefore } from '../../http/paging/paging.ts'
import { streamParts } from '../../http/server/answers/stream-parts.ts'
import { fileContent, pathId, Success } from '../../http/shapes.ts'
import { LIST_COLUMNS } from '../../people/contact-record.ts'
import { badRequest, importNotFound, validationError } from '../../platform/errors.ts'
import { parseId } from '../../platform/ids.ts'
import { toDelimiter } from '../../platform/text/lists/csv.ts'
import { encodingOf } from '../../platform/text/lists/encoding.ts'
import type { ListFormat } from '../../platform/text/lists/list-scan.ts'
import { exportContacts } from '../export/contact-export.ts'
import {
  cancelImport,
  discardList,
  getImport,
  type ImportDeps,
  type ImportReceipt,
  listImports,
  queueList,
  type ReceivedList,
  receiveList,
} from './contact-import.ts'
import {
  ImportReplyShape,
  ListedImportShape,
  toImportReply,
  toListedImport,
  writeRefused,
} from './contact-import-reply.ts'
import { readRefusals } from './contact-import-store.ts'
import { delimiterQuery, IMPORT_MAX_ROWS, LIST_QUERY, type ListRequest, readImportRequest } from './upload-reader.ts'

const TAGS = ['Contacts']
const CALLERS = {
  takesLong: true,
  surface: 'api-key',
  permissions: ['WhatsApp', 'Transactional'],
  roles: ['agent'],
} as const
const REFUSALS_SHOWN = 100
const MIME_TYPES: Record<ListFormat, string> = { csv: 'text/csv', ndjson: 'application/x-ndjson' }

const FORMATS: readonly ListFormat[] = ['csv', 'ndjson']
const LIMITS = { defaultSize: 25, maxSize: 100 }

const ById = Type.Object({ id: pathId('ImportId', 'Import id.') })
const CSV_EXAMPLE = 'email,first_name,custom_fields.LOYALTY_TIER\r\nada.rossi@example.com,Ada,gold\r\n'
const NDJSON_EXAMPLE = '{"email":"ada.rossi@example.com","first_name":"Ada"}\n'
const REFUSED_EXAMPLES = {
  'text/csv': `line,reason,${CSV_EXAMPLE.replace('\r\n', '\r\n17,no email,')}`,
  'application/x-ndjson': NDJSON_EXAMPLE.replace('{', '{"line":17,"reason":"no email",'),
}
const listOf = (example: string) => ({
  schema: Type.String({
    description: `A list of up to ${IMPORT_MAX_ROWS} contacts: CSV whose first line names the columns, or one JSON object per line. Columns as in the export: ${LIST_COLUMNS.join(', ')}, and custom_fields.<key>. Separate tags with semicolons. An empty cell changes nothing.`,
    title: 'ContactList',
    example,
  }),
})
const ImportBody = { content: { 'text/csv': listOf(CSV_EXAMPLE), 'application/x-ndjson': listOf(NDJSON_EXAMPLE) } }

/** Registers the import and export endpoints (additive to the specification); see docs/contacts.md for the formats. */
export function contactImportRoutes(deps: ImportDeps & { publish: Publish }): FastifyPluginAsyncTypebox {
  return async (app) => {
    const lists = new WeakMap<FastifyRequest, ReceivedList>()
    for (const format of FORMATS) {
      // Streamed to storage; the digest replaces the body in `Idempotency-Key` checks.
      app.addContentTypeParser(MIME_TYPES[format], async (request: FastifyRequest, payload: Readable) => {
        const { companyId, clientId } = request.caller
        const list = await receiveList(deps, companyId, requestOf(request, format), payload, clientId)
        lists.set(request, list)
        request.bodyBytes = list.digest
      })
    }
    // Discards lists without an import: replayed requests, or a key reused with another list.
    app.addHook('onResponse', async (request) => {
      const list = lists.get(request)
      if (list !== undefined) await discardList(deps, request.caller.companyId, list)
    })

    app.post(
      '/public/v1/contacts/import',
      {
        config: { ...CALLERS, streamsBody: true },
        validatorCompiler: compileExceptBody,
        schema: {
          tags: TAGS,
          operationId: 'importContacts',
          summary: 'Import contacts',
          description:
            'Returns as soon as the list is stored. Rows are then applied in order, as by create-or-update; an invalid row is refused alone.',
          querystring: Type.Object(LIST_QUERY),
          body: ImportBody,
          response: { 202: Type.Object({ data: ImportReplyShape }, { description: 'The list was stored.' }) },
        },
      },
      async (request, reply) => {
        const { companyId } = request.caller
        const list = lists.get(request)
        if (list === undefined) throw badRequest('The body must be text/csv or application/x-ndjson')
        lists.delete(request)
        const toAnswer = ({ started, ignored }: ImportReceipt) => ({ data: toImportReply(started, [], ignored) })
        const receipt = await queueList(deps, companyId, list, (tx, received) =>
          completeKey(tx, request, reply, 202, toAnswer(received)),
        )
        deps.publish([{ topic: 'import', companyId, id: receipt.started.id }])
        return reply.code(202).send(toAnswer(receipt))
      },
    )

    app.get(
      '/public/v1/contacts/imports',
      {
        config: { ...CALLERS, errors: ['validation_error'] },
        schema: {
          tags: TAGS,
          operationId: 'listImports',
          summary: 'List imports',
          description: 'Newest first. `before` is the last import id of the previous page.',
          querystring: Type.Object(beforeQuery(LIMITS)),
          response: {
            200: Type.Object({ data: Type.Array(ListedImportShape) }, { description: 'One page of imports.' }),
          },
        },
      },
      async (request) => {
        const { before, limit } = parseBefore(request.query, LIMITS)
        const imports = await listImports(deps.db, request.caller.companyId, before, limit)
        return { data: imports.map(toListedImport) }
      },
    )

    app.delete(
      '/public/v1/contacts/imports/:id',
      {
        config: CALLERS,
        schema: {
          tags: TAGS,
          operationId: 'cancelImport',
          summary: 'Cancel an import',
          description: 'Rows already imported stay. An import that has ended does not change.',
          params: ById,
          response: { 200: Success },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const id = importId(request.params.id)
        await cancelImport(deps.db, companyId, id)
        deps.publish([{ topic: 'import', companyId, id }])
        return { success: true as const }
      },
    )

    app.get(
      '/public/v1/contacts/imports/:id',
      {
        config: CALLERS,
        schema: {
          tags: TAGS,
          operationId: 'getImport',
          summary: 'Get an import',
          description: 'Returns the row counts and the first refused rows.',
          params: ById,
          response: { 200: Type.Object({ data: ImportReplyShape }, { description: 'The import.' }) },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const found = await getImport(deps.db, companyId, importId(request.params.id))
        const refusals = await readRefusals(deps.db, companyId, found.id, 0, REFUSALS_SHOWN)
        return { data: toImportReply(found, refusals) }
      },
    )

    app.get(
      '/public/v1/contacts/imports/:id/refused',
      {
        config: CALLERS,
        schema: {
          tags: TAGS,
          operationId: 'downloadRefusedRows',
          summary: 'Download refused rows',
          description:
            "Returns the refused rows in the list's format and separator, in UTF-8, each with line and reason. Correct the file and import it again.",
          params: ById,
          response: { 200: fileContent('The refused rows.', REFUSED_EXAMPLES) },
        },
      },
      async (request, reply) => {
        const { companyId } = request.caller
        const found = await getImport(deps.db, companyId, importId(request.params.id))
        return reply
          .type(`${MIME_TYPES[found.format]}; charset=utf-8`)
          .header('content-disposition', `attachment; filename="refused-${found.id}.${found.format}"`)
          .send(streamParts(request, writeRefused(deps.db, companyId, found)))
      },
    )

    app.get(
      '/public/v1/contacts/export',
      {
        config: { ...CALLERS, roles: [], errors: ['validation_error'] },
        schema: {
          tags: TAGS,
          operationId: 'exportContacts',
          summary: 'Export all contacts',
          description: 'Returns all contacts in the import columns; importing the answer changes nothing.',
          querystring: Type.Object({
            format: Type.Optional(
              Type.Unsafe<string>({
                type: 'string',
                enum: [...FORMATS],
                description: 'Format; by default chosen by the Accept header, else `csv`.',
                'x-lenient': true,
              }),
            ),
            delimiter: delimiterQuery('CSV separator; a comma by default.'),
            bom: Type.Optional(
              Type.Boolean({
                description: 'Whether the CSV starts with a byte order mark, so that spreadsheets recognize UTF-8.',
              }),
            ),
            raw: Type.Optional(
              Type.Boolean({
                description:
                  "By default, a ' is put before anything that a spreadsheet takes for a formula, at the start of a CSV cell and after separators and line ends in it; the import removes it. `true` leaves cells unchanged.",
              }),
            ),
          }),
          response: {
            200: fileContent('The contacts.', { 'text/csv': CSV_EXAMPLE, 'application/x-ndjson': NDJSON_EXAMPLE }),
          },
        },
      },
      async (request, reply) => {
        const { format: asked, raw, bom, delimiter } = request.query
        const format = readFormat(asked, request.headers.accept)
        const style = { isRaw: raw === true, hasMark: bom === true, delimiter: toDelimiter(delimiter ?? ',') ?? ',' }
        const parts = await exportContacts(deps.db, request.caller.companyId, format, style)
        return reply
          .type(`${MIME_TYPES[format]}; charset=utf-8`)
          .header('content-disposition', `attachment; filename="contacts.${format}"`)
          .send(streamParts(request, parts))
      },
    )
  }
}

/** Resolves the encoding from Content-Type or query. Throws 415, 422. */
function requestOf(request: FastifyRequest, format: ListFormat): ListRequest {
  const named = readImportRequest(format, request.query ?? {})
  const charset = charsetOf(request.headers['content-type'] ?? '')
  const encoding = format === 'csv' && charset !== null ? encodingOf(charset) : undefined
  if (encoding === undefined) requireUtf8Charset(request)
  // Clients declare UTF-8 whatever they send.
  return { ...named, encoding: named.encoding ?? (encoding === 'utf-8' ? undefined : encoding) }
}

function importId(text: string): number {
  const id = parseId(text)
  if (id === undefined) throw importNotFound()
  return id
}

function readFormat(asked: string | undefined, accept: string | undefined): ListFormat {
  if (asked === 'csv' || asked === 'ndjson') return asked
  if (asked !== undefined) throw validationError([{ path: 'format', message: 'must be csv or ndjson' }])
  return accept?.includes(MIME_TYPES.ndjson) ? 'ndjson' : 'csv'
}
