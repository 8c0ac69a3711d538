import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { compileExceptBody } from '../../http/body/input.ts'
import { completeKey } from '../../http/idempotency/idempotency.ts'
import { nullableText, Timestamp } from '../../http/shapes.ts'
import { badRequest, idempotencyKeyInUse } from '../../platform/errors.ts'
import {
  createArrivals,
  discardFile,
  inspectFile,
  type ReceivedFile,
  receiveFile,
  type TakenFile,
  takeFile,
  UNSENT_DAYS,
  type UploadDeps,
} from './receive-upload.ts'

const LONGEST_NAME = 240

const Query = Type.Object({
  filename: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: LONGEST_NAME,
      description: 'File name shown to the customer if the file is sent as a document without another name.',
    }),
  ),
})

const UploadedMedia = Type.Object(
  {
    mediaId: Type.String({ description: 'Id of the file in sends and replies.' }),
    kind: Type.Enum(['image', 'video', 'audio', 'document', 'sticker'], {
      description: 'Message type for the file; any file can be sent as `document`.',
    }),
    type: Type.String({ description: 'MIME type, read from the bytes.' }),
    filename: nullableText('Name given in the request.'),
    sizeBytes: Type.Integer(),
    expiresAt: Type.Unsafe<string>({
      ...Timestamp,
      description: 'When the file is deleted unless a message uses it.',
    }),
  },
  {
    title: 'UploadedMedia',
    example: {
      mediaId: 'med_Jq7vX2mKc4T9wLr8sYb1Zd3F',
      kind: 'image',
      type: 'image/jpeg',
      filename: 'shoe.jpg',
      sizeBytes: 218403,
      expiresAt: '2026-04-01T09:30:00.000Z',
    },
  },
)

const FileBody = {
  content: {
    'application/octet-stream': {
      schema: Type.String({
        title: 'MediaFile',
        format: 'binary',
        description: "The file's bytes.",
        example: 'Invoice 1042',
      }),
    },
  },
}

const DESCRIPTION = `The body is the file itself; the type is read from its bytes, whatever the \`Content-Type\` (\`application/octet-stream\` always works).
WhatsApp accepts JPEG and PNG up to 5 MiB, WebP stickers up to 100 KiB (animated 500 KiB), MP4 and 3GP up to 16 MiB, audio up to
16 MiB, and PDF, Word, Excel, PowerPoint and plain text up to 100 MiB; other files return 422 with the reason.

\`mediaId\` works with every number of the company, any number of times. The first send uploads the file to the number's
provider. The service keeps the bytes as long as a message uses the file, and unused files for ${UNSENT_DAYS} days.`

export function uploadRoutes(deps: UploadDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    const arrivals = createArrivals()
    const received = new WeakMap<FastifyRequest, ReceivedFile>()
    // The digest replaces the streamed body in Idempotency-Key comparisons.
    app.addContentTypeParser('*', async (request: FastifyRequest, payload: Readable) => {
      if (isForm(request.headers['content-type'])) throw notAFile()
      const file = await receiveFile(deps, arrivals, request.caller.companyId, payload)
      received.set(request, file)
      request.bodyBytes = Buffer.from(file.sha256, 'hex')
    })
    app.addHook('onResponse', async (request) => {
      const file = received.get(request)
      if (file !== undefined) await discardFile(deps, request.caller.companyId, file)
    })

    app.post(
      '/public/v1/whatsapp/media',
      {
        config: { permissions: ['WhatsApp', 'Transactional'], roles: ['agent'], takesLong: true, streamsBody: true },
        validatorCompiler: compileExceptBody,
        schema: {
          tags: ['WhatsApp'],
          operationId: 'uploadMedia',
          summary: 'Upload a file',
          description: DESCRIPTION,
          querystring: Query,
          body: FileBody,
          response: { 201: Type.Object({ data: UploadedMedia }, { description: 'The file can be sent.' }) },
        },
      },
      async (request, reply) => {
        const { companyId } = request.caller
        const file = received.get(request)
        if (file === undefined) throw notAFile()
        const filename = request.query.filename ?? null
        const type = inspectFile(file, filename)
        const answer = await deps.db.begin(async (tx) => {
          const taken = await takeFile(tx, companyId, file, { ...type, filename })
          if (taken === undefined) throw idempotencyKeyInUse()
          const body = { data: toReply(taken) }
          await completeKey(tx, request, reply, 201, body)
          return body
        })
        received.delete(request)
        return reply.code(201).send(answer)
      },
    )
  }
}

const isForm = (contentType = ''): boolean => /^(multipart\/|application\/x-www-form-urlencoded)/i.test(contentType)

const notAFile = () =>
  badRequest('The body must be the bytes of the file, with the Content-Type application/octet-stream')

const toReply = ({ mediaId, kind, mimeType, filename, sizeBytes, expiresAt }: TakenFile) => ({
  mediaId,
  kind,
  type: mimeType,
  filename,
  sizeBytes,
  expiresAt: expiresAt.toISOString(),
})
