import formbody from '@fastify/formbody'
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError, badRequest, payloadTooLarge } from '../errors.ts'
import { formToWriteBody } from './contact-form.ts'

/** Largest body of a contact write. */
export const CONTACT_BODY_LIMIT_BYTES = 8 * 1024 * 1024

const MOST_FIELDS = 1000

/** Lets the routes of this plugin read forms of both encodings; the body is then what JSON would have been. */
export async function acceptForms(app: FastifyInstance): Promise<void> {
  await app.register(formbody, { parser: parseUrlEncoded })
  await app.register(multipart, {
    throwFileSizeLimit: false,
    limits: {
      fieldNameSize: CONTACT_BODY_LIMIT_BYTES,
      fieldSize: CONTACT_BODY_LIMIT_BYTES,
      fields: MOST_FIELDS,
      parts: MOST_FIELDS,
      files: 1,
      fileSize: 1,
    },
  })
}

const parseUrlEncoded = (text: string): Record<string, unknown> => formToWriteBody(new URLSearchParams(text))

/**
 * The body of the request; of a multipart form, read here. 400 for a file and for what is no form, 413 for one that is
 * too large.
 */
export async function readWriteBody(request: FastifyRequest): Promise<unknown> {
  if (!request.isMultipart()) return request.body
  return formToWriteBody(await readMultipart(request).catch(refuseForm))
}

type Entries = [name: string, value: unknown][]

async function readMultipart(request: FastifyRequest): Promise<Entries> {
  if (Number(request.headers['content-length'] ?? 0) > CONTACT_BODY_LIMIT_BYTES) throw tooLarge()
  const entries: Entries = []
  let size = 0
  let hasFile = false
  for await (const part of request.parts()) {
    if (part.type === 'file') {
      hasFile = true
      part.file.resume()
      continue
    }
    size += part.fieldname.length + String(part.value).length
    if (size > CONTACT_BODY_LIMIT_BYTES) throw tooLarge()
    entries.push([fieldName(part.fieldname), part.value])
  }
  if (hasFile) throw badRequest('Files are not accepted here')
  return entries
}

const tooLarge = () => payloadTooLarge(CONTACT_BODY_LIMIT_BYTES)

/** The parser's own faults are the caller's: a form that breaks off, a part without a name, too many parts. */
function refuseForm(error: Error & { statusCode?: number }): never {
  if (error instanceof AppError) throw error
  throw error.statusCode === 413 ? tooLarge() : badRequest('The form is not valid multipart/form-data')
}

/** Browsers write these three characters of a name as percent codes, and no others (WHATWG: multipart/form-data). */
const fieldName = (name: string): string => name.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n')
