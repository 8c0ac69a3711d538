import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { forbidden, rateLimitExceeded, serviceUnavailable, validationError } from '../errors.ts'
import type { Caller } from '../http/caller.ts'
import { fileContent } from '../http/shapes.ts'
import { TOPICS, type Topic } from '../live-change.ts'
import type { Hub } from './hub.ts'

/** Open streams at most. */
export const MAX_STREAMS = { caller: 100, company: 300, process: 1_000 }
/** Bytes that wait for a slow reader before events are left out, and how long it may take to read them. */
const MAX_QUEUED_BYTES = 256 * 1024
const MAX_STALE_MS = 30_000
const COMMENT_MS = 25_000
const RECHECK_MS = 3_000
const RETRY_AFTER_SECONDS = 5

const DESCRIPTION = `Stays open and sends \`ready\`, \`reset\` (after both read again what is shown), \`bye\` and the topics: a record as
its list returns it, \`message\` as \`{chatId, message}\`, \`answering\` as \`{chatId, name}\`.`

type Deps = { hub: Hub }

/** The live stream (console: section 6). */
export function streamRoutes({ hub }: Deps): FastifyPluginAsyncTypebox {
  const open = new Set<OpenStream>()
  return async (app) => {
    app.addHook('preClose', async () => {
      await hub.close()
      for (const stream of open) stream.end()
    })
    app.get(
      '/public/v1/events',
      {
        config: {
          permissions: ['WhatsApp', 'Transactional'],
          waitsForOthers: true,
          isStream: true,
          errors: ['validation_error'],
        },
        schema: {
          tags: ['Credentials'],
          operationId: 'streamEvents',
          summary: 'Stream changes as they happen',
          description: DESCRIPTION,
          querystring: Type.Object({
            topics: Type.Optional(
              Type.String({
                maxLength: 200,
                description: `Some of ${TOPICS.map((one) => `\`${one}\``).join(', ')}, with commas.`,
              }),
            ),
          }),
          response: {
            200: fileContent('The stream.', { 'text/event-stream': 'event: ready\ndata: {}\n\n' }),
          },
        },
      },
      async (request, reply) => {
        const topics = topicsOf(request.query.topics, request.caller)
        checkRoom(open, request.caller)
        const stream = createStream(request, reply, topics)
        open.add(stream)
        const ended = stream.ended.then(() => open.delete(stream))
        const remove = await hub.open(stream)
        ended.then(remove)
        stream.send('ready', '{}')
      },
    )
  }
}

/** The topics that a query names, by default all that the caller may read; 403 for one that it may not. */
function topicsOf(given: string | undefined, { permissions }: Caller): ReadonlySet<Topic> {
  const mayRead = (topic: Topic) => topic === 'import' || permissions.includes('WhatsApp')
  if (given === undefined) return new Set(TOPICS.filter(mayRead))
  const names = given.split(',').map((name) => name.trim())
  const topics = TOPICS.filter((topic) => names.includes(topic))
  if (names.some((name) => !topics.some((topic) => topic === name))) {
    throw validationError([{ path: 'topics', message: `must be some of ${TOPICS.join(', ')}, with commas` }])
  }
  if (!topics.every(mayRead)) throw forbidden('The topics need the permission WhatsApp')
  return new Set(topics)
}

function checkRoom(open: ReadonlySet<OpenStream>, { clientId, companyId }: Caller): void {
  const ofCompany = [...open].filter((one) => one.companyId === companyId)
  const ofCaller = ofCompany.filter((one) => one.clientId === clientId)
  if (ofCaller.length >= MAX_STREAMS.caller || ofCompany.length >= MAX_STREAMS.company) {
    throw rateLimitExceeded(RETRY_AFTER_SECONDS, 'Too many streams are open')
  }
  if (open.size >= MAX_STREAMS.process) throw serviceUnavailable('Too many streams are open', RETRY_AFTER_SECONDS)
}

type OpenStream = {
  readonly companyId: number
  readonly clientId: string
  readonly topics: ReadonlySet<Topic>
  send(event: string, data: string): void
  end(): void
  readonly ended: Promise<void>
}

/** Takes the answer over. It ends with its connection, its credential, or a reader that is too slow. */
function createStream(request: FastifyRequest, reply: FastifyReply, topics: ReadonlySet<Topic>): OpenStream {
  const { caller, isLive } = request
  reply.hijack()
  const { raw } = reply
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  raw.writeHead(200, {
    ...headersOf(reply),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // So that a stop does not wait for the connection.
    connection: 'close',
  })
  let staleSinceMs: number | undefined

  const send = (event: string, data: string) => {
    if (staleSinceMs !== undefined) return
    raw.write(`event: ${event}\ndata: ${data}\n\n`)
    if (raw.writableLength > MAX_QUEUED_BYTES) staleSinceMs = performance.now()
  }
  raw.on('drain', () => {
    if (staleSinceMs === undefined) return
    staleSinceMs = undefined
    send('reset', '{}')
  })
  const comment = setInterval(() => raw.write(':\n\n'), COMMENT_MS)
  const recheck = setInterval(async () => {
    if (staleSinceMs !== undefined && performance.now() - staleSinceMs > MAX_STALE_MS) raw.destroy()
    // A database that does not answer ends no stream.
    else if (!(await isLive().catch(() => true))) raw.end()
  }, RECHECK_MS)
  raw.on('close', () => {
    clearInterval(comment)
    clearInterval(recheck)
    resolve()
  })
  return { companyId: caller.companyId, clientId: caller.clientId, topics, send, end: () => raw.end(), ended }
}

/** The headers that hooks have set. */
const headersOf = (reply: FastifyReply): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'number' ? String(value) : value]],
    ),
  )
