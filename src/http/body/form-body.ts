import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { readMultipart } from './multipart.ts'

/** The value of a form: what it would have been in JSON. */
export type ReadForm = (entries: Iterable<readonly [string, string]>) => Record<string, unknown>

/**
 * Lets the routes of this plugin read forms of both encodings; their body is then what it would have been in JSON.
 * 400 for a file and for what is no form. The limit of the body holds as for every other.
 */
export async function acceptForms(app: FastifyInstance, readForm: ReadForm): Promise<void> {
  await app.register(formbody, { parser: (text) => readForm(new URLSearchParams(text)) })
  app.addContentTypeParser<Buffer>(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) =>
      readForm(await readMultipart(String(request.headers['content-type']), body)),
  )
}
