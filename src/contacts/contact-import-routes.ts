import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { badRequest, importNotFound, validationError } from '../errors.ts'
import { completeKey } from '../http/idempotency.ts'
import { beforeQuery, parseBefore } from '../http/paging.ts'
import { parseId } from '../ids.ts'
import { exportContacts, type ListFormat } from './contact-export.ts'
import {
  cancelImport,
  discardList,
  getImport,
  IMPORT_MAX_ROWS,
  type ImportDeps,
  type ImportReceipt,
  listImports,
  queueList,
  type ReceivedList,
  receiveList,
  writeRefused,
} from './contact-import.ts'
import { ImportReplyShape, ListedImportShape, toImportReply, toListedImport } from './contact-import-reply.ts'
import { readRefusals } from './contact-import-store.ts'

const TAGS = ['Contacts']
const CALLERS = { takesLong: true, surface: 'api-key', permissions: ['WhatsApp', 'Transactional'] } as const
/** How many refused rows are named with the progress; all of them are in the file. */
const REFUSALS_SHOWN = 100
const MIME_TYPES: Record<ListFormat, string> = { csv: 'text/csv', ndjson: 'application/x-ndjson' }

const FORMATS: readonly ListFormat[] = ['csv', 'ndjson']
const LIMITS = { defaultSize: 25, maxSize: 100 }

const ById = Type.Object({ id: Type.String({ description: 'Id of the import.' }) })
const ImportBody = Type.String({
  description: `A list of up to ${IMPORT_MAX_ROWS} contacts: CSV whose first line names the columns, or an object on each line. The columns are those of the export: id, email, phone, first_name, last_name, status, source, source_type, tags (between semicolons), marketing_consent.email, marketing_consent.whatsapp, and custom_fields.<key>. An empty cell says nothing.`,
})

/** Lists of contacts, in and out (additive to the specification): docs/contacts.md describes the formats. */
export function contactImportRoutes(deps: ImportDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    const lists = new WeakMap<FastifyRequest, ReceivedList>()
    for (const format of FORMATS) {
      // A list is stored as it comes. Its digest stands for it where an Idempotency-Key is compared.
      app.addContentTypeParser(MIME_TYPES[format], async (request: FastifyRequest, payload: Readable) => {
        const { companyId, clientId } = request.caller
        const list = await receiveList(deps, companyId, format, payload, clientId)
        lists.set(request, list)
        request.bodyBytes = list.digest
      })
    }
    // The list of a request that is answered otherwise: a repeated one, or a key with another list.
    app.addHook('onResponse', async (request) => {
      const list = lists.get(request)
      if (list !== undefined) await discardList(deps, request.caller.companyId, list)
    })

    app.post(
      '/public/v1/contacts/import',
      {
        config: CALLERS,
        // The body is a stream.
        validatorCompiler: () => () => true,
        schema: {
          tags: TAGS,
          operationId: 'importContacts',
          summary: 'Import a list of contacts',
          description:
            'Answers as soon as the list is kept; its rows are then applied in order as by create-or-update, each once, and refused alone.',
          consumes: Object.values(MIME_TYPES),
          body: Type.Optional(ImportBody),
          response: { 202: Type.Object({ data: ImportReplyShape }) },
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
        return reply.code(202).send(toAnswer(receipt))
      },
    )

    app.get(
      '/public/v1/contacts/imports',
      {
        config: CALLERS,
        schema: {
          tags: TAGS,
          operationId: 'listImports',
          summary: 'List imports',
          description: 'Newest first. `before` is the id of the last import of the page before.',
          querystring: Type.Object(beforeQuery(LIMITS)),
          response: { 200: Type.Object({ data: Type.Array(ListedImportShape) }) },
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
          description: 'Rows that are imported already stay. An import that is over stays as it is.',
          params: ById,
          response: { 200: Type.Object({ success: Type.Literal(true) }) },
        },
      },
      async (request) => {
        await cancelImport(deps.db, request.caller.companyId, importId(request.params.id))
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
          summary: 'Read the progress of an import',
          params: ById,
          response: { 200: Type.Object({ data: ImportReplyShape }) },
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
          summary: 'Download the refused rows of an import',
          description:
            'In the format of the list, with line and reason: before the columns of CSV, as members of lines of JSON. Corrected, it can be imported as it is.',
          params: ById,
          produces: Object.values(MIME_TYPES),
        },
      },
      async (request, reply) => {
        const { companyId } = request.caller
        const found = await getImport(deps.db, companyId, importId(request.params.id))
        return reply
          .type(`${MIME_TYPES[found.format]}; charset=utf-8`)
          .header('content-disposition', `attachment; filename="refused-${found.id}.${found.format}"`)
          .send(Readable.from(writeRefused(deps.db, companyId, found)))
      },
    )

    app.get(
      '/public/v1/contacts/export',
      {
        config: CALLERS,
        schema: {
          tags: TAGS,
          operationId: 'exportContacts',
          summary: 'Export all contacts',
          description:
            'All living contacts with an email or a phone, in the columns of the import: importing the answer changes nothing.',
          querystring: Type.Object({
            format: Type.Optional(
              Type.String({ description: '`csv` or `ndjson`; else by the Accept header; default csv.' }),
            ),
            raw: Type.Optional(
              Type.Boolean({
                description:
                  "CSV cells that a spreadsheet takes for formulas (beginning with =, +, -, @, tab or return, and no number) are written with a leading ', which the import removes. `true` leaves them as they are.",
              }),
            ),
          }),
          produces: Object.values(MIME_TYPES),
        },
      },
      async (request, reply) => {
        const format = readFormat(request.query.format, request.headers.accept)
        const parts = await exportContacts(deps.db, request.caller.companyId, format, {
          isRaw: request.query.raw === true,
        })
        return reply
          .type(`${MIME_TYPES[format]}; charset=utf-8`)
          .header('content-disposition', `attachment; filename="contacts.${format}"`)
          .send(Readable.from(parts))
      },
    )
  }
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
