import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest } from '../errors.ts'

/** The value of a form: what it would have been in JSON. */
export type ReadForm = (entries: Iterable<readonly [string, string]>) => Record<string, unknown>

/**
 * Lets the routes of this plugin read forms of both encodings; their body is then what it would have been in JSON.
 * 400 for a file and for what is no form. Multipart is read by the platform, as browsers write it: names with quotes
 * and backslashes come through unharmed, and the limit of the body holds as for every other.
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

async function readMultipart(contentType: string, body: Buffer): Promise<[name: string, value: string][]> {
  const form = await new Response(Uint8Array.from(body), { headers: { 'content-type': contentType } })
    .formData()
    .catch(() => {
      throw badRequest('The form is not valid multipart/form-data')
    })
  return [...form].map(([name, value]) => {
    if (typeof value !== 'string') throw badRequest('Files are not accepted here')
    return [name, value]
  })
}
