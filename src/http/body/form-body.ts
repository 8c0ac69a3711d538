import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest } from '../../platform/errors.ts'
import { requireUtf8Charset } from './charset.ts'
import { readMultipart } from './multipart.ts'

/** The value of a form: what it would have been in JSON. */
export type ReadForm = (entries: Iterable<readonly [string, string]>) => Record<string, unknown>

/**
 * Lets the routes of this plugin read forms of both encodings; their body is then what it would have been in JSON.
 * 400 for a file, for what is no form and for what is not UTF-8. The limit of the body holds as for every other.
 */
export async function acceptForms(app: FastifyInstance, readForm: ReadForm): Promise<void> {
  app.addContentTypeParser<Buffer>(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      requireUtf8Charset(request)
      if (!isUtf8(decodePercents(body))) throw badRequest('The form is not valid UTF-8')
      return readForm(new URLSearchParams(body.toString('utf8')))
    },
  )
  app.addContentTypeParser<Buffer>(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      requireUtf8Charset(request)
      return readForm(await readMultipart(String(request.headers['content-type']), body))
    },
  )
}

/** The bytes that the escapes of a form stand for. */
const decodePercents = (body: Buffer): Buffer =>
  Buffer.from(
    body.toString('latin1').replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )
