import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { badRequest, importNotFound, validationError } from '../errors.ts'
import { completeKey } from '../http/idempotency.ts'
import { parseId } from '../ids.ts'
import { exportContacts, type ListFormat } from './contact-export.ts'
import {
  getImport,
  IMPORT_MAX_ROWS,
  type ImportDeps,
  type ImportReceipt,
  takeImport,
  writeRefused,
} from './contact-import.ts'
import { ImportReplyShape, toImportReply } from './contact-import-reply.ts'
import { readRefusals } from './contact-import-store.ts'

const TAGS = ['Contacts']
const CALLERS = { takesLong: true, surface: 'api-key', permissions: ['WhatsApp', 'Transactional'] } as const
/** How many refused rows are named with the progress; all of them are in the file. */
const REFUSALS_SHOWN = 100
const MIME_TYPES: Record<ListFormat, string> = { csv: 'text/csv', ndjson: 'application/x-ndjson' }

const ById = Type.Object({ id: Type.String({ description: 'Id of the import.' }) })
const ImportBody = Type.String({
  description: `A list of up to ${IMPORT_MAX_ROWS} contacts: CSV whose first line names the columns, or an object on each line. The columns are those of the export: id, email, phone, first_name, last_name, status, source, source_type, tags (between semicolons), marketing_consent.email, marketing_consent.whatsapp, and custom_fields.<key>. An empty cell says nothing.`,
})

/** Lists of contacts, in and out (additive to the specification): docs/contacts.md describes the formats. */
export function contactImportRoutes(deps: ImportDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    for (const type of Object.values(MIME_TYPES)) {
      app.addContentTypeParser(type, (request, payload, done) => {
        // A list is not held in memory: its kind and length stand for it where an Idempotency-Key is compared.
        request.bodyBytes = Buffer.from(`${type} ${request.headers['content-length'] ?? ''}`)
        done(null, payload)
      })
    }

    app.post(
      '/public/v1/contacts/import',
      {
        config: CALLERS,
        // The body is a stream.
        validatorCompiler: () => () => true,
        schema: {
          tags: TAGS,
          summary: 'Import a list of contacts',
          description:
            'Answers as soon as the list is kept; its rows are then applied in order as by create-or-update, each once, and refused alone.',
          consumes: Object.values(MIME_TYPES),
          body: Type.Optional(ImportBody),
          response: { 202: Type.Object({ data: ImportReplyShape }) },
        },
      },
      async (request, reply) => {
        const { companyId, clientId } = request.caller
        const body: unknown = request.body
        if (!(body instanceof Readable)) throw badRequest('The body must be text/csv or application/x-ndjson')
        const isCsv = String(request.headers['content-type']).toLowerCase().startsWith(MIME_TYPES.csv)
        const format = isCsv ? 'csv' : 'ndjson'
        const toAnswer = ({ started, ignored }: ImportReceipt) => ({ data: toImportReply(started, [], ignored) })
        const receipt = await takeImport(deps, companyId, format, body, clientId, (tx, received) =>
          completeKey(tx, request, reply, 202, toAnswer(received)),
        )
        return reply.code(202).send(toAnswer(receipt))
      },
    )

    app.get(
      '/public/v1/contacts/imports/:id',
      {
        config: CALLERS,
        schema: {
          tags: TAGS,
          summary: 'Read how far an import is',
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
          summary: 'Download the refused rows of an import',
          description: 'CSV: line and reason, then the columns of the list. Corrected, it can be imported as it is.',
          params: ById,
          produces: [MIME_TYPES.csv],
        },
      },
      async (request, reply) => {
        const { companyId } = request.caller
        const found = await getImport(deps.db, companyId, importId(request.params.id))
        return reply
          .type(`${MIME_TYPES.csv}; charset=utf-8`)
          .header('content-disposition', `attachment; filename="refused-${found.id}.csv"`)
          .send(Readable.from(writeRefused(deps.db, companyId, found)))
      },
    )

    app.get(
      '/public/v1/contacts/export',
      {
        config: CALLERS,
        schema: {
          tags: TAGS,
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
