import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { badRequest } from '../../platform/errors.ts'
import { requireUtf8Charset } from './json-body.ts'
import { readMultipart } from './multipart.ts'

type ReadForm = (entries: Iterable<readonly [string, string]>) => Record<string, unknown>

/** Accepts both form encodings as the equivalent JSON body; 400 for files, malformed forms and invalid UTF-8. */
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

const decodePercents = (body: Buffer): Buffer =>
  Buffer.from(
    body.toString('latin1').replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )
