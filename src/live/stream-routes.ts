import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { forbidden, rateLimitExceeded, serviceUnavailable, validationError } from '../errors.ts'
import type { Caller } from '../http/caller.ts'
import { fileContent } from '../http/shapes.ts'
import { TOPICS, type Topic } from '../live-change.ts'
import { eventOf, type Hub } from './hub.ts'

/** Bounds of open streams. */
export const STREAM_LIMITS = {
  /** Streams of a key or session, of a company and of a process. */
  caller: 100,
  company: 300,
  process: 1_000,
  /** Bytes that wait for a slow reader before events are left out, and how long it may take to read them. */
  queuedBytes: 256 * 1024,
  staleMs: 30_000,
}
type StreamLimits = typeof STREAM_LIMITS

const COMMENT_MS = 25_000
/** With the 3 s for which a credential is remembered, a stream ends within 5 s of its credential. */
const RECHECK_MS = 1_000
/** How long the connection of a stream that ends may take to carry what was sent. */
const END_MS = 1_000
const RETRY_AFTER_SECONDS = 5

const DESCRIPTION = `Stays open and sends \`ready\`, \`reset\` (after both read again what is shown), \`bye\` and the topics: a record as
its list returns it, \`message\` as \`{chatId, message}\`, \`answering\` as \`{chatId, name}\`.`

type Deps = { hub: Hub }

/** The live stream (console: section 6). */
export function streamRoutes({ hub }: Deps, limits: StreamLimits = STREAM_LIMITS): FastifyPluginAsyncTypebox {
  const open = new Set<OpenStream>()
  let isClosing = false
  return async (app) => {
    app.addHook('preClose', async () => {
      isClosing = true
      const closed = hub.close()
      for (const stream of open) stream.end()
      await closed
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
        // A stream that opens after the others have ended would delay the stop.
        if (isClosing) throw serviceUnavailable('The service is stopping', RETRY_AFTER_SECONDS)
        const topics = topicsOf(request.query.topics, request.caller)
        checkRoom(open, request.caller, limits)
        const stream = createStream(request, reply, topics, limits)
        open.add(stream)
        const ended = stream.ended.then(() => open.delete(stream))
        const remove = await hub.open(stream)
        ended.then(remove)
        stream.write(eventOf('ready', '{}'))
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

function checkRoom(open: ReadonlySet<OpenStream>, { clientId, companyId }: Caller, limits: StreamLimits): void {
  const ofCompany = [...open].filter((one) => one.companyId === companyId)
  const ofCaller = ofCompany.filter((one) => one.clientId === clientId)
  if (ofCaller.length >= limits.caller || ofCompany.length >= limits.company) {
    throw rateLimitExceeded(RETRY_AFTER_SECONDS, 'Too many streams are open')
  }
  if (open.size >= limits.process) throw serviceUnavailable('Too many streams are open', RETRY_AFTER_SECONDS)
}

type OpenStream = {
  readonly companyId: number
  readonly clientId: string
  readonly topics: ReadonlySet<Topic>
  write(text: string | Buffer): void
  end(): void
  readonly ended: Promise<void>
}

/** Takes the answer over. It ends with its connection, its credential, or a reader that is too slow. */
function createStream(
  request: FastifyRequest,
  reply: FastifyReply,
  topics: ReadonlySet<Topic>,
  limits: StreamLimits,
): OpenStream {
  const { companyId, clientId } = request.caller
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

  const write = (text: string | Buffer) => {
    if (staleSinceMs !== undefined || raw.writableEnded) return
    raw.write(text)
    if (raw.writableLength > limits.queuedBytes) staleSinceMs = performance.now()
  }
  raw.on('drain', () => {
    if (staleSinceMs === undefined) return
    staleSinceMs = undefined
    write(eventOf('reset', '{}'))
  })
  const end = () => {
    raw.end()
    // A reader that has stopped reading never takes the end.
    setTimeout(() => raw.destroy(), END_MS).unref()
  }
  const comment = setInterval(() => write(':\n\n'), COMMENT_MS)
  const recheck = setInterval(async () => {
    if (staleSinceMs !== undefined && performance.now() - staleSinceMs > limits.staleMs) raw.destroy()
    // A database that does not answer ends no stream.
    else if (!(await request.server.isStillAdmitted(request).catch(() => true))) end()
  }, RECHECK_MS)
  raw.on('close', () => {
    clearInterval(comment)
    clearInterval(recheck)
    resolve()
  })
  return { companyId, clientId, topics, write, end, ended }
}

/** The headers that hooks have set. */
const headersOf = (reply: FastifyReply): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'number' ? String(value) : value]],
    ),
  )
