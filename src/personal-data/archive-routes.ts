import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { streamParts } from '../http/server/answers/stream-parts.ts'
import { fileContent, pathId } from '../http/shapes.ts'
import { contactNotFound } from '../platform/errors.ts'
import { parseId } from '../platform/ids.ts'
import { type ArchiveDeps, archiveContact } from './archive.ts'

const EXAMPLE = '{"type":"contact","data":{"id":4127,"email":"ada.rossi@example.com"}}\n'

/** Serves the archive of a contact (decisions: Erasure and access). */
export function archiveRoutes(deps: ArchiveDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/contacts/:id/archive',
      {
        config: { takesLong: true, surface: 'api-key', permissions: ['WhatsApp', 'Transactional'] },
        schema: {
          tags: ['Contacts'],
          operationId: 'archiveContact',
          summary: 'Get a contact archive',
          description:
            'Returns JSON lines, `{"type", "data"}`: `contact` first, then `consent` (all marketing statements), `conversation`, `message` (with statuses, reactions, changes and media), `delivery` (payload and attempts), `reaction`, `message_change` and `status` (about other people\'s or unstored messages), `email` (with content, links and clicks), `import_refusal`, `failed_event` (the body in base64) and `daily_limit`. Deleted contacts can be read until they are erased.',
          params: Type.Object({ id: pathId('ContactId', 'Contact id.') }),
          response: { 200: fileContent('Everything stored about the contact.', { 'application/x-ndjson': EXAMPLE }) },
        },
      },
      async (request, reply) => {
        const id = parseId(request.params.id)
        if (id === undefined) throw contactNotFound()
        const lines = await archiveContact(deps, request.caller.companyId, id)
        return reply
          .type('application/x-ndjson; charset=utf-8')
          .header('content-disposition', `attachment; filename="contact-${id}.ndjson"`)
          .send(streamParts(request, lines))
      },
    )
  }
}
